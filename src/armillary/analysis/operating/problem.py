"""The equations of one operating point, from the names and units that users write.

Unknowns are the states that are neither fixed nor cyclic, and the inputs to be found. Locked and prescribed
coordinates keep the start values of runs, unless ``free=`` names them. Conditions are the rates of all states
that are not cyclic, given rates of cyclic states, the gaps of loops, the lengths of Euler parameters, the
prescribed outputs, and the conditions of closed contacts (`conditions.py`); conditions that no unknown
changes are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names, count, flag, item_count, several, table
from armillary.algebra.expression import Expr
from armillary.algebra.units import TIME, parse_unit
from armillary.analysis.operating.conditions import (
    CLOSED,
    Conditions,
    ConditionValues,
    HeldRows,
    conditions,
    held_rows,
    rate_units,
    scatter,
)
from armillary.analysis.operating.newton import RootProblem
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError, ParameterError, nearest, shown
from armillary.model.units import seconds, state_factor, text_number
from armillary.program.derive import derive
from armillary.runtime.models.parameters import model_number, plain_number
from armillary.runtime.start.initial import initial_memory, state_number
from armillary.text_tables import counted, listed
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


Start = DataTable  # inputs in the model's units, other values as given


@dataclass(frozen=True, eq=False)
class Quantity:
    """A state or an input: its units for users, and the factor from these to the model's units."""

    name: str
    units: str
    factor: float
    kind: str  # "coordinate", "speed", "state", "parameter" or "memory"


@dataclass(frozen=True, eq=False)
class Request:
    """The fixed, free, prescribed and unknown quantities, in the model's units; outputs in stated units."""

    model: CompiledModel
    at_rest: bool  # whether all rates are zero, also of cyclic coordinates
    settle: bool  # whether the search begins where the damped motion comes to rest
    fixed: dict[str, float]  # states
    free: tuple[str, ...] | None  # states; None: all states that are not fixed
    rates: dict[str, float | None]  # of states; None: not a condition
    inputs: dict[str, float]  # inputs to be found, with their start values
    outputs: dict[str, float]
    parameters: DataTable  # in stated units, without the inputs
    bounds: dict[str, tuple[float, float]]
    starts: tuple[Start, ...]
    scattered: int  # number of further starts
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
    """Return the request of a call of ``trim`` or ``equilibrium``; unknown names and units raise an error."""
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
    """Return the starts by name, and the number of further, random starts."""
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
    """Return symbols and quantities of coordinates, speeds and states by name."""
    own = {s.data.name: s for s in model.equations.system.moving()}
    known = (*model.coordinate_names, *model.speed_names, *model.state_names)
    quantities = {
        name: Quantity(name, own[name].data.units or "", state_factor(own[name]), str(own[name].data.role))
        for name in known
    }
    return {name: own[name] for name in known}, quantities


class ModelNames:
    """The names of a model, and conversions from stated units to its own."""

    def __init__(self, model: CompiledModel) -> None:
        self.model, self.equations = model, model.equations
        self.symbols, self.states = _states(model)
        self.dependents = set(self.equations.dependents)
        self.parameters = self.equations.system.parameters

    def check_state(self, name: str, where: str) -> None:
        """Raise an error for a name that is not an independent coordinate, speed or state."""
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
        """Return a value of an output, in its stated units."""
        columns = {c.name: c for c in self.equations.targets.columns}
        [name] = checked_names([name], columns, "there is no output")
        system, where = self.equations.system.units, f"output '{name}'"
        if isinstance(value, str):
            return text_number(value, where, columns[name].units, system, None)
        return plain_number(value, where, system, None)

    def inputs(
        self, given: object, parameters: Mapping[str, object], memory: np.ndarray
    ) -> dict[str, tuple[Quantity, float]]:
        """Return inputs by name with their start values."""
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


# Models whose states are the coordinates and speeds of the description, for all formalisms.


def with_named_speeds(model: CompiledModel) -> CompiledModel:
    """Return a model of the same system whose states are the coordinates and speeds of the description."""
    model = model.base
    if model.equations.described_states:
        return model
    return _derive_with_named_speeds(model)


@kept_per_object
def _derive_with_named_speeds(model: CompiledModel) -> CompiledModel:
    equations = model.equations
    found = derive(equations.system, "auto", named=True, configuration=equations.configuration)
    return model.compiler(found)


