"""Forecasts of places where constraints lose rank, in the small language of language.py.

The strength of the weakest constraint is extrapolated to zero, with its slope and bend.

Then places without mass on the way of an exported run.
The ideas are in runtime/models/failures.py. A run that failed, or whose speeds jumped within a
step of fixed size, is followed in a straight line from where it was: it ends where a pivot of the mass matrix
all but vanishes, of the inertias that it is made of and of its share at the start of the run.
"""

from __future__ import annotations

from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.thresholds import (
    AROUND,
    BELIEVED,
    BESIDE,
    COARSE,
    FALLEN,
    FARTHEST,
    FINE,
    FINEST,
    LOOK_FAR,
    LOOK_NEAR,
    MIDDLE,
    MISSED,
    RESOLVED_ADAPTIVE,
    RESOLVED_FIXED,
    RIGHT_AHEAD,
    SPEED_JUMP,
    UNSOUND,
    UNSOUND_ADAPTIVE,
    WEAK,
    WEAK_RANK,
)


def fastest_turn(run: RunRecord) -> real:
    """Return the largest rate of a coordinate on which the constraints depend, in terms of its size."""
    fast: real = 1e-300
    for i in range(N_COORDINATES):
        if TURNS_ROWS[i] > 0.0:
            fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
    return fast


def seconds_to_cover(run: RunRecord, distance: real, rates: States) -> real:
    """Seconds in which the quickest coordinate covers a distance, in terms of its size, with these rates of
    speeds. Wheels that roll and a body that moves on turn no constraint: they do not count.
    """
    quickens: real = 1e-300
    for i in range(N_STATES):
        if not below(i, N_COORDINATES) and TURNS_ROWS[i] > 0.0:
            quickens = max(quickens, abs(rates[i]) / STATE_SIZE[i])
    return min(distance / fastest_turn(run), sqrt(2.0 * distance / quickens))


def horizon(run: RunRecord, distance: real) -> real:
    """Seconds in which the quickest coordinate covers a distance, in terms of its size."""
    return seconds_to_cover(run, distance, run.k0)


def moves_far(run: RunRecord, h: real) -> truth:
    """Return whether some coordinate that turns constraints may cover the distance over which forecasts are
    believed in a step of length h. Asked after every step: products cost less than the divisions of
    `horizon`.
    """
    far: truth = False
    for i in range(N_COORDINATES):
        covers: truth = h * abs(run.k0[i]) >= BELIEVED * STATE_SIZE[i]
        far = far or (covers and TURNS_ROWS[i] > 0.0)
    for i in range(N_COORDINATES, N_STATES):
        gains: truth = h * h * abs(run.k0[i]) >= 2.0 * BELIEVED * STATE_SIZE[i]
        far = far or (gains and TURNS_ROWS[i] > 0.0)
    return far


def extrapolate(run: RunRecord, x: real) -> None:
    """The state so long ahead, to second order, into `stage`."""
    run.stage = run.state + x * run.k0
    run.trial = derivatives(run.t + x, run.stage)
    run.stage = run.state + 0.5 * x * (run.k0 + run.trial)


def strength(run: RunRecord) -> real:
    """Return the strength of the weakest constraint, 1 elsewhere, squared, by the event functions in `g`."""
    left: real = run.g[RANK_EVENT[run.configuration]] + WEAK_RANK
    return left


def strength_ahead(run: RunRecord, x: real) -> real:
    """Return the root of the strength of the weakest constraint, so long ahead."""
    extrapolate(run, x)
    run.g = events(run.t + x, run.stage)
    return sqrt(max(strength(run), 0.0))


def root_straight_ahead(run: RunRecord, x: real) -> real:
    """Return the root of the strength of the weakest constraint, so long ahead along the present speeds."""
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + x * run.k0[i]
    run.g = events(run.t + x, run.stage)
    return sqrt(max(strength(run), 0.0))


