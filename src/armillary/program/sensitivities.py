"""Forward sensitivities: their variables and outputs, a search for jumps of rates, the extended program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import checked_names, flag
from armillary.algebra.calculus import NumericValue, Values, evaluator, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.functions import absolute, let, maximum, sin
from armillary.algebra.tables import Piecewise
from armillary.algebra.units import parse_unit
from armillary.algebra.walk import operands_first, symbols, transform
from armillary.errors import ArmillaryError, ExpressionError, ParameterError, nearest
from armillary.mechanics.constraints.reduction import Reduction
from armillary.model.description import Description
from armillary.model.units import default_value, state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.sections import program_of
from armillary.program.targets.targets import INTERNAL_EVENTS, OutputColumn, Targets
from armillary.untyped import DataTable, Given

# The parameters and initial values by which a motion is differentiated, and the outputs, by name.

_LEAST = 1e-3  # least size of a parameter, as a share of its default, or of 1 without a default


@dataclass(frozen=True, eq=False)
class Direction:
    """A variable of differentiation: a parameter, or an initial coordinate, speed, state or memory.

    ``factor`` converts its stated units to the model's. ``size``, in the model's units, is 1 for initial
    values; for a parameter it is the magnitude in each run, but at least a thousandth of the default, since a
    value near zero is no measure.
    """

    name: str
    symbol: Expr
    units: str
    factor: float
    size: Expr

    @property
    def role(self) -> str:
        """ "parameter", "coordinate", "speed", "state" or "memory"."""
        return str(self.symbol.data.role)


def directions(equations: DerivedEquations, to: Sequence[Given]) -> tuple[Direction, ...]:
    """Return parameters and initial values by name; raise an error for unknown or repeated names."""
    names = [str(name) for name in to]
    if not names:
        raise ParameterError("sensitivities: to= is empty; give names of parameters or initial values")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ParameterError(f"'{twice[0]}' occurs twice in to=; name it once")
    return tuple(_direction(equations, name) for name in names)


def _direction(equations: DerivedEquations, name: str) -> Direction:
    system, plain = equations.system, equations.reduction.plain
    if name in system.parameters:
        node = system.parameters[name]
        units = equations.parameter_units[name]
        factor = system.units.factor(parse_unit(node.data.units)) if node.data.units else 1.0
        symbol = plain(node)
        least = _LEAST * abs(default_value(node) or 1.0)
        return Direction(name, symbol, units, factor, maximum(absolute(symbol), least))
    if name in system.memories:
        memory = system.memories[name]
        return Direction(name, plain(memory.symbol), memory.symbol.data.units or "", memory.factor, UNIT)
    states = {s.data.name: s for s in system.moving()}
    free = {*equations.coordinates, *equations.states}
    free |= {u.data.name for u in system.speeds if u not in equations.reduction.given}
    if name in states and name not in free:
        raise ParameterError(f"'{name}' is prescribed or locked, so it has no initial value to vary")
    if name not in states:
        known = [*system.parameters, *states, *system.memories]
        raise ParameterError(
            f"there is no parameter, coordinate, speed, state or memory '{name}'{nearest(name, known)}"
        )
    s = states[name]
    return Direction(name, s, s.data.units or "", state_factor(s), UNIT)


def outputs_of(equations: DerivedEquations, of: Sequence[str] | None) -> tuple[str, ...]:
    """Return checked names of outputs; by default coordinates, speeds, states and the model's outputs."""
    known = [c.name for c in equations.targets.columns]
    if of is None:
        system = equations.system
        shown = {s.data.name for s in system.moving()} | set(system.outputs)
        return tuple(name for name in known if name in shown)
    return tuple(checked_names(of, known, "there is no output"))


_ONE_UNIT = re.compile(r"[^\W\d_]+\^?\d*")


def quotient(units: str, by: str) -> str:
    """Return the units of a quotient."""
    above, below = (text if text.strip() not in ("", "1", "-") else "" for text in (units, by))
    if not below:
        return above
    return f"{above or '1'}/{below if _ONE_UNIT.fullmatch(below) else f'({below})'}"


