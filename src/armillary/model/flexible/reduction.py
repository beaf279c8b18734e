"""Reduction of structures to modes: lowest eigenpairs and static solutions of dense or sparse matrices.

A freedom is one displacement or rotation of a node. The bases of modes are

free           elastic modes of a part that nothing holds; its rigid motions are left out, since the body has
               them already
fixed          modes with some freedoms clamped to the body, as of a cantilever
craig-bampton  static modes and normal modes, which are then made orthogonal (Craig and Bampton 1968). In each
               static mode one freedom of the interface moves by one unit, while the others are held. In
               normal modes the whole interface is held. With this basis, forces at the interface cause the
               exact static deflection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from armillary.algebra.arguments import one_of
from armillary.errors import ModelError, shown
from armillary.model.flexible.part import Array, MatrixLike, rigid_motions
from armillary.model.flexible.part_input import AXES, how_many, known_node

# With fewer freedoms LAPACK on full matrices is faster than ARPACK on sparse ones.
_SMALL = 400
# If a matrix is scaled to a diagonal of ones, a smaller pivot is a rounding error.
_PIVOT = 1e-13
# Eigenvalues that differ by a smaller share count as equal.
_SAME = 1e-9
# Where the largest entry of a vector decides (such as about its sign), the first entry above this share of
# the largest is used. Otherwise the result would depend on the machine, since symmetric structures have
# entries that are equal except for rounding.
_NEARLY = 0.999
# A modal mass is a rounding error if it is below this share of the sum of the magnitudes of its terms.
_EMPTY = 1e-13


class SingularMatrix(Exception):
    """A matrix without an inverse, and the row with the vanishing pivot."""

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
    """Return the ``count`` lowest (ω², φ) with K φ = ω² M φ; φᵀMφ = 1, and the largest entry of φ is
    positive.

    The equivalent problem M φ = μ (K + s M) φ with ω² = 1/μ − s is solved. So rigid motions (K singular) and
    massless freedoms (M singular) are allowed, and the lowest frequencies are the most accurate. With
    ``limit`` a sparse problem is solved only up to this angular frequency.
    """
    weights = mass.diagonal()
    ratios = stiffness.diagonal()[weights > 0] / weights[weights > 0]
    shift = 1e-6 * float(np.max(ratios, initial=0.0)) or 1.0
    size = mass.shape[0]
    tried = count if limit is None else min(count, 16)
    if isinstance(mass, np.ndarray) or size < _SMALL or 3 * tried > size:
        return _dense_pairs(mass, stiffness, shift, count)
    solve = _factorize((stiffness + shift * mass).tocsc())
    while True:
        squares, vectors = ritz(mass, stiffness, _sparse_vectors(mass, stiffness, shift, solve, tried))
        if tried == count or (limit is not None and squares[-1] > limit**2):
            return squares, vectors
        tried = min(2 * tried, count)
        if 3 * tried > size:
            return _dense_pairs(mass, stiffness, shift, count)


def ritz(mass: MatrixLike, stiffness: object, vectors: Array) -> tuple[Array, Array]:
    """Return the best eigenpairs (ω², φ) in the span of some vectors, by the method of Rayleigh and Ritz.

    The φ are orthogonal to rounding.
    """
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
        vectors[:, first:last] = _separate_vectors(vectors[:, first:last])
    size = np.abs(vectors)
    leading = np.argmax(size > _NEARLY * np.max(size, axis=0), axis=0)
    return squares, vectors * np.sign(vectors[leading, np.arange(vectors.shape[1])])


def _alike(squares: Array) -> list[tuple[int, int]]:
    """Return the ranges of two or more eigenvalues that are equal except for rounding."""
    apart = np.flatnonzero(np.diff(squares) > _SAME * np.abs(squares[1:])) + 1
    borders = [0, *apart.tolist(), len(squares)]
    return [(a, b) for a, b in pairwise(borders) if b - a > 1]


def _separate_vectors(vectors: Array) -> Array:
    """Return a definite basis of eigenvectors with equal eigenvalues, since all their combinations are
    eigenvectors, too.

    In the row in which the given vectors are largest, only the first vector of the basis has a nonzero entry.
    The second vector follows in the same way from the remaining ones, and so on. So the two bending modes of
    a round beam are one along y and one along z on every machine, not an arbitrary perpendicular pair.
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
    """Return the lowest pairs of dense matrices. Two more pairs are computed, since a last frequency that
    equals the next one must be treated together with it.
    """
    for more in (2, 0):
        if count + more > mass.shape[0]:
            continue
        try:
            squares, vectors = ritz(mass, stiffness, _dense_vectors(mass, stiffness, shift, count + more))
        except MasslessMotion:  # the two further modes may not exist
            if not more:
                raise
            continue
        return squares[:count], vectors[:, :count]
    raise AssertionError


