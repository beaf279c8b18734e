"""Forces of rows that hold by factors of independent ones, in the language of runtime/language.

Read ``problem.py`` first. This is the way that nearly all forces of a run are found, in every stage of a
step: rows are taken one after the other, and each is independent of those before it or redundant:

    J E = L U        E: columns, with the friction of slides in those of their normals

Only columns of independent rows are there, at most as many as speeds, so n rows with r of them independent
take about 2 n r s operations. Redundant rows hold where the others do. Their forces are zero, or, where they
are wanted, the smallest of all that make the same motion, in terms of their softness Σ:

    Lᵀ λ = w        λ = Σ⁻¹ L (Lᵀ Σ⁻¹ L)⁻¹ w

Where a row is neither independent nor redundant, or slides have redundant normals, or rows do not hold to
rounding, `solve_held_rows` finds the forces.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.held_rows import (
    bound_normals,
    load_speeds,
    measure_motion,
    share_friction,
    solve_held_rows,
)
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import Contacts, measure_rows


def solve_rates(run: Contacts) -> None:
    """Find the speeds under the forces of known rows that hold. Redundant rows have any forces that hold."""
    if run.asked[FIRST] < 0.5:
        return
    found: truth = False
    found = solve_independent_rows(run, False)
    if not found:
        measure_rows(run)
        for i in range(N_CONTACT_ROWS):
            run.slack[i] = 0.0
        for c in range(N_CONTACTS):
            run.least[c] = 0.0
        solve_held_rows(run)
    load_speeds(run)


def solve_forces(run: Contacts) -> None:
    """Find the forces for known rows that hold, and the sizes of the terms that make them up."""
    if run.asked[FIRST] < 0.5:
        return
    measure_rows(run)
    found: truth = False
    found = solve_independent_rows(run, True)
    for i in range(N_CONTACT_ROWS):
        run.slack[i] = 0.0
    if found:
        measure_motion(run)
    else:
        solve_held_rows(run)
    for i in range(N_CONTACT_ROWS):
        run.force_size[i] = run.size[i] / run.diagonal[i] if run.diagonal[i] > 0.0 else 0.0
    bound_normals(run)
    load_speeds(run)


def solve_independent_rows(run: Contacts, shared: truth) -> truth:
    """Find forces of rows that hold, and speeds that they change; return whether rows hold to rounding.
    Redundant rows have their share of forces if these are to be `shared`.
    """
    count: whole = 0
    count = pack_held_rows(run)
    slides: truth = False
    slides = add_sliding_rows(run)
    if count == 0:
        return True
    rubs: truth = False
    if slides:
        rubs = add_friction(run)
    rank: whole = 0
    rank = factorise_rows(run, count, rubs)
    if rank == 0:
        return False
    shares: truth = shared and rank < count
    if shares:
        set_shares(run, count, rank, slides)
    holds: truth = False
    holds = refine_pushes(run, count, rank, slides, shares)
    for a in range(count):
        run.force[run.order[a]] = run.push[a]
    if rubs:
        set_frictions(run)
    return holds


def pack_held_rows(run: Contacts) -> whole:
    """List the rows that hold and move something, with their columns one after the other; return how many
    there are.
    """
    count: whole = 0
    for i in range(N_CONTACT_ROWS):
        run.force[i] = 0.0
        if run.held[i] > 0.5:
            total: real = 0.0
            largest: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                place: whole = at(i, N_CONTACT_SPEEDS, s)
                column: real = run.columns[place]
                term: real = run.jacobian[place] * column
                run.effective[at(FIRST + count, N_CONTACT_SPEEDS, s)] = column
                total = total + term
                largest = max(largest, abs(term))
            if total > MASSLESS * largest:
                run.order[FIRST + count] = i
                run.place[i] = FIRST + count
                run.own[FIRST + count] = total
                count = count + 1
            else:
                run.held[i] = 0.0
    return count


def add_sliding_rows(run: Contacts) -> truth:
    """Set the speeds that known forces change; return whether rows slide, with or without such forces."""
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = 0.0
    some: truth = False
    for i in range(N_CONTACT_ROWS):
        if run.held[i] < 0.5 and abs(run.weight[i]) + abs(run.offset[i]) > 0.0:
            some = True
            run.force[i] = run.offset[i]
            for s in range(N_CONTACT_SPEEDS):
                run.moved[s] = run.moved[s] + run.offset[i] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
    return some


def add_friction(run: Contacts) -> truth:
    """Put the friction of slides into the columns of their normals; return whether there is any."""
    some: truth = False
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            normal: whole = NORMAL_ROW[c]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[normal] > 0.5 and run.held[k] < 0.5 and abs(run.weight[k]) > 0.0:
                    some = True
                    a: whole = run.place[normal]
                    for s in range(N_CONTACT_SPEEDS):
                        to: whole = at(a, N_CONTACT_SPEEDS, s)
                        less: real = run.weight[k] * run.columns[at(k, N_CONTACT_SPEEDS, s)]
                        run.effective[to] = run.effective[to] - less
    return some


def set_frictions(run: Contacts) -> None:
    """Find the friction of slides from the forces of their normals."""
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5:
                    run.force[k] = run.offset[k] - run.weight[k] * run.force[NORMAL_ROW[c]]


def factorise_rows(run: Contacts, count: whole, rubs: truth) -> whole:
    """Factorise the matrix of the rows that hold; return how many are independent, 0 where that is in doubt.

    Without friction of slides the matrix is symmetric: L is Uᵀ but for the pivots.
    """
    rank: whole = 0
    for a in range(count):
        row: whole = run.order[a]
        pivot: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            own: real = run.effective[at(a, N_CONTACT_SPEEDS, s)]
            pivot = pivot + run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * own
        for b in range(rank):
            above: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                column: real = run.effective[at(a, N_CONTACT_SPEEDS, s)]
                above = above + run.base_row[at(b, N_CONTACT_SPEEDS, s)] * column
            for k in range(b):
                above = above - run.base_lower[at(b, N_CONTACT_SPEEDS, k)] * run.upper[k]
            run.upper[b] = above
            run.lower[at(a, N_CONTACT_SPEEDS, b)] = above * run.inverse[b]
        if rubs:
            factorise_left_part(run, a, rank)
        for b in range(rank):
            pivot = pivot - run.lower[at(a, N_CONTACT_SPEEDS, b)] * run.upper[b]
        if rank < N_CONTACT_SPEEDS and abs(pivot) >= INDEPENDENT * run.own[a]:
            fresh: whole = FIRST + rank
            run.base[fresh] = a
            run.inverse[fresh] = 1.0 / pivot
            for s in range(N_CONTACT_SPEEDS):
                run.base_row[at(fresh, N_CONTACT_SPEEDS, s)] = run.jacobian[at(row, N_CONTACT_SPEEDS, s)]
            for b in range(rank):
                run.base_lower[at(fresh, N_CONTACT_SPEEDS, b)] = run.lower[at(a, N_CONTACT_SPEEDS, b)]
                run.base_upper[at(b, N_CONTACT_SPEEDS, fresh)] = run.upper[b]
            rank = rank + 1
        elif rubs or not (abs(pivot) <= REDUNDANT_ROW * run.own[a]):
            return 0
    return rank


def factorise_left_part(run: Contacts, a: whole, rank: whole) -> None:
    """Find a row of L where the matrix is not symmetric."""
    row: whole = run.order[a]
    for b in range(rank):
        of_base: whole = run.base[b]
        total: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            column: real = run.effective[at(of_base, N_CONTACT_SPEEDS, s)]
            total = total + run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * column
        for k in range(b):
            total = total - run.lower[at(a, N_CONTACT_SPEEDS, k)] * run.base_upper[at(k, N_CONTACT_SPEEDS, b)]
        run.lower[at(a, N_CONTACT_SPEEDS, b)] = total * run.inverse[b]


def refine_pushes(run: Contacts, count: whole, rank: whole, slides: truth, shares: truth) -> truth:
    """Find the forces of rows that hold, and the speeds that they change; return whether rows hold."""
    left: real = 0.0
    left = begin_rests(run, count, slides)
    for a in range(count):
        run.push[a] = 0.0
    turn: real = 0.0
    while turn < MOST_PUSHES:
        turn = turn + 1.0
        if shares:
            share_pushes(run, count, rank)
        else:
            solve_pushes(run, count, rank)
        for a in range(count):
            change: real = run.rest[a]
            run.push[a] = run.push[a] + change
            for s in range(N_CONTACT_SPEEDS):
                run.moved[s] = run.moved[s] + change * run.effective[at(a, N_CONTACT_SPEEDS, s)]
        left = find_rests(run, count)
        if left <= 10.0 * PRECISE:
            return True
    return False


def begin_rests(run: Contacts, count: whole, slides: truth) -> real:
    """Set what forces have to take away of each row."""
    left: real = 0.0
    if slides:
        left = find_rests(run, count)
    else:
        for a in range(count):
            run.rest[a] = -run.free[run.order[a]]
    return left


def find_rests(run: Contacts, count: whole) -> real:
    """Set what forces have to take away of each row; return the most, as a share of what enters the row."""
    left: real = 0.0
    for a in range(count):
        row: whole = run.order[a]
        total: real = run.free[row]
        entering: real = abs(total) + NO_MOTION
        for s in range(N_CONTACT_SPEEDS):
            term: real = run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * run.moved[s]
            total = total + term
            entering = entering + abs(term)
        run.rest[a] = -total
        run.entering[a] = entering
        if abs(total) > left * entering:
            left = abs(total) / entering
    if left <= 10.0 * PRECISE:
        return left
    # Rounding of a fast row reaches slow ones, as in `measure_motion`.
    energetic: real = 0.0
    for a in range(count):
        energetic = max(energetic, run.entering[a] / sqrt(run.own[a]))
    left = 0.0
    for a in range(count):
        room: real = max(run.entering[a], ROUNDING_SHARE * energetic * sqrt(run.own[a]))
        if abs(run.rest[a]) > left * room:
            left = abs(run.rest[a]) / room
    return left


def solve_lower(run: Contacts, rank: whole) -> None:
    """Set `load` to L⁻¹ times what is left of the independent rows."""
    for k in range(rank):
        total: real = run.rest[run.base[k]]
        for j in range(k):
            total = total - run.base_lower[at(k, N_CONTACT_SPEEDS, j)] * run.load[j]
        run.load[k] = total


def solve_pushes(run: Contacts, count: whole, rank: whole) -> None:
    """Turn what is left of rows into forces that take it away; redundant rows have none."""
    solve_lower(run, rank)
    for a in range(count):
        run.rest[a] = 0.0
    for b in range(rank):
        last: whole = rank - 1 - b + FIRST + FIRST
        total: real = run.load[last]
        for j in range(last + 1, rank):
            total = total - run.base_upper[at(last, N_CONTACT_SPEEDS, j)] * run.load[j]
        run.load[last] = total * run.inverse[last]
        run.rest[run.base[last]] = run.load[last]


def set_shares(run: Contacts, count: whole, rank: whole, slides: truth) -> None:
    """Prepare the forces of redundant rows. Friction is shared as its limits are."""
    known: whole = 0
    for a in range(count):
        if known < rank and run.base[FIRST + known] == a:
            run.lower[at(a, N_CONTACT_SPEEDS, FIRST + known)] = 1.0
            known = known + 1
        for b in range(FIRST + known, rank):
            run.lower[at(a, N_CONTACT_SPEEDS, b)] = 0.0
    for i in range(N_CONTACT_ROWS):
        run.softness[i] = SOFT
    factorise_shares(run, count, rank)
    left: real = 0.0
    left = begin_rests(run, count, slides)
    share_pushes(run, count, rank)
    for a in range(count):
        run.force[run.order[a]] = run.rest[a]
    some: truth = left < 0.0
    some = share_friction(run)
    if some:
        factorise_shares(run, count, rank)


def factorise_shares(run: Contacts, count: whole, rank: whole) -> None:
    """Factorise Lᵀ Σ⁻¹ L."""
    for a in range(count):
        row: whole = run.order[a]
        run.ease[a] = SOFT / (run.softness[row] * run.root[row] * run.root[row])
    for b in range(rank):
        for k in range(rank):
            run.kernel[at(b, N_CONTACT_SPEEDS, k)] = 0.0
    for a in range(count):
        for b in range(rank):
            part: real = run.ease[a] * run.lower[at(a, N_CONTACT_SPEEDS, b)]
            for k in range(rank):
                to: whole = at(b, N_CONTACT_SPEEDS, k)
                run.kernel[to] = run.kernel[to] + part * run.lower[at(a, N_CONTACT_SPEEDS, k)]
    for k in range(rank):
        share: real = 1.0 / run.kernel[at(k, N_CONTACT_SPEEDS, k)]
        run.kernel[at(k, N_CONTACT_SPEEDS, k)] = share
        for b in range(k + 1, rank):
            factor: real = run.kernel[at(b, N_CONTACT_SPEEDS, k)] * share
            run.kernel[at(b, N_CONTACT_SPEEDS, k)] = factor
            for j in range(k + 1, rank):
                place: whole = at(b, N_CONTACT_SPEEDS, j)
                run.kernel[place] = run.kernel[place] - factor * run.kernel[at(k, N_CONTACT_SPEEDS, j)]


def share_pushes(run: Contacts, count: whole, rank: whole) -> None:
    """Turn what is left of rows into the smallest forces that take it away, in terms of softness."""
    solve_lower(run, rank)
    for k in range(rank):
        run.load[k] = run.load[k] * run.inverse[k]
    for k in range(rank):
        for j in range(k):
            run.load[k] = run.load[k] - run.kernel[at(k, N_CONTACT_SPEEDS, j)] * run.load[j]
    for b in range(rank):
        last: whole = rank - 1 - b + FIRST + FIRST
        total: real = run.load[last]
        for j in range(last + 1, rank):
            total = total - run.kernel[at(last, N_CONTACT_SPEEDS, j)] * run.load[j]
        run.load[last] = total * run.kernel[at(last, N_CONTACT_SPEEDS, last)]
    for a in range(count):
        force: real = 0.0
        for k in range(rank):
            force = force + run.lower[at(a, N_CONTACT_SPEEDS, k)] * run.load[k]
        run.rest[a] = run.ease[a] * force
