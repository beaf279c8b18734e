"""Values of a parameter at which modes become stable or unstable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armillary.analysis.modes.sweeps.tracking import NO_SIZE, STILL, Spectra, Tracker, still

_ONSET = 1e-6  # growth, beside its eigenvalue, by which undamped modes have left the imaginary axis


class AxisCrossing(NamedTuple):
    """A value at which an eigenvalue crosses the imaginary axis."""

    value: float
    eigenvalue: complex  # iω: an oscillation; 0: a displacement that grows or decays
    branch: int
    stabilises: bool  # as the value grows


def crossings_of(tracker: Tracker, found: Spectra) -> list[AxisCrossing]:
    """Changes of the sign of Re λ along the branches, of complex pairs once; and values at which two undamped
    modes meet and leave the imaginary axis together.
    """
    real = found.eigenvalues.real
    growth = np.where(np.abs(real) <= still(found.eigenvalues), 0.0, real)
    crossings = []
    for branch in range(growth.shape[1]):
        signs = np.flatnonzero(growth[:, branch])
        for a, b in pairwise(signs.tolist()):
            if growth[a, branch] * growth[b, branch] < 0 and found.eigenvalues[b, branch].imag >= 0:
                value, eigenvalue = tracker.root(found, branch, a, b, lambda w, _: w.real)
                turning = abs(eigenvalue.imag) > STILL * max(map(abs, found.eigenvalues[[a, b], branch]))
                at = complex(0.0, eigenvalue.imag if turning else 0.0)
                crossings.append(AxisCrossing(value, at, branch, bool(growth[b, branch] < 0)))
    stable = np.all(growth <= 0, axis=1)
    for a, b in pairwise(range(len(stable))):
        calm, grown = (a, b) if stable[a] else (b, a)
        branch = int(np.argmax(growth[grown]))
        if stable[a] != stable[b] and growth[calm, branch] == 0:
            value, eigenvalue = _onset(tracker, found.values[calm], found.values[grown])
            crossings.append(AxisCrossing(value, complex(0.0, eigenvalue.imag), branch, calm == b))
    return sorted(crossings)


def _onset(tracker: Tracker, calm: float, grown: float) -> tuple[float, complex]:
    """The value between one without growth and one with growth, by bisection, and the mode that grows.

    Undamped modes that meet grow with the root of the distance to that value, so that a growth of 1e-6 is as
    near as 1e-12.
    """
    eigenvalue = 0j
    while True:
        middle = 0.5 * (calm + grown)
        if middle in (calm, grown):
            return float(grown), eigenvalue
        w = tracker.at(middle, zeros=False).eigenvalues[0]
        fastest = w[np.argmax(w.real)]
        if fastest.real > _ONSET * abs(fastest) + NO_SIZE * np.max(np.abs(w)):
            grown, eigenvalue = middle, complex(fastest.real, abs(fastest.imag))
        else:
            calm = middle


def stable_ranges(tracker: Tracker, crossings: Sequence[AxisCrossing]) -> list[tuple[float, float]]:
    """Ranges between crossings, without a mode that grows in their middle."""
    found: list[tuple[float, float]] = []
    ends = [float(tracker.values[0]), *(c.value for c in crossings), float(tracker.values[-1])]
    for low, high in pairwise(ends):
        if low == high:
            continue
        w = tracker.at(0.5 * (low + high)).eigenvalues[0]
        if np.all(w.real <= still(w)):
            joined = found and found[-1][1] == low
            found[-1:] = [(found[-1][0], high)] if joined else [*found[-1:], (low, high)]
    return found
