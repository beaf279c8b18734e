"""Sines and cosines of several angles at once, as LLVM code without calls.

Every angle is reduced by the nearest multiple n of π/2 to r − e (``vector_math/quarter_turns.py``). With
w = −(r − e)²/2 and z = r² the minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c, k_cos.c) give

    sin(r − e) = r − (e + r·w·S(z)),     cos(r − e) = 1 + w·(1 + w·C(z)),

and n mod 4 decides which is which and their signs. Below 1 ulp for |x| < 8·10⁵ (tested; without e it is up to
1.7). S and C do not wait for e, which would change results by less than 0.01 ulp: the longest chain of code
with few angles is 10 cycles shorter. A library call takes one angle at a time and saves registers around it;
here a vector holds some angles.

Beyond that limit there are two ways. A function of its own calls the library's functions; the other angles of
the group are not affected. Sines among other operations have no branches: before them, larger angles are
replaced by equal ones within two turns (``far_angles.py``).
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions, Operand
from armillary.llvm.vector_math.quarter_turns import LIMIT, PI_OVER_2, reduced, within_limit

__all__ = ["LIMIT", "PI_OVER_2", "of_reduced", "sine_cosine", "sine_cosine_function"]

_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
# Of products with w = −z/2; with e and the bend of the sine taken away, not added, sin(−0) is −0.
SINE = tuple(2 * c for c in _SINE)
COSINE = tuple(4 * c for c in _COSINE)


def sine_cosine_function(name: str, lanes: int) -> str:
    """LLVM code of {sines, cosines} name(angles) on vectors of ``lanes`` doubles."""
    v = Instructions(lanes)
    pair = f"{{ {v.real}, {v.real} }}"
    s, c = v.mended(
        within_limit(v, "%x"),
        sine_cosine(v, "%x"),
        lambda: [v.library(f, f"{name}_library_{f}", "%x") for f in ("sin", "cos")],
    )
    half = v.emit(f"insertvalue {pair} undef, {v.real} {s}, 0")
    both = v.emit(f"insertvalue {pair} {half}, {v.real} {c}, 1")
    return v.function(name, ("%x",), pair, both, "alwaysinline")


def sine_cosine(v: Instructions, x: str, third: Operand = PI_OVER_2[2]) -> tuple[str, str]:
    """sin and cos of x from those of r: exchanged where n is odd, signs from its last two bits. ``third``: of
    the parts of π/2.
    """
    return of_reduced(v, *reduced(v, x, third))


def of_reduced(v: Instructions, shifted: str, r: str, e: str) -> tuple[str, str]:
    """sin and cos of x from what ``quarter_turns.py`` makes of it."""
    sine, cosine = _kernels(v, r, e)
    n = v.as_bits(shifted)
    last = v.integer("shl", n, 63)
    sign = v.integer("shl", v.integer("lshr", n, 1), 63)
    odd = v.emit(f"icmp slt {v.bits} {last}, {v.whole(0)}")
    s, c = v.choose(odd, cosine, sine), v.choose(odd, sine, cosine)
    return _turned(v, s, sign), _turned(v, _turned(v, c, sign), last)


def _kernels(v: Instructions, r: str, e: str) -> tuple[str, str]:
    """The sine and cosine of r − e."""
    w = v.fused(v.mul(r, -0.5), r, v.mul(r, e))
    z = v.mul(r, r)
    square = v.mul(z, z)
    bend = v.fma(v.mul(w, r), v.polynomial(z, SINE, square), e)
    rest = v.fma(w, v.polynomial(z, COSINE, square), 1.0)
    return v.sub(r, bend), v.fused(w, rest, 1.0)


def _turned(v: Instructions, value: str, sign: str) -> str:
    """The value with its sign changed where the first bit of another is set."""
    return v.as_reals(v.integer("xor", v.as_bits(value), sign))