def rank_lost_straight_ahead(run: RunRecord, here: real) -> real:
    """Seconds to a place right ahead, along the present speeds: accelerations are rounding errors there, up
    to 1e12 times as large as elsewhere. The square of the root of the strength is a parabola with its vertex
    in the place. Infinity if there is none on the way, or loads bend the way to it: accelerations are those a
    little later.
    """
    fast: real = fastest_turn(run)
    bends: real = 0.0
    x: real = here / fast
    if not (x < INFINITY):
        return INFINITY
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + 4.0 * BESIDE / fast * run.k0[i]
    run.stage = normalise(run.t, run.stage)
    run.trial = derivatives(run.t, run.stage)
    for i in range(N_STATES):
        if not below(i, N_COORDINATES) and TURNS_ROWS[i] > 0.0:
            bends = max(bends, abs(run.trial[i]) / STATE_SIZE[i])
    if not (bends * x < 0.5 * fast):
        return INFINITY
    next_one: real = 0.0
    later: real = 0.0
    next_one = root_straight_ahead(run, 0.5 * x)
    later = root_straight_ahead(run, x)
    first: real = here * here
    second: real = next_one * next_one
    third: real = later * later
    slope: real = (4.0 * second - 3.0 * first - third) / x
    bend: real = 2.0 * (first - 2.0 * second + third) / (x * x)
    if not (slope < 0.0 and bend > 0.0):
        return INFINITY
    if first + 0.5 * slope * (-0.5 * slope / bend) > MISSED * first:
        return INFINITY
    return -0.5 * slope / bend


def rank_lost_after(run: RunRecord) -> real:
    """Seconds after which the constraints lose rank if their strength goes on to fall as it does; infinity
    where it does not. From rest there is no slope, so its bend counts, too.
    """
    here: real = 0.0
    next_one: real = 0.0
    later: real = 0.0
    distance: real = LOOK_FAR
    ahead: real = INFINITY
    here = strength_ahead(run, 0.0)
    if PASSING and here < RIGHT_AHEAD:
        ahead = rank_lost_straight_ahead(run, here)
        if ahead < INFINITY:
            return ahead
    while distance > LOOK_NEAR:
        x: real = horizon(run, distance)
        if not (x > 0.0 and x < INFINITY):
            return INFINITY
        next_one = strength_ahead(run, x)
        later = strength_ahead(run, 2.0 * x)
        slope: real = (4.0 * next_one - 3.0 * here - later) / (2.0 * x)
        bend: real = (here - 2.0 * next_one + later) / (2.0 * x * x)
        under: real = slope * slope - 4.0 * bend * here
        ahead = INFINITY
        root: real = sqrt(max(under, 0.0))
        if under >= 0.0 and root > slope:
            ahead = 2.0 * here / (root - slope)
        falls: truth = ahead < INFINITY
        if not falls and 2.0 * next_one < later:
            ahead = x * here / (here + next_one)  # it has fallen to zero and risen again on the way there
            break
        if (not falls and next_one >= here) or (falls and ahead > 4.0 * x):
            break
        distance = 0.1 * distance  # the place was passed in looking for it: look less far
    if ahead > horizon(run, BELIEVED):
        ahead = INFINITY
    return ahead


def rank_is_lost(run: RunRecord) -> truth:
    """Whether the constraints have lost rank, but for rounding: speeds grow beyond all bounds where a loop
    cannot follow any further, so that steps under error control get no nearer to the place. A run that began
    again here, after an event that rounding put just before the place, is gone through again instead.
    """
    if RANK_EVENT[run.configuration] == NONE:
        return False
    for k in range(N_EVENTS):
        if not differs(run.last[k], run.t):
            return False
    run.g = events(run.t, run.state)
    left: real = strength(run)
    return left < UNSOUND


def shorter_helps(run: RunRecord, x: real) -> truth:
    """Return whether shorter steps may lead to a place so far into the step just taken, which has jumped over
    it.
    """
    t: real = run.t_old + x
    passed: truth = t < run.short_begin or t > run.short_end
    return passed or run.h_taken > FINEST * horizon(run, AROUND)


def longest_step(run: RunRecord) -> real:
    """Return the longest step, in and before a stretch that is passed in short ones."""
    longest: real = INFINITY
    if run.t < run.short_end:
        longest = max(run.short_begin - run.t, FINEST * run.short_step)  # no sliver is left by rounding
        if run.t >= run.short_begin:
            longest = run.short_step
    return min(longest, run.resolved)


def resolve_weakness(run: RunRecord) -> None:
    """Find the longest step where the constraints are weak, a share of the distance to where they lose rank.

    Next to a place, the root of their strength is about that distance, in sizes of motion: where the motion
    comes near to a place without meeting it, that in complex time, within which its Taylor series converges.
    A mechanism that is nearly at a change point turns there from one branch of motion to another. Speeds
    alone count: accelerations are not sound right before a place.
    """
    run.resolved = INFINITY
    if RANK_EVENT[run.configuration] == NONE:
        return
    left: real = strength(run)
    if left < WEAK_RANK and (left > UNSOUND_ADAPTIVE or not adaptive(run)):
        part: real = RESOLVED_ADAPTIVE if adaptive(run) else RESOLVED_FIXED
        run.resolved = part * sqrt(max(left, UNSOUND)) / fastest_turn(run)