def _dense_vectors(mass: MatrixLike, stiffness: MatrixLike, shift: float, count: int) -> Array:
    import scipy.linalg

    mass, shifted = _full(mass), _full(stiffness + shift * mass)
    _factorize(shifted)  # raises an error with the row at fault, if there is one
    size = len(mass)
    _, vectors = scipy.linalg.eigh(mass, shifted, subset_by_index=(size - count, size - 1))
    return np.asarray(vectors[:, ::-1])


def _sparse_vectors(mass: MatrixLike, stiffness: object, shift: float, solve: object, count: int) -> Array:
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = mass.shape[0]
    inverse = LinearOperator((size, size), matvec=solve, dtype=float)
    start = np.random.default_rng(1).standard_normal(size)  # a fixed seed gives the same modes in every run
    _, vectors = eigsh(stiffness, count, mass, sigma=-shift, OPinv=inverse, v0=start)
    return np.asarray(vectors)


def negative_row(matrix: MatrixLike, least: float) -> int | None:
    """Return a row that is responsible for an eigenvalue below −``least``; `None` if there is no such
    eigenvalue.

    For a full matrix it is the row in which the eigenvector is largest. For a sparse matrix it is the row of
    the lowest pivot of A + least 1, which is negative exactly if there is such an eigenvalue (Sylvester's law
    of inertia).
    """
    if isinstance(matrix, np.ndarray):
        values, vectors = np.linalg.eigh(matrix)
        return int(np.argmax(np.abs(vectors[:, 0]))) if values[0] < -least else None
    import scipy.sparse

    try:
        factors = _factors(matrix + least * scipy.sparse.identity(matrix.shape[0]))
    except RuntimeError:  # a pivot is exactly zero: an eigenvalue is equal to −least, which is allowed
        return None
    pivots = factors.U.diagonal()
    return int(np.argsort(factors.perm_c)[np.argmin(pivots)]) if np.min(pivots) < 0 else None


def _factors(matrix: MatrixLike) -> MatrixLike:
    """Return the sparse factors of a symmetric matrix with pivots on its diagonal."""
    from scipy.sparse.linalg import splu

    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def solve_static(stiffness: object, loads: object) -> Array:
    """Return K⁻¹ times the columns ``loads``."""
    return np.asarray(_factorize(stiffness)(_full(loads)))


def _factorize(matrix: MatrixLike) -> MatrixLike:
    """Return the function x ↦ A⁻¹x of a symmetric matrix; raise `SingularMatrix` if it is not positive."""
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
            found: Array = (scale * scipy.linalg.cho_solve((lower, True), (scale * x.T).T).T).T
            return found

        return solve
    import scipy.sparse

    outer = scipy.sparse.diags(scale)
    try:
        factors = _factors(outer @ matrix @ outer)
    except RuntimeError:  # SuperLU's "exactly singular" does not name the row
        raise SingularMatrix(int(np.argmin(diagonal))) from None
    pivots = np.abs(factors.U.diagonal())
    if np.min(pivots) < _PIVOT:
        raise SingularMatrix(int(np.argsort(factors.perm_c)[np.argmin(pivots)]))
    return lambda x: (scale * factors.solve((scale * x.T).T).T).T


# Largest strain energy of a motion that counts as rigid, as a share of the sum of the magnitudes of its
# terms.
_RIGID = 1e-11
# The same for rigid motions computed from positions, if positions and stiffness have six digits.
_TIED = 1e-7

