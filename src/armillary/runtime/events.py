"""Events: sign changes of functions g_k(t, state), found at the ends of steps and located inside them.

Each event remembers the sign its function last had. A step that ends with the other sign, or on zero exactly,
holds an event if its direction is wanted; the root is located on the dense output, to 4 units in the last
place of t, at its far side. All events that have changed sign by then happen together, in the order of their
numbers; the step is cut there, and the rest is a new beginning.

An event that has just fired, and any whose function is exactly zero at the start, has no sign: it takes the
first nonzero one met afterwards and cannot happen at once again. In that first step the functions are looked
at not only at its end but at 2⁻¹⁰, 2⁻⁹, … ½ of it, for a bounce may well be shorter than a step. Otherwise
two changes inside one step are not seen: `max_step` bounds that. A jump of g_j that `fire` or `update` itself
makes is no event.
"""

from __future__ import annotations

from armillary.runtime.code import REAL, WHOLE, Value, Variable
from armillary.runtime.frame import Frame, Program
from armillary.runtime.shape import Reason
from armillary.runtime.steps import EPSILON

FIRST_LOOK = 2.0**-10
# So many events in a row without progress in time are a pile-up (a ball coming to rest), not a motion.
MOST_STALLED = 100


def emit_locate(program: Program, probe: Frame) -> Frame:
    """`locate(k, low, high)`: how far into the step event k happens, after `low` and not after `high`.

    Regula falsi with the Illinois weights; every third turn is a bisection, so it ends whatever g looks like.
    """
    f = program.function("locate", REAL, (WHOLE, REAL, REAL), rare=True)
    k = f.argument(2)
    before = f.vector("sign")[k]

    def g_at(x: Value) -> Value:
        f.internal(probe, x)
        f.events(f["t_old"] + x, f.vector("point"))
        return f.vector("g")[k]

    low, high = Variable(f, f.argument(3)), Variable(f, f.argument(4))
    g_low, g_high = Variable(f, g_at(low.get())), Variable(f, g_at(high.get()))
    kept = Variable(f, f.real(0.0))  # which end stayed last time: −1 low, +1 high
    turn = Variable(f, f.real(0.0))
    tolerance = 4.0 * EPSILON * f.most(f.magnitude(f["t_old"]), f.magnitude(f["t_old"] + f["h_taken"]))
    with f.repeat() as loop:
        a, b = low.get(), high.get()
        with f.when(~(b - a > tolerance)):
            loop.leave()
        middle = a + 0.5 * (b - a)
        secant = b - g_high.get() * (b - a) / (g_high.get() - g_low.get())
        # At least half the tolerance from either end: once the root is near one, the next turn closes in.
        secant = f.least(f.most(secant, a + 0.5 * tolerance), b - 0.5 * tolerance)
        bisect = turn.get().equals(2.0) | secant.differs(secant)
        x = f.choose(bisect, middle, secant)
        turn.set(f.choose(turn.get().equals(2.0), 0.0, turn.get() + 1.0))
        g = g_at(x)
        happened = f.sign(g).differs(before)
        with f.when(happened):
            high.set(x)
            g_high.set(g)
            g_low.set(f.choose(kept.get() < 0.0, 0.5 * g_low.get(), g_low.get()))
            kept.set(-1.0)
        with f.when(~happened):
            low.set(x)
            g_low.set(g)
            g_high.set(f.choose(kept.get() > 0.0, 0.5 * g_high.get(), g_high.get()))
            kept.set(1.0)
    f.give(high.get())
    return f


