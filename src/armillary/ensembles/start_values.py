"""Values of many runs as given by the user: one for all runs, or one per run."""

from __future__ import annotations

from collections.abc import Callable, Sized

import numpy as np

from armillary.algebra.arguments import count
from armillary.algebra.calculus import NumericValue
from armillary.algebra.units import Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.errors import ArmillaryError, ParameterError, UnitsError, nearest
from armillary.model.units import state_factor, text_number
from armillary.runtime.inputs.reading import DrivenInputs
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import ParameterTable
from armillary.runtime.start.initial import checked_memories
from armillary.untyped import DataMapping, DataTable, Given

_MOST = 2**30  # most runs of a batch


def differs(value: Given) -> bool:
    """Return whether a value has one number per run."""
    if isinstance(value, str):
        return False
    if isinstance(value, list | tuple):
        return True
    size = value.magnitude if is_quantity(value) else value
    return isinstance(size, Sized) and np.asarray(size).ndim > 0


def of_run(inside: DataMapping, i: int) -> dict[str, float]:
    """Return the values of run i, by name."""
    return {name: float(v[i]) if np.ndim(v) else float(v) for name, v in inside.items()}


def values_by_name(what: str, given: Given) -> DataTable:
    """Return values by name; keys may be symbols."""
    if given is not None and not hasattr(given, "items"):  # a Series of pandas has items, too
        raise ArmillaryError(f"{what}= must hold values by name, {{'name': values, …}}, not {given!r}")
    return {str(name): value for name, value in (given or {}).items()}


def initial_by_name(model: CompiledModel, initial: object) -> DataTable:
    """Return initial values by name, from a mapping or from an array of states, a row per run."""
    if initial is None:
        return {}
    if hasattr(initial, "items"):  # a mapping, or a Series of pandas
        return {str(name): value for name, value in initial.items()}
    names = [*model.coordinate_names, *model.speed_names, *model.state_names]
    try:
        states = np.asarray(initial, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"initial states must be numbers, {len(names)} for each run") from None
    if states.ndim not in (1, 2) or states.shape[-1] != len(names):
        raise ArmillaryError(
            f"initial states must be {len(names)} numbers or an array of shape (runs, {len(names)}), "
            f"not one of shape {states.shape}"
        )
    return {name: states[..., i] for i, name in enumerate(names)}


def without_texts(value: Given, read: Callable[[str], float]) -> Given:
    """Return the values; replace texts such as "3 mm" by the numbers that ``read`` returns."""
    texts = isinstance(value, list | tuple) or getattr(value, "dtype", np.dtype(float)).kind in "UO"
    return [read(v) if isinstance(v, str) else v for v in value] if texts else value


def column_of(value: Given, where: str, factor: float, units: Given, dimension: object) -> np.ndarray:
    """Return one number per run in stated units; ``factor`` converts them to the model's own units."""
    if is_quantity(value):
        size, own = magnitude_in_si(value)
        if dimension is not None and own is not dimension:
            raise UnitsError(f"{where} has dimension [{dimension}], but the given value has [{own}]")
        value = np.asarray(size, dtype=float) / units.scale(own) / factor
    if isinstance(value, list | tuple) and any(is_quantity(v) for v in value):
        raise ParameterError(f"{where} is a list of quantities; give one quantity with an array of numbers")
    try:
        column = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{where} needs numbers, or texts such as '3 mm', one per run") from None
    if column.ndim != 1:
        raise ParameterError(f"{where} needs one number or one per run, not an array of shape {column.shape}")
    strange = np.flatnonzero(~np.isfinite(column))
    if strange.size:
        raise ParameterError(f"{where} is {column[strange[0]]} in run {strange[0]}; give finite numbers")
    return column


def run_count(lengths: dict[str, int], runs: int | None) -> int:
    """Return the number of runs; raise an error if lengths of arrays differ."""
    found = dict(lengths)
    if runs is not None:
        found["runs="] = count(runs, "runs=")
    if not found:
        raise ArmillaryError(
            "nothing differs between the runs: give an array of parameters or initial values, or runs="
        )
    (first, size), *others = found.items()
    for name, other in others:
        if other != size:
            raise ArmillaryError(
                f"mismatched shapes: {first} is {size} and {name} is {other}; there must be one per run"
                if "runs=" in (first, name)
                else f"mismatched shapes: {first} has {size} values and {name} has {other}; "
                "there must be one per run"
            )
    if size > _MOST:
        raise ArmillaryError(f"{size:,} runs are more than a batch can hold, {_MOST:,}; use a Study")
    if size == 0:
        raise ArmillaryError(f"{first} has no values: there are no runs to make")
    return size


