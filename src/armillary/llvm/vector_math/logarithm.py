"""The natural logarithm on vectors, after fdlibm (Sun Microsystems 1993, e_log.c), with its polynomial.

    x = 2ᵏ m,   √½ ≤ m < √2,   f = m − 1,   s = f / (2 + f)
    ln x = k ln 2 + f − f²/2 + s (f²/2 + R(s²))

The sum of k ln 2 and f keeps what its rounding loses, which fdlibm gives up.
"""

from __future__ import annotations

import math

from armillary.llvm.instructions import Instructions

LN_2_PARTS = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # the first has 33 bits
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
ONE_BITS = 0x3FF0000000000000
EXPONENT = 0x7FF0000000000000
TWO_TO_52_BITS = 0x4330000000000000
LEAST_NORMAL = 2.0**-1022

SERIES = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def log(v: Instructions, x: str) -> str:
    """ln x within 0.9 ulp."""
    k, m = split(v, x)
    f = v.sub(m, 1.0)
    s = v.div(f, v.add(f, 2.0))
    z = v.arithmetic("fmul", s, s)
    series = v.arithmetic("fmul", z, v.polynomial(z, SERIES))
    square = v.mul(v.mul(f, 0.5), f)
    small = v.fma(s, v.arithmetic("fadd", square, series), v.arithmetic("fmul", k, LN_2_PARTS[1]))
    total, lost = v.sum_of(v.mul(k, LN_2_PARTS[0]), f)
    value = v.add(total, v.sub(lost, v.sub(square, small)))
    positive = v.compare("ogt", x, 0.0)
    usual = v.both(positive, v.compare("olt", x, math.inf))
    beyond = v.choose(positive, x, math.nan)
    return v.choose(usual, value, v.choose(v.compare("oeq", x, 0.0), -math.inf, beyond))


def split(v: Instructions, x: str) -> tuple[str, str]:
    """k and m for x = 2ᵏ m, √½ ≤ m < √2, where x is positive and finite; elsewhere something finite."""
    small = v.compare("olt", x, LEAST_NORMAL)
    bits = v.as_bits(v.choose(small, v.mul(x, 2.0**54), x))
    # k + 1023 is the exponent of x·√2; no shift with sign, which AVX2 lacks.
    moved = v.integer("add", bits, ONE_BITS - ROOT_HALF_BITS)
    exponent = v.integer("and", moved, EXPONENT)
    m = v.as_reals(v.integer("add", v.integer("sub", bits, exponent), ONE_BITS))
    k = v.as_reals(v.integer("or", v.integer("lshr", exponent, 52), TWO_TO_52_BITS))
    return v.sub(k, v.choose(small, 2.0**52 + 1023 + 54, 2.0**52 + 1023)), m
