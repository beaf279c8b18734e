"""The geometry of loops at a place: gaps, J and N, and the place moved, in the language of language.py."""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import *
from armillary.runtime.solver.assembly.assembly_record import Loops
from armillary.runtime.solver.language.language import *


def spread_figures(run: Loops) -> None:
    """J and N from their elements."""
    for e in range(N_ELEMENTS):
        run.jacobian[at(ELEMENT_ROW[e], N_SPEEDS, ELEMENT_SPEED[e])] = run.numbers[AT_JACOBIAN + e]
    for e in range(N_RATES):
        run.rates[at(RATE_PLACE[e], N_SPEEDS, RATE_SPEED[e])] = run.numbers[AT_RATES + e]


def look(run: Loops) -> None:
    """Find the figures of the constraints at the place."""
    run.numbers = loop_figures(run.t, run.place)
    spread_figures(run)
    for i in range(run.rows):
        run.residual[i] = 0.0  # of coordinates that are held
    for i in range(N_GAPS):
        run.residual[i] = run.numbers[i]


def look_there(run: Loops) -> None:
    """Find the figures of the constraints where a step leads."""
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
    """Return the largest gap, of the size of its row: the gap that a unit of the most effective
    speed makes.
    """
    largest: real = 0.0
    for i in range(N_GAPS):
        for j in range(N_SPEEDS):
            largest = max(largest, abs(run.jacobian[at(i, N_SPEEDS, j)]))
    worst: real = 0.0
    for i in range(N_GAPS):
        size: real = LEAST_SIZE * largest  # rows vanish near singular places, and their gaps do not
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
    """Return whether any coordinate is not held: else no step leads anywhere."""
    found: truth = False
    for k in range(N_COORDINATES):
        found = found or not run.held[k]
    return found


def make_unit(run: Loops) -> None:
    """Euler parameters of the place where a step leads, made unit."""
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
    """Find the coordinates after a small motion; held coordinates stay."""
    for k in range(N_COORDINATES):
        total: real = run.place[k]
        for j in range(N_SPEEDS):
            total = total + run.rates[at(k, N_SPEEDS, j)] * run.step[j]
        run.moved[k] = total
    if UNITS:
        make_unit(run)
    for k in range(N_COORDINATES):
        if run.held[k]:  # a step along a tangent leaves them except for its square
            run.moved[k] = run.place[k]


def accept(run: Loops) -> None:
    """The place where a step leads, with its figures, as the place."""
    run.place = run.moved
    run.numbers = run.there
    run.residual = run.missed
    spread_figures(run)


def set_radius(run: Loops) -> None:
    """Begin with a step as long as it may be; where all rows compete, with a short one."""
    run.radius = INFINITY if run.stiffness <= 1.0 else LONGEST_STEP


def differentiate(run: Loops) -> None:
    """Set the matrix: J for speeds that may move, and N with a weight for coordinates that are held."""
    largest: real = 0.0
    for j in range(N_SPEEDS):
        for i in range(N_GAPS):
            value: real = run.jacobian[at(i, N_SPEEDS, j)] if run.moving[j] else 0.0
            run.matrix[at(j, run.rows, i)] = value
            largest = max(largest, abs(value))
    row: whole = N_GAPS + FIRST
    for k in range(N_COORDINATES):
        if run.held[k]:
            own: real = 0.0
            for j in range(N_SPEEDS):
                if run.moving[j]:
                    own = max(own, abs(run.rates[at(k, N_SPEEDS, j)]))
            share: real = 0.0
            if own > 0.0:
                share = run.stiffness * largest / own
            for j in range(N_SPEEDS):
                part: real = run.rates[at(k, N_SPEEDS, j)] if run.moving[j] else 0.0
                run.matrix[at(j, run.rows, row)] = part * share
            row = row + 1


def count_equations(run: Loops) -> None:
    """Count the gaps and the coordinates that are held, for all speeds."""
    run.columns = N_SPEEDS
    run.rows = N_GAPS
    for k in range(N_COORDINATES):
        if run.held[k]:
            run.rows = run.rows + 1
