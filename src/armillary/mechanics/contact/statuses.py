"""Statuses of contacts by complementarity, in the small language of solver/language/language.py.

Read ``problem.py`` first: it states the conditions of each status and the method of solution.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.independent_rows import solve_statuses
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import Contacts, measure_rows


def turns(run: Contacts, c: whole) -> truth:
    """Return whether a contact begins to slide in a plane, in an unknown direction."""
    if SLIP_ROW[c] == NONE:
        return False
    in_plane: truth = below(SLIP_ROW[c] + 1, SLIP_END[c])
    begins: truth = run.status[c] > 1.5 and run.rests[c] > 0.75
    return in_plane and begins


def set_rows(run: Contacts, c: whole) -> None:
    """Choose which rows of a contact hold, by its status."""
    if NORMAL_ROW[c] != NONE:
        run.held[NORMAL_ROW[c]] = 1.0 if run.status[c] > 0.5 else 0.0
        run.weight[NORMAL_ROW[c]] = 0.0
        run.offset[NORMAL_ROW[c]] = 0.0
        run.slack[NORMAL_ROW[c]] = 0.0
    if SLIP_ROW[c] != NONE:
        slides: truth = run.status[c] > 1.5
        free: truth = run.active[c] > 1.5 and run.active[c] < 2.5
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            run.held[k] = 1.0 if run.status[c] > 0.5 and not slides and not free else 0.0
            run.weight[k] = run.friction[c] * run.direction[k] if slides else 0.0
            run.offset[k] = -run.capacity[c] * run.direction[k] if slides else 0.0
            run.slack[k] = 0.0


def turn_rows(run: Contacts, c: whole, cosine: real, sine: real) -> None:
    """Turn the slip rows of a contact, with their columns, forces and directions, by an angle."""
    a: whole = SLIP_ROW[c]
    b: whole = a + 1
    one: real = 0.0
    two: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        one = run.jacobian[at(a, N_CONTACT_SPEEDS, s)]
        two = run.jacobian[at(b, N_CONTACT_SPEEDS, s)]
        run.jacobian[at(a, N_CONTACT_SPEEDS, s)] = cosine * one + sine * two
        run.jacobian[at(b, N_CONTACT_SPEEDS, s)] = cosine * two - sine * one
        one = run.columns[at(a, N_CONTACT_SPEEDS, s)]
        two = run.columns[at(b, N_CONTACT_SPEEDS, s)]
        run.columns[at(a, N_CONTACT_SPEEDS, s)] = cosine * one + sine * two
        run.columns[at(b, N_CONTACT_SPEEDS, s)] = cosine * two - sine * one
    one = run.free[a]
    two = run.free[b]
    run.free[a] = cosine * one + sine * two
    run.free[b] = cosine * two - sine * one
    one = run.force[a]
    two = run.force[b]
    run.force[a] = cosine * one + sine * two
    run.force[b] = cosine * two - sine * one
    one = run.best[a]
    two = run.best[b]
    run.best[a] = cosine * one + sine * two
    run.best[b] = cosine * two - sine * one
    one = run.direction[a]
    two = run.direction[b]
    run.direction[a] = cosine * one + sine * two
    run.direction[b] = cosine * two - sine * one
    one = run.cosine[c]
    two = run.sine[c]
    run.cosine[c] = one * cosine - two * sine
    run.sine[c] = two * cosine + one * sine


def turn_to_directions(run: Contacts) -> None:
    """Turn the two slip rows of each contact that begins to slide, so that the first is along the slide."""
    for c in range(N_CONTACTS):
        slides: truth = turns(run, c)
        if slides:
            a: whole = SLIP_ROW[c]
            x: real = run.direction[a]
            y: real = run.direction[a + 1]
            if abs(y) > 0.0 or x < 0.0:
                length: real = sqrt(x * x + y * y)
                turn_rows(run, c, x / length, y / length)
            run.direction[a] = 1.0
            run.direction[a + 1] = 0.0
    measure_rows(run)


def set_crosswise_rows(run: Contacts) -> None:
    """Hold the row across each slide that begins, with a compliance by which friction turns with the slip."""
    for c in range(N_CONTACTS):
        slides: truth = turns(run, c)
        if slides:
            along: whole = SLIP_ROW[c]
            pull: real = slip_pull(run, c)
            if pull > 0.0:
                run.held[along + 1] = 1.0
                run.slack[along + 1] = max(run.motion[along], 0.0) * own_part(run, c) / pull


def turn_directions(run: Contacts) -> truth:
    """Set the directions of slides that begin opposite to their friction; return whether any has changed."""
    some: truth = False
    for c in range(N_CONTACTS):
        slides: truth = turns(run, c)
        if slides:
            a: whole = SLIP_ROW[c]
            length: real = sqrt(run.force[a] * run.force[a] + run.force[a + 1] * run.force[a + 1])
            if length > 0.0 and run.held[a + 1] > 0.5:
                some = some or abs(run.force[a + 1]) > STRAIGHT * length
                run.direction[a] = -run.force[a] / length
                run.direction[a + 1] = -run.force[a + 1] / length
            elif length <= 0.0:
                speed: real = sqrt(run.motion[a] * run.motion[a] + run.motion[a + 1] * run.motion[a + 1])
                if speed > 0.0:
                    run.direction[a] = run.motion[a] / speed
                    run.direction[a + 1] = run.motion[a + 1] / speed
    return some


def own_part(run: Contacts, c: whole) -> real:
    """Return the sum of the diagonal elements of A of a contact's slip rows."""
    own: real = 0.0
    for k in range(SLIP_ROW[c], SLIP_END[c]):
        own = own + run.diagonal[k]
    return own


