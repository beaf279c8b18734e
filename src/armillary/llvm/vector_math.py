"""Elementary functions of vectors, as LLVM code.

``function`` returns the code of a function for vectors of a length that is a power of two; its lines are
written by ``instructions.py``. There are no calls, branches or tables, except a call of the library for
tangents of angles beyond 8·10⁵. The largest errors found, in units of the last place:

    exp 0.8   log 0.9   atan 1.5   atan2 0.9   asin 0.7   acos 0.7   tan 1.5   tanh 0.9   pow 1.2

NaN, infinities, signs of zero and subnormal numbers are treated as in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from armillary.llvm.instructions import Instructions, Operand
from armillary.llvm.sines import (
    HALF_TURNS,
    LIMIT,
    PI,
    SHORT_ANGLES,
    near_cosine,
    near_sine,
    odd,
    reduce_angle,
    short_cosine,
    short_sine,
    sine_cosine,
    within_limit,
)

# The tangent on vectors.
#
#     tan(r − e) = t = r + r³ P(r²) − e (1 + t²),   and tan x = t for even n, −1/t for odd n
#
# with r, e and n as in ``sines.py`` and P a minimax polynomial with a relative error of tan below 2⁻⁵⁶. The
# inverse is corrected by the rounding error of t and by its own remainder.

TAN_SERIES = (
    0.3333333333333278, 0.1333333333341414, 0.05396825392687733, 0.021869489604302784,
    0.008863219227217629, 0.0035922885331890796, 0.0014547611702607976, 0.0005950516531809561,
    0.0002224175155293044, 0.00013644922399503, -2.6279992242902883e-05, 8.93557214146995e-05,
    -4.482480107763388e-05, 2.0850885737213946e-05,
)  # fmt: skip


def tan(v: Instructions, x: str) -> str:
    """Emit tan x within 1.6 ulp for angles below LIMIT, by the library for larger angles."""
    name = f"library_tan_{v.lanes}"
    return v.select_rare(within_limit(v, x), [_tan(v, x)], lambda: [v.library("tan", name, x)])[0]


def _tan(v: Instructions, x: str) -> str:
    shifted, r, e = reduce_angle(v, x)
    z = v.mul(r, r)
    bend = v.mul(v.mul(r, z), v.polynomial(z, TAN_SERIES))
    rough = v.add(r, bend)
    t, lost = v.sum_of(r, v.sub(bend, v.fma(v.mul(rough, rough), e, e)))
    inverse = v.div(-1.0, t)
    missing = v.fused_product_sum(inverse, lost, v.fused_product_sum(inverse, t, 1.0))
    value = v.choose(odd(v, v.as_bits(shifted)), v.fma(inverse, missing, inverse), t)
    return v.choose(v.compare("oeq", x, 0.0), x, value)


# asin and acos on vectors.
#
# With s = |x| up to ½, and s = √((1 − |x|) / 2) beyond, where asin |x| = π/2 − 2 asin s,
#
#     asin s = s + s³ P(s²)
#
# P is a minimax polynomial with a relative error of asin below 2⁻⁵⁹. The rounding error of the root is
# computed from its square, as in fdlibm (Sun Microsystems 1993, e_acos.c).

HALF_PI = (PI[0] / 2, PI[1] / 2)

ASIN_SERIES = (
    0.16666666666666763, 0.07499999999970128, 0.044642857175256845, 0.030381942676744017,
    0.022372215862911805, 0.017351596302888773, 0.013981008555385225, 0.011397377528516417,
    0.010788832379589166, 0.0036740870288617137, 0.021785887978933285, -0.021109803022212267,
    0.03269772599581509,
)  # fmt: skip


def asin(v: Instructions, x: str) -> str:
    """Emit asin x within 0.8 ulp."""
    size = v.size(x)
    inner = v.compare("ole", size, 0.5)
    base = [v.choose(inner, 0.0, part) for part in HALF_PI]
    return _odd(v, _add_arcsine(v, size, inner, base, v.choose(inner, 1.0, -2.0)), x, size)


def acos(v: Instructions, x: str) -> str:
    """Emit acos x = π/2 − asin x within 0.9 ulp, also for small values near x = 1."""
    size = v.size(x)
    inner = v.compare("ole", size, 0.5)
    right = v.compare("ogt", x, 0.0)
    base = [
        v.choose(inner, half, v.choose(right, 0.0, whole)) for half, whole in zip(HALF_PI, PI, strict=True)
    ]
    factor = v.choose(inner, v.signed_as(1.0, v.neg(x)), v.choose(right, 2.0, -2.0))
    return _add_arcsine(v, size, inner, base, factor)


def _add_arcsine(v: Instructions, size: str, inner: str, base: list[str], factor: Operand) -> str:
    """Emit base + factor · asin s; the base has two parts."""
    half = v.mul(v.sub(1.0, size), 0.5)
    root = v.call("sqrt", half)
    # The least positive root is 2⁻²⁷; 10⁻³⁰⁰ only prevents 0 / 0.
    lost_root = v.div(v.fused_product_sum(v.neg(root), root, half), v.add(v.add(root, root), 1e-300))
    s = v.choose(inner, size, root)
    z = v.choose(inner, v.mul(size, size), half)
    cube = v.mul(s, z)
    tail = v.fma(cube, v.polynomial(z, ASIN_SERIES), v.choose(inner, 0.0, lost_root))
    total, lost = v.sum_of(base[0], v.mul(factor, s))
    return v.add(total, v.fma(factor, tail, v.add(lost, base[1])))


# The angle of a point in the plane, on vectors: atan and atan2.
#
# With a = |y| and b = |x|, the angle in the first quadrant is k·π/4 + atan(q), |q| ≤ ½ (k is ``turns`` in
# `_angle`):
#
#     a / b below ½    k = 0   q = a / b
#     ½ to 2           k = 1   q = (a − b) / (a + b)
#     above 2          k = 2   q = −b / a
#
# The left half plane is the mirror image. a − b is exact. The error of q, including the error of a + b, is
# computed with fused multiplications. The rounding errors of k·π/4 and of its sum with q are added at the
# end. atan(q) = q + q³ P(q²), P a minimax polynomial with a relative error of atan below 2⁻⁶¹.
#
# For atan, b = 1: q is exact below ½, and is not corrected above ½. With the corrections the error would be
# 0.8 ulp, and the time 1.6 times as long.

PI_OVER_4 = (0.7853981633974483, 3.061616997868383e-17)
LARGE = 2.0**500  # limit of scaling: points are scaled so that a + b, its inverse and remainders are in range

ATAN_SERIES = (
    -0.33333333333333315, 0.19999999999993823, -0.1428571428500656, 0.11111111070530993,
    -0.09090907720808764, 0.0769227793797449, -0.06666228728281519, 0.058778471648866584,
    -0.0523022694775888, 0.0459022831905185, -0.03713720102571894, 0.02368057682614235,
    -0.008381381361224932,
)  # fmt: skip


def atan(v: Instructions, x: str) -> str:
    """Emit atan x within 1.5 ulp."""
    size = v.size(x)
    inner, above = v.compare("ole", size, 0.5), v.compare("ogt", size, 2.0)
    over = v.choose(above, -1.0, v.choose(inner, size, v.sub(size, 1.0)))
    below = v.choose(above, size, v.choose(inner, 1.0, v.add(size, 1.0)))
    turns = v.choose(above, HALF_PI[0], v.choose(inner, 0.0, PI_OVER_4[0]))
    q = v.div(over, below)
    z = v.mul(q, q)
    # The second parts of π/4 and π/2 are in the same ratio to the first parts.
    tail = v.fma(v.mul(q, z), v.polynomial(z, ATAN_SERIES), v.mul(turns, HALF_PI[1] / HALF_PI[0]))
    return _odd(v, v.add(turns, v.add(q, tail)), x, size)


def _odd(v: Instructions, value: str, x: str, size: str) -> str:
    """Emit a non-negative value with the sign of x, by two instructions on every machine."""
    sign = v.integer("xor", v.as_bits(x), v.as_bits(size))
    return v.as_reals(v.integer("xor", v.as_bits(value), sign))


def atan2(v: Instructions, y: str, x: str) -> str:
    """Emit the angle of (x, y) within 0.9 ulp, in all four quadrants; signs of zeros count, as in C."""
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
    """Emit the angle of (b, a) in the first quadrant, or of (−b, a) if ``left`` is set."""
    above = v.compare("ogt", a, b)
    large, small = v.choose(above, a, b), v.choose(above, b, a)
    near = v.compare("ogt", v.add(small, small), large)
    added = v.choose(near, small, 0.0)
    below, lost_below = v.sum_of(large, added)
    over = v.choose(near, v.sub(a, b), v.choose(above, v.neg(small), small))
    inverse = v.div(1.0, below)
    q = v.mul(over, inverse)
    missing = v.fused_product_sum(v.neg(q), lost_below, v.fused_product_sum(v.neg(q), below, over))
    z = v.mul(q, q)
    turns = v.choose(near, 1.0, v.choose(above, 2.0, 0.0))
    tail = v.fma(v.mul(q, z), v.polynomial(z, ATAN_SERIES), v.mul(missing, inverse))
    if left:
        turns = v.choose(left, v.sub(4.0, turns), turns)
        q, tail = (v.choose(left, v.neg(part), part) for part in (q, tail))
    whole, lost_whole = v.product_of(turns, PI_OVER_4[0])
    total, lost = v.sum_of(whole, q)
    lost = v.add(lost, v.fma(turns, PI_OVER_4[1], lost_whole))
    return v.add(total, v.add(lost, tail))


# eˣ on vectors.
#
#     eˣ = 2ⁿ eʳ,   r + c = x − n ln 2,   |r| ≤ ln 2 / 2
#     eʳ = 1 + r + r² P(r)
#
# A fused multiplication subtracts n times the leading 53 bits of ln 2 from x without rounding: if n is not 0,
# x and this product are multiples of 2⁻⁵⁴, and so is their difference, which is below 1/2. Then n times the
# rest of ln 2 is subtracted; c is the rounding error of this. P is a minimax polynomial with a relative error
# of eʳ of 2⁻⁶⁰. The result is multiplied by 2ⁿ in two halves, so that a subnormal result is rounded only
# once.

LOG2_E = 1.4426950408889634
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)
ROUND_EXPONENT = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest whole number in the low bits
LEAST, MOST_EXPONENT = -746.0, 710.0  # eˣ is 0 below and infinite above

REST = (
    0.5, 0.16666666666666674, 0.041666666666666755, 0.008333333333324424, 0.001388888888883517,
    0.00019841269877466123, 2.4801587416542415e-05, 2.755725423917004e-06, 2.755720181778849e-07,
    2.5105152555463492e-08, 2.093529786996643e-09,
)  # fmt: skip


def exp(v: Instructions, x: str) -> str:
    """Emit eˣ within 0.8 ulp."""
    x = v.clamp(x, LEAST, MOST_EXPONENT)
    shifted = v.add(v.mul(x, LOG2_E), ROUND_EXPONENT)
    n = v.sub(shifted, ROUND_EXPONENT)
    exact = v.fused_product_sum(n, -LN_2[0], x)
    r = v.fused_product_sum(n, -LN_2[1], exact)
    c = v.fused_product_sum(n, -LN_2[1], v.sub(exact, r))
    return scale_by_power(v, near_zero(v, r, c), shifted)


def near_zero(v: Instructions, r: str, c: Operand) -> str:
    """Emit e to the r + c for |r| ≤ ln 2 / 2 and c below the last place of r."""
    tail = v.fma(v.mul(r, r), v.polynomial(r, REST), c)
    total, lost = v.sum_of(1.0, r)
    return v.add(total, v.add(lost, tail))


def scale_by_power(v: Instructions, value: str, shifted: str) -> str:
    """Emit value · 2ⁿ, n = ``shifted`` − ROUND_EXPONENT, |n| ≤ 2000; the exponent is split in halves."""
    exponent = v.as_bits(v.add(shifted, 2.0 * 1023))
    half = v.integer("lshr", exponent, 1)
    rest = v.integer("sub", exponent, half)
    first, second = (v.as_reals(v.integer("shl", e, 52)) for e in (half, rest))
    return v.mul(v.mul(value, first), second)


# tanh on vectors.
#
#     tanh |x| = t / (t + 2),   t = exp(2|x|) − 1 = (2ⁿ − 1) + 2ⁿ (eʳ − 1)
#
# with n and r as for eˣ, of 2|x| instead of x, so that no digits cancel near zero. t is a sum of two numbers,
# and the quotient is corrected once for the rounding errors of its operands. From 22 on the result is 1.

MOST_TANH = 22.0  # tanh of larger arguments rounds to 1


def tanh(v: Instructions, x: str) -> str:
    """Emit tanh x within 0.9 ulp."""
    whole_size = v.size(x)
    size = v.choose(v.compare("ogt", whole_size, MOST_TANH), MOST_TANH, whole_size)  # NaN stays NaN
    doubled = v.add(size, size)
    shifted = v.add(v.mul(doubled, LOG2_E), ROUND_EXPONENT)
    n = v.sub(shifted, ROUND_EXPONENT)
    exact = v.fused_product_sum(n, -LN_2[0], doubled)
    r = v.fused_product_sum(n, -LN_2[1], exact)
    c = v.fused_product_sum(n, -LN_2[1], v.sub(exact, r))
    tail = v.fused_product_sum(v.mul(r, r), v.polynomial(r, REST), c)
    two_n = scale_by_power(v, v.operand(1.0), shifted)
    high, lost = v.sum_of(v.sub(two_n, 1.0), v.mul(two_n, r))
    t, low = v.sum_of(high, v.fused_product_sum(two_n, tail, lost))
    below, missing = v.sum_of(2.0, t)
    larger = v.compare("ogt", t, 2.0)
    below_too, missing_too = v.sum_of(t, 2.0)
    below, missing = v.choose(larger, below_too, below), v.choose(larger, missing_too, missing)
    quotient = v.div(t, below)
    rest = v.add(v.fused_product_sum(v.neg(quotient), below, t), low)
    rest = v.fused_product_sum(v.neg(quotient), v.add(missing, low), rest)
    return _odd(v, v.add(quotient, v.div(rest, below)), x, whole_size)


# The natural logarithm on vectors, after fdlibm (Sun Microsystems 1993, e_log.c), with its polynomial.
#
#     x = 2ᵏ m,   √½ ≤ m < √2,   f = m − 1,   s = f / (2 + f)
#     ln x = k ln 2 + f − f²/2 + s (f²/2 + R(s²))
#
# The rounding error of k ln 2 + f is added, which fdlibm neglects.

LN_2_PARTS = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # the first has 33 bits
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
ONE_BITS = 0x3FF0000000000000
EXPONENT = 0x7FF0000000000000
TWO_TO_52_BITS = 0x4330000000000000
LEAST_NORMAL = 2.0**-1022

LOG_SERIES = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip


def log(v: Instructions, x: str) -> str:
    """Emit ln x within 0.9 ulp."""
    k, m = split(v, x)
    f = v.sub(m, 1.0)
    s = v.div(f, v.add(f, 2.0))
    z = v.mul(s, s)
    square = v.mul(v.mul(f, 0.5), f)
    inner = v.fma(z, v.polynomial(z, LOG_SERIES), square)
    small = v.fma(s, inner, v.mul(k, LN_2_PARTS[1]))
    total, lost = v.sum_of(v.mul(k, LN_2_PARTS[0]), f)
    value = v.add(total, v.sub(lost, v.sub(square, small)))
    positive = v.compare("ogt", x, 0.0)
    usual = v.both(positive, v.compare("olt", x, math.inf))
    beyond = v.choose(positive, x, math.nan)
    return v.choose(usual, value, v.choose(v.compare("oeq", x, 0.0), -math.inf, beyond))


def split(v: Instructions, x: str) -> tuple[str, str]:
    """Emit k and m with x = 2ᵏ m, √½ ≤ m < √2, if x is positive and finite; else some finite values."""
    small = v.compare("olt", x, LEAST_NORMAL)
    bits = v.as_bits(v.choose(small, v.mul(x, 2.0**54), x))
    # k + 1023 is the exponent of x·√2; an arithmetic shift is avoided, which AVX2 lacks.
    moved = v.integer("add", bits, ONE_BITS - ROOT_HALF_BITS)
    exponent = v.integer("and", moved, EXPONENT)
    m = v.as_reals(v.integer("add", v.integer("sub", bits, exponent), ONE_BITS))
    k = v.as_reals(v.integer("or", v.integer("lshr", exponent, 52), TWO_TO_52_BITS))
    return v.sub(k, v.choose(small, 2.0**52 + 1023 + 54, 2.0**52 + 1023)), m


# xʸ on vectors, as C's pow.
#
#     xʸ = 2ᵖ,   p = y log₂ |x|,   log₂ |x| = k + s (C₁ + C₃ s² + s⁴ Q(s²)),   s = (m − 1) / (m + 1)
#
# with |x| = 2ᵏ m, √½ ≤ m < √2. p may be as large as 1075; for a result that is right to its last place, p
# then needs eleven bits more than a double has. So all numbers but Q are pairs of doubles, the second the
# rounding error of the first (after Dekker 1971, with fused multiplications). Q, a minimax polynomial with a
# relative error of the logarithm below 2⁻⁷³, adds at most 2⁻¹² of the sum.

FIRST = (2.8853900817779268, 4.0710547481862066e-17)  # C₁ = 2 / ln 2
THIRD = (0.9617966939259756, 5.0577616648125907e-17)  # C₃ = 2 / (3 ln 2)
BEYOND = 1100.0  # 2 to this power is infinite, to minus this power 0

POWER_SERIES = (
    0.5770780163555851, 0.4121985831113458, 0.32059889791275903, 0.2623081986622425, 0.22195226998727485,
    0.19240133923527664, 0.16845111860002163, 0.17282099070046852,
)  # fmt: skip


def power(v: Instructions, x: str, y: str) -> str:
    """Emit xʸ within 1.2 ulp, and within 0.8 except for m near √½ and √2 with |p| near 1000."""
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
    missing = v.fused_product_sum(v.neg(s), lost_below, v.fused_product_sum(v.neg(s), below, over))
    s_low = v.mul(missing, inverse)
    z, z_low = _times(v, (s, s_low), (s, s_low))
    inner, inner_low = v.sum_of(THIRD[0], v.mul(z, v.polynomial(z, POWER_SERIES)))
    third, third_low = _times(v, (z, z_low), (inner, v.add(inner_low, THIRD[1])))
    whole, lost = v.sum_of(FIRST[0], third)
    low = v.add(lost, v.add(third_low, FIRST[1]))
    fraction, fraction_low = _times(v, (s, s_low), (whole, low))
    total, lost = v.sum_of(k, fraction)
    high = v.choose(v.compare("oeq", x, 0.0), -math.inf, v.choose(v.compare("oeq", x, math.inf), x, total))
    return high, v.add(lost, fraction_low)


def _times(v: Instructions, a: tuple[Operand, Operand], b: tuple[Operand, Operand]) -> tuple[str, str]:
    """Emit the product of two numbers of two parts each."""
    product, lost = v.product_of(a[0], b[0])
    lost = v.fma(a[0], b[1], lost)
    return product, lost if a[1] == 0.0 else v.fma(a[1], b[0], lost)


def _exp2(v: Instructions, p: str, p_low: str) -> str:
    inside = v.compare("olt", v.size(p), BEYOND)
    p_low = v.choose(inside, p_low, 0.0)
    p = v.clamp(p, -BEYOND, BEYOND)
    shifted = v.add(p, ROUND_EXPONENT)
    high, low = v.sum_of(v.sub(p, v.sub(shifted, ROUND_EXPONENT)), p_low)
    r, c = _times(v, LN_2, (high, low))
    return scale_by_power(v, near_zero(v, r, c), shifted)


def _special(v: Instructions, x: str, y: str, size: str, value: str) -> str:
    """Emit the value with its sign if x is negative, and the special values for 0, 1, infinity and NaN."""
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
    """Emit the mask of whole numbers among non-negative ones; from 2⁵² on all are whole."""
    rounded = v.sub(v.add(size, 2.0**52), 2.0**52)
    return v.either(v.compare("oeq", rounded, size), v.compare("oge", size, 2.0**52))


UNARY: dict[str, Callable[[Instructions, str], str]] = {
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "exp": exp,
    "log": log,
    "tanh": tanh,
}
# Code without branches. BOUNDED: for angles up to SHORT_ANGLES ("short_") or HALF_TURNS ("near_"). USUAL: for
# angles below LIMIT.
BOUNDED: dict[str, Callable[[Instructions, str], str]] = {
    "short_sin": short_sine,
    "short_cos": short_cosine,
    "near_sin": near_sine,
    "near_cos": near_cosine,
}
USUAL: dict[str, Callable[[Instructions, str], str]] = {
    "sin": lambda v, x: sine_cosine(v, x)[0],
    "cos": lambda v, x: sine_cosine(v, x)[1],
    "tan": _tan,
}
BINARY: dict[str, Callable[[Instructions, str, str], str]] = {"atan2": atan2, "pow": power}


def near_function(name: str, size: float) -> Callable[[Instructions, str], str] | None:
    """Return code without branches for arguments up to ``size`` in magnitude; `None` if there is none."""
    if name not in USUAL:
        return UNARY[name]
    bounded = bounded_sine(name, size)
    return BOUNDED[bounded] if bounded else USUAL[name] if size < LIMIT else None


def bounded_sine(name: str, size: float) -> str:
    """Return the name of the code for sines or cosines of angles up to ``size``, "" if there is none."""
    if name not in ("sin", "cos") or not size <= HALF_TURNS:
        return ""
    return f"short_{name}" if size <= SHORT_ANGLES else f"near_{name}"


@cache
def function(name: str, lanes: int) -> tuple[str, str]:
    """Return symbol and LLVM code of a function on vectors of doubles; ``lanes`` is a power of two.

    The code of the tangent calls the library's ``tan`` and refers to the metadata ``!0`` of likely branches,
    which the module provides.
    """
    v = Instructions(lanes)
    symbol = f"vector_{name}_{lanes}"
    unary = UNARY | BOUNDED
    if name in unary:
        return symbol, v.function(symbol, ("%x",), v.real, unary[name](v, "%x"), "noinline")
    result = BINARY[name](v, "%x", "%y")
    return symbol, v.function(symbol, ("%x", "%y"), v.real, result, "noinline")
