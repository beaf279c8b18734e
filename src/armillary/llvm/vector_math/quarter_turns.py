"""Angles less their nearest multiple of π/2, on vectors: what sine, cosine and tangent begin with.

An angle x is reduced by n times π/2, r − e = x − n·π/2, with π/2 in parts of 53, 33 and 53 bits (after Cody
and Waite 1980). A fused multiplication takes n times the first from x without rounding: the difference is a
multiple of 2⁻⁵³ below 1. Then n times the second is exact for |n| < 2²⁰, and e is what r loses by rounding
and the third.
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions, Operand

TWO_OVER_PI = 6.36619772367581382433e-01
PI_OVER_2 = (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27)
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest whole number in the low bits
SHORT_PARTS = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
LIMIT = 8.0e5  # larger angles go to the library


def within_limit(v: Instructions, x: str) -> str:
    """A mask: which angles are small enough."""
    return v.compare("olt", v.size(x), LIMIT)


def reduced(v: Instructions, x: str, third: Operand = PI_OVER_2[2]) -> tuple[str, str, str]:
    """ROUND + n, whose last bits are those of n, and r, and e."""
    shifted = v.fma(x, TWO_OVER_PI, ROUND)
    n = v.sub(shifted, ROUND)
    first, second, _ = PI_OVER_2
    exact = v.fused(n, -first, x)
    more = v.mul(n, second)  # exact: two sums are sooner there than fused operations, which round as they do
    r = v.sub(exact, more)
    lost = v.add(v.sub(r, exact), more)
    return shifted, r, v.fma(n, third, lost)


def reduced_by_short_parts(v: Instructions, x: str, shifted: str) -> tuple[str, str]:
    """r and e where no operation need be fused: parts of π/2 have 33, 33 and 53 bits, so that products with
    the first two are exact. ``shifted``: 2x/π + ROUND.
    """
    n = v.sub(shifted, ROUND)
    first, second, third = SHORT_PARTS
    exact = v.fma(n, -first, x)
    more = v.mul(n, second)
    r = v.sub(exact, more)
    return r, v.fma(n, third, v.add(v.sub(r, exact), more))


def odd(v: Instructions, n: str) -> str:
    """A mask: whether whole numbers are odd."""
    return v.emit(f"trunc {v.bits} {n} to {v.mask}")
