"""Arrays of links, [J h̃; h̃ᵀ m1] and what a motion of the parent gives: by the kinetic energy of points."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.mechanics.mass_sweep import _spatial, _tilde
from armillary.mechanics.massless import places, tree_masses

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


def test_the_inertia_of_a_flexible_link_has_its_given_modal_blocks() -> None:
    s = arm.System("flexible")
    hub = s.body("hub", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    P, M = np.array([[0, 0], [0.3, 0.1], [0, 0.2]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    still = np.zeros((3, 2))
    s.body("boom", hub).flexible(m=1.0, c=[0, 0, 0], J=np.eye(3), P=P, H=still, M=M, K=np.eye(2))
    equations = core_of(s.derive())
    masses, plain = tree_masses(equations.system, equations.configuration)
    boom = masses.links.at(places(equations.system, plain))[1].inertia[0]
    found = np.block([[np.eye(6), np.vstack([still, P])], [np.hstack([still.T, P.T]), M]])
    np.testing.assert_allclose(boom, found, rtol=0, atol=1e-14)
