"""Initial values that agree with the constraints of a model, from rough or incomplete ones.

What the user names stays as it is named; what depends on it is found. Attempts with more and more freedom:
the dependent coordinates that were not named; all that were not named; these from scattered starts. Only
where more is named than the loops leave free are named dependent coordinates first guesses, which tell in
what way a loop is closed.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from armillary.algebra.walk import symbols
from armillary.errors import ParameterError
from armillary.mechanics.assembly import Geometry
from armillary.mechanics.constrained import Setting

_CLOSED = 1e-10
_CONSISTENT = 1e-9
_NEW = 1e-6  # singular values above this count
_REACHES = (0.3,) * 10 + (1.0,) * 15 + (3.0,) * 15  # how far from the given values scattered starts lie


def closed(
    geometry: Geometry, setting: Setting, t: float, q: np.ndarray, named: Collection[int], names: list[str]
) -> np.ndarray:
    """Coordinates that close all loops; ``named`` are the places of those that the user gave."""
    kept = sorted(named)
    free = np.zeros(geometry.layout.speeds, dtype=bool)
    attempts = movable(geometry, setting, free, positions=True)
    for moving in attempts:
        moved, gap = geometry.close(t, q, moving, kept=kept)
        if not gap.size or np.max(np.abs(gap)) <= _CLOSED:
            return moved
    nearest, gap = _from_elsewhere(geometry, t, q, attempts[-1], gap, kept)
    if nearest is not None:
        return nearest
    if _too_many_named(geometry, t, q, kept):
        moved, gap = geometry.close(t, q, attempts[0])
        if np.max(np.abs(gap)) <= _CLOSED:
            return moved
    gap = _least_gap(geometry, t, q, attempts[-1], kept, gap)
    raise ParameterError(_open_loops(geometry, setting, gap, [names[i] for i in kept]))


def consistent(
    geometry: Geometry,
    setting: Setting,
    t: float,
    q: np.ndarray,
    u: np.ndarray,
    named: Collection[int],
    names: list[str],
) -> np.ndarray:
    """Speeds that satisfy all constraints; ``named`` are the places of those that the user gave."""
    held = np.array([j in named for j in range(len(u))])
    scale = 1.0 + np.max(np.abs(u), initial=0.0)
    for moving in movable(geometry, setting, held):
        found, residual = geometry.consistent(t, q, u, moving)
        if not residual.size or np.max(np.abs(residual)) <= _CONSISTENT * scale:
            return found
    worst = int(np.argmax(np.abs(residual)))
    constraint = setting.rows[worst].constraint
    raise ParameterError(
        f"the initial speeds {', '.join(names[j] for j in sorted(named))} contradict constraint "
        f"'{constraint.name}' ({constraint.about}), which they leave at {residual[worst]:.6g}; name fewer "
        "of them"
    )


def check_redundant(geometry: Geometry, setting: Setting, t: float, q: np.ndarray) -> None:
    """An error where constraints that said nothing new at the default parameters do so at these."""
    if not setting.elimination.redundant:
        return
    J = geometry.at(t, q).jacobian
    largest = np.max(np.abs(J), axis=0)
    J = J / np.where(largest > _NEW * np.max(largest), largest, 1.0)
    kept = [i for i, row in enumerate(setting.rows) if row in setting.elimination.kept]
    if np.linalg.matrix_rank(J, _NEW) > np.linalg.matrix_rank(J[kept], _NEW):
        names = ", ".join(f"'{row.constraint.name}'" for row in setting.elimination.redundant)
        raise ParameterError(
            f"constraint {names} says nothing new at the default parameters, but does at these: the "
            "system has fewer degrees of freedom here; give the parameters defaults that are meant, and "
            "derive again"
        )


def movable(
    geometry: Geometry, setting: Setting, held: np.ndarray, *, positions: bool = False
) -> list[np.ndarray]:
    """Which speeds may move, attempt by attempt; for ``positions`` only those that rows of positions hold."""
    rows = set(geometry.layout.gaps) if positions else set(range(geometry.layout.rows))
    kept = [setting.rows.index(row) for row in setting.elimination.kept]
    dependent = np.zeros(geometry.layout.speeds, dtype=bool)
    dependent[[step.speed for step in setting.elimination.steps if kept[step.row] in rows]] = True
    holding = np.zeros(geometry.layout.speeds, dtype=bool)
    holding[[j for i, j in geometry.layout.jacobian if i in rows]] = True
    return [dependent & ~held, holding & ~held]


def _too_many_named(geometry: Geometry, t: float, q: np.ndarray, kept: list[int]) -> bool:
    """Whether more is named than the loops leave free, wherever they are."""
    chance = np.random.default_rng(1987)
    gaps = list(geometry.layout.gaps)
    free = []
    for _ in range(3):
        here = geometry.at(t, geometry.normalised(q + chance.uniform(-0.3, 0.3, q.shape)))
        J, N = here.jacobian[gaps], here.rates[kept]
        ranks = [np.linalg.matrix_rank(m, 1e-8) if m.size else 0 for m in (J, N, np.vstack([J, N]))]
        free.append(ranks[0] + ranks[1] - ranks[2])
    return min(free) > 0


def _from_elsewhere(
    geometry: Geometry, t: float, q: np.ndarray, moving: np.ndarray, gap: np.ndarray, kept: list[int]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Of the ways to close the loops that scattered starts lead to, the one nearest to q (None: none does),
    and the smallest gaps met.
    """
    chance = np.random.default_rng(1987)
    found = []
    for reach in _REACHES if moving.any() else ():
        rates = geometry.at(t, q).rates[:, moving]
        start = geometry.normalised(q + rates @ chance.uniform(-reach, reach, rates.shape[1]))
        start[kept] = q[kept]
        moved, rest = geometry.close(t, start, moving, kept=kept)
        gap = min(gap, rest, key=lambda g: float(np.linalg.norm(g)))
        if np.max(np.abs(rest)) <= _CLOSED:
            found.append(moved)
    return (min(found, key=lambda x: float(np.linalg.norm(x - q))) if found else None), gap


