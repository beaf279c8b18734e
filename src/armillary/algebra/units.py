"""Physical dimensions, and units: a text such as ``kg-m2`` is read as a factor to SI and a dimension."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from armillary.errors import UnitsError, nearest, shown
from armillary.untyped import Given

# Physical dimensions: interned products of powers of the base dimensions.
#
# Angles are dimensionless, so rad·m is a length and N·m/rad a moment, as dynamicists write them.

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
        return _dimension_product(self, other)

    def __truediv__(self, other: Dimension) -> Dimension:
        return _dimension_product(self, power(other, -1))

    def __pow__(self, exponent: float | Fraction) -> Dimension:
        return power(self, exponent)

    def __reduce__(self) -> tuple[type[Dimension], tuple[Fraction, ...]]:
        return Dimension, self.exponents

    def __str__(self) -> str:
        """Return the dimension in SI base units, e.g. ``kg·m/s²`` written ``kg*m/s^2``."""
        above = [unit_power(u, e) for u, e in zip(BASE_UNITS, self.exponents, strict=True) if e > 0]
        below = [unit_power(u, -e) for u, e in zip(BASE_UNITS, self.exponents, strict=True) if e < 0]
        if not above and not below:
            return "1"
        text = "*".join(above) or "1"
        return "/".join([text, *below])

    __repr__ = __str__


def unit_power(unit: str, exponent: Fraction) -> str:
    """Return a unit to a power as text: m, m^2, m^(1/2)."""
    if exponent == 1:
        return unit
    return f"{unit}^{exponent}" if exponent.denominator == 1 else f"{unit}^({exponent})"


@cache
def _dimension_product(a: Dimension, b: Dimension) -> Dimension:
    return Dimension(*(x + y for x, y in zip(a.exponents, b.exponents, strict=True)))


@cache
def power(a: Dimension, exponent: float | Fraction) -> Dimension:
    """Return the dimension of x**exponent for x of dimension a."""
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


# Units of input and output: text such as ``kg-m2`` or ``N*m/rad`` as a factor to SI and a physical dimension.
#
#     unit     factor { ("*" | "·" | "." | "-" | space) factor  |  "/" factor }        read from left to right
#     factor   name [power] | number | "(" unit ")" [power]
#     power    digits after the name (m2, s-1), ^ or ** and a number, (1/2), or superscripts (m², s⁻¹)
#
# A dash before a letter is a product (``in-lb-s2``), as engineers write it. After a slash neither dash nor
# space may follow, since ``a/b-c`` is ambiguous: write ``a/(b-c)``. Angles have no dimension.
#
# ``lb`` is a pound of force and ``lbm`` a pound of mass, as in Sayers (1990), Table 9.1.4, where inertias
# are in in-lb-s2. ``g`` is a gram; standard gravity is ``gee`` or ``g0``. Common units may be spelled out.


@dataclass(frozen=True)
class Unit:
    """A unit as written: a value in this unit times ``scale`` is the value in SI."""

    text: str
    scale: float
    dimension: Dimension


class Magnitude(NamedTuple):
    """A number (or array) in SI base units and its dimension."""

    value: Given
    dimension: Dimension


# ---------------------------------------------------------------- the table of units

_CURRENT = Dimension(0, 0, 0, 1)
_TEMPERATURE = Dimension(0, 0, 0, 0, 1)
_PRESSURE = FORCE / LENGTH**2
_POWER = ENERGY / TIME
_VOLTAGE = _POWER / _CURRENT

_INCH = 0.0254
_FOOT = 0.3048
_POUND = 0.45359237
_GRAVITY = 9.80665
_POUND_FORCE = _POUND * _GRAVITY

_PREFIXES = {
    "f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1,
    "da": 1e1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip

# Units that take a prefix: m gives mm, km, … A hertz is 1/s, not 2π rad/s; a revolution is 2π.
_PREFIXED: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, LENGTH), "g": (1e-3, MASS), "s": (1.0, TIME), "A": (1.0, _CURRENT),
    "K": (1.0, _TEMPERATURE), "rad": (1.0, ONE), "N": (1.0, FORCE), "Nm": (1.0, FORCE * LENGTH),
    "J": (1.0, ENERGY), "W": (1.0, _POWER), "Pa": (1.0, _PRESSURE), "Hz": (1.0, RATE),
    "V": (1.0, _VOLTAGE), "ohm": (1.0, _VOLTAGE / _CURRENT), "C": (1.0, _CURRENT * TIME),
    "H": (1.0, _VOLTAGE * TIME / _CURRENT), "T": (1.0, _VOLTAGE * TIME / LENGTH**2),
    "bar": (1e5, _PRESSURE),
}  # fmt: skip

_PLAIN: dict[str, tuple[float, Dimension]] = {
    "-": (1.0, ONE), "percent": (0.01, ONE), "%": (0.01, ONE), "deg": (math.pi / 180, ONE),
    "°": (math.pi / 180, ONE), "arcmin": (math.pi / 10800, ONE), "arcsec": (math.pi / 648000, ONE),
    "rev": (2 * math.pi, ONE), "rpm": (math.pi / 30, RATE), "sec": (1.0, TIME), "min": (60.0, TIME),
    "h": (3600.0, TIME), "hr": (3600.0, TIME), "day": (86400.0, TIME), "in": (_INCH, LENGTH),
    "ft": (_FOOT, LENGTH), "yd": (3 * _FOOT, LENGTH), "mi": (5280 * _FOOT, LENGTH),
    "nmi": (1852.0, LENGTH), "mph": (5280 * _FOOT / 3600, SPEED), "kph": (1 / 3.6, SPEED),
    "knot": (1852 / 3600, SPEED), "gee": (_GRAVITY, ACCELERATION), "g0": (_GRAVITY, ACCELERATION),
    "t": (1e3, MASS), "lbm": (_POUND, MASS), "slug": (_POUND_FORCE / _FOOT, MASS),
    "lb": (_POUND_FORCE, FORCE), "lbf": (_POUND_FORCE, FORCE), "kgf": (_GRAVITY, FORCE),
    "psi": (_POUND_FORCE / _INCH**2, _PRESSURE), "atm": (101325.0, _PRESSURE), "L": (1e-3, LENGTH**3),
    "Ω": (1.0, _VOLTAGE / _CURRENT),
}  # fmt: skip

# Units spelled out, by their symbols.
_WORDS = {
    "m": "metre metres meter meters",
    "mm": "millimetre millimetres millimeter millimeters",
    "cm": "centimetre centimetres centimeter centimeters",
    "km": "kilometre kilometres kilometer kilometers",
    "s": "second seconds",
    "ms": "millisecond milliseconds",
    "min": "minute minutes",
    "h": "hour hours",
    "day": "days",
    "g": "gram grams",
    "kg": "kilogram kilograms",
    "N": "newton newtons",
    "kN": "kilonewton kilonewtons",
    "J": "joule joules",
    "W": "watt watts",
    "Pa": "pascal pascals",
    "Hz": "hertz",
    "rad": "radian radians",
    "deg": "degree degrees",
    "rev": "revolution revolutions",
    "in": "inch inches",
    "ft": "foot feet",
    "yd": "yard yards",
    "mi": "mile miles",
    "knot": "knots",
    "slug": "slugs",
    "lb": "pound pounds",
}
_SYMBOLS = {word: symbol for symbol, words in _WORDS.items() for word in words.split()}


def _known_unit(name: str) -> tuple[float, Dimension] | None:
    """Return a unit by name; names without a prefix are tried first, so min is a minute, not a milli-inch."""
    name = _SYMBOLS.get(name, name)
    known = _PLAIN.get(name) or _PREFIXED.get(name)
    if known is not None:
        return known
    for length in (1, 2):
        prefix, rest = _PREFIXES.get(name[:length]), _PREFIXED.get(name[length:])
        if prefix is not None and rest is not None:
            return prefix * rest[0], rest[1]
    return None


# ---------------------------------------------------------------- reading

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"g0(?![^\W\d_])|[^\W\d_]+|[%°]")
_EXPONENT = re.compile(
    r"\s*(?:\^|\*\*)\s*(?:\(\s*([+-]?\d+(?:\.\d+)?)\s*(?:/\s*(\d+)\s*)?\)|([+-]?\d+(?:\.\d+)?))|([+-]?\d+)"
)
_LINK = re.compile(r"\s*(\*|·|⋅|\.|-|/)\s*|\s+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_LARGEST_POWER = 24
_LONGEST_POWER = 100


def parse_unit(text: str) -> Unit:
    """Return the unit that a text means, e.g. ``parse_unit("deg/s")`` is (0.0174…, 1/s)."""
    if not isinstance(text, str):
        raise UnitsError(f"units must be a text such as 'N*m', not {shown(text)}")
    return _parse_unit(text)


@lru_cache(maxsize=1024)
def _parse_unit(text: str) -> Unit:
    plain = text.strip().translate(_SUPERSCRIPTS)
    if plain in ("", "-", "1"):
        return Unit(text, 1.0, ONE)
    scale, dimension = 1.0, ONE
    outer: list[tuple[float, Dimension, int, bool]] = []  # the state before each open parenthesis
    sign, after_slash = 1, False
    position, expect_factor = 0, True
    while position < len(plain):
        if expect_factor and plain[position] == "(":
            outer.append((scale, dimension, sign, after_slash))
            scale, dimension, sign, after_slash = 1.0, ONE, 1, False
            position += 1
            continue
        if expect_factor:
            factor, kind, position = _read_factor(text, plain, position)
        elif plain[position] == ")" and outer:
            factor, kind = scale, dimension
            scale, dimension, sign, after_slash = outer.pop()
            position += 1
        else:
            sign, after_slash, position = _read_link(text, plain, position, after_slash)
            expect_factor = True
            continue
        exponent, position = _read_exponent(text, plain, position)
        scale = scale * _scale_power(text, factor, sign * exponent)
        dimension = dimension * kind ** (sign * exponent)
        expect_factor = False
    if expect_factor or outer:
        raise _unreadable(text, "')' is missing" if outer else "a unit is missing at its end")
    if not 0 < scale < math.inf:
        raise _unreadable(text, "its factor to SI is beyond the range of numbers")
    return Unit(text, scale, dimension)


def _read_factor(text: str, plain: str, position: int) -> tuple[float, Dimension, int]:
    found = _NUMBER.match(plain, position)
    if found:
        return float(found.group()), ONE, found.end()
    found = _NAME.match(plain, position)
    if not found:
        raise _unreadable(text, f"{plain[position]!r} stands where a unit should be")
    known = _known_unit(found.group())
    if known is None:
        where = "" if found.group() == text else f" in '{text}'"
        raise UnitsError(f"unknown unit '{found.group()}'{where}{_similar(found.group())}")
    return known[0], known[1], found.end()


def _similar(name: str) -> str:
    """Return the unit that may have been meant: typing errors seldom change the first letter."""
    names = [*_PLAIN, *_PREFIXED, *_WORDS, *_SYMBOLS]
    return nearest(name, [known for known in names if known[0].casefold() == name[0].casefold()])


def _read_exponent(text: str, plain: str, position: int) -> tuple[Fraction, int]:
    found = _EXPONENT.match(plain, position)
    if not found:
        return Fraction(1), position
    above, below, bare, glued = found.groups()
    if len(found.group()) > _LONGEST_POWER:  # Python reads no whole number of more than 4300 digits
        raise _unreadable(text, f"a power has more than {_LONGEST_POWER} characters")
    if below and int(below) == 0:
        raise _unreadable(text, "a power is divided by zero")
    exponent = Fraction(above or bare or glued) / (int(below) if below else 1)
    if abs(exponent) > _LARGEST_POWER:
        raise _unreadable(text, f"the power {exponent} is beyond {_LARGEST_POWER}")
    return exponent, found.end()


def _read_link(text: str, plain: str, position: int, after_slash: bool) -> tuple[int, bool, int]:
    """Return (1 or −1 for the next factor, whether a slash has been read, next position)."""
    found = _LINK.match(plain, position)
    if not found:
        raise _unreadable(text, f"{plain[position]!r} is not expected")
    link = found.group(1)
    if after_slash and link in ("-", None):
        raise _unreadable(text, "a dash or space after a slash is ambiguous: write a/(b*c)")
    return (-1 if link == "/" else 1), after_slash or link == "/", found.end()


def _scale_power(text: str, scale: float, exponent: Fraction) -> float:
    try:
        return scale ** (int(exponent) if exponent.denominator == 1 else float(exponent))
    except (OverflowError, ZeroDivisionError):
        raise _unreadable(text, "its factor to SI is beyond the range of numbers") from None


def _unreadable(text: str, why: str) -> UnitsError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return UnitsError(f"cannot read the unit '{shown}': {why}")


# ---------------------------------------------------------------- converting


def to_si(value: Given, unit: str | Unit) -> Given:
    """Convert a number or array from ``unit`` to SI."""
    return value * (parse_unit(unit) if isinstance(unit, str) else unit).scale


def is_quantity(value: object) -> bool:
    """Return whether the value has units of its own, as Pint's quantities have."""
    # Pint need not be installed.
    return hasattr(value, "magnitude") and hasattr(value, "units") and hasattr(value, "to_base_units")


