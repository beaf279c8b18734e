"""Thresholds for places without mass, shared by the solver and runtime/models/failures.py."""

from __future__ import annotations

SPEED_JUMP = 5.0  # by which speeds grow from one row to the next, beyond all earlier rows, at such a place
WEAK = 1e-6  # of the inertias that a pivot is made of: nothing, as far as a step is concerned
FALLEN = 1e-3  # of a pivot's share at the start of the run: it is weak here, and not everywhere
FARTHEST = 0.5  # radians or lengths of motion over which it is followed, at most
NOWHERE = 1e-6  # of a run's time: a run that has come no further after its first steps does not advance
FIRST_STEPS = 200  # these, tried
# Longest steps, which it has not come as far as, either: no limit holds it back.
SHORT_STEPS = FIRST_STEPS / 2
COARSE, FINE = 64, 400  # looks at each way, and about the weakest of them
