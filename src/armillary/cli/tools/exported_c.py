"""Exported C, built with the system's compiler, for `armillary bench --with c`."""

from __future__ import annotations

import ctypes
import platform
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from armillary.export.fmi.platforms import compile_library
from armillary.export.languages import export
from armillary.program.equations import DerivedEquations

_OWN_PROGRAMS = ("main.c", "test.c")
# Options that depend on the machine: $(if $(filter MACHINES,$(shell uname -m)),THERE,ELSEWHERE).
_BY_MACHINE = re.compile(r"\$\(if \$\(filter ([^,]*),\$\(shell uname -m\)\),([^,]*),([^)]*)\)")


def makefile_flags(text: str) -> list[str]:
    """The compiler's options in an exported Makefile, for this machine."""
    chosen = _BY_MACHINE.sub(lambda part: part[2 if platform.machine() in part[1].split() else 3], text)
    values = dict(re.findall(r"^(\w+) \?= (.*)$", chosen, re.MULTILINE))
    return re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], values["CFLAGS"]).split()


@contextmanager
def exported_function(equations: DerivedEquations, name: str) -> Iterator[int]:
    """The address of a function of the exported C code; it takes what the one in this process takes."""
    with tempfile.TemporaryDirectory() as folder:
        sources = export(equations, "c", Path(folder) / "code")
        files = [path for path in sources.glob("*.[ch]") if path.name not in _OWN_PROGRAMS]
        texts = {path.name: path.read_text(encoding="utf-8") for path in files}
        flags = makefile_flags((sources / "Makefile").read_text(encoding="utf-8"))
        library = Path(folder) / "model.so"
        library.write_bytes(compile_library(texts, ".so", flags))
        loaded = ctypes.CDLL(str(library))
        (header,) = [path for path in sources.glob("*.h") if not path.stem.endswith("_solver")]
        function = getattr(loaded, f"{header.stem}_{name}")
        yield ctypes.cast(function, ctypes.c_void_p).value or 0
