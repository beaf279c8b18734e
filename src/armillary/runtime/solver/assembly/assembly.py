"""Loops closed at the start of a run, in the language of language.py.

A correction of the coordinates is a small motion, q += N δ with q̇ = N u, so it has the constraints' own
matrix: J δ = −Φ, with N δ = 0 for coordinates that are held. numerics/roots.py finds it, with the shortest δ
among those speeds that may move, or the smallest gaps where they cannot be closed. Rows and motions are in
terms of their sizes (mechanics/constraints/loop_closing.py), so that no norm adds lengths to angles.

Given values stay unchanged; dependent values are found. Attempts have more and more freedom: the dependent
coordinates; all that the loops depend on; these from scattered starts. Only where more is given than the
loops leave free are given coordinates first guesses, which decide in what way a loop is closed.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import *
from armillary.numerics.factors import rank_of_matrix
from armillary.numerics.roots import find_root
from armillary.numerics.roots_thresholds import FIRST_CHANCE
from armillary.numerics.scatter import draw
from armillary.runtime.solver.assembly.assembly_record import Loops
from armillary.runtime.solver.assembly.loop_geometry import (
    count_equations,
    differentiate,
    displace,
    gap_length,
    look,
    make_unit,
    some_place_is_free,
    some_speed_moves,
    worst_residual,
)
from armillary.runtime.solver.assembly.speed_agreement import stays_redundant
from armillary.runtime.solver.language.language import *


def set_limits(run: Loops, stiffness: real, cut: real, least_cut: real, moves: real) -> None:
    """Set the limits of a search."""
    count_equations(run)
    run.stiffness = stiffness
    run.cut = cut
    run.least_cut = least_cut
    run.most_moves = moves
    run.longest = LONGEST_STEP
    run.exact = EXACT_LOOP
    run.met = CLOSED_LOOP


def close_from(run: Loops) -> real:
    """Make the gaps as small as they can be from the place; return the worst that is left."""
    set_limits(run, 1.0, WEAK_FIRST, WEAK_LAST, NEWTON_TURNS)
    if some_speed_moves(run):
        find_root(run)
    else:
        look(run)
    return worst_residual(run)


def keep_best(run: Loops) -> None:
    """The place with the smallest gaps so far."""
    size: real = gap_length(run)
    if size < run.least:
        run.best = run.place
        run.least = size


def approach(run: Loops) -> None:
    """Find the smallest gaps near the place."""
    set_limits(run, STIFF, EPSILON, EPSILON, DAMPED_TURNS)
    if some_speed_moves(run):
        find_root(run)
    else:
        look(run)


def measure_gaps(run: Loops) -> None:
    """Convert each remaining gap to its own unit; a closed gap becomes 0."""
    shown: real = CLOSED_LOOP
    for i in range(N_GAPS):
        shown = max(shown, SHOWN_GAP * abs(run.numbers[i]))
    for i in range(N_GAPS):
        left: real = run.numbers[i] * run.numbers[AT_SIZES + i]
        run.numbers[i] = left if abs(run.numbers[i]) > shown else 0.0


def measure_reach(run: Loops) -> None:
    """The change of each coordinate by a unit of the most effective speed, at the start."""
    run.place = run.start
    look(run)
    for k in range(N_COORDINATES):
        own: real = 0.0
        for j in range(N_SPEEDS):
            own = max(own, abs(run.rates[at(k, N_SPEEDS, j)]))
        run.reach[k] = own if own > 0.0 else 1.0


def search_elsewhere(run: Loops) -> truth:
    """Search from scattered starts: of the closed places that the nearest group of starts leads to, take the
    one nearest to the start. Return whether there is one.
    """
    if not some_speed_moves(run):
        return False
    measure_reach(run)
    run.seed = FIRST_CHANCE
    shortest: real = INFINITY
    tried: real = NEAR_REACH
    worst: real = 0.0
    turn: real = 0.0
    while turn < SCATTERED:
        reach: real = MIDDLE_REACH if turn < MIDDLE_STARTS else FAR_REACH
        if turn < NEAR_STARTS:
            reach = NEAR_REACH
        if reach > tried and shortest < INFINITY:
            break  # starts further away hardly lead to nearer places
        tried = reach
        turn = turn + 1.0
        run.place = run.start
        look(run)
        for j in range(N_SPEEDS):
            run.step[j] = 0.0
            if run.moving[j]:
                draw(run)
                run.step[j] = reach * run.chance
        displace(run)
        run.place = run.moved
        worst = close_from(run)
        if worst <= CLOSED_LOOP:
            apart: real = 0.0
            for k in range(N_COORDINATES):
                part: real = (run.place[k] - run.start[k]) / run.reach[k]
                apart = apart + part * part
            if apart < shortest:
                shortest = apart
                run.found = run.place
        else:
            keep_best(run)
    return shortest < INFINITY


def clear_rows(run: Loops, first: whole, bound: whole) -> None:
    """Take some rows out of the matrix."""
    for j in range(run.columns):
        for i in range(first, bound):
            run.matrix[at(j, run.rows, i)] = 0.0


def too_many_given(run: Loops) -> truth:
    """Return whether more is given than the loops leave free, wherever they are."""
    measure_reach(run)
    set_limits(run, 1.0, WEAK_FIRST, WEAK_LAST, NEWTON_TURNS)
    run.seed = FIRST_CHANCE
    for j in range(N_SPEEDS):
        run.moving[j] = True
    together: whole = 0
    of_loops: whole = 0
    of_given: whole = 0
    turn: real = 0.0
    while turn < 3.0:
        turn = turn + 1.0
        for k in range(N_COORDINATES):
            draw(run)
            run.moved[k] = run.start[k] + run.reach[k] * (NEAR_REACH * run.chance)
        if UNITS:
            make_unit(run)
        run.place = run.moved
        look(run)
        differentiate(run)
        together = rank_of_matrix(run, FREE_ROW)
        clear_rows(run, FIRST, N_GAPS)
        of_given = rank_of_matrix(run, FREE_ROW)
        differentiate(run)
        clear_rows(run, N_GAPS + FIRST, run.rows)
        of_loops = rank_of_matrix(run, FREE_ROW)
        if of_loops + of_given <= together:
            return False
    return True


def attempt(run: Loops, first_try: truth) -> truth:
    """Return the loops closed from the start by dependent speeds, or by all; whether they are closed."""
    free: truth = False
    free = some_place_is_free(run)
    for j in range(N_SPEEDS):
        if CONFIGURATIONS:
            first: truth = DEPENDENT[at(run.present, N_SPEEDS, j)]
            run.moving[j] = first if first_try else HOLDING[at(run.present, N_SPEEDS, j)]
        else:
            run.moving[j] = DEPENDENT[j] if first_try else HOLDING[j]
        run.moving[j] = run.moving[j] and free
    run.place = run.start
    worst: real = 0.0
    worst = close_from(run)
    if worst <= CLOSED_LOOP:
        return True
    keep_best(run)
    return False


def find_place(run: Loops) -> truth:
    """Coordinates that close all loops; whether there are some."""
    closed: truth = False
    closed = attempt(run, True)
    if closed:
        return True
    closed = attempt(run, False)
    if closed:
        return True
    closed = search_elsewhere(run)
    if closed:
        run.place = run.found
        return True
    free: truth = False
    free = some_place_is_free(run)
    too_many: truth = True
    if free:
        too_many = too_many_given(run)
    if too_many:
        run.least = 0.0  # the best place is one with all that is given
        for k in range(N_COORDINATES):
            run.held[k] = False
        closed = attempt(run, True)
        for k in range(N_COORDINATES):
            run.held[k] = run.given[k]
    return closed


def close_loops(run: Loops) -> None:
    """Close the loops from the start, with the given coordinates unchanged."""
    for k in range(N_COORDINATES):
        run.held[k] = run.given[k]
    for m in range(N_JACOBIAN):
        run.jacobian[m] = 0.0
    for m in range(N_RATE_PLACES):
        run.rates[m] = 0.0
    run.best = run.start
    run.least = INFINITY
    run.status = CLOSED
    closed: truth = False
    closed = find_place(run)
    if not closed:
        run.status = OPEN
        for j in range(N_SPEEDS):
            if CONFIGURATIONS:
                run.moving[j] = HOLDING[at(run.present, N_SPEEDS, j)]
            else:
                run.moving[j] = HOLDING[j]
        run.place = run.best
        approach(run)
        measure_gaps(run)
    if REDUNDANT and closed:
        closed = stays_redundant(run)
        if not closed:
            run.status = NOT_REDUNDANT


def make_start_unit(run: Loops) -> None:
    """Euler parameters of the start, made unit."""
    run.moved = run.start
    make_unit(run)
    run.start = run.moved
