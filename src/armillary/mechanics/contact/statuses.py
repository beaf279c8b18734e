"""Statuses of contacts by complementarity, in the small language of runtime/solver/language/language.py.

Read ``problem.py`` first: it has the conditions, the way to solve them, and forces at given statuses.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import (
    Contacts,
    add_column,
    find_motion,
    load_speeds,
    measure_rows,
    move_rows,
    row_product,
    solve_held_rows,
)


def turns(run: Contacts, c: whole) -> truth:
    """Return whether a contact begins to slide in a plane: its direction is to be found."""
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
    """Turn the slip rows of a contact, and all that belongs to them."""
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
    """Turn the rows of contacts that begin to slide, so that the first is along the slide."""
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
    """Let forces across slides follow from the slip there, as the direction of friction turns with it."""
    for c in range(N_CONTACTS):
        slides: truth = turns(run, c)
        if slides:
            along: whole = SLIP_ROW[c]
            pull: real = slip_pull(run, c)
            if pull > 0.0:
                run.held[along + 1] = 1.0
                run.slack[along + 1] = max(run.motion[along], 0.0) * own_part(run, c) / pull


def turn_directions(run: Contacts) -> truth:
    """Turn slides that begin towards their friction; return whether some were turned."""
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
    """Return the size of a contact's own part of A, along its slip."""
    own: real = 0.0
    for k in range(SLIP_ROW[c], SLIP_END[c]):
        own = own + run.diagonal[k]
    return own


def slip_pull(run: Contacts, c: whole) -> real:
    """Return the contribution of a contact's greatest friction to its own slip."""
    normal: real = 0.0
    if NORMAL_ROW[c] != NONE:
        normal = max(run.force[NORMAL_ROW[c]], 0.0)
    most: real = run.friction[c] * normal + run.capacity[c]
    return own_part(run, c) * most


def close_contact(run: Contacts, c: whole) -> None:
    """Close a contact: it slides where its direction is given."""
    run.status[c] = STICKS
    if SLIP_ROW[c] != NONE and run.rests[c] < 0.75 and run.active[c] < 1.5:
        run.status[c] = SLIDES


def contradiction(run: Contacts, c: whole) -> real:
    """Return by how much forces and motion of a contact contradict its status, as a share of what enters its
    rows; `wanted` gets the status that would agree.
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
    """Return the size of the fastest row in terms of its root: z²/A is an energy, which compares all rows."""
    energetic: real = 0.0
    for i in range(N_CONTACT_ROWS):
        if run.root[i] > 0.0:
            energetic = max(energetic, run.size[i] / run.root[i])
    return energetic


def rows_hold(run: Contacts) -> truth:
    """Return whether the rows that hold do not contradict each other, and slides have their directions."""
    energetic: real = 0.0
    energetic = fastest_row(run)
    for i in range(N_CONTACT_ROWS):
        room: real = max(HOLDS * run.size[i], CONTRADICTORY * energetic * run.root[i])
        if run.held[i] > 0.5 and not (abs(run.motion[i]) <= room):
            return False
    for c in range(N_CONTACTS):
        if SLIP_ROW[c] == NONE or run.status[c] < 1.5 or run.rests[c] < 0.75:
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
    """Solve with the present statuses, and find the directions of slides that begin, by Newton's method."""
    turn_to_directions(run)
    for c in range(N_CONTACTS):
        set_rows(run, c)
    solve_held_rows(run)
    turn: real = 0.0
    turned: truth = True
    while turned and turn < MOST_TURNS:
        turn = turn + 1.0
        set_crosswise_rows(run)
        solve_held_rows(run)
        turned = turn_directions(run)
        turn_to_directions(run)
        for c in range(N_CONTACTS):
            set_rows(run, c)
        if turned:
            solve_held_rows(run)
    solve_held_rows(run)


def turn_back(run: Contacts) -> None:
    """Turn all slip rows back to where they were given."""
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


