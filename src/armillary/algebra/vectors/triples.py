"""Arithmetic on triples of any scalar, leaving out known zeros."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr
from armillary.algebra.vectors.scalars import (
    Scalar,
    combination,
    difference_of_products,
    is_zero,
    plus,
    times,
)

Component = TypeVar("Component")
Triple = tuple[Scalar, Scalar, Scalar]
ExprTriple = tuple[Expr, Expr, Expr]

AXES = "xyz"
ZEROS: Triple = (0, 0, 0)
_UNITS: tuple[Triple, Triple, Triple] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def joined(components: Iterable[Component]) -> tuple[Component, Component, Component]:
    """Three components as a triple; three triples as a matrix."""
    x, y, z = components
    return x, y, z


def unit(i: int) -> Triple:
    """Unit triple along axis i."""
    return _UNITS[i]


def vanishes(triple: Sequence[Scalar]) -> bool:
    """Whether all three are known to be zero."""
    return all(is_zero(a) for a in triple)


def named(triple: Sequence[Scalar], name: str) -> Triple:
    """The triple as intermediate values name_x, name_y, name_z."""
    x, y, z = triple
    return fn.named(x, f"{name}_x"), fn.named(y, f"{name}_y"), fn.named(z, f"{name}_z")


def add(*triples: Sequence[Scalar]) -> Triple:
    """The sum of triples."""
    x, y, z = triples[0] if triples else ZEROS
    for a, b, c in triples[1:]:
        x, y, z = plus(x, a), plus(y, b), plus(z, c)
    return x, y, z


def scaled(triple: Sequence[Scalar], factor: Scalar) -> Triple:
    """The triple times a scalar."""
    x, y, z = triple
    return times(x, factor), times(y, factor), times(z, factor)


def negative(triple: Sequence[Scalar]) -> Triple:
    """The triple reversed."""
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
