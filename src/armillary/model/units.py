"""Units of models: unit systems, and numbers as users write them, 55, "55 mile/hour" or "pi/2".

A unit system has the SI values of the units of mass, length and time in which a model computes. Defaults,
parameter values, initial values and outputs are in stated units, and are converted where they enter or leave
the model. A model always computes with angles in radians. If the name of its unit system ends in ``-deg``,
users give and see angles of joints in degrees, as in AUTOSIM's programs (Sayers 1990, section 9.1, Table
9.1.4).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from math import prod

from armillary.algebra.arguments import Error, one_of, real
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.parsing import parse
from armillary.algebra.units import (
    ONE,
    RATE,
    TIME,
    Dimension,
    Unit,
    is_quantity,
    magnitude_in_si,
    parse_unit,
    si_text,
)
from armillary.errors import ArmillaryError, ModelError, ParameterError, shown
from armillary.untyped import Given


@dataclass(frozen=True)
class UnitSystem:
    """SI values of the base units (mass, length, time) that a model computes in, and their names.

    ``force`` is the name of the unit of force, "" if it has no name. ``masses`` is "" in systems in which the
    unit of force has a name, but the unit of mass has none, such as in-lb-s.
    """

    name: str
    mass: float
    length: float
    time: float
    masses: str = "kg"
    lengths: str = "m"
    force: str = "N"
    angle: str = "rad"

    def scale(self, dimension: Dimension) -> float:
        """Return the SI value of this system's unit of the dimension."""
        if self._is_si:
            return 1.0
        bases = (self.mass, self.length, self.time, 1.0, 1.0)
        found: float = prod(b ** float(e) for b, e in zip(bases, dimension.exponents, strict=True))
        return found

    def factor(self, unit: Unit) -> float:
        """Return the factor from ``unit`` to the model's units."""
        return unit.scale / self.scale(unit.dimension)

    def unit_text(self, dimension: Dimension | None) -> str:
        """Return the text of the system's own unit for a dimension, for labels."""
        if dimension is None or dimension is ONE:
            return ""
        if self._is_si:
            return si_text(dimension)
        mass, length, time, current, temperature = (float(e) for e in dimension.exponents)
        electric = [("A", current), ("K", temperature)]
        by_force = not self.masses or (self.force and abs(mass) == 1 and mass * time < 0)
        if not by_force:
            return _unit_quotient([(self.masses, mass), (self.lengths, length), ("s", time), *electric])
        # A unit of mass is a unit of force divided by a unit of acceleration.
        forces = [(self.lengths, length - mass), (self.force, mass)]
        ordered = forces if not self.masses else forces[::-1]  # the usual order: in*lb, but mN*mm
        return _unit_quotient([*ordered, ("s", time + 2 * mass), *electric])

    def joint_text(self, dimension: Dimension) -> str:
        """Return the unit of a joint's coordinate or speed; a coordinate without a dimension is an angle."""
        if dimension is ONE:
            return self.angle
        return f"{self.angle}/s" if dimension is RATE else self.unit_text(dimension)

    @property
    def _is_si(self) -> bool:
        return self.mass == self.length == self.time == 1.0


def _unit_quotient(powers: list[tuple[str, float]]) -> str:
    """Return a product of powers of units as engineers write it: in*lb*s^2, lb/in."""
    parts = [(unit, n) for unit, n in powers if n]
    above = "*".join(f"{u}^{n:g}" if n != 1 else u for u, n in parts if n > 0)
    below = "".join(f"/{u}^{-n:g}" if n != -1 else f"/{u}" for u, n in parts if n < 0)
    return (above or ("1" if below else "")) + below


_POUND = parse_unit("lb").scale
_INCH = parse_unit("in").scale
_FOOT = parse_unit("ft").scale

_IN_RADIANS = (
    UnitSystem("SI", 1.0, 1.0, 1.0),
    UnitSystem("in-lb-s", _POUND / _INCH, _INCH, 1.0, "", "in", "lb"),
    UnitSystem("ft-lb-s", _POUND / _FOOT, _FOOT, 1.0, "", "ft", "lb"),
    UnitSystem("mm-kg-s", 1.0, 1e-3, 1.0, "kg", "mm", "mN"),
    UnitSystem("mm-t-s", 1e3, 1e-3, 1.0, "t", "mm", "N"),
    UnitSystem("cm-g-s", 1e-3, 1e-2, 1.0, "g", "cm", ""),
)
_IN_DEGREES = tuple(replace(system, name=f"{system.name}-deg", angle="deg") for system in _IN_RADIANS)
SYSTEMS = {system.name: system for system in (*_IN_RADIANS, *_IN_DEGREES)}


def unit_system(name: str) -> UnitSystem:
    """Return a unit system by name."""
    one_of(name, SYSTEMS, "unknown unit system ", ModelError)
    return SYSTEMS[name]


def default_value(node: Expr) -> float | None:
    """Return the default of a parameter in the units of its system; `None` if it has none."""
    parameter = node.data
    if parameter.default is None:
        return None
    found: float | None = parameter.default * (
        parameter.owner.units.factor(parse_unit(parameter.units)) if parameter.units else 1.0
    )
    return found


def state_factor(node: Expr) -> float:
    """Return the factor from the stated units of a coordinate or speed to the units of its model: π/180 for
    an angle in degrees, else 1.
    """
    units = node.data.units
    return node.data.owner.units.factor(parse_unit(units)) if units else 1.0


