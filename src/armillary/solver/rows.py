"""Rows of exported runs, in the small language of language.py. At each time it reaches, a run

1. gives the rows due inside the step just taken, from its dense output,
2. settles: events happen, memory is updated (only at grid points t0 + i*step), the derivative is computed,
3. gives the row at this time, with the state and memory that the next step begins with, and another row if an
   event has ended the run between rows,
4. takes the next step.

In programs whose caller has a clock, `step_by_clock` makes the steps. Each call leads to the next time
t0 + i*step, or to an event before it. A step across a singular configuration (passages.py) is longer and is
taken at once: the run keeps it, and the following calls show states inside it, from its dense output, until
the clock reaches its end or an event in it. The event happens only then, and inputs that have changed
meanwhile act from then on.
"""

from __future__ import annotations

from armillary.solver.changes import choose_start
from armillary.solver.forecasts import start_masses
from armillary.solver.language.language import *
from armillary.solver.passages import is_near_place, row_near_place, search
from armillary.solver.record import RunRecord
from armillary.solver.step_control import across_state, probe
from armillary.solver.steps import advance, pass_jumps, settle
from armillary.solver.thresholds import APART, LEAST_ERROR, LONGEST_WITH_CONTACTS, SNAP


def show(run: RunRecord, t: real) -> None:
    """Show the state at a time in the step across a singular configuration. Near the singularity loops are
    not closed, since their rows depend on each other there.
    """
    across_state(run, (t - run.t_old) / run.h_taken)
    if not is_near_place(run, t):
        run.point = normalise(t, run.point)
    run.state = run.point
    run.t = t


def wait(run: RunRecord) -> None:
    """Keep the end of the step across until the clock has come there."""
    run.waiting = True
    run.reached = run.t
    run.kept = run.state
    run.ending = run.status
    run.status = RUNNING


def is_shown(run: RunRecord) -> truth:
    """Return whether the next time of the clock is inside the step across; if so, its state is shown. If not,
    the run goes to the end of that step, where memory is updated.
    """
    target: real = run.t0 + float(run.index + 1) * run.step
    if target < run.reached - SNAP * run.step:
        show(run, target)
        run.index = run.index + 1
        run.at_grid = True
        return True
    run.waiting = False
    run.t = run.reached
    run.state = run.kept
    run.status = run.ending
    run.at_grid = True
    run.phase = ARRIVED
    return False


def step_by_clock(run: RunRecord) -> None:
    """Take the next step, or a part of it, with everything that happens at its end."""
    if not run.waiting:
        while run.phase != ARRIVED and run.status == RUNNING:  # a step may be put off, or taken back
            advance(run)
        if run.phase == ARRIVED and run.passing:
            wait(run)
    on_grid: truth = run.at_grid
    if run.waiting:
        shown: truth = False
        shown = is_shown(run)
        if shown:
            run.phase = READY
            return
        on_grid = abs(run.t0 + float(run.index + 1) * run.step - run.t) <= SNAP * run.step
        if on_grid:
            run.index = run.index + 1
    if run.phase != ARRIVED:
        return
    t: real = run.t
    run.phase = READY
    settle(run)
    if run.phase == ARRIVED:  # the step across goes on after an event in it
        wait(run)
        show(run, t)
        run.phase = READY
    run.at_grid = on_grid


def start_run(run: RunRecord) -> None:
    """Begin a run whose times, step, state and memory are set: initialise all other fields of its record."""
    run.t = run.t0
    run.t_old = run.t0
    run.h_taken = 0.0
    run.near = 0.0
    run.due = INFINITY
    run.steps = 0
    run.index = 0
    run.rows = 0
    run.phase = ARRIVED
    run.at_grid = True
    run.restart = True
    run.prepared = False
    if MASSES:
        if CONFIGURATIONS:
            install(run, FIRST)
        if not run.dense:
            run.dense = True
        start_masses(run)
    if JUMPS:
        run.jump = FIRST
        reached: real = run.t0 + APART * max(abs(run.t0), abs(run.t_end))
        if not (reached < INFINITY):  # the run has no end
            reached = run.t0
        pass_jumps(run, reached)
    if ADAPTIVE and CONTACTS:
        span: real = run.t_end - run.t0
        if run.max_step > 1e300 and span > 0.0 and span < INFINITY:  # the run sets no longest step
            run.max_step = LONGEST_WITH_CONTACTS * span
    if ADAPTIVE:
        set_control(run)
        run.rejected = 0
        run.h = min(run.step, run.max_step)
        run.error_old = LEAST_ERROR
        run.choose_step = not (run.step > 0.0)
        run.after_rejection = False
    if CONFIGURATIONS:
        run.changing = False
        run.look = -INFINITY
        install(run, FIRST)
    if PASSING:
        run.across = 0.0
        run.singular = run.t0
        run.share = 1.0
        run.passing = False
        run.continues = False
        run.searched = 0.0
        run.arrival = run.t0
        run.refused = NONE
        run.short_begin = -INFINITY
        run.short_end = -INFINITY
        run.short_step = 0.0
        run.met_singularity = False
    if CLOCKED:
        run.waiting = False
    if LATE_SEARCH:
        run.unsearched = False
    if EVENTS:
        run.firings = 0
        run.pending = False
        run.early_margin = 0.0
        run.shortest = INFINITY
        for k in range(N_EVENTS):
            run.g_start[k] = 0.0
            run.sign[k] = 0
            run.side[k] = 0
            run.crossed[k] = 0
            run.last[k] = -INFINITY
            run.gap[k] = INFINITY
            run.longest[k] = 0.0
            run.streak[k] = 0
            run.stuck[k] = 0
            run.returning[k] = False
    if CONFIGURATIONS and run.status == RUNNING:
        choose_start(run)


