"""Springs, dampers and stops between two seats, and anti-roll bars."""

from __future__ import annotations

from typing import NamedTuple

import armillary as arm
from armillary.vehicles.parts.bushings import Law, apply_law, declare_law
from armillary.vehicles.suspensions.corner import Corner
from armillary.vehicles.tyres.tyre import Scalar, start_of_contact

STOP_WIDTH = 0.01  # m of compression over which a stop's stiffness rises to its rate


class Stop(NamedTuple):
    """A stop of rubber: the change of the seats' distance at which it touches, and its rate."""

    clearance: Scalar  # m, from rest
    rate: Scalar  # N/m


class SpringDamper(NamedTuple):
    """A spring and a damper on one line: their force, length and powers."""

    force: Scalar  # pushes the seats apart, N
    length: Scalar
    spring_power: Scalar  # of spring and stops, W
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

    preload  force at the length x0, N; x0 is ``length``, or the distance of the seats at rest
    spring   N/m, or a function: the force over the compression x0 − x, zero at zero
    damper   N·s/m, or a function: the force over the speed of compression, such as an `arm.Table`
    bump     stop under compression; ``rebound`` under extension
    """
    at_rest = _distance_at_rest(system, top, foot) if length is None else length
    x0 = system.parameter(f"{name}_x0", at_rest, units="m", about="length at which the preload acts")
    load = system.parameter(f"{name}_preload", preload, units="N", about="force of the spring at rest")
    stiffness = declare_law(system, f"{name}_rate", spring, "N/m")
    damping = declare_law(system, f"{name}_damping", damper, "N*s/m")
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

    def law(x: Scalar, v: Scalar) -> Scalar:  # called again when the model is written as text
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


def _distance_at_rest(system: arm.System, p: arm.Point, q: arm.Point) -> float:
    from armillary.vehicles.suspensions.corner import rest_values

    return float(arm.evaluate(arm.magnitude(arm.position(p, q)), rest_values(system)))
