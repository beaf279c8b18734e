"""Numbers inside expressions: finite, and whole numbers as ints where a double holds them exactly."""

from __future__ import annotations

import math

from armillary.errors import ExpressionError
from armillary.untyped import Given

NUMBERS = (int, float)  # for isinstance: a union is made again at every call
# Whole numbers below this are exact as doubles; beyond, Python's integers would grow without end.
_EXACT = 2**53


def whole(value: float) -> float:
    """The same value, as an int where that is exact, so that 2 and 2.0 are one node and print as 2."""
    if isinstance(value, int) and -_EXACT < value < _EXACT:
        return value
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ExpressionError(f"a number in an expression must be finite, not {value}")
    return int(value) if value.is_integer() and -_EXACT < value < _EXACT else value


def number_power(value: float, exponent: float) -> float:
    """value^exponent; an error where it is not a real, finite number."""
    if value == 0 and exponent < 0:
        raise ExpressionError("division by zero while making an expression")
    exact = isinstance(value, int) and abs(exponent) * value.bit_length() < 64
    try:
        result = value**exponent if exact else float(value) ** exponent
    except OverflowError:
        result = math.inf
    if isinstance(result, complex):
        raise ExpressionError(f"{value:g} to the power {exponent:g} is not a real number")
    return whole(result)


def positive_whole(value: object) -> int | None:
    """A positive whole number that a user gave, of 64 bits; None for whatever else."""
    number = None if isinstance(value, bool) else plain_float(value)
    return int(number) if number is not None and 1 <= number < 2**63 and number == int(number) else None


def plain_float(value: Given) -> float | None:
    """A number that a user gave, as a float; None for text, True, and whatever else is not a number."""
    if isinstance(value, str | bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
