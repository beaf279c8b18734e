"""The record of a search for an operating point, and its functions.

The conditions c(x) have wanted values and sizes 1/w, and the unknowns have sizes s:

    r = w (c − wanted)        A_ij = w_i C_ij s_j        C = ∂c/∂x

numerics/roots.py finds the unknowns. Other elements of x are fixed. The damped motion q̇ = N u̇, whose point
of rest is a further start of the search, is explained in trim.py.
"""

from __future__ import annotations

import numpy as np

from armillary.numerics.factors import factorise_matrix, set_open_direction, set_step
from armillary.numerics.language import Roots
from armillary.numerics.roots import find_root, has_finite_matrix, step_length
from armillary.solver.language.language import *

ROW_LIST: Wholes = np.zeros(0, dtype=int)  # conditions to be met
UNKNOWN_LIST: Wholes = np.zeros(0, dtype=int)  # columns of the unknowns
IS_ANGLE: Wholes = np.zeros(0, dtype=int)  # 1 for unknowns that are angles
MOVED_LIST: Wholes = np.zeros(0, dtype=int)  # coordinates of the damped motion
CLOSED_LIST: Wholes = np.zeros(0, dtype=int)  # conditions that every position satisfies
FLAT: Wholes = np.zeros(0, dtype=int)  # flat indices in C of the entries that a function computes
DIRECTION_COLUMN: Wholes = np.zeros(0, dtype=int)  # columns of C to be summed, direction after direction
DIRECTION_END: Wholes = np.zeros(0, dtype=int)  # end of each direction in DIRECTION_COLUMN
ENTRY_ROW: Wholes = np.zeros(0, dtype=int)  # rows of the entries, direction after direction
ENTRY_END: Wholes = np.zeros(0, dtype=int)  # end of each direction in ENTRY_ROW


class Search(Roots):
    t: real
    width: whole  # columns of C: states and inputs
    entries: whole  # count of entries of C that are not always zero, if C is written out
    directions: whole  # count of directions of differentiation; 0 if C is written out
    angles_known: truth  # whether it is known which unknowns are angles
    x: Position
    there: Position  # x after a step
    c: Conditions
    out: Results
    slopes: ConditionSlopes  # C
    wanted: Sides
    weights: Sides
    shares: Steps  # part of each unknown along directions that the conditions leave open
    # The damped motion.
    moved: whole  # count of coordinates that move
    closed: whole  # count of conditions that every position satisfies
    first_speed: whole
    speeds: whole
    rates: Steps
    motion: Square  # derivatives of the rates by the coordinates
    found: truth  # whether the motion stays finite


def look(run: Search) -> None:
    """Find the residuals at x."""
    run.c = condition_values(run.t, run.x)
    for i in range(run.rows):
        run.residual[i] = (run.c[ROW_LIST[i]] - run.wanted[i]) * run.weights[i]


def look_there(run: Search) -> None:
    """Find the residuals after a step."""
    run.c = condition_values(run.t, run.there)
    for i in range(run.rows):
        run.missed[i] = (run.c[ROW_LIST[i]] - run.wanted[i]) * run.weights[i]


def find_slopes(run: Search) -> None:
    """Find C at x: all entries in one call, or a sum of columns in one call for each direction."""
    if run.directions == 0:
        run.out = condition_slopes(run.t, run.x)
        for k in range(run.entries):
            run.slopes[FLAT[k]] = run.out[k]
    column: whole = 0
    entry: whole = 0
    for d in range(run.directions):
        for j in range(column, DIRECTION_END[d]):
            run.x[run.width + DIRECTION_COLUMN[j]] = 1.0
        run.out = condition_slopes(run.t, run.x)
        for j in range(column, DIRECTION_END[d]):
            run.x[run.width + DIRECTION_COLUMN[j]] = 0.0
        for e in range(entry, ENTRY_END[d]):
            run.slopes[FLAT[e]] = run.out[ENTRY_ROW[e]]
        column = DIRECTION_END[d]
        entry = ENTRY_END[d]


def differentiate(run: Search) -> None:
    """Set A from the conditions to be met and the unknowns."""
    find_slopes(run)
    m: whole = run.rows
    for j in range(run.columns):
        for i in range(m):
            slope: real = run.slopes[at(ROW_LIST[i], run.width, UNKNOWN_LIST[j])]
            run.matrix[at(j, m, i)] = slope * run.weights[i] * run.sizes[j]


def displace(run: Search) -> None:
    """Set the unknowns to their values after a step."""
    run.there = run.x
    for j in range(run.columns):
        run.there[UNKNOWN_LIST[j]] = run.goal[j]


def accept(run: Search) -> None:
    """Take the point after the step as x, with its unknowns and residuals."""
    run.x = run.there
    run.value = run.goal
    run.residual = run.missed


