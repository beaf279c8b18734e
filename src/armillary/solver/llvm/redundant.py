"""Steps of redundant coordinates: projection onto their constraints, and the staggered stabilised scheme.

Bodies have positions d with velocities ḋ, and Euler parameters e with angular velocities w in body axes.

The first method is projection. After each Runge–Kutta step, coordinates and then speeds v = (ḋ, w) are
corrected by the smallest changes Δ in the metric of kinetic energy, with all matrices at the end of the step:

    [ M Bᵀ ; B 0 ] (Δ, ·) = (0, −gap)         d += Δ_d,  e += A(Δ_w) e, made unit
    [ M Bᵀ ; B 0 ] (Δ, ·) = (0, −speed)       v += Δ

The first correction is repeated until the gaps are below CLOSED, usually after one step of Newton's method:
gaps have the order of the local error, and the step reduces them to their square. Constraints on speeds alone
have no part in the first equation: their softness σ = layout.RIGID keeps their multipliers at zero.

Source: Eich (1993), Convergence results for a coordinate projection method; Hairer & Wanner (1996), Solving
Ordinary Differential Equations II, VII.2. Not taken: Baumgarte's terms, whose constants depend on the step,
and stabilised index two (Gear, Gupta, Leimkuhler), which needs a second set of multipliers in every stage.

The second method is the staggered, stabilised solution of constrained motion. With δ = h/2, v = ḋ, and "½"
for the middle of the step, one step is

    1  translations  v½ = v + δ a,  d½ = d + δ v½            (central differences; implicit: a½ in place of a)
    2  rotations     (1 − δA(w½) − δ²A(ẇ½)) e½ + μ e½ = (1 − δA(w½) + δA(w)) e,  e½·e½ = 1
                     (1 − δA(w½)) ė½ + μ e½ = ė + δA(ẇ½) e½,  e½·ė½ = 0;  w½ from both
    3  multipliers   (ε + δ B M⁻¹Bᵀ) λ½ = δ r + ε λ  with all matrices at the middle;  a½, ẇ½ from the motion
    4  repeat from 1 or 2, ``passes`` times, with the new w½ and ẇ½
    5  e' = 2 e½ − e and ė' = 2 ė½ − ė, unit and orthogonal;  d' = d + h v½;  λ' = 2 λ½ − λ
    6  accelerations at the end from the motion equation with λ';  v' = v½ + δ a'

The user's own states z are integrated by the mid-point rule: z½ = z + δ ż½ in step 1, with ż½ of the pass
before (ż in the first), and z' = z + h ż½ in step 5.

Step 3 solves the bordered system with the softness σ = ε/δ; step 6 solves it with λ held at λ' (σ =
layout.RIGID). Without a pass, w is advanced with the old ẇ and is of first order; with one, everything is of
second order.

Sources: Park & Chiou (1987), sections 4 to 6, with A(ẇ) in place of A(w) on the right of eqs. 5.7b, 5.10 and
6.5 and with q, not q̇, as the border of 5.16; v(n + ½) of eq. 6.4 is written v + δ a, which is equal and
allows steps of any length.

Both methods use the arithmetic of Euler parameters,

    ė = A(w) e,   A(w) = ½ [ 0 , −wᵀ ; w , −w̃ ],   A(w)ᵀ = −A(w),   A(w)² = −¼ (w·w) 1

so that the step matrices of the mid-point rule have the inverse (1 − A(p))⁻¹ = (1 + A(p))/(1 + ¼ p·p).
Source: Park & Chiou (1987), section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import REAL, WHOLE
from armillary.solver.llvm.functions import LoopFunction, LoopModule
from armillary.solver.llvm.layout import RIGID, Scheme

CLOSED = 1e-12  # root of the sum of squares of all gaps, in the units of the model
TRIES = 3


def emit_projection(program: LoopModule) -> LoopFunction:
    """Emit `project(t)`: project the trial state onto its constraints; find accelerations and multipliers."""
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
    """Emit `move(t)`: one step of Newton's method on the trial state, from the gaps at the work vector."""
    scheme = scheme_of(program)
    f = program.function("move", arguments=(REAL,))
    t, trial, answer = f.argument(2), f.vector("trial"), f.vector("answer")
    _set_targets(f, 0)
    request_corrections(f, weight=0.0, soft=f.vector("settings")[1], soft_speeds=f.real(RIGID))
    f.solve(t, f.vector("work"), answer)
    for x, v, count in scheme.parts():
        change = v - scheme.first_speed
        for k in range(count):
            trial[x + k] = trial[x + k] + answer[change + k]
        place = f.whole(x + count)
        e = take(trial, place, 4)
        turned = rate(take(answer, f.whole(change + count), 3), e)
        put(trial, place, unit(f, plus(e, turned)))
    f.normalise(t, trial)
    f.give()
    return f


