"""A five-bar and a clutch, whose runs change their configuration."""

from __future__ import annotations

from typing import Any

import armillary as arm

I1, I2, W1, W2 = 0.5, 0.3, 10.0, 2.0  # moments of inertia and speeds before the clutch bites


def clutch(**more: Any) -> arm.System:
    """Disc A on the ground and B on the same axis, turning on A; they grip at t = 1 and let go at t = 2."""
    s = arm.System("clutch")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, I1))
    B = s.body("B", A, arm.Revolute("z"), mass=1, inertia=(1, 1, I2))
    s.parameter("torque", 0.0, units="N*m", about="on B, from A")
    s.moment("motor", "torque", s.ground.z, on=B, reaction=A)
    s.event("grip", "t - 1", lock=B.q1, **more)
    s.event("release", "t - 2", unlock=B.q1)
    s.output("L", arm.dot(s.angular_momentum(), s.ground.z))
    s.output("energy", s.kinetic_energy())
    return s


def five_bar() -> arm.System:
    """Cranks A and C, links B and D on them, joined; C is caught at t = 0.1 and let go at t = 0.2."""
    s = arm.System("five-bar")
    bar = {"com": (0.15, 0, 0), "mass": 1.0, "inertia": (0, 0.01, 0.01)}
    A = s.body("A", joint=arm.Revolute("z"), at=(-0.1, 0, 0), **bar)
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), **bar)
    C = s.body("C", joint=arm.Revolute("z"), at=(0.1, 0, 0), **bar)
    D = s.body("D", C, arm.Revolute("z"), at=(0.3, 0, 0), **bar)
    s.close_loop(
        B.point("end", (0.4, 0, 0)), D.point("end", (0.4, 0, 0)), [s.ground.x, s.ground.y], name="pin"
    )
    s.start({"A.q1": 2.3, "B.q1": -1.3, "C.q1": 0.8, "D.q1": 1.3})
    s.event("catch", "t - 0.1", lock="C.q1")
    s.event("let go", "t - 0.2", unlock="C.q1")
    s.output("energy", s.kinetic_energy())
    return s
