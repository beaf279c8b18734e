"""Springs, dampers, rods and cables between points that move, as bars from one place to another.

A bar is a surface of unit length along z, about its middle, stretched between two places in every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armillary.untyped import DataMapping
from armillary.viewer.parts.surfaces import DrawnSurface, cylinder, helix

COLOUR = "#6b7680"  # of a link that states none
_CAN = 0.55  # length of a damper's cylinder as a part of its distance at first
_PIECES = 16  # of a cable that hangs


class Bar(NamedTuple):
    """A surface of unit length, and its ends in every row."""

    surface: DrawnSurface
    start: np.ndarray  # rows × 3
    end: np.ndarray

    def lengths(self) -> np.ndarray:
        """Distances of the ends."""
        return np.asarray(np.linalg.norm(self.end - self.start, axis=1))


def bars_of(link: DataMapping, places: Sequence[np.ndarray], up: object) -> list[Bar]:
    """The bars of a link whose points are at these places (rows × 3 each)."""
    kind, radius = link["kind"], link["radius"]
    if kind == "spring":
        return [Bar(helix(radius, 1.0, turns=link.get("coils", 9)), places[0], places[1])]
    rod = cylinder(radius, 1.0, around=12)
    if kind == "damper":
        return _damper(places[0], places[1], radius)
    if kind == "cable" and "length" in link:
        places = _hanging(places[0], places[-1], link["length"], np.asarray(up, dtype=float))
    return [Bar(rod, one, other) for one, other in pairwise(places)]


def _damper(one: np.ndarray, other: np.ndarray, radius: float) -> list[Bar]:
    """A cylinder of constant length on the first point, a thinner rod from the second into it."""
    distance = np.linalg.norm(other - one, axis=1, keepdims=True)
    along = (other - one) / np.maximum(distance, 1e-12)
    can = _CAN * float(distance[0, 0])
    inside = np.minimum(distance, 0.6 * can + np.maximum(0.0, distance - can))
    rod = cylinder(0.4 * radius, 1.0, around=14)
    return [
        Bar(cylinder(radius, 1.0, around=20), one, one + can * along),
        Bar(rod, other - inside * along, other),
    ]


def _hanging(one: np.ndarray, other: np.ndarray, length: float, up: np.ndarray) -> list[np.ndarray]:
    """Places along a parabola of this length L: L = D + 8 s²/(3 D) with distance D and sag s."""
    distance = np.linalg.norm(other - one, axis=1, keepdims=True)
    sag = np.sqrt(np.maximum(0.0, 3.0 * distance * (length - distance) / 8.0))
    return [
        one + s * (other - one) - 4.0 * s * (1.0 - s) * sag * up for s in np.linspace(0.0, 1.0, _PIECES + 1)
    ]
