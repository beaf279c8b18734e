"""The plan of a batch, from which an engine makes the runs, and functions that make it from arguments.

Arrays have a row per quantity and a column per run: numbers of neighbouring runs are neighbours in memory, as
vector registers and GPUs need them.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import real, several
from armillary.ensembles.metrics import Metric, Metrics, read_metrics
from armillary.ensembles.starts import Starts
from armillary.errors import ArmillaryError, nearest
from armillary.model.units import in_seconds
from armillary.program.program import Program, section
from armillary.program.sections import with_outputs_of_rates
from armillary.program.targets.targets import Targets
from armillary.runtime.integrators.settings import ROWS, IntegrationSettings, SampleTimes, complete_settings
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import RunSettings
from armillary.solver.methods.tableau import Method
from armillary.solver.thresholds import SNAP
from armillary.untyped import Given

# How a run ended, by number.
STATUS = (
    "finished", "event", "diverged", "step too small", "events accumulate", "too many steps", "failed",
    "not run",
)  # fmt: skip
FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY_STEPS, FAILED, NOT_RUN = range(len(STATUS))

AT_ONCE = 20_000  # steps of a run between two checks for Ctrl-C
KEPT, MEASURED = 1, 2  # the purpose of a row: a history, metrics, or both (3)


@dataclass(frozen=True)
class BatchMetric:
    """A metric of a batch: its name, and the column of its output."""

    name: str
    metric: Metric
    column: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The runs of a batch, checked and ready for any engine.

    ``times`` are the times of all rows. ``kept`` rows become histories of the columns ``history``;
    ``measured`` rows update the metrics. If all rows are at grid points, ``grid`` has the ends and ``steps``
    the lengths of fixed steps, and ``row_at`` the row at each grid point, or −1; else they are `None`.
    """

    model: CompiledModel
    program: Program  # the model's program, with only ``columns`` as outputs
    columns: tuple[str, ...]
    settings: IntegrationSettings
    times: np.ndarray
    kept: np.ndarray
    measured: np.ndarray
    history: tuple[int, ...]
    metrics: tuple[BatchMetric, ...]
    starts: Starts
    grid: np.ndarray | None
    steps: np.ndarray | None
    row_at: np.ndarray | None
    code: CompiledModel  # the model whose functions make the runs: ``model``, or its variant with inputs
    size: int  # number of runs of the batch, or of a block of a study, by which the engine is chosen

    @cached_property
    def stops(self) -> np.ndarray | None:
        """Times at which an input of any run jumps."""
        inputs, s = self.starts.inputs, self.settings
        return inputs.stops(s.t0, s.t_end, s.integrator.adaptive) if inputs is not None else None

    @property
    def runs(self) -> int:
        return self.starts.runs

    @property
    def method(self) -> Method:
        return self.settings.integrator

    @property
    def samples(self) -> np.ndarray:
        """The times of histories."""
        return self.times[self.kept] if self.history else self.times[:0]

    @property
    def first_measured(self) -> float:
        """The time of the first row for metrics."""
        seen = self.times[self.measured]
        return float(seen[0]) if seen.size else self.settings.t0

    def program_with_rates(self, program: Program, targets: Targets) -> Program:
        """Return a configuration's program, in which outputs are computed from rates of the state if that
        saves time. ``program`` has the plan's outputs. With fixed steps, an engine knows the rates at each
        row, unless updates change the memory between steps.
        """
        if self.method.adaptive or program.update.results:
            return program
        return with_outputs_of_rates(program, targets, self.columns)

    @property
    def slots(self) -> np.ndarray:
        """The values of all metrics' slots before the first row."""
        return np.array([x for entry in self.metrics for x in entry.metric.start], dtype=float)

    @property
    def uses(self) -> np.ndarray:
        """The purpose of each row, as a real number that compiled code compares."""
        return np.where(self.kept, float(KEPT), 0.0) + np.where(self.measured, float(MEASURED), 0.0)

    def slot_places(self) -> list[int]:
        """Return the index of the first slot of each metric."""
        sizes = [len(entry.metric.start) for entry in self.metrics]
        return [sum(sizes[:i]) for i in range(len(sizes))]


# From the arguments of a batch to its plan: checked names, row times, the grid of fixed steps.

_MOST_STEPS = 2e7  # most fixed steps of a run; their times take a gigabyte
_LISTED = 10  # most names in a message


