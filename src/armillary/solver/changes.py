"""Changes of configuration inside a run, in the small language of language.py.

A configuration is a set of locked joints and a choice of dependent speeds. Each configuration has its own
program, with the usual sections and five more (program/configurations.py). The motion [q, u, z] has all
coordinates, all speeds of the system and the user's own states, in the same order for all configurations:

    leave          the motion at a state of the present configuration
    enter          the state of a configuration at a motion
    impulse        all speeds after the locks of a configuration have closed
    adjust         the least changes of speeds with which a motion satisfies the constraints
    ratings        the quality, at a motion, of each choice of dependent speeds with the same locks

Two kinds of events change the configuration: the user's events that lock or unlock a joint, or set the speed
of a joint that is released at the same time; and the internal event at which a choice of dependent speeds has
become poor. All events of one instant act together. If one joint is released at the instant at which another
one locks, it is still held during the impulse of this lock, unless its speed is set. Dependent speeds that
events set keep these new values, and the others are changed as little as possible. If the needed
configuration is not available, the state before the change is kept. An exported program then ends. In Python
("the process") the status of the run is then LACKING: the process derives the missing configuration, or
closes loops, and adds the result to the tables (runtime/models/run_changes.py). Then it calls the integration
loop again, and the loop makes the change from its beginning.

Of the choices of dependent speeds with the requested locks, the first one in the table of configurations is
taken if it is good, else the one with the best rating. The process and exported programs have the same table,
so they make the same choices. If no choice in the table is good, an exported program ends, and the process
makes a choice for the present coordinates (choices.py).

Where constraints grow weak, the run looks ahead for a loss of rank: the time at which the strength of the
weakest constraint, extrapolated with its first and second derivatives, is zero (forecasts.py). Such a
singular configuration is passed in one step (passages.py); a program without such steps ends close to it.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import AGREEING
from armillary.solver.choices import choose_speeds, has_choice
from armillary.solver.forecasts import begin_after, horizon, rank_lost_after, strength
from armillary.solver.language.language import *
from armillary.solver.passages import plan_passage, refuse_place
from armillary.solver.record import RunRecord
from armillary.solver.thresholds import (
    AROUND,
    CHOICE_MARGIN,
    LOOK_FAR,
    NO_STRENGTH,
    POOR_CHOICE,
    SOON,
    STRIDE,
    WEAK_RANK,
)


def note_lack(run: RunRecord, what: whole, c: whole) -> None:
    """Note what the process has to add to the tables, and a configuration whose locks the addition is for."""
    run.lack = what
    run.lack_in = c


def read_requests(run: RunRecord) -> truth:
    """Read the requirements of the events that happen now: the locks after them, and the locks held through
    the impulse. Return false if the loop cannot meet them.
    """
    if LOCKING_EVENTS:
        for j in range(N_LOCKABLE):
            run.after[j] = LOCKED[j]
            run.closing[j] = False
            run.opening[j] = False
            run.setting[j] = False
    for k in range(N_EVENTS):
        if run.crossed[k] <= 0:
            continue
        if ROLE[k] == ELSEWHERE:
            if PARTITIONED:
                run.lack = LACKS_NOTHING
            return False
        if LOCKING_EVENTS and ROLE[k] == LOCKING:
            for j in range(N_LOCKABLE):
                run.closing[j] = run.closing[j] or LOCKS[at(k, N_LOCKABLE, j)]
                run.opening[j] = run.opening[j] or UNLOCKS[at(k, N_LOCKABLE, j)]
    if LOCKING_EVENTS:
        for j in range(N_LOCKABLE):
            if run.closing[j] and run.opening[j]:
                return False
            run.after[j] = (LOCKED[j] or run.closing[j]) and not run.opening[j]
        for k in range(N_OWN_EVENTS):
            if run.crossed[k] <= 0:
                continue
            for j in range(N_LOCKABLE):
                run.setting[j] = run.setting[j] or SETS[at(k, N_LOCKABLE, j)]
                if MOVES[at(k, N_LOCKABLE, j)] and run.after[j]:
                    return False
        for j in range(N_LOCKABLE):
            run.held[j] = run.after[j] or (LOCKED[j] and not run.setting[j])
    return True


def set_speeds(run: RunRecord) -> None:
    """Write the values that events of this instant give to speeds that are not states: to speeds of joints
    that are released now, and to dependent speeds.
    """
    for s in range(N_SETTINGS):
        if run.crossed[SETTING_EVENT[s]] > 0:
            run.motion[N_OWN_MOTION + s] = run.set_to[SETTING_SPEED[s]]
            if SETTING_ACTS[s]:
                run.motion[N_COORDINATES + SETTING_SPEED[s]] = run.motion[N_OWN_MOTION + s]


def change_others(run: RunRecord) -> real:
    """Change speeds so that they satisfy the constraints, but keep the speeds that events have set. Return
    the largest change; infinity if some change is not a number.
    """
    largest: real = 0.0
    total: real = 0.0
    run.speeds = adjust(run.configuration, run.t, run.motion)
    for j in range(N_SPEEDS):
        run.motion[N_COORDINATES + j] = run.motion[N_COORDINATES + j] + run.speeds[j]
        largest = max(largest, abs(run.speeds[j]))
        total = total + 0.0 * run.speeds[j]
    if isnan(total):
        largest = INFINITY
    return largest


def adjust_others(run: RunRecord) -> truth:
    """Make the speeds satisfy the constraints, but keep the speeds that events of this instant have set.
    Return false if these speeds contradict each other. If they do not, the second change only removes
    rounding errors and is small.
    """
    for s in range(N_SETTINGS):
        if run.crossed[SETTING_EVENT[s]] > 0:
            run.motion[N_OWN_MOTION + N_SETTINGS + SETTING_SPEED[s]] = 0.0
    first: real = 0.0
    first = change_others(run)
    second: real = 0.0
    second = change_others(run)
    largest: real = first
    for j in range(N_SPEEDS):
        largest = max(largest, abs(run.motion[N_COORDINATES + j]))
    return second <= AGREEING * largest and largest < INFINITY


def has_locks(run: RunRecord, c: whole, held: truth) -> truth:
    """Return whether a configuration has the locks during the impulse (if `held`), or else those after it."""
    for j in range(N_LOCKABLE):
        wanted: truth = run.held[j] if held else run.after[j]
        if not agree(wanted, LOCKED_IN[at(c, N_LOCKABLE, j)]):
            return False
    return True


def with_locks(run: RunRecord, held: truth) -> whole:
    """Return the first configuration with the required locks, or NONE."""
    for c in range(N_CONFIGURATIONS):
        if has_locks(run, c, held):
            return c
    return NONE


def apply_lock_impulse(run: RunRecord) -> truth:
    """Apply the impulse of locks that close. Return false if no configuration has these locks."""
    struck: truth = False
    for j in range(N_LOCKABLE):
        struck = struck or (run.after[j] and not LOCKED[j])
    if not struck:
        return True
    c: whole = with_locks(run, True)
    if PARTITIONED and c == NONE:
        note_lack(run, LACKS_HELD_LOCKS, run.configuration)
    if CHOICES:
        before: whole = run.configuration
        own: whole = c
        if own != NONE:
            c = suitable(run, own)
            install(run, before)
            if PARTITIONED:
                run.pairs = 0
    if c == NONE:
        return False
    if not STRIKES[c]:
        return False
    run.speeds = impulse(c, run.t, run.motion)
    for i in range(N_SPEEDS):
        run.motion[N_COORDINATES + i] = run.speeds[i]
    return True


def with_choice(run: RunRecord, c: whole) -> whole:
    """Return the configuration with the same locks as c and the chosen dependent speeds, or NONE."""
    for other in range(N_CONFIGURATIONS):
        found: truth = has_choice(run, other)
        for j in range(N_LOCKABLE):
            found = found and agree(LOCKED_IN[at(c, N_LOCKABLE, j)], LOCKED_IN[at(other, N_LOCKABLE, j)])
        if found:
            return other
    return NONE


def suitable(run: RunRecord, c: whole) -> whole:
    """Return c if its dependent speeds are a good choice at the motion; else, of the configurations in the
    table with the same locks, the one with the best rating. If no choice in the table is good, the process
    makes a choice for the present coordinates. Return NONE if the chosen configuration is not available.
    Configuration c stays installed.
    """
    install(run, c)
    if CHOICE_EVENT[c] == NONE:
        return c
    run.stage = enter(c, run.t, run.motion)
    run.g = events(run.t, run.stage)
    if run.g[CHOICE_EVENT[c]] > CHOICE_MARGIN:
        return c
    best: whole = NONE
    if RATED:
        if PARTITIONED and GROUP_SIZE[c] < 0:
            note_lack(run, LACKS_RATINGS, c)
            return NONE
        if GROUP_SIZE[c] > 0:
            run.rating = ratings(run.t, run.motion)
        most: real = POOR_CHOICE + CHOICE_MARGIN
        good: truth = False
        for i in range(N_MEMBERS):
            if below(i, GROUP_SIZE[c]):
                other: whole = MEMBER[at(c, N_MEMBERS, i)]
                if other != c and run.rating[i] > most:
                    good = True
                    most = run.rating[i]
                    best = other
                    if PARTITIONED:
                        run.lack_member = i
        if PARTITIONED and good and best == NONE:
            note_lack(run, LACKS_MEMBER, c)
        if good:
            return best
    if PARTITIONED:
        chosen: truth = False
        chosen = choose_speeds(run, run.stage)
        best = with_choice(run, c) if chosen else NONE
        if best == NONE:
            what: whole = LACKS_CHOICE if chosen else LACKS_RANK
            note_lack(run, what, c)
    return best


def next_configuration(run: RunRecord) -> whole:
    """Install the configuration after the events of this instant, and set `stage` to its state. Return its
    number, or NONE if it is not available.
    """
    c: whole = run.configuration
    if LOCKING_EVENTS:
        same: truth = True
        for j in range(N_LOCKABLE):
            same = same and agree(run.after[j], LOCKED[j])
        if not same:
            c = with_locks(run, False)
        if PARTITIONED and c == NONE:
            note_lack(run, LACKS_LOCKS, run.configuration)
        if c == NONE:
            return NONE
    if CHOICES:
        own: whole = c
        c = suitable(run, own)
    if c != NONE:
        install(run, c)
        run.stage = enter(c, run.t, run.motion)
    return c


def chooses_in_place(run: RunRecord) -> truth:
    """Return whether an event asks for other dependent speeds at a place so near a loss of rank that no
    choice is better than the present one. With another choice the run would continue on another branch of
    motion.
    """
    if RANK_EVENT[run.configuration] == NONE or CHOICE_EVENT[run.configuration] == NONE:
        return False
    if run.crossed[CHOICE_EVENT[run.configuration]] <= 0:
        return False
    run.g = events(run.t, run.state)
    return strength(run) <= NO_STRENGTH


def take_closed_motion(run: RunRecord) -> truth:
    """Take the motion whose loops the process has closed after events of this instant. Return false if it
    has not done so yet.
    """
    if run.closed_now:
        for i in range(N_OWN_MOTION):
            run.motion[i] = run.closed[i]
        return True
    for k in range(N_OWN_EVENTS):
        if run.crossed[k] > 0 and RECLOSES[k]:
            note_lack(run, LACKS_CLOSING, run.configuration)
            return False
    return True


def end_at_change(run: RunRecord) -> None:
    """End the run at an event whose configuration is not available; in the process, return to the caller."""
    if PARTITIONED and run.lack != LACKS_NOTHING:
        run.status = LACKING
        return
    run.status = EVENT
    run.failed = CHOICE_EVENT[run.configuration]
    for k in range(N_EVENTS):
        if run.crossed[k] > 0 and ROLE[k] != ORDINARY:
            run.failed = k


def change(run: RunRecord) -> None:
    """Change the configuration for the events that happen now; end the run if no fitting one is available."""
    before: whole = run.configuration
    possible: truth = False
    if PASSING:
        refused: truth = False
        refused = chooses_in_place(run)
        if refused:
            refuse_place(run)
            return
    if PARTITIONED:
        run.pairs = 0
        note_lack(run, LACKS_SECTIONS, before)
    # After loops were closed again, or speeds adjusted, a run may continue in the only configuration.
    if (PARTITIONED and not run.complete) or (
        not PARTITIONED and not RECLOSING and not (ADJUSTING and run.adjusting) and N_CONFIGURATIONS < 2
    ):
        end_at_change(run)
        return
    if PARTITIONED:
        note_lack(run, LACKS_AGREEMENT, before)
    possible = read_requests(run)
    if ADJUSTING and RECLOSING and run.adjusting:
        for i in range(N_COORDINATES):  # loops may have been closed again
            run.motion[i] = run.state[i]
    else:
        run.motion = leave(run.t, run.state)
    if SETTINGS:
        set_speeds(run)
    if PARTITIONED and possible:
        possible = take_closed_motion(run)
    if ADJUSTING and possible and run.adjusting and not (PARTITIONED and run.closed_now):
        possible = adjust_others(run)
        if PARTITIONED and not possible:  # the process finds out why, or how loops can be closed
            note_lack(run, LACKS_CLOSING, before)
    if LOCKING_EVENTS and possible:
        possible = apply_lock_impulse(run)
    c: whole = NONE
    if possible:
        c = next_configuration(run)
    if c == NONE:
        install(run, before)
        end_at_change(run)
        return
    run.state = run.stage
    run.look = -INFINITY
    if PARTITIONED:
        run.closed_now = False
    for k in range(N_EVENTS):
        if not below(k, N_OWN_EVENTS):  # numbers of internal events are those of the configuration
            run.crossed[k] = 0
            run.side[k] = 0
    if c != before:
        report_change(run)


def choose_start(run: RunRecord) -> None:
    """Choose the configuration in which a run starts: the first, or one with better dependent speeds."""
    run.motion = leave(run.t, run.state)
    choose_for_motion(run)


def choose_for_motion(run: RunRecord) -> None:
    """Choose the configuration in which a run starts, from the motion at its start. The run ends if none is
    available, or if the state is not finite, as when `choose_start` computes the motion with an exactly
    singular choice of dependent speeds.
    """
    before: whole = run.configuration
    c: whole = NONE
    if PARTITIONED:
        note_lack(run, LACKS_SECTIONS, before)
        if not run.complete:
            run.status = LACKING
            return
    if LOCKING_EVENTS:
        for j in range(N_LOCKABLE):
            run.after[j] = LOCKED[j]
    c = next_configuration(run)
    if c == NONE or not is_finite(run.stage):
        if PARTITIONED and c != NONE:
            note_lack(run, LACKS_RANK, c)
        install(run, before)
        run.status = LACKING if PARTITIONED else EVENT
        run.failed = CHOICE_EVENT[before]
        return
    run.state = run.stage


def watch_rank(run: RunRecord) -> None:
    """If the constraints are weak and the time `look` is reached, look ahead: if they soon lose rank, the
    next step leads across the singular configuration. This is done before the update of memory, which happens
    once at each time.
    """
    if run.restart:
        run.g = events(run.t, run.state)
    if run.g[RANK_EVENT[run.configuration]] > 1e-6 * WEAK_RANK:
        run.look = -INFINITY
        return
    if run.t < run.look - 16.0 * EPSILON * abs(run.t):
        return
    left: real = strength(run)
    run.k0 = derivatives(run.t, run.state)
    ahead: real = INFINITY
    ahead = rank_lost_after(run)
    run.restart = True  # derivatives and event functions are computed again
    if not (ahead < INFINITY):
        # The root of the strength is about the distance to a loss of rank. Loads may turn the motion to it.
        nearer: real = max(0.5 * sqrt(max(left, 0.0)), LOOK_FAR)
        run.look = run.t + horizon(run, min(AROUND, nearer))
        return
    share: real = run.share if PASSING else 1.0
    wait: real = begin_after(run, ahead, share * STRIDE)
    run.look = run.t + 0.5 * wait
    if wait <= SOON * ahead:
        if PASSING:
            plan_passage(run, ahead)
        else:
            run.status = EVENT
            run.failed = RANK_EVENT[run.configuration]
