"""Arithmetic on triples of any scalar, leaving out what is known to be zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.vectors import AXES, Matrix, Triple, cross_triples, is_zero, plus, sum_of_products
from armillary.algebra.vectors import times as product

ZEROS: Triple = (0, 0, 0)

__all__ = [
    "ZEROS",
    "add",
    "cross_triples",
    "inner",
    "is_zero",
    "minus",
    "named",
    "negative",
    "plus",
    "scaled",
    "skew",
    "sum_of_products",
    "times",
    "total",
    "unit",
    "vanishes",
]


def minus(a: Any, b: Any) -> Any:
    """a − b, where a known zero leaves the other as it is."""
    return a if is_zero(b) else -b if is_zero(a) else a - b


def times(a: Any, b: Any) -> Any:
    """a·b, zero where either is known to be."""
    return 0 if is_zero(a) or is_zero(b) else product(a, b)


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


def inner(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Σ aᵢ bᵢ."""
    return sum_of_products(zip(a, b, strict=True))


def skew(a: Triple) -> Matrix:
    """ã, with ã v = a × v."""
    x, y, z = a
    return ((0, minus(0, z), y), (z, 0, minus(0, x)), (minus(0, y), x, 0))


def unit(i: int) -> Triple:
    """Unit triple along axis i."""
    return tuple(1 if k == i else 0 for k in range(3))  # type: ignore[return-value]


def vanishes(triple: Sequence[Any]) -> bool:
    """Whether all three are known to be zero."""
    return all(is_zero(a) for a in triple)


def named(triple: Sequence[Any], name: str) -> Triple:
    """The triple as intermediate values name_x, name_y, name_z."""
    return tuple(fn.named(a, f"{name}_{axis}") for a, axis in zip(triple, AXES, strict=True))


def total(values: Sequence[Any]) -> Any:
    """Σ, leaving out known zeros."""
    result: Any = 0
    for value in values:
        result = plus(result, value)
    return result
