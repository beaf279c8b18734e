"""The record of equations that are being solved; modules that use roots.py add fields of their own."""

from __future__ import annotations

from armillary.numerics.language import *


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
    radius: real  # longest step; follows the agreement of the derivatives with the residuals
    longest: real  # largest change of one unknown in a step
    exact: real  # largest residual of a root
    met: real  # residual up to which a stalled search counts as ended by rounding
    most_moves: real  # most steps with new derivatives
    moves: real  # steps with new derivatives so far
    # Factors of the matrix, and workspace for steps from them.
    factors: Equations  # the triangle T, reflections below and beside it; last column: the right side
    damped: Square  # the triangle of a damped step
    order: StepNumbers  # columns in the order of pivots
    rank: whole
    heads: Steps  # first elements of the reflections of rows
    solved: Steps  # the step in terms of the factors
    gauss: real  # length of the step without damping
    turned: Steps  # the step on its way from the factors to the unknowns
    lengths: Steps  # squares of the lengths of the remaining columns
    fresh: Steps  # these squares as last computed from elements; later a row added to the triangle
    side: Steps  # right side of the triangle of a damped step
    if BOUNDED:
        value: Steps  # values of the unknowns, in their own units
        sizes: Steps
        low: Steps
        high: Steps
        goal: Steps  # values after a step
        held: StepFlags  # unknowns that a bound holds