def plan(
    model: CompiledModel,
    given: RunSettings,
    *,
    parameters: Given = None,
    initial: Given = None,
    memory: Given = None,
    inputs: Given = None,
    watch: float | None = None,
    outputs: Sequence[str] | None = None,
    metrics: Metrics | None = None,
    runs: int | None = None,
) -> Plan:
    """Return the plan of a batch; ``simulate_batch`` explains the arguments."""
    equations = model.equations
    contacts = bool(equations.system.contacts)
    settings = complete_settings(given, equations.method_family, contacts=contacts)
    if settings.integrator.rosenbrock:
        model = model.differentiated
    settings = replace(settings, atol=model.tolerances(settings.atol))
    # raises an error unless there is one tolerance, or one for each state
    settings.tolerances(len(model.equations.program.state))
    t0, t_end, sample, fixed = settings.t0, settings.t_end, settings.sample, settings.fixed_step
    asked = read_metrics(metrics)
    history = _history(model, outputs, bool(asked))
    for name, metric in asked.items():
        _check_output(model, metric.output, f"metric '{name}'")
        if name in history:
            raise ArmillaryError(f"metric '{name}' has the name of an output whose history is kept")
    columns = tuple(dict.fromkeys([*history, *(m.output for m in asked.values())]))
    driven = model.driven_inputs(inputs, memory, given, many=True)
    starts = Starts(model, parameters, initial, memory, runs, t0, inputs=driven)
    code = model if driven is None else model.driven
    _check_names(asked, starts)
    if fixed and (t_end - t0) / fixed > _MOST_STEPS:
        raise ArmillaryError(
            f"step={fixed:g} means {(t_end - t0) / fixed:.3g} steps per run, more than {_MOST_STEPS:g}: use "
            "a larger step or an adaptive method"
        )
    program = model.equations.program
    others = len(program.state) + len(program.memory) + len(program.parameters)
    others += sum(m.size + len(m.start) for m in asked.values())
    _check_size(starts.runs, _samples(t0, t_end, sample, fixed), len(history), others)
    if watch is not None:
        watch = in_seconds("watch", watch)
        _check_size(1, _samples(t0, t_end, watch, fixed), len(asked), 0)
    times, kept, measured = _row_times(t0, t_end, sample, watch, fixed, bool(history), bool(asked))
    grid, steps, row_at = _grid(t0, t_end, fixed, times) if fixed else (None, None, None)
    return Plan(
        model=model,
        program=restrict_outputs(code.equations.program, model.output_names, columns),
        columns=columns,
        settings=settings,
        times=times,
        kept=kept,
        measured=measured,
        history=tuple(columns.index(name) for name in history),
        metrics=tuple(BatchMetric(name, m, columns.index(m.output)) for name, m in asked.items()),
        starts=starts,
        grid=grid,
        steps=steps,
        row_at=row_at,
        code=code,
        size=starts.runs,
    )


def _check_names(asked: Iterable[str], starts: Starts) -> None:
    """Raise an error for a metric whose name is empty or taken by another column of the results."""
    varied = {name for found in starts.differing_values().values() for name in found}
    for name in asked:
        if name in varied:
            raise ArmillaryError(
                f"metric '{name}' has the name of a quantity that differs between the runs; rename the metric"
            )
        if not name.strip():
            raise ArmillaryError("a metric needs a name")
        if name in ("run", "time", "status", "t_stop"):
            raise ArmillaryError(
                f"a metric cannot be called '{name}': tables of runs have a column of that name"
            )


def _history(model: CompiledModel, outputs: Sequence[str] | None, reduced: bool) -> list[str]:
    """Return the outputs whose histories are kept: the requested ones.

    Without a request these are none if the batch has metrics (``reduced``), else all.
    """
    if outputs is None:
        return [] if reduced else list(model.output_names)
    names = [str(name) for name in several(outputs, "outputs=")]
    found: list[str] = []
    for name in names:
        matches = [name] if name in model.output_names else fnmatch.filter(model.output_names, name)
        if not matches:
            _check_output(model, name, "outputs=")
        found += matches
    return list(dict.fromkeys(found))


def _check_output(model: CompiledModel, name: str, where: str) -> None:
    if name in model.output_names:
        return
    expression = re.search(r"[-+*/(]", name)
    hint = f"; an expression becomes one by s.output('…', '{name}')" if expression else ""
    first, comma, more = name.rpartition(",")
    if comma and first.strip() in model.output_names:
        hint = f"; '{first.strip()}' is one: leave out '{comma}{more}'"
    hint = hint or nearest(name, model.output_names)
    known = f"; there are {', '.join(model.output_names[:_LISTED])}"
    more = f" and {len(model.output_names) - _LISTED} others" if len(model.output_names) > _LISTED else ""
    raise ArmillaryError(f"{where}: there is no output '{name}'{hint or known + more}")


