"""One step across a singular configuration, in the small language of language.py.

Several branches of motion meet where the constraints lose rank, for example in the flat position of a
parallelogram. Along each branch the motion is smooth, though its equations are 0/0 at the singularity. So the
run passes the singularity in one step of high order, positioned so that no stage comes near. Loops are closed
at every stage, since constraints that are nearly dependent would amplify a small gap.

Dormand and Prince's method of order eight makes this step, whatever the method of the run. It has no stage
between 0.34 and 0.59 of its step (Hairer, Nørsett & Wanner 1993, II.5); the singularity is put in the middle
of this interval. Rows of results near the singularity are found by polynomial interpolation of rows farther
away on both sides. Events near the singularity that leave the motion unchanged happen inside the step; others
end the step. If the error of a step is too large, a shorter step is tried from a time nearer to the
singularity.

A run that begins or restarts right before a singularity has no room for this step. Its first step is then one
of Gauss' collocation method, which needs no rates at the start of the step. Its stages are iterated until
they converge; of the branches of motion, they find the one in the direction of the speeds.
"""

from __future__ import annotations

from armillary.solver.choices import measure_sizes, read_rows, row_square, turn_rows
from armillary.solver.events import scan, sign_of
from armillary.solver.forecasts import (
    begin_after,
    extrapolate,
    fastest_turn,
    horizon,
    seconds_to_cover,
    strength,
)
from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.step_control import probe
from armillary.solver.thresholds import (
    BEFORE_STAGES,
    BENT,
    BESIDE,
    BLIND,
    IMPROVEMENTS,
    IN_PLACE,
    JUST_AFTER,
    JUST_BEFORE,
    LOOK_AGAIN,
    MIDDLE,
    RANK_LEFT,
    RANK_SMALL,
    ROUGH,
    SHORTER,
    SHORTEST,
    SOON,
    STEADY,
    STRIDE,
    STRIDES,
    TORN,
    WELL_AFTER,
    WELL_BEFORE,
)


def measure_lengths(run: RunRecord) -> None:
    """Compute the lengths of the rows of J after its columns are divided by the sizes of speeds."""
    measure_sizes(run)
    for i in range(N_ROWS):
        total: real = 0.0
        for j in range(N_SPEEDS):
            part: real = run.jacobian[at(i, N_SPEEDS, j)] / run.size[SPEED_KIND[j]]
            total = total + part * part
        run.length[i] = sqrt(total) if total > 0.0 else 1.0


def least_singular_value(run: RunRecord) -> real:
    """Return the smallest singular value of J without redundant rows. Its columns are divided by the sizes of
    speeds, and its rows by the lengths from `measure_lengths`.
    """
    for i in range(N_ROWS):
        run.right[i] = 0.0
        for j in range(N_SPEEDS):
            place: whole = at(i, N_SPEEDS, j)
            part: real = run.jacobian[place] / run.size[SPEED_KIND[j]] / run.length[i]
            run.left[place] = part if SPEED_OF_ROW[i] != NONE else 0.0
    turn_rows(run, FIRST, N_ROWS)
    least: real = INFINITY
    for i in range(N_ROWS):
        if SPEED_OF_ROW[i] != NONE:
            least = min(least, sqrt(row_square(run, i)))
    return least


def rank_falls(run: RunRecord) -> truth:
    """Return whether the constraints lose rank at the forecast time.

    The strength of a row depends on the choice of dependent speeds and may fall where J has full rank. So the
    smallest singular value of J must be small at the forecast state, which is extrapolated to second order
    from where the step across begins.
    """
    extrapolate(run, run.singular - run.t)
    run.stage = normalise(run.singular, run.stage)
    if not is_finite(run.stage):
        return True
    now: real = 0.0
    then: real = 0.0
    read_rows(run, run.t, run.state)
    measure_lengths(run)
    now = least_singular_value(run)
    read_rows(run, run.singular, run.stage)
    then = least_singular_value(run)
    return then <= RANK_LEFT * now or now <= RANK_SMALL


def refuse_place(run: RunRecord) -> None:
    """End the run at a singular configuration that no step leads across."""
    run.status = EVENT
    run.failed = RANK_EVENT[run.configuration]
    run.refused = run.failed


