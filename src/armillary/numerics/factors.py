"""Factors of a dense matrix and steps from them, in the small language of language.py.

    A P = Q [T 0; 0 0] Z        T y = −Qᵀ r        p = P Zᵀ [y; 0]

A has the derivatives of the residuals r, and p is the step. Matrices are stored by columns. They are
factorised by reflections Q and Z from both sides and exchanges P of columns: a complete orthogonal
decomposition (Golub and Van Loan, Matrix Computations, section 5.4.7). There may be more or fewer equations
than unknowns; if A is singular, p is the shortest of the best steps. A step that would be too long is damped,
with factors of TᵀT + μ (Moré 1978, The Levenberg-Marquardt algorithm, Lecture Notes in Mathematics 630).
"""

from __future__ import annotations

from armillary.numerics.language import *
from armillary.numerics.language import Roots
from armillary.numerics.roots_thresholds import *


def column_product(run: Roots, k: whole, j: whole, first: whole) -> real:
    """Return the inner product of columns k and j of the factors from row `first` on, in four sums."""
    m: whole = run.rows
    one: real = 0.0
    two: real = 0.0
    three: real = 0.0
    four: real = 0.0
    i: whole = first
    while below(i + 3, m):
        one = one + run.factors[at(k, m, i)] * run.factors[at(j, m, i)]
        two = two + run.factors[at(k, m, i + 1)] * run.factors[at(j, m, i + 1)]
        three = three + run.factors[at(k, m, i + 2)] * run.factors[at(j, m, i + 2)]
        four = four + run.factors[at(k, m, i + 3)] * run.factors[at(j, m, i + 3)]
        i = i + 4
    for e in range(i, m):
        one = one + run.factors[at(k, m, e)] * run.factors[at(j, m, e)]
    return (one + two) + (three + four)


def mirror_column(run: Roots, k: whole, j: whole, scale: real) -> None:
    """Reflect column j with the vector v in column k, from row k on; the scale is -(v, v)/2."""
    m: whole = run.rows
    share: real = column_product(run, k, j, k) / scale
    for i in range(k, m):
        run.factors[at(j, m, i)] = run.factors[at(j, m, i)] + share * run.factors[at(k, m, i)]


def exchange_columns(run: Roots, k: whole, j: whole) -> None:
    """Exchange columns k and j of the factors and in `order`; column j gets the lengths of column k."""
    m: whole = run.rows
    for i in range(m):
        here: real = run.factors[at(k, m, i)]
        run.factors[at(k, m, i)] = run.factors[at(j, m, i)]
        run.factors[at(j, m, i)] = here
    run.lengths[j] = run.lengths[k]
    run.fresh[j] = run.fresh[k]
    own: whole = run.order[k]
    run.order[k] = run.order[j]
    run.order[j] = own


def reflect_columns(run: Roots) -> None:
    """Make the factors triangular by Householder reflections; the longest remaining column is the next.

    Stop when no column is longer than the cut times the largest pivot so far.
    """
    m: whole = run.rows
    n: whole = run.columns
    last: whole = n + FIRST  # the column of the right side
    strongest: real = 0.0
    run.rank = 0
    for k in range(n):
        if not below(k, m):
            break
        pivot: whole = k
        square: real = -1.0
        for j in range(k, n):
            if run.lengths[j] > square:
                square = run.lengths[j]
                pivot = j
        length: real = sqrt(column_product(run, pivot, pivot, k))
        if not (length > run.cut * strongest):
            break
        strongest = max(length, strongest)
        if pivot != k:
            exchange_columns(run, k, pivot)
        top: real = run.factors[at(k, m, k)]
        alpha: real = -length if top > 0.0 else length
        scale: real = alpha * (top - alpha)
        run.factors[at(k, m, k)] = top - alpha
        for j in range(k + 1, n):
            mirror_column(run, k, j, scale)
            head: real = run.factors[at(j, m, k)]
            run.lengths[j] = run.lengths[j] - head * head
            if not (run.lengths[j] > CANCELLED * run.fresh[j]):
                run.lengths[j] = column_product(run, j, j, k + 1)
                run.fresh[j] = run.lengths[j]
        mirror_column(run, k, last, scale)
        run.factors[at(k, m, k)] = alpha
        run.rank = run.rank + 1