def slip_pull(run: Contacts, c: whole) -> real:
    """Return the acceleration of a contact's slip that its own greatest friction causes."""
    normal: real = 0.0
    if NORMAL_ROW[c] != NONE:
        normal = max(run.force[NORMAL_ROW[c]], 0.0)
    most: real = run.friction[c] * normal + run.capacity[c]
    return own_part(run, c) * most


def close_contact(run: Contacts, c: whole) -> None:
    """Close a contact: it slides if its direction is given, else it sticks."""
    run.status[c] = STICKS
    if SLIP_ROW[c] != NONE and run.rests[c] < 0.75 and run.active[c] < 1.5:
        run.status[c] = SLIDES


def row_rounding(run: Contacts, row: whole) -> real:
    """Return the rounding error that forces cause in a row's motion.

    Contacts that clamp a body may have forces far larger than their load. These forces cancel in the changes
    of speeds, so the size of a row, which is computed from these changes, does not include them.
    """
    terms: real = 0.0
    for i in range(N_CONTACT_ROWS):
        if abs(run.force[i]) > 0.0:
            for s in range(N_CONTACT_SPEEDS):
                lever: real = (
                    run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
                )
                terms = terms + abs(lever * run.force[i])
    return PRECISE * terms


def contradiction(run: Contacts, c: whole) -> real:
    """Return how far forces and motion of a contact contradict its status, relative to the sizes of its rows;
    set `wanted` to the status with which they would agree.
    """
    worst: real = 0.0
    normal: real = 0.0
    run.wanted[c] = run.status[c]
    if NORMAL_ROW[c] != NONE:
        n: whole = NORMAL_ROW[c]
        normal = max(run.force[n], 0.0)
        size: real = max(run.size[n], 1e-300)
        if run.active[c] > 0.5 and run.active[c] < 1.5 and run.status[c] < 0.5:
            worst = -run.motion[n] / size
            if worst > ADMISSIBLE:
                rounding: real = 0.0
                rounding = row_rounding(run, n)
                worst = -(run.motion[n] + rounding) / size
            run.wanted[c] = STICKS
        if run.status[c] > 0.5 and run.active[c] < 1.5:
            worst = -run.force[n] * run.diagonal[n] / size
            run.wanted[c] = OPEN_CONTACT
    if SLIP_ROW[c] == NONE or run.status[c] < 0.5 or run.active[c] > 1.5 or run.rests[c] < 0.75:
        return worst
    total: real = 0.0
    onwards: real = 0.0
    sizes: real = 1e-300
    own: real = 0.0
    for k in range(SLIP_ROW[c], SLIP_END[c]):
        own = own + run.diagonal[k]
        sizes = max(sizes, run.size[k])
        total = total + run.force[k] * run.force[k]
        onwards = onwards + run.motion[k] * run.direction[k]
    beyond: real = 0.0
    if run.status[c] < 1.5:
        beyond = own * (sqrt(total) - run.static[c] * normal - run.static_capacity[c]) / sizes
        if beyond > worst:
            worst = beyond
            run.wanted[c] = SLIDES
        return worst
    beyond = -onwards / sizes
    if beyond > worst and slip_pull(run, c) > 0.0:
        worst = beyond
        run.wanted[c] = STICKS
    return worst


