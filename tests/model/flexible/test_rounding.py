"""Computed modes without rounding: the same coefficients vanish whatever library did the linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import round_values
from armillary.model.flexible.reduction import ritz
from tests.model.flexible.structures import beam_elements

ARRAYS = ("first", "inertia", "P", "H", "M", "K", "C", "J1", "J2", "H1", "g")


def test_zero_one_and_equal_numbers_become_so() -> None:
    values = np.array([3e-10, -2e-10, 1 - 1e-15, -1 - 1e-15, 0.3, 0.1 + 0.2, 0.3 + 1e-11, 1e-8])
    assert round_values(values, 1.0).tolist() == [0, 0, 1, -1, 0.3, 0.3, 0.3 + 1e-11, 1e-8]
    # Sizes are each element's own: what is small beside a heavy mode may be all there is of a light one.
    assert round_values(np.array([1e-12, 1e-12]), np.array([1.0, 1e-9])).tolist() == [0.0, 1e-12]


def test_a_straight_beam_couples_only_what_its_symmetry_allows() -> None:
    """Bending along y and z: P has the plane's own row, H the axis across, and modes are of unit mass."""
    part = flexible_part("boom", arm.Beam(5.0, EI=40.0, mass_per_length=0.5), modes=6, stiffening=True)
    planes = [int(np.argmax(np.abs(column))) for column in part.P.T]
    assert sorted(planes) == [1, 1, 1, 2, 2, 2]
    for p, axis in enumerate(planes):
        assert np.flatnonzero(part.P[:, p]).tolist() == [axis]
        assert np.flatnonzero(part.H[:, p]).tolist() == [3 - axis]
        tip = part.node("tip")
        assert np.flatnonzero(tip.shape[:, p]).tolist() == [axis]
        assert np.flatnonzero(tip.rotation[:, p]).tolist() == [3 - axis]
    assert np.array_equal(part.M, np.eye(6)) and np.array_equal(part.K, np.diag(np.diag(part.K)))
    assert part.g is not None and np.all(part.g[:, :, 1:] == 0)
    # Equal in exact arithmetic, so equal here: ∫x w of a pair, as H and as a product of inertia.
    assert len(set(np.abs(part.H[np.nonzero(part.H)]))) == 3
    assert set(np.abs(part.J1[np.nonzero(part.J1)])) == set(np.abs(part.H[np.nonzero(part.H)]))


@pytest.fixture(params=["fixed", "free", "craig-bampton"])
def structure(request: pytest.FixtureRequest) -> dict[str, Any]:
    places, mass, stiffness = beam_elements(8, 2.0, EI=3.0, EA=4e4, GJ=500.0, density=0.5, polar=0.01)
    own = {"fixed": {"fixed": "1"}, "free": {}, "craig-bampton": {"interface": ["1", "9"]}}[request.param]
    return {"positions": places, "mass_matrix": mass, "stiffness_matrix": stiffness} | own | {
        "basis": request.param, "modes": 6
    }  # fmt: skip


def test_other_last_bits_of_the_matrices_leave_the_same_zeros(structure: dict[str, Any]) -> None:
    """As another LAPACK would: relative changes of 1e-15 before the modes are solved for."""
    plain = flexible_part("boom", **structure)
    rng = np.random.default_rng(7)
    for _ in range(3):
        moved = dict(structure)
        for key in ("mass_matrix", "stiffness_matrix"):
            noise = rng.uniform(-1e-15, 1e-15, structure[key].shape)
            moved[key] = structure[key] * (1 + noise + noise.T)
        part = flexible_part("boom", **moved)
        for name in ARRAYS:
            first, second = getattr(plain, name), getattr(part, name)
            if first is not None:
                assert np.array_equal(first == 0, second == 0), name
                assert np.array_equal(np.sign(first), np.sign(second)), name
                size = np.max(np.abs(first), initial=0.0)
                np.testing.assert_allclose(second, first, rtol=1e-7, atol=1e-8 * size, err_msg=name)


def test_modes_of_one_frequency_are_chosen_by_rule() -> None:
    """Any two vectors that span the plane of a pair give the same two modes."""
    mass, stiffness = np.eye(4), np.diag([2.0, 2.0, 2.0, 5.0])
    mixed = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    for turn in (np.eye(3), mixed, mixed[:, ::-1], -mixed):
        basis = np.zeros((4, 3))
        basis[:3] = turn
        squares, vectors = ritz(mass, stiffness, basis)
        assert squares == pytest.approx([2.0] * 3, rel=1e-14)
        np.testing.assert_allclose(vectors, np.eye(4)[:, :3], atol=1e-14)


def test_modes_that_rest_at_both_ends_and_in_the_middle_have_a_sign() -> None:
    """The second and fourth mode between pins, sin(nπs/L): they move up beside the root."""
    ends = {"root": "pinned", "tip": "pinned", "motions": "y", "stations": {"a": 0.4}}
    part = flexible_part("rod", arm.Beam(2.0, EI=3.0, mass_per_length=0.5, **ends), modes=4)
    assert part.node("a").shape[1, [1, 3]] == pytest.approx(np.sqrt(2) * np.sin([0.4 * np.pi, 0.8 * np.pi]))
