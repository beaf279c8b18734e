"""Speeds that satisfy the constraints at the start of a run, and a check of redundant constraints there, in
the language of language.py: the least change of speeds with J (u + δ) + b = 0.
"""

from __future__ import annotations

from armillary.mechanics.constraints.closing_thresholds import *
from armillary.numerics.factors import factorise_matrix, rank_of_matrix, set_step
from armillary.runtime.solver.assembly.assembly_record import Loops
from armillary.runtime.solver.assembly.loop_geometry import look, some_speed_moves
from armillary.runtime.solver.language.language import *


def set_scaled_rows(run: Loops, all_rows: truth) -> None:
    """Set the matrix to J, or to its kept rows, with columns in terms of their largest elements."""
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
    """Return whether constraints that were redundant at the default parameters are so at these."""
    look(run)
    every: whole = 0
    kept: whole = 0
    set_scaled_rows(run, True)
    every = rank_of_matrix(run, NEW_ROW)
    set_scaled_rows(run, False)
    kept = rank_of_matrix(run, NEW_ROW)
    return every <= kept


def measure_residual(run: Loops) -> real:
    """Return the constraints on speeds, J u + b, and the largest of them."""
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
    """Return whether all constraints hold at the place with its speeds, as nearly as a run may leave them."""
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
    """Return the smallest change of dependent speeds, or of all, that satisfies the constraints; whether it
    does.
    """
    scale: real = 1.0
    for j in range(N_SPEEDS):
        run.change[j] = 0.0
        run.moving[j] = DEPENDENT_SPEED[j] if first_try else HOLDING_SPEED[j]
        run.moving[j] = run.moving[j] and not run.fixed[j]
        scale = max(scale, 1.0 + abs(run.speed[j]))
    worst: real = 0.0
    worst = measure_residual(run)
    turn: real = 0.0  # the second one removes what rounding left
    while turn < 2.0 and some_speed_moves(run) and worst > 4.0 * EPSILON * scale:
        turn = turn + 1.0
        run.rows = N_ROWS
        run.columns = N_SPEEDS
        run.cut = WEAK_LAST
        for i in range(N_ROWS):
            for j in range(N_SPEEDS):
                run.matrix[at(j, N_ROWS, i)] = run.jacobian[at(i, N_SPEEDS, j)] if run.moving[j] else 0.0
            run.residual[i] = run.broken[i]
        factorise_matrix(run)
        set_step(run)
        for j in range(N_SPEEDS):
            run.change[j] = run.change[j] + run.step[j]
        worst = measure_residual(run)
    return worst <= AGREEING * scale


def agree_speeds(run: Loops) -> None:
    """Find speeds that satisfy all constraints at the place; fixed speeds stay unchanged."""
    agreed: truth = False
    look(run)
    agreed = adjust_speeds(run, True)
    if not agreed:
        agreed = adjust_speeds(run, False)
    if not agreed:
        run.status = CONTRADICTED
