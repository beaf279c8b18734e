"""eˣ on vectors.

    eˣ = 2ⁿ eʳ,   r + c = x − n ln 2,   |r| ≤ ln 2 / 2
    eʳ = 1 + r + r² P(r)

A fused multiplication takes n times the leading 53 bits of ln 2 from x without rounding (n = 0, or both are
multiples of 2⁻⁵⁴ and so is their difference, which is below 1/2); c is what r loses by the rest of ln 2. P is
a minimax polynomial for the relative error of eʳ, 2⁻⁶⁰. 2ⁿ is multiplied on in two halves, so that a result
below the normal numbers is rounded to them once.
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions, Operand

LOG2_E = 1.4426950408889634
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest whole number in the low bits
LEAST, MOST = -746.0, 710.0  # eˣ is 0 below and infinite above

REST = (
    0.5,
    0.16666666666666674,
    0.041666666666666755,
    0.008333333333324424,
    0.001388888888883517,
    0.00019841269877466123,
    2.4801587416542415e-05,
    2.755725423917004e-06,
    2.755720181778849e-07,
    2.5105152555463492e-08,
    2.093529786996643e-09,
)


def exp(v: Instructions, x: str) -> str:
    """eˣ within 0.8 ulp."""
    x = v.clamp(x, LEAST, MOST)
    shifted = v.add(v.mul(x, LOG2_E), ROUND)
    n = v.sub(shifted, ROUND)
    exact = v.fused(n, -LN_2[0], x)
    r = v.fused(n, -LN_2[1], exact)
    c = v.fused(n, -LN_2[1], v.sub(exact, r))
    return scaled(v, near_zero(v, r, c), shifted)


def near_zero(v: Instructions, r: str, c: Operand) -> str:
    """e to the r + c for |r| ≤ ln 2 / 2 and c small beside the last place of r."""
    tail = v.fma(v.arithmetic("fmul", r, r), v.polynomial(r, REST), c)
    total, lost = v.sum_of(1.0, r)
    return v.add(total, v.add(lost, tail))


def scaled(v: Instructions, value: str, shifted: str) -> str:
    """value · 2ⁿ for ``shifted`` = ROUND + n, |n| ≤ 2000; the exponent n + 2·1023 is split in halves."""
    exponent = v.integer("add", v.as_bits(shifted), 2 * 1023)
    half = v.integer("lshr", exponent, 1)
    rest = v.integer("sub", exponent, half)
    first, second = (v.as_reals(v.integer("shl", e, 52)) for e in (half, rest))
    return v.mul(v.mul(value, first), second)
