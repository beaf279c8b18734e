"""Physical dimensions: interned products of powers of the base dimensions.

Angles are dimensionless, so rad·m is a length and N·m/rad a moment, as dynamicists write them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

BASE_UNITS = ("kg", "m", "s", "A", "K")

_interned: dict[tuple[Fraction, ...], Dimension] = {}


class Dimension:
    """Exponents of (mass, length, time, current, temperature); equal dimensions are one object."""

    __slots__ = ("exponents",)
    exponents: tuple[Fraction, ...]

    def __new__(cls, *exponents: Fraction | int) -> Dimension:
        key = tuple(Fraction(e) for e in exponents) + (Fraction(0),) * (len(BASE_UNITS) - len(exponents))
        known = _interned.get(key)
        if known is None:
            known = object.__new__(cls)
            known.exponents = key
            _interned[key] = known
        return known

    def __mul__(self, other: Dimension) -> Dimension:
        return _product(self, other)

    def __truediv__(self, other: Dimension) -> Dimension:
        return _product(self, power(other, -1))

    def __pow__(self, exponent: float | Fraction) -> Dimension:
        return power(self, exponent)

    def __reduce__(self) -> tuple[type[Dimension], tuple[Fraction, ...]]:
        return Dimension, self.exponents

    def __str__(self) -> str:
        """The dimension in SI base units, e.g. ``kg·m/s²`` written ``kg*m/s^2``."""
        above = [unit_power(u, e) for u, e in zip(BASE_UNITS, self.exponents, strict=True) if e > 0]
        below = [unit_power(u, -e) for u, e in zip(BASE_UNITS, self.exponents, strict=True) if e < 0]
        if not above and not below:
            return "1"
        text = "*".join(above) or "1"
        return "/".join([text, *below])

    __repr__ = __str__


def unit_power(unit: str, exponent: Fraction) -> str:
    """A unit to a power as text: m, m^2, m^(1/2)."""
    if exponent == 1:
        return unit
    return f"{unit}^{exponent}" if exponent.denominator == 1 else f"{unit}^({exponent})"


@cache
def _product(a: Dimension, b: Dimension) -> Dimension:
    return Dimension(*(x + y for x, y in zip(a.exponents, b.exponents, strict=True)))


@cache
def power(a: Dimension, exponent: float | Fraction) -> Dimension:
    """The dimension of x**exponent for x of dimension a."""
    n = Fraction(exponent).limit_denominator(64)
    return Dimension(*(x * n for x in a.exponents))


ONE = Dimension()
MASS = Dimension(1)
LENGTH = Dimension(0, 1)
TIME = Dimension(0, 0, 1)
SPEED = LENGTH / TIME
RATE = ONE / TIME
ACCELERATION = SPEED / TIME
FORCE = MASS * ACCELERATION
MOMENT = FORCE * LENGTH
ENERGY = MOMENT
INERTIA = MASS * LENGTH * LENGTH
