"""Constant rotations that make a joint's axis a coordinate axis of its link."""

from __future__ import annotations

import math

from armillary.algebra.expression import Expr
from armillary.algebra.vectors.matrices import Matrix, transposed
from armillary.algebra.vectors.scalars import Scalar, is_zero
from armillary.algebra.vectors.triples import Triple, cross_triples, joined, unit
from armillary.mechanics.tree.structure.rotation import AxisRotation, MatrixRotation, RotationChain
from armillary.model.joints.base import perpendicular_triple


def coordinate_axis(axis: Triple) -> tuple[int, int] | None:
    """(i, ±1) where the axis is ± a coordinate axis."""
    for i in range(3):
        others = [axis[k] for k in range(3) if k != i]
        value = axis[i]
        if isinstance(value, Expr) and value.kind == "number":
            value = value.data
        if all(is_zero(o) for o in others) and isinstance(value, int | float) and abs(value) == 1:
            return i, int(value)
    return None


def _adapted_axes(axis: Triple) -> Matrix:
    """Constant axes (columns), the given one first; a coordinate axis across it is kept if there is one."""
    zeros = [i for i in range(3) if is_zero(axis[i])]
    second = unit(zeros[0]) if zeros else perpendicular_triple(axis)
    third = cross_triples(axis, second)
    return transposed((axis, second, third))


def rotation_towards(axis: Triple) -> tuple[AxisRotation | MatrixRotation | RotationChain, int, int]:
    """(R, k, ±1): a constant rotation that takes ± coordinate axis k to an axis, as cheap as may be.

    Any axis is reached by two turns about coordinate axes, R = R_i(φ) R_j(θ), or by one where it lies in a
    coordinate plane. Turning a symmetric matrix twice takes 18 products, by a full matrix 45. Axes whose
    components are not numbers keep the full matrix.
    """
    a = [float(x) for x in map(_number, axis) if x is not None]
    if len(a) < 3:
        return MatrixRotation(_adapted_axes(axis)), 0, 1
    # e_k is turned about j in the plane of k and i, then about i; for the largest k least is left to turn.
    k = max(range(3), key=lambda n: (abs(a[n]), -n))
    i, j = sorted((n for n in range(3) if n != k), key=lambda n: (abs(a[n]), n), reverse=True)
    sign = 1 if a[k] > 0 else -1
    a = [sign * x for x in a]
    first = _about(i, k, j, math.atan2(a[j], a[k]))
    second = _about(j, k, i, math.asin(max(-1.0, min(1.0, a[i]))))
    if is_zero(first.sine):
        return second, k, sign
    return RotationChain(first, second), k, sign


def _about(axis: int, start: int, end: int, angle: float) -> AxisRotation:
    """The turn about a coordinate axis that moves ``start`` towards ``end``."""
    upwards = (axis + 1) % 3 == start
    c, s = _exact(math.cos(angle)), _exact(math.sin(angle))
    assert end == 3 - axis - start
    return AxisRotation(axis, c, s if upwards else -s)


def _exact(x: float) -> Scalar:
    """A cosine or sine without the last digits where it is a whole number."""
    return round(x) if abs(x - round(x)) < 1e-15 else x


def _number(x: Scalar) -> float | None:
    if isinstance(x, Expr):
        return float(x.data) if x.kind == "number" else None
    return float(x)


def rotated_back(rotation: AxisRotation | MatrixRotation | RotationChain, turned: Matrix) -> Matrix:
    """Rᵀ times a matrix."""
    columns = [rotation.to_child(column) for column in transposed(turned)]
    return transposed(joined(joined(_tidy(x) for x in column) for column in columns))


def _tidy(x: Scalar) -> Scalar:
    """A number rounded to zero or ± one where it differs only by rounding, so that terms cancel exactly."""
    value = _number(x)
    return round(value) if value is not None and abs(value - round(value)) < 4e-16 else x
