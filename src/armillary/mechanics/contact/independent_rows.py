"""Forces of contacts from independent rows among the rows that hold, in the language of solver/language.

Read ``problem.py`` first. Nearly all contact forces of a run are found in this way. Each independent row k
has a direction d_k of speeds; a change of speeds along d_k changes row k, but no independent row before it:

    d_k = E_k − Σ u_bk d_b        J_b d_k = 0 for b < k        p_k = J_k d_k

where E are the columns of D, and the column of a normal includes the friction of its slide. Speeds change by
Σ α_k d_k, and α_k = −z_k/p_k removes the residual z_k of row k. Rows are processed one after the other; a row
whose residual is zero already gets no force and no direction. So n rows, of which r are independent, and s
speeds take about 2 n s + 2 r² s operations.

Forces of redundant rows, if they are wanted, are found as if all rows were a little compliant, with the
softness Σ. For this, all rows are written in terms of the directions, J_a d_k = R_ak p_k, and so are their
columns, E_a = Σ L_ak d_k. The unknowns y are small motions along the directions:

    Lᵀ λ = α        λ = Σ⁻¹ R y        λ = Σ⁻¹ R (Lᵀ Σ⁻¹ R)⁻¹ α

Without friction of slides R = L, and these are the smallest forces of the same motion, weighted by Σ. With
friction of slides E is not M⁻¹ Jᵀ, and the smallest forces are not used. They would depend on contacts that
bear no load, since these can be pressed by friction: two contacts that share a load would change their shares
as a third contact opens, and neither status of the third contact would be right. Whether a row is redundant
is decided by the rows of J alone: it is redundant if it is a combination of earlier rows. Its column E may
still have a part that changes no row. This part depends on how the normals share their load, so the motion is
computed from all forces in the end.

A row that is nearly redundant, as for two feet side by side, waits until all others have been processed. If
even then it is neither clearly independent nor clearly redundant, or if residuals exceed rounding errors,
`solve_held_rows` finds the forces.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.held_rows import (
    bound_normals,
    find_motion,
    load_speeds,
    measure_motion,
    move_rows,
    share_friction,
    solve_held_rows,
)
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import Contacts, measure_rows, row_product


def solve_rates(run: Contacts) -> None:
    """Find the speeds under the forces of known rows that hold; redundant rows get no share of the forces."""
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
        solve_dependent_rows(run)
    for i in range(N_CONTACT_ROWS):
        run.force_size[i] = run.size[i] / run.diagonal[i] if run.diagonal[i] > 0.0 else 0.0
    bound_normals(run)
    load_speeds(run)


def solve_statuses(run: Contacts) -> None:
    """Find the forces at the present statuses, then `motion` and the sizes of rows.

    The method is that of `solve_forces`, so that a run after this decision computes the same forces.
    """
    plain: truth = True
    for i in range(N_CONTACT_ROWS):
        plain = plain and run.slack[i] <= 0.0
    found: truth = False
    if plain:
        found = solve_independent_rows(run, True)
    if found:
        find_motion(run)
    else:
        solve_dependent_rows(run)


def solve_dependent_rows(run: Contacts) -> None:
    """Find the forces if some row is neither clearly independent nor clearly redundant.

    Rows of friction with a negligible limit get no force if all rows hold without their force.
    """
    solve_held_rows(run)
    some: truth = False
    run.ease = run.held
    for i in range(N_CONTACT_ROWS):
        known: truth = abs(run.weight[i]) + abs(run.offset[i]) + run.slack[i] > 0.0
        if run.held[i] > 0.5 and run.softness[i] > 0.99 * SOFT * SOFTEST and not known:
            run.held[i] = 0.0
            some = True
    if not some:
        return
    solve_held_rows(run)
    holds: truth = True
    for i in range(N_CONTACT_ROWS):
        if run.ease[i] > 0.5:
            holds = holds and abs(run.motion[i]) <= ADMISSIBLE * run.size[i]
    run.held = run.ease
    if not holds:
        solve_held_rows(run)


def solve_independent_rows(run: Contacts, shared: truth) -> truth:
    """Find forces of rows that hold, and the changes of speeds; return whether the residuals of these rows
    are rounding errors. If `shared`, redundant rows get their share of the forces.
    """
    rubs: truth = False
    rubs = begin_forces(run)
    every: truth = shared or rubs
    rank: whole = 0
    redundant: truth = False
    energy: real = 0.0
    turn: real = 0.0
    holds: truth = False
    last: whole = 0  # last visit of the first pass that changed something: rows visited later already hold
    while not holds and turn < MOST_PASSES:
        turn = turn + 1.0
        holds = True
        visit: whole = 0
        due: whole = last
        for part in range(2):  # normals, then slips: else the stiffer normals would hide the slips' softness
            for c in range(N_CONTACTS):
                visit = visit + 1
                if turn > 1.5 and turn < 2.5 and visit > due:
                    break
                if turn < 1.5 and rank == N_CONTACT_SPEEDS and not every:
                    holds = False  # no further row can be independent: check all rows in another pass
                    last = 2 * N_CONTACTS
                    break
                if part == FIRST:
                    run.side[c] = 0.0
                first: whole = NORMAL_ROW[c] if part == FIRST else SLIP_ROW[c]
                if first == NONE:
                    continue
                end: whole = first + 1 - FIRST if part == FIRST else SLIP_END[c]
                for i in range(first, end):
                    if run.held[i] < 0.5:
                        continue
                    left: real = run.free[i]
                    entering: real = abs(left) + NO_MOTION
                    for s in range(N_CONTACT_SPEEDS):
                        term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.moved[s]
                        left = left + term
                        entering = entering + abs(term)
                    run.size[i] = entering
                    # If a contact has no load along its slip, the terms of that row are only rounding errors.
                    run.side[c] = max(run.side[c], entering)
                    quiet: truth = abs(left) <= NO_REST * max(entering, 0.1 * run.side[c])
                    is_new: truth = run.known[i] < 0.5 and (every or not quiet)
                    if quiet and not is_new and run.place[i] == NONE:
                        continue
                    if run.known[i] < 0.5:
                        if not shared:
                            measure_row(run, i)
                        if run.diagonal[i] <= 0.0:
                            run.held[i] = 0.0
                            continue
                    if not quiet:
                        last = visit
                    if not quiet and abs(left) > 10.0 * PRECISE * entering:
                        # Rounding errors of a fast row also affect slow rows, as in `measure_motion`.
                        room: real = 10.0 * PRECISE * ROUNDING_SHARE * sqrt(energy * run.diagonal[i])
                        if run.known[i] > 0.5 and run.place[i] == NONE:
                            # No force changes a redundant row. Its residual has the rounding errors of the
                            # rows that it combines. Their terms may be large and cancel, as with two feet.
                            room = max(room, HOLDS * combined_size(run, i, rank, rubs))
                        holds = holds and abs(left) <= room
                    if is_new:
                        found: whole = 0
                        found = find_direction(run, i, rank, rubs)
                        if found != 0:
                            last = visit
                        if found < 0 and turn < 1.5:
                            holds = False  # further rows may show that this row is redundant
                            continue
                        if found < 0:
                            return False
                        run.known[i] = 1.0
                        if found > 0:
                            run.place[i] = FIRST + rank
                            rank = rank + 1
                        redundant = redundant or found == 0
                    if run.place[i] != NONE:
                        if turn > 1.5:  # the first pass has no corrections yet
                            for s in range(N_CONTACT_SPEEDS):
                                left = left + run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.gain[s]
                        change: real = -left * run.inverse[run.place[i]]
                        energy = energy + abs(left * change)
                        push_row(run, run.place[i], change, turn < 1.5)
        for s in range(N_CONTACT_SPEEDS):
            run.moved[s] = run.moved[s] + run.gain[s]
            run.gain[s] = 0.0
    if not holds:
        return False
    if redundant and every:
        if not shared:
            measure_rows(run)
        if rubs:
            measure_redundant_columns(run, rank)
        borne: truth = False
        borne = share_pushes(run, rank, rubs)
        if not borne:
            return False
    else:
        set_forces(run, rank)
    if rubs:
        set_frictions(run)
    if rubs and redundant:
        move_rows(run)
        for b in range(rank):
            base: whole = run.base[b]
            rest: real = run.free[base] + row_product(run, base)
            push_row(run, FIRST + b, -rest * run.inverse[b], True)
    return True


def combined_size(run: Contacts, row: whole, rank: whole, rubs: truth) -> real:
    """Return the size of a redundant row, or the larger size of the independent rows that it combines."""
    total: real = 0.0
    for b in range(rank):
        k: whole = at(row, N_CONTACT_SPEEDS, b)
        part: real = run.row_parts[k] if rubs else run.lower[k]
        total = total + abs(part) * run.size[run.base[b]]
    size: real = max(total, run.size[row])
    return size


def begin_forces(run: Contacts) -> truth:
    """Set the known forces of slides and the changes of speeds by these forces; return whether the friction
    of some slide is proportional to an unknown normal force.
    """
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = 0.0
        run.gain[s] = 0.0
        run.push[s] = 0.0
    some: truth = False
    for i in range(N_CONTACT_ROWS):
        run.known[i] = 0.0
        run.place[i] = NONE
        run.force[i] = 0.0
        if run.held[i] < 0.5:
            some = some or abs(run.weight[i]) > 0.0
            if abs(run.offset[i]) > 0.0:
                run.force[i] = run.offset[i]
                for s in range(N_CONTACT_SPEEDS):
                    run.moved[s] = run.moved[s] + run.offset[i] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
    return some


def measure_row(run: Contacts, i: whole) -> None:
    """Set a row's diagonal element as ``measure_rows`` does."""
    total: real = 0.0
    largest: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
        total = total + term
        largest = max(largest, abs(term))
    run.diagonal[i] = total if total > MASSLESS * largest else 0.0


