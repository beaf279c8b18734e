"""The bordered equations of redundant coordinates, factorised along the tree.

    [ M  Bᵀ ] [ v̇ ]   [ φ f             ]
    [ B  −σ ] [ λ ] = [ ρ − φ γ − σ λ₀  ]

with the inputs λ₀, ρ, φ and σ of `Inputs`. The matrix is eliminated leaves first, each part followed by the
constraints of its joint: the cost grows with the number of parts, and only the user's own constraints,
eliminated last, see each other. No pivot vanishes: M is positive definite, and a joint's constraints are
independent in the speeds of the part that it carries.

A part without mass or inertia of its own leaves M singular although the motion is determined. There α BᵀB is
added to M, and α Bᵀ(ρ − φ γ) to f, over the constraints that touch it: where B v̇ = ρ − φ γ nothing changes,
and the sum is positive definite wherever the constraints and other parts' inertia decide the motion. The
armature a of a joint's speed u = B v adds a BᵀB to M in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.derivatives.calculus import evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, total
from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.mechanics.formalisms.redundant.absolute_bodies import AbsoluteBodies, AbsoluteBody, mass_block
from armillary.mechanics.formalisms.redundant.joints import AbsoluteConstraint
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple

SINGULAR = 1e-12  # of the largest eigenvalue: a mass matrix with a smaller one counts as singular

Form = dict[Expr, Scalar]  # coefficients of a constraint by absolute speed


@dataclass(frozen=True, eq=False)
class Inputs:
    """Symbols that the solution takes besides the state."""

    multipliers: tuple[Expr, ...]  # λ₀
    targets: tuple[Expr, ...]  # ρ
    weight: Expr  # 1: motion with f and γ; 0: projection
    softness: tuple[Expr, Expr]  # σ of constraints with a position form, and of those without

    @property
    def all(self) -> tuple[Expr, ...]:
        return (*self.multipliers, *self.targets, self.weight, *self.softness)


class Bordered:
    """[ M Bᵀ ; B −σ ] and its right side, for a sparse factorisation along the tree."""

    def __init__(
        self,
        parts: AbsoluteBodies,
        rows: Sequence[AbsoluteConstraint],
        forms: Sequence[Form],
        gammas: Sequence[Expr],
        inputs: Inputs,
    ) -> None:
        self.parts, self.rows, self.forms, self.inputs = parts, rows, forms, inputs
        self.matrix: dict[tuple[Expr, Expr], Scalar] = {}
        for part in parts.parts:
            self.matrix |= mass_block(part)
        # Values that constraints prescribe for B v̇ (or for Bv, or for the gap's rate).
        self.goals = [
            fn.named(minus(rho, times(inputs.weight, gamma)), "goal")
            for rho, gamma in zip(inputs.targets, gammas, strict=True)
        ]
        self.added: dict[Expr, Scalar] = {}  # what armatures and the support of massless parts add to f
        self.order = {v: i for i, v in enumerate(v for p in parts.parts for v in p.speeds)}
        self.length2 = _size(parts.parts)
        self.turning = {w for part in parts.parts for w in part.w}

    def add_armature(self, inertia: Scalar, form: Form, gamma: Scalar) -> None:
        """a u̇ in the equation of a joint's speed u = B v: a BᵀB more in M, −a Bᵀ γ in f, u̇ = B v̇ + γ."""
        self._add_square(inertia, form, times(self.inputs.weight, times(gamma, -1)))
        self.matrix = {key: fn.named(x, "M") for key, x in self.matrix.items()}

    def _add_square(self, alpha: Scalar, form: Form, goal: Scalar) -> None:
        """α BᵀB more in M and α Bᵀ goal in f."""
        for a, x in form.items():
            pushed = times(alpha, x)
            self.added[a] = plus(self.added.get(a, 0), times(pushed, goal))
            for b, y in form.items():
                if self.order[a] <= self.order[b]:
                    self.matrix[a, b] = plus(self.matrix.get((a, b), 0), times(pushed, y))

    def _turns(self, form: Form) -> bool:
        """Whether a constraint is one of rotations alone, whose multiplier is a moment."""
        return self.turning.issuperset(form)

    def support(self, values: dict[Expr, float]) -> None:
        """M with the constraints of parts added that have no mass or inertia of their own."""
        weak = [p for p in self.parts.parts if _singular(p, values)]
        if not weak:
            return
        touched = {v for p in weak for v in p.speeds}
        mass = total_mass(self.parts.parts)
        for form, goal in zip(self.forms, self.goals, strict=True):
            if touched.isdisjoint(form):
                continue
            self._add_square(mass * self.length2 if self._turns(form) else mass, form, goal)
        self.matrix = {key: fn.named(x, "M") for key, x in self.matrix.items()}
        self._check(weak, values)

    def _check(self, weak: list[AbsoluteBody], values: dict[Expr, float]) -> None:
        """An error where the constraints leave a massless part to itself."""
        order = self.order
        M = _numbers(self.matrix, order, values)
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        if np.all(size > 0.0):
            eigenvalues, directions = np.linalg.eigh(M / np.outer(size, size))
            if eigenvalues[0] > SINGULAR:
                return
            moving = np.abs(directions[:, 0])
        else:
            moving = (size == 0.0) * 1.0
        names = {p.name: max(moving[order[v]] for v in p.speeds) for p in weak}
        worst = max(names, key=lambda name: names[name])
        raise ModelError(
            f"body '{worst}' moves without moving any mass or inertia: give it (or one that hangs on it) "
            "some, or fix its joint"
        )

    def solution(self, forces: dict[Expr, Scalar]) -> list[Expr]:
        """v̇ in the order of the speeds, then λ in the order of the rows."""
        order: list[Expr | int] = []
        by_owner: dict[int | None, list[int]] = {}
        for k, row in enumerate(self.rows):
            by_owner.setdefault(row.owner, []).append(k)
        for i in reversed(range(len(self.parts.parts))):
            order += self.parts.parts[i].speeds
            order += by_owner.get(i, [])
        order += by_owner.get(None, [])
        # "Leaves first" begins with the last place.
        place = {unknown: len(order) - 1 - i for i, unknown in enumerate(order)}
        matrix: dict[tuple[int, int], Scalar] = {}
        names: dict[int, str] = {}
        force: dict[int, Scalar] = {}
        for v, f in forces.items():
            names[place[v]] = v.data.name
            force[place[v]] = fn.named(plus(times(self.inputs.weight, f), self.added.get(v, 0)), "f")
        for (a, b), x in self.matrix.items():
            matrix[_pair(place[a], place[b])] = x
        for k, (row, form, goal) in enumerate(zip(self.rows, self.forms, self.goals, strict=True)):
            sigma = self.inputs.softness[0 if row.position is not None else 1]
            sigma = sigma / self.length2 if self._turns(form) else sigma
            names[place[k]] = row.name
            force[place[k]] = fn.named(minus(goal, times(sigma, self.inputs.multipliers[k])), "goal")
            matrix[place[k], place[k]] = -sigma
            for v, x in form.items():
                matrix[_pair(place[k], place[v])] = x
        solved = uncouple(ImplicitEquations(matrix, force, names), "leaves first")
        speeds = [v for p in self.parts.parts for v in p.speeds]
        return [as_expr(solved[place[unknown]]) for unknown in [*speeds, *range(len(self.rows))]]


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i <= j else (j, i)


