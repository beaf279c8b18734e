"""The double wishbone by distances between its own points."""

from __future__ import annotations

import math

import numpy as np

from examples.double_wishbone import POINTS, length

AT = {name: np.array(place) for name, place in POINTS.items()}


def turned(point: np.ndarray, start: np.ndarray, end: np.ndarray, angle: float) -> np.ndarray:
    """A point turned about the line from start to end (Rodrigues)."""
    k = (end - start) / np.linalg.norm(end - start)
    r = point - start
    return np.asarray(
        start + r * math.cos(angle) + np.cross(k, r) * math.sin(angle) + k * (k @ r) * (1 - math.cos(angle))
    )


def by_distances(angle: float, rack: float) -> tuple[np.ndarray, np.ndarray]:
    """Wheel centre and axle: the upper ball and the rod's end keep their distances, Newton finds them."""
    lower = turned(AT["lower ball"], AT["lower rear"], AT["lower front"], angle)
    rack_end = AT["rack"] + [0, rack, 0]

    def gaps(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        upper, rod = y[:3], y[3:]
        pairs = [
            (upper, AT["upper front"], length("upper ball", "upper front"), "u"),
            (upper, AT["upper rear"], length("upper ball", "upper rear"), "u"),
            (upper, lower, length("upper ball", "lower ball"), "u"),
            (rod, lower, length("rod end", "lower ball"), "r"),
            (rod, rack_end, length("rod end", "rack"), "r"),
        ]
        found, slopes = [], []
        for p, q, size, which in pairs:
            found.append((p - q) @ (p - q) - size**2)
            slope = np.zeros(6)
            slope[slice(0, 3) if which == "u" else slice(3, 6)] = 2 * (p - q)
            slopes.append(slope)
        found.append((upper - rod) @ (upper - rod) - length("upper ball", "rod end") ** 2)
        slopes.append(np.r_[2 * (upper - rod), 2 * (rod - upper)])
        return np.array(found), np.array(slopes)

    y = np.r_[AT["upper ball"], AT["rod end"]]
    for _ in range(30):
        value, slope = gaps(y)
        y = y - np.linalg.solve(slope, value)
    # The upright is what carries the three points along.
    before = frame(AT["lower ball"], AT["upper ball"], AT["rod end"])
    R = frame(lower, y[:3], y[3:]) @ before.T
    return lower + R @ (AT["wheel"] - AT["lower ball"]), R @ [0.0, 1.0, 0.0]


def frame(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Axes of three points."""
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(x, c - a)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])
