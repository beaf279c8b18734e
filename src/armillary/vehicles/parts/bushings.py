"""Bushings of six axes, and laws of force: numbers in proportion, or functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar

# A number in proportion, or a function such as an `arm.Table`.
Law: TypeAlias = float | arm.Expr | Callable[[Scalar], Scalar]


class Bushing(NamedTuple):
    """A bushing: displacements of the inner point in the axes of the outer body."""

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

    Angles are the components of ½ Σ eᵢ × e'ᵢ, the axis of the relative rotation times its sine. Forces act
    at the inner point on both bodies, so that they are in balance however far it is displaced. Axes of
    both bodies must be parallel at rest.
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
    """Return a law's value: a number times x, or a function of it."""
    return law(x) if callable(law) and not isinstance(law, arm.Expr) else law * x


def declare_law(system: arm.System, name: str, law: Law, units: str) -> Law:
    """Return a parameter for a number; zero and functions stay."""
    if callable(law) or isinstance(law, arm.Expr) or law == 0:
        return law
    return system.parameter(name, law, units=units)
