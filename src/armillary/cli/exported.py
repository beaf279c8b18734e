"""Exported C, built with the system's compiler, for `armillary bench --against c`."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from armillary.backends.export import export
from armillary.errors import ArmillaryError

# Those of the exported Makefile, for a library.
_FLAGS = (
    "-std=c99",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-tree-slp-vectorize",
    "-fPIC",
    "-shared",
)
_OWN_PROGRAMS = ("main.c", "test.c")


@contextmanager
def exported_function(equations: Any, name: str) -> Iterator[int]:
    """The address of a function of the exported C code; it takes what the one in this process takes."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise ArmillaryError("there is no C compiler here: install one, or name it in CC")
    with tempfile.TemporaryDirectory() as folder:
        sources = export(equations, "c", Path(folder) / "code")
        files = [path for path in sources.glob("*.c") if path.name not in _OWN_PROGRAMS]
        library = Path(folder) / "model.so"
        command = [compiler, *_FLAGS, *map(str, files), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ArmillaryError(f"{compiler} could not compile the exported code: {done.stderr[:500]}")
        loaded = ctypes.CDLL(str(library))
        (header,) = [path for path in sources.glob("*.h") if not path.stem.endswith("_solver")]
        function = getattr(loaded, f"{header.stem}_{name}")
        yield ctypes.cast(function, ctypes.c_void_p).value or 0