# The search for jumps of expressions, by evaluation on both sides of each switch.
#
# A choice such as select(x > 0, k x, 0) has a kink where its condition changes, which does not harm
# derivatives. select(t > T, F, 0) jumps; then the derivative of a motion by T does not follow from the
# derivatives of the rates. Evaluation distinguishes the two: one variable of a switch is varied until the
# condition changes, and the expressions are computed just before, just after and a little farther away on
# both sides. An expression jumps if it changes across the switch by at least _SHARE of its change beside it.
#
# The search starts from typical values and proves nothing: it does not find a jump that other conditions hide
# or that is beyond its range.

Evaluator = Callable[[Values], Sequence[NumericValue]]
_COMPARED = ("lt", "le", "gt", "ge")
_PLACES = 8  # random places from which each switch is sought
_REACH = np.geomspace(1e-6, 1e6, 241)  # distances from a typical value x, in units of max(|x|, 1)
_REACH = np.concatenate([-_REACH[::-1], [0.0], _REACH])
_NEAR = 1e-15  # distance of the inner points from a switch, relative to the variable: more than its rounding
_BESIDE = 1e-8  # relative distance of the outer points, far enough for a kink to change values
_SHARE = 1e-3  # least change across a jump, as a share of the change beside it
_JUMP = 1e-9  # least jump, relative to the size of the expression
_BREAKS = 8  # approximate number of jumps of a table that are examined
_COLUMNS = 256  # most points that are evaluated together


class JumpSearch:
    """A search for calls at which an expression jumps, at instants that depend on ``moving`` symbols.

    ``lasting`` symbols change continuously; other symbols change only at events and are not varied.
    """

    def __init__(
        self, expressions: Sequence[Expr], moving: Mapping[Expr, Expr], lasting: Container[Expr]
    ) -> None:
        self._expressions = expressions
        found = list(switches(expressions))
        rates = tangents([gap for _, gap, _ in found], moving)
        self._switches: list[tuple[Expr, Evaluator, list[Expr]]] = []
        for (node, gap, side), rate in zip(found, rates, strict=True):
            ways = [s for s in symbols(gap) if s in lasting]
            if rate is not ZERO and ways:
                self._switches.append((node, evaluator([side]), ways))

    @property
    def idle(self) -> bool:
        """Whether there is no switch to search."""
        return not self._switches

    @cached_property
    def _values(self) -> Evaluator:
        return evaluator(self._expressions)

    def __call__(self, typical: Mapping[Expr, float]) -> list[Expr]:
        """Return the calls at which an expression jumps near the ``typical`` values of all symbols."""
        chance = np.random.default_rng(1990)
        nodes: list[Expr] = []
        places: list[dict[Expr, np.ndarray]] = []
        with np.errstate(all="ignore"):
            for node, side, ways in self._switches:
                found = [_across(side, ways, typical, chance) for _ in range(_PLACES)]
                places += [at for at in found if at is not None]
                nodes += [node] * (len(places) - len(nodes))
            if not places:
                return []
            values = _values_by_side(self._values, len(self._expressions), places)
        size = np.maximum(np.nanmax(np.abs(values), axis=(1, 2), initial=0.0), 1e-6)
        before, across, after = np.moveaxis(np.abs(np.diff(values, axis=2)), 2, 0)
        far = (across > _JUMP * size[:, None]) & (across > _SHARE * np.maximum(before, after))
        jumped = far.any(axis=0)
        return list(dict.fromkeys(node for node, does in zip(nodes, jumped, strict=True) if does))


