"""Joints whose angular speeds are not coordinate rates: the ball joint and the free body.

Euler parameters are (e0, e1, e2, e3), scalar first, with e = (e1, e2, e3). R converts components in the
child's axes to components in the parent's axes; ω is in the child's axes:

    R = (e0² − eᵀe) 1 + 2 e eᵀ + 2 e0 ẽ          (ė0, ė) = ½ ( −eᵀω, e0 ω + e × ω )
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from armillary.algebra import functions as fn
from armillary.algebra.expression import HALF, TWO, Expr, as_expr
from armillary.algebra.triples import Matrix, Scalar, joined, matrix_vector, product
from armillary.algebra.units import ONE, RATE, SPEED
from armillary.errors import ModelError
from armillary.model.joints.base import (
    PLACES,
    Assembly,
    Drift,
    JointType,
    Maker,
    Tumble,
    check_sequence,
    principal_rotation,
    sequence_rotation,
)
from armillary.model.reading.kinds import FLAG, WORDS, Either, Flag, choice

_Rotation = Annotated[str, Either((WORDS, FLAG), 'how it turns, such as "quaternion" or "zyx", or true')]
_Velocity = Annotated[str, choice("parent", "body", "auto")]


def quaternion_rotation(e: Sequence[object], name: str) -> Matrix:
    """Return R with v_parent = R v_child for unit Euler parameters, by 10 products and 12 sums.

    The diagonal is written as 1 − 2(e₂² + e₃²) and so on, which is exact only for unit length; the
    integrators keep the Euler parameters at unit length.
    """
    e0, e1, e2, e3 = e
    d1, d2, d3 = (fn.named(TWO * x, f"{name}_2e{i}") for i, x in ((1, e1), (2, e2), (3, e3)))
    xx, yy, zz = (fn.named(a * b, f"{name}_ee") for a, b in ((e1, d1), (e2, d2), (e3, d3)))
    xy, xz, yz = (fn.named(a * b, f"{name}_ee") for a, b in ((e1, d2), (e1, d3), (e2, d3)))
    wx, wy, wz = (fn.named(e0 * d, f"{name}_ee") for d in (d1, d2, d3))
    rows = ((1 - yy - zz, xy - wz, xz + wy), (xy + wz, 1 - xx - zz, yz - wx), (xz - wy, yz + wx, 1 - xx - yy))
    return joined(joined(fn.named(x, f"R_{name}") for x in row) for row in rows)


def euler_parameters(R: Matrix) -> list[Expr]:
    """Return the unit Euler parameters of a rotation, scalar first.

    With all four parameters as the vector e, R gives the symmetric matrix 4 e eᵀ. The row with the largest
    diagonal element, scaled to unit length, is e; its length is never small. Source: Shepperd (1978),
    Quaternion from rotation matrix.
    """
    (a, b, c), (d, f, g), (h, i, j) = (tuple(as_expr(x) for x in row) for row in R)
    square = (
        (1 + a + f + j, i - g, c - h, d - b),
        (i - g, 1 + a - f - j, b + d, c + h),
        (c - h, b + d, 1 - a + f - j, g + i),
        (d - b, c + h, g + i, 1 - a - f + j),
    )
    largest, chosen = square[0][0], list(square[0])
    for k in (1, 2, 3):
        larger = as_expr(square[k][k]) > largest
        chosen = [fn.select(larger, new, old) for new, old in zip(square[k], chosen, strict=True)]
        largest = fn.maximum(square[k][k], largest)
    length = fn.named(fn.sqrt(sum((x * x for x in chosen), as_expr(0))), "length")
    return [x / length for x in chosen]


def quaternion_rates(e: Sequence[object], w: Sequence[object]) -> tuple[Scalar, ...]:
    """Return the rates of four Euler parameters e for the angular velocity w in the child's axes."""
    e0, e1, e2, e3 = e
    x, y, z = (fn.named(HALF * wi, "half_w") for wi in w)
    return (
        -(e1 * x + e2 * y + e3 * z),
        e0 * x + e2 * z - e3 * y,
        e0 * y + e3 * x - e1 * z,
        e0 * z + e1 * y - e2 * x,
    )


