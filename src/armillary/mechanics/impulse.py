"""Speeds after a sudden constraint: the impulse that brings it about works on all speeds at once.

    M (u⁺ − u⁻) = Jᵀ Λ        J u⁺ + b = 0

For locked joints the rows of J are unit vectors. Loads are finite and have no part in it.
"""

from __future__ import annotations

import numpy as np

from armillary.mechanics.kane import mass_matrix
from armillary.mechanics.tree import Tree


def full_mass_matrix(tree: Tree, size: int) -> np.ndarray:
    """M of a tree of numbers, for all speeds by index; zero for those that are given."""
    M = np.zeros((size, size))
    for (i, j), value in mass_matrix(tree).items():
        M[i, j] = M[j, i] = float(value)
    return M


def after_impulse(M: np.ndarray, u: np.ndarray, J: np.ndarray, known: np.ndarray) -> np.ndarray:
    """u⁺ for speeds u before; where the mass matrix or the rows leave a choice, the smallest change."""
    n, m = len(u), len(J)
    system = np.block([[M, J.T], [J, np.zeros((m, m))]])
    right = np.concatenate([np.zeros(n), -(J @ u + known)])
    return u + np.linalg.lstsq(system, right, rcond=1e-12)[0][:n]
