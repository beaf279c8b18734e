"""Values inside a step, in the small language of language.py.

The polynomial is y + s(F0 + (1-s)(F1 + s(F2 + (1-s) F3))), s = 0..1, as in runtime/loop/tableau.py.
"""

from __future__ import annotations

from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def prepare(run: RunRecord) -> None:
    """The coefficients of the dense output of the step just taken, once."""
    if run.prepared:
        return
    run.prepared = True
    set_nests(run)


def set_nests(run: RunRecord) -> None:
    """The coefficients of the dense output. A rate at the end that was needed for the error belongs to the
    state before normalisation.
    """
    run.nest0 = run.finish - run.base
    run.nest1 = run.h_taken * run.k0 - run.nest0
    run.nest2 = run.nest0 - run.h_taken * run.k_end - run.nest1
    if FURTHER_TERMS:
        dense_terms(run)


def across_state(run: RunRecord, theta: real) -> None:
    """The state at a part theta of a step across a place where rank is lost, with more coefficients."""
    for m in range(N_STATES):
        nest: real = 0.0
        turned: truth = True  # the factors of coefficients are 1 - s and s by turns
        for n in range(N_NESTS):
            factor: real = 1.0 - theta if turned else theta
            nest = run.nests[at(n, N_STATES, m)] + factor * nest
            turned = not turned
        nest = run.nest2[m] + (1.0 - theta) * nest
        nest = run.nest1[m] + theta * nest
        nest = run.nest0[m] + (1.0 - theta) * nest
        run.point[m] = run.base[m] + theta * nest


def probe(run: RunRecord, x: real) -> None:
    """The state at t_old + x, inside the step just taken."""
    prepare(run)
    if PASSING and run.passing:
        across_state(run, x / run.h_taken)
    else:
        dense_state(run, x / run.h_taken)
    run.point = normalise(run.t_old + x, run.point)
