"""Parts from the rigid-elastic coupling of JPL TR 32-1598, against the same appendage given by its nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.reading import flexible_part

RNG = np.random.default_rng(3)
PLACES = RNG.normal(size=(3, 3))
MASSES = np.array([2.0, 1.0, 0.5])
INERTIAS = np.array([np.diag(d) for d in ((0.2, 0.3, 0.4), (0.1, 0.1, 0.15), (0.3, 0.2, 0.2))])
ROOT = RNG.normal(size=(18, 18))
STIFFNESS = ROOT @ ROOT.T + np.eye(18)
CENTRE = np.array([0.4, -0.3, 0.2])
VEHICLE = 40.0


def nodal_mass() -> np.ndarray:
    whole = np.zeros((18, 18))
    for s in range(3):
        whole[6 * s : 6 * s + 3, 6 * s : 6 * s + 3] = MASSES[s] * np.eye(3)
        whole[6 * s + 3 : 6 * s + 6, 6 * s + 3 : 6 * s + 6] = INERTIAS[s]
    return whole


def from_nodes(**options: Any) -> FlexiblePart:
    return flexible_part("body 'bus'", nodes=PLACES, masses=MASSES, inertias=INERTIAS, **options)


def jpl_modes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """σ, φ, P and Δᵀ of K φ = σ² M′ φ with φᵀM′φ = 1, M′ = M − MΣΣᵀM/m (sect. II of the report)."""
    mass = nodal_mass()
    moves, turns = np.tile(np.eye(6)[:, :3], (3, 1)), np.tile(np.eye(6)[:, 3:], (3, 1))
    reduced = mass - mass @ moves @ moves.T @ mass / VEHICLE
    root = np.linalg.inv(np.linalg.cholesky(reduced))
    squares, vectors = np.linalg.eigh(root @ STIFFNESS @ root.T)
    shapes = (root.T @ vectors)[:, :count]
    arms = np.zeros((18, 18))
    for s, (x, y, z) in enumerate(PLACES - CENTRE):
        arms[6 * s : 6 * s + 3, 6 * s : 6 * s + 3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    momentum = mass @ shapes
    return np.sqrt(squares[:count]), shapes, moves.T @ momentum, (turns.T + moves.T @ arms) @ momentum


def test_coupling_is_the_momentum_that_the_nodes_have() -> None:
    """P, H about the origin, M and K of modes of the whole vehicle; the coupling is about the mass centre."""
    sigma, shapes, P, delta = jpl_modes(4)
    nodes = from_nodes(shapes=shapes, frequencies=sigma, total_mass=VEHICLE, damping=0.01)
    part = flexible_part(
        "body 'bus'", com=CENTRE, coupling=(P, delta), frequencies=sigma, damping=0.01, total_mass=VEHICLE
    )
    for key in ("P", "H", "M", "K"):
        np.testing.assert_allclose(getattr(part, key), getattr(nodes, key), atol=1e-12, err_msg=key)
    np.testing.assert_allclose(np.diag(part.C), 2 * 0.01 * sigma, rtol=1e-12)
    assert part.mass == 0 and np.all(part.inertia == 0) and part.J2 is None and part.H1 is None


def test_place_of_the_coupling_may_be_given() -> None:
    sigma, _, P, delta = jpl_modes(2)
    here = flexible_part("body 'bus'", coupling=(P, delta), frequencies=sigma, about=CENTRE)
    same = flexible_part("body 'bus'", com=CENTRE, coupling=(P, delta), frequencies=sigma)
    np.testing.assert_array_equal(here.H, same.H)
    np.testing.assert_array_equal(here.M, np.eye(2))
    plain = flexible_part("body 'bus'", coupling=(P, delta), frequencies=sigma)
    np.testing.assert_array_equal(plain.H, delta)


def test_modes_of_the_vehicle_are_not_orthogonal_by_themselves() -> None:
    """Without its total mass the coupling of such modes through M is an error that names two of them."""
    sigma, shapes, _, _ = jpl_modes(4)
    with pytest.raises(ValueError, match=r"modes \d and \d are not orthogonal"):
        from_nodes(shapes=shapes, frequencies=sigma)
    part = from_nodes(shapes=shapes, stiffness=STIFFNESS)
    assert part.check_orthogonal() > 0.01
    assert part.lumps is not None and part.lumps.stiffness is not None
    np.testing.assert_array_equal(part.lumps.stiffness, 0.5 * (STIFFNESS + STIFFNESS.T))


def test_coupled_modes_have_coupled_frequencies_and_one_damping_ratio() -> None:
    """Modes of the vehicle with the body held: frequencies are those of φᵀKφ and φᵀMφ, all equally damped."""
    shapes = jpl_modes(12)[1]
    part = from_nodes(shapes=shapes, stiffness=STIFFNESS, damping=0.02)
    squares = scipy.linalg.eigh(shapes.T @ STIFFNESS @ shapes, shapes.T @ nodal_mass() @ shapes)[0]
    np.testing.assert_allclose(part.frequencies, np.sqrt(squares), rtol=1e-10)
    first_order = np.block([[np.zeros((12, 12)), np.eye(12)], [-part.K, -part.C]])
    first_order[12:] = np.linalg.solve(part.M, first_order[12:])
    values = np.linalg.eigvals(first_order)
    np.testing.assert_allclose(-values.real / np.abs(values), 0.02, rtol=1e-6)
    with pytest.raises(ValueError, match="ratios per mode mean nothing"):
        from_nodes(shapes=shapes, stiffness=STIFFNESS, damping=np.linspace(0.01, 0.02, 12))


def test_damping_per_mode_spin_and_second_order() -> None:
    part = from_nodes(
        stiffness=STIFFNESS, modes=3, damping=[0.01, 0.02, 0.03], spin=(0, 0, 2), second_order=False
    )
    np.testing.assert_allclose(part.damping, [0.01, 0.02, 0.03], rtol=1e-9)
    assert part.spin is not None and part.spin.tolist() == [0, 0, 2]
    assert part.J2 is None and part.H1 is None and part.modes == 3
