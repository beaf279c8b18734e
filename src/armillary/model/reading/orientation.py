"""Fixed orientations as users give them: a matrix, or a sequence of turns about body-fixed axes."""

from __future__ import annotations

from collections.abc import Callable

from armillary.algebra.arguments import item_count
from armillary.algebra.expression import Expr
from armillary.algebra.triples import IDENTITY, Matrix, joined, matrix_product, transposed
from armillary.errors import ModelError
from armillary.model.joints.base import check_sequence, plain, sequence_rotation
from armillary.untyped import Given


def orientation_matrix(orient: Given, where: str, read: Callable[[Given], Expr]) -> Matrix | None:
    """R with v_parent = R v_child, or None where the axes agree."""
    if orient is None:
        return None
    items = list(orient) if item_count(orient) > 0 else []
    if items and isinstance(items[0], str) and len(items) == len(items[0]) + 1:
        sequence = check_sequence(items[0], (1, 2, 3), f"{where}: orient")
        turned = sequence_rotation(sequence, [read(a) for a in items[1:]], "")
        return _plain(turned)
    if len(items) != 3 or any(item_count(row) != 3 for row in items):
        raise ModelError(
            f"{where}: orient is a 3×3 matrix or a sequence with its angles, e.g. ('zx', 0.1, 0.2), "
            f"not {orient!r}"
        )
    matrix = _plain(tuple(tuple(read(value) for value in row) for row in items))
    _check_rotation(matrix, where)
    return matrix


def _plain(matrix: Given) -> Matrix:
    return joined(joined(plain(v) if isinstance(v, Expr) else v for v in row) for row in matrix)


def _check_rotation(matrix: Matrix, where: str) -> None:
    if any(isinstance(v, Expr) for row in matrix for v in row):
        return
    product = matrix_product(transposed(matrix), matrix)
    worst = max(abs(float(product[i][j] - IDENTITY[i][j])) for i in range(3) for j in range(3))
    (a, b, c), (d, e, f), (g, h, i) = matrix
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not worst <= 1e-9 or determinant < 0:
        raise ModelError(
            f"{where}: orient is not a rotation matrix (RᵀR differs from 1 by {worst:.2g}, "
            f"determinant {determinant:.3g})"
        )
