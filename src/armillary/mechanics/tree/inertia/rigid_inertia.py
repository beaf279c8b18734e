"""Second moments of mass: of mass points, and of first moments whose point of reference moves."""

from __future__ import annotations

from armillary.algebra.vectors.matrices import ZERO_MATRIX, Matrix
from armillary.algebra.vectors.scalars import Scalar, is_zero, minus, plus, times
from armillary.algebra.vectors.triples import Triple, joined, scaled


def point_mass_inertia(mass: Scalar, r: Triple) -> Matrix:
    """m (r·r 1 − r rᵀ)."""
    return moment_inertia(scaled(r, times(mass, 0.5)), r) if not is_zero(mass) else ZERO_MATRIX


def moment_inertia(h: Triple, r: Triple) -> Matrix:
    """2 (r·h) 1 − (r hᵀ + h rᵀ): the change of inertia when the point of a first moment h moves by r."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            if i == j:
                a, b = (k for k in range(3) if k != i)
                row.append(times(2, plus(times(r[a], h[a]), times(r[b], h[b]))))
            else:
                row.append(minus(0, plus(times(r[i], h[j]), times(h[i], r[j]))))
        rows.append(joined(row))
    return joined(rows)
