"""Mechanisms that the tests of kinematics share, each compiled once."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.model import Model

CRANK, ROD = 0.3, 0.9  # m
LINKS = (0.3, 0.9, 0.6, 1.0)  # crank, coupler, rocker, ground
UNIT = (1, 1, 1)


@cache
def slider_crank() -> Model:
    s = arm.System("slider-crank")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    rod = s.body("rod", crank, arm.Revolute("z"), at=(CRANK, 0, 0), mass=1, inertia=UNIT)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=UNIT)
    s.close_loop(rod.point((ROD, 0, 0)), slider.origin, [s.ground.x, s.ground.y])
    s.start({"crank.q1": 0.5, "rod.q1": -0.7, "slider.q1": 1.1})
    s.output("stroke", arm.dot(arm.position(slider.origin), s.ground.x), units="mm")
    s.output("speed", arm.dot(arm.velocity(slider.origin), s.ground.x), units="m/s")
    return s.derive().compile()


@cache
def four_bar_system() -> arm.System:
    a, b, c, d = LINKS
    s = arm.System("four-bar")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    coupler = s.body("coupler", crank, arm.Revolute("z"), at=(a, 0, 0), mass=1, inertia=UNIT)
    rocker = s.body("rocker", joint=arm.Revolute("z"), at=(d, 0, 0), mass=1, inertia=UNIT)
    s.close_loop(coupler.point((b, 0, 0)), rocker.point((c, 0, 0)), [s.ground.x, s.ground.y])
    s.start({"coupler.q1": 0.8, "rocker.q1": 1.6})
    s.output("rocker angle", rocker.q1, units="deg")
    s.output("height", arm.dot(arm.position(coupler.point((b / 2, 0.2, 0))), s.ground.y), units="m")
    return s


@cache
def four_bar() -> Model:
    return four_bar_system().derive().compile()


@cache
def arm_2r() -> Model:
    """Two links of 1 m and 0.7 m in a plane."""
    s = arm.System("two-link arm")
    upper = s.body("upper", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    lower = s.body("lower", upper, arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=UNIT)
    tip = arm.position(lower.point((0.7, 0, 0)))
    s.output("x", arm.dot(tip, s.ground.x), units="m")
    s.output("y", arm.dot(tip, s.ground.y), units="m")
    s.start({"upper.q1": 0.4, "lower.q1": 0.6})
    return s.derive().compile()
