"""Parts from mass and stiffness matrices: bases, files, mass properties and second-order integrals."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from armillary.model.flexible.beam import Beam
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart
from armillary.verification.rows import largest
from tests.model.flexible.structures import GAUSS, bar_of_bricks, beam_elements, brick_functions, chain

# stretching and twisting lie far above the modes of bending that are looked at
BEAM = {"EI": 3.0, "EA": 4e4, "GJ": 500.0, "density": 0.5, "polar": 0.01}


def beam_part(count: int, **options: Any) -> FlexiblePart:
    places, mass, stiffness = beam_elements(count, 2.0, **BEAM)
    return flexible_part(
        "body 'boom'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places, **options
    )


def test_chain_has_its_closed_form_frequencies() -> None:
    """ω_j = 2 √(k/m) sin((2j − 1)π / (4n + 2)) of n masses, one end fixed (Rayleigh), in each direction."""
    places, mass, stiffness = chain(8)
    part = flexible_part("body 'c'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places)
    j = np.arange(1, 9)
    one = 2 * np.sqrt(50.0 / 2.0) * np.sin((2 * j - 1) * np.pi / 34)
    expected = np.sort(np.concatenate([one * np.sqrt(s) for s in (1.0, 0.5, 0.25)]))
    np.testing.assert_allclose(part.frequencies, expected, rtol=1e-12)
    assert part.check_orthogonal() < 1e-12
    assert part.effective_masses.sum(axis=0) == pytest.approx([16.0] * 3, rel=1e-12)  # all modes: all mass


def test_nodes_with_stiffness_are_the_same_as_matrices() -> None:
    places, mass, stiffness = chain(5)
    same: dict[str, Any] = {"modes": 4, "damping": 0.01}
    a = flexible_part("body 'c'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places, **same)
    b = flexible_part("body 'c'", nodes=places, masses=2.0, stiffness=stiffness, **same)
    for key in ("mass", "first", "inertia", "P", "H", "M", "K", "C", "J1", "J2", "H1"):
        np.testing.assert_allclose(getattr(a, key), getattr(b, key), atol=1e-12, err_msg=key)
    assert a.lumps is not None and b.lumps is not None
    for key in ("masses", "inertias", "positions", "shapes", "stiffness"):
        np.testing.assert_allclose(getattr(a.lumps, key), getattr(b.lumps, key), atol=1e-12, err_msg=key)


def difference_from_the_exact_beam(count: int) -> dict[str, float]:
    """The largest difference in each array between clamped elements and `Beam`.

    Bending along y and z is alike, so every pair of modes may come out turned; the tip tells how.
    """
    beam = Beam(2.0, EI=3.0, EA=4e4, GJ=500.0, mass_per_length=0.5, polar=0.01)
    exact, found = flexible_part("body 'boom'", beam, modes=6), beam_part(count, fixed="1", modes=6)
    tip = found.node(str(count + 1)).shape[1:]
    turn = np.zeros((6, 6))
    for pair in (slice(0, 2), slice(2, 4), slice(4, 6)):
        turn[pair, pair] = (tip / np.linalg.norm(tip, axis=0))[:, pair]
    expected = {
        "mass": exact.mass,
        "first": exact.first,
        "inertia": exact.inertia,
        "frequencies": exact.frequencies,
        "P": exact.P @ turn,
        "H": exact.H @ turn,
        "J1": np.einsum("pij,pr->rij", exact.J1, turn),
        "J2": np.einsum("pqij,pr,qs->rsij", exact.J2, turn, turn),
        "H1": np.einsum("qip,qr,ps->ris", exact.H1, turn, turn),
    }
    return {key: float(np.max(np.abs(value - getattr(found, key)))) for key, value in expected.items()}


def test_clamped_beam_elements_meet_the_exact_beam() -> None:
    """Rigid properties exactly; modes to h⁴ or better; J1 and J2, which hold the linear stretching, to h²."""
    coarse, fine = difference_from_the_exact_beam(20), difference_from_the_exact_beam(40)
    assert largest([fine[key] for key in ("mass", "first", "inertia")]) < 1e-12
    assert largest(fine["P"], fine["H"]) < 1e-8
    for key, order in (("frequencies", 4), ("H1", 4), ("J1", 2), ("J2", 2)):
        assert np.log2(coarse[key] / fine[key]) == pytest.approx(order, abs=0.1), key


def test_free_beam_elements_leave_rigid_motion_to_the_body() -> None:
    """Free-free kL = 4.7300, 7.8532 (Blevins 1979, table 8-1), twice each; and no momentum in any mode."""
    part = beam_part(20, basis="free", modes=4)
    kl = np.sqrt(part.frequencies / np.sqrt(3.0 / 0.5)) * 2.0
    np.testing.assert_allclose(kl, [4.7300, 4.7300, 7.8532, 7.8532], rtol=2e-5)
    assert np.max(np.abs(part.P)) < 1e-10 and np.max(np.abs(part.H)) < 1e-10


def test_craig_bampton_of_a_chain_has_the_frequencies_of_the_full_model() -> None:
    """Five normal modes and the interface at the end: the low frequencies of 40 masses, from above."""
    places, mass, stiffness = chain(40)
    matrices = {"mass_matrix": mass, "stiffness_matrix": stiffness, "positions": places}
    full = flexible_part("body 'c'", **matrices)
    few = flexible_part("body 'c'", **matrices, basis="craig-bampton", interface=["40"], modes=12, fixed=())
    ratio = few.frequencies[:6] / full.frequencies[:6]
    assert few.modes == 15
    assert np.all(ratio > 1 - 1e-12) and np.all(ratio < 1.003)
    assert few.check_orthogonal() < 1e-10


def test_craig_bampton_is_exact_in_statics_at_its_interface() -> None:
    """A cantilever's tip: F L³ / 3EI and F L² / 2EI, from interface modes alone."""
    part = beam_part(10, fixed=["1"], basis="craig-bampton", interface=["11"], modes=0)
    assert part.modes == 6
    tip = part.node("11")
    eta = np.linalg.solve(part.K, tip.shape.T @ [0.0, 1.0, 0.0])
    assert (tip.shape @ eta)[1] == pytest.approx(2.0**3 / (3 * 3.0), rel=1e-9)
    assert (tip.rotation @ eta)[2] == pytest.approx(2.0**2 / (2 * 3.0), rel=1e-9)


