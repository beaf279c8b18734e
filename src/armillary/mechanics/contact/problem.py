"""Forces and impulses of contacts, in the small language of runtime/solver/language/language.py.

    z = A λ + b        A = J D        D = M⁻¹ Jᵀ

λ are forces and z relative accelerations, or impulses and velocities; ``jacobian`` has the rows of J and
``columns`` those of Dᵀ. A contact has a row of its normal and up to two of its slip; a brake has a row of
slip alone.

`solve_forces` finds λ where it is known which rows hold:

    held       z = 0
    others     λ = −w λ_N + o                  sliding, or without force (w = o = 0)

`solve_contacts` finds which rows hold, by complementarity:

    open       λ_N = 0, z_N ≥ 0
    closed     z_N = 0, λ_N ≥ 0
    sticks     z_T = 0, |λ_T| ≤ μ_s λ_N + c_s
    slides     λ_T = −(μ λ_N + c) e, where e is a given direction, or z_T/|z_T| where the slip begins

in two ways that take turns. Forces are improved contact by contact (projected relaxation), which leads to the
statuses, but slowly to the last digits; statuses make the problem linear, and its solution shows whether they
are right. Statuses in which whatever hardly moves is at rest are tried first: where they are right, forces of
redundant contacts are the smallest, whatever the order of contacts. The statuses before are tried first of
all.

The direction e of a slip that begins is found along with the statuses, by Newton's method: rows are turned so
that one is along e, with λ = −L, and in the other the friction L turns with the slip, z + (|z_T|/L) λ = 0.
Redundant contacts may be at their limit and stand still all the same, held by others: z_T = 0 has every
direction.

Relaxation ends for every problem without friction, and with friction unless normal forces grow with their own
friction (Painlevé). Cost: polynomial in the number of rows; a solution takes a few factorisations.

Rows may be redundant, as those of a table on four legs: SOFT of its diagonal is added to A, and what that
spoils is mended by solutions for what remains, so that λ is nearly the smallest of all solutions. All limits
are shares of what enters a row, so none depends on units.

Sources: Glocker & Pfeiffer (1996), Multibody dynamics with unilateral contacts, chapters 6 to 8; Jean (1999),
The non-smooth contact dynamics method, Comput. Methods Appl. Mech. Eng. 177, 235–257, for relaxation.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.language import *


class Contacts:
    """What the solver knows of one problem."""

    jacobian: ContactTerms
    columns: ContactTerms
    free: ContactRows  # z without forces
    held: ContactRows  # 1 for rows that hold, else 0
    weight: ContactRows  # w of other rows
    offset: ContactRows  # o of other rows
    slack: ContactRows  # c of rows that hold with a compliance: z + c λ = 0
    force: ContactRows  # λ
    size: ContactRows  # of what enters each row, as z
    force_size: ContactRows  # and as a force
    motion: ContactRows  # z
    # A problem of complementarity: what each contact may do, and what it does.
    active: ContactReals  # 1: may have a force, 2: its normal holds, whatever its sign, 3: its slip, too
    rests: ContactReals  # 1: its slip may stick, or begin; 0: it slides along `direction`; 0.5: slowly
    friction: ContactReals  # μ while it slides
    static: ContactReals  # μ_s at rest
    capacity: ContactReals  # c of brakes
    static_capacity: ContactReals
    before: ContactReals  # 1: was closed
    direction: ContactRows  # e of slips that are given, and of those that were found
    status: ContactReals  # 0 open, 1 sticks or closed without friction, 2 slides
    failed: ContactReals  # the first: 1 where no statuses were found, 2 where others are possible, too
    # Workspace.
    effective: ContactTerms  # columns with the friction that follows from a normal force
    diagonal: ContactRows
    root: ContactRows  # of the diagonal: rows and forces are in terms of it
    matrix: ContactSquare
    side: ContactRows
    order: Wholes  # rows that hold
    exchange: Wholes  # of them the one that was taken as pivot in each step
    moved: ContactSpeeds  # speeds that forces change
    best: ContactRows  # forces that were improved so far
    wanted: ContactReals  # the status that would agree with the solution
    cosine: ContactReals  # how far the slip rows of a contact have been turned
    sine: ContactReals


def measure_rows(run: Contacts) -> None:
    """Find the diagonal of A; zero where a row moves nothing."""
    for i in range(N_CONTACT_ROWS):
        total: real = 0.0
        largest: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
            total = total + term
            largest = max(largest, abs(term))
        run.diagonal[i] = total if total > MASSLESS * largest else 0.0
        run.root[i] = sqrt(run.diagonal[i]) if total > MASSLESS * largest else 0.0


def add_column(run: Contacts, row: whole, factor: real) -> None:
    """Add the speeds that a force in a row changes."""
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = run.moved[s] + factor * run.columns[at(row, N_CONTACT_SPEEDS, s)]


def row_product(run: Contacts, row: whole) -> real:
    """Return what the changes of speeds change in a row."""
    total: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        total = total + run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * run.moved[s]
    return total


def set_effective_columns(run: Contacts) -> None:
    """Put the friction of sliding contacts into the columns of their normals."""
    run.effective = run.columns
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5:
                    for s in range(N_CONTACT_SPEEDS):
                        place: whole = at(n, N_CONTACT_SPEEDS, s)
                        less: real = run.weight[k] * run.columns[at(k, N_CONTACT_SPEEDS, s)]
                        run.effective[place] = run.effective[place] - less


def list_held_rows(run: Contacts) -> whole:
    """List the rows that hold; return how many there are."""
    count: whole = 0
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5:
            run.order[FIRST + count] = i
            count = count + 1
    return count


def factorise(run: Contacts, count: whole) -> None:
    """Factorise the matrix of the rows that hold, in terms of the roots of its diagonal."""
    for a in range(count):
        i: whole = run.order[a]
        for b in range(count):
            j: whole = run.order[b]
            total: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)]
                total = total + term * run.effective[at(j, N_CONTACT_SPEEDS, s)]
            run.matrix[at(a, N_CONTACT_ROWS, b)] = total / (run.root[i] * run.root[j])
        own: real = run.matrix[at(a, N_CONTACT_ROWS, a)] + run.slack[i] / run.diagonal[i]
        run.matrix[at(a, N_CONTACT_ROWS, a)] = own + SOFT if count > 1 else own
    for k in range(count):
        pivot: whole = k
        largest: real = abs(run.matrix[at(k, N_CONTACT_ROWS, k)])
        for i in range(k + 1, count):
            if abs(run.matrix[at(i, N_CONTACT_ROWS, k)]) > largest:
                largest = abs(run.matrix[at(i, N_CONTACT_ROWS, k)])
                pivot = i
        run.exchange[k] = pivot
        if pivot != k:
            for j in range(count):
                kept: real = run.matrix[at(k, N_CONTACT_ROWS, j)]
                run.matrix[at(k, N_CONTACT_ROWS, j)] = run.matrix[at(pivot, N_CONTACT_ROWS, j)]
                run.matrix[at(pivot, N_CONTACT_ROWS, j)] = kept
        if largest > 0.0:
            for i in range(k + 1, count):
                factor: real = run.matrix[at(i, N_CONTACT_ROWS, k)] / run.matrix[at(k, N_CONTACT_ROWS, k)]
                run.matrix[at(i, N_CONTACT_ROWS, k)] = factor
                for j in range(k + 1, count):
                    above: real = run.matrix[at(k, N_CONTACT_ROWS, j)]
                    place: whole = at(i, N_CONTACT_ROWS, j)
                    run.matrix[place] = run.matrix[place] - factor * above


def solve_factors(run: Contacts, count: whole) -> None:
    """Solve matrix · correction = side, by the factors; the solution takes the place of the side."""
    for k in range(count):
        pivot: whole = run.exchange[k]
        kept: real = run.side[k]
        run.side[k] = run.side[pivot]
        run.side[pivot] = kept
    for k in range(count):
        for i in range(k + 1, count):
            run.side[i] = run.side[i] - run.matrix[at(i, N_CONTACT_ROWS, k)] * run.side[k]
    for b in range(count):
        last: whole = count - 1 - b + FIRST + FIRST
        total: real = run.side[last]
        for j in range(last + 1, count):
            total = total - run.matrix[at(last, N_CONTACT_ROWS, j)] * run.side[j]
        diagonal: real = run.matrix[at(last, N_CONTACT_ROWS, last)]
        run.side[last] = total / diagonal if abs(diagonal) > 0.0 else 0.0


def set_other_forces(run: Contacts) -> None:
    """Find the forces of rows that do not hold."""
    for c in range(N_CONTACTS):
        normal: real = 0.0
        if NORMAL_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            if run.held[n] < 0.5:
                run.force[n] = run.offset[n]
            normal = run.force[n]
        if SLIP_ROW[c] != NONE:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5:
                    run.force[k] = run.offset[k] - run.weight[k] * normal


def find_motion(run: Contacts) -> None:
    """Find z and the sizes of what enters rows."""
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = 0.0
    for i in range(N_CONTACT_ROWS):
        if abs(run.force[i]) > 0.0:
            add_column(run, i, run.force[i])
    for i in range(N_CONTACT_ROWS):
        run.motion[i] = run.free[i] + row_product(run, i)
        total: real = abs(run.free[i]) + NO_MOTION
        for s in range(N_CONTACT_SPEEDS):
            total = total + abs(run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.moved[s])
        run.size[i] = total
    # Of a contact as a whole: without a load along its slip only rounding enters that row.
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            largest: real = run.size[NORMAL_ROW[c]]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                largest = max(largest, run.size[k])
            run.size[NORMAL_ROW[c]] = largest
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                run.size[k] = largest


def solve_forces(run: Contacts) -> None:
    """Find the forces where it is known which rows hold, and how large the forces are that make them up."""
    measure_rows(run)
    for i in range(N_CONTACT_ROWS):
        run.slack[i] = 0.0
    solve_held_rows(run)
    for i in range(N_CONTACT_ROWS):
        run.force_size[i] = run.size[i] / run.diagonal[i] if run.diagonal[i] > 0.0 else 0.0


def solve_held_rows(run: Contacts) -> None:
    """Find the forces where it is known which rows hold, once rows have been measured."""
    for i in range(N_CONTACT_ROWS):
        if run.diagonal[i] <= 0.0:
            run.held[i] = 0.0
        run.force[i] = 0.0
    set_other_forces(run)
    find_motion(run)
    count: whole = 0
    count = list_held_rows(run)
    if count > 0:
        set_effective_columns(run)
        factorise(run, count)
        turn: real = 0.0
        left: real = 1.0
        while turn < 2.0 or (turn < REFINEMENTS and left > PRECISE):
            turn = turn + 1.0
            for a in range(count):
                row: whole = run.order[a]
                run.side[a] = -(run.motion[row] + run.slack[row] * run.force[row]) / run.root[row]
            solve_factors(run, count)
            for a in range(count):
                held: whole = run.order[a]
                run.force[held] = run.force[held] + run.side[a] / run.root[held]
            set_other_forces(run)
            find_motion(run)
            left = 0.0
            for a in range(count):
                k: whole = run.order[a]
                rest: real = abs(run.motion[k] + run.slack[k] * run.force[k])
                if rest > left * run.size[k]:
                    left = rest / run.size[k]


def turns(run: Contacts, c: whole) -> truth:
    """Return whether a contact begins to slide in a plane: its direction is to be found."""
    if SLIP_ROW[c] == NONE:
        return False
    in_plane: truth = SLIP_END[c] > SLIP_ROW[c] + 1
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
    """Return what the greatest friction of a contact makes of its own slip."""
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


def rows_hold(run: Contacts) -> truth:
    """Return whether the rows that hold do not contradict each other, and slides have their directions."""
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5 and not (abs(run.motion[i]) <= HOLDS * run.size[i]):
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
        in_plane: truth = SLIP_ROW[c] != NONE and SLIP_END[c] > SLIP_ROW[c] + 1
        if in_plane:
            turn_rows(run, c, run.cosine[c], -run.sine[c])


def agrees(run: Contacts) -> truth:
    """Return whether forces and motions, as they are, agree with all statuses."""
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
    """
    turn: whole = 0
    while turn < 2 * N_CONTACTS + 2:
        turn = turn + 1
        solve_directions(run)
        largest: real = ADMISSIBLE
        worst: whole = NONE
        for c in range(N_CONTACTS):
            found: real = 0.0
            found = contradiction(run, c)
            if found > largest:
                largest = found
                worst = c
        if worst == NONE:
            return rows_hold(run)
        change_status(run, worst)
    return False


def relax(run: Contacts) -> None:
    """Improve all forces once, contact by contact; `moved` has what they make of the speeds."""
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


def find_doubt(run: Contacts) -> truth:
    """Return whether the normal force of a sliding contact would grow with its own friction: then other
    statuses are possible, too (Painlevé).
    """
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] == NONE or SLIP_ROW[c] == NONE or run.active[c] < 0.5:
            continue
        slides: truth = run.status[c] > 1.5 or (run.status[c] < 0.5 and run.rests[c] < 0.75)
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
                return True
    return False


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
        run.best = run.force
        if found:
            read_statuses(run, False)
            found = agrees(run)
            break
        read_statuses(run, True)
        found = try_statuses(run)
        if not found:
            run.force = run.best
            read_statuses(run, False)
            found = try_statuses(run)
    return found


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
    found = search_statuses(run)
    if not found:
        again = stop_slow_slides(run)
        if again:
            found = search_statuses(run)
    doubt: truth = find_doubt(run)
    turn_back(run)
    run.failed[FIRST] = 0.0 if found else 1.0
    if doubt and found:
        run.failed[FIRST] = 2.0
