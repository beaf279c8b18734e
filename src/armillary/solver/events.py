"""Events, in the small language of language.py: sign changes of functions g_k(t, state), found at the ends of
steps and located inside them.

Each event keeps the sign that its function last had. A step that ends with the other sign, or on zero
exactly, contains an event if its direction is wanted. The root is located on the dense output, to 4 units in
the last place of t, and the event happens just after the root. All events that have changed sign by then
happen together, in the order of their numbers. The step ends there, and the next begins with the state after
them.

An event that is as close to a grid point of a fixed step, or to the end of the run, as rounding can bring it
(`closeness`), before or after, happens there: no sliver of a step is left, and a clock that ticks at grid
points ticks at all of them. Rows that are equally close to an event show the state after it; every step is
searched a little beyond its end, so that no such row is written before the event is found.

An event has no sign at the start if its function is exactly zero there, and none after it has fired, unless
firing has clearly returned its function to the side it came from. Such an event takes the first nonzero sign
of its function afterwards, so it cannot happen again at once. In the first step without a sign the functions
are evaluated not only at its end but also at 2^-10, 2^-9, ... 1/2 of it, since a bounce may be shorter than a
step. If the last two firings were closer together than a step, these evaluations begin at 2^-10 of the time
between them; there only a return to the side that the event came from counts, because at such short times
rounding may still hold the function beyond zero. In all other steps, two sign changes of a function inside
one step are not seen; a smaller `max_step` separates them. If `fire` or `update` itself makes a function jump
through zero, this is not an event.

An event with the direction ENDS_STATUS ends a status of contacts. Its function is positive as long as the
status holds, so it gets this sign after every event, even if rounding makes it zero or negative: otherwise a
contact that begins on its surface and returns would not be seen.

A function with the direction FINDS_LOWEST is the rate of a gap. It never fires. Where it rises through zero
inside a step, the gap is lowest, and the functions of contacts are evaluated there, too: otherwise a point
that touches its surface and leaves it within one step would not be seen.

Inside a step the state comes from the dense output, whose error is not controlled. This error is accepted for
the user's own events, which happen where their functions are zero in this state. If the run goes on in
another program (LANDS), the step is taken again, to end at the event: the dense output of a step that reaches
into the neighbourhood of a singular configuration lost several hundred times the tolerance in energy (a ball
rolling along a slot).

Events that come faster and faster, such as the bounces of a ball that comes to rest, have a limit that no
sequence of events can pass. Firings of one event are a streak while the time between two of them, the gap,
neither doubles nor drops below 1e-3 of the one before. Three signs show an accumulation:

    piled up    The gap is down to 1e-9 of the longest in its streak.
    stuck       A hundred consecutive gaps are below 1e-6 of the longest in their streak, of at most 5000
                firings (the gaps of a shaft that spins up fall as 1/sqrt(n), so that this takes millions of
                firings), or below 64 units in the last place of t (two relays that undo each other).
    passed      The gap is down to 1e-3; right after the last firing g went back to the side it came from
                (by the straight line along the derivative), but the first evaluation finds it on the other
                side: g has crossed zero unseen, like that of a ball that falls through the floor.

A clock, a relay whose function stays beyond zero, a burst after a pause and an oscillation through zero show
none of these. Events that take away all of the speed (restitution 0, or below 1e-3, where the gaps form no
streak) cannot be distinguished from events of a body that moves on, and are no accumulation.
"""

from __future__ import annotations

from armillary.solver.forecasts import horizon, longest_step, moves_far, shorter_helps, strength
from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.step_control import probe
from armillary.solver.thresholds import (
    AROUND,
    BELIEVED,
    CASCADE,
    FIRST_LOOK,
    LEAST_RATIO,
    LITTLE_STRENGTH,
    LONGEST_STREAK,
    MOST_LOOKS,
    MOST_RATIO,
    MOST_STUCK,
    PILED_UP,
    SNAP,
    STUCK,
    STUCK_ULPS,
)


