"""Roots of equations from rough starts, in the small language of language.py.

The residuals r of m equations depend on a place; a step p of n unknowns moves the place. Residuals and
unknowns are divided by their sizes. With A = ∂r/∂p a step minimises |r + A p| over |p| ≤ Δ: this is the
Gauss–Newton step if that is short enough, else a step of Levenberg and Marquardt,

    p = − (AᵀA + μ)⁻¹ Aᵀ r            μ ≥ 0 so that |p| = Δ

The radius Δ grows or shrinks with the agreement of predicted and actual residuals (Moré 1978, The
Levenberg-Marquardt algorithm: implementation and theory, Lecture Notes in Mathematics 630). Among equally
good steps the shortest is chosen. It has no component along directions whose effect is less than `cut` times
the largest effect: unknowns that the equations do not determine do not change. If steps stall, the cut is
lowered. No unknown changes by more than `longest` in a step.

`find_root` may start far from a root, and ends at the least residuals if there is no root. With CHORDS, steps
near a root use the last derivatives again while each step leaves at most a hundredth of the residuals: for a
chain of 64 links derivatives take a hundred times as long as residuals. `follow_root` does not leave its
branch of roots: it continues only while steps shrink (Deuflhard 2011, Newton Methods for Nonlinear Problems,
section 5.1).

A module that uses this file defines the functions that language.py declares (`look`, `displace`, …).
"""

from __future__ import annotations

from armillary.numerics.factors import damp_step, factorise_matrix, set_chord_step, set_step
from armillary.numerics.language import *
from armillary.numerics.language import Roots
from armillary.numerics.roots_thresholds import *


def worst_residual(run: Roots) -> real:
    """Return the largest residual; NaN if any is NaN. The calling module may define another measure."""
    worst: real = 0.0
    for i in range(run.rows):
        if abs(run.residual[i]) > worst or isnan(run.residual[i]):
            worst = abs(run.residual[i])
    return worst


def residual_square(run: Roots) -> real:
    """Return the sum of squares of the residuals at the place."""
    total: real = 0.0
    for i in range(run.rows):
        total = total + run.residual[i] * run.residual[i]
    return total


def missed_square(run: Roots) -> real:
    """Return the sum of squares of the residuals after a step."""
    total: real = 0.0
    for i in range(run.rows):
        total = total + run.missed[i] * run.missed[i]
    return total


def predicted_square(run: Roots) -> real:
    """Return the sum of squares of the residuals that derivatives predict for a step."""
    m: whole = run.rows
    for i in range(m):
        run.linear[i] = run.residual[i]
    for j in range(run.columns):
        if run.step[j] > 0.0 or run.step[j] < 0.0:
            for i in range(m):
                run.linear[i] = run.linear[i] + run.matrix[at(j, m, i)] * run.step[j]
    total: real = 0.0
    for i in range(m):
        total = total + run.linear[i] * run.linear[i]
    return total


def step_length(run: Roots) -> real:
    """Return the length of the step."""
    total: real = 0.0
    for j in range(run.columns):
        total = total + run.step[j] * run.step[j]
    return sqrt(total)


def largest_part(run: Roots) -> real:
    """Return the largest change of an unknown; NaN if any is NaN."""
    largest: real = 0.0
    for j in range(run.columns):
        if abs(run.step[j]) > largest or isnan(run.step[j]):
            largest = abs(run.step[j])
    return largest


def has_finite_matrix(run: Roots) -> truth:
    """Return whether all derivatives are finite."""
    total: real = 0.0
    count: whole = run.rows * run.columns
    for k in range(count):
        total = total + 0.0 * run.matrix[k]
    return not isnan(total)


def limit_step(run: Roots) -> None:
    """Shorten a step that changes an unknown by more than the longest change."""
    largest: real = largest_part(run)
    if largest > run.longest:
        for j in range(run.columns):
            run.step[j] = run.step[j] * (run.longest / largest)