def plan_passage(run: RunRecord, ahead: real) -> None:
    """Make the next step lead across the singularity ``ahead`` seconds away, if rank is lost there; else make
    another forecast a little later.
    """
    run.singular = run.t + ahead
    falls: truth = False
    falls = rank_falls(run)
    if falls:
        run.across = ahead / MIDDLE
        run.at_grid = True  # memory is updated where the step begins
    else:
        run.look = run.t + max(0.5 * ahead, horizon(run, LOOK_AGAIN))


def take_stages(run: RunRecord, h: real) -> None:
    """Find the rates at all stages of the step, also at its end and for its dense output. `trial` gets the
    state at the end, and `finish` this state with closed loops.
    """
    for i in range(N_STAGES):
        for m in range(N_STATES):
            total: real = 0.0
            for j in range(N_STAGES):
                if j == i:
                    break
                total = total + STAGE_WEIGHT[at(i, N_STAGES, j)] * run.slopes[at(j, N_STATES, m)]
            run.stage[m] = run.state[m] + h * total
        t: real = run.t + STAGE_TIME[i] * h
        if AT_END[i]:
            run.trial = run.stage
        run.stage = normalise(t, run.stage)
        if AT_END[i]:
            run.finish = run.stage
        run.point = derivatives(t, run.stage)
        for m in range(N_STATES):
            run.slopes[at(i, N_STATES, m)] = run.point[m]


def is_sound(run: RunRecord, h: real) -> truth:
    """Return whether the step is accurate by its own estimate, e5^2/sqrt(e5^2 + 0.01 e3^2) with the errors e5
    and e3 of orders five and three, and whether loops are closed at its end.
    """
    high: real = 0.0
    low: real = 0.0
    gap: real = 0.0
    for m in range(N_STATES):
        scale: real = STATE_SIZE[m] + max(abs(run.state[m]), abs(run.trial[m]))
        error: real = 0.0
        other: real = 0.0
        for j in range(N_STAGES):
            error = error + ERROR_WEIGHT[j] * run.slopes[at(j, N_STATES, m)]
            other = other + LOW_ERROR_WEIGHT[j] * run.slopes[at(j, N_STATES, m)]
        high = high + (error / scale) * (error / scale)
        low = low + (other / scale) * (other / scale)
        gap = max(gap, abs(run.finish[m] - run.trial[m]) / STATE_SIZE[m])
    estimate: real = high + low
    if high + low > 0.0:
        estimate = h * high / sqrt((high + 0.01 * low) * float(run.used))
    return estimate <= ROUGH and gap <= TORN and is_finite(run.trial)


def keep_nests(run: RunRecord, h: real) -> None:
    """Compute the coefficients of the dense output of the step."""
    run.prepared = True
    run.nest0 = run.trial - run.state
    for i in range(N_STAGES):
        for m in range(N_STATES):
            if i == FIRST:
                run.nest1[m] = h * run.slopes[at(i, N_STATES, m)] - run.nest0[m]
            if AT_END[i]:
                run.nest2[m] = run.nest0[m] - h * run.slopes[at(i, N_STATES, m)] - run.nest1[m]
    for n in range(N_NESTS):
        for m in range(N_STATES):
            total: real = 0.0
            for j in range(N_STAGES):
                total = total + NEST_WEIGHT[at(n, N_STAGES, j)] * run.slopes[at(j, N_STATES, m)]
            run.nests[at(n, N_STATES, m)] = h * total


def shorten(run: RunRecord) -> None:
    """Plan a shorter step across, from a time nearer to the singularity; end the run if the step would be too
    short.
    """
    ahead: real = run.singular - run.t
    wait: real = 0.0
    while run.share >= SHORTEST and wait <= SOON * ahead:
        run.share = 0.5 * run.share
        wait = begin_after(run, ahead, run.share * STRIDE)
    if run.share < SHORTEST:
        refuse_place(run)
        return
    run.look = run.t + 0.5 * wait
    if ADAPTIVE:
        run.h = min(run.h, run.look - run.t)