BASES = ("free", "fixed", "craig-bampton")


@dataclass(frozen=True)
class Structure:
    """Nodes with three or six freedoms each, and the dense or sparse matrices of all freedoms."""

    where: str
    names: list[str]
    positions: Array  # n × 3
    mass: MatrixLike
    stiffness: MatrixLike

    @property
    def freedoms(self) -> int:
        """Freedoms per node."""
        return int(self.mass.shape[0]) // len(self.names)

    @cached_property
    def rigid(self) -> Array:
        """Six rigid motions as columns."""
        return rigid_motions(self.positions)[:, : self.freedoms].reshape(-1, 6)

    def label(self, freedom: int) -> str:
        """Return the name of a freedom for errors."""
        return f"node '{self.names[freedom // self.freedoms]}' {AXES[freedom % self.freedoms]}"

    def select_freedoms(self, entries: object, what: str) -> Array:
        """Return the indices of freedoms, which are given by names of nodes ("root") or of single freedoms
        ("root.rz").
        """
        axes = AXES[: self.freedoms]
        found: set[int] = set()
        if entries is None:
            return np.array([], dtype=int)
        if not isinstance(entries, str | int | Iterable):
            raise ModelError(f"{self.where}: {what}={shown(entries)} must be names of nodes or freedoms")
        for entry in map(str, (entries,) if isinstance(entries, str | int) else entries):
            name, _, axis = entry.rpartition(".")
            if entry in self.names or name not in self.names:
                first = self.freedoms * known_node(entry, self.names, self.where, what)
                found.update(range(first, first + self.freedoms))
            elif axis in axes:
                found.add(self.freedoms * self.names.index(name) + axes.index(axis))
            else:
                raise ModelError(
                    f"{self.where}: {what} has '{entry}', but the freedoms of a node are {', '.join(axes)}"
                )
        return np.array(sorted(found), dtype=int)


@dataclass(frozen=True)
class Kept:
    """The freedoms of a structure that may move, and the rigid motions that are still possible."""

    structure: Structure
    freedoms: Array
    rigid: Array  # columns over these freedoms

    def block(self, rows: Array, columns: Array) -> tuple[MatrixLike, MatrixLike]:
        """Return the blocks of the structure's mass and stiffness matrices with these rows and columns."""
        return self.structure.mass[rows][:, columns], self.structure.stiffness[rows][:, columns]

    def singular(self, freedom: int) -> ModelError:
        """Return the error about a freedom without stiffness or mass."""
        return ModelError(
            f"{self.structure.where}: the reduction is singular at {self.structure.label(freedom)}: nothing "
            "holds it (neither stiffness nor mass, a mechanism, or a stiffness that is not positive); fix it "
            "with fixed=, or complete its rows of the matrices"
        )


def reduce_structure(
    structure: Structure,
    *,
    basis: str = "fixed",
    fixed: object = (),
    interface: object = (),
    modes: int | None = None,
    frequency_limit: float | None = None,
) -> tuple[Array, Array]:
    """Return squares of angular frequencies (N) and shapes n × 6 × N of unit modal mass, lowest first.

    ``modes`` is the number of modes, ``frequency_limit`` (rad/s) the highest frequency; without both, all
    modes are returned. For a Craig-Bampton basis both apply to the normal modes only; every freedom of the
    interface adds one mode.
    """
    where = structure.where
    one_of(basis, BASES, f"{where}: there is no basis ", ModelError)
    modes = None if modes is None else how_many(modes, where, 0 if basis == "craig-bampton" else 1)
    clamped = structure.select_freedoms(fixed, "fixed")
    ends = np.setdiff1d(structure.select_freedoms(interface, "interface"), clamped)
    if basis == "free" and len(clamped):
        raise ModelError(f"{where}: basis 'free' holds nothing; leave out fixed=, or use basis='fixed'")
    if basis == "craig-bampton" and not len(ends):
        raise ModelError(f"{where}: a Craig-Bampton basis needs interface= nodes that are not fixed")
    if basis != "craig-bampton" and len(ends):
        raise ModelError(f"{where}: basis '{basis}' has no interface=; use basis='craig-bampton'")
    moving = np.setdiff1d(np.arange(structure.mass.shape[0]), clamped)
    if not len(moving):
        raise ModelError(f"{where}: every freedom is fixed, so nothing can move; fix fewer nodes")
    free = basis != "fixed" and not len(clamped)
    kept = Kept(structure, moving, _rigid(structure, basis) if free else np.zeros((len(moving), 0)))
    if basis == "craig-bampton":
        squares, vectors = _craig_bampton(kept, ends, modes, frequency_limit)
    else:
        squares, vectors = _elastic(kept, modes, frequency_limit)
    whole = np.zeros((structure.mass.shape[0], len(squares)))
    whole[moving] = vectors
    shapes = np.zeros((len(structure.names), 6, len(squares)))
    shapes[:, : structure.freedoms] = whole.reshape(len(structure.names), structure.freedoms, -1)
    return squares, shapes