def find_direction(run: Contacts, row: whole, rank: whole, rubs: truth) -> whole:
    """Find the direction of a row; return 1 if the row is independent of rows with directions, 0 if it is
    redundant, and −1 if this is in doubt.

    Without friction of slides the matrix J E is symmetric. Then the factors u of earlier directions are a row
    of L, and show whether the row is redundant before its direction is computed.
    """
    if rubs:
        found: whole = 0
        found = find_rubbing_direction(run, row, rank)
        return found
    left: real = run.diagonal[row]
    for b in range(rank):
        along: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            along = along + run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * run.way[at(b, N_CONTACT_SPEEDS, s)]
        share: real = along * run.inverse[b]
        run.lower[at(row, N_CONTACT_SPEEDS, b)] = share
        left = left - share * along
    fresh: whole = FIRST + rank
    for b in range(fresh, N_CONTACT_SPEEDS):
        run.lower[at(row, N_CONTACT_SPEEDS, b)] = 0.0
    full: truth = rank >= N_CONTACT_SPEEDS
    if full or left < INDEPENDENT * run.diagonal[row]:
        if left > REDUNDANT_ROW * run.diagonal[row]:
            return -1
        return 0
    for s in range(N_CONTACT_SPEEDS):
        place: whole = at(row, N_CONTACT_SPEEDS, s)
        run.way[at(fresh, N_CONTACT_SPEEDS, s)] = run.columns[place]
    for b in range(rank):
        part: real = run.lower[at(row, N_CONTACT_SPEEDS, b)]
        run.upper[at(b, N_CONTACT_SPEEDS, fresh)] = part
        for s in range(N_CONTACT_SPEEDS):
            to: whole = at(fresh, N_CONTACT_SPEEDS, s)
            run.way[to] = run.way[to] - part * run.way[at(b, N_CONTACT_SPEEDS, s)]
    pivot: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        of_row: whole = at(row, N_CONTACT_SPEEDS, s)
        pivot = pivot + run.jacobian[of_row] * run.way[at(fresh, N_CONTACT_SPEEDS, s)]
    if not (abs(pivot) >= 0.5 * INDEPENDENT * run.diagonal[row]):
        return -1
    run.base[fresh] = row
    run.inverse[fresh] = 1.0 / pivot
    run.lower[at(row, N_CONTACT_SPEEDS, fresh)] = 1.0
    return 1


