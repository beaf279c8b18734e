"""What happens at events, in the small language of language.py.

The events that events.py has found change the state and the memory. Then the signs of all event functions are
stored, and the next step finds changes from these signs.
"""

from __future__ import annotations

from armillary.solver.events import sign_of
from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.thresholds import CHOICE_MARGIN, CLEAR, FIRST_LOOK, SUSPECT


def close_if_set(run: RunRecord) -> None:
    """Close the loops again if events of this instant have set coordinates; set coordinates stay."""
    again: truth = False
    for i in range(N_COORDINATES):
        run.set_now[i] = False
        for k in range(N_EVENTS):
            if run.crossed[k] > 0 and SETS_PLACE[at(k, N_COORDINATES, i)]:
                run.set_now[i] = True
                again = True
    if again:
        close_again(run)
        if CONFIGURATIONS:  # another choice of dependent speeds may be needed there
            run.changing = True


def leave_if_adjusting(run: RunRecord) -> None:
    """Note whether events of this instant set dependent speeds; if so, and if loops may be closed again,
    store the speeds before the loops are closed.
    """
    run.adjusting = False
    for k in range(N_OWN_EVENTS):
        run.adjusting = run.adjusting or (run.crossed[k] > 0 and ROLE[k] == ADJUSTS)
    if RECLOSING and run.adjusting:
        run.motion = leave(run.t, run.state)


def read_settings(run: RunRecord, k: whole) -> None:
    """Read the speeds that an event sets and that may not be states, from the values before the event."""
    if not below(k, N_OWN_EVENTS):
        return
    left: truth = False
    for s in range(N_SETTINGS):
        if SETTING_EVENT[s] == k:
            if not left:
                run.motion = leave(run.t, run.state)
            left = True
            run.set_to[SETTING_SPEED[s]] = run.motion[N_OWN_MOTION + s]


def fire_pending(run: RunRecord) -> None:
    """Let the pending events happen: set the state and memory after them."""
    run.pending = False
    for k in range(N_EVENTS):
        if run.crossed[k] <= 0:
            continue
        run.firings = run.firings + 1
        report(run, k)
        if CONFIGURATIONS:
            if ROLE[k] == WEAKENS:
                run.look = run.t
            elif ROLE[k] != ORDINARY:
                run.changing = True
                if SETTINGS:
                    read_settings(run, k)
        run.memory, run.state = fire(k, run.t, run.state)
        if STOPS[k]:
            run.status = EVENT
            run.failed = k
    if ADJUSTING:
        leave_if_adjusting(run)
    if RECLOSING:
        close_if_set(run)


def adopt_signs(run: RunRecord) -> None:
    """Take the signs from which the next step counts changes."""
    run.g = events(run.t, run.state)
    for k in range(N_EVENTS):
        now: whole = sign_of(run.g[k])
        back: truth = now == run.side[k] and abs(run.g[k]) > CLEAR * abs(run.g_start[k])
        run.sign[k] = 0 if run.crossed[k] > 0 and not back else now
        if DIRECTION[k] == ENDS_STATUS:
            run.sign[k] = 1
        if DIRECTION[k] == FINDS_LOWEST and now == 0:
            run.sign[k] = 1
        run.crossed[k] = 0
    run.g_start = run.g


def check_choice(run: RunRecord) -> None:
    """End a run whose only choice of dependent speeds is poor at its start or after an event. There the
    function of the guard is already beyond zero, so it would not change its sign in a step.
    """
    if not (run.g[FIRST + GUARD] > CHOICE_MARGIN):
        run.status = EVENT
        run.failed = FIRST + GUARD


def mark_returning(run: RunRecord) -> None:
    """Mark events that happen at ever shorter intervals and whose function now returns to the side from which
    it came.
    """
    suspects: truth = False
    for k in range(N_EVENTS):
        run.returning[k] = run.sign[k] == 0 and run.streak[k] >= 1 and run.gap[k] <= SUSPECT * run.longest[k]
        suspects = suspects or run.returning[k]
    if not suspects:
        return
    ahead: real = FIRST_LOOK * run.h_taken
    run.stage = run.state + ahead * run.k0
    run.g = events(run.t + ahead, run.stage)
    for k in range(N_EVENTS):
        run.returning[k] = run.returning[k] and (run.g[k] - run.g_start[k]) * float(run.side[k]) > 0.0
