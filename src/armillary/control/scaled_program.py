"""A nonlinear program in the solver's form: fixed variables removed, slacks for inequalities, scaled."""

from __future__ import annotations

import numpy as np

from armillary.control.nonlinear_program import Limits, PhasedProgram
from armillary.control.symmetric_factors import Inertia, SymmetricFactors

_STEEP = 100.0  # largest slope of scaled rows and of the scaled cost at the start
_FLAT = 1e-3  # costs with smaller slopes and curvatures are magnified: else any motion would count as optimal
_MOST = 1e5  # largest value of a magnified cost, whose rounding must stay far below tolerances


def scale_of_cost(program: PhasedProgram, limits: Limits, scale: np.ndarray, start: np.ndarray) -> float:
    """Return the factor of the cost, from its derivatives by the scaled free variables at the start.

    The Hessian is always evaluated: the search needs its functions anyway, which this prepares.
    """
    free = np.where(limits.low < limits.high, scale, 0.0)
    slope = float(np.max(np.abs(program.gradient(start) * free), initial=0.0))
    rows, columns = program.hessian_places
    bends = program.hessian(start, np.zeros(program.rows)) * free[rows] * free[columns]
    largest, value = float(np.max(np.abs(bends), initial=slope)), abs(program.objective(start))
    if 0 < largest < _FLAT:
        return min(1 / largest, _MOST / value) if value else 1 / largest
    return 1.0 / max(1.0, slope / _STEEP)