def switches(expressions: Sequence[Expr]) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Yield (call, gap, side) for calls that may jump.

    The expression gap is zero at the jump; side is positive on one side of the jump only.
    """
    for node in operands_first(expressions):
        if node.kind != "call":
            continue
        if node.data in _COMPARED:
            yield node, node.args[0] - node.args[1], node
        elif node.data in ("sign", "atan2"):
            yield node, node.args[0], node.args[0]
        elif node.data in ("floor", "ceil", "mod"):
            turns = node.args[0] / node.args[1] if node.data == "mod" else node.args[0]
            yield node, turns, sin(math.pi * turns)  # the sine changes its sign at every whole number
        elif isinstance(node.data, Piecewise) and node.data.arity == 1:
            for x in _table_jumps(node.data):
                yield node, node.args[0] - x, node.args[0] - x


def _table_jumps(table: Piecewise) -> list[float]:
    """Return the arguments at which a table jumps, about _BREAKS of them if there are more."""
    x = table.breaks[0]
    left, right = (table.value(np.nextafter(x, side)) for side in (-np.inf, np.inf))
    found = x[np.abs(right - left) > _JUMP * np.max(np.abs(table.coefficients), initial=0.0)]
    return [float(b) for b in found[:: max(1, len(found) // _BREAKS)]]


def _across(
    side: Evaluator, ways: Sequence[Expr], typical: Mapping[Expr, float], chance: np.random.Generator
) -> dict[Expr, np.ndarray] | None:
    """Return values of all symbols at four points: before, just before, just after and after a switch.

    The points are near the typical values; return None if no switch is found.
    """
    at = {
        s: x if s.data.role == "parameter" else x + float(chance.normal(scale=0.3))
        for s, x in typical.items()
    }
    for s in ways:
        points = at[s] + max(abs(at[s]), 1.0) * _REACH
        while True:
            above = np.broadcast_to(side({**at, s: points})[0] > 0, points.shape)
            crossed = np.flatnonzero(above[:-1] != above[1:])
            if not crossed.size:
                break
            i = crossed[np.argmin(np.abs(points[crossed] - at[s]))]
            low, high = points[i : i + 2]
            if high - low <= 0.5 * _NEAR * max(abs(low), 1e-3):
                near, beside = _NEAR * max(abs(low), 1e-3), _BESIDE * max(abs(low), 1.0)
                four = low + np.array([-beside, -near, near, beside])
                return {**{name: np.full(4, x) for name, x in at.items()}, s: four}
            points = np.linspace(low, high, 65)
    return None


def _values_by_side(values: Evaluator, count: int, places: Sequence[Mapping[Expr, np.ndarray]]) -> np.ndarray:
    """Return values by expression, place and side."""
    found = []
    step = _COLUMNS // 4
    for i in range(0, len(places), step):
        some = places[i : i + step]
        shape = (4 * len(some),)
        at = {s: np.concatenate([place[s] for place in some]) for s in some[0]}
        rows = [np.broadcast_to(np.asarray(x, dtype=float), shape) for x in values(at)]
        found.append(np.array(rows).reshape(count, len(some), 4))
    return np.concatenate(found, axis=1)


# Programs that also integrate the derivatives of their motion: forward sensitivities.
#
# For every parameter or initial value p the state is extended by S = ∂y/∂p and the memory by ∂m/∂p. So all
# code that runs a program can run the extended program. With the derivatives of the rates f, of the updates
# and of the outputs along the direction (S, ∂m/∂p, 1),
#
#     Ṡ = (∂f/∂y) S + (∂f/∂m) ∂m/∂p + ∂f/∂p            S(0): see runtime/start/derivatives.py
#
# At an event g = 0 that sets y⁺ = r(t, y, m), the instant depends on p, too: τ' = −dg/dp / (dg/dt), and
#
#     S⁺ = (∂r/∂y)(S⁻ + f⁻ τ') + (∂r/∂t) τ' + ∂r/∂p − f⁺ τ'
#
# (the saltation matrix; Leine & Nijmeijer 2004, Dynamics and Bifurcations of Non-Smooth Mechanical Systems).
# Steps normalise Euler parameters and close loops again, but do not correct S. Only the part of S along the
# constraints has a meaning, so S is projected wherever it is used: S − e (eᵀS)/(eᵀe) for Euler parameters e,
# and S + N δ with J_d δ = −(∂Φ/∂q S + ∂Φ/∂p) for gaps Φ, by the implicit function theorem.
#
# The states of the program are S times the size of p in the run, that is the change of y per relative change
# of p. The tolerances of y suit these states.


@dataclass(frozen=True, eq=False, repr=False)
class DerivedSensitiveEquations(DerivedEquations):
    """Equations of motion with the derivatives of the motion as further states."""

    plain: DerivedEquations | None = None  # the equations without derivatives
    directions: tuple[Direction, ...] = ()
    of: tuple[str, ...] = ()  # outputs whose derivatives are outputs
    memory_indices: tuple[int, ...] = ()  # indices of memories that have derivatives
    moving: tuple[Mapping[Expr, Expr], ...] = ()  # changes of all variables, by direction
    ignore_jumps: bool = False

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds whose initial values determine the start of a run."""
        assert self.plain is not None
        return self.plain.speeds


