"""The fields through which the compiled follower is called: numbers, and addresses of arrays."""

from __future__ import annotations

from armillary.llvm.building.routines import RoutineLayout

_COUNTS = (
    "count",  # rows to be found
    "starts",  # positions that are there already, before those of the rows
    "width",  # numbers of a position: state and inputs
    "targets",
    "first_target",  # their place in a position
    "rows",  # of F
    "directions",  # of motion, and further unknowns
    "entries",  # of A that are not always zero
    "motions",  # of N
    "quaternions",
    "descend",
)
_ADDRESSES = (
    *("function", "constants", "memory"),
    *("places", "moved", "along", "units", "stiff", "origins", "sources"),  # whole numbers
    *("sizes", "settings", "times", "wanted", "positions", "strengths", "report"),
    *("out", "weights", "matrix", "step", "trial", "kept", "good", "begin"),  # work
)
FOLLOWER = RoutineLayout(_COUNTS, _ADDRESSES)
