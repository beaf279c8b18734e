"""Eigenvalues and eigenvectors of a real matrix A; the eigenvalue zero is separated first.

Free motion has the eigenvalue zero, and a body that drifts has it twice with one eigenvector only:

    A c₁ = 0,  A c₂ = c₁,  …          a chain, of length 2 for a displacement and the drift along it

Rounding spreads such an eigenvalue over a circle of radius ε^(1/2) ‖A‖, where it looks like a slow mode.
Therefore the null space is found from singular values and removed, repeatedly until the rest has none. The
matrix is first balanced, and its rows and columns are scaled to unit length, since a lag of 1e-8 s makes one
row 1e8 times as large as the others. The rest has the other eigenvalues. A complex pair whose imaginary part
is a rounding error counts as a double real eigenvalue.

Source: Golub & Wilkinson (1976), "Ill-conditioned eigensystems and the computation of the Jordan canonical
form", SIAM Review 18, section 9, for the eigenvalue zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

ZERO = 1e-9  # singular values of the scaled matrix below this share of the largest count as zero
_ROUNDING = 2.0**-52  # elements below this share of the largest are rounding errors
_BACKWARD = 16.0  # backward error of LAPACK's eigenvalues over order of the matrix × norm × _ROUNDING


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """Eigenvalues of A with vectors: A r = λ r, lᴴ A = λ lᴴ; of each complex pair the one with Im λ > 0.

    ``chains`` are the Jordan chains of the eigenvalue zero, one array each; its columns c are the members,
    the eigenvector first. ``duals`` has an array for each chain, with columns d: d_iᵀ c_j is 1 for i = j,
    else 0, over all chains, and d is orthogonal to all right vectors.
    """

    values: np.ndarray  # in ascending order of |λ|
    right: np.ndarray  # (states, modes)
    left: np.ndarray
    chains: tuple[np.ndarray, ...] = ()
    duals: tuple[np.ndarray, ...] = ()


def eigensystem(A: np.ndarray, tolerance: float = ZERO) -> Eigensystem:
    """Return the eigensystem of a matrix; singular values up to ``tolerance`` count as zero."""
    from scipy.linalg import eig, solve_sylvester

    null, rest, null_rows, rest_rows = _split_null_space(A, tolerance)
    T, X, R = null_rows @ A @ null, null_rows @ A @ rest, rest_rows @ A @ rest
    chains = _chains(T, tolerance)
    if sum(c.shape[1] for c in chains) != len(T):  # an eigenvalue of T is not zero: try a smaller tolerance
        return eigensystem(A, 1e-3 * tolerance if tolerance > _ROUNDING else 0.0)
    if rest.shape[1]:
        values, left, right = eig(R, left=True)
        _separate_double_ones(R, values, left, right)
        keep = np.flatnonzero(values.imag >= 0)
        keep = keep[by_size(values[keep])]
        values, left, right = values[keep], left[:, keep], right[:, keep]
    else:
        values, left, right = np.zeros(0, complex), np.zeros((0, 0)), np.zeros((0, 0))
    lifted = rest @ right.astype(complex)
    for i, value in enumerate(values):
        if len(T):
            lifted[:, i] += null @ np.linalg.solve(value * np.eye(len(T)) - T, X @ right[:, i])
    duals: list[np.ndarray] = []
    if chains:
        Y = solve_sylvester(T, -R, X) if rest.shape[1] else X
        invariant = np.linalg.inv(np.hstack(chains)) @ (null_rows + Y @ rest_rows)
        starts = np.cumsum([0, *(c.shape[1] for c in chains)])
        duals = [invariant[a:b].T for a, b in pairwise(starts)]
    return Eigensystem(
        values, lifted, rest_rows.T.conj() @ left, tuple(null @ c for c in chains), tuple(duals)
    )


def eigenvalue_errors(A: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how far rounding may shift each eigenvalue of A: ε ‖A‖ times its condition number

        κ = ‖l‖ ‖r‖ / |lᴴ r|

    with A balanced, as LAPACK does. Source: Golub & Van Loan (2013), Matrix Computations, section 7.2.2.
    """
    from scipy.linalg import matrix_balance

    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    r, l = right / scale[:, None], left * scale[:, None]  # noqa: E741
    lengths = np.linalg.norm(l, axis=0) * np.linalg.norm(r, axis=0)
    aligned = np.abs(np.sum(l.conj() * r, axis=0))
    size = _BACKWARD * len(A) * _ROUNDING * float(np.linalg.norm(balanced, 2))
    return np.asarray(size * lengths / np.maximum(aligned, 1e-300))


