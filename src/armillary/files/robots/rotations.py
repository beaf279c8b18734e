"""Rotations of robot files as matrices R with v_outer = R v_inner, and angles rounded from multiples of π/12.

Robot files write right angles as 1.57079632679 or 3.14159. The errors, 1e-12 to 1e-5, would turn constant
rotations that only exchange axes into full matrices, and double the operations of the equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from armillary.files.xml import Element

_STEP = math.pi / 12
_DIGITS = 5  # fewest digits of a rounded multiple; 3.14 may mean 3.14
_TURNS = 24 * 4  # largest multiple of π/12 that is recognised: four turns


def find_multiple(word: str) -> int | None:
    """Return k if a number in radians is k π/12, rounded or cut off after its last digit; else `None`."""
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
    """Return the angles of an attribute in radians.

    A rounded multiple of π/12 is replaced by the multiple, unless ``keep_written_angles`` marked the element.
    """
    values = element.numbers(key, count, default)
    if not element.has(key) or element.literal:
        return values
    for i, word in enumerate(element.attributes[key].split()):
        if (k := find_multiple(word)) is not None and values[i] != k * _STEP:
            element.snapped.append((key, word, k))
            values[i] = k * _STEP
    return values


def keep_written_angles(root: Element) -> None:
    """Mark the angles of a file to be read exactly as written, as other programs read them."""
    for element in _elements(root):
        element.literal = True


def snapped_angles(root: Element) -> str:
    """Return a sentence on the angles of a file that were read as multiples of π/12; "" if there
    are none.
    """
    found = [(e, *angle) for e in _elements(root) for angle in e.snapped]
    if not found:
        return ""
    shift = max(abs(float(word) - k * _STEP) for _, _, word, k in found)
    element, key, word, k = found[0]
    many = f"{len(found)} angles are" if len(found) > 1 else "an angle is"
    return (
        f"{many} read as k π/12 with a whole number k, at most {shift:.1e} rad from the number in the file: "
        f"{key} {word} as {_in_pi(k)} in {element.where}; exact_angles=True reads angles as written"
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


Array = np.ndarray

# Cosines of right angles are smaller than this; as zeros they vanish from the equations.
_ROUNDING = 1e-15
_CONVERGED = 1e-12


def rotation_about(axis: Sequence[float], angle: float) -> Array:
    """Return the rotation by an angle about a unit axis: R = c 1 + s k̃ + (1 − c) k kᵀ."""
    x, y, z = axis
    c, s = math.cos(angle), math.sin(angle)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return tidy(c * np.eye(3) + s * skew + (1 - c) * np.outer(axis, axis))


def roll_pitch_yaw(angles: Sequence[float]) -> Array:
    """Return the rotation of URDF's rpy, about fixed axes: R = R_z(yaw) R_y(pitch) R_x(roll)."""
    roll, pitch, yaw = angles
    return tidy(
        rotation_about((0, 0, 1), yaw) @ rotation_about((0, 1, 0), pitch) @ rotation_about((1, 0, 0), roll)
    )


def quaternion(values: Sequence[float]) -> Array:
    """Return the rotation of a quaternion w x y z of any length but zero."""
    length = math.hypot(*values)
    w, x, y, z = (v / length for v in values)
    return tidy(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    )


def to_quaternion(R: Array) -> list[float]:
    """Return the unit quaternion w x y z of a rotation, by its largest element (Shepperd 1978)."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    square = np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    )
    row = square[int(np.argmax(np.diag(square)))]
    found = row / np.linalg.norm(row)
    return [float(x) for x in (found if found[0] >= 0 else -found)]


def euler(angles: Sequence[float], sequence: str) -> Array:
    """Return the rotation by three turns: about body-fixed axes for small letters, fixed for capitals."""
    R = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        turn = rotation_about(np.eye(3)["xyz".index(letter.lower())].tolist(), angle)
        R = R @ turn if letter.islower() else turn @ R
    return tidy(R)


def from_z(direction: Sequence[float]) -> Array:
    """Return the shortest rotation that takes z to a direction; to −z it is about x."""
    z = unit_vector(direction)
    axis = np.cross((0, 0, 1), z)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        return np.eye(3) if z[2] > 0 else rotation_about((1, 0, 0), math.pi)
    return rotation_about((axis / sine).tolist(), math.atan2(sine, z[2]))


def from_xy(values: Sequence[float]) -> Array | None:
    """Return the rotation with this x axis, and y made perpendicular to it; `None` if they are parallel."""
    x, y = np.array(values[:3]), np.array(values[3:])
    if np.linalg.norm(x) < 1e-14:
        return None
    x = x / np.linalg.norm(x)
    y = y - (x @ y) * x
    if np.linalg.norm(y) < 1e-14:
        return None
    y = y / np.linalg.norm(y)
    return tidy(np.stack([x, y, np.cross(x, y)], axis=1))


def unit_vector(vector: Sequence[float]) -> Array:
    """Return a vector of length one in its direction."""
    array = np.array(vector, float)
    return tidy(array / np.linalg.norm(array))


def principal_axes(inertia: Array) -> Array:
    """Return axes (columns) along which an inertia is diagonal, the largest moment first, as MuJoCo does.

    The method is Jacobi's. Each turn removes the largest element off the diagonal; it is about the axis
    perpendicular to the two axes of this element. Then turns by right angles exchange axes. The coordinates
    of an aligned body depend on the choice among equivalent triads, so the order of the turns is MuJoCo's
    (``mju_eig3``).
    """
    R = np.eye(3)
    for _ in range(500):
        D = R.T @ inertia @ R
        row, column = max(((1, 2), (0, 2), (0, 1)), key=lambda pair: abs(D[pair]))
        if abs(D[row, column]) < _CONVERGED:
            break
        tau = (D[column, column] - D[row, row]) / (2 * D[row, column])
        t = (1.0 if tau >= 0 else -1.0) / (abs(tau) + math.hypot(1.0, tau))
        angle = math.atan(t)
        if math.cos(angle) > 1.0 - _CONVERGED:
            break
        axis = 3 - row - column
        R = R @ rotation_about(np.eye(3)[axis].tolist(), angle if axis == 1 else -angle)
    moments = np.diag(R.T @ inertia @ R).copy()
    for first in (0, 1, 0):
        if moments[first] + _CONVERGED < moments[first + 1]:
            moments[[first, first + 1]] = moments[[first + 1, first]]
            R = R @ rotation_about(np.eye(3)[(first + 2) % 3].tolist(), math.pi / 2)
    return tidy(R)


def tidy(values: Array) -> Array:
    """Return the values; those that differ from a whole number by rounding only become this number."""
    near = np.round(values)
    return np.where(np.abs(values - near) < _ROUNDING, near, values) + 0.0


def is_identity(R: Array) -> bool:
    """Return whether a rotation of tidy values is the identity."""
    return bool(np.array_equal(R, np.eye(3)))
