"""Factors of matrices and the steps that follow from them, against NumPy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.numerics.language import Roots
from tests.numerics.described import FACTORS, set_all_lengths


def factorised(A: np.ndarray, r: np.ndarray, cut: float = 1e-10) -> Roots:
    """The record of a matrix after its factorisation."""
    run = Roots()
    set_all_lengths(run, *A.shape)
    run.matrix[:], run.residual[:], run.cut = A.T.ravel(), r, cut
    FACTORS["factorise_matrix"](run)
    return run


def matrix(rows: int, columns: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(7)
    A = chance.normal(size=(rows, rank)) @ chance.normal(size=(rank, columns))
    return A, chance.normal(size=rows)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(4, 4, 4), (7, 3, 3), (3, 7, 3), (6, 5, 3), (5, 6, 2)])
def test_a_step_is_the_shortest_of_the_least_squares(rows: int, columns: int, rank: int) -> None:
    A, r = matrix(rows, columns, rank)
    run = factorised(A, r)
    FACTORS["set_step"](run)
    expected = -np.linalg.pinv(A, rcond=1e-10) @ r
    assert run.rank == rank
    np.testing.assert_allclose(run.step, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert run.gauss == pytest.approx(float(np.linalg.norm(expected)), rel=1e-11)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(4, 4, 4), (7, 3, 3), (3, 7, 3), (6, 5, 3)])
def test_a_damped_step_has_the_length_of_the_radius_and_solves_its_equations(
    rows: int, columns: int, rank: int
) -> None:
    """p is along −(AᵀA + μ)⁻¹ Aᵀ r for some μ; radii are met to a tenth (Moré 1978), else p is shortened."""
    from scipy.optimize import minimize_scalar

    A, r = matrix(rows, columns, rank)
    run = factorised(A, r)
    radius = 0.3 * run.gauss
    FACTORS["damp_step"](run, radius)
    FACTORS["set_step"](run)
    p = run.step / np.linalg.norm(run.step)

    def apart(exponent: float) -> float:
        q = -np.linalg.solve(A.T @ A + 10**exponent * np.eye(columns), A.T @ r)
        return float(np.linalg.norm(q / np.linalg.norm(q) - p))

    assert 0.899 * radius <= np.linalg.norm(run.step) <= 1.001 * radius
    assert minimize_scalar(apart, bounds=(-3, 3), options={"xatol": 1e-12}).fun < 1e-7


def test_open_directions_change_no_equation_and_are_unit_vectors_at_right_angles() -> None:
    A, r = matrix(6, 5, 3)
    run = factorised(A, r)
    found = []
    for k in range(run.rank, run.columns):
        FACTORS["set_open_direction"](run, k)
        found.append(run.step.copy())
    np.testing.assert_allclose(A @ np.array(found).T, 0.0, rtol=0, atol=1e-13 * np.linalg.norm(A))
    np.testing.assert_allclose(np.array(found) @ np.array(found).T, np.eye(2), rtol=0, atol=1e-14)


def test_factors_serve_another_right_side() -> None:
    """A chord: the step of other residuals with the factors that are there."""
    A, r = matrix(6, 4, 4)
    run = factorised(A, np.ones(6))
    run.residual[:] = r
    FACTORS["set_chord_step"](run)
    np.testing.assert_allclose(run.step, -np.linalg.pinv(A) @ r, rtol=1e-10)
