"""One step of the staggered, stabilised solution of constrained motion.

With δ = h/2, and "½" for the middle of the step:

    1  translations  v½ = v + δ a,  d½ = d + δ v½            (central differences; implicit: a½ in place of a)
    2  rotations     (1 − δA(w½) − δ²A(ẇ½)) e½ + μ e½ = (1 − δA(w½) + δA(w)) e,  e½·e½ = 1
                     (1 − δA(w½)) ė½ + μ e½ = ė + δA(ẇ½) e½,  e½·ė½ = 0;  w½ from both
    3  multipliers   (ε + δ B M⁻¹Bᵀ) λ½ = δ r + ε λ  with all matrices at the middle;  a½, ẇ½ from the motion
    4  again from 1 or 2, ``passes`` times, with the new w½ and ẇ½
    5  e' = 2 e½ − e and ė' = 2 ė½ − ė, unit and orthogonal;  d' = d + h v½;  λ' = 2 λ½ − λ
    6  accelerations at the end from the motion equation with λ';  v' = v½ + δ a'

States z of the user's own take part by the mid-point rule, z½ = z + δ ż½ in step 1, with ż½ of the pass
before (ż in the first), and z' = z + h ż½ in step 5.

Step 3 is the bordered system with σ = ε/δ, step 6 the same with λ held (scheme.RIGID). Without a pass w is
advanced with the old ẇ, which makes it first order; with one, all is second order.

Sources: Park & Chiou (1987), sections 4 to 6, with A(ẇ) in place of A(w) on the right of eqs. 5.7b, 5.10 and
6.5 and with q, not q̇, as the border of 5.16; v(n + ½) of eq. 6.4 is written v + δ a, which is the same and
lets a step have any length.
"""

from __future__ import annotations

from armillary.llvm.building.builder import Span, Value
from armillary.llvm.building.emitter import REAL, WHOLE
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.redundant import euler_parameters as euler
from armillary.runtime.loop.redundant.redundant_layout import RIGID, Scheme


def scheme_of(program: LoopModule) -> Scheme:
    scheme = program.shape.scheme
    assert scheme is not None
    return scheme


def request_corrections(f: LoopFunction, *, weight: float, soft: Value, soft_speeds: Value) -> None:
    """The last inputs of `solve`: motion (1) or a projection (0), and how soft the constraints are."""
    work, scheme = f.vector("work"), scheme_of(f.program)
    work[scheme.weight] = weight
    work[scheme.weight + 1] = soft
    work[scheme.weight + 2] = soft_speeds


def emit_staggered(program: LoopModule) -> LoopFunction:
    """`advance(t, h)`: the trial state after a step."""
    scheme, states = scheme_of(program), program.shape.states
    half, finish = _emit_half(program), _emit_finish(program)
    f = program.function("advance_staggered", arguments=(REAL, REAL))
    t, h = f.argument(2), f.argument(3)
    delta = 0.5 * h
    state, trial, work, answer = (f.vector(name) for name in ("state", "trial", "work", "answer"))
    f.copy(states, state, work)
    _give(f, scheme, state, scheme.first_multiplier)
    soft = f.vector("settings")[0] / delta
    request_corrections(f, weight=1.0, soft=soft, soft_speeds=soft)
    for _ in range(scheme.passes + 1):
        f.internal(half, t + delta, delta)

    end = t + h
    with f.each(scheme.joints) as i:
        q = i + scheme.coordinates
        trial[q] = 2.0 * work[q] - state[q]
    for x, v, count in scheme.parts():
        for k in range(count):
            trial[x + k] = state[x + k] + h * work[v + k]
            trial[v + k] = work[v + k] + delta * work[v + k + scheme.ahead]
        f.internal(finish, f.whole(x + count), f.whole(v + count))
    with f.each(scheme.rows) as i:
        m = i + scheme.first_multiplier
        trial[m] = 2.0 * answer[i + scheme.speeds] - state[m]
    with f.each(scheme.own) as i:
        z = i + scheme.first_own
        trial[z] = state[z] + h * work[i + scheme.first_rate]
    f.normalise(end, trial)
    middle_speeds = [work[v + k] for _, v, count in scheme.parts() for k in range(count)]
    f.copy(states, trial, work)
    _give(f, scheme, trial, scheme.first_multiplier)
    request_corrections(f, weight=1.0, soft=f.real(RIGID), soft_speeds=f.real(RIGID))
    f.solve(end, work, answer)
    with f.each(scheme.speeds) as i:
        trial[i + scheme.first_acceleration] = answer[i]
    with f.each(scheme.own) as i:
        trial[i + scheme.first_rate] = answer[i + scheme.speeds + scheme.rows]
    if not scheme.implicit:
        places = [v + k for _, v, count in scheme.parts() for k in range(count)]
        for place, middle in zip(places, middle_speeds, strict=True):
            trial[place] = middle + delta * trial[place + scheme.ahead]
    f.give()
    return f


