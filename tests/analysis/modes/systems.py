"""Systems whose modes are known in closed form, each compiled once."""

from __future__ import annotations

from functools import cache
from typing import Any

import armillary as arm
from armillary.verification.rows import equations


@cache
def chain(count: int, *, walls: bool, damping: float = 0.0) -> Any:
    """Masses m on a line, with springs k and dampers between neighbours and, with walls, at both ends."""
    s = arm.System("chain")
    s.parameter("m", 2.0, units="kg")
    s.parameter("k", 8.0, units="N/m")
    s.parameter("c", damping, units="N*s/m")
    x = s.ground.x
    bodies = [s.body(f"b{i}", joint=arm.Prismatic("x"), mass="m", inertia=0) for i in range(1, count + 1)]
    for i, b in enumerate(bodies):
        before = bodies[i - 1] if i else None
        if before is not None or walls:
            stretch, rate = (b.q1 - before.q1, b.u1 - before.u1) if before else (b.q1, b.u1)
            reaction = before.origin if before else None
            force = -s.parameters["k"] * stretch - s.parameters["c"] * rate
            s.force(f"spring{i}", force, x, at=b.origin, reaction=reaction)
    if walls:
        last = bodies[-1]
        force = -s.parameters["k"] * last.q1 - s.parameters["c"] * last.u1
        s.force(f"spring{count}", force, x, at=last.origin)
    return s.derive().compile()


def double_pendulum(formalism: str = "auto") -> Any:
    """Two point masses of 1 kg on massless rods of 1 m."""
    s = arm.System("double pendulum")
    A = s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    s.body("B", A, arm.Revolute("z"), at=(0, -1, 0), com=(0, -1, 0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    return s.derive(formalism).compile()


@cache
def pendulum(formalism: str = "auto") -> Any:
    return double_pendulum(formalism)


@cache
def bicycle() -> Any:
    return equations("bicycle").compile()


@cache
def single_track() -> Any:
    """The car with one wheel at each axle: side speed and yaw rate at a given forward speed."""
    s = arm.System("single-track car")
    values = {"V": 20.0, "m": 1200.0, "J": 1500.0, "a": 1.3, "b": 1.2, "Cf": 80e3, "Cr": 60e3}
    for name, value in values.items():
        s.parameter(name, value)
    car = s.body("car", joint=arm.Planar("z", velocity="body"), mass="m", inertia=(0, "J", "J"))
    s.prescribe(car.u1, "V")
    for wheel, place, slip in (("f", "a", "car.u2 + a*car.u3"), ("r", "-b", "car.u2 - b*car.u3")):
        s.force(f"tyre_{wheel}", f"-C{wheel}*({slip})/V", car.y, at=car.point((place, 0, 0)))
    return s.derive().compile()


@cache
def ziegler() -> Any:
    """Ziegler's column: two rods with masses 2 and 1 on springs, and a thrust P along the second rod."""
    s = arm.System("Ziegler's column")
    s.parameter("P", 1.0)
    s.parameter("c", 0.0)
    A = s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=2.0, inertia=0)
    B = s.body("B", A, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1.0, inertia=0)
    s.moment("foot", "-A.q1 - c*A.u1", s.ground.z, on=A)
    s.moment("knee", "-B.q1 - c*B.u1", s.ground.z, on=B, reaction=A)
    s.force("thrust", "-P", B.x, at=B.com)
    return s.derive().compile()
