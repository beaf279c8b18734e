"""Square linear equations by Gauss's elimination, in the small language of language.py.

`system` is stored column by column with a stride, so that all inner loops go through memory in order. The
factors replace the matrix, and the solution replaces the right side in `solved`. A pivot is the largest
element of its column, or, with COMPLETE, of all remaining columns. With COMPLETE, if no remaining element is
larger than LEAST_PIVOT times the largest pivot, the remaining unknowns are set to zero, so that redundant
equations need no special case.
"""

from __future__ import annotations

from armillary.numerics.language import *
from armillary.numerics.roots_thresholds import LEAST_PIVOT


class LinearEquations:
    system: Square
    solved: Steps
    exchange: StepNumbers  # rows that were taken as pivots
    if COMPLETE:
        crossing: StepNumbers  # columns that were taken as pivots


def take_column(run: LinearEquations, k: whole, count: whole, stride: whole) -> real:
    """Exchange column k with the remaining column of the largest element; return that element's magnitude."""
    column: whole = k
    largest: real = 0.0
    for j in range(k, count):
        for i in range(k, count):
            if abs(run.system[at(j, stride, i)]) > largest:
                largest = abs(run.system[at(j, stride, i)])
                column = j
    run.crossing[k] = column
    if column != k:
        for i in range(count):
            kept: real = run.system[at(k, stride, i)]
            run.system[at(k, stride, i)] = run.system[at(column, stride, i)]
            run.system[at(column, stride, i)] = kept
    return largest


def eliminate_columns(run: LinearEquations, count: whole, stride: whole) -> None:
    """Factorise the matrix of the first `count` equations, column by column."""
    if COMPLETE:
        strongest: real = 0.0
        size: real = 0.0
    for k in range(count):
        if COMPLETE:
            size = take_column(run, k, count, stride)
            strongest = max(strongest, size)
        pivot: whole = k
        largest: real = abs(run.system[at(k, stride, k)])
        for i in range(k + 1, count):
            if abs(run.system[at(k, stride, i)]) > largest:
                largest = abs(run.system[at(k, stride, i)])
                pivot = i
        run.exchange[k] = pivot
        if pivot != k:
            for j in range(k, count):
                kept: real = run.system[at(j, stride, k)]
                run.system[at(j, stride, k)] = run.system[at(j, stride, pivot)]
                run.system[at(j, stride, pivot)] = kept
        if COMPLETE and not (size > LEAST_PIVOT * strongest):
            for i in range(k, count):
                run.system[at(k, stride, i)] = 0.0
            continue
        inverse: real = 1.0 / run.system[at(k, stride, k)]
        for i in range(k + 1, count):
            run.system[at(k, stride, i)] = run.system[at(k, stride, i)] * inverse
        for j in range(k + 1, count):
            factor: real = run.system[at(j, stride, k)]
            for i in range(k + 1, count):
                place: whole = at(j, stride, i)
                run.system[place] = run.system[place] - factor * run.system[at(k, stride, i)]


def solve_columns(run: LinearEquations, count: whole, stride: whole) -> None:
    """Solve the factorised equations for the right side in `solved`, which the solution replaces."""
    for k in range(count):
        pivot: whole = run.exchange[k]
        value: real = run.solved[pivot]
        run.solved[pivot] = run.solved[k]
        run.solved[k] = value
        for i in range(k + 1, count):
            run.solved[i] = run.solved[i] - value * run.system[at(k, stride, i)]
    for b in range(count):
        before: whole = count - 1 - b + FIRST
        last: whole = before + FIRST
        diagonal: real = run.system[at(last, stride, last)]
        known: real = 0.0
        if COMPLETE:
            if abs(diagonal) > 0.0:
                known = run.solved[last] / diagonal
        else:
            known = run.solved[last] / diagonal
        run.solved[last] = known
        for i in range(before):
            run.solved[i] = run.solved[i] - known * run.system[at(last, stride, i)]
    if COMPLETE:
        for b in range(count):
            back: whole = count - 1 - b + FIRST + FIRST
            column: whole = run.crossing[back]
            found: real = run.solved[back]
            run.solved[back] = run.solved[column]
            run.solved[column] = found
