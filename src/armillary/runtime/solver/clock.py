"""Steps of programs whose caller has a clock, in the small language of language.py.

Each call leads to the next time t0 + i*step, or to an event before it. A step across a place where
constraints lose rank (singularities/passages.py) is longer, and is taken at once: the run keeps it, and the
calls that follow show the states inside of it, by its dense output, until the clock has come to its end, or
to an event in it. What happens there happens then. Inputs that change meanwhile act from there on.
"""

from __future__ import annotations

from armillary.runtime.loop.layout import SNAP
from armillary.runtime.solver.dense import across_state
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord
from armillary.runtime.solver.singularities.passages import is_near_place
from armillary.runtime.solver.steps import advance, settle


def show(run: RunRecord, t: real) -> None:
    """The state at a time in the step across; near the place no loops are closed, since their rows depend on
    each other there.
    """
    across_state(run, (t - run.t_old) / run.h_taken)
    if not is_near_place(run, t):
        run.point = normalise(t, run.point)
    run.state = run.point
    run.t = t


def wait(run: RunRecord) -> None:
    """Keeps the end of the step across until the clock has come there."""
    run.waiting = True
    run.reached = run.t
    run.kept = run.state
    run.ending = run.status
    run.status = RUNNING


def is_shown(run: RunRecord) -> truth:
    """Return whether the next time of the clock is inside the step across: then its state is shown. Else the
    run is where the step has come to, and memory is updated there.
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
    """The next step, or a part of it, with all that happens at its end."""
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
