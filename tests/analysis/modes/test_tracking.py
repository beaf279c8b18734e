"""Branches through points at which eigenvalues meet: a rule assigns them, whatever the last bits are."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest

from armillary.analysis.modes.tracking import Tracker, branch_order

MEETING = 3.5 - sqrt(2)  # Ziegler (1952), for masses 2 and 1


def column(P: float) -> np.ndarray:
    """Ziegler's column: M q̈ + K q = 0 with M = [[3, 1], [1, 1]], K = [[2 − P, P − 1], [−1, 1]]."""
    stiffness = np.linalg.solve([[3.0, 1.0], [1.0, 1.0]], [[2.0 - P, P - 1.0], [-1.0, 1.0]])
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, np.zeros((2, 2))]])


def rotor(spin: float) -> np.ndarray:
    """A tilting disc: q̈₁ + Ω q̇₂ + q₁ = 0, q̈₂ − Ω q̇₁ + q₂ = 0; frequencies √(1 + Ω²/4) ± Ω/2."""
    gyroscopic = np.array([[0.0, -spin], [spin, 0.0]])
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), gyroscopic]])


def oscillators(p: float) -> np.ndarray:
    """Two oscillators without coupling: frequencies p and 3."""
    return np.block([[np.zeros((2, 2)), np.eye(2)], [np.diag([-p * p, -9.0]), np.zeros((2, 2))]])


def branches(matrix: Callable[[float], np.ndarray], values: np.ndarray, seed: int) -> np.ndarray:
    """Eigenvalues by branch, of states in another order and with other last bits."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(4)

    def matrices(points: np.ndarray) -> np.ndarray:
        A = np.stack([matrix(float(value)) for value in points])[:, order][:, :, order]
        return np.asarray(A * (1.0 + 4e-16 * draw.uniform(-1, 1, A.shape)))

    found = Tracker(matrices, values).follow().eigenvalues
    found = found[:, np.sum(found.imag, axis=0) > 0]
    return np.asarray(found[:, branch_order(found)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "values",
    [np.linspace(1.0, 3.0, 9), np.array([1.0, MEETING, 3.0]), np.array([1.0, 2.0, MEETING, 2.2, 3.0])],
    ids=["between values", "at a value", "at a value, near others"],
)
def test_the_slower_of_two_undamped_modes_that_meet_is_the_one_that_grows(
    values: np.ndarray, seed: int
) -> None:
    """λ⁴ + (3.5 − P) λ² + 0.5 = 0 times two; the decaying one continues the faster mode."""
    slow, fast = branches(column, values, seed).T
    middle, root = 3.5 - values, np.emath.sqrt((3.5 - values) ** 2 - 2.0)
    grown = values > MEETING
    expected = 1j * np.sqrt((middle - root) / 2), 1j * np.sqrt((middle + root) / 2)
    near = 1e-7  # where they meet, rounding moves them by its root
    assert np.allclose(slow[~grown], expected[0][~grown], atol=near)
    assert np.allclose(fast[~grown], expected[1][~grown], atol=near)
    assert np.all(slow[grown].real > 0) and np.allclose(fast[grown], -slow[grown].conj(), atol=near)
    turned = branches(column, values[::-1], seed)[::-1]  # from flutter to two undamped modes
    growing = 0 if turned[-1, 0].real > 0 else 1
    assert np.allclose(turned[:, growing], slow, atol=near)
    assert np.allclose(turned[:, 1 - growing], fast, atol=near)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("first", [0.0, -2.0])
def test_whirl_that_is_one_frequency_at_rest_keeps_its_branches(first: float, seed: int) -> None:
    spins = np.linspace(first, 2.0, 5)
    falling, rising = branches(rotor, spins, seed).T
    if first:  # the branch that is faster first is second
        falling, rising = rising, falling
    assert np.allclose(falling, 1j * (np.sqrt(1 + spins**2 / 4) - spins / 2), atol=1e-12)
    assert np.allclose(rising, 1j * (np.sqrt(1 + spins**2 / 4) + spins / 2), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_frequencies_that_cross_at_a_value_keep_their_branches(seed: int) -> None:
    values = np.linspace(2.0, 4.0, 5)
    first, second = branches(oscillators, values, seed).T
    assert np.allclose(first, 1j * values, atol=1e-12) and np.allclose(second, 3j, atol=1e-12)
