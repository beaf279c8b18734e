"""The constraints as numbers, and loops closed while equations are derived.

A correction of the coordinates is a small motion, q += N δ with q̇ = N u, so it has the constraints' own
matrix: J δ = −Φ. Gauss and Newton's method, with the shortest δ. Rows and motions are in terms of their sizes
(sizes.py), so that no norm adds lengths to angles. Runs close their loops in compiled code, with more freedom
and with what is given kept: see runtime/solver/assembly/assembly.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.mechanics.constraints.closing.closing_thresholds import (
    EXACT_LOOP,
    HALVINGS,
    LEAST_SIZE,
    LONGEST_STEP,
    STALLED,
    WEAK_FIRST,
    WEAK_LAST,
    WEAK_SECOND,
)


class ScatterNumbers:
    """Numbers that scatter starts, the same in every language: s ← 16807 s mod (2³¹ − 1), exact in doubles.

    Source: Park and Miller (1988), Random number generators: good ones are hard to find, CACM 31, 1192–1201.
    """

    def __init__(self) -> None:
        self._last = 19871987

    def spread(self, reach: float, count: int) -> np.ndarray:
        """So many numbers between −reach and reach."""
        numbers = np.empty(count)
        for i in range(count):
            self._last = 16807 * self._last % 2147483647
            numbers[i] = reach * (2.0 * (self._last / 2147483647) - 1.0)
        return numbers


@dataclass(frozen=True)
class GeometryLayout:
    """Where the numbers of a geometry stand: gaps Φ, known parts b, then the elements of J and of N."""

    coordinates: int
    speeds: int
    gaps: tuple[int, ...]  # rows that have a position to keep
    rows: int
    jacobian: tuple[tuple[int, int], ...]
    rates: tuple[tuple[int, int], ...]
    quaternions: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the elements of J and of N stand in these matrices, row after row."""
        both = (self.jacobian, self.rates)
        found = [np.array([i * self.speeds + j for i, j in matrix], dtype=int) for matrix in both]
        return found[0], found[1]

    @cached_property
    def owners(self) -> tuple[np.ndarray, ...]:
        """Rows of gaps; rows and speeds of the elements of J; speeds of those of N."""
        row, speed = (np.array([e[k] for e in self.jacobian], dtype=int) for k in (0, 1))
        return np.array(self.gaps, dtype=int), row, speed, np.array([j for _, j in self.rates], dtype=int)

    def sized(self, sizes: np.ndarray, row_sizes: np.ndarray) -> np.ndarray:
        """Factors of all numbers that lead to rows and motions in terms of their sizes; a row of factors per
        row of sizes.
        """
        gaps, row, speed, moved = self.owners
        rows = 1.0 / row_sizes
        parts = (rows[..., gaps], rows, sizes[..., speed] * rows[..., row], sizes[..., moved])
        return np.concatenate(parts, axis=-1)

    def figures(self, numbers: np.ndarray) -> GeometryValues:
        """Numbers, each in its place; with a row of them per place, at several places."""
        start, (in_jacobian, in_rates) = len(self.gaps) + self.rows, self.places
        after, shape = start + len(in_jacobian), numbers.shape[:-1]
        jacobian = np.zeros((*shape, self.rows * self.speeds))
        rates = np.zeros((*shape, self.coordinates * self.speeds))
        jacobian[..., in_jacobian] = numbers[..., start:after]
        rates[..., in_rates] = numbers[..., after:]
        return GeometryValues(
            numbers[..., : len(self.gaps)],
            numbers[..., len(self.gaps) : start],
            jacobian.reshape(*shape, self.rows, self.speeds),
            rates.reshape(*shape, self.coordinates, self.speeds),
        )


@dataclass(frozen=True)
class GeometryValues:
    """Φ of the rows that have one, b, J and N at one place, or at several."""

    gap: np.ndarray
    known: np.ndarray
    jacobian: np.ndarray
    rates: np.ndarray

    def of(self, some: np.ndarray) -> GeometryValues:
        """The same at some of the places."""
        return GeometryValues(self.gap[some], self.known[some], self.jacobian[some], self.rates[some])


@dataclass(frozen=True)
class Geometry:
    """The constraints as numbers of time and coordinates."""

    layout: GeometryLayout
    values: Callable[[float, np.ndarray], np.ndarray]
    sizes: np.ndarray | None = None  # of the speeds: amounts of motion with the same effect, None: 1
    row_sizes: np.ndarray | None = None  # of the rows: gaps that such motions make

    def in_sizes(self) -> Geometry:
        """The same with rows and motions in terms of their sizes: steps in δ_j times the size of speed j."""
        if self.sizes is None or self.row_sizes is None:
            return self
        factors = self.layout.sized(self.sizes, self.row_sizes)
        return Geometry(self.layout, lambda t, q: factors * self.values(t, q))

    def at(self, t: float, q: np.ndarray) -> GeometryValues:
        return self.layout.figures(self.values(t, q))

    def off(self, here: GeometryValues) -> float:
        """The largest gap, of the size of its row: the gap that a unit of the most effective speed makes.

        A row that vanishes near a singular place has at least a ten-thousandth of the largest one's size: its
        gap cannot be less than rounding leaves.
        """
        sizes = np.max(np.abs(here.jacobian[list(self.layout.gaps)]), axis=1, initial=0.0)
        sizes = np.maximum(sizes, LEAST_SIZE * np.max(sizes, initial=0.0))
        return float(np.max(np.abs(here.gap) / np.where(sizes > 0.0, sizes, 1.0), initial=0.0))

    def close(self, t: float, q: np.ndarray, tries: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates near q whose gaps are closed by motions of all joints, and the gaps that remain."""
        here = self.at(t, q)
        weak = [WEAK_FIRST, WEAK_SECOND, WEAK_LAST]
        for _ in range(tries):
            finite = np.all(np.isfinite(here.gap)) and np.all(np.isfinite(here.jacobian))
            if not len(here.gap) or not finite or self.off(here) <= EXACT_LOOP:
                break
            J = here.jacobian[list(self.layout.gaps)]
            step = np.linalg.lstsq(J, -here.gap, rcond=weak[0])[0]
            step *= min(1.0, LONGEST_STEP / max(np.max(np.abs(step)), 1e-300))
            moved, there = self._tried(t, q, here, step)
            slow = there is None or np.linalg.norm(there.gap) > STALLED * np.linalg.norm(here.gap)
            if there is not None:
                q, here = moved, there
            if slow and len(weak) > 1:
                weak.pop(0)
            elif there is None:
                break
        return q, here.gap

    def _tried(
        self, t: float, q: np.ndarray, here: GeometryValues, step: np.ndarray
    ) -> tuple[np.ndarray, GeometryValues | None]:
        """The longest of several shares of a step that makes the gaps smaller."""
        for _ in range(HALVINGS):
            moved = self.normalised(q + here.rates @ step)
            there = self.at(t, moved)
            if np.linalg.norm(there.gap) < np.linalg.norm(here.gap):
                return moved, there
            step = step / 2
        return q, None

    def normalised(self, q: np.ndarray) -> np.ndarray:
        for start in self.layout.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        return q