def sign_of(x: real) -> whole:
    """Return -1, 0 or 1; 0 if x is not a number."""
    found: whole = 0
    if x > 0.0:
        found = 1
    if x < 0.0:
        found = -1
    return found


def events_inside(run: RunRecord, x: real) -> None:
    """Evaluate the event functions at t_old + x."""
    probe(run, x)
    run.g = events(run.t_old + x, run.point)


def closeness(run: RunRecord) -> real:
    """Return the distance below which two times near the end of the step just taken count as one."""
    ulp: real = EPSILON * max(abs(run.t_old), abs(run.t))
    step: real = run.h_taken if adaptive(run) else run.step
    return max(16.0 * ulp, min(float(run.firings + 16) * ulp, SNAP * step))


def locate(run: RunRecord, k: whole, left: real, right: real) -> real:
    """Return the time of event k in the step, by regula falsi (Illinois), every third time by bisection."""
    low: real = left
    high: real = right
    tolerance: real = 4.0 * EPSILON * max(abs(run.t_old), abs(run.t_old + run.h_taken))
    kept: whole = 0
    third: whole = 0
    events_inside(run, low)
    g_low: real = run.g[k]
    events_inside(run, high)
    g_high: real = run.g[k]
    while high - low > tolerance:
        x: real = low + 0.5 * (high - low)
        if third != 2 and differs(g_high, g_low):
            x = high - g_high * (high - low) / (g_high - g_low)
            x = min(max(x, low + 0.5 * tolerance), high - 0.5 * tolerance)
        events_inside(run, x)
        third = 0 if third == 2 else third + 1
        if sign_of(run.g[k]) != run.sign[k]:
            high = x
            g_high = run.g[k]
            if kept < 0:
                g_low = 0.5 * g_low
            kept = -1
        else:
            low = x
            g_low = run.g[k]
            if kept > 0:
                g_high = 0.5 * g_high
            kept = 1
    return high


def record(run: RunRecord) -> None:
    """Note the times of the events that happen now; end the run if one of them accumulates."""
    run.shortest = INFINITY
    for k in range(N_EVENTS):
        if run.crossed[k] <= 0:
            continue
        gap: real = run.t - run.last[k]
        goes_on: truth = gap < MOST_RATIO * run.gap[k] and gap > LEAST_RATIO * run.gap[k]
        run.streak[k] = run.streak[k] + 1 if goes_on else 0
        run.longest[k] = max(gap, run.longest[k]) if goes_on else gap
        falling: truth = run.streak[k] >= 1 and run.streak[k] <= LONGEST_STREAK
        brief: truth = gap <= STUCK_ULPS * EPSILON * abs(run.t) or (falling and gap <= STUCK * run.longest[k])
        piling: truth = run.streak[k] >= 1 and gap <= PILED_UP * run.longest[k]
        # The direction of a slow slip in a plane turns ever faster, and statuses may be decided anew several
        # times until it has converged. So only a long streak of ended statuses is an accumulation.
        if DIRECTION[k] == ENDS_STATUS:
            brief = gap <= STUCK_ULPS * EPSILON * abs(run.t)
            piling = piling and run.streak[k] >= CASCADE
        run.stuck[k] = run.stuck[k] + 1 if brief else 0
        run.last[k] = run.t
        run.gap[k] = gap
        run.shortest = min(gap, run.shortest)
        if piling or run.stuck[k] > MOST_STUCK:
            run.status = ACCUMULATES
            run.failed = k


def land(run: RunRecord, h: real) -> None:
    """Take the step just taken again with length h, which is shorter and so more accurate."""
    run.state = run.base
    stages(run, run.t_old, h)
    if end_enters_error(run):
        run.k_end = derivatives(run.t_old + h, run.trial)
    run.state = run.trial
    run.state = normalise(run.t_old + h, run.state)
    run.finish = run.state
    if not end_enters_error(run):
        run.k_end = derivatives(run.t_old + h, run.state)
    run.h_taken = h
    run.prepared = False


