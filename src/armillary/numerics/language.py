"""Names of the solver's small language that this folder uses, and the record of the equations to solve.

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

# Features. CHORDS: derivatives are used for several steps, since they take much longer than residuals.
# BOUNDED: unknowns have bounds. COMPLETE: pivots are the largest elements of all columns.
CHORDS = BOUNDED = COMPLETE = True

FIRST = 0
NONE = -1
INFINITY = np.inf

# A module that uses roots.py must define these functions.
look: Callable[[Roots], None]  # find the residuals at the place
look_there: Callable[[Roots], None]  # find `missed`, the residuals after a step
differentiate: Callable[[Roots], None]  # set the matrix of derivatives at the place
displace: Callable[[Roots], None]  # find the place to which a step leads; set the step to the actual change
accept: Callable[[Roots], None]  # move the place by the step, with the known residuals after the step
arrive: Callable[[Roots], None]  # move the place by the step; the residuals are not known yet
set_radius: Callable[[Roots], None]  # set the radius of the first step, when the matrix is factorised


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
    residual: Sides  # residuals at the place
    missed: Sides  # residuals after a step
    linear: Sides  # residuals after a step, as predicted by the derivatives
    step: Steps  # change of the unknowns
    cut: real  # share of the largest pivot below which a direction is left out of steps
    least_cut: real  # least value to which the cut is lowered if steps stall
    radius: real  # longest step; changes with the agreement of predicted and actual residuals
    longest: real  # largest change of one unknown in a step
    exact: real  # largest residual of a root
    met: real  # if a search stalls at residuals up to this one, rounding errors count as the reason
    most_moves: real  # most steps with new derivatives
    moves: real  # steps with new derivatives so far
    # Factors of the matrix, and workspace for steps from them.
    factors: Equations  # the triangle T, reflections below and beside it; last column: the right side
    damped: Square  # the triangle of a damped step
    order: StepNumbers  # columns in the order of pivots
    rank: whole
    heads: Steps  # first elements of the reflections of rows
    solved: Steps  # the components of the step along the factors
    gauss: real  # length of the step without damping
    turned: Steps  # the step, first in the factors, then in the unknowns
    lengths: Steps  # squares of the lengths of the remaining columns
    fresh: Steps  # these squares as last computed from elements; later the row that damping adds to T
    side: Steps  # right side of the triangle of a damped step
    if BOUNDED:
        value: Steps  # values of the unknowns, in their own units
        sizes: Steps
        low: Steps
        high: Steps
        goal: Steps  # values after a step
        held: StepFlags  # unknowns that a bound holds
