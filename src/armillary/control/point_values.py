"""Functions of a nonlinear program at all its points, and sums of their values with constant coefficients.

Compiled loops store values, Jacobians and Hessians in one array, the source. The arguments of these loops,
and the rows and matrices of the program, are sums of products of two of its numbers:

    out_r = Σ_e (a_e + T b_e) source_{i(e)} source_{j(e)}        over the terms e of r; T: duration

The terms are fixed when a program is made; one compiled loop adds them up. The first number of the source is
1, so products with j = 0 are single numbers. The source is never reallocated, so addresses are taken once and
an evaluation is a few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armillary.control.knot_functions import KnotFunctions, PointFunction
from armillary.llvm.building.builder import Local
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    whole_array,
)

if TYPE_CHECKING:
    from armillary.control.nonlinear_program import NonlinearProgram


_LAYOUT = RoutineLayout(
    numbers=("count",),
    addresses=("starts", "places", "others", "constant", "timed", "duration", "source", "out"),
)


Numbers = float | np.ndarray | np.integer


class SparsePlaces:
    """The pattern of a sparse matrix whose elements are sums of contributions."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> None:
        keys, self.element = np.unique(columns * shape[0] + rows, return_inverse=True)
        self.rows, self.columns = keys % shape[0], keys // shape[0]
        self.shape = shape

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the contributions to each element."""
        return np.bincount(self.element, weights=values, minlength=len(self.rows))


class Places:
    """A counter that hands out consecutive indices of an array."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, *shape: int) -> np.ndarray:
        """Return the next indices, in a given shape."""
        first, self.count = self.count, self.count + int(np.prod(shape))
        return np.arange(first, self.count).reshape(shape)


class Terms:
    """A list of terms under construction."""

    def __init__(self) -> None:
        self._parts: list[Sequence[np.ndarray]] = []

    def add(
        self,
        out: Numbers,
        place: Numbers,
        constant: Numbers = 0.0,
        timed: Numbers = 0.0,
        other: Numbers = 0,
    ) -> None:
        """Add out += (constant + T · timed) · source[place] · source[other], with broadcast arguments.

        Terms with a negative ``out`` are left out.
        """
        spread = np.broadcast_arrays(out, place, other, constant, timed)
        self._parts.append([a.ravel() for a in spread])

    def arrays(self) -> list[np.ndarray]:
        """Return out, place, other, constant and timed of all terms."""
        found = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        keep = found[0] >= 0
        return [a[keep] for a in found]


class SparseSums:
    """The sums of some terms of ``source``, in ``out``; neither array may be reallocated.

    ``element`` replaces the terms' indices ``out``.
    """

    def __init__(
        self,
        terms: Terms,
        count: int,
        source: np.ndarray,
        out: np.ndarray | None = None,
        element: np.ndarray | None = None,
    ) -> None:
        own, place, other, constant, timed = terms.arrays()
        own = own if element is None else element
        order = np.argsort(own, kind="stable")
        self._duration = np.zeros(1)
        self.out = np.zeros(count) if out is None else out
        self._arrays = {
            "starts": whole_array(np.searchsorted(own[order], np.arange(count + 1))),
            "places": whole_array(place[order]), "others": whole_array(other[order]),
            "constant": real_array(constant[order]), "timed": real_array(timed[order]),
            "duration": self._duration, "source": source, "out": self.out,
        }  # fmt: skip
        fields = _LAYOUT.fields({"count": count, **self._arrays})
        self._add = _method().bind("add_products" if np.any(other) else "add_terms", fields)

    def run(self, duration: float) -> None:
        """Compute all sums, in ``out``."""
        self._duration[0] = duration
        self._add()

    def __call__(self, duration: float) -> np.ndarray:
        """Return all sums, in a new array."""
        self.run(duration)
        return self.out.copy()


def text() -> str:
    """Return the LLVM text of ``armillary_add_terms(fields)`` and ``armillary_add_products(fields)``."""
    module = IRModule()
    for name in ("add_terms", "add_products"):
        f = routine(module, _LAYOUT, name, NOTHING, public=True)
        constant, timed, source, out = (f.vector(field) for field in ("constant", "timed", "source", "out"))
        duration = f.vector("duration")[0]
        with f.each(f["count"]) as r:
            found = Local(f, f.real(0.0))
            with f.span(f.index("starts", r), f.index("starts", r + 1)) as e:
                factor = constant[e] + duration * timed[e]
                if name == "add_products":
                    factor = factor * source[f.index("others", e)]
                found.set(found.get() + factor * source[f.index("places", e)])
            out[r] = found.get()
        f.give()
    return str(module)


