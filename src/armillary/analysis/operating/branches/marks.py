"""Marks of a branch, between two of its points.

They are where the number of growing eigenvalues changes, or where the tangent's part along λ changes sign: a
Hopf point if a pair of complex eigenvalues crosses the imaginary axis, a branch point where the conditions
lose rank, so that another branch crosses, else a fold if λ turns, or a zero eigenvalue if it does not (a fold
along an input that the branch looks for).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armillary.analysis.operating.branches.curve import NEAR, BranchCurve, CurvePlace, crossing

FOLD, HOPF, BRANCH_POINT, ZERO = "fold", "Hopf point", "branch point", "zero eigenvalue"
_LOST = 3e-3  # singular value at a mark, as a part of that beside it, where two branches cross
_BESIDE = 0.05  # of a step: places beside a branch point from which it is interpolated


def marks_between(curve: BranchCurve, here: CurvePlace, there: CurvePlace, h: float) -> list[CurvePlace]:
    """Marks between two points, in their order."""
    found: list[tuple[float, CurvePlace]] = []
    usual = max(here.strength, there.strength)
    turns = here.tangent[-1] * there.tangent[-1] < 0
    if turns:
        s = crossing(lambda s: _turning(curve, here, s), h, float(here.tangent[-1]))
        place = None if s is None else curve.step(here, s)
        if s is not None and place is not None:
            if place[0].strength < _LOST * usual:
                found.append((s, _marked(_between(curve, here, s, h) or place[0], BRANCH_POINT)))
            else:
                found.append((s, _marked(place[0], FOLD)))
    if here.growing != there.growing and here.stability is not None and there.stability is not None:
        located = _eigenvalue_crossing(curve, here, there, h)
        s, root = (None, 0j) if located is None else located
        place = None if s is None else curve.step(here, s)
        if s is not None and place is not None:
            if abs(root.imag) > 1e-5 * float(np.max(np.abs(here.stability.eigenvalues))):
                found.append((s, _marked(place[0], HOPF, abs(root.imag))))
            elif not turns:
                lost = place[0].strength < _LOST * usual
                found.append((s, _marked(place[0], BRANCH_POINT if lost else ZERO)))
    return [place for _, place in sorted(found, key=lambda pair: pair[0])]


def _marked(place: CurvePlace, mark: str, frequency: float = 0.0) -> CurvePlace:
    return replace(place, mark=mark, frequency=frequency)


def _between(curve: BranchCurve, here: CurvePlace, s: float, h: float) -> CurvePlace | None:
    """The place at a distance s, from four beside it: where branches cross, conditions do not decide it."""
    beside = [curve.step(here, s + k * _BESIDE * h) for k in (-2, -1, 1, 2)]
    if any(found is None for found in beside):
        return None
    far_left, left, right, far_right = (found[0].z for found in beside if found is not None)
    z = (4.0 * (left + right) - (far_left + far_right)) / 6.0
    return curve.place(z, here.tangent)


def _turning(curve: BranchCurve, here: CurvePlace, s: float) -> float | None:
    found = curve.step(here, s)
    return None if found is None else float(found[0].tangent[-1])


def _eigenvalue_crossing(
    curve: BranchCurve, here: CurvePlace, there: CurvePlace, h: float
) -> tuple[float, complex] | None:
    """Where an eigenvalue crosses the imaginary axis between two points, and that eigenvalue there.

    Eigenvalues of the two points are matched by their distance. Where none comes from the other half-plane,
    as in an undamped system, the change of the number of growing ones is bisected.
    """
    assert here.stability is not None and there.stability is not None
    from scipy.optimize import linear_sum_assignment

    one, other = here.stability.eigenvalues, there.stability.eigenvalues
    apart = one[:, None] - other[None, :]
    pairs = zip(*linear_sum_assignment(np.abs(apart)), strict=True)
    limit = 10.0 * max(here.stability.limit, there.stability.limit)
    zeros = min(int(np.sum(np.abs(roots) <= limit)) for roots in (one, other))
    for i, j in pairs:
        a, b = complex(one[i]), complex(other[j])
        if a.real * b.real < 0 and min(abs(a.real), abs(b.real)) > limit:
            path = _BranchPath(curve, here, h, a, b, zeros)
            s = crossing(lambda s: _real(path(s)), h, a.real)  # noqa: B023
            root = None if s is None else path(s)
            return None if s is None or root is None else (s, root)
    low, high = 0.0, h
    while high - low > NEAR * h:
        middle = 0.5 * (low + high)
        found = curve.step(here, middle)
        if found is None:
            return None
        low, high = (middle, high) if found[0].growing == here.growing else (low, middle)
    s, k = (high, here.growing) if here.growing < there.growing else (low, there.growing)
    found = curve.step(here, s)
    if found is None or found[0].stability is None:
        return None
    return s, complex(found[0].stability.eigenvalues[k])


@dataclass(frozen=True, eq=False)
class _BranchPath:
    """An eigenvalue along a step, from a to b; ``zeros`` eigenvalues are zero all the way."""

    curve: BranchCurve
    here: CurvePlace
    h: float
    a: complex
    b: complex
    zeros: int

    def __call__(self, s: float) -> complex | None:
        """The eigenvalue at a distance s that is nearest to a straight line."""
        found = self.curve.step(self.here, s)
        if found is None or found[0].stability is None:
            return None
        roots = found[0].stability.eigenvalues
        roots = roots[np.argsort(np.abs(roots))[self.zeros :]]
        expected = self.a + (self.b - self.a) * (s / self.h)
        return complex(roots[int(np.argmin(np.abs(roots - expected)))])


def _real(value: complex | None) -> float | None:
    return None if value is None else value.real