def find_rubbing_direction(run: Contacts, row: whole, rank: whole) -> whole:
    """Find the direction of a row as `find_direction` does, with friction of slides.

    Let r be the row less its components along earlier rows. M⁻¹ rᵀ is its column without friction. The row is
    redundant if r M⁻¹ rᵀ vanishes.
    """
    fresh: whole = FIRST + rank
    begin_direction(run, row, fresh)
    for s in range(N_CONTACT_SPEEDS):
        run.base_row[at(fresh, N_CONTACT_SPEEDS, s)] = run.jacobian[at(row, N_CONTACT_SPEEDS, s)]
        run.base_column[at(fresh, N_CONTACT_SPEEDS, s)] = run.columns[at(row, N_CONTACT_SPEEDS, s)]
    for b in range(fresh, N_CONTACT_SPEEDS):
        run.row_parts[at(row, N_CONTACT_SPEEDS, b)] = 0.0
    for b in range(rank):
        share: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            own: whole = at(fresh, N_CONTACT_SPEEDS, s)
            share = share + run.base_row[own] * run.way[at(b, N_CONTACT_SPEEDS, s)]
        share = share * run.inverse[b]
        run.row_parts[at(row, N_CONTACT_SPEEDS, b)] = share
        for s in range(N_CONTACT_SPEEDS):
            mine: whole = at(fresh, N_CONTACT_SPEEDS, s)
            other: whole = at(b, N_CONTACT_SPEEDS, s)
            run.base_row[mine] = run.base_row[mine] - share * run.base_row[other]
            run.base_column[mine] = run.base_column[mine] - share * run.base_column[other]
    reduce_direction(run, row, fresh, rank)
    left: real = 0.0
    pivot: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        k: whole = at(fresh, N_CONTACT_SPEEDS, s)
        left = left + run.base_row[k] * run.base_column[k]
        pivot = pivot + run.base_row[k] * run.way[k]
    if left <= REDUNDANT_ROW * run.diagonal[row]:
        return 0
    least: real = INDEPENDENT * run.diagonal[row]
    if rank >= N_CONTACT_SPEEDS or left < least or not (abs(pivot) >= 0.5 * least):
        return -1
    for b in range(rank):
        run.upper[at(b, N_CONTACT_SPEEDS, fresh)] = run.lower[at(row, N_CONTACT_SPEEDS, b)]
    for b in range(fresh, N_CONTACT_SPEEDS):
        run.lower[at(row, N_CONTACT_SPEEDS, b)] = 0.0
    run.base[fresh] = row
    run.inverse[fresh] = 1.0 / pivot
    run.lower[at(row, N_CONTACT_SPEEDS, fresh)] = 1.0
    run.row_parts[at(row, N_CONTACT_SPEEDS, fresh)] = 1.0
    return 1


