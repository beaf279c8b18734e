"""The embedded solver of sparse nonlinear programs: a primal-dual interior point with a filter.

    minimise f(z)  subject to  row_low ≤ c(z) ≤ row_high,  low ≤ z ≤ high

Inequalities get slacks; fixed variables are taken out; variables, rows and cost are scaled. Each step solves

    [H + Σ + δ_w I   Jᵀ    ] [d]      [∇φ + Jᵀ y]
    [J              −δ_c I ] [y⁺ − y] = −[c        ]

with factors L D Lᵀ (``symmetric_factors.py``). δ_w grows until the matrix has as many negative eigenvalues as
rows: then the step leads down, and no saddle is taken for a minimum. Where the line search fails, the
violation alone is made smaller (restoration).

Sources: Wächter and Biegler (2006), On the implementation of an interior-point filter line-search algorithm
for large-scale nonlinear programming, Mathematical Programming 106, 25–57, whose constants these are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armillary.control.scaled_program import ScaledProgram

Solve = Callable[[np.ndarray], np.ndarray]

_FRACTION = 0.99  # of the way to a bound that a step may take at most
_TINY = 1e-4  # of a step size, from which on there is restoration
_SIGMA = 1e10  # duals stay within this factor of those of the central path
_CORRECTIONS = 4  # second-order ones of a step that is refused


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a search: variables and multipliers in the program's units, and how it ended."""

    z: np.ndarray
    multipliers: np.ndarray
    iterations: int
    status: str  # "solved", "infeasible", "iterations", "interrupted", "no progress"
    violation: float
    optimality: float


@dataclass(eq=False)
class _State:
    x: np.ndarray  # free variables and slacks, scaled
    y: np.ndarray
    low: np.ndarray  # duals of bounds
    high: np.ndarray


