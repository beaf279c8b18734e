"""Reading of an optimal control problem from a user's arguments into functions and bounds.

The equations of motion keep the gaps of closed loops and the norms of Euler parameters constant. So the gaps
must be zero, and the norms one, at the beginning. A start whose coordinates are all given is assembled as for
a run. If some coordinates or parameters are unknown, this is demanded by further conditions at the beginning,
and as many coordinates without a given value become unknowns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary.algebra.arguments import checked_names, real, several, table
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol, total
from armillary.algebra.node import plain_float
from armillary.algebra.walk import symbols, transform
from armillary.control.knot_functions import KnotFunctions, Knots, knot_functions
from armillary.control.nonlinear_program import Functions
from armillary.control.plant import Port, check_smooth, input_ports, state_ports
from armillary.errors import ArmillaryError, ParameterError, shown
from armillary.model.reading.expressions import parse_text, read_expression
from armillary.program.equations import DerivedEquations
from armillary.program.sensitivities import directions
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.untyped import DataMapping, DataTable

Range = tuple[float, float]
FREE: Range = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Condition:
    """An expression within limits; ``name`` is the user's text."""

    name: str
    expression: Expr
    limits: Range


@dataclass(frozen=True, eq=False)
class Problem:
    """An optimal control problem in the model's own units, without its mesh: functions, bounds, names."""

    system: str
    states: tuple[Port, ...]
    inputs: tuple[Port, ...]
    unknowns: tuple[Port, ...]
    bounds: dict[str, Range]  # of states and inputs along the motion, and of unknowns
    first: dict[str, Range]  # of states and inputs at the beginning
    last: dict[str, Range]  # of states and inputs at the end
    path: tuple[Condition, ...]
    first_conditions: tuple[Condition, ...]
    last_conditions: tuple[Condition, ...]
    arrivals: tuple[Condition, ...]  # values determined by the end of the phase before
    start_time: float
    duration: Range
    functions: Functions
    first_guess: dict[str, float]  # of states that closed loops determine, and of unknowns

    @property
    def fixed_duration(self) -> float | None:
        """The duration; `None` if it is free."""
        return self.duration[0] if self.duration[0] == self.duration[1] else None


def read_problem(
    model: CompiledModel,
    cost: object,
    duration: object,
    inputs: object,
    initial: DataMapping | None,
    final: DataMapping | None,
    bounds: DataMapping | None,
    path: DataMapping | None,
    final_cost: object,
    free: DataMapping | None,
    arrivals: Sequence[object],
    departures: Sequence[object],
    parameters: DataMapping | None,
    t0: float,
    continued: bool = False,
) -> Problem:
    """Return the problem from the arguments of ``model.optimize`` or of a phase.

    ``arrivals`` are values at the beginning that the end of the phase before determines, ``departures``
    values at the end that determine the beginning of the next phase. A ``continued`` phase begins where
    another phase ends.
    """
    equations = model.equations
    check_smooth(equations)
    began = real(t0, "t0=", ParameterError)
    if not np.isfinite(began):
        raise ParameterError(f"t0= must be finite, not {began}")
    reader = ExpressionReader(equations, table(free, "free="), parameters)
    states, names = state_ports(equations), several_names(inputs)
    steered = input_ports(equations, names) if names or not free else ()  # () if only parameters are sought
    along = _ranges(bounds, (*states, *steered), "bounds=")
    if isinstance(inputs, Mapping):
        along |= _ranges({n: r for n, r in inputs.items() if r is not None}, steered, "inputs=")
    along |= reader.ranges
    first, first_conditions = reader.ends(initial, (*states, *steered), "initial=")
    fixed = {
        p.name: first[p.name][0] / p.factor
        for p in states
        if p.name in first and first[p.name][0] == first[p.name][1]
    }
    start = model.state(fixed, parameters, began)
    described = {p.name: (float(x), float(x)) for p, x in zip(states, start, strict=True)}
    known_at_first = {equations.targets.time, *equations.targets.memory} - {p.symbol for p in steered}
    for c in first_conditions:
        if not set(symbols(c.expression)) - known_at_first:
            raise ParameterError(
                f"initial= '{c.name}' holds no state, input or unknown; the time begins at t0="
            )
    last, last_conditions = reader.ends(final, (*states, *steered), "final=")
    arriving, departing = (
        tuple(Condition(str(text), reader.read(text, "link="), (0.0, 0.0)) for text in given)
        for given in (arrivals, departures)
    )
    linked = set(symbols(*(c.expression for c in arriving))) if arriving else set()
    free_first = {p.name for p in states if p.symbol in linked}
    known = {n for n in described if n in fixed or (n not in first and n not in free_first)}
    given = GivenStart(start, set(first), known, free_first, continued)
    closed = closed_start(model, states, given, reader.replaced_symbols, reader.parameters, began)
    first_conditions += tuple(
        Condition(name, reader.substitute_unknowns([gap])[0], (0.0, 0.0))
        for name, gap in closed.conditions.items()
    )
    unknown = {*first, *free_first, *closed.unknown} - {*fixed}
    first |= {n: r for n, r in described.items() if n not in unknown}  # with unit Euler parameters
    conditions = reader.conditions(table(path, "path="), "path=")
    running = reader.read(0 if cost is None else cost, "cost=")
    ended = reader.read(0 if final_cost is None else final_cost, "final_cost=")
    functions = reader.functions(
        model, states, steered, running, ended, conditions, (first_conditions, last_conditions),
        (arriving, departing),
    )  # fmt: skip
    return Problem(
        equations.system.name, states, steered, reader.ports, along, first, last, conditions,
        first_conditions, last_conditions, arriving, began, _duration(duration), functions,
        closed.unknown | _first_values(model, reader.ports, reader.parameters),
    )  # fmt: skip


