"""A place in a motion, in no program's terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Place:
    """Time, all coordinates and all speeds, and memory."""

    t: float
    q: np.ndarray
    u: np.ndarray
    memory: np.ndarray
    note: str = ""  # on how it was found
    along: np.ndarray | None = None  # derivatives of q and u, one row each; see sensitive.py