def derivative_name(of: str, to: str) -> str:
    """Return the name of the derivative of an output by a parameter or initial value."""
    return f"d({of})/d({to})"


def sensitive_equations(
    equations: DerivedEquations,
    to: Sequence[Given],
    of: Sequence[str] | None = None,
    *,
    ignore_jumps: bool = False,
) -> DerivedSensitiveEquations:
    """Return the equations with derivatives ``of`` outputs ``to`` parameters and initial values by name.

    ``of=None`` means coordinates, speeds and the outputs of the model. Rates that jump are an error unless
    ``ignore_jumps``.
    """
    _check_differentiable(equations)
    flag(ignore_jumps, "ignore_jumps=")
    found = directions(equations, to)
    names = outputs_of(equations, of)
    try:
        with derivation():
            wanted, more = _targets(equations, found, names, ignore_jumps)
            program, gains = program_of(equations.system, wanted, equations.reduction.plain)
    except ExpressionError as error:
        raise ArmillaryError(f"'{equations.system.name}' has no sensitivities: {error}") from error
    shared = {f.name: getattr(equations, f.name) for f in fields(DerivedEquations)}
    shared |= {"program": program, "targets": wanted, "gains": tuple(gains)}
    more |= {"plain": equations, "directions": found, "of": names, "ignore_jumps": ignore_jumps}
    return DerivedSensitiveEquations(**shared, **more)


def _check_differentiable(equations: DerivedEquations) -> None:
    """Raise an error for events at which the derivatives of the motion cannot be computed."""
    equations.check_use("sensitivities")
    constraints = equations.system.constraints.values()
    held = set(symbols(*(c.position for c in constraints if c.position is not None)))
    for event in equations.targets.watched:
        if event.name in INTERNAL_EVENTS:
            continue
        where = f"event '{event.name}'"
        if (
            event.lock
            or event.unlock
            or any(s.data.name in equations.configuration.locked for s in event.changes)
        ):
            raise ArmillaryError(
                f"{where} locks or unlocks joints, which sensitivities do not support; leave it out, or "
                "model the lock as a stiff spring and damper"
            )
        for s in event.changes if constraints else ():
            name = s.data.name
            if s.data.role == "coordinate" or s in held or name in equations.dependents:
                raise ArmillaryError(
                    f"{where} sets '{name}' in a system with constraints, whose loops are then closed again, "
                    "which sensitivities do not support; leave it out"
                )


# ---------------------------------------------------------------------------------------- the targets


def _targets(
    equations: DerivedEquations, asked: Sequence[Direction], of: Sequence[str], ignore_jumps: bool
) -> tuple[Targets, DataTable]:
    """Return the root expressions of all sections, and further fields of the equations."""
    t = equations.targets
    moving = _moving(t, asked, equations.system)
    memory_indices = tuple(i for i, m in enumerate(t.memory) if m in moving)
    columns = [_Along(equations, direction, memory_indices) for direction in asked]
    shown = [c for c in t.columns if c.name in of]
    fires = [_values_after_event(t, k, columns, memory_indices) for k in range(len(t.fires))]
    wanted = replace(
        t,
        carried=tuple(s for c in columns for s in c.states),
        memory=(*t.memory, *(m for c in columns for m in c.memories)),
        rates=(*t.rates, *(rate for c in columns for rate in tangents(t.rates, c.moving))),
        columns=(*t.columns, *(made for c in columns for made in c.shown_outputs(shown))),
        updates=(
            *t.updates,
            *(x for c in columns for x in _pick(tangents(t.updates, c.moving), memory_indices)),
        )
        if t.updates
        else (),
        fires=tuple(fires),
    )
    if not ignore_jumps and (why := JumpCheck(equations, moving)({})):
        raise ArmillaryError(why)
    return wanted, {"memory_indices": memory_indices, "moving": tuple(c.moving for c in columns)}


