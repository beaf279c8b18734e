"""One step of an explicit Runge–Kutta method, of fixed size or under error control."""

from __future__ import annotations

from math import inf

from armillary.llvm.builder import Value, Variable, Vector
from armillary.runtime.loop.formulas import (
    EPSILON,
    error_norm,
    first_step,
    grown_error,
    last_step,
    next_step,
    not_finite,
    shorter_step,
    stages,
)
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import SNAP, Phase, Reason
from armillary.runtime.loop.projected import emit_projection
from armillary.runtime.loop.staggered import emit_staggered
from armillary.runtime.loop.stops import Reached, stopped_fixed_step, stopped_step


def emit_fixed_step(program: LoopModule, scan: LoopFunction | None) -> LoopFunction:
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
    reached = stopped_fixed_step(f, target, h) if program.shape.stops else Reached(h, target, target)
    h, target = reached.h, reached.t
    if advance:
        f.internal(advance, t, h)
    else:
        if not program.shape.dense:
            f.derivatives(t, f.vector("state"), f.vector("k0"))
        stages(f, t, h)
        if project:
            f.internal(project, target)
    trial = f.vector("trial")
    with f.when(not_finite(f, trial)):
        f["status"] = Reason.DIVERGED
        f["failed"] = first_nonfinite(f, trial)
        f.give()
    f["at_grid"] = 1
    if reached.stop is not None:
        with f.when(reached.stop):
            f["at_grid"] = 0
    f["index"] = f["index"] + f["at_grid"]
    _accept(f, reached, scan)
    f.give()
    return f


def _is(program: LoopModule, kind: str) -> bool:
    return program.shape.scheme is not None and program.shape.scheme.kind == kind


def _next_sample(f: LoopFunction) -> Value:
    """The next time of a row (the loop sees to it that there is one), or infinity when rows follow steps."""
    result = Variable(f, f.real(inf))
    with f.when(f["every_step"].equals(0)):
        result.set(f.outside("times")[f["filled"]])
    return result.get()


def _snapped(f: LoopFunction, x: Value, to: Value, within: Value) -> Value:
    return f.choose(f.magnitude(x - to) <= within, to, x)


def _accept(f: LoopFunction, reached: Reached, scan: LoopFunction | None) -> None:
    """The trial state becomes the state.

    It is normalised first. A derivative kₛ that the error estimate already needed is kept although it belongs
    to the state before that: the two differ by a local error, O(hᵖ⁺¹), so the next step by O(hᵖ⁺²), and the
    order p stays. Recomputing it would cost one evaluation in seven for nothing.
    """
    shape, t_new, h = f.shape, reached.t, reached.h
    state = f.vector("state")
    if shape.dense:
        f.copy(shape.states, state, f.vector("base"))
    f.copy(shape.states, f.vector("trial"), state)
    f.normalise(t_new, state)
    if shape.dense:
        f.copy(shape.states, state, f.vector("end"))
        if not shape.tableau.end_enters_error:
            f.derivatives(reached.before, state, f.vector(f"k{shape.tableau.stages}"))
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


def _straighten(f: LoopFunction, h: Value) -> None:
    """Accelerations and multipliers of redundant coordinates: a straight line between the ends of a step."""
    scheme, base, end = f.shape.scheme, f.vector("base"), f.vector("end")
    if scheme is None:
        return
    first, last = f.vector("k0"), f.vector(f"k{f.shape.tableau.stages}")
    with f.each(scheme.states - scheme.first_acceleration) as i:
        m = i + scheme.first_acceleration
        first[m] = (end[m] - base[m]) / h
        last[m] = first[m]


def emit_adaptive_step(program: LoopModule, scan: LoopFunction | None) -> LoopFunction:
    """A trial of step h: accepted if its error norm is at most one, else left with a smaller h to try."""
    blame = emit_blame(program)
    f = program.function("step")
    tableau = program.shape.tableau
    t, wanted = f["t"], f["h"]
    with f.when(~(wanted > 16.0 * EPSILON * f.magnitude(t))):
        f.internal(blame)
        f.give()
    h, t_new = last_step(f, t, wanted)
    reached = stopped_step(f, h, t_new) if program.shape.stops else Reached(h, t_new, t_new)
    h = reached.h
    stages(f, t, h)
    if tableau.end_enters_error:
        f.derivatives(reached.before, f.vector("trial"), f.vector(f"k{tableau.stages}"))
    error = error_norm(f, h)
    grown = grown_error(f, error)
    with f.when(~(error <= 1.0)):
        f["rejected"] = f["rejected"] + 1
        f["after_rejection"] = 1
        f["h"] = shorter_step(f, h, error, grown)
        f.give()
    following = next_step(f, h, grown)
    if reached.stop is not None:  # a step that a stop shortened shows nothing of the steps after it
        following = f.choose(reached.stop, f.most(following, wanted), following)
    f["h"] = following
    f["error_old"] = f.most(error, 1e-4)
    f["after_rejection"] = 0
    _accept(f, reached, scan)
    f.give()
    return f


def emit_blame(program: LoopModule) -> LoopFunction:
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
    with f.when(not_finite(f, trial, ratio)):
        f["status"] = Reason.DIVERGED
        f["failed"] = first_nonfinite(f, trial, ratio)
    f.give()
    return f


def first_nonfinite(f: LoopFunction, *vectors: Vector) -> Value:
    """The index of the first state for which an entry is not finite."""
    index = Variable(f, f.whole(0))
    with f.repeat() as loop:
        strange = sum((0.0 * vector[index.get()] for vector in vectors), f.real(0.0)).differs(0.0)
        with f.when(strange | (index.get() >= f.shape.states - 1)):
            loop.leave()
        index.set(index.get() + 1)
    return index.get()


def emit_first_step(program: LoopModule) -> LoopFunction:
    """The first step of a run, where none was given."""
    f = program.function("first_step", rare=True)
    f["h"] = first_step(f)
    f["error_old"] = 1e-4
    f["after_rejection"] = 0
    f["choose_step"] = 0
    f.give()
    return f
