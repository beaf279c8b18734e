"""Steps in the small language of language.py: of fixed size, or under error control."""

from __future__ import annotations

from armillary.solver.changes import change, watch_rank
from armillary.solver.events import is_left
from armillary.solver.firing import adopt_signs, check_choice, fire_pending, mark_returning
from armillary.solver.forecasts import (
    blame_masses,
    horizon,
    longest_step,
    measure_speeds,
    note_peaks,
    rank_is_lost,
    resolve_weakness,
    speeds_jumped,
)
from armillary.solver.language.language import *
from armillary.solver.linearly_implicit import blame_rates, watch_stiffness
from armillary.solver.passages import continue_across, cross, find_events, refuse_place
from armillary.solver.record import RunRecord
from armillary.solver.step_control import (
    choose_next,
    error_norm,
    first_step,
    is_at_kink,
    is_at_rest,
    is_too_short,
    reaches,
    try_shorter,
)
from armillary.solver.thresholds import APART, BELIEVED, ROUNDINGS, SNAP


def pass_jumps(run: RunRecord, reached: real) -> None:
    """Find the next time at which a step ends because data jump (or bend, if the method chooses its steps).
    If jumps up to the time `reached` were passed, the derivative kept for the next step is not valid.
    """
    while JUMP_TIME[run.jump] <= reached:
        run.jump = run.jump + 1
        run.restart = True
    if not adaptive(run):
        while not JUMP_HARD[run.jump]:
            run.jump = run.jump + 1
    run.stop = JUMP_TIME[run.jump]
    near: real = APART * max(abs(run.t0), abs(run.t_end))
    if run.stop > run.t_end + near:
        run.stop = INFINITY
    elif run.stop > run.t_end:  # data that end later by rounding do not prolong the run
        run.stop = run.t_end


def before_jump(run: RunRecord, stop: real) -> real:
    """Return the length of a step whose stages all see the data before a jump."""
    return (stop - run.t) - ROUNDINGS * EPSILON * max(abs(run.t), abs(stop))


def accept_step(run: RunRecord, t_new: real, h: real, t_last: real) -> None:
    """Make the trial state the state, and normalise it. A derivative at the end that the error estimate
    needed is kept, although it belongs to the state before normalisation: the two differ by a local error,
    which does not change the order. Before a jump of data it is the derivative with the data before the jump.
    """
    if run.dense:
        run.base = run.state
    run.state = run.trial
    if ARRIVING:
        run.g_known = not differs(t_last, t_new)
        if run.g_known:
            run.state, run.k_end, run.g = evaluate_end(t_new, run.state)
            run.finish = run.state
    if not BETWEEN_EVENTS and not (ARRIVING and run.g_known):  # lanes have normalised it already
        run.state = normalise(t_new, run.state)
    if run.dense and not (ARRIVING and run.g_known):
        run.finish = run.state
        if not end_enters_error(run):
            run.k_end = derivatives(t_last, run.state)
    if run.dense and SCHEME:
        straighten(run, h)
    if WATCHED:
        watch_stiffness(run, h)
    run.t_old = run.t
    run.t = t_new
    run.h_taken = h
    if MULTISTEP:
        run.k_before = run.k0
        run.h_before = h
    run.prepared = False
    run.near = 0.0
    run.steps = run.steps + 1
    run.phase = ARRIVED
    if PASSING:
        run.passing = False
    if BETWEEN_EVENTS:
        run.g_start = run.g
    if EVENTS:
        find_events(run)


def fixed_step(run: RunRecord) -> None:
    """Take a step to the next grid point, or to the end if the end comes first."""
    if PASSING and run.across > 0.0:
        cross(run)
        return
    if PASSING and run.passing:  # grid points were passed
        while run.t0 + float(run.index + 1) * run.step <= run.t + SNAP * run.step:
            run.index = run.index + 1
    target: real = run.t0 + float(run.index + 1) * run.step
    if abs(target - run.due) <= SNAP * run.step:
        target = run.due
    if target > run.t_end - SNAP * run.step:
        target = run.t_end
    h: real = target - run.t
    if PASSING:
        whole_step: truth = True
        longest: real = longest_step(run)
        if h > (1.0 + 1e-9) * longest:
            target = run.t + longest
            h = longest
            whole_step = False
    if abs(h - run.step) <= 4.0 * EPSILON * abs(target):
        h = run.step  # all whole steps are equal
    t_last: real = target
    if JUMPS:
        inside: truth = run.stop < target - SNAP * run.step
        if run.stop <= target + SNAP * run.step:
            h = before_jump(run, min(run.stop, target))
            t_last = run.t + h
            target = run.stop if inside else max(run.stop, target)
    if not run.dense:
        run.k0 = derivatives(run.t, run.state)
    stages(run, run.t, h)
    if SCHEME:
        project(run, target)
    if not is_finite(run.trial):
        run.status = DIVERGED
        run.failed = first_nonfinite(run.trial)
        if IMPLICIT:
            blame_rates(run, h)
        if MASSES:
            run.way = run.state
            blame_masses(run, run.t, 2.0 * h)
        return
    if BETWEEN_EVENTS:
        left: truth = is_left(run, target, h)
        if left:
            return
    run.at_grid = True
    if (JUMPS and inside) or (PASSING and not whole_step):
        run.at_grid = False
    else:
        run.index = run.index + 1
    accept_step(run, target, h, t_last)
    if MASSES:
        measure_speeds(run)
        if speeds_jumped(run):
            run.way = run.base
            blame_masses(run, run.t_old, 2.0 * h)
        note_peaks(run)
        if run.status == SINGULAR:  # the step led past the singular configuration and is taken back
            run.state = run.base
            run.t = run.t_old
            run.phase = READY


