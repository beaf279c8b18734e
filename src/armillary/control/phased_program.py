"""Phases of a motion as one nonlinear program: each phase has its own, and links lead from one to the next.

    departures of a phase − arrivals of the next = 0

A first phase with arrivals follows from the last one: the motion repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from armillary.control.nonlinear_program import Limits, NonlinearProgram, SparsePlaces


class PhasedProgram:
    """Variables and rows of all phases one after the other, then the rows of the links."""

    def __init__(self, phases: Sequence[NonlinearProgram]) -> None:
        self.phases = tuple(phases)
        self.starts = np.cumsum([0, *(p.size for p in self.phases)])
        self.size = int(self.starts[-1])
        own = [int(p.offsets[5]) for p in self.phases]
        self.row_starts = np.cumsum([0, *own])
        links = [p.f.arrivals for p in self.phases]
        self.link_starts = int(self.row_starts[-1]) + np.cumsum([0, *links])
        self.rows = int(self.link_starts[-1])
        self._place: list[np.ndarray] = []  # rows of each phase here, and their signs
        self._sign: list[np.ndarray] = []
        for i, (p, first, count) in enumerate(zip(self.phases, self.row_starts, own, strict=False)):
            after = (i + 1) % len(self.phases)
            arrivals = self.link_starts[i] + np.arange(p.f.arrivals)
            departures = self.link_starts[after] + np.arange(p.f.departures)
            self._place.append(np.concatenate([first + np.arange(count), arrivals, departures]))
            signs = [np.ones(count), -np.ones(p.f.arrivals), np.ones(p.f.departures)]
            self._sign.append(np.concatenate(signs))
        # One phase without links is the whole program.
        self._single = self.phases[0] if len(self.phases) == 1 and not links[0] else None

    def parts(self, z: np.ndarray) -> list[np.ndarray]:
        """Return the variables of each phase."""
        if len(self.phases) == 1:
            return [z]
        return [z[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @cached_property
    def sequence(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys that put variables and rows in the order of time, the link of a motion that repeats last."""
        variables, rows, start = [], np.zeros(self.rows), 0.0
        for i, p in enumerate(self.phases):
            of_variables, of_rows = p.sequence
            variables.append(of_variables + start)
            rows[self._place[i]] = np.maximum(rows[self._place[i]], of_rows + start)
            start += p.K + 1
        rows[self.link_starts[0] : self.link_starts[1]] = start
        return np.concatenate(variables), rows

    # ------------------------------------------------------------ values and derivatives

    def objective(self, z: np.ndarray) -> float:
        """Return the cost of all phases."""
        return sum(p.objective(own) for p, own in zip(self.phases, self.parts(z), strict=True))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """∂cost/∂z."""
        if self._single is not None:
            return self._single.gradient(z)
        return np.concatenate([p.gradient(own) for p, own in zip(self.phases, self.parts(z), strict=True)])

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return all rows."""
        if self._single is not None:
            return self._single.constraints(z)
        found = np.zeros(self.rows)
        for i, (p, own) in enumerate(zip(self.phases, self.parts(z), strict=True)):
            np.add.at(found, self._place[i], self._sign[i] * p.constraints(own))
        return found

    @cached_property
    def _jacobian(self) -> tuple[SparsePlaces, list[np.ndarray]]:
        rows, columns, signs = [], [], []
        for i, p in enumerate(self.phases):
            own_rows, own_columns = p.jacobian_places
            rows.append(self._place[i][own_rows])
            columns.append(own_columns + self.starts[i])
            signs.append(self._sign[i][own_rows])
        shape = (max(self.rows, 1), self.size)
        return SparsePlaces(np.concatenate(rows), np.concatenate(columns), shape), signs

    @property
    def jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the Jacobian of constraints."""
        if self._single is not None:
            return self._single.jacobian_places
        return self._jacobian[0].rows, self._jacobian[0].columns

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """Values of the elements of the Jacobian of constraints."""
        if self._single is not None:
            return self._single.jacobian(z)
        places, signs = self._jacobian
        each = zip(self.phases, self.parts(z), signs, strict=True)
        return places.sum(np.concatenate([sign * p.jacobian(own) for p, own, sign in each]))

    @cached_property
    def hessian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the lower triangle of the Hessian."""
        each = [p.hessian_places for p in self.phases]
        rows = [rows + start for (rows, _), start in zip(each, self.starts, strict=False)]
        columns = [columns + start for (_, columns), start in zip(each, self.starts, strict=False)]
        return np.concatenate(rows), np.concatenate(columns)

    def hessian(self, z: np.ndarray, multipliers: np.ndarray, cost: float = 1.0) -> np.ndarray:
        """Values of the elements of ∂²(cost · objective + multipliers · constraints)/∂z²."""
        if self._single is not None:
            return self._single.hessian(z, multipliers, cost)
        return np.concatenate([
            p.hessian(own, sign * multipliers[place], cost)
            for p, own, place, sign in zip(self.phases, self.parts(z), self._place, self._sign, strict=True)
        ])  # fmt: skip

    # ------------------------------------------------------------ bounds

    def limits(self, each: Sequence[Limits]) -> Limits:
        """Return the bounds of all phases; links are equations."""
        links = np.zeros(self.rows - int(self.row_starts[-1]))
        low, high, row_low, row_high = (
            [getattr(part, name) for part in each] for name in Limits.__match_args__
        )
        return Limits(
            np.concatenate(low), np.concatenate(high),
            np.concatenate([*row_low, links]), np.concatenate([*row_high, links]),
        )  # fmt: skip
