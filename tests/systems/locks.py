"""Discs and motors that events lock."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.model import Model

INERTIA = (0.01, 0.01, 0.01)


@cache
def two_motors() -> Model:
    """Both cranks of a parallelogram are driven; the second runs away from 5 s on."""
    s = arm.System("two motors")
    N = s.ground
    crank = {"com": (0.15, 0, 0), "mass": 1, "inertia": INERTIA}
    A = s.body("A", joint=arm.Revolute("z"), **crank)
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), com=(0.5, 0, 0), mass=1, inertia=INERTIA)
    C = s.body("C", joint=arm.Revolute("z"), at=(1, 0, 0), **crank)
    s.body("D", joint=arm.Revolute("z"), mass=1, inertia=INERTIA)  # so that something is left to move
    s.parameter("w", 1.0, units="1/s")
    s.parameter("r", 0.1, units="1/s2")
    s.close_loop(B.point("e", (1, 0, 0)), C.point("e", (0.3, 0, 0)), [N.x, N.y], name="pin")
    s.prescribe("A.q1", "1.0 + 0.2*sin(w*t)")
    s.prescribe("C.q1", "1.0 + 0.2*sin(w*t) + r*max(t - 5, 0)*max(t - 5, 0)")
    s.start({"B.q1": -1.0})
    equations = s.derive()
    assert len(equations.redundant_constraints) == 1
    return equations.compile()


def discs() -> arm.System:
    """Disc B turns on disc A, each with inertia 1: M = [[2, 1], [1, 1]]."""
    s = arm.System("discs")
    A = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=(1, 1, 1))
    s.body("B", A, arm.Revolute("z"), mass=0, inertia=(1, 1, 1))
    return s


@cache
def locking() -> Model:
    s = discs()
    s.event("grip", "t - 0.3", lock="B.q1")
    return s.derive().compile()
