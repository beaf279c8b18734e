"""xʸ on vectors, as C's pow.

    xʸ = 2ᵖ,   p = y log₂ |x|,   log₂ |x| = k + s (C₁ + C₃ s² + s⁴ Q(s²)),   s = (m − 1) / (m + 1)

with |x| = 2ᵏ m, √½ ≤ m < √2. p may be as large as 1075, so an error of it below the last place of the result
takes eleven bits more than a double has: all but Q are pairs of doubles, the second what the first lost
(after Dekker 1971, with fused multiplications). Q, a minimax polynomial with a relative error of the
logarithm below 2⁻⁷³, adds at most 2⁻¹² of the whole.
"""

from __future__ import annotations

import math

from armillary.llvm.instructions import Instructions, Operand
from armillary.llvm.vector_math.exponential import LN_2, ROUND, near_zero, scaled
from armillary.llvm.vector_math.logarithm import split

FIRST = (2.8853900817779268, 4.0710547481862066e-17)  # C₁ = 2 / ln 2
THIRD = (0.9617966939259756, 5.0577616648125907e-17)  # C₃ = 2 / (3 ln 2)
BEYOND = 1100.0  # 2 to this is infinite, to minus this 0

SERIES = (
    0.5770780163555851,
    0.4121985831113458,
    0.32059889791275903,
    0.2623081986622425,
    0.22195226998727485,
    0.19240133923527664,
    0.16845111860002163,
    0.17282099070046852,
)


def pow(v: Instructions, x: str, y: str) -> str:
    """xʸ within 1.2 ulp, and 0.8 except for m near √½ and √2 with |p| near 1000."""
    size = v.size(x)
    high, low = _log2(v, size)
    value = _exp2(v, *_times(v, (y, 0.0), (high, low)))
    return _special(v, x, y, size, value)


def _log2(v: Instructions, x: str) -> tuple[str, str]:
    k, m = split(v, x)
    over = v.sub(m, 1.0)
    below, lost_below = v.sum_of(1.0, m)
    inverse = v.div(1.0, below)
    s = v.mul(over, inverse)
    missing = v.fused(v.neg(s), lost_below, v.fused(v.neg(s), below, over))
    s_low = v.mul(missing, inverse)
    z, z_low = _times(v, (s, s_low), (s, s_low))
    inner, inner_low = v.sum_of(THIRD[0], v.mul(z, v.polynomial(z, SERIES)))
    third, third_low = _times(v, (z, z_low), (inner, v.add(inner_low, THIRD[1])))
    whole, lost = v.sum_of(FIRST[0], third)
    low = v.add(lost, v.add(third_low, FIRST[1]))
    fraction, fraction_low = _times(v, (s, s_low), (whole, low))
    total, lost = v.sum_of(k, fraction)
    high = v.choose(v.compare("oeq", x, 0.0), -math.inf, v.choose(v.compare("oeq", x, math.inf), x, total))
    return high, v.add(lost, fraction_low)


def _times(v: Instructions, a: tuple[Operand, Operand], b: tuple[Operand, Operand]) -> tuple[str, str]:
    """The product of two pairs."""
    product, lost = v.product_of(a[0], b[0])
    lost = v.fma(a[0], b[1], lost)
    return product, lost if a[1] == 0.0 else v.fma(a[1], b[0], lost)


def _exp2(v: Instructions, p: str, p_low: str) -> str:
    inside = v.compare("olt", v.size(p), BEYOND)
    p_low = v.choose(inside, p_low, 0.0)
    p = v.clamp(p, -BEYOND, BEYOND)
    shifted = v.add(p, ROUND)
    high, low = v.sum_of(v.sub(p, v.sub(shifted, ROUND)), p_low)
    r, c = _times(v, LN_2, (high, low))
    return scaled(v, near_zero(v, r, c), shifted)


def _special(v: Instructions, x: str, y: str, size: str, value: str) -> str:
    """The value with its sign, where x is negative, and where x or y is 0, 1, infinite or NaN."""
    y_size = v.size(y)
    whole, even = _is_whole(v, y_size), _is_whole(v, v.mul(y_size, 0.5))
    sign = v.choose(even, 1.0, v.choose(whole, x, 1.0))
    value = v.signed_as(value, sign)
    finite_negative = v.both(v.compare("olt", x, 0.0), v.compare("ogt", x, -math.inf))
    rooted = v.choose(finite_negative, v.choose(whole, value, math.nan), value)
    value = v.choose(v.compare("uno", x, y), v.add(x, y), rooted)
    endless = v.both(v.compare("oeq", size, 1.0), v.compare("oeq", y_size, math.inf))
    one = v.either(v.either(v.compare("oeq", y, 0.0), v.compare("oeq", x, 1.0)), endless)
    return v.choose(one, 1.0, value)


def _is_whole(v: Instructions, size: str) -> str:
    """A mask: whether a number that is not negative is whole, as all are from 2⁵² on."""
    rounded = v.sub(v.add(size, 2.0**52), 2.0**52)
    return v.either(v.compare("oeq", rounded, size), v.compare("oge", size, 2.0**52))
