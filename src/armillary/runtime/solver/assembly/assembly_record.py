"""The record of loops that are being closed, with the fields of numerics/roots_record.py."""

from __future__ import annotations

from armillary.numerics.roots_record import Roots
from armillary.numerics.scatter import Scatter
from armillary.runtime.solver.language.language import *


class Loops(Roots, Scatter):
    t: real
    start: Places  # coordinates as they are given
    given: PlaceFlags  # coordinates that stay as they are
    place: Places  # coordinates that are being moved; at last, those that were found
    status: whole
    held: PlaceFlags  # coordinates that stay in this attempt
    moving: SpeedFlags  # speeds that may move in it
    stiffness: real  # weight of the equations by which they stay
    numbers: Figures  # gaps, elements of J and N and sizes of gaps at the place
    there: Figures  # and where a step leads
    jacobian: Jacobian
    rates: Rates
    moved: Places  # where a step leads
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
        broken: RowReals  # what the constraints on speeds leave
