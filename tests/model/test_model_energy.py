"""Energies and momenta of a system's own bodies, against sums over bodies in NumPy, and their laws."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.errors import ModelError
from armillary.model.bodies import motion
from armillary.model.joints import Free, Revolute
from armillary.stages import System
from tests.mechanics import reference
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case, values
from tests.mechanics.solving import planted_on_numbers, rates
from tests.model.checking import agree, numbers

CASES = [
    *(pytest.param(joint_case(j, 31, moving_parent=True), id=f"{j.kind} {j.settings}") for j in JOINTS[::6]),
    *(pytest.param(tree_case(seed), id=f"tree {seed}") for seed in range(320, 324)),
]


@pytest.mark.parametrize("case", CASES)
def test_energies_and_momenta_are_sums_over_bodies(case: Case) -> None:
    system = build(case)
    at = values(system, case.q, case.u)
    now = reference.state(case.tree, case.q, case.u)
    centre = reference.mass_centre(case.tree, now)
    kinetic, potential = system.kinetic_energy(), system.potential_energy()
    expected = [reference.kinetic_energy(case.tree, now), reference.potential_energy(case.tree, now)]
    agree(numbers(system, [kinetic, potential, system.total_energy()], at), [*expected, sum(expected)])
    agree(numbers(system, [system.total_mass()], at), [sum(b.mass for b in case.tree.bodies)])
    agree(numbers(system, system.mass_centre(), at), centre)
    agree(numbers(system, system.momentum(), at), reference.momentum(case.tree, now))
    first = system.bodies["B0"]
    tip = first.point("tip", (0.3, 0.2, 0.1))
    places = {
        "mass centre": ("mass centre", centre),
        "ground": (None, np.zeros(3)),
        "point": (tip, now.point((0, np.array([0.3, 0.2, 0.1])))),
        "body": (first, now.p[0]),
    }
    for about, place in places.values():
        found = numbers(system, system.angular_momentum(about), at)
        np.testing.assert_allclose(
            found, reference.angular_momentum(case.tree, now, place), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("seed", range(330, 336))
def test_energy_changes_by_the_power_of_the_loads(seed: int) -> None:
    """dE/dt of the system, with its own accelerations, is the power of the loads in the reference."""
    case = tree_case(seed)
    system = build(case)
    at = values(system, case.q, case.u)
    udot = rates(*planted_on_numbers(system, at), "recursive")
    at.update(zip([system.accelerations[u].name for u in system.speeds], udot, strict=True))
    found = numbers(system, [motion.time_derivative(system.total_energy())], at)[0]
    scale = reference.kinetic_energy(case.tree, reference.state(case.tree, case.q, case.u))
    assert found == pytest.approx(
        reference.power_of_loads(case.tree, case.q, case.u), rel=1e-10, abs=1e-11 * scale
    )


@pytest.mark.parametrize("seed", [340, 341])
def test_momentum_of_a_body_in_free_space_is_constant(seed: int) -> None:
    """A free body with hinged panels, a motor and a strut between them: nothing outside acts."""
    rng = np.random.default_rng(seed)
    s = System("hub and panels")
    hub = s.body("hub", joint=Free(), mass=10, inertia=(3, 4, 5), com=(0.1, 0.2, -0.1))
    left = s.body(
        "left", hub, Revolute("y"), at=(-1, 0, 0), mass=1, com=(-0.5, 0, 0), inertia=(0.01, 0.1, 0.1)
    )
    right = s.body(
        "right", hub, Revolute((1, 2, 0)), at=(1, 0, 0), mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)
    )
    s.moment("motor", 3, hub.y, on=left, reaction=right)
    s.strut("tie", "-5*(x - 1) - 2*v", between=(left.point((-1, 0, 0.2)), right.point((1, 0, 0))))
    e = rng.normal(size=4)
    q = np.concatenate([rng.normal(size=3), e / np.linalg.norm(e), rng.normal(size=2)])
    at = values(s, q, rng.normal(size=8))
    udot = rates(*planted_on_numbers(s, at), "recursive")
    at.update(zip([s.accelerations[u].name for u in s.speeds], udot, strict=True))
    for conserved in (s.momentum(), s.angular_momentum(), s.angular_momentum("mass centre")):
        rate = numbers(s, motion.time_derivative(conserved), at)
        np.testing.assert_allclose(rate, 0, atol=1e-12)


def test_what_has_no_mass_has_no_mass_centre() -> None:
    s = System("frames")
    s.body("A", joint=Revolute("z"), mass=0, inertia=0)
    with pytest.raises(ModelError, match="no mass centre"):
        s.mass_centre()


def test_angular_momentum_about_nonsense_says_what_is_right() -> None:
    with pytest.raises(ModelError, match="about='com' is not a point, a body or 'mass centre'"):
        System("empty").angular_momentum("com")