def _give(f: LoopFunction, scheme: Scheme, source: Span, first: int) -> None:
    """λ₀ from a state, and no targets."""
    work = f.vector("work")
    with f.each(scheme.rows) as i:
        work[i + scheme.first_given] = source[i + first]
        work[i + scheme.first_target] = 0.0


def _emit_half(program: LoopModule) -> LoopFunction:
    """`half(t, delta)`: steps 1 to 3 with what the work vector holds of the middle; it leaves more there."""
    scheme = scheme_of(program)
    turn = _emit_turn(program)
    f = program.function("half_staggered", arguments=(REAL, REAL))
    t, delta = f.argument(2), f.argument(3)
    state, work, answer = (f.vector(name) for name in ("state", "work", "answer"))
    known = work if scheme.implicit else state
    for x, v, count in scheme.parts():
        for k in range(count):
            work[v + k] = state[v + k] + delta * known[v + k + scheme.ahead]
            work[x + k] = state[x + k] + delta * work[v + k]
        f.internal(turn, f.whole(x + count), f.whole(v + count), delta)
    with f.each(scheme.own) as i:
        z = i + scheme.first_own
        work[z] = state[z] + delta * work[i + scheme.first_rate]
    f.normalise(t, work)
    f.solve(t, work, answer)
    with f.each(scheme.speeds) as i:
        work[i + scheme.first_acceleration] = answer[i]
    with f.each(scheme.own) as i:
        work[i + scheme.first_rate] = answer[i + scheme.speeds + scheme.rows]
    f.give()
    return f


def _emit_turn(program: LoopModule) -> LoopFunction:
    """`turn(e, w, delta)`: step 2 for the part whose Euler parameters and spin are at these places."""
    f = program.function("turn_staggered", arguments=(WHOLE, WHOLE, REAL))
    place, first, delta = f.argument(2), f.argument(3), f.argument(4)
    state, work = f.vector("state"), f.vector("work")
    e, w = euler.take(state, place, 4), euler.take(state, first, 3)
    middle = euler.take(work, first, 3)
    gained = euler.times(delta, euler.take(work, first + scheme_of(program).ahead, 3))
    whole = euler.times(delta, euler.plus(middle, gained))
    right = euler.plus(e, euler.rate(euler.times(delta, euler.minus(w, middle)), e))
    e_half = euler.solved_unit(f, whole, right)
    right = euler.plus(euler.rate(w, e), euler.rate(gained, e_half))
    e_dot = euler.solved_across(euler.times(delta, middle), right, e_half)
    euler.put(work, place, e_half)
    euler.put(work, first, euler.spin(e_half, e_dot))
    f.give()
    return f


def _emit_finish(program: LoopModule) -> LoopFunction:
    """`finish(e, w)`: step 5 for the part at these places."""
    f = program.function("finish_staggered", arguments=(WHOLE, WHOLE))
    place, first = f.argument(2), f.argument(3)
    state, work, trial = (f.vector(name) for name in ("state", "work", "trial"))
    e, e_half = euler.take(state, place, 4), euler.take(work, place, 4)
    e_dot = euler.rate(euler.take(state, first, 3), e)
    half_dot = euler.rate(euler.take(work, first, 3), e_half)
    e_new = euler.unit(f, euler.minus(euler.times(2.0, e_half), e))
    new_dot = euler.across(e_new, euler.minus(euler.times(2.0, half_dot), e_dot))
    euler.put(trial, place, e_new)
    euler.put(trial, first, euler.spin(e_new, new_dot))
    f.give()
    return f
