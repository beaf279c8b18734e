"""Loops closed at the start of a run, in the language of language.py.

A correction of the coordinates is a small motion, q += N δ with q̇ = N u, so it has the constraints' own
matrix: J δ = −Φ. Gauss and Newton's method, with the shortest δ among those speeds that may move. Rows and
motions are in terms of their sizes (mechanics/constraints/loop_closing.py), so that no norm adds lengths
to angles. Where gaps cannot be closed, damped steps lead to the smallest ones: δ = −(JᵀJ + λ)⁻¹ Jᵀ Φ.

Given values stay unchanged; dependent values are found. Attempts have more and more freedom: the dependent
coordinates; all that the loops depend on; these from scattered starts. Only where more is given than the
loops leave free are given coordinates first guesses, which decide in what way a loop is closed.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import *
from armillary.runtime.solver.assembly.assembly_record import Loops
from armillary.runtime.solver.assembly.least_squares import rank_of_rows, row_square, solve_rows, solve_turned
from armillary.runtime.solver.assembly.loop_geometry import (
    accept,
    displace,
    gap_length,
    gap_length_there,
    is_number,
    look,
    make_unit,
    some_place_is_free,
    some_speed_moves,
    worst_gap,
)
from armillary.runtime.solver.assembly.speed_agreement import stays_redundant
from armillary.runtime.solver.language.language import *


def set_equations(run: Loops, weight: real) -> None:
    """Set J d = -gap for speeds that may move, and N d = 0 with this weight for coordinates that are held."""
    largest: real = 0.0
    for i in range(N_GAPS):
        for j in range(N_SPEEDS):
            value: real = run.jacobian[at(i, N_SPEEDS, j)] if run.moving[j] else 0.0
            run.left[at(i, N_SPEEDS, j)] = value
            largest = max(largest, abs(value))
        run.right[i] = -run.numbers[i]
    run.active = N_GAPS
    row: whole = N_GAPS + FIRST
    for k in range(N_COORDINATES):
        own: real = 0.0
        for j in range(N_SPEEDS):
            if run.moving[j] and run.held[k]:
                own = max(own, abs(run.rates[at(k, N_SPEEDS, j)]))
        if own > 0.0:
            for j in range(N_SPEEDS):
                share: real = weight * largest / own if run.moving[j] else 0.0
                run.left[at(row, N_SPEEDS, j)] = run.rates[at(k, N_SPEEDS, j)] * share
            run.right[row] = 0.0
            row = row + 1
            run.active = run.active + 1


def limit_step(run: Loops) -> None:
    """A step that is not longer than a model may be bent."""
    longest: real = 1e-300
    for j in range(N_SPEEDS):
        longest = max(longest, abs(run.step[j]))
    if longest > LONGEST_STEP:
        for j in range(N_SPEEDS):
            run.step[j] = run.step[j] * (LONGEST_STEP / longest)


def take_step(run: Loops) -> truth:
    """The longest of several shares of a step that makes the gaps smaller; whether one does."""
    before: real = gap_length(run)
    tried: real = 0.0
    while tried < HALVINGS:
        tried = tried + 1.0
        displace(run)
        run.there = loop_figures(run.t, run.moved)
        if gap_length_there(run) < before:
            accept(run)
            return True
        for j in range(N_SPEEDS):
            run.step[j] = 0.5 * run.step[j]
    return False


def close_from(run: Loops) -> real:
    """The gaps made smaller by Gauss and Newton's method, as far as they can be; the worst that is left."""
    look(run)
    worst: real = 0.0
    worst = worst_gap(run)
    weak: real = WEAK_FIRST
    turn: real = 0.0
    smaller: truth = False
    while turn < NEWTON_TURNS and some_speed_moves(run):
        turn = turn + 1.0
        if worst <= EXACT_LOOP or not is_number(run):
            break
        set_equations(run, 1.0)
        solve_rows(run, weak)
        limit_step(run)
        before: real = gap_length(run)
        smaller = take_step(run)
        worst = worst_gap(run)
        slow: truth = not smaller or gap_length(run) > STALLED * before
        if slow and weak > WEAK_LAST:
            weak = WEAK_LAST if weak < WEAK_FIRST else WEAK_SECOND
        elif not smaller:
            break
    return worst


def keep_best(run: Loops) -> None:
    """The place with the smallest gaps so far."""
    size: real = gap_length(run)
    if size < run.least:
        run.best = run.place
        run.least = size


def approach(run: Loops) -> None:
    """The smallest gaps near the place, by damped steps (Marquardt 1963, SIAM J. Appl. Math. 11)."""
    look(run)
    damping: real = 1e-3
    turn: real = 0.0
    while turn < DAMPED_TURNS and damping <= 1e15:
        turn = turn + 1.0
        if not is_number(run) or not some_speed_moves(run):
            break
        set_equations(run, STIFF)
        size: real = 0.0
        for i in range(N_GAPS):
            size = max(size, row_square(run, i))
        solve_turned(run, 0.0, damping * size + 1e-300)
        displace(run)
        run.there = loop_figures(run.t, run.moved)
        if gap_length_there(run) < gap_length(run):
            accept(run)
            damping = max(damping / 3.0, 1e-15)
        else:
            damping = 2.0 * damping


def measure_gaps(run: Loops) -> None:
    """Convert each remaining gap to its own unit; a closed gap becomes 0."""
    shown: real = CLOSED_LOOP
    for i in range(N_GAPS):
        shown = max(shown, SHOWN_GAP * abs(run.numbers[i]))
    for i in range(N_GAPS):
        left: real = run.numbers[i] * run.numbers[AT_SIZES + i]
        run.numbers[i] = left if abs(run.numbers[i]) > shown else 0.0


def draw(run: Loops) -> None:
    """A number between -1 and 1 by chance; all products are exact (Park and Miller 1988, CACM 31)."""
    product: real = CHANCE_FACTOR * run.seed
    run.seed = product - CHANCE_MODULUS * floor(product / CHANCE_MODULUS)
    run.chance = 2.0 * (run.seed / CHANCE_MODULUS) - 1.0


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


def too_many_given(run: Loops) -> truth:
    """Whether more is given than the loops leave free, wherever they are."""
    measure_reach(run)
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
        set_equations(run, 1.0)
        together = rank_of_rows(run, FIRST, run.active, FREE_ROW)
        set_equations(run, 1.0)
        of_loops = rank_of_rows(run, FIRST, N_GAPS, FREE_ROW)
        of_given = rank_of_rows(run, N_GAPS + FIRST, run.active, FREE_ROW)
        if of_loops + of_given <= together:
            return False
    return True


def attempt(run: Loops, first_try: truth) -> truth:
    """The loops closed from the start by dependent speeds, or by all; whether they are closed."""
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
