"""Values inside a step of an exported run, in the small language of language.py.

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
    run.nest0 = run.finish - run.base
    run.nest1 = run.h_taken * run.k0 - run.nest0
    run.nest2 = run.nest0 - run.h_taken * run.k_end - run.nest1
    if ADAPTIVE:
        dense_terms(run)


def probe(run: RunRecord, x: real) -> None:
    """The state at t_old + x, inside the step just taken."""
    prepare(run)
    dense_state(run, x / run.h_taken)
    run.point = normalise(run.t_old + x, run.point)