def is_beside_singularity(run: RunRecord, k: whole, x: real) -> truth:
    """Return whether the user's event k, at x in the step just taken, is next to a singular configuration. A
    step cannot begin there; a step across the singular configuration can contain the event.
    """
    if run.passing or not below(k, N_OWN_EVENTS) or RANK_EVENT[run.configuration] == NONE:
        return False
    events_inside(run, x)
    return strength(run) <= LITTLE_STRENGTH


def reject_step(run: RunRecord, place: real) -> None:
    """Take back the step just taken, which jumped over a loss of rank, or over the point where another choice
    of dependent speeds becomes better. Short steps follow up to this point; if one of them jumps over it too,
    even shorter ones follow.
    """
    run.state = run.base
    run.t = run.t_old
    run.phase = READY
    run.prepared = False
    run.met_singularity = True
    run.steps = run.steps - 1
    if adaptive(run):
        run.rejected = run.rejected + 1
    elif run.at_grid:
        run.index = run.index - 1
    for k in range(N_EVENTS):
        run.sign[k] = run.sign_old[k]
        run.crossed[k] = 0
    reach: real = min(horizon(run, AROUND), run.h_taken)
    again: truth = run.t < run.short_end
    latest: real = run.t + place + reach
    run.short_begin = max(run.t, run.t + place - reach)
    run.short_end = max(latest, run.short_end) if again else latest
    run.short_step = reach / 6.0
    if ADAPTIVE:
        run.h = min(run.h, longest_step(run))


def cut(run: RunRecord, high: real) -> None:
    """Shorten the step to its first event; `crossed` stays set only for the events that happen there."""
    near: real = closeness(run)
    place: real = high
    first: whole = NONE
    for k in range(N_EVENTS):
        if run.crossed[k] <= 0:
            continue
        later: truth = run.crossed[k] == 2
        left: real = run.h_taken if later else run.low[k]
        right: real = run.h_taken + near if later else high
        x: real = high
        if adaptive(run) or not later:
            x = locate(run, k, left, right)
        if x < place or first == NONE:
            place = x
            first = k
    if PASSING and shorter_helps(run, place):
        back: truth = NEAR_PLACE[first] == FLIPS
        if not back:
            back = is_beside_singularity(run, first, place)
        if back:
            reject_step(run, place)
            return
    # An event close to this goal is moved to it: the end of the run or, with a fixed step, the grid point.
    goal: real = run.t_end if adaptive(run) else run.t
    t_event: real = run.t_old + place
    met: truth = abs(goal - t_event) <= near
    if met:
        t_event = goal
        place = goal - run.t_old
    if PASSING and run.passing and t_event > run.t_end:
        return
    if differs(t_event, run.t):
        lands: truth = False
        if LANDING_EVENTS:
            lands = LANDS[first]
        if lands:
            land(run, place)
        else:
            probe(run, place)
            run.state = run.point
        run.t = t_event
        if not adaptive(run):
            if run.at_grid:  # else the step led to a jump before the grid point
                run.index = run.index - 1
            run.at_grid = False
    run.near = near
    run.early_margin = 0.0
    run.g = events(run.t, run.state)
    for k in range(N_EVENTS):
        now: truth = run.crossed[k] > 0 and (sign_of(run.g[k]) != run.sign[k] or k == first)
        early: truth = run.crossed[k] == 2 and met
        if early:
            run.early_margin = 2.0 * near
        if early or now:
            run.side[k] = run.sign[k]
        run.crossed[k] = 1 if early or now else 0
    run.pending = True
    run.restart = True
    if ADAPTIVE:
        run.choose_step = True
    record(run)


def signs_hold(run: RunRecord, h: real, near: real) -> truth:
    """Return whether every function in `g` has kept its sign in a step of length h, and would keep it, at its
    mean rate in the step, for another 4 `near`.
    """
    hold: truth = True
    for k in range(N_EVENTS):
        kept: truth = run.g[k] * float(run.sign[k]) > 0.0
        lasts: truth = abs(run.g[k]) * h > 4.0 * near * abs(run.g[k] - run.g_start[k])
        hold = hold and kept and lasts
    return hold


