"""The runs of a study, block by block: batches of the model with the values of the design."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from armillary.algebra.arguments import count
from armillary.algebra.units import is_quantity
from armillary.ensembles.batch import Prepared, check_precision
from armillary.ensembles.metrics import Histogram, Metrics, read_metrics
from armillary.ensembles.plan import NOT_RUN, Plan
from armillary.ensembles.plan import STATUS as ENDS
from armillary.ensembles.plan import plan as make_plan
from armillary.ensembles.result import Batch
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.limited_files import reason
from armillary.model.units import state_factor
from armillary.results.files import netcdf_label
from armillary.results.record import distinct_labels
from armillary.runtime.inputs.signal import Signal
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table, plain_number
from armillary.runtime.start.initial import state_number
from armillary.settings import RunSettings
from armillary.studies.definition import Definition, identity, make_definition
from armillary.studies.folder import (
    METRIC,
    RUN,
    STATUS,
    STOP,
    VARIED,
    Array,
    Folder,
    Made,
    StoredColumn,
    StoreLayout,
    StudyLock,
)
from armillary.studies.records import LARGEST, BlockRecord, finish_block, input_identity
from armillary.studies.sampling import Design
from armillary.untyped import DataMapping, DataTable, Given

# Blocks of runs, made and written in the same way on this machine's threads and on a cluster's workers.

Values: TypeAlias = Mapping[str, np.ndarray]
RunMaker: TypeAlias = Callable[[Values, int], Made]  # arguments: values, first run's number


@dataclass(frozen=True, eq=False)
class BlockMaker:
    """The folder of blocks, and the function that makes their runs."""

    folder: Folder
    layout: StoreLayout
    digest: str
    make_runs: RunMaker

    @classmethod
    def of(cls, folder: Folder, definition: Definition, make_runs: RunMaker) -> BlockMaker:
        return cls(folder, definition.layout, definition.digest, make_runs)

    def make(self, number: int, values: Values) -> BlockRecord:
        """Make and write a block, and return its record; after an error the block does not count."""
        started = time.perf_counter()
        first, end = self.layout.span(number)
        try:
            made = self.make_runs(values, first)
        except ArmillaryError as error:
            raise ArmillaryError(f"study '{self.folder.root}', runs {first} to {end - 1}: {error}") from error
        seconds = time.perf_counter() - started
        try:
            return finish_block(self.folder, self.layout, self.digest, number, made, seconds)
        except OSError as error:
            raise ArmillaryError(
                f"study '{self.folder.root}', block {number} cannot be written: {reason(error)}; finished "
                "blocks are kept: run it again to go on"
            ) from error


def run_here(
    blocks: BlockMaker,
    values: Callable[[int, int], Values],
    numbers: Iterable[int],
    lock: StudyLock,
    done: Callable[[BlockRecord], None],
) -> None:
    """Make blocks one after another in this process; ``values(i0, i1)`` returns the design's values for the
    runs from i0 up to i1.
    """
    for number in numbers:
        lock.check()
        done(blocks.make(number, values(*blocks.layout.span(number))))


PARAMETER, INITIAL, MEMORY = "parameters", "initial", "memory"
KINDS = (PARAMETER, INITIAL, MEMORY)
INPUTS = "inputs"  # over time, the same for all runs

Thing = TypeVar("Thing")

_LONGEST = 200  # bytes of a name in the store; most file systems allow 255
_CODES = {word: float(code) for code, word in enumerate(ENDS)}


def kind_of(model: CompiledModel, name: str) -> str:
    """Return the kind of a varied name: a parameter, an initial value, or a memory."""
    system = model.equations.system
    states = [s.data.name for s in system.initial]
    if name in model.parameters:
        return PARAMETER
    if name in states:
        return INITIAL
    if name in system.memories:
        return MEMORY
    known = [*model.parameters, *states, *system.memories]
    hint = nearest(name, known)
    raise ParameterError(
        f"varied '{name}': there is no such parameter, coordinate, speed, state or memory{hint}"
    )


def units_of(model: CompiledModel) -> dict[str, str]:
    """Return the units in which parameters, initial values and memories are given."""
    system = model.equations.system
    columns = {column.name: column.units for column in model.equations.targets.columns}
    states = [s.data.name for s in system.initial]
    found = {name: columns.get(name, "") for name in states} | dict(model.equations.parameter_units)
    return {name: memory.symbol.data.units or "" for name, memory in system.memories.items()} | found


def arguments(how: DataMapping, vary: Mapping[str, str], values: Mapping[str, object]) -> DataTable:
    """Return the arguments of a simulation: the settings ``how``, with varied values among the fixed ones."""
    found = dict(how)
    for kind in KINDS:
        own = {name: values[name] for name in vary if vary[name] == kind}
        if own or how.get(kind):
            found[kind] = {**how.get(kind, {}), **own}
    return found


def layout_of(plan: Plan, vary: Mapping[str, str], runs: int, block: int) -> StoreLayout:
    """Return the layout of the results that a study keeps."""
    outputs = {column.name: column for column in plan.model.equations.targets.columns}
    units, texts = units_of(plan.model), _texts(plan.model)
    arrays, columns = [], []
    for name in (plan.columns[i] for i in plan.history):
        arrays.append(Array(name, name, "time", len(plan.samples), outputs[name].units, outputs[name].about))
    for name in vary:
        columns.append(StoredColumn(name, name, VARIED, units.get(name, ""), texts.get(name, "")))
    for entry in plan.metrics:
        metric, name = entry.metric, entry.name
        if isinstance(metric, Histogram):
            edges = tuple(metric.edges.tolist())
            unit = outputs[metric.output].units
            arrays.append(Array(name, name, f"{name} bin", metric.size, "1", str(metric), edges, unit))
        else:
            unit = metric.units(outputs[metric.output].units)
            columns.append(StoredColumn(name, name, METRIC, unit, str(metric)))
    ends = ", ".join(f"{number} {word}" for number, word in enumerate(ENDS))
    columns.append(StoredColumn(STATUS, STATUS, STATUS, "1", f"how the run ended: {ends}"))
    columns.append(StoredColumn(STOP, STOP, STOP, "s", "when the run ended"))
    return _with_unique_labels(StoreLayout(tuple(columns), tuple(arrays), runs, block, plan.samples))


def _texts(model: CompiledModel) -> dict[str, str]:
    """Return descriptions of parameters and initial values, from the model."""
    system = model.equations.system
    texts = {
        s.data.name: f"initial value; {s.data.about}" if s.data.about else "initial value"
        for s in system.initial
    }
    return texts | {name: node.data.about or "" for name, node in system.parameters.items()}


def _with_unique_labels(layout: StoreLayout) -> StoreLayout:
    """Give every column and array a unique name in the store; a history keeps the output's name."""
    histories = [array.name for array in layout.arrays]
    wished = [
        f"{column.kind} {column.name}" if column.name in histories else column.name
        for column in layout.columns
    ]
    labels = iter(distinct_labels(map(_folder_name, [*histories, *wished]), taken=("time", RUN, "zarr.json")))
    arrays = tuple(replace(a, label=next(labels), along=netcdf_label(a.along)) for a in layout.arrays)
    columns = tuple(replace(column, label=next(labels)) for column in layout.columns)
    return replace(layout, arrays=arrays, columns=columns)


