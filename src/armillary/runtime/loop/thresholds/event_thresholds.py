"""Thresholds for events; see runtime/solver/events.py."""

from __future__ import annotations

FIRST_LOOK = 2.0**-10  # of the first step after an event: where its functions are looked at first
CLEAR = 1e-3  # of the value at the start of the step to the event: a function as large is not at zero

LEAST_RATIO, MOST_RATIO = 1e-3, 2.0  # of one gap to the one before, in a streak
PILED_UP = 1e-9  # of the longest gap
# Firings in a streak before contacts pile up: the directions of slow slides converge within a few.
CASCADE = 20
STUCK = 1e-6  # of the longest gap
STUCK_ULPS = 64.0
MOST_STUCK = 100  # gaps in a row
LONGEST_STREAK = 5000
SUSPECT = 1e-3  # of the longest gap
# Of a run, the longest step of an adaptive method where there are contacts, unless the run sets another. A
# body in free flight allows any step, in which a corner would touch the floor and leave it again unseen.
LONGEST_WITH_CONTACTS = 1e-3
# In ``terminal``: the run ends at this event, and its step is taken again to end there, for a run with its
# derivatives goes on in another program; 1.0: the run ends. Through twelve exchanges of dependent speeds
# the motion of such a run has a fifth of the error that dense output gives it (dopri5, a ball in a slot).
LANDING = 2.0
