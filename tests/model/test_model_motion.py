"""Positions, velocities and accelerations of points and bodies, against motion composed in NumPy.

Reference velocities are themselves derivatives of reference positions along q̇ = N(q) u by a complex step, so
that a wrong rate, velocity or rotation cannot agree with itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.model.bodies import motion
from armillary.stages import System
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case, values
from tests.model.checking import agree, numbers

TIP = np.array([0.3, -0.5, 0.7])
CASES = [
    *(pytest.param(joint_case(j, 11, moving_parent=True), id=f"{j.kind} {j.settings}") for j in JOINTS),
    *(pytest.param(tree_case(seed), id=f"tree {seed}") for seed in (300, 301, 302)),
]


def described(case: Case) -> tuple[System, Any, dict[str, Any], int]:
    """The system, a point of its last body, numbers for its symbols, and that body's index."""
    system = build(case)
    last = len(case.tree.bodies) - 1
    tip = system.bodies[f"B{last}"].point("tip", TIP.tolist())
    return system, tip, values(system, case.q, case.u), last


@pytest.mark.parametrize("case", CASES)
def test_coordinate_rates_and_velocities_are_the_derivatives_of_positions(case: Case) -> None:
    system, tip, at, last = described(case)
    now = reference.state(case.tree, case.q, case.u)
    agree(numbers(system, [system.rates[q] for q in system.coordinates], at), now.rates)
    agree(numbers(system, motion.position(tip), at), now.point((last, TIP)))
    moved = reference.along_motion(case.tree, case.q, case.u, lambda s: s.point((last, TIP)))
    agree(numbers(system, motion.velocity(tip), at), moved)


@pytest.mark.parametrize("case", CASES)
def test_angular_velocity_is_that_of_the_turning_axes(case: Case) -> None:
    system, _, at, last = described(case)
    R = reference.state(case.tree, case.q, case.u).R[last]
    body = system.bodies[f"B{last}"]
    for axis, expected in zip((body.x, body.y, body.z), R.T, strict=True):
        agree(numbers(system, axis, at), expected)
    W = reference.along_motion(case.tree, case.q, case.u, lambda s: s.R[last]) @ R.T  # Ṙ Rᵀ = ω̃
    agree(W, -W.T)
    agree(numbers(system, motion.angular_velocity(body), at), [W[2, 1], W[0, 2], W[1, 0]])


@pytest.mark.parametrize("case", CASES[::3])
def test_accelerations_are_the_derivatives_of_velocities(case: Case) -> None:
    system, tip, at, last = described(case)
    udot = np.random.default_rng(5).normal(size=case.tree.nu)
    at.update(zip([system.accelerations[u].name for u in system.speeds], udot, strict=True))
    velocity = reference.along_motion(case.tree, case.q, case.u, lambda s: s.velocity((last, TIP)), udot)
    agree(numbers(system, motion.acceleration(tip), at), velocity)
    spin = reference.along_motion(case.tree, case.q, case.u, lambda s: s.w[last], udot)
    agree(numbers(system, motion.angular_acceleration(tip.body), at), spin)


@pytest.mark.parametrize("seed", [310, 311, 312])
def test_relative_motion_is_that_seen_from_the_other_body(seed: int) -> None:
    """From a point: the difference of both velocities. From a body: what its axes see."""
    case = tree_case(seed)
    system, tip, at, last = described(case)
    first = system.bodies["B0"]
    base = first.point("base", (0.2, 0.1, -0.4))
    now = reference.state(case.tree, case.q, case.u)
    here, there = (0, np.array([0.2, 0.1, -0.4])), (last, TIP)
    agree(numbers(system, motion.position(tip, base), at), now.point(there) - now.point(here))
    agree(numbers(system, motion.velocity(tip, base), at), now.velocity(there) - now.velocity(here))
    seen = reference.along_motion(case.tree, case.q, case.u, lambda s: s.R[0].T @ (s.point(there) - s.p[0]))
    agree(numbers(system, motion.velocity(tip, first), at), now.R[0] @ seen)
    agree(numbers(system, motion.angular_velocity(tip.body, first), at), now.w[last] - now.w[0])


@pytest.mark.parametrize("joint", [j for j in JOINTS if "quaternion" in j.settings], ids=str)
def test_quaternion_rates_keep_the_norm(joint: reference.Joint) -> None:
    case = joint_case(joint, 11, moving_parent=True)
    system, _, at, _ = described(case)
    body = system.bodies["B1"]
    start = body.assembly.quaternions[0]
    e = numbers(system, body.coordinates[start : start + 4], at)
    rates = numbers(system, [system.rates[q] for q in body.coordinates[start : start + 4]], at)
    assert abs(e @ e - 1) < 1e-15
    assert abs(e @ rates) < 1e-15 * np.max(np.abs(rates))


def test_time_derivative_of_a_scalar_and_of_a_vector_agree() -> None:
    """d(v·v)/dt = 2 v·v̇ for the velocity of a point, with accelerations as symbols."""
    case = joint_case(reference.Joint("free", ("quaternion", "body")), 3, moving_parent=True)
    system, tip, at, _ = described(case)
    at.update({system.accelerations[u].name: 0.1 * i for i, u in enumerate(system.speeds)})
    v = motion.velocity(tip)
    square = system.expression(sum(c * c for c in v.components(tip.body.frame)))
    found = numbers(system, [motion.time_derivative(square)], at)[0]
    expected = 2 * numbers(system, v, at) @ numbers(system, motion.acceleration(tip), at)
    assert found == pytest.approx(expected, rel=1e-12)
