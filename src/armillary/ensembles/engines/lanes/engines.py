"""Engines for runs without events: as many at once as a vector register holds numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.ensembles.engines.engine import Engine, Outcome
from armillary.ensembles.plan import FINISHED, NOT_RUN, TOO_MANY_STEPS, Plan
from armillary.ensembles.starts import Starts
from armillary.llvm.jit import LIBRARY_FUNCTIONS, LlvmObject, Passes, engine, features, holds_addresses

if TYPE_CHECKING:
    from armillary.ensembles.engines.lanes.frame import LaneFrame


def _refusal(plan: Plan) -> str:
    """Why no vector of runs can make the runs of a plan, whatever its steps."""
    program = plan.program
    if plan.method.family or plan.method.tableau is None:
        return f"method '{plan.method.name}' has no Runge-Kutta tableau"
    if program.fire or program.events.results or program.corrected:
        return f"'{program.name}' has events or corrections"
    return "inputs jump" if plan.stops is not None else ""


@cache
def lanes() -> int:
    """The number of doubles in a vector register of this machine; at least 2."""
    here = features()
    return 8 if here.get("avx512f") else 4 if here.get("avx") else 2


def _machine_code(texts: tuple[str, str]) -> LlvmObject:
    """A loop linked with what it calls, as machine code."""

    def adjust(module: LlvmObject) -> None:
        for function in module.functions:
            name = function.name
            if name[0] == "\01":  # machine code of the module, or what it calls
                continue
            if function.is_declaration:  # a call of what is not there would end the process
                assert name.startswith("llvm.") or name in LIBRARY_FUNCTIONS, name
            elif name != "runs":
                function.linkage = "internal"

    name = "" if holds_addresses(texts[1]) else f"lanes {texts[0]} {texts[1]}"
    # No pass looks for vectors: all is vectors already.
    return engine(name, lambda: texts, 2, Passes(2, loops=False), adjust)


class LaneLoop:
    """A compiled loop; its code is freed with it."""

    def __init__(self, frame: LaneFrame) -> None:
        self._engine = _machine_code(frame.texts())
        self._room_size, self._wholes = frame.room_size, frame.wholes
        kinds = [ctypes.c_int64] * frame.wholes + [ctypes.c_void_p] * (len(frame.given) - frame.wholes)
        self._runs = ctypes.CFUNCTYPE(None, *kinds)(self._engine.get_function_address("runs"))

    def __call__(self, *given: Any) -> None:  # as many whole numbers as the loop takes, then arrays
        self.bound(*given[self._wholes :])(*given[: self._wholes])

    def bound(self, *arrays: np.ndarray) -> Callable[..., None]:
        """The loop with its last arrays given, for several calls with the whole numbers and the arrays before
        them: to find an address takes a microsecond.
        """
        kept = (*arrays, _aligned(self._room_size))
        last = [a.ctypes.data for a in kept]

        def call(*given: int | np.ndarray, _arrays: tuple[np.ndarray, ...] = kept) -> None:
            self._runs(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in given), *last)

        return call


class Lanes(Engine):
    """Fixed steps whose ends meet all rows, without events."""

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if plan.method.adaptive:
            return f"method '{plan.method.name}' chooses its steps"
        return _refusal(plan) or ("rows lie inside of steps" if plan.row_at is None else "")

    def __init__(self, plan: Plan, width: int | None = None) -> None:
        from armillary.ensembles.engines.lanes.fixed import LaneSteps

        assert plan.row_at is not None
        super().__init__(plan)
        self.width = width or lanes()
        self.name = f"lanes of {self.width}"
        self._loop = LaneLoop(LaneSteps(plan, self.width))
        due = plan.row_at >= 0
        rows = plan.row_at[due]
        self._due = np.zeros(len(plan.row_at))
        self._due[due] = plan.uses[rows]

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        plan, n, width = self.plan, i1 - i0, self.width
        blocks = -(-n // width)
        stride = blocks * width
        parameters, state, memory = (_padded(a, stride) for a in starts.block(i0, i1))
        outcome = Outcome.empty(plan, stride)
        slots = np.ascontiguousarray(np.tile(plan.slots[:, None], (1, stride)))
        status, stops, rows = np.empty(stride), np.empty(stride), outcome.rows
        assert plan.grid is not None and plan.steps is not None
        last = min(len(plan.steps), plan.settings.max_steps)
        self._loop(
            blocks, stride, last, plan.grid, plan.steps, self._due, self.halt,
            parameters, state, memory, rows, slots, status, stops,
        )  # fmt: skip
        if last < len(plan.steps):
            status[status == FINISHED] = TOO_MANY_STEPS
        return Outcome(status.astype(np.int8), stops, state, memory, rows, slots, {}).first(n)


class AdaptiveLanes(Engine):
    """Adaptive steps, without events and without memory that is renewed every step."""

    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        if not plan.method.adaptive:
            return f"method '{plan.method.name}' has fixed steps"
        return _refusal(plan) or ("memory is renewed every step" if plan.program.update.results else "")

    def __init__(self, plan: Plan, width: int | None = None) -> None:
        from armillary.ensembles.engines.lanes.adaptive import AdaptiveSteps

        super().__init__(plan)
        self.width = width or lanes()
        self.name = f"lanes of {self.width}"
        self._loop = LaneLoop(AdaptiveSteps(plan, self.width))
        # After the last row there is one that never comes.
        places = np.cumsum(plan.kept) - 1.0
        self._rows = (np.append(plan.times, np.inf), np.append(plan.uses, 0.0), np.append(places, 0.0))
        s, states = plan.settings, len(plan.program.state)
        self._settings = np.array(
            [s.t0, s.t_end, s.step or 0.0, s.rtol, s.max_step, s.max_steps], dtype=float
        )
        self._atol = np.broadcast_to(s.tolerances(states), states).copy()

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        plan, n = self.plan, i1 - i0
        parameters, state, memory = (np.ascontiguousarray(a) for a in starts.block(i0, i1))
        outcome = Outcome.empty(plan, n)
        slots = np.ascontiguousarray(np.tile(plan.slots[:, None], (1, n)))
        status, stops = np.full(n, float(NOT_RUN)), np.full(n, np.nan)
        self._loop(
            n, n, self._settings, self._atol, *self._rows, self.halt,
            parameters, state, memory, outcome.rows, slots, status, stops,
        )  # fmt: skip
        return Outcome(status.astype(np.int8), stops, state, memory, outcome.rows, slots, {})


def _padded(array: np.ndarray, columns: int) -> np.ndarray:
    """As many columns as whole vectors have; the last run again in those beyond it."""
    missing = columns - array.shape[1]
    if missing:
        array = np.concatenate([array, np.repeat(array[:, -1:], missing, axis=1)], axis=1)
    return np.ascontiguousarray(array)


def _aligned(count: int) -> np.ndarray:
    """Room for so many numbers, where a cache line begins."""
    raw = np.zeros(count + 8)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + count]
