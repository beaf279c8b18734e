"""Thresholds of closing loops, in derivations (loop_closing.py) and in runs (solver/assembly.py)."""

from __future__ import annotations

NEWTON_TURNS = 100  # most steps of Newton's method
# Pivots of J below this share of the largest are left out of a step. The larger share comes first, since with
# redundant rows the smallest pivots are as small as the gap and give wrong steps; if its steps stall, the
# smaller share is used.
WEAK_FIRST, WEAK_LAST = 1e-3, 1e-10
EXACT_LOOP = 1e-13  # gap, as a share of its row's size, at which closing ends: about the rounding error
CLOSED_LOOP = 1e-10  # largest gap at the start of a run, also as a share of its row's size
LEAST_SIZE = 1e-4  # least size of a row, as a share of the largest row's
LONGEST_STEP = 0.5  # longest motion, in sizes, for which a linear model of the gaps is trusted
DAMPED_TURNS = 2000  # most steps towards the smallest gaps of loops that cannot be closed
SHOWN_GAP = 1e-6  # gaps below this share of the largest are not named in errors
STIFF = 1e6  # weight of given values against gaps in these damped steps
# Random starts: the first 10 are near the given values, those up to 25 at a middle distance, the others far.
SCATTERED = 40
NEAR_STARTS, MIDDLE_STARTS = 10, 25
NEAR_REACH, MIDDLE_REACH, FAR_REACH = 0.3, 1.0, 3.0
# For closing loops after a step of time, with corrections relative to the size of their coordinate:
# CORRECTIONS: most steps of Newton's method.
# SMALL_CORRECTION: a smaller correction is the last: the remaining error, its square, is a rounding error.
# With 1e-9 a car with four suspensions took two corrections after each step of ab2 with 1 ms, now mostly one.
# LARGE_CORRECTION: a larger correction is not applied; the position is singular.
# CLOSED_START: largest correction of a start whose loops count as closed, relative to coordinate plus size.
CORRECTIONS, SMALL_CORRECTION, LARGE_CORRECTION, CLOSED_START = 10, 2.0**-26, 0.1, 1e-6
FEW_CORRECTIONS = 4  # enough from a correction of 0.1, since each step squares the error
BROKEN = 1e-5  # gap, as a share of its row's size, that stops a run; errors of integration are far smaller
AGREEING = 1e-9  # relative error of speeds that satisfy the constraints
NEW_ROW = 1e-6  # pivot above which a row is independent, in the search for redundant rows
FREE_ROW = 1e-8  # the same, in the check whether more values are given than the loops leave free
# For rows that are made orthogonal in pairs: the most sweeps; the largest cosine of an angle that counts as a
# right angle; and the squared length, relative to the longest row, below which a row is only a rounding error
# and left out, since sweeps among such rows never end.
MOST_SWEEPS, RIGHT_ANGLE, NO_ROW = 60, 1e-14, 1e-30

# Thresholds in single precision, where the rounding error is 2**-24 of a number.
SINGLE = {
    "WEAK_LAST": 1e-5, "EXACT_LOOP": 4e-6, "CLOSED_LOOP": 1e-4, "DAMPED_TURNS": 300.0,
    "SMALL_CORRECTION": 3e-4, "CLOSED_START": 1e-3,
    "SHOWN_GAP": 1e-3, "STIFF": 1e3, "NEW_ROW": 1e-4, "FREE_ROW": 1e-4, "RIGHT_ANGLE": 4e-6, "NO_ROW": 1e-13,
}  # fmt: skip