_NO_CHANGE = 1e-9  # a change by states below this share of the change by an input is a rounding error
_NEARER = np.geomspace(1e-13, 1.0, 14)  # distances, in sizes, over which slopes are compared
_BENDS = 10.0  # largest size, relative to the distance over which slopes stay similar
_NO_PART = 1e-3  # slopes below this share of the largest of their condition are not compared
_HELD_SHARE = 1e-3  # least size of a rate that contacts may hold, relative to the largest
_SAMPLES, _NEAR = 6, 0.3  # points near a start to find sizes of conditions: number, distance in sizes


@dataclass(frozen=True, eq=False)
class Problem:
    """The equations of one request: columns of unknowns and rows of the compiled `Conditions`."""

    request: Request
    conditions: Conditions
    values: ConditionValues
    cyclic: frozenset[int]
    unknown: np.ndarray  # columns
    rows: np.ndarray
    wanted: np.ndarray  # of all rows
    undecided: tuple[str, ...] = ()  # states that no condition depends on, besides cyclic coordinates
    constant: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))  # rows no unknown changes
    held: HeldRows = field(default_factory=HeldRows)  # of closed contacts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return tuple([self.conditions.names[j] for j in self.unknown.tolist()])

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the conditions."""
        return tuple(self.conditions.labels[i] for i in self.rows)

    @property
    def open_contacts(self) -> list[str]:
        """Names of open contacts, whose forces are not in the rates."""
        found = self.conditions.contacts
        return [c.name for c in found if c.gap is not None and self.request.memory[c.status] == 0]

    def value_text(self, row: int, value: float) -> str:
        """Return a value of a condition with its units."""
        factor, units = self.conditions.row_units[row]
        return f"{value / factor:.6g}{f' {units}' if units else ''}"

    def remedy(self, row: int) -> str:
        """Return the remedy for a condition that cannot be met."""
        if row >= len(self.conditions.states):
            return "free more states, or look for inputs=[…] that change it"
        name = self.conditions.states[row]
        rates = "" if self.request.at_rest else f"give rates={{'{name}': …}} (None for any), or "
        return f"{rates}look for inputs=[…] that change it"

    def equations(self, x: np.ndarray, *, idle: bool = False) -> RootProblem:
        """Return the conditions as functions of the unknowns; other columns are as in x."""
        rows, unknown = self.rows, self.unknown
        sizes, weights = self.sizes(x, idle=idle)
        low, high = self._bounds
        return RootProblem(
            self.values, x, rows, unknown, self.wanted[rows], sizes[unknown], weights[rows], low, high,
            self.conditions.angles[unknown],
        )  # fmt: skip

    @cached_property
    def _bounds(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        if not self.request.bounds:
            return None, None
        none = (-np.inf, np.inf)
        pairs = np.array([self.request.bounds.get(name, none) for name in self.names]).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def sizes(self, x: np.ndarray, *, idle: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes of all columns, and one over the sizes of all rows.

        angle                        a radian
        other coordinate or speed    the size of its kind (``Conditions.kind_sizes``) or its start if larger;
                                     coordinates that are lengths: reduced if slopes of the conditions
                                     change within this size, as in small mechanisms (``_bend``)
        condition                    its change by these sizes, the median of a few points near the start
        user's state, input          the change that moves a condition by its size

        Raise an error for an input without effect, unless ``idle``.
        """
        n = self.conditions.speeds.stop
        sizes = np.where(self.conditions.angles, 1.0, np.maximum(self.conditions.kind_sizes, np.abs(x)))
        moved = np.sort(self.unknown)
        # Speeds are left out: if they are large, slopes change within them in models of any size.
        lengths = moved[(moved < self.conditions.speeds.start) & ~self.conditions.angles[moved]]
        if len(lengths) and not self.conditions.by_columns:
            sizes[lengths] *= self._bend(x, sizes, lengths)
        places = np.tile(x, (_SAMPLES + 1, 1))
        places[1:, moved] += sizes[moved] * scatter(_NEAR, _SAMPLES, len(moved))
        changes, slopes = self.values.changes(places, sizes, n)
        rows = np.sort(changes, axis=0)[len(changes) // 2]  # changes near singular places are far too large
        rows = np.where(rows > 0, rows, np.max(changes, axis=0))
        if self.held:
            rows = self._loaded_sizes(x, sizes, rows)
        for j in range(n, len(x)):
            effect = np.max(slopes[:, :, j - n], axis=0)
            own = effect * abs(x[j])  # the size of a condition if its change by states is rounding
            rows = np.where(rows < _NO_CHANGE * own, own, rows)
            if not idle and j >= len(self.conditions.states) and not effect[self.rows].any():
                raise _idle_input(self, self.conditions.names[j])
            with np.errstate(divide="ignore", invalid="ignore"):
                enough = np.where((effect > 0) & (rows > 0), rows / effect, np.inf)
            least = float(np.min(enough, initial=np.inf))
            sizes[j] = max(abs(x[j]), least if np.isfinite(least) else 1.0)
            rows = np.maximum(rows, np.where(rows > 0, 0.0, effect * sizes[j]))
        return sizes, 1.0 / np.where(rows > 0, rows, 1.0)

    def _loaded_sizes(self, x: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return sizes of conditions if contacts are closed.

        Closed contacts reduce the rates that they hold to rounding errors. The size of a rate is therefore
        the largest that it has without contacts or with one contact at a time. It is at least
        ``_HELD_SHARE`` of the largest size, in both cases relative to the sizes of the speeds.
        """
        own = np.arange(self.conditions.speeds.start, self.conditions.speeds.stop)
        free = self.values.without_contacts()
        sources = [free, *(free.with_contact(c.status) for c in self.conditions.contacts)]
        found = np.abs([values.values(x)[own] for values in sources])
        found = np.max(np.where(np.isfinite(found), found, 0.0), axis=0)
        found = np.max([found, rows[own], free.changes(x[None, :], sizes, own[-1] + 1)[0][0, own]], axis=0)
        rows = rows.copy()
        rows[own] = np.maximum(found, _HELD_SHARE * sizes[own] * np.max(found / sizes[own], initial=0.0))
        return rows

    def _bend(self, x: np.ndarray, sizes: np.ndarray, moved: np.ndarray) -> float:
        """Return the fraction, at most 1, to which the sizes of coordinates are reduced because slopes of the
        conditions change within them.

        Slopes are compared at places nearer and nearer to x, on both sides of it: one side may be beyond a
        kink, such as a stop that is almost touched.
        """
        chance = scatter(0.5, 1, len(moved))[0]
        aside = chance + np.copysign(0.5, chance)  # a half to one
        places = np.tile(x, (2 * len(_NEARER) + 1, 1))
        for side, first in ((1.0, 1), (-1.0, 1 + len(_NEARER))):
            places[first : first + len(_NEARER), moved] += side * np.outer(_NEARER, aside * sizes[moved])
        slopes = self.values.slopes(places)[:, self.rows][:, :, moved] * sizes[moved]
        here, there = slopes[0], slopes[1:]
        with np.errstate(invalid="ignore"):
            larger = np.maximum(np.abs(here), np.abs(there))
            most = np.max(larger, axis=2, keepdims=True)
            alike = (np.abs(there - here) <= 0.5 * larger) | (larger <= _NO_PART * most)
        within = np.all(alike, axis=(1, 2)).reshape(2, -1)
        reach = [_NEARER[np.logical_and.accumulate(side)] for side in within]
        return min(1.0, _BENDS * max(float(np.max(side, initial=0.0)) for side in reach) or 1.0)


def problem(request: Request, start: np.ndarray) -> Problem:
    """Return the equations of a request; ``start`` has the values of fixed quantities."""
    found = conditions(request.model, tuple(request.outputs), tuple(request.inputs))
    n = len(found.states)
    place = {name: i for i, name in enumerate(found.states)}
    shown = range(found.shown.start, found.shown.stop)
    still = request.at_rest and found.at_rest
    for name in found.states[found.speeds] if still else ():
        if request.fixed.get(name):
            raise ArmillaryError(f"at rest all speeds are zero, but fixed= gives '{name}' a value; use trim")
    moving = found.coordinates if still else 0  # at rest the rates of all coordinates are zero
    given = {place[name] for name, rate in request.rates.items() if rate is not None}
    dropped = {place[name] for name, rate in request.rates.items() if rate is None}
    rates = given | (set(range(moving, n)) - dropped if request.at_rest else set())
    touching = _held_rows(request, found, {*shown, *rates})
    held = found.cyclic({*shown, *rates, *touching.positions})
    unknown = _unknown(request, found, held, still)
    rows = sorted(rates if request.at_rest else {i for i in range(n) if i not in held} - dropped | given)
    rows += range(n, n + len(found.gaps))
    lengths = zip(
        found.equations.targets.quaternions, range(n + len(found.gaps), found.closed.stop), strict=True
    )
    rows += [row for first, row in lengths if first not in held]
    rows += [*touching.positions, *(() if still else touching.velocities)]
    rows += shown
    wanted = np.zeros(len(found.labels))
    for name, rate in request.rates.items():
        wanted[place[name]] = 0.0 if rate is None else rate
    wanted[found.shown] = list(request.outputs.values())
    values = found.instance(request.t, request.parameters, request.memory, still)
    places = [row for c in found.contacts for row in c.place]
    if places:
        wanted[places] = values.values(start)[places]
    made = Problem(
        request, found, values, held, np.array(unknown, dtype=int), np.array(sorted(rows), dtype=int), wanted,
        held=touching,
    )  # fmt: skip
    made = _without_idle(made)
    return _check_counts(_without_constant(made, start))


def _held_rows(request: Request, found: Conditions, conditions: set[int]) -> HeldRows:
    """Return the rows of closed contacts; in motion, a slip that contains cyclic states may be displaced."""
    if not found.contacts:
        return HeldRows()
    gaps = {c.gap for c in found.contacts if c.gap is not None and request.memory[c.status] in CLOSED}
    moving = frozenset() if request.at_rest else found.cyclic(conditions | gaps)
    return held_rows(found.contacts, request.memory, found.depends, moving)


def _unknown(request: Request, found: Conditions, held: frozenset[int], still: bool) -> list[int]:
    """Return the columns of the unknowns."""
    n, speeds = len(found.states), range(found.speeds.start, found.speeds.stop)
    for name in request.free or ():
        i = found.states.index(name)
        if i in held:
            raise ArmillaryError(
                f"'{name}' is cyclic: no rate, gap or output that is requested depends on it, so it cannot "
                "be found; leave it out of free=, or give its value with fixed="
            )
    chosen = [
        i
        for i, name in enumerate(found.states)
        if i not in held
        and name not in request.fixed
        and (i not in found.held if request.free is None else name in request.free)
        and not (still and i in speeds)
    ]
    return [*chosen, *range(n, len(found.names))]


def _without_idle(made: Problem) -> Problem:
    """Return the problem without unknown states that no condition contains.

    An input that no condition contains raises an error.
    """
    acts = made.conditions.depends[made.rows].any(axis=0)[made.unknown]
    if acts.all():
        return made
    idle = [made.conditions.names[j] for j in made.unknown[~acts]]
    for name in idle:
        if name in made.request.inputs:
            raise _idle_input(made, name)
    return replace(made, unknown=made.unknown[acts], undecided=tuple(idle))


def _idle_input(made: Problem, name: str) -> ArmillaryError:
    return ArmillaryError(
        f"input '{name}' acts on none of the conditions of this operating point of "
        f"'{made.conditions.equations.system.name}'; leave it out of inputs="
    )


def _without_constant(made: Problem, start: np.ndarray) -> Problem:
    """Return the problem without conditions that no unknown changes, which must hold already.

    A condition that does not hold is kept if a contact may change it: the search then names open contacts.
    """
    depends = made.conditions.depends[made.rows][:, made.unknown].any(axis=1)
    if depends.all():
        return made
    here = made.values.values(start)
    kept = depends.copy()
    for k in np.flatnonzero(~depends):
        i = int(made.rows[k])
        off = here[i] - made.wanted[i]
        kept[k] = not abs(off) <= 1e-9 * (1.0 + abs(made.wanted[i]))
        if kept[k] and not made.open_contacts:
            value, want = made.value_text(i, here[i]), made.value_text(i, made.wanted[i])
            raise ArmillaryError(
                f"'{made.conditions.equations.system.name}' has no such operating point: "
                f"{made.conditions.labels[i]} is {value}, not {want}, for all values of the unknowns "
                f"({listed(made.names)}); {made.remedy(i)}"
            )
    return replace(made, rows=made.rows[kept], constant=made.rows[~kept])


def _check_counts(made: Problem) -> Problem:
    """Return the problem; raise an error if it has too few conditions for its unknowns."""
    request, n = made.request, len(made.conditions.states)
    states = {*range(n)} - made.cyclic - made.conditions.held - {j for j in made.unknown.tolist() if j < n}
    decided = [j for j in states if made.conditions.names[j] not in made.undecided]
    if request.at_rest and made.conditions.at_rest:
        speeds = range(made.conditions.speeds.start, made.conditions.speeds.stop)
        decided = [j for j in decided if j not in speeds]
    # Without inputs, only symmetries leave unknowns undetermined; the search finds the nearest solution.
    more = min(len(made.unknown) - len(made.rows), len(request.inputs) - len(decided) - len(request.outputs))
    if more > 0:
        raise ArmillaryError(
            f"this operating point of '{made.conditions.equations.system.name}' has "
            f"{counted(len(made.unknown), 'unknown')} ({listed(made.names)}) and only "
            f"{counted(len(made.rows), 'condition')} ({listed(made.labels)}): give {more} more, by fixed=, "
            "rates= or outputs=, or look for fewer inputs"
        )
    return made
