"""Turns of wheels and rotors, eliminated from Kane's equations beforehand: the same motion, fewer operations.

The recursion does not use the mass matrix, and takes constraints by their forces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.regroup import simplify_tree
from armillary.program.formalisms.tree_formalisms import implicit_equations, separable_speeds


def vehicle() -> arm.System:
    """A free hub with an arm of three links, of which the last is balanced, a wheel with a load from the
    ground, and a rotor on a shaft.
    """
    s = arm.System("vehicle")
    s.gravity(9.81, -s.ground.z)
    hub = s.body(
        "hub", joint=arm.Free(), mass=20.0, com=(0.1, 0, 0.05), inertia=(2.0, 3.0, 4.0, 0.1, 0.2, 0.3)
    )
    boom = s.body("boom", hub, arm.Revolute("x"), at=(0.5, 0.1, 0), mass=3.0, com=(0, 0.1, 0.4),
                  inertia=(0.3, 0.3, 0.05))  # fmt: skip
    slide = s.body(
        "slide", boom, arm.Prismatic("z"), mass=1.0, com=(0.02, 0, 0.1), inertia=(0.02, 0.02, 0.01)
    )
    s.body("hand", slide, arm.Revolute((0, 0, -1)), at=(0, 0.1, 0.3), mass=0.5, com=(0, 0, 0.2),
           inertia=(0.01, 0.03, 0.02))  # fmt: skip
    wheel = s.body("wheel", hub, arm.Revolute("y"), at=(-0.5, 0.4, -0.2), mass=5.0, inertia=(0.2, 0.4, 0.25))
    shaft = s.body("shaft", hub, arm.Revolute("x"), at=(0, 0, 0.3), mass=1.0, com=(0.1, 0, 0),
                   inertia=(0.05, 0.08, 0.09))  # fmt: skip
    s.body("rotor", shaft, arm.Revolute("x"), at=(0.2, 0, 0), mass=0.7, inertia=(0.04, 0.03, 0.03))
    s.moment("drive", "0.3*sin(t) - 0.1*wheel.u1", direction=wheel.y, on=wheel, reaction=hub)
    s.moment("spin", "0.2", direction=shaft.x, on=s.bodies["rotor"], reaction=shaft)
    s.force("push", "4", direction=s.ground.x, at=wheel.point("rim", (0.2, 0.1, 0.3)))
    return s


def nothing(s: arm.System) -> None:
    pass


def geared_beside(s: arm.System) -> None:
    s.constrain("boom.u1 - 0.5*hub.u4", eliminate="boom.u1")


def geared(s: arm.System) -> None:
    s.constrain("wheel.u1 - 2*shaft.u1", eliminate="wheel.u1")


def on_a_node(s: arm.System) -> None:
    """A wheel on a part that bends and twists."""
    shapes, turns = (
        np.array([[[0.1, 0.5], [0.0, 0.3], [0.2, 0.0]]]),
        np.array([[[0.3, 0], [0.1, 0.4], [0, 0.2]]]),
    )
    boom = s.bodies["boom"]
    boom.flexible(nodes={"tip": (0, 0.2, 0.8)}, masses=[0.8], shapes=shapes, rotations=turns,
                  stiffness=np.diag([300.0, 500.0]))  # fmt: skip
    s.body("fan", boom.node("tip"), arm.Revolute("x"), mass=0.3, com=(0.1, 0, 0), inertia=(0.02, 0.01, 0.015))


def prescribed(s: arm.System) -> None:
    s.prescribe("shaft.q1", "0.3*sin(2*t)")


# The speeds that are separate: none that a constraint holds, and none that is known.
CASES = [
    (nothing, {"hand.u1", "wheel.u1", "shaft.u1", "rotor.u1"}),
    (geared_beside, {"hand.u1", "wheel.u1", "shaft.u1", "rotor.u1"}),
    (geared, {"hand.u1", "rotor.u1"}),
    (prescribed, {"hand.u1", "wheel.u1", "rotor.u1"}),
    (on_a_node, {"hand.u1", "wheel.u1", "shaft.u1", "rotor.u1", "fan.u1"}),
]


@pytest.mark.parametrize(("more", "separate"), CASES)
def test_the_motion_is_that_of_the_recursion(more: Callable[[arm.System], None], separate: set[str]) -> None:
    s = vehicle()
    more(s)
    rng = np.random.default_rng(5)
    kane, other = s.derive("kane"), s.derive("recursive")
    wanted = core_of(kane).targets
    at = {x: float(rng.normal()) for x in (*wanted.coordinates, *wanted.speeds)}
    attitude = wanted.coordinates[3:7]
    size = np.sqrt(sum(at[e] ** 2 for e in attitude))
    at |= {e: at[e] / size for e in attitude} | {wanted.time: 0.4}
    found, expected = (
        np.array(evaluate_all(core_of(e).targets.rates, at), dtype=float) for e in (kane, other)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    reduction = core_of(kane).reduction
    tree, factors = reduction.tree, reduction.elimination.factors
    loads = applied_loads(s, tree, reduction.plain)
    solved = implicit_equations(tree, loads, separable_speeds(tree, factors))
    assert {s.speeds[k].data.name for k, _, _ in solved.separate} == separate


def test_other_turns_stay_in_the_matrix() -> None:
    """A mass centre off the axis, a product of inertia with the axis, an armature, and a link that carries a
    moving one: each couples the speed with others.
    """
    for change in ({"com": (0.1, 0, 0)}, {"inertia": (0.2, 0.4, 0.25, 0.01, 0, 0)}, {"armature": 0.1}, {}):
        s = arm.System("wheel")
        hub = s.body("hub", joint=arm.Revolute("z"), mass=2.0, com=(0.3, 0, 0), inertia=(1, 1, 1))
        given = {"mass": 1.0, "inertia": (0.2, 0.4, 0.25)} | change
        armature = given.pop("armature", 0)
        wheel = s.body("wheel", hub, arm.Revolute("y"), at=(1, 0, 0), **given)
        if armature:
            s.armature(wheel.u1, armature)
        if not change:
            s.body(
                "pendulum", wheel, arm.Revolute("y"), com=(0, 0, -0.2), mass=0.1, inertia=(0.01, 0.01, 0.01)
            )
        tree = simplify_tree(build_tree(s, Undimensioned()))
        turns = implicit_equations(tree, applied_loads(s, tree), separable_speeds(tree, {})).separate
        assert turns == (), change


def test_a_balanced_last_link_costs_fewer_operations_than_one_that_is_not() -> None:
    """Of a wrist: the row, the column and the products that fill the matrix are not computed."""

    def operations(com: tuple[float, float, float]) -> int:
        s = arm.System("wrist")
        body = None
        for i, axis in enumerate("zxy"):
            body = s.body(f"L{i}", body, arm.Revolute(axis), at=(0, 0.3, 0), mass=1.0, com=(0, 0.1, 0.05),
                          inertia=(0.1, 0.2, 0.15))  # fmt: skip
        s.body("hand", body, arm.Revolute("z"), mass=1.0, com=com, inertia=(0.1, 0.2, 0.15))
        return s.derive("kane").operations.additions

    assert operations((0, 0, 0.1)) < 0.75 * operations((0.001, 0, 0.1))
