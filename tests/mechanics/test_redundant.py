"""Redundant coordinates give the accelerations of first principles, for every joint and for random trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import number
from armillary.algebra.walk import Undimensioned
from armillary.program.formalisms.absolute_joints import euler_parameters
from armillary.program.formalisms.redundant_equations import Redundant, redundant_equations
from armillary.program.passes.graph import count
from armillary.stages import System
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, build, joint_case, tree_case, values
from tests.mechanics.reference import Joint

KINDS = [*JOINTS[7:31:3], *JOINTS[31::2]]  # of each kind one or more, slanted axes among them
SOFT = 1e-14  # σ: so small that it changes nothing that is looked at here


def placed(system: System, at: dict[str, Any]) -> tuple[Redundant, dict[str, Any]]:
    """The equations, and values of everything in them for these values of the joints."""
    r = redundant_equations(system, Undimensioned())
    found = evaluate_all(r.placed.values(), at)
    at = at | {s.data.name: x for s, x in zip(r.placed, found, strict=True)}
    return r, at | {m.data.name: 0.0 for m in r.multipliers}


def check(system: System, at: dict[str, Any], expected: np.ndarray) -> None:
    """Placing joints and reading them back gives the same values, all constraints hold, and u̇ is right."""
    r, at = placed(system, at)
    names = [s.data.name for s in (*r.joint_speeds, *r.joints)]
    back = evaluate_all([*r.joint_speeds.values(), *r.aligned], at)
    np.testing.assert_allclose(back, [at[name] for name in names], rtol=0, atol=1e-12)
    gaps = [row.position for row in r.rows if row.position is not None]
    np.testing.assert_allclose(evaluate_all([*gaps, *(row.speed for row in r.rows)], at), 0, atol=1e-11)
    solved = evaluate_all(r.exact(number(SOFT)), at)
    at |= {a.data.name: x for a, x in zip(r.accelerations, solved, strict=False)}
    found = evaluate_all(r.joint_accelerations.values(), at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * abs(expected).max())


@pytest.mark.parametrize("joint", KINDS, ids=lambda j: f"{j.kind} {j.settings}")
def test_joints_on_a_moving_parent(joint: Joint) -> None:
    case = joint_case(joint, seed=7, moving_parent=True)
    system = build(case)
    check(system, values(system, case.q, case.u), reference.accelerations(case.tree, case.q, case.u))


@pytest.mark.parametrize("joint", KINDS[::3], ids=lambda j: f"{j.kind} {j.settings}")
def test_joints_on_the_ground(joint: Joint) -> None:
    """Where only the distances along slides are coordinates."""
    case = joint_case(joint, seed=8, moving_parent=False)
    system = build(case)
    check(system, values(system, case.q, case.u), reference.accelerations(case.tree, case.q, case.u))


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_random_trees_with_massless_frames(seed: int) -> None:
    case = tree_case(seed)
    system = build(case)
    check(system, values(system, case.q, case.u), reference.accelerations(case.tree, case.q, case.u))


def test_constraint_rates_are_those_of_their_positions() -> None:
    """γ and B against differences of the constraints along a motion that leaves them."""
    case = joint_case(Joint("gimbal", ("zx",)), seed=3, moving_parent=True)
    system = build(case)
    r, at = placed(system, values(system, case.q, case.u))
    gaps = [row.position for row in r.rows if row.position is not None]
    step = 1e-5
    moved = {c.data.name: r.rates[c] for c in (*r.coordinates, *r.joints)}
    rates = dict(zip(moved, evaluate_all(moved.values(), at), strict=True))
    ahead, behind = ({n: at[n] + s * step * x for n, x in rates.items()} for s in (1, -1))
    difference = np.subtract(evaluate_all(gaps, at | ahead), evaluate_all(gaps, at | behind)) / (2 * step)
    speeds = [row.speed for row in r.rows if row.position is not None]
    np.testing.assert_allclose(difference, evaluate_all(speeds, at), atol=1e-7)
    coefficients = evaluate_all([c for form in r.forms for c in form.values()], at)
    v = [at[s.data.name] for form in r.forms for s in form]
    assert sum(np.multiply(coefficients, v)) == pytest.approx(
        sum(evaluate_all([row.speed for row in r.rows], at)), abs=1e-12
    )


@pytest.mark.parametrize("turn", [0.0, 0.5, 2.0, np.pi, 3.5, 5.0])
def test_euler_parameters_of_any_rotation(turn: float) -> None:
    axis = np.array([0.48, -0.6, 0.64])
    R = reference.turn(axis, turn)
    found = np.array([float(x) for x in euler_parameters(tuple(map(tuple, R.tolist())))])
    expected = np.array([np.cos(turn / 2), *(axis * np.sin(turn / 2))])
    np.testing.assert_allclose(np.outer(found, found), np.outer(expected, expected), atol=1e-15)


def test_a_pinned_body_has_no_translations() -> None:
    s = arm.System("pendulum")
    s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    eom = s.derive(formalism="redundant")
    assert eom.coordinates == ("bob.e0", "bob.e1", "bob.e2", "bob.e3", "bob.q1")
    assert eom.speeds == ("bob.w1", "bob.w2", "bob.w3")
    assert eom.constraints == ("bob tilt 1", "bob tilt 2")


def test_cost_grows_with_the_number_of_bodies() -> None:
    """Each further link of a chain costs the same: the factorisation has no fill along the tree."""

    def operations(n: int) -> int:
        s = arm.System("chain")
        link = None
        for i in range(n):
            link = s.body(f"L{i}", link, arm.Revolute("zx"[i % 2]), at=(0, 0, 1 if i else 0), com=(0, 0, 0.5),
                          mass=1.0, inertia=(0.1, 0.1, 0.01))  # fmt: skip
        return count(redundant_equations(s, Undimensioned()).solution).total

    counts = [operations(n) for n in (4, 6, 8)]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)


def test_a_body_that_moves_no_mass_is_named() -> None:
    s = arm.System("bad")
    arm_ = s.body("arm", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=(1, 1, 1))
    s.body("pointer", arm_, arm.Revolute("x"), mass=0, inertia=0)
    with pytest.raises(arm.ModelError, match=r"speed 'pointer\.u1' moves no mass"):
        s.derive(formalism="redundant")


def test_rotors_without_mass() -> None:
    s = arm.System("rotors")
    first = s.body("first", joint=arm.Revolute("x"), mass=0, inertia=(1, 2, 3))
    s.body("second", first, arm.Revolute("y"), mass=0, inertia=(1, 2, 3))
    redundant, minimal = s.derive(formalism="redundant").compile(), s.derive().compile()
    q, u = [0.3, 0.4], [1.0, -2.0]
    found = redundant.joint_accelerations(0.0, redundant.state([*q, *u]))
    np.testing.assert_allclose([*found.values()], minimal.accelerations(0.0, q, u), rtol=1e-10)


def test_the_report_counts_speeds_and_constraints() -> None:
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.constrain(bob.q1 - 0.3 * s.time, name="swing")
    text = s.derive(formalism="redundant").report()
    assert "1 bodies, 3 speeds under 3 constraints" in text
    assert "swing                       multiplier" in text


def test_reactions_at_joints_are_refused_by_name() -> None:
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.output("pull", arm.dot(s.reaction_force(bob), s.ground.y))
    with pytest.raises(arm.ModelError, match="'bob joint force x' is not known in redundant coordinates"):
        s.derive(formalism="redundant")
