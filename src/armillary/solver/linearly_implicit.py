"""The linear equations of linearly implicit steps, in the small language of language.py.

Each stage of such a step (`Rosenbrock` of solver/methods/tableau.py) solves

    ( I/g − ∂f/∂y ) w = r,    g = h γ

with one matrix, factorised once. A state whose rate is a multiple of another state, such as a coordinate with
q' = v u, is a follower of that state: w_q = g (r_q + v w_u). Followers are left out of the matrix. If half of
the states are followers, its factorisation takes an eighth of the operations. Followers are found from ∂f/∂y
itself at each step, without a table.

Large systems have sparse equations instead.

The states are those of the present configuration, since configurations may differ in number and order of
states. Matrices are stored column by column, as numerics/elimination.py needs them.

The unknowns of sparse equations are the increments of the states and some intermediate values of the rates
(program/sparse_rates.py). Rows are in the order of elimination; tables list the elements of each row, so that
the time of a step is proportional to the number of elements. The factors of a row are found from the rows
before (Gauss's elimination row by row, without exchange), in a dense work row. With several configurations,
the tables belong to the present one.

The last part watches stiffness. Stability limits an explicit method if h λ stays at the edge of its stability
region. For dop853, whose last stage g and end y₁ are both at t + h, this is so if

    h λ > 6.1 in fifteen steps,    λ ≈ ‖f(y₁) − f(g)‖ / ‖y₁ − g‖

where six consecutive steps with h λ ≤ 6.1 reset the count (Hairer, Nørsett, Wanner 1993, IV.2 of the second
volume, and dop853.f; norms relative to the tolerated errors). Then a linearly implicit method takes over.
While this method makes the steps, λ is found from its partial derivatives by power iteration,

    λ ≈ ( ‖J² v‖ / ‖v‖ )^½,    v ← J² v

with one product J² v a step: J² maps coordinates to coordinates, so units do not matter. After `patience`
consecutive steps with h λ < 3, an explicit step of that length would be stable, and dop853 takes over again.
Each time this happens, `patience` doubles.
"""

from __future__ import annotations

from armillary.numerics.elimination import eliminate_columns, solve_columns
from armillary.solver.language.language import *
from armillary.solver.record import RunRecord
from armillary.solver.step_control import squares
from armillary.solver.thresholds import (
    CALM_EDGE,
    CALM_STEPS,
    LEAST_ERROR,
    NO_DIAGONAL,
    STABLE_EDGE,
    STIFF_STEPS,
)


def factorise_entries(run: RunRecord) -> None:
    """Factorise the equations for the step's `shift`. A pivot that cancels to rounding errors becomes NaN, so
    that the step is rejected and the next trial is shorter.
    """
    count: whole = N_PRESENT_UNKNOWNS
    for i in range(count):
        for e in range(ROW_START[i], ROW_START[i + 1] - FIRST):
            run.solution[COLUMN[e]] = 0.0
        diagonal: real = 1.0
        if STATE_OF[i] != NONE:
            diagonal = 1.0 / run.shift
        run.solution[i] = diagonal
        for e in range(ENTRY_START[i], ENTRY_START[i + 1] - FIRST):
            place: whole = ENTRY_COLUMN[e]
            run.solution[place] = run.solution[place] - run.entries[e]
        diagonal = run.solution[i]
        for e in range(ROW_START[i], UPPER_START[i] - FIRST):
            before: whole = COLUMN[e]
            factor: real = run.solution[before] * run.pivots[before]
            run.factors[e] = factor
            for m in range(UPPER_START[before], ROW_START[before + 1] - FIRST):
                into: whole = COLUMN[m]
                run.solution[into] = run.solution[into] - factor * run.factors[m]
        for e in range(UPPER_START[i], ROW_START[i + 1] - FIRST):
            run.factors[e] = run.solution[COLUMN[e]]
        pivot: real = NAN
        if abs(run.solution[i]) > NO_DIAGONAL * abs(diagonal):
            pivot = 1.0 / run.solution[i]
        run.pivots[i] = pivot


