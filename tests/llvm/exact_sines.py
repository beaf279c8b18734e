"""Sine and cosine in whole-number arithmetic, to 190 bits and more, for checks of the last digit."""

from __future__ import annotations

import math
from fractions import Fraction

_BITS = 256  # places after the point
_MORE = 64  # guard bits, for angles of up to 2⁶⁴


def _arctangent_of_inverse(n: int, one: int) -> int:
    """one · atan(1/n)."""
    term = one // n
    total, k, sign = term, 1, 1
    while term:
        term //= n * n
        k, sign = k + 2, -sign
        total += sign * (term // k)
    return total


def _pi(bits: int) -> int:
    """π · 2^bits, by Machin: π = 16 atan(1/5) − 4 atan(1/239)."""
    one = 1 << (bits + 32)
    return (16 * _arctangent_of_inverse(5, one) - 4 * _arctangent_of_inverse(239, one)) >> 32


_HALF_PI = _pi(_BITS + _MORE) >> 1


def sine_and_cosine(x: float) -> tuple[Fraction, Fraction]:
    """sin x and cos x of a finite double below 2⁶⁴ in size, with an error below 2⁻¹⁹⁰."""
    fixed = Fraction(x) * (1 << (_BITS + _MORE))
    whole = fixed.numerator // fixed.denominator
    n = (2 * whole + _HALF_PI) // (2 * _HALF_PI)
    r = (whole - n * _HALF_PI) >> _MORE
    square = r * r >> _BITS
    series = []
    for term, k in ((r, 2), (1 << _BITS, 1)):
        total = term
        while term:
            term = -(term * square >> _BITS) // (k * (k + 1))
            k += 2
            total += term
            if term == -1:  # the floor of a vanishing negative number
                break
        series.append(total)
    s, c = series
    turned = ((s, c), (c, -s), (-s, -c), (-c, s))[n % 4]
    return Fraction(turned[0], 1 << _BITS), Fraction(turned[1], 1 << _BITS)


def error_in_ulps(found: float, exact: Fraction) -> float:
    """|found − exact| in units of the last place of the double nearest to the exact value."""
    return float(abs(Fraction(found) - exact) / Fraction(math.ulp(float(exact))))
