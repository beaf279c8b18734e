"""Quasi-static positions and the efforts that hold them, against statics by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mechanisms import CRANK, ROD, UNIT

import armillary as arm
from armillary.stages.model import Model

G = 9.81


@cache
def double_pendulum() -> Model:
    s = arm.System("double pendulum")
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2, inertia=UNIT)
    lower = s.body("lower", upper, arm.Revolute("z"), at=(0, -2, 0), com=(0, -0.5, 0), mass=3, inertia=UNIT)
    s.parameter("k", 0.0, units="N*m")
    s.moment("spring", "-k*lower.q1", s.ground.z, on=lower, reaction=upper)
    s.moment("drag", "-5*lower.u1 - 7", s.ground.z, on=upper)
    s.gravity(G, -s.ground.y)
    s.start({"lower.q1": 0.3})
    return s.derive().compile()


def test_what_hangs_freely_hangs_down_and_its_weight_is_carried() -> None:
    """The lower link hangs straight down; the upper needs (m₁ c₁ + m₂ l₁) g sin q, and the constant 7 N·m."""
    q = np.linspace(0, 2, 9)
    held = double_pendulum().sweep({"upper.q1": q}, static=True, derivatives=True)
    assert held.held == {}
    assert held["lower.q1"] == pytest.approx(-q, abs=1e-12)
    moment = (2 * 1 + 3 * 2) * G
    assert held["effort of upper.q1"] == pytest.approx(moment * np.sin(q) + 7, rel=1e-12)
    assert held["d(effort of upper.q1)/d(upper.q1)"] == pytest.approx(moment * np.cos(q), abs=1e-10)
    assert held.units["effort of upper.q1"] == "N*m"


def test_equilibrium_against_a_spring_has_no_moment_left() -> None:
    """m₂ g c₂ sin(q₁ + q₂) = −k q₂, by another root finder."""
    from scipy.optimize import brentq

    q = np.array([0.4, 0.8, 1.2])
    held = double_pendulum().sweep({"upper.q1": q}, static=True, parameters={"k": 4.0})
    expected = [brentq(lambda b, a=a: 3 * G * 0.5 * np.sin(a + b) + 4.0 * b, -a, 0) for a in q]
    assert held["lower.q1"] == pytest.approx(expected, rel=1e-11)


def test_a_held_coordinate_has_an_effort_too() -> None:
    held = double_pendulum().sweep({"upper.q1": [0.5]}, static=True, held=["lower.q1"])
    assert held["effort of lower.q1"] == pytest.approx([3 * G * 0.5 * np.sin(0.8)], rel=1e-12)


def test_a_loop_carries_its_load_by_virtual_work() -> None:
    """A force F on the slider is held by the moment −F dx/dq at the crank, also where degrees are driven."""
    s = arm.System("slider-crank")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=0, inertia=0)
    rod = s.body("rod", crank, arm.Revolute("z"), at=(CRANK, 0, 0), mass=0, inertia=0)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(rod.point((ROD, 0, 0)), slider.origin, [s.ground.x, s.ground.y])
    s.force("F", 100.0, s.ground.x, at=slider.origin)
    s.start({"crank.q1": 0.5, "rod.q1": -0.7, "slider.q1": 1.1})
    s.output("angle", crank.q1, units="deg")
    model = s.derive().compile()
    q = np.linspace(0.3, 2.8, 6)
    slope = -CRANK * np.sin(q) - CRANK**2 * np.sin(q) * np.cos(q) / np.sqrt(ROD**2 - (CRANK * np.sin(q)) ** 2)
    held = model.sweep({"angle": np.degrees(q)}, static=True)
    assert held["effort of angle"] == pytest.approx(-100.0 * slope, rel=1e-11)
    assert held.units["effort of angle"] == "N*m"


def test_reactions_along_a_sweep_are_those_of_statics() -> None:
    """A rod without mass between two pins carries F/cos β along itself; the bearing of the crank takes it."""
    s = arm.System("slider-crank")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=0, inertia=0)
    rod = s.body("rod", crank, arm.Revolute("z"), at=(CRANK, 0, 0), mass=0, inertia=0)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(rod.point((ROD, 0, 0)), slider.origin, [s.ground.x, s.ground.y])
    s.force("F", 100.0, s.ground.x, at=slider.origin)
    s.start({"crank.q1": 0.5, "rod.q1": -0.7, "slider.q1": 1.1})
    model = s.derive().compile()
    q = np.linspace(0.3, 2.8, 6)
    held = model.sweep({"crank.q1": q}, static=True, reactions=["rod", "crank"])
    sine = CRANK * np.sin(q) / ROD  # of the rod's slope
    tension = 100.0 / np.sqrt(1 - sine**2)
    assert held["force(rod).x"] == pytest.approx(-tension, rel=1e-10)
    assert held["force(rod).y"] == pytest.approx(0, abs=1e-9)
    along = np.arcsin(sine) + q  # of the rod's pull in the crank's axes, from x clockwise
    assert held["force(crank).x"] == pytest.approx(-tension * np.cos(along), rel=1e-10)
    assert held["force(crank).y"] == pytest.approx(tension * np.sin(along), rel=1e-10)
    assert held["moment(crank).z"] == pytest.approx(
        held["effort of crank.q1"], rel=1e-10
    )  # through the joint
    assert held.units["force(rod).x"] == "N"
    same = model.inverse(held.initial(2), actuators=["crank.u1"], reactions=["rod"])
    assert held["force(rod).x"][2] == pytest.approx(same.reactions["rod"][0], rel=1e-9)


def test_reactions_need_static_loads_and_a_place_of_the_effort() -> None:
    model = double_pendulum()
    with pytest.raises(arm.ArmillaryError, match="static=True"):
        model.sweep({"upper.q1": [0.5]}, reactions=["lower"])
    with pytest.raises(arm.ArmillaryError, match="no constraint 'lowr'; did you mean 'lower'"):
        model.sweep({"upper.q1": [0.5]}, static=True, reactions=["lowr"])
    held = model.sweep({"upper.q1": [0.5]}, static=True, reactions=["lower"])  # hangs straight down
    assert np.hypot(held["force(lower).x"], held["force(lower).y"]) == pytest.approx([3 * G])


def test_a_pendulum_whose_height_is_held_at_its_lowest_place_balances() -> None:
    """Where the height does not change with the angle, its effort has no size of its own and does nothing;
    the other body is where its spring of 3 N/m carries 2 N.
    """
    s = arm.System("pendulum and slider")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "2 - 3*slider.q1", s.ground.x, at=slider.com)
    s.gravity(G, -s.ground.y)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="m")
    held = s.derive().compile().sweep({"height": [-1.0]}, static=True)
    assert held.found.all() and held["bob.q1"] == pytest.approx([0.0], abs=1e-6)
    assert held["slider.q1"] == pytest.approx([2 / 3], rel=1e-9)
