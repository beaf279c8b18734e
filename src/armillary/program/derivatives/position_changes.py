"""Positions that a system is linearised in: small changes of coordinates, and rotations for Euler parameters.

Four Euler parameters e of a joint change as the three rotations θ about the axes of its child do,

    δe = ½ e ∘ (0, R θ)          θ̇ = δω + θ × ω

where R is the fixed orientation of the child on its joint, θ is counted from the moving operating point, and
ω is the angular velocity of the child in its own axes (the quaternion product ∘ has the scalar first).
With closed loops Φ(q) = 0 some positions depend on the others and on parameters p, by the implicit function
theorem:

    ∂Φ/∂q_d δq_d + ∂Φ/∂q_r δq_r + ∂Φ/∂p δp = 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.calculus import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.triples import Scalar, is_zero
from armillary.algebra.walk import Undimensioned, transform
from armillary.errors import ArmillaryError
from armillary.mechanics.constraints.loop_closing import MotionSample
from armillary.mechanics.constraints.reduction import with_given
from armillary.mechanics.constraints.rows import ConstraintRow, Elimination
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations


@dataclass(frozen=True, eq=False)
class Position:
    """A coordinate, or a rotation that stands for Euler parameters.

    ``moving`` is the change of the coordinates per unit of the position. ``rate`` is its rate, and ``speed``
    the description's speed equal to this rate, if any. ``factor`` converts its stated units to the model's.
    """

    name: str
    units: str
    factor: float
    about: str
    moving: Mapping[Expr, Expr]
    rate: Expr
    speed: Expr | None = None
    axis: tuple[int, int] | None = None  # of a rotation: (where its Euler parameters start, number of axis)


def positions(equations: DerivedEquations) -> list[Position]:
    """Return all positions that can change, in the order of the coordinates; locked ones cannot.

    One whose rate is zero because of a constraint is a position, too: parameters of the constraint move it.
    """
    t, system, plain = equations.targets, equations.system, equations.reduction.plain
    described = {plain(q): q for q in equations.reduction.coordinates(system)}
    held = {plain(q) for q in equations.reduction.held_coordinates(system)}
    found: list[Position] = []
    place = 0
    while place < len(t.coordinates):
        q = t.coordinates[place]
        locked = q in held and t.rates[place] is ZERO
        if place in t.quaternions:
            if not locked:
                found += _rotations(equations, place)
            place += 4
            continue
        rate = system.rates[described[q]]
        speed = rate if rate.kind == "symbol" and rate.data.role == "speed" else None
        if not locked:
            name, units, about = q.data.name, q.data.units or "", q.data.about
            moving = {q: UNIT}
            found.append(Position(name, units, state_factor(q), about, moving, t.rates[place], speed))
        place += 1
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

    R leads from the child's axes to the joint's axes (``orient``).
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
    """Positions that closed loops make dependent, by place: factors of the independent ones."""

    elimination: Elimination
    gaps: tuple[Expr, ...]

    @property
    def dependent(self) -> Mapping[int, Mapping[int, Scalar]]:
        """Factors of independent positions, by dependent position."""
        return self.elimination.factors

    def moved_by(self, moving: Mapping[Expr, Expr]) -> dict[int, Expr]:
        """Changes of dependent positions that keep the loops closed where parameters change."""
        if not self.gaps:
            return {}
        found = tangents(self.gaps, moving)
        if all(g is ZERO for g in found):
            return {}
        solved = self.elimination.solve(found, "shift")
        return {d: as_expr(x) for d, x in solved.items() if not is_zero(x)}


def closed_loops(equations: DerivedEquations, found: Sequence[Position]) -> LoopPositions:
    """Return the dependence of positions on each other, where constraints keep positions."""
    elimination = equations.reduction.elimination
    kept = [row for row in elimination.kept if row.gap is not None]
    if not kept or not found:  # without positions nothing depends
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

    The rate of this position is the row's dependent speed. Unless this is possible for all rows, all
    positions are chosen by numbers at the start of runs.
    """
    system, elimination = equations.system, equations.reduction.elimination
    place = {p.speed: k for k, p in enumerate(found) if p.speed is not None}
    dependent = {elimination.kept[s.row].constraint.name: system.speeds[s.speed] for s in elimination.steps}
    chosen = [place.get(dependent[row.constraint.name]) for row in rows]
    if all(k is not None for k in chosen) and all(row.gap is not None for row in elimination.kept):
        return [(row, k) for row, k in zip(rows, chosen, strict=True) if k is not None]
    return _pivots_by_numbers(equations, found, rows)


def _pivots_by_numbers(
    equations: DerivedEquations, found: Sequence[Position], rows: Sequence[ConstraintRow]
) -> list[tuple[ConstraintRow, int]]:
    """Gaussian elimination with complete pivoting where runs start."""
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
                f"constraint '{name}' does not decide the position of any joint where runs of "
                f"'{system.name}' start, so there are no independent coordinates to linearise in; start "
                "elsewhere"
            )
        pairs.append((rows[chosen], k))
        left.remove(chosen)
        for other in left:
            matrix[other] -= matrix[chosen] * (matrix[other, k] / matrix[chosen, k])
    return pairs
