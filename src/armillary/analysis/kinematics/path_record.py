"""The record of a mechanism that is followed from row to row, with the fields of numerics/roots_record.py."""

from __future__ import annotations

from armillary.numerics.roots_record import Roots
from armillary.solver.language.language import *

# Tables: rows and directions of the entries of A; places of a position that move, and the directions along
# which; where Euler parameters begin; rows that targets do not bend, 1 for gaps of loops, 2 for others, and
# groups of targets with one unit, 0, −1, …; the position at which each row begins.
ENTRY_OF_ROW: Wholes
ENTRY_OF_DIRECTION: Wholes
MOVED: Wholes
ALONG: Wholes
UNITS_FROM: Wholes
STIFF_KIND: Wholes
ORIGIN: Wholes


class Follower(Roots):
    t: real
    width: whole  # numbers of a position: state and inputs
    count: whole  # rows to be found
    starts: whole  # positions that are there already, before those of the rows
    targets: whole
    first_target: whole  # their place in a position
    entries: whole  # of A that are not always zero
    motions: whole  # of N
    quaternions: whole
    descends: truth  # by damped least squares
    least_share: real  # of the way from one row to another
    weak: real  # part of the least pivot of the row before, below which a position is singular
    weight: real  # of rows that targets do not bend
    renews: truth  # whether weights follow the place
    place: Position
    there: Position  # where a step leads
    good: Position  # where the conditions hold
    figures: Results  # F, entries of A, entries of N
    figures_there: Results
    weights: Sides
    sizes: Steps
    positions: Path
    times: PathReals
    strengths: PathReals  # least pivots
    sources: PathNumbers  # of a position that was not reached, or is singular, the one before
    wanted: Targets
    reached: PathReals
    left_over: PathReals
