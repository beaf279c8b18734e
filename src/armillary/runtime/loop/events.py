"""Events: sign changes of functions g_k(t, state), found at the ends of steps and located inside them.

Each event remembers the sign its function last had. A step that ends with the other sign, or on zero exactly,
holds an event if its direction is wanted; the root is located on the dense output, to 4 units in the last
place of t, at its far side. All events that have changed sign by then happen together, in the order of their
numbers; the step is cut there, and the rest is a new beginning.

An event as close to a grid point of a fixed step, or to the end of the run, as rounding can bring it
(`closeness`), before or after, happens there: no sliver of a step is left, and a clock that ticks at grid
points ticks at all of them. Rows as close to an event show the state after it; so that none is written too
soon, every step is searched a little beyond its end.

An event that has just fired has no sign, unless firing has put its function clearly back to where it came
from; nor has one whose function is exactly zero at the start. It takes the first nonzero sign met afterwards
and cannot happen at once again. In that first step the functions are looked at not only at its end but at
2⁻¹⁰, 2⁻⁹, … ½ of it, for a bounce may well be shorter than a step. Where the last two firings were closer
together than a step, looks begin at 2⁻¹⁰ of the time between them; those tell only a return to the side the
event came from, for at such short times rounding may still hold the function beyond zero. Otherwise two
changes inside one step are not seen: `max_step` bounds that. A jump of g_j that `fire` or `update` itself
makes is no event.

Inside a step the state is that of the dense output, whose error nothing controls. Events of the user's own
accept it, for they are to be zeros of their functions. Where a run goes on in another program ("landing"
events), the step is taken again, to end there: the dense output of a step that reaches into the neighbourhood
of a singular place lost several hundred times the tolerance in energy (a ball rolling along a slot).
"""

from __future__ import annotations

from contextlib import nullcontext
from math import inf

from armillary.llvm.assembly import REAL, WHOLE
from armillary.llvm.builder import Value, Variable
from armillary.runtime.loop.accumulation import end_before_step
from armillary.runtime.loop.event_thresholds import CLEAR, FIRST_LOOK, LANDING
from armillary.runtime.loop.formulas import EPSILON, stages
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import SNAP, Reason


def closeness(f: LoopFunction) -> Value:
    """How close two times near the end of the step just taken must be to count as one.

        max( 16 ulp, min( (16 + n) ulp, SNAP · step ) )

    after n events: a clock advanced by its period at each of them drifts by at most so many roundings.
    """
    ulp = EPSILON * f.most(f.magnitude(f["t_old"]), f.magnitude(f["t"]))
    step = f["h_taken"] if f.shape.adaptive else f["step"]
    drift = (f["logged"] + 16).to_real() * ulp
    return f.most(16.0 * ulp, f.least(drift, SNAP * step))


def emit_locate(program: LoopModule, probe: LoopFunction) -> LoopFunction:
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


def emit_land(program: LoopModule) -> LoopFunction:
    """`land(h)`: the step just taken, taken again with length h, which is shorter and so more accurate."""
    f = program.function("land", arguments=(REAL,), rare=True)
    n, tableau, h = program.shape.states, program.shape.tableau, f.argument(2)
    state, trial, end = f.vector("state"), f.vector("trial"), f.vector("end")
    last, t_new = f.vector(f"k{tableau.stages}"), f["t_old"] + h
    f.copy(n, f.vector("base"), state)
    stages(f, f["t_old"], h)
    if tableau.end_enters_error:
        f.derivatives(t_new, trial, last)
    f.copy(n, trial, state)
    f.normalise(t_new, state)
    f.copy(n, state, end)
    if not tableau.end_enters_error:
        f.derivatives(t_new, state, last)
    f["h_taken"] = h
    f["prepared"] = 0
    f.give()
    return f


