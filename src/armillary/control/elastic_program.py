"""The restoration phase of a search for an optimum: least violation of the constraints c(x) = 0.

    minimise ρ Σ (p + n) + ½ ζ ‖D (x − x_R)‖²   subject to  c(x) − p + n = 0,  p ≥ 0,  n ≥ 0,  bounds of x

x_R is the point where the search stopped, and the elements of c are called rows. The same interior-point
method solves this program (``interior_point.py``). In the matrix of its step the blocks Σ_p and Σ_n of p and
n are diagonal. They are eliminated, which adds 1/Σ_p + 1/Σ_n to the diagonal of the rows; so the matrix has
the same pattern as in the search itself.

Source: Wächter and Biegler (2006), On the implementation of an interior-point filter line-search algorithm,
section 3.3, from which ρ, ζ and the starting values of p and n are taken.
"""

from __future__ import annotations

import numpy as np

from armillary.control.scaled_program import ScaledProgram
from armillary.control.symmetric_factors import Inertia

_PENALTY = 1e3  # ρ


class ElasticProgram:
    """A scaled program whose rows may be violated at a cost; its variables are [x, p, n]."""

    def __init__(self, of: ScaledProgram, centre: np.ndarray, mu: float) -> None:
        n, m = of.size, of.rows
        self.of, self.rows, self.size = of, m, n + 2 * m
        self._x, self._p, self._n = slice(0, n), slice(n, n + m), slice(n + m, n + 2 * m)
        self.slacked = of.slacked
        self.free = of.free
        extra = np.arange(m)
        self.jacobian_rows = np.concatenate([of.jacobian_rows, extra, extra])
        self.jacobian_columns = np.concatenate([of.jacobian_columns, n + extra, n + m + extra])
        self._signs = np.concatenate([-np.ones(m), np.ones(m)])
        self.low = np.concatenate([of.low, np.zeros(2 * m)])
        self.high = np.concatenate([of.high, np.full(2 * m, np.inf)])
        self._centre, self._near = centre, np.sqrt(mu) / np.maximum(1.0, np.abs(centre)) ** 2

    def enter(self, x: np.ndarray) -> np.ndarray:
        """Return the variables unchanged: they are scaled already."""
        return x

    def leave(self, x: np.ndarray) -> np.ndarray:
        """Return the variables unchanged."""
        return x

    def enter_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers unchanged."""
        return y

    def leave_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers unchanged."""
        return y

    def whole(self, x: np.ndarray) -> np.ndarray:
        """Return the variables, as a read-only array."""
        z = x.copy()
        z.setflags(write=False)
        return z

    def start(self, c: np.ndarray, mu: float) -> np.ndarray:
        """Return the start [x_R, p, n]: p and n are optimal for the barrier parameter mu and the rows c."""
        half = (mu - _PENALTY * c) / (2 * _PENALTY)
        n = half + np.sqrt(half**2 + mu * c / (2 * _PENALTY))
        return np.concatenate([self._centre, c + n, n])

    def values(self, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cost and the values of the rows; z is ``whole(x)``."""
        own = z[self._x]
        _, c = self.of.values(own, self.of.whole(own))
        away = own - self._centre
        cost = _PENALTY * float(z[self._p].sum() + z[self._n].sum()) + 0.5 * float(self._near @ away**2)
        return cost, c - z[self._p] + z[self._n]

    def slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the cost, and the elements of the Jacobian."""
        own = z[self._x]
        gradient = np.full(self.size, _PENALTY)
        gradient[self._x] = self._near * (own - self._centre)
        return gradient, np.concatenate([self.of.slopes(self.of.whole(own))[1], self._signs])

    def hessian(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the elements of the Hessian of y·c; ``factor`` adds the Hessian of the cost."""
        return self.of.hessian(self.of.whole(z[self._x]), y, 0.0)

    def factor(
        self, jacobian: np.ndarray, hessian: np.ndarray | None, diagonal: np.ndarray, dual: float
    ) -> Inertia:
        """Factor the matrix of a step; return the signs of its eigenvalues."""
        self._price = diagonal[self._p], diagonal[self._n]
        own = jacobian[: len(jacobian) - 2 * self.rows]
        rows = dual + 1 / self._price[0] + 1 / self._price[1]
        found = self.of.factor(own, hessian, diagonal[self._x] + self._near, rows)
        return Inertia(found.positive + 2 * self.rows, found.negative, found.zero)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution [x, p, n, y] for a right-hand side, by the last factors."""
        by_p, by_n = self._price
        rest = right[self.size :] + right[self._p] / by_p - right[self._n] / by_n
        found = self.of.solve(np.concatenate([right[self._x], rest]))
        x, y = found[self._x], found[self._x.stop :]
        return np.concatenate([x, (right[self._p] + y) / by_p, (right[self._n] - y) / by_n, y])
