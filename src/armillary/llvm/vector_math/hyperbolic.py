"""tanh on vectors.

    tanh |x| = t / (t + 2),   t = e²ˣ − 1 = (2ⁿ − 1) + 2ⁿ (eʳ − 1)

with n and r as in exponential.py, so that nothing cancels near zero. t is kept as a sum of two numbers, and
the quotient is corrected once for what its operands lost. From 22 on the result is 1.
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions
from armillary.llvm.vector_math.exponential import LN_2, LOG2_E, REST, ROUND, scaled

MOST = 22.0  # tanh is 1 to rounding beyond


def tanh(v: Instructions, x: str) -> str:
    """tanh x within 0.9 ulp."""
    size = v.size(x)
    size = v.choose(v.compare("ogt", size, MOST), MOST, size)  # NaN stays
    doubled = v.add(size, size)
    shifted = v.add(v.mul(doubled, LOG2_E), ROUND)
    n = v.sub(shifted, ROUND)
    exact = v.fused(n, -LN_2[0], doubled)
    r = v.fused(n, -LN_2[1], exact)
    c = v.fused(n, -LN_2[1], v.sub(exact, r))
    tail = v.fused(v.mul(r, r), v.polynomial(r, REST), c)
    two_n = scaled(v, v.operand(1.0), shifted)
    high, lost = v.sum_of(v.sub(two_n, 1.0), v.mul(two_n, r))
    t, low = v.sum_of(high, v.fused(two_n, tail, lost))
    below, missing = v.sum_of(2.0, t)
    larger = v.compare("ogt", t, 2.0)
    below_too, missing_too = v.sum_of(t, 2.0)
    below, missing = v.choose(larger, below_too, below), v.choose(larger, missing_too, missing)
    quotient = v.div(t, below)
    rest = v.add(v.fused(v.neg(quotient), below, t), low)
    rest = v.fused(v.neg(quotient), v.add(missing, low), rest)
    return v.signed_as(v.add(quotient, v.div(rest, below)), x)