def emit_cut(
    program: LoopModule, probe: LoopFunction, locate: LoopFunction, record: LoopFunction
) -> LoopFunction:
    """`cut(high)`: the step shortened to its first event; `crossed` is left at those that happen there.

    On entry `crossed` is 1 for events not after `high`, and 2 for those a little after the end of the step.
    """
    land = emit_land(program) if program.shape.adaptive else None
    f = program.function("cut", arguments=(REAL,), rare=True)
    shape, high = program.shape, f.argument(2)
    g, sign, low, crossed = (f.vector(name) for name in ("g", "sign", "low", "crossed"))
    near = closeness(f)
    end = f["h_taken"]
    cut, first = Variable(f, high), Variable(f, f.whole(-1))
    with f.each(shape.events) as k, f.when(crossed[k] > 0.0):
        place = Variable(f, high)
        with f.when(crossed[k].equals(1.0)):
            place.set(f.internal(locate, k, low[k], high))
        if shape.adaptive:
            with f.when(crossed[k].equals(2.0)):
                place.set(f.internal(locate, k, end, end + near))
        with f.when((place.get() < cut.get()) | (first.get() < 0)):
            cut.set(place.get())
            first.set(k)
    # A time to be met: the end of the run, and with a fixed step every grid point.
    t_event, goal = f["t_old"] + cut.get(), f["t_end"] if shape.adaptive else f["t"]
    met = f.magnitude(goal - t_event) <= near
    t_event = f.choose(met, goal, t_event)
    with f.when(t_event.differs(f["t"])):
        length = f.choose(met, goal - f["t_old"], cut.get())
        lands = f.vector("terminal")[first.get()] >= LANDING
        if land:
            with f.when(lands):
                f.internal(land, length)
        with f.when(~lands) if land else nullcontext():
            f.internal(probe, length)
            f.copy(shape.states, f.vector("point"), f.vector("state"))
        f["t"] = t_event
        if not shape.adaptive:
            f["index"] = f["index"] - f["at_grid"]  # 0 where the step led to a stop before the grid point
            f["at_grid"] = 0
    f["near"] = near
    f["blind"] = 0.0
    f.events(f["t"], f.vector("state"))
    with f.each(shape.events) as k:
        now = (crossed[k] > 0.0) & (f.sign(g[k]).differs(sign[k]) | k.equals(first.get()))
        early = crossed[k].equals(2.0) & met
        with f.when(early):
            f["blind"] = 2.0 * near
        with f.when(early | now):
            f.vector("side")[k] = sign[k]
        crossed[k] = f.choose(early | now, 1.0, 0.0)
    f["pending"] = 1
    f["restart"] = 1
    f["choose_step"] = 1
    f.internal(record)
    f.give()
    return f


def emit_lookahead(program: LoopModule, probe: LoopFunction) -> LoopFunction:
    """`lookahead(near) -> found`: events a little after the end of the step (`crossed` −1: maybe, 2: yes)."""
    f = program.function("lookahead", REAL, (REAL,), rare=True)
    near, g, sign, crossed = f.argument(2), f.vector("g"), f.vector("sign"), f.vector("crossed")
    found = Variable(f, f.real(0.0))
    f.internal(probe, f["h_taken"] + near)
    f.events(f["t"] + near, f.vector("point"))
    with f.each(program.shape.events) as k, f.when(crossed[k] < 0.0):
        crosses = f.sign(g[k]).differs(sign[k]) & g[k].equals(g[k])
        crossed[k] = f.choose(crosses, 2.0, 0.0)
        found.set(f.choose(crosses, 1.0, found.get()))
    f.events(f["t"], f.vector("end"))
    f.give(found.get())
    return f


