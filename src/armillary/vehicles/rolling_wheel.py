"""A wheel that rolls at a given speed under a given load: a thin disc with a side force that lags.

    σ dFy/dt + |Vx| Fy = |Vx| F(α, γ),      α = atan2(Vsy, |Vx|)

For models of lateral motion at constant speed, where load transfer and longitudinal slip do not count. No
speed divides anything. `wheel.py` has the wheel that finds its load and its spin.
"""

from __future__ import annotations

from collections.abc import Sequence

import armillary as arm
from armillary.vehicles.tyres.tyre import Scalar, Tyre, size


def add_rolling_wheel(
    system: arm.System,
    name: str,
    parent: arm.Body,
    tyre: Tyre,
    *,
    load: Scalar,
    speed: Scalar,
    spin_inertia: Scalar = 0,
    at: Sequence[Scalar] = (0, 0, 0),
    outputs: bool = True,
) -> arm.Body:
    """Add a wheel of the tyre's radius that spins with ``speed``/radius, and return its body.

    The load acts at the contact, the lowest point of the disc, along z of the ground; so does the side force,
    which is a state ``name_fy``. Mass and the inertia across the axle belong to the parent.
    """
    ground = system.ground
    radius = tyre.free_radius
    body = system.body(
        name, parent, arm.Revolute("y"), at=at, mass=0, inertia=(0, spin_inertia, 0), check_inertia=False
    )
    body.shape(arm.Wheel(radius, 0.2 * radius))
    system.prescribe(body.u1, speed / radius)
    axle = parent.y
    sine = arm.dot(axle, ground.z)
    forward = arm.cross(axle, ground.z) / arm.sqrt(1 - sine * sine)
    left = arm.cross(ground.z, forward)
    lever = radius * arm.cross(axle, forward)
    hub = parent.point(*at)
    velocity = arm.velocity(hub) + arm.cross(arm.angular_velocity(parent), lever)
    ahead = size(arm.dot(velocity, forward))
    sideways = arm.dot(velocity, left)
    alpha, gamma = arm.atan2(sideways, ahead), arm.asin(sine)
    fy = system.state(f"{name}_fy", units="N", about="side force of the tyre")
    _, relaxation = tyre.relaxation_lengths(load)
    forces = tyre.forces(load, 0.0, alpha, gamma)
    system.rate(f"{name}_fy", ahead * (forces.fy - fy) / relaxation)
    force = fy * left + load * ground.z
    system.force_vector(f"{name}_force", force, at=hub)
    system.moment_vector(f"{name}_moment", arm.cross(lever, force) + forces.mz * ground.z, on=parent)
    if outputs:
        system.output(f"{name} alpha", alpha, units="deg")
        system.output(f"{name} gamma", gamma, units="deg")
    return body
