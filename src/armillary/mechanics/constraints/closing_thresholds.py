"""Thresholds of closing loops: of derivation (assembly.py) and of runs (solver/assembly)."""

from __future__ import annotations

NEWTON_TURNS = 100
# Pivots of J, relative to the largest, that a step leaves alone; smaller ones only where these stall. With
# redundant rows the smallest ones are as small as the gap and their steps are wrong.
WEAK_FIRST, WEAK_LAST = 1e-3, 1e-10
EXACT_LOOP = 1e-13  # of the size of a row, about rounding
CLOSED_LOOP = 1e-10  # of the size of a row, at the start of a run
LEAST_SIZE = 1e-4  # of a row, in terms of the largest
LONGEST_STEP = 0.5  # radians or lengths of motion: not further than a model may be bent
DAMPED_TURNS = 2000  # towards the smallest gaps where they cannot be closed
SHOWN_GAP = 1e-6  # of the largest gap that is left; others are not named
STIFF = 1e6  # weight of what is kept there, where all rows compete
SCATTERED = 40  # starts by chance; of these near the given values, and then less near
NEAR_STARTS, MIDDLE_STARTS = 10, 25
NEAR_REACH, MIDDLE_REACH, FAR_REACH = 0.3, 1.0, 3.0
# After a step of time: Newton's steps at most; a correction, in terms of its coordinate's size, after which
# no further one is needed, for its square is left; one so large that it is not applied, since the position
# is singular; and one of a start, of a coordinate and its size, whose loops are closed. Four steps are
# enough: the square of the square of the square of a tenth is below rounding.
CORRECTIONS, SMALL_CORRECTION, LARGE_CORRECTION, CLOSED_START = 10, 1e-9, 0.1, 1e-6
FEW_CORRECTIONS = 4
BROKEN = 1e-5  # of the size of a row: a run that comes so far off is stopped, and no method does by itself
AGREEING = 1e-9  # of speeds that satisfy the constraints
NEW_ROW = 1e-6  # pivots above this count where redundant rows are looked for
FREE_ROW = 1e-8  # likewise, where more may be given than the loops leave free
# Of rows that are turned in pairs: turns at most, the cosine of a right angle, and the squared length, of the
# longest row's, of one that is nothing but rounding. A turn among such rows never ends.
MOST_SWEEPS, RIGHT_ANGLE, NO_ROW = 60, 1e-14, 1e-30

# The same in single precision, where rounding is 2**-24 of a number.
SINGLE = {
    "WEAK_LAST": 1e-5, "EXACT_LOOP": 4e-6, "CLOSED_LOOP": 1e-4, "DAMPED_TURNS": 300.0,
    "SMALL_CORRECTION": 3e-4, "CLOSED_START": 1e-3,
    "SHOWN_GAP": 1e-3, "STIFF": 1e3, "NEW_ROW": 1e-4, "FREE_ROW": 1e-4, "RIGHT_ANGLE": 4e-6, "NO_ROW": 1e-13,
}  # fmt: skip
