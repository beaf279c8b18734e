"""Speeds that move no mass are named by every formalism; axes that are parameters never divide by zero."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.regroup import regroup
from tests.mechanics.random_trees import values
from tests.mechanics.solving import FORMALISMS, evaluated, rates


def massless_end() -> arm.System:
    s = arm.System("massless end")
    arm_ = s.body("arm", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("tip", arm_, arm.Revolute("y"), mass=0, inertia=0)
    return s


def mass_on_its_own_axis() -> arm.System:
    s = arm.System("bead")
    s.body("bead", joint=arm.Revolute("x"), com=(2, 0, 0), mass=1, inertia=0)
    return s


def ball_of_a_thin_rod() -> arm.System:
    s = arm.System("rod")
    s.body("rod", joint=arm.Spherical(), com=(0, 0, 1), mass=1, inertia=(0.1, 0.1, 0))
    return s


def free_frame() -> arm.System:
    s = arm.System("frame")
    s.body("frame", joint=arm.Free(), mass=0, inertia=0)
    return s


SINGULAR = [
    (massless_end, "tip.u1"),
    (mass_on_its_own_axis, "bead.u1"),
    (ball_of_a_thin_rod, "rod.u3"),
    (free_frame, r"frame.u\d"),
]


@pytest.mark.parametrize("formalism", FORMALISMS)
@pytest.mark.parametrize(("describe", "speed"), SINGULAR)
def test_a_speed_that_moves_no_mass_is_named(describe: object, speed: str, formalism: str) -> None:
    system = describe()  # type: ignore[operator]
    tree = regroup(build_tree(system))
    with pytest.raises(
        arm.ModelError, match=f"speed '{speed}' moves no mass.*give its body.*mass or inertia"
    ):
        rates(tree, applied_loads(system, tree), formalism)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (0, 1, 0), (-1, 0, 0), (1, 2, -2)])
@pytest.mark.parametrize("joint", [arm.Revolute, arm.Prismatic, arm.Planar])
def test_an_axis_of_parameters_may_be_any_axis_when_the_model_runs(
    joint: type, axis: tuple[int, int, int]
) -> None:
    """The same system with the axis as numbers moves alike: in a plane, any in-plane axes are as good."""
    found = []
    for given in (axis, ("a", "b", "c")):
        s = arm.System("slanted")
        s.body("B", joint=joint(given), com=(0.1, 0.2, 0.3), mass=2, inertia=(1, 2, 2.5))
        s.gravity(9.81, -s.ground.y - s.ground.x)
        count = len(s.speeds)
        at = values(s, [0.0] * count, [0.0] * (count - 1) + [0.7])
        at.update(zip("abc", map(float, axis), strict=True))
        tree = regroup(build_tree(s))
        udot = evaluated(rates(tree, applied_loads(s, tree), "recursive"), at)
        at.update(zip([s.accelerations[u].name for u in s.speeds], udot, strict=True))
        parts = arm.acceleration(s.bodies["B"].com).components(s.ground.frame)
        found.append(evaluated([arm.evaluate(s.expression(p), at) for p in parts], at))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-13, atol=1e-13)
