"""A mechanism followed from row to row by compiled code; see follower_code.py for the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from armillary.analysis.kinematics.follower.follower_layout import FOLLOWER
from armillary.llvm.building.routines import RoutineMethod, compiled_method, real_array, whole_array
from armillary.llvm.jit import chosen


@dataclass(frozen=True, eq=False)
class PathConditions:
    """The function of all conditions as machine code, and where its results stand.

    Its results are F, then the entries of A at ``places`` (row, direction), then those of N: place ``moved``
    of a position moves along direction ``along``. ``stiff`` marks rows that targets do not bend: 1 for gaps
    of loops, 2 for others; targets of equal units have one number there, 0, −1, …
    """

    function: int
    width: int
    first_target: int
    targets: int
    stiff: tuple[int, ...]
    directions: int
    places: tuple[tuple[int, int], ...]
    moved: tuple[int, ...]
    along: tuple[int, ...]
    quaternions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Followed:
    """Positions of all rows; ``reached`` is the share of the way to its targets that a row came, 1 where it
    arrived, and ``off`` what damped least squares left.
    """

    positions: np.ndarray
    times: np.ndarray
    reached: np.ndarray
    off: np.ndarray

    @property
    def found(self) -> np.ndarray:
        return self.reached >= 1.0


def follow(
    conditions: PathConditions,
    starts: np.ndarray,
    start_times: np.ndarray,
    origins: Sequence[int] | np.ndarray,
    times: np.ndarray,
    targets: np.ndarray,
    sizes: np.ndarray,
    constants: np.ndarray,
    memory: np.ndarray,
    *,
    descend: bool = False,
    weight: float = 1.0,
) -> Followed:
    """Positions where the conditions hold, one for each row of targets.

    Row i begins at position ``origins[i]``: one of ``starts``, or len(starts) + j for an earlier row j; where
    that was not reached, or is singular where the one before is not, at the one before.
    """
    c, count, first = conditions, len(targets), len(starts)
    rows, n = len(c.stiff), c.directions
    positions = np.zeros((first + count, c.width))
    positions[:first] = starts
    clock = np.concatenate([start_times, np.zeros(count)])
    report = np.zeros((count, 2))
    arrays = {
        "constants": real_array(constants),
        "memory": real_array(memory),
        "places": whole_array([i * n + j for i, j in c.places]),
        "moved": whole_array(c.moved),
        "along": whole_array(c.along),
        "units": whole_array(c.quaternions),
        "stiff": whole_array(c.stiff),
        "origins": whole_array(origins),
        "sources": np.arange(first + count, dtype=np.int64),
        "sizes": real_array(sizes),
        "settings": np.array([weight, 0.0]),
        "times": clock,
        "wanted": real_array(np.column_stack([times, targets])),
        "positions": positions,
        "strengths": np.zeros(first + count),
        "report": report,
        "out": np.zeros(rows + len(c.places) + len(c.moved) + 1),
        "weights": np.zeros(rows + 1),
        "matrix": np.zeros((rows + n + 1) * (n + 1)),
        "step": np.zeros(n + 1),
        "trial": np.zeros(c.width + 1),
        "kept": np.zeros(c.width + 1),
        "good": np.zeros(c.width + 1),
        "begin": np.zeros(c.targets + 1),
    }
    numbers = {
        "count": count, "starts": first, "width": c.width, "targets": c.targets,
        "first_target": c.first_target, "rows": rows, "directions": n, "entries": len(c.places),
        "motions": len(c.moved), "quaternions": len(c.quaternions), "descend": int(descend),
        "function": c.function,
    }  # fmt: skip
    _follower(chosen())("follow", FOLLOWER.fields({**arrays, **numbers}))
    return Followed(positions[first:], clock[first:], report[:, 0], report[:, 1])


@cache
def _follower(chosen: tuple[object, ...]) -> RoutineMethod:
    """The compiled loop, one for all systems, kept for this process."""

    def text() -> str:
        from armillary.analysis.kinematics.follower.follower_code import follower_text

        return follower_text()

    here = Path(__file__)
    written = [here.with_name("follower_code.py"), here.with_name("follower_layout.py")]
    return compiled_method("follower", text, written, ["follow"])
