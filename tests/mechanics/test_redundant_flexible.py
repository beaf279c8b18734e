"""Flexible members in redundant coordinates: a second opinion beside formalisms in minimal coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.mechanics import flexible_trees as trees

BEAM = arm.Beam(1.0, EI=50.0, mass_per_length=0.5, motions="y")


def redundant_accelerations(s: arm.System, q: Any, u: Any) -> np.ndarray:
    """u̇ of the joints and modes."""
    model = s.derive("redundant").compile()
    names = [x.name for x in (*s.coordinates, *s.speeds)]
    found = model.joint_accelerations(0.0, model.state(dict(zip(names, [*q, *u], strict=True))))
    return np.array([found[x.name] for x in s.speeds])


@pytest.mark.parametrize("seed", [17, 23])
def test_random_flexible_trees_move_as_their_particles_do(seed: int) -> None:
    """Flexible bodies fixed and jointed, held at nodes, with bodies and forces on their nodes."""
    tree = trees.random_tree(seed)
    q, u = trees.random_state(tree, seed)
    wanted = trees.accelerations(tree, q, u)
    found = redundant_accelerations(trees.build(tree), q, u)
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


def test_a_stiffened_beam_with_loads_on_its_nodes_accelerates_as_by_kane() -> None:
    """A rotating boom that bends both ways and twists, with a moment and a force on places of it."""
    s = arm.System("boom")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=3, inertia=(1, 2, 1.5))
    boom = s.body("boom", hub, arm.Fixed(), at=(0.2, 0, 0), orient=("x", 0.3))
    part = arm.Beam(2.0, EI=(50.0, 80.0), mass_per_length=0.5, GJ=20.0, polar=0.01)
    boom.flexible(part, modes=3, stiffening=True, damping=0.02)
    s.gravity(9.81, -s.ground.z)
    s.force("push", 2.0, s.ground.y, at=boom.node(1.3))
    s.moment("twist", "0.3 - 0.1*boom.u1", boom.node("tip").x, on=boom.node("tip"), reaction=hub)
    rng = np.random.default_rng(7)
    q, u = np.array([0.4, *0.05 * rng.normal(size=3)]), np.array([3.0, *rng.normal(size=3)])
    wanted = s.derive("kane").compile().accelerations(0.0, q, u)
    found = redundant_accelerations(s, q, u)
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


def test_a_given_mode_drives_its_body_as_by_kane() -> None:
    s = arm.System("driven mode")
    boom = s.body("boom", joint=arm.Revolute("z"))
    boom.flexible(BEAM, modes=2)
    s.body("load", boom.node("tip"), arm.Revolute("z"), com=(0.2, 0, 0), mass=0.4, inertia=(0.01, 0.01, 0.01))
    s.prescribe(boom.q2, "0.03*sin(5*t)")
    model = s.derive("kane").compile()
    wanted = model.derivatives(0.0, model.state({"boom.q1": 0.3, "boom.u1": 2.0}))[-3:]
    r = s.derive("redundant").compile()
    found = r.joint_accelerations(0.0, r.state({"boom.q1": 0.3, "boom.u1": 2.0}))
    for name, value in zip(("boom.u1", "boom.u3", "load.u1"), wanted, strict=True):
        assert found[name] == pytest.approx(value, rel=1e-9), name
    assert found["boom.u2"] == pytest.approx(0.0, abs=1e-9)  # −0.75 sin 5t at its start


@pytest.fixture(scope="module")
def tied() -> Any:
    """Two booms tied at their tips, falling."""
    s = arm.System("tied booms")
    s.gravity(9.81, -s.ground.y)
    root = {"mass": 0.1, "inertia": (0.01, 0.01, 0.01)}
    booms = [s.body(n, joint=arm.Revolute("z"), at=(x, 0, 0), **root) for n, x in (("a", 0), ("b", 1.2))]
    for boom in booms:
        boom.flexible(BEAM, modes=2)
    tips = [boom.node("tip") for boom in booms]
    s.close_loop(*tips, [s.ground.x, s.ground.y], name="tips")
    s.output("E", s.kinetic_energy() + s.potential_energy() + s.strain_energy(), units="J")
    s.output("gap", arm.magnitude(arm.position(tips[0], tips[1])), units="m")
    start = {"a.q1": 0.9, "b.q1": 2.2}
    reference = s.derive("kane").compile().simulate(0.2, rtol=1e-11, sample=0.05, initial=start)
    return s.derive("redundant").compile(), start, reference


def test_tied_booms_swing_as_by_kane_and_conserve_energy(tied: Any) -> None:
    """Fourth-order steps with projections; the gap is a root of differences of squares."""
    model, start, reference = tied
    run = model.simulate(0.2, step=2e-4, sample=0.05, method="projected", initial=start)
    assert np.abs(run["a.q2"]).max() > 1e-3  # they do bend
    assert np.abs(run["gap"]).max() < 1e-7
    np.testing.assert_allclose(run["E"], run["E"][0], rtol=1e-7)
    for name in ("a.q1", "b.q1", "a.q2", "b.q3"):
        scale = np.abs(reference[name]).max()
        np.testing.assert_allclose(run[name], reference[name], rtol=0, atol=1e-6 * scale)


def test_staggered_steps_of_flexible_members_are_of_second_order(tied: Any) -> None:
    model, start, reference = tied
    errors = []
    for step in (1e-4, 5e-5):
        run = model.simulate(0.2, step=step, sample=0.05, method="staggered", initial=start)
        errors.append(np.abs(run["a.q1"] - reference["a.q1"]).max())
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
