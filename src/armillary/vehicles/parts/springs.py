"""Springs, dampers and stops between two seats, anti-roll bars, and bushings of six axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.suspensions.corner import Corner, Law, apply_law
from armillary.vehicles.tyres.tyre import Scalar, start_of_contact

STOP_WIDTH = 0.01  # metres in which a stop reaches its rate


class Stop(NamedTuple):
    """A stop of rubber: the travel between the seats at which it touches, and its rate."""

    clearance: Scalar  # m, from rest
    rate: Scalar  # N/m


class SpringDamper(NamedTuple):
    """A spring and a damper in one line: their force, length and powers."""

    force: Scalar  # pushes the seats apart, N
    length: Scalar
    spring_power: Scalar  # of spring and stops
    damper_power: Scalar

    @property
    def power(self) -> Scalar:
        """Power on the bodies, W."""
        return self.spring_power + self.damper_power


def add_spring_damper(
    system: arm.System,
    name: str,
    top: arm.Point,
    foot: arm.Point,
    *,
    preload: Scalar,
    spring: Law,
    damper: Law = 0.0,
    bump: Stop | None = None,
    rebound: Stop | None = None,
    length: Scalar | None = None,
) -> SpringDamper:
    """Add a spring with a damper and stops between two seats.

        F = preload + spring(x0 − x) + damper(−ẋ) + stops

    preload  force at the length x0, that at rest unless ``length`` gives it, N
    spring   N/m, or the force over the compression x0 − x, zero at zero
    damper   N·s/m, or the force over the speed of compression: an `arm.Table` of a test bench
    bump     stop under compression; ``rebound`` under extension
    """
    at_rest = _distance_at_rest(system, top, foot) if length is None else length
    x0 = system.parameter(f"{name}_x0", at_rest, units="m", about="length at which the preload acts")
    load = system.parameter(f"{name}_preload", preload, units="N", about="force of the spring at rest")
    stiffness = _declare(system, f"{name}_rate", spring, "N/m")
    damping = _declare(system, f"{name}_damping", damper, "N*s/m")
    stops = [
        (
            sign,
            system.parameter(f"{name}_{label}_clearance", stop.clearance, units="m"),
            system.parameter(f"{name}_{label}_rate", stop.rate, units="N/m"),
        )
        for stop, sign, label in ((bump, 1, "bump"), (rebound, -1, "rebound"))
        if stop is not None
    ]
    parts: list[Scalar] = []

    def law(x: Scalar, v: Scalar) -> Scalar:  # called again where the model is written as text
        compression = x0 - x
        elastic = load + apply_law(stiffness, compression)
        for sign, gap, rate in stops:
            elastic = elastic + sign * rate * start_of_contact(sign * compression - gap, STOP_WIDTH)[0]
        lossy = apply_law(damping, -v)
        parts[:] = [elastic + lossy, x, elastic * v, lossy * v]
        return elastic + lossy

    system.strut(name, law, between=(top, foot))
    return SpringDamper(*parts)


class Bar(NamedTuple):
    """An anti-roll bar."""

    force: Scalar  # on the left upright, up, N
    power: Scalar


def add_anti_roll_bar(system: arm.System, name: str, left: Corner, right: Corner, rate: Scalar) -> Bar:
    """Add an anti-roll bar: a force along z of the chassis in proportion to the difference of travels.

    rate  N/m at the wheels: force on each upright per difference of the travels; the roll stiffness of the
          axle is rate b², with the track b
    """
    stiffness = system.parameter(f"{name}_rate", rate, units="N/m", about="of the bar at the wheels")
    force = -stiffness * (left.travel - right.travel)
    for label, corner, value in (("left", left, force), ("right", right, -force)):
        system.force(
            f"{name}_{label}", value, corner.chassis.z, at=corner.upright.origin, reaction=corner.chassis
        )
    return Bar(force, force * (left.upright.u3 - right.upright.u3))


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
        f = -apply_law(_declare(system, f"{name}_k{letter}", stiffness[i], "N/m"), along)
        f = f - apply_law(_declare(system, f"{name}_c{letter}", damping[i], "N*s/m"), speed)
        m = -apply_law(_declare(system, f"{name}_kt{letter}", torsion[i], "N*m/rad"), about)
        m = m - apply_law(_declare(system, f"{name}_ct{letter}", torsion_damping[i], "N*m*s/rad"), rate)
        force, moment, power = force + f * axis, moment + m * axis, power + f * speed + m * rate
    system.force_vector(f"{name}_force", force, at=inner, reaction=outer)
    offset = arm.cross(line, force)
    system.moment_vector(f"{name}_offset", -offset, on=seat)
    if any(value != 0 for value in (*torsion, *torsion_damping)):
        system.moment_vector(f"{name}_moment", moment, on=body, reaction=seat)
    return Bushing(tuple(displacements), force, power)


def _declare(system: arm.System, name: str, law: Law, units: str) -> Law:
    """A parameter for a number; zero and functions stay."""
    if callable(law) or isinstance(law, arm.Expr) or law == 0:
        return law
    return system.parameter(name, law, units=units)


def _distance_at_rest(system: arm.System, p: arm.Point, q: arm.Point) -> float:
    from armillary.vehicles.suspensions.corner import rest_values

    return float(arm.evaluate(arm.magnitude(arm.position(p, q)), rest_values(system)))
