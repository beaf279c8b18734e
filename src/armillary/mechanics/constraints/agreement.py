"""The least changes of speeds with which they satisfy the constraints, while some of them stay.

    J (u + δ) + b = 0,   Σ (δ_j/s_j)² least:   δ = −W Jᵀ λ,   J W Jᵀ λ = J u + b,   W = diag(f_j s_j²)

where s_j are the sizes of speeds (sizes.py) and f_j is 1 for a speed that may change, 0 for one that stays.
Runs use this where events set speeds which others decide; their starts allow for redundant rows and poor
ranks, too (runtime/solver/assembly/speed_agreement.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times
from armillary.mechanics.constraints.rows import ConstraintRow
from armillary.mechanics.tree.uncouple import ImplicitEquations, uncouple


def least_changes(
    rows: Sequence[ConstraintRow], before: Sequence[Scalar], free: Sequence[Scalar], sizes: Sequence[Scalar]
) -> dict[int, Scalar]:
    """δ of the speeds that the rows hold, by index. The rows are independent of each other; ``before`` are u,
    ``free`` f and ``sizes`` s of all speeds.
    """
    held = sorted({j for row in rows for j in row.coefficients})
    weight = {j: fn.named(times(free[j], times(sizes[j], sizes[j])), f"weight_{j + 1}") for j in held}
    matrix: dict[tuple[int, int], Scalar] = {}
    left: dict[int, Scalar] = {}
    for i, row in enumerate(rows):
        left[i] = row.known
        weighed = {j: times(a, weight[j]) for j, a in row.coefficients.items()}
        for j, a in row.coefficients.items():
            left[i] = plus(left[i], times(a, before[j]))
        for k in range(i, len(rows)):
            value: Scalar = 0
            for j, a in rows[k].coefficients.items():
                value = plus(value, times(a, weighed.get(j, 0)))
            if not is_zero(value):
                matrix[i, k] = value
    names = {i: row.constraint.name for i, row in enumerate(rows)}
    multipliers = uncouple(ImplicitEquations(matrix, left, names), "fewest neighbours")
    changes: dict[int, Scalar] = {}
    for j in held:
        pulled: Scalar = 0
        for i, row in enumerate(rows):
            pulled = plus(pulled, times(row.coefficients.get(j, 0), multipliers[i]))
        changes[j] = minus(0, times(weight[j], pulled))
    return changes