def next_due(run: RunRecord) -> real:
    """Return the time of the next row; infinity if rows follow steps or the last one is given."""
    if run.every_step:
        return INFINITY
    intervals: real = (run.t_end - run.t0) / run.sample
    nearest: real = floor(intervals + 0.5)
    on_end: truth = abs(intervals - nearest) <= 1e-9 + 4.0 * EPSILON * intervals
    last: real = nearest if on_end else floor(intervals)
    row: real = float(run.rows)
    if row > last:
        return INFINITY
    if on_end and row >= last:
        return run.t_end
    return run.t0 + row * run.sample


def ends_near_place(run: RunRecord) -> truth:
    """Return whether the run has ended, by an event or its time, where rows are found from rows around it."""
    near: truth = is_near_place(run, run.t)
    return near and (run.status == EVENT or run.status == FINISHED)


def give_row(run: RunRecord, shown: real, inside: truth) -> None:
    """Give the row at a time inside the step just taken, or at the present time. The last row shows the
    memory that a further step would begin with, unless an event has ended the run between rows.
    """
    t: real = shown if inside else run.t
    run.row_time = shown
    run.rows = run.rows + 1
    if PASSING:
        near: truth = is_near_place(run, t) if inside else ends_near_place(run)
        if near:
            run.row_time = t
            row_near_place(run, t)
            run.row = run.shown
            return
    if inside:
        probe(run, shown - run.t_old)
    else:
        run.point = run.state
    if UPDATE:
        run.new_memory = run.memory
        between: truth = run.phase == READY and not run.every_step
        if run.status != RUNNING and not inside and not between:
            run.new_memory = update(t, run.point)
        run.row = outputs(t, run.point, run.new_memory)
    else:
        run.row = outputs(t, run.point, run.memory)


def keep_row_inside(run: RunRecord, t: real) -> None:
    """Keep the next row of a run in this process, at a time inside the step just taken."""
    if PASSING and is_near_place(run, t):
        row_near_place(run, t)
        keep_shown(run)
        return
    probe(run, t - run.t_old)
    run.row = outputs(t, run.point, run.memory)
    run.filled = run.filled + 1


def keep_row(run: RunRecord) -> None:
    """Keep the next row of a run in this process, at the present time."""
    if run.every_step:
        report_time(run)
    if PASSING and run.status != RUNNING and ends_near_place(run):
        row_near_place(run, run.t)
        keep_shown(run)
        return
    if UPDATE and run.status != RUNNING:
        run.new_memory = update(run.t, run.state)
        run.row = outputs(run.t, run.state, run.new_memory)
    else:
        run.row = outputs(run.t, run.state, run.memory)
    run.filled = run.filled + 1


def keep_shown(run: RunRecord) -> None:
    """Keep the next row of a run in this process, found from the rows around it."""
    run.row = run.shown + 0.0  # -0.0 becomes 0.0
    run.filled = run.filled + 1


def turn(run: RunRecord) -> whole:
    """Do the next action of a run; return which it was: a row, a step, or the end of the run."""
    if LATE_SEARCH and run.unsearched:
        run.unsearched = False
        search(run)
    due: real = INFINITY
    if PROCESS:
        due = INFINITY if run.every_step else ROW_TIME[run.filled]
    else:
        due = next_due(run)
        run.due = due
    shown: real = due
    inside: truth = run.dense and run.phase == ARRIVED and due < run.t - run.near
    if PROCESS and not STEPS_ONLY and inside:
        keep_row_inside(run, due)
        return ROW
    if not inside:
        if run.phase == ARRIVED:
            run.phase = SETTLED
            settle(run)
            if run.phase == ARRIVED:  # a step goes on after an event in it
                return STEP
            if PARTITIONED and run.status == LACKING:  # no row shows the state before the change
                return END
        ended: truth = run.status != RUNNING
        shows: truth = False
        if run.phase == SETTLED:
            near: real = 0.0 if ended else run.near
            shows = due <= run.t + near
            if not shows:
                run.phase = READY
                shown = run.t
                shows = run.every_step and (run.at_grid or ended)
                if not PROCESS:  # an event has ended the run: a row between others
                    shows = shows or (run.status == EVENT and (run.rows == 0 or run.row_time < run.t))
                    if not shows:
                        return STEP  # the caller reads the time of events before the next step
        if not shows:
            if ended:
                return END
            if PROCESS and (run.budget <= 0 or (WATCHED and run.changeover)):
                return PAUSE
            if PROCESS:
                run.due = due
            advance(run)
            return STEP
    if PROCESS:
        keep_row(run)
    else:
        give_row(run, shown, inside)
    return ROW


def drive(run: RunRecord) -> whole:
    """Make rows and steps of a run in this process until it ends or needs its caller; return the reason."""
    while True:
        if run.filled >= run.capacity:
            return FULL
        if EVENTS and run.firings + N_EVENTS + LOGGED > run.log_capacity:
            return FULL
        found: whole = STEP
        found = turn(run)
        if found == ROW:
            continue
        if found == PAUSE:
            if WATCHED and run.changeover:
                run.changeover = False
                return OTHER_METHOD
            return PAUSED
        if found == END:
            if PASSING and ends_near_place(run):
                row_near_place(run, run.t)
                run.between = True
            return run.status


def find_row(run: RunRecord) -> truth:
    """Advance the run to its next row; return false if the run has ended."""
    while True:
        found: whole = STEP
        found = turn(run)
        if found == ROW:
            return True
        if found == END:
            return False
