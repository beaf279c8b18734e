"""One step of an explicit Runge–Kutta method, of fixed size or under error control."""

from __future__ import annotations

from math import inf

from armillary.runtime.code import Value, Variable, Vector
from armillary.runtime.frame import Frame, Program
from armillary.runtime.projected import emit_projection
from armillary.runtime.shape import SNAP, Phase, Reason
from armillary.runtime.staggered import emit_staggered
from armillary.runtime.tableau import Row

EPSILON = 2.0**-52


def weighted(f: Frame, weights: Row, m: Value) -> Value:
    """Σⱼ wⱼ kⱼ for the state m."""
    first, *others = (weight * f.vector(f"k{j}")[m] for j, weight in enumerate(weights) if weight)
    return sum(others, first)


def combine(f: Frame, base: Vector, h: Value, weights: Row, target: Vector) -> None:
    """target = base + h Σⱼ wⱼ kⱼ."""
    with f.each(f.shape.states) as m:
        target[m] = base[m] + h * weighted(f, weights, m)


def emit_fixed_step(program: Program, scan: Frame | None) -> Frame:
    """A step to the next grid point t₀ + (index + 1)·step, or to the end where that comes first.

    Where the distance differs from `step` by rounding alone, `step` itself is used: all whole steps are
    equal.
    """
    advance = emit_staggered(program) if _is(program, "staggered") else None
    project = emit_projection(program) if _is(program, "projected") else None
    f = program.function("step")
    t, step = f["t"], f["step"]
    target = f["t0"] + (f["index"] + 1).to_real() * step
    target = _snapped(f, target, _next_sample(f), SNAP * step)
    target = f.choose(target > f["t_end"] - SNAP * step, f["t_end"], target)
    h = target - t
    h = f.choose(f.magnitude(h - step) <= 4.0 * EPSILON * f.magnitude(target), step, h)
    if advance:
        f.internal(advance, t, h)
    else:
        if not program.shape.dense:
            f.derivatives(t, f.vector("state"), f.vector("k0"))
        _stages(f, t, h)
        if project:
            f.internal(project, target)
    trial = f.vector("trial")
    with f.when(f.total(program.shape.states, lambda m: 0.0 * trial[m]).differs(0.0)):
        f["status"] = Reason.DIVERGED
        f["failed"] = first_nonfinite(f, trial)
        f.give()
    f["index"] = f["index"] + 1
    f["at_grid"] = 1
    _accept(f, target, h, scan)
    f.give()
    return f


def _is(program: Program, kind: str) -> bool:
    return program.shape.scheme is not None and program.shape.scheme.kind == kind


def _next_sample(f: Frame) -> Value:
    """The next time of a row (the loop sees to it that there is one), or infinity when rows follow steps."""
    result = Variable(f, f.real(inf))
    with f.when(f["every_step"].equals(0)):
        result.set(f.outside("times")[f["filled"]])
    return result.get()


def _snapped(f: Frame, x: Value, to: Value, within: Value) -> Value:
    return f.choose(f.magnitude(x - to) <= within, to, x)


def _stages(f: Frame, t: Value, h: Value) -> None:
    """The stages k₁ … and the trial state; k₀ is there already."""
    tableau = f.shape.tableau
    state, stage = f.vector("state"), f.vector("stage")
    for i in range(1, tableau.stages):
        combine(f, state, h, tableau.a[i], stage)
        f.derivatives(t + tableau.c[i] * h, stage, f.vector(f"k{i}"))
    combine(f, state, h, tableau.b, f.vector("trial"))


