"""Bushings of six axes, leaf springs, and laws of force: proportional or by a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

# A law of force: a factor of proportion, or a function such as an `arm.Table`.
Law: TypeAlias = float | arm.Expr | Callable[[Scalar], Scalar]


class Bushing(NamedTuple):
    """A bushing: displacements of the inner point and force on it, in axes of the outer body, and power."""

    displacements: tuple[Scalar, ...]
    force: arm.Vector
    power: Scalar


def add_bushing(
    system: arm.System,
    name: str,
    inner: arm.Point,
    outer: arm.Point,
    *,
    stiffness: Sequence[Law],
    damping: Sequence[Law] = (0.0, 0.0, 0.0),
    torsion: Sequence[Law] = (0.0, 0.0, 0.0),
    torsion_damping: Sequence[Law] = (0.0, 0.0, 0.0),
) -> Bushing:
    """Add a bushing between points of two bodies: six springs and dampers along axes of the outer body.

    stiffness, damping          along x, y, z: N/m and N·s/m, or forces over displacement and speed
    torsion, torsion_damping    about x, y, z: N·m/rad and N·m·s/rad, or moments over angle and rate

    Angles are the components of ½ Σ eᵢ × e'ᵢ, the axis of the relative rotation times the sine of its angle.
    Forces act at the inner point on both bodies, so that they balance at any displacement. Axes of both
    bodies must be parallel at rest.
    """
    given = (stiffness, damping, torsion, torsion_damping)
    if any(len(values) != 3 for values in given):
        raise arm.ModelError(
            f"bushing '{name}': stiffness, damping, torsion and torsion_damping have three values"
        )
    body, seat = inner.body, outer.body
    line = arm.position(inner, outer)
    axes = (seat.x, seat.y, seat.z)
    force: Scalar = 0
    moment: Scalar = 0
    power: Scalar = 0
    displacements = []
    rotation = 0.5 * (arm.cross(seat.x, body.x) + arm.cross(seat.y, body.y) + arm.cross(seat.z, body.z))
    turning = arm.angular_velocity(body) - arm.angular_velocity(seat)
    moving = arm.velocity(inner) - arm.velocity(outer) - arm.cross(arm.angular_velocity(seat), line)
    for i, axis in enumerate(axes):
        letter = "xyz"[i]
        along, about = arm.dot(line, axis), arm.dot(rotation, axis)
        speed, rate = arm.dot(moving, axis), arm.dot(turning, axis)
        displacements.append(along)
        f = -apply_law(declare_law(system, f"{name}_k{letter}", stiffness[i], "N/m"), along)
        f = f - apply_law(declare_law(system, f"{name}_c{letter}", damping[i], "N*s/m"), speed)
        m = -apply_law(declare_law(system, f"{name}_kt{letter}", torsion[i], "N*m/rad"), about)
        m = m - apply_law(declare_law(system, f"{name}_ct{letter}", torsion_damping[i], "N*m*s/rad"), rate)
        force, moment, power = force + f * axis, moment + m * axis, power + f * speed + m * rate
    system.force_vector(f"{name}_force", force, at=inner, reaction=outer)
    offset = arm.cross(line, force)
    system.moment_vector(f"{name}_offset", -offset, on=seat)
    if any(value != 0 for value in (*torsion, *torsion_damping)):
        system.moment_vector(f"{name}_moment", moment, on=body, reaction=seat)
    return Bushing(tuple(displacements), force, power)


def apply_law(law: Law, x: Scalar) -> Scalar:
    """Return a law's value: a number times x, or a function of x."""
    return law(x) if callable(law) and not isinstance(law, arm.Expr) else law * x


def declare_law(system: arm.System, name: str, law: Law, units: str) -> Law:
    """Return a new parameter for a number; return zero, expressions and functions unchanged."""
    if callable(law) or isinstance(law, arm.Expr) or law == 0:
        return law
    return system.parameter(name, law, units=units)


# Leaf springs: a bushing of six axes between axle and chassis with the rates of a semi-elliptic pack. Symbols
# are explained in `LeafSpring`.
#
#     vertical   k = 8 E n b t³/(3 L³)        graduated leaves, load in the middle, ends on pins
#     wind-up    k L²/4                       about y: the halves bend in opposite directions
#     lateral    E t b³/(2 (L/2)³)            the main leaf bends on edge
#
# The axle is clamped in the middle of the pack. Along x the pack is rigid, so only the eye's bushing yields.
# Friction between the leaves is left out.


@dataclass(frozen=True)
class LeafSpring:
    """A pack of leaves, in metres.

    length        L between the eyes
    width         b
    thickness     t of one leaf
    leaves        n
    modulus       E, Pa
    longitudinal  rate of the eye's bushing along x, N/m
    damping       of the bushing in all directions, N·s/m
    """

    length: float
    width: float
    thickness: float
    leaves: int
    modulus: float = 206e9
    longitudinal: float = 4e6
    damping: float = 1500.0

    def __post_init__(self) -> None:
        numbers = (self.length, self.width, self.thickness, self.leaves, self.modulus, self.longitudinal)
        if not all(value > 0 for value in numbers):
            raise arm.ModelError("a leaf spring needs length, width, thickness, leaves and rates above zero")

    @property
    def vertical(self) -> float:
        """Vertical rate with the load in the middle, N/m."""
        return 8 * self.modulus * self.leaves * self.width * self.thickness**3 / (3 * self.length**3)

    @property
    def lateral(self) -> float:
        """Lateral rate, N/m."""
        return self.modulus * self.thickness * self.width**3 / (2 * (self.length / 2) ** 3)

    @property
    def wind_up(self) -> float:
        """Rate of the axle's rotation about y, N·m/rad, by one pack."""
        return self.vertical * self.length**2 / 4

    def add(
        self, system: arm.System, name: str, axle: arm.Point, chassis: arm.Point, preload: float
    ) -> Bushing:
        """Add the pack between its seat on the axle and the middle of its eyes; ``preload`` at rest in N."""
        rate = system.parameter(
            f"{name}_vertical", self.vertical, units="N/m", about="rate of the leaf spring"
        )
        load = system.parameter(
            f"{name}_preload", preload, units="N", about="force of the leaf spring at rest"
        )
        stiffness = (self.longitudinal, self.lateral, lambda z: rate * z + load)
        damping = (self.damping,) * 3
        return add_bushing(
            system, name, axle, chassis, stiffness=stiffness, damping=damping,
            torsion=(0.05 * self.wind_up, self.wind_up, 0.05 * self.wind_up),
            torsion_damping=(20.0, 20.0, 20.0),
        )  # fmt: skip
