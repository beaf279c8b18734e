"""Arithmetic of Euler parameters in code under construction.

    ė = A(w) e,   A(w) = ½ [ 0 , −wᵀ ; w , −w̃ ],   A(w)ᵀ = −A(w),   A(w)² = −¼ (w·w) 1

so that the step matrices of the mid-point rule have the inverse (1 − A(p))⁻¹ = (1 + A(p))/(1 + ¼ p·p).
Source: Park & Chiou (1987), section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.llvm.building.builder import Span, Value
from armillary.runtime.loop.functions import LoopFunction

Values = Sequence[Value]


def take(vector: Span, first: Value, count: int) -> list[Value]:
    """Consecutive entries of a vector."""
    return [vector[first + i] for i in range(count)]


def put(vector: Span, first: Value, values: Values) -> None:
    for i, value in enumerate(values):
        vector[first + i] = value


def dot(a: Values, b: Values) -> Value:
    products = [x * y for x, y in zip(a, b, strict=True)]
    return sum(products[1:], products[0])


def plus(a: Values, b: Values) -> list[Value]:
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Values, b: Values) -> list[Value]:
    return [x - y for x, y in zip(a, b, strict=True)]


def times(factor: Value | float, a: Values) -> list[Value]:
    return [factor * x for x in a]


def rate(w: Values, e: Values) -> list[Value]:
    """A(w) e."""
    x, y, z = times(0.5, w)
    e0, e1, e2, e3 = e
    return [
        -1.0 * (x * e1 + y * e2 + z * e3),
        x * e0 + z * e2 - y * e3,
        y * e0 + x * e3 - z * e1,
        z * e0 + y * e1 - x * e2,
    ]


def solve_midpoint(p: Values, right: Values) -> list[Value]:
    """(1 − A(p))⁻¹ times a right side, in closed form."""
    size = 1.0 / (1.0 + 0.25 * dot(p, p))
    return times(size, plus(right, rate(p, right)))


def solved_unit(f: LoopFunction, p: Values, right: Values) -> list[Value]:
    """Return the unit e of (1 − A(p)) e + μ e = r, with the multiplier μ of its length.

    (1 + μ)² = r·r − ¼ p·p,  e = ( (1 + μ) + A(p) ) r / r·r; where p is so large that there is no such μ, e is
    made unit after all.
    """
    size = dot(right, right)
    stretch = f.root(f.most(size - 0.25 * dot(p, p), 0.0))
    return unit(f, plus(times(stretch, right), rate(p, right)))


def solved_across(p: Values, right: Values, e: Values) -> list[Value]:
    """Return the ė of (1 − A(p)) ė + μ e = r that is orthogonal to a unit e, with the multiplier μ
    of that.
    """
    free = solve_midpoint(p, right)
    beside = solve_midpoint(p, e)
    return minus(free, times(dot(e, free) / dot(e, beside), beside))


def unit(f: LoopFunction, e: Values) -> list[Value]:
    """e made unit."""
    return times(1.0 / f.root(dot(e, e)), e)


def across(e: Values, e_dot: Values) -> list[Value]:
    """ė made orthogonal to a unit e."""
    return minus(e_dot, times(dot(e, e_dot), e))


def spin(e: Values, e_dot: Values) -> list[Value]:
    """w = 2 (e₀ ġ − g × ġ − ė₀ g) with e = (e₀, g)."""
    e0, x, y, z = e
    d0, dx, dy, dz = e_dot
    return [
        2.0 * (e0 * dx - (y * dz - z * dy) - d0 * x),
        2.0 * (e0 * dy - (z * dx - x * dz) - d0 * y),
        2.0 * (e0 * dz - (x * dy - y * dx) - d0 * z),
    ]
