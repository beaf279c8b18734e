"""The part that each coordinate takes in each mode.

With right and left eigenvectors r and l of a mode, the participation of the state k is

    p_k = |l_k* r_k| / Σ_i |l_i* r_i|

It does not depend on units, unlike the elements of a shape. A coordinate stands for itself and its speed.

Source: Pérez-Arriaga, Verghese & Schweppe (1982), "Selective modal analysis with applications to electric
power systems", IEEE Trans. Power Apparatus and Systems 101, with magnitudes in place of complex numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armillary.analysis.modes.eigensystem import Eigensystem


def state_participation(found: Eigensystem) -> np.ndarray:
    """p by mode and state: chains of the eigenvalue zero first, then the others."""
    of_chains = [np.sum(np.abs(c * d), axis=1) for c, d in zip(found.chains, found.duals, strict=True)]
    weights = np.array([*of_chains, *np.abs(found.left.conj() * found.right).T])
    if not len(weights):
        return np.zeros((0, len(found.right)))
    return np.asarray(weights / np.sum(weights, axis=1, keepdims=True))


def speeds_of_positions(A: np.ndarray, names: Sequence[str], roles: Sequence[str]) -> dict[int, int]:
    """The state that is the rate of each position, by place, where one is.

    Among several positions that move with one speed, that of the same body has it.
    """
    from scipy.optimize import linear_sum_assignment

    positions = [i for i, role in enumerate(roles) if role in ("coordinate", "rotation")]
    speeds = [i for i, role in enumerate(roles) if role in ("speed", "momentum")]
    if not positions or not speeds:
        return {}
    rates = np.abs(A[np.ix_(positions, speeds)])
    share = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-300)
    body = [name.rpartition(".")[0] for name in names]
    same = np.array([[body[i] == body[j] for j in speeds] for i in positions])
    score = share * (1.0 + same)
    rows, columns = linear_sum_assignment(-score)
    return {positions[r]: speeds[c] for r, c in zip(rows, columns, strict=True) if score[r, c] > 0}


def by_share(shares: np.ndarray) -> np.ndarray:
    """The order of descending shares; of equal ones, except for rounding, that of the coordinates."""
    return np.argsort(-np.round(shares, 6), kind="stable")


def by_coordinate(p: np.ndarray, partners: dict[int, int]) -> tuple[list[int], np.ndarray]:
    """Places of the states that stand for coordinates, and the participation of each."""
    taken = set(partners.values())
    places = [k for k in range(p.shape[1]) if k not in taken]
    total = p[:, places].copy()
    for column, k in enumerate(places):
        if k in partners:
            total[:, column] += p[:, partners[k]]
    return places, total