def _pick(values: Sequence[Expr], places: Sequence[int]) -> list[Expr]:
    return [values[i] for i in places]


class _Along:
    """The derivatives of state and memory by one parameter or initial value: symbols and projections."""

    def __init__(
        self, equations: DerivedEquations, direction: Direction, memory_indices: Sequence[int]
    ) -> None:
        t, system = equations.targets, equations.system
        self.direction = direction

        def of(s: Expr, role: str) -> Expr:
            name = derivative_name(s.data.name, direction.name)
            return symbol(name, role, owner=system.identity, about=f"{name} times {direction.size}")

        given = t.integrated
        kept = _pick(t.memory, memory_indices)
        self.states = tuple(of(s, "variable") for s in given)
        self.memories = tuple(of(m, "memory") for m in kept)
        # The changes with p of the state, the memory and p itself.
        self.moving: dict[Expr, Expr] = dict(zip(given, self.states, strict=True))
        self.moving |= dict(zip(kept, self.memories, strict=True))
        if direction.role == "parameter":
            self.moving[direction.symbol] = direction.size
        self.moving |= _in_loops(equations.reduction, t, self.moving)
        self.moving |= _on_sphere(t, self.moving)

    def shown_outputs(self, columns: Sequence[OutputColumn]) -> list[OutputColumn]:
        """Return the derivatives of outputs as outputs, in stated units."""
        d = self.direction
        by = d.name if d.role == "parameter" else f"the initial value of {d.name}"
        found = tangents([c.expression for c in columns], self.moving)
        return [
            OutputColumn(
                derivative_name(c.name, d.name),
                quotient(c.units, d.units),
                f"derivative of {c.name} by {by}",
                value * (d.factor / d.size),
            )
            for c, value in zip(columns, found, strict=True)
        ]


