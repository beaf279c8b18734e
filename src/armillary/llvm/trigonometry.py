"""Sines and cosines of several angles at once, as LLVM code without calls.

Every angle is reduced by the nearest multiple n of π/2 to r + e (``vector_math/quarter_turns.py``). The
minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c, k_cos.c) give sin and cos of r + e, to first
order in e, and n mod 4 decides which is which and their signs. Below 1 ulp for |x| < 8·10⁵ (tested; without e
it is up to 1.7). Of a larger angle, infinity or NaN the library's functions are called; the
others in the group are not affected.

A library call takes one angle at a time and saves registers around it; here a vector holds all of a group's
angles.
"""

from __future__ import annotations

from armillary.llvm.instructions import Instructions
from armillary.llvm.vector_math.quarter_turns import LIMIT, PI_OVER_2, odd, reduced, within_limit

__all__ = ["LIMIT", "PI_OVER_2", "sine_cosine_function"]

SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def sine_cosine_function(name: str, lanes: int) -> str:
    """LLVM code of {sines, cosines} name(angles) on vectors of ``lanes`` doubles."""
    v = Instructions(lanes)
    pair = f"{{ {v.real}, {v.real} }}"
    s, c = v.mended(
        within_limit(v, "%x"),
        _sine_cosine(v, "%x"),
        lambda: [v.library(f, f"{name}_library_{f}", "%x") for f in ("sin", "cos")],
    )
    half = v.emit(f"insertvalue {pair} undef, {v.real} {s}, 0")
    both = v.emit(f"insertvalue {pair} {half}, {v.real} {c}, 1")
    return v.function(name, ("%x",), pair, both, "alwaysinline")


def _sine_cosine(v: Instructions, x: str) -> list[str]:
    """sin and cos of x from those of r: exchanged where n is odd, signs from bit 1 of n and of n + 1."""
    shifted, r, e = reduced(v, x)
    sine, cosine = _kernels(v, r, e)
    n = v.as_bits(shifted)
    exchanged = odd(v, n)
    s, c = v.choose(exchanged, cosine, sine), v.choose(exchanged, sine, cosine)
    sine = v.choose(v.compare("oeq", x, 0.0), x, _signed(v, s, n))  # the sign of zero is lost in r + e
    return [sine, _signed(v, c, v.integer("add", n, 1))]


def _kernels(v: Instructions, r: str, e: str) -> tuple[str, str]:
    z = v.arithmetic("fmul", r, r)
    z2 = v.arithmetic("fmul", z, z)
    bend = v.fma(v.arithmetic("fmul", z, r), v.polynomial(z, SINE), e)
    sine = v.add(r, bend)
    half = v.mul(z, 0.5)
    w = v.sub(1.0, half)
    lost = v.arithmetic("fsub", v.sub(v.sub(1.0, w), half), v.arithmetic("fmul", r, e))
    rest = v.fma(z2, v.polynomial(z, COSINE), lost)
    return sine, v.add(w, rest)


def _signed(v: Instructions, value: str, n: str) -> str:
    """The value with its sign changed where bit 1 of n is set."""
    sign = v.integer("shl", v.integer("and", n, 2), 62)
    return v.as_reals(v.integer("xor", v.as_bits(value), sign))
