"""Prescribed speeds: their rates are the given derivative, and the others feel the motion they force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.expression import ZERO
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.model.description import Description, Prescription
from armillary.model.snapshot import snapshot
from tests.mechanics import reference
from tests.mechanics.random_trees import KINDS, Case, build, joint_case, tree_case, values
from tests.mechanics.reference import Joint
from tests.mechanics.solving import (
    close,
    evaluated,
    planted_on_numbers,
    rates,
    rates_by_every_formalism,
    regrouped,
)

TIME = 0.7
FREE_OF_PARENT_AXES = [j for j in KINDS if j.nu and not (j.kind == "free" and j.settings[1] == "parent")]


def check(case: Case, speeds: list[int], regrouping: str) -> None:
    """These speeds follow 1.5 + 0.4 (i + 1) sin 2t: all formalisms agree with the constrained reference."""
    system = build(case)
    system.parameter("w", 2.0, units="rad/s")
    u, rate = case.u.copy(), {}
    for i in speeds:
        size = 0.4 * (i + 1)
        system.prescribe(system.speeds[i], f"1.5 + {size}*sin(w*t)")
        u[i] = 1.5 + size * math.sin(2 * TIME)
        rate[i] = 2 * size * math.cos(2 * TIME)
    expected = reference.accelerations(case.tree, case.q, u, rate)
    at = values(system, case.q, u, TIME)
    tree, applied = planted_on_numbers(system, at)
    for found in rates_by_every_formalism(regrouped(tree, regrouping), applied).values():
        close(found, expected)
        assert [found[i] for i in rate] == pytest.approx(list(rate.values()), rel=1e-14)
    symbolic = regrouped(build_tree(system), regrouping)
    close(evaluated(rates(symbolic, applied_loads(system, symbolic), "recursive"), at), expected)


@pytest.mark.parametrize("joint", FREE_OF_PARENT_AXES, ids=lambda j: f"{j.kind} {j.settings}")
def test_a_joint_with_its_first_and_last_speed_prescribed(joint: Joint) -> None:
    """Of a ball joint and a free body that leaves some directions free beside known ones."""
    check(joint_case(joint, 21, moving_parent=True), sorted({3, 3 + joint.nu - 1}), "first")


@pytest.mark.parametrize("joint", [j for j in FREE_OF_PARENT_AXES if "body" in j.settings], ids=str)
def test_a_body_that_drifts_on_the_ground(joint: Joint) -> None:
    """There free directions are counted from free fall, and known ones are not."""
    check(joint_case(joint, 23, moving_parent=False), sorted({0, joint.nu - 1}), "first")


def test_angular_speeds_of_a_free_body_with_parent_axes() -> None:
    case = joint_case(Joint("free", ("quaternion", "parent")), 22, moving_parent=True)
    check(case, [6, 8], "flat")


@pytest.mark.parametrize("seed", range(400, 406))
def test_random_speeds_of_random_trees(seed: int) -> None:
    case = tree_case(seed)
    allowed = []
    for body in case.tree.bodies:
        start = sum(b.joint.nu for b in case.tree.bodies[: case.tree.bodies.index(body)])
        linear = 3 if body.joint.kind == "free" and body.joint.settings[1] == "parent" else 0
        allowed += range(start + linear, start + body.joint.nu)
    chosen = np.random.default_rng(seed).choice(allowed, size=max(1, len(allowed) // 3), replace=False)
    check(case, sorted(int(i) for i in chosen), "second")


def test_a_pendulum_on_a_shaken_cart() -> None:
    """θ̈ = −(g sin θ + a cos θ)/l for a point mass on a cart with acceleration a."""
    from armillary.model.joints import Prismatic, Revolute
    from armillary.stages import System

    s = System("crane")
    cart = s.body("cart", joint=Prismatic("x"), mass=5, inertia=0)
    s.body("bob", cart, Revolute("z"), com=(0, -0.8, 0), mass=2, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.parameter("w", 3.0, units="rad/s")
    s.prescribe("cart.u1", "0.3*sin(w*t)")
    at = values(s, [0.1, 0.6], [0.3 * math.sin(3 * TIME), 0.2], TIME)
    a = 0.9 * math.cos(3 * TIME)
    tree, applied = planted_on_numbers(s, at)
    found = rates(tree, applied, "recursive")
    assert found == pytest.approx([a, -(9.81 * math.sin(0.6) + a * math.cos(0.6)) / 0.8], rel=1e-14)


def test_trees_that_are_kept_are_those_of_their_motions() -> None:
    """A frozen description keeps its trees: for other given motions and welds it has others; what is changed
    later is another description, and one that can change keeps none.
    """

    def masses(system: Description, **options: Any) -> list[str]:
        return [str(link.mass) for link in build_tree(system, **options).links]

    s = arm.System("sliders")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("b", a, arm.Fixed(), mass=2, inertia=0)
    assert masses(s) == ["3"]
    frozen = snapshot(s)
    held = {s.speeds[0]: Prescription(s.speeds[0], ZERO)}
    for _ in range(2):
        assert build_tree(frozen).links[0].freedoms[0].rate is None
        assert build_tree(frozen, given=held).links[0].freedoms[0].rate is not None
        assert masses(frozen, separate_welds=["b"]) == ["1", "2"]
    s.body("c", a, arm.Fixed(), mass=4, inertia=0)
    assert masses(s) == masses(snapshot(s)) == ["7"]
    assert masses(frozen) == ["3"]
