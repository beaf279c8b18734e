"""The watch of stiffness, in the small language of language.py.

An explicit method is limited by stability where h λ stays at the edge of its region of stability. Of dop853,
whose last stage and end are both at t + h,

    λ ≈ ‖f(y₁) − f(g)‖ / ‖y₁ − g‖,    h λ > 6.1 in fifteen steps, before six in a row that are below

(Hairer, Nørsett, Wanner 1993, IV.2 of the second volume, and dop853.f; norms relative to the tolerated
errors). Then a linearly implicit method takes over. While it steps, λ is found from its partial derivatives
by powers,

    λ ≈ ( ‖J² v‖ / ‖v‖ )^½,    v ← J² v

one product of squares a step: J² leads from coordinates to coordinates, so that units do not matter. Where
h λ < 3 in as many steps in a row as `patience` says, an explicit step of that length would be stable, and
dop853 takes over again; each time twice as many steps are required.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.step_thresholds import (
    CALM_EDGE,
    CALM_STEPS,
    STABLE_EDGE,
    STIFF_STEPS,
)
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord
from armillary.runtime.solver.sparse_equations import multiply_entries
from armillary.runtime.solver.step_control import squares


def multiply_fast(run: RunRecord) -> real:
    """Replace the fast direction by its product with df/dy; return the norm of the product."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    if SPARSE:
        multiply_entries(run)
    else:
        for i in range(n):
            run.image[i] = 0.0
        for j in range(n):
            part: real = run.fast[j]
            for i in range(n):
                run.image[i] = run.image[i] + part * run.partials[at(j, n, i)]
    run.fast = run.image
    total: real = 0.0
    for i in range(n):
        total = total + run.fast[i] * run.fast[i]
    return sqrt(total)


def fastest_rate(run: RunRecord) -> real:
    """Return an estimate of the largest eigenvalue of df/dy, from the direction that earlier steps found."""
    n: whole = N_STATES
    if CONFIGURATIONS:
        n = run.used
    total: real = 0.0
    for i in range(n):
        total = total + run.fast[i] * run.fast[i]
    if not (total > 0.0 and total < INFINITY):
        total = float(n)
        for i in range(n):
            run.fast[i] = 1.0
    for i in range(n):
        run.fast[i] = run.fast[i] / sqrt(total)
    found: real = multiply_fast(run)
    found = multiply_fast(run)
    return sqrt(found)


def watch_stiffness(run: RunRecord, h: real) -> None:
    """Count the steps that stability limits and the steps that it does not; request another method."""
    speed: real = 0.0
    if IMPLICIT:
        speed = h * fastest_rate(run)
        if speed < CALM_EDGE:
            run.calm_steps = run.calm_steps + 1.0
        else:
            run.calm_steps = 0.0
        run.changeover = run.calm_steps >= run.patience
    else:
        run.image = run.k_end - run.k11
        rise: real = squares(run, run.image)
        run.image = run.state - run.stage
        apart: real = squares(run, run.image)
        if apart > 0.0:
            speed = h * sqrt(rise / apart)
        if speed > STABLE_EDGE:
            run.stiff_steps = run.stiff_steps + 1.0
            run.calm_steps = 0.0
        else:
            run.calm_steps = run.calm_steps + 1.0
        if run.calm_steps >= CALM_STEPS:
            run.stiff_steps = 0.0
        run.changeover = run.stiff_steps >= STIFF_STEPS
    if run.changeover:
        run.budget = 0
