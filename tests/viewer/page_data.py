"""Data of pages, decoded."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from armillary.viewer.page_data import LEVELS


def unpack(coded: dict) -> np.ndarray:
    count, rows = len(coded["low"]), coded["rows"]
    raw = np.frombuffer(zlib.decompress(base64.b64decode(coded["data"])), dtype=np.uint8).astype(int)
    second = (raw[: rows * count] + 256 * raw[rows * count :]).reshape(count, rows)
    levels = np.cumsum(np.cumsum(second, axis=1), axis=1) % (LEVELS + 1)
    return levels.T * np.array(coded["step"]) + np.array(coded["low"])
