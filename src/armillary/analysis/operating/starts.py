"""Other starts for an operating point whose own start was too rough.

First where the damped motion comes to rest: where the unknowns are coordinates, and speeds that stay at their
start, q moves along

    q̇ = N(q) u̇(q, u)            N = ∂q̇/∂u

which for a static equilibrium goes down the potential of the loads, in the metric of the masses, and keeps
loops closed. Steps are those of the implicit Euler method with a length δ that grows as the rates decay
(pseudo-transient continuation; Kelley & Keyes 1998, SIAM J. Numer. Anal. 35, 508–523). Then starts scattered
about the given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from armillary.analysis.operating.problem import Problem
from armillary.mechanics.constraints.assembly import ScatterNumbers

_REACHES = (0.3,) * 4 + (1.0,) * 8 + (3.0,) * 12
_STEPS = 200
_ASIDE = 1e-4  # by which the damped motion starts beside its start, which may be an unstable equilibrium


def rough_starts(made: Problem, x: np.ndarray) -> Iterator[np.ndarray]:
    """Further starts, the most promising first."""
    rested = None if made.request.settle else damped_rest(made, x)
    if rested is not None:
        yield rested
    yield from scattered(made, x, _REACHES)


def scattered(made: Problem, x: np.ndarray, reaches: Sequence[float]) -> list[np.ndarray]:
    """A start for each reach in sizes about x, within the bounds; the same in every call."""
    chance = ScatterNumbers()
    equations = made.equations(x)
    found = []
    for reach in reaches:
        start = x.copy()
        step = equations.sizes * chance.spread(reach, len(made.unknown))
        start[made.unknown] = np.clip(x[made.unknown] + step, equations.low, equations.high)
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
    x, delta, last = x.copy(), 0.0, np.inf
    x[moved] += _ASIDE * ScatterNumbers().spread(1.0, len(moved))
    for _ in range(_STEPS):
        c, C = made.values.values(x), made.values.jacobian(x)
        if not (np.all(np.isfinite(c)) and np.all(np.isfinite(C))):
            return None
        N = C[np.ix_(moved, speeds)]
        rates = N @ c[speeds]
        size = float(np.max(np.abs(rates), initial=0.0))
        if size <= 1e-9 * (1.0 + np.max(np.abs(c[speeds]), initial=0.0)) or not size:
            return x
        delta = 0.1 / size if not delta else delta * float(np.clip(last / size, 1.0, 2.0))
        last = size
        G, held = N @ C[np.ix_(speeds, moved)], C[np.ix_(closed, moved)]
        for _ in range(20):  # a long step where the motion is unstable would lead backwards
            A = np.vstack([np.eye(len(moved)) / delta - G, held])
            step = np.linalg.lstsq(A, np.concatenate([rates, -c[closed]]), rcond=None)[0]
            if step @ rates > 0:
                break
            delta *= 0.25
        x[moved] += step * min(1.0, 0.5 / float(np.max(np.abs(step), initial=1e-300)))
    return x
