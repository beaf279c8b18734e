"""Standing waves of a uniform beam: exact mode shapes of bending, stretching and twisting.

Bending solves w'''' = k⁴ w. Instead of the usual sinh and cosh, whose difference is lost in rounding from
about the tenth mode on, shapes are written with functions that stay within ±1,

    w = a cos kx + b sin kx + c e^(−kx) + d e^(−k(L−x))

so the hundredth mode is as accurate as the first. Stretching and twisting solve u'' = −k² u, u = a cos kx +
b sin kx. What the ends demand gives k and the coefficients; a free tip may carry a mass and an inertia.
Source of the equations: Blevins (1979), chap. 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from armillary.model.flexible.part import Array

# A step of the search for roots kL; they are π apart, closer only with heavy tips.
_STEP = 0.01


@dataclass(frozen=True)
class Wave:
    """One standing wave on 0 ≤ x ≤ length."""

    length: float
    number: float  # k
    coefficients: Array  # of the four functions, or of the first two

    def values(self, x: Array, order: int = 0) -> Array:
        """The wave, or its derivative of some order, at places x."""
        functions = _functions(self.number * np.asarray(x), self.number * self.length, order)
        count = len(self.coefficients)
        return self.number**order * np.tensordot(self.coefficients, functions[:count], 1)

    def scaled(self, factor: float) -> Wave:
        """The wave times a factor."""
        return Wave(self.length, self.number, self.coefficients * factor)


def _functions(phase: Array, full: Array | float, order: int) -> Array:
    """The four functions, differentiated ``order`` times by their phase kx; ``full`` is kL."""
    turned = phase + order * np.pi / 2
    sign = (-1.0) ** order
    return np.stack([np.cos(turned), np.sin(turned), sign * np.exp(-phase), np.exp(phase - full)])


def bending_waves(
    length: float, root: str, tip: str, count: int, mass: float = 0.0, inertia: float = 0.0
) -> list[Wave]:
    """The first elastic waves of bending; ``mass`` = m/μL and ``inertia`` = I/μL³ of a body on a free tip."""
    return [Wave(length, full / length, shape) for full, shape in _bending(root, tip, count, mass, inertia)]


@lru_cache(maxsize=256)
def _bending(root: str, tip: str, count: int, mass: float, inertia: float) -> list[tuple[float, Array]]:
    """kL and coefficients of the first waves, the same for both planes of a beam and for beams of any length;
    the search takes some 15 ms.
    """

    def conditions(full: Array) -> Array:
        """The conditions of the ends on the four coefficients, … × 4 × 4, rows of unit size."""

        def row(at_tip: bool, order: int) -> Array:
            return np.moveaxis(_functions(full * at_tip, full, order), 0, -1)

        orders = {"clamped": (0, 1), "pinned": (0, 2), "free": (2, 3)}
        rows = [row(False, order) for order in orders[root]]
        if tip == "free":
            # EI w''' = −mω²w and EI w'' = Iω²w', with ω² = EI k⁴/μ
            rows.append(row(True, 2) - (inertia * full**3)[..., None] * row(True, 1))
            rows.append(row(True, 3) + (mass * full)[..., None] * row(True, 0))
        else:
            rows += [row(True, order) for order in orders[tip]]
        matrix = np.stack(rows, axis=-2)
        found: Array = matrix / np.max(np.abs(matrix), axis=-1, keepdims=True)
        return found

    # Towards k = 0 the functions become alike; rigid motions, all at k = 0, must not be found by rounding.
    starts = {"clamped": 0.03, "pinned": 0.06, "free": 0.5}
    start = starts[root] if tip == "free" else max(starts[root], starts[tip])
    waves = []
    for full in roots(lambda k: np.linalg.det(conditions(k)), count, start):
        waves.append((full, np.linalg.svd(conditions(np.array(full)))[2][-1]))
    return waves


def line_waves(length: float, root: str, tip: str, count: int, load: float = 0.0) -> list[Wave]:
    """The first elastic waves of stretching or twisting; ``load`` = tip's share over the beam's own."""
    held = root != "free"

    def condition(full: Array) -> Array:
        value, slope = (np.sin(full), np.cos(full)) if held else (np.cos(full), -np.sin(full))
        found: Array = slope - load * full * value if tip == "free" else value
        return found

    start = 1e-3 if held and tip == "free" else 0.5
    shape = np.array([0.0, 1.0] if held else [1.0, 0.0])
    return [Wave(length, full / length, shape) for full in roots(condition, count, start)]


def roots(function: Callable[[Array], Array], count: int, start: float) -> list[float]:
    """The first roots above ``start`` of a function of kL."""
    found: list[float] = []
    low = start
    while len(found) < count:
        grid = np.arange(low, low + 10 * np.pi, _STEP)
        values = function(grid)
        crossed = np.flatnonzero(np.diff(values > 0))  # also where a place of the grid is a root
        left, right, sign = grid[crossed], grid[crossed + 1], np.sign(values[crossed])
        for _ in range(60):
            middle = 0.5 * (left + right)
            same = np.sign(function(middle)) == sign
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        found += (0.5 * (left + right)).tolist()
        low = float(grid[-1])
    return found[:count]
