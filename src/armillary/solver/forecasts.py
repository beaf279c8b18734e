"""Forecasts of singular configurations, in the small language of language.py.

The first part forecasts a loss of rank: the strength of the weakest constraint is extrapolated to zero, with
its first and second derivatives (slope and bend).

The second part finds motions without mass ahead of an exported run, as runtime/models/failures.py describes.
From a state where a run failed, or where its speeds jumped within a fixed step, the motion is followed in a
straight line. The run ends where a pivot of the mass matrix almost vanishes, compared both with the inertias
in it and with its share at the start of the run.
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
    """Return the largest rate of the coordinates on which the constraints depend, divided by their sizes."""
    fast: real = 1e-300
    for i in range(N_COORDINATES):
        if TURNS_ROWS[i] > 0.0:
            fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
    return fast


def seconds_to_cover(run: RunRecord, distance: real, rates: States) -> real:
    """Return the seconds in which the fastest coordinate covers a distance, relative to its size, with these
    rates of speeds. Only coordinates on which constraints depend count; angles of rolling wheels do not.
    """
    quickens: real = 1e-300
    for i in range(N_STATES):
        if not below(i, N_COORDINATES) and TURNS_ROWS[i] > 0.0:
            quickens = max(quickens, abs(rates[i]) / STATE_SIZE[i])
    return min(distance / fastest_turn(run), sqrt(2.0 * distance / quickens))


def horizon(run: RunRecord, distance: real) -> real:
    """Return the seconds in which the fastest coordinate covers a distance, relative to its size."""
    return seconds_to_cover(run, distance, run.k0)


def moves_far(run: RunRecord, h: real) -> truth:
    """Return whether some coordinate that turns constraints may cover the distance over which forecasts are
    believed in a step of length h. This is evaluated after every step, with products, which cost less than
    the divisions of `horizon`.
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
    """Extrapolate the state x seconds ahead, to second order, into `stage`."""
    run.stage = run.state + x * run.k0
    run.trial = derivatives(run.t + x, run.stage)
    run.stage = run.state + 0.5 * x * (run.k0 + run.trial)


def strength(run: RunRecord) -> real:
    """Return the squared strength of the weakest constraint (1 far from a loss of rank), from `g`."""
    left: real = run.g[RANK_EVENT[run.configuration]] + WEAK_RANK
    return left


def strength_ahead(run: RunRecord, x: real) -> real:
    """Return the root of the strength of the weakest constraint, x seconds ahead."""
    extrapolate(run, x)
    run.g = events(run.t + x, run.stage)
    return sqrt(max(strength(run), 0.0))


def root_straight_ahead(run: RunRecord, x: real) -> real:
    """Return the root of the strength of the weakest constraint, x seconds ahead along the present speeds."""
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + x * run.k0[i]
    run.g = events(run.t + x, run.stage)
    return sqrt(max(strength(run), 0.0))


def rank_lost_straight_ahead(run: RunRecord, here: real) -> real:
    """Return the seconds to a singularity right ahead, from the present speeds alone: accelerations there are
    rounding errors, up to 1e12 times as large as elsewhere. The strength is a parabola with its vertex at the
    singularity. Return infinity if there is no vertex ahead, or if loads bend the motion on the way to it;
    the accelerations for this check are computed a little further on, where they are accurate.
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
    """Return the seconds after which the constraints lose rank if their strength keeps falling as it does
    now; infinity if it does not fall. In a run from rest the slope is zero, so the bend is used, too.
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
            ahead = x * here / (here + next_one)  # the strength is zero in between and has risen again
            break
        if (not falls and next_one >= here) or (falls and ahead > 4.0 * x):
            break
        distance = 0.1 * distance  # these values are from beyond the singularity: look less far
    if ahead > horizon(run, BELIEVED):
        ahead = INFINITY
    return ahead


def rank_is_lost(run: RunRecord) -> truth:
    """Return whether the constraints have lost rank, except for rounding. Where a loop cannot move any
    further, speeds grow without bound, and adaptive steps get no nearer to the singularity. Return false if
    an event has just happened here: rounding may put it just before a singularity, which the run then passes.
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
    """Return whether shorter steps may lead to a singularity x seconds into the step just taken, which has
    jumped over it.
    """
    t: real = run.t_old + x
    passed: truth = t < run.short_begin or t > run.short_end
    return passed or run.h_taken > FINEST * horizon(run, AROUND)


def longest_step(run: RunRecord) -> real:
    """Return the limit of the step size, in particular before and inside an interval of short steps."""
    longest: real = INFINITY
    if run.t < run.short_end:
        longest = max(run.short_begin - run.t, FINEST * run.short_step)  # no sliver is left by rounding
        if run.t >= run.short_begin:
            longest = run.short_step
    return min(longest, run.resolved)


def resolve_weakness(run: RunRecord) -> None:
    """Limit the step where the constraints are weak to a fraction of the distance to their loss of rank.

    Next to a singularity, the root of their strength is about that distance, relative to the sizes of
    coordinates. If the motion passes near a singularity without meeting it, the root is the distance to a
    singularity in complex time, within which the Taylor series converges. There a mechanism that is nearly at
    a change point turns from one branch of motion to another. The distance is converted to a time by speeds
    alone, since accelerations are not accurate right before a singularity.
    """
    run.resolved = INFINITY
    if RANK_EVENT[run.configuration] == NONE:
        return
    left: real = strength(run)
    if left < WEAK_RANK and (left > UNSOUND_ADAPTIVE or not adaptive(run)):
        part: real = RESOLVED_ADAPTIVE if adaptive(run) else RESOLVED_FIXED
        run.resolved = part * sqrt(max(left, UNSOUND)) / fastest_turn(run)


def begin_after(run: RunRecord, ahead: real, distance: real) -> real:
    """Return the seconds until the step across must begin. It covers ``distance``, relative to the sizes of
    coordinates, and the singularity is ``ahead`` seconds away.
    """
    return ahead - MIDDLE * min(horizon(run, distance), ahead / MIDDLE)


def start_masses(run: RunRecord) -> None:
    """Measure the pivots and the speeds at the start of a run; end it if a motion has no mass there."""
    run.shares = pivot_shares(run.t, run.state)
    for k in range(N_PIVOTS):
        run.usual[k] = abs(run.shares[k])
        if not (run.usual[k] >= 1e-13):  # only rounding error, or not a number (no mass at all)
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
    """Find the largest speed of each kind."""
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
    """Update the largest speed of each kind so far."""
    for k in range(N_KINDS):
        run.peak[k] = max(run.peak[k], run.fastest[k])


def fallen_share(run: RunRecord, t: real, x: real) -> real:
    """Return the least ratio of a pivot's share to its share at the start of the run, x seconds after the
    state `way` on a straight line.
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
    """Return whether some motion has no mass at a point ahead, on a straight line along the motion."""
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
    """End a run before a configuration with a motion without mass, if there is one ahead."""
    found: truth = False
    found = find_weak_place(run, t, longest)
    if found:
        run.status = SINGULAR
        run.failed = run.weak
