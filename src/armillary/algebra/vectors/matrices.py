"""Arithmetic on 3×3 matrices of any scalar, leaving out known zeros."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra import functions as fn
from armillary.algebra.vectors.scalars import Scalar, minus, plus, sum_of_products, times
from armillary.algebra.vectors.triples import AXES, ZEROS, ExprTriple, Triple, add, joined, scaled

Matrix = tuple[Triple, Triple, Triple]
ExprMatrix = tuple[ExprTriple, ExprTriple, ExprTriple]

SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # elements of a symmetric matrix, in the usual order
ZERO_MATRIX: Matrix = (ZEROS, ZEROS, ZEROS)
IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def matrix_vector(a: Matrix, v: Sequence[Scalar]) -> Triple:
    """a·v for a 3×3 matrix and a triple."""
    return joined(sum_of_products(zip(row, v, strict=True)) for row in a)


def matrix_product(a: Matrix, b: Matrix, name: str = "") -> Matrix:
    """a·b; with a name, the entries become intermediate values."""
    rows = [[sum_of_products((a[i][k], b[k][j]) for k in range(3)) for j in range(3)] for i in range(3)]
    if name:
        rows = [[fn.named(rows[i][j], f"{name}_{AXES[i]}{AXES[j]}") for j in range(3)] for i in range(3)]
    return joined(joined(row) for row in rows)


def matrix_sum(*matrices: Matrix) -> Matrix:
    """Σ of matrices."""
    return joined(add(*rows) for rows in zip(*matrices, strict=True)) if matrices else ZERO_MATRIX


def scaled_matrix(a: Matrix, factor: Scalar) -> Matrix:
    """The matrix times a scalar."""
    return joined(scaled(row, factor) for row in a)


def transposed(a: Matrix) -> Matrix:
    """The transpose."""
    (a11, a12, a13), (a21, a22, a23), (a31, a32, a33) = a
    return (a11, a21, a31), (a12, a22, a32), (a13, a23, a33)


def skew(a: Triple) -> Matrix:
    """ã, with ã v = a × v."""
    x, y, z = a
    return ((0, minus(0, z), y), (z, 0, minus(0, x)), (minus(0, y), x, 0))


def skew_product(a: Triple, b: Triple) -> Matrix:
    """ã b̃ = b aᵀ − (a·b) 1."""

    def diagonal(i: int) -> Scalar:
        j, k = (i + 1) % 3, (i + 2) % 3
        return minus(0, plus(times(a[j], b[j]), times(a[k], b[k])))

    return joined(joined(diagonal(i) if i == j else times(b[i], a[j]) for j in range(3)) for i in range(3))


def named_matrix(a: Sequence[Sequence[Scalar]], name: str) -> Matrix:
    """A matrix with its elements as intermediate values name_11, name_12, …"""
    return joined(joined(fn.named(a[i][j], f"{name}_{i + 1}{j + 1}") for j in range(3)) for i in range(3))


def named_symmetric(a: Sequence[Sequence[Scalar]], name: str) -> Matrix:
    """A symmetric matrix with its upper elements as intermediate values."""
    out = [list(row) for row in a]
    for i in range(3):
        for j in range(i, 3):
            out[i][j] = out[j][i] = fn.named(a[i][j], f"{name}_{i + 1}{j + 1}")
    return joined(joined(row) for row in out)
