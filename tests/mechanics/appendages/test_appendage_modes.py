"""Real and complex modes of appendages, against those of the reference data and a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.errors import ModelError
from armillary.model.flexible.modal_data import (
    complex_modes,
    free_vehicle_mass,
    nodal_mass,
    real_modes,
    spinning_matrices,
)
from tests.verification.common import reference

GENERIC = reference("jpl_generic_tree")
TOTAL = sum(GENERIC["inputs"]["mass"])


def nodes(record: dict[str, Any]) -> tuple[list[float], list[np.ndarray]]:
    return [n["mass"] for n in record["nodes"]], [np.array(n["inertia"]) for n in record["nodes"]]


@pytest.mark.parametrize("m", [0, 1])
def test_real_modes_of_the_generic_tree(m: int) -> None:
    """Frequencies and shapes, up to the sign of each."""
    record = GENERIC["appendages_MBDYFN_MBDYFL"][m]
    mass = free_vehicle_mass(nodal_mass(*nodes(record)), TOTAL)
    frequencies, shapes = real_modes(mass, np.array(record["stiffness_6n"]), "appendage")
    kept = record["modes_kept"]
    np.testing.assert_allclose(frequencies[:kept], record["sigma"], rtol=1e-12)
    expected = np.array(record["phi"])
    signs = np.sign((shapes[:, :kept] * expected).sum(axis=0))
    np.testing.assert_allclose(shapes[:, :kept] * signs, expected, atol=1e-11)


@pytest.mark.parametrize("m", [0, 1])
def test_complex_modes_of_the_generic_tree(m: int) -> None:
    """Frequencies and shapes, up to the phase of each, which only turns δ and η into each other."""
    record = GENERIC["appendages_MBDYFR"][m]
    matrices = spinning_matrices(*nodes(record), np.array(record["stiffness_6n"]), record["Omega"], TOTAL)
    modes = complex_modes(matrices, "appendage")
    kept = record["modes_kept"]
    np.testing.assert_allclose(modes.frequencies[:kept], record["sigma"], rtol=1e-12)
    found = (modes.psi + 1j * modes.gamma)[:, :kept]
    expected = np.array(record["Psi"]) + 1j * np.array(record["Gamma"])
    turn = (found.conj() * expected).sum(axis=0)
    np.testing.assert_allclose(found * turn / np.abs(turn), expected, atol=1e-11)


def test_modes_of_the_spinning_rotor() -> None:
    """The report's own: one mass on springs that spin with 10 rad/s, seen at 10 and 30 rad/s. The phase here
    is the report's too. Tolerance: its seven digits.
    """
    record = reference("jpl_spinning_rotor")["inputs"]["appendages"][0]
    plane = np.eye(6)[:, :2]
    stiffness = np.diag([399.2, 399.2, 0, 0, 0, 0])
    matrices = spinning_matrices([1.0], [np.zeros((3, 3))], stiffness, (0, 0, 10.0), 500.0).project_onto(
        plane
    )
    modes = complex_modes(matrices, "rotor")
    np.testing.assert_allclose(modes.frequencies, [10.0, 30.0], rtol=1e-12)
    np.testing.assert_allclose(plane @ modes.psi, record["Psi"], atol=1e-8)
    np.testing.assert_allclose(plane @ modes.gamma, record["Gamma"], atol=1e-8)


def test_a_spin_beyond_the_stiffness_is_refused() -> None:
    plane = np.eye(6)[:, :2]
    stiffness = np.diag([90.0, 90.0, 0, 0, 0, 0])
    matrices = spinning_matrices([1.0], [np.zeros((3, 3))], stiffness, (0, 0, 10.0), 500.0).project_onto(
        plane
    )
    with pytest.raises(ModelError, match="'blade': at the nominal spin its stiffness is not positive"):
        complex_modes(matrices, "body 'blade'")


def test_a_spin_off_the_principal_axes_is_refused() -> None:
    inertia = np.diag([1.0, 2.0, 3.0])
    matrices = spinning_matrices([1.0], [inertia], 100 * np.eye(6), (1.0, 1.0, 0.0), 50.0)
    with pytest.raises(ModelError, match="not along a principal axis"):
        complex_modes(matrices, "body 'blade'")
