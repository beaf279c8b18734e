"""Singular values of a few rows, in the small language of language.py.

Rows are turned in pairs until all are at right angles; their lengths are then the singular values. That
depends on no library, so that every language finds the same ones.

Source: Hestenes (1958), Inversion of matrices by biorthogonalization, J. SIAM 6, 51–90.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import MOST_SWEEPS, NO_ROW, RIGHT_ANGLE
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def row_square(run: RunRecord, i: whole) -> real:
    """Return the squared length of a row."""
    total: real = 0.0
    for j in range(N_SPEEDS):
        total = total + run.left[at(i, N_SPEEDS, j)] * run.left[at(i, N_SPEEDS, j)]
    return total


def turn_rows(run: RunRecord, first: whole, bound: whole) -> None:
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
