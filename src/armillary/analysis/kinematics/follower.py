"""The compiled loop that follows a mechanism from one row of targets to another (path.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from armillary.llvm.building.routines import real_array, whole_array
from armillary.llvm.jit import machine_settings
from armillary.solver.language.translator import ROOTS, ROOTS_RECORD, Description
from armillary.solver.llvm.described_method import DescribedMethod, MethodWork

LIMIT = 0.5  # largest motion in one step: radians, or other sizes
LEAST_STEP = 2.0**-16  # least share of the way from one row to another
CLOSED, EXACT = 1e-9, 1e-15  # residual at which a root may be accepted, and at which it is exact
# A position is singular, and no path continues from it, if its least pivot is below this share of the least
# pivot of the position from which it was reached.
WEAK = 1e-2
NO_EFFECT = 1e-10  # share of the largest pivot, below which a direction has no effect
_HERE = "armillary.analysis.kinematics"
_DESCRIPTION = Description((ROOTS_RECORD, f"{_HERE}:path.py"), (*ROOTS, f"{_HERE}:path.py"))
_TABLES = ("ENTRY_OF_ROW", "ENTRY_OF_DIRECTION", "MOVED", "ALONG", "UNITS_FROM", "STIFF_KIND", "ORIGIN")


@dataclass(frozen=True, eq=False)
class PathConditions:
    """The function of all conditions as machine code, and the layout of its results.

    Its results are the residuals F of the conditions, the entries of A = ∂F/∂δ at ``places`` (row,
    direction), and the entries of N, which changes a position by N δ: element ``moved`` of a position moves
    along direction ``along``. ``stiff`` has a number for each condition: 1 for gaps of loops, 2 for other
    conditions without targets. Conditions with targets have 0, −1, …: conditions whose targets have the same
    unit have the same number.
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

    @cached_property
    def tables(self) -> dict[str, np.ndarray]:
        """The tables of path.py."""
        found = {
            "ENTRY_OF_ROW": [i for i, _ in self.places],
            "ENTRY_OF_DIRECTION": [j for _, j in self.places],
            "MOVED": self.moved,
            "ALONG": self.along,
            "UNITS_FROM": self.quaternions,
            "STIFF_KIND": self.stiff,
        }
        return {name: whole_array(numbers) for name, numbers in found.items()}


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Positions of all rows.

    ``reached`` is the share of the way to a row's targets that was possible, 1 if the row was reached, and
    ``off`` the largest residual after damped least squares.
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
) -> FollowedRows:
    """Return positions where the conditions hold, one for each row of targets.

    Row i begins at position ``origins[i]``: one of ``starts``, or len(starts) + j for an earlier row j. If
    row j was not reached, or became singular, row i begins at the position where row j began.
    """
    c, count, first = conditions, len(targets), len(starts)
    rows, n, places = len(c.stiff), c.directions, first + count
    work = MethodWork(
        _follower(machine_settings()),
        {
            "Position": c.width,
            "Results": rows + len(c.places) + len(c.moved),
            "Path": places * c.width,
            "PathReals": places,
            "PathNumbers": places,
            "Targets": count * (c.targets + 1),
            "Sides": rows,
            "Steps": n,
            "StepNumbers": n,
            "Equations": rows * (n + 1),
            "Square": n**2,
        },
        {
            "rows": rows,
            "columns": n,
            "width": c.width,
            "count": count,
            "starts": first,
            "targets": c.targets,
            "first_target": c.first_target,
            "entries": len(c.places),
            "motions": len(c.moved),
            "quaternions": len(c.quaternions),
            "descends": int(descend),
            "weight": weight,
            "least_share": LEAST_STEP,
            "weak": WEAK,
            "cut": NO_EFFECT,
            "least_cut": NO_EFFECT,
            "exact": EXACT,
            "met": CLOSED,
            "longest": LIMIT,
        },
        {
            **c.tables,
            "ORIGIN": whole_array(origins),
            "constants": real_array(constants),
            "memory": real_array(memory),
        },
        {"path_figures": c.function},
        {
            "sizes": sizes,
            "sources": np.arange(places),
            "times": start_times,
            "positions": np.ravel(starts),
            "wanted": np.ravel(np.column_stack([times, targets])),
        },
    )
    _follower(machine_settings())("follow_rows", work)
    positions = work["positions"].reshape(places, c.width)
    return FollowedRows(
        positions[first:], *(work[name][first:] for name in ("times", "reached", "left_over"))
    )


@cache
def _follower(chosen: tuple[object, ...]) -> DescribedMethod:
    """Return the compiled loop, one for all systems, kept for this process."""
    return DescribedMethod("follower", _DESCRIPTION, (), ("follow_rows",), _TABLES, ("path_figures",))