def test_craig_bampton_of_a_free_part_keeps_no_rigid_motion() -> None:
    part = beam_part(20, basis="craig-bampton", interface=["1", "21"], modes=4)
    assert part.modes == 12 + 4 - 6
    free = beam_part(20, basis="free", modes=2)
    better = beam_part(20, basis="craig-bampton", interface=["1", "21"], modes=12)
    coarse, fine = (p.frequencies[:2] / free.frequencies - 1 for p in (part, better))
    assert np.all(coarse > fine) and np.all(fine > 0) and np.all(fine < 1e-3)
    assert np.max(np.abs(part.P)) < 1e-9 and np.max(np.abs(part.H)) < 1e-9


def test_bar_of_bricks_has_the_mass_properties_and_first_frequency_of_a_bar() -> None:
    """m, c and J of a 6 × 1 × 1 block about its corner; stretching at ω = (π/2L) √(E/ρ) to 1 %."""
    places, mass, stiffness, _ = bar_of_bricks(6, E=100.0, density=2.0)
    root = [str(n) for n in range(1, 5)]
    part = flexible_part(
        "body 'bar'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places, fixed=root, modes=12
    )
    assert part.mass == pytest.approx(12.0, rel=1e-12)
    np.testing.assert_allclose(part.first, [36.0, 6.0, 6.0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(part.inertia), [8.0, 148.0, 148.0], rtol=1e-12)  # m(b² + c²)/3
    np.testing.assert_allclose(part.inertia[np.triu_indices(3, 1)], [-18.0, -18.0, -3.0], rtol=1e-12)
    axial = int(np.argmax(part.effective_masses[:, 0]))
    assert part.frequencies[axial] == pytest.approx(np.pi / 12 * np.sqrt(50.0), rel=1e-2)


def test_consistent_mass_of_solids_is_exact_to_second_order() -> None:
    """J(η), H(η), c(η) of bricks equal integrals over their displaced material (Gauss points of each)."""
    places, mass, stiffness, cubes = bar_of_bricks(2, E=100.0, density=2.0)
    part = flexible_part(
        "body 'bar'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places, basis="free", modes=5
    )
    eta = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    shapes = np.stack([part.nodes[str(n + 1)].shape for n in range(len(places))])
    centre, inertia, momentum = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 5))
    for nodes, at in itertools.product(cubes, itertools.product(GAUSS, repeat=3)):
        weights = brick_functions(*at)
        psi = np.tensordot(weights, shapes[nodes], 1)
        x = weights @ places[nodes] + psi @ eta
        centre += 0.25 * x
        inertia += 0.25 * (x @ x * np.eye(3) - np.outer(x, x))
        momentum += 0.25 * np.cross(x, psi, axisb=0, axisc=0)
    assert part.J2 is not None and part.H1 is not None
    np.testing.assert_allclose(part.first + part.P @ eta, centre, atol=1e-12)
    deformed = part.inertia + np.einsum("p,pij->ij", eta, part.J1)
    np.testing.assert_allclose(
        deformed + 0.5 * np.einsum("p,q,pqij->ij", eta, eta, part.J2), inertia, atol=1e-12
    )
    # What is zero by symmetry is 0 in the part, 1e-11 in integrals of its shapes: modes are that accurate.
    turned = part.H + np.einsum("q,qip->ip", eta, part.H1)
    np.testing.assert_allclose(turned, momentum, rtol=1e-12, atol=1e-10)