def judge_events(run: RunRecord) -> None:
    """Judge the events that were found in the step. Near the singularity, events that leave the motion
    unchanged happen inside the step; events that change it cannot happen at the singularity itself.
    """
    if not run.pending:
        return
    off: real = abs((run.t - run.singular) / run.h_taken)
    run.continues = off < BLIND
    for k in range(N_EVENTS):
        if below(k, N_OWN_EVENTS) and run.crossed[k] > 0:
            if NEAR_PLACE[k] != PASSES:
                run.continues = False
            if NEAR_PLACE[k] == REFUSED and off < IN_PLACE:
                run.status = EVENT
                run.failed = k
                run.refused = k
    run.searched = run.t - run.t_old


def search(run: RunRecord) -> None:
    """Search the last step for events; a step across is searched from the time at which the last search
    ended.
    """
    if PASSING and run.passing:
        run.at_grid = False
        run.continues = False
    scan(run)
    if PASSING and run.passing:
        end_search(run)


def end_search(run: RunRecord) -> None:
    """Finish a step across after it was searched for events; memory is updated wherever the step ends. If the
    run ends inside the step, maybe at the singularity itself, the state comes from the dense output, and the
    rest of the step is kept, in case the end of the run is moved to a later time.
    """
    if run.t > run.t_end:
        probe(run, run.t_end - run.t_old)
        run.state = run.point
        run.t = run.t_end
        run.near = 0.0
        run.continues = True
        run.sign = run.sign_old
        for k in range(N_EVENTS):
            run.crossed[k] = 0
    else:
        judge_events(run)
    run.at_grid = True


def find_events(run: RunRecord) -> None:
    """Find the events in the step just taken, now or in the next turn."""
    if LATE_SEARCH:
        run.unsearched = True
    elif PASSING:
        search(run)
    else:
        scan(run)


def signed_root(run: RunRecord, part: real) -> real:
    """Return the root of the strength of the weakest constraint at a fraction of the step; negative after the
    singularity.
    """
    probe(run, part * run.h_taken)
    run.g = events(run.t_old + part * run.h_taken, run.point)
    root: real = sqrt(max(strength(run), 0.0))
    if part > MIDDLE:
        root = -root
    return root


def locate_place(run: RunRecord) -> None:
    """Locate the singularity in the step just taken, more accurately than the forecast, which was made up to
    an eighth of a radian of motion earlier. The singularity is the zero of a cubic through the signed roots
    of the strength at two points before and two after it. If the four values do not decrease, the time of the
    forecast is kept.
    """
    a: real = 0.0
    b: real = 0.0
    c: real = 0.0
    d: real = 0.0
    a = signed_root(run, WELL_BEFORE)
    b = signed_root(run, JUST_BEFORE)
    c = signed_root(run, JUST_AFTER)
    d = signed_root(run, WELL_AFTER)
    if not (a > b and b > c and c > d):
        return
    part: real = WELL_BEFORE * (b / (b - a)) * (c / (c - a)) * (d / (d - a))
    part = part + JUST_BEFORE * (a / (a - b)) * (c / (c - b)) * (d / (d - b))
    part = part + JUST_AFTER * (a / (a - c)) * (b / (b - c)) * (d / (d - c))
    part = part + WELL_AFTER * (a / (a - d)) * (b / (b - d)) * (c / (c - d))
    if part > JUST_BEFORE and part < JUST_AFTER:
        run.singular = run.t_old + part * run.h_taken


def cross(run: RunRecord) -> None:
    """Take the step across; if it is not accurate, plan a shorter one."""
    sound: truth = False
    h: real = 0.0
    h = step_from_beside(run)
    if not (h > 0.0):
        h = run.across
        take_stages(run, h)
        sound = is_sound(run, h)
        if sound:
            keep_nests(run, h)
        else:
            run.across = 0.0
            shorten(run)
            return
    run.across = 0.0
    t_new: real = run.t + h
    run.base = run.state
    run.state = run.finish
    run.t_old = run.t
    run.t = t_new
    run.arrival = t_new
    run.h_taken = h
    run.near = 0.0
    run.share = 1.0
    run.passing = True
    run.met_singularity = True
    run.searched = 0.0
    run.look = -INFINITY
    run.steps = run.steps + 1
    run.phase = ARRIVED
    run.restart = True
    if ADAPTIVE:
        run.choose_step = True
    if run.singular - run.t_old > BLIND * h:
        locate_place(run)
    if run.singular <= run.t_end:
        report_passage(run)
    find_events(run)


