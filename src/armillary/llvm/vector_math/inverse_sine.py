"""asin and acos on vectors.

With s = |x| up to ½, and beyond it s = √((1 − |x|) / 2), where asin |x| = π/2 − 2 asin s,

    asin s = s + s³ P(s²)

P is a minimax polynomial with a relative error of asin below 2⁻⁵⁹. What the root loses by rounding is found
from its square, as in fdlibm (Sun Microsystems 1993, e_acos.c).
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions, Operand

PI = (3.141592653589793, 1.2246467991473532e-16)
HALF_PI = (PI[0] / 2, PI[1] / 2)

SERIES = (
    0.16666666666666763,
    0.07499999999970128,
    0.044642857175256845,
    0.030381942676744017,
    0.022372215862911805,
    0.017351596302888773,
    0.013981008555385225,
    0.011397377528516417,
    0.010788832379589166,
    0.0036740870288617137,
    0.021785887978933285,
    -0.021109803022212267,
    0.03269772599581509,
)


def asin(v: Instructions, x: str) -> str:
    """asin x within 0.8 ulp."""
    size = v.size(x)
    inner = v.compare("ole", size, 0.5)
    base = [v.choose(inner, 0.0, part) for part in HALF_PI]
    return v.signed_as(_turned(v, size, inner, base, v.choose(inner, 1.0, -2.0)), x)


def acos(v: Instructions, x: str) -> str:
    """acos x = π/2 − asin x within 0.9 ulp, small values where x is near 1 too."""
    size = v.size(x)
    inner = v.compare("ole", size, 0.5)
    right = v.compare("ogt", x, 0.0)
    base = [
        v.choose(inner, half, v.choose(right, 0.0, whole)) for half, whole in zip(HALF_PI, PI, strict=True)
    ]
    factor = v.choose(inner, v.signed_as(1.0, v.neg(x)), v.choose(right, 2.0, -2.0))
    return _turned(v, size, inner, base, factor)


def _turned(v: Instructions, size: str, inner: str, base: list[str], factor: Operand) -> str:
    """base + factor · asin s, the first of double length."""
    half = v.mul(v.sub(1.0, size), 0.5)
    root = v.call("sqrt", half)
    # The least root that is not 0 is 2⁻²⁷; 10⁻³⁰⁰ only keeps 0 / 0 away.
    lost_root = v.div(v.fused(v.neg(root), root, half), v.add(v.add(root, root), 1e-300))
    s = v.choose(inner, size, root)
    z = v.choose(inner, v.arithmetic("fmul", size, size), half)
    cube = v.arithmetic("fmul", s, z)
    tail = v.fma(cube, v.polynomial(z, SERIES), v.choose(inner, 0.0, lost_root))
    total, lost = v.sum_of(base[0], v.mul(factor, s))
    return v.add(total, v.fma(factor, tail, v.add(lost, base[1])))
