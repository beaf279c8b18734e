"""A, B, C and D of linearised equations, as expressions of time, state, memory and parameters.

    δẋ = A δx + B δv          δy = C δx + D δv

x are the independent positions, the independent speeds (or momenta) and the user's own states; v are
parameters, inputs and memories; y are outputs. Each column is an exact derivative of the rates and of the
outputs along one direction, along which the loops stay closed and Euler parameters stay unit.

Positions are small changes of coordinates, with three rotations in place of Euler parameters: with rotations
θ about the axes of a joint's child, the joint's four Euler parameters e change by

    δe = ½ e ∘ (0, R θ)          θ̇ = δω + θ × ω

where R is the constant orientation of the child after the joint, θ is relative to the moving operating
point, and ω is the angular velocity of the child in its own axes (the product ∘ has the scalar first).
With closed loops Φ(q) = 0 some positions q_d depend on the others, q_r, and on parameters p:

    ∂Φ/∂q_d δq_d + ∂Φ/∂q_r δq_r + ∂Φ/∂p δp = 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.triples import Scalar, is_zero
from armillary.algebra.walk import Undimensioned, operands_first, transform
from armillary.errors import ArmillaryError, ExpressionError, ParameterError
from armillary.mechanics.constraints.loop_closing import MotionSample
from armillary.mechanics.constraints.reduction import with_given
from armillary.mechanics.constraints.rows import ConstraintRow, Elimination
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.rate_columns import ColumnSolution, Factors, SolvedColumn
from armillary.program.sensitivities import directions, outputs_of
from armillary.program.targets.targets import OutputColumn


@dataclass(frozen=True, eq=False)
class Position:
    """A coordinate, or a rotation that replaces Euler parameters.

    ``moving`` has the changes of coordinates per unit of the position. ``speed`` is the description's speed
    that equals ``rate``, if there is one. ``factor`` converts the position's stated units to the model's.
    """

    name: str
    units: str
    factor: float
    about: str
    moving: Mapping[Expr, Expr]
    rate: Expr
    speed: Expr | None = None
    axis: tuple[int, int] | None = None  # for a rotation: (index of the first Euler parameter, axis)


def positions(equations: DerivedEquations) -> list[Position]:
    """Return all positions that can change (locked ones cannot), in the order of the coordinates.

    A coordinate whose rate is zero because of a constraint can change: the constraint's parameters move it.
    """
    t, system, plain = equations.targets, equations.system, equations.reduction.plain
    described = {plain(q): q for q in equations.reduction.coordinates(system)}
    held = {plain(q) for q in equations.reduction.held_coordinates(system)}
    found: list[Position] = []
    position = 0
    while position < len(t.coordinates):
        q = t.coordinates[position]
        locked = q in held and t.rates[position] is ZERO
        if position in t.quaternions:
            if not locked:
                found += _rotations(equations, position)
            position += 4
            continue
        rate = system.rates[described[q]]
        speed = rate if rate.kind == "symbol" and rate.data.role == "speed" else None
        if not locked:
            name, units, about = q.data.name, q.data.units or "", q.data.about
            moving = {q: UNIT}
            found.append(Position(name, units, state_factor(q), about, moving, t.rates[position], speed))
        position += 1
    return found


def _rotations(equations: DerivedEquations, start: int) -> list[Position]:
    """Return the three rotations of a joint with Euler parameters."""
    t, system, plain = equations.targets, equations.system, equations.reduction.plain
    e = t.coordinates[start : start + 4]
    body = next(b for b in system.bodies.values() if any(plain(q) is e[0] for q in b.coordinates))
    starts = [s for s in body.assembly.quaternions]
    first = 1 + 3 * starts.index([plain(q) for q in body.coordinates].index(e[0]))
    found = []
    for axis, (speed, changes) in enumerate(_turns(equations, start)):
        name = f"{body.name}.theta{first + axis}"
        about = f"small rotation of {body.name} about its {'xyz'[axis]} axis, from the operating point"
        moving = dict(zip(e, changes, strict=True))
        found.append(Position(name, "rad", 1.0, about, moving, plain(speed), speed, (start, axis)))
    return found


def _turns(equations: DerivedEquations, start: int) -> list[tuple[Expr, list[Expr]]]:
    """Return each speed ω of a joint with Euler parameters, with ∂ė/∂ω: ė = ½ e ∘ (0, R ω).

    R rotates from the child's axes to the joint's axes (``orient``).
    """
    system, t = equations.system, equations.targets
    bare = Undimensioned()
    described = {equations.reduction.plain(q): q for q in equations.reduction.coordinates(system)}
    e = t.coordinates[start : start + 4]
    given = {bare(described[x]): x for x in e}
    rates = [bare(system.rates[described[x]]) for x in e]
    found = []
    for u in system.speeds:
        changes = tangents(rates, {bare(u): UNIT})
        if any([x is not ZERO for x in changes]):
            found.append((u, transform(changes, given.get)))
    assert len(found) == 3
    return found


# ---------------------------------------------------------------------------------------- closed loops


@dataclass(frozen=True, eq=False)
class LoopPositions:
    """The positions that closed loops make dependent on other positions, by index."""

    elimination: Elimination
    gaps: tuple[Expr, ...]

    @property
    def dependent(self) -> Mapping[int, Mapping[int, Scalar]]:
        """The factors of independent positions, by dependent position."""
        return self.elimination.factors

    def moved_by(self, moving: Mapping[Expr, Expr]) -> dict[int, Expr]:
        """Return the changes of dependent positions that keep the loops closed as symbols change."""
        if not self.gaps:
            return {}
        found = tangents(self.gaps, moving)
        if all(g is ZERO for g in found):
            return {}
        solved = self.elimination.solve(found, "shift")
        return {d: as_expr(x) for d, x in solved.items() if not is_zero(x)}


def closed_loops(equations: DerivedEquations, found: Sequence[Position]) -> LoopPositions:
    """Return the positions that constraints on positions make dependent on others."""
    elimination = equations.reduction.elimination
    kept = [row for row in elimination.kept if row.gap is not None]
    if not kept or not found:  # without positions none is dependent
        return LoopPositions(Elimination(), ())
    gaps = tuple(as_expr(row.gap) for row in kept)
    by_position: list[list[Expr]] = [tangents(gaps, p.moving) for p in found]
    rows = [
        ConstraintRow(row.constraint, {k: column[i] for k, column in enumerate(by_position)
                                       if column[i] is not ZERO}, ZERO, row.gap)
        for i, row in enumerate(kept)
    ]  # fmt: skip
    result = Elimination()
    for row, k in _pivots(equations, found, rows):
        coefficients, known, uses = result.reduce_row(row)
        result.eliminate(row, k, coefficients, known, uses)
    return LoopPositions(result, tuple(as_expr(row.gap) for row in result.kept))


def _pivots(
    equations: DerivedEquations, found: Sequence[Position], rows: Sequence[ConstraintRow]
) -> list[tuple[ConstraintRow, int]]:
    """Return rows, each with the position that it makes dependent.

    The rate of this position is the dependent speed of the row. If not all rows have such a position, all
    pairs are chosen by an elimination with numbers at the start of runs.
    """
    system, elimination = equations.system, equations.reduction.elimination
    position_of = {p.speed: k for k, p in enumerate(found) if p.speed is not None}
    dependent = {elimination.kept[s.row].constraint.name: system.speeds[s.speed] for s in elimination.steps}
    chosen = [position_of.get(dependent[row.constraint.name]) for row in rows]
    if all(k is not None for k in chosen) and all(row.gap is not None for row in elimination.kept):
        return [(row, k) for row, k in zip(rows, chosen, strict=True) if k is not None]
    return _pivots_by_numbers(equations, found, rows)


def _pivots_by_numbers(
    equations: DerivedEquations, found: Sequence[Position], rows: Sequence[ConstraintRow]
) -> list[tuple[ConstraintRow, int]]:
    """Return the pairs of a Gaussian elimination with complete pivoting, at the start of runs."""
    system = equations.system
    plain, _ = with_given(system, Undimensioned(), equations.configuration)
    sample = MotionSample(system, equations.reduction.rows, plain)
    matrix = np.zeros((len(rows), len(found)))
    for i, row in enumerate(rows):
        for k, value in zip(row.coefficients, sample(list(row.coefficients.values())), strict=True):
            matrix[i, k] = value[0]
    left = list(range(len(rows)))
    pairs: list[tuple[ConstraintRow, int]] = []
    while left:
        sizes = np.abs(matrix[left])
        i, k = divmod(int(np.argmax(sizes)), len(found))
        chosen = left[i]
        if not sizes[i, k] > 1e-10:
            name = rows[chosen].constraint.name
            raise ArmillaryError(
                f"constraint '{name}' does not determine the position of any joint where runs of "
                f"'{system.name}' start, so there are no independent coordinates for a linear model; start "
                "elsewhere"
            )
        pairs.append((rows[chosen], k))
        left.remove(chosen)
        for other in left:
            matrix[other] -= matrix[chosen] * (matrix[other, k] / matrix[chosen, k])
    return pairs


Element = tuple[int, int]
# A and C are not written out if the number of states times the operations of their rates is larger than this.
WRITTEN_OUT = 400_000


class RatesOfSpeeds(Protocol):
    """An alternative to differentiating the expressions of the speeds' rates."""

    @property
    def rates(self) -> tuple[Expr, ...]:
        """Symbols for the rates that occur in the results of ``along``; empty if there are none."""

    def along(self, moving: Mapping[Expr, Expr]) -> list[Expr]:
        """Return δu̇ for given changes of symbols, in terms of ``rates``."""


