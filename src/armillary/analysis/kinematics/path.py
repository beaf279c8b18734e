"""A mechanism that is followed along a path: the record and the functions of the search.

A row of the path has values of the targets, such as the driven quantities, and of the time. Its position x
satisfies the conditions F(x) = 0: gaps of loops, driven quantities and other conditions of the caller. The
unknowns δ are small motions along the speeds, and other unknowns such as forces, each divided by its size:
x += N δ. From the position of another row, numerics/roots.py either

    follows the root on its branch while the targets move to the values of this row, in steps that are
    halved if this fails, or
    finds any root by damped least squares, or the position at which F is least.

Rows of A = ∂F/∂δ are scaled so that their largest element is one.
"""

from __future__ import annotations

import numpy as np

from armillary.numerics.factors import weakest_pivot
from armillary.numerics.language import Roots
from armillary.numerics.roots import find_root, follow_root, worst_residual
from armillary.solver.language.language import *

# Tables. ENTRY_OF_ROW and ENTRY_OF_DIRECTION: the condition and the direction (unknown) of each entry of A.
# MOVED and ALONG: the element of a position that each entry of N moves, and the direction of this motion.
# UNITS_FROM: the first of each four Euler parameters. STIFF_KIND: 1 for gaps, 2 for other conditions without
# targets, 0, −1, … for conditions with targets, one number for each unit of targets. ORIGIN: the position
# from which each row of the path is searched.
ENTRY_OF_ROW: Wholes = np.zeros(0, dtype=int)
ENTRY_OF_DIRECTION: Wholes = np.zeros(0, dtype=int)
MOVED: Wholes = np.zeros(0, dtype=int)
ALONG: Wholes = np.zeros(0, dtype=int)
UNITS_FROM: Wholes = np.zeros(0, dtype=int)
STIFF_KIND: Wholes = np.zeros(0, dtype=int)
ORIGIN: Wholes = np.zeros(0, dtype=int)


class Follower(Roots):
    t: real
    width: whole  # count of numbers in a position: state and inputs
    count: whole  # rows to be found
    starts: whole  # count of given positions, which stand before the positions of the rows
    targets: whole  # count of targets
    first_target: whole  # index of the first target in a position
    entries: whole  # entries of A that are not always zero
    motions: whole  # entries of N
    quaternions: whole
    descends: truth  # whether to find roots by damped least squares, not by following
    least_share: real  # least share of the way from one row to another
    weak: real  # a position is singular if its least pivot is below this share of its origin's
    weight: real  # weight of conditions without targets, relative to those with targets
    renews: truth  # whether weights are computed anew at each position
    place: Position
    there: Position  # the position after a step
    good: Position  # the last position at which the conditions hold
    figures: Results  # F, entries of A and entries of N at `place`
    figures_there: Results  # the same numbers at `there`
    weights: Sides
    sizes: Steps
    positions: Path
    times: PathReals
    strengths: PathReals  # least pivot of A at each position
    sources: PathNumbers  # the position to continue from: its origin if it was not reached or is singular
    wanted: Targets  # time and targets of each row
    reached: PathReals  # share of the way from its origin that was possible
    left_over: PathReals  # largest residual after damped least squares


def set_weights(run: Follower) -> None:
    """Set the weight of each condition to one over its largest element; targets of one group share a weight.

    The largest element of a gap counts as at least 1e-4 of the largest of all gaps, since rows of gaps may
    vanish while the gaps do not.
    """
    for i in range(run.rows):
        run.weights[i] = 0.0
    for k in range(run.entries):
        own: whole = ENTRY_OF_ROW[k]
        element: real = abs(run.figures[run.rows + k] * run.sizes[ENTRY_OF_DIRECTION[k]])
        run.weights[own] = max(run.weights[own], element)
    largest: real = 0.0
    for i in range(run.rows):
        if STIFF_KIND[i] == 1:
            largest = max(largest, run.weights[i])
        if STIFF_KIND[i] <= 0:
            for j in range(run.rows):
                if STIFF_KIND[i] == STIFF_KIND[j]:
                    run.weights[i] = max(run.weights[i], run.weights[j])
    for i in range(run.rows):
        size: real = max(run.weights[i], 1e-4 * largest) if STIFF_KIND[i] == 1 else run.weights[i]
        run.weights[i] = 1.0 / size if size > 0.0 else 1.0


def look(run: Follower) -> None:
    """Compute the residuals at `place`; if `renews`, with new weights."""
    run.figures = path_figures(run.t, run.place)
    if run.renews:
        set_weights(run)
    for i in range(run.rows):
        run.residual[i] = run.weights[i] * run.figures[i]


