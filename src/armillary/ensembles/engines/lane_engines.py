"""Engines on lanes: they make as many runs at once as a vector register holds doubles."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from armillary.ensembles.engines.engine import Engine, Outcome
from armillary.ensembles.engines.scalar import Scalar, ScalarVisits
from armillary.ensembles.plan import NOT_RUN, Plan, restrict_outputs
from armillary.ensembles.starts import Starts
from armillary.llvm.jit import (
    LIBRARY_FUNCTIONS,
    LlvmObject,
    Passes,
    engine,
    holds_addresses,
    machine_settings,
    register_doubles,
)
from armillary.llvm.module import IMPLEMENTATIONS
from armillary.program.sparse_rates import SOLUTIONS
from armillary.program.targets.targets import CONSTRAINT_RANK, INTERNAL_EVENTS
from armillary.runtime.models.compiled_program import processors
from armillary.solver.llvm.layout import FIELDS

if TYPE_CHECKING:
    from armillary.ensembles.engines.lane_steps import LaneFrame, LaneFunction


def _method_refusal(plan: Plan) -> str:
    """Return why lanes cannot use the method of a plan; "" if they can."""
    method = plan.method
    return f"method '{method.name}' is not one tableau" if method.family or method.begins_with else ""


def link_lanes(texts: tuple[str, str], entry: str) -> LlvmObject:
    """Return a loop over lanes as machine code, linked with the functions that it calls."""

    def adjust(module: LlvmObject) -> None:
        for function in module.functions:
            name = function.name
            if name[0] == "\01":  # names that the compiler must not change
                continue
            if function.is_declaration:  # a call of a missing function would end the process
                known = name in LIBRARY_FUNCTIONS or name.startswith(("llvm.", *IMPLEMENTATIONS))
                assert known, name
            elif name != entry:
                function.linkage = "internal"

    name = "" if holds_addresses(texts[1]) else f"lanes {texts[0]} {texts[1]}"
    # Without passes that search for vectors: all values are vectors already.
    return engine(name, lambda: texts, 2, Passes(2, loops=False), adjust)


class LaneLoop:
    """A compiled loop; its code is freed with it."""

    def __init__(self, frame: LaneFunction) -> None:
        self._engine = link_lanes(frame.texts(), frame.entry)
        self._room_size, self._wholes = frame.room_size, frame.wholes
        kinds = [ctypes.c_int64] * frame.wholes + [ctypes.c_void_p] * (len(frame.given) - frame.wholes)
        self._runs = ctypes.CFUNCTYPE(None, *kinds)(self._engine.get_function_address(frame.entry))

    def __call__(self, *given: Any) -> None:  # whole numbers, then arrays
        self.bind_arrays(*given[self._wholes :])(*given[: self._wholes])

    def bind_arrays(self, *arrays: np.ndarray) -> Callable[..., None]:
        """Return the loop with its last arrays bound.

        Calls then pass only the whole numbers and the arrays before these. This saves 1 µs per array and
        call, the time to find an array's address.
        """
        kept = (*arrays, _aligned_array(self._room_size))
        last = [a.ctypes.data for a in kept]

        def call(*given: int | np.ndarray, _arrays: tuple[np.ndarray, ...] = kept) -> None:
            self._runs(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in given), *last)

        return call


_KEPT_LOOPS = 8  # most loops per model
_kept: WeakKeyDictionary[object, dict[tuple[object, ...], LaneLoop]] = WeakKeyDictionary()


def _lane_loop(
    model: object, plan: Plan, width: int, make: Callable[..., LaneFrame], *more: object
) -> LaneLoop:
    """Return the compiled loop of ``make(plan, width, *more)``, for a plan with a model's program.

    Batches that differ only in numbers use the same loop, since to write its text takes 30 ms.
    """
    loops = _kept.setdefault(model, {})
    settings = plan.method.name, plan.columns, plan.history, plan.metrics, machine_settings()
    key = (make, width, *settings, *more)
    if key not in loops:
        while len(loops) >= _KEPT_LOOPS:
            del loops[next(iter(loops))]
        loops[key] = LaneLoop(make(plan, width, *more))
    return loops[key]


# Least number of runs for which linearly implicit methods use lanes. Lanes take 0.3 s to prepare for a rod
# with a stiff damper and 1 s for a chain of six links; they save 0.05 and 0.9 s in a thousand runs of half a
# second of motion.
LEAST_STIFF_RUNS = 1_000


def _stiff_refusal(plan: Plan, lanes: int) -> str:
    """Return why lanes should not make linearly implicit steps; "" if they should.

    On lanes the linear equations of a step are solved as sparse equations, so that all runs have the same
    sequence of operations, without exchange of rows. For small systems, whose single runs solve dense
    equations, this may take longer. It is estimated from the share of elimination: the number of its
    products, divided by the number of operations of the rates and their derivatives. The share is 0.43 for a
    rod with a stiff damper, 0.59 for a chain of three links, and 1.13 for a chain of six. With 2, 4 and 8
    lanes (x86-64 with AVX-512) runs by rodas5p take 0.57, 0.31 and 0.21 of the scalar loop's time for the
    rod, 0.92, 0.47 and 0.32 for three links, and 2.24, 1.17 and 0.75 for six. If single runs solve sparse
    equations too, as for twelve masses on springs, lanes take 0.76, 0.40 and 0.26 of the scalar loop's time.
    """
    if plan.size < LEAST_STIFF_RUNS:
        return f"fewer than {LEAST_STIFF_RUNS} runs"
    program = plan.code.equations.program
    if not program.partial_rates:
        return "partial derivatives of rates are differences"
    if program.structure is not None:
        return ""
    structure, rates = plan.code.sparse_program.structure, program.derivatives.operations.total
    assert structure is not None
    products = structure.operations + SOLUTIONS * len(structure.column)
    share = products / (SOLUTIONS * rates + program.partial_rates[0].operations.total)
    return f"sparse equations take too long on {lanes} lanes" if share > 0.35 + 0.1 * lanes else ""


class Lanes(Engine):
    """Engine for runs without events.

    Fixed steps need all rows at ends of steps; adaptive steps need a program without memory that is renewed
    every step.
    """

    leaves_runs = True

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        program = plan.program
        if why := _method_refusal(plan):
            return why
        if program.fire or program.events.results or program.corrected:
            return f"'{program.name}' has events or corrections"
        if plan.stops is not None:
            return "inputs jump"
        if plan.method.rosenbrock and (why := _stiff_refusal(plan, register_doubles())):
            return why
        if plan.method.adaptive:
            return "memory is renewed every step" if program.update.results else ""
        return "rows lie inside of steps" if plan.row_at is None else ""

    def __init__(self, plan: Plan, width: int | None = None) -> None:
        from armillary.ensembles.engines.lane_control import AdaptiveSteps
        from armillary.ensembles.engines.lane_steps import LaneSteps

        super().__init__(plan)
        self.width = width or register_doubles()
        self.name = f"lanes of {self.width}"
        made = AdaptiveSteps if plan.method.adaptive else LaneSteps
        program = plan.program_with_rates(plan.program, plan.code.equations.targets)
        if plan.method.rosenbrock:
            program = replace(plan.code.sparse_program, outputs=program.outputs, row_rates=program.row_rates)
        self.plan = plan = replace(plan, program=program)
        self._loop = _lane_loop(plan.code, plan, self.width, made)
        self._given = *_settings(plan, plan.settings.max_step, len(plan.program.state)), self.halt

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        plan, n = self.plan, i1 - i0
        stride = -(-n // self.width) * self.width
        parameters, state, memory = (_pad_columns(a, stride) for a in starts.block(i0, i1))
        outcome = Outcome.empty(plan, stride)
        slots = np.ascontiguousarray(np.tile(plan.slots[:, None], (1, stride)))
        status, stops, rows = np.full(stride, float(NOT_RUN)), outcome.t_stop, outcome.rows
        self._loop(n, stride, *self._given, parameters, state, memory, rows, slots, status, stops)
        return Outcome(status.astype(np.int8), stops, state, memory, rows, slots, {}).first_runs(n)


def _settings(plan: Plan, max_step: float, states: int) -> tuple[np.ndarray, ...]:
    """Return the arrays that all runs read: ``ADDRESSES`` of lane_steps.py without ``halt``, the last one."""
    s, places = plan.settings, np.cumsum(plan.kept) - 1.0
    numbers = np.array([s.t0, s.t_end, s.step or 0.0, s.rtol, max_step, s.max_steps], dtype=float)
    rows = ((plan.times, np.inf), (plan.uses, 0.0), (places, 0.0))  # after the last row, one at infinity
    tolerances = np.broadcast_to(s.tolerances(states) if plan.method.adaptive else 1.0, states).copy()
    structure = plan.program.structure
    tables = np.zeros(1) if structure is None else structure.packed_tables()
    return numbers, tolerances, *(np.append(row, last) for row, last in rows), tables


def _pad_columns(array: np.ndarray, columns: int) -> np.ndarray:
    """Return an array with a given number of columns; missing ones repeat the last run."""
    missing = columns - array.shape[1]
    if missing:
        array = np.concatenate([array, np.repeat(array[:, -1:], missing, axis=1)], axis=1)
    return np.ascontiguousarray(array)


def _aligned_array(count: int) -> np.ndarray:
    """Return an array of ``count`` zeros that begins at a cache line."""
    raw = np.zeros(count + 8)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + count]


# The engine for many runs with events or closed loops: lanes make the steps between events, the loop of
# single runs makes those across events.
#
# Lanes take all runs of one configuration that are ready for a step, and advance each until its next step
# fails or meets an event (lane_control.py). The scalar loop then visits each run that lanes have given back:
# it advances the run by a few steps, across its event until no event function is zero, or to its end. A run
# with too few steps between events stays with the scalar loop. Only a run's own steps decide this, so that
# its numbers do not depend on its neighbours. They equal the scalar loop's numbers to rounding. On 64-bit ARM
# they are equal bit for bit, because the compiler orders operations alike for one run and for two, unless the
# program computes several values as one vector (program/packs.py).
#
# With fixed steps on a Neoverse N1, two lanes take 0.50 of the scalar engine's time for a slider-crank,
# 0.57 for a four-bar linkage that changes its dependent speeds, 0.67 for a Stewart platform, and 0.35 for a
# pendulum with a latch.

# Least number of runs with adaptive steps: compilation of the lanes takes a second for each configuration.
# With two threads, 20,000 runs of 0.1 ms save as much.
LEAST_RUNS = 20_000
# Least number of fixed steps of all runs together: lanes take 0.22 s to prepare for a configuration of a
# four-bar linkage and 0.6 s for a Stewart platform. They save 0.2 and 0.85 µs per step, half of that on two
# threads.
LEAST_STEPS = 2_000_000
# Least number of lanes for adaptive steps: deployments of a wing with latches take 0.97 of the time of the
# scalar engine with 2 lanes, 0.70 with 4, and 0.57 with 8.
LEAST_LANES = 4
BLOCK = 512  # runs whose records, of about 10 kB each, are in memory at a time
VISIT = 2  # most steps of a visit: one to an event, and one that leads event functions away from zero
# After this many visits, a run stays on lanes only if it has made SHARE times as many steps on lanes as in
# the scalar loop.
PROBATION_VISITS = 4
SHARE = 2
# The same for fixed steps, which take less time than adaptive steps, while a visit takes the same time. The
# time on lanes divided by the scalar engine's time, for an arm with two joints in chunks of 16 and of 64
# runs, is 1.9 and 1.1 with an event every 10 steps, 1.4 and 0.92 with one every 20, 1.05 and 0.76 with one
# every 40, 0.76 and 0.63 with one every 160.
SHARE_OF_FIXED = 8
_TRIED = [FIELDS[name] for name in ("steps", "rejected")]


class LanesWithEvents(Scalar):
    """Engine for runs with events, of programs without memory that changes every step.

    With adaptive steps, it refuses programs with internal events (such as choices of dependent speeds).
    """

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        program = plan.program
        if why := Scalar.refusal(plan) or _method_refusal(plan):
            return why
        if plan.method.rosenbrock:
            return f"method '{plan.method.name}' is linearly implicit"
        if not program.events.results:
            return "there are no events"
        if program.update.results:
            return "memory is renewed every step"
        if plan.stops is not None:
            return "inputs jump"
        if plan.steps is not None:
            few = plan.size * len(plan.steps) < LEAST_STEPS
            return f"fewer than {LEAST_STEPS} steps" if few else ""
        if not plan.method.adaptive:
            return "rows lie inside of steps"
        if np.ndim(plan.settings.atol) or set(plan.code.watched_index) & set(INTERNAL_EVENTS):
            return "one tolerance for each state, or choices of dependent speeds"
        if register_doubles() < LEAST_LANES:
            return f"{register_doubles()} lanes gain nothing"
        return "" if plan.size >= LEAST_RUNS else f"fewer than {LEAST_RUNS} runs"

    def __init__(self, plan: Plan, width: int | None = None) -> None:
        self.width, self._making = width or register_doubles(), Lock()
        super().__init__(plan)
        self.name = f"lanes of {self.width} between events"

    @property
    def chunk(self) -> int:
        """The number of runs per chunk: large, since a visit takes 45 µs of Python, but at most BLOCK."""
        chunks = processors() * -(-self.plan.size // (BLOCK * processors()))
        return -(-self.plan.size // chunks)

    def renew(self) -> bool:
        found = super().renew()
        if found:
            self._lanes: list[LaneLoop] = []
        return found

    def _make_lanes(self) -> None:
        """Make a loop for each configuration that single runs have met so far."""
        from armillary.ensembles.engines.lane_control import StepsBetweenEvents

        plan, control = self.plan, self.first.control
        self._given = *_settings(plan, control.max_step, self.first.shape.states), self.halt
        models = self.changes.models if self.changes is not None else (plan.code,)
        for c, model in enumerate(models):
            program = restrict_outputs(model.equations.program, model.output_names, plan.columns)
            program = plan.program_with_rates(program, model.equations.targets)
            rank = model.watched_index.get(CONSTRAINT_RANK) if self.changes is not None else None
            own, shape = replace(plan, program=program), self.first.shape
            more = (shape, c, model.equations, rank)
            self._lanes.append(_lane_loop(model, own, self.width, StepsBetweenEvents, *more))

    def make_ready(self) -> None:
        with self._making:
            if not self._lanes:
                self._make_lanes()

    def __call__(self, starts: Starts, i0: int, i1: int) -> Outcome:
        self.make_ready()
        outcome = Outcome.empty(self.plan, i1 - i0)
        for first in range(i0, i1, BLOCK):
            last = min(first + BLOCK, i1)
            outcome.put_runs(first - i0, self._block(starts, first, last))
        return outcome

    def _block(self, starts: Starts, i0: int, i1: int) -> Outcome:
        visits = ScalarVisits(self, starts, i0, i1, apart=True)
        n, loops = i1 - i0, self._loops(visits)
        waiting, scalar = np.arange(n), np.zeros(n, dtype=bool)  # ``scalar``: runs that no longer go on lanes
        tried, on_lanes = np.zeros((2, n), dtype=np.int64)  # numbers of steps
        begins, count, share = True, 0, SHARE if self.first.shape.adaptive else SHARE_OF_FIXED
        while waiting.size:
            visits.visit(waiting[~scalar[waiting]], begins=begins, most=VISIT)
            visits.visit(waiting[scalar[waiting]])
            if self.halt[0]:
                break
            begins, count = False, count + 1
            waiting = waiting[visits.status[waiting] == NOT_RUN]
            tried[waiting] = before = _steps_tried_so_far(visits, waiting)
            _advance(visits, loops, waiting[~scalar[waiting]])
            on_lanes[waiting] += _steps_tried_so_far(visits, waiting) - before
            if count >= PROBATION_VISITS:
                scalar |= on_lanes < share * (tried - on_lanes)
        return visits.outcome()

    def _loops(self, visits: ScalarVisits) -> list[Callable[..., None]]:
        """Return the loops of all configurations, bound to the arrays of given visits."""
        given = (*self._given, visits.controls, visits.rooms, *visits.columns)
        return [loop.bind_arrays(*given) for loop in self._lanes]


def _advance(visits: ScalarVisits, loops: Iterable[Callable[..., None]], runs: np.ndarray) -> None:
    """Advance the ready runs on lanes, each until it ends or its next step fails or meets an event."""
    if runs.size:
        visited = runs.astype(float)
        for loop in loops:
            loop(runs.size, visits.count, visited)


def _steps_tried_so_far(visits: ScalarVisits, runs: np.ndarray) -> np.ndarray:
    """Return the number of steps that each run has tried so far."""
    found: np.ndarray = visits.controls[runs[:, None], _TRIED].sum(axis=1)
    return found