def _first_values(model: CompiledModel, unknowns: Sequence[Port], given: DataTable) -> dict[str, float]:
    """Return the values of unknown parameters with which a search begins if their limits have no middle."""
    values = {**model.parameters, **given}
    known = {p: plain_float(values.get(p.name)) for p in unknowns}
    return {p.name: value * p.factor for p, value in known.items() if value is not None}


def several_names(inputs: object) -> list[str]:
    """Return the names of a mapping or of a sequence."""
    return [str(name) for name in (inputs if isinstance(inputs, Mapping) else several(inputs, "inputs="))]


class ExpressionReader:
    """A reader of texts and numbers as expressions of states, inputs, unknown parameters and time."""

    def __init__(
        self,
        equations: DerivedEquations,
        free: DataTable,
        parameters: DataMapping | None,
        argument: str = "free=",
    ) -> None:
        """``argument`` is the name of the argument ``free`` in errors."""
        self.equations, self.parameters = equations, dict(parameters or {})
        system = equations.system
        checked_names(
            free, list(system.parameters), f"{argument}: '{system.name}' has no parameter", ParameterError
        )
        found = directions(equations, list(free)) if free else ()
        ports: list[Port] = []
        self._replaced: dict[Expr, Expr] = {}
        self.ranges: dict[str, Range] = {}
        for d in found:
            own = symbol(f"unknown {d.name}", "variable", owner=system.identity)
            self._replaced[d.symbol] = own
            ports.append(Port(d.name, d.units, d.factor, own))
            self.ranges[d.name] = _range(free[d.name], d.factor, f"{argument} of '{d.name}'")
        self.ports = tuple(ports)

    @property
    def replaced_symbols(self) -> Collection[Expr]:
        """The symbols of parameters that are unknown."""
        return self._replaced.keys()

    def read(self, value: object, where: str) -> Expr:
        """Return an expression of states, memory, time and parameters, with symbols for unknown parameters.

        Dimensions are not checked, and accelerations and outputs are replaced by their expressions.
        """
        equations, system = self.equations, self.equations.system
        columns = {c.name: c.expression for c in equations.targets.columns}
        if isinstance(value, str) and value in columns:
            return self.substitute_unknowns([columns[value]])[0]
        outputs = {
            name: symbol(f"output {name}", "variable", owner=system.identity) for name in system.outputs
        }
        try:  # costs add squares of unlike quantities, so dimensions are not compared
            if isinstance(value, str):
                node = parse_text(system, value, where, outputs, checked=False)
            else:
                node = read_expression(system, value, where)
        except ArmillaryError as error:
            raise ArmillaryError(f"{where} {value!r} cannot be read: {error}") from error
        if not isinstance(node, Expr):
            raise ArmillaryError(f"{where} '{value}' is no scalar; take a component with dot(…, ground.x)")
        plain, t = equations.reduction.plain, equations.targets
        rates = t.rates[len(t.coordinates) :]
        named = {s.data.name: r for s, r in zip(t.speeds, rates, strict=False)}
        accelerations = {
            plain(a): named[u.data.name] for u, a in system.accelerations.items() if u.data.name in named
        }
        known = accelerations | {plain(s): columns[name] for name, s in outputs.items() if name in columns}
        found = transform([plain(node)], known.get)
        held = {*t.integrated, *t.memory, t.time, *map(plain, system.parameters.values())}
        others = [s for s in symbols(*found) if s not in held]
        if others:
            raise ArmillaryError(
                f"{where} '{value}' holds '{others[0]}', which does not follow from the state alone here; "
                "declare it as an output, s.output(…), and name that"
            )
        return self.substitute_unknowns(found)[0]

    def substitute_unknowns(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Return expressions with symbols for unknown parameters."""
        return transform(expressions, self._replaced.get) if self._replaced else list(expressions)

    def conditions(self, given: DataTable, where: str) -> tuple[Condition, ...]:
        """Return conditions from a mapping of texts to limits."""
        return tuple(
            Condition(str(text), self.read(text, where), _range(limits, 1.0, f"{where} '{text}'"))
            for text, limits in given.items()
        )

    def ends(
        self, given: DataMapping | None, ports: Sequence[Port], where: str
    ) -> tuple[dict[str, Range], tuple[Condition, ...]]:
        """Return the limits of states and inputs at one end, and the conditions on expressions there."""
        named = {p.name: p for p in ports}
        values = table(given, where)
        own = {n: v for n, v in values.items() if n in named}
        limits = {
            n: FREE if v is None else _range(v, named[n].factor, f"{where} '{n}'") for n, v in own.items()
        }
        return limits, self.conditions({n: v for n, v in values.items() if n not in named}, where)

    def functions(
        self,
        model: CompiledModel,
        states: Sequence[Port],
        inputs: Sequence[Port],
        cost: Expr,
        final_cost: Expr,
        path: Sequence[Condition],
        ends: tuple[Sequence[Condition], Sequence[Condition]],
        links: tuple[Sequence[Condition], Sequence[Condition]],
    ) -> Functions:
        """Return all functions of the problem; they are compiled when first used."""
        first, last = ([c.expression for c in (*own, *link)] for own, link in zip(ends, links, strict=True))
        equations, t = self.equations, self.equations.targets
        unknown = [p.symbol for p in self.ports]
        by = [*(p.symbol for p in states), *(p.symbol for p in inputs), *unknown, t.time]
        rates = self.substitute_unknowns(t.rates)

        def functions_of_knots(results: Sequence[Expr]) -> KnotFunctions:
            return knot_functions(model, tuple(results), tuple(by), tuple(unknown))

        memories = list(equations.system.memories)
        return Functions(
            functions_of_knots([*rates, cost, *(c.expression for c in path)]),
            functions_of_knots([as_expr(0), *first]),
            functions_of_knots([final_cost, *last]),
            len(states), len(inputs), len(unknown), len(path), len(links[0]), len(links[1]),
            tuple(memories.index(p.name) for p in inputs),
            initial_memory(equations), self.parameters,
        )  # fmt: skip


# ---------------------------------------------------------------------------------------- numbers


def limit_pair(given: object, what: str) -> tuple[object, object]:
    """Return the given (low, high), unconverted; raise an error if it is not a pair."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise ParameterError(f"{what} must be a number or limits (low, high), not {shown(given)}")
    return given[0], given[1]


def _range(given: object, factor: float, what: str) -> Range:
    """Return (low, high) times a factor; a single number is both limits, and None means no limit."""
    if given is not None and np.array(given, dtype=object).ndim == 0:
        value = _number(given, what) * factor
        if not np.isfinite(value):
            raise ParameterError(f"{what} must be finite, not {shown(given)}; leave it out if it is free")
        return value, value
    low, high = limit_pair(given, what)
    found = (
        -np.inf if low is None else _number(low, what) * factor,
        np.inf if high is None else _number(high, what) * factor,
    )
    if not found[0] <= found[1]:
        raise ParameterError(f"{what}: the lower limit {low!r} is above the upper one, {high!r}")
    if found[0] == np.inf or found[1] == -np.inf:
        raise ParameterError(f"{what}: no number is between the limits {low!r} and {high!r}")
    return found


def _number(value: object, what: str) -> float:
    found = real(value, what, ParameterError)
    if np.isnan(found):
        raise ParameterError(f"{what} is not a number")
    return found


def _ranges(given: DataMapping | None, ports: Sequence[Port], what: str) -> dict[str, Range]:
    factors = {p.name: p.factor for p in ports}
    values = table(given, what)
    checked_names(values, list(factors), f"{what} there is no state or input", ParameterError)
    return {name: _range(value, factors[name], f"{what} '{name}'") for name, value in values.items()}


def _duration(given: object) -> Range:
    if given == np.inf:
        raise ParameterError("duration= must be finite, not inf; give (low, high) if it is free")
    low, high = _range(given, 1.0, "duration=")
    if low < 0 or not high > 0 or not np.isfinite(low):
        raise ParameterError(f"duration= must be a positive number, or its limits, not {shown(given)}")
    return low, high


# least part of an independent column that earlier columns do not span, relative to the largest column
_DEPENDENT = 1e-9


@dataclass(frozen=True)
class ClosedStart:
    """Expressions by name that must be zero at the start, and guesses of the states that they determine."""

    conditions: dict[str, Expr] = field(default_factory=dict)
    unknown: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GivenStart:
    """The known values of the first state, and the names that ``initial`` or a link determines."""

    state: np.ndarray
    named: Collection[str]
    fixed: Collection[str]
    linked: Collection[str]
    continued: bool  # links lead to the end of another phase, where loops are closed


def closed_start(
    model: CompiledModel,
    states: Sequence[Port],
    given: GivenStart,
    unknown_parameters: Collection[Expr],
    parameters: DataMapping,
    t0: float,
) -> ClosedStart:
    """Return the conditions that a start must satisfy; none if all coordinates and parameters are given."""
    t = model.equations.targets
    name_of = {p.symbol: p.name for p in states[: len(t.coordinates)]}
    conditions: dict[str, Expr] = {}
    held: dict[str, set[str]] = {}
    needed = False
    for name, expression in _gaps(model.equations).items():
        found = symbols(expression)
        own = {name_of[s] for s in found if s in name_of}
        if given.continued and own <= {*given.linked, *given.named}:
            continue
        conditions[name], held[name] = expression, own
        needed |= not own <= set(given.fixed) or any(s in unknown_parameters for s in found)
    if not needed:
        return ClosedStart()
    inside = {name for own in held.values() for name in own}
    dependent = [states[i].name for i in t.corrected]
    free = [p.name for p in states if p.name in inside and p.name not in {*given.named, *given.linked}]
    groups = [
        [n for n in free if n in dependent], [n for n in free if n not in dependent],
        [n for n in given.linked if n in inside],
    ]  # fmt: skip
    places = {p.name: i for i, p in enumerate(states)}
    functions = KnotFunctions(
        model.equations, list(conditions.values()), [states[places[n]].symbol for g in groups for n in g],
        tier="quick",
    )  # fmt: skip
    at = Knots(np.array([t0]), given.state[None], initial_memory(model.equations)[None], np.empty((1, 0)))
    chosen = _independent_columns(functions.dense_jacobian(at, dict(parameters))[0], list(map(len, groups)))
    names = [n for g in groups for n in g]
    unknown = [names[j] for j in chosen if names[j] not in given.linked]
    extra = [names[j] for j in chosen if names[j] in given.linked]
    if extra and not given.continued:
        raise ParameterError(
            f"periodic=: '{extra[0]}' of '{model.equations.system.name}' follows from other coordinates by "
            "closed loops or unit Euler parameters; leave it out"
        )
    return ClosedStart(conditions, {n: float(given.state[places[n]]) for n in unknown})


def _gaps(equations: DerivedEquations) -> dict[str, Expr]:
    """Return the independent gaps of loops, and the squared norms of Euler parameters minus 1, by name."""
    t = equations.targets
    found = {
        row.constraint.name: as_expr(row.gap)
        for row in equations.reduction.elimination.kept
        if row.gap is not None
    }
    for i in t.quaternions:
        own = t.integrated[i : i + 4]
        name = f"unit Euler parameters {own[0].data.name} to {own[3].data.name}"
        found[name] = total([(1, q * q) for q in own]) - UNIT
    return found


def _independent_columns(matrix: np.ndarray, groups: Sequence[int]) -> list[int]:
    """Return as many independent columns as there are, from earlier groups where possible."""
    left, first = matrix.copy(), 0
    chosen: list[int] = []
    most = float(np.max(np.linalg.norm(matrix, axis=0), initial=0.0))
    for count in groups:
        own = np.arange(first, first + count)
        first += count
        while len(own) and len(chosen) < len(matrix):
            sizes = np.linalg.norm(left[:, own], axis=0)
            j = int(own[np.argmax(sizes)])
            if not sizes.max() > _DEPENDENT * most:
                break
            chosen.append(j)
            axis = left[:, j] / np.linalg.norm(left[:, j])
            left -= np.outer(axis, axis @ left)
    return chosen
