"""Values of parameters, initial values and memory that may differ from run to run, as they were given."""

from __future__ import annotations

import numpy as np

from armillary.algebra.derivatives.calculus import NumericValue
from armillary.algebra.units.dimension import Dimension
from armillary.algebra.units.units import parse_unit
from armillary.ensembles.start_values import (
    column_of,
    differs,
    initial_by_name,
    values_by_name,
    without_texts,
)
from armillary.errors import ParameterError, nearest
from armillary.model.units import state_factor, text_number
from armillary.runtime.inputs.blocks import DrivenInputs
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import ParameterTable
from armillary.runtime.start.initial import checked_memories
from armillary.untyped import DataMapping, DataTable

Given = DataMapping


class VariedValues:
    """Parameters, initial values, memory and inputs of all runs of a batch."""

    def __init__(
        self,
        model: CompiledModel,
        table: ParameterTable,
        parameters: Given | None,
        initial: object,
        memory: Given | None,
        inputs: DrivenInputs | None,
    ) -> None:
        self.model, self.table = model, table
        self._parameters = values_by_name("parameters", parameters)
        self._initial = initial_by_name(model, initial)
        self._memory = values_by_name("memory", memory)
        self._given = {"parameters": self._parameters, "initial": self._initial, "memory": self._memory}
        self.columns = self._columns()  # inside the model's units
        self.given_inputs = inputs  # over time, those with data

    @property
    def varying(self) -> tuple[str, ...]:
        """Names of the parameters that differ between runs."""
        return tuple(name for name in self._parameters if (name in self.columns["parameters"]))

    def _columns(self) -> dict[str, dict[str, np.ndarray]]:
        """The values that differ between runs, by kind and name, in the model's own units. Where they were
        given, plain arrays in stated units take their place.
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
            if differs(value) and name in known:  # the single start has the error for others
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

    def shared(self, kind: str) -> DataTable:
        """The values that are the same in all runs, as they were given."""
        return {name: value for name, value in self._given[kind].items() if not differs(value)}

    def given(self) -> dict[str, dict[str, np.ndarray]]:
        """The values that differ between runs, by kind and name, in stated units."""
        return {
            kind: {name: values for name, values in found.items() if differs(values)}
            for kind, found in self._given.items()
        }

    def single(self, i: int) -> DataTable:
        """Arguments for ``simulate`` of one run, in stated units."""

        def of(value: NumericValue) -> NumericValue:
            return value[i] if differs(value) else value

        values: DataTable = {
            kind: {name: of(value) for name, value in found.items()} for kind, found in self._given.items()
        }
        return values | ({} if self.given_inputs is None else {"inputs": self.given_inputs.of_run(i)})

    @property
    def _first_parameters(self) -> DataTable:
        return {name: value[0] if differs(value) else value for name, value in self._parameters.items()}
