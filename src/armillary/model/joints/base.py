"""The base class of all joints, and the steps that they are made of.

A joint makes coordinates and speeds, and gives its steps, in order from parent to child, and the rates of its
coordinates. A step starts from the frame left by the step before (the first step from the parent's axes at
the location of the joint) and leads to a new one. The mechanics handles these steps and nothing else, so a
new joint needs no new mechanics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from armillary.algebra import functions as fn
from armillary.algebra.arguments import flag, item_count, records_arguments
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.triples import (
    Matrix,
    Scalar,
    Triple,
    is_zero,
    joined,
    matrix_product,
    matrix_vector,
    product,
)
from armillary.algebra.units import LENGTH, ONE, RATE, SPEED, Dimension
from armillary.errors import ModelError
from armillary.untyped import Given


@dataclass(frozen=True, eq=False)
class Turn:
    """Rotation by ``angle`` about a unit ``axis`` that both frames share; the speed is the angle's rate."""

    axis: Triple
    angle: Expr
    speed: Expr


@dataclass(frozen=True, eq=False)
class Slide:
    """Translation by ``distance`` along a unit ``axis``; the speed is the distance's rate."""

    axis: Triple
    distance: Expr
    speed: Expr


@dataclass(frozen=True, eq=False)
class Tumble:
    """Rotation R with v_parent = R v_child; speeds are the relative angular velocity in the child's axes."""

    rotation: Matrix
    speeds: tuple[Expr, Expr, Expr]


@dataclass(frozen=True, eq=False)
class Drift:
    """Translation to ``position`` (parent axes) together with the rotation R.

    ``linear`` are the speeds of the child's origin, by axis number, in the axes that ``velocity`` names
    ("parent" or "body"); ``angular`` the components of the relative angular velocity in the child's axes.
    """

    position: Triple
    rotation: Matrix
    linear: dict[int, Expr]
    angular: dict[int, Expr]
    velocity: str
    chosen: bool = False  # the derivation may choose other states in place of the linear speeds


@dataclass(frozen=True, eq=False)
class Flexed:
    """Motion by the modes of a flexible body: of a node in the body, or of the body relative to a node.

    The origin moves to ``position`` (in the axes before the step), and the axes turn by R, with
    v_before = R v_after. A unit of a mode's speed gives the new axes the angular velocity ``turning`` and
    their origin the velocity ``moving``, both relative to the axes before and resolved in the new ones.
    ``turned`` and ``moved`` are the angular acceleration of the new axes and the acceleration of their origin
    at constant modal speeds.
    """

    flexible: str  # the flexible body's name
    position: Triple
    rotation: Matrix
    speeds: tuple[Expr, ...]
    turning: tuple[Triple, ...]
    moving: tuple[Triple, ...]
    turned: Triple
    moved: Triple
    axis: int | None = None  # if the rotation is about one coordinate axis, by ``angle``
    angle: Expr | None = None


Step = Turn | Slide | Tumble | Drift | Flexed


PLACES = ("first", "second", "third")
UNIT_AXES: dict[str, Triple] = {
    "x": (1, 0, 0),
    "y": (0, 1, 0),
    "z": (0, 0, 1),
    "-x": (-1, 0, 0),
    "-y": (0, -1, 0),
    "-z": (0, 0, -1),
}


@dataclass(frozen=True)
class Assembly:
    """A joint as built for one body: its steps and the rates q̇ = N(q) u of its coordinates, in order."""

    steps: tuple[Step, ...]
    rates: tuple[Expr, ...]
    quaternions: tuple[int, ...] = ()  # where groups of four Euler parameters start among the coordinates


@dataclass(frozen=True)
class Maker:
    """The maker of a joint's coordinates and speeds, with names and descriptions for the user."""

    body: str
    parent: str
    make: Callable[[str, Dimension, str, float], Expr]
    read: Callable[[object], Expr]
    orient: Matrix | None = None  # the body's fixed orientation, which comes after the joint's own rotation

    def coordinate(self, dimension: Dimension, about: str, initial: float = 0.0) -> Expr:
        return self.make("q", dimension, about, initial)

    def speed(self, dimension: Dimension, about: str) -> Expr:
        return self.make("u", dimension, about, 0.0)

    def distance(self, axis: str) -> Expr:
        return self.coordinate(LENGTH, f"displacement of {self.body} in {self.parent} along {axis}")

    def angle(self, axis: str, place: str = "") -> Expr:
        """Return an angle; if there are several, ``place`` is "first", "second" or "third"."""
        return self.coordinate(ONE, f"{self._turning('rotation', place)} about {axis}")

    def distance_rate(self, axis: str) -> Expr:
        return self.speed(SPEED, f"speed of {self.body} in {self.parent} along {axis}")

    def angle_rate(self, axis: str, place: str = "") -> Expr:
        return self.speed(RATE, f"{self._turning('rotation rate', place)} about {axis}")

    def _turning(self, noun: str, place: str) -> str:
        return (
            f"{place} {noun} of {self.body} in {self.parent},"
            if place
            else f"{noun} of {self.body} in {self.parent}"
        )

    def before_orient(self, components: Sequence[Scalar]) -> Sequence[Scalar]:
        """Return a vector given in the body's axes, resolved in the axes before the body's ``orient``."""
        return components if self.orient is None else matrix_vector(self.orient, components)


