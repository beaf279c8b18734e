"""The record of a search for an operating point, with the fields of numerics/roots_record.py."""

from __future__ import annotations

from armillary.numerics.roots_record import Roots
from armillary.solver.language.language import *

ROW_LIST: Wholes  # conditions to be met
UNKNOWN_LIST: Wholes  # columns of the unknowns
IS_ANGLE: Wholes  # 1 for unknowns that are angles
MOVED_LIST: Wholes  # coordinates of the damped motion
CLOSED_LIST: Wholes  # conditions that every position satisfies
FLAT: Wholes  # places in C of the entries that a function gives
DIRECTION_COLUMN: Wholes  # columns of C that directions sum, one direction after the other
DIRECTION_END: Wholes  # where each direction ends among these
ENTRY_ROW: Wholes  # rows of the entries along directions, one direction after the other
ENTRY_END: Wholes  # where each direction ends among these


class Search(Roots):
    t: real
    width: whole  # columns of C: states and inputs
    entries: whole  # of C that are not always zero, if C is written out
    directions: whole  # along which conditions are differentiated; 0 if C is written out
    angles_known: truth  # which unknowns are angles
    x: Position
    there: Position  # where a step leads
    c: Conditions
    out: Results
    slopes: ConditionSlopes  # C
    wanted: Sides
    weights: Sides
    shares: Steps  # part of each unknown along directions that the conditions leave open
    # Of the damped motion.
    moved: whole  # coordinates
    closed: whole  # conditions that every position satisfies
    first_speed: whole
    speeds: whole
    rates: Steps
    motion: Square  # derivatives of the rates by the coordinates
    found: truth  # whether the motion stays finite