def is_left(run: RunRecord, t_new: real, h: real) -> truth:
    """Return whether a run must leave its lane and make the step to the trial state alone, because an event
    function changes its sign in the step, or may do so right after it (`look_beyond`), or because constraints
    may lose rank. The distance below which two times count as one is at least `closeness` of any single run.
    """
    run.trial = normalise(t_new, run.trial)
    run.g = events(t_new, run.trial)
    near: real = max(16.0 * EPSILON * max(abs(run.t), abs(t_new)), SNAP * h)
    hold: truth = False
    hold = signs_hold(run, h, near)
    found: truth = rank_may_fall(run, t_new, h)
    found = found or not hold
    if found:
        run.released = True
    return found


def look_beyond(run: RunRecord) -> truth:
    """Return whether a function that, at its mean rate, would cross zero right after the step does so."""
    near: real = closeness(run)
    maybe: truth = False
    found: truth = False
    for k in range(N_EVENTS):
        hardly: truth = abs(run.g[k]) * run.h_taken <= 4.0 * near * abs(run.g[k] - run.g_start[k])
        wanted: truth = run.sign[k] != 0 and DIRECTION[k] * run.sign[k] <= 0
        if run.crossed[k] == 0 and wanted and hardly and DIRECTION[k] != FINDS_LOWEST:
            run.crossed[k] = -1
            maybe = True
    if not maybe:
        return False
    events_inside(run, run.h_taken + near)
    for k in range(N_EVENTS):
        if run.crossed[k] >= 0:
            continue
        crosses: truth = sign_of(run.g[k]) != run.sign[k] and not isnan(run.g[k])
        if CONTACTS and DIRECTION[k] == ENDS_STATUS:
            crosses = run.g[k] < 0.0
        run.crossed[k] = 2 if crosses else 0
        found = found or crosses
    run.g = events(run.t, run.finish)
    return found


def first_place(run: RunRecord) -> real:
    """Return the time into the first step after an event at which the functions are evaluated first."""
    least: real = max(FIRST_LOOK * run.shortest, 16.0 * EPSILON * abs(run.t))
    x: real = FIRST_LOOK * run.h_taken
    while x > least:
        x = 0.5 * x
    while x < run.early_margin and x < run.h_taken:
        x = 2.0 * x
    run.shortest = INFINITY
    run.early_margin = 0.0
    return x


def pace_of_looks(run: RunRecord) -> real:
    """Return the time between evaluations of the event functions in a step. If a step is long enough to
    jump over two losses of rank, the functions are evaluated several times, because the sign of a pivot
    changes at the first loss and again at the second.
    """
    looks: real = 1.0
    if RANK_EVENT[run.configuration] != NONE and moves_far(run, run.h_taken):
        looks = min(1.0 + floor(run.h_taken / horizon(run, BELIEVED)), MOST_LOOKS)
    return run.h_taken / looks


def next_look(run: RunRecord, x: real, pace: real) -> real:
    """Return where the event functions are evaluated after x: at twice x, but at most `pace` beyond x. In a
    step across a singular configuration they are evaluated only at the points `LOOK`, where they are
    accurate, and only in the part of the step that has not been searched.
    """
    following: real = min(2.0 * x, x + pace)
    if following > run.h_taken - 0.5 * pace and x < run.h_taken:
        following = run.h_taken
    if PASSING and run.passing:
        if run.searched > 0.0 or not (x > 0.0):
            following = run.h_taken
        for i in range(N_LOOKS):
            sound: real = LOOK[i] * run.h_taken
            if sound > x:
                following = min(following, sound)
    return following


