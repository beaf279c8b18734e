"""The record of equations that are being solved; records of users have these fields and others."""

from __future__ import annotations

from armillary.numerics.language import *


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
