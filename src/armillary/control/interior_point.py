"""The embedded solver of sparse nonlinear programs: a primal-dual interior point with a filter.

    minimise f(z)  subject to  row_low ≤ c(z) ≤ row_high,  low ≤ z ≤ high

Inequalities get slacks; fixed variables are removed; variables, rows and cost are scaled. Each step solves

    [H + Σ + δ_w I   Jᵀ    ] [d]      [∇φ + Jᵀ y]
    [J              −δ_c I ] [y⁺ − y] = −[c        ]

with factors L D Lᵀ (``symmetric_factors.py``). δ_w grows until the matrix has as many negative eigenvalues as
rows: then the step is a descent direction. If the line search fails, the restoration reduces the violation
(``elastic_program.py``).

Source: Wächter and Biegler (2006), On the implementation of an interior-point filter line-search algorithm
for large-scale nonlinear programming, Mathematical Programming 106, 25–57; most constants are from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.control.elastic_program import ElasticProgram
from armillary.control.scaled_program import ScaledProgram
from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
    whole_array,
)

# Vector operations of an iteration as compiled routines.
#
#     measure     violation, slope of the Lagrangian, products of gaps and duals
#     prepare     Σ, the slope of the barrier function, and the right-hand side of a step
#     aim         the step of the bounds' duals, and the longest steps that keep gaps and duals positive
#     move        a trial point, and its gaps
#     accept      take the trial point; keep duals near the central path
#
# The bounds are one list, first all lower and then all upper ones: ``bounded`` has their variables. A gap is
# the distance from a bound; gaps, duals and their steps have one number per bound.

SETTINGS = ("mu", "size", "fraction", "dual", "near")
FOUND = ("violation", "whole", "slope", "most", "least", "rows", "bounds", "longest", "dual", "rate")
LAYOUT = RoutineLayout(
    numbers=("variables", "rows", "free", "slacks", "elements", "lows", "bounds"),
    addresses=(
        *("settings", "found"),
        *("x", "y", "duals", "gradient", "jacobian", "c"),
        *("jacobian_rows", "jacobian_columns", "slacked", "bounded", "bound"),
        *("pulled", "rest", "sigma", "slope", "right"),
        *("step", "dual_step", "gaps", "trial", "trial_gaps"),
    ),
)


def text() -> str:
    """Return the LLVM text of all routines, ``armillary_interior_NAME(fields)``."""
    module = IRModule()
    for name, write in ROUTINES.items():
        f = routine(module, LAYOUT, f"interior_{name}", NOTHING, public=True)
        write(f)
        f.give()
    return str(module)


def _setting(f: Routine, name: str) -> Value:
    return f.vector("settings")[SETTINGS.index(name)]


def _put(f: Routine, name: str, value: Value) -> None:
    f.vector("found")[FOUND.index(name)] = value


def _each_bound(f: Routine, write: object) -> None:
    """Write a loop over lower bounds and one over upper bounds: ``write(b, variable, sign)``."""
    assert callable(write)
    for first, end, sign in ((f.whole(0), f["lows"], 1.0), (f["lows"], f["bounds"], -1.0)):
        with f.span(first, end) as b:
            write(b, f.index("bounded", b), sign)


def _find_gaps(f: Routine, point: str, gaps: str) -> None:
    x, found, bound = f.vector(point), f.vector(gaps), f.vector("bound")

    def write(b: Value, i: Value, sign: float) -> None:
        found[b] = sign * (x[i] - bound[b])

    _each_bound(f, write)


def _largest(f: Routine, count: Value, name: str) -> tuple[Value, Value]:
    """Return the largest magnitude in a vector, infinite if one is not finite, and the sum of magnitudes."""
    values, most, whole = f.vector(name), Local(f, f.real(0.0)), Local(f, f.real(0.0))
    with f.each(count) as i:
        size = f.magnitude(values[i])
        most.set(f.most(size, most.get()))
        whole.set(whole.get() + size)
    return f.choose(whole.get() < float("inf"), most.get(), float("inf")), whole.get()


def _measure(f: Routine) -> None:
    n, m = f["variables"], f["rows"]
    y, gradient, jacobian = f.vector("y"), f.vector("gradient"), f.vector("jacobian")
    pulled, rest, duals, gaps = f.vector("pulled"), f.vector("rest"), f.vector("duals"), f.vector("gaps")
    with f.each(n) as i:
        pulled[i] = 0.0
    with f.each(f["elements"]) as e:
        i = f.index("jacobian_columns", e)
        pulled[i] = pulled[i] + jacobian[e] * y[f.index("jacobian_rows", e)]
    with f.each(f["slacks"]) as s:
        pulled[f["free"] + s] = f.real(0.0) - y[f.index("slacked", s)]
    with f.each(n) as i:
        rest[i] = gradient[i] + pulled[i]
    _find_gaps(f, "x", "gaps")
    most, least = Local(f, f.real(float("-inf"))), Local(f, f.real(float("inf")))

    def bound(b: Value, i: Value, sign: float) -> None:
        rest[i] = rest[i] - sign * duals[b]
        product = gaps[b] * duals[b]
        most.set(f.most(product, most.get()))
        least.set(f.least(product, least.get()))

    _each_bound(f, bound)
    _put(f, "most", most.get())
    _put(f, "least", least.get())
    violation, whole = _largest(f, m, "c")
    _put(f, "violation", violation)
    _put(f, "whole", whole)
    _put(f, "slope", _largest(f, n, "rest")[0])
    _put(f, "rows", _largest(f, m, "y")[1])
    _put(f, "bounds", _largest(f, f["bounds"], "duals")[1])


def _prepare(f: Routine) -> None:
    n, mu = f["variables"], _setting(f, "mu")
    sigma, slope, gradient, right = (f.vector(v) for v in ("sigma", "slope", "gradient", "right"))
    duals, gaps, pulled, c = f.vector("duals"), f.vector("gaps"), f.vector("pulled"), f.vector("c")
    with f.each(n) as i:
        sigma[i] = 0.0
        slope[i] = gradient[i]

    def bound(b: Value, i: Value, sign: float) -> None:
        inverse = f.real(1.0) / gaps[b]
        sigma[i] = sigma[i] + duals[b] * inverse
        slope[i] = slope[i] - sign * mu * inverse

    _each_bound(f, bound)
    with f.each(n) as i:
        right[i] = slope[i] + pulled[i]
    with f.each(f["rows"]) as r:
        right[n + r] = c[r]


def _aim(f: Routine) -> None:
    """Emit: negate ``step``, which holds the solution of the linear system; find the duals' step."""
    n, mu, fraction = f["variables"], _setting(f, "mu"), _setting(f, "fraction")
    step, dual_step, gaps = f.vector("step"), f.vector("dual_step"), f.vector("gaps")
    duals, slope = f.vector("duals"), f.vector("slope")
    with f.each(n + f["rows"]) as i:
        step[i] = f.real(0.0) - step[i]
    longest, dual, rate = (Local(f, f.real(number)) for number in (1.0, 1.0, 0.0))

    def shorten(length: Local, gap: Value, change: Value) -> None:
        with f.when(change < 0.0):
            length.set(f.least(fraction * gap / (f.real(0.0) - change), length.get()))

    def bound(b: Value, i: Value, sign: float) -> None:
        change = sign * step[i]
        inverse = f.real(1.0) / gaps[b]
        dual_step[b] = mu * inverse - duals[b] - duals[b] * inverse * change
        shorten(longest, gaps[b], change)
        shorten(dual, duals[b], dual_step[b])

    _each_bound(f, bound)
    with f.each(n) as i:
        rate.set(rate.get() + slope[i] * step[i])
    for name, found in (("longest", longest), ("dual", dual), ("rate", rate)):
        _put(f, name, found.get())