def emit_scan(program: LoopModule, probe: LoopFunction, cut: LoopFunction) -> LoopFunction:
    """The step just taken, searched for events; if there are any, it is cut at the first of them."""
    lookahead = emit_lookahead(program, probe)
    f = program.function("scan")
    count = program.shape.events
    g, g_start, sign, side = (f.vector(name) for name in ("g", "g_start", "sign", "side"))
    low, crossed, direction = (f.vector(name) for name in ("low", "crossed", "direction"))
    signless = Variable(f, f.real(0.0))
    with f.each(count) as k:
        low[k] = 0.0
        crossed[k] = 0.0
        signless.set(f.choose(sign[k].equals(0.0), 1.0, signless.get()))
    h = f["h_taken"]
    x = Variable(f, h)
    with f.when(signless.get() > 0.0):
        x.set(_first_look(f))
    found = Variable(f, f.real(0.0))
    with f.repeat() as look:
        at_end = x.get() >= h
        with f.when(at_end):
            f.events(f["t"], f.vector("end"))
        with f.when(~at_end):
            f.internal(probe, x.get())
            f.events(f["t_old"] + x.get(), f.vector("point"))
        early = x.get() < FIRST_LOOK * h
        with f.each(count) as k:
            now, before = f.sign(g[k]), sign[k]
            changed = now.differs(before) & g[k].equals(g[k])  # a g that is not a number says nothing
            happens = changed & before.differs(0.0) & ((direction[k] * before) <= 0.0)
            with f.when(happens):
                crossed[k] = 1.0
                found.set(1.0)
            with f.when(~happens):
                took = changed & (before.differs(0.0) | ~early | now.equals(side[k]))
                unseen = took & before.equals(0.0) & (f.vector("returning")[k] > 0.0) & now.differs(side[k])
                with f.when(unseen):
                    f["failed_event"] = k
                sign[k] = f.choose(took, now, before)
                low[k] = x.get()
        with f.when((found.get() > 0.0) | at_end):
            look.leave()
        x.set(2.0 * x.get())
    with f.when(f["failed_event"] >= 0):
        end_before_step(f)
        f.give()
    with f.when(x.get() >= h):
        _look_beyond(f, lookahead, found)
    with f.when(found.get() > 0.0):
        f.internal(cut, x.get())
        f.give()
    f.copy(count, g, g_start)
    f.give()
    return f


def _first_look(f: LoopFunction) -> Value:
    """Where in the first step after an event to look first; see the top of this file."""
    x = Variable(f, FIRST_LOOK * f["h_taken"])
    least = f.most(FIRST_LOOK * f["shortest"], 16.0 * EPSILON * f.magnitude(f["t"]))
    with f.repeat() as loop:
        with f.when(x.get() <= least):
            loop.leave()
        x.set(0.5 * x.get())
    with f.repeat() as loop:
        with f.when((x.get() >= f["blind"]) | (x.get() >= f["h_taken"])):
            loop.leave()
        x.set(2.0 * x.get())
    f["shortest"] = inf
    f["blind"] = 0.0
    return x.get()


def _look_beyond(f: LoopFunction, lookahead: LoopFunction, found: Variable) -> None:
    """A look a little beyond the end of the step where a function would, at its mean rate, cross there."""
    g, g_start, sign, crossed = (f.vector(name) for name in ("g", "g_start", "sign", "crossed"))
    near = closeness(f)
    maybe = Variable(f, f.real(0.0))
    with f.each(f.shape.events) as k:
        hardly = f.magnitude(g[k]) * f["h_taken"] <= 4.0 * near * f.magnitude(g[k] - g_start[k])
        possible = crossed[k].equals(0.0) & sign[k].differs(0.0)
        possible = possible & ((f.vector("direction")[k] * sign[k]) <= 0.0) & hardly
        with f.when(possible):
            crossed[k] = -1.0
            maybe.set(1.0)
    with f.when(maybe.get() > 0.0):
        found.set(f.most(found.get(), f.internal(lookahead, near)))


def fire_pending(f: LoopFunction) -> None:
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


def adopt_signs(f: LoopFunction) -> None:
    """The signs from which the next step's changes are counted; see the top of this file."""
    g, g_start, sign, crossed = (f.vector(name) for name in ("g", "g_start", "sign", "crossed"))
    f.events(f["t"], f.vector("state"))
    with f.each(f.shape.events) as k:
        now = f.sign(g[k])
        back = now.equals(f.vector("side")[k]) & (f.magnitude(g[k]) > CLEAR * f.magnitude(g_start[k]))
        sign[k] = f.choose((crossed[k] > 0.0) & ~back, 0.0, now)
        g_start[k] = g[k]
        crossed[k] = 0.0