def magnitude_in_si(quantity: Given) -> Magnitude:
    """Return the value in SI and the dimension of a quantity of Pint, or of an object with the same methods.

    The library of the quantity converts it to base units, and ``parse_unit`` converts these to SI. So a
    registry whose base system is not SI works too, and Pint is never imported here.
    """
    if not is_quantity(quantity):
        raise UnitsError(f"{quantity!r} is not a quantity: it has no magnitude and units")
    base = quantity.to_base_units()
    try:
        shown = format(base.units, "~C")  # Pint's short form: kg*m/s**2
    except (TypeError, ValueError):
        shown = str(base.units)
    shown = re.sub(r"\b(lb|pound)\b", "lbm", shown)  # Pint's pound is a mass
    unit = parse_unit("" if shown == "dimensionless" else shown)
    return Magnitude(to_si(base.magnitude, unit), unit.dimension)


# ---------------------------------------------------------------- writing

# Dimensions with a customary name. A moment and an energy are one dimension: N*m fits both.
_NAMED = {ONE: "1", _PRESSURE: "Pa", _POWER: "W", _VOLTAGE: "V", _VOLTAGE / _CURRENT: "ohm"}


def si_text(dimension: Dimension) -> str:
    """Return the usual SI unit of a dimension as text, e.g. N, N*m, N/m, N*s/m, kg*m^2, else base units.

    If the powers of mass and time have opposite signs and that of mass is 1 or −1, the text has a newton:
    kg/s is written N*s/m, as a damping rate and not as a mass flow.
    """
    named = _NAMED.get(dimension)
    if named:
        return named
    mass, _, time, *_ = dimension.exponents
    newtons = int(mass) if abs(mass) == 1 and mass * time < 0 else 0
    left = dimension / FORCE**newtons
    powers = [("N", Fraction(newtons)), *zip(BASE_UNITS, left.exponents, strict=True)]
    above = [unit_power(unit, n) for unit, n in powers if n > 0]
    below = [unit_power(unit, -n) for unit, n in powers if n < 0]
    return "/".join(["*".join(above) or "1", *below])
