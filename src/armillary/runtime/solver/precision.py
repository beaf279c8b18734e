"""The solver's constants in single precision: the rounding, and thresholds that are larger there."""

from __future__ import annotations

from dataclasses import replace

from armillary.mechanics.constraints import closing_thresholds
from armillary.numerics import roots_thresholds
from armillary.runtime.loop.thresholds import change_thresholds
from armillary.runtime.solver.language.translator import Solver

SINGLE = (
    closing_thresholds.SINGLE
    | change_thresholds.SINGLE
    | roots_thresholds.SINGLE
    | {"EPSILON": 2.0**-23, "SNAP": 1e-3, "NO_DIAGONAL": 1e-4}
)


def in_single(solver: Solver) -> Solver:
    """Return the same functions with the constants of single precision."""
    return replace(
        solver, constants={name: SINGLE.get(name, value) for name, value in solver.constants.items()}
    )
