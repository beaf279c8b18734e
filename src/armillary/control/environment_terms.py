"""What environments of a model are made of, read and checked: inputs, results, limits, draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from armillary.algebra.arguments import checked_names, real, several, table
from armillary.algebra.expression import Expr
from armillary.control.plant import check_smooth, input_ports, state_ports
from armillary.control.problem import ExpressionReader, limit_pair
from armillary.errors import ParameterError
from armillary.program.program import Program
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping, DataTable

Range = tuple[float, float]


class EnvironmentTerms:
    """The terms of one environment. ``results`` are observations, the reward and the values with limits;
    ``drawn`` and ``initial`` have the limits from which parameters and states are drawn.
    """

    def __init__(
        self,
        model: CompiledModel,
        inputs: Mapping[str, object],
        observations: Sequence[str],
        reward: object,
        within: Mapping[str, object] | None,
        initial: DataMapping | None,
        parameters: DataMapping | None,
    ) -> None:
        equations = model.equations
        check_smooth(equations, may_stop=False)  # steps of environments do not look for events
        self.table, self.described = model.parameter_table, model.state()
        self.states, self.ports = state_ports(equations), input_ports(equations, list(inputs))
        memories = list(equations.system.memories)
        self.places = [memories.index(p.name) for p in self.ports]
        self.memory = initial_memory(equations)
        self.action_limits = np.array(
            [_range(inputs[p.name], f"inputs= '{p.name}'") for p in self.ports], dtype=float
        )
        self.factors = np.array([p.factor for p in self.ports])
        self.initial = _ranges(initial, "initial=")
        names = [p.name for p in self.states]
        checked_names(self.initial, names, "initial= there is no state", ParameterError)
        self.drawn = _ranges(parameters, "parameters=")
        checked_names(self.drawn, list(model.parameters), "parameters= there is no parameter", ParameterError)
        reader = ExpressionReader(equations, {}, None)
        shown = [reader.read(text, "observations=") for text in several(observations, "observations=")]
        limits = _ranges(table(within, "within="), "within=")
        self.bounds = np.array(list(limits.values()), dtype=float).reshape(-1, 2)
        self.seen = len(shown)
        self.results: list[Expr] = [
            *shown, reader.read(reward, "reward="), *(reader.read(name, "within=") for name in limits),
        ]  # fmt: skip

    @property
    def start_limits(self) -> np.ndarray:
        """Lowest and highest start of each state, in the model's own units."""
        found = np.stack([self.described, self.described], axis=1)
        for i, port in enumerate(self.states):
            if port.name in self.initial:
                found[i] = np.array(self.initial[port.name]) * port.factor
        return found

    def drawn_limits(self, program: Program) -> dict[int, np.ndarray]:
        """Lowest and highest value of drawn parameters by their place in a program, in its units."""
        names = [s.data.name for s in program.parameters]
        factors = dict(zip(self.table.names, self.table.factors, strict=True))
        found = {names.index(name): np.array(pair) * factors[name] for name, pair in self.drawn.items()}
        return dict(sorted(found.items()))

    def parameter_values(self, program: Program) -> dict[Expr, float]:
        """Return all parameters of a program in its units; drawn ones at their lowest."""
        inside = self.table.inside_columns({name: low for name, (low, _) in self.drawn.items()})
        return {s: float(inside[s.data.name]) for s in program.parameters}

    def settings(self, program: Program, h: float, limit: float) -> np.ndarray:
        """Return the tables that a kernel reads, one after another."""
        start, drawn = self.start_limits, np.array(list(self.drawn_limits(program).values())).reshape(-1, 2)
        parts = [
            [h, limit], self.factors, *start.T, *drawn.T, *self.bounds.T, self.memory,
        ]  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _ranges(given: DataMapping | None, what: str) -> dict[str, Range]:
    found: DataTable = dict(given or {})
    return {str(name): _range(value, f"{what} '{name}'") for name, value in found.items()}


def _range(given: object, what: str) -> Range:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = (real(value, what, ParameterError) for value in limit_pair(given, what))
        if not low <= high:
            raise ParameterError(f"{what}: the lower limit {low:g} is above the upper one, {high:g}")
        return low, high
    value = real(given, what, ParameterError)
    return value, value
