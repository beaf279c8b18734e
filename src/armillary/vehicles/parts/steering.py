"""Rack steering with a compliant column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar


class Rack(NamedTuple):
    """A rack: its body, whose axes and origin are the chassis', and what the column does on it."""

    body: arm.Body
    torque: Scalar  # of the column on the pinion, N·m
    power: Scalar


def add_rack(
    system: arm.System,
    name: str,
    chassis: arm.Body,
    *,
    angle: Scalar,
    at: Sequence[Scalar] = (0, 0, 0),
    pinion: float = 0.0075,
    mass: float = 3.0,
    column_stiffness: float = 400.0,
    column_damping: float = 2.0,
) -> Rack:
    """Add a rack that slides along y of the chassis, and a column between the wheel and its pinion.

        T = k (angle − y/r) − c ẏ/r        force on the rack T/r

    angle             of the steering wheel, positive to the left, rad
    at                its mass centre in the chassis' frame
    pinion            r, travel of the rack to the left per angle, m/rad: positive for a rack ahead of the
                      axle, negative for one behind it
    column_stiffness  of column, torsion bar and assistance together, N·m/rad; ``column_damping`` N·m·s/rad
    """
    if pinion == 0:
        raise arm.ModelError(f"rack '{name}': pinion=0 moves nothing; give the travel in m per rad")
    body = system.body(name, chassis, arm.Prismatic("y"), com=at, mass=mass, inertia=0)
    radius = system.parameter(f"{name}_pinion", pinion, units="m", about="travel of the rack per rad")
    stiffness = system.parameter(f"{name}_column_stiffness", column_stiffness, units="N*m")
    damping = system.parameter(f"{name}_column_damping", column_damping, units="N*m*s")
    torque = stiffness * (angle - body.q1 / radius) - damping * body.u1 / radius
    system.effort_on(body.q1, torque / radius, name=f"{name}_column")
    return Rack(body, torque, torque / radius * body.u1)
