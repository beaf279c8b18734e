"""A collocated problem as a sparse nonlinear program, with exact first and second derivatives.

    z = [states of all points, inputs of all points, unknown parameters, duration]

    minimise  T Σ b_k L_k + φ(x_0, …) + φ(x_N, …)
    subject to  E X − T W F = 0,  path constraints at all points,  conditions at both ends

Functions of all points come from one compiled loop; here they are put into place by precomputed indices.

Phases of a motion make one program: each phase has its own, and links lead from one to the next,

    departures of a phase − arrivals of the next = 0

A first phase with arrivals follows from the last one: the motion repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.scheme import Mesh
from armillary.untyped import DataTable, Given, LibraryObject

_DENSE = 300  # points up to which products with a full matrix take less time than SciPy's with a sparse one


@dataclass(frozen=True, eq=False)
class Functions:
    """Compiled functions of a problem: ``inside`` gives [rates, running cost, path constraints] and ``first``
    and ``last`` give [cost, conditions, link] at the two ends. All are differentiated by [x, v, p, t].
    """

    inside: KnotFunctions
    first: KnotFunctions
    last: KnotFunctions
    states: int
    inputs: int
    unknowns: int
    path: int
    arrivals: int  # results of ``first`` that follow from the end of the phase before
    departures: int  # results of ``last`` from which the next phase begins
    input_places: tuple[int, ...]  # of the inputs in the memory
    memory: np.ndarray  # one row
    parameters: DataTable


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of the variables and of the constraints; the two bounds of an equation are equal."""

    low: np.ndarray
    high: np.ndarray
    row_low: np.ndarray
    row_high: np.ndarray


