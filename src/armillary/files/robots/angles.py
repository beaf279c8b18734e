"""Angles whose digits spell a multiple of π/12.

Robot files write right angles as 1.57079632679 or 3.14159. The residues, 1e-12 to 1e-5, would turn constant
rotations that only exchange axes into full matrices, and double the operations of the equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from armillary.files.xml import Element

_STEP = math.pi / 12
_DIGITS = 5  # at least: 3.14 may mean 3.14
_TURNS = 24 * 4


def multiple_spelled(word: str) -> int | None:
    """k where a number in radians is k π/12, rounded or cut off after its last digit; None elsewhere."""
    try:
        written = Decimal(word)
    except InvalidOperation:
        return None
    sign_digits_exponent = written.as_tuple()
    exponent, value = sign_digits_exponent.exponent, float(written)
    if not isinstance(exponent, int) or len(sign_digits_exponent.digits) < _DIGITS or abs(value) > 100:
        return None
    k = round(value / _STEP)
    close = abs(value - k * _STEP) <= max(10.0**exponent, 4e-16 * abs(value))
    return k if close and k != 0 and abs(k) <= _TURNS else None


def read_angles(element: Element, key: str, count: int, default: list[float] | None = None) -> list[float]:
    """Angles in radians of an attribute; those that spell a multiple of π/12 are that multiple, unless
    ``take_angles_as_written``.
    """
    values = element.numbers(key, count, default)
    if not element.has(key) or element.literal:
        return values
    for i, word in enumerate(element.attributes[key].split()):
        if (k := multiple_spelled(word)) is not None and values[i] != k * _STEP:
            element.snapped.append((key, word, k))
            values[i] = k * _STEP
    return values


def take_angles_as_written(root: Element) -> None:
    """Have the angles of a file read to the digit, as other programs read them."""
    for element in _elements(root):
        element.literal = True


def snapped_angles(root: Element) -> str:
    """A sentence on the angles of a file that were read as multiples of π/12; "" where there are none."""
    found = [(e, *angle) for e in _elements(root) for angle in e.snapped]
    if not found:
        return ""
    shift = max(abs(float(word) - k * _STEP) for _, _, word, k in found)
    element, key, word, k = found[0]
    many = f"{len(found)} angles are" if len(found) > 1 else "an angle is"
    return (
        f"{many} read as the multiple of π/12 that the digits spell, by at most {shift:.1e} rad from what is "
        f"written: {key} {word} as {_in_pi(k)} in {element.where}; exact_angles=True takes them as written"
    )


def _in_pi(k: int) -> str:
    part = Fraction(abs(k), 12)
    top = "π" if part.numerator == 1 else f"{part.numerator} π"
    text = top if part.denominator == 1 else f"{top}/{part.denominator}"
    return f"−{text}" if k < 0 else text


def _elements(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack += reversed(element.children)
