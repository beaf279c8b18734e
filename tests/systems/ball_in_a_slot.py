"""A ball in a slot whose radius decides about thresholds."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.model import Model

SMALL, LARGE = 0.109, 1.0  # radii: a bowling ball's, and nine times that


@cache
def ball(radius: float) -> Model:
    """A ball that rolls on a plane with its centre above the curve y = sin(k x)/k.

    Its velocities are in body axes, which turn with it, so dependent speeds are exchanged again and again.
    """
    s = arm.System("ball in a slot")
    m, a = s.parameter("m", 7.0, units="kg"), s.parameter("a", radius, units="m")
    k = s.parameter("k", 2.0, units="1/m")
    body = s.body("ball", joint=arm.Free("quaternion", "body"), mass=m, inertia=[0.4 * m * a * a] * 3)
    N = s.ground
    s.gravity(9.81, -N.z)
    slip = arm.velocity(body) + arm.cross(arm.angular_velocity(body), -a * N.z)
    x, y, z = (arm.dot(arm.position(body.origin), axis) for axis in (N.x, N.y, N.z))
    s.constrain(z - a, name="touches")
    s.constrain(arm.dot(slip, N.x), name="no slip x")
    s.constrain(arm.dot(slip, N.y), name="no slip y")
    s.constrain(arm.sin(k * x) / k - y, name="slot")
    s.output("kinetic energy", s.kinetic_energy())
    return s.derive().compile()
