"""Initial values that agree with the constraints of a model, from rough or incomplete ones.

What the user names stays as it is named; what depends on it is found. Attempts with more and more freedom:
the dependent coordinates that were not named; all that were not named; these from scattered starts. Only
where more is named than the loops leave free are named dependent coordinates first guesses, which
decide in what way a loop is closed.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from armillary.errors import ParameterError
from armillary.mechanics.constraints.assembly import Geometry, ScatterNumbers
from armillary.mechanics.constraints.loop_closure import gap_text, movable_speeds, redundant_text
from armillary.mechanics.constraints.reduction import Reduction

_CLOSED = 1e-10
_NEW = 1e-6  # singular values above this count
_REACHES = (0.3,) * 10 + (1.0,) * 15 + (3.0,) * 15  # how far from the given values scattered starts lie


def close_loops(
    geometry: Geometry,
    reduction: Reduction,
    t: float,
    q: np.ndarray,
    named: Collection[int],
    names: list[str],
) -> np.ndarray:
    """Coordinates that close all loops; ``named`` are the places of those that the user gave."""
    sized = geometry.in_sizes()
    if sized.is_exact(t, q):
        return q
    kept = sorted(named)
    free = np.zeros(geometry.layout.speeds, dtype=bool)
    attempts = movable_speeds(geometry, reduction, free, positions=True)
    best, least = q, np.inf
    for moving in attempts:
        moved, gap = sized.close(t, q, moving, kept=kept)
        if is_closed(sized, t, moved):
            return moved
        if float(np.linalg.norm(gap)) < least:
            best, least = moved, float(np.linalg.norm(gap))
    nearest, best = _from_elsewhere(sized, t, q, attempts[-1], best, least, kept)
    if nearest is not None:
        return nearest
    if _too_many_named(sized, t, q, kept):
        moved, _ = sized.close(t, q, attempts[0])
        if is_closed(sized, t, moved):
            return moved
    gap = sized.nearest(t, best, attempts[-1], kept)
    raise ParameterError(_open_loops(geometry, reduction, gap, [names[i] for i in kept]))


def is_closed(geometry: Geometry, t: float, q: np.ndarray) -> bool:
    """Whether all loops are closed, up to a small part of the size of each row."""
    return geometry.off(geometry.at(t, q)) <= _CLOSED


def consistent_speeds(
    geometry: Geometry,
    reduction: Reduction,
    t: float,
    q: np.ndarray,
    u: np.ndarray,
    named: Collection[int],
    names: list[str],
) -> np.ndarray:
    """Speeds that satisfy all constraints; ``named`` are the places of those that the user gave."""
    held = np.array([j in named for j in range(len(u))])
    for moving in movable_speeds(geometry, reduction, held):
        found, residual, satisfied = geometry.consistent(t, q, u, moving)
        if satisfied:
            return found
    worst = int(np.argmax(np.abs(residual)))
    constraint = reduction.rows[worst].constraint
    raise ParameterError(
        f"the initial speeds {', '.join(names[j] for j in sorted(named))} contradict constraint "
        f"'{constraint.name}' ({constraint.about}), which they leave at {residual[worst]:.6g}; name fewer "
        "of them"
    )


def check_redundant(geometry: Geometry, reduction: Reduction, t: float, q: np.ndarray) -> None:
    """An error where constraints that were redundant at the default parameters are not at these."""
    if not reduction.elimination.redundant:
        return
    J = geometry.in_sizes().at(t, q).jacobian
    largest = np.max(np.abs(J), axis=0)
    J = J / np.where(largest > _NEW * np.max(largest), largest, 1.0)
    kept = [i for i, row in enumerate(reduction.rows) if row in reduction.elimination.kept]
    if np.linalg.matrix_rank(J, _NEW) > np.linalg.matrix_rank(J[kept], _NEW):
        raise ParameterError(redundant_text(reduction))


def _too_many_named(geometry: Geometry, t: float, q: np.ndarray, kept: list[int]) -> bool:
    """Whether more is named than the loops leave free, wherever they are."""
    chance = ScatterNumbers()
    gaps = list(geometry.layout.gaps)
    free = []
    lengths = geometry.lengths(geometry.at(t, q))
    for _ in range(3):
        here = geometry.at(t, geometry.normalised(q + lengths * chance.spread(0.3, len(q))))
        J, N = here.jacobian[gaps], here.rates[kept]
        ranks = [np.linalg.matrix_rank(m, 1e-8) if m.size else 0 for m in (J, N, np.vstack([J, N]))]
        free.append(ranks[0] + ranks[1] - ranks[2])
    return min(free) > 0


def _from_elsewhere(
    geometry: Geometry,
    t: float,
    q: np.ndarray,
    moving: np.ndarray,
    best: np.ndarray,
    least: float,
    kept: list[int],
) -> tuple[np.ndarray | None, np.ndarray]:
    """Of the ways to close the loops that scattered starts lead to, the one nearest to q (None: none does),
    and the place with the smallest gaps met, which are ``least`` at ``best`` before.
    """
    chance = ScatterNumbers()
    found = []
    here = geometry.at(t, q)
    rates, lengths = here.rates[:, moving], geometry.lengths(here)
    for reach in _REACHES if moving.any() else ():
        start = geometry.normalised(q + rates @ chance.spread(reach, rates.shape[1]))
        start[kept] = q[kept]
        moved, gap = geometry.close(t, start, moving, kept=kept)
        if is_closed(geometry, t, moved):
            found.append(moved)
        elif float(np.linalg.norm(gap)) < least:
            best, least = moved, float(np.linalg.norm(gap))
    nearest = min(found, key=lambda x: float(np.linalg.norm((x - q) / lengths))) if found else None
    return nearest, best


def _open_loops(geometry: Geometry, reduction: Reduction, gap: np.ndarray, named: list[str]) -> str:
    """The error where gaps remain, which are in terms of the sizes of their rows."""
    lines = []
    shown = max(_CLOSED, 1e-6 * float(np.max(np.abs(gap))))
    for i, value in zip(geometry.layout.gaps, gap, strict=True):
        if abs(value) > shown:
            before, after = gap_text(reduction, i)
            size = 1.0 if geometry.row_sizes is None else geometry.row_sizes[i]
            lines.append(f"\n  {before}{value * size:.6g}{after}")
    held = f" with {', '.join(named)} as given" if named else ""
    return (
        f"the loops cannot be closed{held}; nearest to closed they leave{''.join(lines)}\n"
        "change what sets them, or give other initial coordinates to start from"
    )
