"""Arrays of links, [J h̃; h̃ᵀ m1] and what a motion of the parent gives: by the kinetic energy of points."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.mechanics.mass_sweep import _spatial, _tilde

RNG = np.random.default_rng(12)


def test_the_matrix_of_a_cross_product() -> None:
    a, b = RNG.normal(size=(2, 5, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", _tilde(a), b), np.cross(a, b), atol=1e-15)


def test_spatial_inertias_have_the_kinetic_energy_of_their_points() -> None:
    """½ Vᵀ M V = Σ ½ m |v + ω × r|² with V = (ω, v), of some points of mass."""
    masses, places = RNG.uniform(0.1, 1.0, 6), RNG.normal(size=(6, 3))
    squares = np.einsum("k,ki,kj->ij", masses, places, places)
    J = np.trace(squares) * np.eye(3) - squares
    M = _spatial(np.array([[masses.sum(), *(masses @ places), *J.ravel()]]))[0]
    for w, v in RNG.normal(size=(4, 2, 3)):
        moving = v + np.cross(w, places)
        expected = 0.5 * masses @ np.sum(moving**2, axis=1)
        V = np.concatenate([w, v])
        assert pytest.approx(expected) == 0.5 * V @ M @ V
    np.testing.assert_allclose(M, M.T, atol=1e-15)