def _accept(f: Frame, t_new: Value, h: Value, scan: Frame | None) -> None:
    """The trial state becomes the state.

    It is normalised first. A derivative kₛ that the error estimate already needed is kept although it belongs
    to the state before that: the two differ by a local error, O(hᵖ⁺¹), so the next step by O(hᵖ⁺²), and the
    order p stays. Recomputing it would cost one evaluation in seven for nothing.
    """
    shape = f.shape
    state = f.vector("state")
    if shape.dense:
        f.copy(shape.states, state, f.vector("base"))
    f.copy(shape.states, f.vector("trial"), state)
    f.normalise(t_new, state)
    if shape.dense:
        f.copy(shape.states, state, f.vector("end"))
        if not shape.tableau.end_enters_error:
            f.derivatives(t_new, state, f.vector(f"k{shape.tableau.stages}"))
        _straighten(f, h)
    f["t_old"] = f["t"]
    f["t"] = t_new
    f["h_taken"] = h
    f["prepared"] = 0
    f["near"] = 0.0
    f["steps"] = f["steps"] + 1
    f["phase"] = Phase.ARRIVED
    if scan:
        f.internal(scan)


def _straighten(f: Frame, h: Value) -> None:
    """Accelerations and multipliers of redundant coordinates: a straight line between the ends of a step."""
    scheme, base, end = f.shape.scheme, f.vector("base"), f.vector("end")
    if scheme is None:
        return
    first, last = f.vector("k0"), f.vector(f"k{f.shape.tableau.stages}")
    with f.each(scheme.states - scheme.first_acceleration) as i:
        m = i + scheme.first_acceleration
        first[m] = (end[m] - base[m]) / h
        last[m] = first[m]


def emit_adaptive_step(program: Program, scan: Frame | None) -> Frame:
    """A trial of step h: accepted if its error norm is at most one, else left with a smaller h to try."""
    blame = emit_blame(program)
    f = program.function("step")
    tableau, control = program.shape.tableau, program.shape.tableau.control
    assert control is not None
    t, h, remaining = f["t"], f["h"], f["t_end"] - f["t"]
    with f.when(~(h > 16.0 * EPSILON * f.magnitude(t))):
        f.internal(blame)
        f.give()
    # A remainder little longer than the step is taken with it, so that no sliver is left; max_step may be
    # exceeded only by what rounding adds up to.
    last = remaining <= f.least(1.01 * h, (1 + 1e-9) * f["max_step"])
    h = f.choose(last, remaining, h)
    t_new = f.choose(last, f["t_end"], t + h)
    _stages(f, t, h)
    if tableau.end_enters_error:
        f.derivatives(t_new, f.vector("trial"), f.vector(f"k{tableau.stages}"))
    error = _error_norm(f, h)

    grown = f.power(error, control.exponent)
    with f.when(~(error <= 1.0)):
        f["rejected"] = f["rejected"] + 1
        f["after_rejection"] = 1
        factor = f.least(grown / control.safety, 1.0 / control.least)
        # Not a number, or beyond all bounds: the estimate says nothing of how far to go back.
        f["h"] = f.choose(error < inf, h / factor, 0.1 * h)
        f.give()

    factor = grown / control.safety
    if control.beta:
        factor = factor / f.power(f["error_old"], control.beta)
    proposal = h / f.most(1.0 / control.most, f.least(1.0 / control.least, factor))
    proposal = f.choose(f["after_rejection"].equals(1), f.least(proposal, h), proposal)
    f["h"] = f.least(proposal, f["max_step"])
    f["error_old"] = f.most(error, 1e-4)
    f["after_rejection"] = 0
    _accept(f, t_new, h, scan)
    f.give()
    return f


