"""The runs of a study, block by block: the design's values put into batches of the model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from armillary.ensembles.batch import Prepared
from armillary.ensembles.metrics import Histogram
from armillary.ensembles.plan import NOT_RUN, Plan
from armillary.ensembles.plan import STATUS as ENDS
from armillary.ensembles.result import Batch
from armillary.errors import ParameterError, nearest
from armillary.results.files import netcdf_label
from armillary.results.record import distinct_labels
from armillary.runtime.inputs.signal import Signal
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import RunSettings
from armillary.studies.blocks import Values
from armillary.studies.definition.definition import Definition
from armillary.studies.store.layout import (
    METRIC,
    RUN,
    STATUS,
    STOP,
    VARIED,
    Array,
    Made,
    StoredColumn,
    StoreLayout,
)
from armillary.untyped import DataMapping, DataTable

PARAMETER, INITIAL, MEMORY = "parameters", "initial", "memory"
KINDS = (PARAMETER, INITIAL, MEMORY)
INPUTS = "inputs"  # over time, which all runs have alike

Thing = TypeVar("Thing")

_LONGEST = 200  # bytes of a name in the store; most disks take 255
_CODES = {word: float(code) for code, word in enumerate(ENDS)}


def kind_of(model: CompiledModel, name: str) -> str:
    """As what a name is varied: a parameter, an initial value, or a memory."""
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
    """Units in which parameters, initial values and memories are given."""
    system = model.equations.system
    columns = {column.name: column.units for column in model.equations.targets.columns}
    states = [s.data.name for s in system.initial]
    found = {name: columns.get(name, "") for name in states} | dict(model.equations.parameter_units)
    return {name: memory.symbol.data.units or "" for name, memory in system.memories.items()} | found


def arguments(how: DataMapping, vary: Mapping[str, str], values: Mapping[str, object]) -> DataTable:
    """Arguments of a simulation: how it is run, with the varied values among the fixed ones."""
    found = dict(how)
    for kind in KINDS:
        own = {name: values[name] for name in vary if vary[name] == kind}
        if own or how.get(kind):
            found[kind] = {**how.get(kind, {}), **own}
    return found


def layout_of(plan: Plan, vary: Mapping[str, str], runs: int, block: int) -> StoreLayout:
    """The layout of the results that a study of these runs keeps."""
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
    return _labelled(StoreLayout(tuple(columns), tuple(arrays), runs, block, plan.samples))


def _texts(model: CompiledModel) -> dict[str, str]:
    """Descriptions of parameters and initial values, in the model's words."""
    system = model.equations.system
    texts = {
        s.data.name: f"initial value; {s.data.about}" if s.data.about else "initial value"
        for s in system.initial
    }
    return texts | {name: node.data.about or "" for name, node in system.parameters.items()}


def _labelled(layout: StoreLayout) -> StoreLayout:
    """Every column and array with a name of its own in the store; a history keeps the output's."""
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
    """The name of an array in the store, where it is a folder: zarr takes a backslash for a slash."""
    return netcdf_label(name).replace("\\", "_").encode()[:_LONGEST].decode(errors="ignore")


def possible(values: Values, make: Callable[[Values], Thing]) -> Thing:
    """The result of ``make`` for the first run whose values are possible; an error where none is."""
    refused: list[ParameterError] = []
    for i in range(_length(values)):
        try:
            return make({name: each[i : i + 1] for name, each in values.items()})
        except ParameterError as error:
            refused.append(error)
    raise refused[0]


class ModelRuns:
    """An engine for a study's blocks: batches of its model, prepared with the first of them.

    A run that cannot start (a loop that does not close, a negative mass) has failed, as one that diverges;
    the others of its block are made.
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
        batch, runs = self._batch(values), _length(values)
        columns = np.empty((len(self._layout.columns), runs))
        for row, column in zip(columns, self._layout.columns, strict=True):
            row[:] = values[column.name] if column.kind == VARIED else _numbers(batch, column)
        found = {**batch.histories, **batch.metrics}
        arrays = tuple(np.ascontiguousarray(found[array.name]) for array in self._layout.arrays)
        failed = ((first + i, batch.messages.get(i) or str(batch.status[i])) for i in batch.failed.tolist())
        return Made(columns, arrays, tuple(failed))

    def _batch(self, values: Values) -> Batch:
        with self._preparing:
            prepared = self._prepared = self._prepared or self._prepare(values)
        starts: DataTable = {kind: self._arguments(values).get(kind) for kind in KINDS}
        batch = prepared(**starts, runs=_length(values), threads=self._threads)
        if np.any(batch.status == ENDS[NOT_RUN]):
            raise KeyboardInterrupt  # a batch keeps what it has; of a block only the whole counts
        return batch

    def _prepare(self, values: Values) -> Prepared:
        settings, others = RunSettings.among(self._arguments(values))
        kept = {"metrics": self._content["metrics"], "outputs": self._content["outputs"]}
        kept |= {"device": self._device, "size": self._layout.block, "runs": _length(values)}
        return Prepared(self._model, settings, **kept, **others)

    def _arguments(self, values: Values) -> DataTable:
        return arguments(self._content["run"], self._content["vary"], values) | self._inputs


def _length(values: Values) -> int:
    return len(next(iter(values.values())))


def _numbers(batch: Batch, column: StoredColumn) -> np.ndarray:
    """The numbers of a column, from a batch."""
    if column.kind == METRIC:
        return batch.metrics[column.name]
    if column.kind == STOP:
        return batch.t_stop
    kinds, which = np.unique(batch.status, return_inverse=True)
    return np.array([_CODES[str(word)] for word in kinds])[which]
