"""Many runs of one model at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import count, one_of
from armillary.ensembles.engines.engine import LEFT_OVER, Engine, Outcome
from armillary.ensembles.engines.table import PythonEngine, engine_for
from armillary.ensembles.plan import DIVERGED, EVENT, FAILED, FINISHED, NOT_RUN, STATUS, TOO_SMALL, Plan
from armillary.ensembles.plan import plan as make_plan
from armillary.ensembles.result import Batch, batch_of
from armillary.ensembles.starts import Starts
from armillary.errors import ArmillaryError, SimulationError
from armillary.model.units import state_factor
from armillary.runtime.inputs.reading import DrivenInputs
from armillary.runtime.models.compiled_program import processors
from armillary.runtime.models.failures import SINGULAR_THERE
from armillary.runtime.models.instance import Instance
from armillary.runtime.progress import report_line, time_left
from armillary.settings import RunSettings
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


# The search for completed runs that went through a configuration with a motion without mass. Such a motion
# moves no mass, so that the mass matrix is singular.
#
# The loops of a batch do not keep the states from which a single run detects such a configuration. So a run
# is suspect if its last speeds are enormous compared with its start speeds plus the start accelerations times
# its duration. A suspect run is repeated as a single run, which checks the mass matrix
# (runtime/models/failures.py). Runs that pass the check keep their numbers. The first few runs that failed
# are also repeated as single runs, to find the reason.

_ENORMOUS = 100.0  # least ratio of last to expected speeds of a suspect run
# Runs are searched in the order of decreasing speed. The search ends when _EXAMINED runs were not suspect or
# _REPEATED suspect runs passed the check, counted from the last run that failed it.
_EXAMINED = 256
_REPEATED = 20
_EXPLAINED = 5  # failed runs that are repeated to find the reason
_ROWS = 2000  # most samples of a repeated run


def mark_weak_runs(plan: Plan, outcome: Outcome) -> None:
    """Mark completed runs with a motion without mass as failed, with the message of the single run."""
    _explain_failed_runs(plan, outcome)
    if not plan.model.equations.joints_move_bodies or _masses_suffice(plan):
        return
    kinds = _speeds_by_kind(plan)
    ended = np.flatnonzero((outcome.status == FINISHED) | (outcome.status == EVENT))
    if not kinds or not ended.size:
        return
    values = (outcome.state[own][:, ended] for own in kinds)
    last = np.stack([np.max(np.abs(own), axis=0) for own in values])
    usual = np.median(last, axis=1, keepdims=True)
    size = np.max(last / np.where(usual > 0.0, usual, 1.0), axis=0)
    unsuspected = sound = 0
    for i in _largest_first(size, ended):
        if unsuspected >= _EXAMINED or sound >= _REPEATED:
            return
        if not _is_suspect(plan, i, outcome.state[:, i], kinds):
            unsuspected += 1
        elif why := _reason_of_stop(plan, i):
            outcome.status[i], outcome.messages[i], outcome.event[i] = FAILED, why, -1
            for array in (outcome.rows, outcome.slots, outcome.state, outcome.memory):
                array[..., i] = np.nan
            unsuspected = sound = 0
        else:
            sound += 1


def _masses_suffice(plan: Plan) -> bool:
    """Return whether all runs of a batch have the same masses, and no motion can be without mass."""
    starts = plan.starts
    if set(starts.varying) & set(starts.table.masses.defaults):
        return False
    return Instance(plan.model, starts.single(0)["parameters"]).masses_suffice


def _largest_first(size: np.ndarray, runs: np.ndarray) -> Iterator[int]:
    """Yield runs by decreasing size; sort the largest few first, since the others are seldom needed."""
    few = 2 * _EXAMINED
    if size.size > few:
        first = np.argpartition(-size, few)[:few]
        yield from runs[first[np.argsort(-size[first], kind="stable")]].tolist()
        yield from runs[np.argsort(-size, kind="stable")[few:]].tolist()
    else:
        yield from runs[np.argsort(-size, kind="stable")].tolist()


def _explain_failed_runs(plan: Plan, outcome: Outcome) -> None:
    """Add messages to failed runs if a repeated single run came to a motion without mass."""
    failed = np.flatnonzero((outcome.status == DIVERGED) | (outcome.status == TOO_SMALL)).tolist()
    reasons = {i: why for i in failed[:_EXPLAINED] if (why := _reason_of_stop(plan, i))}
    outcome.messages |= reasons
    if reasons:
        first, why = next(iter(reasons.items()))
        status = {i: STATUS[outcome.status[i]] for i in failed[_EXPLAINED:]}
        outcome.messages |= {i: f"{s}; run {first}, which was repeated: {why}" for i, s in status.items()}


def _speeds_by_kind(plan: Plan) -> list[list[int]]:
    """Return the indices of speeds among the states, grouped by kind and unit."""
    speeds = {u.data.name for u in plan.model.equations.system.speeds}
    kinds: dict[object, list[int]] = {}
    for k, symbol in enumerate(plan.program.state):
        if symbol.data.name in speeds:
            kinds.setdefault((symbol.dimension, state_factor(symbol)), []).append(k)
    return list(kinds.values())


def _is_suspect(plan: Plan, i: int, state: np.ndarray, kinds: list[list[int]]) -> bool:
    """Return whether the last speeds of run i are enormous compared with those expected from its start."""
    parameters, start, memory = plan.starts.block(i, i + 1)
    instance = Instance(plan.code, known=plan.code.constants_inside(parameters[:, 0]))
    rates = instance.derivatives(plan.settings.t0, start[:, 0], memory[:, 0])
    expected = np.abs(start[:, 0]) + np.abs(rates) * (plan.settings.t_end - plan.settings.t0)
    return any(np.max(np.abs(state[own])) > _ENORMOUS * np.max(expected[own]) for own in kinds)


def _reason_of_stop(plan: Plan, i: int) -> str:
    """Repeat run i as a single run; return why it stopped at a motion without mass, or "" if it did not."""
    settings, step = plan.settings, plan.settings.fixed_step
    rows = max(1.0, np.ceil((settings.t_end - settings.t0) / step / _ROWS)) * step if step else None
    try:
        plan.model.run_with(replace(settings, sample=rows), **plan.starts.single(i))
    except SimulationError as error:
        return str(error) if SINGULAR_THERE in str(error) else ""
    except ArmillaryError:
        return ""
    return ""


# Duration of a chunk in seconds, and so the interval between progress reports and between checks for Ctrl-C.
_CHUNK_SECONDS = 0.1
# Least number of vectors of runs in a chunk, for engines that make the runs of a vector side by side, one in
# each lane. At the end of a chunk, all lanes wait for the longest run: runs of 7 ms on eight lanes took nine
# times as long in chunks of one run.
_LEAST_VECTORS = 4
_DEVICES = ("cpu", "gpu")
_PRECISIONS = ("double", "single", "fast")  # fast: single precision with the card's approximate sines


def simulate_batch(
    model: CompiledModel,
    settings: RunSettings,
    *,
    threads: int | None = None,
    progress: bool | Callable[[int], None] = True,
    **how: Given,
) -> Batch:
    """Return many runs with given settings; see ``Model.simulate_batch``."""
    prepared = Prepared(model, settings, **how)
    prepared.plan.starts.check_possible()
    return prepared.run(prepared.plan.starts, threads, progress)


class Prepared:
    """A compiled batch, to be run with any values of the quantities that differ between runs."""

    def __init__(
        self,
        model: CompiledModel,
        settings: RunSettings,
        *,
        device: str = "cpu",
        precision: str = "double",
        size: int | None = None,
        **how: Given,
    ) -> None:
        """Compile for arguments ``how`` of ``simulate_batch``; calls replace the values that differ.

        ``size`` is the number of runs of later batches, by default the number of example values.
        """
        check_device(device, precision)
        began = time.perf_counter()
        plan = make_plan(model, settings, **how)
        self.plan = plan if size is None else replace(plan, size=size)
        self.device, self.precision = device, precision
        self.engine = engine_for(self.plan, device, precision)
        self.seconds = time.perf_counter() - began

    def __call__(
        self,
        *,
        parameters: Given = None,
        initial: Given = None,
        memory: Given = None,
        runs: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[int], None] = False,
    ) -> Batch:
        """Return runs with given values; the same quantities must differ as in the example values."""
        known = self.plan.starts
        t0, inputs = self.plan.settings.t0, known.given_inputs
        starts = Starts(self.plan.model, parameters, initial, memory, runs, t0, known, inputs)
        if set(starts.varying) != set(known.varying):
            raise ArmillaryError(
                f"the batch is made for runs that differ in {', '.join(known.varying) or 'no parameter'}, "
                f"but the runs differ in {', '.join(starts.varying) or 'no parameter'}"
            )
        return self.run(starts, threads, progress)

    def run(self, starts: Starts, threads: int | None, progress: bool | Callable[[int], None]) -> Batch:
        """Return the batch of all runs from given starts."""
        count = self.engine.threads or min(thread_count(threads), starts.runs)
        began = time.perf_counter()
        plan = replace(self.plan, starts=starts)
        interrupted = False
        if (
            self.engine.leaves_runs
            and plan.code.changes_configuration
            and len(plan.code.configuration_models) < 2
        ):
            # Most runs enter the same configurations as the first, which is made beforehand to find them.
            first = PythonEngine(plan)
            first.make_run(starts, 0, 0, Outcome.empty(plan, 1))
            self.engine.renew()
            interrupted = bool(first.halt[0])
        outcome = (
            Outcome.empty(plan, starts.runs) if interrupted else _make_all(plan, self.engine, count, progress)
        )
        if self.engine.leaves_runs:
            halted = bool(np.any(outcome.status == NOT_RUN))
            _make_left_over(self.plan, self.engine, outcome, starts, halted)
        if starts.inputs is not None:
            _show_inputs(starts.inputs, outcome)
        if not self.engine.judges_runs and not np.any(outcome.status == NOT_RUN):
            mark_weak_runs(plan, outcome)
        info = {
            "device": self.device,
            "precision": self.precision,
            "engine": self.engine.name,
            "threads": count,
            "prepare_seconds": self.seconds,
            "seconds": time.perf_counter() - began,
            **self.engine.info,
        }
        return batch_of(plan, outcome, info)


def _show_inputs(inputs: DrivenInputs, outcome: Outcome) -> None:
    """Replace addresses of input data in the final memory by the values of the inputs."""
    for name, place in inputs.places.items():
        for t in np.unique(outcome.t_stop):
            here = outcome.t_stop == t
            value = inputs.pieces[name](t)
            outcome.memory[place, here] = value[here] if value.ndim else value
        outcome.memory[place, np.isnan(outcome.t_stop)] = np.nan


def _make_left_over(plan: Plan, engine: Engine, outcome: Outcome, starts: Starts, halted: bool) -> None:
    """Make the runs that an engine left over; after Ctrl-C mark them as not run.

    The first of them is made as a single run. If it enters configurations that the engine lacks, the engine
    gets these configurations and tries the remaining runs again. This is repeated until no run is left.
    """
    left_over = np.flatnonzero(outcome.status == LEFT_OVER)
    if halted or not left_over.size:
        outcome.status[left_over] = NOT_RUN
        return
    single = PythonEngine(plan)
    while left_over.size:
        i, left_over = int(left_over[0]), left_over[1:]
        for array in (outcome.rows, outcome.slots, outcome.state, outcome.memory, outcome.t_stop):
            array[..., i] = np.nan
        outcome.event[i] = -1
        single.make_run(starts, i, i, outcome)
        if single.halt[0]:
            outcome.status[left_over] = NOT_RUN
            return
        if left_over.size and engine.renew():
            for part in np.split(left_over, np.flatnonzero(np.diff(left_over) > 1) + 1):
                outcome.put_runs(int(part[0]), engine(starts, int(part[0]), int(part[-1]) + 1))
            left_over = left_over[outcome.status[left_over] == LEFT_OVER]


def check_device(device: str, precision: str) -> None:
    """Raise an error for an unknown device or precision, or a precision that the device lacks."""
    _one_of("device", device, _DEVICES)
    check_precision(precision)
    if precision != "double" and device != "gpu":
        raise ArmillaryError(
            f"precision='{precision}' is for device='gpu'; on the CPU runs are in double precision"
        )


def check_precision(precision: str) -> None:
    _one_of("precision", precision, _PRECISIONS)


def thread_count(threads: int | None) -> int:
    """Return the number of threads: as requested, or one for each core."""
    return processors() if threads is None else count(threads, "threads=")


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    one_of(value, known, f"{what}=")


def _make_all(plan: Plan, engine: Engine, threads: int, progress: bool | Callable[[int], None]) -> Outcome:
    """Return all runs, made in chunks by several threads; the numbers do not depend on the chunks."""
    engine.halt[0] = 0.0
    engine.make_ready()

    def words(seconds: float, done: int) -> str:
        rate = f"{done / seconds:,.3g} per second, {time_left(seconds, done / plan.runs)}"
        return f"  {done:,} of {plan.runs:,} runs, {rate}"

    with report_line(progress, words) as report:
        crew = _Crew(plan, engine, threads, report)
        try:
            crew.run()
        except KeyboardInterrupt:
            engine.halt[0] = 1.0
            crew.halt()
    return crew.outcome


class _Crew:
    """Threads that make chunk after chunk."""

    def __init__(
        self, plan: Plan, engine: Engine, threads: int, report: Callable[[int], None] | None
    ) -> None:
        self.plan, self.starts, self.engine = plan, plan.starts, engine
        self.runs = runs = plan.starts.runs
        self._outcome: Outcome | None = None
        self.count, self.report = threads, report
        self.lock = threading.Lock()
        self.taken = self.finished = 0
        self.fixed = engine.chunk
        vectors = min(_LEAST_VECTORS, -(-runs // (threads * engine.width)))
        self.least = engine.width * vectors if engine.width > 1 else 1
        self.chunk = self.fixed or max(min(64, runs // (4 * threads)), self.least)
        self.errors: list[BaseException] = []
        self.members: list[threading.Thread] = []

    def run(self) -> None:
        """Make all chunks; this thread only waits, so that Ctrl-C reaches it."""
        self.members = [threading.Thread(target=self._member, daemon=True) for _ in range(self.count)]
        for thread in self.members:
            thread.start()
        for thread in self.members:
            while thread.is_alive():
                thread.join(0.2)
        if self.errors:
            raise self.errors[0]

    def halt(self) -> None:
        """Begin no further chunks, and wait for running chunks."""
        with self.lock:
            self.taken = self.runs
        for thread in self.members:
            thread.join()

    def _member(self) -> None:
        try:
            while (chunk := self._take_chunk()) is not None:
                began = time.perf_counter()
                part = self.engine(self.starts, *chunk)
                self._mark_failed_starts(part, *chunk)
                self._store(part, chunk[0])
                self._count_finished_runs(chunk[1] - chunk[0], time.perf_counter() - began)
        except BaseException as error:
            self.errors.append(error)
            with self.lock:
                self.taken = self.runs

    @property
    def outcome(self) -> Outcome:
        """The results of all runs; runs that were not made have no numbers."""
        if self._outcome is None:
            self._outcome = Outcome.empty(self.plan, self.runs)
        return self._outcome

    def _store(self, part: Outcome, i0: int) -> None:
        if len(part.status) == self.runs:
            self._outcome = part
            return
        with self.lock:
            whole = self.outcome
        whole.put_runs(i0, part)

    def _mark_failed_starts(self, part: Outcome, i0: int, i1: int) -> None:
        """Mark runs that could not start, with the reasons."""
        for k in np.flatnonzero(self.starts.unable[i0:i1]).tolist():
            part.status[k], part.messages[k] = FAILED, self.starts.failed[i0 + k]

    def _take_chunk(self) -> tuple[int, int] | None:
        with self.lock:
            if self.taken >= self.runs:
                return None
            left = self.runs - self.taken
            # The last chunks are small, so that all threads end together, unless the engine needs a fixed
            # size.
            size = min(self.chunk, left if self.fixed else max(-(-left // self.count), self.least), left)
            i0, self.taken = self.taken, self.taken + size
            return i0, i0 + size

    def _count_finished_runs(self, count: int, seconds: float) -> None:
        with self.lock:
            self.finished += count
            finished = self.finished
            if not self.fixed:
                wanted = count * _CHUNK_SECONDS / max(seconds, 1e-6)
                self.chunk = int(min(max(wanted, self.chunk / 4, self.least), self.chunk * 4, 1 << 20))
                self.chunk -= self.chunk % 64 if self.chunk > 64 else 0  # a multiple of all vector lengths
        if self.report:
            self.report(finished)