def solve_entries(run: RunRecord) -> None:
    """Solve the sparse equations for `right_side`, which becomes the solution."""
    count: whole = N_PRESENT_UNKNOWNS
    for i in range(count):
        total: real = 0.0
        if STATE_OF[i] != NONE:
            total = run.right_side[STATE_OF[i]]
        for e in range(ROW_START[i], UPPER_START[i] - FIRST):
            total = total - run.factors[e] * run.solution[COLUMN[e]]
        run.solution[i] = total
    for b in range(count):
        last: whole = count - 1 - b + FIRST + FIRST
        rest: real = run.solution[last]
        for e in range(UPPER_START[last], ROW_START[last + 1] - FIRST):
            rest = rest - run.factors[e] * run.solution[COLUMN[e]]
        run.solution[last] = rest * run.pivots[last]
        if STATE_OF[last] != NONE:
            run.right_side[STATE_OF[last]] = run.solution[last]


def multiply_entries(run: RunRecord) -> None:
    """Set `image` to the product of df/dy and the fast direction; intermediate values are computed in the
    order `FORWARD`.
    """
    count: whole = N_PRESENT_UNKNOWNS
    for i in range(count):
        if STATE_OF[i] != NONE:
            run.solution[i] = run.fast[STATE_OF[i]]
    for position in range(count):
        row: whole = FORWARD[position]
        total: real = 0.0
        for e in range(ENTRY_START[row], ENTRY_START[row + 1] - FIRST):
            total = total + run.entries[e] * run.solution[ENTRY_COLUMN[e]]
        if STATE_OF[row] == NONE:
            run.solution[row] = total
        else:
            run.image[STATE_OF[row]] = total


def difference_states(run: RunRecord, t: real) -> None:
    """Find df/dy by differences: one evaluation for each state, with increments as in Hairer's rodas.f."""
    n: whole = N_PRESENT_STATES
    for j in range(n):
        run.stage = run.state
        run.stage[j] = run.state[j] + sqrt(EPSILON * max(1e-5, abs(run.state[j])))
        change: real = run.stage[j] - run.state[j]  # the rounded increment, which makes linear rates exact
        run.right_side = derivatives(t, run.stage)
        for i in range(n):
            run.partials[at(j, n, i)] = (run.right_side[i] - run.k0[i]) / change


def find_partials(run: RunRecord, t: real) -> None:
    """Find df/dy and df/dt at the start of a step."""
    n: whole = N_PRESENT_STATES
    if SPARSE:
        run.entries = partial_rates(t, run.state)
    elif DIFFERENTIATED:
        run.partials = partial_rates(t, run.state)
    else:
        difference_states(run, t)
    if DRIVEN or not DIFFERENTIATED:
        # Steps end at the kinks of data over time, so the increment, a small part of the step, meets none.
        later: real = t + max(4e-6 * run.shift, 64.0 * EPSILON * abs(t))
        run.right_side = derivatives(later, run.state)
        run.time_rate = (run.right_side - run.k0) / (later - t)
    elif SPARSE:
        entries: whole = N_PRESENT_ENTRIES
        for i in range(n):
            run.time_rate[i] = run.entries[entries + i]
    else:
        last: whole = FIRST + n
        for i in range(n):
            run.time_rate[i] = run.partials[at(last, n, i)]
    if not SPARSE:
        find_followers(run)


def find_followers(run: RunRecord) -> None:
    """Find the followers: states whose rate is a multiple of one other state, which is no follower."""
    n: whole = N_PRESENT_STATES
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
                run.column[found] = 1  # a state with followers is itself no follower
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
    """Write the matrix of the unknowns for the step's `shift`, including the terms of followers."""
    n: whole = N_PRESENT_STATES
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
    """Solve the equations of a stage for `right_side`, which becomes the solution."""
    if SPARSE:
        solve_entries(run)
    else:
        solve_unknowns(run)