def reflect_rows(run: Roots) -> None:
    """Eliminate the columns beyond the rank by reflections of rows, the last row first."""
    m: whole = run.rows
    n: whole = run.columns
    tail: whole = run.rank + FIRST
    for b in range(run.rank):
        above: whole = run.rank - 1 - b + FIRST
        k: whole = above + FIRST
        top: real = run.factors[at(k, m, k)]
        square: real = top * top
        for j in range(tail, n):
            square = square + run.factors[at(j, m, k)] * run.factors[at(j, m, k)]
        alpha: real = -sqrt(square) if top > 0.0 else sqrt(square)
        head: real = top - alpha
        for i in range(above):
            along: real = head * run.factors[at(k, m, i)]
            for j in range(tail, n):
                along = along + run.factors[at(j, m, k)] * run.factors[at(j, m, i)]
            share: real = along / (alpha * head)
            run.factors[at(k, m, i)] = run.factors[at(k, m, i)] + share * head
            for j in range(tail, n):
                run.factors[at(j, m, i)] = run.factors[at(j, m, i)] + share * run.factors[at(j, m, k)]
        run.heads[k] = head
        run.factors[at(k, m, k)] = alpha


def copy_matrix(run: Roots) -> None:
    """Copy the matrix, and the residuals with reversed sign, to the factors."""
    m: whole = run.rows
    last: whole = run.columns + FIRST
    for j in range(run.columns):
        run.order[j] = j
        for i in range(m):
            run.factors[at(j, m, i)] = run.matrix[at(j, m, i)]
    for i in range(m):
        run.factors[at(last, m, i)] = -run.residual[i]
    for j in range(run.columns):
        run.lengths[j] = column_product(run, j, j, FIRST)
        run.fresh[j] = run.lengths[j]


def rank_of_matrix(run: Roots, least: real) -> whole:
    """Return the number of pivots of the matrix that are larger than `least`."""
    copy_matrix(run)
    run.cut = 0.0
    reflect_columns(run)
    found: whole = 0
    for k in range(run.rank):
        if abs(run.factors[at(k, run.rows, k)]) > least:
            found = found + 1
    return found


def factorise_matrix(run: Roots) -> None:
    """Factorise the matrix, and set `solved` to y, the components of the step along the factors."""
    m: whole = run.rows
    n: whole = run.columns
    last: whole = n + FIRST
    copy_matrix(run)
    reflect_columns(run)
    if run.rank < n:
        reflect_rows(run)
    for i in range(run.rank):
        run.solved[i] = run.factors[at(last, m, i)]
    solve_triangle(run)


def solve_triangle(run: Roots) -> None:
    """Solve T y = `solved` for y in place, by back substitution, and set `gauss` to the length of y."""
    m: whole = run.rows
    square: real = 0.0
    for b in range(run.rank):
        above: whole = run.rank - 1 - b + FIRST
        k: whole = above + FIRST
        own: real = run.solved[k] / run.factors[at(k, m, k)]
        run.solved[k] = own
        square = square + own * own
        for i in range(above):
            run.solved[i] = run.solved[i] - run.factors[at(k, m, i)] * own
    run.gauss = sqrt(square)


def solve_damped_triangle(run: Roots) -> real:
    """Solve the triangle of a damped step by back substitution; return the length of the step."""
    n: whole = run.columns
    square: real = 0.0
    for b in range(run.rank):
        k: whole = run.rank - 1 - b + FIRST + FIRST
        known: real = 0.0
        for j in range(k + 1, run.rank):
            known = known + run.damped[at(k, n, j)] * run.solved[j]
        run.solved[k] = (run.side[k] - known) / run.damped[at(k, n, k)]
        square = square + run.solved[k] * run.solved[k]
    return sqrt(square)


def transposed_square(run: Roots) -> real:
    """Return |w|² where Dᵀ w = `solved`, with the triangle D of the damped step."""
    n: whole = run.columns
    square: real = 0.0
    for i in range(run.rank):
        run.turned[i] = run.solved[i]
    for k in range(run.rank):
        own: real = run.turned[k] / run.damped[at(k, n, k)]
        square = square + own * own
        for i in range(k + 1, run.rank):
            run.turned[i] = run.turned[i] - run.damped[at(k, n, i)] * own
    return square


