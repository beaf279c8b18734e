"""Events that happen faster and faster, such as the bounces of a ball that comes to rest.

The times of a ball's bounces have a limit, and no sequence of events leads across it. Two things give such an
event away.

    piled up    The time between firings of one event has become shorter each time, at least twice in a row,
                and is down to 1e-9 of what it was when that began; or a hundred firings in a row came within
                rounding of each other (two relays that undo each other).
    passed      It has become shorter, down to 1e-3; right after the last firing the function g went back to
                the side it came from, and at the first look it is on the other side all the same: it has
                crossed unseen. That is the ball that falls through the floor, because its bounces are
                lower than rounding.

A clock, a relay whose function stays beyond zero and an oscillation through zero do neither. An event that
takes away all of the speed (restitution 0, in effect all below 1e-4) cannot be told from one that lets its
body go on, and is not an accumulation.
"""

from __future__ import annotations

from math import inf

from armillary.runtime.code import Variable
from armillary.runtime.frame import Frame, Program
from armillary.runtime.shape import Phase, Reason
from armillary.runtime.steps import EPSILON, combine

FIRST_LOOK = 2.0**-10  # after an event: see events.py
PILED_UP = 1e-9
SUSPECT = 1e-3
MOST_STALLED = 100
STALLED_ULPS = 64.0


def emit_record(program: Program) -> Frame:
    """The times of the events that happen now (`crossed`), and the end of the run for one that piles up."""
    f = program.function("record", rare=True)
    last, gap, longest, shrinks, stalled = (
        f.vector(name) for name in ("last", "gap", "longest", "shrinks", "stalled")
    )
    f["shortest"] = inf
    with f.each(program.shape.events) as k, f.when(f.vector("crossed")[k] > 0.0):
        now = f["t"] - last[k]
        shorter = (now < gap[k]) & (gap[k] < inf)
        shrinks[k] = f.choose(shorter, shrinks[k] + 1.0, 0.0)
        longest[k] = f.choose(shorter, longest[k], now)
        stalled[k] = f.choose(now <= STALLED_ULPS * EPSILON * f.magnitude(f["t"]), stalled[k] + 1.0, 0.0)
        last[k] = f["t"]
        gap[k] = now
        f["shortest"] = f.least(now, f["shortest"])
        piled_up = (shrinks[k] >= 2.0) & (now <= PILED_UP * longest[k])
        with f.when(piled_up | (stalled[k] > MOST_STALLED)):
            f["status"] = Reason.ACCUMULATES
            f["failed_event"] = k
    f.give()
    return f


def mark_returning(f: Frame) -> None:
    """`returning`: suspects whose function, after firing, goes back to the side it came from.

    By the straight line along the derivative, y + ε k₀, which shows the way even where the height of the
    whole bounce is lost in rounding.
    """
    g, g_start, gap, longest, returning = (
        f.vector(name) for name in ("g", "g_start", "gap", "longest", "returning")
    )
    suspects = Variable(f, f.real(0.0))
    with f.each(f.shape.events) as k:
        suspect = f.vector("sign")[k].equals(0.0) & (f.vector("shrinks")[k] >= 1.0)
        returning[k] = f.choose(suspect & (gap[k] <= SUSPECT * longest[k]), 1.0, 0.0)
        suspects.set(suspects.get() + returning[k])
    with f.when(suspects.get() > 0.0):
        ahead = FIRST_LOOK * f["h_taken"]
        combine(f, f.vector("state"), ahead, (1.0,), f.vector("stage"))
        f.events(f["t"] + ahead, f.vector("stage"))
        with f.each(f.shape.events) as k:
            back = (g[k] - g_start[k]) * f.vector("side")[k] > 0.0
            returning[k] = f.choose(back, returning[k], 0.0)


def end_before_step(f: Frame) -> None:
    """The end of a run whose last step led past an event; the step is taken back."""
    f.copy(f.shape.states, f.vector("base"), f.vector("state"))
    f["t"] = f["t_old"]
    f["status"] = Reason.ACCUMULATES
    f["phase"] = Phase.READY
