"""One step of many motions, each with its own inputs and constants, as one compiled loop.

    x ← RK4(x, v) in ``parts`` equal parts, row by row, the inputs held

The loop is built once for all systems; the rates of a model are called by their address.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Span
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
    whole_array,
)

LAYOUT = RoutineLayout(
    numbers=("rows", "parts", "states", "inputs", "row_constants"),
    addresses=(
        *("rates", "constants", "memory"),  # of one row
        "all_constants",
        "places",  # whole numbers: of the inputs in the memory
        *("settings", "t", "x", "v", "own", "slope", "trial", "sum"),
    ),
)
_SHARES = (0.0, 0.5, 0.5, 1.0)
_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


def step_rows(
    rates: int,
    constants: np.ndarray,
    memory: np.ndarray,
    places: list[int],
    t: np.ndarray,
    x: np.ndarray,
    v: np.ndarray,
    h: float,
    parts: int,
) -> None:
    """Advance rows of states ``x`` by ``h``, in place. All rows share the constants, or each has a row."""
    rows, n = x.shape
    many = constants.ndim == 2
    own, held = np.zeros(max(constants.shape[-1], 1)), np.array(memory, dtype=float, ndmin=1)
    held = held if held.size else np.zeros(1)
    work = {
        "rows": rows, "parts": parts, "states": n, "inputs": v.shape[1],
        "row_constants": constants.shape[-1] if many else 0, "rates": rates,
        "constants": own if many else constants, "memory": held, "all_constants": constants,
        "places": whole_array(places), "settings": np.array([h]), "t": t, "x": x, "v": v,
        "own": own, "slope": np.zeros(n), "trial": np.zeros(n), "sum": np.zeros(n),
    }  # fmt: skip
    _method()("step_rows", LAYOUT.fields(work))


def step_text() -> str:
    """The LLVM text of ``armillary_step_rows(fields)``."""
    module = IRModule()
    f = routine(module, LAYOUT, "step_rows", NOTHING, public=True)
    n, m, parts = f["states"], f["inputs"], f["parts"]
    x, v, t, own = f.vector("x"), f.vector("v"), f.vector("t"), f.vector("own")
    everything, memory = f.vector("all_constants"), f.vector("memory")
    slope, trial, total = f.vector("slope"), f.vector("trial"), f.vector("sum")
    h = f.vector("settings")[0] / parts.to_real()
    with f.each(f["rows"]) as row:
        with f.each(f["row_constants"]) as i:
            own[i] = everything[row * f["row_constants"] + i]
        with f.each(m) as j:
            memory[f.index("places", j)] = v[row * m + j]
        here = Span(f, x.at(row * n))
        now = Local(f, t[row])
        with f.each(parts):
            with f.each(n) as i:
                total[i] = here[i]
                trial[i] = here[i]
            for stage in range(4):
                f.evaluate("rates", now.get() + h * _SHARES[stage], trial, slope)
                with f.each(n) as i:
                    total[i] = total[i] + h * _WEIGHTS[stage] * slope[i]
                    if stage < 3:
                        trial[i] = here[i] + h * _SHARES[stage + 1] * slope[i]
            with f.each(n) as i:
                here[i] = total[i]
            now.set(now.get() + h)
    f.give()
    return str(module)


@cache
def _method() -> RoutineMethod:
    return compiled_method("batch steps", step_text, [Path(__file__)], ("step_rows",))
