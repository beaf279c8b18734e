"""Coordinates that no condition depends on: the place and heading of a vehicle, the angle of a wheel.

Steady motion leaves them growing. The set C of these is the largest for which the rates of all other states,
the gaps of loops and whatever else is requested contain no member of C; the rates of members of C may.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np


def cyclic(
    depends: np.ndarray, candidates: Iterable[int], rows: Collection[int], groups: Sequence[Collection[int]]
) -> frozenset[int]:
    """Those of ``candidates`` that are cyclic.

    ``depends[i, j]`` is whether row i contains state j; the first rows are the rates of the states. ``rows``
    are further conditions that must not depend on them; of ``groups`` (Euler parameters) all members are
    cyclic or none.
    """
    states = depends.shape[1]
    found = set(candidates)
    while True:
        relevant = [*rows, *(i for i in range(states) if i not in found)]
        needed = set(np.flatnonzero(depends[relevant].any(axis=0)).tolist())
        for group in groups:
            if needed & set(group):
                needed |= set(group)
        if not found & needed:
            return frozenset(found)
        found -= needed
