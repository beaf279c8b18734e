"""The record of loops that are being closed, as record.py has the record of a run."""

from __future__ import annotations

from armillary.runtime.solver.language.language import *


class Loops:
    t: real
    start: Places  # coordinates as they are given
    given: PlaceFlags  # coordinates that stay as they are
    place: Places  # coordinates that are being moved; at last, those that were found
    status: whole
    held: PlaceFlags  # coordinates that stay in this attempt
    moving: SpeedFlags  # speeds that may move in it
    numbers: Figures  # gaps, elements of J and N and sizes of gaps at the place
    there: Figures  # and where a step leads
    jacobian: Jacobian
    rates: Rates
    moved: Places  # where a step leads
    step: Speeds
    # Equations for a step, the first `active` of them, and how they are solved.
    active: whole
    left: Equations
    right: Sides
    basis: Square  # orthonormal rows
    inverse: Square
    solution: Speeds
    lower: Speeds
    # What was found so far.
    best: Places  # with the smallest gaps
    least: real  # of these, the size
    found: Places  # closed, and nearest to the start
    reach: Places  # how far a unit of the most effective speed moves each coordinate
    seed: real  # of numbers by chance
    chance: real
    if CONFIGURATIONS:
        present: whole  # configuration, which decides what may move
    if AGREEMENT:
        speed: Speeds  # in terms of their sizes
        change: Speeds  # of them
        fixed: SpeedFlags  # speeds that stay as they are
        residual: RowReals  # of the constraints on speeds
