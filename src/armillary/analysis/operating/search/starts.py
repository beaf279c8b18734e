"""Other starts for an operating point whose own start was too rough.

First where the damped motion comes to rest: where the unknowns are coordinates, and speeds that stay at their
start, q moves along

    q̇ = N(q) u̇(q, u)            N = ∂q̇/∂u

which for a static equilibrium goes down the potential of the loads, in the metric of the masses, and keeps
loops closed. Steps are those of the implicit Euler method with a length δ that grows as the rates decay
(pseudo-transient continuation; Kelley & Keyes 1998, SIAM J. Numer. Anal. 35, 508–523). Then where the
homotopy of scaled loads leads (`homotopy.py`), and at last starts scattered about the given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from armillary.analysis.operating.problem import Problem
from armillary.analysis.operating.search.homotopy import scaled_loads
from armillary.analysis.operating.search.newton import rest
from armillary.mechanics.constraints.loop_closing import ScatterNumbers

_REACHES = (0.3,) * 4 + (1.0,) * 8 + (3.0,) * 12
_ASIDE = (
    1e-4  # sizes by which the damped motion starts beside its start, which may be an unstable equilibrium
)


def rough_starts(made: Problem, x: np.ndarray) -> Iterator[np.ndarray]:
    """Further starts, the most promising first."""
    rested = None if made.request.settle else damped_rest(made, x)
    if rested is not None:
        yield rested
    unloaded = scaled_loads(made.equations(x))
    if unloaded is not None:
        yield unloaded
    yield from scattered(made, x, _REACHES)


def scattered(made: Problem, x: np.ndarray, reaches: Sequence[float]) -> list[np.ndarray]:
    """A start for each reach in sizes about x, within the bounds; the same in every call."""
    chance = ScatterNumbers()
    equations = made.equations(x)
    found = []
    for reach in reaches:
        start = x.copy()
        step = equations.sizes * chance.spread(reach, len(made.unknown))
        moved = x[made.unknown] + step
        inside: np.ndarray = np.clip(moved, equations.low, equations.high)
        start[made.unknown] = inside
        for first in made.conditions.equations.targets.quaternions:
            length = float(np.linalg.norm(start[first : first + 4]))
            start[first : first + 4] /= length or 1.0
        found.append(start)
    return found


def damped_rest(made: Problem, x: np.ndarray) -> np.ndarray | None:
    """Where coordinates come to rest that move with their accelerations; None where they do not."""
    found, n = made.conditions, len(made.conditions.states)
    speeds = np.arange(found.speeds.start, found.speeds.stop)
    moved = np.array([j for j in made.unknown if j < found.coordinates], dtype=int)
    others = set(made.unknown.tolist()) - set(moved.tolist()) - set(speeds.tolist())
    if made.request.outputs or not len(moved) or others:
        return None
    closed = np.array([i for i in made.rows if i >= n], dtype=int)
    sizes = made.sizes(x)[0][moved]
    x = x.copy()
    x[moved] += _ASIDE * sizes * ScatterNumbers().spread(1.0, len(moved))
    return rest(made.values, x, moved, closed, sizes)
