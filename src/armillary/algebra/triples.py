"""Arithmetic on scalars of any type, triples and 3×3 matrices; terms known to be zero are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from armillary.algebra import functions as fn
from armillary.algebra.expression import ZERO, Expr, collect_terms, multiply, number, scale
from armillary.algebra.expression import total as sum_of_terms
from armillary.algebra.node import NUMBERS
from armillary.algebra.terms import sum_of_two

# Sums and products of scalars of any type: expressions, numbers or arrays.

Scalar = Expr | float  # NumPy's numbers and arrays are accepted, too
ScalarMap = Callable[[Scalar], Scalar]


def is_zero(x: Scalar) -> bool:
    """Return whether a scalar is known to be zero before the model runs (arrays never are)."""
    kind = type(x)
    if kind is Expr:
        return x is ZERO
    return (kind is int or kind is float or isinstance(x, NUMBERS)) and x == 0


def is_constant(x: Scalar) -> bool:
    """Return whether a scalar is constant throughout a run: a number, or an expression of parameters."""
    return not isinstance(x, Expr) or x.constant


def magnitude(x: Scalar) -> Scalar:
    """|x|."""
    if isinstance(x, Expr):  # mypy finds no type for abs() of the union
        return abs(x)
    return abs(x)


def plus(a: Scalar, b: Scalar) -> Scalar:
    """a + b; a known zero leaves the other term unchanged, and dimensions are not compared."""
    if type(a) is Expr and type(b) is Expr:  # most often
        if a is ZERO or b is ZERO:
            return b if a is ZERO else a
        made = sum_of_two(1, a, 1, b)
        return collect_terms([(1, a), (1, b)]) if made is None else made
    return b if is_zero(a) else a if is_zero(b) else a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """a − b; a known zero gives a or −b, and dimensions are not compared."""
    if type(a) is Expr and type(b) is Expr and a is not ZERO and b is not ZERO:  # most often
        made = sum_of_two(1, a, -1, b)
        return collect_terms([(1, a), (-1, b)]) if made is None else made
    return a if is_zero(b) else -b if is_zero(a) else a - b


def times(a: Scalar, b: Scalar) -> Scalar:
    """a·b; 0 if a factor is known to be zero."""
    if type(a) is Expr and type(b) is Expr:  # most often
        return 0 if a is ZERO or b is ZERO else multiply(a, b)
    return 0 if is_zero(a) or is_zero(b) else product(a, b)


def product(a: Scalar, b: Scalar) -> Scalar:
    """a·b; plain numbers, such as components of unit vectors, count as dimensionless."""
    if isinstance(a, Expr):
        if isinstance(b, Expr):
            return multiply(a, b)
        if isinstance(b, NUMBERS):
            return scale(a, b)
    elif isinstance(b, Expr) and isinstance(a, NUMBERS):
        return scale(b, a)
    return a * b


def total(values: Sequence[Scalar]) -> Scalar:
    """Σ of scalars, leaving out known zeros."""
    result: Scalar = 0
    for value in values:
        result = plus(result, value)
    return result


def sum_of_products(pairs: Iterable[tuple[Scalar, Scalar]]) -> Scalar:
    """Σ a·b, leaving out products with zero."""
    result: Scalar = 0
    for a, b in pairs:
        if not is_zero(a) and not is_zero(b):
            result = plus(result, product(a, b))
    return result


def difference_of_products(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    """a·b − c·d, leaving out products with zero."""
    if is_zero(c) or is_zero(d):
        return times(a, b)
    second = product(c, d)
    if is_zero(a) or is_zero(b):
        return -second
    first = product(a, b)
    if isinstance(first, Expr) and isinstance(second, Expr):
        made = sum_of_two(1, first, -1, second)
        return collect_terms([(1, first), (-1, second)]) if made is None else made
    return first - second


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Σ aᵢ bᵢ."""
    return sum_of_products(zip(a, b, strict=True))