@runtime_checkable
class FactorisedRates(RatesOfSpeeds, Protocol):
    """Rates whose changes are solutions of linear equations with one matrix."""

    @property
    def factors(self) -> Factors:
        """The factorised matrix, by indices of speeds."""

    def parts(self, moving: Mapping[Expr, Expr]) -> tuple[Mapping[int, Expr], Mapping[int, Expr]]:
        """Return (right side, addends) for given changes of symbols, by indices of speeds."""


@dataclass(frozen=True)
class Variable:
    """A state, input or output of a linear model; ``factor`` converts its units to the model's."""

    name: str
    units: str
    factor: float
    about: str
    role: str  # "coordinate", "rotation", "speed", "momentum", "state", "input", "output"


@dataclass(frozen=True, eq=False, repr=False)
class Tangent:
    """δẋ and δy along a direction δx of symbols; each unit vector as δx gives a column of A and C.

    For a chain the number of elements of A grows with the square of the length, but these expressions grow
    only in proportion to the length.
    """

    direction: tuple[Expr, ...]
    rates: tuple[Expr, ...]
    outputs: tuple[Expr, ...]


class Entries(Mapping[Element, Expr]):
    """Elements of a matrix: known ones, and those of a ``solution``, written out when one is requested."""

    def __init__(self, known: Mapping[Element, Expr], solution: ColumnSolution, matrix: str) -> None:
        self.known = known
        self._solution, self._matrix = solution, matrix
        self._elements = {**dict.fromkeys(known), **dict.fromkeys(solution.places(matrix))}

    @cached_property
    def _all(self) -> dict[Element, Expr]:
        with derivation():
            return {**self.known, **self._solution.expressions(self._matrix)}

    def __getitem__(self, place: Element) -> Expr:
        return self._all.get(place, ZERO) if place in self._elements else self.known[place]

    def __iter__(self) -> Iterator[Element]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)