def adopt_signs_inside(run: RunRecord) -> None:
    """Take the signs of event functions at a time inside the step."""
    run.g = events(run.t, run.state)
    for k in range(N_EVENTS):
        run.sign[k] = sign_of(run.g[k])


def continue_across(run: RunRecord) -> None:
    """Take the rest of the step after an event that left the motion unchanged, or after the end of the run
    was moved. No new step could begin near the singularity.
    """
    happened: truth = False
    for k in range(N_EVENTS):
        happened = happened or run.crossed[k] > 0
    if happened:
        adopt_signs_inside(run)
    run.t = run.arrival
    run.state = run.finish
    run.near = 0.0
    run.phase = ARRIVED
    find_events(run)


def change_inputs(run: RunRecord) -> None:
    """Let the run begin again at a time inside the step at which inputs change. If that is near the
    singularity, or so shortly before it that another step across would be too short, the inputs act after the
    step instead.
    """
    if not run.continues:
        return
    ahead: real = run.singular - run.t
    if ahead < -BLIND * run.h_taken or ahead > MIDDLE * horizon(run, SHORTER * STRIDE):
        run.continues = False
        return
    run.searched = run.t - run.t_old
    adopt_signs_inside(run)


def is_near_place(run: RunRecord, t: real) -> truth:
    """Return whether a row at a time in the step just taken is interpolated from the rows around it."""
    return run.passing and abs((t - run.singular) / run.h_taken) < BLIND


def row_near_place(run: RunRecord, t: real) -> None:
    """Find a row by Lagrange's interpolation through the rows around it; a value that is the same in all of
    them is kept exactly. The first row is left out if the step begins beside the singularity.
    """
    x: real = (t - run.t_old) / run.h_taken
    left_out: truth = run.singular - run.t_old < BLIND * run.h_taken
    empty: truth = True
    for i in range(N_LOOKS):
        if left_out and i == FIRST:
            continue
        weight: real = 1.0
        for b in range(N_LOOKS):
            if b != i and not (left_out and b == FIRST):
                weight = weight * ((x - LOOK[b]) / (LOOK[i] - LOOK[b]))
        probe(run, LOOK[i] * run.h_taken)
        run.seen = outputs(run.t_old + LOOK[i] * run.h_taken, run.point, run.memory)
        for c in range(N_OUTPUTS):
            if empty:
                run.shown[c] = 0.0
                run.alike[c] = True
                run.first_seen[c] = run.seen[c]
            run.alike[c] = run.alike[c] and not differs(run.seen[c], run.first_seen[c])
            run.shown[c] = run.shown[c] + weight * run.seen[c]
        empty = False
    for c in range(N_OUTPUTS):
        if run.alike[c]:
            run.shown[c] = run.first_seen[c]


def settle_stages(run: RunRecord, h: real) -> truth:
    """Find the rates at the stages of a step by Gauss' method that begins right before the singularity;
    return whether they converge.
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
    """Set the end and the dense output of a step by Gauss' method; return whether the step is smooth and its
    end closes the loops.
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
    """Return the usual duration of a step across for a state right before the singularity; 0 if the state is
    not that near. The duration is computed with the accelerations a little later, since those at the state
    itself are not accurate.
    """
    fast: real = fastest_turn(run)
    if not ((run.singular - run.t) * fast <= BESIDE):
        return 0.0
    run.stage = run.state
    for i in range(N_COORDINATES):
        run.stage[i] = run.state[i] + 4.0 * BESIDE / fast * run.k0[i]
    run.stage = normalise(run.t, run.stage)
    run.point = derivatives(run.t, run.stage)
    return seconds_to_cover(run, STRIDE, run.point)


def step_from_beside(run: RunRecord) -> real:
    """If the state is right before a singularity, find an accurate step across it by Gauss' method, keep the
    end and the dense output of the step, and return its duration; 0 if there is none. The singularity lies
    well before the step's first stage, and no data of inputs jump inside the step.
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