def stated_value(inside: float, factor: float) -> float:
    """Return the number in stated units with the fewest digits whose product with ``factor`` is exactly
    ``inside``, or the quotient if there is no such number.

    Several numbers may have this product: 30 deg and 29.999999999999996 deg are the same angle in radians.
    The product must be exact since a file with the settings of a run must repeat the run exactly.
    """
    value = inside / factor
    near = (math.nextafter(value, math.inf), math.nextafter(value, -math.inf), float(f"{value:.15g}"))
    exact = [v for v in (value, *near) if v * factor == inside]
    return min(exact, key=lambda v: len(repr(v)), default=value)


_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_AND_UNIT = re.compile(rf"\s*({_NUMBER.pattern})\s*(.*)\Z", re.DOTALL)
# Text after a number that is not a unit: an operator, unless it is "-" alone, or another number.
_ARITHMETIC = re.compile(r"[*/+^]|-.|[\d.]+\Z")
# The pattern of arithmetic with a unit, such as "pi/18 rad". It is compiled at its first use, since few texts
# need it.
_ARITHMETIC_AND_UNIT = r"(?s)(.*(?:[\d.)]|pi))\s+([^\W\d_].*)\Z"
_LONGEST = 200  # characters of a value; longer texts are mistakes


class BadValueError(ArmillaryError):
    """An error in a value. Its text ends a sentence that begins with the value's name: "needs a number"."""


def read_number(value: object, units: str, system: UnitSystem, dimension: Dimension | None) -> float:
    """Return a value in ``units``, from a plain number in these units or from a text that may have other
    units.

    Without ``units`` the result is in the model's own units, and the text may have any unit of ``dimension``,
    or any unit at all if that is None. In a text, what follows a number is a unit; otherwise the whole text
    is arithmetic.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadValueError(f"needs a number, or text such as '{_example(units)}', not {shown(value)}")
    if not isinstance(value, str):
        return check_finite(value)
    if len(value) > _LONGEST:
        raise BadValueError(f"needs a number with a unit, not {shown(value)}")
    number_text, unit_text = number_and_unit(value)
    number = arithmetic(number_text, units)
    if not unit_text:
        return number
    unit = parse_unit(unit_text)
    wanted = parse_unit(units).dimension if units else dimension
    if wanted is not None and unit.dimension is not wanted:
        raise BadValueError(
            f"has units of [{wanted}]{f' ({units})' if units else ''}, but '{value}' has [{unit.dimension}]"
        )
    scale = parse_unit(units).scale if units else system.scale(unit.dimension)
    return check_finite(number if unit.text == units else number * unit.scale / scale)


def text_number(
    value: str,
    what: str,
    units: str,
    system: UnitSystem,
    dimension: Dimension | None = None,
    error: Error = ParameterError,
) -> float:
    """Return a number in ``units`` from a text such as "50 cm", which may have other units. Errors begin with
    ``what``, the words for the value.
    """
    try:
        return read_number(value, units, system, dimension)
    except ArmillaryError as wrong:
        raise error(about_value(what, wrong)) from None


def about_value(what: str, error: ArmillaryError) -> str:
    """Return the text of an error in reading a value, which begins with ``what``, the words for the value."""
    return f"{what}{' ' if isinstance(error, BadValueError) else ': '}{error}"


def read_seconds(value: object) -> float:
    """Return a time in seconds, from a plain number or from a text with a unit, such as "10 ms"."""
    return read_number(value, "s", SYSTEMS["SI"], TIME)


def in_seconds(name: str, value: object) -> Given:
    """Return a time given as text or as a Pint quantity, or a list of times, in seconds; return other values
    unchanged. ``name`` is the name of the argument, for errors.
    """
    try:
        if is_quantity(value):
            found, dimension = magnitude_in_si(value)
            if dimension is not TIME:
                raise BadValueError(f"has units of [{TIME}] (s), but {shown(value)} has [{dimension}]")
            return found
        if isinstance(value, str):
            return read_seconds(value)
        if isinstance(value, list | tuple) and any([isinstance(v, str) for v in value]):
            return [read_seconds(v) for v in value]
    except ArmillaryError as error:
        raise ArmillaryError(about_value(name, error)) from None
    return value


def seconds(value: object, what: str, error: Error = ArmillaryError) -> float:
    """Return a time in seconds, which may be infinite, from a number or from text with a unit."""
    try:
        return real(in_seconds(what, value), what, error)
    except ArmillaryError as wrong:
        raise error(str(wrong)) from None


def number_and_unit(text: str) -> tuple[str, str]:
    """Return the number or arithmetic in a text, and the unit after it, or "" if there is no unit."""
    found = _NUMBER_AND_UNIT.match(text)
    if found is None or _ARITHMETIC.match(found[2]):
        found = re.match(_ARITHMETIC_AND_UNIT, text)
    return (found[1], found[2].strip()) if found is not None else (text, "")


def check_finite(value: float) -> float:
    """Return the value as a float; raise an error if it is not finite."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadValueError(f"is {number}; give a finite number")
    return number


def arithmetic(text: str, units: str = "") -> float:
    """Return the finite number that a text such as "pi/2" means; pi is the only name that it may contain."""
    if _NUMBER.fullmatch(text.strip()):
        return check_finite(float(text.replace("_", "")))
    wrong = BadValueError(f"needs a number, or text such as '{_example(units)}', not {shown(text)}")

    def name(word: str) -> Expr:
        if word != "pi":
            raise wrong
        return as_expr(math.pi)

    try:
        value = float(parse(text, name))
    except ArmillaryError:
        raise wrong from None
    return check_finite(value)


def _example(units: str) -> str:
    return f"2.5 {units}" if units and units != "-" else "2.5 deg"