def _move(f: Routine) -> None:
    x, step, trial, size = f.vector("x"), f.vector("step"), f.vector("trial"), _setting(f, "size")
    with f.each(f["variables"]) as i:
        trial[i] = x[i] + size * step[i]
    _find_gaps(f, "trial", "trial_gaps")


def _accept(f: Routine) -> None:
    """Emit: replace point, multipliers and duals by their values after the step."""
    x, y, trial, step = f.vector("x"), f.vector("y"), f.vector("trial"), f.vector("step")
    duals, dual_step, gaps = f.vector("duals"), f.vector("dual_step"), f.vector("gaps")
    n, size, dual = f["variables"], _setting(f, "size"), _setting(f, "dual")
    mu, near = _setting(f, "mu"), _setting(f, "near")
    with f.each(n) as i:
        x[i] = trial[i]
    with f.each(f["rows"]) as r:
        y[r] = y[r] + size * step[n + r]
    _find_gaps(f, "x", "gaps")
    with f.each(f["bounds"]) as b:
        centre = mu / f.most(gaps[b], 1e-300)
        moved = f.most(duals[b] + dual * dual_step[b], centre / near)
        duals[b] = f.least(moved, centre * near)


ROUTINES = {"measure": _measure, "prepare": _prepare, "aim": _aim, "move": _move, "accept": _accept}


