"""CasADi's Jacobian of Pinocchio's articulated-body algorithm, as C: accelerations and their derivatives by
coordinates, speeds and efforts, of robots from URDF files.

The generator is compiled from Pinocchio's headers (some minutes, once); CasADi shares common subexpressions
and writes C, which is compiled as that of casadi_c.py.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.build import NATIVE, NotAvailable, cached, compile_cached, run
from benchmarks.candidate import Native, Operations, address, generated, pointer
from benchmarks.environment import Environment
from benchmarks.peers.casadi_c import C_FLAGS, CASADI, CasadiRecord
from benchmarks.peers.pinocchio_cpp import BOOST, include_flags

LONGEST = 150_000  # operations of a function that the C compiler is asked to optimise


def casadi_jacobian(told: dict[str, Any], environment: Environment) -> tuple[Native, np.ndarray]:
    """The candidate, and the array of its results: [a, ∂a/∂q, ∂a/∂v, ∂a/∂τ] by columns."""
    environment.need("pin", "cmeel-eigen", "casadi")
    casadi = environment.site / "casadi"
    version = f"-DWHEELS={environment.packages['pin']}_{environment.packages['casadi']}"
    flags = ("-std=c++17", "-O1", "-w", "-DNDEBUG", version, *CASADI, *BOOST, *include_flags(environment))
    generator = compile_cached(
        "robot_casadi",
        NATIVE / "robot_casadi.cpp",
        (*flags, f"-isystem{casadi / 'include'}"),
        link=(f"-L{casadi}", "-lcasadi", f"-Wl,-rpath,{casadi}"),
    )
    text = cached("robot.txt", [told["text"]], lambda file: {"written": file.write_text(told["text"])})

    def make(path: Path) -> dict[str, Any]:
        record = json.loads(run([generator.path, text.path, path.parent]))
        (path.parent / "jacobian.c").rename(path)
        return dict(record)

    source = cached("robot_jacobian.c", [str(generator.path), told["text"]], make)
    if source.record["operations"] > LONGEST:
        raise NotAvailable(f"CasADi's Jacobian has {source.record['operations']:,} operations")
    built = compile_cached("robot_jacobian.so", source.path, C_FLAGS, link=("-lm",))
    shared = ctypes.CDLL(str(built.path))
    sizes = [ctypes.c_longlong() for _ in range(4)]
    shared.jacobian_work(*(ctypes.byref(size) for size in sizes))
    arg, res, iw = (np.zeros(max(size.value, 3), dtype=np.int64) for size in sizes[:3])
    q, v = np.array(told["q"]), np.array(told["v"])
    tau, n = np.zeros_like(v), told["nv"]
    w, out = np.zeros(sizes[3].value + 1), np.zeros(n * (1 + q.shape[1] + 2 * n))
    fields = (address(shared.jacobian), len(q), q.shape[1], n, *(pointer(x) for x in (q, v, tau, out)))
    record = CasadiRecord(*fields, *(pointer(x) for x in (arg, res, iw, w)))
    made = generated(
        "casadi", "casadi", record, (shared, q, v, tau, arg, res, iw, w, out),
        operations=Operations(source.record["operations"], 0, 0, 0),
        derive_seconds=source.record["derive_seconds"], compile_seconds=built.record["cpu_seconds"],
    )  # fmt: skip
    return made, out