# Given parameters, initial values and memory, which may differ from run to run.

GivenValues = DataMapping


class VariedValues:
    """Parameters, initial values, memory and inputs of all runs of a batch."""

    def __init__(
        self,
        model: CompiledModel,
        table: ParameterTable,
        parameters: GivenValues | None,
        initial: object,
        memory: GivenValues | None,
        inputs: DrivenInputs | None,
    ) -> None:
        self.model, self.table = model, table
        self._parameters = values_by_name("parameters", parameters)
        self._initial = initial_by_name(model, initial)
        self._memory = values_by_name("memory", memory)
        self._given = {"parameters": self._parameters, "initial": self._initial, "memory": self._memory}
        self.columns = self._columns()  # in the model's own units
        self.given_inputs = inputs  # inputs over time that have data

    @property
    def varying(self) -> tuple[str, ...]:
        """Names of the parameters that differ between runs."""
        return tuple(name for name in self._parameters if (name in self.columns["parameters"]))

    def _columns(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the values that differ between runs, by kind and name, in the model's own units.

        In ``self._given``, replace them by plain arrays in stated units.
        """
        table, system = self.table, self.model.equations.system
        found: dict[str, dict[str, np.ndarray]] = {"parameters": {}, "initial": {}, "memory": {}}

        def put(
            kind: str, name: str, where: str, factor: float, dimension: Dimension | None, stated: str
        ) -> None:
            given = self._given[kind]
            plain = without_texts(
                given[name], lambda v: text_number(v, where, stated, system.units, dimension)
            )
            given[name] = column_of(plain, where, factor, system.units, dimension)
            found[kind][name] = given[name] * factor

        for name, value in self._parameters.items():
            if name not in table.names:
                states = {s.data.name for s in system.initial}
                hint = "; it is a coordinate, speed or state: give it in initial=" if name in states else ""
                raise ParameterError(f"there is no parameter '{name}'{hint or nearest(name, table.names)}")
            if differs(value):
                i = table.names.index(name)
                dimension = parse_unit(table.units[i]).dimension if table.units[i] else None
                put("parameters", name, f"parameter '{name}'", table.factors[i], dimension, table.units[i])
        known = {s.data.name: s for s in system.initial}
        for name, value in self._initial.items():
            if name in table.names:
                raise ParameterError(
                    f"'{name}' is a parameter, without initial value: give it in parameters="
                )
            if differs(value) and name in known:  # other names raise an error in `check_start`
                node = known[name]
                where = f"the initial value of '{name}'"
                put("initial", name, where, state_factor(node), node.dimension, node.data.units or "")
            elif differs(value):
                self.model.check_start({name: 0.0})
        for name, value in self._memory.items():
            if differs(value):
                [name] = checked_memories([name], system)
                record = system.memories[name]
                node = record.symbol
                put("memory", name, f"memory '{name}'", record.factor, node.dimension, node.data.units or "")
        return found

    def _lengths(self) -> dict[str, int]:
        kinds = {"parameters": "parameter", "initial": "initial value", "memory": "memory"}
        found = {
            f"{kinds[kind]} '{name}'": len(column)
            for kind, columns in self.columns.items()
            for name, column in columns.items()
        }
        signals = self.given_inputs.signals if self.given_inputs is not None else {}
        return found | {f"input '{name}'": s.runs for name, s in signals.items() if s.runs is not None}

    def share(self, kind: str) -> DataTable:
        """Return the values common to all runs, as given."""
        return {name: value for name, value in self._given[kind].items() if not differs(value)}

    def differing_values(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the values that differ between runs, by kind and name, in stated units."""
        return {
            kind: {name: values for name, values in found.items() if differs(values)}
            for kind, found in self._given.items()
        }

    def single(self, i: int) -> DataTable:
        """Return the arguments of ``simulate`` for one run, in stated units."""

        def of(value: NumericValue) -> NumericValue:
            return value[i] if differs(value) else value

        values: DataTable = {
            kind: {name: of(value) for name, value in found.items()} for kind, found in self._given.items()
        }
        return values | ({} if self.given_inputs is None else {"inputs": self.given_inputs.of_run(i)})

    @property
    def _first_parameters(self) -> DataTable:
        return {name: value[0] if differs(value) else value for name, value in self._parameters.items()}
