"""Zeros, reach, norms, responses and smaller models of random plants with several inputs and outputs, against
their definitions by dense linear algebra.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag, eigvals, expm, solve_continuous_lyapunov

import armillary as arm
from armillary.analysis.linear.structure import balanced_truncation


@cache
def _linear_model() -> Any:
    s = arm.System("mass")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push", s.input("F"), s.ground.x, at=s.bodies["m"].com)
    return s.derive().compile().linearize(inputs=["F"], outputs=["m.q1"])


def _plant(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> Any:
    base = _linear_model()
    made = [
        tuple(replace(one[0], name=f"{letter}{i}") for i in range(count))
        for one, letter, count in zip(base.variables, "xuy", (len(A), B.shape[1], len(C)), strict=True)
    ]
    return replace(base, A=A, B=B, C=C, D=D, variables=tuple(made))


def _random(seed: int, n: int, inputs: int, outputs: int) -> tuple[np.ndarray, ...]:
    """Stable, its axes near those of a normal matrix, so that nothing is scaled."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    blocks = [np.array([[-r, w], [-w, -r]]) for r, w in rng.uniform(0.3, 2.0, size=(n // 2, 2))]
    A = Q @ block_diag(*blocks, *([[-0.7]] * (n % 2))) @ Q.T
    return A, rng.normal(size=(n, inputs)), rng.normal(size=(outputs, n)), np.zeros((outputs, inputs))


def _sorted(values: Any) -> np.ndarray:
    return np.array(sorted(np.round(values, 12), key=lambda z: (z.real, z.imag)))


