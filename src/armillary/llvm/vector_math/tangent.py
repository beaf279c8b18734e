"""The tangent on vectors.

    tan(r + e) = t = r + r³ P(r²) + e (1 + t²),   and tan x = t for even n, −1/t for odd n

with r, e and n of ``quarter_turns.py`` and P a minimax polynomial with a relative error of tan below 2⁻⁵⁶.
The inverse is corrected by what t loses by rounding and by its own remainder.
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions
from armillary.llvm.vector_math.quarter_turns import odd, reduced, within_limit

SERIES = (
    0.3333333333333278,
    0.1333333333341414,
    0.05396825392687733,
    0.021869489604302784,
    0.008863219227217629,
    0.0035922885331890796,
    0.0014547611702607976,
    0.0005950516531809561,
    0.0002224175155293044,
    0.00013644922399503,
    -2.6279992242902883e-05,
    8.93557214146995e-05,
    -4.482480107763388e-05,
    2.0850885737213946e-05,
)


def tan(v: Instructions, x: str) -> str:
    """tan x within 1.6 ulp for angles below LIMIT; larger ones are the library's."""
    name = f"library_tan_{v.lanes}"
    return v.mended(within_limit(v, x), [_tan(v, x)], lambda: [v.library("tan", name, x)])[0]


def _tan(v: Instructions, x: str) -> str:
    shifted, r, e = reduced(v, x)
    z = v.arithmetic("fmul", r, r)
    bend = v.mul(v.arithmetic("fmul", r, z), v.polynomial(z, SERIES))
    rough = v.add(r, bend)
    t, lost = v.sum_of(r, v.sub(bend, v.fma(v.mul(rough, rough), e, e)))
    inverse = v.div(-1.0, t)
    missing = v.fused(inverse, lost, v.fused(inverse, t, 1.0))
    value = v.choose(odd(v, v.as_bits(shifted)), v.fma(inverse, missing, inverse), t)
    return v.choose(v.compare("oeq", x, 0.0), x, value)
