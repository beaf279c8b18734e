"""Places without mass on the way of an exported run, in the small language of language.py.

The ideas are in runtime/models/failures.py. A run that failed, or whose speeds jumped within a
step of fixed size, is followed in a straight line from where it was: it ends where a pivot of the mass matrix
all but vanishes, of the inertias that it is made of and of its share at the start of the run.
"""

from __future__ import annotations

from armillary.runtime.loop.thresholds.mass_thresholds import COARSE, FALLEN, FARTHEST, FINE, SPEED_JUMP, WEAK
from armillary.runtime.solver.language.language import *
from armillary.runtime.solver.record import RunRecord


def start_masses(run: RunRecord) -> None:
    """The pivots and the speeds at the start of a run."""
    run.shares = pivot_shares(run.t, run.state)
    for k in range(N_PIVOTS):
        run.usual[k] = abs(run.shares[k])
        if not (run.usual[k] >= 1e-13):  # nothing but rounding error, or no mass at all (not a number)
            here: truth = True
            if CONFIGURATIONS:
                here = PIVOT_OF[k] == run.configuration
            if here:
                run.status = SINGULAR
                run.failed = k
                run.weak = k
                run.weak_time = run.t
            else:
                run.usual[k] = 1.0
    measure_speeds(run)
    for k in range(N_KINDS):
        run.peak[k] = run.fastest[k]


def measure_speeds(run: RunRecord) -> None:
    """The largest speed of each kind."""
    for k in range(N_KINDS):
        run.fastest[k] = 0.0
    for i in range(N_STATES):
        kind: whole = KIND[at(run.configuration, N_STATES, i)] if CONFIGURATIONS else KIND[i]
        if kind != NONE:
            run.fastest[kind] = max(run.fastest[kind], abs(run.state[i]))


def speeds_jumped(run: RunRecord) -> truth:
    """Return whether speeds of some kind are far above all earlier ones."""
    found: truth = False
    for k in range(N_KINDS):
        if run.peak[k] > 0.0 and not (run.fastest[k] < SPEED_JUMP * run.peak[k]):
            found = True
    return found


def note_peaks(run: RunRecord) -> None:
    """The largest speed of each kind so far."""
    for k in range(N_KINDS):
        run.peak[k] = max(run.peak[k], run.fastest[k])


def fallen_share(run: RunRecord, t: real, x: real) -> real:
    """Return the remaining share of the weakest pivot, relative to that at the start, so long after
    a place.
    """
    run.point = run.way + x * run.k0
    run.shares = pivot_shares(t + x, run.point)
    least: real = INFINITY
    for k in range(N_PIVOTS):
        part: real = abs(run.shares[k]) / run.usual[k]
        here: truth = True
        if CONFIGURATIONS:
            here = PIVOT_OF[k] == run.configuration
        if here and part < least:
            least = part
            run.weak = k
    return least


def find_weak_place(run: RunRecord, t: real, longest: real) -> truth:
    """Return whether some motion moves no mass at a place ahead, on the straight way of the motion."""
    rate: real = 0.0
    for i in range(N_STATES):
        kind: whole = KIND[at(run.configuration, N_STATES, i)] if CONFIGURATIONS else KIND[i]
        if kind == NONE:
            rate = max(rate, abs(run.k0[i]))
    reach: real = longest
    if rate * reach > FARTHEST:
        reach = FARTHEST / rate
    best: real = INFINITY
    place: real = 0.0
    share: real = 0.0
    count_of: real = 0.0
    while count_of < COARSE:
        share = fallen_share(run, t, reach * count_of / (COARSE - 1.0))
        if share < best:
            best = share
            place = reach * count_of / (COARSE - 1.0)
        count_of = count_of + 1.0
    low: real = max(place - reach / (COARSE - 1.0), 0.0)
    high: real = min(place + reach / (COARSE - 1.0), reach)
    count_of = 0.0
    while count_of < FINE:
        share = fallen_share(run, t, low + (high - low) * count_of / (FINE - 1.0))
        if share < best:
            best = share
            place = low + (high - low) * count_of / (FINE - 1.0)
        count_of = count_of + 1.0
    share = fallen_share(run, t, place)
    run.weak_time = t + place
    return share <= FALLEN and abs(run.shares[run.weak]) <= WEAK


def blame_masses(run: RunRecord, t: real, longest: real) -> None:
    """The end of a run at a place without mass, if there is one ahead."""
    found: truth = False
    found = find_weak_place(run, t, longest)
    if found:
        run.status = SINGULAR
        run.failed = run.weak