@pytest.mark.parametrize("direct", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_zeros_are_the_finite_eigenvalues_of_the_system_pencil(seed: int, direct: int) -> None:
    """det [[A − s, B], [C, D]] = 0, with D of rank 0, 1 and 2."""
    A, B, C, D = _random(seed, 5, 2, 2)
    rng = np.random.default_rng(100 + seed)
    if direct:
        D = rng.normal(size=(2, direct)) @ rng.normal(size=(direct, 2))
    found = _plant(A, B, C, D).zeros()
    left = np.block([[A, B], [C, D]])
    right = block_diag(np.eye(5), np.zeros((2, 2)))
    expected = eigvals(left, right)
    expected = expected[np.isfinite(expected) & (np.abs(expected) < 1e6)]
    assert len(found) == len(expected) == 3 + direct
    np.testing.assert_allclose(_sorted(found), _sorted(expected), rtol=1e-7)


def test_zeros_beside_modes_that_are_not_reached_and_of_plants_that_are_not_square() -> None:
    """A zero that two outputs share; a mode that neither input moves is a zero of the pencil, too."""
    # (s + 3)/(s + 1)(s + 2) in both outputs, with other factors; a decoupled mode at −5
    A = np.array([[0.0, 1, 0], [-2, -3, 0], [0, 0, -5]])
    B = np.array([[0.0], [1], [0]])
    C = np.array([[3.0, 1, 0], [6, 2, 0]])
    found = _plant(A, B, C, np.zeros((2, 1))).zeros()
    assert np.any(np.abs(found + 3) < 1e-9)
    reach = _plant(A, B, C, np.zeros((2, 1))).controllability()
    assert reach.rank == 2 and [m.eigenvalue.real for m in reach.missing] == pytest.approx([-5])
    assert reach.missing[0].states == ("x2",)


@pytest.mark.parametrize("seed", range(3))
def test_reach_is_the_test_of_popov_belevitch_and_hautus(seed: int) -> None:
    """The least singular value of [λ − A, B] over the largest; each input as large as A."""
    A, B, C, D = _random(seed, 4, 2, 3)
    plant = _plant(A, B, C, D)
    for found, M, ports in ((plant.controllability(), A, B), (plant.observability(), A.T, C.T)):
        scaled = ports / np.max(np.abs(ports), axis=0) * np.linalg.norm(M, 2)
        for mode in found.modes:
            sizes = np.linalg.svd(np.hstack([mode.eigenvalue * np.eye(4) - M, scaled]), compute_uv=False)
            assert mode.measure == pytest.approx(sizes[-1] / sizes[0], rel=1e-9)
        assert found and found.rank == 4
        np.testing.assert_allclose(found.gramian, solve_continuous_lyapunov(M, -ports @ ports.T), atol=1e-12)
        assert repr(found).startswith("4 of 4 modes are ")


@pytest.mark.parametrize("seed", range(2))
def test_responses_and_norms_of_plants_with_several_ports(seed: int) -> None:
    A, B, C, D = _random(seed, 5, 2, 3)
    plant = _plant(A, B, C, D)
    X = solve_continuous_lyapunov(A, -B @ B.T)
    assert plant.h2_norm() == pytest.approx(np.sqrt(np.trace(C @ X @ C.T)))
    w = np.array([0.2, 1.0, 4.0])
    response = plant.frequency_response(w)
    for k, omega in enumerate(w):
        exact = C @ np.linalg.solve(1j * omega * np.eye(5) - A, B) + D
        np.testing.assert_allclose(response.values[k], exact, rtol=1e-10)
        tf = [[plant.transfer_function(f"y{i}", f"u{j}")(1j * omega) for j in range(2)] for i in range(3)]
        np.testing.assert_allclose(tf, exact, rtol=1e-7)
    times = np.linspace(0, 2, 5)
    for j in range(2):
        step, impulse = (
            getattr(plant, f"{kind}_response")(times, input=f"u{j}") for kind in ("step", "impulse")
        )
        for k, t in enumerate(times):
            grown = C @ np.linalg.solve(A, (expm(A * t) - np.eye(5)) @ B[:, j])
            np.testing.assert_allclose([step[f"y{i}"][k] for i in range(3)], grown, atol=1e-9)
            free = C @ expm(A * t) @ B[:, j]
            np.testing.assert_allclose([impulse[f"y{i}"][k] for i in range(3)], free, atol=1e-9)
    held = plant.discretize(0.3)
    np.testing.assert_allclose(held.A, expm(0.3 * A), atol=1e-12)
    np.testing.assert_allclose(held.B, np.linalg.solve(A, (expm(0.3 * A) - np.eye(5)) @ B), atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_reduced_models_are_within_twice_the_sum_of_the_values_left_out(order: int) -> None:
    """‖G − G_r‖∞ ≤ 2 Σ σ (Glover 1984), σ² the eigenvalues of the product of both Gramians."""
    A, B, C, D = _random(7, 6, 2, 2)
    small = _plant(A, B, C, D).reduce(order)
    P, Q = solve_continuous_lyapunov(A, -B @ B.T), solve_continuous_lyapunov(A.T, -C.T @ C)
    sigma = np.sort(np.sqrt(np.abs(np.linalg.eigvals(P @ Q))))[::-1]
    assert float(small.note.rsplit(" ", 1)[1]) == pytest.approx(2 * np.sum(sigma[order:]), rel=1e-2)
    w = np.geomspace(0.01, 100, 60)
    difference = small.frequency_response(w).values - _plant(A, B, C, D).frequency_response(w).values
    worst = np.max([np.linalg.norm(one, 2) for one in difference])
    assert sigma[order] * 0.99 <= worst <= 2 * np.sum(sigma[order:])
    assert np.all(small.poles().real < 0) and len(small.A) == order


@pytest.mark.parametrize(
    ("order", "tolerance", "kept", "bound"),
    [
        *((None, 0.2, 2, 0.12), (None, 0.09, 3, 0.02), (None, None, 4, 0.0)),
        *((2, None, 2, 0.12), (1, None, 1, 1.12)),
    ],
)
def test_states_that_carry_little_are_left_out(
    order: int | None, tolerance: float | None, kept: int, bound: float
) -> None:
    """1/(s + a) has the Hankel singular value 1/(2a): a = 1, 10, 50 give 0.5, 0.05, 0.01; 1/(s − 2) is not
    stable and stays. The error is at most twice the sum of those left out. States are mixed at random.
    """
    poles = np.array([-1.0, 2.0, -50.0, -10.0])
    T = np.random.default_rng(6).normal(size=(4, 4))
    A, B, C = T @ np.diag(poles) @ np.linalg.inv(T), T, np.linalg.inv(T)
    found = balanced_truncation(A, B, C, order, tolerance)
    assert found.hankel == pytest.approx([0.5, 0.05, 0.01])
    assert len(found.A) == kept and found.bound == pytest.approx(bound, abs=1e-12)
    stays = np.isin(poles, [2.0, -1.0, -10.0, -50.0][:kept])
    for s in (0.3j, 1.0 + 2.0j):
        gains = np.diag(np.where(stays, 1 / (s - poles), 0.0))
        G = found.C @ np.linalg.solve(s * np.eye(kept) - found.A, found.B)
        assert pytest.approx(gains, abs=1e-9) == G
    with pytest.raises(arm.ArmillaryError, match="1 of the modes are not stable and are all kept"):
        balanced_truncation(A, B, C, 0, None)


def test_a_transfer_function_has_only_the_modes_between_its_input_and_output() -> None:
    """Each input moves a state of its own, and outputs show one or both: 2/(s + 1), 3/(s + 4)."""
    plant = _plant(np.diag([-1.0, -4.0]), np.diag([2.0, 3.0]), np.array([[1.0, 1], [1, 0]]), np.zeros((2, 2)))
    for output, name, gain, pole in (
        *(("y0", "u0", 2.0, -1.0), ("y0", "u1", 0.75, -4.0)),
        ("y1", "u0", 2.0, -1.0),
    ):
        found = plant.transfer_function(output=output, input=name)
        assert found.poles == pytest.approx([pole]) and len(found.zeros) == 0
        assert found(0.0) == pytest.approx(gain)
    none = plant.transfer_function(output="y1", input="u1")
    assert (len(none.poles), none(1.0j)) == (0, 0.0)