def sequence_rates(
    sequence: str, angles: Sequence[Scalar], w: Sequence[Scalar]
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the rates of three body-fixed angles for the angular velocity w in the child's axes.

    Let w' = R₃ w be the angular velocity in the axes before the last turn. The second rate is the component
    of w' along the second axis. The component perpendicular to the second and third axes comes from the first
    turn alone and gives the first rate. The third rate is what remains along the third axis.
    """
    a1, a2, a3 = ("xyz".index(letter) for letter in sequence)
    other = 3 - a1 - a2
    c2, s2 = fn.cos(angles[1]), fn.sin(angles[1])
    turned = matrix_vector(principal_rotation(a3, fn.cos(angles[2]), fn.sin(angles[2])), w)
    # the first axis a₁ in the axes after the second turn: c₂ a₁ + σ s₂ a_other
    sigma = 1 if (a2, a1, other) in ((0, 2, 1), (1, 0, 2), (2, 1, 0)) else -1
    second = turned[a2]
    if a3 == a1:
        first = fn.named(product(turned[other], sigma) / s2, "angle_rate")
        return first, second, turned[a1] - c2 * first
    first = fn.named(turned[a1] / c2, "angle_rate")
    return first, second, turned[other] - product(s2, sigma) * first


def _orientation(
    rotation: str, maker: Maker, angular: Sequence[Expr]
) -> tuple[Matrix, tuple[Expr, ...], list[Expr]]:
    """Return R, the rates of the rotational coordinates and the coordinates: Euler parameters or angles."""
    w = maker.before_orient(angular)
    if rotation == "quaternion":
        text = f"Euler parameter %d of {maker.body} in {maker.parent}"
        e = [maker.coordinate(ONE, text % i, 1.0 if i == 0 else 0.0) for i in range(4)]
        return quaternion_rotation(e, maker.body), tuple(map(as_expr, quaternion_rates(e, w))), e
    angles = [maker.angle(letter, place) for letter, place in zip(rotation, PLACES, strict=True)]
    return (
        sequence_rotation(rotation, angles, f"R_{maker.body}"),
        tuple(map(as_expr, sequence_rates(rotation, angles, w))),
        angles,
    )


def _check_rotation(rotation: str, joint: str) -> str:
    quaternion = isinstance(rotation, str) and rotation == "quaternion"
    return rotation if quaternion else check_sequence(rotation, (3,), f"{joint}(rotation=…)")


def _spins(maker: Maker) -> list[Expr]:
    return [
        maker.speed(RATE, f"angular velocity of {maker.body} in {maker.parent} along its own {a}")
        for a in "xyz"
    ]


class Spherical(JointType):
    """A ball joint; speeds are the relative angular velocity in the child's axes."""

    speed_count = 3

    def __init__(self, rotation: _Rotation = "quaternion", *, small: Flag = False) -> None:
        super().__init__(small=small)
        self.rotation = _check_rotation(rotation, "Spherical")
        self.coordinate_count = 4 if rotation == "quaternion" else 3

    def assemble(self, maker: Maker) -> Assembly:
        w = _spins(maker)
        R, rates, _ = _orientation(self.rotation, maker, w)
        return Assembly(
            (Tumble(R, (w[0], w[1], w[2])),), rates, (0,) if self.rotation == "quaternion" else ()
        )

    def describe(self) -> str:
        return f"spherical {self.rotation}"


class Free(JointType):
    """No joint at all: six degrees of freedom.

    The coordinates are the position of the origin in the parent's axes, then Euler parameters (scalar first)
    or three angles. The speeds are the velocity of the origin, in the parent's axes or, with velocity="body",
    in the child's axes; then the angular velocity in the child's axes. With velocity="auto" the speeds are
    components in the parent's axes, but runs may integrate other variables: the derivation chooses the
    velocity of the origin or of the mass centre of the body with all bodies on it, in the parent's or the
    child's axes, whichever costs least.
    """

    speed_count = 6

    def __init__(
        self, rotation: _Rotation = "quaternion", velocity: _Velocity = "parent", *, small: Flag = False
    ) -> None:
        super().__init__(small=small)
        self.rotation = _check_rotation(rotation, "Free")
        if not isinstance(velocity, str) or velocity not in ("parent", "body", "auto"):
            raise ModelError(f"Free: velocity='{velocity}' is neither 'parent', 'body' nor 'auto'")
        self.velocity = velocity
        self.coordinate_count = 7 if rotation == "quaternion" else 6

    def assemble(self, maker: Maker) -> Assembly:
        p = [maker.distance(axis) for axis in "xyz"]
        owner = "its own " if self.velocity == "body" else ""
        text = f"velocity of {maker.body}'s origin in {maker.parent} along {owner}"
        v = [maker.speed(SPEED, text + axis) for axis in "xyz"]
        w = _spins(maker)
        R, turning, _ = _orientation(self.rotation, maker, w)
        axes, chosen = ("parent", True) if self.velocity == "auto" else (self.velocity, False)
        drift = (
            tuple(v) if axes == "parent" else tuple(map(as_expr, matrix_vector(R, maker.before_orient(v))))
        )
        step = Drift((p[0], p[1], p[2]), R, dict(enumerate(v)), dict(enumerate(w)), axes, chosen)
        return Assembly((step,), (*drift, *turning), (3,) if self.rotation == "quaternion" else ())

    def describe(self) -> str:
        # These are the axes of the speeds, not of the variables that runs integrate.
        axes = "parent" if self.velocity == "auto" else self.velocity
        return f"free {self.rotation}, velocity in {axes} axes"