class ScaledProgram:
    """A program with the variables x = [free variables / scale, slacks] and the rows c(x) = 0."""

    def __init__(self, program: PhasedProgram, limits: Limits, scale: np.ndarray, start: np.ndarray) -> None:
        self.program, self.limits = program, limits
        fixed = limits.low == limits.high
        self.free = np.flatnonzero(~fixed)
        self.base = np.where(fixed, limits.low, 0.0)
        self.scale = scale[self.free]
        self.slacked = np.flatnonzero(limits.row_low != limits.row_high)
        self.rows, self.size = program.rows, len(self.free) + len(self.slacked)
        jr, jc = program.jacobian_places
        column = np.full(program.size, -1)
        column[self.free] = np.arange(len(self.free))
        self._j_keep = np.flatnonzero(column[jc] >= 0)
        self.jacobian_rows, self.jacobian_columns = jr[self._j_keep], column[jc[self._j_keep]]
        hr, hc = program.hessian_places
        self._h_keep = np.flatnonzero((column[hr] >= 0) & (column[hc] >= 0))
        self._hr, self._hc = column[hr[self._h_keep]], column[hc[self._h_keep]]
        whole = self.whole(np.concatenate([(start / scale)[self.free], np.zeros(len(self.slacked))]))
        steep = np.zeros(max(self.rows, 1))
        by_column = self.scale[self.jacobian_columns]
        np.maximum.at(steep, self.jacobian_rows, np.abs(program.jacobian(whole)[self._j_keep]) * by_column)
        self.row_scale = 1.0 / np.maximum(1.0, steep[: self.rows] / _STEEP)
        self._h_factor = self.scale[self._hr] * self.scale[self._hc]
        self.cost_scale = scale_of_cost(program, limits, scale, whole)
        self._j_factor = by_column * self.row_scale[self.jacobian_rows]
        self._g_factor = self.scale * self.cost_scale
        row_low, row_high = limits.row_low[self.slacked], limits.row_high[self.slacked]
        own = self.row_scale[self.slacked]
        self.low = np.concatenate([limits.low[self.free] / self.scale, row_low * own])
        self.high = np.concatenate([limits.high[self.free] / self.scale, row_high * own])
        self._target = np.where(limits.row_low == limits.row_high, limits.row_low, 0.0)
        self._relax()
        self._prepare()

    def _relax(self) -> None:
        """Widen the bounds a little, so that there are interior points."""
        self.low = self.low - 1e-8 * np.maximum(1.0, np.abs(self.low))
        self.high = self.high + 1e-8 * np.maximum(1.0, np.abs(self.high))

    # ------------------------------------------------------------ in and out

    def whole(self, x: np.ndarray) -> np.ndarray:
        """Return the variables of the program, as a read-only array."""
        z = self.base.copy()
        z[self.free] = x[: len(self.free)] * self.scale
        z.setflags(write=False)
        return z

    def enter(self, z: np.ndarray) -> np.ndarray:
        """Return scaled variables and slacks for variables of the program."""
        x = z[self.free] / self.scale
        rows = self.program.constraints(np.where(self.limits.low == self.limits.high, self.base, z))
        return np.concatenate([x, (rows * self.row_scale)[self.slacked]])

    def leave(self, x: np.ndarray) -> np.ndarray:
        """Return variables of the program, within their bounds."""
        return np.asarray(np.clip(self.whole(x), self.limits.low, self.limits.high))

    def enter_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the scaled rows from the multipliers of the program's rows."""
        return y / self.row_scale * self.cost_scale

    def leave_multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the program's rows from the multipliers of the scaled rows."""
        return y * self.row_scale / self.cost_scale

    # ------------------------------------------------------------ values

    def values(self, x: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the scaled cost, and the rows, which are zero where the constraints are met.

        z is ``whole(x)``.
        """
        c: np.ndarray = self.program.constraints(z)
        c -= self._target
        c *= self.row_scale
        c[self.slacked] -= x[len(self.free) :]
        return self.cost_scale * self.program.objective(z), c

    def slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the scaled cost, and the elements of the Jacobian of the scaled rows.

        The gradient is by scaled variables and slacks, the Jacobian only by scaled variables.
        """
        gradient = np.zeros(self.size)
        np.multiply(self.program.gradient(z)[self.free], self._g_factor, out=gradient[: len(self.free)])
        return gradient, self.program.jacobian(z)[self._j_keep] * self._j_factor

    def hessian(self, z: np.ndarray, y: np.ndarray, cost: float = 1.0) -> np.ndarray:
        """Return the elements of the lower triangle of the Hessian of the scaled Lagrangian.

        In this Lagrangian the scaled cost is multiplied by ``cost``.
        """
        values = self.program.hessian(z, y * self.row_scale, cost * self.cost_scale)
        return np.asarray(values[self._h_keep] * self._h_factor)

    # ------------------------------------------------------------ matrices of steps

    def _prepare(self) -> None:
        """Find the places of all elements in the matrix of a step."""
        n, m, k = self.size, self.rows, len(self.free)
        s, order = np.arange(len(self.slacked)), self.size + self.rows
        rows = [self._hr, n + self.jacobian_rows, n + self.slacked, np.arange(order)]
        columns = [self._hc, self.jacobian_columns, k + s, np.arange(order)]
        of_variables, of_rows = self.program.sequence
        groups = np.concatenate([of_variables[self.free], of_rows[self.slacked], of_rows])
        _, group = np.unique(groups, return_inverse=True)
        place = np.concatenate(columns) * order + np.concatenate(rows)
        places, inverse = np.unique(place, return_inverse=True)
        self._factors = SymmetricFactors(places % order, places // order, group)
        into = self._factors.place[inverse]
        cuts = np.cumsum([len(self._hr), len(self.jacobian_rows), len(self.slacked), n, m])
        self._into_h, self._into_j, self._into_s, self._into_x, self._into_y = np.split(into, cuts)[:5]

    def factor(
        self,
        jacobian: np.ndarray,
        hessian: np.ndarray | None,
        diagonal: np.ndarray,
        dual: float | np.ndarray,
    ) -> Inertia:
        """Factor the matrix of a step; return the signs of its eigenvalues.

        Elements are assigned, not added: no two elements of the Hessian, or of the Jacobian, share a place.
        """
        values = self._factors.values
        values[:] = 0.0
        if hessian is not None:
            values[self._into_h] = hessian
        values[self._into_j] = jacobian
        values[self._into_s] = -1.0
        values[self._into_x] += diagonal
        values[self._into_y] -= dual
        return self._factors.factor()

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution with the last factors."""
        return self._factors.solve(right)