@dataclass(frozen=True, eq=False, repr=False)
class LinearForm:
    """Linearised equations; each matrix holds the elements that are not identically zero.

    Matrices of large systems are not written out: then A and C are empty, and ``tangent`` replaces them. With
    a ``solution``, the rows of the speeds are the numerical solution of linear equations.
    """

    states: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    A: Mapping[Element, Expr]
    B: Mapping[Element, Expr]
    C: Mapping[Element, Expr]
    D: Mapping[Element, Expr]
    basis: Mapping[Element, Expr]  # derivatives of the model's whole state by the independent state x
    dependent: tuple[str, ...] = ()  # names of positions that depend on others in closed loops
    tangent: Tangent | None = None
    solution: ColumnSolution | None = None
    algebraic: tuple[int, ...] = ()  # with open loops: rows that are constraints, 0 = A δx + B δv

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of each matrix."""
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        return {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}


def linear_form(
    equations: DerivedEquations,
    inputs: Sequence[str],
    outputs: Sequence[str],
    implicit: Callable[[DerivedEquations], RatesOfSpeeds | None] | None = None,
    *,
    open_loops: bool = False,
) -> LinearForm:
    """Return the linearised equations with inputs and outputs by name; unknown names are errors.

    ``implicit``, if given, provides the derivatives of the speeds' rates. With ``open_loops`` all positions
    are states, and the rows of dependent positions are the constraints that determine them.
    """
    equations.check_use("linear model")
    asked = _inputs(equations, inputs)
    named = outputs_of(equations, tuple(outputs))
    by_name = {c.name: c for c in equations.targets.columns}
    columns = [by_name[name] for name in named]
    try:
        with derivation():
            speeds = None if implicit is None else implicit(equations)
            variables, symbols = [v for v, _ in asked], [s for _, s in asked]
            return _Linearised(equations, variables, symbols, columns, speeds, open_loops).form()
    except ExpressionError as error:
        raise ArmillaryError(f"'{equations.system.name}' cannot be linearised: {error}") from error


def _inputs(equations: DerivedEquations, names: Sequence[str]) -> list[tuple[Variable, Expr]]:
    """Return (variable, symbol) of parameters, inputs and memories by name."""
    system = equations.system
    memories = [name for name, m in system.memories.items() if m.period is None and not m.hidden]
    known = [*system.parameters, *memories]
    moving = {s.data.name for s in system.moving()}
    for name in names:
        if name in moving:
            raise ParameterError(
                f"'{name}' is a variable of the motion, not an input; inputs are parameters, memories and "
                "declarations by s.input(…). To drive a coordinate from outside, give its joint a moment or "
                "force with the magnitude s.input('name')"
            )
        checked_names([name], known, "there is no parameter, input or memory", ParameterError)
    found = directions(equations, names) if names else ()
    about = {name: node.data.about for name, node in system.parameters.items()}
    about |= {name: system.memories[name].about for name in memories}
    return [(Variable(d.name, d.units, d.factor, about[d.name], "input"), d.symbol) for d in found]


@dataclass(frozen=True, eq=False)
class _Moves:
    """One direction: changes of positions by index, and of all symbols that change."""

    positions: Mapping[int, Expr]
    symbols: Mapping[Expr, Expr]


@dataclass(frozen=True, eq=False)
class _Linearised:
    """The parts of a linear form: equations, inputs, outputs, positions and loops."""

    equations: DerivedEquations
    inputs: Sequence[Variable]
    symbols: Sequence[Expr]
    columns: Sequence[OutputColumn]
    implicit: RatesOfSpeeds | None
    open_loops: bool
    positions: list[Position] = field(init=False)
    loops: LoopPositions = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", positions(self.equations))
        object.__setattr__(self, "loops", closed_loops(self.equations, self.positions))

    def form(self) -> LinearForm:
        """Return the linear form with all elements that are not zero."""
        n, t = len(self.states), self.equations.targets
        # mypy: empty tables, whose types follow from their first use.
        A, B, C, D, basis = ({} for _ in range(5))  # type: ignore[var-annotated]
        operations = self.equations.operations.total
        factorised = self._factorise()
        rows = self._rows_of_speeds()
        large = n * operations > WRITTEN_OUT and not self.open_loops and factorised is None
        tangent = self._tangent() if large else None
        solved: list[SolvedColumn] = []
        for j, moves in enumerate([*self._along_states(), *self._along_inputs()]):
            if j < n:
                states = enumerate(t.integrated)
                basis |= {(i, j): moves.symbols[s] for i, s in states if s in moves.symbols}
                if tangent is not None:
                    continue
            rates, outputs = self._column(moves, solve=factorised is None)
            upper, lower, k = (A, C, j) if j < n else (B, D, j - n)
            upper |= {(i, k): x for i, x in enumerate(rates) if x is not ZERO}
            lower |= {(i, k): x for i, x in enumerate(outputs) if x is not ZERO}
            if factorised is not None:
                right, added = factorised.parts(moves.symbols)
                if right:
                    solved.append(SolvedColumn("A" if j < n else "B", k, right, added))
                else:
                    upper |= {(rows[i], k): x for i, x in added.items()}
        A, B, C, D = (self._explicit(entries) for entries in (A, B, C, D))
        solution = None
        if factorised is not None:
            solution = ColumnSolution(factorised.factors, rows, tuple(solved))
        basis = {place: x for place, x in basis.items() if x is not ZERO}
        shown = tuple(Variable(c.name, c.units, 1.0, c.about, "output") for c in self.columns)
        dependent = tuple(self.positions[d].name for d in self.loops.dependent)
        algebraic = tuple(self.loops.dependent) if self.open_loops else ()
        if solution is not None:
            # mypy: an Entries is only read, like the dict that it replaces.
            A, B = (Entries(x, solution, name) for x, name in ((A, "A"), (B, "B")))  # type: ignore[assignment]
        matrices = (A, B, C, D, basis, dependent, tangent, solution, algebraic)
        return LinearForm(self.states, tuple(self.inputs), shown, *matrices)

    def _rows_of_speeds(self) -> dict[int, int]:
        """Return the rows of A of the independent speeds, by index of the speed."""
        system, first = self.equations.system, len(self.independent)
        independent = self.equations.reduction.independent(system)
        return {system.speeds.index(u): first + i for i, u in enumerate(independent)}

    def _factorise(self) -> FactorisedRates | None:
        """Return the factorised rates of speeds, unless rates of states or outputs contain these rates."""
        if not isinstance(self.implicit, FactorisedRates):
            return None
        t = self.equations.targets
        own = t.rates[len(t.coordinates) + len(t.speeds) :]
        rates = {x for x in self._speed_rates if x.args and not x.constant}
        reached = operands_first([*own, *(c.expression for c in self.columns)])
        return None if rates.intersection(reached) else self.implicit

    def _tangent(self) -> Tangent:
        """Return the derivatives along a direction with a symbol for the change of each state."""
        identity = self.equations.system.identity
        moved: dict[int, Expr] = {}
        amounts = tuple(symbol(f"d({v.name})", "variable", owner=identity) for v in self.states)
        count = len(self.independent)
        for k, amount in zip(self.independent, amounts, strict=False):
            moved[k] = amount
            for d, factors in self.loops.dependent.items():
                if k in factors:
                    moved[d] = moved.get(d, ZERO) + as_expr(factors[k]) * amount
        others = (*self._speeds, *self.equations.targets.states)
        rates, outputs = self._column(self._moves(moved, dict(zip(others, amounts[count:], strict=True))))
        if self.implicit is not None and self.implicit.rates:
            known = dict(zip(self.implicit.rates, self._speed_rates, strict=True))
            rates, outputs = transform(rates, known.get), transform(outputs, known.get)
        return Tangent(amounts, tuple(rates), tuple(outputs))

    @cached_property
    def independent(self) -> list[int]:
        """Indices of the positions that are states."""
        held = () if self.open_loops else self.loops.dependent
        return [k for k in range(len(self.positions)) if k not in held]

    @cached_property
    def _speeds(self) -> tuple[Expr, ...]:
        """The states after the positions: the speeds, or the states that replace them."""
        t = self.equations.targets
        if self.equations.hidden_states:
            return t.inputs
        return t.speeds

    @cached_property
    def states(self) -> tuple[Variable, ...]:
        """The independent variables of the linear model."""
        found = [self.positions[k] for k in self.independent]
        states = [
            Variable(p.name, p.units, p.factor, p.about, "coordinate" if p.axis is None else "rotation")
            for p in found
        ]
        described = {s.data.name: s for s in self.equations.system.moving()}
        for s in (*self._speeds, *self.equations.targets.states):
            own = described.get(s.data.name, s)
            role = "momentum" if own.data.role == "variable" else own.data.role
            about = own.data.about
            states.append(Variable(s.data.name, own.data.units or "", state_factor(own), about, role))
        return tuple(states)

    # ------------------------------------------------------------ directions

    def _along_states(self) -> list[_Moves]:
        t = self.equations.targets
        found = []
        for k in self.independent:
            moved: dict[int, Expr] = {k: UNIT}
            for d, factors in self.loops.dependent.items():
                if k in factors and not self.open_loops:
                    moved[d] = as_expr(factors[k])
            found.append(self._moves(moved, {}))
        found += [self._moves({}, {u: UNIT}) for u in self._speeds]
        return [*found, *(self._moves({}, {z: UNIT}) for z in t.states)]

    def _along_inputs(self) -> list[_Moves]:
        moved = [{} if self.open_loops else self.loops.moved_by({s: UNIT}) for s in self.symbols]
        return [self._moves(m, {s: UNIT}) for m, s in zip(moved, self.symbols, strict=True)]

    def _moves(self, moved: Mapping[int, Expr], others: Mapping[Expr, Expr]) -> _Moves:
        symbols: dict[Expr, Expr] = dict(others)
        for k, amount in moved.items():
            for q, change in self.positions[k].moving.items():
                symbols[q] = symbols.get(q, ZERO) + amount * change
        if self.equations.hidden_states:
            symbols = self._convert_speeds(symbols)
        return _Moves(moved, symbols)

    def _convert_speeds(self, symbols: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """Replace changes of the description's speeds by changes of the program's states."""
        t, plain = self.equations.targets, self.equations.reduction.plain
        described = {u.data.name: plain(u) for u in self.equations.system.speeds}
        assert self.equations.conversion is not None
        changes = tangents(self.equations.conversion, symbols)
        changes = transform(changes, {s: described[s.data.name] for s in t.inputs}.get)
        own = {s: x for s, x in symbols.items() if s not in t.inputs}
        return own | dict(zip(t.speeds, changes, strict=True))

    # ------------------------------------------------------------ elements

    @cached_property
    def _speed_rates(self) -> tuple[Expr, ...]:
        t = self.equations.targets
        if self.equations.hidden_states:
            return next(s for s in t.stepping if s.name == "accelerations").results
        count = len(t.coordinates)
        return t.rates[count : count + len(t.speeds)]

    def _column(self, moves: _Moves, *, solve: bool = True) -> tuple[list[Expr], list[Expr]]:
        """Return the derivatives along a direction of the rates of all states, and of the outputs.

        Unless ``solve`` is true, the derivatives of the speeds' rates are zero.
        """
        t, moving = self.equations.targets, dict(moves.symbols)
        if not solve:
            speeds = [ZERO] * len(t.speeds)
        elif self.implicit is None:
            speeds = tangents(self._speed_rates, moving)
        else:
            speeds = self.implicit.along(moving)
            # The rates of speeds may occur in outputs, too. Rates that are symbols are in `moving` already.
            known = zip(self._speed_rates, speeds, strict=True)
            moving |= {rate: change for rate, change in known if rate.args and not rate.constant}
        position_rates = [self.positions[k].rate for k in self.independent]
        own = t.rates[len(t.coordinates) + len(t.speeds) :]
        found = tangents([*position_rates, *own, *(c.expression for c in self.columns)], moving)
        n, m = len(position_rates), len(position_rates) + len(own)
        turned = [x + self._turn_rate(k, moves) for x, k in zip(found, self.independent, strict=False)]
        if self.open_loops:
            gaps = tangents(self.loops.gaps, moves.symbols)
            for step in self.loops.elimination.steps:
                turned[step.speed] = gaps[step.row]
        return [*turned, *speeds, *found[n:m]], found[m:]

    def _explicit(self, entries: dict[Element, Expr]) -> dict[Element, Expr]:
        """Return the elements with the expressions of the speeds' rates in place of their symbols."""
        if self.implicit is None or not self.implicit.rates:
            return entries
        known = dict(zip(self.implicit.rates, self._speed_rates, strict=True))
        values = transform(entries.values(), known.get)
        return {place: x for place, x in zip(entries, values, strict=True) if x is not ZERO}

    def _turn_rate(self, k: int, moves: _Moves) -> Expr:
        """Return the element of θ × ω for the k-th position if this is a rotation, else zero."""
        axis = self.positions[k].axis
        if axis is None:
            return ZERO
        start, i = axis
        three = {p.axis[1]: (p, j) for j, p in enumerate(self.positions) if p.axis and p.axis[0] == start}
        theta = [moves.positions.get(three[a][1], ZERO) for a in range(3)]
        w = [three[a][0].rate for a in range(3)]
        a, b = (i + 1) % 3, (i + 2) % 3
        return theta[a] * w[b] - theta[b] * w[a]
