"""A crank and a five-bar whose coordinates are set by events."""

from __future__ import annotations

from functools import cache

import armillary as arm
from tests.export.configuration_cases import linked_bars


def crank(thrown: str = "A.u1") -> arm.System:
    """A slider-crank whose crank is put back whenever it reaches 1 rad, and a wheel that another event puts
    back then.
    """
    s = arm.System("slider crank")
    A = s.body("A", joint=arm.Revolute("z"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    B = s.body("B", A, arm.Revolute("z"), at=(0.4, 0, 0), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    C = s.body("C", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("W", joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.close_loop(B.point("end", (1.0, 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    s.event("back", A.q1 - 1.0, direction=1, set={"A.q1": "0.2 + 0.01*W.u1", thrown: "0.5*A.u1 + 5"})
    s.event("wound", A.q1 - 1.0, direction=1, set={"W.q1": 0.0})
    s.start({"A.q1": 0.5, "B.q1": -0.7, "C.q1": 1.3, "A.u1": 9.0, "W.u1": 2.0})
    return s


def five_bar() -> arm.System:
    """A five-bar linkage that exchanges dependent speeds, whose first crank is turned a little by a clock.
    The other one is caught for a while and must not move when loops are closed then.
    """
    s = linked_bars("five bar")
    s.memory("times", 0.0)
    s.event("turn", "sin(40*t + 0.1)", direction=1, set={"A.q1": "A.q1 + 0.05", "times": "times + t"})
    s.event("catch", "t - 0.05", direction=1, lock="C.q1")
    s.event("let go", "t - 0.5", direction=1, unlock="C.q1")
    s.start({"A.q1": 1.8, "B.q1": -0.8, "C.q1": 1.2, "D.q1": 0.9, "A.u1": -6.0})
    return s


@cache
def five_bar_equations() -> arm.Equations:
    return five_bar().derive()