def set_radius(run: Search) -> None:
    """Set the first trust radius: the length of a step by each unknown's size, or of a longer first step.

    A first step that turns an angle by more than a radian does not enlarge the radius: the size of an angle
    is known, while all other sizes are guesses.
    """
    run.radius = sqrt(float(run.columns))
    turn: real = 0.0
    for j in range(run.columns):
        if IS_ANGLE[j] != 0:
            turn = max(turn, abs(run.step[j]))
    if run.angles_known and turn <= 1.0:
        run.radius = max(run.radius, 1.01 * step_length(run))


def find_point(run: Search) -> None:
    """Move the unknowns to a root, or to the point with the least residuals."""
    for j in range(run.columns):
        run.value[j] = min(max(run.x[UNKNOWN_LIST[j]], run.low[j]), run.high[j])
        run.x[UNKNOWN_LIST[j]] = run.value[j]
    find_root(run)


def find_shares(run: Search) -> None:
    """Find C at x, and the share of each unknown in directions that the conditions leave open."""
    differentiate(run)
    for j in range(run.columns):
        run.shares[j] = 0.0
    if has_finite_matrix(run):
        for i in range(run.rows):
            run.residual[i] = 0.0
        factorise_matrix(run)
        for k in range(run.rank, run.columns):
            set_open_direction(run, k)
            for j in range(run.columns):
                run.shares[j] = run.shares[j] + run.step[j] * run.step[j]
    for j in range(run.columns):
        run.shares[j] = sqrt(run.shares[j])


def find_rates(run: Search) -> real:
    """Find the rates q̇ = N u̇ of the damped motion; return the largest, or NaN if one is NaN."""
    run.c = condition_values(run.t, run.x)
    find_slopes(run)
    largest: real = 0.0
    for i in range(run.moved):
        total: real = 0.0
        for s in range(run.first_speed, run.first_speed + run.speeds):
            total = total + run.slopes[at(MOVED_LIST[i], run.width, s)] * run.c[s]
        run.rates[i] = total
        if abs(total) > largest or isnan(total):
            largest = abs(total)
    return largest


def differentiate_motion(run: Search) -> None:
    """Find the derivatives of the rates by the coordinates."""
    for j in range(run.moved):
        for i in range(run.moved):
            total: real = 0.0
            for s in range(run.first_speed, run.first_speed + run.speeds):
                row: real = run.slopes[at(MOVED_LIST[i], run.width, s)]
                total = total + row * run.slopes[at(s, run.width, MOVED_LIST[j])]
            run.motion[at(j, run.moved, i)] = total


def set_motion_step(run: Search, duration: real) -> None:
    """Set an implicit Euler step of the damped motion, with loops closed."""
    n: whole = run.moved
    for j in range(n):
        for i in range(n):
            run.matrix[at(j, run.rows, i)] = -run.motion[at(j, n, i)]
        own: whole = at(j, run.rows, j)
        run.matrix[own] = run.matrix[own] + 1.0 / duration
        for i in range(run.closed):
            run.matrix[at(j, run.rows, n + i)] = run.slopes[at(CLOSED_LIST[i], run.width, MOVED_LIST[j])]
    for i in range(n):
        run.residual[i] = -run.rates[i]
    for i in range(run.closed):
        run.residual[n + i] = run.c[CLOSED_LIST[i]]
    factorise_matrix(run)
    set_step(run)


def find_rest(run: Search) -> None:
    """Move x to the point at which the damped motion comes to rest; see trim.py."""
    duration: real = 0.0
    last: real = 0.0
    size: real = 0.0
    turn: real = 0.0
    run.found = True
    while turn < run.most_moves:
        turn = turn + 1.0
        size = find_rates(run)
        if not (size < INFINITY):
            run.found = False
            break
        fastest: real = 0.0
        for s in range(run.first_speed, run.first_speed + run.speeds):
            fastest = max(fastest, abs(run.c[s]))
        if size <= 1e-9 * (1.0 + fastest) or size <= 0.0:
            break
        fast: real = 0.0
        for i in range(run.moved):
            fast = max(fast, abs(run.rates[i]) / run.sizes[i])
        growth: real = min(max(last / size, 1.0), 2.0)
        duration = duration * growth if duration > 0.0 else 0.1 / fast
        last = size
        differentiate_motion(run)
        tries: real = 0.0
        while tries < 20.0:  # a long step of an unstable motion would lead backwards
            tries = tries + 1.0
            set_motion_step(run, duration)
            along: real = 0.0
            for i in range(run.moved):
                along = along + run.step[i] * run.rates[i]
            if along > 0.0 or tries >= 20.0:
                break
            duration = 0.25 * duration
        largest: real = 1e-300
        for i in range(run.moved):
            part: real = abs(run.step[i]) / run.sizes[i]
            if part > largest or isnan(part):
                largest = part
        if not (largest < INFINITY):
            run.found = False
            break
        share: real = min(1.0, 0.5 / largest)
        for i in range(run.moved):
            run.x[MOVED_LIST[i]] = run.x[MOVED_LIST[i]] + run.step[i] * share
