"""Forces of contacts at given statuses, in the small language of solver/language/language.py.

Read ``problem.py`` first: it has the equations, and the factors that are used here.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.language import *
from armillary.mechanics.contact.problem import (
    Contacts,
    add_column,
    factorise,
    factorise_in_order,
    list_held_rows,
    multiply_rows,
    relative_softness,
    row_product,
    set_effective_columns,
    set_matrix_of_rows,
    solve_factors,
)


def correct_forces(run: Contacts, count: whole, by_speeds: truth, turns_of_softness: real) -> None:
    """Change the forces of rows that hold so that the residuals of these rows vanish, up to rounding.

    If ``by_speeds`` and there are more rows than speeds, the change of forces is Σ⁻¹ J y, where Σ is the
    softness, E the effective columns and K = E Σ⁻¹ J. The unknowns y, one per speed, solve J K y = −z by
    least squares: Jᵀ J K y = −Jᵀ z.
    """
    for a in range(count):
        row: whole = run.order[a]
        run.rest[a] = -(run.motion[row] + run.slack[row] * run.force[row]) / run.root[row]
    if by_speeds and N_CONTACT_ROWS > N_CONTACT_SPEEDS:
        for s in range(N_CONTACT_SPEEDS):
            run.side[s] = 0.0
        for a in range(count):
            i: whole = run.order[a]
            for s in range(N_CONTACT_SPEEDS):
                term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.speed_size[s] / run.root[i]
                run.side[s] = run.side[s] + term * run.rest[a]
        solve_factors(run, N_CONTACT_SPEEDS)
        for a in range(count):
            j: whole = run.order[a]
            change: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                lever: real = run.jacobian[at(j, N_CONTACT_SPEEDS, s)] * run.speed_size[s]
                change = change + lever * run.side[s]
            run.rest[a] = change / (run.root[j] * relative_softness(run, j))
    else:
        for a in range(count):
            run.side[a] = run.rest[a]
        solve_factors(run, count)
        for a in range(count):
            run.rest[a] = run.side[a]
        # The residual that softness leaves is known: Σ times the change.
        turn: real = 0.0
        while turn < turns_of_softness:
            turn = turn + 1.0
            for a in range(count):
                run.side[a] = run.softness[run.order[a]] * run.side[a]
            solve_factors(run, count)
            for a in range(count):
                run.rest[a] = run.rest[a] + run.side[a]
    for a in range(count):
        held: whole = run.order[a]
        run.force[held] = run.force[held] + run.rest[a] / run.root[held]


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
    """Find z and the sizes of rows."""
    move_rows(run)
    measure_motion(run)


def move_rows(run: Contacts) -> None:
    """Find the changes of speeds by forces, and z."""
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = 0.0
    for i in range(N_CONTACT_ROWS):
        if abs(run.force[i]) > 0.0:
            add_column(run, i, run.force[i])
    for i in range(N_CONTACT_ROWS):
        run.motion[i] = run.free[i] + row_product(run, i)


def measure_motion(run: Contacts) -> None:
    """Find the sizes of rows (sums of magnitudes of their terms), once ``moved`` is known."""
    for i in range(N_CONTACT_ROWS):
        total: real = abs(run.free[i]) + NO_MOTION
        for s in range(N_CONTACT_SPEEDS):
            total = total + abs(run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.moved[s])
        run.size[i] = total
    # Rounding errors of a fast row enter slow rows. Rows of all kinds are compared by the energy z²/A.
    energetic: real = 0.0
    for i in range(N_CONTACT_ROWS):
        if run.root[i] > 0.0:
            energetic = max(energetic, run.size[i] / run.root[i])
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE:
            run.size[NORMAL_ROW[c]] = run.size[NORMAL_ROW[c]] + run.least[c]
        if SLIP_ROW[c] != NONE:
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                run.size[k] = run.size[k] + run.least[c]
    # All rows of a contact get the largest size among them, since a slip row without load has only rounding.
    # Rounding errors from other rows are added after that. In the other order, a slip at a dead centre, which
    # is the fast row, would make the size of its normal's row so large that the slip stuck with any
    # force.
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            largest: real = run.size[NORMAL_ROW[c]]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                largest = max(largest, run.size[k])
            run.size[NORMAL_ROW[c]] = largest
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                run.size[k] = largest
    for i in range(N_CONTACT_ROWS):
        run.size[i] = max(run.size[i], ROUNDING_SHARE * energetic * run.root[i])


def bound_normals(run: Contacts) -> None:
    """Find, for each sliding contact, the normal force above which it jams (`most`).

    This bound is JAM times the normal force that would cancel the contact's acceleration without forces, if
    it acted alone. If a normal force exceeds its bound, the forces are found again, with the same rows that
    hold, but without the friction of sliding contacts. Each bound is then raised to at least JAM times the
    normal force of its contact in that solution.
    """
    exceeded: truth = False
    for c in range(N_CONTACTS):
        run.most[c] = 0.0
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            pull: real = 0.0
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                pull = max(pull, abs(run.weight[k]))
            if run.held[n] > 0.5 and pull > 0.0:
                run.most[c] = JAM * run.natural[c] / run.diagonal[n]
                exceeded = exceeded or (run.most[c] > 0.0 and run.force[n] > run.most[c])
    if exceeded:
        run.best = run.force
        for i in range(N_CONTACT_ROWS):
            run.weight[i] = 0.0
        solve_held_rows(run)
        for c in range(N_CONTACTS):
            if run.most[c] > 0.0:
                run.most[c] = max(run.most[c], JAM * run.force[NORMAL_ROW[c]])
        run.force = run.best
        move_rows(run)


def load_speeds(run: Contacts) -> None:
    """Set `loaded`, the rates or speeds with forces: add `moved`, their changes by the forces."""
    for s in range(N_CONTACT_SPEEDS):
        run.loaded[s] = run.unloaded[s] + run.moved[s]


def solve_held_rows(run: Contacts) -> None:
    """Find the forces if the rows that hold are known (`held`); needs the diagonal from ``measure_rows``."""
    for i in range(N_CONTACT_ROWS):
        if run.diagonal[i] <= 0.0:
            run.held[i] = 0.0
        run.softness[i] = 0.0
    count: whole = 0
    count = list_held_rows(run)
    if count == 0:
        clear_forces(run)
        measure_motion(run)
        return
    set_effective_columns(run)
    if count == 1:
        clear_forces(run)
        solve_single_row(run, run.order[FIRST])
        return
    left: real = 1.0
    # A system with one unknown per speed is solved faster if there are many rows, but is less exact.
    if count > 3 * N_CONTACT_SPEEDS:
        left = share_forces(run, count, True, False)
        if left <= 10.0 * PRECISE:
            return
    symmetric: truth = False
    symmetric = multiply_rows(run, count)
    # Independent rows have one solution, and need no softness.
    independent: truth = False
    if count <= N_CONTACT_SPEEDS:
        set_matrix_of_rows(run, count)
        independent = factorise_in_order(run, count, INDEPENDENT)
    if independent:
        clear_forces(run)
        left = refine_forces(run, count, False, 0.0)
    if left > 10.0 * PRECISE:
        left = share_forces(run, count, False, symmetric)
    if left > CONTRADICTORY:  # nearly dependent rows may need zero softness
        for i in range(N_CONTACT_ROWS):
            run.softness[i] = 0.0
        factorise(run, count, False, False)
        clear_forces(run)
        left = refine_forces(run, count, False, 0.0)


def solve_single_row(run: Contacts, row: whole) -> None:
    """Find the forces if one row holds, which cannot be redundant."""
    own: real = run.slack[row]
    for s in range(N_CONTACT_SPEEDS):
        place: whole = at(row, N_CONTACT_SPEEDS, s)
        own = own + run.jacobian[place] * run.effective[place]
    if abs(own) > 0.0:
        run.force[row] = -run.motion[row] / own
    set_other_forces(run)
    find_motion(run)


def share_forces(run: Contacts, count: whole, by_speeds: truth, symmetric: truth) -> real:
    """Find the forces of rows that may be redundant; return the largest relative residual."""
    for i in range(N_CONTACT_ROWS):
        run.softness[i] = SOFT
    clear_forces(run)
    factorise(run, count, by_speeds, symmetric)
    correct_forces(run, count, by_speeds, 0.0)  # one correction gives the magnitude of forces
    shared: truth = False
    shared = share_friction(run, 1.0, SOFTEST)
    if shared:
        factorise(run, count, by_speeds, symmetric)
    clear_forces(run)
    left: real = 0.0
    left = refine_forces(run, count, by_speeds, SOFT_TURNS)
    return left


def clear_forces(run: Contacts) -> None:
    """Set the forces of rows that hold to zero."""
    for i in range(N_CONTACT_ROWS):
        run.force[i] = 0.0
    set_other_forces(run)
    move_rows(run)


def share_friction(run: Contacts, least: real, softest: real) -> truth:
    """Set the softness of friction so that redundant friction forces are in proportion to their limits.

    Then they stay below their limits as long as this is possible. The softness of friction is from
    `least` to `least` times `softest` times that of normals. Return whether there are any limits.
    """
    largest: real = 0.0
    for c in range(N_CONTACTS):
        if SLIP_ROW[c] != NONE:
            largest = max(largest, friction_limit(run, c) * run.root[SLIP_ROW[c]])
    if largest <= NO_FORCE:
        return False
    for c in range(N_CONTACTS):
        if SLIP_ROW[c] != NONE:
            limit: real = friction_limit(run, c)
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                own: real = limit * run.root[k]
                run.softness[k] = SOFT * least * softest
                if softest * own > largest:
                    run.softness[k] = SOFT * least * largest / own
    return True


def friction_limit(run: Contacts, c: whole) -> real:
    """Return the greatest friction of a contact at rest."""
    normal: real = 0.0
    if NORMAL_ROW[c] != NONE:
        normal = max(run.force[NORMAL_ROW[c]], 0.0)
    limit: real = run.static[c] * normal + run.static_capacity[c]
    return limit


def refine_forces(run: Contacts, count: whole, by_speeds: truth, turns_of_softness: real) -> real:
    """Find the forces of rows that hold by a factorisation and iterative refinement.

    Return the largest final residual, relative to the size of its row.
    """
    turn: real = 0.0
    left: real = 1.0
    before: real = 2.0
    while turn < REFINEMENTS and left > PRECISE and left < STALLED * before:
        turn = turn + 1.0
        before = left
        correct_forces(run, count, by_speeds, turns_of_softness)
        set_other_forces(run)
        move_rows(run)
        if turn < 1.5:
            measure_motion(run)
        left = 0.0
        for a in range(count):
            k: whole = run.order[a]
            rest: real = abs(run.motion[k] + run.slack[k] * run.force[k])
            if rest > left * run.size[k]:
                left = rest / run.size[k]
    if turn > 1.5:
        measure_motion(run)
    return left