def hold_at_bounds(run: Roots) -> truth:
    """Hold unknowns at bounds that a step would cross; return True if none is held."""
    m: whole = run.rows
    free: truth = True
    for j in range(run.columns):
        downhill: real = 0.0
        for i in range(m):
            downhill = downhill + run.matrix[at(j, m, i)] * run.residual[i]
        falls: truth = run.value[j] <= run.low[j] and downhill > 0.0
        rises: truth = run.value[j] >= run.high[j] and downhill < 0.0
        run.held[j] = falls or rises
        if falls or rises:
            free = False
            for i in range(m):
                run.matrix[at(j, m, i)] = 0.0
    return free


def clip_step(run: Roots) -> None:
    """Limit a step to the bounds of the unknowns."""
    for j in range(run.columns):
        run.goal[j] = min(max(run.value[j] + run.sizes[j] * run.step[j], run.low[j]), run.high[j])
        run.step[j] = (run.goal[j] - run.value[j]) / run.sizes[j]


def try_chord(run: Roots, merit: real) -> real:
    """Try a step with the last derivatives; accept it if it leaves less than a hundredth of the residuals.

    Return the sum of squares of the residuals after the step.
    """
    set_chord_step(run)
    if BOUNDED:
        clip_step(run)
    displace(run)
    look_there(run)
    near: real = missed_square(run)
    if near < 1e-4 * merit:
        accept(run)
    return near


def try_steps(run: Roots, merit: real, worst: real) -> real:
    """Make a step within the radius that reduces the sum of squares of the residuals, `merit`.

    Return the new sum, or `merit` if no step reduces it. `worst` is the largest residual before the step.
    """
    predicted: real = 0.0
    while run.radius >= LEAST_RADIUS:
        if run.gauss > run.radius:
            damp_step(run, run.radius)
        set_step(run)
        limit_step(run)
        if BOUNDED:
            clip_step(run)
        displace(run)
        look_there(run)
        there: real = missed_square(run)
        length: real = step_length(run)
        predicted = predicted_square(run)
        expected: real = merit - predicted
        gained: real = merit - there
        if there < merit and gained > 1e-4 * expected:
            accept(run)
            if gained > 0.75 * expected:
                run.radius = max(run.radius, 3.0 * length)
            elif gained < 0.25 * expected:
                run.radius = 0.5 * length
            return there
        run.radius = 0.25 * min(length, run.radius)
        if worst <= run.met and length <= SHORT_STEP:
            break
    return merit


def find_root(run: Roots) -> None:
    """Move the place to a root, or to the least residuals."""
    look(run)
    merit: real = residual_square(run)
    there: real = 0.0
    if CHORDS:
        known: truth = False  # whether factors of an earlier step can be used
    first: real = 0.0
    run.moves = 0.0
    while run.moves < run.most_moves:
        worst: real = worst_residual(run)
        if not (worst > run.exact and merit < INFINITY):
            break
        if CHORDS and known and worst <= CHORD:
            there = try_chord(run, merit)
            if there < 1e-4 * merit:
                merit = there
                continue
            if worst <= ROUNDED and not (there < 0.8 * merit):
                break
        differentiate(run)
        if CHORDS:
            known = True
        if BOUNDED:
            known = hold_at_bounds(run)
        if not has_finite_matrix(run):
            break
        factorise_matrix(run)
        if run.moves < 1.0:
            set_step(run)
            set_radius(run)
            first = run.radius
        run.moves = run.moves + 1.0
        there = try_steps(run, merit, worst)
        gained: truth = there < merit
        slow: truth = there > SLOW_GAIN * merit
        merit = there
        if slow and run.cut > run.least_cut:
            run.cut = max(LOWER_CUT * run.cut, run.least_cut)
            run.radius = max(run.radius, first)
        elif slow and (not gained or worst_residual(run) <= run.met):
            break


def follow_root(run: Roots) -> truth:
    """Move the place to a nearby root by steps that shrink; return whether a root was reached."""
    last: real = run.longest / SHRINK
    run.moves = 0.0
    while run.moves < run.most_moves:
        look(run)
        worst: real = worst_residual(run)
        if worst <= run.exact:
            return True
        run.moves = run.moves + 1.0
        differentiate(run)
        factorise_matrix(run)
        set_step(run)
        largest: real = largest_part(run)
        if not (largest <= SHRINK * last):
            break
        displace(run)
        arrive(run)
        if worst <= run.met and largest <= SETTLED_STEP:
            return True
        last = max(largest, run.exact)
    return False
