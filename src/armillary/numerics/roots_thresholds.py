"""Thresholds of roots and of linear equations: shares of the sizes of unknowns and residuals, or counts."""

from __future__ import annotations

# A column's squared length is computed anew if updates have reduced it to this share: its digits cancelled.
CANCELLED = 1e-6
LEAST_PIVOT = 1e-13  # share of the largest pivot, up to which a pivot is a rounding error
DAMPINGS = 20.0  # most trials of a damping, until the step is as long as the radius
CHORD = 1e-3  # largest residual with which the last derivatives are used for another step
ROUNDED = 1e-13  # if a chord step does not reduce residuals up to this one, only rounding errors are left
LEAST_RADIUS = 1e-12  # in sizes of the unknowns
SHORT_STEP = 1e-6  # in sizes of the unknowns: near a root, a step without gain that is no longer is the last
SLOW_GAIN = 0.9  # a step is slow if more than this share of |r|² remains
LOWER_CUT = 1e-3  # factor by which the cut is lowered
# Largest ratio of successive steps on a branch. Steps halve near a double root, so double roots are reached.
SHRINK = 0.6
SETTLED_STEP = 1e-7  # in sizes of the unknowns: on a branch of roots, a step that is no longer is the last
# Random numbers: the modulus is prime, the factor a primitive root, and products are exact in doubles.
CHANCE_FACTOR, CHANCE_MODULUS, FIRST_CHANCE = 16807.0, 2147483647.0, 19871987.0

# Thresholds in single precision, where the rounding error is 2**-24 and whole numbers are exact below 2**24.
SINGLE = {
    "CANCELLED": 1e-3, "LEAST_RADIUS": 1e-6, "SHORT_STEP": 3e-4,
    "CHANCE_FACTOR": 223.0, "CHANCE_MODULUS": 65521.0, "FIRST_CHANCE": 19871.0,
}  # fmt: skip