def try_statuses(run: Contacts) -> truth:
    """Solve with the present statuses; change the one that contradicts the solution most, one after another;
    return whether a solution agrees with all of them.

    The contact that was changed last waits as long as others contradict, too: it would change to and fro.
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
            return rows_hold(run)
        change_status(run, worst)
        last = worst
    return False


def relax(run: Contacts) -> None:
    """Improve all forces once, contact by contact, and update `moved`, their effect on the speeds."""
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
        if SLIP_ROW[c] == NONE or run.active[c] > 1.5:
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
        if sqrt(total) > held:
            share = limit / sqrt(total)
        for k in range(SLIP_ROW[c], SLIP_END[c]):
            wanted: real = share * run.side[k] if run.rests[c] > 0.75 else -limit * run.direction[k]
            add_column(run, k, wanted - run.force[k])
            run.force[k] = wanted


def is_steady(run: Contacts) -> truth:
    """Return whether the last sweep has changed nothing: forces are as exact as they can be."""
    find_motion(run)
    for i in range(N_CONTACT_ROWS):
        if not (abs(run.force[i] - run.best[i]) * run.diagonal[i] <= PRECISE * run.size[i]):
            return False
    return True


def read_statuses(run: Contacts, generous: truth) -> None:
    """Take statuses from forces that were improved; where `generous`, what hardly moves is at rest."""
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
    """Return how far a contact's forces may change from `best` towards `force`, as a share of the way at most
    1; `wanted` gets the status with which they go on.
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
    # The first positive root; `best` itself is admissible, so the constant is at most rounding.
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
    """Change statuses until the forces that follow from them alone are admissible, as those in `best` are;
    return whether this was possible.

    Forces of redundant contacts are not unique: relaxation may find admissible ones, and the smallest ones,
    which statuses have in a run, may be none. On the straight way from the former to the latter all equations
    hold; the first contact that comes to a limit there opens or slides from then on, which others make up
    for.
    """
    turn: whole = 0
    while turn < 3 * N_CONTACTS + 2:
        turn = turn + 1
        for c in range(N_CONTACTS):
            set_rows(run, c)
            run.wanted[c] = run.status[c]
        solve_held_rows(run)
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
    """Find sliding contacts whose normal force would grow with their own friction, and return whether there
    are some: then other statuses are possible, too (Painlevé).
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


def begin_statuses(run: Contacts) -> None:
    """Begin with contacts closed that were closed before or approach, and slips at rest that may stick."""
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
    """Find statuses and forces that agree with each other; return whether there are some."""
    begin_statuses(run)
    find_motion(run)
    alone: real = 0.0
    alone = fastest_row(run)
    found: truth = False
    found = try_statuses(run)
    turn: real = 0.0
    while not found and turn < MOST_TRIALS:
        turn = turn + 1.0
        run.force = run.best
        find_motion(run)
        sweep: real = 0.0
        while sweep < SWEEPS * turn:
            sweep = sweep + 1.0
            run.best = run.force
            relax(run)
        found = is_steady(run)
        fastest: real = 0.0
        fastest = fastest_row(run)
        if not (fastest <= WITHOUT_END * alone):
            found = False
            break
        run.best = run.force
        if found:
            read_statuses(run, False)
            found = agrees(run)
            run.steady = run.force
            own: truth = False
            own = find_own_forces(run)
            if found and not own:  # events will follow at once
                run.force = run.steady
                read_statuses(run, False)
                found = agrees(run)
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
    return found


def is_solved(run: Contacts) -> truth:
    """Return whether the improved forces are a solution themselves, though no statuses have forces that are:
    forces of redundant contacts are not unique.
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
    """Let slides stick that are slow; return whether there are some."""
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
    if not found and not doubt:  # several contacts together leave no forces
        for c in range(N_CONTACTS):
            slides: truth = run.active[c] > 0.5 and run.rests[c] < 0.75
            if slides and NORMAL_ROW[c] != NONE:
                run.doubt[c] = 1.0
    move_rows(run)
    load_speeds(run)
    turn_back(run)
    run.failed[FIRST] = 0.0
    if doubt:
        run.failed[FIRST] = 2.0
    if without:
        run.failed[FIRST] = 3.0
    if not found:
        run.failed[FIRST] = 1.0