def emit_cut(program: Program, probe: Frame, locate: Frame) -> Frame:
    """`cut(high)`: the step shortened to its first event; `crossed` is left at those that happen there."""
    f = program.function("cut", arguments=(REAL,), rare=True)
    shape, high = program.shape, f.argument(2)
    g, sign, low, crossed = (f.vector(name) for name in ("g", "sign", "low", "crossed"))
    cut, first = Variable(f, high), Variable(f, f.whole(-1))
    with f.each(shape.events) as k, f.when(crossed[k] > 0.0):
        place = f.internal(locate, k, low[k], high)
        with f.when((place < cut.get()) | (first.get() < 0)):
            cut.set(place)
            first.set(k)
    x = cut.get()
    f.internal(probe, x)
    # An event closer to the end than times can tell apart happens at the end: no step of length zero.
    t_event = f["t_old"] + x
    with f.when((x < f["h_taken"]) & (t_event < f["t"])):
        f.copy(shape.states, f.vector("point"), f.vector("state"))
        f["t"] = t_event
        if not shape.adaptive:
            f["index"] = f["index"] - 1
            f["at_grid"] = 0
    f.events(f["t"], f.vector("state"))
    with f.each(shape.events) as k:
        also = (crossed[k] > 0.0) & (f.sign(g[k]).differs(sign[k]) | k.equals(first.get()))
        crossed[k] = f.choose(also, 1.0, 0.0)
    f["pending"] = 1
    f["restart"] = 1
    f["choose_step"] = 1
    advanced = x > 16.0 * EPSILON * f.magnitude(f["t"])
    f["stalled"] = f["stalled"] + 1
    with f.when(advanced):
        f["stalled"] = 0
    with f.when(f["stalled"] > MOST_STALLED):
        f["status"] = Reason.TOO_SMALL
    f.give()
    return f


def emit_scan(program: Program, probe: Frame, cut: Frame) -> Frame:
    """The step just taken, searched for events; if there are any, it is cut at the first of them."""
    f = program.function("scan")
    count = program.shape.events
    g, sign, low, crossed = (f.vector(name) for name in ("g", "sign", "low", "crossed"))
    direction = f.vector("direction")
    signless = Variable(f, f.real(0.0))
    with f.each(count) as k:
        low[k] = 0.0
        crossed[k] = 0.0
        signless.set(f.choose(sign[k].equals(0.0), 1.0, signless.get()))
    h = f["h_taken"]
    x = Variable(f, f.choose(signless.get() > 0.0, FIRST_LOOK * h, h))
    found = Variable(f, f.real(0.0))
    with f.repeat() as look:
        at_end = x.get() >= h
        with f.when(at_end):
            f.events(f["t"], f.vector("end"))
        with f.when(~at_end):
            f.internal(probe, x.get())
            f.events(f["t_old"] + x.get(), f.vector("point"))
        with f.each(count) as k:
            now, before = f.sign(g[k]), sign[k]
            changed = now.differs(before) & g[k].equals(g[k])  # a g that is not a number says nothing
            happens = changed & before.differs(0.0) & ((direction[k] * before) <= 0.0)
            with f.when(happens):
                crossed[k] = 1.0
                found.set(1.0)
            with f.when(~happens):
                sign[k] = f.choose(changed, now, before)
                low[k] = x.get()
        with f.when((found.get() > 0.0) | at_end):
            look.leave()
        x.set(2.0 * x.get())
    with f.when(found.get() > 0.0):
        f.internal(cut, x.get())
    f.give()
    return f


def fire_pending(f: Frame) -> None:
    """The events that happen now: logged, and the state and memory they ask for taken over."""
    shape = f.shape
    state, new_state = f.vector("state"), f.vector("stage")
    with f.when(f["pending"].equals(1)):
        f["pending"] = 0
        with f.each(shape.events) as k, f.when(f.vector("crossed")[k] > 0.0):
            place = f["logged"] + f["logged"]
            log = f.outside("log")
            log[place] = f["t"]
            log[place + 1] = k.to_real()
            f["logged"] = f["logged"] + 1
            if shape.fire:
                f.fire(k, f["t"], state, new_state)
                f.copy(shape.states, new_state, state)
                f.copy(shape.memory, f.vector("new_memory"), f.vector("memory"))
            with f.when(f.vector("terminal")[k] > 0.0):
                f["status"] = Reason.EVENT


def adopt_signs(f: Frame) -> None:
    """The signs from which the next step's changes are counted; none for events that have just fired."""
    g, sign, crossed = (f.vector(name) for name in ("g", "sign", "crossed"))
    f.events(f["t"], f.vector("state"))
    with f.each(f.shape.events) as k:
        sign[k] = f.choose(crossed[k] > 0.0, 0.0, f.sign(g[k]))
        crossed[k] = 0.0
