"""Triangles as pixels, with NumPy alone: rows of triangles, pixels of rows, and the nearest of each pixel.

A corner at distance z before the camera appears at x' = f x/z, y' = f y/z; 1/z is linear on the screen, so
the pixel keeps the largest 1/z. Whatever else is interpolated (brightness) is taken as linear too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Fragments(NamedTuple):
    """Pixels of triangles: the pixel's number, the triangle's, 1/z there, and the place on the screen."""

    pixel: np.ndarray
    face: np.ndarray
    nearness: np.ndarray
    x: np.ndarray
    y: np.ndarray


class PixelPlane(NamedTuple):
    """Values a + b x + c y of triangles on the screen."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def at(self, face: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values at pixels of faces."""
        found: np.ndarray = self.a[face] + self.b[face] * x + self.c[face] * y
        return found


def plane(corners: np.ndarray, values: np.ndarray) -> PixelPlane:
    """The plane through the values at the corners (faces × 3) of triangles (faces × 3 × 2)."""
    (x0, y0), (x1, y1), (x2, y2) = (corners[:, k].T for k in range(3))
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    area = np.where(np.abs(area) < 1e-12, np.inf, area)
    v0, v1, v2 = values.T
    d1, d2 = v1 - v0, v2 - v0
    b = (d1 * (y2 - y0) - d2 * (y1 - y0)) / area
    c = (d2 * (x1 - x0) - d1 * (x2 - x0)) / area
    return PixelPlane(v0 - b * x0 - c * y0, b, c)


def fragments(corners: np.ndarray, nearness: np.ndarray, width: int, height: int) -> Fragments:
    """All pixels whose middle lies in a triangle, in the rectangle of the screen."""
    y = corners[:, :, 1]
    first = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    last = np.clip(np.floor(y.max(axis=1) - 0.5), -1, height - 1).astype(np.int64)
    face, row = _expanded(first, last)
    middle = row + 0.5
    left, right = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for k in range(3):
        (xa, ya), (xb, yb) = corners[:, k].T, corners[:, (k + 1) % 3].T
        rise = np.where(yb == ya, np.inf, yb - ya)
        slope = (xb - xa) / rise
        crossing = xa[face] + (middle - ya[face]) * slope[face]
        met = (np.minimum(ya, yb)[face] <= middle) & (middle <= np.maximum(ya, yb)[face]) & (ya != yb)[face]
        left = np.where(met, np.minimum(left, crossing), left)
        right = np.where(met, np.maximum(right, crossing), right)
    known = np.isfinite(left)
    left, right = np.where(known, left, 1.0), np.where(known, right, 0.0)
    begin = np.clip(np.ceil(left - 0.5), 0, width).astype(np.int64)
    end = np.clip(np.floor(right - 0.5), -1, width - 1).astype(np.int64)
    span, column = _expanded(begin, end)
    owner, line = face[span], row[span]
    x, yy = column + 0.5, line + 0.5
    near = plane(corners, nearness).at(owner, x, yy)
    return Fragments(line * width + column, owner, near, x, yy)


def nearest(found: Fragments, buffer: np.ndarray) -> Fragments:
    """The fragments in front of all others and of what the buffer holds, which is brought up to date."""
    np.maximum.at(buffer, found.pixel, found.nearness)
    seen = found.nearness >= buffer[found.pixel]
    return Fragments(*(a[seen] for a in found))


def _expanded(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers from first to last of each, one after another, with the index of whose they are."""
    counts = np.maximum(last - first + 1, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    begin = np.cumsum(counts) - counts
    return owner, first[owner] + np.arange(len(owner)) - begin[owner]