def restrict_outputs(program: Program, names: Sequence[str], columns: Sequence[str]) -> Program:
    """Return the program with only the outputs ``columns`` out of ``names``."""
    if tuple(columns) == tuple(names):
        return program
    results = [program.outputs.results[list(names).index(name)] for name in columns]
    return replace(program, outputs=section("outputs", columns, results))


def _row_times(
    t0: float,
    t_end: float,
    sample: Given,
    watch: float | None,
    step: float | None,
    history: bool,
    metrics: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times of all rows, the rows that are kept as histories, and the rows that metrics read.

    Metrics read a row every ``watch`` seconds, by default at every grid point of fixed steps or, with an
    adaptive method, at a thousand intervals. Histories are kept at the sample times, with the same default.
    """
    usual = _grid_points(t0, t_end, step) if step else _even(t0, t_end, (t_end - t0) / ROWS)
    watched = usual if watch is None else _even(t0, t_end, real(watch, "watch"))
    given = SampleTimes(sample, t0, t_end)
    samples = usual[:0]
    if history:
        samples = usual if given.every_step else given.times(0, given.count)
    if not metrics:
        return samples, np.ones(len(samples), dtype=bool), np.zeros(len(samples), dtype=bool)
    if not len(samples):
        return watched, np.zeros(len(watched), dtype=bool), np.ones(len(watched), dtype=bool)
    watched = _snap_times(watched, samples, SNAP * (step or (t_end - t0) / ROWS))
    times = np.union1d(watched, samples)
    return times, np.isin(times, samples), np.isin(times, watched)


def _even(t0: float, t_end: float, interval: float) -> np.ndarray:
    """Return times at equal intervals from t0, and the end."""
    if t_end == t0:
        return np.array([t0])
    even = SampleTimes(interval, t0, t_end)
    times = even.times(0, even.count)
    return times if times[-1] == t_end else np.append(times, t_end)


def _snap_times(times: np.ndarray, others: np.ndarray, near: float) -> np.ndarray:
    """Return the times; replace each by the nearest of ``others`` if they differ by at most ``near``."""
    if not len(others):
        return times
    after = np.clip(np.searchsorted(others, times), 0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest_one = np.where(np.abs(others[before] - times) < np.abs(others[after] - times), before, after)
    found = others[nearest_one]
    return np.where(np.abs(found - times) <= near, found, times)


def _samples(t0: float, t_end: float, sample: Given, step: float | None) -> float:
    """Return the number of samples, computed without making them."""
    if sample is None:
        return (t_end - t0) / step + 1 if step else ROWS + 1
    return SampleTimes(sample, float(t0), float(t_end)).count


def _grid_points(t0: float, t_end: float, step: float) -> np.ndarray:
    """Return the ends of fixed steps as the loop of a single run makes them; the last step ends at t_end."""
    count = int(np.ceil((t_end - t0) / step - SNAP)) if t_end > t0 else 0
    points = t0 + np.arange(count + 1) * step
    points[-1] = t_end
    return points


def _grid(
    t0: float, t_end: float, step: float, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | tuple[None, None, None]:
    """Return the grid points, the steps between them, and the row due at each (−1: none).

    All three are `None` if a row lies inside a step.
    """
    points = _grid_points(t0, t_end, step)
    place = np.clip(np.rint((times - t0) / step).astype(int), 0, len(points) - 1)
    place[times >= t_end - SNAP * step] = len(points) - 1
    if np.any(np.abs(points[place] - times) > SNAP * step) or np.any(np.diff(place) == 0):
        return None, None, None
    points[place] = times
    steps = np.diff(points)
    whole = np.abs(steps - step) <= 4.0 * np.finfo(float).eps * np.abs(points[1:])
    row_at = np.full(len(points), -1)
    row_at[place] = np.arange(len(times))
    return points, np.where(whole, step, steps), row_at


def _check_size(runs: int, samples: float, history: int, others: int) -> None:
    """Raise an error if results do not fit into memory; ``others`` is the count of a run's other numbers."""
    samples = samples if history else 0.0
    numbers = samples * history + others
    size, most = 8.0 * (runs * numbers + samples), _room()
    if size > most:
        raise ArmillaryError(
            f"{runs} runs with {numbers:,.0f} numbers each would take {_gibibytes(size)} of memory, more "
            f"than {_gibibytes(most)}; keep fewer samples (sample=) or outputs (outputs=), use metrics= "
            "instead of histories, or use a Study, which writes to disk"
        )


def _room() -> float:
    """Return the bytes that results may take: half of the machine's memory."""
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30


def _gibibytes(size: float) -> str:
    return f"{size / 2**30:,.0f} GiB" if size >= 2**30 * 10 else f"{size / 2**30:.2g} GiB"
