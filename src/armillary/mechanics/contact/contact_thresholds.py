"""Thresholds of the solver of contacts: all are shares of what enters a row, or counts."""

from __future__ import annotations

# Share of the diagonal that is added where several rows hold. Forces of redundant rows are then known to
# EPSILON/SOFT of their size, and rows that differ by more than SOFT hold exactly.
SOFT = 1e-7
REFINEMENTS = 25.0  # at most
# A pivot of rows of size one: the square of the sine of the angle between a row and all before it. Rows
# further apart than this have forces that depend on no softness, to 13 digits after one solution.
INDEPENDENT = 1e-3
REDUNDANT_ROW = 1e-11  # likewise: a row that depends on those before it
# Of what enters a row, and ten times what enters others of its contact: what is left of one that needs no
# force. A box at rest would begin to move by more.
NO_REST = 1e-15
MOST_PASSES = 5.0  # through all rows that hold, until nothing is left of them
UNEVEN = 1e-9  # between an element of a matrix of rows of size one and its mirror image: both are the same
SOFT_TURNS = 2.0  # which leave SOFT³ of rows of size one
SOFTEST = 1e3  # times SOFT: of rows whose limit of friction is nothing beside others
# The same where softness is added to no matrix. A point that nearly stands on its dead centre has friction
# that bears nothing of a load; with a thousandth of it, it had 1e7 times its limit.
WEAKEST = 1e10
# Times the softness of a normal: of redundant frictions, so that these bear only what no normal can. A slip
# that the levers of its own normal exclude had half of the load, a hundred times its limit.
FRICTION_SOFTNESS = 1e4
NOTHING = 1e-13  # of the first pivot: a pivot that only rounding makes
STALLED = 0.9  # of what was left before: refining more helps nothing
PRECISE = 1e-14  # of what enters a row: what is left of a row that holds
MASSLESS = 1e-14  # a row whose diagonal element is less of the largest product in it moves nothing
ADMISSIBLE = 1e-12  # of what enters a row: inequalities may be violated by so much
HOLDS = 1e-10  # of what enters a row: rows that hold do so to this, unless they contradict each other
CONTRADICTORY = 1e-8  # of the fastest row: redundant rows may contradict each other by so much
NEARLY = 1e-4  # of what enters a row: forces that are still being improved may be at rest
ROUNDING_SHARE = 1e-5  # of the fastest row: what enters any other at least, as far as rounding goes
NO_MOTION = 1e-18  # in any units: keeps contacts closed that bear nothing but rounding
NO_FORCE = 1e-150  # in any units: squares of smaller forces are no numbers
# Times the force that a contact's acceleration without forces, or its statuses without friction, ask for: a
# normal force that only its own friction makes so large. Explicit steps reach 1e4 to 1e6.
JAM = 1e4
STRAIGHT = 1e-12  # a change of direction that is none
MOST_TURNS = 12.0  # of the directions of slides
WITHOUT_END = 1e8  # times what rows have without forces: relaxation leads to no solution
SWEEPS = 20.0  # of all contacts, before the first trial of statuses; before others as many more
MOST_TRIALS = 30.0
SLIDES, STICKS, OPEN_CONTACT = 2.0, 1.0, 0.0