@cache
def _method() -> RoutineMethod:
    entries = ("add_terms", "add_products")
    return compiled_method("sparse sums", text, [Path(__file__)], entries, of_all_models=True)


Loop = Callable[[], None]


class PointValues:
    """Values and derivatives of all functions of a program: at all points, at the first and at the last.

    ``values``, ``slopes`` and ``curvatures`` are the indices in ``source`` of values and of elements of
    Jacobians and Hessians: a matrix for each of the three functions, with a row for each point. ``weights``
    are the indices of the results' weights in the Hessians. ``plain`` are the indices of the weights of the
    first function without the factor T.
    """

    unit = 0

    def __init__(self, program: NonlinearProgram) -> None:
        self.program, f, K = program, program.f, program.K
        self.functions = (f.inside, f.first, f.last)
        self.counts = (K, 1, 1)
        self._wide = program.n + program.p
        taken = Places()
        taken.take(1)
        self.z = taken.take(program.size)
        self.multipliers = taken.take(program.rows + 1)  # the last is the weight of the cost
        self._arguments = taken.count
        self._t, self._states = taken.take(K, 1), taken.take(K, self._wide)
        self._memory = taken.take(K, max(len(f.memory), 1))
        self._curved = taken.count
        self._curved_states = [
            taken.take(count, self._wide + len(g.results)) for g, count in self._each(self.counts)
        ]
        self.plain = taken.take(K, len(f.inside.results))
        self._end = taken.count
        self.values = [taken.take(count, len(g.results)) for g, count in self._each(self.counts)]
        self.slopes = [taken.take(count, len(g.jacobian_pattern)) for g, count in self._each(self.counts)]
        self.curvatures = [taken.take(count, len(g.hessian_pattern)) for g, count in self._each(self.counts)]
        self.weights = [places[:, self._wide :] for places in self._curved_states]
        self.source = np.zeros(taken.count)
        self.source[self.unit] = 1.0
        self._own = self.source[1 : 1 + program.size]
        self._own[:] = np.nan
        self._given = self.source[self.multipliers[0] : self.multipliers[-1] + 1]
        self._entered: np.ndarray | None = None
        self._has_values = self._has_slopes = False
        for g, places in zip(self.functions, self.values, strict=True):
            if g.fixed_values is not None:
                self.source[places] = g.fixed_values

    def _each(self, other: tuple[int, ...]) -> list[tuple[KnotFunctions, int]]:
        return list(zip(self.functions, other, strict=True))

    # ------------------------------------------------------------ arguments

    def enter(self, z: np.ndarray) -> None:
        """Set the variables, and compute all arguments from them if they changed."""
        if self._entered is z:
            return
        # Do not recognise an array by identity if its owner may change it, such as another solver.
        self._entered = None if z.flags.writeable else z
        if self._entered is None and np.array_equal(self._own, z):
            return
        self._own[:] = z
        self.duration = self.program.duration(z)
        self._argument_sums.run(self.duration)
        self._has_values = self._has_slopes = False

    @cached_property
    def _argument_sums(self) -> SparseSums:
        """The sums for times, states and memory of all points, which are linear in the variables."""
        p, terms, first = self.program, Terms(), self._arguments
        n, m, K = p.n, p.m, p.K
        terms.add(self._t[:, 0] - first, self.unit, p.t0, p.mesh.points)
        self._add_states(terms, self._states - first, np.arange(K))
        memory = np.array(p.f.memory, dtype=float)
        fixed = [i for i in range(len(memory)) if i not in p.f.input_places]
        terms.add(self._memory[:, fixed] - first, self.unit, memory[fixed])
        inputs = self.z[p.first_v + np.arange(K * m)].reshape(K, m)
        terms.add(self._memory[:, list(p.f.input_places)] - first, inputs, 1.0)
        assert n + p.p == self._wide
        return SparseSums(terms, self._curved - first, self.source, self.source[first : self._curved])

    def _add_states(self, terms: Terms, out: np.ndarray, points: np.ndarray) -> None:
        """Add the terms of states and unknown parameters at some points."""
        p = self.program
        terms.add(out[:, : p.n], self.z[points[:, None] * p.n + np.arange(p.n)], 1.0)
        terms.add(out[:, p.n : self._wide], self.z[p.first_p + np.arange(p.p)], 1.0)

    @cached_property
    def _curved_sums(self) -> SparseSums:
        """The sums for the arguments of the Hessians (states and weights), and for the weights without T."""
        p, mesh, terms, first = self.program, self.program.mesh, Terms(), self._curved
        n, K, o, y, cost = p.n, p.K, p.offsets, self.multipliers, self.multipliers[-1]
        for out, points in zip(self._curved_states, ([*range(K)], [0], [K - 1]), strict=True):
            self._add_states(terms, out - first, np.array(points))
        inside, plain = self.weights[0] - first, self.plain - first
        wr, wk, w = (a[:, None] for a in mesh.rates)
        i = np.arange(n)
        terms.add(inside[wk, i], y[wr * n + i], timed=-w)
        terms.add(plain[wk, i], y[wr * n + i], -w)
        terms.add(inside[:, n], cost, timed=mesh.weights)
        terms.add(plain[:, n], cost, mesh.weights)
        terms.add(inside[:, n + 1 :], y[o[2] : o[3]].reshape(K, p.f.path), 1.0)
        for out, rows in zip(self.weights[1:], p.end_rows, strict=True):
            terms.add(out[0] - first, y[rows], 1.0)  # y[−1] is the weight of the cost
        return SparseSums(terms, self._end - first, self.source, self.source[first : self._end])

    # ------------------------------------------------------------ evaluation

    def fill_values(self, z: np.ndarray) -> float:
        """Evaluate all functions; return the duration."""
        self.enter(z)
        if not self._has_values:
            for loop in self._value_loops:
                loop()
            self._has_values = True
        return self.duration

    def fill_slopes(self, z: np.ndarray) -> float:
        """Evaluate all functions and Jacobians; return the duration."""
        self.fill_values(z)
        if not self._has_slopes:
            for loop in self._slope_loops:
                loop()
            self._has_slopes = True
        return self.duration

    def fill_curvatures(self, z: np.ndarray, multipliers: np.ndarray, cost: float) -> float:
        """Evaluate Jacobians, and Hessians of weighted sums; return the duration."""
        self.fill_slopes(z)
        self._given[:-1], self._given[-1] = multipliers, cost
        self._curved_sums.run(self.duration)
        for loop in self._curvature_loops:
            loop()
        return self.duration

    @cached_property
    def _value_loops(self) -> list[Loop]:
        chosen = [g.fixed_values is None for g in self.functions]
        return self._loops(lambda g: g.value_function, self.values, chosen)

    @cached_property
    def _slope_loops(self) -> list[Loop]:
        return self._loops(lambda g: g.jacobian_function, self.slopes, [p.size > 0 for p in self.slopes])

    @cached_property
    def _curvature_loops(self) -> list[Loop]:
        chosen = [p.size > 0 for p in self.curvatures]
        return self._loops(lambda g: g.hessian_function, self.curvatures, chosen, self._curved_states)

    def _loops(
        self,
        function: Callable[[KnotFunctions], PointFunction],
        outs: list[np.ndarray],
        chosen: list[bool],
        states: list[np.ndarray] | None = None,
    ) -> list[Loop]:
        """Return loops of the chosen functions: the first runs over all points, the others at one end."""
        found = []
        for i, rows in enumerate((slice(None), slice(0, 1), slice(-1, None))):
            if not chosen[i]:
                continue
            own = self._states[rows] if states is None else states[i]
            t, x, memory, out = (self._view(a) for a in (self._t[rows], own, self._memory[rows], outs[i]))
            made = function(self.functions[i])
            found.append(made.bind(dict(self.program.f.parameters), t[:, 0], x, memory, out))
        return found

    def _view(self, places: np.ndarray) -> np.ndarray:
        """Return a view of the numbers at consecutive indices."""
        first = int(places[0, 0]) if places.size else 0
        return self.source[first : first + places.size].reshape(places.shape)