def total_mass(parts: Iterable[AbsoluteBody]) -> Expr:
    """Mass of all parts; 1 where none has any."""
    mass = as_expr(sum((as_expr(p.mass) for p in parts), ZERO))
    return UNIT if is_zero(mass) else mass


def _size(parts: Iterable[AbsoluteBody]) -> Expr:
    """A squared length of the system: that of joints and radii of gyration, or 1 where all are points."""
    lengths = [x * x for p in parts for x in map(as_expr, p.place) if not is_zero(x)]
    mass = total_mass(parts)
    lengths += [
        as_expr(p.inertia[i][i]) / mass for p in parts for i in range(3) if not is_zero(p.inertia[i][i])
    ]
    return total([(1, x) for x in lengths]) if lengths else UNIT


def _singular(part: AbsoluteBody, values: dict[Expr, float]) -> bool:
    """Whether a part's mass matrix is singular with these values."""
    found = np.linalg.eigvalsh(_numbers(mass_block(part), {s: i for i, s in enumerate(part.speeds)}, values))
    return bool(found[0] <= SINGULAR * max(found[-1], 1e-300))


def _numbers(
    matrix: dict[tuple[Expr, Expr], Scalar], order: dict[Expr, int], at: dict[Expr, float]
) -> np.ndarray:
    """A symmetric matrix with these values of its symbols; one for those without a value."""
    elements = [as_expr(x) for x in matrix.values()]
    missing = {s: 1.0 for s in symbols(*elements) if s not in at}
    found = np.zeros((len(order), len(order)))
    for (a, b), x in zip(matrix, evaluate_all(elements, at | missing), strict=True):
        found[order[a], order[b]] = found[order[b], order[a]] = x
    return found