def solve_unknowns(run: RunRecord) -> None:
    """Solve the dense equations for `right_side`, which becomes the solution."""
    n: whole = N_PRESENT_STATES
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
    """Find and factorise the matrix of a step; after a rejected trial, its partial derivatives are reused."""
    run.shift = shift
    again: truth = False
    if ADAPTIVE:
        again = run.after_rejection
    if not again:
        find_partials(run, t)
    if SPARSE:
        factorise_entries(run)
    else:
        n: whole = N_PRESENT_STATES
        set_system(run)
        eliminate_columns(run, run.unknowns, n)


def blame_rates(run: RunRecord, h: real) -> None:
    """Note the first state whose rate is not finite after an explicit step, else the state with the largest
    rate there. The failed implicit step does not show which state this is, since its equations spread one
    infinite value to all states.
    """
    run.stage = run.state + h * run.k0
    run.right_side = derivatives(run.t + h, run.stage)
    if not is_finite(run.right_side):
        run.failed = first_nonfinite(run.right_side)
        return
    n: whole = N_PRESENT_STATES
    largest: real = -1.0
    for i in range(n):
        if abs(run.right_side[i]) > largest:
            largest = abs(run.right_side[i])
            run.failed = i


def multiply_fast(run: RunRecord) -> real:
    """Replace the fast direction by its product with df/dy; return the norm of the product."""
    n: whole = N_PRESENT_STATES
    if SPARSE:
        multiply_entries(run)
    else:
        for i in range(n):
            run.image[i] = 0.0
        for j in range(n):
            part: real = run.fast[j]
            for i in range(n):
                run.image[i] = run.image[i] + part * run.partials[at(j, n, i)]
    run.fast = run.image
    total: real = 0.0
    for i in range(n):
        total = total + run.fast[i] * run.fast[i]
    return sqrt(total)


def fastest_rate(run: RunRecord) -> real:
    """Return an estimate of the largest eigenvalue of df/dy, from the direction found by earlier steps."""
    n: whole = N_PRESENT_STATES
    total: real = 0.0
    for i in range(n):
        total = total + run.fast[i] * run.fast[i]
    if not (total > 0.0 and total < INFINITY):
        total = float(n)
        for i in range(n):
            run.fast[i] = 1.0
    for i in range(n):
        run.fast[i] = run.fast[i] / sqrt(total)
    found: real = multiply_fast(run)
    found = multiply_fast(run)
    return sqrt(found)


def watch_stiffness(run: RunRecord, h: real) -> None:
    """Count the steps that stability limits, and the others; request the other method when it is due."""
    speed: real = 0.0
    if IMPLICIT:
        speed = h * fastest_rate(run)
        if speed < CALM_EDGE:
            run.calm_steps = run.calm_steps + 1.0
        else:
            run.calm_steps = 0.0
        run.changeover = run.calm_steps >= run.patience
    else:
        run.image = run.k_end - run.k11
        rise: real = squares(run, run.image)
        run.image = run.state - run.stage
        apart: real = squares(run, run.image)
        if apart > 0.0:
            speed = h * sqrt(rise / apart)
        if speed > STABLE_EDGE:
            run.stiff_steps = run.stiff_steps + 1.0
            run.calm_steps = 0.0
        else:
            run.calm_steps = run.calm_steps + 1.0
        if run.calm_steps >= CALM_STEPS:
            run.stiff_steps = 0.0
        run.changeover = run.stiff_steps >= STIFF_STEPS
    if run.changeover:
        run.stiff_steps = 0.0
        run.calm_steps = 0.0
        run.after_rejection = False
        run.error_old = LEAST_ERROR
        if IMPLICIT:
            run.patience = 2.0 * run.patience
