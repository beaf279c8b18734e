"""The two engines on a GPU, and the metrics of a plan as CUDA text.

`Queued` supports all features of armillary.solver: events, memories, adaptive steps, changes of
configuration. A thread makes a run and then takes the next run from a queue, so no thread waits for the
longest run. `FixedSteps` makes fixed steps without events; a run's state stays in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from armillary.algebra.expression import symbol
from armillary.ensembles.engines.engine import LEFT_OVER, Outcome
from armillary.ensembles.engines.gpu_engine import CardEngine, SignalData, codes_of_rows, steps_to_jumps
from armillary.ensembles.plan import (
    ACCUMULATES,
    DIVERGED,
    EVENT,
    FAILED,
    FINISHED,
    NOT_RUN,
    TOO_MANY_STEPS,
    TOO_SMALL,
    BatchMetric,
    Plan,
    restrict_outputs,
)
from armillary.ensembles.starts import CompactBlock, Starts
from armillary.errors import ArmillaryError
from armillary.export.c.printer import CPrinter
from armillary.export.cuda.kernels import Configured, Features, Kernel, MetricsCode, kernel, solver_kernel
from armillary.export.text.body import Namer, section_text
from armillary.export.text.printer import LOGIC, Operand
from armillary.program.configurations import configurations_of, with_changes
from armillary.program.program import Program, section
from armillary.program.targets.targets import DEPENDENT_SPEEDS, INTERNAL_EVENTS
from armillary.runtime.models.configured_program import ConfiguredProgram
from armillary.runtime.models.instance import ChangeCode
from armillary.solver.llvm.layout import ROOM_FOR_CONFIGURATIONS
from armillary.solver.methods.tableau import Tableau

# CUDA text that updates the slots of all metrics at a row. Slots are the numbers that a metric keeps from
# row to row (ensembles/metrics.py).
#
# A thread keeps the slots in registers, in double precision for any precision of the runs. The slots of a
# histogram stay in memory: a row changes at most one.

_TIME, _OUTPUT = symbol("t"), symbol("y")

_INDENT = " " * 16
_NAMES = ("t", "y", "slot", "slots", "out", "count", "run", "n", "wanted", "first", "end", "last")


def metric_text(metrics: Sequence[BatchMetric]) -> MetricsCode:
    """Return CUDA text that updates the slots of all metrics at a row."""
    lines: list[str] = []
    held: list[int] = []
    place = 0
    for entry in metrics:
        count = len(entry.metric.start)
        if entry.metric.several:
            names = [f"slots[{place + i} * count + run]" for i in range(count)]
        else:
            names = [f"slot[{len(held) + i}]" for i in range(count)]
            held += range(place, place + count)
        lines += [f"{{ /* {entry.metric.kind} */", *_metric_statements(entry, names), "}"]
        place += count
    return MetricsCode("\n".join(_INDENT + line for line in lines), tuple(held))


def _metric_statements(entry: BatchMetric, names: Sequence[str]) -> list[str]:
    """Return statements that update the slots of one metric; no slot is read after its update."""
    old = [symbol(f"slot {i}") for i in range(len(names))]
    slots = entry.metric.slots(entry.metric.row(_TIME, _OUTPUT, old))
    results = [slot.value_after_row(before) for slot, before in zip(slots, old, strict=True)]
    conditions = [slot.where for slot in slots if slot.where is not None]
    labels = [*names, *(f"condition {i}" for i in range(len(conditions)))]
    found = section(entry.metric.kind, labels, [*results, *conditions])
    identifiers = {_TIME: "t", _OUTPUT: "y", **dict(zip(old, names, strict=True))}
    places = {node: ("", 0) for node in identifiers}
    printer = _SlotPrinter()
    text = section_text(found, printer, places, identifiers, Namer({*printer.keywords, *_NAMES}))
    lines = [f"const double y = (double)out[{entry.column}];"]
    lines += [f"const double {step.name} = {step.text};" for step in text.steps]
    where = iter(text.results[len(results) :])
    for slot, name, result in zip(slots, names, text.results[: len(results)], strict=True):
        lines += (
            [f"{name} = {result};"]
            if slot.where is None
            else [f"if ({next(where)})", f"    {name} = {result};"]
        )
    return lines


class _SlotPrinter(CPrinter):
    """Printer of C in which a condition counts as a number, without a conversion."""

    def as_number(self, truth: str) -> Operand:
        return Operand(truth, LOGIC)


# Status of a run by the number that the kernel of `Queued` writes.
_STATUS = np.array(
    [
        NOT_RUN, FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY_STEPS, FAILED, LEFT_OVER,
    ],
    dtype=np.int8,
)  # fmt: skip
_WAVES = 8  # runs of a chunk per resident thread; at the end of a chunk, threads idle


class Queued(CardEngine):
    """Engine for any Runge-Kutta method, events, memories, and changes between listed configurations."""

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        method = plan.method
        if method.family:
            return (
                f"'{plan.program.name}' is in {method.family}; derive it with formalism='kane', 'recursive' "
                "or 'momentum'"
            )
        if method.tableau is None:
            return f"method '{method.name}' is not compiled for cards; take rk4, midpoint, dopri5 or dop853"
        if np.ndim(plan.settings.atol):
            return "every state has a tolerance of its own; give one number as atol="
        return ""

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        if plan.method.adaptive and precision != "double":
            raise ArmillaryError(
                f"method '{plan.method.name}' controls errors that precision='{precision}' does not resolve; "
                "give a step=, or precision='double'"
            )
        super().__init__(plan, precision)
        cupy, s = self.device.cupy, plan.settings
        self._times = cupy.asarray(np.append(plan.times, np.inf))
        jumps = np.append([] if plan.stops is None else plan.stops, np.inf)
        self._jumps = cupy.asarray(jumps.astype(self._real).astype(float))  # rounded as the kernel's time
        self._due = cupy.asarray(codes_of_rows(plan))
        reals = (s.t0, s.t_end, s.step or 0.0, s.max_step, s.rtol, float(np.max(s.atol)))
        addresses = np.array([self._times.data.ptr, self._jumps.data.ptr], dtype=np.uint64)
        counts = np.array([s.max_steps, len(plan.times)], dtype=np.int64)
        parts = (addresses, np.array(reals), counts)
        self._code.put("every", np.frombuffer(b"".join(part.tobytes() for part in parts), np.uint8))

    def write_kernel(self) -> Kernel:
        plan = self.plan
        dense = plan.method.adaptive or bool(plan.program.events.results) or plan.row_at is None
        features = Features(plan.method, dense, plan.stops is not None)
        models = self._models = _models(plan)
        self._changes = _change_codes(models) if len(models) > 1 else []
        programs = [code.program for code in self._changes] or [models[0].equations.program]
        configured = [_with_batch_outputs(m, plan, p) for m, p in zip(models, programs, strict=True)]
        metrics = metric_text(plan.metrics)
        return solver_kernel(configured, features, plan.starts.varying, self.precision, plan.history, metrics)

    def precompute_functions(self) -> Sequence[tuple[int, int]]:
        if len(self._models) == 1:
            return super().precompute_functions()
        return [(code.address("precompute"), len(code.program.constants)) for code in self._changes]

    @property
    def wanted(self) -> int:
        return _WAVES * self._code.resident

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        block, signals = starts.compact(i0, i1), self._signals_of(starts)
        if signals is not None:
            block = replace(block, memory=signals.replace_addresses(block.memory, i0))
        return self.make_runs(block, i1 - i0, signals)

    def make_runs(self, block: CompactBlock, n: int, signals: SignalData | None) -> Outcome:
        """Make n runs from given parameters, states and memory."""
        cupy = self.device.cupy
        on_card = {
            "queue": cupy.zeros(2, np.uint64),
            "due": self._due,
            "varied": self._varied_on_card(block, n),
            "state": self._spread(block.state, n),
            "memory": self._spread(block.memory, n),
            **self._results(n),
            "ended": cupy.full(n, -1, np.int32),
        }
        threads = min(n, self._code.resident)
        with self._lock:  # all threads use the same constant memory
            self._put_constants(block.parameters, signals)
            end = self._time_work(lambda: self._code.launch(threads, n, tuple(on_card.values())))
        end()
        with self._lock:
            self.evaluations += int(on_card["queue"].get()[1])
        return self._outcome(on_card, _STATUS)


def _models(plan: Plan) -> list[ConfiguredProgram]:
    """Return the models of all listed configurations, at most as many as a kernel has room for."""
    model = plan.code
    if not (model.changes_configuration and model.changes_inside):
        return [model]
    model.compile_configurations()
    table = configurations_of(model.base.equations)
    return [model.configuration_models[entry.configuration] for entry in table][:ROOM_FOR_CONFIGURATIONS]


def _change_codes(models: Sequence[ConfiguredProgram]) -> list[ChangeCode]:
    """Return the compiled programs of configurations with their sections of changes.

    The section of ratings has all listed choices of dependent speeds with the same locks.
    """
    table = configurations_of(models[0].base.equations)
    found = [(m.base.equations, table.ratings(m.equations.configuration.locked)) for m in models]
    return [ChangeCode(with_changes(equations, ratings=ratings).program) for equations, ratings in found]


def _with_batch_outputs(model: ConfiguredProgram, plan: Plan, program: Program) -> Configured:
    """Return a configuration with only the outputs of the plan."""
    equations = replace(model.equations, program=program)
    watched = equations.targets.watched
    stops = [model.ends_a_leg(k) or e.name in INTERNAL_EVENTS for k, e in enumerate(watched)]
    changing = model.may_change_configuration
    ends = [e.stop and not changes for e, changes in zip(watched, changing, strict=True)]
    program = restrict_outputs(program, model.output_names, plan.columns)
    program = plan.program_with_rates(program, equations.targets)
    return Configured(equations, program, stops, ends)


# The engine on a GPU for fixed steps without events: a run's state stays in registers.

# Status of a run by the number that the kernel of `FixedSteps` writes.
_KERNEL_STATUS = np.array([NOT_RUN, FINISHED, DIVERGED, LEFT_OVER], dtype=np.int8)
_MOST_EVENTS = 64  # a thread keeps one bit per event
_SPEED = 1e13  # nodes of programs that a large card computes per second; used only for the size of chunks
_SECONDS = 1.0  # s: duration of a chunk, and so the longest wait until Ctrl-C acts
# Least number of runs of a chunk that leave their configuration for which a `Queued` kernel is compiled.
MANY = 1000
# Greatest number of runs in a chunk: with more runs the card waits for the host, with fewer its waves are
# half full.
_MOST_RUNS = 1 << 20


class FixedSteps(CardEngine):
    """Engine for fixed steps without events."""

    @classmethod
    def refusal(cls, plan: Plan) -> str:
        program, method = plan.program, plan.method
        handled = [e.name for e in plan.model.equations.targets.watched if e.name not in INTERNAL_EVENTS]
        if method.adaptive or method.tableau is None:
            return f"method '{method.name}' chooses its own steps; give a step, for rk4 or midpoint"
        if handled:
            return f"'{program.name}' has the event '{handled[0]}'"
        if len(program.events.results) > _MOST_EVENTS:
            return f"'{program.name}' has more than {_MOST_EVENTS} constraints to watch"
        if plan.stops is not None and program.update.results:
            return f"inputs jump, and '{program.name}' has memories that are renewed at steps"
        if method.family:
            return f"'{program.name}' is in {method.family}"
        if plan.row_at is None:
            return "samples lie inside steps; let sample= be a multiple of step="
        if not method.tableau.chained_stages:
            return f"method '{method.name}' needs more than the last stage at a time"
        return ""

    def __init__(self, plan: Plan, precision: str = "double") -> None:
        assert plan.method.tableau is not None
        self._tableau = plan.method.tableau
        super().__init__(plan, precision)
        cupy = self.device.cupy
        grid, steps, due = steps_to_jumps(plan, self._real)
        self._grid, self._due, self._last = cupy.asarray(grid), cupy.asarray(due), len(grid) - 1
        self._spans = _spans(steps)
        self._second: Queued | None = None  # for runs that leave their configuration

    def write_kernel(self) -> Kernel:
        plan = self.plan
        metrics, stages = metric_text(plan.metrics), self._tableau.stages
        choice = plan.code.watched_index.get(DEPENDENT_SPEEDS)
        program = plan.program_with_rates(plan.program, plan.code.equations.targets)
        return kernel(
            program, plan.starts.varying, stages, self.precision, plan.history, metrics, choice,
            most_room=self.device.room,
        )  # fmt: skip

    @property
    def wanted(self) -> int:
        """The best number of runs per chunk: about a second's work."""
        plan, wave = self.plan, self.wave
        assert plan.steps is not None
        nodes = len(plan.program.derivatives.nodes) + 4 * len(plan.program.state)
        work = max(1, len(plan.steps)) * self._tableau.stages * nodes
        return max(1, round(min(_SECONDS * _SPEED / work, _MOST_RUNS) / wave)) * wave

    def _chunk(self, starts: Starts, i0: int, i1: int) -> Outcome:
        real, n = self._real, i1 - i0
        block = starts.compact(i0, i1)
        signals = self._signals_of(starts)
        memory = block.memory if signals is None else signals.replace_addresses(block.memory, i0)
        lost = block.state - block.state.astype(real) if real.itemsize == 4 else np.zeros((1, 1))
        on_card = {
            "varied": self._varied_on_card(block, n),
            "state": self._spread(block.state, n),
            "lost": self._spread(lost, n if real.itemsize == 4 else 1),
            "memory": self._spread(memory, n),
            **self._results(n),
        }

        def launch() -> None:
            """Make all steps, with one launch per span of equal steps."""
            for first, stop, length in self._spans:
                self._code.put("step", _method(self._tableau, length, real))
                points = (np.int32(first), np.int32(stop), np.int32(self._last), self._grid, self._due)
                self._code.launch(n * self.kernel.threads, n, (*points, *on_card.values()))

        with self._lock:  # all threads use the same constant memory
            self._put_constants(block.parameters, signals)
            end = self._time_work(launch)
            self.evaluations += n * self._last * self._tableau.stages
        end()
        outcome = self._outcome(on_card, _KERNEL_STATUS)
        left = np.flatnonzero(outcome.status == LEFT_OVER)
        if left.size >= MANY and not Queued.refusal(self.plan):
            with self._lock:
                self._second = self._second or Queued(self.plan, self.precision)
            chosen = CompactBlock(
                block.parameters,
                {place: column[left] for place, column in block.varied.items()},
                *(a[:, left] if a.shape[1] == n else a for a in (block.state, memory)),
            )
            outcome.put_runs(left, self._second.make_runs(chosen, left.size, signals))
        return outcome


# ---------------------------------------------------------------- data for the kernel


def _spans(steps: np.ndarray) -> list[tuple[int, int, float]]:
    """Return the spans of consecutive equal steps: (first, end, length)."""
    if not steps.size:
        return [(0, 0, 0.0)]
    edges = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    return [(a, b, float(steps[a])) for a, b in pairwise(edges)]


def _method(tableau: Tableau, step: float, real: np.dtype) -> np.ndarray:
    """Return the kernel's ``struct method``: the weights times the step, as bytes."""
    stages = tableau.stages
    kind = np.dtype([("a", real, stages), ("b", real, stages), ("c", np.float64, stages)], align=True)
    record = np.zeros((), kind)
    record["c"], record["b"], record["a"] = step * np.array(tableau.chained_stages).T
    return np.frombuffer(record.tobytes(), np.uint8)