@cache
def method() -> RoutineMethod:
    """Return the compiled routines, made once for all models."""
    names = [f"interior_{name}" for name in ROUTINES]
    return compiled_method("interior point", text, [Path(__file__)], names, of_all_models=True)


_FRACTION = 0.99  # longest step, relative to the distance from a bound
_TINY = 1e-4  # factor of the least step size, below which restoration begins
_SIGMA = 1e10  # bound on the ratio of duals to the duals of the central path
_COLD = 0.1  # least barrier parameter of a start far from the optimum, at which the duals begin with 1
_ROUNDING = 1e-12  # violation of scaled rows that may be rounding
_CORRECTIONS = 4  # most second-order corrections of a refused step
_RESTORED = 0.9  # share of the violation at which a restoration ends
_RESTORING = 300  # most iterations of a restoration
_FAR = 1e10  # size of a scaled variable beyond which the cost falls without limit


@dataclass(frozen=True, eq=False)
class Solution:
    """The end of a search: variables and multipliers in the program's units, status and errors."""

    z: np.ndarray
    multipliers: np.ndarray
    iterations: int
    status: str  # "solved", "infeasible", "iterations", "interrupted", "no progress", "unbounded"
    violation: float
    optimality: float


class _Point(NamedTuple):
    """A trial point: its variables, cost, rows, and the sums that the filter compares."""

    x: np.ndarray
    z: np.ndarray  # variables of the program
    cost: float
    c: np.ndarray
    theta: float  # violation, the sum of all magnitudes
    phi: float  # barrier function


class _Vectors:
    """The vectors of a search; they are never reallocated, since compiled routines have their addresses."""

    def __init__(self, p: ScaledProgram | ElasticProgram) -> None:
        n, m = p.size, p.rows
        lows, highs = np.flatnonzero(np.isfinite(p.low)), np.flatnonzero(np.isfinite(p.high))
        self.bounded = np.concatenate([lows, highs])
        self.bound = np.concatenate([p.low[lows], p.high[highs]])
        self.side = np.concatenate([np.ones(len(lows)), -np.ones(len(highs))])
        bounds = len(self.bounded)
        self.settings, self.found = np.zeros(len(SETTINGS)), np.zeros(len(FOUND))
        self.x, self.gradient, self.pulled, self.rest = (np.zeros(n) for _ in range(4))
        self.sigma, self.slope, self.trial = (np.zeros(n) for _ in range(3))
        self.y, self.c = np.zeros(m), np.zeros(m)
        self.jacobian = np.zeros(len(p.jacobian_rows))
        self.right, self.step = np.zeros(n + m), np.zeros(n + m)
        self.duals, self.dual_step, self.gaps, self.trial_gaps = (np.zeros(bounds) for _ in range(4))
        self._indices = {
            "jacobian_rows": whole_array(p.jacobian_rows), "slacked": whole_array(p.slacked),
            "jacobian_columns": whole_array(p.jacobian_columns), "bounded": whole_array(self.bounded),
        }  # fmt: skip
        arrays = {name: a for name, a in vars(self).items() if name in LAYOUT.addresses}
        fields = LAYOUT.fields({
            "variables": n, "rows": m, "free": len(p.free), "slacks": len(p.slacked),
            "elements": len(p.jacobian_rows), "lows": len(lows), "bounds": bounds, **arrays, **self._indices,
        })  # fmt: skip
        self._routines = {name: method().bind(f"interior_{name}", fields) for name in ROUTINES}

    def run(self, routine: str, **settings: float) -> dict[str, float]:
        """Set settings and call a routine; return the numbers of FOUND."""
        for name, value in settings.items():
            self.settings[SETTINGS.index(name)] = value
        self._routines[routine]()
        return dict(zip(FOUND, self.found.tolist(), strict=True))

    def gaps_at(self, x: np.ndarray) -> np.ndarray:
        """Return the distances from all bounds."""
        found: np.ndarray = self.side * (x[self.bounded] - self.bound)
        return found

    def longest(self, gaps: np.ndarray, step: np.ndarray, fraction: float) -> float:
        """Return the largest fraction of a step that leaves at least 1 − ``fraction`` of each gap."""
        change = self.side * step[self.bounded]
        towards = change < 0
        return float(np.min(fraction * gaps[towards] / -change[towards], initial=1.0))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the values of each variable's bounds."""
        return np.bincount(self.bounded, weights=values, minlength=len(self.x))