def emit_begin(program: LoopModule) -> LoopFunction:
    """Emit `begin()`: at a start, find speeds that satisfy the constraints, accelerations and multipliers."""
    f = program.function("begin", rare=True)
    settle_speeds(f, f["t"], f.vector("state"))
    f.give()
    return f


def emit_straighten(program: LoopModule) -> LoopFunction:
    """Emit `straighten(h)`: make accelerations and multipliers linear between the ends of a step."""
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
    """Project the speeds of a state onto their constraints, and find its accelerations and multipliers."""
    scheme = scheme_of(f.program)
    work, answer, soft = f.vector("work"), f.vector("answer"), f.vector("settings")[1]
    f.copy(f.shape.states, state, work)
    f.residuals(t, work, f.vector("gaps"))
    _set_targets(f, scheme.rows)
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


def _set_targets(f: LoopFunction, first: int) -> None:
    """Set λ₀ = 0 and targets that remove the gaps; ``first`` is the index of the first of these gaps."""
    scheme, work, gaps = scheme_of(f.program), f.vector("work"), f.vector("gaps")
    with f.each(scheme.rows) as i:
        work[i + scheme.first_given] = 0.0
        work[i + scheme.first_target] = 0.0 - gaps[i + first]


def scheme_of(program: LoopModule) -> Scheme:
    scheme = program.shape.scheme
    assert scheme is not None
    return scheme


def request_corrections(f: LoopFunction, *, weight: float, soft: Value, soft_speeds: Value) -> None:
    """Set the last inputs of `solve`: motion (1) or a projection (0), and the softness of the constraints."""
    work, scheme = f.vector("work"), scheme_of(f.program)
    work[scheme.weight] = weight
    work[scheme.weight + 1] = soft
    work[scheme.weight + 2] = soft_speeds


def emit_staggered(program: LoopModule) -> LoopFunction:
    """Emit `advance_staggered(t, h)`, which computes the trial state after a step."""
    scheme, states = scheme_of(program), program.shape.states
    half, finish = _emit_half(program), _emit_finish(program)
    f = program.function("advance_staggered", arguments=(REAL, REAL))
    t, h = f.argument(2), f.argument(3)
    delta = 0.5 * h
    state, trial, work, answer = (f.vector(name) for name in ("state", "trial", "work", "answer"))
    f.copy(states, state, work)
    _set_known_multipliers(f, scheme, state, scheme.first_multiplier)
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
    _set_known_multipliers(f, scheme, trial, scheme.first_multiplier)
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


def _set_known_multipliers(f: LoopFunction, scheme: Scheme, source: Span, first: int) -> None:
    """Set λ₀, the known multipliers of the bordered system, from a state, and zero targets."""
    work = f.vector("work")
    with f.each(scheme.rows) as i:
        work[i + scheme.first_given] = source[i + first]
        work[i + scheme.first_target] = 0.0


def _emit_half(program: LoopModule) -> LoopFunction:
    """Emit `half_staggered(t, delta)`: steps 1 to 3; they replace the values of the middle in `work`."""
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
    """Emit `turn_staggered(e, w, delta)`: step 2 for the part with these indices of its e and w."""
    f = program.function("turn_staggered", arguments=(WHOLE, WHOLE, REAL))
    place, first, delta = f.argument(2), f.argument(3), f.argument(4)
    state, work = f.vector("state"), f.vector("work")
    e, w = take(state, place, 4), take(state, first, 3)
    middle = take(work, first, 3)
    gained = times(delta, take(work, first + scheme_of(program).ahead, 3))
    whole = times(delta, plus(middle, gained))
    right = plus(e, rate(times(delta, minus(w, middle)), e))
    e_half = solved_unit(f, whole, right)
    right = plus(rate(w, e), rate(gained, e_half))
    e_dot = solved_across(times(delta, middle), right, e_half)
    put(work, place, e_half)
    put(work, first, spin(e_half, e_dot))
    f.give()
    return f


