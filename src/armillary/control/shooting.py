"""Multiple shooting: states are variables only at the ends of intervals; RK4 integrates each interval.

    x_{i+1} − Φ(x_i, v_i, v_{i+1}, p, T) = 0        inputs are linear between the ends

RK4 with several steps per interval, for all intervals at once, computes Φ and the integral of the running
cost. First derivatives differentiate these steps, exactly to rounding. Second derivatives of λᵀΦ are a sum
over all stages,

    Σ Sᵀ ∂²(wᵀ T f)/∂(x, v, p, t, T)² S

with the sensitivities S of the stage's arguments and weights w from an adjoint pass.

Source: Bock and Plitt (1984), A multiple shooting algorithm for direct solution of optimal control problems,
Proc. 9th IFAC World Congress, 242–247.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.control.knot_functions import Knots
from armillary.control.nonlinear_program import Functions, NonlinearProgram
from armillary.control.point_values import SparsePlaces
from armillary.control.scheme import Mesh
from armillary.errors import ArmillaryError
from armillary.solver.methods import rk4

STEPS = 4  # RK4 steps in an interval


class ShootingMesh(Mesh):
    """A mesh of ends of intervals; W and the weights are zero, since RK4 integrates rates and cost."""

    @cached_property
    def weights(self) -> np.ndarray:
        """Zeros: no quadrature at the points."""
        return np.zeros(len(self.points))

    @cached_property
    def differences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E: the state at the end of each interval."""
        rows = np.arange(self.intervals)
        return rows, rows + 1, np.ones(self.intervals)

    @cached_property
    def rates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """W, which is zero: the rates at the points are not used."""
        rows, columns, values = super().rates
        return rows, columns, np.zeros(len(values))

    def states_between(self, x: np.ndarray, f: np.ndarray, T: float, places: np.ndarray) -> np.ndarray:
        """Return values of cubic polynomials through states and rates at both ends of each interval."""
        s, h = places[:, None], T * np.diff(self.ends)[:, None, None]
        a, b = x[:-1][:, None, :], x[1:][:, None, :]
        fa, fb = f[:-1][:, None, :], f[1:][:, None, :]
        first, last = (1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s)
        found: np.ndarray = first * a + last * b + h * (s * (1 - s) ** 2 * fa - s**2 * (1 - s) * fb)
        return found


@dataclass(frozen=True, eq=False)
class _Stage:
    """One stage of a step for all intervals: its arguments, values and derivatives."""

    at: Knots
    step: np.ndarray  # share of the duration that one step takes, by interval
    values: np.ndarray  # rates and running cost
    slopes: np.ndarray  # by [x, v, p, t]
    arguments: np.ndarray  # ∂[x, v, p, t]/∂(variables of the interval)


