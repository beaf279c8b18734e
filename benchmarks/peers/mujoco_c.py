"""MuJoCo's C library: of a tree the stages of mj_forward that smooth dynamics needs, and no others; of a
linkage all of mj_forward.

MuJoCo's constraints are soft: at their hardest, one part in ten thousand of a gap's acceleration stays.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from benchmarks.build import NATIVE, NotAvailable, cached, compile_cached
from benchmarks.candidate import OPTIMISED, TOLERANCE, Native, library
from benchmarks.environment import Environment
from benchmarks.exchange import mjcf
from benchmarks.linkages import Linkage
from benchmarks.models import Model, Pool
from benchmarks.peers.pinocchio_cpp import model_file

SIMULATE = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_double, ctypes.c_void_p)
SOFT = 1e-3
"""Largest relative error of accelerations under soft constraints; measured, up to 3e-4."""


def candidates(model: Model, states: Pool, environment: Environment) -> list[Native]:
    environment.need("mujoco")
    folder = environment.site / "mujoco"
    libraries = sorted(folder.glob("libmujoco.*"))
    if not libraries:
        raise NotAvailable("the mujoco wheel holds no libmujoco")
    built = compile_cached(
        "mujoco.so",
        NATIVE / "mujoco.cpp",
        ("-std=c++17", *OPTIMISED, f"-I{NATIVE}", f"-isystem{folder / 'include'}"),
        link=(str(libraries[0]), f"-Wl,-rpath,{folder}"),
    )
    soft = isinstance(model, Linkage)
    name, tolerance = ("MuJoCo mj_forward", SOFT) if soft else ("MuJoCo smooth stages", TOLERANCE)
    made = library(name, built.path, model_file(model), str(_xml(model)), states, tolerance)
    made.keep[0].simulate.argtypes = SIMULATE  # type: ignore[attr-defined]
    return [made]


def _xml(model: Model) -> Path:
    text = mjcf(model)

    def make(path: Path) -> dict:
        path.write_text(text)
        return {}

    return cached(f"{model.key}.xml", [text], make).path