def change_status(run: Contacts, c: whole) -> None:
    """Give a contact the status that would agree with the solution."""
    total: real = 0.0
    if run.wanted[c] > 1.5:
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            total = total + run.force[k] * run.force[k]
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            run.direction[k] = -run.force[k] / sqrt(total)
        run.status[c] = SLIDES
    elif run.wanted[c] > 0.5 and run.status[c] < 0.5:
        close_contact(run, c)
    else:
        run.status[c] = run.wanted[c]


def fastest_row(run: Contacts) -> real:
    """Return the largest ratio of a row's size to its root. Its square z²/A is an energy, so rows of
    different units can be compared by it.
    """
    energetic: real = 0.0
    for i in range(N_CONTACT_ROWS):
        if run.root[i] > 0.0:
            energetic = max(energetic, run.size[i] / run.root[i])
    return energetic


def rows_hold(run: Contacts) -> truth:
    """Return whether rows that hold have no motion, and slides that begin move along their directions.

    No force holds a row that moves nothing. But the slip of a contact that sticks must have no motion in such
    a row either: at a dead centre the slip has no lever, but may accelerate.
    """
    energetic: real = 0.0
    energetic = fastest_row(run)
    for i in range(N_CONTACT_ROWS):
        room: real = max(HOLDS * run.size[i], CONTRADICTORY * energetic * run.root[i])
        if run.held[i] > 0.5 and not (abs(run.motion[i]) <= room):
            return False
    for c in range(N_CONTACTS):
        if SLIP_ROW[c] == NONE or run.status[c] < 0.5 or run.rests[c] < 0.75:
            continue
        if run.status[c] < 1.5 and run.active[c] < 1.5:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.diagonal[k] <= 0.0 and not (abs(run.motion[k]) <= HOLDS * run.size[k]):
                    return False
        if run.status[c] < 1.5:
            continue
        onwards: real = 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            onwards = onwards + run.motion[k] * run.direction[k]
        if slip_pull(run, c) > 0.0:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if abs(run.motion[k] - onwards * run.direction[k]) > HOLDS * run.size[k]:
                    return False
    return True


def solve_directions(run: Contacts) -> None:
    """Find the forces at the present statuses, with directions of slides that begin, by Newton's method."""
    turn_to_directions(run)
    for c in range(N_CONTACTS):
        set_rows(run, c)
    solve_statuses(run)
    turn: real = 0.0
    turned: truth = True
    while turned and turn < MOST_TURNS:
        turn = turn + 1.0
        set_crosswise_rows(run)
        solve_statuses(run)
        turned = turn_directions(run)
        turn_to_directions(run)
        for c in range(N_CONTACTS):
            set_rows(run, c)
        if turned:
            solve_statuses(run)
    solve_statuses(run)


def turn_back(run: Contacts) -> None:
    """Turn all slip rows back to the directions in which they were given."""
    for c in range(N_CONTACTS):
        in_plane: truth = SLIP_ROW[c] != NONE and below(SLIP_ROW[c] + 1, SLIP_END[c])
        if in_plane:
            turn_rows(run, c, run.cosine[c], -run.sine[c])