class ShootingProgram(NonlinearProgram):
    """The program of one phase: terms at the points (`NonlinearProgram`) and terms of runs over intervals."""

    def __init__(
        self, functions: Functions, mesh: Mesh, start_time: float, duration: float | None, steps: int = STEPS
    ) -> None:
        super().__init__(functions, mesh, start_time, duration)
        self.steps = steps
        self._own = self.n + 2 * self.m + self.p + 1  # [x_i, v_i, v_{i+1}, p, T]

    @cached_property
    def _interval_columns(self) -> np.ndarray:
        """Indices of the variables of each interval; −1 in place of a duration that is fixed."""
        i = np.arange(self.mesh.intervals)[:, None]
        v = self.first_v + i * self.m + np.arange(2 * self.m)
        p = np.broadcast_to(self.first_p + np.arange(self.p), (len(i), self.p))
        T = np.full((len(i), 1), self.last if self.fixed is None else -1)
        return np.hstack([i * self.n + np.arange(self.n), v, p, T])

    # ------------------------------------------------------------ runs

    def end_states(self, z: np.ndarray, steps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return states and running cost at the end of each interval."""
        x, v, p = self.split(z)
        T, steps = self.duration(z), steps or self.steps
        h = np.diff(self.mesh.ends) / steps
        X, cost = x[:-1].copy(), np.zeros(len(h))
        for k in range(steps):
            total, added = np.zeros((len(h), self.n + 1)), np.zeros_like(X)
            for c, b, following in _stages():
                at = self._place(v, p, T, X + added, (k + c) / steps)
                values = self.f.inside.values(at, self.f.parameters)[:, : self.n + 1]
                total += b * values
                added = (T * following * h)[:, None] * values[:, : self.n]
            X, cost = X + (T * h)[:, None] * total[:, : self.n], cost + T * h * total[:, self.n]
        return X, cost

    def _place(self, v: np.ndarray, p: np.ndarray, T: float, x: np.ndarray, share: float) -> Knots:
        """Return the arguments of a stage at a given share of all intervals."""
        memory = self.f.memory_rows((1 - share) * v[:-1] + share * v[1:])
        tau = self.mesh.ends[:-1] + share * np.diff(self.mesh.ends)
        return Knots(self.t0 + T * tau, x, memory, np.broadcast_to(p, (len(x), self.p)))

    def _runs(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found: tuple[np.ndarray, np.ndarray] = self._once("runs", z, lambda: self.end_states(z))
        return found

    def _differentiated_runs(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[_Stage]]:
        """Return derivatives of end states and costs by the variables of each interval, and all stages."""
        found: tuple[np.ndarray, np.ndarray, list[_Stage]] = self._once(
            "sensitivities", z, lambda: self._differentiate(z)
        )
        return found

    def _differentiate(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[_Stage]]:
        x, v, p = self.split(z)
        T, n, m, q = self.duration(z), self.n, self.m, self.p
        h = np.diff(self.mesh.ends) / self.steps
        N, inside = len(h), self.f.inside
        X, dX = x[:-1].copy(), np.zeros((N, n, self._own))
        dX[:, :, :n] = np.eye(n)
        d_cost = np.zeros((N, self._own))
        stages: list[_Stage] = []
        for k in range(self.steps):
            total, d_total = np.zeros((N, n + 1)), np.zeros((N, n + 1, self._own))
            added, d_added = np.zeros_like(X), np.zeros_like(dX)
            for c, b, following in _stages():
                share = (k + c) / self.steps
                at = self._place(v, p, T, X + added, share)
                arguments = np.zeros((N, n + m + q + 1, self._own))
                arguments[:, :n] = dX + d_added
                arguments[:, n : n + m, n : n + m] = (1 - share) * np.eye(m)
                arguments[:, n : n + m, n + m : n + 2 * m] = share * np.eye(m)
                arguments[:, n + m : n + m + q, n + 2 * m : -1] = np.eye(q)
                arguments[:, -1, -1] = self.mesh.ends[:-1] + share * np.diff(self.mesh.ends)
                values = inside.values(at, self.f.parameters)[:, : n + 1]
                slopes = inside.dense_jacobian(at, self.f.parameters)[:, : n + 1]
                stages.append(_Stage(at, h, values, slopes, arguments))
                d_values = T * (slopes @ arguments)
                d_values[:, :, -1] += values  # the derivative of the factor T in T f
                total += b * values
                d_total += b * d_values
                added = (T * following * h)[:, None] * values[:, :n]
                d_added = (following * h)[:, None, None] * d_values[:, :n]
            X = X + (T * h)[:, None] * total[:, :n]
            dX = dX + h[:, None, None] * d_total[:, :n]
            d_cost = d_cost + h[:, None] * d_total[:, n]
        return dX, d_cost, stages

    # ------------------------------------------------------------ values and first derivatives

    def objective(self, z: np.ndarray) -> float:
        """Return the cost."""
        return super().objective(z) + float(self._runs(z)[1].sum())

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return all rows."""
        found = super().constraints(z)
        found[: self.defects] -= self._runs(z)[0].ravel()
        return found

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """Return ∂cost/∂z."""
        columns, slopes = self._interval_columns, self._differentiated_runs(z)[1]
        known = columns >= 0
        own = np.bincount(columns[known], weights=slopes[known], minlength=self.size)
        return super().gradient(z) + own

    @cached_property
    def _all_jacobian_places(self) -> tuple[SparsePlaces, np.ndarray]:
        rows, columns = super().jacobian_places
        own = np.arange(self.defects).reshape(-1, self.n, 1)
        shape = (*own.shape[:2], self._own)
        by = np.broadcast_to(self._interval_columns[:, None, :], shape).ravel()
        keep = by >= 0
        own = np.broadcast_to(own, shape).ravel()[keep]
        whole = np.concatenate([rows, own]), np.concatenate([columns, by[keep]])
        return SparsePlaces(*whole, (max(self.rows, 1), self.size)), keep

    @property
    def jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the Jacobian of constraints."""
        places = self._all_jacobian_places[0]
        return places.rows, places.columns

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """Return the values of the elements of the Jacobian of constraints."""
        places, keep = self._all_jacobian_places
        return places.sum(
            np.concatenate([super().jacobian(z), -self._differentiated_runs(z)[0].ravel()[keep]])
        )

    # ------------------------------------------------------------ second derivatives

    @cached_property
    def _all_hessian_places(self) -> tuple[SparsePlaces, np.ndarray]:
        rows, columns = super().hessian_places
        a, b = (x.ravel() for x in np.broadcast_arrays(
            self._interval_columns[:, :, None], self._interval_columns[:, None, :]
        ))  # fmt: skip
        keep = (b >= 0) & (a >= b)  # the lower triangle
        whole = np.concatenate([rows, a[keep]]), np.concatenate([columns, b[keep]])
        return SparsePlaces(*whole, (self.size, self.size)), keep

    @property
    def hessian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the lower triangle of the Hessian."""
        places = self._all_hessian_places[0]
        return places.rows, places.columns

    def hessian(self, z: np.ndarray, multipliers: np.ndarray, cost: float = 1.0) -> np.ndarray:
        """Return the values of the elements of ∂²(cost · objective + multipliers · constraints)/∂z²."""
        places, keep = self._all_hessian_places
        own = self._run_hessian(z, -multipliers[: self.defects].reshape(-1, self.n), cost)
        return places.sum(np.concatenate([super().hessian(z, multipliers, cost), own.ravel()[keep]]))

    def _run_hessian(self, z: np.ndarray, pull: np.ndarray, cost: float) -> np.ndarray:
        """Return ∂²(pull · end state + cost · ∫ cost)/∂(interval variables)², by an adjoint pass."""
        T, n, f = self.duration(z), self.n, self.f
        stages = self._differentiated_runs(z)[2]
        found = np.zeros((len(pull), self._own, self._own))
        table = _stages()
        for k in reversed(range(self.steps)):
            back = np.zeros_like(pull)  # derivative by the state at a stage
            passed = np.zeros_like(pull)
            for s in reversed(range(len(table))):
                stage, (_, b, following) = stages[k * len(table) + s], table[s]
                h = stage.step[:, None]
                weight = np.hstack([h * (b * pull + following * back), h * b * np.full((len(h), 1), cost)])
                slope = np.einsum("ir,ira->ia", weight, stage.slopes)
                back = T * slope[:, :n]
                passed += back
                whole = np.hstack([T * weight, np.zeros((len(h), f.path))])
                second = f.inside.dense_hessian(stage.at, whole, f.parameters)
                S = stage.arguments
                found += np.swapaxes(S, 1, 2) @ second @ S
                across = np.einsum("ia,iab->ib", slope, S)
                found[:, -1] += across
                found[:, :, -1] += across
            pull = pull + passed
        return found


def _stages() -> list[tuple[float, float, float]]:
    """Return node and weight of each stage of RK4, and the coefficient of its rates in the next stage."""
    c, b = rk4.TABLEAU.c, rk4.TABLEAU.b
    return [(c[s], b[s], c[s + 1] if s + 1 < len(c) else 0.0) for s in range(len(c))]


def run_errors(program: ShootingProgram, z: np.ndarray) -> np.ndarray:
    """Return Richardson's error estimate (order 4) for each interval, from twice as many steps.

    The error of an interval is the largest error of a state, relative to the size of this state.
    """
    once, twice = (program.end_states(z, steps)[0] for steps in (program.steps, 2 * program.steps))
    sizes = 1.0 + np.abs(program.split(z)[0]).max(axis=0)
    found: np.ndarray = (np.abs(once - twice) * 16 / 15 / sizes).max(axis=1)
    return np.where(np.isfinite(found), found, np.inf)


def uniform_mesh(method: str, intervals: int) -> Mesh:
    """Return a mesh of equal intervals."""
    if intervals < 1:
        raise ArmillaryError("a mesh needs at least one interval")
    kind = ShootingMesh if method == "multiple shooting" else Mesh
    return kind(method, np.linspace(0.0, 1.0, intervals + 1))


def make_program(
    functions: Functions, mesh: Mesh, start_time: float, duration: float | None
) -> NonlinearProgram:
    """Return the program of one phase on a mesh."""
    kind = ShootingProgram if isinstance(mesh, ShootingMesh) else NonlinearProgram
    return kind(functions, mesh, start_time, duration)
