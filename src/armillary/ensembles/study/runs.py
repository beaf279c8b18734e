"""The runs of a study, block by block: the design's values put into batches of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from armillary.ensembles.batch import simulate_batch
from armillary.ensembles.metrics import Crossing, Histogram
from armillary.ensembles.plan import NOT_RUN, Plan
from armillary.ensembles.plan import STATUS as ENDS
from armillary.ensembles.result import Batch
from armillary.ensembles.study.definition import Definition
from armillary.ensembles.study.layout import METRIC, RUN, STATUS, STOP, VARIED, Array, Column, Layout, Made
from armillary.ensembles.study.work import Values
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.results.files import netcdf_label
from armillary.results.record import distinct
from armillary.runtime.compiled import CompiledModel

PARAMETER, INITIAL, MEMORY = "parameters", "initial", "memory"
KINDS = (PARAMETER, INITIAL, MEMORY)

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
    raise ParameterError(
        f"varied '{name}': there is no such parameter, coordinate, speed or memory{nearest(name, known)}"
    )


def units_of(model: CompiledModel) -> dict[str, str]:
    """Units in which parameters, initial values and memories are given."""
    system = model.equations.system
    columns = {column.name: column.units for column in model.equations.targets.columns}
    states = [s.data.name for s in system.initial]
    return {name: columns.get(name, "") for name in states} | dict(model.equations.parameter_units)


def arguments(how: Mapping[str, Any], vary: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a simulation: how it is run, with the varied values among the fixed ones."""
    found = dict(how)
    for kind in KINDS:
        own = {name: values[name] for name in vary if vary[name] == kind}
        if own or how.get(kind):
            found[kind] = {**how.get(kind, {}), **own}
    return found


def layout_of(plan: Plan, vary: Mapping[str, str], runs: int, block: int) -> Layout:
    """What a study of these runs keeps."""
    outputs = {column.name: column for column in plan.model.equations.targets.columns}
    units, texts = units_of(plan.model), _texts(plan.model)
    arrays, columns = [], []
    for name in (plan.columns[i] for i in plan.history):
        arrays.append(Array(name, name, "time", len(plan.samples), outputs[name].units, outputs[name].about))
    for name in vary:
        columns.append(Column(name, name, VARIED, units.get(name, ""), texts.get(name, "")))
    for look in plan.looks:
        metric, name = look.metric, look.name
        if name in vary:
            raise ArmillaryError(f"metric '{name}' has the name of what is varied; give it another")
        if isinstance(metric, Histogram):
            edges = tuple(metric.edges.tolist())
            arrays.append(Array(name, name, f"{name} bin", metric.size, "1", str(metric), edges))
        else:
            unit = "s" if isinstance(metric, Crossing) else outputs[metric.output].units
            columns.append(Column(name, name, METRIC, unit, str(metric)))
    ends = ", ".join(f"{number} {word}" for number, word in enumerate(ENDS))
    columns.append(Column(STATUS, STATUS, STATUS, "1", f"how the run ended: {ends}"))
    columns.append(Column(STOP, STOP, STOP, "s", "when the run ended"))
    return _labelled(columns, arrays, runs, block)


def _texts(model: CompiledModel) -> dict[str, str]:
    """What parameters and initial values mean, in the model's words."""
    system = model.equations.system
    texts = {
        s.data.name: f"initial value; {s.data.about}" if s.data.about else "initial value"
        for s in system.initial
    }
    return texts | {name: node.data.about or "" for name, node in system.parameters.items()}


def _labelled(columns: list[Column], arrays: list[Array], runs: int, block: int) -> Layout:
    """Every column and array with a name of its own in the store; a history keeps the output's."""
    histories = {array.name for array in arrays}
    wished = [array.name for array in arrays]
    wished += [
        f"{column.kind} {column.name}" if column.name in histories else column.name for column in columns
    ]
    labels = distinct(map(netcdf_label, wished), taken=("time", RUN))
    return Layout(
        tuple(
            replace(column, label=label) for column, label in zip(columns, labels[len(arrays) :], strict=True)
        ),
        tuple(
            replace(array, label=label, along=netcdf_label(array.along))
            for array, label in zip(arrays, labels, strict=False)
        ),
        runs,
        block,
    )


class ModelRuns:
    """An engine for a study's blocks: batches of its model, all prepared once."""

    def __init__(
        self, model: CompiledModel, definition: Definition, *, threads: int | None = None, device: str = "cpu"
    ) -> None:
        self._model, self._definition = model, definition
        self._options = {"threads": threads, "device": device, "progress": False}

    def __call__(self, values: Values, first: int) -> Made:
        content, layout = self._definition.content, self._definition.layout
        how = arguments(content["run"], content["vary"], values)
        runs = len(next(iter(values.values())))
        batch = simulate_batch(
            self._model,
            metrics=content["metrics"],
            outputs=content["outputs"],
            runs=runs,
            **how,
            **self._options,
        )
        if np.any(batch.status == ENDS[NOT_RUN]):
            raise KeyboardInterrupt  # a batch keeps what it has; of a block only the whole counts
        columns = np.empty((len(layout.columns), runs))
        for row, column in zip(columns, layout.columns, strict=True):
            row[:] = values[column.name] if column.kind == VARIED else _numbers(batch, column)
        found = {**batch.histories, **batch.metrics}
        failed = ((first + i, batch.messages.get(i) or str(batch.status[i])) for i in batch.failed.tolist())
        return Made(columns, tuple(found[array.name] for array in layout.arrays), tuple(failed))


def _numbers(batch: Batch, column: Column) -> np.ndarray:
    if column.kind == METRIC:
        return batch.metrics[column.name]
    if column.kind == STOP:
        return batch.t_stop
    kinds, which = np.unique(batch.status, return_inverse=True)
    return np.array([_CODES[str(word)] for word in kinds])[which]