class JointType:
    """A kind of joint with its settings. ``assemble`` builds it for one body.

    ``small`` declares all its coordinates and speeds small.
    """

    coordinate_count: int = 0
    speed_count: int = 0
    small: bool = False

    def __init__(self, *, small: bool = False) -> None:
        self.small = flag(small, f"{type(self).__name__}: small=", ModelError)

    def __init_subclass__(cls) -> None:
        if "__init__" in cls.__dict__:
            records_arguments(cls)

    def assemble(self, maker: Maker) -> Assembly:
        """Return the joint's steps and rates, with coordinates and speeds made by ``maker``."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return one or two words for reports, e.g. ``revolute y``."""
        return type(self).__name__.lower()


def axis_name(axis: Given) -> str:
    """Return an axis as the user gave it, for names and messages."""
    return axis if isinstance(axis, str) else "(" + ", ".join(str(a) for a in axis) + ")"


def check_axis(axis: Given, joint: str) -> Given:
    """Return the axis if it is a letter or three values, not all zero; else raise an error with valid
    examples.
    """
    if isinstance(axis, str):
        if axis not in UNIT_AXES:
            raise ModelError(f"{joint}: axis '{axis}' is not one of 'x', 'y', 'z' or three numbers")
        return axis
    if item_count(axis) < 0:
        raise ModelError(f"{joint}: axis {axis!r} is not one of 'x', 'y', 'z' or three numbers")
    if len(axis) != 3:
        raise ModelError(f"{joint}: an axis has three components, not {len(axis)}")
    if all(isinstance(a, int | float) and a == 0 for a in axis):
        raise ModelError(
            f"{joint}: the axis (0, 0, 0) has no direction; give a nonzero one such as 'z' or (0, 0, 1)"
        )
    return tuple(axis)


def unit_axis(axis: Given, maker: Maker) -> Triple:
    """Return the axis as a unit triple of numbers or constant expressions."""
    if isinstance(axis, str):
        return UNIT_AXES[axis]
    values = [maker.read(a) for a in axis]
    if not all(v.constant for v in values):
        raise ModelError(
            f"joint of '{maker.body}': its axis {axis_name(axis)} varies; an axis must be constant"
        )
    largest = max((abs(float(v.data)) for v in values if v.kind == "number"), default=1.0)
    if all(v.kind == "number" for v in values) and largest and not 1e-100 < largest < 1e100:
        values = [number(float(v.data) / largest) for v in values]  # else squares would be zero or infinite
    length = fn.sqrt(sum((v * v for v in values), number(0)))
    if is_zero(length):
        raise ModelError(
            f"joint of '{maker.body}': its axis {axis_name(axis)} has no direction; give a nonzero one"
        )
    return joined(as_scalar(v / length) for v in values)


def perpendicular_triple(axis: Triple) -> Triple:
    """Return a unit triple perpendicular to a unit axis, without a division by zero for any axis.

    Source: Duff et al. (2017), Building an orthonormal basis, revisited.
    """
    x, y, z = (as_expr(a) for a in axis)
    sign = fn.select(z >= 0, 1, -1)
    a = -1 / (sign + z)
    return as_scalar(x * y * a), as_scalar(sign + y * y * a), as_scalar(-y)


def as_scalar(value: Expr) -> Scalar:
    """Return the float of a number, so that zeros and ones are recognised; return other expressions
    unchanged.
    """
    return value.data if value.kind == "number" else value


def axis_rotation(axis: Triple, angle: object) -> Matrix:
    """Return the rotation about a unit axis: R = c 1 + s k̃ + (1 − c) k kᵀ (Euler, Rodrigues), v_parent = R
    v_child.
    """
    c, s = fn.cos(angle), fn.sin(angle)
    for i in range(3):
        if axis[i] in (1, -1) and isinstance(axis[i], int | float):
            return principal_rotation(i, c, product(s, axis[i]))
    k = [number(a) if isinstance(a, int | float) else a for a in axis]
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            value = k[i] * k[j] * (1 - c) + (c if i == j else 0)
            if i != j:
                third = 3 - i - j
                turn = k[third] * s
                value = value - turn if (i, j) in ((0, 1), (1, 2), (2, 0)) else value + turn
            row.append(fn.named(value, "R"))
        rows.append(tuple(row))
    return joined(rows)


def principal_rotation(i: int, c: Scalar, s: Scalar) -> Matrix:
    """Return the rotation about coordinate axis i by the angle with this cosine and sine."""
    j, k = (i + 1) % 3, (i + 2) % 3
    rows: list[list[Scalar]] = [[0] * 3 for _ in range(3)]
    rows[i][i] = 1
    rows[j][j] = rows[k][k] = c
    rows[j][k], rows[k][j] = -s, s
    return joined(joined(row) for row in rows)


def sequence_rotation(sequence: str, angles: Sequence[object], name: str) -> Matrix:
    """Return the rotation by successive turns about body-fixed axes, e.g. "zyx"."""
    result: Matrix | None = None
    for letter, angle in zip(sequence, angles, strict=True):
        turn = axis_rotation(UNIT_AXES[letter], angle)
        result = turn if result is None else matrix_product(result, turn, name)
    assert result is not None
    return result


def check_sequence(sequence: str, lengths: tuple[int, ...], joint: str) -> str:
    """Return a sequence of axis letters without two equal neighbours; else raise an error with valid
    examples.
    """
    if (
        not isinstance(sequence, str)
        or len(sequence) not in lengths
        or any(letter not in UNIT_AXES for letter in sequence)
    ):
        wanted = " or ".join(str(n) for n in lengths)
        raise ModelError(f"{joint}: '{sequence}' is not a sequence of {wanted} of the letters x, y, z")
    if any(a == b for a, b in pairwise(sequence)):
        raise ModelError(
            f"{joint}: '{sequence}' turns twice in a row about the same axis; one of the two is redundant"
        )
    return sequence
