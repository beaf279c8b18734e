"""The angle of a point in the plane, on vectors: atan and atan2.

With a = |y| and b = |x| the first quadrant's angle is, by the ratio of a to b,

    below ½     atan(a / b)                     0 turns of π/4
    to 2        π/4 + atan((a − b) / (a + b))   1
    above       π/2 + atan(−b / a)              2

so that |q| ≤ ½ for the quotient q; the left half plane is its mirror image. a − b is exact, and what q loses
against the quotient, also by rounding a + b, is found with fused multiplications, and so is what the sum with
the turns loses. atan(q) = q + q³ P(q²), P a minimax polynomial with a relative error of atan below 2⁻⁶¹.
"""

from __future__ import annotations

import math

from armillary.llvm.instructions import Instructions, Operand

PI_OVER_4 = (0.7853981633974483, 3.061616997868383e-17)
HUGE = 2.0**60  # atan is π/2 to all digits from here on
LARGE = 2.0**500  # smaller and larger points are moved so that a + b, its inverse and remainders are in range

SERIES = (
    -0.33333333333333315,
    0.19999999999993823,
    -0.1428571428500656,
    0.11111111070530993,
    -0.09090907720808764,
    0.0769227793797449,
    -0.06666228728281519,
    0.058778471648866584,
    -0.0523022694775888,
    0.0459022831905185,
    -0.03713720102571894,
    0.02368057682614235,
    -0.008381381361224932,
)


def atan(v: Instructions, x: str) -> str:
    """atan x within 0.8 ulp."""
    size = v.size(x)
    a = v.choose(v.compare("ogt", size, HUGE), HUGE, size)
    return v.signed_as(_angle(v, a, 1.0), x)


def atan2(v: Instructions, y: str, x: str) -> str:
    """The angle of (x, y) within 0.9 ulp, in all four quadrants; signs of zeros count, as in C."""
    a, b = v.size(y), v.size(x)
    infinite_a, infinite_b = (v.compare("oeq", size, math.inf) for size in (a, b))
    infinite = v.either(infinite_a, infinite_b)
    a = v.choose(infinite, v.choose(infinite_a, 1.0, 0.0), a)
    b = v.choose(infinite, v.choose(infinite_b, 1.0, 0.0), b)
    largest = v.choose(v.compare("ogt", a, b), a, b)
    factor = v.choose(v.compare("ogt", largest, LARGE), 2.0**-300, 2.0**500)
    a = v.mul(a, factor)
    b = v.choose(v.compare("oeq", largest, 0.0), 1.0, v.mul(b, factor))
    left = v.compare("olt", v.signed_as(1.0, x), 0.0)
    value = v.signed_as(_angle(v, a, b, left), y)
    return v.choose(v.compare("uno", y, x), v.add(y, x), value)


def _angle(v: Instructions, a: str, b: Operand, left: str = "") -> str:
    """The angle of (b, a) in the first quadrant, or of (−b, a) where ``left`` is set."""
    above = v.compare("ogt", a, b)
    large, small = v.choose(above, a, b), v.choose(above, b, a)
    near = v.compare("ogt", v.add(small, small), large)
    added = v.choose(near, small, 0.0)
    below, lost_below = v.sum_of(large, added)
    over = v.choose(near, v.sub(a, b), v.choose(above, v.neg(small), small))
    inverse = v.div(1.0, below)
    q = v.mul(over, inverse)
    missing = v.fused(v.neg(q), lost_below, v.fused(v.neg(q), below, over))
    z = v.arithmetic("fmul", q, q)
    turns = v.choose(near, 1.0, v.choose(above, 2.0, 0.0))
    tail = v.fma(v.arithmetic("fmul", q, z), v.polynomial(z, SERIES), v.arithmetic("fmul", missing, inverse))
    if left:
        turns = v.choose(left, v.sub(4.0, turns), turns)
        q, tail = (v.choose(left, v.neg(part), part) for part in (q, tail))
    whole, lost_whole = v.product_of(turns, PI_OVER_4[0])
    total, lost = v.sum_of(whole, q)
    lost = v.add(lost, v.fma(turns, PI_OVER_4[1], lost_whole))
    return v.add(total, v.add(lost, tail))