def agrees(run: Contacts) -> truth:
    """Return whether the present forces and motions agree with all statuses."""
    for c in range(N_CONTACTS):
        found: real = 0.0
        found = contradiction(run, c)
        if not (found <= HOLDS):
            return False
        set_rows(run, c)
    return True


def find_idle_slides(run: Contacts) -> truth:
    """Mark slides that should begin but have no acceleration (`idle`); return whether there are any."""
    some: truth = False
    for c in range(N_CONTACTS):
        run.idle[c] = 0.0
        if SLIP_ROW[c] == NONE or run.status[c] < 1.5 or run.rests[c] < 0.75:
            continue
        idle: truth = slip_pull(run, c) > 0.0
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            idle = idle and abs(run.motion[k]) <= HOLDS * run.size[k]
        if idle:
            run.idle[c] = 1.0
            some = True
    return some


def hold_idle_slides(run: Contacts) -> None:
    """Let idle slides, which have no acceleration, stick if their forces allow it.

    In the search a contact may get the status of sliding while its load is small. When other contacts then
    get this status, too, redundant normals may prevent its slip. In the run such a slide would end at once
    and begin again, without end.
    """
    begins: truth = False
    begins = find_idle_slides(run)
    if not begins:
        return
    for c in range(N_CONTACTS):
        if run.idle[c] > 0.5:
            run.status[c] = STICKS
    agreeing: truth = False
    while begins:  # each time fewer of them stick
        begins = False
        solve_directions(run)
        agreeing = rows_hold(run)
        for c in range(N_CONTACTS):
            found: real = 0.0
            found = contradiction(run, c)
            if found > ADMISSIBLE and run.idle[c] > 0.5 and run.status[c] < 1.5:
                run.status[c] = SLIDES
                begins = True
            elif found > ADMISSIBLE:
                agreeing = False
    if not agreeing:
        for c in range(N_CONTACTS):
            if run.idle[c] > 0.5:
                run.status[c] = SLIDES
        solve_directions(run)


def release_moving_slip(run: Contacts) -> whole:
    """Let the sticking contact whose slip moves most, relative to its size, slide; return it, or NONE.

    Some row that holds then still moves: rows contradict each other if no force moves one of them relative to
    the others. In this case, for instance that of a clutch at a dead centre, no friction is large enough for
    the contact to stick.
    """
    fastest: whole = NONE
    most: real = HOLDS
    for c in range(N_CONTACTS):
        if SLIP_ROW[c] == NONE or run.active[c] > 1.5 or run.rests[c] < 0.75:
            continue
        if run.status[c] < 0.5 or run.status[c] > 1.5:
            continue
        total: real = 0.0
        size: real = 1e-300
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            total = total + run.motion[k] * run.motion[k]
            size = max(size, run.size[k])
        if sqrt(total) > most * size:
            most = sqrt(total) / size
            fastest = c
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                run.direction[k] = run.motion[k] / sqrt(total)
    if fastest != NONE:
        run.status[fastest] = SLIDES
    return fastest


def try_statuses(run: Contacts) -> truth:
    """Find the forces at the present statuses, and repeatedly change the status that contradicts them most;
    return whether the forces agree with all statuses in the end.

    The contact that was changed last is changed again only if no other contradicts: it could alternate
    between two statuses forever.
    """
    turn: whole = 0
    last: whole = NONE
    while turn < 2 * N_CONTACTS + 2:
        turn = turn + 1
        solve_directions(run)
        largest: real = ADMISSIBLE
        worst: whole = NONE
        waiting: whole = NONE
        for c in range(N_CONTACTS):
            found: real = 0.0
            found = contradiction(run, c)
            if found > ADMISSIBLE and c == last:
                waiting = c
            elif found > largest:
                largest = found
                worst = c
        if worst == NONE:
            worst = waiting
        if worst == NONE:
            holding: truth = False
            holding = rows_hold(run)
            if holding:
                hold_idle_slides(run)
                return True
            worst = release_moving_slip(run)
            if worst == NONE:
                return False
        else:
            change_status(run, worst)
        last = worst
    return False
