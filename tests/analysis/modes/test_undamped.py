"""Undamped modes from mass matrix and stiffness: closed forms, and sentences where there are none."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.modes.undamped_modes import UndampedModes
from tests.analysis.modes.systems import bicycle, chain, pendulum


def test_mass_and_stiffness_are_those_of_the_textbook(tmp_path: Path) -> None:
    """Three masses 2 kg, springs 8 N/m; damping is left out."""
    modes = chain(3, walls=True, damping=0.5).undamped_modes()
    assert np.allclose(modes.mass, 2 * np.eye(3), atol=1e-15)
    assert np.allclose(modes.stiffness, 8.0 * (2 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)), atol=1e-13)
    assert np.allclose([m.omega**2 for m in modes], 4 * np.array([2 - sqrt(2), 2, 2 + sqrt(2)]), rtol=1e-13)
    assert np.allclose(modes.modal_masses, 2 * np.array([2.0, 2.0, 2.0]), rtol=1e-13)  # shapes 1, √2, 1; …
    assert modes.orthogonality < 1e-14
    modes.save(tmp_path / "modes.json")
    assert np.array_equal(UndampedModes.load(tmp_path / "modes.json").stiffness, modes.stiffness)
    assert str(arm.Modes.load(tmp_path / "modes.json")) == str(modes)


def test_the_same_modes_as_those_of_the_linear_model() -> None:
    full, undamped = pendulum().linearize().modes(), pendulum().undamped_modes()
    assert np.allclose(full.eigenvalues, undamped.eigenvalues, atol=1e-13)
    assert np.allclose(full.shapes, undamped.shapes, atol=1e-12)
    assert np.allclose(full.participation, undamped.participation, atol=1e-12)
    assert np.allclose(full.bodies.potential, undamped.bodies.potential, atol=1e-12)


def test_an_inverted_pendulum_grows_and_a_free_chain_drifts() -> None:
    modes = pendulum().undamped_modes(at={"A.q1": np.pi})
    assert [m.kind for m in modes] == ["growth", "growth"]
    assert sorted(m.eigenvalue.real**2 for m in modes) == pytest.approx(
        [9.81 * (2 - sqrt(2)), 9.81 * (2 + sqrt(2))], rel=1e-12
    )
    free = chain(3, walls=False).undamped_modes()
    assert free.chains == (2, 0, 0) and np.allclose(free.vectors[0], 1.0)


def test_what_has_no_stiffness_matrix_is_explained() -> None:
    with pytest.raises(arm.ArmillaryError, match="7 independent coordinates and 3 independent speeds"):
        bicycle().undamped_modes()
    with pytest.raises(arm.ArmillaryError, match=r"'A\.u1' is not zero"):
        pendulum().undamped_modes(at={"A.u1": 1.0})
    with pytest.raises(arm.ArmillaryError, match=r"not at rest there: '[AB].u1' has the rate .*equilibrium"):
        pendulum().undamped_modes(at={"A.q1": 1.0})
    with pytest.raises(arm.ArmillaryError, match=r"has the momentum .* derive it with another formalism"):
        pendulum("momentum").undamped_modes()
    s = arm.System("follower")
    A = s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1.0, inertia=0)
    B = s.body("B", A, arm.Revolute("z"), at=(0, -1, 0), com=(0, -1, 0), mass=1.0, inertia=0)
    s.moment("hinge", "-9*A.q1", s.ground.z, on=A)
    s.moment("knee", "-9*B.q1", s.ground.z, on=B, reaction=A)
    s.force("thrust", 1.0, B.y, at=B.com)
    with pytest.raises(arm.ArmillaryError, match="stiffness of 'follower' is not symmetric"):
        s.derive().compile().undamped_modes()


def test_modes_about_a_point_that_an_input_holds() -> None:
    """A rod of 1 kg m2 about its end, held level by a torque that is no default of the input."""
    s = arm.System("held rod")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1, inertia=(0.75, 0.75, 0.75))
    s.gravity(9.81, -s.ground.y)
    s.input("tau", units="N*m")
    s.moment("motor", "tau - 4*rod.q1", s.ground.z, on=rod)
    model = s.derive().compile(tier="quick")
    level = model.trim(fixed={"rod.q1": 0.0}, inputs=["tau"])
    assert model.undamped_modes(at=level).eigenvalues.imag == pytest.approx([2.0])
