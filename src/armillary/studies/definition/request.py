"""From the arguments of a study to its definition: checked, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from armillary.algebra.nodes.arithmetic import positive_whole
from armillary.algebra.units.units import is_quantity
from armillary.ensembles.batch import check_precision
from armillary.ensembles.metrics import Metrics, read_metrics
from armillary.ensembles.plan import Plan
from armillary.ensembles.request import plan as make_plan
from armillary.errors import ArmillaryError, ParameterError
from armillary.model.units import state_factor
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table, plain_number
from armillary.runtime.start.initial import state_number
from armillary.settings import RunSettings
from armillary.studies.blocks import Values
from armillary.studies.definition.definition import Definition, make_definition
from armillary.studies.definition.identity import identity
from armillary.studies.runs import (
    INITIAL,
    INPUTS,
    KINDS,
    MEMORY,
    PARAMETER,
    arguments,
    kind_of,
    layout_of,
    possible,
)
from armillary.studies.sampling import Design
from armillary.studies.store.input_data import input_identity
from armillary.studies.store.layout import StoreLayout
from armillary.studies.store.zarr_store import LARGEST
from armillary.untyped import DataMapping, DataTable, Given

_BLOCKS = 100  # so many make progress visible, and little is lost with one
_FEWEST, _MOST = 256, 65_536  # runs in a block: work for all lanes and threads; memory
_BYTES = 64 * 2**20  # of a block's results
_TRIED = 20  # runs, of which one at least must be possible


def define(
    model: CompiledModel,
    design: Design,
    how: DataMapping,
    metrics: Metrics | None,
    outputs: Given,
    block: int | None,
) -> Definition:
    """A study's definition; ``how`` are arguments of ``simulate_batch``, inputs over time as signals."""
    check_precision(how.get("precision", "double"))
    vary = {name: kind_of(model, name) for name in design.names}
    asked = {name: str(metric) for name, metric in read_metrics(metrics).items()}

    def tried(values: Values) -> tuple[DataTable, Plan]:
        """The settings of runs, and the plan of one, which checks both."""
        run = _plain_run(model, how, vary, {name: float(each[0]) for name, each in values.items()})
        settings, others = RunSettings.among(arguments(run, vary, values))
        others.pop("precision", None)
        if INPUTS in how:
            others[INPUTS] = how[INPUTS]
        found = make_plan(model, settings, metrics=asked, outputs=outputs, runs=1, **others)
        found.starts.check_possible()
        return run, found

    run, plan = possible(design.block(0, min(design.runs, _TRIED)), tried)
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
    """The settings of runs as plain data: fixed values in their stated units."""
    run = {key: _data(value) for key, value in how.items() if key not in (*KINDS, INPUTS)}
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
                raise ParameterError(f"'{name}' in {kind}= has several values: give them in vary=")
    table = parameter_table(model.equations)
    varied = {name: first[name] for name in vary if vary[name] == PARAMETER}
    known = table.values({**fixed[PARAMETER], **varied})
    fixed[PARAMETER] = {name: known[name] for name in fixed[PARAMETER]}
    fixed[INITIAL] = {name: _initial(model, name, value) for name, value in fixed[INITIAL].items()}
    fixed[MEMORY] = {name: _memory(model, name, value) for name, value in fixed[MEMORY].items()}
    return run | {kind: values for kind, values in fixed.items() if values}


def _initial(model: CompiledModel, name: str, value: object) -> Given:
    symbol = next((s for s in model.equations.system.initial if s.data.name == name), None)
    if symbol is None or not (isinstance(value, str) or is_quantity(value)):
        return _data(value)  # unknown names are an error when the runs are planned
    return state_number(symbol, value, f"the initial value of '{name}'") / state_factor(symbol)


def _memory(model: CompiledModel, name: str, value: object) -> Given:
    system = model.equations.system
    if name not in system.memories or not is_quantity(value):
        return _data(value)
    memory = system.memories[name]
    return plain_number(value, f"memory '{name}'", system.units, memory.symbol.dimension) / memory.factor


def _data(value: object) -> Given:
    """A value as JSON keeps it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _block_size(given: int | None, runs: int, layout: StoreLayout) -> int:
    """Runs in a block: as requested, or so that blocks are neither tiny nor large."""
    numbers = len(layout.columns) + sum(array.size for array in layout.arrays)
    if given is None:
        wanted = min(max(-(-runs // _BLOCKS), _FEWEST), _MOST, max(_BYTES // (8 * numbers), 1))
        vectors = -(-wanted // 64) * 64 if wanted > 64 else wanted
        return min(vectors, runs)
    block = positive_whole(given)
    if block is None:
        raise ArmillaryError(f"block= must be a positive whole number of runs, not {given!r}")
    largest = max((array.chunk_bytes(block) for array in layout.arrays), default=0)
    if largest > LARGEST:
        raise ArmillaryError(
            f"a block of {given} runs would have chunks of {largest / 2**30:.3g} GiB, and 2 is the most: "
            "give a smaller block="
        )
    return min(block, runs)
