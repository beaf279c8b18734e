"""A homotopy for rough starts: the loads that would hold the start are taken away little by little.

At a start x₀ the conditions c are off by c(x₀) − w, which further loads and shifted outputs could make up
for. These are scaled from all to nothing,

    H(x, λ) = c(x) − w − (1 − λ) (c(x₀) − w) = 0            λ from 0 to 1

so that x₀ solves H for λ = 0 and an operating point for λ = 1. The curve between is followed by its length
(`branches/curve.py`), because λ turns back where the mechanism snaps through.
Source: Allgower and Georg (1990), Numerical Continuation Methods, section 11.3 (the global homotopy).
"""

from __future__ import annotations

import numpy as np

from armillary.analysis.operating.branches.curve import BranchCurve
from armillary.analysis.operating.search.newton import RootProblem

_STEPS = 200
_FIRST, _LONGEST, _SHORTEST = 0.05, 0.5, 1e-5  # in sizes
_TURN = 0.8  # cosine of the angle between two tangents, below which a step is repeated at half its length


def scaled_loads(equations: RootProblem) -> np.ndarray | None:
    """x near a solution for λ = 1, from x for λ = 0; None where the curve does not lead there."""
    e = equations
    whole, both = e.x.copy(), np.ix_(e.rows, e.unknown)
    off = e.values.values(whole)[e.rows] - e.wanted
    if not np.all(np.isfinite(off)) or not len(e.unknown):
        return None

    def residual(z: np.ndarray) -> np.ndarray:
        whole[e.unknown] = z[:-1]
        found: np.ndarray = e.values.values(whole)[e.rows] - e.wanted - (1.0 - z[-1]) * off
        return found

    def jacobian(z: np.ndarray) -> np.ndarray:
        whole[e.unknown] = z[:-1]
        return np.column_stack([e.values.jacobian(whole)[both], off])

    sizes = np.append(e.sizes, 1.0)
    curve = BranchCurve(residual, jacobian, sizes, e.weights, lambda z: None)
    forward = np.append(np.zeros(len(e.unknown)), 1.0)
    here = curve.place(np.append(e.x[e.unknown], 0.0), forward)
    h = _FIRST
    for _ in range(_STEPS):
        if here is None:
            return None
        found = curve.step(here, h)
        if found is None or found[0].tangent @ here.tangent < _TURN:
            h *= 0.5
            if h < _SHORTEST:
                return None
            continue
        there, corrections = found
        before, after = float(here.z[-1]), float(there.z[-1])
        if after >= 1.0:
            whole[e.unknown] = (here.z + (1.0 - before) / (after - before) * (there.z - here.z))[:-1]
            return whole
        here, h = there, min(h * (2.0 if corrections <= 3 else 0.7), _LONGEST)
    return None
