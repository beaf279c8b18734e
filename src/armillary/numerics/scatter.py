"""Random numbers that are the same in every language: s ← 16807 s mod (2³¹ − 1), exact in doubles.

Source: Park and Miller (1988), Random number generators: good ones are hard to find, CACM 31, 1192–1201.
"""

from __future__ import annotations

import numpy as np

from armillary.numerics.language import *
from armillary.numerics.roots_thresholds import CHANCE_FACTOR, CHANCE_MODULUS, FIRST_CHANCE


class Scatter:
    seed: real
    chance: real


def draw(run: Scatter) -> None:
    """Draw a number between -1 and 1; all products are exact (Park and Miller 1988, CACM 31)."""
    product: real = CHANCE_FACTOR * run.seed
    run.seed = product - CHANCE_MODULUS * floor(product / CHANCE_MODULUS)
    run.chance = 2.0 * (run.seed / CHANCE_MODULUS) - 1.0


class ScatterNumbers(Scatter):
    """The random numbers as a Python object."""

    def __init__(self) -> None:
        self.seed = FIRST_CHANCE

    def spread(self, reach: float, count: int) -> np.ndarray:
        """Return ``count`` numbers between −reach and reach."""
        numbers = np.empty(count)
        for i in range(count):
            draw(self)
            numbers[i] = reach * self.chance
        return numbers
