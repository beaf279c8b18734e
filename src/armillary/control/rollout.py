"""Motions from one start under a law with feedback, several side by side, as one compiled loop.

    v_k = clip(v̄_k + α d_k + K_k (x_k − x̄_k)),   x_{k+1} = RK4(x_k, v_k)

The loop is built once for all systems; the rates of a model are called by their address.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    whole_array,
)

LAYOUT = RoutineLayout(
    numbers=("steps", "states", "inputs", "rows"),
    addresses=(
        *("rates", "constants", "memory"),
        "places",  # whole numbers: of the inputs in the memory
        *("settings", "x", "v", "d", "K", "low", "high", "sizes", "motions", "held"),
        *("slope", "trial", "sum"),  # work
    ),
)
_SHARES = (0.0, 0.5, 0.5, 1.0)
_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


def roll(
    rates: int,
    constants: np.ndarray,
    memory: np.ndarray,
    places: list[int],
    step: float,
    start: np.ndarray,
    around: tuple[np.ndarray, np.ndarray],
    law: tuple[np.ndarray, np.ndarray],
    limits: tuple[np.ndarray, np.ndarray],
    sizes: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Motions (sizes × steps + 1 × states) and inputs (sizes × steps × inputs), one for each α in ``sizes``.

    ``around`` has x̄ and v̄, ``law`` d and K.
    """
    (x, v), (d, K) = around, law
    N, m = v.shape
    n, rows = len(start), len(sizes)
    motions, held = np.empty((rows, N + 1, n)), np.empty((rows, N, m))
    motions[:, 0] = start
    work = {
        "steps": N, "states": n, "inputs": m, "rows": rows, "rates": rates,
        "constants": real_array(constants), "memory": real_array(memory.copy()),
        "places": whole_array(places), "settings": np.array([step]), "x": real_array(x),
        "v": real_array(v), "d": real_array(d), "K": real_array(K), "low": real_array(limits[0]),
        "high": real_array(limits[1]), "sizes": real_array(sizes), "motions": motions, "held": held,
        "slope": np.zeros(n), "trial": np.zeros(n), "sum": np.zeros(n),
    }  # fmt: skip
    _method()("roll", LAYOUT.fields(work))
    return motions, held


def roll_text() -> str:
    """The LLVM text of ``armillary_roll(fields)``."""
    module = IRModule()
    f = routine(module, LAYOUT, "roll", NOTHING, public=True)
    N, n, m = f["steps"], f["states"], f["inputs"]
    motions, held = f.vector("motions"), f.vector("held")
    with f.each(f["rows"]) as row, f.each(N) as k:
        here = Span(f, motions.at((row * (N + 1) + k) * n))
        after = Span(f, motions.at((row * (N + 1) + k + 1) * n))
        own = Span(f, held.at((row * N + k) * m))
        _hold_inputs(f, row, k, here, own)
        _step(f, k, here, after)
    f.give()
    return str(module)


def _hold_inputs(f: Routine, row: Value, k: Value, here: Span, own: Span) -> None:
    n, m = f["states"], f["inputs"]
    memory, low, high = f.vector("memory"), f.vector("low"), f.vector("high")
    x, v, d, K, size = f.vector("x"), f.vector("v"), f.vector("d"), f.vector("K"), f.vector("sizes")[row]
    with f.each(m) as j:
        back = f.sum(n, lambda i: K[(k * m + j) * n + i] * (here[i] - x[k * n + i]))
        wanted = v[k * m + j] + size * d[k * m + j] + back
        own[j] = f.least(f.most(wanted, low[j]), high[j])
        memory[f.index("places", j)] = own[j]


def _step(f: Routine, k: Value, here: Span, after: Span) -> None:
    n, h = f["states"], f.vector("settings")[0]
    slope, trial, total = f.vector("slope"), f.vector("trial"), f.vector("sum")
    t = k.to_real() * h
    with f.each(n) as i:
        total[i] = here[i]
        trial[i] = here[i]
    for stage in range(4):
        f.evaluate("rates", t + h * _SHARES[stage], trial, slope)
        with f.each(n) as i:
            total[i] = total[i] + h * _WEIGHTS[stage] * slope[i]
            if stage < 3:
                trial[i] = here[i] + h * _SHARES[stage + 1] * slope[i]
    with f.each(n) as i:
        after[i] = total[i]


@cache
def _method() -> RoutineMethod:
    return compiled_method("rollouts", roll_text, [Path(__file__)], ("roll",))
