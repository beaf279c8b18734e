"""Sums and products of any scalar (expressions, numbers, arrays), leaving out known zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from armillary.algebra.expression import ZERO, Expr, collect_terms, multiply, number, scale
from armillary.algebra.expression import total as sum_of_terms
from armillary.algebra.nodes.arithmetic import NUMBERS
from armillary.algebra.nodes.sum_of_two import sum_of_two

Scalar = Expr | float  # numbers in arrays pass, too
ScalarMap = Callable[[Scalar], Scalar]


def is_zero(x: Scalar) -> bool:
    """Whether a scalar is known to be zero before the model runs (arrays never are)."""
    kind = type(x)
    if kind is Expr:
        return x is ZERO
    return (kind is int or kind is float or isinstance(x, NUMBERS)) and x == 0


def is_constant(x: Scalar) -> bool:
    """Whether a scalar is the same throughout a run: a number, or an expression of parameters."""
    return not isinstance(x, Expr) or x.constant


def magnitude(x: Scalar) -> Scalar:
    """|x|."""
    if isinstance(x, Expr):
        return abs(x)
    return abs(x)


def plus(a: Scalar, b: Scalar) -> Scalar:
    """a + b, where a known zero leaves the other as it is; dimensions are not checked again."""
    if type(a) is Expr and type(b) is Expr:  # most often
        if a is ZERO or b is ZERO:
            return b if a is ZERO else a
        made = sum_of_two(1, a, 1, b)
        return collect_terms([(1, a), (1, b)]) if made is None else made
    return b if is_zero(a) else a if is_zero(b) else a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """a − b, where a known zero leaves the other as it is."""
    if type(a) is Expr and type(b) is Expr and a is not ZERO and b is not ZERO:  # most often
        made = sum_of_two(1, a, -1, b)
        return collect_terms([(1, a), (-1, b)], checked=True) if made is None else made
    return a if is_zero(b) else -b if is_zero(a) else a - b


def times(a: Scalar, b: Scalar) -> Scalar:
    """a·b, zero where either is known to be."""
    if type(a) is Expr and type(b) is Expr:  # most often
        return 0 if a is ZERO or b is ZERO else multiply(a, b)
    return 0 if is_zero(a) or is_zero(b) else product(a, b)


def product(a: Scalar, b: Scalar) -> Scalar:
    """a·b, where plain numbers are components of unit vectors and so dimensionless."""
    if isinstance(a, Expr):
        if isinstance(b, Expr):
            return multiply(a, b)
        if isinstance(b, NUMBERS):
            return scale(a, b)
    elif isinstance(b, Expr) and isinstance(a, NUMBERS):
        return scale(b, a)
    return a * b


def total(values: Sequence[Scalar]) -> Scalar:
    """Σ, leaving out known zeros."""
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
    """Σ c·v over any scalars, as one wide sum."""
    pairs = [(c, v) for c, v in zip(coefficients, values, strict=True) if not is_zero(c) and not is_zero(v)]
    if not any(isinstance(x, Expr) for pair in pairs for x in pair):
        return sum(c * v for c, v in pairs) if pairs else 0
    plain = [(float(c), v) for c, v in pairs if not isinstance(c, Expr) and isinstance(v, Expr)]
    rest = [(1, _expression(c) * v) for c, v in pairs if isinstance(c, Expr) or not isinstance(v, Expr)]
    return sum_of_terms([*plain, *rest])


def _expression(x: Scalar) -> Expr:
    return x if isinstance(x, Expr) else number(float(x), None)
