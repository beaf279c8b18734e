"""Frequencies of a rotating cantilever beam against the published table and an independent Ritz solution.

Source of the table: Wright, Smith, Thresher & Wang (1982), Vibration modes of centrifugally stiffened beams,
J. Applied Mechanics 49, uniform beam without hub radius, EI = μ = L = 1: the first frequencies of flapping,
which is across the plane of rotation. Lagging, in that plane, has ω² less by Ω².
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import armillary as arm
from armillary.verification.cases.beams import FLAPPING, TRUNCATION, spinning
from tests.verification.common import assert_near, assert_same
from tests.verification.ritz_beam import ritz

SPINS = range(len(FLAPPING))


def frequencies(s: arm.System, formalism: str = "auto") -> np.ndarray:
    """ω by rows of spins; the accelerations at rest in the rotating frame are −A η, ω² the eigenvalues of A.

    The differences are exact to rounding where the accelerations are linear in η.
    """
    model = s.derive(formalism).compile()
    shaken = [i for i, name in enumerate(model.speed_names) if name.startswith("beam")]
    u = np.zeros(len(model.speed_names))
    found = []
    for spin in SPINS:
        columns = []
        for i in [k for k, name in enumerate(model.coordinate_names) if name.startswith("beam")]:
            q = np.zeros(len(model.coordinate_names))
            q[i] = 1e-4
            rates = [model.accelerations(0.0, sign * q, u, {"W": float(spin)}) for sign in (1, -1)]
            columns.append((rates[1] - rates[0])[shaken] / 2e-4)
        found.append(np.sqrt(np.sort(np.linalg.eigvals(np.transpose(columns)).real)))
    return np.array(found)


def test_the_table_agrees_with_the_independent_solution() -> None:
    """All of its digits."""
    assert_near([ritz(spin)[0] for spin in SPINS], FLAPPING, 5.1e-5, "published first frequencies")


@pytest.mark.parametrize("formalism", ["kane", "recursive", "back_substitution", "momentum"])
def test_flapping_stiffens_with_the_spin(formalism: str) -> None:
    found = frequencies(spinning("z"), formalism)
    assert_same(found[:, 0], FLAPPING, TRUNCATION, "first frequencies, published")
    expected = np.array([ritz(spin)[:3] for spin in SPINS])
    assert_same(found[:, :3], expected, 1e-4, "first three frequencies")


def test_lagging_is_lower_by_the_spin() -> None:
    found = frequencies(spinning("y"))
    expected = np.array([ritz(spin)[:3] for spin in SPINS]) ** 2 - np.array(SPINS)[:, None] ** 2
    assert_same(found[:, :3] ** 2, expected, 5e-4, "squares of the first three frequencies")
    lag, flap = frequencies(spinning("y")) ** 2, frequencies(spinning("z")) ** 2
    assert_near(flap - lag, np.array(SPINS)[:, None] ** 2, 1e-8, "difference of the squares")


def test_a_hub_radius_stiffens_more() -> None:
    found = frequencies(spinning("z", radius=0.5))
    expected = np.array([ritz(spin, 0.5)[:2] for spin in SPINS])
    assert_same(found[:, :2], expected, 2e-4, "first two frequencies with a hub radius of half the length")


def test_more_modes_come_closer() -> None:
    errors = [
        abs(frequencies(spinning("z", modes=modes))[-1, 0] / ritz(10.0)[0] - 1) for modes in (2, 4, 8, 16)
    ]
    assert all(now < before / 4 for before, now in pairwise(errors))


def test_without_stiffening_the_spin_only_softens() -> None:
    """Flapping keeps its frequency at rest, lagging reaches zero at Ω = 3.516."""
    at_rest = ritz(0.0)[0]
    assert_near(frequencies(spinning("z", stiffening=False))[:, 0], at_rest, 1e-8, "flapping")
    with np.errstate(invalid="ignore"):
        lag = frequencies(spinning("y", stiffening=False))[:, 0]
    expected = [np.sqrt(at_rest**2 - spin**2) for spin in range(4)]
    assert_near(lag[:4], expected, 1e-8, "lagging below the first frequency")
    assert np.all(np.isnan(lag[4:]))
