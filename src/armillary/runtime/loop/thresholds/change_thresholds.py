"""Thresholds for changes of configuration, shared by the solver and `rank_loss.py`."""

from __future__ import annotations

from armillary.program.targets.targets import LOST_RANK, POOR_PIVOT

POOR_CHOICE = POOR_PIVOT  # a conditioning at which a choice of dependent speeds is poor
CHOICE_MARGIN = 1e-3 * POOR_PIVOT  # by which a choice is better than poor; a step may end just before it is
WEAK_RANK = LOST_RANK  # the strength of a constraint, squared, from which on a loss of rank is looked for
# Of the step across a place where rank is lost: where in it the place lies, and its length in radians or
# lengths of motion, so that its stages are far enough from the place and its order near enough.
MIDDLE, STRIDE = 0.46, 0.25
BELIEVED = 1.0  # how far a forecast is believed, in radians or lengths of motion
SOON = 0.15  # share of the time to the place that may be left when the step across begins
AROUND = 0.15  # radians or lengths of motion to either side of a place that one step jumped over