class SparsePlaces:
    """Elements of a sparse matrix, in which several contributions may meet."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> None:
        keys, self._inverse = np.unique(columns * shape[0] + rows, return_inverse=True)
        self.rows, self.columns = keys % shape[0], keys // shape[0]
        self.shape = shape

    def sum(self, values: np.ndarray) -> np.ndarray:
        """One value for each element."""
        return np.bincount(self._inverse, weights=values, minlength=len(self.rows))


class NonlinearProgram:
    """The program of one phase on one mesh. Rows: defects point by point, first input, path constraints point
    by point, first and last conditions, and the values that links compare (``PhasedProgram``).
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
        self.last = self.first_p + f.unknowns  # the duration, where it is free
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
        """T."""
        return float(z[self.last]) if self.fixed is None else self.fixed

    def split(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States, inputs and unknown parameters."""
        return (
            z[: self.first_v].reshape(self.K, self.n),
            z[self.first_v : self.first_p].reshape(self.K, self.m),
            z[self.first_p : self.last],
        )

    def join(self, x: np.ndarray, v: np.ndarray, p: np.ndarray, T: float) -> np.ndarray:
        """Return all variables."""
        return np.concatenate([x.ravel(), v.ravel(), p, [T] if self.fixed is None else []])

    def knots(self, z: np.ndarray, at: slice = slice(None)) -> Knots:
        """Return all points, or some, as places of compiled functions."""
        whole: Knots = self._once("knots", z, lambda: self._all_knots(z))
        if at == slice(None):
            return whole
        return Knots(whole.t[at], whole.states[at], whole.memory[at], whole.unknowns[at])

    def _all_knots(self, z: np.ndarray) -> Knots:
        x, v, p = self.split(z)
        memory = np.tile(self.f.memory, (len(x), 1))
        memory[:, self.f.input_places] = v
        t = self.t0 + self.duration(z) * self.mesh.points
        return Knots(t, x.copy(), memory, np.broadcast_to(p.copy(), (len(x), self.p)))

    def _once(self, name: str, z: np.ndarray, make: Callable[[], Given]) -> Given:
        """What belongs to the last variables: several values and derivatives need it."""
        known = self._kept.get(name)
        if known is None or not (known[0] is z or np.array_equal(known[0], z)):
            # An array that may change, such as another solver's, is not remembered itself.
            known = self._kept[name] = (z.copy() if z.flags.writeable else z, make())
        return known[1]

    def _inside_jacobian(self, z: np.ndarray) -> np.ndarray:
        f = self.f
        found: np.ndarray = self._once("slopes", z, lambda: f.inside.jacobian(self.knots(z), f.parameters))
        return found

    @cached_property
    def _columns(self) -> np.ndarray:
        """Variables by point and by what functions are differentiated by; −1 is none."""
        k = np.arange(self.K)[:, None]
        x = k * self.n + np.arange(self.n)
        v = self.first_v + k * self.m + np.arange(self.m)
        p = np.broadcast_to(self.first_p + np.arange(self.p), (self.K, self.p))
        t = np.full((self.K, 1), self.last if self.fixed is None else -1)
        return np.hstack([x, v, p, t])

    @cached_property
    def _chain(self) -> np.ndarray:
        """∂(what functions are differentiated by)/∂(variable): τ for the time, else 1."""
        found = np.ones_like(self._columns, dtype=float)
        found[:, -1] = self.mesh.points
        return found

    @cached_property
    def sequence(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys that put variables and rows in the order of time, what all points share last. Factors of
        matrices in this order fill in only near their diagonal and at their border.
        """
        point = np.arange(self.K, dtype=float)
        end = np.full(self.size - self.first_p, float(self.K))
        variables = np.concatenate([np.repeat(point, self.n), np.repeat(point, self.m), end])
        own = np.repeat(self.mesh.starts + 0.5, len(self.mesh.own) * self.n)
        o = np.diff(self.offsets)
        rows = [own, np.full(o[1], 0.5), np.repeat(point, self.f.path), np.zeros(o[3])]
        rows += [np.full(o[4], self.K - 1.0), np.zeros(o[5]), np.full(o[6], float(self.K))]
        return variables, np.concatenate(rows)

    # ------------------------------------------------------------ values

    def objective(self, z: np.ndarray) -> float:
        """Return the cost."""
        inside, first, last = self._values(z)
        running = self.duration(z) * float(self.mesh.weights @ inside[:, self.n])
        return running + float(first[0] + last[0])

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return all rows."""
        inside, first, last = self._values(z)
        x, v, _ = self.split(z)
        T, n = self.duration(z), self.n
        E, W = self._sparse
        parts = [(E @ x - T * (W @ inside[:, :n])).ravel()]
        if self.mesh.first_input is not None:
            parts.append(v[0] - self.mesh.first_input @ v[self.mesh.collocated[0]])
        a, b = len(first) - self.f.arrivals, len(last) - self.f.departures
        parts += [inside[:, n + 1 :].ravel(), first[1:a], last[1:b], first[a:], last[b:]]
        return np.concatenate(parts)

    def _values(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        f, parameters = self.f, self.f.parameters

        def make() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return (
                f.inside.values(self.knots(z), parameters),
                f.first.values(self.knots(z, slice(0, 1)), parameters)[0],
                f.last.values(self.knots(z, slice(-1, None)), parameters)[0],
            )

        found: tuple[np.ndarray, np.ndarray, np.ndarray] = self._once("values", z, make)
        return found

    def rates(self, z: np.ndarray) -> np.ndarray:
        """f at all points."""
        return self._values(z)[0][:, : self.n]

    @cached_property
    def _sparse(self) -> tuple[LibraryObject, LibraryObject]:
        """E and W."""
        from scipy.sparse import csr_matrix

        def mesh_matrix(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> LibraryObject:
            sparse = csr_matrix((values, (rows, columns)), shape=(self.defects // self.n, self.K))
            return sparse.toarray() if self.K <= _DENSE else sparse

        return mesh_matrix(*self.mesh.differences), mesh_matrix(*self.mesh.rates)

    # ------------------------------------------------------------ first derivatives

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """∂cost/∂z."""
        f, T, n = self.f, self.duration(z), self.n
        inside, _, _ = self._values(z)
        found = np.zeros(self.size)
        pattern, own = f.inside.jacobian_pattern, self._running
        values = self._inside_jacobian(z)[:, own]
        self._add(found, slice(None), pattern.columns[own], T * self.mesh.weights[:, None] * values)
        for functions, at in ((f.first, slice(0, 1)), (f.last, slice(-1, None))):
            own = functions.jacobian_pattern.rows == 0
            values = functions.jacobian(self.knots(z, at), f.parameters)[:, own]
            self._add(found, at, functions.jacobian_pattern.columns[own], values)
        if self.fixed is None:
            found[self.last] += self.mesh.weights @ inside[:, n]
        return found

    @cached_property
    def _running(self) -> np.ndarray:
        found: np.ndarray = self.f.inside.jacobian_pattern.rows == self.n
        return found

    def _add(self, found: np.ndarray, at: slice, by: np.ndarray, values: np.ndarray) -> None:
        columns = self._columns[at][:, by]
        known = columns >= 0
        shares = (values * self._chain[at][:, by])[known]
        found += np.bincount(columns[known], weights=shares, minlength=self.size)

    @cached_property
    def _jacobian_parts(self) -> tuple[SparsePlaces, np.ndarray, DataTable]:
        """Places of all elements in the order in which ``jacobian`` makes them, and the constant ones."""
        f, n, mesh, offsets = self.f, self.n, self.mesh, self.offsets
        pattern = f.inside.jacobian_pattern
        rate, path = pattern.rows < n, pattern.rows > n
        rows, columns = [], []
        # Defects through the rates.
        wr, wk, _ = mesh.rates
        rows.append((wr[:, None] * n + pattern.rows[rate]).ravel())
        columns.append(self._columns[wk][:, pattern.columns[rate]].ravel())
        # Defects by the duration.
        if self.fixed is None:
            rows.append(np.arange(self.defects))
            columns.append(np.full(self.defects, self.last))
        # Path constraints.
        k = np.arange(self.K)[:, None]
        rows.append((offsets[2] + k * f.path + pattern.rows[path] - n - 1).ravel())
        columns.append(self._columns[:, pattern.columns[path]].ravel())
        # Conditions at both ends.
        for functions, end, at in ((f.first, self._end_rows[0], 0), (f.last, self._end_rows[1], -1)):
            own = functions.jacobian_pattern
            chosen = own.rows > 0
            rows.append(end[own.rows[chosen] - 1])
            columns.append(self._columns[at][own.columns[chosen]])
        # Elements that never change.
        er, ek, ev = mesh.differences
        i = np.arange(n)
        rows.append((er[:, None] * n + i).ravel())
        columns.append((ek[:, None] * n + i).ravel())
        constant = [np.repeat(ev, n)]
        if mesh.first_input is not None:
            j = np.arange(self.m)
            rows += [offsets[1] + j, np.tile(offsets[1] + j, len(mesh.nodes))]
            columns += [
                self.first_v + j,
                (self.first_v + mesh.collocated[0][:, None] * self.m + j).ravel(),
            ]
            constant += [np.ones(self.m), -np.repeat(mesh.first_input, self.m)]
        all_rows, all_columns = np.concatenate(rows), np.concatenate(columns)
        keep = all_columns >= 0
        places = SparsePlaces(all_rows[keep], all_columns[keep], (max(self.rows, 1), self.size))
        return places, np.concatenate(constant), {"keep": keep, "rate": rate, "path": path}

    @cached_property
    def _end_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the results of ``first`` and ``last`` but their costs."""
        o = self.offsets
        return (
            np.concatenate([np.arange(o[3], o[4]), np.arange(o[5], o[6])]),
            np.concatenate([np.arange(o[4], o[5]), np.arange(o[6], o[7])]),
        )

    @property
    def jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the Jacobian of constraints."""
        places = self._jacobian_parts[0]
        return places.rows, places.columns

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """Values of the elements of the Jacobian of constraints."""
        places, constant, chosen = self._jacobian_parts
        f, T, mesh = self.f, self.duration(z), self.mesh
        pattern = f.inside.jacobian_pattern
        J = self._inside_jacobian(z)
        J = J * self._chain[:, pattern.columns]
        _, wk, w = mesh.rates
        values = [(-T * w[:, None] * J[wk][:, chosen["rate"]]).ravel()]
        if self.fixed is None:
            values.append(-(self._sparse[1] @ self.rates(z)).ravel())
        values.append(J[:, chosen["path"]].ravel())
        for functions, at in ((f.first, slice(0, 1)), (f.last, slice(-1, None))):
            own = functions.jacobian_pattern
            made = functions.jacobian(self.knots(z, at), f.parameters) * self._chain[at][:, own.columns]
            values.append(made[0, own.rows > 0])
        return places.sum(np.concatenate([*values, constant])[chosen["keep"]])

    # ------------------------------------------------------------ second derivatives

    @cached_property
    def _hessian_parts(self) -> tuple[SparsePlaces, np.ndarray]:
        f = self.f
        rows, columns = [], []
        for functions, at in ((f.inside, slice(None)), (f.first, slice(0, 1)), (f.last, slice(-1, None))):
            pattern = functions.hessian_pattern
            rows.append(self._columns[at][:, pattern.rows].ravel())
            columns.append(self._columns[at][:, pattern.columns].ravel())
        if self.fixed is None:
            pattern = f.inside.jacobian_pattern
            columns.append(self._columns[:, pattern.columns].ravel())
            rows.append(np.full(len(columns[-1]), self.last))
        a, b = np.concatenate(rows), np.concatenate(columns)
        keep = (a >= 0) & (b >= 0)
        a, b = a[keep], b[keep]
        return SparsePlaces(np.maximum(a, b), np.minimum(a, b), (self.size, self.size)), keep

    @property
    def hessian_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the elements of the lower triangle of the Hessian."""
        places, _ = self._hessian_parts
        return places.rows, places.columns

    def hessian(self, z: np.ndarray, multipliers: np.ndarray, cost: float = 1.0) -> np.ndarray:
        """Values of the elements of ∂²(cost · objective + multipliers · constraints)/∂z²."""
        places, keep = self._hessian_parts
        f, n, T, mesh = self.f, self.n, self.duration(z), self.mesh
        parts = [multipliers[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        pull = -(self._sparse[1].T @ parts[0].reshape(-1, n))
        weights = np.hstack([pull, cost * mesh.weights[:, None], np.zeros((self.K, f.path))])
        whole = T * weights
        whole[:, n + 1 :] = parts[2].reshape(self.K, f.path)
        at = self.knots(z)
        values = [self._apply_chain_rule(f.inside, slice(None), f.inside.hessian(at, whole, f.parameters))]
        first, last = (multipliers[rows] for rows in self._end_rows)
        for functions, where, own in ((f.first, slice(0, 1), first), (f.last, slice(-1, None), last)):
            made = functions.hessian(self.knots(z, where), np.append(cost, own)[None], f.parameters)
            values.append(self._apply_chain_rule(functions, where, made))
        if self.fixed is None:
            pattern = f.inside.jacobian_pattern
            J = self._inside_jacobian(z) * self._chain[:, pattern.columns]
            across = weights[:, pattern.rows] * J
            across[:, pattern.columns == self._columns.shape[1] - 1] *= 2  # by the duration twice
            values.append(across.ravel())
        return places.sum(np.concatenate(values)[keep])

    def _apply_chain_rule(self, functions: KnotFunctions, at: slice, values: np.ndarray) -> np.ndarray:
        pattern, chain = functions.hessian_pattern, self._chain[at]
        found: np.ndarray = (values * chain[:, pattern.rows] * chain[:, pattern.columns]).ravel()
        return found


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
