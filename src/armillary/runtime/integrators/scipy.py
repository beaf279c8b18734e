"""SciPy's solvers as an alternative, with the rules of the compiled loops for rows, events and memory.

Python runs at every step and every evaluation here, some microseconds each: for stiff systems, and to check
the compiled methods against. A solver begins anew after an event and after a change of memory. Normalisation
applies to what is reported and to new beginnings, since multistep methods keep a history that must not be
touched.

Not taken: `solve_ivp`, which has no memory and would have to be stopped and restarted around every change of
it.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from armillary.runtime.integrators.records import Functions, Integration, Status
from armillary.runtime.integrators.sampling import SampleTimes

SECONDS_BETWEEN_REPORTS = 0.1

_VECTOR = ctypes.c_void_p
_ORDINARY = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_VECTOR] * 4)
_FIRE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[_VECTOR] * 5)
_NORMALISE = ctypes.CFUNCTYPE(None, _VECTOR)

_LOOKS_AFTER_EVENT = 2.0 ** np.arange(-10, 1)  # as in the compiled loops: runtime/events.py


class _Model:
    """The generated functions, called from Python."""

    def __init__(self, functions: Functions, constants: np.ndarray) -> None:
        self.functions = functions
        self.constants = constants
        self.evaluations = 0
        ordinary = ("derivatives", "outputs", "events", "update")
        self._calls = {name: _ORDINARY(getattr(functions, name)) for name in ordinary}
        self._fire = _FIRE(functions.fire)
        self._normalise = _NORMALISE(functions.normalise)

    def __call__(self, name: str, length: int, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        state, result = np.ascontiguousarray(state, dtype=float), np.zeros(length)
        if length:
            places = (a.ctypes.data for a in (state, self.constants, memory, result))
            self._calls[name](t, *places)
        return result

    def derivatives(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        return self("derivatives", self.functions.n_states, t, state, memory)

    def fired(self, k: int, t: float, state: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        new_memory, new_state = memory.copy(), state.copy()
        if self.functions.fire:
            places = (a.ctypes.data for a in (state, self.constants, memory, new_memory, new_state))
            self._fire(k, t, *places)
        return new_state, new_memory

    def updated(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self("update", self.functions.n_memory, t, state, memory) if self.functions.update else memory

    def normalised(self, state: np.ndarray) -> np.ndarray:
        state = np.array(state, dtype=float)
        if self.functions.normalise:
            self._normalise(state.ctypes.data)
        return state


class _Events:
    """The signs of the event functions, and the first change of one in a step."""

    def __init__(self, model: _Model) -> None:
        self.model = model
        self.count = model.functions.n_events
        self.direction = np.array(model.functions.event_directions or [0] * self.count)
        self.terminal = model.functions.event_terminal or (False,) * self.count
        self.sign = np.zeros(self.count)

    def g(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self.model("events", self.count, t, state, memory)

    def adopt(self, t: float, state: np.ndarray, memory: np.ndarray, fired: list[int]) -> None:
        self.sign = np.nan_to_num(np.sign(self.g(t, state, memory)))
        self.sign[fired] = 0.0

    def first(
        self, t_old: float, t: float, inside: Callable[[float], np.ndarray], memory: np.ndarray
    ) -> tuple[float, list[int]] | None:
        """The time of the first event in a step and the events that happen then."""
        if not self.count:
            return None
        looks = _LOOKS_AFTER_EVENT if np.any(self.sign == 0.0) else _LOOKS_AFTER_EVENT[-1:]
        low = t_old
        for high in (*(t_old + looks[:-1] * (t - t_old)), t):
            now = np.sign(self.g(high, inside(high), memory))
            changed = (now != self.sign) & ~np.isnan(now)
            happens = changed & (self.sign != 0.0) & (self.direction * self.sign <= 0.0)
            if happens.any():
                tolerance = 4 * np.spacing(max(abs(t_old), abs(t)))
                roots = {
                    k: _root(lambda x: self.g(x, inside(x), memory), k, low, high, tolerance)
                    for k in map(int, np.flatnonzero(happens))
                }
                place = min(roots.values())
                return place, [k for k, root in roots.items() if root <= place + tolerance]
            self.sign = np.where(changed, now, self.sign)
            low = high
        return None


def _root(g: Callable[[float], np.ndarray], k: int, low: float, high: float, tolerance: float) -> float:
    from scipy.optimize import brentq

    if g(low)[k] * g(high)[k] < 0.0:
        return brentq(lambda x: g(x)[k], low, high, xtol=tolerance)
    return high


class _Rows:
    """The rows of a run, as they become due."""

    def __init__(self, model: _Model, samples: SampleTimes) -> None:
        self.model = model
        self.every_step = samples.every_step
        self.due = samples.times(0, samples.count + 1)  # ends with infinity
        self.times: list[float] = []
        self.rows: list[np.ndarray] = []

    def add(self, t: float, state: np.ndarray, memory: np.ndarray) -> None:
        self.rows.append(self.model("outputs", self.model.functions.n_outputs, t, state, memory))
        self.times.append(t)

    def inside(self, t: float, state_at: Callable[[float], np.ndarray], memory: np.ndarray) -> None:
        """The rows before t, from the dense output of the step that leads there."""
        while not self.every_step and (due := self.due[len(self.times)]) < t:
            self.add(float(due), state_at(due), memory)

    def here(self, t: float, state: np.ndarray, memory: np.ndarray) -> None:
        if self.every_step or self.due[len(self.times)] == t:
            self.add(t, state, memory)


class _Run:
    """A run in the phases of the compiled loops: settle at a time reached, row, step."""

    def __init__(
        self, model: _Model, rows: _Rows, t0: float, t_end: float, state: np.ndarray, memory: np.ndarray
    ) -> None:
        self.model, self.events, self.rows = model, _Events(model), rows
        self.t, self.t_end, self.state, self.memory = t0, t_end, state, memory
        self.status: Status | None = None
        self.failed: int | None = None
        self.restart = True
        self.fired: list[int] = []
        self.log: list[tuple[float, int]] = []
        self.steps = 0

    def settle(self) -> bool:
        """What happens at the time reached; whether the solver has to begin anew."""
        model, t = self.model, self.t
        if not self.status and t >= self.t_end:
            self.status = "finished"
        memory = model.updated(t, self.state, self.memory)
        begin = False
        if not self.status:
            begin = self.restart or not np.array_equal(memory, self.memory)
            self.memory = memory
        if begin:
            self.failed = _first_nonfinite(self.state + model.derivatives(t, self.state, memory))
            self.status = None if self.failed is None else "diverged"
            self.events.adopt(t, self.state, memory, self.fired)
            self.restart, self.fired = False, []
        self.rows.here(t, self.state, memory)
        return begin

    def step(self, solver: Any) -> None:
        """A step of the solver, cut at the first event in it."""
        # An implicit solver that meets a number that is not finite raises one of these.
        with suppress(ValueError, np.linalg.LinAlgError):
            solver.step()
        self.failed = _first_nonfinite(solver.y)
        if self.failed is not None or solver.t == self.t:
            self.status = "step too small" if self.failed is None else "diverged"
            return
        self.steps += 1
        dense = solver.dense_output()

        def state_at(x: float) -> np.ndarray:
            return self.model.normalised(dense(x))

        happening = self.events.first(self.t, solver.t, state_at, self.memory)
        t, self.fired = happening or (solver.t, [])
        self.rows.inside(t, state_at, self.memory)
        self.t = t
        self.state = state_at(t) if happening else self.model.normalised(solver.y)
        self.restart = bool(happening)
        for k in self.fired:
            self.log.append((t, k))
            self.state, self.memory = self.model.fired(k, t, self.state, self.memory)
            if self.events.terminal[k]:
                self.status = "event"


def integrate_with_scipy(
    functions: Functions,
    solver: str,
    *,
    t0: float,
    t_end: float,
    state: np.ndarray,
    memory: np.ndarray,
    constants: np.ndarray,
    samples: SampleTimes,
    step: float | None,
    rtol: float,
    atol: np.ndarray,
    max_step: float,
    max_steps: int,
    progress: Callable[[float], None] | None,
) -> Integration:
    """The motion by one of SciPy's solvers; arguments as for `integrate`. Rejected steps are not known."""
    import scipy.integrate

    model = _Model(functions, constants)
    run = _Run(model, _Rows(model, samples), t0, t_end, state, memory)
    method: Any = None
    first = step  # the step to begin with: a change of memory alone keeps the last one's size
    shown = time.monotonic()
    try:
        while True:
            begin = run.settle()
            if run.status:
                break
            if run.steps >= max_steps:
                run.status = "too many steps"
                break
            if begin:
                method = getattr(scipy.integrate, solver)(
                    lambda t, y: model.derivatives(t, y, run.memory), run.t, run.state, t_end,
                    rtol=rtol, atol=atol, max_step=max_step,
                    first_step=min(first, t_end - run.t) if first else None,
                )  # fmt: skip
            run.step(method)
            first = None if run.restart else getattr(method, "h_abs", method.step_size)
            if run.status in ("diverged", "step too small"):
                break
            if progress and time.monotonic() - shown > SECONDS_BETWEEN_REPORTS:
                shown = time.monotonic()
                progress(run.t)
    except KeyboardInterrupt:
        run.status = "interrupted"
    times = run.rows.times  # an interrupt may have left a row more
    return Integration(
        time=np.array(times),
        samples=np.array(run.rows.rows[: len(times)]).reshape(len(times), functions.n_outputs),
        final_state=run.state,
        final_memory=run.memory,
        status=run.status or "interrupted",
        failed_state=run.failed,
        t_stop=run.t,
        events=run.log,
        steps=run.steps,
        rejected=0,
        evaluations=model.evaluations,
    )


def _first_nonfinite(values: np.ndarray) -> int | None:
    strange = np.flatnonzero(~np.isfinite(values))
    return int(strange[0]) if len(strange) else None