def test_sparse_matrices_and_files_are_the_same_as_dense_ones(tmp_path: Path) -> None:
    """The sparse solver on 606 freedoms, from .npy, .npz and .mtx, against LAPACK."""
    places, mass, stiffness = beam_elements(100, 2.0, **BEAM)
    np.save(tmp_path / "m.npy", mass)
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.csr_matrix(mass))
    scipy.sparse.save_npz(tmp_path / "k.npz", scipy.sparse.csr_matrix(stiffness))
    scipy.io.mmwrite(tmp_path / "k.mtx", scipy.sparse.coo_matrix(stiffness), symmetry="symmetric")
    common: dict[str, Any] = {"positions": places, "fixed": "1", "modes": 6}
    dense = flexible_part("body 'b'", mass_matrix=mass, stiffness_matrix=stiffness, **common)
    for m, k in (("m.npz", "k.npz"), ("m.npz", "k.mtx")):
        part = flexible_part("body 'b'", mass_matrix=tmp_path / m, stiffness_matrix=tmp_path / k, **common)
        np.testing.assert_allclose(part.frequencies, dense.frequencies, rtol=1e-8)
        np.testing.assert_allclose(part.effective_masses.sum(0), dense.effective_masses.sum(0), atol=1e-8)
    full = flexible_part(
        "body 'b'", mass_matrix=str(tmp_path / "m.npy"), stiffness_matrix=stiffness, **common
    )
    np.testing.assert_array_equal(full.frequencies, dense.frequencies)
    sparse: dict[str, Any] = {
        "mass_matrix": tmp_path / "m.npz",
        "stiffness_matrix": tmp_path / "k.npz",
        "positions": places,
    }
    free = flexible_part("body 'b'", **sparse, basis="free", modes=4)
    kl = np.sqrt(free.frequencies / np.sqrt(3.0 / 0.5)) * 2.0
    np.testing.assert_allclose(kl, [4.73004, 4.73004, 7.85320, 7.85320], rtol=1e-5)
    limited = flexible_part("body 'b'", **sparse, fixed="1", frequency_limit=dense.frequencies[3] * 1.01)
    np.testing.assert_allclose(limited.frequencies, dense.frequencies[:4], rtol=1e-8)
    ends: dict[str, Any] = {"fixed": "1", "basis": "craig-bampton", "interface": "101", "modes": 4}
    bampton = flexible_part("body 'b'", **sparse, **ends)
    same = flexible_part("body 'b'", mass_matrix=mass, stiffness_matrix=stiffness, positions=places, **ends)
    np.testing.assert_allclose(bampton.frequencies, same.frequencies, rtol=1e-7)


def test_massless_rotations_follow_the_masses() -> None:
    """Lumped masses without inertia on a beam of springs: statically condensed, as Guyan would."""
    places, _, stiffness = beam_elements(4, 2.0, **BEAM)
    part = flexible_part(
        "body 'b'",
        mass_matrix=np.diag(np.tile([0.25, 0.25, 0.25, 0, 0, 0], 5)),
        stiffness_matrix=stiffness,
        positions=places,
        fixed="1",
        modes=8,
    )
    free = [i for i in range(6, 30) if i % 6 < 3]
    turns = [i for i in range(6, 30) if i % 6 >= 3]
    k = stiffness
    condensed = k[np.ix_(free, free)] - k[np.ix_(free, turns)] @ np.linalg.solve(
        k[np.ix_(turns, turns)], k[np.ix_(turns, free)]
    )
    expected = np.sqrt(np.linalg.eigvalsh(condensed / 0.25))[:8]
    np.testing.assert_allclose(part.frequencies, expected, rtol=1e-9)
    assert part.lumps is not None and part.lumps.masses.shape == (4,)