def set_damped_triangle(run: Roots, damping: real) -> None:
    """Make the triangle D with DᵀD = TᵀT + damping: rotations combine T with rows that hold √damping.

    The right side is rotated, too.
    """
    m: whole = run.rows
    n: whole = run.columns
    last: whole = n + FIRST
    for i in range(run.rank):
        run.side[i] = run.factors[at(last, m, i)]
        for j in range(i, run.rank):
            run.damped[at(i, n, j)] = run.factors[at(j, m, i)]
    if damping > 0.0:
        for j in range(run.rank):
            for i in range(j, run.rank):
                run.fresh[i] = 0.0
            run.fresh[j] = sqrt(damping)
            own: real = 0.0  # the right side of the added row
            for k in range(j, run.rank):
                here: real = run.damped[at(k, n, k)]
                there: real = run.fresh[k]
                size: real = sqrt(here * here + there * there)
                cosine: real = here / size
                sine: real = there / size
                run.damped[at(k, n, k)] = size
                old: real = run.side[k]
                run.side[k] = cosine * old + sine * own
                own = cosine * own - sine * old
                for i in range(k + 1, run.rank):
                    upper: real = run.damped[at(k, n, i)]
                    lower: real = run.fresh[i]
                    run.damped[at(k, n, i)] = cosine * upper + sine * lower
                    run.fresh[i] = cosine * lower - sine * upper


def damp_step(run: Roots, radius: real) -> None:
    """Damp a step that is longer than a radius to about the length of the radius."""
    # Newton's method makes 1/length equal to 1/radius; 1/length is nearly linear in the damping (Moré 1978,
    # section 5).
    damping: real = 0.0
    length: real = 0.0
    turn: real = 0.0
    square: real = 0.0
    while turn <= DAMPINGS:
        turn = turn + 1.0
        set_damped_triangle(run, damping)
        length = solve_damped_triangle(run)
        near: truth = abs(length - radius) <= 0.1 * radius
        if near or not (length > 0.0):
            break
        square = transposed_square(run)
        damping = max(damping + (length / radius - 1.0) * length * length / square, 0.0)
    if length > radius:
        for i in range(run.rank):
            run.solved[i] = run.solved[i] * (radius / length)


def reflect_turned(run: Roots, k: whole) -> None:
    """Apply the reflection of row k to the vector `turned`."""
    m: whole = run.rows
    n: whole = run.columns
    tail: whole = run.rank + FIRST
    along: real = run.heads[k] * run.turned[k]
    for j in range(tail, n):
        along = along + run.factors[at(j, m, k)] * run.turned[j]
    share: real = along / (run.factors[at(k, m, k)] * run.heads[k])
    run.turned[k] = run.turned[k] + share * run.heads[k]
    for j in range(tail, n):
        run.turned[j] = run.turned[j] + share * run.factors[at(j, m, k)]


def turn_back(run: Roots) -> None:
    """Set the step from the vector `turned`: undo the reflections of rows and the order of columns."""
    n: whole = run.columns
    if run.rank < n:
        for k in range(run.rank):
            reflect_turned(run, k)
    for i in range(n):
        run.step[run.order[i]] = run.turned[i]


def set_step(run: Roots) -> None:
    """Set the step from `solved`, its components along the factors; those beyond the rank are zero."""
    tail: whole = run.rank + FIRST
    for i in range(run.rank):
        run.turned[i] = run.solved[i]
    for i in range(tail, run.columns):
        run.turned[i] = 0.0
    turn_back(run)


def set_open_direction(run: Roots, k: whole) -> None:
    """Set the step to the unit vector of the null space that belongs to a column k beyond the rank."""
    for i in range(run.columns):
        run.turned[i] = 0.0
    run.turned[k] = 1.0
    turn_back(run)


def set_chord_step(run: Roots) -> None:
    """Set the step for the present residuals from the matrix and the factors of an earlier place."""
    m: whole = run.rows
    n: whole = run.columns
    for i in range(n):
        total: real = 0.0
        own: whole = run.order[i]
        for e in range(m):
            total = total + run.matrix[at(own, m, e)] * run.residual[e]
        run.turned[i] = -total
    if run.rank < n:
        for b in range(run.rank):
            reflect_turned(run, run.rank - 1 - b + FIRST + FIRST)
    for k in range(run.rank):
        known: real = 0.0
        for i in range(run.rank):
            if i == k:
                break
            known = known + run.factors[at(k, m, i)] * run.solved[i]
        run.solved[k] = (run.turned[k] - known) / run.factors[at(k, m, k)]
    solve_triangle(run)
    set_step(run)


def weakest_pivot(run: Roots) -> real:
    """Return the least pivot, or the cut if the matrix does not have full rank."""
    found: real = run.cut
    if run.rank == run.columns:
        found = INFINITY
        for k in range(run.rank):
            found = min(found, abs(run.factors[at(k, run.rows, k)]))
    return found
