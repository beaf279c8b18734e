"""Speeds after a sudden constraint: the impulse that brings it about works on all speeds at once.

    M (u⁺ − u⁻) = Jᵀ Λ        J u⁺ + b = 0

For locked joints the rows of J are unit vectors. Loads are finite and have no part in it.
"""

from __future__ import annotations

import numpy as np

from armillary.mechanics.tree.mass_matrix import mass_matrix
from armillary.mechanics.tree.tree import Tree


def full_mass_matrix(tree: Tree, size: int) -> np.ndarray:
    """M of a tree of numbers, for all speeds by index; zero for those that are given."""
    M = np.zeros((size, size))
    for (i, j), value in mass_matrix(tree).items():
        M[i, j] = M[j, i] = float(value)
    return M


def after_impulse(M: np.ndarray, u: np.ndarray, J: np.ndarray, known: np.ndarray) -> np.ndarray:
    """u⁺ for speeds u before; where the mass matrix or the rows leave a choice, the smallest change."""
    n, m = len(u), len(J)
    # In units in which every inertia and every row is one: sizes of a model must not decide what is singular.
    scale = 1.0 / np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
    rows = J * scale
    norms = np.linalg.norm(rows, axis=1)
    norms = np.where(norms > 0.0, norms, 1.0)
    rows = rows / norms[:, None]
    system = np.block([[M * np.outer(scale, scale), rows.T], [rows, np.zeros((m, m))]])
    right = np.concatenate([np.zeros(n), -(J @ u + known) / norms])
    return u + scale * np.linalg.lstsq(system, right, rcond=1e-12)[0][:n]
