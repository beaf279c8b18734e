"""A nonlinear program as its solver sees it: fixed variables taken out, slacks for inequalities, scaled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armillary.control.nonlinear_program import Limits, PhasedProgram
from armillary.control.symmetric_factors import Inertia, SymmetricFactors

_STEEP = 100.0  # slopes of scaled rows and of the scaled cost are at most this at the start

_REFINEMENTS, _EXACT = 2, 1e-14  # of solutions at most, and the residual that needs none


class ScaledProgram:
    """Variables x = [free variables / scale, slacks]; rows c(x) = 0."""

    def __init__(self, program: PhasedProgram, limits: Limits, scale: np.ndarray, start: np.ndarray) -> None:
        self.program, self.limits = program, limits
        self._kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        fixed = limits.low == limits.high
        self.free = np.flatnonzero(~fixed)
        self.base = np.where(fixed, limits.low, 0.0)
        self.scale = scale[self.free]
        self.slacked = np.flatnonzero(limits.row_low != limits.row_high)
        self.rows = program.rows
        jr, jc = program.jacobian_places
        column = np.full(program.size, -1)
        column[self.free] = np.arange(len(self.free))
        self._j_keep = column[jc] >= 0
        self._jr, self._jc = jr[self._j_keep], column[jc[self._j_keep]]
        hr, hc = program.hessian_places
        self._h_keep = (column[hr] >= 0) & (column[hc] >= 0)
        self._hr, self._hc = column[hr[self._h_keep]], column[hc[self._h_keep]]
        self.row_scale, self.cost_scale = np.ones(self.rows), 1.0
        whole = self.whole(np.concatenate([(start / scale)[self.free], np.zeros(len(self.slacked))]))
        steep = np.zeros(max(self.rows, 1))
        J = np.abs(program.jacobian(whole)[self._j_keep]) * self.scale[self._jc]
        np.maximum.at(steep, self._jr, J)
        self.row_scale = 1.0 / np.maximum(1.0, steep[: self.rows] / _STEEP)
        slope = np.abs(program.gradient(whole)[self.free] * self.scale)
        self.cost_scale = 1.0 / max(1.0, float(np.max(slope, initial=0.0)) / _STEEP)
        row_low, row_high = limits.row_low[self.slacked], limits.row_high[self.slacked]
        own = self.row_scale[self.slacked]
        self.low = np.concatenate([limits.low[self.free] / self.scale, row_low * own])
        self.high = np.concatenate([limits.high[self.free] / self.scale, row_high * own])
        self._target = np.where(limits.row_low == limits.row_high, limits.row_low, 0.0)
        self._relax()
        self._prepare()

    def _relax(self) -> None:
        """Bounds a little wider, so that there is an inside."""
        self.low = self.low - 1e-8 * np.maximum(1.0, np.abs(self.low))
        self.high = self.high + 1e-8 * np.maximum(1.0, np.abs(self.high))

    # ------------------------------------------------------------ in and out

    def whole(self, x: np.ndarray) -> np.ndarray:
        """Variables of the program, read-only: one array for all values and derivatives at one point."""

        def make() -> np.ndarray:
            z = self.base.copy()
            z[self.free] = x[: len(self.free)] * self.scale
            z.setflags(write=False)
            return z

        return self._once("whole", x, make)

    def enter(self, z: np.ndarray) -> np.ndarray:
        """Scaled variables and slacks at variables of the program."""
        x = z[self.free] / self.scale
        rows = self.program.constraints(np.where(self.limits.low == self.limits.high, self.base, z))
        return np.concatenate([x, (rows * self.row_scale)[self.slacked]])

    def leave(self, x: np.ndarray) -> np.ndarray:
        """Variables of the program, within their bounds."""
        return np.asarray(np.clip(self.whole(x), self.limits.low, self.limits.high))

    def enter_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the scaled rows from the multipliers of the program's rows."""
        return y / self.row_scale * self.cost_scale

    def leave_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the program's rows from the multipliers of the scaled rows."""
        return y * self.row_scale / self.cost_scale

    # ------------------------------------------------------------ values

    def _once(self, name: str, x: np.ndarray, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What belongs to the last point; a search makes a new array for each point."""
        known = self._kept.get(name)
        if known is None or known[0] is not x:
            known = self._kept[name] = (x, make())
        return known[1]

    def objective(self, x: np.ndarray) -> float:
        """Return the scaled cost."""
        cost = self._once("cost", x, lambda: np.array(self.program.objective(self.whole(x))))
        return self.cost_scale * float(cost)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Gradient of the scaled cost by the scaled variables and slacks."""

        def make() -> np.ndarray:
            own = self.program.gradient(self.whole(x))[self.free] * self.scale * self.cost_scale
            return np.concatenate([own, np.zeros(len(self.slacked))])

        return self._once("gradient", x, make)

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Rows, zero where they hold."""

        def make() -> np.ndarray:
            c: np.ndarray = (self.program.constraints(self.whole(x)) - self._target) * self.row_scale
            c[self.slacked] -= x[len(self.free) :]
            return c

        return self._once("rows", x, make)

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        def make() -> np.ndarray:
            values = self.program.jacobian(self.whole(x))[self._j_keep]
            return np.asarray(values * self.scale[self._jc] * self.row_scale[self._jr])

        return self._once("jacobian", x, make)

    def transposed(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Jᵀ y."""
        own = np.bincount(self._jc, weights=self._jacobian(x) * y[self._jr], minlength=len(self.free))
        self._last = x
        return np.concatenate([own, -y[self.slacked]])

    def hessian(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Elements of the lower triangle of the Hessian of the scaled Lagrangian."""
        self._last = x
        values = self.program.hessian(self.whole(x), y * self.row_scale, self.cost_scale)[self._h_keep]
        return np.asarray(values * self.scale[self._hr] * self.scale[self._hc])

    def _prepare(self) -> None:
        """Places of all elements in the matrix of a step, column by column."""
        n, m, k = len(self.free) + len(self.slacked), self.rows, len(self.free)
        off = self._hr != self._hc
        s = np.arange(len(self.slacked))
        upper = (np.concatenate([self._jc, k + s]), n + np.concatenate([self._jr, self.slacked]))
        rows = [self._hr, self._hc[off], np.arange(n), n + np.arange(m), upper[0], upper[1]]
        columns = [self._hc, self._hr[off], np.arange(n), n + np.arange(m), upper[1], upper[0]]
        self._off, self._order = off, n + m
        variable_keys, row_keys = self.program.sequence
        keys = np.concatenate([variable_keys[self.free], row_keys[self.slacked], row_keys])
        _, group = np.unique(np.floor(keys), return_inverse=True)
        place = np.concatenate(columns) * self._order + np.concatenate(rows)
        places, self._inverse = np.unique(place, return_inverse=True)
        self._indices = (places % self._order).astype(np.int32)
        self._starts = np.searchsorted(places // self._order, np.arange(self._order + 1)).astype(np.int32)
        self._lower = places % self._order >= places // self._order
        below = places[self._lower]
        self._factors = SymmetricFactors(below % self._order, below // self._order, group)

    def factor(
        self, hessian: np.ndarray | None, diagonal: np.ndarray, dual: float, at: np.ndarray | None = None
    ) -> tuple[Callable[[np.ndarray], np.ndarray], Inertia]:
        """Return a function that solves with the matrix of a step, and the signs of its eigenvalues."""
        from scipy.sparse import csc_matrix

        h = np.zeros(len(self._hr)) if hessian is None else hessian
        J = np.concatenate([self._jacobian(self._last if at is None else at), -np.ones(len(self.slacked))])
        values = np.concatenate([h, h[self._off], diagonal, np.full(self.rows, -dual), J, J])
        data = np.bincount(self._inverse, weights=values, minlength=len(self._indices))
        factors = self._factors
        inertia = factors.factor(data[self._lower])
        matrix = csc_matrix((data, self._indices, self._starts), shape=(self._order, self._order))

        def solve(right: np.ndarray) -> np.ndarray:
            found = factors.solve(right)
            size = float(np.max(np.abs(right), initial=0.0))
            for _ in range(_REFINEMENTS):
                rest = right - matrix @ found
                if float(np.max(np.abs(rest), initial=0.0)) <= _EXACT * size:
                    break
                found = found + factors.solve(rest)
            return found

        return solve, inertia
