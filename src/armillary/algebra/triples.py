"""Arithmetic on scalars, triples and 3×3 matrices of any scalar, leaving out what is known to be zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, number, scale
from armillary.algebra.expression import total as sum_of_terms

Triple = tuple[Any, Any, Any]
Matrix = tuple[Triple, Triple, Triple]

AXES = "xyz"
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # elements of a symmetric matrix, in the usual order
ZEROS: Triple = (0, 0, 0)
ZERO_MATRIX: Matrix = (ZEROS, ZEROS, ZEROS)
IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


# ---------------------------------------------------------------- scalars


def is_zero(x: Any) -> bool:
    """Whether a scalar is known to be zero before the model runs (arrays never are)."""
    return x is ZERO or (isinstance(x, int | float) and x == 0)


def plus(a: Any, b: Any) -> Any:
    """a + b, where a known zero leaves the other as it is; dimensions are not checked again."""
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    return sum_of_terms(((1, a), (1, b))) if isinstance(a, Expr) and isinstance(b, Expr) else a + b


def minus(a: Any, b: Any) -> Any:
    """a − b, where a known zero leaves the other as it is."""
    return a if is_zero(b) else -b if is_zero(a) else a - b


def times(a: Any, b: Any) -> Any:
    """a·b, zero where either is known to be."""
    return 0 if is_zero(a) or is_zero(b) else product(a, b)


def product(a: Any, b: Any) -> Any:
    """a·b, where plain numbers are components of unit vectors and so dimensionless."""
    if isinstance(a, Expr) and isinstance(b, int | float):
        return scale(a, b)
    if isinstance(b, Expr) and isinstance(a, int | float):
        return scale(b, a)
    return a * b


def total(values: Sequence[Any]) -> Any:
    """Σ, leaving out known zeros."""
    result: Any = 0
    for value in values:
        result = plus(result, value)
    return result


def sum_of_products(pairs: Any) -> Any:
    """Σ a·b, leaving out products with zero."""
    result: Any = 0
    for a, b in pairs:
        if not is_zero(a) and not is_zero(b):
            result = plus(result, product(a, b))
    return result


def inner(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Σ aᵢ bᵢ."""
    return sum_of_products(zip(a, b, strict=True))


def combination(coefficients: Sequence[Any], values: Sequence[Any]) -> Any:
    """Σ c·v over any scalars, as one wide sum."""
    pairs = [(c, v) for c, v in zip(coefficients, values, strict=True) if not is_zero(c) and not is_zero(v)]
    if not any(isinstance(x, Expr) for pair in pairs for x in pair):
        return sum(c * v for c, v in pairs) if pairs else 0
    plain = [(float(c), v) for c, v in pairs if not isinstance(c, Expr) and isinstance(v, Expr)]
    rest = [(1, _expression(c) * v) for c, v in pairs if isinstance(c, Expr) or not isinstance(v, Expr)]
    return sum_of_terms([*plain, *rest])


def _expression(x: Any) -> Expr:
    return x if isinstance(x, Expr) else number(float(x), None)


# ---------------------------------------------------------------- triples


def unit(i: int) -> Triple:
    """Unit triple along axis i."""
    return IDENTITY[i]


def vanishes(triple: Sequence[Any]) -> bool:
    """Whether all three are known to be zero."""
    return all(is_zero(a) for a in triple)


def named(triple: Sequence[Any], name: str) -> Triple:
    """The triple as intermediate values name_x, name_y, name_z."""
    return tuple(fn.named(a, f"{name}_{axis}") for a, axis in zip(triple, AXES, strict=True))


def add(*triples: Sequence[Any]) -> Triple:
    """The sum of triples."""
    result: list[Any] = [0, 0, 0]
    for triple in triples:
        result = [plus(a, b) for a, b in zip(result, triple, strict=True)]
    return tuple(result)


def scaled(triple: Sequence[Any], factor: Any) -> Triple:
    """The triple times a scalar."""
    return tuple(times(a, factor) for a in triple)


def negative(triple: Sequence[Any]) -> Triple:
    """The triple reversed."""
    return scaled(triple, -1)


def combined(columns: Sequence[Triple], factors: Sequence[Any]) -> Triple:
    """Σ column·factor, each component as one sum."""
    return tuple(combination([c[i] for c in columns], factors) for i in range(3))


def cross_triples(u: Sequence[Any], v: Sequence[Any]) -> Triple:
    """u × v of components in one frame."""
    return (
        sum_of_products([(u[1], v[2]), (-u[2], v[1])]),
        sum_of_products([(u[2], v[0]), (-u[0], v[2])]),
        sum_of_products([(u[0], v[1]), (-u[1], v[0])]),
    )


def double_cross(w: Triple, r: Triple) -> Triple:
    """w × (w × r)."""
    return cross_triples(w, cross_triples(w, r))


# ---------------------------------------------------------------- matrices


def matrix_vector(a: Matrix, v: Sequence[Any]) -> Triple:
    """a·v for a 3×3 matrix and a triple."""
    return tuple(sum_of_products(zip(row, v, strict=True)) for row in a)


def matrix_product(a: Matrix, b: Matrix, name: str = "") -> Matrix:
    """a·b; with a name, the entries become intermediate values."""
    rows = [[sum_of_products((a[i][k], b[k][j]) for k in range(3)) for j in range(3)] for i in range(3)]
    if name:
        rows = [[fn.named(rows[i][j], f"{name}_{AXES[i]}{AXES[j]}") for j in range(3)] for i in range(3)]
    return tuple(tuple(row) for row in rows)  # type: ignore[return-value]


def matrix_sum(*matrices: Matrix) -> Matrix:
    """Σ of matrices."""
    return tuple(add(*rows) for rows in zip(*matrices, strict=True)) if matrices else ZERO_MATRIX  # type: ignore[return-value]


def scaled_matrix(a: Matrix, factor: Any) -> Matrix:
    """The matrix times a scalar."""
    return tuple(scaled(row, factor) for row in a)  # type: ignore[return-value]


def transposed(a: Matrix) -> Matrix:
    """The transpose."""
    return tuple(zip(*a, strict=True))  # type: ignore[return-value]


def skew(a: Triple) -> Matrix:
    """ã, with ã v = a × v."""
    x, y, z = a
    return ((0, minus(0, z), y), (z, 0, minus(0, x)), (minus(0, y), x, 0))


def skew_product(a: Triple, b: Triple) -> Matrix:
    """ã b̃ = b aᵀ − (a·b) 1."""

    def diagonal(i: int) -> Any:
        j, k = (i + 1) % 3, (i + 2) % 3
        return minus(0, plus(times(a[j], b[j]), times(a[k], b[k])))

    return tuple(tuple(diagonal(i) if i == j else times(b[i], a[j]) for j in range(3)) for i in range(3))  # type: ignore[return-value]


def named_matrix(a: Sequence[Sequence[Any]], name: str) -> Matrix:
    """A matrix with its elements as intermediate values name_11, name_12, …"""
    return tuple(tuple(fn.named(a[i][j], f"{name}_{i + 1}{j + 1}") for j in range(3)) for i in range(3))  # type: ignore[return-value]


def named_symmetric(a: Sequence[Sequence[Any]], name: str) -> Matrix:
    """A symmetric matrix with its upper elements as intermediate values."""
    out = [list(row) for row in a]
    for i in range(3):
        for j in range(i, 3):
            out[i][j] = out[j][i] = fn.named(a[i][j], f"{name}_{i + 1}{j + 1}")
    return tuple(tuple(row) for row in out)  # type: ignore[return-value]
