"""The search for statuses: relaxation of forces suggests them, and the forces at these statuses confirm them.

Read ``problem.py`` first: it states the conditions and the method. The relaxation is that of Jean (1999).
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.held_rows import find_motion, load_speeds, move_rows
from armillary.mechanics.contact.independent_rows import solve_statuses
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import Contacts, add_column, measure_rows, row_product
from armillary.mechanics.contact.statuses import (
    agrees,
    close_contact,
    fastest_row,
    own_part,
    rows_hold,
    set_rows,
    try_statuses,
    turn_back,
)


def relax(run: Contacts) -> None:
    """Make one sweep of relaxation: improve the forces of each contact in turn, and with them `moved`, the
    changes of speeds by all forces.
    """
    for c in range(N_CONTACTS):
        if run.active[c] < 0.5:
            continue
        normal: real = 0.0
        if NORMAL_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            if run.diagonal[n] > 0.0:
                kept: real = run.force[n]
                normal = kept - (run.free[n] + row_product(run, n)) / run.diagonal[n]
                normal = normal if run.active[c] > 1.5 else max(normal, 0.0)
                run.force[n] = normal
                add_column(run, n, normal - kept)
        jams: truth = run.active[c] > 2.5
        if SLIP_ROW[c] == NONE or (run.active[c] > 1.5 and not jams):
            continue
        limit: real = run.friction[c] * normal + run.capacity[c]
        own: real = 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            own = max(own, run.diagonal[k])
        total: real = 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            run.side[k] = run.force[k]
            if run.rests[c] > 0.75 and own > 0.0:
                run.side[k] = run.force[k] - (run.free[k] + row_product(run, k)) / own
            total = total + run.side[k] * run.side[k]
        held: real = run.static[c] * normal + run.static_capacity[c]
        share: real = 1.0
        if sqrt(total) > held and not jams:
            share = limit / sqrt(total)
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            wanted: real = share * run.side[k] if run.rests[c] > 0.75 else -limit * run.direction[k]
            add_column(run, k, wanted - run.force[k])
            run.force[k] = wanted


def room_within_limit(run: Contacts, c: whole) -> real:
    """Return the number s of times that the change of forces in `steady` can be added to the forces of a
    sticking contact until its friction reaches the limit λ_max; a negative number if it never does.

    |λ_T + s Δ_T|² = (λ_max + s Δλ_max)²
    """
    none: real = -1.0
    if SLIP_ROW[c] == NONE or run.rests[c] < 0.75 or run.active[c] < 0.5 or run.active[c] > 1.5:
        return none
    limit: real = run.static_capacity[c]
    slope: real = 0.0
    if NORMAL_ROW[c] != NONE:
        limit = limit + run.static[c] * run.force[NORMAL_ROW[c]]
        slope = run.static[c] * run.steady[NORMAL_ROW[c]]
    square: real = -slope * slope
    linear: real = -limit * slope
    constant: real = -limit * limit
    for k in range(SLIP_ROW[c], SLIP_END[c]):
        square = square + run.steady[k] * run.steady[k]
        linear = linear + run.force[k] * run.steady[k]
        constant = constant + run.force[k] * run.force[k]
    inner: real = linear * linear - square * constant
    if constant > -NEARLY * NEARLY * limit * limit or inner < 0.0:  # it slides already, or never will
        return none
    # With a negative constant the denominator of the first positive root is positive.
    room: real = -constant / (linear + sqrt(inner)) if linear + sqrt(inner) > 0.0 else none
    return room


def extrapolate(run: Contacts, ratio: real) -> None:
    """Extrapolate the change of forces by the last sweep, in `steady`, to the limit of a geometric series
    with `ratio`, but not beyond the point at which a normal force would become negative, or a sticking
    contact would slide.

    Without extrapolation, relaxation of contacts that nearly prevent each other's motion takes thousands of
    sweeps. If rows contradict each other, each sweep changes their forces by the same amount (the ratio is
    one), until one of them reaches its limit.
    """
    bounded: truth = ratio < 1.0
    reach: real = ratio / (1.0 - ratio) if bounded else 0.0
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and run.active[c] < 1.5:
            n: whole = NORMAL_ROW[c]
            if run.steady[n] < 0.0 and (not bounded or run.force[n] + reach * run.steady[n] < 0.0):
                reach = run.force[n] / -run.steady[n]
                bounded = True
        room: real = 0.0
        room = room_within_limit(run, c)
        if room >= 0.0 and (not bounded or room < reach):
            reach = room
            bounded = True
    if not bounded:
        return
    for i in range(N_CONTACT_ROWS):
        run.force[i] = run.force[i] + reach * run.steady[i]


def is_steady(run: Contacts) -> truth:
    """Return whether the last sweep has changed forces only by rounding errors."""
    find_motion(run)
    for i in range(N_CONTACT_ROWS):
        if not (abs(run.force[i] - run.best[i]) * run.diagonal[i] <= PRECISE * run.size[i]):
            return False
    return True


def read_statuses(run: Contacts, generous: truth) -> None:
    """Set statuses from the forces of relaxation; if `generous`, rows that hardly move count as at rest."""
    find_motion(run)
    for c in range(N_CONTACTS):
        run.status[c] = OPEN_CONTACT
        if run.active[c] < 0.5:
            continue
        normal: real = 0.0
        closed: truth = True
        if NORMAL_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            normal = run.force[n]
            still: truth = generous and run.motion[n] <= NEARLY * run.size[n]
            closed = normal > 0.0 or still or run.active[c] > 1.5
        if closed:
            close_contact(run, c)
        if SLIP_ROW[c] == NONE or not closed or run.rests[c] < 0.75 or run.active[c] > 1.5:
            continue
        total: real = 0.0
        speed: real = 0.0
        size: real = 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            total = total + run.force[k] * run.force[k]
            speed = speed + run.motion[k] * run.motion[k]
            size = max(size, run.size[k])
        limit: real = run.friction[c] * normal + run.capacity[c]
        rests: truth = generous and sqrt(speed) <= NEARLY * size
        if sqrt(total) >= (1.0 - NEARLY * NEARLY) * limit and not rests:
            run.status[c] = SLIDES
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if total > 0.0:
                    run.direction[k] = -run.force[k] / sqrt(total)
                elif speed > 0.0:
                    run.direction[k] = run.motion[k] / sqrt(speed)


def admissible_share(run: Contacts, c: whole) -> real:
    """Return the share of the change from `best` to `force` at which a contact reaches a limit, or 1 if it
    reaches none; set `wanted` to its status beyond that limit.
    """
    share: real = 1.0
    if run.status[c] < 0.5 or run.active[c] > 1.5:
        return share
    normal: real = 0.0
    rise: real = 0.0
    if NORMAL_ROW[c] != NONE:
        n: whole = NORMAL_ROW[c]
        normal = max(run.best[n], 0.0)
        rise = run.force[n] - normal
        if run.force[n] * run.diagonal[n] < -ADMISSIBLE * run.size[n]:
            share = normal / (normal - run.force[n])
            run.wanted[c] = OPEN_CONTACT
    if SLIP_ROW[c] == NONE or run.status[c] > 1.5:
        return share
    # |best_T + s change_T|² ≤ (limit + s μ rise)²
    limit: real = run.static[c] * normal + run.static_capacity[c]
    slope: real = run.static[c] * rise
    square: real = -slope * slope
    linear: real = -limit * slope
    constant: real = -limit * limit
    reached: real = 0.0
    size: real = 0.0
    for k in range(SLIP_ROW[c], SLIP_END[c]):
        change: real = run.force[k] - run.best[k]
        square = square + change * change
        linear = linear + change * run.best[k]
        constant = constant + run.best[k] * run.best[k]
        reached = reached + run.force[k] * run.force[k]
        size = max(size, run.size[k])
    if own_part(run, c) * (sqrt(reached) - limit - slope) <= ADMISSIBLE * size:
        return share
    # The first positive root. `best` is admissible, so `constant` exceeds zero only by rounding.
    constant = -max(-constant, 0.0)
    root: real = sqrt(max(linear * linear - square * constant, 0.0))
    beyond: real = 0.0
    if linear + root > 0.0:
        beyond = -constant / (linear + root)
    elif square < 0.0:
        beyond = (-linear + root) / square
    if beyond < share:
        share = max(beyond, 0.0)
        run.wanted[c] = SLIDES
    return share


def find_own_forces(run: Contacts) -> truth:
    """Change statuses until the forces that a run uses at these statuses are admissible; return whether this
    was possible.

    Forces of redundant contacts are not unique. A run uses the smallest forces, and these may not be
    admissible although relaxation has found admissible forces, in `best`. All equations hold along the
    straight line from the forces in `best` to the smallest forces. The first contact that reaches a limit on
    this line opens or slides from then on, and other contacts take its load.
    """
    turn: whole = 0
    while turn < 3 * N_CONTACTS + 2:
        turn = turn + 1
        for c in range(N_CONTACTS):
            set_rows(run, c)
            run.wanted[c] = run.status[c]
        solve_statuses(run)
        least: real = 1.0
        first: whole = NONE
        for c in range(N_CONTACTS):
            share: real = 0.0
            share = admissible_share(run, c)
            if share < least:
                least = share
                first = c
        if first == NONE:
            agreeing: truth = False
            agreeing = agrees(run)
            holding: truth = False
            holding = rows_hold(run)
            return agreeing and holding
        for i in range(N_CONTACT_ROWS):
            run.best[i] = run.best[i] + least * (run.force[i] - run.best[i])
        run.status[first] = run.wanted[first]
        total: real = 0.0
        if run.wanted[first] > 1.5:
            for k in range(SLIP_ROW[first], SLIP_END[first]):
                total = total + run.best[k] * run.best[k]
            if total > 0.0:
                for k in range(SLIP_ROW[first], SLIP_END[first]):
                    run.direction[k] = -run.best[k] / sqrt(total)
            else:
                run.status[first] = OPEN_CONTACT
    return False


def find_doubt(run: Contacts) -> truth:
    """Set `doubt` for sliding contacts whose normal force would grow with their own friction; return whether
    there are any. If there are, other statuses are possible too (Painlevé).
    """
    some: truth = False
    for c in range(N_CONTACTS):
        run.doubt[c] = 0.0
        if NORMAL_ROW[c] == NONE or SLIP_ROW[c] == NONE or run.active[c] < 0.5:
            continue
        slides: truth = run.status[c] > 1.5 or run.rests[c] < 0.75
        if slides:
            n: whole = NORMAL_ROW[c]
            total: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                column: real = run.columns[at(n, N_CONTACT_SPEEDS, s)]
                for k in range(SLIP_ROW[c], SLIP_END[c]):
                    share: real = run.friction[c] * run.direction[k]
                    column = column - share * run.columns[at(k, N_CONTACT_SPEEDS, s)]
                total = total + run.jacobian[at(n, N_CONTACT_SPEEDS, s)] * column
            if total <= ADMISSIBLE * run.diagonal[n]:
                run.doubt[c] = 1.0
                some = True
    return some


def find_wedges(run: Contacts) -> None:
    """Set `doubt` for contacts at rest that can press themselves onto their surface by friction.

    If the rows of normal and slip are nearly parallel, as at the greatest reach of two links, no forces of
    the contact can change its slip without changing its normal velocity. If the motion requires such a
    change, the contact cannot stick, and with such friction it cannot slide either.
    """
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] == NONE or SLIP_ROW[c] == NONE or run.rests[c] < 0.75:
            continue
        if run.active[c] < 0.5 or run.active[c] > 1.5:
            continue
        n: whole = NORMAL_ROW[c]
        square: real = 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            along: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                column: real = run.columns[at(k, N_CONTACT_SPEEDS, s)]
                along = along + run.jacobian[at(n, N_CONTACT_SPEEDS, s)] * column
            square = square + along * along
        if run.diagonal[n] > 0.0 and run.friction[c] * sqrt(square) >= run.diagonal[n]:
            run.doubt[c] = 1.0


def part_jammed_rows(run: Contacts) -> None:
    """Replace each slip row t of a contact that jams by f (t − κ n), with its normal row n and with κ such
    that a normal force does not change the new row.

    If n and the new rows hold, so do n and t. But if t is nearly κ n, the motion that ends as the contact
    jams is seen only in the small difference t − κ n. The factor f gives it the size of t, so that it is not
    lost to rounding.
    """
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] == NONE or SLIP_ROW[c] == NONE or run.active[c] < 3.5:
            continue
        n: whole = NORMAL_ROW[c]
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            along: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                lever: real = run.jacobian[at(k, N_CONTACT_SPEEDS, s)]
                along = along + lever * run.columns[at(n, N_CONTACT_SPEEDS, s)]
            run.parted[k] = along / run.diagonal[n] if run.diagonal[n] > 0.0 else 0.0
            own: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                i: whole = at(k, N_CONTACT_SPEEDS, s)
                j: whole = at(n, N_CONTACT_SPEEDS, s)
                run.jacobian[i] = run.jacobian[i] - run.parted[k] * run.jacobian[j]
                run.columns[i] = run.columns[i] - run.parted[k] * run.columns[j]
                own = own + run.jacobian[i] * run.columns[i]
            run.magnified[k] = sqrt(run.diagonal[k] / own) if own > 0.0 and run.diagonal[k] > 0.0 else 1.0
            run.free[k] = run.magnified[k] * (run.free[k] - run.parted[k] * run.free[n])
            for s in range(N_CONTACT_SPEEDS):
                place: whole = at(k, N_CONTACT_SPEEDS, s)
                run.jacobian[place] = run.magnified[k] * run.jacobian[place]
                run.columns[place] = run.magnified[k] * run.columns[place]
    measure_rows(run)


def join_jammed_rows(run: Contacts) -> None:
    """Convert forces in the rows of `part_jammed_rows` to forces in the normal and slip rows of contacts."""
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] == NONE or SLIP_ROW[c] == NONE or run.active[c] < 3.5:
            continue
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            run.force[k] = run.magnified[k] * run.force[k]
            run.force[NORMAL_ROW[c]] = run.force[NORMAL_ROW[c]] - run.parted[k] * run.force[k]


def begin_statuses(run: Contacts) -> None:
    """Set the first statuses: contacts that were closed or approach close, and slips that may stick do so."""
    for c in range(N_CONTACTS):
        run.status[c] = OPEN_CONTACT
        if run.active[c] > 0.5:
            closes: truth = True
            if NORMAL_ROW[c] != NONE and run.active[c] < 1.5:
                closes = run.free[NORMAL_ROW[c]] <= 0.0 or run.before[c] > 0.5
            if closes:
                close_contact(run, c)
    for i in range(N_CONTACT_ROWS):
        run.force[i] = 0.0
        run.best[i] = 0.0


def search_statuses(run: Contacts) -> truth:
    """Search for statuses and forces that agree with each other; return whether they were found."""
    begin_statuses(run)
    find_motion(run)
    alone: real = 0.0
    alone = fastest_row(run)
    found: truth = False
    found = try_statuses(run)
    turn: real = 0.0
    last: real = 0.0
    ratio: real = 0.0
    while not found and turn < MOST_TRIALS:
        turn = turn + 1.0
        run.force = run.best
        if turn > 1.5:
            extrapolate(run, ratio)
        find_motion(run)
        sweep: real = 0.0
        while sweep < SWEEPS * turn:
            sweep = sweep + 1.0
            run.best = run.force
            relax(run)
            before: real = last
            last = 0.0
            for i in range(N_CONTACT_ROWS):
                run.steady[i] = run.force[i] - run.best[i]
                last = last + run.diagonal[i] * run.steady[i] * run.steady[i]
            ratio = sqrt(last / before) if before > 0.0 else 0.0
        found = is_steady(run)
        fastest: real = 0.0
        fastest = fastest_row(run)
        if not (fastest <= WITHOUT_END * alone):
            found = False
            break
        run.best = run.force
        if found:
            read_statuses(run, False)
            solved: truth = False
            solved = agrees(run)
            found = take_own_forces(run, solved)
            break
        read_statuses(run, True)
        found = try_statuses(run)
        if not found:
            run.force = run.best
            read_statuses(run, False)
            found = try_statuses(run)
        if not found:
            run.force = run.best
            found = is_solved(run)
            if found:
                found = take_own_forces(run, True)
    return found


def take_own_forces(run: Contacts, solved: truth) -> truth:
    """Replace the forces of relaxation by the forces that a run finds at the same statuses; return whether
    admissible forces were found.

    If the forces of the run are not admissible, but those of relaxation are a solution (`solved`), the forces
    of relaxation are kept. Then another event follows at once.
    """
    run.best = run.force
    run.steady = run.force
    own: truth = False
    own = find_own_forces(run)
    if solved and not own:
        run.force = run.steady
        read_statuses(run, False)
        own = agrees(run)
    return own


def is_solved(run: Contacts) -> truth:
    """Return whether the forces of relaxation are a solution.

    This is tested since the forces that a run finds at the same statuses may differ from them, and may not be
    a solution: forces of redundant contacts are not unique.
    """
    read_statuses(run, False)
    agreeing: truth = False
    agreeing = agrees(run)
    energetic: real = 0.0
    energetic = fastest_row(run)
    for i in range(N_CONTACT_ROWS):
        room: real = max(HOLDS * run.size[i], ADMISSIBLE * energetic * run.root[i])
        if run.held[i] > 0.5 and not (abs(run.motion[i]) <= room):
            return False
    holding: truth = False
    holding = rows_hold(run)
    return agreeing and holding


def stop_slow_slides(run: Contacts) -> truth:
    """Allow slow slides to stick; return whether there are any slow slides."""
    some: truth = False
    for c in range(N_CONTACTS):
        if run.rests[c] > 0.25 and run.rests[c] < 0.75:
            run.rests[c] = 1.0
            some = True
    return some


def solve_contacts(run: Contacts) -> None:
    """Find statuses and forces by complementarity."""
    measure_rows(run)
    for c in range(N_CONTACTS):
        run.cosine[c] = 1.0
        run.sine[c] = 0.0
    found: truth = False
    again: truth = False
    rebounds: truth = False
    for i in range(N_CONTACT_ROWS):
        run.free[i] = run.free[i] + run.rebound[i]
        rebounds = rebounds or abs(run.rebound[i]) > 0.0
    part_jammed_rows(run)
    found = search_statuses(run)
    if not found:
        again = stop_slow_slides(run)
        if again:
            found = search_statuses(run)
    without: truth = rebounds and not found
    if without:
        for i in range(N_CONTACT_ROWS):
            run.free[i] = run.free[i] - run.rebound[i]
        found = search_statuses(run)
    doubt: truth = False
    doubt = find_doubt(run)
    if not found and not doubt:  # no single contact is the cause, so all slides are in doubt
        for c in range(N_CONTACTS):
            slides: truth = run.active[c] > 0.5 and run.rests[c] < 0.75
            if slides and NORMAL_ROW[c] != NONE:
                run.doubt[c] = 1.0
        find_wedges(run)
    move_rows(run)
    load_speeds(run)
    join_jammed_rows(run)
    turn_back(run)
    run.failed[FIRST] = 0.0
    if doubt:
        run.failed[FIRST] = 2.0
    if without:
        run.failed[FIRST] = 3.0
    if not found:
        run.failed[FIRST] = 1.0
