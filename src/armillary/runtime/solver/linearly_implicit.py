"""The linear equations of linearly implicit steps, in the small language of language.py.

Each stage of such a step (`Rosenbrock` of runtime/loop/tableau.py) solves

    ( I/g − ∂f/∂y ) w = r,    g = h γ

with one matrix, factorised once. A state whose rate is a multiple of another state, such as a coordinate with
q' = v u, follows it: w_q = g (r_q + v w_u). Followers are left out of the matrix, which has half the size
then, and an eighth of the operations. Followers are found from ∂f/∂y itself at each step, without a table.

Large systems have sparse equations in place of these: see sparse_equations.py.

The states belong to the present configuration. Matrices are stored column by column, as
numerics/elimination.py needs them.
"""

from __future__ import annotations

from armillary.numerics.elimination import eliminate_columns, solve_columns
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord
from armillary.runtime.solver.sparse_equations import factorise_entries, solve_entries


def difference_states(run: RunRecord, t: real) -> None:
    """Find df/dy by differences: one evaluation for each state, lengths as in Hairer's rodas.f."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    for j in range(n):
        run.stage = run.state
        run.stage[j] = run.state[j] + sqrt(EPSILON * max(1e-5, abs(run.state[j])))
        change: real = run.stage[j] - run.state[j]  # as rounded, so that linear rates have exact differences
        run.right_side = derivatives(t, run.stage)
        for i in range(n):
            run.partials[at(j, n, i)] = (run.right_side[i] - run.k0[i]) / change


def find_partials(run: RunRecord, t: real) -> None:
    """Find df/dy and df/dt where a step begins."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    if SPARSE:
        run.entries = partial_rates(t, run.state)
    elif DIFFERENTIATED:
        run.partials = partial_rates(t, run.state)
    else:
        difference_states(run, t)
    if DRIVEN or not DIFFERENTIATED:
        # A small part of the step: data over time bend at its ends at most.
        later: real = t + max(4e-6 * run.shift, 64.0 * EPSILON * abs(t))
        run.right_side = derivatives(later, run.state)
        run.time_rate = (run.right_side - run.k0) / (later - t)
    elif SPARSE:
        entries: whole = N_ENTRIES
        if CONFIGURATIONS:
            entries = EXTENT[FIRST + 1]
        for i in range(n):
            run.time_rate[i] = run.entries[entries + i]
    else:
        last: whole = FIRST + n
        for i in range(n):
            run.time_rate[i] = run.partials[at(last, n, i)]
    if not SPARSE:
        find_followers(run)


def find_followers(run: RunRecord) -> None:
    """Find the states whose rates are multiples of another state that is no follower."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    run.unknowns = 0
    run.followers = 0
    for i in range(n):
        run.leader[i] = NONE
        run.column[i] = 0
    for i in range(n):
        found: whole = NONE
        terms: whole = 0
        for j in range(n):
            if differs(run.partials[at(j, n, i)], 0.0):
                found = j
                terms = terms + 1
                if terms > 1:
                    break
        if terms == 1 and found != i and run.column[i] == 0:
            free: truth = run.leader[found] == NONE
            if free:
                run.leader[i] = found
                run.column[found] = 1  # it leads, and so does not follow
    for i in range(n):
        if run.leader[i] == NONE:
            run.unknown[FIRST + run.unknowns] = i
            run.column[i] = FIRST + run.unknowns
            run.unknowns = run.unknowns + 1
        else:
            run.follower[FIRST + run.followers] = i
            run.followers = run.followers + 1
    for f in range(run.followers):
        own: whole = run.follower[f]
        for a in range(run.unknowns):
            run.coupling[at(f, n, a)] = run.partials[at(own, n, run.unknown[a])]


def set_system(run: RunRecord) -> None:
    """Write the matrix of the unknowns for the step's `shift`, with what followers add to it."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    count: whole = run.unknowns
    for b in range(count):
        j: whole = run.unknown[b]
        for a in range(count):
            run.system[at(b, n, a)] = -run.partials[at(j, n, run.unknown[a])]
        run.system[at(b, n, b)] = run.system[at(b, n, b)] + 1.0 / run.shift
    for f in range(run.followers):
        own: whole = run.follower[f]
        lead: whole = run.leader[own]
        factor: real = run.shift * run.partials[at(lead, n, own)]
        into: whole = run.column[lead]
        for a in range(count):
            place: whole = at(into, n, a)
            run.system[place] = run.system[place] - factor * run.coupling[at(f, n, a)]


def solve_system(run: RunRecord) -> None:
    """Solve for a right side `right_side`, which the solution replaces."""
    if SPARSE:
        solve_entries(run)
    else:
        solve_unknowns(run)


def solve_unknowns(run: RunRecord) -> None:
    """Solve the dense equations for a right side `right_side`, which the solution replaces."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    count: whole = run.unknowns
    for a in range(count):
        run.solved[a] = run.right_side[run.unknown[a]]
    for f in range(run.followers):
        part: real = run.shift * run.right_side[run.follower[f]]
        for a in range(count):
            run.solved[a] = run.solved[a] + part * run.coupling[at(f, n, a)]
    solve_columns(run, count, n)
    for a in range(count):
        run.right_side[run.unknown[a]] = run.solved[a]
    for f in range(run.followers):
        own: whole = run.follower[f]
        lead: whole = run.leader[own]
        run.right_side[own] = run.shift * (
            run.right_side[own] + run.partials[at(lead, n, own)] * run.right_side[lead]
        )


def begin_stages(run: RunRecord, t: real, shift: real) -> None:
    """Find and factorise the matrix of a step; derivatives that a rejected trial has found are still good."""
    run.shift = shift
    again: truth = False
    if ADAPTIVE:
        again = run.after_rejection
    if not again:
        find_partials(run, t)
    if SPARSE:
        factorise_entries(run)
    else:
        n: whole = N_STATES
        if CONFIGURATIONS:
            n = run.used
        set_system(run)
        eliminate_columns(run, run.unknowns, n)


def blame_rates(run: RunRecord, h: real) -> None:
    """Name the first state whose rate is not finite a step ahead, else the state with the largest rate there:
    the equations spread a value that is not finite to all states.
    """
    run.stage = run.state + h * run.k0
    run.right_side = derivatives(run.t + h, run.stage)
    if not is_finite(run.right_side):
        run.failed = first_nonfinite(run.right_side)
        return
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    largest: real = -1.0
    for i in range(n):
        if abs(run.right_side[i]) > largest:
            largest = abs(run.right_side[i])
            run.failed = i