def end_at_small_step(run: RunRecord) -> None:
    """End a run whose step has become too small; note the state, the mass or the loss of rank to blame."""
    if MASSES:
        run.way = run.state
        blame_masses(run, run.t, INFINITY)
        if run.status == SINGULAR:
            return
    if PASSING:
        lost: truth = False
        lost = rank_is_lost(run)
        if lost:
            refuse_place(run)
            return
    if not is_finite(run.trial):
        run.status = DIVERGED
        run.failed = first_nonfinite(run.trial)
        if IMPLICIT:
            blame_rates(run, 20.0 * run.h)  # at a time beyond the last trial
        return
    if not is_finite(run.ratio):
        run.status = DIVERGED
        run.failed = first_nonfinite(run.ratio)
        return
    largest: real = -1.0
    for i in range(N_STATES):
        if abs(run.ratio[i]) > largest * run.tolerated[i]:
            largest = abs(run.ratio[i]) / run.tolerated[i]
            run.failed = i
    run.status = TOO_SMALL


def adaptive_step(run: RunRecord) -> None:
    """Try a step of length h: accept it if its error norm is at most one, else choose a smaller h."""
    if PASSING and run.across > 0.0:
        cross(run)
        return
    h: real = run.h
    if KINKS:
        forced: truth = False
        if is_too_short(run, h):
            forced = is_at_kink(run)
        if forced:
            h = 32.0 * EPSILON * abs(run.t)
    if is_too_short(run, h):
        end_at_small_step(run)
        return
    t_new: real = run.t + h
    if reaches(run, h, run.t_end):
        h = run.t_end - run.t
        t_new = run.t_end
    t_last: real = t_new
    if JUMPS:
        met: truth = reaches(run, h, run.stop)
        if met:
            h = before_jump(run, run.stop)
            t_last = run.t + h
            t_new = run.stop
            if abs(run.t_end - run.stop) <= APART * max(abs(run.t0), abs(run.t_end)):
                t_new = max(run.stop, run.t_end)  # both are reached
    stages(run, run.t, h)
    if end_enters_error(run):
        run.k_end = derivatives(t_last, run.trial)
    error: real = NAN
    error = error_norm(run, h)
    grown: real = power(error, run.exponent)
    if not (error <= 1.0 or (KINKS and forced and error < INFINITY)):
        run.rejected = run.rejected + 1
        try_shorter(run, h, error, grown)
        return
    if BETWEEN_EVENTS:
        left: truth = is_left(run, t_new, h)
        if left:
            return
    if PROCESS and EVENTS and run.resting_step > 0.0:
        still: truth = False
        still = is_at_rest(run)
        if not still and h > (1.0 + 1e-9) * run.moving_step:
            run.rejected = run.rejected + 1
            run.max_step = run.moving_step
            run.h = run.moving_step
            return
        run.max_step = run.resting_step if still else run.moving_step
    if JUMPS:
        wanted: real = run.h
    choose_next(run, h, error, grown)
    if JUMPS and met:  # a step that a jump has shortened must not limit the next steps
        run.h = max(run.h, wanted)
    if KINKS:
        if forced:
            run.h = 2.0 * h
            run.forced = run.forced + 1
        else:
            run.forced = 0
    accept_step(run, t_new, h, t_last)


def settle(run: RunRecord) -> None:
    """Act at the time just reached: events, the end, the update of memory, the next derivative."""
    if JUMPS:
        pass_jumps(run, run.t)
    if EVENTS and run.pending:
        fire_pending(run)
    if PASSING and run.continues and run.status == RUNNING and run.t < run.t_end:
        continue_across(run)
        return
    if CONFIGURATIONS and run.changing:
        run.changing = False
        if run.status == RUNNING:
            change(run)
    if run.status == RUNNING and run.t >= run.t_end:
        run.status = FINISHED
    if CONFIGURATIONS and run.status == RUNNING and RANK_EVENT[run.configuration] != NONE:
        watch_rank(run)
    if run.status != RUNNING:
        return
    if UPDATE and run.at_grid:
        run.new_memory = update(run.t, run.state)
        for i in range(N_MEMORY):
            if differs(run.new_memory[i], run.memory[i]):
                run.restart = True  # the derivative kept from the step before is not valid any more
            run.memory[i] = run.new_memory[i]
    if MULTISTEP and run.restart:
        run.h_before = 0.0
    if SCHEME and run.restart:
        begin(run)
    if run.dense and not run.restart:
        run.k0 = run.k_end
    if run.dense and run.restart:
        run.k0 = derivatives(run.t, run.state)
        if not is_finite(run.k0):
            run.status = DIVERGED
            run.failed = first_nonfinite(run.k0)
        if not is_finite(run.state):
            run.status = DIVERGED
            run.failed = first_nonfinite(run.state)
    if EVENTS and run.restart:
        adopt_signs(run)
        if GUARDED:
            check_choice(run)
        mark_returning(run)
    if ADAPTIVE and run.choose_step and adaptive(run):
        first_step(run)
        run.choose_step = False
    if PASSING:
        resolve_weakness(run)
    if CONFIGURATIONS and ADAPTIVE and run.look > run.t:
        run.h = min(run.h, run.look - run.t)
    if PASSING and ADAPTIVE:
        run.h = min(run.h, longest_step(run))
        if run.met_singularity:
            run.h = min(run.h, horizon(run, BELIEVED))
    run.restart = False


def advance(run: RunRecord) -> None:
    """Take the next step; an adaptive method makes one trial of it."""
    if PROCESS:
        run.budget = run.budget - 1
    else:
        tried: count = run.steps
        if ADAPTIVE:
            tried = tried + run.rejected
        if tried >= run.max_steps:
            run.status = TOO_MANY
            return
    if adaptive(run):
        adaptive_step(run)
    else:
        fixed_step(run)
