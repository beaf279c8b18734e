"""Thresholds of roots and of linear equations: shares of the sizes of unknowns and residuals, or counts."""

from __future__ import annotations

CANCELLED = 1e-6  # of a column's length: a difference of nearly equal numbers, to be computed again
LEAST_PIVOT = 1e-13  # of the first pivot: one that only rounding makes
DAMPINGS = 20.0  # of a step, until it has the length of the radius
CHORD = 1e-3  # worst residual below which the last derivatives are good for another step
ROUNDED = 1e-13  # where such a step gains nothing, rounding is all that is left
LEAST_RADIUS = 1e-12  # in sizes of the unknowns
SHORT_STEP = 1e-6  # likewise, of a step near a root that gains nothing
SLOW_GAIN = 0.9  # of |r|² that a step leaves
LOWER_CUT = 1e-3  # of the cut before
SHRINK = (
    0.6  # of each step in terms of the last, on a branch; one half at a double root, so these are reached
)
SETTLED_STEP = 1e-7  # in sizes of the unknowns: on a branch, one after which a root is not improved
# Numbers by chance: the modulus is prime, the factor a primitive root, and products are exact in doubles.
CHANCE_FACTOR, CHANCE_MODULUS, FIRST_CHANCE = 16807.0, 2147483647.0, 19871987.0

# The same in single precision, where rounding is 2**-24 of a number, and whole numbers are exact below 2**24.
SINGLE = {
    "CANCELLED": 1e-3, "LEAST_RADIUS": 1e-6, "SHORT_STEP": 3e-4,
    "CHANCE_FACTOR": 223.0, "CHANCE_MODULUS": 65521.0, "FIRST_CHANCE": 19871.0,
}  # fmt: skip