def lowest_place(run: RunRecord, x: real) -> real:
    """Return the first point before x in the step at which a gap is lowest and a contact's status ends;
    return x if there is none. `g` has the functions at x.
    """
    place: real = x
    for k in range(N_EVENTS):
        rises: truth = run.sign[k] < 0 and run.g[k] > 0.0
        if DIRECTION[k] == FINDS_LOWEST and rises:
            before: real = 4.0 * EPSILON * max(abs(run.t_old), abs(run.t_old + run.h_taken))
            lowest: real = 0.0
            lowest = locate(run, k, run.low[k], x)
            lowest = lowest - before
            if lowest > run.low[k] and lowest < place:
                events_inside(run, lowest)
                for j in range(N_EVENTS):
                    if DIRECTION[j] == ENDS_STATUS and run.g[j] < 0.0:
                        place = lowest
            events_at(run, x)
    return place


def events_at(run: RunRecord, x: real) -> None:
    """Evaluate the event functions inside of a step or at its end."""
    if x >= run.h_taken:
        run.g = events(run.t, run.finish)
    else:
        events_inside(run, x)


def is_quiet(run: RunRecord) -> truth:
    """Return whether one evaluation, at the end of the step just taken, shows that no event happens in it or
    right after it. For nearly all steps it does.
    """
    if PASSING:
        if run.passing:
            return False
        if pace_of_looks(run) < run.h_taken:
            return False
    if not (ARRIVING and run.g_known):
        events_at(run, run.h_taken)
    return signs_hold(run, run.h_taken, closeness(run))


def scan(run: RunRecord) -> None:
    """Search the step just taken for events, and cut it at the first one. In a step across a singular
    configuration only the user's own events count.
    """
    quiet: truth = False
    quiet = is_quiet(run)
    if quiet:
        run.g_start = run.g
        return
    signless: truth = False
    if PASSING:
        run.sign_old = run.sign
    for k in range(N_EVENTS):
        run.low[k] = 0.0
        if PASSING and run.passing:
            run.low[k] = run.searched
        run.crossed[k] = 0
        signless = signless or run.sign[k] == 0
    x: real = run.h_taken
    if PASSING:
        pace: real = run.h_taken
        if run.passing:
            x = next_look(run, run.searched, pace)
        else:
            pace = pace_of_looks(run)
            x = pace
    if signless and not (PASSING and run.passing and run.searched > 0.0):
        x = first_place(run)
    found: truth = False
    unseen: whole = NONE
    while True:
        ended: truth = x >= run.h_taken
        early: truth = x < FIRST_LOOK * run.h_taken
        events_at(run, x)
        if CONTACTS:
            lowest: real = 0.0
            lowest = lowest_place(run, x)
            if lowest < x:
                x = lowest
                continue
        for k in range(N_EVENTS):
            now: whole = sign_of(run.g[k])
            before: whole = run.sign[k]
            if DIRECTION[k] == FINDS_LOWEST:
                run.sign[k] = now if now != 0 else before
                run.low[k] = x
                continue
            changed: truth = now != before and not isnan(run.g[k])
            if DIRECTION[k] == ENDS_STATUS:
                changed = now < 0
            wanted: truth = DIRECTION[k] * before <= 0
            if PASSING and run.passing:
                wanted = wanted and below(k, N_OWN_EVENTS)
            if changed and before != 0 and wanted:
                run.crossed[k] = 1
                found = True
                continue
            if changed and (before != 0 or not early or now == run.side[k]):
                if before == 0 and run.returning[k] and now != run.side[k]:
                    unseen = k
                run.sign[k] = now
            run.low[k] = x
        if found or ended:
            break
        x = next_look(run, x, pace) if PASSING else 2.0 * x
    if unseen != NONE:  # the step led past an event: it is taken back
        run.state = run.base
        run.t = run.t_old
        run.status = ACCUMULATES
        run.failed = unseen
        run.phase = READY
        return
    beyond: truth = False
    if x >= run.h_taken and not (PASSING and run.passing):
        beyond = look_beyond(run)
    if found or beyond:
        cut(run, x)
    else:
        run.g_start = run.g
