"""Thresholds of closing loops, in derivations (loop_closing.py) and in runs (solver/assembly.py)."""

from __future__ import annotations

NEWTON_TURNS = 100  # most steps of Newton's method
# Pivots of J below a share of the largest pivot are left out of a step. The share begins at WEAK_FIRST: with
# redundant rows, pivots that should be zero are about as large as the gap, and would give wrong steps. When
# steps hardly reduce the gap any more, the share is lowered, at last to WEAK_LAST.
WEAK_FIRST, WEAK_LAST = 1e-3, 1e-10
# A gap is the error of a constraint of positions; loop_closing.py defines sizes of rows and of motions.
EXACT_LOOP = 1e-13  # gap, as a share of its row's size, at which closing ends: about the rounding error
CLOSED_LOOP = 1e-10  # largest gap at the start of a run, also as a share of its row's size
LEAST_SIZE = 1e-4  # least size of a row, as a share of the size of the largest row
LONGEST_STEP = 0.5  # longest motion, in sizes, for which a linear model of the gaps is trusted
DAMPED_TURNS = 2000  # most damped steps that minimise the gaps of loops that cannot be closed
SHOWN_GAP = 1e-6  # gaps below this share of the largest are not named in errors
STIFF = 1e6  # weight of given values against gaps in damped steps
# Random starts: starts 1 to 10 are near the given values, 11 to 25 at a middle distance, the others far away.
SCATTERED = 40  # number of random starts
NEAR_STARTS, MIDDLE_STARTS = 10, 25
NEAR_REACH, MIDDLE_REACH, FAR_REACH = 0.3, 1.0, 3.0  # largest distances from the given values, in sizes
# The following apply to closing loops after a step of time; corrections are relative to the size of their
# coordinate.
# CORRECTIONS: most steps of Newton's method.
# SMALL_CORRECTION: Newton's method ends after a correction smaller than this, since the remaining error is
# about the square of the correction, so only a rounding error. With 1e-9 instead, a car with four suspensions
# took two corrections after each step of ab2 with 1 ms; now it mostly takes one.
# LARGE_CORRECTION: a larger correction is not applied, since it shows that the position is singular.
# CLOSED_START: if no correction at the start of a run is larger, relative to coordinate plus size, the loops
# count as closed.
CORRECTIONS, SMALL_CORRECTION, LARGE_CORRECTION, CLOSED_START = 10, 2.0**-26, 0.1, 1e-6
FEW_CORRECTIONS = 4  # corrections that suffice if the first is at most 0.1: each step squares the error
BROKEN = 1e-5  # gap, as a share of its row's size, that stops a run; errors of integration are far smaller
AGREEING = 1e-9  # largest relative error at which speeds count as satisfying the constraints
NEW_ROW = 1e-6  # pivot above which a row is independent, in the search for redundant rows
FREE_ROW = 1e-8  # pivot above which a row is independent, in the check whether too many values are given
# For an orthogonalisation that turns pairs of rows (Jacobi): the most sweeps over all pairs; the largest
# cosine of an angle that counts as a right angle; and the squared length, relative to the longest row, below
# which a row is only a rounding error. Such rows are left out, since sweeps among them never end.
MOST_SWEEPS, RIGHT_ANGLE, NO_ROW = 60, 1e-14, 1e-30

# Thresholds in single precision, where the rounding error is 2**-24 of a number.
SINGLE = {
    "WEAK_LAST": 1e-5, "EXACT_LOOP": 4e-6, "CLOSED_LOOP": 1e-4, "DAMPED_TURNS": 300.0,
    "SMALL_CORRECTION": 3e-4, "CLOSED_START": 1e-3,
    "SHOWN_GAP": 1e-3, "STIFF": 1e3, "NEW_ROW": 1e-4, "FREE_ROW": 1e-4, "RIGHT_ANGLE": 4e-6, "NO_ROW": 1e-13,
}  # fmt: skip
