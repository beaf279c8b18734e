"""The conditions on an operating point, read from the names and units that users write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names, count, flag, item_count, several, table
from armillary.algebra.expression import Expr
from armillary.algebra.units import TIME, parse_unit
from armillary.analysis.operating.conditions import rate_units
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.kept_results import kept_per_object
from armillary.model.units import seconds, state_factor, text_number
from armillary.program.derive import derive
from armillary.runtime.models.parameters import model_number, plain_number
from armillary.runtime.start.initial import initial_memory, state_number
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


Start = DataTable  # inputs in the model's units, all else as it is given


@dataclass(frozen=True, eq=False)
class Quantity:
    """A state or an input: its units as users see them, and the factor from these to the model's."""

    name: str
    units: str
    factor: float
    kind: str  # "coordinate", "speed", "state", "parameter" or "memory"


@dataclass(frozen=True, eq=False)
class Request:
    """The fixed, free, prescribed and unknown quantities; all numbers in the model's units, outputs in
    theirs.
    """

    model: CompiledModel
    at_rest: bool  # whether all rates are zero, those of cyclic coordinates too
    settle: bool  # whether the damped motion comes to rest first
    fixed: dict[str, float]  # states
    free: tuple[str, ...] | None  # states; None: all that are not fixed
    rates: dict[str, float | None]  # of states; None: not a condition
    inputs: dict[str, float]  # with their starts
    outputs: dict[str, float]
    parameters: DataTable  # in stated units, without the inputs
    bounds: dict[str, tuple[float, float]]
    starts: tuple[Start, ...]
    scattered: int  # further starts
    memory: np.ndarray
    t: float
    quantities: dict[str, Quantity] = field(repr=False, default_factory=dict)


def read_request(
    model: CompiledModel,
    *,
    at_rest: bool = False,
    settle: bool = False,
    fixed: Mapping[str, object] | None = None,
    free: Sequence[str] | None = None,
    rates: Mapping[str, object] | None = None,
    inputs: Sequence[str] | Mapping[str, object] = (),
    outputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    bounds: Mapping[str, object] | None = None,
    starts: object = None,
    memory: DataMapping | None = None,
    t: float | str = 0.0,
) -> Request:
    """The request that a call of ``trim`` or ``equilibrium`` means; unknown names and units are errors."""
    names, t = ModelNames(model), seconds(t, "t=")
    given = table(parameters, "parameters=", ParameterError)
    for name, value in given.items():
        if item_count(value) >= 0:
            raise ParameterError(
                f"parameter '{name}' needs one number for an operating point, not {shown(value)}; find a "
                "point for each value in turn, or follow them with model.trace"
            )
    stored = initial_memory(model.equations, memory, t)
    wanted = names.inputs(inputs, given, stored)
    quantities = names.states | {name: q for name, (q, _) in wanted.items()}
    held: dict[str, float] = {}
    shown_values = {name: names.output(name, value) for name, value in table(outputs, "outputs=").items()}
    for name, value in table(fixed, "fixed=").items():
        if name in names.states:
            held[name] = names.state(name, value, f"fixed '{name}'")
        elif name in wanted:
            raise ArmillaryError(f"'{name}' is among inputs=, to be found, and among fixed=; leave one out")
        elif name in names.parameters:
            raise ArmillaryError(f"'{name}' is a parameter: give its value with parameters={{'{name}': …}}")
        elif name in names.dependents:
            shown_values[name] = names.output(name, value)
        else:
            names.state(name, value, f"fixed '{name}'")
    chosen = None if free is None else tuple(map(str, several(free, "free=")))
    for name in chosen or ():
        names.check_state(name, "free=")
        if name in held:
            raise ArmillaryError(f"'{name}' is both in free= and in fixed=; leave one out")
    one, more = _starts(starts)
    for start in one:
        for name, value in start.items():
            if name in wanted:
                start[name] = names.inputs({name: value}, given, stored)[name][1]
            else:
                names.state(name, value, f"the start of '{name}'")
    return Request(
        model=model,
        at_rest=at_rest,
        settle=flag(settle, "settle="),
        fixed=held,
        free=chosen,
        rates={name: names.rate(name, value) for name, value in table(rates, "rates=").items()},
        inputs={name: value for name, (_, value) in wanted.items()},
        outputs=shown_values,
        parameters={name: value for name, value in given.items() if name not in wanted},
        bounds=_bounds(table(bounds, "bounds="), quantities, names),
        starts=one,
        scattered=more,
        memory=stored,
        t=t,
        quantities=quantities,
    )


def _starts(starts: object) -> tuple[tuple[Start, ...], int]:
    """Starts by name, and how many more to scatter."""
    if starts is None:
        return ({},), 0
    if isinstance(starts, Mapping):
        return (table(starts, "starts="),), 0
    if isinstance(starts, Sequence) and not isinstance(starts, str):
        found = tuple(table(start, "each of starts=") for start in starts)
        if not found:
            raise ArmillaryError("starts= is empty; leave it out, or give values to start from")
        return found, 0
    return ({},), count(starts, "starts= must hold values by name, a list of such tables, or")