def _in_loops(reduction: Reduction, t: Targets, moving: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Return derivatives of coordinates that keep loops closed."""
    kept, layout = reduction.elimination.kept, reduction.layout
    if layout is None or all(row.gap is None for row in kept):
        return {}
    gaps = tangents([as_expr(0 if row.gap is None else row.gap) for row in kept], moving)
    delta = reduction.elimination.solve(gaps, "shift")
    rates = reduction.geometry[len(reduction.geometry) - len(layout.rates) :]
    found: dict[Expr, Expr] = {}
    for (i, j), rate in zip(layout.rates, rates, strict=True):
        if j in delta:
            q = t.coordinates[i]
            found[q] = found.get(q, moving[q]) + rate * delta[j]
    return found


def _on_sphere(t: Targets, moving: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Return derivatives of Euler parameters that keep their length at 1."""
    found: dict[Expr, Expr] = {}
    for start in t.quaternions:
        e = t.coordinates[start : start + 4]
        along = sum((x * moving[x] for x in e), as_expr(0)) / sum((x * x for x in e), as_expr(0))
        along = let(along, "along")
        found |= {x: moving[x] - x * along for x in e}
    return found


def _moving(t: Targets, asked: Sequence[Direction], system: Description) -> dict[Expr, Expr]:
    """Return all variables that depend on the requested directions, each with a symbol for its change.

    These are the state, the requested directions, and memories that depend on them directly or indirectly.
    """
    started = [
        m for m, memory in zip(t.memory, system.memories.values(), strict=True) if memory.start is not None
    ]
    moving: dict[Expr, Expr] = {}

    def add(found: Iterable[Expr]) -> None:
        moving.update({s: symbol(f"d({s.data.name})") for s in found})

    add([*t.integrated, *(d.symbol for d in asked), *started])
    while True:
        changed = {
            m for m, rate in zip(t.memory, tangents(t.updates, moving), strict=False) if rate is not ZERO
        }
        for g, values in zip(t.events, t.fires, strict=True):
            instant = {t.time: symbol("d(t)")} if tangents([g], moving)[0] is not ZERO else {}
            rates = tangents(values[: len(t.memory)], {**moving, **instant})
            changed |= {m for m, rate in zip(t.memory, rates, strict=True) if rate is not ZERO}
        if changed <= moving.keys():
            return moving
        add(changed)


class JumpCheck:
    """A check whether rates jump: the extended program lacks the effect of a jump on the derivatives."""

    def __init__(self, equations: DerivedEquations, moving: Mapping[Expr, Expr]) -> None:
        t, system, self._plain = equations.targets, equations.system, equations.reduction.plain
        self._system = system
        lasting = dict.fromkeys([*t.integrated, t.time], 0.0)
        defaults = {self._plain(p): default_value(p) or 1.0 for p in system.parameters.values()}
        self._typical: dict[Expr, float] = defaults | lasting | {t.time: 0.5}
        starts = {self._plain(s): value for s, value in system.initial.items()}
        self._typical |= {s: value for s, value in starts.items() if s in lasting}
        memories = zip(t.memory, system.memories.values(), strict=True)
        self._typical |= {m: memory.initial for m, memory in memories}
        # Hidden memory can hold the handle of an FMU, which can be called only in a run: search nothing then.
        hidden = any(memory.hidden for memory in system.memories.values())
        self._search = JumpSearch(() if hidden else t.rates, moving, lasting)

    @property
    def idle(self) -> bool:
        """Whether no rate can jump with any parameters."""
        return self._search.idle

    def __call__(self, parameters: Mapping[str, float]) -> str:
        """Return an error message, "" if no rate jumps; ``parameters`` (in model units) replace defaults."""
        given = {self._plain(p): parameters[n] for n, p in self._system.parameters.items() if n in parameters}
        if not (found := self._search(self._typical | given)):
            return ""
        return (
            f"the rates of '{self._system.name}' jump with '{found[0]}', and the equations lack the "
            "effect of this jump on the derivatives of the motion; make it an event that sets a memory "
            "(s.memory, s.event), or smooth it, or pass ignore_jumps=True if no run reaches it"
        )


def jump_check(equations: DerivedSensitiveEquations) -> JumpCheck | None:
    """Return the check for the parameters of a run; `None` if there is nothing to check."""
    plain = equations.plain
    if plain is None or equations.ignore_jumps:
        return None
    check = JumpCheck(plain, _moving(plain.targets, equations.directions, plain.system))
    return None if check.idle else check


def _values_after_event(
    t: Targets, k: int, columns: Sequence[_Along], memory_indices: Sequence[int]
) -> tuple[Expr, ...]:
    """Return memory and state after an event, with their derivatives."""
    state, before = t.integrated, (*t.memory, *t.integrated)
    values, count = t.fires[k], len(t.memory)
    memory: list[Expr] = list(values[:count])
    after: list[Expr] = list(values[count:])
    if all(x is y for x, y in zip(before, values, strict=True)):
        memory += [m for c in columns for m in c.memories]
        return (*memory, *after, *(s for c in columns for s in c.states))
    rates = dict(zip(state, t.rates, strict=True))
    (slope,) = tangents([t.events[k]], {**rates, t.time: UNIT})
    later = transform(t.rates, dict(zip(before, values, strict=True)).get)
    for c in columns:
        (shift,) = tangents([t.events[k]], c.moving)
        delay = ZERO if shift is ZERO or slope is ZERO else let(-shift / slope, "delay")
        moving = dict(c.moving)
        if delay is not ZERO:
            moving |= {s: moving[s] + rate * delay for s, rate in rates.items()}
            moving[t.time] = delay
        moved = tangents(values, moving)
        memory += _pick(moved, memory_indices)
        after += [x - rate * delay for x, rate in zip(moved[count:], later, strict=True)]
    return (*memory, *after)
