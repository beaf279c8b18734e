"""A candidate: one way to compute the accelerations of a model, ready to be checked and timed.

In this process a candidate, whatever it is made of, is two compiled functions and a pointer (native/timer.c):

    double loop(void* self, long evaluations)              walks the pool of states; this is timed
    void accelerations(void* self, long state, double* a)  evaluates one of the states; this is checked
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.build import NATIVE, NotAvailable, compile_cached
from benchmarks.models import Model, Pool

OPTIMISED = ("-O3", "-march=native", "-shared", "-fPIC", "-w")
TOLERANCE = 1e-9
"""Largest relative error of a candidate; conditioning of the 64-link mass matrix alone costs up to 6e-11."""

LOOP = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_long)
ACCELERATIONS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p)


@dataclass(frozen=True)
class Operations:
    """Counts of one evaluation: every binary + and −, every × and power, every ÷; unary minus is free."""

    additions: int
    multiplications: int
    divisions: int
    functions: int

    @classmethod
    def of(cls, equations: Any) -> Operations:
        """The counts of Armillary's `Equations`."""
        counts = equations.operations
        return cls(counts.additions, counts.multiplications, counts.divisions, counts.functions)

    @property
    def total(self) -> int:
        return self.additions + self.multiplications + self.divisions + self.functions


@dataclass(frozen=True, kw_only=True)
class Candidate(ABC):
    """What is checked and timed, in this process or in one of its own."""

    name: str
    operations: Operations | None = None
    derive_seconds: float | None = None
    compile_seconds: float | None = None
    speeds: tuple[int, ...] | None = None  # those whose accelerations it gives, where not all
    tolerance: float = TOLERANCE

    @abstractmethod
    def at(self, state: int, nv: int) -> np.ndarray:
        """Accelerations at one state of the pool."""

    @abstractmethod
    def stopwatch(self, chunk: float) -> Callable[[], float]:
        """What runs for about `chunk` seconds when called, and gives the seconds of one evaluation."""


@dataclass(frozen=True, kw_only=True)
class Native(Candidate):
    """Compiled functions in this process."""

    loop: int  # address of the compiled loop
    accelerations: int
    self: int
    keep: tuple[object, ...] = field(repr=False)  # what must outlive the addresses

    def at(self, state: int, nv: int) -> np.ndarray:
        a = np.empty(nv)
        ACCELERATIONS(self.accelerations)(self.self, state, a.ctypes.data)
        return a

    def stopwatch(self, chunk: float) -> Callable[[], float]:
        """The evaluations that fill a chunk are found by doubling; this also warms the candidate up."""
        count = 16
        while (seconds := timer().chunk_seconds(self.loop, self.self, count)) < 0.25 * chunk:
            count *= 2
        count = max(16, round(count * chunk / seconds))
        return lambda: timer().chunk_seconds(self.loop, self.self, count) / count


def error_of(candidate: Candidate, reference: np.ndarray) -> float:
    """Largest error over the pool, relative to the largest acceleration of the state (or to one)."""
    worst = 0.0
    for state, expected in enumerate(reference):
        wanted = expected if candidate.speeds is None else expected[list(candidate.speeds)]
        error = np.abs(candidate.at(state, len(wanted)) - wanted).max() / max(1.0, np.abs(wanted).max())
        worst = max(worst, float(error)) if np.isfinite(error) else float("inf")
    return worst


@cache
def timer() -> ctypes.CDLL:
    """The stopwatch and the loops over generated functions."""
    library = ctypes.CDLL(str(compile_cached("timer.so", NATIVE / "timer.c", OPTIMISED).path))
    library.chunk_seconds.restype = ctypes.c_double
    library.chunk_seconds.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
    return library


def address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def generated(
    kind: str, name: str, record: ctypes.Structure, keep: tuple[object, ...],
    *, operations: Operations, derive_seconds: float, compile_seconds: float,
    speeds: tuple[int, ...] | None = None,
) -> Native:  # fmt: skip
    """A generated function as a candidate: `kind` names its loops in native/timer.c, `record` its data."""
    return Native(
        name=name, loop=address(timer()[f"{kind}_loop"]),
        accelerations=address(timer()[f"{kind}_accelerations"]),
        self=ctypes.addressof(record), keep=(record, *keep), operations=operations,
        derive_seconds=derive_seconds, compile_seconds=compile_seconds, speeds=speeds,
    )  # fmt: skip


def library(
    name: str, path: Path, model_file: Path, option: str, states: Pool, tolerance: float = TOLERANCE
) -> Native:
    """A candidate from a shared object made with native/candidate.hpp."""
    shared = ctypes.CDLL(str(path))  # RTLD_LOCAL: candidates export equal names
    shared.create.restype = ctypes.c_void_p
    shared.failure.restype = ctypes.c_char_p
    this = shared.create(
        str(model_file).encode(), option.encode(), len(states),
        pointer(states.q), pointer(states.v), pointer(states.tau),
    )  # fmt: skip
    if not this:
        raise NotAvailable(shared.failure().decode())
    return Native(
        name=name, loop=address(shared.loop), accelerations=address(shared.accelerations), self=this,
        keep=(shared,), tolerance=tolerance,
    )  # fmt: skip


class DerivativesRecord(ctypes.Structure):
    """`Derivatives` of native/timer.c."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        *((name, ctypes.c_long) for name in ("states", "nq", "nv", "n_constants")),
        *((name, ctypes.c_void_p) for name in ("state", "constants", "memory", "rate")),
    )


class PlainRecord(ctypes.Structure):
    """`Plain` of native/timer.c, and the head of `Casadi`."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        *((name, ctypes.c_long) for name in ("states", "nq", "nv")),
        *((name, ctypes.c_void_p) for name in ("q", "v", "tau", "a")),
    )


def plain_fields(function: int, model: Model, states: Pool, a: np.ndarray) -> tuple:
    """Values for `PlainRecord`'s fields."""
    arrays = (pointer(x) for x in (states.q, states.v, states.tau, a))
    return (function, len(states), model.nq, model.nv, *arrays)
