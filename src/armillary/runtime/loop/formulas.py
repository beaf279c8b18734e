"""The formulas of explicit Runge–Kutta methods, for one run or for as many as there are lanes.

Stages, error estimates, sums over the states and the dense output are written over any function under
construction that gives access to the numbers of a run; runtime/solver/step_control.py chooses the steps.
Vectors by name: ``state``, ``stage``, ``trial``, ``base`` (the state before the step), ``k0``, ``k1``, …,
``k_end``, ``tolerated``, ``ratio``, ``ratio_low`` and ``nest0``, ``nest1``, ….
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from armillary.llvm.building.builder import Code, Span, Value
from armillary.runtime.loop.tableau import Row, Tableau, rate_name


class Stepper(Code):
    """A function under construction with access to a run: its sizes, its numbers, and its derivatives."""

    @property
    def states(self) -> int:
        raise NotImplementedError

    @property
    def tableau(self) -> Tableau:
        raise NotImplementedError

    def each_state(self) -> Iterator[Value]:
        """A loop over all states, one or several at a time."""
        with self.each(self.states) as m:
            yield m

    def total_of_states(self, term: Callable[[Value], Value]) -> Value:
        """A sum over all states."""
        return self.total(self.states, term)

    def __getitem__(self, name: str) -> Value:
        raise NotImplementedError

    def vector(self, name: str) -> Span:
        raise NotImplementedError

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        raise NotImplementedError

    def rates(self, name: str, m: Value) -> Value:
        """Of the state m in a vector of derivatives computed just before."""
        return self.vector(name)[m]


def weighted_rates(f: Stepper, weights: Row, m: Value) -> Value:
    """Σⱼ wⱼ kⱼ for the state m; the last rates may have been computed just before."""
    *earlier, last = weights
    terms = [weight * f.vector(rate_name(f.tableau, j))[m] for j, weight in enumerate(earlier) if weight]
    return sum(terms[1:], terms[0]) + last * f.rates(rate_name(f.tableau, len(earlier)), m)


def combine(f: Stepper, base: Span, h: Value, weights: Row, target: Span) -> None:
    """target = base + h Σⱼ wⱼ kⱼ, a single term as base + (h wⱼ) kⱼ."""
    *earlier, last = weights
    if any(earlier):
        for m in f.each_state():
            target[m] = base[m] + h * weighted_rates(f, weights, m)
        return
    scale = h * last
    for m in f.each_state():
        target[m] = base[m] + scale * f.rates(rate_name(f.tableau, len(earlier)), m)


def stages(f: Stepper, t: Value, h: Value) -> None:
    """The stages k₁ … and the trial state; k₀ is there already."""
    tableau = f.tableau
    state, stage = f.vector("state"), f.vector("stage")
    for i in range(1, tableau.stages):
        combine(f, state, h, tableau.a[i], stage)
        f.derivatives(t + tableau.c[i] * h, stage, f.vector(f"k{i}"))
    combine(f, state, h, tableau.b, f.vector("trial"))


def not_finite(f: Stepper, *vectors: Span) -> Value:
    """Whether some number of the vectors, each of as many as there are states, is not finite."""
    found = f.total_of_states(lambda m: 0.0 * sum((v[m] for v in vectors[1:]), vectors[0][m]))
    return found.differs(0.0)


def error_ratios(f: Stepper, h: Value) -> None:
    """The error estimates of a step, h Σⱼ eⱼ kⱼ."""
    names = ("ratio", "ratio_low")[: len(f.tableau.errors)]
    for m in f.each_state():
        for name, weights in zip(names, f.tableau.errors, strict=True):
            f.vector(name)[m] = h * weighted_rates(f, weights, m)


def squares(f: Stepper, values: Span) -> Value:
    """Sum of (value / tolerated error)² over the states."""
    tolerated = f.vector("tolerated")

    def square(m: Value) -> Value:
        ratio = values[m] / tolerated[m]
        return ratio * ratio

    return f.total_of_states(square)


def dense_coefficients(f: Stepper, t_old: Value, h: Value, end: Span, work: Span) -> None:
    """The coefficients F of a step of length h from ``base`` to ``end``; the polynomial is in tableau.py."""
    tableau, base = f.tableau, f.vector("base")
    for i, (c, weights) in enumerate(zip(tableau.extra_c, tableau.extra_a, strict=True), tableau.stages + 1):
        combine(f, base, h, weights, work)
        f.derivatives(t_old + c * h, work, f.vector(f"k{i}"))
    first, last = f.vector("k0"), f.vector("k_end")
    F = _dense(f)
    for m in f.each_state():
        rise = end[m] - base[m]
        bend = h * first[m] - rise
        F[0][m] = rise
        F[1][m] = bend
        F[2][m] = rise - h * last[m] - bend
        for vector, weights in zip(F[3:], tableau.dense, strict=True):
            vector[m] = h * weighted_rates(f, weights, m)


def dense_state(f: Stepper, theta: Value, target: Span) -> None:
    """The state at a part θ of the step, from its coefficients."""
    factors, base, F = [theta, 1.0 - theta], f.vector("base"), _dense(f)
    for m in f.each_state():
        nest = F[-1][m]
        for i in reversed(range(1, len(F))):
            nest = F[i - 1][m] + factors[i % 2] * nest
        target[m] = base[m] + theta * nest


def _dense(f: Stepper) -> list[Span]:
    return [f.vector(f"nest{i}") for i in range(3 + len(f.tableau.dense))]
