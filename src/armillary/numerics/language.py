"""Names of the solver's small language that this folder uses, and the record of equations that are solved.

The functions of this folder run as Python, too: see `python_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor as floor
from math import isnan as isnan
from math import sqrt as sqrt

import numpy as np

real = float
whole = int
truth = bool
Equations = np.ndarray  # one real per equation and unknown, and one more per equation
Sides = np.ndarray  # one real per equation
Steps = np.ndarray  # one real per unknown
StepNumbers = np.ndarray  # one whole number per unknown
StepFlags = np.ndarray  # one truth value per unknown
Square = np.ndarray  # one real per pair of unknowns

# Features: derivatives cost much more than residuals, so they serve several steps; unknowns have bounds;
# pivots are the largest elements of all columns.
CHORDS = BOUNDED = COMPLETE = True

FIRST = 0
NONE = -1
INFINITY = np.inf

# What a user of roots.py defines.
look: Callable[[Roots], None]  # find the residuals at the place
look_there: Callable[[Roots], None]  # find what a step leaves of them, `missed`
differentiate: Callable[[Roots], None]  # set the matrix of derivatives at the place
displace: Callable[[Roots], None]  # find the place to which a step leads; the step becomes what is moved
accept: Callable[[Roots], None]  # make it the place, with its residuals
arrive: Callable[[Roots], None]  # make it the place; its residuals are not known yet
set_radius: Callable[[Roots], None]  # the length of the first step, whose factors are known


def at(i: whole, n: whole, j: whole) -> whole:
    """Return the index of element j of row i in a table with rows of n."""
    return i * n + j


def below(i: whole, n: whole) -> truth:
    """Return whether number i is one of the first n."""
    return i < n


class Roots:
    rows: whole  # equations
    columns: whole  # unknowns
    matrix: Equations  # derivatives of the residuals by the unknowns, column after column
    residual: Sides  # at the place
    missed: Sides  # where a step leads
    linear: Sides  # there, as the derivatives predict it
    step: Steps  # change of the unknowns
    cut: real  # pivot, as a part of the largest, of a direction along which no step leads
    least_cut: real  # down to which the cut is lowered where steps stall
    radius: real  # of steps; follows the agreement of the derivatives with the residuals
    longest: real  # change of one unknown in a step at most
    exact: real  # residual of a root
    met: real  # residual above which a root is not given up for rounding
    most_moves: real
    moves: real  # steps with derivatives of their own
    # Factors of the matrix, and how steps come from them.
    factors: Equations  # the triangle T, and reflections below and beside it; the last column is the side
    damped: Square  # the triangle of a damped step
    order: StepNumbers  # columns as they were taken for pivots
    rank: whole
    heads: Steps  # first elements of the reflections of rows
    solved: Steps  # the step in terms of the factors
    gauss: real  # length of the step that is not damped
    turned: Steps  # and on the way back from them
    lengths: Steps  # squares of what is left of the columns
    fresh: Steps  # as last computed from their elements; later a row that is added to the triangle
    side: Steps  # of the triangle of a damped step
    if BOUNDED:
        value: Steps  # of the unknowns, in their own units
        sizes: Steps
        low: Steps
        high: Steps
        goal: Steps  # where a step leads
        held: StepFlags  # unknowns that a bound holds
