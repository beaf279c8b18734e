"""Constrained accelerations by the forces of the constraints, on top of a formalism for trees.

With x₀ the accelerations of the tree as if it were free, and X_k those that a unit of constraint k's force
gives it at rest and without loads,

    x = x₀ + Σ_k X_k λ_k        Σ_k (J_i X_k) λ_k = −(γ_i + J_i x₀)

The matrix J M⁻¹ Jᵀ is as large as the number of constraints, whatever the size of the tree, so a long chain
that is closed once costs little more than an open one. The columns X_k share all inertia with x₀.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, plus, times
from armillary.mechanics.constraints.rows import ConstraintRow
from armillary.mechanics.tree.loads import AppliedLoads
from armillary.mechanics.tree.tree import Tree
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple


class TreeFormalism(Protocol):
    """A way to the accelerations of a tree; ``at_rest``: at rest and without gravity, by the loads alone."""

    def __call__(self, tree: Tree, applied: AppliedLoads, *, at_rest: bool = False) -> dict[int, Scalar]:
        """x by speed index."""


def constrained_accelerations(
    accelerations: TreeFormalism,
    tree: Tree,
    applied: AppliedLoads,
    constraints: Sequence[ConstraintRow],
    remainders: Sequence[Scalar],
) -> dict[int, Scalar]:
    """x by speed index, of a tree whose dependent speeds are free and have their constrained values."""
    free = accelerations(tree, applied)
    if not constraints:
        return free
    rows = [row.coefficients for row in constraints]
    columns = [accelerations(tree, AppliedLoads({}, dict(row)), at_rest=True) for row in rows]
    matrix: dict[tuple[int, int], Scalar] = {}
    right: dict[int, Scalar] = {}
    for i, row in enumerate(rows):
        for k in range(i, len(rows)):
            matrix[i, k] = fn.named(_dot(row, columns[k]), f"S_{i + 1}_{k + 1}")
        missing = plus(remainders[i], _dot(row, free))
        right[i] = fn.named(times(missing, -1), f"s_{i + 1}")
    names = {i: row.constraint.name for i, row in enumerate(constraints)}
    force = uncouple(ImplicitEquations(matrix, right, names), "fewest neighbours")
    result = dict(free)
    for k, column in enumerate(columns):
        for j, value in column.items():
            result[j] = plus(result[j], times(value, force[k]))
    return {j: fn.named(value, f"x_{j + 1}") for j, value in result.items()}


def _dot(row: dict[int, Scalar], x: dict[int, Scalar]) -> Scalar:
    value: Scalar = 0
    for j, a in row.items():
        value = plus(value, times(a, x[j]))
    return value
