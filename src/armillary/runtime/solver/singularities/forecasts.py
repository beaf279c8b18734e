"""Forecasts of places where constraints lose rank, in the small language of language.py.

The strength of the weakest constraint is extrapolated to zero, with its slope and bend.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.change_thresholds import (
    AROUND,
    BELIEVED,
    BESIDE,
    FINEST,
    LOOK_FAR,
    LOOK_NEAR,
    MIDDLE,
    MISSED,
    RESOLVED_ADAPTIVE,
    RESOLVED_FIXED,
    RIGHT_AHEAD,
    UNSOUND,
    UNSOUND_ADAPTIVE,
    WEAK_RANK,
)
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def horizon(run: RunRecord, distance: real) -> real:
    """Seconds in which the quickest coordinate covers a distance, in terms of its size."""
    fast: real = 1e-300
    quickens: real = 1e-300
    for i in range(N_STATES):
        if below(i, N_COORDINATES):
            fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
        else:
            quickens = max(quickens, abs(run.k0[i]) / STATE_SIZE[i])
    return min(distance / fast, sqrt(2.0 * distance / quickens))


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
    fast: real = 1e-300
    bends: real = 0.0
    for i in range(N_COORDINATES):
        fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
    x: real = here / fast
    if not (x < INFINITY):
        return INFINITY
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + 4.0 * BESIDE / fast * run.k0[i]
    run.stage = normalise(run.t, run.stage)
    run.trial = derivatives(run.t, run.stage)
    for i in range(N_STATES):
        if not below(i, N_COORDINATES):
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
        fast: real = 1e-300
        for i in range(N_COORDINATES):
            fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
        run.resolved = part * sqrt(max(left, UNSOUND)) / fast


def begin_after(run: RunRecord, ahead: real, distance: real) -> real:
    """Seconds to the beginning of the step of such a length across a place so long ahead."""
    return ahead - MIDDLE * min(horizon(run, distance), ahead / MIDDLE)
