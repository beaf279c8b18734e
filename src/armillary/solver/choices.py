"""The choice of dependent speeds at a configuration, in the small language of language.py.

The process makes this choice if no choice in the table of configurations is good (`suitable` of changes.py).
The method is that of mechanics/constraints/dependent_speeds.py. First, complete pivoting over the rows of J,
divided by the sizes of speeds, where present dependent speeds are preferred if they are nearly as good. Then
a dependent and an independent speed are exchanged as long as some factor of an independent speed in a
dependent one exceeds two. Speeds of elastic modes stay independent unless the choice among joints alone is
far worse. The choice depends only on the coordinates and the present choice, not on the configurations that
runs have met.

Singular values of a few rows are found by rotating rows in pairs until all are orthogonal; the lengths of the
rows are then the singular values. This needs no library, so every language finds the same values.

Source: Hestenes (1958), Inversion of matrices by biorthogonalization, J. SIAM 6, 51–90.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import MOST_SWEEPS, NO_ROW, RIGHT_ANGLE
from armillary.mechanics.constraints.dependent_speeds import FAIR, NO_FACTOR, NOISE, OUTRUN, STRONG
from armillary.solver.language.language import *
from armillary.solver.record import RunRecord


def row_square(run: RunRecord, i: whole) -> real:
    """Return the squared length of a row."""
    total: real = 0.0
    for j in range(N_SPEEDS):
        total = total + run.left[at(i, N_SPEEDS, j)] * run.left[at(i, N_SPEEDS, j)]
    return total


def turn_rows(run: RunRecord, first: whole, bound: whole) -> None:
    """Rotate the rows from `first` to `bound`, in pairs, until all are orthogonal."""
    nothing: real = 0.0  # squared length below which a row is only rounding
    for i in range(first, bound):
        nothing = max(nothing, NO_ROW * row_square(run, i))
    sweep: real = 0.0
    turned: truth = True
    while turned and sweep < MOST_SWEEPS:
        turned = False
        sweep = sweep + 1.0
        for i in range(first, bound):
            for k in range(i + 1, bound):
                dot: real = 0.0
                one: real = 0.0
                two: real = 0.0
                a: real = 0.0
                b: real = 0.0
                for j in range(N_SPEEDS):
                    a = run.left[at(i, N_SPEEDS, j)]
                    b = run.left[at(k, N_SPEEDS, j)]
                    dot = dot + a * b
                    one = one + a * a
                    two = two + b * b
                if min(one, two) > nothing and abs(dot) > RIGHT_ANGLE * sqrt(one) * sqrt(two):
                    turned = True
                    z: real = (two - one) / (2.0 * dot)
                    tangent: real = 1.0 / (abs(z) + sqrt(1.0 + z * z))
                    if z < 0.0:
                        tangent = -tangent
                    c: real = 1.0 / sqrt(1.0 + tangent * tangent)
                    s: real = c * tangent
                    for j in range(N_SPEEDS):
                        a = run.left[at(i, N_SPEEDS, j)]
                        b = run.left[at(k, N_SPEEDS, j)]
                        run.left[at(i, N_SPEEDS, j)] = c * a - s * b
                        run.left[at(k, N_SPEEDS, j)] = s * a + c * b
                    a = run.right[i]
                    b = run.right[k]
                    run.right[i] = c * a - s * b
                    run.right[k] = s * a + c * b


def read_rows(run: RunRecord, t: real, state: States) -> None:
    """Compute the Jacobian J at a time and a state of the present configuration."""
    run.geometry = geometry(t, state)
    for m in range(N_JACOBIAN):
        run.jacobian[m] = 0.0
    for e in range(N_ELEMENTS):
        if below(e, ELEMENTS[run.configuration]):
            place: whole = at(ROW_OF[e], N_SPEEDS, SPEED_OF[e])
            run.jacobian[place] = run.geometry[FIRST_ELEMENT[run.configuration] + e]


def measure_sizes(run: RunRecord) -> None:
    """Find the size of each kind of speeds (those with the same unit): the largest element of J in their
    columns.
    """
    for j in range(N_SPEEDS):
        run.size[j] = 0.0
    for j in range(N_SPEEDS):
        kind: whole = SPEED_KIND[j]
        for i in range(N_ROWS):
            run.size[kind] = max(run.size[kind], abs(run.jacobian[at(i, N_SPEEDS, j)]))
    for j in range(N_SPEEDS):
        if not (run.size[j] > NOISE):
            run.size[j] = 1.0


def measure_rows(run: RunRecord, state: States) -> None:
    """Compute J at a state of the present configuration. Divide its columns by the sizes of speeds, then its
    rows by their lengths.
    """
    read_rows(run, run.t, state)
    measure_sizes(run)
    for i in range(N_ROWS):
        total: real = 0.0
        for j in range(N_SPEEDS):
            place: whole = at(i, N_SPEEDS, j)
            run.jacobian[place] = run.jacobian[place] / run.size[SPEED_KIND[j]]
            total = total + run.jacobian[place] * run.jacobian[place]
        if total > 0.0:
            for j in range(N_SPEEDS):
                run.jacobian[at(i, N_SPEEDS, j)] = run.jacobian[at(i, N_SPEEDS, j)] / sqrt(total)


def pair_rows(run: RunRecord) -> None:
    """Pair each row that is independent of the others with one of the allowed speeds; `preferred` has the
    present dependent speed of each row.
    """
    run.left = run.jacobian
    run.pairs = 0
    for i in range(N_ROWS):
        run.row_taken[i] = 0
    for j in range(N_SPEEDS):
        run.speed_taken[j] = 0 if run.allowed[j] > 0 else 1
    for s in range(N_ROWS):
        largest: real = 0.0
        kept: real = -1.0
        row: whole = NONE
        speed: whole = NONE
        kept_row: whole = NONE
        for i in range(N_ROWS):
            if run.row_taken[i] > 0:
                continue
            for j in range(N_SPEEDS):
                if run.speed_taken[j] == 0 and abs(run.left[at(i, N_SPEEDS, j)]) > largest:
                    largest = abs(run.left[at(i, N_SPEEDS, j)])
                    row = i
                    speed = j
            if run.preferred[i] != NONE:
                own: whole = run.preferred[i]
                if run.speed_taken[own] == 0 and abs(run.left[at(i, N_SPEEDS, own)]) > kept:
                    kept = abs(run.left[at(i, N_SPEEDS, own)])
                    kept_row = i
        if largest <= NO_FACTOR:
            break
        if kept_row != NONE and kept >= STRONG * largest:
            row = kept_row
            speed = run.preferred[kept_row]
        run.row_taken[row] = 1
        run.speed_taken[speed] = 1
        run.pair_row[s] = row
        run.pair_speed[s] = speed
        run.pairs = run.pairs + 1
        for i in range(N_ROWS):
            if run.row_taken[i] == 0:
                factor: real = run.left[at(i, N_SPEEDS, speed)] / run.left[at(row, N_SPEEDS, speed)]
                for j in range(N_SPEEDS):
                    place: whole = at(i, N_SPEEDS, j)
                    run.left[place] = run.left[place] - factor * run.left[at(row, N_SPEEDS, j)]


def solve_pairs(run: RunRecord) -> None:
    """Solve the rows for the dependent speeds. `left` gets the factors of independent speeds in them, and
    `row_taken` the pair for whose speed each row was solved.
    """
    run.left = run.jacobian
    for i in range(N_ROWS):
        run.row_taken[i] = NONE
    for s in range(N_ROWS):
        if not below(s, run.pairs):
            continue
        speed: whole = run.pair_speed[s]
        largest: real = -1.0
        pivot: whole = FIRST
        for p in range(N_ROWS):
            if below(p, run.pairs):
                row: whole = run.pair_row[p]
                if run.row_taken[row] == NONE and abs(run.left[at(row, N_SPEEDS, speed)]) > largest:
                    largest = abs(run.left[at(row, N_SPEEDS, speed)])
                    pivot = row
        run.row_taken[pivot] = s
        whole_pivot: real = run.left[at(pivot, N_SPEEDS, speed)]
        for j in range(N_SPEEDS):
            run.left[at(pivot, N_SPEEDS, j)] = run.left[at(pivot, N_SPEEDS, j)] / whole_pivot
        for p in range(N_ROWS):
            if below(p, run.pairs):
                other: whole = run.pair_row[p]
                factor: real = run.left[at(other, N_SPEEDS, speed)]
                if other != pivot:
                    for j in range(N_SPEEDS):
                        place: whole = at(other, N_SPEEDS, j)
                        run.left[place] = run.left[place] - factor * run.left[at(pivot, N_SPEEDS, j)]


def exchange_worst(run: RunRecord) -> truth:
    """Find the largest factor of an independent speed in a dependent one; if it is above the threshold,
    exchange the two speeds. Return whether they were exchanged.
    """
    solve_pairs(run)
    for j in range(N_SPEEDS):
        run.speed_taken[j] = 0
    for s in range(N_ROWS):
        if below(s, run.pairs):
            run.speed_taken[run.pair_speed[s]] = 1
    largest: real = OUTRUN
    gone: whole = NONE
    comes: whole = NONE
    for s in range(N_ROWS):
        for i in range(N_ROWS):
            if run.row_taken[i] != s or not below(s, run.pairs):
                continue
            for j in range(N_SPEEDS):
                factor: real = abs(run.left[at(i, N_SPEEDS, j)])
                if run.allowed[j] > 0 and run.speed_taken[j] == 0 and factor > largest:
                    largest = factor
                    gone = s
                    comes = j
    if gone == NONE:
        return False
    run.pair_speed[gone] = comes
    return True


def pair_best(run: RunRecord, modes: truth) -> None:
    """Find the best choice of dependent speeds, among joints alone or also among modes, and write it to
    `pair_row` and `pair_speed`.
    """
    for i in range(N_ROWS):
        run.preferred[i] = SPEED_OF_ROW[i]
    for j in range(N_SPEEDS):
        run.allowed[j] = 1 if modes or not IS_MODAL[j] else 0
    pair_rows(run)
    turns: whole = 0
    goes_on: truth = True
    while goes_on and turns < 10 * run.pairs:
        turns = turns + 1
        goes_on = exchange_worst(run)
    for j in range(N_SPEEDS):
        run.allowed[j] = 0
    for s in range(N_ROWS):
        if below(s, run.pairs):
            run.allowed[run.pair_speed[s]] = 1
            run.preferred[run.pair_row[s]] = run.pair_speed[s]
    for i in range(N_ROWS):
        paired: truth = False
        for s in range(N_ROWS):
            if run.pair_row[s] == i and below(s, run.pairs):
                paired = True
        if not paired:
            run.preferred[i] = NONE
    pair_rows(run)


def conditioning(run: RunRecord) -> real:
    """Return the smallest singular value of the part of J that the choice selects."""
    for i in range(N_ROWS):
        run.right[i] = 0.0
    for j in range(N_SPEEDS):
        run.speed_taken[j] = 0
    for s in range(N_ROWS):
        if below(s, run.pairs):
            run.right[run.pair_row[s]] = 1.0
            run.speed_taken[run.pair_speed[s]] = 1
    for i in range(N_ROWS):
        for j in range(N_SPEEDS):
            place: whole = at(i, N_SPEEDS, j)
            taken: truth = run.right[i] > 0.0 and run.speed_taken[j] > 0
            run.left[place] = run.jacobian[place] if taken else 0.0
    turn_rows(run, FIRST, N_ROWS)
    least: real = INFINITY
    for s in range(N_ROWS):
        if below(s, run.pairs):
            least = min(least, sqrt(row_square(run, run.pair_row[s])))
    return least


def choose_speeds(run: RunRecord, state: States) -> truth:
    """Find the best choice of dependent speeds at a state of the present configuration, and write it to
    `pair_row` and `pair_speed`. Return false if constraints lose rank there.
    """
    measure_rows(run, state)
    modal: truth = False
    for j in range(N_SPEEDS):
        modal = modal or IS_MODAL[j]
    pair_best(run, True)
    if modal:
        most: whole = run.pairs
        best: real = 0.0
        best = conditioning(run)
        pair_best(run, False)
        alone: real = 0.0
        alone = conditioning(run)
        if run.pairs < most or not (alone > FAIR * best):
            pair_best(run, True)
    steps: whole = 0
    for i in range(N_ROWS):
        if SPEED_OF_ROW[i] != NONE:
            steps = steps + 1
    return run.pairs >= steps


def has_choice(run: RunRecord, c: whole) -> truth:
    """Return whether a configuration has the choice in `pair_row` and `pair_speed`."""
    for s in range(N_ROWS):
        row: whole = run.pair_row[s] if below(s, run.pairs) else NONE
        speed: whole = run.pair_speed[s] if below(s, run.pairs) else NONE
        if ROW_OF_STEP[at(c, N_ROWS, s)] != row or SPEED_OF_STEP[at(c, N_ROWS, s)] != speed:
            return False
    return True
