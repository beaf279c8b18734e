"""The part of a branch on which contacts stay as they are: it ends where one would open, slide or touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.analysis.operating.branches.curve import NEAR, BranchCurve, CurvePlace
from armillary.analysis.operating.contacts.contact_statuses import Fault

Faults = Callable[[np.ndarray], list[Fault]]


def within_contacts(
    curve: BranchCurve, places: list[CurvePlace], start: np.ndarray, faults: Faults
) -> list[CurvePlace]:
    """Return the places about the start up to the limits of contacts, which are located and marked."""
    distances = [float(np.max(np.abs(p.z - start) / curve.sizes)) for p in places]
    first = int(np.argmin(distances))
    return [
        *reversed(_up_to_limit(curve, places[first::-1], faults)),
        *_up_to_limit(curve, places[first:], faults)[1:],
    ]


def _up_to_limit(curve: BranchCurve, places: list[CurvePlace], faults: Faults) -> list[CurvePlace]:
    """Return the places before the first at which a contact is contradicted, and the limit itself."""
    for k, place in enumerate(places[1:], start=1):
        if faults(place.z):
            return [*places[:k], _limit(curve, places[k - 1], place, faults)]
    return places


def _limit(curve: BranchCurve, inside: CurvePlace, outside: CurvePlace, faults: Faults) -> CurvePlace:
    """Return the last place between two at which no contact is contradicted, by bisection."""
    name = faults(outside.z)[0].name
    low, high, best = 0.0, 1.0, inside
    while high - low > NEAR:
        middle = 0.5 * (low + high)
        found = curve.corrected(inside.z + middle * (outside.z - inside.z), inside.tangent)
        place = None if found is None else curve.place(found[0], inside.tangent)
        if place is None:
            break
        wrong = faults(place.z)
        if wrong:
            high, name = middle, wrong[0].name
        else:
            low, best = middle, place
    return replace(best, mark=f"limit of contact '{name}'")
