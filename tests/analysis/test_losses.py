"""Robust losses: derivatives beside differences of the functions that SciPy documents, and the variance."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.analysis.fitting.outcome import LOSSES, rms, spread, variance

# ρ(z) of scipy.optimize.least_squares, with z = r².
FUNCTIONS = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(z) - 1),
    "cauchy": lambda z: np.log(1 + z),
    "arctan": np.arctan,
}
Z = np.array([0.03, 0.4, 0.9, 1.2, 3.0, 25.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_of_losses_are_those_of_differences(loss: str) -> None:
    """Central differences over 1e-4: the error is of 1e-8 for the first, and rounding for the second."""
    rho, h = FUNCTIONS[loss], 1e-4
    first, second = LOSSES[loss](Z)
    np.testing.assert_allclose(first, (rho(Z + h) - rho(Z - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(second, (rho(Z + h) - 2 * rho(Z) + rho(Z - h)) / h**2, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_variance_of_small_residuals_is_that_of_least_squares(loss: str) -> None:
    """Σr²/(n − p), from which every loss differs by the squares of residuals."""
    r = 1e-4 * np.random.default_rng(2).normal(size=40)
    assert variance(r, 3, loss) == pytest.approx(np.sum(r**2) / 37, rel=1e-6)
    assert np.isnan(variance(r[:3], 3, loss))


def test_sizes_of_residuals() -> None:
    r = np.random.default_rng(5).normal(size=20001)
    assert rms(r) == pytest.approx(np.sqrt(np.mean(r**2)), rel=1e-14)
    assert rms(1e200 * r) == pytest.approx(1e200 * rms(r)) and rms(np.zeros(3)) == 0.0
    assert spread(r, "linear") == rms(r)
    assert spread(r, "huber") == pytest.approx(1.0, abs=0.03)  # of a normal distribution
    r[:2000] = 1e6
    assert spread(r, "huber") == pytest.approx(1.0, abs=0.3) and spread(r, "linear") > 1e5
