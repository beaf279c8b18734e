"""Parts of the chassis: rack steering with a compliant column, the air, and the balance of energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.tyres.tyre import TINY, Scalar


class Rack(NamedTuple):
    """A rack: its body with the axes and origin of the chassis, and the column's torque and power on it."""

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
    """Add a rack that slides along y of the chassis, driven through a compliant column and its pinion.

        T = k (angle − y/r) − c ẏ/r        force on the rack T/r

    angle             of the steering wheel, positive to the left, rad
    at                mass centre of the rack in the chassis' frame
    pinion            r, travel of the rack to the left per angle, m/rad: positive for a rack ahead of the
                      axle, negative for one behind it
    column_stiffness  of column, torsion bar and assistance together, N·m/rad; ``column_damping`` N·m·s/rad
    """
    if pinion == 0:
        raise arm.ModelError(f"rack '{name}': pinion=0 moves nothing; give the travel in m per rad")
    require_numbers(
        f"rack '{name}'", positive={"column_stiffness": column_stiffness, "mass": mass},
        not_negative={"column_damping": column_damping}, signed={"pinion": pinion},
    )  # fmt: skip
    body = system.body(name, chassis, arm.Prismatic("y"), com=at, mass=mass, inertia=0)
    radius = system.parameter(f"{name}_pinion", pinion, units="m", about="travel of the rack per rad")
    stiffness = system.parameter(f"{name}_column_stiffness", column_stiffness, units="N*m")
    damping = system.parameter(f"{name}_column_damping", column_damping, units="N*m*s")
    torque = stiffness * (angle - body.q1 / radius) - damping * body.u1 / radius
    system.effort_on(body.q1, torque / radius, name=f"{name}_column")
    return Rack(body, torque, torque / radius * body.u1)


# Air: drag, side force, lift and yaw moment of a vehicle's body.


class Air(NamedTuple):
    """The force of the air on a body, and the power of force and yaw moment."""

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
    """Add the forces of the air at a point of a body, for the point's velocity v in the air, in body axes.

        F = −½ ρ |v| (drag vx, side vy, −lift |v|)        Mz = −½ ρ |v| yaw vy

    drag, side, lift  coefficients times the area, m²; lift is negative for downforce
    yaw               coefficient times area and length, m³
    wind              velocity of the air as a vector in m/s, such as ``-5*system.ground.y``
    """
    require_numbers(
        f"air '{name}'", positive={"density": density}, not_negative={"drag": drag, "side": side},
        signed={"lift": lift, "yaw": yaw},
    )  # fmt: skip
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


# The balance of energy: work of all loads but gravity, by kind, against kinetic and potential energy.


ENERGY = "energy of motion and height"


def add_energy_balance(system: arm.System, powers: Mapping[str, Scalar]) -> None:
    """Add the work of each kind of load as a state "work_KIND", and the mechanical energy as an output.

    powers  power on the bodies of each kind of load, W; together the kinds must be all loads but gravity
    """
    for kind, power in powers.items():
        label = f"work_{kind.replace(' ', '_')}"
        system.state(label, units="J", about=f"of {kind} on the vehicle")
        system.rate(label, power)
    system.output(ENERGY, system.kinetic_energy() + system.potential_energy(), units="J")


def energy_error(run: arm.Run, powers: Mapping[str, Scalar]) -> float:
    """Return the largest error of the balance over a run, relative to the energy exchanged.

    |E − E(0) − Σ W| / Σ max |W|
    """
    energy = np.asarray(run[ENERGY])
    works = [np.asarray(run[f"work_{kind.replace(' ', '_')}"]) for kind in powers]
    error = energy - energy[0] - sum(work - work[0] for work in works)
    exchanged = sum(float(np.max(np.abs(work - work[0]))) for work in works)
    return float(np.max(np.abs(error)) / exchanged)