def _separate_double_ones(A: np.ndarray, values: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Replace pairs whose imaginary part is a rounding error by two equal real eigenvalues."""
    small = np.flatnonzero(values.imag > 0)
    if not small.size:
        return
    small = small[values.imag[small] <= eigenvalue_errors(A, left[:, small], right[:, small])]
    for i in small.tolist():
        j = int(np.argmin(np.abs(values - values[i].conj())))
        values[[i, j]] = values[i].real
        right[:, i], right[:, j] = right[:, i].real.copy(), right[:, i].imag.copy()
        both = np.column_stack([left[:, i].real, left[:, i].imag])
        products = both.T @ right[:, [i, j]].real
        with np.errstate(all="ignore"):
            dual = both @ np.linalg.pinv(products, rcond=1e-14)
        for k, column in zip((i, j), dual.T, strict=True):
            left[:, k] = column


def by_size(values: np.ndarray) -> np.ndarray:
    """Return the order of ascending |λ|; if |λ| is equal up to rounding, the larger real part is first."""
    w = values / (np.max(np.abs(values), initial=0.0) or 1.0)
    return np.lexsort(np.round((-w.imag, -w.real, np.abs(w)), 10))


def _split_null_space(
    A: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (null, rest, null_rows, rest_rows): columns that span the null space of powers of A, columns
    that complete them to a basis, and the rows of the inverse of both.
    """
    from scipy.linalg import matrix_balance, qr

    n = len(A)
    # Cyclic variables, on which no rate depends except the rates of other cyclic variables, are found from
    # the zeros of A alone.
    cyclic: list[int] = []
    others = list(range(n))
    while found := [j for j in others if not A[np.ix_(others, [j])].any()]:
        cyclic += found
        others = [j for j in others if j not in found]
    unit = np.eye(n)
    null, rest = unit[:, cyclic], unit[:, others]
    null_rows, rest_rows = null.T, rest.T
    if not others:
        return null, rest, null_rows, rest_rows
    R = A[np.ix_(others, others)]
    # Elements that are rounding errors are left out: balancing would scale the variables that they couple by
    # a factor of some 1e10.
    large = np.abs(R) > _ROUNDING * np.max(np.abs(R))
    _, (scale, _) = matrix_balance(np.where(large, R, 0.0), permute=False, separate=True)
    R = R * scale / scale[:, None]
    least = _ROUNDING * np.max(np.abs(R))
    basis, taken = np.eye(len(R)), []
    while len(R):
        columns = _equilibrate(R, least)
        _, s, V = np.linalg.svd(columns[0])
        kept = int(np.sum(s > tolerance * s[0])) if s[0] > 0 else 0
        if kept == len(s):
            break
        axes = np.linalg.qr((V[kept:] * columns[1]).T, mode="complete")[0]
        lost, V = axes[:, : len(s) - kept].T, axes[:, len(s) - kept :].T
        taken.append(basis @ lost.T)
        basis, R = basis @ V.T, V @ R @ V.T
    if not taken:
        return null, rest, null_rows, rest_rows
    both = np.hstack([*taken, basis])
    count = sum(t.shape[1] for t in taken)
    # The columns are combined so that some of their rows form the identity: each column then is mainly the
    # motion of one variable.
    rows = np.sort(qr(both[:, :count].T, mode="r", pivoting=True)[1][:count])
    readable = both[rows, :count] * scale[rows, None]
    columns, inverse = both * scale[:, None], both.T / scale
    columns[:, :count] = np.linalg.solve(readable.T, columns[:, :count].T).T
    inverse[:count] = readable @ inverse[:count]
    columns, inverse = rest @ columns, inverse @ rest_rows
    return (
        np.hstack([null, columns[:, :count]]), columns[:, count:],
        np.vstack([null_rows, inverse[:count]]), inverse[count:],
    )  # fmt: skip


def _equilibrate(R: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Scale rows and columns of R to length one, unless they are only rounding errors; return R and the
    column factors.
    """
    scale = np.ones(len(R))
    for _ in range(3):
        for axis in (1, 0):
            lengths = np.linalg.norm(R, axis=axis)
            factors = 1.0 / np.where(lengths > least, lengths, 1.0)
            R = R * (factors[:, None] if axis == 1 else factors)
            scale = scale * (factors if axis == 0 else 1.0)
    return R, scale


def _chains(T: np.ndarray, tolerance: float) -> list[np.ndarray]:
    """Return the Jordan chains of a nilpotent matrix, the longest first, each with its eigenvector first."""
    n = len(T)
    powers, size = [np.eye(n)], float(np.linalg.norm(T, 2)) if n else 0.0
    spaces = [np.zeros((n, 0))]
    while spaces[-1].shape[1] < n:
        powers.append(powers[-1] @ T)
        zero = tolerance * size ** (
            len(powers) - 1
        )  # relative to the largest singular value that this power may have
        spaces.append(_null_space(powers[-1], zero, tolerance) if len(powers) <= n else np.eye(n))
    found: list[np.ndarray] = []
    for k in range(len(spaces) - 1, 0, -1):
        span = np.hstack([spaces[k - 1], *(c[:, k - 1 : k] for c in found)])
        for candidate in spaces[k].T:
            basis = np.linalg.qr(span)[0] if span.size else span
            outside = candidate - basis @ (basis.T @ candidate)
            if np.linalg.norm(outside) > 1e-6 * np.linalg.norm(candidate):
                found.append(np.column_stack([powers[j] @ candidate for j in range(k - 1, -1, -1)]))
                span = np.column_stack([span, candidate])
    return found


def _null_space(matrix: np.ndarray, zero: float, tolerance: float) -> np.ndarray:
    """Return columns that span the null space, whose singular values are at most ``zero``.

    Some rows of the columns form the identity, so that each column is mainly the motion of one variable.
    """
    from scipy.linalg import qr

    _, s, V = np.linalg.svd(matrix)
    count = int(np.sum(s <= zero))
    if not count:
        return np.zeros((len(matrix), 0))
    null = V[len(s) - count :]
    rows = np.sort(qr(null, mode="r", pivoting=True)[1][:count])
    return np.where(np.abs(found := np.linalg.solve(null[:, rows], null).T) < tolerance, 0.0, found)
