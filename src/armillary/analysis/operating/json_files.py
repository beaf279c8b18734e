"""Operating points and branches as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from armillary.atomic import replacing
from armillary.errors import ArmillaryError


def write_json(path: Path, content: dict[str, Any]) -> None:
    """A file of plain values, whole or not at all."""
    if path.suffix.lower() != ".json":
        raise ArmillaryError(f"'{path.name}' must end in .json")
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