def begin_after(run: RunRecord, ahead: real, distance: real) -> real:
    """Seconds to the beginning of the step of such a length across a place so long ahead."""
    return ahead - MIDDLE * min(horizon(run, distance), ahead / MIDDLE)


def start_masses(run: RunRecord) -> None:
    """The pivots and the speeds at the start of a run."""
    run.shares = pivot_shares(run.t, run.state)
    for k in range(N_PIVOTS):
        run.usual[k] = abs(run.shares[k])
        if not (run.usual[k] >= 1e-13):  # nothing but rounding error, or no mass at all (not a number)
            here: truth = True
            if CONFIGURATIONS:
                here = PIVOT_OF[k] == run.configuration
            if here:
                run.status = SINGULAR
                run.failed = k
                run.weak = k
                run.weak_time = run.t
            else:
                run.usual[k] = 1.0
    measure_speeds(run)
    for k in range(N_KINDS):
        run.peak[k] = run.fastest[k]


def measure_speeds(run: RunRecord) -> None:
    """The largest speed of each kind."""
    for k in range(N_KINDS):
        run.fastest[k] = 0.0
    for i in range(N_STATES):
        kind: whole = KIND[at(run.configuration, N_STATES, i)] if CONFIGURATIONS else KIND[i]
        if kind != NONE:
            run.fastest[kind] = max(run.fastest[kind], abs(run.state[i]))


def speeds_jumped(run: RunRecord) -> truth:
    """Return whether speeds of some kind are far above all earlier ones."""
    found: truth = False
    for k in range(N_KINDS):
        if run.peak[k] > 0.0 and not (run.fastest[k] < SPEED_JUMP * run.peak[k]):
            found = True
    return found


def note_peaks(run: RunRecord) -> None:
    """The largest speed of each kind so far."""
    for k in range(N_KINDS):
        run.peak[k] = max(run.peak[k], run.fastest[k])


def fallen_share(run: RunRecord, t: real, x: real) -> real:
    """Return the remaining share of the weakest pivot, relative to that at the start, so long after
    a place.
    """
    run.point = run.way + x * run.k0
    run.shares = pivot_shares(t + x, run.point)
    least: real = INFINITY
    for k in range(N_PIVOTS):
        part: real = abs(run.shares[k]) / run.usual[k]
        here: truth = True
        if CONFIGURATIONS:
            here = PIVOT_OF[k] == run.configuration
        if here and part < least:
            least = part
            run.weak = k
    return least


def find_weak_place(run: RunRecord, t: real, longest: real) -> truth:
    """Return whether some motion moves no mass at a place ahead, on the straight way of the motion."""
    rate: real = 0.0
    for i in range(N_STATES):
        kind: whole = KIND[at(run.configuration, N_STATES, i)] if CONFIGURATIONS else KIND[i]
        if kind == NONE:
            rate = max(rate, abs(run.k0[i]))
    reach: real = longest
    if rate * reach > FARTHEST:
        reach = FARTHEST / rate
    best: real = INFINITY
    place: real = 0.0
    share: real = 0.0
    count_of: real = 0.0
    while count_of < COARSE:
        share = fallen_share(run, t, reach * count_of / (COARSE - 1.0))
        if share < best:
            best = share
            place = reach * count_of / (COARSE - 1.0)
        count_of = count_of + 1.0
    low: real = max(place - reach / (COARSE - 1.0), 0.0)
    high: real = min(place + reach / (COARSE - 1.0), reach)
    count_of = 0.0
    while count_of < FINE:
        share = fallen_share(run, t, low + (high - low) * count_of / (FINE - 1.0))
        if share < best:
            best = share
            place = low + (high - low) * count_of / (FINE - 1.0)
        count_of = count_of + 1.0
    share = fallen_share(run, t, place)
    run.weak_time = t + place
    return share <= FALLEN and abs(run.shares[run.weak]) <= WEAK


def blame_masses(run: RunRecord, t: real, longest: real) -> None:
    """The end of a run at a place without mass, if there is one ahead."""
    found: truth = False
    found = find_weak_place(run, t, longest)
    if found:
        run.status = SINGULAR
        run.failed = run.weak
