"""Joints made by users: steps in any order."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.model.joints import Assembly, JointType, Maker, Slide, Turn


class Crane(JointType):
    """A turn about z, then a slide along the turned x."""

    coordinate_count = speed_count = 2

    def assemble(self, maker: Maker) -> Assembly:
        angle, reach = maker.angle("z"), maker.distance("x")
        turning, reaching = maker.angle_rate("z"), maker.distance_rate("x")
        return Assembly(
            (Turn((0, 0, 1), angle, turning), Slide((1, 0, 0), reach, reaching)), (turning, reaching)
        )


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_a_slide_after_a_turn_moves_as_in_polar_coordinates(formalism: str) -> None:
    """v = ṙ e_r + r φ̇ e_φ; without loads energy and angular momentum stay, and the path is a straight
    line.
    """
    s = arm.System("crane")
    hook = s.body("hook", joint=Crane(), mass=2, inertia=0, orient=("x", 0.3))
    v = arm.velocity(hook)
    s.output("vx", arm.dot(v, s.ground.x))
    s.output("vy", arm.dot(v, s.ground.y))
    s.output("energy", s.kinetic_energy())
    model = s.derive(formalism).compile()
    found = model.outputs(0.0, [0.4, 1.5, 0.7, -0.2])
    expected = np.array([np.cos(0.4), np.sin(0.4)]) * -0.2 + 1.5 * 0.7 * np.array([-np.sin(0.4), np.cos(0.4)])
    assert np.allclose([found["vx"], found["vy"]], expected, rtol=1e-14)
    start = {"hook.q2": 1.0, "hook.u1": 1.0, "hook.u2": 0.3}
    run = model.simulate(2.0, initial=start, rtol=1e-12, atol=1e-13)
    assert np.ptp(run["vx"]) < 1e-10
    assert np.ptp(run["vy"]) < 1e-10
    assert np.ptp(run["energy"]) < 1e-10


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200])
def test_an_axis_of_any_length_is_a_direction(size: float) -> None:
    """Squares of its components would be zero or infinite."""
    found = []
    for length in (1.0, size):
        s = arm.System("link")
        s.body("b", joint=arm.Revolute((length, length, 0)), com=(1, 0, 0), mass=1, inertia=(1, 2, 2))
        s.gravity(9.81, -s.ground.z)
        found.append(s.derive().compile().derivatives(0.0, [0.4, 0.0]))
    assert found[1] == pytest.approx(found[0], rel=1e-15)


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z"])
def test_joints_slide_and_turn_about_the_axes_that_are_named(axis: str) -> None:
    s = arm.System("axes")
    slider = s.body("slider", joint=arm.Prismatic(axis), mass=1, inertia=0)
    turner = s.body("turner", joint=arm.Revolute(axis), mass=1, inertia=(1, 1, 1))
    own = (turner.x, turner.y, turner.z)
    direction = np.eye(3)["xyz".index(axis[-1])] * (-1.0 if axis.startswith("-") else 1.0)
    tilde = np.cross(np.eye(3), direction)
    turned = np.eye(3) + np.sin(0.3) * tilde + (1 - np.cos(0.3)) * tilde @ tilde
    at = {"slider.q1": 0.5, "turner.q1": 0.3}
    for i, along in enumerate((s.ground.x, s.ground.y, s.ground.z)):
        place = arm.dot(arm.position(slider, s.ground), along)
        assert arm.evaluate(place, at) == pytest.approx(0.5 * direction[i], abs=1e-15)
        found = [arm.evaluate(arm.dot(along, one), at) for one in own]
        assert found == pytest.approx(turned[i], abs=1e-15)
