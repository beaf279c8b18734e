"""Parts from the rigid-elastic coupling of JPL TR 32-1598, against the same appendage given by its nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import armillary as arm
from armillary.model.flexible.modal_data import flexible_part
from armillary.model.flexible.part import FlexiblePart

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
        "body 'bus'", about=CENTRE, coupling=(P, delta), frequencies=sigma, damping=0.01, total_mass=VEHICLE
    )
    for key in ("P", "H", "M", "K", "C"):
        np.testing.assert_allclose(getattr(part, key), getattr(nodes, key), atol=1e-12, err_msg=key)
    np.testing.assert_allclose(np.diag(part.C), 2 * 0.01 * sigma, rtol=1e-12)
    assert part.mass == 0 and np.all(part.inertia == 0) and part.J2 is None and part.H1 is None


def test_place_of_the_coupling_may_be_given() -> None:
    sigma, _, P, delta = jpl_modes(2)
    here = flexible_part("body 'bus'", coupling=(P, delta), frequencies=sigma, about=CENTRE)
    np.testing.assert_allclose(here.H, delta + np.cross(CENTRE, P.T).T, rtol=1e-14)
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
    with pytest.raises(ValueError, match="ratios per mode have no meaning"):
        from_nodes(shapes=shapes, stiffness=STIFFNESS, damping=np.linspace(0.01, 0.02, 12))


def test_table_of_coupled_modes_has_one_mode_in_a_row() -> None:
    """Frequency, damping and effective mass are all of the modes Φ of K Φ = M Φ ω², here by SciPy."""
    P, M = np.array([[1.0, 0], [0, 1], [0, 0]]), np.array([[2.0, 0.5], [0.5, 1]])
    C = np.array([[0.3, 0.02], [0.02, 0.1]])
    given: dict[str, Any] = {"m": 1.0, "c": (0, 0, 0), "J": np.eye(3), "P": P, "H": np.zeros((3, 2)), "M": M}
    part = flexible_part("body 'b'", **given, K=np.diag([100.0, 4]), C=C)
    squares, modes = scipy.linalg.eigh(np.diag([100.0, 4]), M)
    np.testing.assert_allclose(part.frequencies, np.sqrt(squares), rtol=1e-12)
    np.testing.assert_allclose(
        part.damping, np.diag(modes.T @ C @ modes) / (2 * np.sqrt(squares)), rtol=1e-12
    )
    np.testing.assert_allclose(part.effective_masses, ((P @ modes) ** 2).T, atol=1e-14)
    one = flexible_part("body 'b'", **given, K=np.diag([100.0, 4]), damping=0.05)
    assert one.table().splitlines()[1].split() == ["1", "0.316614", "0.05", "0.0004516", "0.9781", "0"]


def test_shapes_of_three_digits_may_have_ratios_per_mode() -> None:
    """They are orthogonal to 2e-4, as frequencies take them; the ratios come out to that square."""
    shapes = np.zeros((2, 3, 2))
    shapes[:, 1] = [[0.526, 0.851], [0.851, -0.526 + 3e-4]]
    given: dict[str, Any] = {"nodes": [(1, 0, 0), (2, 0, 0)], "masses": 1.0, "shapes": shapes}
    part = flexible_part("body 'b'", **given, frequencies=[2.0, 5], damping=[0.01, 0.02])
    assert 1e-4 < part.check_orthogonal() < 1e-3
    np.testing.assert_allclose(part.damping, [0.01, 0.02], rtol=1e-5)


def test_frequencies_and_ratios_of_a_vehicle_are_found_in_the_vehicle() -> None:
    """Two masses swing together along y and z on a free hub, total mass 8: with the hub its frequencies and
    ratios are those given, each apart, since nothing turns.
    """
    s = arm.System("vehicle")
    hub = s.body("hub", joint=arm.Free(), mass=6.0, inertia=(1, 2, 3))
    shapes = [[[0, 0], [1, 0], [0, 1]]] * 2
    nodes = {"left": (-1, 0, 0), "right": (1, 0, 0)}
    hub.flexible(
        nodes=nodes, masses=1.0, shapes=shapes, frequencies=[3.0, 5], damping=[0.1, 0.02], total_mass=8.0
    )
    model = s.derive("kane").compile()
    rest = np.zeros(9)
    rest[3] = 1.0
    columns = []
    for k in range(4):
        q, u = rest.copy(), np.zeros(8)
        (q[7:] if k < 2 else u[6:])[k % 2] = 1e-3
        columns.append(np.r_[u[6:], model.accelerations(0, q, u)[6:]] / 1e-3)
    values = np.linalg.eigvals(np.array(columns).T)
    values = values[values.imag > 0][np.argsort(np.abs(values[values.imag > 0]))]
    np.testing.assert_allclose(np.abs(values), [3, 5], rtol=1e-9)
    np.testing.assert_allclose(-values.real / np.abs(values), [0.1, 0.02], rtol=1e-9)


def test_damping_per_mode_spin_and_second_order() -> None:
    part = from_nodes(
        stiffness=STIFFNESS, modes=3, damping=[0.01, 0.02, 0.03], spin=(0, 0, 2), second_order=False
    )
    np.testing.assert_allclose(part.damping, [0.01, 0.02, 0.03], rtol=1e-9)
    assert part.spin is not None and part.spin.tolist() == [0, 0, 2]
    assert part.J2 is None and part.H1 is None and part.modes == 3
