"""Gauss' collocation method with four stages, none at an end of the step; order 8 at the end, 4 inside.

Source: Hairer, Nørsett & Wanner (1993), Solving Ordinary Differential Equations I, II.7.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np


@cache
def collocation_tables() -> dict[str, list[float]]:
    """Return the tables of the method by their names in language.py, in lower case.

    They are the times of the stages, and the weights of the rates at the stages for: the states at the
    stages, the state at the end, the rates at both ends, and the coefficient of s²(1 − s)² in the collocation
    polynomial.
    """
    near, far = (sqrt(3 / 7 + sign * 2 / 7 * sqrt(6 / 5)) / 2 for sign in (-1, 1))
    times = np.array([0.5 - far, 0.5 - near, 0.5 + near, 0.5 + far])
    # Columns: coefficients of polynomials that are 1 at one time and 0 at the others, and of their integrals.
    rates = np.linalg.inv(np.vander(times, increasing=True))
    integrals = np.vstack([np.zeros(4), rates / np.arange(1, 5)[:, None]])

    def states(at: float) -> np.ndarray:
        found: np.ndarray = at ** np.arange(5) @ integrals
        return found

    end, first, last = states(1.0), rates[0], rates.sum(axis=0)
    second = first - end
    third = end - last - second
    fourth = 2 * (2 * (2 * (2 * states(0.5) - end) - second) - third)
    return {
        "gauss_time": times.tolist(),
        "gauss_weight": [w for time in times for w in states(float(time)).tolist()],
        "gauss_end": end.tolist(),
        "gauss_first_rate": first.tolist(),
        "gauss_last_rate": last.tolist(),
        "gauss_nest": fourth.tolist(),
    }