def begin_direction(run: Contacts, row: whole, fresh: whole) -> None:
    """Begin a direction with the column of a row, and the friction that follows from its force."""
    for s in range(N_CONTACT_SPEEDS):
        run.way[at(fresh, N_CONTACT_SPEEDS, s)] = run.columns[at(row, N_CONTACT_SPEEDS, s)]
    add_friction(run, row, fresh)


def reduce_direction(run: Contacts, row: whole, fresh: whole, rank: whole) -> None:
    """Subtract from a direction its components along earlier directions; store the factors in `lower`."""
    for b in range(rank):
        part: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            of_base: whole = at(b, N_CONTACT_SPEEDS, s)
            part = part + run.base_row[of_base] * run.way[at(fresh, N_CONTACT_SPEEDS, s)]
        part = part * run.inverse[b]
        run.lower[at(row, N_CONTACT_SPEEDS, b)] = part
        for s in range(N_CONTACT_SPEEDS):
            place: whole = at(fresh, N_CONTACT_SPEEDS, s)
            run.way[place] = run.way[place] - part * run.way[at(b, N_CONTACT_SPEEDS, s)]


def measure_redundant_columns(run: Contacts, rank: whole) -> None:
    """Find the columns of redundant rows, which include friction of slides, in terms of all directions."""
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5 and run.place[i] == NONE:
            begin_direction(run, i, FIRST + rank)
            reduce_direction(run, i, FIRST + rank, rank)
            for b in range(FIRST + rank, N_CONTACT_SPEEDS):
                run.lower[at(i, N_CONTACT_SPEEDS, b)] = 0.0


def add_friction(run: Contacts, row: whole, fresh: whole) -> None:
    """Add the friction of slides to the column of their normal, if the row is a normal."""
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] == row and SLIP_ROW[c] != NONE:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5:
                    for s in range(N_CONTACT_SPEEDS):
                        to: whole = at(fresh, N_CONTACT_SPEEDS, s)
                        less: real = run.weight[k] * run.columns[at(k, N_CONTACT_SPEEDS, s)]
                        run.way[to] = run.way[to] - less


def push_row(run: Contacts, b: whole, change: real, first: truth) -> None:
    """Change the speeds along a direction.

    After the `first` pass, corrections are summed separately. If they were added to its result at once, they
    would be lost to rounding in some speeds and not in others.
    """
    run.push[b] = run.push[b] + change
    if first:
        for s in range(N_CONTACT_SPEEDS):
            run.moved[s] = run.moved[s] + change * run.way[at(b, N_CONTACT_SPEEDS, s)]
    else:
        for s in range(N_CONTACT_SPEEDS):
            run.gain[s] = run.gain[s] + change * run.way[at(b, N_CONTACT_SPEEDS, s)]


def set_forces(run: Contacts, rank: whole) -> None:
    """Find the forces of independent rows; redundant rows have no force here."""
    for k in range(rank):
        last: whole = rank - 1 - k + FIRST + FIRST
        total: real = run.push[last]
        for j in range(last + 1, rank):
            total = total - run.upper[at(last, N_CONTACT_SPEEDS, j)] * run.load[j]
        run.load[last] = total
        run.force[run.base[last]] = total


def set_frictions(run: Contacts) -> None:
    """Find the friction of slides from the forces of their normals."""
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5:
                    run.force[k] = run.offset[k] - run.weight[k] * run.force[NORMAL_ROW[c]]


