"""Statistics of unknowns from residuals and their derivatives: covariance, and what is not determined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# ρ'(z) and ρ''(z) of SciPy's losses, with z = r²: ρ = z, 2(√(1+z) − 1), Huber's, ln(1+z), arctan z.
LOSSES: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "linear": lambda z: (np.ones_like(z), np.zeros_like(z)),
    "soft_l1": lambda z: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
    "huber": lambda z: (
        np.where(z <= 1, 1.0, np.maximum(z, 1) ** -0.5),
        np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1) ** -1.5),
    ),
    "cauchy": lambda z: (1 / (1 + z), -1 / (1 + z) ** 2),
    "arctan": lambda z: (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
}

_SINGULAR = 1e-8  # of the largest singular value: the accuracy of the derivatives themselves
_SHARE = 1e-4  # of a direction that is not determined, from which on an unknown has part in it
_NORMAL = 1.4826  # of a normal distribution's median deviation to its standard deviation


def rms(values: np.ndarray) -> float:
    """The root mean square, also of numbers whose squares are too large or too small."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 0.0


def spread(left: np.ndarray, loss: str) -> float:
    """The size of the residuals of a column: their root mean square, or a robust one."""
    if loss == "linear":
        return rms(left)
    return _NORMAL * float(np.median(np.abs(left)))


def variance(residuals: np.ndarray, unknowns: int, loss: str) -> float:
    """The variance of residuals that counts for the unknowns: Σψ²/(n − p) over (Σψ'/n)².

    For least squares ψ = r, and it is the sum of squares over the degrees of freedom. Source: Huber (1981),
    Robust Statistics, section 7.6.
    """
    n = len(residuals)
    first, second = LOSSES[loss](residuals**2)
    psi, slope = first * residuals, first + 2 * residuals**2 * second
    return float(np.sum(psi**2) / (n - unknowns) / np.mean(slope) ** 2) if n > unknowns else float("nan")


def inverse(jacobian: np.ndarray) -> tuple[np.ndarray, list[list[int]]]:
    """(JᵀJ)⁻¹, and the groups of columns that the rows do not determine; infinite for those.

    Columns are brought to equal length first, so that units do not matter.
    """
    n = jacobian.shape[1]
    lengths = np.linalg.norm(jacobian, axis=0)
    groups = [[int(j)] for j in np.flatnonzero(lengths == 0)]
    present = np.flatnonzero(lengths > 0)
    found = np.zeros((n, n))
    lost = {j for group in groups for j in group}
    if present.size:
        _, s, vt = np.linalg.svd(jacobian[:, present] / lengths[present], full_matrices=False)
        weak = s <= _SINGULAR * s[0]
        for v in vt[weak]:
            groups.append(present[np.abs(v) >= _SHARE * np.max(np.abs(v))].tolist())
            lost |= set(groups[-1])
        kept = vt[~weak].T / s[~weak]
        found[np.ix_(present, present)] = (kept @ kept.T) / np.outer(lengths[present], lengths[present])
    for j in lost:
        found[j, :] = found[:, j] = 0.0
        found[j, j] = np.inf
    return found, groups


def correlation(covariance: np.ndarray) -> np.ndarray:
    """The correlations of unknowns; NaN where one has no variance, or an infinite one."""
    with np.errstate(all="ignore"):
        sizes = np.sqrt(np.diag(covariance))
        found: np.ndarray = covariance / np.outer(sizes, sizes)
    known = np.isfinite(sizes) & (sizes > 0)
    found[~known, :] = found[:, ~known] = np.nan
    return found


def strong_correlations(correlations: np.ndarray, limit: float) -> Sequence[tuple[int, int, float]]:
    """Pairs whose correlation is as strong as this."""
    n = len(correlations)
    pairs = [(i, j, float(correlations[i, j])) for i in range(n) for j in range(i)]
    return [(i, j, c) for i, j, c in pairs if abs(c) >= limit]
