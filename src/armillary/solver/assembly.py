"""Closing of kinematic loops at the start of a run, in the language of language.py.

The record also has the fields of numerics/language.py. The functions come in this order: the geometry of
loops (gaps Φ, J and N) and small displacements of the coordinates; a check of redundant constraints, and the
least change δ of the speeds that satisfies the constraints, J (u + δ) + b = 0; the closing of loops.

A correction of the coordinates is a small motion, q += N δ with q̇ = N u, so its equations have the matrix of
the constraints: J δ = −Φ, with N δ = 0 for coordinates that are held. numerics/roots.py finds the shortest δ
of the speeds that may move, or the smallest gaps if the gaps cannot be closed. Rows and motions are divided
by their sizes (mechanics/constraints/loop_closing.py), so that no norm adds lengths to angles.

Given coordinates stay unchanged; the others are found. Each attempt has more freedom than the one before: in
the first only the dependent speeds move, in the second all speeds on which the loops depend, and in the third
the same speeds from scattered starts. If more coordinates are given than the loops leave free, a last attempt
takes the given ones as first guesses, which only select the branch in which a loop is closed.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import *
from armillary.numerics.factors import factorise_matrix, rank_of_matrix, set_step
from armillary.numerics.language import Roots
from armillary.numerics.roots import find_root
from armillary.numerics.roots_thresholds import FIRST_CHANCE
from armillary.numerics.scatter import Scatter, draw
from armillary.solver.language.language import *


class Loops(Roots, Scatter):
    t: real
    start: Places  # initial coordinates
    given: PlaceFlags  # coordinates that must not change
    place: Places  # present coordinates; at the end, the result
    status: whole
    held: PlaceFlags  # coordinates that this attempt keeps
    tied: PlaceFlags  # held coordinates that the moving speeds would change
    moving: SpeedFlags  # speeds that may move in this attempt
    stiffness: real  # weight of the equations of held coordinates
    numbers: Figures  # gaps, elements of J and N and sizes of gaps at `place`
    there: Figures  # the same numbers at `moved`
    jacobian: Jacobian
    rates: Rates
    moved: Places  # coordinates after a trial step
    # Results of the attempts so far.
    best: Places  # coordinates with the smallest gaps
    least: real  # length of the gaps at `best`
    found: Places  # coordinates with closed loops, nearest to the start
    reach: Places  # motion of each coordinate by a unit of its most effective speed
    seed: real  # seed of the random numbers
    chance: real
    if CONFIGURATIONS:
        present: whole  # number of the configuration, which decides which speeds may move
    if AGREEMENT:
        speed: Speeds  # speeds divided by their sizes
        change: Speeds  # changes of these speeds
        fixed: SpeedFlags  # speeds that must not change
        broken: RowReals  # residuals of the constraints on speeds


def spread_figures(run: Loops) -> None:
    """Write J and N from their elements."""
    for e in range(N_ELEMENTS):
        run.jacobian[at(ELEMENT_ROW[e], N_SPEEDS, ELEMENT_SPEED[e])] = run.numbers[AT_JACOBIAN + e]
    for e in range(N_RATES):
        run.rates[at(RATE_PLACE[e], N_SPEEDS, RATE_SPEED[e])] = run.numbers[AT_RATES + e]


def look(run: Loops) -> None:
    """Compute the figures of the constraints (gaps, elements of J and N) at the present coordinates."""
    run.numbers = loop_figures(run.t, run.place)
    spread_figures(run)
    for i in range(run.rows):
        run.residual[i] = 0.0  # rows of held coordinates have no gap
    for i in range(N_GAPS):
        run.residual[i] = run.numbers[i]


def look_there(run: Loops) -> None:
    """Compute the figures of the constraints at the coordinates after a trial step."""
    run.there = loop_figures(run.t, run.moved)
    for i in range(run.rows):
        run.missed[i] = 0.0
    for i in range(N_GAPS):
        run.missed[i] = run.there[i]


def gap_length(run: Loops) -> real:
    """Return the length of the vector of gaps."""
    total: real = 0.0
    for i in range(N_GAPS):
        total = total + run.numbers[i] * run.numbers[i]
    return sqrt(total)


def worst_residual(run: Loops) -> real:
    """Return the largest gap. Each gap is divided by the largest element of its row of J, which is the change
    of the gap by a unit of the most effective speed.
    """
    largest: real = 0.0
    for i in range(N_GAPS):
        for j in range(N_SPEEDS):
            largest = max(largest, abs(run.jacobian[at(i, N_SPEEDS, j)]))
    worst: real = 0.0
    for i in range(N_GAPS):
        size: real = LEAST_SIZE * largest  # near singular configurations rows vanish, but gaps do not
        for j in range(N_SPEEDS):
            size = max(size, abs(run.jacobian[at(i, N_SPEEDS, j)]))
        part: real = abs(run.numbers[i])
        if size > 0.0:
            part = part / size
        if part > worst or isnan(part):
            worst = part
    return worst


def some_speed_moves(run: Loops) -> truth:
    """Return whether any speed may move."""
    found: truth = False
    for j in range(N_SPEEDS):
        found = found or run.moving[j]
    return found


def some_place_is_free(run: Loops) -> truth:
    """Return whether any coordinate is not held; otherwise no step moves anything."""
    found: truth = False
    for k in range(N_COORDINATES):
        found = found or not run.held[k]
    return found


def make_unit(run: Loops) -> None:
    """Scale the Euler parameters of the moved coordinates to unit length."""
    for e in range(N_UNITS):
        first: whole = UNIT_FROM[e]
        total: real = run.moved[first] * run.moved[first]
        total = total + run.moved[first + 1] * run.moved[first + 1]
        total = total + run.moved[first + 2] * run.moved[first + 2]
        total = sqrt(total + run.moved[first + 3] * run.moved[first + 3])
        run.moved[first] = run.moved[first] / total
        run.moved[first + 1] = run.moved[first + 1] / total
        run.moved[first + 2] = run.moved[first + 2] / total
        run.moved[first + 3] = run.moved[first + 3] / total


def displace(run: Loops) -> None:
    """Compute the coordinates after a small motion; held coordinates stay."""
    run.moved = run.place
    column: whole = FIRST
    for j in range(N_SPEEDS):
        if run.moving[j]:
            for k in range(N_COORDINATES):
                run.moved[k] = run.moved[k] + run.rates[at(k, N_SPEEDS, j)] * run.step[column]
            column = column + 1
    if UNITS:
        make_unit(run)
    for k in range(N_COORDINATES):
        if run.held[k]:  # a step along the tangent changes held coordinates only in second order
            run.moved[k] = run.place[k]


def accept(run: Loops) -> None:
    """Make the moved coordinates the present ones, with their figures and residuals."""
    run.place = run.moved
    run.numbers = run.there
    run.residual = run.missed
    spread_figures(run)


def set_radius(run: Loops) -> None:
    """Set the first limit of the step length: none, or LONGEST_STEP if held coordinates have more weight than
    the gaps.
    """
    run.radius = INFINITY if run.stiffness <= 1.0 else LONGEST_STEP


def differentiate(run: Loops) -> None:
    """Set the matrix: J for speeds that may move, and N with a weight for coordinates that are held."""
    largest: real = 0.0
    column: whole = FIRST
    for j in range(N_SPEEDS):
        if run.moving[j]:
            for i in range(N_GAPS):
                value: real = run.jacobian[at(i, N_SPEEDS, j)]
                run.matrix[at(column, run.rows, i)] = value
                largest = max(largest, abs(value))
            column = column + 1
    row: whole = N_GAPS + FIRST
    for k in range(N_COORDINATES):
        if run.tied[k]:
            own: real = 0.0
            for j in range(N_SPEEDS):
                if run.moving[j]:
                    own = max(own, abs(run.rates[at(k, N_SPEEDS, j)]))
            share: real = 0.0
            if own > 0.0:
                share = run.stiffness * largest / own
            column = FIRST
            for j in range(N_SPEEDS):
                if run.moving[j]:
                    run.matrix[at(column, run.rows, row)] = run.rates[at(k, N_SPEEDS, j)] * share
                    column = column + 1
            row = row + 1


def count_moving(run: Loops) -> None:
    """Count the speeds that may move: each has a column."""
    run.columns = 0
    for j in range(N_SPEEDS):
        if run.moving[j]:
            run.columns = run.columns + 1


def count_equations(run: Loops) -> None:
    """Count the equations (gaps and tied coordinates) and the unknowns (speeds that may move)."""
    count_moving(run)
    run.rows = N_GAPS
    for k in range(N_COORDINATES):
        run.tied[k] = False
    for e in range(N_RATES):
        place: whole = RATE_PLACE[e]
        if run.moving[RATE_SPEED[e]] and run.held[place] and not run.tied[place]:
            run.tied[place] = True
            run.rows = run.rows + 1


def set_scaled_rows(run: Loops, all_rows: truth) -> None:
    """Set the matrix to J, with all rows or only those that are not redundant; divide its columns by their
    largest elements.
    """
    largest: real = 0.0
    for m in range(N_JACOBIAN):
        largest = max(largest, abs(run.jacobian[m]))
    run.rows = N_ROWS
    run.columns = N_SPEEDS
    for j in range(N_SPEEDS):
        own: real = 0.0
        for i in range(N_ROWS):
            own = max(own, abs(run.jacobian[at(i, N_SPEEDS, j)]))
        if own <= NEW_ROW * largest:
            own = 1.0
        for i in range(N_ROWS):
            kept: truth = all_rows or IS_KEPT[i]
            run.matrix[at(j, N_ROWS, i)] = run.jacobian[at(i, N_SPEEDS, j)] / own if kept else 0.0


def stays_redundant(run: Loops) -> truth:
    """Return whether constraints that are redundant at the default parameters still are at these ones.

    The numbers of the present position must be known.
    """
    every: whole = 0
    kept: whole = 0
    set_scaled_rows(run, True)
    every = rank_of_matrix(run, NEW_ROW)
    set_scaled_rows(run, False)
    kept = rank_of_matrix(run, NEW_ROW)
    return every <= kept


def measure_residual(run: Loops) -> real:
    """Write the residuals of the constraints on speeds, J u + b; return the largest."""
    largest: real = 0.0
    for i in range(N_ROWS):
        total: real = run.numbers[KNOWN_OF[i]]
        for j in range(N_SPEEDS):
            total = total + run.jacobian[at(i, N_SPEEDS, j)] * (run.speed[j] + run.change[j])
        run.broken[i] = total
        if abs(total) > largest or isnan(total):
            largest = abs(total)
    return largest


def constraints_hold(run: Loops) -> truth:
    """Return whether all constraints hold at these coordinates and speeds to the tolerance of a run."""
    scale: real = 1.0
    look(run)
    for j in range(N_SPEEDS):
        run.change[j] = 0.0
        scale = max(scale, 1.0 + abs(run.speed[j]))
    worst: real = 0.0
    worst = measure_residual(run)
    worst = worst / scale
    for i in range(N_GAPS):
        if abs(run.numbers[i]) > worst or isnan(run.numbers[i]):
            worst = abs(run.numbers[i])
    return worst < BROKEN


def adjust_speeds(run: Loops, first_try: truth) -> truth:
    """Find the smallest change of the dependent speeds, or in the second attempt of all speeds on which the
    constraints depend, that satisfies the constraints; return whether there is one.
    """
    scale: real = 1.0
    for j in range(N_SPEEDS):
        run.change[j] = 0.0
        run.moving[j] = DEPENDENT_SPEED[j] if first_try else HOLDING_SPEED[j]
        run.moving[j] = run.moving[j] and not run.fixed[j]
        scale = max(scale, 1.0 + abs(run.speed[j]))
    worst: real = 0.0
    worst = measure_residual(run)
    turn: real = 0.0  # the second turn removes the rounding error of the first
    while turn < 2.0 and some_speed_moves(run) and worst > 4.0 * EPSILON * scale:
        turn = turn + 1.0
        run.rows = N_ROWS
        count_moving(run)
        run.cut = WEAK_LAST
        column: whole = FIRST
        for j in range(N_SPEEDS):
            if run.moving[j]:
                for i in range(N_ROWS):
                    run.matrix[at(column, N_ROWS, i)] = run.jacobian[at(i, N_SPEEDS, j)]
                column = column + 1
        for i in range(N_ROWS):
            run.residual[i] = run.broken[i]
        factorise_matrix(run)
        set_step(run)
        column = FIRST
        for j in range(N_SPEEDS):
            if run.moving[j]:
                run.change[j] = run.change[j] + run.step[column]
                column = column + 1
        worst = measure_residual(run)
    return worst <= AGREEING * scale


def agree_speeds(run: Loops) -> None:
    """Find speeds that satisfy all constraints at the present coordinates, whose figures are known; fixed
    speeds stay unchanged.
    """
    agreed: truth = False
    agreed = adjust_speeds(run, True)
    if not agreed:
        agreed = adjust_speeds(run, False)
    if not agreed:
        run.status = CONTRADICTED


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
    """Close the gaps as far as possible from these coordinates; return the largest remaining gap."""
    set_limits(run, 1.0, WEAK_FIRST, WEAK_LAST, NEWTON_TURNS)
    if some_speed_moves(run):
        find_root(run)
    else:
        look(run)
    return worst_residual(run)


def keep_best(run: Loops) -> None:
    """Keep the coordinates if their gaps are the smallest so far."""
    size: real = gap_length(run)
    if size < run.least:
        run.best = run.place
        run.least = size


def approach(run: Loops) -> None:
    """Find the coordinates with the smallest gaps near the present ones."""
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
    """Find how far a unit of the most effective speed moves each coordinate at the start."""
    run.place = run.start
    look(run)
    for k in range(N_COORDINATES):
        own: real = 0.0
        for j in range(N_SPEEDS):
            own = max(own, abs(run.rates[at(k, N_SPEEDS, j)]))
        run.reach[k] = own if own > 0.0 else 1.0


def search_elsewhere(run: Loops) -> truth:
    """Search from scattered starts, the nearest group first. Of the closed positions found from one group,
    take the one nearest to the start; return whether there is any.
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
            break  # starts further away hardly lead to nearer positions
        tried = reach
        turn = turn + 1.0
        run.place = run.start
        look(run)
        count_moving(run)
        for j in range(run.columns):
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
    """Set the rows from `first` to `bound` of the matrix to zero."""
    for j in range(run.columns):
        for i in range(first, bound):
            run.matrix[at(j, run.rows, i)] = 0.0


def too_many_given(run: Loops) -> truth:
    """Return whether, at each of three random positions near the start, more coordinates are given than the
    loops leave free.
    """
    measure_reach(run)
    for j in range(N_SPEEDS):
        run.moving[j] = True
    set_limits(run, 1.0, WEAK_FIRST, WEAK_LAST, NEWTON_TURNS)
    run.seed = FIRST_CHANCE
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
    """Close the loops from the start by motions of the dependent speeds, or of all speeds on which the loops
    depend; return whether they are closed.
    """
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
    """Find coordinates that close all loops; return whether there are any."""
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
        look(run)
        return True
    free: truth = False
    free = some_place_is_free(run)
    too_many: truth = True
    if free:
        too_many = too_many_given(run)
    if too_many:
        run.least = 0.0  # so that `best` remains a position with all given values
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
    """Scale the Euler parameters of the start to unit length."""
    run.moved = run.start
    make_unit(run)
    run.start = run.moved