def combination(coefficients: Sequence[Scalar], values: Sequence[Scalar]) -> Scalar:
    """Σ c·v over scalars of any type, as one sum node instead of a chain of additions."""
    pairs = [(c, v) for c, v in zip(coefficients, values, strict=True) if not is_zero(c) and not is_zero(v)]
    if not any(isinstance(x, Expr) for pair in pairs for x in pair):
        return sum(c * v for c, v in pairs) if pairs else 0
    plain = [(float(c), v) for c, v in pairs if not isinstance(c, Expr) and isinstance(v, Expr)]
    rest = [(1, _expression(c) * v) for c, v in pairs if isinstance(c, Expr) or not isinstance(v, Expr)]
    return sum_of_terms([*plain, *rest])


def _expression(x: Scalar) -> Expr:
    return x if isinstance(x, Expr) else number(float(x), None)


# Arithmetic on triples of any scalar, leaving out known zeros.

Component = TypeVar("Component")
Triple = tuple[Scalar, Scalar, Scalar]
ExprTriple = tuple[Expr, Expr, Expr]

AXES = "xyz"
ZEROS: Triple = (0, 0, 0)
_UNITS: tuple[Triple, Triple, Triple] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def joined(components: Iterable[Component]) -> tuple[Component, Component, Component]:
    """Return three components as a triple, or three triples as a matrix."""
    x, y, z = components
    return x, y, z


def unit(i: int) -> Triple:
    """Return the unit triple along axis i."""
    return _UNITS[i]


def vanishes(triple: Sequence[Scalar]) -> bool:
    """Return whether all three are known to be zero."""
    return all(is_zero(a) for a in triple)


def named(triple: Sequence[Scalar], name: str) -> Triple:
    """Return the triple as intermediate values name_x, name_y, name_z."""
    x, y, z = triple
    return fn.named(x, f"{name}_x"), fn.named(y, f"{name}_y"), fn.named(z, f"{name}_z")


def add(*triples: Sequence[Scalar]) -> Triple:
    """Return the sum of triples."""
    x, y, z = triples[0] if triples else ZEROS
    for a, b, c in triples[1:]:
        x, y, z = plus(x, a), plus(y, b), plus(z, c)
    return x, y, z


def scaled(triple: Sequence[Scalar], factor: Scalar) -> Triple:
    """Return the triple times a scalar."""
    x, y, z = triple
    return times(x, factor), times(y, factor), times(z, factor)


def negative(triple: Sequence[Scalar]) -> Triple:
    """Return the triple times −1."""
    return scaled(triple, -1)


def combined(columns: Sequence[Triple], factors: Sequence[Scalar]) -> Triple:
    """Σ column·factor, each component as one sum."""
    return joined(combination([c[i] for c in columns], factors) for i in range(3))


def cross_triples(u: Sequence[Scalar], v: Sequence[Scalar]) -> Triple:
    """u × v of components in one frame."""
    return (
        difference_of_products(u[1], v[2], u[2], v[1]),
        difference_of_products(u[2], v[0], u[0], v[2]),
        difference_of_products(u[0], v[1], u[1], v[0]),
    )


def double_cross(w: Triple, r: Triple) -> Triple:
    """w × (w × r)."""
    return cross_triples(w, cross_triples(w, r))


# Arithmetic on 3×3 matrices of any scalar, leaving out known zeros.

Matrix = tuple[Triple, Triple, Triple]
ExprMatrix = tuple[ExprTriple, ExprTriple, ExprTriple]

# Indices of the six elements of a symmetric matrix: xx, yy, zz, xy, xz, yz.
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
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
    """Return the matrix times a scalar."""
    return joined(scaled(row, factor) for row in a)


def transposed(a: Matrix) -> Matrix:
    """Return the transpose."""
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
    """Return a matrix with its elements as intermediate values name_11, name_12, …"""
    return joined(joined(fn.named(a[i][j], f"{name}_{i + 1}{j + 1}") for j in range(3)) for i in range(3))


def named_symmetric(a: Sequence[Sequence[Scalar]], name: str) -> Matrix:
    """Return a symmetric matrix with its upper elements as intermediate values."""
    out = [list(row) for row in a]
    for i in range(3):
        for j in range(i, 3):
            out[i][j] = out[j][i] = fn.named(a[i][j], f"{name}_{i + 1}{j + 1}")
    return joined(joined(row) for row in out)
