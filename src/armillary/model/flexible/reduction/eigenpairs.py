"""Linear algebra of structures: lowest eigenpairs and static solutions, on dense or sparse matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from armillary.model.flexible.part import Array, MatrixLike

# Below this many freedoms LAPACK on full matrices is the faster way.
_SMALL = 400
# A pivot of a matrix scaled to a unit diagonal below this is rounding.
_PIVOT = 1e-13
# Eigenvalues that differ by a smaller share are one.
_SAME = 1e-9
# Entries equal up to rounding, as in symmetric structures: the first that exceeds this share of the largest
# decides, on every machine.
_NEARLY = 0.999
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


def lowest_pairs(
    mass: MatrixLike, stiffness: MatrixLike, count: int, limit: float | None = None
) -> tuple[Array, Array]:
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
        return _dense_pairs(mass, stiffness, shift, count)
    solve = _factor((stiffness + shift * mass).tocsc())
    while True:
        squares, vectors = ritz(mass, stiffness, _sparse_vectors(mass, stiffness, shift, solve, tried))
        if tried == count or (limit is not None and squares[-1] > limit**2):
            return squares, vectors
        tried = min(2 * tried, count)
        if 3 * tried > size:
            return _dense_pairs(mass, stiffness, shift, count)


def ritz(mass: MatrixLike, stiffness: object, vectors: Array) -> tuple[Array, Array]:
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
    for first, last in _alike(squares):
        vectors[:, first:last] = _separated(vectors[:, first:last])
    size = np.abs(vectors)
    leading = np.argmax(size > _NEARLY * np.max(size, axis=0), axis=0)
    return squares, vectors * np.sign(vectors[leading, np.arange(vectors.shape[1])])


def _alike(squares: Array) -> list[tuple[int, int]]:
    """Ranges of two or more eigenvalues that are equal except for rounding."""
    apart = np.flatnonzero(np.diff(squares) > _SAME * np.abs(squares[1:])) + 1
    borders = [0, *apart.tolist(), len(squares)]
    return [(a, b) for a, b in pairwise(borders) if b - a > 1]


def _separated(vectors: Array) -> Array:
    """Vectors of one eigenvalue, turned among themselves: any combination of them is an eigenvector too.

    The first is the one that moves the row in which they are largest; the others rest there, the second moves
    the largest row that is left, and so on. So the two bending modes of a round beam come out as one along y
    and one along z on every machine, not as some pair at right angles.
    """
    left, found = vectors, []
    while left.shape[1] > 1:
        size = np.sum(left**2, axis=1)
        row = left[np.argmax(size > _NEARLY * np.max(size))]
        turn, _ = np.linalg.qr(row[:, None], mode="complete")
        left = left @ turn
        found.append(left[:, :1])
        left = left[:, 1:]
    return np.hstack([*found, left])


def _full(matrix: MatrixLike) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.todense())


def _dense_pairs(mass: MatrixLike, stiffness: object, shift: float, count: int) -> tuple[Array, Array]:
    """The lowest pairs; two more are solved for, so that ``count`` does not part equal frequencies."""
    for more in (2, 0):
        if count + more > mass.shape[0]:
            continue
        try:
            squares, vectors = ritz(mass, stiffness, _dense_vectors(mass, stiffness, shift, count + more))
        except MasslessMotion:  # there may be none beyond those requested
            if not more:
                raise
            continue
        return squares[:count], vectors[:, :count]
    raise AssertionError


def _dense_vectors(mass: MatrixLike, stiffness: MatrixLike, shift: float, count: int) -> Array:
    import scipy.linalg

    mass, shifted = _full(mass), _full(stiffness + shift * mass)
    _factor(shifted)  # finds the row at fault where there is one
    size = len(mass)
    _, vectors = scipy.linalg.eigh(mass, shifted, subset_by_index=(size - count, size - 1))
    return np.asarray(vectors[:, ::-1])


def _sparse_vectors(mass: MatrixLike, stiffness: object, shift: float, solve: object, count: int) -> Array:
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = mass.shape[0]
    inverse = LinearOperator((size, size), matvec=solve, dtype=float)
    start = np.random.default_rng(1).standard_normal(size)  # the same modes in every run
    _, vectors = eigsh(stiffness, count, mass, sigma=-shift, OPinv=inverse, v0=start)
    return np.asarray(vectors)


def negative_row(matrix: MatrixLike, least: float) -> int | None:
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


def _factors(matrix: MatrixLike) -> MatrixLike:
    """Sparse factors of a symmetric matrix with its own diagonal as pivots."""
    from scipy.sparse.linalg import splu

    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def solve_static(stiffness: object, loads: object) -> Array:
    """K⁻¹ times columns."""
    return np.asarray(_factor(stiffness)(_full(loads)))


def _factor(matrix: MatrixLike) -> MatrixLike:
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
            found: Array = scale * scipy.linalg.cho_solve((lower, True), (scale * x.T).T).T
            return found

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