def look_there(run: Follower) -> None:
    """Compute the residuals at `there`, the position after a step."""
    run.figures_there = path_figures(run.t, run.there)
    for i in range(run.rows):
        run.missed[i] = run.weights[i] * run.figures_there[i]


def differentiate(run: Follower) -> None:
    """Set the matrix A at `place`."""
    m: whole = run.rows
    for k in range(run.entries):
        own: whole = ENTRY_OF_ROW[k]
        j: whole = ENTRY_OF_DIRECTION[k]
        run.matrix[at(j, m, own)] = run.weights[own] * run.figures[m + k] * run.sizes[j]


def displace(run: Follower) -> None:
    """Compute the position to which a step leads, with Euler parameters of unit length."""
    first: whole = run.rows + run.entries
    run.there = run.place
    for k in range(run.motions):
        own: whole = MOVED[k]
        moved: real = run.figures[first + k] * run.step[ALONG[k]] * run.sizes[ALONG[k]]
        run.there[own] = run.there[own] + moved
    for e in range(run.quaternions):
        total: real = 0.0
        for k in range(UNITS_FROM[e], UNITS_FROM[e] + 4):
            total = total + run.there[k] * run.there[k]
        for k in range(UNITS_FROM[e], UNITS_FROM[e] + 4):
            run.there[k] = run.there[k] / sqrt(total)


def arrive(run: Follower) -> None:
    """Make the position after the step the current `place`."""
    run.place = run.there


def accept(run: Follower) -> None:
    """Make the position after the step the current `place`, and take over its residuals."""
    run.place = run.there
    run.figures = run.figures_there
    run.residual = run.missed


def set_radius(run: Follower) -> None:
    """Set the first trust radius to `longest`, the largest change allowed for one unknown."""
    run.radius = run.longest


def descend_to_row(run: Follower, row: whole) -> truth:
    """Find a root of a row's conditions, or the position with the least residuals; return whether a root was
    found.
    """
    width: whole = run.targets + 1
    here: whole = run.starts + row
    run.t = run.wanted[at(row, width, 0)]
    for k in range(run.targets):
        run.place[run.first_target + k] = run.wanted[at(row, width, k + 1)]
    run.renews = True
    look(run)
    for i in range(run.rows):
        run.weights[i] = run.weights[i] * run.weight if STIFF_KIND[i] > 0 else run.weights[i]
    run.renews = False
    run.most_moves = 300.0
    find_root(run)
    run.left_over[here] = worst_residual(run)
    solved: truth = False
    if run.left_over[here] <= 1e-5:
        run.good = run.place
        run.renews = True
        run.most_moves = 40.0
        solved = follow_root(run)
        if not solved:
            run.place = run.good
    for k in range(run.width):
        run.positions[at(here, run.width, k)] = run.place[k]
    run.times[here] = run.t
    run.reached[here] = 1.0 if solved else 0.0
    return solved


def follow_to_row(run: Follower, row: whole, origin: whole) -> truth:
    """Follow the root while the targets move to those of a row.

    Return whether they arrive at a position that is not much nearer to a singular one than the start.
    """
    width: whole = run.targets + 1
    here: whole = run.starts + row
    start: real = run.times[origin]
    end: real = run.wanted[at(row, width, 0)]
    run.times[here] = start
    run.renews = True
    run.most_moves = 40.0
    reached: real = 0.0
    share: real = 1.0
    found: truth = False
    run.strengths[here] = run.strengths[origin]
    while reached < 1.0 and share >= run.least_share:
        s: real = min(reached + share, 1.0)
        run.place = run.good
        for k in range(run.targets):
            first: real = run.positions[at(origin, run.width, run.first_target + k)]
            last: real = run.wanted[at(row, width, k + 1)]
            run.place[run.first_target + k] = first + s * (last - first) if s < 1.0 else last
        run.t = start + s * (end - start) if s < 1.0 else end
        found = follow_root(run)
        if run.moves > 0.0:
            run.strengths[here] = weakest_pivot(run)
        if found:
            run.good = run.place
            reached = s
            run.times[here] = run.t
        share = 2.0 * share if found else 0.5 * share
    for k in range(run.width):
        run.positions[at(here, run.width, k)] = run.good[k]
    run.reached[here] = reached
    singular: truth = run.strengths[here] < run.weak * run.strengths[origin]
    return reached >= 1.0 and not singular


def follow_rows(run: Follower) -> None:
    """Find a position for every row, from the position of its origin."""
    good: truth = False
    for row in range(run.count):
        origin: whole = run.sources[ORIGIN[row]]
        for k in range(run.width):
            run.good[k] = run.positions[at(origin, run.width, k)]
        run.place = run.good
        if run.descends:
            good = descend_to_row(run, row)
        if not run.descends:
            good = follow_to_row(run, row, origin)
        if not good:
            run.sources[run.starts + row] = origin
