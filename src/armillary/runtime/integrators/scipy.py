"""SciPy's solvers as an alternative, with the rules of the compiled loops for rows, events and memory.

Python runs at every step and every evaluation here, some microseconds each: for stiff systems, and to check
the compiled methods against. A solver begins again after an event and after a change of memory. Normalisation
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

import numpy as np

from armillary.runtime.addresses import address
from armillary.runtime.integrators.records import Functions, Integration, IntegrationStatus
from armillary.runtime.integrators.sampling import SampleTimes, most_rows
from armillary.runtime.integrators.scipy_events import Events
from armillary.runtime.integrators.settings import IntegrationSettings
from armillary.runtime.loop.stops import before_stop
from armillary.runtime.loop.thresholds.step_thresholds import LEAST_TOLERATED
from armillary.untyped import LibraryObject

SECONDS_BETWEEN_REPORTS = 0.1

_VECTOR = ctypes.c_void_p
_ORDINARY = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_VECTOR] * 4)
_FIRE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[_VECTOR] * 5)
_NORMALISE = ctypes.CFUNCTYPE(None, ctypes.c_double, *[_VECTOR] * 3)


class _Model:
    """The generated functions, called from Python."""

    def __init__(self, functions: Functions, constants: np.ndarray) -> None:
        self.functions = functions
        self.constants, self._constants = constants, address(constants)
        self.evaluations = 0
        ordinary = ("derivatives", "outputs", "events", "update")
        self._calls = {name: _ORDINARY(getattr(functions, name)) for name in ordinary}
        self._fire = _FIRE(functions.fire)
        self._normalise = _NORMALISE(functions.normalise)

    def __call__(self, name: str, length: int, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        state, result = np.ascontiguousarray(state, dtype=float), np.zeros(length)
        if length:
            self._calls[name](t, address(state), self._constants, address(memory), address(result))
        return result

    def events(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self("events", self.functions.n_events, t, state, memory)

    def derivatives(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        return self("derivatives", self.functions.n_states, t, state, memory)

    def fired(self, k: int, t: float, state: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        new_memory, new_state = memory.copy(), state.copy()
        if self.functions.fire:
            places = (state, memory, new_memory, new_state)
            first, *others = [address(a) for a in places]
            self._fire(k, t, first, self._constants, *others)
        return new_state, new_memory

    def updated(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        return self("update", self.functions.n_memory, t, state, memory) if self.functions.update else memory

    def normalised(self, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray:
        state = np.array(state, dtype=float)
        if self.functions.normalise:
            self._normalise(t, address(state), self._constants, address(memory))
        return state


class _Rows:
    """The rows of a run, as they become due."""

    def __init__(self, model: _Model, samples: SampleTimes) -> None:
        self.model = model
        self.every_step = samples.every_step
        self.most = most_rows(model.functions.n_outputs)
        self.due = samples.times(0, samples.count + 1)  # ends with infinity
        self.near = 0.0  # rows this close to an event show the state after it
        self.times: list[float] = []
        self.rows: list[np.ndarray] = []

    def add(self, t: float, state: np.ndarray, memory: np.ndarray) -> None:
        self.rows.append(self.model("outputs", self.model.functions.n_outputs, t, state, memory))
        self.times.append(t)

    @property
    def full(self) -> bool:
        return self.every_step and len(self.times) >= self.most

    def inside(self, t: float, state_at: Callable[[float], np.ndarray], memory: np.ndarray) -> None:
        """The rows before t, from the dense output of the step that leads there."""
        while not self.every_step and (due := self.due[len(self.times)]) < t - self.near:
            self.add(float(due), state_at(due), memory)

    def here(self, t: float, state: np.ndarray, memory: np.ndarray, near: float) -> None:
        if self.every_step:
            self.add(t, state, memory)
        while not self.every_step and (due := self.due[len(self.times)]) <= t + near:
            self.add(float(due), state, memory)


class _Run:
    """A run in the phases of the compiled loops: settle at a time reached, row, step."""

    def __init__(
        self, model: _Model, rows: _Rows, t0: float, t_end: float, state: np.ndarray, memory: np.ndarray
    ) -> None:
        self.model, self.events, self.rows = model, Events(model.functions, model.events), rows
        self.t, self.t_end, self.state, self.memory = t0, t_end, state, memory
        self.status: IntegrationStatus | None = None
        self.failed: int | None = None
        self.restart = True
        self.fired: list[int] = []
        self.before: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.log: list[tuple[float, int]] = []
        self.steps = 0
        self.last_step = 0.0

    def settle(self) -> bool:
        """Events at the time reached; whether the solver has to begin again."""
        model, t = self.model, self.t
        if not self.status and t >= self.t_end:
            self.status = "finished"
        memory = model.updated(t, self.state, self.memory)
        begin = False
        if not self.status:
            begin = self.restart or not np.array_equal(memory, self.memory)
            self.memory = memory
        if begin:
            rate = model.derivatives(t, self.state, memory)
            self.failed = _first_nonfinite(self.state + rate)
            self.status = None if self.failed is None else "diverged"
            self.events.adopt(t, self.state, rate, memory, self.fired, self.last_step)
            self.restart, self.fired = False, []
        self.rows.here(t, self.state, memory, 0.0 if self.status else self.rows.near)
        return begin

    def step(self, solver: LibraryObject) -> None:
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
            return self.model.normalised(x, dense(x), self.memory)

        happening = self.events.first(self.t, solver.t, solver.t >= self.t_end, state_at, self.memory)
        if self.events.accumulating is not None:
            self.status = "events accumulate"
            if not happening:
                return
        t, self.fired = happening or (solver.t, [])
        self.last_step = solver.t - self.t
        self.rows.near = self.events.closeness(self.t, solver.t) if happening else 0.0
        self.rows.inside(t, state_at, self.memory)
        self.t = t
        self.state = state_at(t) if happening else self.model.normalised(t, solver.y, self.memory)
        self.restart = bool(happening)
        self.before = {}
        for k in self.fired:
            self.log.append((t, k))
            self.before[k] = self.state, self.memory
            self.state, self.memory = self.model.fired(k, t, self.state, self.memory)
            if self.events.terminal[k]:
                self.status = "event"


def integrate_with_scipy(
    functions: Functions,
    settings: IntegrationSettings,
    *,
    state: np.ndarray,
    memory: np.ndarray,
    constants: np.ndarray,
    progress: Callable[[float], None] | None,
    stops: np.ndarray | None = None,
) -> Integration:
    """The motion by one of SciPy's solvers; arguments as for `integrate`. Rejected steps are not known."""
    import scipy.integrate

    solver, t_end = getattr(scipy.integrate, settings.integrator.solver), settings.t_end
    atol = np.maximum(settings.tolerances(functions.n_states), LEAST_TOLERATED)  # SciPy divides by it
    tolerances = {"rtol": settings.rtol, "atol": atol if atol.ndim else float(atol)}
    model = _Model(functions, constants)
    run = _Run(model, _Rows(model, settings.samples), settings.t0, t_end, state, memory)
    method: LibraryObject = None
    ahead = [] if stops is None else [float(x) for x in stops if settings.t0 < x <= t_end]
    first = settings.step  # the step to begin with: a change of memory alone keeps the last one's size
    shown = time.monotonic()
    try:
        while True:
            begin = run.settle()
            if run.status:
                break
            if run.steps >= settings.max_steps or run.rows.full:
                run.status = "too many rows" if run.rows.full else "too many steps"
                break
            if begin:
                end = before_stop(run.t, ahead[0]) if ahead else t_end
                method = solver(
                    lambda t, y: model.derivatives(t, y, run.memory), run.t, run.state, end,
                    **tolerances, max_step=settings.max_step,
                    first_step=min(first, end - run.t) if first else None,
                )  # fmt: skip
            run.step(method)
            if ahead and not run.status and run.t >= before_stop(run.t, ahead[0]):
                run.t, run.restart = ahead.pop(0), True
            # LSODA has no size of a next step: where it begins again after each, its steps must grow, or they
            # keep the size of the first.
            first = None if run.restart else getattr(method, "h_abs", 2.0 * method.step_size)
            if run.status in ("diverged", "step too small") or (run.status and not run.fired):
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
        failed_event=run.events.accumulating,
        before=run.before,
    )


def _first_nonfinite(values: np.ndarray) -> int | None:
    strange = np.flatnonzero(~np.isfinite(values))
    return int(strange[0]) if len(strange) else None
