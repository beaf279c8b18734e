"""The fields of the compiled search for an operating point: numbers, and addresses of arrays."""

from __future__ import annotations

from armillary.llvm.routines import RoutineLayout

SEARCH = RoutineLayout(
    numbers=(
        "conditions",  # rows of C
        "columns",  # of C: states and inputs
        "rows",  # conditions that are to be met
        "unknowns",
        "entries",  # of C that are not always zero; numbers of one column of C where it is found so
        "by_columns",
        "needed",  # columns of C that are needed
        "moved",  # coordinates of the damped motion
        "closed",  # conditions that every position satisfies
        "first_speed",
        "speeds",
    ),
    addresses=(
        *("values", "slopes", "constants", "memory"),
        *("flat", "row_list", "unknown_list", "needed_list", "moved_list", "closed_list"),  # whole numbers
        *("angles", "held"),  # whole numbers, 0 or 1 for each unknown
        *("settings", "x", "wanted", "sizes", "weights", "low", "high", "report"),
        *("c", "out", "C", "A", "V", "d", "b", "full", "z", "p", "r", "r_trial", "kept", "G"),  # work
        *("R", "right", "direct"),  # work
    ),
)
