"""Thresholds of the solver of contacts: counts, or shares of "the size of a row".

The size of a row is the sum of the magnitudes of its terms (``size`` in problem.py).
"""

from __future__ import annotations

# Softness: if several rows hold, SOFT times the diagonal of A is added to the diagonal. Forces of redundant
# rows then have errors of EPSILON/SOFT of their size (EPSILON: rounding error of one), and rows that differ
# by more than SOFT hold exactly.
SOFT = 1e-7
REFINEMENTS = 25.0  # most steps of iterative refinement
# Least pivot of an independent row, if A is scaled to a diagonal of ones: the squared sine of the angle
# between the row and the space of all rows before it. If all pivots are larger, one solution without softness
# has 13 digits.
INDEPENDENT = 1e-3
REDUNDANT_ROW = 1e-11  # largest pivot of a row that depends on those before it, with the same scaling
# Largest residual of a row that needs no force, as a share of the size of the row or of a tenth of the
# largest size in its contact, whichever is larger. With a larger share a box at rest would begin to move.
NO_REST = 1e-15
MOST_PASSES = 5.0  # through all rows that hold, until their residuals vanish
UNEVEN = 1e-9  # largest difference of mirrored elements of a symmetric matrix, for rows of size one
SOFT_TURNS = 2.0  # corrections for softness; an error of about SOFT³ is left
SOFTEST = 1e3  # largest softness of friction, in units of SOFT, where its limit is negligible beside others
# The same where softness is not added to a matrix (independent_rows.py). Friction cannot bear a load at a
# point that is nearly at its dead centre; with SOFTEST there, the friction force was 1e7 times its limit.
WEAKEST = 1e10
# Softness of friction relative to a normal's, so that redundant friction bears only loads that no normal can
# bear. With equal softness, a slip whose row of J was parallel to that of its normal bore half of the
# load, a hundred times its limit.
FRICTION_SOFTNESS = 1e4
NOTHING = 1e-13  # share of the first pivot, below which a pivot is rounding
STALLED = 0.9  # ratio of successive residuals, above which refinement ends
PRECISE = 1e-14  # residual of a row that holds, as a share of its size
MASSLESS = 1e-14  # diagonal element, as a share of the largest product in it, of a row that moves nothing
ADMISSIBLE = 1e-12  # share of a row's size by which inequalities may be violated
HOLDS = 1e-10  # share of a row's size to which rows hold, unless they contradict each other
CONTRADICTORY = 1e-8  # largest contradiction of redundant rows, as a share of the fastest row's size
NEARLY = 1e-4  # motion of a row at rest during relaxation, as a share of its size
ROUNDING_SHARE = 1e-5  # least size of any row for rounding errors, as a share of the fastest row's size
# Added to the size of each row, in any units: contacts whose load is only rounding stay closed. Motions of
# 1e-9 m in 1e9 s have accelerations of 1e-27; with the value 1e-18, brakes stopped such motions however small
# their force.
NO_MOTION = 1e-60
NO_FORCE = 1e-150  # in any units: squares of smaller forces underflow
# A sliding contact jams if its normal force exceeds both JAM times the normal force that would alone cancel
# its acceleration without forces, and JAM times the normal force at the same statuses without friction.
# Explicit steps reach 1e4 to 1e6 times.
JAM = 1e4
STRAIGHT = 1e-12  # a change of direction that counts as zero
MOST_TURNS = 12.0  # most changes of the directions of slides
WITHOUT_END = 1e8  # growth of rows, relative to their motion without forces, that ends relaxation
SWEEPS = 20.0  # sweeps of relaxation before the first trial of statuses; SWEEPS more before each later trial
MOST_TRIALS = 30.0  # of statuses
SLIDES, STICKS, OPEN_CONTACT = 2.0, 1.0, 0.0
