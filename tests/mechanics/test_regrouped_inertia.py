"""What regrouping leaves in a child that turns: the elements that each choice of λ promises to remove."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.regroup import regroup
from armillary.mechanics.tree.tree import Link

DIAGONAL = (0.7, 1.1, 1.6)
MASS = 2.0


def kept(k: int, choice: str) -> tuple[Link, Link]:
    """The two links of a pendulum on a pendulum, both about axis k, after regrouping."""
    s = arm.System("pendulums")
    upper = s.body("upper", joint=arm.Revolute("xyz"[k]), mass=3.0, com=(0.1, 0.2, 0.3), inertia=DIAGONAL)
    hinge = arm.Revolute("xyz"[k])
    s.body("lower", upper, hinge, at=(0.5, 0.6, 0.7), mass=MASS, com=(0, 0, 0), inertia=DIAGONAL)
    first, second = regroup(build_tree(s), choice).links
    return first, second


@pytest.mark.parametrize("k", range(3), ids="xyz")
def test_each_choice_removes_what_it_promises_about_every_axis(k: int) -> None:
    """J_aa, J_bb, or all but a flat figure across the axis, J_kk = J_aa + J_bb; the mass always goes."""
    a, b = (k + 1) % 3, (k + 2) % 3
    for choice, moved in {
        "first": DIAGONAL[a],
        "second": DIAGONAL[b],
        "flat": 0.5 * (DIAGONAL[a] + DIAGONAL[b] - DIAGONAL[k]),
    }.items():
        _, child = kept(k, choice)
        J = np.array(child.inertia, float)
        expected = np.diag([x - (moved if i != k else 0.0) for i, x in enumerate(DIAGONAL)])
        assert child.mass == 0
        np.testing.assert_allclose(J, expected, atol=1e-15)
    J = np.array(kept(k, "flat")[1].inertia, float)
    assert J[k, k] == pytest.approx(J[a, a] + J[b, b])
    J = np.array(kept(k, "sparsest")[1].inertia, float)
    assert min(abs(J[a, a]), abs(J[b, b])) == 0.0


@pytest.mark.parametrize("k", range(3), ids="xyz")
def test_the_parent_receives_the_mass_at_the_joint(k: int) -> None:
    """First moment and inertia of the child's mass at the joint's point, beside λ across the axis. The parent
    turns about the ground and gives its own mass away; about its axis it has all of both.
    """
    parent, _ = kept(k, "first")
    r = np.array((0.5, 0.6, 0.7))
    own = DIAGONAL[k] + 3.0 * (np.sum(np.square((0.1, 0.2, 0.3))) - (0.1, 0.2, 0.3)[k] ** 2)
    point = MASS * (r @ r - r[k] ** 2)
    assert np.array(parent.inertia, float)[k, k] == pytest.approx(own + point)
    across = np.array(parent.first, float)
    expected = 3.0 * np.array((0.1, 0.2, 0.3)) + MASS * r
    expected[k] = 0.0
    np.testing.assert_allclose(across, expected, atol=1e-15)