def _folder_name(name: str) -> str:
    """Return the folder name of an array in the store, without backslashes, which zarr takes for slashes."""
    return netcdf_label(name).replace("\\", "_").encode()[:_LONGEST].decode(errors="ignore")


def possible(values: Values, make: Callable[[Values], Thing]) -> Thing:
    """Return the result of ``make`` for the first run with possible values, or raise the first error."""
    refused: list[ParameterError] = []
    for i in range(_count_of_runs(values)):
        try:
            return make({name: each[i : i + 1] for name, each in values.items()})
        except ParameterError as error:
            refused.append(error)
    raise refused[0]


class ModelRuns:
    """An engine for a study's blocks: batches of its model, prepared with the first block.

    A run that cannot start (a loop that does not close, a negative mass) counts as failed, as one that
    diverges; the other runs of its block are made.
    """

    def __init__(
        self,
        model: CompiledModel,
        definition: Definition,
        *,
        inputs: Mapping[str, Signal] | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        self._inputs = {INPUTS: inputs} if inputs else {}
        self._model, self._content, self._layout = model, definition.content, definition.layout
        self._threads, self._device = threads, device
        self._prepared: Prepared | None = None
        self._preparing = threading.Lock()

    def __call__(self, values: Values, first: int) -> Made:
        batch, runs = self._batch(values), _count_of_runs(values)
        columns = np.empty((len(self._layout.columns), runs))
        for row, column in zip(columns, self._layout.columns, strict=True):
            row[:] = values[column.name] if column.kind == VARIED else _column_numbers(batch, column)
        found = {**batch.histories, **batch.metrics}
        arrays = tuple(np.ascontiguousarray(found[array.name]) for array in self._layout.arrays)
        failed = ((first + i, batch.messages.get(i) or str(batch.status[i])) for i in batch.failed.tolist())
        return Made(columns, arrays, tuple(failed))

    def _batch(self, values: Values) -> Batch:
        with self._preparing:
            prepared = self._prepared = self._prepared or self._prepare(values)
        starts: DataTable = {kind: self._arguments(values).get(kind) for kind in KINDS}
        batch = prepared(**starts, runs=_count_of_runs(values), threads=self._threads)
        if np.any(batch.status == ENDS[NOT_RUN]):
            raise KeyboardInterrupt  # a batch keeps finished runs, but only whole blocks count
        return batch

    def _prepare(self, values: Values) -> Prepared:
        settings, others = RunSettings.among(self._arguments(values))
        kept = {"metrics": self._content["metrics"], "outputs": self._content["outputs"]}
        kept |= {"device": self._device, "size": self._layout.block, "runs": _count_of_runs(values)}
        return Prepared(self._model, settings, **kept, **others)

    def _arguments(self, values: Values) -> DataTable:
        return arguments(self._content["run"], self._content["vary"], values) | self._inputs


def _count_of_runs(values: Values) -> int:
    return len(next(iter(values.values())))


def _column_numbers(batch: Batch, column: StoredColumn) -> np.ndarray:
    """Return the numbers of a column from a batch."""
    if column.kind == METRIC:
        return batch.metrics[column.name]
    if column.kind == STOP:
        return batch.t_stop
    kinds, which = np.unique(batch.status, return_inverse=True)
    return np.array([_CODES[str(word)] for word in kinds])[which]


# From the arguments of a study to its definition: checked arguments, as plain data.

_BLOCKS = 100  # usual number of blocks: progress is visible, and losing one costs little
_FEWEST, _MOST = 256, 65_536  # runs in a block: enough work for all lanes and threads; limited memory
_BYTES = 64 * 2**20  # of a block's results
_TRIED = 20  # runs, at least one of which must be possible


def define(
    model: CompiledModel,
    design: Design,
    how: DataMapping,
    metrics: Metrics | None,
    outputs: Given,
    block: int | None,
) -> Definition:
    """Return a study's definition; ``how`` has arguments of ``simulate_batch``, with inputs over time as
    signals.
    """
    check_precision(how.get("precision", "double"))
    vary = {name: kind_of(model, name) for name in design.names}
    asked = {name: str(metric) for name, metric in read_metrics(metrics).items()}

    def try_plan(values: Values) -> tuple[DataTable, Plan]:
        """Return the settings of runs, and the plan of one run; planning checks settings and values."""
        run = _plain_run(model, how, vary, {name: float(each[0]) for name, each in values.items()})
        settings, others = RunSettings.among(arguments(run, vary, values))
        others.pop("precision", None)
        if INPUTS in how:
            others[INPUTS] = how[INPUTS]
        found = make_plan(model, settings, metrics=asked, outputs=outputs, runs=1, **others)
        found.starts.check_possible()
        return run, found

    run, plan = possible(design.block(0, min(design.runs, _TRIED)), try_plan)
    size = _block_size(block, design.runs, layout_of(plan, vary, design.runs, 1))
    return make_definition(
        system=model.equations.system.name,
        model=identity(model),
        run=run,
        vary=vary,
        design=design.identity(),
        metrics=asked,
        outputs=[plan.columns[i] for i in plan.history],
        runs=design.runs,
        block=size,
        stored=layout_of(plan, vary, design.runs, size).as_data(),
    )


def _plain_run(
    model: CompiledModel, how: DataMapping, vary: Mapping[str, str], first: Mapping[str, float]
) -> DataTable:
    """Return the settings of runs as plain data, with fixed values in their stated units."""
    run = {key: _json_value(value) for key, value in how.items() if key not in (*KINDS, INPUTS)}
    if INPUTS in how:
        run[INPUTS] = input_identity(how[INPUTS])
    for kind in KINDS:
        if not isinstance(how.get(kind) or {}, Mapping):
            raise ParameterError(f"{kind}= of a study must be values by name, not {how[kind]!r}")
    fixed = {kind: {str(name): v for name, v in (how.get(kind) or {}).items()} for kind in KINDS}
    for kind, values in fixed.items():
        for name, value in values.items():
            if name in vary:
                raise ParameterError(f"'{name}' is varied, and given in {kind}= too: leave one out")
            if np.ndim(value.magnitude if is_quantity(value) else value):
                raise ParameterError(f"'{name}' in {kind}= has several values: give them in vary= instead")
    table = parameter_table(model.equations)
    varied = {name: first[name] for name in vary if vary[name] == PARAMETER}
    known = table.values({**fixed[PARAMETER], **varied})
    fixed[PARAMETER] = {name: known[name] for name in fixed[PARAMETER]}
    fixed[INITIAL] = {name: _initial_value(model, name, value) for name, value in fixed[INITIAL].items()}
    fixed[MEMORY] = {name: _memory(model, name, value) for name, value in fixed[MEMORY].items()}
    return run | {kind: values for kind, values in fixed.items() if values}


def _initial_value(model: CompiledModel, name: str, value: object) -> Given:
    symbol = next((s for s in model.equations.system.initial if s.data.name == name), None)
    if symbol is None or not (isinstance(value, str) or is_quantity(value)):
        return _json_value(value)  # unknown names are an error when the runs are planned
    return state_number(symbol, value, f"the initial value of '{name}'") / state_factor(symbol)


def _memory(model: CompiledModel, name: str, value: object) -> Given:
    system = model.equations.system
    if name not in system.memories or not is_quantity(value):
        return _json_value(value)
    memory = system.memories[name]
    return plain_number(value, f"memory '{name}'", system.units, memory.symbol.dimension) / memory.factor


def _json_value(value: object) -> Given:
    """Return a value in a form that JSON stores."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _block_size(given: int | None, runs: int, layout: StoreLayout) -> int:
    """Return the number of runs in a block: as requested, or a number that is neither tiny nor large."""
    numbers = len(layout.columns) + sum(array.size for array in layout.arrays)
    if given is None:
        wanted = min(max(-(-runs // _BLOCKS), _FEWEST), _MOST, max(_BYTES // (8 * numbers), 1))
        vectors = -(-wanted // 64) * 64 if wanted > 64 else wanted
        return min(vectors, runs)
    block = count(given, "block=")
    largest = max((array.chunk_bytes(block) for array in layout.arrays), default=0)
    if largest > LARGEST:
        raise ArmillaryError(
            f"a block of {given} runs would have chunks of {largest / 2**30:.3g} GiB, more than 2 GiB: "
            "give a smaller block="
        )
    return min(block, runs)