class InteriorPoint:
    """One search on one program."""

    def __init__(self, program: ScaledProgram, tolerance: float, iterations: int, barrier: float) -> None:
        self.p, self.tolerance, self.most, self.mu = program, tolerance, iterations, barrier
        self.has_low, self.has_high = np.isfinite(program.low), np.isfinite(program.high)
        self.filter: list[tuple[float, float]] = []
        self.delta_w = 0.0
        self._measured: tuple[np.ndarray, np.ndarray, float, float, float, np.ndarray] | None = None

    # ------------------------------------------------------------ the search

    def solve(self, start: np.ndarray, multipliers: np.ndarray | None = None) -> Solution:
        """From a start, with multipliers of rows where they are known."""
        p = self.p
        x = self._inside(p.enter(start))
        s = _State(x, np.zeros(p.rows), np.zeros(len(x)), np.zeros(len(x)))
        s.low[self.has_low] = self.mu / (x - p.low)[self.has_low]
        s.high[self.has_high] = self.mu / (p.high - x)[self.has_high]
        s.y = p.enter_multipliers(multipliers) if multipliers is not None else self._first_multipliers(s)
        theta = float(np.abs(p.constraints(x)).sum())
        self.theta_max, self.theta_min = 1e4 * max(1.0, theta), 1e-4 * max(1.0, theta)
        best = (np.inf, s.x.copy(), s.y.copy())
        status, k = "iterations", 0
        try:
            for k in range(self.most + 1):
                errors = self._errors(s, 0.0)
                if errors[0] <= self.tolerance:
                    status = "solved"
                    break
                if errors[1] < best[0] or errors[1] <= self.tolerance:
                    best = (errors[1], s.x.copy(), s.y.copy())
                if k == self.most:
                    break
                while self._errors(s, self.mu)[0] <= 10 * self.mu and self.mu > self.tolerance / 10:
                    self.mu = max(self.tolerance / 10, min(0.2 * self.mu, self.mu**1.5))
                    self.filter = []
                if not self._iterate(s):
                    status = "infeasible" if self._errors(s, 0.0)[1] > self.tolerance else "no progress"
                    break
        except KeyboardInterrupt:
            status = "interrupted"
            s.x, s.y = best[1], best[2]
        errors = self._errors(s, 0.0)
        return Solution(p.leave(s.x), p.leave_multipliers(s.y), k, status, errors[1], errors[2])

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return a point between the bounds, away from them."""
        p = self.p
        width = p.high - p.low
        with np.errstate(invalid="ignore"):
            low = p.low + np.minimum(1e-2 * np.maximum(1.0, np.abs(p.low)), 1e-2 * width)
            high = p.high - np.minimum(1e-2 * np.maximum(1.0, np.abs(p.high)), 1e-2 * width)
        x = np.where(self.has_low, np.maximum(x, low), x)
        return np.where(self.has_high, np.minimum(x, high), x)

    def _first_multipliers(self, s: _State) -> np.ndarray:
        """Return the least-squares multipliers; zeros if they are huge or the matrix is singular."""
        g = self.p.gradient(s.x) - s.low + s.high
        solve, inertia = self.p.factor(None, np.ones(len(s.x)), 1e-10, at=s.x)
        if inertia.zero:
            return np.zeros(self.p.rows)
        y = -solve(np.concatenate([g, np.zeros(self.p.rows)]))[len(s.x) :]
        return y if np.max(np.abs(y), initial=0.0) <= 1e3 and np.isfinite(y).all() else np.zeros(self.p.rows)

    def _errors(self, s: _State, mu: float) -> tuple[float, float, float]:
        """Return the largest of all, of the constraints, and of the slope and complementarity."""
        if self._measured is None or self._measured[0] is not s.x or self._measured[1] is not s.y:
            self._measured = (s.x, s.y, *self._measure(s))
        _, _, c, slope, gap_scale, gaps = self._measured
        rest = max(slope, float(np.max(np.abs(gaps - mu), initial=0.0)) / gap_scale)
        return max(c, rest), c, rest

    def _measure(self, s: _State) -> tuple[float, float, float, np.ndarray]:
        """Return the largest violation and slope, and products of gaps and duals with their scale."""
        p = self.p
        slope = p.gradient(s.x) + p.transposed(s.x, s.y) - s.low + s.high
        c = float(np.max(np.abs(p.constraints(s.x)), initial=0.0))
        gaps = np.concatenate([
            (s.x - p.low)[self.has_low] * s.low[self.has_low],
            (p.high - s.x)[self.has_high] * s.high[self.has_high],
        ])  # fmt: skip
        bounded = s.low.sum() + s.high.sum()
        duals = np.abs(s.y).sum() + bounded
        scale = max(100.0, duals / max(len(s.y) + 2 * len(s.x), 1)) / 100
        gap_scale = max(100.0, bounded / max(2 * len(s.x), 1)) / 100
        return c, float(np.max(np.abs(slope), initial=0.0)) / scale, gap_scale, gaps

    def _barrier(self, x: np.ndarray) -> float:
        p = self.p
        with np.errstate(invalid="ignore", divide="ignore"):
            value = p.objective(x)
            value -= self.mu * float(np.log((x - p.low)[self.has_low]).sum())
            value -= self.mu * float(np.log((p.high - x)[self.has_high]).sum())
        return value if np.isfinite(value) else np.inf

    def _iterate(self, s: _State) -> bool:
        """One step; false where neither it nor the restoration makes progress."""
        p = self.p
        below = np.where(self.has_low, s.x - p.low, np.inf)
        above = np.where(self.has_high, p.high - s.x, np.inf)
        sigma = s.low / below + s.high / above
        slope = p.gradient(s.x) - self.mu / below + self.mu / above
        c = p.constraints(s.x)
        right = np.concatenate([slope + p.transposed(s.x, s.y), c])
        hessian = p.hessian(s.x, s.y)
        found = self._direction(s, hessian, sigma, right)
        if found is None:
            return self._restore(s)
        d, dy, solve = found
        dlow = np.where(self.has_low, self.mu / below - s.low - s.low / below * d, 0.0)
        dhigh = np.where(self.has_high, self.mu / above - s.high + s.high / above * d, 0.0)
        fraction = max(_FRACTION, 1 - self.mu)
        longest = min(_to_bound(below, d, fraction), _to_bound(above, -d, fraction))
        dual = min(_to_bound(s.low, dlow, fraction), _to_bound(s.high, dhigh, fraction))
        chosen = self._line_search(s, d, c, slope, longest, solve, right, fraction)
        if chosen is None:
            return self._restore(s)
        s.x, size = chosen
        s.y = s.y + size * dy
        s.low, s.high = s.low + dual * dlow, s.high + dual * dhigh
        self._keep_near_path(s)
        return True

    def _keep_near_path(self, s: _State) -> None:
        p = self.p
        for duals, gap, has in ((s.low, s.x - p.low, self.has_low), (s.high, p.high - s.x, self.has_high)):
            centre = self.mu / np.maximum(gap[has], 1e-300)
            duals[has] = np.clip(duals[has], centre / _SIGMA, centre * _SIGMA)

    def _direction(
        self, s: _State, hessian: np.ndarray, sigma: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Solve] | None:
        """Return the step, with as much regularisation as makes it lead down."""
        p, n = self.p, len(s.x)
        delta, tries, dual = 0.0, 0, 0.0
        while True:
            solve, inertia = p.factor(hessian, sigma + delta, dual)
            if inertia == (n, p.rows, 0):
                step = -solve(right)
                if np.isfinite(step).all():
                    self.delta_w = delta if delta else self.delta_w
                    return step[:n], step[n:], solve
            if inertia.negative < p.rows:  # rows depend on each other
                dual = 1e-8 * self.mu**0.25
            tries += 1
            if tries == 1:
                delta = max(1e-20, self.delta_w / 3) if self.delta_w else 1e-4
            else:
                delta *= 8.0 if self.delta_w else 100.0
            if delta > 1e40 or tries > 60:
                return None

    def _line_search(
        self,
        s: _State,
        d: np.ndarray,
        c: np.ndarray,
        slope: np.ndarray,
        longest: float,
        solve: Solve,
        right: np.ndarray,
        fraction: float,
    ) -> tuple[np.ndarray, float] | None:
        theta, phi = float(np.abs(c).sum()), self._barrier(s.x)
        rate = float(slope @ d)
        size = longest
        least = _TINY * min(1e-5, 1e-8 if rate >= 0 else 1e-5 * theta / max(-rate, 1e-300), 1.0) + 1e-14
        first = True
        while size > least:
            x = s.x + size * d
            accepted, added = self._accepts(x, theta, phi, rate, size)
            if accepted:
                if added:
                    self.filter.append(((1 - 1e-5) * theta, phi - 1e-5 * theta))
                return x, size
            if first and float(np.abs(self.p.constraints(x)).sum()) >= theta:
                corrected = self._correct(s, d, c, theta, phi, rate, size, solve, right, fraction)
                if corrected is not None:
                    return corrected, size
            first = False
            size *= 0.5
        return None

    def _correct(
        self,
        s: _State,
        d: np.ndarray,
        c: np.ndarray,
        theta: float,
        phi: float,
        rate: float,
        size: float,
        solve: Solve,
        right: np.ndarray,
        fraction: float,
    ) -> np.ndarray | None:
        """Replace a refused step by second-order corrections; `None` if none of them is accepted."""
        p, n = self.p, len(s.x)
        soc = size * c + p.constraints(s.x + size * d)
        before = theta
        for _ in range(_CORRECTIONS):
            step = -solve(np.concatenate([right[:n], soc]))[:n]
            below = np.where(self.has_low, s.x - p.low, np.inf)
            above = np.where(self.has_high, p.high - s.x, np.inf)
            longest = min(_to_bound(below, step, fraction), _to_bound(above, -step, fraction))
            x = s.x + longest * step
            now = float(np.abs(p.constraints(x)).sum())
            accepted, added = self._accepts(x, theta, phi, rate, size)
            if accepted:
                if added:
                    self.filter.append(((1 - 1e-5) * theta, phi - 1e-5 * theta))
                return x
            if not now <= 0.99 * before:
                return None
            before = now
            soc = longest * soc + p.constraints(x)
        return None

    def _accepts(
        self, x: np.ndarray, theta: float, phi: float, rate: float, size: float
    ) -> tuple[bool, bool]:
        """Return whether the filter takes a point, and whether the old one joins the filter."""
        now = float(np.abs(self.p.constraints(x)).sum())
        if not np.isfinite(now) or now > self.theta_max:
            return False, False
        value = self._barrier(x)
        if any(now >= t and value >= f for t, f in self.filter):
            return False, False
        slack = 10 * np.finfo(float).eps * max(abs(phi), 1.0)
        switching = rate < 0 and size * (-rate) ** 2.3 > theta**1.1
        if theta <= self.theta_min and switching:
            return bool(value <= phi + 1e-8 * size * rate + slack), False
        better = now <= (1 - 1e-5) * theta or value <= phi - 1e-5 * theta + slack
        return bool(better), True

    # ------------------------------------------------------------ restoration

    def _restore(self, s: _State) -> bool:
        """Make the violation smaller, near the point, until the filter takes the result; false where its
        least value is not small.
        """
        p = self.p
        theta = float(np.abs(p.constraints(s.x)).sum())
        if theta <= self.tolerance * 1e-2:
            return False
        self.filter.append(((1 - 1e-5) * theta, self._barrier(s.x) - 1e-5 * theta))
        x, damping, n = s.x.copy(), 1e-4, len(s.x)
        weight = np.sqrt(self.mu) / np.maximum(1.0, np.abs(s.x)) ** 2
        for _ in range(100):
            c = p.constraints(x)
            size = float(c @ c)
            below = np.where(self.has_low, x - p.low, np.inf)
            above = np.where(self.has_high, p.high - x, np.inf)
            barrier = self.mu / below**2 + self.mu / above**2
            moved = False
            while damping < 1e12:
                solve, inertia = p.factor(None, weight + barrier + damping, 1e-8, at=x)
                if inertia.zero:
                    damping *= 10
                    continue
                d = -solve(np.concatenate([np.zeros(n), c]))[:n]
                reach = min(_to_bound(below, d, 0.99), _to_bound(above, -d, 0.99))
                trial = x + reach * d
                found = p.constraints(trial)
                if np.isfinite(found).all() and float(found @ found) < (1 - 1e-4 * reach) * size:
                    x, moved = trial, True
                    damping = max(damping / 5, 1e-12)
                    break
                damping *= 10
            now = float(np.abs(p.constraints(x)).sum())
            if not moved:
                break
            if now <= 0.9 * theta and not any(now >= t and self._barrier(x) >= f for t, f in self.filter):
                s.x = x
                s.low = np.where(self.has_low, self.mu / np.where(self.has_low, x - p.low, 1.0), 0.0)
                s.high = np.where(self.has_high, self.mu / np.where(self.has_high, p.high - x, 1.0), 0.0)
                s.y = self._first_multipliers(s)
                return True
        s.x = x
        return False


def _to_bound(gap: np.ndarray, change: np.ndarray, fraction: float) -> float:
    """Return the part of a change that leaves 1 − fraction of each gap."""
    towards = change < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        longest = np.min(fraction * gap[towards] / -change[towards], initial=1.0)
    return float(longest)
