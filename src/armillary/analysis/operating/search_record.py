"""The record of a search for an operating point, with the fields of numerics/roots_record.py."""

from __future__ import annotations

from armillary.numerics.roots_record import Roots
from armillary.solver.language.language import *

# Tables: conditions that are to be met and columns of the unknowns; 1 for unknowns that are angles;
# coordinates of the damped motion and conditions that every position satisfies; where the entries of C stand
# that a function gives; columns of C that each direction sums up to its end, rows of their elements likewise.
ROW_LIST: Wholes
UNKNOWN_LIST: Wholes
IS_ANGLE: Wholes
MOVED_LIST: Wholes
CLOSED_LIST: Wholes
FLAT: Wholes
DIRECTION_COLUMN: Wholes
DIRECTION_END: Wholes
ENTRY_ROW: Wholes
ENTRY_END: Wholes


class Search(Roots):
    t: real
    width: whole  # columns of C: states and inputs
    entries: whole  # of C that are not always zero, where it is written out
    directions: whole  # along which conditions are differentiated, where it is not; else 0
    angles_known: truth  # which unknowns are angles
    x: Position
    there: Position  # where a step leads
    c: Conditions
    out: Results
    slopes: ConditionSlopes  # C
    wanted: Sides
    weights: Sides
    shares: Steps  # of each unknown the part along directions that the conditions leave open
    # Of the damped motion.
    moved: whole  # coordinates
    closed: whole  # conditions that every position satisfies
    first_speed: whole
    speeds: whole
    rates: Steps
    motion: Square  # derivatives of the rates by the coordinates
    found: truth  # whether it stays finite