def share_pushes(run: Contacts, rank: whole, rubs: truth) -> truth:
    """Find the forces of rows that are a little compliant, for the motion that was found; friction rows are
    the softer, the smaller their limits. Return whether these forces are unique.
    """
    if not rubs:
        run.row_parts = run.lower
    for i in range(N_CONTACT_ROWS):
        run.softness[i] = SOFT
    found: truth = False
    found = factorise_shares(run, rank, not rubs)
    if not found:
        return False
    find_shares(run, rank, False)
    some: truth = False
    some = share_friction(run, FRICTION_SOFTNESS, WEAKEST)
    if some:
        found = factorise_shares(run, rank, not rubs)
        find_shares(run, rank, True)
    return found


def factorise_shares(run: Contacts, rank: whole, symmetric: truth) -> truth:
    """Factorise K = Lᵀ Σ⁻¹ R from its last row to its first; store the inverses of pivots on the diagonal and
    return whether all pivots are large enough. If K is symmetric, only its lower half is computed.

    In this order, without redundant rows, each pivot is that of one independent row. Redundant rows increase
    it, unless friction reverses their effect.
    """
    for b in range(rank):
        for k in range(rank):
            run.kernel[at(b, N_CONTACT_SPEEDS, k)] = 0.0
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5:
            run.ease[i] = SOFT / (run.softness[i] * run.root[i] * run.root[i])
            for b in range(rank):
                part: real = run.ease[i] * run.lower[at(i, N_CONTACT_SPEEDS, b)]
                if abs(part) > 0.0:  # an independent row has no part along directions found after its own
                    width: whole = b + 1 - FIRST if symmetric else rank
                    for k in range(width):
                        to: whole = at(b, N_CONTACT_SPEEDS, k)
                        run.kernel[to] = run.kernel[to] + part * run.row_parts[at(i, N_CONTACT_SPEEDS, k)]
    for k in range(rank):
        last: whole = rank - 1 - k + FIRST + FIRST
        pivot: real = run.kernel[at(last, N_CONTACT_SPEEDS, last)]
        if not (pivot >= INDEPENDENT * run.ease[run.base[last]]):
            return False
        own: real = 1.0 / pivot
        run.kernel[at(last, N_CONTACT_SPEEDS, last)] = own
        for b in range(last - FIRST):
            above: whole = at(last, N_CONTACT_SPEEDS, b) if symmetric else at(b, N_CONTACT_SPEEDS, last)
            factor: real = run.kernel[above] * own
            run.kernel[at(b, N_CONTACT_SPEEDS, last)] = factor
            end: whole = b + 1 - FIRST if symmetric else last - FIRST
            for j in range(end):
                place: whole = at(b, N_CONTACT_SPEEDS, j)
                run.kernel[place] = run.kernel[place] - factor * run.kernel[at(last, N_CONTACT_SPEEDS, j)]
    return True


def find_shares(run: Contacts, rank: whole, uneven: truth) -> None:
    """Find the forces of all rows that hold by the factors of K; if their softness is `uneven`, improve them
    in two more turns.
    """
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5:
            run.force[i] = 0.0
    turns: real = 3.0 if uneven else 1.0
    while turns > 0.5:
        for k in range(rank):
            run.load[k] = run.push[k]
        if uneven and turns < 2.5:
            for i in range(N_CONTACT_ROWS):
                if run.held[i] > 0.5:
                    for k in range(rank):
                        done: real = run.lower[at(i, N_CONTACT_SPEEDS, k)] * run.force[i]
                        run.load[k] = run.load[k] - done
        turns = turns - 1.0
        solve_shares(run, rank)
        for i in range(N_CONTACT_ROWS):
            if run.held[i] > 0.5:
                force: real = 0.0
                for b in range(rank):
                    force = force + run.row_parts[at(i, N_CONTACT_SPEEDS, b)] * run.load[b]
                run.force[i] = run.force[i] + run.ease[i] * force


def solve_shares(run: Contacts, rank: whole) -> None:
    """Solve K · solution = load, by the factors of K; the solution replaces the load."""
    for k in range(rank):
        last: whole = rank - 1 - k + FIRST + FIRST
        for j in range(last - FIRST):
            run.load[j] = run.load[j] - run.kernel[at(j, N_CONTACT_SPEEDS, last)] * run.load[last]
    for k in range(rank):
        total: real = run.load[k]
        for j in range(k - FIRST):
            total = total - run.kernel[at(k, N_CONTACT_SPEEDS, j)] * run.load[j]
        run.load[k] = total * run.kernel[at(k, N_CONTACT_SPEEDS, k)]
