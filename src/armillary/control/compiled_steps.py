"""Compiled loops over steps of RK4 with held inputs: for many motions, and for motions with feedback.

    step_rows    x ← RK4(x, v) in ``parts`` equal parts, row by row
    roll         v_k = clip(v̄_k + α d_k + K_k (x_k − x̄_k)),   x_{k+1} = RK4(x_k, v_k)

In a rollout of iLQR, x̄ and v̄ are the motion found last, d_k are offsets of the inputs, K_k gains, and α is
the fraction of the offsets that is tried. The loops are built once for all systems; they call the rates of a
model by their address.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import IRModule
from armillary.llvm.building.routines import (
    PreparedRoutine,
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    whole_array,
)
from armillary.solver.llvm.compiled_loop import loop_sources
from armillary.solver.llvm.step_routines import STEP_WORK, StepRoutine, step_work
from armillary.solver.methods.registry import METHODS

_METHOD = METHODS["rk4"]

ROWS = RoutineLayout(
    numbers=("rows", "parts", "states", "inputs", "row_constants"),
    addresses=(
        *("rates", "constants", "memory"),  # of one row
        "all_constants",
        "places",  # whole numbers: indices of the inputs in the memory
        *("settings", "t", "x", "v", "own", *STEP_WORK),
    ),
)
ROLLOUTS = RoutineLayout(
    numbers=("steps", "states", "inputs", "rows"),
    addresses=(
        *("rates", "constants", "memory"),
        "places",  # whole numbers: indices of the inputs in the memory
        *("settings", "x", "v", "d", "K", "low", "high", "sizes", "motions", "held"),
        *("target", "Q", "R", "S", "costs", "off", *STEP_WORK),
    ),
)


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
    """Advance the rows of states ``x`` by ``h``, in place; ``constants`` has one row for all or one each."""
    rows, n = x.shape
    many = constants.ndim == 2
    own, held = np.zeros(max(constants.shape[-1], 1)), np.array(memory, dtype=float, ndmin=1)
    held = held if held.size else np.zeros(1)
    work = {
        "rows": rows, "parts": parts, "states": n, "inputs": v.shape[1],
        "row_constants": constants.shape[-1] if many else 0, "rates": rates,
        "constants": own if many else constants, "memory": held, "all_constants": constants,
        "places": whole_array(places), "settings": np.array([h]), "t": t, "x": x, "v": v,
        "own": own, **step_work(_METHOD, n),
    }  # fmt: skip
    _row_steps()("step_rows", ROWS.fields(work))


def step_text() -> str:
    """Return the LLVM text of ``armillary_step_rows(fields)``."""
    module = IRModule()
    f = StepRoutine(module, ROWS, _METHOD, "step_rows")
    n, m, parts = f["states"], f["inputs"], f["parts"]
    x, v, t, own = f.vector("x"), f.vector("v"), f.vector("t"), f.vector("own")
    everything, memory = f.vector("all_constants"), f.vector("memory")
    h = f.vector("settings")[0] / parts.to_real()
    with f.each(f["rows"]) as row:
        with f.each(f["row_constants"]) as i:
            own[i] = everything[row * f["row_constants"] + i]
        with f.each(m) as j:
            memory[f.index("places", j)] = v[row * m + j]
        here = Span(f, x.at(row * n))
        now = Local(f, t[row])
        with f.each(parts):
            f.step(now.get(), h, here, here)
            now.set(now.get() + h)
    f.give()
    return str(module)


def prepare_rollouts(
    rates: int,
    constants: np.ndarray,
    memory: np.ndarray,
    places: list[int],
    shape: tuple[int, int, int],
    step: float,
    limits: tuple[np.ndarray, np.ndarray],
    target: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray, np.ndarray],
    sizes: np.ndarray,
) -> PreparedRoutine:
    """Return a prepared loop that makes a rollout for each α in ``sizes``.

    ``shape`` is (steps, states, inputs), and ``limits`` are the lowest and highest inputs.

    A call reads the motion x̄, v̄ from ``x`` and ``v``, the law from ``d`` and ``K``, the start from
    motions[:, 0], and the step and the start time from ``settings``. It computes ``motions`` (sizes ×
    (steps + 1) × states), the inputs ``held`` (sizes × steps × inputs), and ``costs`` by the ``weights`` Q, R
    and S about the ``target``.
    """
    (N, n, m), rows = shape, len(sizes)
    work: dict[str, int | np.ndarray] = {
        "steps": N, "states": n, "inputs": m, "rows": rows, "rates": rates,
        "constants": np.array(constants), "memory": real_array(memory.copy()),
        "places": whole_array(places), "settings": np.array([step, 0.0]), "x": np.zeros((N + 1, n)),
        "v": np.zeros((N, m)), "d": np.zeros((N, m)), "K": np.zeros((N, m, n)), "low": real_array(limits[0]),
        "high": real_array(limits[1]), "sizes": real_array(sizes), "motions": np.empty((rows, N + 1, n)),
        "held": np.empty((rows, N, m)), "target": real_array(target), "costs": np.empty(rows),
        **{name: real_array(w) for name, w in zip("QRS", weights, strict=True)},
        "off": np.empty(max(n, 1)), **step_work(_METHOD, n),
    }  # fmt: skip
    return _rollouts().prepare("roll", ROLLOUTS, work)


def roll_text() -> str:
    """Return the LLVM text of ``armillary_roll(fields)``."""
    module = IRModule()
    f = StepRoutine(module, ROLLOUTS, _METHOD, "roll")
    N, n, m = f["steps"], f["states"], f["inputs"]
    motions, held = f.vector("motions"), f.vector("held")
    with f.each(f["rows"]) as row:
        h, cost = f.vector("settings")[0], Local(f, f.real(0.0))
        with f.each(N) as k:
            here = Span(f, motions.at((row * (N + 1) + k) * n))
            after = Span(f, motions.at((row * (N + 1) + k + 1) * n))
            own = Span(f, held.at((row * N + k) * m))
            _hold_inputs(f, row, k, here, own)
            running = _quadratic_form(f, m, f.vector("R"), own) + _cost_of_state(f, "Q", here)
            cost.set(cost.get() + h * running)
            f.step(f.vector("settings")[1] + k.to_real() * h, h, here, after)
        last = Span(f, motions.at((row * (N + 1) + N) * n))
        f.vector("costs")[row] = 0.5 * (cost.get() + _cost_of_state(f, "S", last))
    f.give()
    return str(module)


def _cost_of_state(f: Routine, weight: str, here: Span) -> Value:
    n, off, target = f["states"], f.vector("off"), f.vector("target")
    with f.each(n) as i:
        off[i] = here[i] - target[i]
    return _quadratic_form(f, n, f.vector(weight), off)


def _quadratic_form(f: Routine, n: Value, matrix: Span, x: Span) -> Value:
    return f.sum(n, lambda i: x[i] * f.dot(n, Span(f, matrix.at(i * n)), x))


def _hold_inputs(f: Routine, row: Value, k: Value, here: Span, own: Span) -> None:
    n, m = f["states"], f["inputs"]
    memory, low, high = f.vector("memory"), f.vector("low"), f.vector("high")
    x, v, d, K, size = f.vector("x"), f.vector("v"), f.vector("d"), f.vector("K"), f.vector("sizes")[row]
    with f.each(m) as j:
        back = f.sum(n, lambda i: K[(k * m + j) * n + i] * (here[i] - x[k * n + i]))
        wanted = v[k * m + j] + size * d[k * m + j] + back
        own[j] = f.least(f.most(wanted, low[j]), high[j])
        memory[f.index("places", j)] = own[j]


@cache
def _row_steps() -> RoutineMethod:
    return compiled_method(f"batch steps {loop_sources()}", step_text, [Path(__file__)], ("step_rows",))


@cache
def _rollouts() -> RoutineMethod:
    return compiled_method(f"rollouts {loop_sources()}", roll_text, [Path(__file__)], ("roll",))
