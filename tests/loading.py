"""Files of Python outside the package as modules: exported programs, examples, tools."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def loaded(place: Path) -> Any:
    """The module in a file, or that of the exported program in a folder."""
    folder = place.is_dir()
    path = next(p for p in place.glob("*.py") if not p.name.startswith("test_")) if folder else place
    spec = spec_from_file_location(re.sub(r"\W", "_", str(path)), path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
