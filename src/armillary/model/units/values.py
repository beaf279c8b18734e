"""Numbers as users write them, in Python, in files and on the command line: 55, "55 mile/hour", "pi/2"."""

from __future__ import annotations

import math
import re

from armillary.algebra.arguments import Error, real
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.parsing import parse
from armillary.algebra.units import TIME, Dimension, is_quantity, magnitude_in_si, parse_unit
from armillary.errors import ArmillaryError, ParameterError, shown
from armillary.model.units.unit_system import SYSTEMS, UnitSystem
from armillary.untyped import Given

_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_AND_UNIT = re.compile(rf"\s*({_NUMBER.pattern})\s*(.*)\Z", re.DOTALL)
# After a number, unlike a unit: an operator (but "-" alone is a unit), or another number.
_ARITHMETIC = re.compile(r"[*/+^]|-.|[\d.]+\Z")
_ARITHMETIC_AND_UNIT = re.compile(r"(.*(?:[\d.)]|pi))\s+([^\W\d_].*)\Z", re.DOTALL)  # "pi/18 rad"
_LONGEST = 200  # characters of a value; what is longer is not a number that somebody wrote


class BadValueError(ArmillaryError):
    """The error in a value, as the end of a sentence that begins with its name: "needs a number"."""


def read_number(value: object, units: str, system: UnitSystem, dimension: Dimension | None) -> float:
    """A value in ``units``, from a plain number in them or from text that may bring its own.

    Without ``units`` the quantity is in the model's own, and its dimension decides which texts fit; where
    that is not known either, any do. What follows a number is a unit, or else the whole is arithmetic.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadValueError(f"needs a number, or text such as '{_example(units)}', not {shown(value)}")
    if not isinstance(value, str):
        return finite(value)
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
    return finite(number if unit.text == units else number * unit.scale / scale)


def text_number(
    value: str,
    what: str,
    units: str,
    system: UnitSystem,
    dimension: Dimension | None = None,
    error: Error = ParameterError,
) -> float:
    """A number in ``units`` from a text such as "50 cm", which may bring units of its own; an error begins
    with ``what`` it is for.
    """
    try:
        return read_number(value, units, system, dimension)
    except ArmillaryError as wrong:
        raise error(about_value(what, wrong)) from None


def about_value(what: str, error: ArmillaryError) -> str:
    """The sentence of an error in reading a value, which begins with what the value is for."""
    return f"{what}{' ' if isinstance(error, BadValueError) else ': '}{error}"


def read_seconds(value: object) -> float:
    """A time: a plain number of seconds, or text with a unit, "10 ms"."""
    return read_number(value, "s", SYSTEMS["SI"], TIME)


def in_seconds(name: str, value: object) -> Given:
    """A time in text or with its unit (Pint), or several of them, as numbers of seconds, and all else as it
    is; ``name``: the argument.
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
    """A time in seconds, which may be infinite, from a number or from text with a unit."""
    try:
        return real(in_seconds(what, value), what, error)
    except ArmillaryError as wrong:
        raise error(str(wrong)) from None


def number_and_unit(text: str) -> tuple[str, str]:
    """The number or arithmetic in a text, and the unit after it; "" where there is none."""
    found = _NUMBER_AND_UNIT.match(text)
    if found is None or _ARITHMETIC.match(found[2]):
        found = _ARITHMETIC_AND_UNIT.match(text)
    return (found[1], found[2].strip()) if found is not None else (text, "")


def finite(value: float) -> float:
    """The value, if it is a finite number."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadValueError(f"is {number}; give a finite number")
    return number


def arithmetic(text: str, units: str = "") -> float:
    """The finite number that a text such as "pi/2" means; names other than pi mean nothing here."""
    if _NUMBER.fullmatch(text.strip()):
        return finite(float(text.replace("_", "")))
    wrong = BadValueError(f"needs a number, or text such as '{_example(units)}', not {shown(text)}")

    def name(word: str) -> Expr:
        if word != "pi":
            raise wrong
        return as_expr(math.pi)

    try:
        value = float(parse(text, name))
    except ArmillaryError:
        raise wrong from None
    return finite(value)


def _example(units: str) -> str:
    return f"2.5 {units}" if units and units != "-" else "2.5 deg"
