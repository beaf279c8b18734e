"""Closing loops by numbers: coordinates that satisfy the constraints, and speeds that do.

A correction of the coordinates is a small motion, q += N δ with q̇ = N u, so it has the constraints' own
matrix: J δ = −Φ. Gauss and Newton's method, with the shortest δ among those speeds that may move. Rows and
motions are in terms of their sizes (sizes.py), so that no norm adds lengths to angles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_TRIES = 100
# Singular values of J, relative to the largest, that a step leaves alone; smaller ones only where these
# stall. With redundant rows the smallest ones are as small as the gap and lead astray.
_WEAK = (1e-3, 1e-6, 1e-10)
_CLOSED = 1e-13  # of the size of a row, about rounding
_CONSISTENT = 1e-9  # of the speeds, likewise
_LEAST_SIZE = 1e-4  # of a row, in terms of the largest
_DAMPED = 2000  # turns towards the smallest gaps
_STIFF = 1e6  # weight of what is kept, where gaps cannot be closed and all rows compete


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

    def sized(self, sizes: np.ndarray, row_sizes: np.ndarray) -> np.ndarray:
        """Factors of all numbers that lead to rows and motions in terms of their sizes."""
        rows = 1.0 / row_sizes
        row, speed = (np.array([e[k] for e in self.jacobian], dtype=int) for k in (0, 1))
        moved = np.array([j for _, j in self.rates], dtype=int)
        return np.concatenate([rows[list(self.gaps)], rows, sizes[speed] * rows[row], sizes[moved]])


@dataclass(frozen=True)
class GeometryValues:
    """Φ of the rows that have one, b, J and N at one place."""

    gap: np.ndarray
    known: np.ndarray
    jacobian: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True)
class Geometry:
    """The constraints as numbers of time and coordinates."""

    layout: GeometryLayout
    values: Callable[[float, np.ndarray], np.ndarray]
    sizes: np.ndarray | None = None  # of the speeds: amounts of motion with the same effect, None: 1
    row_sizes: np.ndarray | None = None  # of the rows: gaps that such motions make
    factors: np.ndarray | None = None  # `GeometryLayout.sized` of these, where they are known

    def in_sizes(self) -> Geometry:
        """The same with rows and motions in terms of their sizes: steps in δ_j times the size of speed j."""
        if self.sizes is None or self.row_sizes is None:
            return self
        factors = self.factors
        if factors is None:
            factors = self.layout.sized(self.sizes, self.row_sizes)
        return Geometry(self.layout, lambda t, q: factors * self.values(t, q))

    def at(self, t: float, q: np.ndarray) -> GeometryValues:
        return self.figures(self.values(t, q))

    def figures(self, numbers: np.ndarray) -> GeometryValues:
        """Numbers of the layout, each in its place."""
        layout = self.layout
        n_gaps, m = len(layout.gaps), layout.rows
        jacobian = np.zeros((m, layout.speeds))
        rates = np.zeros((layout.coordinates, layout.speeds))
        start, (in_jacobian, in_rates) = n_gaps + m, layout.places
        after = start + len(in_jacobian)
        jacobian.ravel()[in_jacobian] = numbers[start:after]
        rates.ravel()[in_rates] = numbers[after:]
        return GeometryValues(numbers[:n_gaps], numbers[n_gaps:start], jacobian, rates)

    def off(self, here: GeometryValues) -> float:
        """The largest gap, of the size of its row: the gap that a unit of the most effective speed makes.

        A row that vanishes near a singular place has at least a ten-thousandth of the largest one's size: its
        gap cannot be less than rounding leaves.
        """
        sizes = np.max(np.abs(here.jacobian[list(self.layout.gaps)]), axis=1, initial=0.0)
        sizes = np.maximum(sizes, _LEAST_SIZE * np.max(sizes, initial=0.0))
        return float(np.max(np.abs(here.gap) / np.where(sizes > 0.0, sizes, 1.0), initial=0.0))

    def is_exact(self, t: float, q: np.ndarray) -> bool:
        """Whether all gaps are closed but for rounding."""
        return self.off(self.at(t, q)) <= _CLOSED

    def close(
        self, t: float, q: np.ndarray, moving: np.ndarray, tries: int = _TRIES, kept: Sequence[int] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates near q whose gaps are closed by the speeds that may move, and the gaps that remain.

        Coordinates in ``kept`` stay where they are: the step changes them by nothing, (N δ)_k = 0.
        """
        q = q.copy()
        allowed = np.asarray(moving, dtype=bool)
        here = self.at(t, q)
        weak = list(_WEAK)
        for _ in range(tries):
            finite = np.all(np.isfinite(here.gap)) and np.all(np.isfinite(here.jacobian))
            if not len(here.gap) or not finite or self.off(here) <= _CLOSED or not allowed.any():
                break
            J = here.jacobian[list(self.layout.gaps)][:, allowed]
            held = self._held(here, J, allowed, kept)
            right = np.concatenate([-here.gap, np.zeros(len(kept))])
            step = np.linalg.lstsq(np.vstack([J, held]), right, rcond=weak[0])[0]
            step *= min(1.0, 0.5 / max(np.max(np.abs(step)), 1e-300))  # not further than a model may be bent
            moved, there = self._tried(t, q, here, allowed, step, kept)
            slow = there is None or np.linalg.norm(there.gap) > 0.9 * np.linalg.norm(here.gap)
            if there is not None:
                q, here = moved, there
            if slow and len(weak) > 1:
                weak.pop(0)
            elif there is None:
                break
        return q, here.gap

    def nearest(self, t: float, q: np.ndarray, moving: np.ndarray, kept: Sequence[int] = ()) -> np.ndarray:
        """The smallest gaps, as a whole, near a place where they cannot be closed.

        Damped steps, δ = −(JᵀJ + λ)⁻¹ Jᵀ Φ. Source: Marquardt (1963), SIAM J. Appl. Math. 11, 431–441.
        """
        allowed = np.asarray(moving, dtype=bool)
        here, damping = self.at(t, q), 1e-3
        for _ in range(_DAMPED if allowed.any() and np.all(np.isfinite(here.gap)) else 0):
            J = here.jacobian[list(self.layout.gaps)][:, allowed]
            A = np.vstack([J, _STIFF * self._held(here, J, allowed, kept)])
            right = np.concatenate([-here.gap, np.zeros(len(kept))])
            size = np.max(np.sum(J * J, axis=1), initial=0.0)
            U, lengths, V = np.linalg.svd(A, full_matrices=False)
            step = V.T @ (lengths / (lengths**2 + damping * size + 1e-300) * (U.T @ right))
            moved = self.normalised(q + here.rates[:, allowed] @ step)
            moved[list(kept)] = q[list(kept)]
            there = self.at(t, moved)
            if np.linalg.norm(there.gap) < np.linalg.norm(here.gap):
                q, here, damping = moved, there, max(damping / 3.0, 1e-15)
            elif damping > 1e15:
                break
            else:
                damping *= 2.0
        return here.gap

    @staticmethod
    def _held(here: GeometryValues, J: np.ndarray, allowed: np.ndarray, kept: Sequence[int]) -> np.ndarray:
        """Rows for the coordinates that stay, scaled to the rows of the loops: both are solved together."""
        rows = here.rates[list(kept)][:, allowed]
        own = np.max(np.abs(rows), axis=1, initial=0.0, keepdims=True)
        return rows * (np.max(np.abs(J), initial=0.0) / np.where(own > 0.0, own, 1.0))

    def lengths(self, here: GeometryValues) -> np.ndarray:
        """How far a unit of the most effective speed moves each coordinate."""
        own = np.max(np.abs(here.rates), axis=1, initial=0.0)
        return np.where(own > 0.0, own, 1.0)

    def _tried(
        self,
        t: float,
        q: np.ndarray,
        here: GeometryValues,
        allowed: np.ndarray,
        step: np.ndarray,
        kept: Sequence[int] = (),
    ) -> tuple[np.ndarray, GeometryValues | None]:
        """The longest of several shares of a step that makes the gaps smaller."""
        for _ in range(12):
            moved = self.normalised(q + here.rates[:, allowed] @ step)
            moved[list(kept)] = q[list(kept)]  # a step along a tangent leaves them but for its square
            there = self.at(t, moved)
            if np.linalg.norm(there.gap) < np.linalg.norm(here.gap):
                return moved, there
            step = step / 2
        return q, None

    def normalised(self, q: np.ndarray) -> np.ndarray:
        for start in self.layout.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        return q

    def consistent(
        self, t: float, q: np.ndarray, u: np.ndarray, moving: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Speeds nearest to u that satisfy the constraints, where only some may change, the residual, and
        whether it is nothing.
        """
        u = u.copy()
        allowed = np.asarray(moving, dtype=bool)
        sizes = np.ones(len(u)) if self.sizes is None else self.sizes
        rows = np.ones(self.layout.rows) if self.row_sizes is None else self.row_sizes
        here = self.in_sizes().at(t, q)
        residual = here.jacobian @ (u / sizes) + here.known
        scale = 1.0 + np.max(np.abs(u) / sizes, initial=0.0)
        if allowed.any() and residual.size:
            change = np.linalg.lstsq(here.jacobian[:, allowed], -residual, rcond=1e-10)[0]
            u[allowed] += sizes[allowed] * change
            residual = here.jacobian @ (u / sizes) + here.known
        satisfied = bool(np.max(np.abs(residual), initial=0.0) <= _CONSISTENT * scale)
        return u, residual * rows, satisfied
