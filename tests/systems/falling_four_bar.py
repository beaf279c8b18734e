"""A four-bar linkage of equal bars that falls."""

from __future__ import annotations

import armillary as arm


def four_bar() -> arm.System:
    s = arm.System("four-bar")
    bar = {"com": (0.5, 0, 0), "mass": 1, "inertia": (0.1, 0.1, 0.1)}
    crank = s.body("crank", joint=arm.Revolute("z"), **bar)
    rod = s.body("rod", parent=crank, at=(1, 0, 0), joint=arm.Revolute("z"), **bar)
    rocker = s.body("rocker", at=(2, 0, 0), joint=arm.Revolute("z"), **bar)
    s.close_loop(rod.point((1.2, 0, 0)), rocker.point((1.3, 0, 0)), [s.ground.x, s.ground.y], name="pin")
    s.gravity(9.81, -s.ground.y)
    return s
