"""Dependent speeds at one place, by numbers: a choice in which no dependent speed outruns the others.

Rows and columns of J are taken by complete pivoting; speeds that are dependent now are preferred if they are
nearly as good. Then dependent and independent speeds are exchanged while some factor |A_dr| exceeds two; each
exchange makes the determinant of J_d larger by that factor. At the end no set can be badly conditioned.

Source: coordinate partitioning, Wehage & Haug (1982), with the exchange of maximum-volume submatrices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

STRONG = 0.5  # of the largest element, above which a present choice stays
OUTRUN = 2.0  # a factor of which a dependent speed is exchanged
NOISE = 1e-10  # a largest factor of this size is rounding: the row is empty
NO_FACTOR = 1e-8  # of the largest factor: nothing is left
FAIR = 0.05  # of the best conditioning with modes, with which joints are still preferred

Pairs = list[tuple[int, int]]  # (row, speed), in the order of elimination


def sizes_by_kind(largest: np.ndarray, kinds: Sequence[object]) -> np.ndarray:
    """The largest factor of each kind of speed, which takes the place of units; ``largest`` is by speed."""
    sizes = np.ones(len(largest))
    for kind in set(kinds):
        same = [k is kind for k in kinds]
        size = float(np.max(largest[same]))
        sizes[same] = size if size > NOISE else 1.0
    return sizes


def partition(
    jacobian: np.ndarray,
    sizes: np.ndarray,
    kept_free: Collection[int],
    now: Sequence[tuple[int, int]],
    modal: Collection[int] = (),
) -> Pairs:
    """A speed for each row that is independent of the others; ``sizes`` take the place of the speeds' units.

    Modal speeds are given up only where joints cannot do it, or not well.
    """
    if modal:
        pairs = partition(jacobian, sizes, {*kept_free, *modal}, now)
        whole = partition(jacobian, sizes, kept_free, now)
        if len(pairs) == len(whole) and _share(jacobian, sizes, pairs) > FAIR * _share(
            jacobian, sizes, whole
        ):
            return pairs
        return whole
    J = jacobian / sizes
    norms = np.linalg.norm(J, axis=1, keepdims=True)
    J = J / np.where(norms > 0.0, norms, 1.0)
    allowed = [j for j in range(J.shape[1]) if j not in kept_free]
    pairs = _pivots(J, allowed, dict(now))
    for _ in range(10 * len(pairs)):
        exchange = _worst(J, pairs, allowed)
        if exchange is None:
            break
        gone, comes = exchange
        pairs = [(i, comes if j == gone else j) for i, j in pairs]
    return _pivots(J, [j for _, j in pairs], dict(pairs))


def _share(jacobian: np.ndarray, sizes: np.ndarray, pairs: Pairs) -> float:
    """The conditioning of a choice: the smallest singular value of its part of J."""
    part = (jacobian / sizes)[np.ix_([i for i, _ in pairs], [j for _, j in pairs])]
    return float(np.linalg.svd(part, compute_uv=False)[-1]) if pairs else 0.0


def _pivots(J: np.ndarray, columns: Sequence[int], now: dict[int, int]) -> Pairs:
    """Complete pivoting over the given columns."""
    left = J.copy()
    rows, free = list(range(len(J))), list(columns)
    pairs: Pairs = []
    while rows and free:
        part = np.abs(left[np.ix_(rows, free)])
        largest = float(np.max(part))
        if largest <= NO_FACTOR:
            break
        a, b = np.unravel_index(int(np.argmax(part)), part.shape)
        i, j = rows[int(a)], free[int(b)]
        kept = [(r, now[r]) for r in rows if now.get(r) in free]
        best = max(kept, key=lambda pair: abs(left[pair]), default=None)
        if best is not None and abs(left[best]) >= STRONG * largest:
            i, j = best
        rows.remove(i)
        free.remove(j)
        pairs.append((i, j))
        factors = left[rows, j] / left[i, j]
        left[rows] -= np.outer(factors, left[i])
    return pairs


def _worst(J: np.ndarray, pairs: Pairs, allowed: Sequence[int]) -> tuple[int, int] | None:
    """The dependent speed that outruns an independent one the most, and that one."""
    rows, dependent = [i for i, _ in pairs], [j for _, j in pairs]
    rest = [j for j in allowed if j not in dependent]
    if not rest or not pairs:
        return None
    A = np.abs(np.linalg.solve(J[np.ix_(rows, dependent)], J[np.ix_(rows, rest)]))
    d, r = np.unravel_index(int(np.argmax(A)), A.shape)
    return (dependent[int(d)], rest[int(r)]) if A[d, r] > OUTRUN else None
