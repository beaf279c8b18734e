"""Events that happen faster and faster, such as the bounces of a ball that comes to rest.

The times of a ball's bounces have a limit, and no sequence of events leads across it. Firings of one event
are a streak while the time between two of them, the gap, neither doubles nor drops below 1e-3 of the one
before; where that breaks a new streak begins. Three things give an accumulation away.

    piled up    The gap is down to 1e-9 of the longest in its streak.
    stuck       A hundred gaps in a row are below 1e-6 of the longest in their streak, which came to that
                within 5000 firings (a shaft that spins up needs millions: its gaps fall as 1/√n, not as
                eⁿ), or below 64 units in the last place of t (two relays that undo each other). Bounces
                lower than rounding do not get shorter any more.
    passed      The gap is down to 1e-3; right after the last firing the function g went back to the side it
                came from, and at the first look it is on the other side all the same: it has crossed unseen.
                That is the ball that falls through the floor.

A clock, a relay whose function stays beyond zero, a burst after a pause and an oscillation through zero do
none of it. An event that takes away all of the speed (restitution 0; in effect all below 1e-3) cannot be told
from one that lets its body go on, and is not an accumulation.
"""

from __future__ import annotations

from math import inf

from armillary.llvm.builder import Variable
from armillary.runtime.loop.event_thresholds import (
    FIRST_LOOK,
    LEAST_RATIO,
    LONGEST_STREAK,
    MOST_RATIO,
    MOST_STUCK,
    PILED_UP,
    STUCK,
    STUCK_ULPS,
    SUSPECT,
)
from armillary.runtime.loop.formulas import EPSILON, combine
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import Phase, Reason


def emit_record(program: LoopModule) -> LoopFunction:
    """The times of the events that happen now (`crossed`), and the end of the run for one that piles up."""
    f = program.function("record", rare=True)
    last, gap, longest, streak, stuck = (
        f.vector(name) for name in ("last", "gap", "longest", "streak", "stuck")
    )
    f["shortest"] = inf
    with f.each(program.shape.events) as k, f.when(f.vector("crossed")[k] > 0.0):
        now = f["t"] - last[k]
        goes_on = (now < MOST_RATIO * gap[k]) & (now > LEAST_RATIO * gap[k])
        streak[k] = f.choose(goes_on, streak[k] + 1.0, 0.0)
        longest[k] = f.choose(goes_on, f.most(now, longest[k]), now)
        falling = (streak[k] >= 1.0) & (streak[k] <= LONGEST_STREAK)
        short = now <= STUCK_ULPS * EPSILON * f.magnitude(f["t"])
        short = short | (falling & (now <= STUCK * longest[k]))
        stuck[k] = f.choose(short, stuck[k] + 1.0, 0.0)
        last[k] = f["t"]
        gap[k] = now
        f["shortest"] = f.least(now, f["shortest"])
        piled_up = (streak[k] >= 1.0) & (now <= PILED_UP * longest[k])
        with f.when(piled_up | (stuck[k] > MOST_STUCK)):
            f["status"] = Reason.ACCUMULATES
            f["failed_event"] = k
    f.give()
    return f


def mark_returning(f: LoopFunction) -> None:
    """`returning`: suspects whose function, after firing, goes back to the side it came from.

    By the straight line along the derivative, y + ε k₀, which shows the way even where the height of the
    whole bounce is lost in rounding.
    """
    g, g_start, gap, longest, returning = (
        f.vector(name) for name in ("g", "g_start", "gap", "longest", "returning")
    )
    suspects = Variable(f, f.real(0.0))
    with f.each(f.shape.events) as k:
        suspect = f.vector("sign")[k].equals(0.0) & (f.vector("streak")[k] >= 1.0)
        returning[k] = f.choose(suspect & (gap[k] <= SUSPECT * longest[k]), 1.0, 0.0)
        suspects.set(suspects.get() + returning[k])
    with f.when(suspects.get() > 0.0):
        ahead = FIRST_LOOK * f["h_taken"]
        combine(f, f.vector("state"), ahead, (1.0,), f.vector("stage"))
        f.events(f["t"] + ahead, f.vector("stage"))
        with f.each(f.shape.events) as k:
            back = (g[k] - g_start[k]) * f.vector("side")[k] > 0.0
            returning[k] = f.choose(back, returning[k], 0.0)


def end_before_step(f: LoopFunction) -> None:
    """The end of a run whose last step led past an event; the step is taken back."""
    f.copy(f.shape.states, f.vector("base"), f.vector("state"))
    f["t"] = f["t_old"]
    f["status"] = Reason.ACCUMULATES
    f["phase"] = Phase.READY