def _rigid(structure: Structure, basis: str) -> Array:
    """Return the independent rigid motions as columns: usually six. Nodes with three freedoms have five if
    they lie on a line, and three if there is only one.

    A Craig-Bampton basis has none if the stiffness connects the part to the body.
    """
    vectors, values, _ = np.linalg.svd(structure.rigid, full_matrices=False)
    rigid = vectors[:, values > 1e-10 * values[0]]
    strain, scale = _strain(structure.stiffness, rigid)
    worst = int(np.argmax(strain / scale))
    if strain[worst] > _TIED * scale[worst] and basis == "craig-bampton":
        return rigid[:, :0]
    if strain[worst] > _TIED * scale[worst]:
        at = int(np.argmax(np.abs(structure.stiffness @ rigid[:, worst])))
        raise ModelError(
            f"{structure.where}: the stiffness resists rigid motion, most at {structure.label(at)}; "
            "a free basis needs a part that nothing holds: use basis='fixed', or check positions="
        )
    return rigid


def _strain(stiffness: MatrixLike, vectors: Array) -> tuple[Array, Array]:
    """Return φᵀKφ of each column φ, and the sum of the magnitudes of its terms, |φ|ᵀ|K||φ|."""
    size = np.abs(vectors)
    scale = np.sum(size * (abs(stiffness) @ size), axis=0)
    return np.sum(vectors * (stiffness @ vectors), axis=0), np.maximum(scale, np.finfo(float).tiny)


def _elastic(kept: Kept, modes: int | None, limit: float | None) -> tuple[Array, Array]:
    """Return the modes of the kept freedoms without their rigid motions."""
    where, rigid = kept.structure.where, kept.rigid
    mass, stiffness = kept.block(kept.freedoms, kept.freedoms)
    massive, away = int(np.count_nonzero(mass.diagonal() > 0)), rigid.shape[1]
    there = massive - away
    asked = there if modes is None else modes
    if asked > there or not there:
        raise ModelError(
            f"{where}: {asked} modes requested, but there are {there}: {massive} freedoms with mass"
            + (f", of which rigid motion takes {away}" if away else "")
        )
    try:
        squares, vectors = lowest_pairs(mass, stiffness, asked + away, limit)
    except SingularMatrix as fault:
        raise kept.singular(int(kept.freedoms[fault.row])) from None
    except MasslessMotion as fault:
        at = kept.structure.label(int(kept.freedoms[fault.row]))
        raise ModelError(
            f"{where}: {asked} modes requested, but one of them moves no mass, most at {at}: the mass matrix "
            "is singular there; request fewer modes, or check the matrix"
        ) from None
    strain, scale = _strain(stiffness, vectors)
    _no_negative(kept, squares, strain / scale, vectors)
    loose = np.flatnonzero(strain <= _RIGID * scale)
    if len(loose) > away:
        at = kept.structure.label(int(kept.freedoms[np.argmax(np.abs(vectors[:, loose[-1]]))]))
        remedy = (
            "it is a mechanism besides the rigid motions: stiffen the part there"
            if away
            else "rigid motion is the body's own: clamp the part with fixed= nodes, or use basis='free'"
        )
        raise ModelError(
            f"{where}: mode {loose[-1] + 1 - away} has zero frequency and moves {at} most; {remedy}"
        )
    if away:  # remove small rigid motions, which are rounding errors, from the modes
        momentum = mass @ rigid
        mixed = np.linalg.lstsq(rigid.T @ momentum, momentum.T @ vectors[:, away:], rcond=None)[0]
        squares, vectors = ritz(mass, stiffness, vectors[:, away:] - rigid @ mixed)
    if limit is not None:
        below = squares <= limit**2
        if not np.any(below):
            raise ModelError(
                f"{where}: no mode lies below frequency_limit={limit:g} rad/s; the lowest is at "
                f"{np.sqrt(squares[0]):.6g}"
            )
        squares, vectors = squares[below], vectors[:, below]
    return squares, vectors


