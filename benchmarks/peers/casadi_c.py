"""Pinocchio's algorithms run through CasADi to C: the strongest open rival.

The `pin` wheel carries no CasADi bindings, so the generator is compiled from its headers (some three minutes,
once); a model then takes milliseconds, and the C compiler the rest.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import numpy as np

from benchmarks.build import NATIVE, Built, cached, compile_cached, run
from benchmarks.candidate import (
    OPTIMISED,
    Candidate,
    Operations,
    PlainRecord,
    address,
    generated,
    plain_fields,
    pointer,
)
from benchmarks.environment import Environment
from benchmarks.models import Model, Pool
from benchmarks.peers.pinocchio_cpp import BOOST, include_flags, model_file

ALGORITHMS = {"aba": "CasADi C ABA", "crba": "CasADi C CRBA"}
# CasADi's helper casadi_sq() stays a real call under -fPIC unless interposition is ruled out: up to 13 %.
C_FLAGS = (*OPTIMISED, "-fno-semantic-interposition")
# How the CasADi wheel itself was compiled; the layout of its nodes depends on it.
CASADI = ("-DCASADI_WITH_THREADSAFE_SYMBOLICS", "-DCASADI_WITH_THREAD")


class CasadiRecord(ctypes.Structure):
    """`Casadi` of native/timer.c."""

    _fields_ = (*PlainRecord._fields_, *((name, ctypes.c_void_p) for name in ("arg", "res", "iw", "w")))


def _generator(environment: Environment) -> Built:
    environment.need("pin", "cmeel-eigen", "casadi")
    casadi = environment.site / "casadi"
    version = (
        f"-DWHEELS={environment.packages['pin']}_{environment.packages['casadi']}"  # new wheels, new build
    )
    flags = ("-std=c++17", "-O2", "-w", "-DNDEBUG", version, *CASADI, *BOOST, *include_flags(environment))
    return compile_cached(
        "pinocchio_casadi",
        NATIVE / "pinocchio_casadi.cpp",
        (*flags, f"-isystem{casadi / 'include'}"),
        link=(f"-L{casadi}", "-lcasadi", f"-Wl,-rpath,{casadi}"),
    )


def _c_source(model: Model, algorithm: str, environment: Environment) -> Built:
    generator, text = _generator(environment).path, model_file(model)

    def make(path: Path) -> dict:
        record = json.loads(run([generator, text, path.parent, algorithm]))
        (path.parent / "forward_dynamics.c").rename(path)
        return record

    return cached(f"{model.key}_{algorithm}.c", [str(generator), text.read_bytes()], make)


def candidates(model: Model, states: Pool, environment: Environment) -> list[Candidate]:
    return [_candidate(model, states, environment, algorithm) for algorithm in ALGORITHMS]


def _candidate(model: Model, states: Pool, environment: Environment, algorithm: str) -> Candidate:
    source = _c_source(model, algorithm, environment)
    built = compile_cached(f"{model.key}_{algorithm}.so", source.path, C_FLAGS, link=("-lm",))
    shared = ctypes.CDLL(str(built.path))
    sizes = [ctypes.c_longlong() for _ in range(4)]
    shared.forward_dynamics_work(*(ctypes.byref(size) for size in sizes))
    n_arg, n_res, n_iw, n_w = (size.value for size in sizes)
    arg, res, iw = (np.zeros(max(n, 3), dtype=np.int64) for n in (n_arg, n_res, n_iw))
    w, a = np.zeros(n_w + 1), np.zeros(model.nv)
    function = address(shared.forward_dynamics)
    record = CasadiRecord(*plain_fields(function, model, states, a), *(pointer(x) for x in (arg, res, iw, w)))
    counts = dict(source.record)
    derive_seconds = counts.pop("derive_seconds")
    return generated(
        "casadi", ALGORITHMS[algorithm], record, (shared, states, arg, res, iw, w, a),
        operations=Operations(**counts), derive_seconds=derive_seconds,
        compile_seconds=built.record["cpu_seconds"],
    )  # fmt: skip
