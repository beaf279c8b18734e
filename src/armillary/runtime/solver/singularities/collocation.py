"""One step from right before a place where the constraints lose rank, in the small language of language.py.

A run that begins, or begins again, there has no room for a step across (passages.py). It leaves by a step of
Gauss' method, a collocation, which needs no rates where it begins: its stages are improved in turn until they
settle, on the branch along which the speeds lead.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.change_thresholds import (
    BEFORE_STAGES,
    BENT,
    BESIDE,
    IMPROVEMENTS,
    STEADY,
    STRIDE,
    STRIDES,
    TORN,
)
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def settle_stages(run: RunRecord, h: real) -> truth:
    """Return the rates at the stages of a step from beside the place, by Gauss' method; whether
    they settle.
    """
    for i in range(N_NESTS):
        for m in range(N_STATES):
            run.slopes[at(i, N_STATES, m)] = run.k0[m] if below(m, N_COORDINATES) else 0.0
    turn: real = 0.0
    largest: real = INFINITY
    while turn < IMPROVEMENTS and largest > STEADY:
        turn = turn + 1.0
        largest = 0.0
        for i in range(N_NESTS):
            for m in range(N_STATES):
                total: real = 0.0
                for j in range(N_NESTS):
                    total = total + GAUSS_WEIGHT[at(i, N_NESTS, j)] * run.slopes[at(j, N_STATES, m)]
                run.stage[m] = run.state[m] + h * total
            t: real = run.t + GAUSS_TIME[i] * h
            run.stage = normalise(t, run.stage)
            run.point = derivatives(t, run.stage)
            for m in range(N_STATES):
                shift: real = h * abs(run.point[m] - run.slopes[at(i, N_STATES, m)])
                shift = shift / (STATE_SIZE[m] + abs(run.state[m]))
                if shift > largest or isnan(shift):
                    largest = shift
                run.slopes[at(i, N_STATES, m)] = run.point[m]
    return largest <= STEADY


def keep_gauss(run: RunRecord, h: real) -> truth:
    """Return the end and the dense output of a step by Gauss' method; whether it is smooth and its end
    closed.
    """
    curved: real = 0.0
    gap: real = 0.0
    for m in range(N_STATES):
        to_end: real = 0.0
        rate_there: real = 0.0
        rate_beyond: real = 0.0
        highest: real = 0.0
        for j in range(N_NESTS):
            rate: real = h * run.slopes[at(j, N_STATES, m)]
            to_end = to_end + GAUSS_END[j] * rate
            rate_there = rate_there + GAUSS_FIRST_RATE[j] * rate
            rate_beyond = rate_beyond + GAUSS_LAST_RATE[j] * rate
            highest = highest + GAUSS_NEST[j] * rate
        run.trial[m] = run.state[m] + to_end
        run.nest0[m] = to_end
        run.nest1[m] = rate_there - to_end
        run.nest2[m] = to_end - rate_beyond - run.nest1[m]
        for n in range(N_NESTS):
            run.nests[at(n, N_STATES, m)] = 0.0 if below(n, N_NESTS - 1) else highest
        curved = max(curved, abs(highest) / (STATE_SIZE[m] + abs(run.state[m])))
    run.prepared = True
    run.finish = run.trial
    run.finish = normalise(run.t + h, run.finish)
    for m in range(N_STATES):
        gap = max(gap, abs(run.finish[m] - run.trial[m]) / STATE_SIZE[m])
    return curved <= BENT and gap <= TORN and is_finite(run.trial)


def stride_from_beside(run: RunRecord) -> real:
    """Seconds of the usual step across, from right before the place: accelerations are those a little later,
    since they are not sound there. 0 where the place is not as near.
    """
    fast: real = 1e-300
    quickens: real = 1e-300
    for i in range(N_COORDINATES):
        fast = max(fast, abs(run.k0[i]) / STATE_SIZE[i])
    if not ((run.singular - run.t) * fast <= BESIDE):
        return 0.0
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + 4.0 * BESIDE / fast * run.k0[i]
    run.stage = normalise(run.t, run.stage)
    run.point = derivatives(run.t, run.stage)
    for i in range(N_STATES):
        if not below(i, N_COORDINATES):
            quickens = max(quickens, abs(run.point[i]) / STATE_SIZE[i])
    return min(STRIDE / fast, sqrt(2.0 * STRIDE / quickens))


def step_from_beside(run: RunRecord) -> real:
    """Return the length of a step by which the run leaves a place right ahead, which is taken; 0 where none
    does. The place is well before its first stage, and no data jump on the way.
    """
    sound: truth = False
    h: real = 0.0
    h = stride_from_beside(run)
    tried: real = 0.0
    while tried < STRIDES and run.singular - run.t < BEFORE_STAGES * h:
        tried = tried + 1.0
        sound = True
        if JUMPS:
            sound = run.stop > run.t + h
        if sound:
            sound = settle_stages(run, h)
        if sound:
            sound = keep_gauss(run, h)
        if sound:
            return h
        h = 0.5 * h
    return 0.0