class InteriorPoint:
    """One search on one program."""

    def __init__(
        self,
        program: ScaledProgram | ElasticProgram,
        tolerance: float,
        iterations: int,
        barrier: float,
        is_enough: Callable[[np.ndarray], bool] | None = None,
    ) -> None:
        """The search may end with variables for which ``is_enough`` returns true."""
        self.p, self.tolerance, self.most, self.mu = program, tolerance, iterations, barrier
        self.is_enough = is_enough
        self.v = _Vectors(program)
        self.cost, self.z = 0.0, np.zeros(0)
        self.filter: list[tuple[float, float]] = []
        self.delta_w = 0.0

    # ------------------------------------------------------------ the search

    def solve(self, start: np.ndarray, multipliers: np.ndarray | None = None) -> Solution:
        """Search from a start, with multipliers of rows if they are known."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return self._solve(start, multipliers)

    def _solve(self, start: np.ndarray, multipliers: np.ndarray | None) -> Solution:
        p, v = self.p, self.v
        x = self._inside(p.enter(start))
        z = p.whole(x)
        self._go_to(_Point(x, z, *p.values(x, z), 0.0, 0.0))
        if multipliers is None and self.mu >= _COLD:
            v.duals[:] = 1.0
        v.y[:] = p.enter_multipliers(multipliers) if multipliers is not None else self._first_multipliers()
        theta = float(np.abs(v.c).sum())
        self.theta_max, self.theta_min = 1e4 * max(1.0, theta), 1e-4 * max(1.0, theta)
        best = (np.inf, v.x.copy(), v.y.copy())
        status, k = "iterations", 0
        try:
            for k in range(self.most + 1):
                measured = v.run("measure")
                errors = self._errors(measured, 0.0)
                if errors[0] <= self.tolerance or (k and self.is_enough and self.is_enough(v.x)):
                    status = "solved"
                    break
                if errors[1] < best[0] or errors[1] <= self.tolerance:
                    best = (errors[1], v.x.copy(), v.y.copy())
                if k == self.most:
                    break
                if np.max(np.abs(v.x), initial=0.0) > _FAR:
                    status = "unbounded"
                    break
                while self._errors(measured, self.mu)[0] <= 10 * self.mu and self.mu > self.tolerance / 10:
                    self.mu = max(self.tolerance / 10, min(0.2 * self.mu, self.mu**1.5))
                    self.filter = []
                if not self._iterate():
                    violation = float(np.max(np.abs(v.c), initial=0.0))
                    status = "infeasible" if violation > max(self.tolerance, _ROUNDING) else "no progress"
                    break
        except KeyboardInterrupt:
            status = "interrupted"
            v.x[:], v.y[:] = best[1], best[2]
            self.z = p.whole(v.x)
            v.c[:] = p.values(v.x, self.z)[1]
            v.gradient[:], v.jacobian[:] = p.slopes(self.z)
        errors = self._errors(v.run("measure"), 0.0)
        return Solution(p.leave(v.x), p.leave_multipliers(v.y), k, status, errors[1], errors[2])

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return a point between the bounds, away from them."""
        p = self.p
        width = p.high - p.low
        low = p.low + np.minimum(1e-2 * np.maximum(1.0, np.abs(p.low)), 1e-2 * width)
        high = p.high - np.minimum(1e-2 * np.maximum(1.0, np.abs(p.high)), 1e-2 * width)
        x = np.where(np.isfinite(p.low), np.maximum(x, low), x)
        return np.where(np.isfinite(p.high), np.minimum(x, high), x)

    def _go_to(self, point: _Point) -> None:
        """Make a point the current one, with duals of the central path."""
        v = self.v
        v.x[:], self.z, self.cost, v.c[:] = point.x, point.z, point.cost, point.c
        v.gradient[:], v.jacobian[:] = self.p.slopes(self.z)
        v.duals[:] = self.mu / v.gaps_at(v.x)

    def _first_multipliers(self) -> np.ndarray:
        """Return the least-squares multipliers; zeros if they are huge or the matrix is singular."""
        p, v = self.p, self.v
        g = v.gradient - v.spread(v.side * v.duals)
        if p.factor(v.jacobian, None, np.ones(p.size), 1e-10).zero:
            return np.zeros(p.rows)
        y = -p.solve(np.concatenate([g, np.zeros(p.rows)]))[p.size :]
        return y if np.max(np.abs(y), initial=0.0) <= 1e3 and np.isfinite(y).all() else np.zeros(p.rows)

    def _errors(self, measured: dict[str, float], mu: float) -> tuple[float, float, float]:
        """Return scaled errors: the largest, the violation, and the larger of slope and complementarity."""
        n, m = self.p.size, self.p.rows
        bounds = measured["bounds"]
        scale = max(100.0, (measured["rows"] + bounds) / max(m + 2 * n, 1)) / 100
        gap_scale = max(100.0, bounds / max(2 * n, 1)) / 100
        gap = max(measured["most"] - mu, mu - measured["least"], 0.0) / gap_scale
        rest = max(measured["slope"] / scale, gap)
        return max(measured["violation"], rest), measured["violation"], rest

    def _at(self, x: np.ndarray, gaps: np.ndarray) -> _Point:
        """Evaluate cost and rows at a point with these gaps."""
        z = self.p.whole(x)
        cost, c = self.p.values(x, z)
        theta = float(np.abs(c).sum())
        return _Point(x, z, cost, c, theta, self._barrier(cost, gaps))

    def _barrier(self, cost: float, gaps: np.ndarray) -> float:
        value = cost - self.mu * float(np.log(gaps).sum())
        return value if np.isfinite(value) else np.inf

    def _iterate(self) -> bool:
        """Make one step; return whether the step or a restoration succeeded."""
        p, v = self.p, self.v
        v.run("prepare", mu=self.mu)
        if not self._direction(p.hessian(self.z, v.y)):
            return self._restore()
        fraction = max(_FRACTION, 1 - self.mu)
        found = v.run("aim", mu=self.mu, fraction=fraction)
        chosen = self._line_search(found["longest"], found["rate"], fraction)
        if chosen is None:
            return self._restore()
        point, size = chosen
        v.trial[:], self.z, self.cost, v.c[:] = point.x, point.z, point.cost, point.c
        v.run("accept", size=size, dual=found["dual"], near=_SIGMA)
        v.gradient[:], v.jacobian[:] = p.slopes(self.z)
        return True

    def _direction(self, hessian: np.ndarray) -> bool:
        """Solve for the step's negative, ``v.step``, with enough regularisation for a descent direction.

        Return False if no regularisation is enough.
        """
        p, v = self.p, self.v
        delta, tries, dual = 0.0, 0, 0.0
        while True:
            inertia = p.factor(v.jacobian, hessian, v.sigma + delta, dual)
            if inertia == (p.size, p.rows, 0):
                v.step[:] = p.solve(v.right)
                if np.isfinite(v.step).all():
                    self.delta_w = delta if delta else self.delta_w
                    return True
            if inertia.negative < p.rows:  # rows depend on each other
                dual = 1e-8 * self.mu**0.25
            tries += 1
            if tries == 1:
                delta = max(1e-20, self.delta_w / 3) if self.delta_w else 1e-4
            else:
                delta *= 8.0 if self.delta_w else 100.0
            if delta > 1e40 or tries > 60:
                return False

    def _line_search(self, longest: float, rate: float, fraction: float) -> tuple[_Point, float] | None:
        v = self.v
        theta, phi = float(np.abs(v.c).sum()), self._barrier(self.cost, v.gaps)
        size = longest
        least = _TINY * min(1e-5, 1e-8 if rate >= 0 else 1e-5 * theta / max(-rate, 1e-300), 1.0) + 1e-14
        first = True
        while size > least:
            v.run("move", size=size)
            point = self._at(v.trial, v.trial_gaps)
            if self._accepts(point, theta, phi, rate, size):
                return point, size
            if first and point.theta >= theta:
                corrected = self._correct(point, theta, phi, rate, size, fraction)
                if corrected is not None:
                    return corrected, size
            first = False
            size *= 0.5
        return None

    def _correct(
        self, refused: _Point, theta: float, phi: float, rate: float, size: float, fraction: float
    ) -> _Point | None:
        """Replace a refused step by second-order corrections; `None` if none of them is accepted."""
        p, v, n = self.p, self.v, self.p.size
        soc = size * v.c + refused.c
        before = refused.theta
        for _ in range(_CORRECTIONS):
            step = -p.solve(np.concatenate([v.right[:n], soc]))[:n]
            longest = v.longest(v.gaps, step, fraction)
            x = v.x + longest * step
            point = self._at(x, v.gaps_at(x))
            if self._accepts(point, theta, phi, rate, size):
                return point
            if not point.theta <= 0.99 * before:
                return None
            before = point.theta
            soc = longest * soc + point.c
        return None

    def _accepts(self, point: _Point, theta: float, phi: float, rate: float, size: float) -> bool:
        """Return whether the filter accepts a point.

        If it accepts the point, but not because the barrier function falls enough (Armijo), the current point
        joins the filter.
        """
        now, value = point.theta, point.phi
        if not now <= self.theta_max or any(now >= t and value >= f for t, f in self.filter):
            return False
        slack = 10 * np.finfo(float).eps * max(abs(phi), 1.0)
        switching = rate < 0 and size * (-rate) ** 2.3 > theta**1.1
        if theta <= self.theta_min and switching:
            return bool(value <= phi + 1e-8 * size * rate + slack)
        if now <= (1 - 1e-5) * theta or value <= phi - 1e-5 * theta + slack:
            self.filter.append(((1 - 1e-5) * theta, phi - 1e-5 * theta))
            return True
        return False

    # ------------------------------------------------------------ restoration

    def _restore(self) -> bool:
        """Reduce the violation until the filter accepts the point; return False if that fails.

        Sums of violations and sums of their squares have different local minima, so both are tried.
        """
        v = self.v
        theta = float(np.abs(v.c).sum())
        if isinstance(self.p, ElasticProgram) or theta <= self.tolerance * 1e-2:
            return False
        self.filter.append(((1 - 1e-5) * theta, self._barrier(self.cost, v.gaps) - 1e-5 * theta))
        here = _Point(v.x.copy(), self.z, self.cost, v.c.copy(), theta, np.inf)
        found = [here]
        for reduce in (self._reduce_sum, self._reduce_squares):
            point = reduce(here)
            if self._is_restored(point, theta):
                self._go_to(point)
                v.y[:] = self._first_multipliers()
                return True
            found.append(point)
        self._go_to(min(found, key=lambda point: point.theta))
        return False

    def _is_restored(self, point: _Point, theta: float) -> bool:
        return point.theta <= _RESTORED * theta and not any(
            point.theta >= t and point.phi >= f for t, f in self.filter
        )

    def _reduce_sum(self, here: _Point) -> _Point:
        """Reduce the sum of violations by a search on the program whose rows may be violated."""
        p = self.p
        assert isinstance(p, ScaledProgram)
        found = here

        def is_enough(x: np.ndarray) -> bool:
            nonlocal found
            own = x[: p.size]
            found = self._at(own.copy(), self.v.gaps_at(own))
            return self._is_restored(found, here.theta)

        mu = max(self.mu, float(np.max(np.abs(here.c))))
        search = InteriorPoint(ElasticProgram(p, here.x, self.mu), self.tolerance, _RESTORING, mu, is_enough)
        assert isinstance(search.p, ElasticProgram)
        if search.solve(search.p.start(here.c, mu), np.zeros(p.rows)).status == "interrupted":
            raise KeyboardInterrupt
        return found if np.isfinite(found.phi) and np.isfinite(found.theta) else here

    def _reduce_squares(self, here: _Point) -> _Point:
        """Reduce the sum of squared violations, by damped Gauss-Newton steps."""
        p, v, n = self.p, self.v, self.p.size
        point, damping = here, 1e-4
        weight = np.sqrt(self.mu) / np.maximum(1.0, np.abs(here.x)) ** 2
        for _ in range(100):
            size = float(point.c @ point.c)
            gaps = v.gaps_at(point.x)
            near = weight + v.spread(self.mu / gaps**2)
            jacobian, moved = p.slopes(point.z)[1], False
            while damping < 1e12:
                if p.factor(jacobian, None, near + damping, 1e-8).zero:
                    damping *= 10
                    continue
                d = -p.solve(np.concatenate([np.zeros(n), point.c]))[:n]
                reach = v.longest(gaps, d, 0.99)
                trial = point.x + reach * d
                found = self._at(trial, v.gaps_at(trial))
                less = float(found.c @ found.c) < (1 - 1e-4 * reach) * size  # false if it is not finite
                if less and np.isfinite(found.phi):
                    point, moved = found, True
                    damping = max(damping / 5, 1e-12)
                    break
                damping *= 10
            if not moved:
                break
            if self._is_restored(point, here.theta):
                break
        return point
