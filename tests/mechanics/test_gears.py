"""Gears and mimics, constraints with constant factors, are eliminated inside the recursion.

The independent answer is Kane's equations of the independent speeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.walk import Undimensioned
from armillary.mechanics.constraints.reduction import initial_configuration, reduce_system
from armillary.model.units import default_value
from armillary.program.formalisms.tree_formalisms import geared_tree


def robot() -> arm.System:
    """A free body with a chain that forks, and another one."""
    rng = np.random.default_rng(3)
    s = arm.System("robot")
    s.body("A", joint=arm.Free(), mass=3, com=(0.1, 0.2, 0.05), inertia=(1, 2, 2.5, 0.1, 0.05, 0.2))
    parents = {"B1": "A", "B2": "B1", "B3": "B2", "C1": "B2", "C2": "C1", "D1": "A", "D2": "D1"}
    for name, parent in parents.items():
        joint = arm.Prismatic("x") if name == "B2" else arm.Revolute(tuple(rng.normal(size=3)))
        place, centre = rng.normal(size=(2, 3)) * 0.3
        s.body(
            name,
            parent,
            joint,
            at=tuple(place),
            com=tuple(centre),
            mass=float(rng.uniform(0.5, 1)),
            inertia=tuple(rng.uniform(0.2, 0.3, size=3)),
        )
    s.gravity(9.81, -s.ground.z)
    s.parameter("w", 1.0, units="rad/s")
    s.moment("drive", "2*sin(w*t)", s.bodies["C2"].x, on="C2", reaction="C1")
    s.armature("C2.q1", 0.2)
    s.armature("D2.q1", 0.1)
    return s


def siblings(s: arm.System) -> None:
    """Two joints on one link."""
    s.parameter("k", -1.3)
    s.constrain("B3.q1 - k*C1.q1 - 0.2*sin(w*t)", eliminate="B3.u1")


def in_a_row(s: arm.System) -> None:
    """A joint that follows one further in, with a free joint between them."""
    s.constrain("C2.q1 - 2*B1.q1 + 0.1", eliminate="C2.u1")


def trains(s: arm.System) -> None:
    """One leader for three, and a second gear on the first follower."""
    s.constrain("C1.u1 - 0.5*B1.u1", eliminate="C1.u1")
    s.constrain("B3.u1 + 2*C1.u1", eliminate="B3.u1")
    s.constrain("C2.u1 - B3.u1", eliminate="C2.u1")


def differential(s: arm.System) -> None:
    s.constrain("B1.u1 - 0.7*B3.u1 - 0.2*C2.u1", eliminate="B1.u1")


def across_the_root(s: arm.System) -> None:
    """Joints of two chains; another that follows the free body's spin."""
    s.constrain("C2.u1 - 0.7*D2.u1", eliminate="C2.u1")
    s.constrain("D1.u1 - 0.3*A.u4", eliminate="D1.u1")


def beside_a_loop(s: arm.System) -> None:
    """A gear in a mechanism with a constraint that varies, which keeps its multiplier."""
    s.constrain("C1.u1 - 0.5*B3.u1", eliminate="C1.u1")
    s.constrain(arm.dot(arm.velocity(s.bodies["D2"].com), s.ground.x), eliminate="D2.u1")


CASES = [siblings, in_a_row, trains, differential, across_the_root, beside_a_loop]


def rates(s: arm.System, formalism: str) -> np.ndarray:
    wanted = core_of(s.derive(formalism)).targets
    rng = np.random.default_rng(8)
    at = {x: float(rng.normal()) for x in (*wanted.coordinates, *wanted.speeds)}
    attitude = wanted.coordinates[3:7]
    size = np.sqrt(sum(at[e] ** 2 for e in attitude))
    at |= {e: at[e] / size for e in attitude}
    at |= {Undimensioned()(p): default_value(p) for p in s.parameters.values()}
    return np.array(evaluate_all(wanted.rates, at | {wanted.time: 0.4}), dtype=float)


@pytest.mark.parametrize("gear", CASES, ids=lambda f: f.__name__)
def test_the_recursion_with_gears_agrees_with_kane(gear: Callable[[arm.System], None]) -> None:
    s = robot()
    gear(s)
    expected = rates(s, "kane")
    assert rates(s, "recursive") == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("gear", "multipliers"),
    [(siblings, 0), (in_a_row, 0), (trains, 0), (differential, 0), (beside_a_loop, 1)],
)
def test_only_constraints_that_vary_cost_multipliers(
    gear: Callable[[arm.System], None], multipliers: int
) -> None:
    s = robot()
    gear(s)
    reduction = reduce_system(s, Undimensioned(), initial_configuration(s))
    assert len(geared_tree(reduction).rows) == multipliers


def test_mimics_cost_little_more_than_the_robot_without_them() -> None:
    """A gripper of four joints that follow a fifth; a multiplier for each would double the products."""

    def gripper(*, tied: bool) -> int:
        s = arm.System("gripper")
        palm = s.body("palm", joint=arm.Free(), mass=1, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.3))
        s.body(
            "motor",
            palm,
            arm.Revolute("y"),
            at=(0.1, 0, 0),
            com=(0, 0.1, 0.1),
            mass=0.1,
            inertia=(1e-3, 2e-3, 2e-3),
        )
        for i, parent in enumerate(["palm", "motor", "finger0", "palm"]):
            name = f"finger{i}"
            s.body(
                name,
                parent,
                arm.Revolute("y"),
                at=(0, 0.1 * i, 0.1),
                com=(0, 0.1, 0),
                mass=0.1,
                inertia=(1e-3, 2e-3, 2e-3),
            )
            if tied:
                s.constrain(f"{name}.q1 - {(-1) ** i}*motor.q1", eliminate=f"{name}.u1")
        return s.derive("recursive").operations.multiplications

    assert gripper(tied=True) < 1.25 * gripper(tied=False)


def test_a_massless_follower_is_carried_by_its_leader() -> None:
    """u̇ of a disc that drives a massless one: its own, τ/J."""
    s = arm.System("massless follower")
    s.body("disc", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2))
    s.body("shadow", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.constrain("shadow.q1 - 3*disc.q1", eliminate="shadow.u1")
    s.moment("drive", 4.0, s.ground.z, on="disc")
    assert s.derive("recursive").compile().accelerations(0, [0, 0], [0])[0] == pytest.approx(2.0)


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_a_gear_whose_factor_vanishes_in_a_run_names_its_parameter(formalism: str) -> None:
    s = arm.System("gear")
    for name, place in (("a", 0), ("b", 1)):
        s.body(name, joint=arm.Revolute("z"), at=(place, 0, 0), mass=1, inertia=(1, 1, 1))
    s.parameter("N", 2.0)
    s.constrain("a.u1 - N*b.u1", eliminate="b.u1")
    model = s.derive(formalism).compile()
    with pytest.raises(
        arm.SimulationError, match="depends only on parameters is not finite with N = 0; give"
    ):
        model.simulate(1.0, parameters={"N": 0.0})
