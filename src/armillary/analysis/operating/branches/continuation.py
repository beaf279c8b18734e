"""A branch followed step by step, with marks where its stability or direction changes."""

from __future__ import annotations

import numpy as np

from armillary.analysis.operating.branches.curve import BranchCurve, CurvePlace, crossing
from armillary.analysis.operating.branches.marks import marks_between

_LONGEST, _SHORTEST = 0.1, 1e-7  # steps, in sizes
_TURN = 0.9  # cosine of the angle between two tangents, below which a step is repeated at half its length


def follow(curve: BranchCurve, first: CurvePlace, low: float, high: float, most: int) -> list[CurvePlace]:
    """Points of a branch from one on, in the direction of its tangent, until λ leaves [low, high], the
    branch closes, or ``most`` points are found; marks are among them.
    """
    places = [first]
    here, h = first, 0.25 * _LONGEST
    while len(places) < most:
        found = curve.step(here, h)
        if found is None or found[0].tangent @ here.tangent < _TURN:
            h *= 0.5
            if h < _SHORTEST:
                break
            continue
        there, corrections = found
        if not low <= there.z[-1] <= high:
            end = _at_end(curve, here, h, low if there.z[-1] < low else high)
            places += [*marks_between(curve, here, end[0], end[1]), end[0]] if end else []
            break
        places += [*marks_between(curve, here, there, h), there]
        here = there
        h = min(h * (1.5 if corrections <= 3 else 0.7), _LONGEST)
        if len(places) > 10 and _closed(curve, first, here):
            break
    return places


def _closed(curve: BranchCurve, first: CurvePlace, here: CurvePlace) -> bool:
    """Whether a branch is back where it began."""
    apart = (here.z - first.z) / curve.sizes
    return bool(np.linalg.norm(apart) < 0.5 * _LONGEST and here.tangent @ first.tangent > _TURN)


def _at_end(curve: BranchCurve, here: CurvePlace, h: float, value: float) -> tuple[CurvePlace, float] | None:
    """The point of the branch within a step where λ has a value, and its distance."""

    def beyond(s: float) -> float | None:
        found = curve.step(here, s)
        return None if found is None else float(found[0].z[-1]) - value

    s = crossing(beyond, h, float(here.z[-1]) - value)
    found = None if s is None else curve.step(here, s)
    return None if found is None or s is None else (found[0], s)
