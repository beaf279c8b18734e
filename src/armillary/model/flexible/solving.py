"""Linear algebra of structures: lowest eigenpairs and static solutions, on dense or sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.model.flexible.part import Array

# Below this many freedoms LAPACK on full matrices is the faster way.
_SMALL = 400
# A pivot of a matrix scaled to a unit diagonal below this is rounding.
_PIVOT = 1e-13
# Modal mass below this share of what it would be if nothing cancelled is rounding.
_EMPTY = 1e-13


class SingularMatrix(Exception):
    """A matrix that has no inverse, and the row in which that shows."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class MasslessMotion(Exception):
    """A mode without modal mass, and the row in which it is largest."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def lowest_pairs(mass: Any, stiffness: Any, count: int, limit: float | None = None) -> tuple[Array, Array]:
    """(ω², φ) of K φ = ω² M φ, lowest first: ``count`` of them, φᵀMφ = 1, the largest entry of φ positive.

    It is solved shifted and inverted, M φ = μ (K + s M) φ with ω² = 1/μ − s: rigid motions (K singular) and
    massless freedoms (M singular) do no harm, and low frequencies come out sharpest. With ``limit`` a sparse
    problem is solved only as far as that angular frequency.
    """
    weights = mass.diagonal()
    ratios = stiffness.diagonal()[weights > 0] / weights[weights > 0]
    shift = 1e-6 * float(np.max(ratios, initial=0.0)) or 1.0
    size = mass.shape[0]
    tried = count if limit is None else min(count, 16)
    if isinstance(mass, np.ndarray) or size < _SMALL or 3 * tried > size:
        return ritz(mass, stiffness, _dense_vectors(mass, stiffness, shift, count))
    solve = _factor((stiffness + shift * mass).tocsc())
    while True:
        squares, vectors = ritz(mass, stiffness, _sparse_vectors(mass, stiffness, shift, solve, tried))
        if tried == count or (limit is not None and squares[-1] > limit**2):
            return squares, vectors
        tried = min(2 * tried, count)
        if 3 * tried > size:
            return ritz(mass, stiffness, _dense_vectors(mass, stiffness, shift, count))


def ritz(mass: Any, stiffness: Any, vectors: Array) -> tuple[Array, Array]:
    """Rayleigh-Ritz: the best eigenpairs in the span of some vectors, exactly orthogonal."""
    import scipy.linalg

    own, size = np.sum(vectors * (mass @ vectors), axis=0), np.abs(vectors)
    empty = np.flatnonzero(own <= _EMPTY * np.sum(size * (abs(mass) @ size), axis=0))
    if len(empty):
        raise MasslessMotion(int(np.argmax(size[:, empty[0]])))
    vectors = vectors / np.sqrt(own)
    small_mass, small_stiffness = vectors.T @ (mass @ vectors), vectors.T @ (stiffness @ vectors)
    squares, mix = scipy.linalg.eigh(
        0.5 * (small_stiffness + small_stiffness.T), 0.5 * (small_mass + small_mass.T)
    )
    vectors = vectors @ mix
    # equal entries up to rounding, as in symmetric structures: the first of them decides, on every machine
    size = np.abs(vectors)
    first = np.argmax(size > 0.999 * np.max(size, axis=0), axis=0)
    return squares, vectors * np.sign(vectors[first, np.arange(vectors.shape[1])])


def _full(matrix: Any) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.todense())


def _dense_vectors(mass: Any, stiffness: Any, shift: float, count: int) -> Array:
    import scipy.linalg

    mass, shifted = _full(mass), _full(stiffness + shift * mass)
    _factor(shifted)  # finds the row at fault where there is one
    size = len(mass)
    _, vectors = scipy.linalg.eigh(mass, shifted, subset_by_index=(size - count, size - 1))
    return np.asarray(vectors[:, ::-1])


def _sparse_vectors(mass: Any, stiffness: Any, shift: float, solve: Any, count: int) -> Array:
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = mass.shape[0]
    inverse = LinearOperator((size, size), matvec=solve, dtype=float)
    start = np.random.default_rng(1).standard_normal(size)  # the same modes in every run
    _, vectors = eigsh(stiffness, count, mass, sigma=-shift, OPinv=inverse, v0=start)
    return np.asarray(vectors)


def negative_row(matrix: Any, least: float) -> int | None:
    """A row in which a symmetric matrix shows an eigenvalue below −``least``, None where it has none.

    A full matrix: the largest component of the eigenvector. A sparse one: the lowest pivot of A + least 1,
    which is negative exactly then (Sylvester's law of inertia).
    """
    if isinstance(matrix, np.ndarray):
        values, vectors = np.linalg.eigh(matrix)
        return int(np.argmax(np.abs(vectors[:, 0]))) if values[0] < -least else None
    import scipy.sparse

    try:
        factors = _factors(matrix + least * scipy.sparse.identity(matrix.shape[0]))
    except RuntimeError:  # a pivot that is exactly zero: an eigenvalue at −least, the border itself
        return None
    pivots = factors.U.diagonal()
    return int(np.argsort(factors.perm_c)[np.argmin(pivots)]) if np.min(pivots) < 0 else None


def _factors(matrix: Any) -> Any:
    """Sparse factors of a symmetric matrix with its own diagonal as pivots."""
    from scipy.sparse.linalg import splu

    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def solve_static(stiffness: Any, loads: Any) -> Array:
    """K⁻¹ times columns."""
    return np.asarray(_factor(stiffness)(_full(loads)))


def _factor(matrix: Any) -> Any:
    """x ↦ A⁻¹x of a symmetric positive matrix; `SingularMatrix` names the row where it is not."""
    diagonal = matrix.diagonal()
    if np.any(diagonal <= 0):
        raise SingularMatrix(int(np.argmin(diagonal)))
    scale = 1 / np.sqrt(diagonal)
    if isinstance(matrix, np.ndarray):
        import scipy.linalg

        scaled = matrix * np.outer(scale, scale)
        lower, failed = scipy.linalg.lapack.dpotrf(scaled, lower=1)
        if failed > 0:
            raise SingularMatrix(failed - 1)
        pivots = np.diag(lower) ** 2
        if np.min(pivots) < _PIVOT:
            raise SingularMatrix(int(np.argmin(pivots)))

        def solve(x: Array) -> Array:
            return scale * scipy.linalg.cho_solve((lower, True), (scale * x.T).T).T

        return lambda x: solve(x).T if np.ndim(x) > 1 else solve(x)
    import scipy.sparse

    outer = scipy.sparse.diags(scale)
    try:
        factors = _factors(outer @ matrix @ outer)
    except RuntimeError:  # SuperLU's "exactly singular" does not say where
        raise SingularMatrix(int(np.argmin(diagonal))) from None
    pivots = np.abs(factors.U.diagonal())
    if np.min(pivots) < _PIVOT:
        raise SingularMatrix(int(np.argsort(factors.perm_c)[np.argmin(pivots)]))
    return lambda x: (scale * factors.solve((scale * x.T).T).T).T
