"""A place in a motion, in no program's terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NONE = np.empty(0)


class Place(NamedTuple):
    """Time, all coordinates and all speeds, memory, and the user's own states."""

    t: float
    q: np.ndarray
    u: np.ndarray
    memory: np.ndarray
    states: np.ndarray = _NONE
    note: str = ""  # on how it was found
    along: np.ndarray | None = None  # derivatives of q, u and states, one row each; sensitivities.py
    holds: bool = False  # whether it has been found such that all constraints hold

    @property
    def motion(self) -> np.ndarray:
        """[coordinates, all speeds, states], as sections of changes take it."""
        return np.concatenate([self.q, self.u, self.states])
