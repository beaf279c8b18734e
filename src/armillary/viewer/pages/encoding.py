"""Motions as text in a page: numbers of 16 bits, differences of differences, compressed.

A channel (a coordinate of a position, a component of a quaternion) goes from its lowest value in steps of
1/65535 of its range. Second differences of a smooth motion are small, so deflate packs them well; the page
adds them up again.
"""

from __future__ import annotations

import base64
import zlib

import numpy as np

from armillary.untyped import DataTable

LEVELS = 65535
_LARGEST = float(np.finfo(np.float32).max)
_LARGE = 1_000_000  # bytes from which on the time of compressing counts


def packed(channels: np.ndarray, levels: int = LEVELS, *, gaps: bool = False) -> DataTable:
    """Channels (rows × channels) as JSON data: lowest values, steps, and the coded differences. ``levels`` is
    the number of steps in the range of a channel. Values that are not finite, also not in single precision,
    are at the lowest; with ``gaps`` they are listed, as (channel, first row, end), and are no numbers there.
    """
    rows, count = channels.shape
    finite = np.abs(channels) <= _LARGEST  # so is no NaN
    low = np.min(channels, axis=0, where=finite, initial=np.inf)
    high = np.max(channels, axis=0, where=finite, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    step = np.where(high > low, (high - low) / levels, 1.0)
    steps = np.rint((np.where(finite, channels, low) - low) / step).astype(np.int32)
    coded = np.diff(steps, n=2, axis=0, prepend=np.zeros((2, count), dtype=np.int32))
    wrapped = (coded.T & 0xFFFF).astype("<u2")  # sums modulo 2¹⁶ give the levels back
    split = np.concatenate([(wrapped & 0xFF).ravel(), (wrapped >> 8).ravel()]).astype(np.uint8)
    found = {"rows": rows, "low": low.tolist(), "step": step.tolist(), "data": compressed(split.tobytes())}
    return found | {"gaps": _gaps(~finite)} if gaps and not finite.all() else found


def _gaps(absent: np.ndarray) -> list[list[int]]:
    """Where values are absent, as (channel, first row, end)."""
    edges = np.diff(np.pad(absent.T.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    channels, first = np.nonzero(edges > 0)
    found: list[list[int]] = np.stack([channels, first, np.nonzero(edges < 0)[1]], axis=1).tolist()
    return found


def compressed(data: bytes) -> str:
    """Bytes compressed by zlib, in base 64. Of 14 MB of motion, level 9 made 8 % less
    than level 6 and took most of the time of a page.
    """
    return base64.b64encode(zlib.compress(data, 9 if len(data) < _LARGE else 6)).decode("ascii")
