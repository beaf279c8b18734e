"""The record of a mechanism that is followed from row to row, with the fields of numerics/roots_record.py."""

from __future__ import annotations

from armillary.numerics.roots_record import Roots
from armillary.solver.language.language import *

# Tables: rows and directions of the entries of A; elements of a position that move, and their directions; the
# first of each four Euler parameters; 1 for rows of gaps, 2 for other rows without targets, 0, −1, … for
# groups of targets with one unit; the position at which each row begins.
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
    starts: whole  # given positions, before those of the rows
    targets: whole
    first_target: whole  # index of the first target in a position
    entries: whole  # entries of A that are not always zero
    motions: whole  # entries of N
    quaternions: whole
    descends: truth  # whether to find roots by damped least squares, not by following
    least_share: real  # least share of the way from one row to another
    weak: real  # share of the least pivot of the row before, below which a position is singular
    weight: real  # weight of rows without targets
    renews: truth  # whether weights are renewed at each place
    place: Position
    there: Position  # after a step
    good: Position  # the last position where the conditions hold
    figures: Results  # F, entries of A, entries of N
    figures_there: Results  # after a step
    weights: Sides
    sizes: Steps
    positions: Path
    times: PathReals
    strengths: PathReals  # least pivots
    sources: PathNumbers  # of each position itself, or its origin if it was not reached or is singular
    wanted: Targets
    reached: PathReals
    left_over: PathReals