def _least_gap(
    geometry: Geometry, t: float, q: np.ndarray, moving: np.ndarray, kept: list[int], gap: np.ndarray
) -> np.ndarray:
    """The smallest gaps that can be reached, as a whole, from some starts with what is named kept."""
    from scipy.optimize import least_squares  # slow to import, and only for the message

    free = sorted({i for i, j in geometry.layout.rates if moving[j] and i not in kept})
    if not free:
        return gap

    def gaps(x: np.ndarray) -> np.ndarray:
        moved = q.copy()
        moved[free] = x
        return geometry.at(t, geometry.normalised(moved)).gap

    chance = np.random.default_rng(1987)
    for reach in (0.0, 0.3, 1.0, 3.0):
        start = q[free] + chance.uniform(-reach, reach, len(free))
        found = least_squares(gaps, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        gap = min(gap, found.fun, key=lambda g: float(np.linalg.norm(g)))
    return gap


def _open_loops(geometry: Geometry, setting: Setting, gap: np.ndarray, named: list[str]) -> str:
    lines = []
    shown = max(_CLOSED, 1e-6 * float(np.max(np.abs(gap))))
    for i, value in zip(geometry.layout.gaps, gap, strict=True):
        if abs(value) > shown:
            row = setting.rows[i]
            sets = [s.data.name for s in symbols(row.gap) if s.data.role == "parameter"]
            by = f", set by {', '.join(sets)}" if sets else ""
            lines.append(f"\n  '{row.constraint.name}': {row.constraint.about}: {value:.6g} remains{by}")
    held = f" with {', '.join(named)} as given" if named else ""
    return (
        f"the loops cannot be closed{held}; nearest to closed they leave{''.join(lines)}\n"
        "change what sets them, or give other initial coordinates to start from"
    )
