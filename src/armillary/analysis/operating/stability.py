"""Stability of an operating point: eigenvalues of the motion near it, on its independent states.

Cyclic coordinates are left out. With T an orthonormal basis of the motions that keep loops closed and Euler
parameters unit (the null space of the rows of their derivatives), and F = ∂ẏ/∂y,

    A = Tᵀ F T

which is exact where the coordinates outside T rest, as they do at an operating point. Closed contacts hold
their gaps and the rates of these; slips that stick their velocity S u = 0 and, at rest, their place S N⁺ q,
with q̇ = N u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.modes.eigensystem import eigenvalue_errors
from armillary.analysis.operating.conditions import ConditionValues
from armillary.columns import counted

if TYPE_CHECKING:
    from armillary.analysis.operating.conditions import Conditions, HeldRows

_ON_AXIS = 1e-7  # real part, as a part of its eigenvalue, that is taken for none
_ILL = 1e-6  # of the largest eigenvalue: rounding may shift eigenvalues by so much where vectors are parallel
_RESTING = 1e-6  # rates in the units of the model that are taken for none
_ROUNDED = 1e-9  # the same, of their change with the states, each by its size
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
    """Return the stability at x; `None` if a state that is not cyclic moves: the point is not steady."""
    return stability_of(values, values.values(x), values.jacobian(x))


def stability_of(
    values: ConditionValues, c: np.ndarray, C: np.ndarray, touching: HeldRows | None = None
) -> Stability | None:
    """Stability from the conditions and their derivatives, with what closed contacts hold."""
    found = values.of
    rows = _held_by_contacts(found, C, touching)
    moved = {j for j in np.flatnonzero(rows.any(axis=0)).tolist() if j < found.coordinates}
    noncyclic = found.noncyclic(touching.positions if touching else ())
    kept = np.array(sorted({*noncyclic.tolist(), *moved}), dtype=int)
    rates = c[kept]
    # What rounding leaves of large terms is no motion: 20 N·mm on a body of a microgram are 2e7 rad/s².
    terms = np.max(np.abs(C[kept][:, kept]) * found.kind_sizes[kept], axis=1, initial=0.0)
    if not np.all(np.isfinite(C)) or not np.all(np.abs(rates) <= np.maximum(_RESTING, _ROUNDED * terms)):
        return None
    F = C[kept][:, kept]
    held = np.vstack([C[found.closed][:, kept], rows[:, kept]])
    held = held[np.any(held != 0.0, axis=1)]
    if held.size:
        T = _null_space(held, kept < found.coordinates)
        F = T.T @ F @ T
    if not F.size:
        return Stability(np.zeros(0, dtype=complex), 0, 0)
    roots, limits = _eigenvalues_and_zeros(F)
    order = np.lexsort((-roots.imag, -roots.real))
    roots, limits = roots[order], limits[order]
    neutral = np.abs(roots.real) <= limits
    growing = int(np.sum(roots.real > limits))
    return Stability(roots, growing, int(np.sum(neutral)), float(np.max(limits[neutral], initial=0.0)))


def _held_by_contacts(found: Conditions, C: np.ndarray, touching: HeldRows | None) -> np.ndarray:
    """Rows of the derivatives, by all columns, of what closed contacts hold."""
    if not touching:
        return np.zeros((0, C.shape[1]))
    rows = C[[*touching.positions, *touching.velocities]]
    N, S = C[: found.coordinates, found.speeds], C[list(touching.slips)][:, found.speeds]
    places = np.zeros((len(S), C.shape[1]))
    if N.size and S.size:
        places[:, : found.coordinates] = S @ np.linalg.pinv(N)
    rows = np.vstack([rows, places])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found_rows: np.ndarray = rows / np.where(lengths > 0, lengths, 1.0)
    return found_rows


def _null_space(rows: np.ndarray, position: np.ndarray) -> np.ndarray:
    """An orthonormal basis of x with rows · x = 0; where no row has both, of positions and of others."""
    parts = [np.any(rows[:, part] != 0.0, axis=1) for part in (position, ~position)]
    if not parts[1].any() or np.any(parts[0] & parts[1]):
        return _basis(rows)
    T = np.zeros((len(position), 0))
    for part, own in zip((position, ~position), parts, strict=True):
        basis = _basis(rows[own][:, part])
        block = np.zeros((len(position), basis.shape[1]))
        block[part] = basis
        T = np.hstack([T, block])
    return T


def _basis(rows: np.ndarray) -> np.ndarray:
    if not len(rows):
        return np.eye(rows.shape[1])
    _, d, Vt = np.linalg.svd(rows)
    basis: np.ndarray = Vt[int(np.sum(d > 1e-9 * d[0])) :].T
    return basis


def _eigenvalues_and_zeros(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a matrix, and for each the real part that counts as zero.

    For positions and speeds at rest without damping,

        q̇ = N u,  u̇ = S q,

    they are ± the roots of the eigenvalues of S N. This takes an eighth of the work, and roots on the
    imaginary axis are exactly there.
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
