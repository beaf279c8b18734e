"""Air: drag, side force, lift and yaw moment of a vehicle's body."""

from __future__ import annotations

from typing import NamedTuple

import armillary as arm
from armillary.vehicles.tyres.tyre import TINY, Scalar


class Air(NamedTuple):
    """Forces of the air on a body."""

    force: arm.Vector
    power: Scalar


def add_air(
    system: arm.System,
    name: str,
    body: arm.Body,
    at: arm.Point,
    *,
    drag: float,
    side: float = 0.0,
    lift: float = 0.0,
    yaw: float = 0.0,
    density: float = 1.204,
    wind: arm.Vector | None = None,
) -> Air:
    """Add the forces of the air at a point of a body, by the velocity v against the air in body axes.

        F = −½ ρ |v| (drag vx, side vy, −lift |v|)        Mz = −½ ρ |v| yaw vy

    drag, side, lift  coefficients times the area, m²; lift is negative for downforce
    yaw               coefficient times area and length, m³
    wind              velocity of the air, such as ``-5*system.ground.y`` (times m/s)
    """
    half = system.parameter(f"{name}_density", density, units="kg/m3", about="of the air") / 2
    speed = arm.velocity(at) if wind is None else arm.velocity(at) - wind
    vx, vy, vz = (arm.dot(speed, axis) for axis in (body.x, body.y, body.z))
    size = arm.sqrt(vx * vx + vy * vy + vz * vz + TINY)
    areas = {
        label: system.parameter(f"{name}_{label}", value, units="m2")
        for label, value in (("drag", drag), ("side", side), ("lift", lift))
        if value
    }
    force = -half * size * areas["drag"] * vx * body.x if drag else 0 * body.x
    if side:
        force = force - half * size * areas["side"] * vy * body.y
    if lift:
        force = force + half * size * size * areas["lift"] * body.z
    if drag or side or lift:
        system.force_vector(f"{name}_force", force, at=at)
    power = arm.dot(force, arm.velocity(at))
    if yaw:
        volume = system.parameter(f"{name}_yaw", yaw, units="m3")
        moment = -half * size * volume * vy
        system.moment(f"{name}_yaw_moment", moment, body.z, on=body)
        power = power + moment * arm.dot(arm.angular_velocity(body), body.z)
    return Air(force, power)
