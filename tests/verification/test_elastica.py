"""The published table of the elastica against elliptic integrals.

A cantilever with a dead force P across its tip, EI = L = 1, and m = k² = (1 + sin α)/2 for its slope α there:

    √P = K(m) − F(φ₁)        w = 1 − 2 (E(m) − E(φ₁))/√P        u = 1 − 2 k cos φ₁/√P        sin φ₁ = 1/(k√2)
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from armillary.verification.cases.beams import TABLE, deflections


def exact(load: float) -> tuple[float, float]:
    """(down, back) of the tip."""

    def start(m: float) -> float:
        return float(np.arcsin(min(1.0, 1 / np.sqrt(2 * m))))

    root = np.sqrt(load)
    m = brentq(lambda m: ellipk(m) - ellipkinc(start(m), m) - root, 0.5 + 1e-12, 1 - 1e-12, xtol=1e-14)
    down = 1 - 2 * (ellipe(m) - ellipeinc(start(m), m)) / root
    return float(down), float(1 - 2 * np.sqrt(m) * np.cos(start(m)) / root)


def test_the_published_table_is_that_of_elliptic_integrals() -> None:
    """All of its digits."""
    for load, published in TABLE.items():
        np.testing.assert_allclose(exact(load), published, rtol=0, atol=6e-6)


def test_links_approach_the_elastica_with_the_square_of_their_length() -> None:
    wanted = np.array([exact(load) for load in TABLE])
    coarse, fine = (np.abs(deflections(links) - wanted) for links in (4, 8))
    np.testing.assert_allclose(coarse[:2, 0] / fine[:2, 0], 4, rtol=0.02)  # down, at the smaller loads