def _bounds(
    given: Mapping[str, object], quantities: Mapping[str, Quantity], names: ModelNames
) -> dict[str, tuple[float, float]]:
    found = {}
    after = ", which is neither a state nor an input"
    for name, pair in checked_names(given, quantities, "bounds= names", after=after).items():
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ArmillaryError(f"the bounds of '{name}' must be a pair (low, high), not {shown(pair)}")
        low, high = (names.bound(quantities[name], value) for value in pair)
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        if low > high:
            raise ArmillaryError(f"the bounds of '{name}' are in the wrong order: {shown(pair)}")
        found[name] = (low, high)
    return found


@kept_per_object
def _states(model: CompiledModel) -> tuple[dict[str, Expr], dict[str, Quantity]]:
    """Symbols and quantities of coordinates, speeds and states by name."""
    own = {s.data.name: s for s in model.equations.system.moving()}
    known = (*model.coordinate_names, *model.speed_names, *model.state_names)
    quantities = {
        name: Quantity(name, own[name].data.units or "", state_factor(own[name]), str(own[name].data.role))
        for name in known
    }
    return {name: own[name] for name in known}, quantities


class ModelNames:
    """The names of a model, and the numbers that values in stated units mean."""

    def __init__(self, model: CompiledModel) -> None:
        self.model, self.equations = model, model.equations
        self.symbols, self.states = _states(model)
        self.dependents = set(self.equations.dependents)
        self.parameters = self.equations.system.parameters

    def check_state(self, name: str, where: str) -> None:
        if name not in self.states:
            depends = (
                f": its speed follows from constraint '{self.equations.dependents[name]}'"
                if name in self.dependents
                else nearest(name, self.states)
            )
            raise ArmillaryError(
                f"{where} names '{name}', which is not an independent coordinate, speed or state{depends}"
            )

    def state(self, name: str, value: object, where: str) -> float:
        known = [*self.states, *self.dependents]
        [name] = checked_names([name], known, "there is no coordinate, speed or state")
        if name in self.dependents:
            own = {s.data.name: s for s in self.equations.system.moving()}
            return state_number(own[name], value, where)
        return state_number(self.symbols[name], value, where)

    def rate(self, name: str, value: object) -> float | None:
        self.check_state(name, "rates=")
        if value is None:
            return None
        s, where = self.symbols[name], f"the rate of '{name}'"
        system, factor = self.equations.system.units, self.states[name].factor
        dimension = None if s.dimension is None else s.dimension / TIME
        return model_number(value, where, rate_units(s.data.units or ""), factor, system, dimension)

    def output(self, name: str, value: object) -> float:
        """A value of an output, in its stated units."""
        columns = {c.name: c for c in self.equations.targets.columns}
        [name] = checked_names([name], columns, "there is no output")
        system, where = self.equations.system.units, f"output '{name}'"
        if isinstance(value, str):
            return text_number(value, where, columns[name].units, system, None)
        return plain_number(value, where, system, None)

    def inputs(
        self, given: object, parameters: Mapping[str, object], memory: np.ndarray
    ) -> dict[str, tuple[Quantity, float]]:
        """Inputs by name with their starts."""
        starts = table(given, "inputs=") if isinstance(given, Mapping) else {}
        names = [str(name) for name in (starts or several(given, "inputs="))]
        system, units = self.equations.system, self.equations.parameter_units
        found: dict[str, tuple[Quantity, float]] = {}
        for name in names:
            if name in found:
                raise ArmillaryError(f"'{name}' occurs twice in inputs=")
            if name in system.parameters:
                node = system.parameters[name]
                factor = system.units.factor(parse_unit(node.data.units)) if node.data.units else 1.0
                value = starts.get(name)
                value = parameters.get(name, node.data.default) if value is None else value
                q = Quantity(name, units[name], factor, "parameter")
                found[name] = q, 0.0 if value is None else self.parameter(q, value)
            elif name in system.memories:
                place, m = list(system.memories).index(name), system.memories[name]
                begin = (
                    initial_memory(self.equations, {name: starts[name]})[place]
                    if name in starts
                    else memory[place]
                )
                found[name] = Quantity(name, m.symbol.data.units or "", m.factor, "memory"), float(begin)
            else:
                known = [*system.parameters, *system.memories]
                raise ArmillaryError(
                    f"inputs= names '{name}', which is not a parameter or input of '{system.name}'"
                    f"{nearest(name, known)}"
                )
        return found

    def parameter(self, quantity: Quantity, value: object) -> float:
        where, system = f"parameter '{quantity.name}'", self.equations.system.units
        known = parse_unit(quantity.units).dimension if quantity.units else None
        return model_number(value, where, quantity.units, quantity.factor, system, known)

    def bound(self, quantity: Quantity, value: object) -> float | None:
        if value is None or (isinstance(value, float) and np.isinf(value)):
            return value
        where = f"a bound of '{quantity.name}'"
        if quantity.kind == "parameter":
            return self.parameter(quantity, value)
        if quantity.kind == "memory":
            return plain_number(value, where, self.equations.system.units, None) * quantity.factor
        return self.state(quantity.name, value, where)


# Models whose states are the coordinates and speeds of the description, whatever the formalism.


def with_named_speeds(model: CompiledModel) -> CompiledModel:
    """The model, or one of the same system whose states are the coordinates and speeds of the description."""
    model = model.base
    if model.equations.described_states:
        return model
    return _derive_with_named_speeds(model)


@kept_per_object
def _derive_with_named_speeds(model: CompiledModel) -> CompiledModel:
    equations = model.equations
    found = derive(equations.system, "auto", named=True, configuration=equations.configuration)
    return model.compiler(found)