def _no_negative(kept: Kept, squares: Array, share: Array, vectors: Array) -> None:
    if np.min(share) < -1e-9:
        p = int(np.argmin(share))
        at = kept.structure.label(int(kept.freedoms[np.argmax(np.abs(vectors[:, p]))]))
        raise ModelError(
            f"{kept.structure.where}: the stiffness matrix is not positive: ω² = {squares[p]:.6g} of a "
            f"motion that is largest at {at}; check its signs and the order of its rows"
        )


def _craig_bampton(kept: Kept, ends: Array, modes: int | None, limit: float | None) -> tuple[Array, Array]:
    """Return static modes of the interface and normal modes with the interface held, made orthogonal."""
    structure, size = kept.structure, len(kept.freedoms)
    inner = np.setdiff1d(kept.freedoms, ends)
    at_ends, at_inner = np.searchsorted(kept.freedoms, ends), np.searchsorted(kept.freedoms, inner)
    static = np.zeros((size, len(ends)))
    static[at_ends, np.arange(len(ends))] = 1.0
    columns = [static]
    if len(inner):
        try:
            coupling = structure.stiffness[inner][:, ends]
            static[at_inner] = -solve_static(structure.stiffness[inner][:, inner], coupling)
        except SingularMatrix as fault:
            raise kept.singular(int(inner[fault.row])) from None
        if modes != 0:
            held = Kept(structure, inner, np.zeros((len(inner), 0)))
            _, normal = _elastic(held, modes, limit)
            columns.append(np.zeros((size, normal.shape[1])))
            columns[-1][at_inner] = normal
    elif modes:
        raise ModelError(f"{structure.where}: every moving freedom is interface, so there are 0 normal modes")
    basis = np.hstack(columns)
    mass, stiffness = kept.block(kept.freedoms, kept.freedoms)
    _check_independent(kept, ends, basis.T @ (mass @ basis))
    squares, vectors = ritz(mass, stiffness, basis)
    away = kept.rigid.shape[1]
    strain, scale = _strain(stiffness, vectors)
    _no_negative(kept, squares, strain / scale, vectors)
    loose = int(np.count_nonzero(strain <= _RIGID * scale))
    if loose != away or len(squares) == away:
        raise ModelError(
            f"{structure.where}: {loose} Craig-Bampton modes have zero frequency, {away} were "
            "expected from rigid motion; interface= and fixed= together must hold the part in all directions"
        )
    return squares[away:], vectors[:, away:]


def _check_independent(kept: Kept, ends: Array, mass: Array) -> None:
    """Raise an error that names a redundant freedom if static and normal modes are not independent; ``mass``
    is their modal mass matrix.
    """
    own = np.diag(mass)
    if np.min(own) > 0:
        scale = 1 / np.sqrt(own)
        values, vectors = np.linalg.eigh(mass * np.outer(scale, scale))
        if values[0] > 1e-12:
            return
        fault = int(np.argmax(np.abs(vectors[: len(ends), 0])))
    else:
        fault = int(np.argmin(own))
    raise ModelError(
        f"{kept.structure.where}: the interface is redundant: {kept.structure.label(int(ends[fault]))} moves "
        "no mass that the other interface freedoms do not move; leave it out of interface="
    )
