"""A small mechanism in which each mistake of a constraint can be made."""

from __future__ import annotations

import armillary as arm


class Model:
    """A chain A (revolute) – B (prismatic) – C (revolute), W welded to A, a ball S and a free body F."""

    def __init__(self) -> None:
        s = self.s = arm.System("model")
        one = (1, 1, 1)
        self.A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=one)
        self.B = s.body("B", self.A, arm.Prismatic("x"), mass=1, inertia=one)
        self.C = s.body("C", self.B, arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=one)
        self.W = s.body("W", self.A, at=(0, 1, 0), mass=1, inertia=0)
        self.S = s.body("S", joint=arm.Spherical(), mass=1, inertia=one)
        self.F = s.body("F", joint=arm.Free(velocity="body"), mass=1, inertia=one)
        s.parameter("L", 1.0, units="m")
        s.parameter("F0", 1.0, units="N")
        s.parameter("w", 1.0, units="rad/s")
        s.memory("mem", 0.5)
        s.gravity(9.81, -s.ground.y)
        self.O = arm.System("other").body("O", joint=arm.Revolute("x"), mass=1, inertia=0)
