"""The formulas of explicit Runge–Kutta methods, for one run or for as many as there are lanes.

Stages, the error norm, the choice of steps and the dense output are written once, over any function under
construction that gives access to the numbers of a run; the loops decide which run or lane goes on, and when.
Vectors by name: ``state``, ``stage``, ``trial``, ``base`` (the state before the step), ``k0``, ``k1``, …,
``atol``, ``ratio``, ``ratio_low`` and ``F0``, ``F1``, …; numbers: ``t``, ``t_end``, ``rtol``, ``max_step``,
``error_old`` and ``after_rejection``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from armillary.llvm.building.builder import Code, Span, Value
from armillary.runtime.loop.tableau import Row, Tableau

EPSILON = 2.0**-52
LEAST_TOLERATED = 1e-30  # error of what is exactly zero; a normal number in single precision, too


class Stepper(Code):
    """A function under construction with access to a run: its sizes, its numbers, and its derivatives."""

    @property
    def states(self) -> int:
        raise NotImplementedError

    @property
    def tableau(self) -> Tableau:
        raise NotImplementedError

    def mean(self, total: Value) -> Value:
        """A sum over the states, of each."""
        return total / max(self.states, 1)

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


def weighted(f: Stepper, weights: Row, m: Value) -> Value:
    """Σⱼ wⱼ kⱼ for the state m; the last rates may have been computed just before."""
    *earlier, last = weights
    terms = [weight * f.vector(f"k{j}")[m] for j, weight in enumerate(earlier) if weight]
    return sum(terms[1:], terms[0]) + last * f.rates(f"k{len(earlier)}", m)


def combine(f: Stepper, base: Span, h: Value, weights: Row, target: Span) -> None:
    """target = base + h Σⱼ wⱼ kⱼ, a single term as base + (h wⱼ) kⱼ."""
    *earlier, last = weights
    if any(earlier):
        for m in f.each_state():
            target[m] = base[m] + h * weighted(f, weights, m)
        return
    scale = h * last
    for m in f.each_state():
        target[m] = base[m] + scale * f.rates(f"k{len(earlier)}", m)


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


def tolerated(f: Stepper, absolute: Value, relative: Value) -> Value:
    """The error that is tolerated: not zero where a state is exactly zero and no absolute error is given."""
    return f.most(absolute + relative, LEAST_TOLERATED)


def error_norm(f: Stepper, h: Value) -> Value:
    """The root mean square of the error estimate over atol + rtol·max(|y|, |y₁|); NaN for a trial not finite.

    Two rows of weights are the pair of dop853: e = e₅²/√(e₅² + 0.01 e₃²), HNW II.10.
    """
    tableau = f.tableau
    state, trial, atol = f.vector("state"), f.vector("trial"), f.vector("atol")
    ratios = [f.vector(name) for name in ("ratio", "ratio_low")[: len(tableau.errors)]]
    rtol = f["rtol"]
    for m in f.each_state():
        scale = tolerated(f, atol[m], rtol * f.most(f.magnitude(state[m]), f.magnitude(trial[m])))
        for ratio, weights in zip(ratios, tableau.errors, strict=True):
            ratio[m] = h * weighted(f, weights, m) / scale
    squares = [_sum_of_squares(f, ratio) for ratio in ratios]
    unless_finite = f.total_of_states(lambda m: 0.0 * trial[m])
    if len(squares) == 1:
        mean = f.mean(squares[0])
    else:
        high, low = squares
        norm = high + 0.01 * low
        mean = f.mean(high * high / f.choose(norm.equals(0.0), 1.0, norm))
    return f.root(mean) + unless_finite


def _sum_of_squares(f: Stepper, vector: Span) -> Value:
    return f.total_of_states(lambda m: vector[m] * vector[m])


def last_step(f: Stepper, t: Value, h: Value) -> tuple[Value, Value]:
    """The step to take where h is wanted, and the time it leads to.

    A remainder little longer than the step is taken with it, so that no sliver is left; max_step may be
    exceeded only by what rounding adds up to.
    """
    remaining = f["t_end"] - t
    last = remaining <= f.least(1.01 * h, (1 + 1e-9) * f["max_step"])
    h = f.choose(last, remaining, h)
    return h, f.choose(last, f["t_end"], t + h)


def grown_error(f: Stepper, error: Value) -> Value:
    """E^α, from which both the next step and a repeated one are found; see StepControl."""
    assert f.tableau.control is not None
    return f.power(error, f.tableau.control.exponent)


def shorter_step(f: Stepper, h: Value, error: Value, grown: Value) -> Value:
    """The step to try instead of one whose error is too large."""
    control = f.tableau.control
    assert control is not None
    factor = f.least(grown / control.safety, 1.0 / control.least)
    # Not a number, or beyond all bounds: the estimate does not give how far to go back.
    return f.choose(error < inf, h / factor, 0.1 * h)


def next_step(f: Stepper, h: Value, grown: Value) -> Value:
    """The step after one that was accepted."""
    control = f.tableau.control
    assert control is not None
    factor = grown / control.safety
    if control.beta:
        factor = factor / f.power(f["error_old"], control.beta)
    proposal = h / f.most(1.0 / control.most, f.least(1.0 / control.least, factor))
    proposal = f.choose(f["after_rejection"].equals(1), f.least(proposal, h), proposal)
    return f.least(proposal, f["max_step"])


def first_step(f: Stepper) -> Value:
    """The first step, from the sizes of y, of k₀ = f(t, y) and of a difference of f (HNW II.4)."""
    order = f.tableau.order
    t, state, stage, atol, rtol = f["t"], f.vector("state"), f.vector("stage"), f.vector("atol"), f["rtol"]
    k0, k1 = f.vector("k0"), f.vector("k1")

    def size(entry: Span, less: Span | None = None) -> Value:
        def square(m: Value) -> Value:
            value = entry[m] - less[m] if less else entry[m]
            ratio = value / tolerated(f, atol[m], rtol * f.magnitude(state[m]))
            return ratio * ratio

        return f.root(f.mean(f.total_of_states(square)))

    size_y, size_f = size(state), size(k0)
    tiny = (size_y < 1e-5) | (size_f < 1e-5)
    guess = f.choose(tiny, 1e-6, 0.01 * size_y / f.choose(tiny, 1.0, size_f))
    # A state of the size of rounding, as after a contact that opens, must not lead to a step lost in t.
    guess = f.most(guess, 1024.0 * EPSILON * f.magnitude(t))
    guess = f.least(f.least(guess, f["max_step"]), f["t_end"] - t)
    combine(f, state, guess, (1.0,), stage)
    f.derivatives(t + guess, stage, k1)
    largest = f.most(size(k1, less=k0) / guess, size_f)
    flat = largest <= 1e-15
    other = f.power(0.01 / f.choose(flat, 1.0, largest), 1.0 / order)
    other = f.choose(flat, f.most(1e-6, 1e-3 * guess), other)
    return f.least(f.least(other, 100.0 * guess), f["max_step"])


def dense_coefficients(f: Stepper, t_old: Value, h: Value, end: Span, work: Span) -> None:
    """The coefficients F of a step of length h from ``base`` to ``end``; the polynomial is in tableau.py."""
    tableau, base = f.tableau, f.vector("base")
    for i, (c, weights) in enumerate(zip(tableau.extra_c, tableau.extra_a, strict=True), tableau.stages + 1):
        combine(f, base, h, weights, work)
        f.derivatives(t_old + c * h, work, f.vector(f"k{i}"))
    first, last = f.vector("k0"), f.vector(f"k{tableau.stages}")
    F = _dense(f)
    for m in f.each_state():
        rise = end[m] - base[m]
        bend = h * first[m] - rise
        F[0][m] = rise
        F[1][m] = bend
        F[2][m] = rise - h * last[m] - bend
        for vector, weights in zip(F[3:], tableau.dense, strict=True):
            vector[m] = h * weighted(f, weights, m)


def dense_state(f: Stepper, theta: Value, target: Span) -> None:
    """The state at a part θ of the step, from its coefficients."""
    factors, base, F = [theta, 1.0 - theta], f.vector("base"), _dense(f)
    for m in f.each_state():
        nest = F[-1][m]
        for i in reversed(range(1, len(F))):
            nest = F[i - 1][m] + factors[i % 2] * nest
        target[m] = base[m] + theta * nest


def _dense(f: Stepper) -> list[Span]:
    return [f.vector(f"F{i}") for i in range(3 + len(f.tableau.dense))]
