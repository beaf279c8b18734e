"""Exported C, compiled and called by ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from tests.export.conformance import NATIVE, At

CC = shutil.which("cc")


# Fused operations as in the process; warnings are errors, and more of them than anybody asks for.
FLAGS = [
    "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror", "-O1",
    "-ffp-contract=fast", *NATIVE,
]  # fmt: skip


_REALS = ctypes.POINTER(ctypes.c_double)


def compiled(folder: Path, *names: str, output: str, shared: bool = False) -> Path:
    # Optimised, for their warnings: all models, and the solver of two of them.
    kind = ["-shared", "-fPIC"] if shared else [] if output in ("car", "four_bar_linkage") else ["-O0"]
    subprocess.run([str(CC), *FLAGS, *kind, *names, "-o", output, "-lm"], cwd=folder, check=True)
    return folder / output


def stem_of(folder: Path) -> str:
    return next(p.name.removesuffix("_solver.c") for p in folder.glob("*_solver.c"))


class Library:
    """The functions of a case, called from here."""

    def __init__(self, folder: Path) -> None:
        self.stem = stem_of(folder)
        path = compiled(folder, f"{self.stem}.c", output="model.so", shared=True)
        self.library = ctypes.CDLL(str(path))

    def constants(self, parameters: np.ndarray, count: int) -> np.ndarray:
        out = np.zeros(count + 1)
        getattr(self.library, f"{self.stem}_precompute")(*map(_pointer, (np.append(parameters, 0.0), out)))
        return out[:count]

    def call(self, name: str, point: At, constants: np.ndarray, count: int) -> np.ndarray:
        if not count:
            return np.zeros(0)
        function = getattr(self.library, f"{self.stem}_{name}")
        function.argtypes = [ctypes.c_double, *[_REALS] * 4]
        out = np.zeros(count)
        arrays = (point.state, np.append(constants, 0.0), np.append(point.memory, 0.0), out)
        function(point.t, *map(_pointer, arrays))
        return out


def _pointer(values: np.ndarray) -> ctypes._Pointer[ctypes.c_double]:
    return np.ascontiguousarray(values, dtype=float).ctypes.data_as(_REALS) if values.size else None
