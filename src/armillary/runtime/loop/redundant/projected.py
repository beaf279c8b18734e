"""Projection of redundant coordinates and speeds onto their constraints, and accelerations that keep them.

After each Runge–Kutta step, with everything at its end,

    [ M Bᵀ ; B 0 ] (Δ, ·) = (0, −gap)         d += Δ_d,  e += A(Δ_w) e, made unit
    [ M Bᵀ ; B 0 ] (Δ, ·) = (0, −speed)       v += Δ

the smallest changes in the metric of kinetic energy. The first is repeated until the gaps are below CLOSED,
which is after one step of Newton's method as a rule: they are of the order of the local error, and it leaves
their square. Constraints of speeds alone take no part in it (σ is scheme.RIGID).

Source: Eich (1993), Convergence results for a coordinate projection method; Hairer & Wanner (1996), Solving
Ordinary Differential Equations II, VII.2. Not taken: Baumgarte's terms, whose constants depend on the step,
and stabilised index two (Gear, Gupta, Leimkuhler), which carries a second set of multipliers through every
stage.
"""

from __future__ import annotations

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import REAL
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.redundant import euler_parameters as euler
from armillary.runtime.loop.redundant.redundant_layout import RIGID
from armillary.runtime.loop.redundant.staggered import request_corrections, scheme_of

CLOSED = 1e-12  # root of the sum of squares of all gaps, in the units of the model
TRIES = 3


def emit_projection(program: LoopModule) -> LoopFunction:
    """`project(t)`: the trial state onto its constraints, with accelerations and multipliers there."""
    move = _emit_move(program)
    rows = scheme_of(program).rows
    f = program.function("project", arguments=(REAL,))
    t, trial, work, gaps = f.argument(2), f.vector("trial"), f.vector("work"), f.vector("gaps")
    f.normalise(t, trial)
    tries = Local(f, f.whole(0))
    with f.repeat() as newton:
        f.copy(program.shape.states, trial, work)
        f.residuals(t, work, gaps)
        closed = f.total(rows, lambda i: gaps[i] * gaps[i]) <= CLOSED * CLOSED
        with f.when((closed & (tries.get() > 0)) | (tries.get() >= TRIES)):
            newton.leave()
        f.internal(move, t)
        tries.set(tries.get() + 1)
    settle_speeds(f, t, trial)
    f.give()
    return f


def _emit_move(program: LoopModule) -> LoopFunction:
    """`move(t)`: the trial state after one step of Newton's method, from the gaps at the work vector."""
    scheme = scheme_of(program)
    f = program.function("move", arguments=(REAL,))
    t, trial, answer = f.argument(2), f.vector("trial"), f.vector("answer")
    _aim(f, 0)
    request_corrections(f, weight=0.0, soft=f.vector("settings")[1], soft_speeds=f.real(RIGID))
    f.solve(t, f.vector("work"), answer)
    for x, v, count in scheme.parts():
        change = v - scheme.first_speed
        for k in range(count):
            trial[x + k] = trial[x + k] + answer[change + k]
        place = f.whole(x + count)
        e = euler.take(trial, place, 4)
        turned = euler.rate(euler.take(answer, f.whole(change + count), 3), e)
        euler.put(trial, place, euler.unit(f, euler.plus(e, turned)))
    f.normalise(t, trial)
    f.give()
    return f


def emit_begin(program: LoopModule) -> LoopFunction:
    """`begin()`: speeds that keep the constraints, accelerations and multipliers at a new beginning."""
    f = program.function("begin", rare=True)
    settle_speeds(f, f["t"], f.vector("state"))
    f.give()
    return f


def emit_straighten(program: LoopModule) -> LoopFunction:
    """`straighten(h)`: accelerations and multipliers follow a straight line between the ends of a step."""
    f = program.function("straighten", arguments=(REAL,))
    scheme, base, end = scheme_of(program), f.vector("base"), f.vector("finish")
    first, last = f.vector("k0"), f.vector("k_end")
    with f.each(scheme.states - scheme.first_acceleration) as i:
        m = i + scheme.first_acceleration
        first[m] = (end[m] - base[m]) / f.argument(2)
        last[m] = first[m]
    f.give()
    return f


def settle_speeds(f: LoopFunction, t: Value, state: Span) -> None:
    """The speeds of a state onto their constraints; its accelerations and multipliers."""
    scheme = scheme_of(f.program)
    work, answer, soft = f.vector("work"), f.vector("answer"), f.vector("settings")[1]
    f.copy(f.shape.states, state, work)
    f.residuals(t, work, f.vector("gaps"))
    _aim(f, scheme.rows)
    request_corrections(f, weight=0.0, soft=soft, soft_speeds=soft)
    f.solve(t, work, answer)
    with f.each(scheme.speeds) as i:
        v = i + scheme.first_speed
        state[v] = state[v] + answer[i]
        work[v] = state[v]
    with f.each(scheme.rows) as i:
        work[i + scheme.first_given] = state[i + scheme.first_multiplier]
        work[i + scheme.first_target] = 0.0
    request_corrections(f, weight=1.0, soft=soft, soft_speeds=soft)
    f.solve(t, work, answer)
    with f.each(scheme.answer) as i:
        state[i + scheme.first_acceleration] = answer[i]


def _aim(f: LoopFunction, first: int) -> None:
    """Targets that take away the gaps from ``first`` on, and λ₀ = 0."""
    scheme, work, gaps = scheme_of(f.program), f.vector("work"), f.vector("gaps")
    with f.each(scheme.rows) as i:
        work[i + scheme.first_given] = 0.0
        work[i + scheme.first_target] = 0.0 - gaps[i + first]