def _emit_finish(program: LoopModule) -> LoopFunction:
    """Emit `finish_staggered(e, w)`: step 5 for the part with these indices."""
    f = program.function("finish_staggered", arguments=(WHOLE, WHOLE))
    place, first = f.argument(2), f.argument(3)
    state, work, trial = (f.vector(name) for name in ("state", "work", "trial"))
    e, e_half = take(state, place, 4), take(work, place, 4)
    e_dot = rate(take(state, first, 3), e)
    half_dot = rate(take(work, first, 3), e_half)
    e_new = unit(f, minus(times(2.0, e_half), e))
    new_dot = across(e_new, minus(times(2.0, half_dot), e_dot))
    put(trial, place, e_new)
    put(trial, first, spin(e_new, new_dot))
    f.give()
    return f


Values = Sequence[Value]


def take(vector: Span, first: Value, count: int) -> list[Value]:
    """Return consecutive entries of a vector."""
    return [vector[first + i] for i in range(count)]


def put(vector: Span, first: Value, values: Values) -> None:
    for i, value in enumerate(values):
        vector[first + i] = value


def dot(a: Values, b: Values) -> Value:
    products = [x * y for x, y in zip(a, b, strict=True)]
    return sum(products[1:], products[0])


def plus(a: Values, b: Values) -> list[Value]:
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Values, b: Values) -> list[Value]:
    return [x - y for x, y in zip(a, b, strict=True)]


def times(factor: Value | float, a: Values) -> list[Value]:
    return [factor * x for x in a]


def rate(w: Values, e: Values) -> list[Value]:
    """Rates of Euler parameters, ė = A(w) e."""
    x, y, z = times(0.5, w)
    e0, e1, e2, e3 = e
    return [
        -1.0 * (x * e1 + y * e2 + z * e3),
        x * e0 + z * e2 - y * e3,
        y * e0 + x * e3 - z * e1,
        z * e0 + y * e1 - x * e2,
    ]


def solve_midpoint(p: Values, right: Values) -> list[Value]:
    """(1 − A(p))⁻¹ times a right side, in closed form."""
    size = 1.0 / (1.0 + 0.25 * dot(p, p))
    return times(size, plus(right, rate(p, right)))


def solved_unit(f: LoopFunction, p: Values, right: Values) -> list[Value]:
    """Return the unit e of (1 − A(p)) e + μ e = r, with the multiplier μ of its length.

    (1 + μ)² = r·r − ¼ p·p,  e = ( (1 + μ) + A(p) ) r / r·r. If p is so large that no such μ exists, e is
    scaled to unit length.
    """
    size = dot(right, right)
    stretch = f.root(f.most(size - 0.25 * dot(p, p), 0.0))
    return unit(f, plus(times(stretch, right), rate(p, right)))


def solved_across(p: Values, right: Values, e: Values) -> list[Value]:
    """Return the ė of (1 − A(p)) ė + μ e = r that is orthogonal to a unit e, with μ as the multiplier of this
    condition.
    """
    free = solve_midpoint(p, right)
    beside = solve_midpoint(p, e)
    return minus(free, times(dot(e, free) / dot(e, beside), beside))


def unit(f: LoopFunction, e: Values) -> list[Value]:
    """Return e scaled to unit length."""
    return times(1.0 / f.root(dot(e, e)), e)


def across(e: Values, e_dot: Values) -> list[Value]:
    """Return the part of ė that is orthogonal to a unit e."""
    return minus(e_dot, times(dot(e, e_dot), e))


def spin(e: Values, e_dot: Values) -> list[Value]:
    """Angular velocity from Euler parameters and their rates: w = 2 (e₀ ġ − g × ġ − ė₀ g), e = (e₀, g)."""
    e0, x, y, z = e
    d0, dx, dy, dz = e_dot
    return [
        2.0 * (e0 * dx - (y * dz - z * dy) - d0 * x),
        2.0 * (e0 * dy - (z * dx - x * dz) - d0 * y),
        2.0 * (e0 * dz - (x * dy - y * dx) - d0 * z),
    ]