def _error_norm(f: Frame, h: Value) -> Value:
    """The root mean square of the error estimate over atol + rtol·max(|y|, |y₁|); NaN for a trial not finite.

    Two rows of weights are the pair of dop853: e = e₅²/√(e₅² + 0.01 e₃²), HNW II.10.
    """
    n, tableau = f.shape.states, f.shape.tableau
    state, trial, atol = f.vector("state"), f.vector("trial"), f.vector("atol")
    ratios = [f.vector(name) for name in ("ratio", "ratio_low")[: len(tableau.errors)]]
    rtol = f["rtol"]
    with f.each(n) as m:
        scale = atol[m] + rtol * f.most(f.magnitude(state[m]), f.magnitude(trial[m]))
        for ratio, weights in zip(ratios, tableau.errors, strict=True):
            ratio[m] = h * weighted(f, weights, m) / scale
    squares = [_sum_of_squares(f, ratio) for ratio in ratios]
    unless_finite = f.total(n, lambda m: 0.0 * trial[m])
    if len(squares) == 1:
        mean = squares[0] / max(n, 1)
    else:
        high, low = squares
        norm = high + 0.01 * low
        mean = high * high / (f.choose(norm.equals(0.0), 1.0, norm) * max(n, 1))
    return f.root(mean) + unless_finite


def _sum_of_squares(f: Frame, vector: Vector) -> Value:
    return f.total(f.shape.states, lambda m: vector[m] * vector[m])


def emit_blame(program: Program) -> Frame:
    """The end of a run whose step has become too small, and the state to blame.

    DIVERGED and the first state that is not finite if the last trial had one, else TOO_SMALL and the state
    with the largest error ratio.
    """
    f = program.function("blame", rare=True)
    n, ratio, trial = f.shape.states, f.vector("ratio"), f.vector("trial")
    worst = Variable(f, f.whole(0))
    with f.each(n) as m, f.when(f.magnitude(ratio[m]) > f.magnitude(ratio[worst.get()])):
        worst.set(m)
    f["status"] = Reason.TOO_SMALL
    f["failed"] = worst.get()
    strange = f.total(n, lambda m: 0.0 * (trial[m] + ratio[m]))
    with f.when(strange.differs(0.0)):
        f["status"] = Reason.DIVERGED
        f["failed"] = first_nonfinite(f, trial, ratio)
    f.give()
    return f


def first_nonfinite(f: Frame, *vectors: Vector) -> Value:
    """The index of the first state for which an entry is not finite."""
    index = Variable(f, f.whole(0))
    with f.repeat() as loop:
        strange = sum((0.0 * vector[index.get()] for vector in vectors), f.real(0.0)).differs(0.0)
        with f.when(strange | (index.get() >= f.shape.states - 1)):
            loop.leave()
        index.set(index.get() + 1)
    return index.get()


def emit_first_step(program: Program) -> Frame:
    """The first step, from the sizes of y, of k₀ = f(t, y) and of a difference of f (HNW II.4)."""
    f = program.function("first_step", rare=True)
    n, order = f.shape.states, f.shape.tableau.order
    t, state, stage, atol, rtol = f["t"], f.vector("state"), f.vector("stage"), f.vector("atol"), f["rtol"]
    k0, k1 = f.vector("k0"), f.vector("k1")

    def size(entry: Vector, less: Vector | None = None) -> Value:
        def square(m: Value) -> Value:
            value = entry[m] - less[m] if less else entry[m]
            ratio = value / (atol[m] + rtol * f.magnitude(state[m]))
            return ratio * ratio

        return f.root(f.total(n, square) / max(n, 1))

    size_y, size_f = size(state), size(k0)
    tiny = (size_y < 1e-5) | (size_f < 1e-5)
    guess = f.choose(tiny, 1e-6, 0.01 * size_y / f.choose(tiny, 1.0, size_f))
    guess = f.least(f.least(guess, f["max_step"]), f["t_end"] - t)
    combine(f, state, guess, (1.0,), stage)
    f.derivatives(t + guess, stage, k1)
    largest = f.most(size(k1, less=k0) / guess, size_f)
    flat = largest <= 1e-15
    other = f.power(0.01 / f.choose(flat, 1.0, largest), 1.0 / order)
    other = f.choose(flat, f.most(1e-6, 1e-3 * guess), other)
    f["h"] = f.least(f.least(other, 100.0 * guess), f["max_step"])
    f["error_old"] = 1e-4
    f["after_rejection"] = 0
    f["choose_step"] = 0
    f.give()
    return f
