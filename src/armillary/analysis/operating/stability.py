"""Stability of an operating point: eigenvalues of the motion near it, on its independent states.

Cyclic coordinates are left out. With T an orthonormal basis of the motions that keep loops closed and Euler
parameters unit (the null space of the rows of their derivatives), and F = ∂ẏ/∂y,

    A = Tᵀ F T

which is exact where the coordinates outside T rest, as they do at an operating point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.analysis.modes.eigensystem import eigenvalue_errors
from armillary.analysis.operating.condition_values import ConditionValues
from armillary.columns import counted

_ON_AXIS = 1e-7  # real part, as a part of its eigenvalue, that is taken for none
_ILL = 1e-6  # of the largest eigenvalue: rounding may shift eigenvalues by so much where vectors are parallel
_SMALLEST = 1e-14  # of the largest eigenvalue: the least error of any


@dataclass(frozen=True, eq=False)
class Stability:
    """Eigenvalues on the independent states, and how many grow, decay or do neither."""

    eigenvalues: np.ndarray  # largest real part first
    growing: int
    neutral: int
    limit: float = 0.0  # of real parts that count as zero, the largest

    @property
    def stable(self) -> bool:
        """Whether nothing grows."""
        return self.growing == 0

    def __str__(self) -> str:
        count = len(self.eigenvalues)
        if not count:
            return "no independent states"
        if self.growing:
            time = 1.0 / float(self.eigenvalues[0].real)
            return (
                f"unstable: {self.growing} of {counted(count, 'eigenvalue')} "
                f"{'grow' if self.growing > 1 else 'grows'}, the fastest with time constant {time:.4g} s"
            )
        if self.neutral:
            return (
                f"marginally stable: {self.neutral} of {counted(count, 'eigenvalue')} on the imaginary axis, "
                "none grows"
            )
        time = -1.0 / float(self.eigenvalues[0].real)
        return f"asymptotically stable: the slowest eigenvalue decays with time constant {time:.4g} s"


def stability(values: ConditionValues, x: np.ndarray) -> Stability | None:
    """Stability at x; None where other states than cyclic ones move, so that nothing is steady."""
    return stability_of(values, values.values(x), values.jacobian(x))


def stability_of(values: ConditionValues, c: np.ndarray, C: np.ndarray) -> Stability | None:
    """Stability from the conditions and their derivatives."""
    found = values.of
    kept = found.noncyclic
    rates = c[kept]
    if not np.all(np.isfinite(C)) or not np.max(np.abs(rates), initial=0.0) <= 1e-6:
        return None
    F = C[kept][:, kept]
    held = C[found.closed][:, kept]
    if held.size:
        held = held[np.any(held != 0.0, axis=1)]
    if held.size:
        _, d, Vt = np.linalg.svd(held)
        T = Vt[int(np.sum(d > 1e-9 * d[0])) :].T
        F = T.T @ F @ T
    if not F.size:
        return Stability(np.zeros(0, dtype=complex), 0, 0)
    roots, limits = _eigenvalues(F)
    order = np.lexsort((-roots.imag, -roots.real))
    roots, limits = roots[order], limits[order]
    neutral = np.abs(roots.real) <= limits
    growing = int(np.sum(roots.real > limits))
    return Stability(roots, growing, int(np.sum(neutral)), float(np.max(limits[neutral], initial=0.0)))


def _eigenvalues(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of a matrix, and of each the real part that counts as none. Of positions and speeds at rest
    without damping they are ± the roots of those of S N,

        q̇ = N u,  u̇ = S q,

    which is an eighth of the work, and the roots on the imaginary axis are exactly there.
    """
    n = len(F) // 2
    if 2 * n < len(F) or F[:n, :n].any() or F[n:, n:].any():
        values = np.linalg.eigvals(F).astype(complex)
        return values, np.maximum(_ON_AXIS * np.abs(values), _errors(F, values, np.abs(values.real)))
    lower, upper = F[n:, :n], F[:n, n:]
    squared = lower @ upper
    values = np.linalg.eigvals(squared).astype(complex)
    roots = np.sqrt(values)
    off = _errors(squared, values, np.abs(values))
    limits = np.maximum(_ON_AXIS * np.abs(roots), off / np.sqrt(np.maximum(np.abs(values), off) + 1e-300))
    return np.concatenate([roots, -roots]), np.concatenate([limits, limits])


def _errors(A: np.ndarray, values: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """How far rounding may shift eigenvalues, where that might matter: of those with a small part that is
    looked at. Vectors, which these take, are several times the work of eigenvalues.
    """
    size = float(np.max(np.abs(values), initial=0.0))
    least = _SMALLEST * size
    if not np.any((parts > 0) & (parts < _ILL * size) & (parts > _ON_AXIS * np.abs(values))):
        return np.full(len(values), least)
    from scipy.linalg import eig

    own, left, right = eig(A, left=True)
    errors = eigenvalue_errors(A, left, right)
    places = np.argmin(np.abs(values[:, None] - own), axis=1)
    return np.asarray(np.maximum(errors[places], least))
