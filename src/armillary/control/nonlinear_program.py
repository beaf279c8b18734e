"""A collocated problem as a sparse nonlinear program, with exact first and second derivatives.

    z = [states of all points, inputs of all points, unknown parameters, duration]

    minimise  T Σ b_k L_k + φ(x_0, …) + φ(x_N, …)
    subject to  E X − T W F = 0,  path constraints at all points,  conditions at both ends

X are the states and F the rates of all points, T the duration; E and W are the mesh's matrices of differences
and of integration, b its weights, L the running cost, φ the costs of the ends.
Compiled loops evaluate the functions at all points; rows and matrices are sums of their values with constant
coefficients (``point_values.py``).

The phases of a motion form one program: each phase has its variables and rows, and links connect phases,

    departures of a phase − arrivals of the next = 0

where departures are values at the end of a phase, and arrivals are values at the start of the next phase. The
departures determine the arrivals. If the first phase has arrivals, they are linked to the end of the last
phase: the motion is periodic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.control.knot_functions import KnotFunctions
from armillary.control.point_values import Numbers, PointValues, SparsePlaces, SparseSums, Terms
from armillary.control.scheme import Mesh
from armillary.untyped import DataTable, Given


@dataclass(frozen=True, eq=False)
class Functions:
    """Compiled functions of a problem, with derivatives by [states x, inputs v, parameters p, time t].

    ``inside`` returns [rates, running cost, path constraints]; ``first`` and ``last`` return [cost,
    conditions, link] at the two ends.
    """

    inside: KnotFunctions
    first: KnotFunctions
    last: KnotFunctions
    states: int
    inputs: int
    unknowns: int
    path: int
    arrivals: int  # number of link values of ``first``, determined by the end of the phase before
    departures: int  # number of link values of ``last``, which determine the next phase's start
    input_places: tuple[int, ...]  # indices of the inputs in the memory
    memory: np.ndarray  # the model's memory, as one row
    parameters: DataTable

    def memory_rows(self, v: np.ndarray) -> np.ndarray:
        """Return a row of the model's memory for each row of inputs."""
        rows = np.tile(self.memory, (len(v), 1))
        rows[:, self.input_places] = v
        return rows


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of the variables and of the constraints; the two bounds of an equation are equal."""

    low: np.ndarray
    high: np.ndarray
    row_low: np.ndarray
    row_high: np.ndarray


class NonlinearProgram:
    """The program of one phase on one mesh.

    Rows: the defects E X − T W F point by point; the extrapolation of the first input, if the mesh has no
    node at the beginning; path constraints point by point; first and last conditions; and the link values
    (``PhasedProgram``).
    """

    def __init__(
        self,
        functions: Functions,
        mesh: Mesh,
        start_time: float,
        duration: float | None,
    ) -> None:
        self.f, self.mesh, self.t0, self.fixed = functions, mesh, start_time, duration
        f, K = functions, len(mesh.points)
        self.n, self.m, self.p, self.K = f.states, f.inputs, f.unknowns, K
        self.first_v, self.first_p = K * f.states, K * (f.states + f.inputs)
        self.last = self.first_p + f.unknowns  # index of the duration, if it is free
        self.size = self.last + (duration is None)
        self.defects = len(mesh.rates[0]) // mesh.collocated.shape[1] * self.n
        sizes = [
            self.defects, 0 if mesh.first_input is None else self.m, K * f.path,
            len(f.first.results) - 1 - f.arrivals, len(f.last.results) - 1 - f.departures,
            f.arrivals, f.departures,
        ]  # fmt: skip
        self.offsets = np.cumsum([0, *sizes])
        self.rows = int(self.offsets[-1])
        self._kept: dict[str, tuple[np.ndarray, Given]] = {}

    # ------------------------------------------------------------ places

    def duration(self, z: np.ndarray) -> float:
        """Return T."""
        return float(z[self.last]) if self.fixed is None else self.fixed

    def split(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states (points × states), inputs (points × inputs) and unknown parameters."""
        return (
            z[: self.first_v].reshape(self.K, self.n),
            z[self.first_v : self.first_p].reshape(self.K, self.m),
            z[self.first_p : self.last],
        )

    def join(self, x: np.ndarray, v: np.ndarray, p: np.ndarray, T: float) -> np.ndarray:
        """Return all variables as one vector."""
        return np.concatenate([x.ravel(), v.ravel(), p, [T] if self.fixed is None else []])

    def _once(self, name: str, z: np.ndarray, make: Callable[[], Given]) -> Given:
        """Return the result of ``make``, kept while the variables stay the same."""
        known = self._kept.get(name)
        if known is None or not (known[0] is z or np.array_equal(known[0], z)):
            # Copy an array that its owner may change, such as another solver's.
            known = self._kept[name] = (z.copy() if z.flags.writeable else z, make())
        return known[1]

    @cached_property
    def _points(self) -> PointValues:
        return PointValues(self)

    @cached_property
    def columns(self) -> np.ndarray:
        """Indices of variables, by point and by element of [x, v, p, t]; −1 for none."""
        k = np.arange(self.K)[:, None]
        x = k * self.n + np.arange(self.n)
        v = self.first_v + k * self.m + np.arange(self.m)
        p = np.broadcast_to(self.first_p + np.arange(self.p), (self.K, self.p))
        t = np.full((self.K, 1), self.last if self.fixed is None else -1)
        return np.hstack([x, v, p, t])

    @cached_property
    def chain(self) -> np.ndarray:
        """Derivatives of [x, v, p, t] by the variables of ``columns``: (t − t0)/T for the time, else 1."""
        found = np.ones_like(self.columns, dtype=float)
        found[:, -1] = self.mesh.points
        return found

    @cached_property
    def sequence(self) -> tuple[np.ndarray, np.ndarray]:
        """Group numbers of variables and rows by time; parameters, the duration and departures are last.

        Factors of matrices in this order fill in only near the diagonal and at the border. A group is an
        interval without its end; with each point as a group, more pivots are delayed, and the factors take a
        third more time.
        """
        K, last = self.K, self.mesh.intervals
        point = np.arange(K) // len(self.mesh.own)
        end = np.full(self.size - self.first_p, last + 1)
        variables = np.concatenate([np.repeat(point, self.n), np.repeat(point, self.m), end])
        own = np.repeat(np.arange(last), len(self.mesh.own) * self.n)
        o = np.diff(self.offsets)
        rows = [own, np.zeros(o[1], int), np.repeat(point, self.f.path), np.zeros(o[3], int)]
        rows += [np.full(o[4], last), np.zeros(o[5], int), np.full(o[6], last + 1)]
        return variables, np.concatenate(rows)

    @cached_property
    def end_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the results of ``first`` and ``last``; −1 for the cost."""
        o = self.offsets
        return (
            np.concatenate([[-1], np.arange(o[3], o[4]), np.arange(o[5], o[6])]),
            np.concatenate([[-1], np.arange(o[4], o[5]), np.arange(o[6], o[7])]),
        )

    # ------------------------------------------------------------ values

    def objective(self, z: np.ndarray) -> float:
        """Return the cost."""
        return float(self._rows_and_cost(z)[self.rows])

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return all rows."""
        return self._rows_and_cost(z)[: self.rows].copy()

    def _rows_and_cost(self, z: np.ndarray) -> np.ndarray:
        self._row_sums.run(self._points.fill_values(z))
        return self._row_sums.out

    @cached_property
    def _row_sums(self) -> SparseSums:
        """The sums for all rows, followed by the cost."""
        at, mesh, n, o = self._points, self.mesh, self.n, self.offsets
        terms, i, j = Terms(), np.arange(n), np.arange(self.m)
        er, ek, ev = (a[:, None] for a in mesh.differences)
        terms.add(er * n + i, at.z[ek * n + i], ev)
        wr, wk, w = (a[:, None] for a in mesh.rates)
        terms.add(wr * n + i, at.values[0][wk, i], timed=-w)
        if mesh.first_input is not None:
            own = mesh.collocated[0][:, None] * self.m + j
            terms.add(o[1] + j, at.z[self.first_v + j], 1.0)
            terms.add(o[1] + j, at.z[self.first_v + own], -mesh.first_input[:, None])
        path = np.arange(o[2], o[3]).reshape(self.K, self.f.path)
        terms.add(path, at.values[0][:, n + 1 :], 1.0)
        for rows, values in zip(self.end_rows, at.values[1:], strict=True):
            terms.add(np.where(rows < 0, self.rows, rows), values[0], 1.0)
        terms.add(self.rows, at.values[0][:, n], timed=mesh.weights)
        return SparseSums(terms, self.rows + 1, at.source)

    def rates(self, z: np.ndarray) -> np.ndarray:
        """Return the rates F at all points."""
        self._points.fill_values(z)
        found: np.ndarray = self._points.source[self._points.values[0][:, : self.n]]
        return found

    # ------------------------------------------------------------ first derivatives

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """Return ∂cost/∂z."""
        return self._gradient_sums(self._points.fill_slopes(z))

    @cached_property
    def _gradient_sums(self) -> SparseSums:
        f, at, weights, terms = self.f, self._points, self.mesh.weights, Terms()
        pattern = f.inside.jacobian_pattern
        own = pattern.rows == self.n
        by = pattern.columns[own]
        terms.add(self.columns[:, by], at.slopes[0][:, own], timed=weights[:, None] * self.chain[:, by])
        for functions, k, slopes in self._both_ends:
            own = functions.jacobian_pattern.rows == 0
            by = functions.jacobian_pattern.columns[own]
            terms.add(self.columns[k, by], slopes[own], self.chain[k, by])
        if self.fixed is None:
            terms.add(self.last, at.values[0][:, self.n], weights)
        return SparseSums(terms, self.size, at.source)

    @property
    def _both_ends(self) -> list[tuple[KnotFunctions, int, np.ndarray]]:
        """Functions of both ends, their points, and the indices of their Jacobians' elements."""
        _, first, last = self._points.slopes
        return [(self.f.first, 0, first[0]), (self.f.last, -1, last[0])]

    @cached_property
    def _jacobian_parts(self) -> tuple[SparsePlaces, SparseSums]:
        """The pattern of the Jacobian, and the sums for its elements."""
        f, n, mesh, o, at = self.f, self.n, self.mesh, self.offsets, self._points
        pattern = f.inside.jacobian_pattern
        terms, row_of = Terms(), self.size  # an element's key is row · size + column

        def add(rows: Numbers, columns: np.ndarray, *term: Numbers, **timed: Numbers) -> None:
            keys = np.where(columns < 0, -1, np.asarray(rows) * row_of + columns)
            terms.add(keys, *term, **timed)

        # Derivatives of the defects by way of the rates F.
        rate = pattern.rows < n
        r, by = pattern.rows[rate], pattern.columns[rate]
        wr, wk, w = (a[:, None] for a in mesh.rates)
        add(wr * n + r, self.columns[wk, by], at.slopes[0][wk, np.flatnonzero(rate)],
            timed=-w * self.chain[wk, by])  # fmt: skip
        if self.fixed is None:
            i = np.arange(n)
            add(wr * n + i, np.array(self.last), at.values[0][wk, i], -w)
        # Path constraints.
        path = pattern.rows > n
        r, by, k = pattern.rows[path] - n - 1, pattern.columns[path], np.arange(self.K)[:, None]
        add(o[2] + k * f.path + r, self.columns[:, by], at.slopes[0][:, path], self.chain[:, by])
        # Conditions at both ends.
        for rows, (functions, end, slopes) in zip(self.end_rows, self._both_ends, strict=True):
            own = functions.jacobian_pattern
            chosen = own.rows > 0
            by = own.columns[chosen]
            add(rows[own.rows[chosen]], self.columns[end, by], slopes[chosen], self.chain[end, by])
        # Elements that never change.
        er, ek, ev = (a[:, None] for a in mesh.differences)
        i = np.arange(n)
        add(er * n + i, ek * n + i, at.unit, ev)
        if mesh.first_input is not None:
            j = np.arange(self.m)
            add(o[1] + j, self.first_v + j, at.unit, 1.0)
            own = self.first_v + mesh.collocated[0][:, None] * self.m + j
            add(o[1] + j, own, at.unit, -mesh.first_input[:, None])
        keys = terms.arrays()[0]
        places = SparsePlaces(keys // row_of, keys % row_of, (max(self.rows, 1), self.size))
        return places, SparseSums(terms, len(places.rows), at.source, element=places.element)

    @property
    def jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the Jacobian of constraints."""
        places = self._jacobian_parts[0]
        return places.rows, places.columns

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """Return the values of the elements of the Jacobian of constraints."""
        return self._jacobian_parts[1](self._points.fill_slopes(z))

    # ------------------------------------------------------------ second derivatives

    @cached_property
    def _hessian_parts(self) -> tuple[SparsePlaces, SparseSums]:
        f, at, terms, row_of = self.f, self._points, Terms(), self.size

        def add(a: np.ndarray, b: np.ndarray, place: np.ndarray, factor: Numbers, other: Numbers = 0) -> None:
            lower = np.maximum(a, b) * row_of + np.minimum(a, b)
            terms.add(np.where((a < 0) | (b < 0), -1, lower), place, factor, other=other)

        everywhere = np.arange(self.K)[:, None]
        every = ((f.inside, everywhere), (f.first, np.zeros((1, 1), int)), (f.last, np.full((1, 1), -1)))
        for (functions, k), place in zip(every, at.curvatures, strict=True):
            r, c = functions.hessian_pattern.rows, functions.hessian_pattern.columns
            add(self.columns[k, r], self.columns[k, c], place, self.chain[k, r] * self.chain[k, c])
        if self.fixed is None:
            by, weights = f.inside.jacobian_pattern.columns, at.plain[:, f.inside.jacobian_pattern.rows]
            twice = np.where(by == self.columns.shape[1] - 1, 2.0, 1.0)  # the mixed term enters ∂²/∂T² twice
            columns = self.columns[:, by]
            add(columns, np.full_like(columns, self.last), at.slopes[0], twice * self.chain[:, by], weights)
        keys = terms.arrays()[0]
        places = SparsePlaces(keys // row_of, keys % row_of, (self.size, self.size))
        return places, SparseSums(terms, len(places.rows), at.source, element=places.element)

    @property
    def hessian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the lower triangle of the Hessian."""
        places, _ = self._hessian_parts
        return places.rows, places.columns

    def hessian(self, z: np.ndarray, multipliers: np.ndarray, cost: float = 1.0) -> np.ndarray:
        """Return the values of the elements of ∂²(cost · objective + multipliers · constraints)/∂z²."""
        return self._hessian_parts[1](self._points.fill_curvatures(z, multipliers, cost))


# ---------------------------------------------------------------------------------------- phases


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
        self._place: list[np.ndarray] = []  # rows of each phase in this program, and their signs
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
        """Group numbers by time; the link from the last to the first phase is last."""
        variables, rows, start = [], np.zeros(self.rows, dtype=int), 0
        for i, p in enumerate(self.phases):
            of_variables, of_rows = p.sequence
            variables.append(of_variables + start)
            rows[self._place[i]] = np.maximum(rows[self._place[i]], of_rows + start)
            start += p.mesh.intervals + 2
        rows[self.link_starts[0] : self.link_starts[1]] = start
        return np.concatenate(variables), rows

    # ------------------------------------------------------------ values and derivatives

    def objective(self, z: np.ndarray) -> float:
        """Return the cost of all phases."""
        return sum(p.objective(own) for p, own in zip(self.phases, self.parts(z), strict=True))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """Return ∂cost/∂z."""
        if self._single is not None:
            return self._single.gradient(z)
        return np.concatenate([p.gradient(own) for p, own in zip(self.phases, self.parts(z), strict=True)])

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return all rows."""
        if self._single is not None:
            return self._single.constraints(z)
        each = [p.constraints(own) for p, own in zip(self.phases, self.parts(z), strict=True)]
        place, sign = self._all_places
        return np.bincount(place, weights=sign * np.concatenate(each), minlength=self.rows)

    @cached_property
    def _all_places(self) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate(self._place), np.concatenate(self._sign)

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
        """Return the values of the elements of the Jacobian of constraints."""
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
        """Return the values of the elements of ∂²(cost · objective + multipliers · constraints)/∂z²."""
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
