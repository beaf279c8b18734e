"""Times at which inputs over time jump: steps end there, and the next one begins beyond the jump.

A step to a stop s has the length s − δ − t with δ of a few roundings, so that all its stages see the input
before the jump; then the time is s, where the input is that after the jump, and the derivative is computed
again. Without this every method has first order across a jump: its last stage takes the value that belongs to
the next step.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.step_thresholds import EPSILON

ROUNDINGS = 4.0  # δ, in units of the last place of the time


def before_stop(t: float, stop: float, rounding: float = EPSILON) -> float:
    """The time just before a stop at which the last stage of a step from t is evaluated."""
    return stop - ROUNDINGS * rounding * max(abs(t), abs(stop))
