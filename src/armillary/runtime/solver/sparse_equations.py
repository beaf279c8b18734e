"""Sparse equations of linearly implicit steps, in the small language of language.py.

Their unknowns are the increments of the states and some intermediate values of the rates
(program/sparse_rates.py). Rows stand in the order of elimination; what each of them holds is in
tables, so that the time of a step grows with the number of elements alone. The factors of a row are found
from the rows before (Gauss's elimination row by row, without exchange), with a dense row to work on. Where
there are several configurations, the tables are those of the present one.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.step_thresholds import NO_DIAGONAL
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def factorise_entries(run: RunRecord) -> None:
    """Factorise the equations for the step's `shift`; a pivot that cancels makes the step not finite, and so
    the next trial is shorter.
    """
    count: whole = N_UNKNOWNS
    if CONFIGURATIONS:
        count = EXTENT[FIRST]
    for i in range(count):
        for e in range(ROW_START[i], ROW_START[i + 1] - FIRST):
            run.solution[COLUMN[e]] = 0.0
        diagonal: real = 1.0
        if STATE_OF[i] != NONE:
            diagonal = 1.0 / run.shift
        run.solution[i] = diagonal
        for e in range(ENTRY_START[i], ENTRY_START[i + 1] - FIRST):
            place: whole = ENTRY_COLUMN[e]
            run.solution[place] = run.solution[place] - run.entries[e]
        diagonal = run.solution[i]
        for e in range(ROW_START[i], UPPER_START[i] - FIRST):
            before: whole = COLUMN[e]
            factor: real = run.solution[before] * run.pivots[before]
            run.factors[e] = factor
            for m in range(UPPER_START[before], ROW_START[before + 1] - FIRST):
                into: whole = COLUMN[m]
                run.solution[into] = run.solution[into] - factor * run.factors[m]
        for e in range(UPPER_START[i], ROW_START[i + 1] - FIRST):
            run.factors[e] = run.solution[COLUMN[e]]
        run.pivots[i] = NAN
        if abs(run.solution[i]) > NO_DIAGONAL * abs(diagonal):
            run.pivots[i] = 1.0 / run.solution[i]


def solve_entries(run: RunRecord) -> None:
    """Solve for a right side `right_side` of the states, which the solution replaces."""
    count: whole = N_UNKNOWNS
    if CONFIGURATIONS:
        count = EXTENT[FIRST]
    for i in range(count):
        total: real = 0.0
        if STATE_OF[i] != NONE:
            total = run.right_side[STATE_OF[i]]
        for e in range(ROW_START[i], UPPER_START[i] - FIRST):
            total = total - run.factors[e] * run.solution[COLUMN[e]]
        run.solution[i] = total
    for b in range(count):
        last: whole = count - 1 - b + FIRST + FIRST
        rest: real = run.solution[last]
        for e in range(UPPER_START[last], ROW_START[last + 1] - FIRST):
            rest = rest - run.factors[e] * run.solution[COLUMN[e]]
        run.solution[last] = rest * run.pivots[last]
        if STATE_OF[last] != NONE:
            run.right_side[STATE_OF[last]] = run.solution[last]


def multiply_entries(run: RunRecord) -> None:
    """Set `image` to the product of df/dy and the fast direction: values follow from each other."""
    count: whole = N_UNKNOWNS
    if CONFIGURATIONS:
        count = EXTENT[FIRST]
    for i in range(count):
        if STATE_OF[i] != NONE:
            run.solution[i] = run.fast[STATE_OF[i]]
    for r in range(count):
        row: whole = FORWARD[r]
        total: real = 0.0
        for e in range(ENTRY_START[row], ENTRY_START[row + 1] - FIRST):
            total = total + run.entries[e] * run.solution[ENTRY_COLUMN[e]]
        if STATE_OF[row] == NONE:
            run.solution[row] = total
        else:
            run.image[STATE_OF[row]] = total
