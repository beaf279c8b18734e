"""The fields of the compiled search for an operating point: numbers, and addresses of arrays."""

from __future__ import annotations

from armillary.llvm.building.routines import RoutineLayout

SEARCH = RoutineLayout(
    numbers=(
        "conditions",  # rows of C
        "columns",  # of C: states and inputs
        "rows",  # conditions that are to be met
        "unknowns",
        "entries",  # of C that are not always zero, where it is written out
        "directions",  # along which conditions are differentiated, where it is not; else 0
        "moved",  # coordinates of the damped motion
        "closed",  # conditions that every position satisfies
        "first_speed",
        "speeds",
    ),
    addresses=(
        *("values", "slopes", "constants", "memory"),
        *("flat", "row_list", "unknown_list", "moved_list", "closed_list"),  # whole numbers
        *("direction_columns", "direction_ends", "element_rows", "element_ends"),  # whole numbers
        *("angles", "held"),  # whole numbers, 0 or 1 for each unknown
        *("settings", "x", "wanted", "sizes", "weights", "low", "high", "report"),
        "room",  # what all other work is in
        *("c", "out", "C", "A", "R", "T", "G", "p", "r", "r_trial", "right", "kept"),  # work
        *("y", "w", "z", "b", "new", "heads", "order", "shares"),  # work of the factors
    ),
)
