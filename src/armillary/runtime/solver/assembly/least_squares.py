"""The shortest of the best solutions of linear equations, in the small language of language.py.

The first `active` rows of `left`, with the sides `right`, are a least-squares problem. Rows that are
independent by a wide margin are made orthogonal one after another, A = L Q; then L y = right, and the step is
Qᵀ y. ‖A‖ ‖L⁻¹‖ in Frobenius' norm is at least the quotient of the largest and the smallest singular value, so
it shows that none has to be left out. Other rows are turned in pairs until all are at right angles; their
lengths are then the singular values, of which small ones are left out. Neither depends on a library, so that
every language finds the same solution.

Source: Hestenes (1958), Inversion of matrices by biorthogonalization, J. SIAM 6, 51–90.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import MOST_SWEEPS, NO_ROW, RIGHT_ANGLE
from armillary.runtime.solver.assembly.assembly_record import Loops
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def row_square(run: Loops | RunRecord, i: whole) -> real:
    """The squared length of a row."""
    total: real = 0.0
    for j in range(N_SPEEDS):
        total = total + run.left[at(i, N_SPEEDS, j)] * run.left[at(i, N_SPEEDS, j)]
    return total


def turn_rows(run: Loops | RunRecord, first: whole, bound: whole) -> None:
    """Rows from `first` on, of the first `bound`, turned in pairs until all are at right angles."""
    nothing: real = 0.0  # the squared length of a row that rounding has left
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


def rank_of_rows(run: Loops, first: whole, bound: whole, least: real) -> whole:
    """The number of singular values of these rows that are larger than `least`."""
    turn_rows(run, first, bound)
    found: whole = 0
    for i in range(first, bound):
        if sqrt(row_square(run, i)) > least:
            found = found + 1
    return found


def solve_independent(run: Loops, weak: real) -> truth:
    """The solution where all singular values are above `weak` of the largest; whether that is certain."""
    if run.active > N_SPEEDS:
        return False
    total: real = 0.0
    for i in range(run.active):
        total = total + row_square(run, i)
    limit: real = weak * weak * total
    inverse: real = 0.0
    for j in range(N_SPEEDS):
        run.step[j] = 0.0
    for i in range(run.active):
        for j in range(N_SPEEDS):
            run.basis[at(i, N_SPEEDS, j)] = run.left[at(i, N_SPEEDS, j)]
        side: real = run.right[i]
        for k in range(run.active):
            if k == i:
                break
            factor: real = 0.0
            for j in range(N_SPEEDS):
                factor = factor + run.basis[at(i, N_SPEEDS, j)] * run.basis[at(k, N_SPEEDS, j)]
            for j in range(N_SPEEDS):
                here: real = run.basis[at(i, N_SPEEDS, j)]
                run.basis[at(i, N_SPEEDS, j)] = here - factor * run.basis[at(k, N_SPEEDS, j)]
            run.lower[k] = factor
            side = side - factor * run.solution[k]
        square: real = 0.0
        for j in range(N_SPEEDS):
            square = square + run.basis[at(i, N_SPEEDS, j)] * run.basis[at(i, N_SPEEDS, j)]
        if not (square > limit):
            return False
        length: real = sqrt(square)
        run.solution[i] = side / length
        for j in range(N_SPEEDS):
            run.basis[at(i, N_SPEEDS, j)] = run.basis[at(i, N_SPEEDS, j)] / length
            run.step[j] = run.step[j] + run.solution[i] * run.basis[at(i, N_SPEEDS, j)]
        # Row i of the inverse of L.
        for c in range(run.active):
            if c == i:
                break
            part: real = 0.0
            for k in range(c, run.active):
                if k == i:
                    break
                part = part + run.lower[k] * run.inverse[at(k, N_SPEEDS, c)]
            run.inverse[at(i, N_SPEEDS, c)] = -part / length
            inverse = inverse + (part / length) * (part / length)
        run.inverse[at(i, N_SPEEDS, i)] = 1.0 / length
        inverse = inverse + 1.0 / square
        if not (limit * inverse < 1.0):
            return False
    return True


def solve_turned(run: Loops, weak: real, damping: real) -> None:
    """The solution without singular values below `weak` of the largest, or with damped ones."""
    turn_rows(run, FIRST, run.active)
    longest: real = 0.0
    for i in range(run.active):
        longest = max(longest, sqrt(row_square(run, i)))
    for j in range(N_SPEEDS):
        run.step[j] = 0.0
    for i in range(run.active):
        square: real = row_square(run, i)
        if sqrt(square) > weak * longest:
            share: real = run.right[i] / (square + damping)
            for j in range(N_SPEEDS):
                run.step[j] = run.step[j] + run.left[at(i, N_SPEEDS, j)] * share


def solve_rows(run: Loops, weak: real) -> None:
    """The solution without singular values below `weak` of the largest."""
    solved: truth = False
    solved = solve_independent(run, weak)
    if not solved:
        solve_turned(run, weak, 0.0)
