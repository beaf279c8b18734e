"""The compiled integration loop.

At each time it reaches, the loop passes through three phases:

    ARRIVED   rows asked for inside the step just taken, from its dense output;
              then what happens at this time: events, the end, `update`, the derivative for the next step
    SETTLED   the row at this time, if one is due: it shows the state and memory the next step begins with
    READY     the next step

and it can return to its caller at every turn, for there is nothing in it that is not in Control and
workspace.

`update` is called at the start of every step: at t₀ and wherever a step ends (with a fixed step: at grid
points, not where an event splits a step), but not at the end of the run, so that a run continued from the
final state and memory calls it there exactly once. The row at the end still shows the memory a further step
would begin with.
"""

from __future__ import annotations

from math import inf

from armillary.llvm.assembly import WHOLE
from armillary.llvm.builder import Value, Variable, Vector
from armillary.runtime.loop.accumulation import emit_record, mark_returning
from armillary.runtime.loop.dense import emit_prepare, emit_probe
from armillary.runtime.loop.events import adopt_signs, emit_cut, emit_locate, emit_scan, fire_pending
from armillary.runtime.loop.formulas import not_finite
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import LoopShape, Phase, Reason
from armillary.runtime.loop.projected import emit_begin
from armillary.runtime.loop.steps import emit_adaptive_step, emit_first_step, emit_fixed_step, first_nonfinite
from armillary.runtime.loop.stops import pass_stops


def emit_loop(shape: LoopShape, linked: bool = False) -> LoopModule:
    """The whole loop; its one visible function is armillary_drive(Control*, workspace*) -> Reason."""
    program = LoopModule(shape, linked)
    probe = emit_probe(program, emit_prepare(program)) if shape.dense else None
    scan = None
    if probe and shape.events:
        cut = emit_cut(program, probe, emit_locate(program, probe), emit_record(program))
        scan = emit_scan(program, probe, cut)
    step = (emit_adaptive_step if shape.adaptive else emit_fixed_step)(program, scan)
    _emit_drive(program, probe, _emit_settle(program), step)
    return program


def _emit_drive(
    program: LoopModule, probe: LoopFunction | None, settle: LoopFunction, step: LoopFunction
) -> None:
    f = program.function("drive", WHOLE)
    f.function.linkage = ""
    with f.repeat() as loop:
        full = f["filled"] >= f["capacity"]
        if program.shape.events:
            full = full | (f["logged"] + program.shape.events > f["log_capacity"])
        with f.when(full):
            f.give(f.whole(Reason.FULL))
        every = f["every_step"].equals(1)
        sample = Variable(f, f.real(inf))
        with f.when(~every):
            sample.set(f.outside("times")[f["filled"]])
        due = sample.get()

        with f.when(f["phase"].equals(Phase.ARRIVED)):
            if probe:
                with f.when(due < f["t"] - f["near"]):
                    f.internal(probe, due - f["t_old"])
                    _row(f, due, f.vector("point"))
                    loop.again()
            f.internal(settle)
            f["phase"] = Phase.SETTLED
        ended = f["status"].differs(Reason.RUNNING)
        with f.when(f["phase"].equals(Phase.SETTLED)):
            with f.when(due <= f["t"] + f.choose(ended, 0.0, f["near"])):
                _row_here(f, every)
                loop.again()
            f["phase"] = Phase.READY
            with f.when(every & (f["at_grid"].equals(1) | ended)):
                _row_here(f, every)
                loop.again()
        with f.when(ended):
            f.give(f["status"])
        with f.when(f["budget"] <= 0):
            f.give(f.whole(Reason.PAUSED))
        f["budget"] = f["budget"] - 1
        f.internal(step)
    f.builder.unreachable()


def _row(f: LoopFunction, t: Value, state: Vector, memory: str = "memory") -> None:
    """The outputs at one point as the next row."""
    if f.shape.outputs:
        place = f.outside("rows").at(f["filled"] * f.shape.outputs)
        f.outputs(t, state, memory, place)
    f["filled"] = f["filled"] + 1


def _row_here(f: LoopFunction, every: Value) -> None:
    state = f.vector("state")
    with f.when(every):
        f.outside("times")[f["filled"]] = f["t"]
    if f.shape.update:
        with f.when(f["status"].differs(Reason.RUNNING)):
            f.update(f["t"], state)
            _row(f, f["t"], state, "new_memory")
        with f.when(f["status"].equals(Reason.RUNNING)):
            _row(f, f["t"], state)
    else:
        _row(f, f["t"], state)


def _emit_settle(program: LoopModule) -> LoopFunction:
    """What happens at the time just reached: events, the end, `update`, the derivative for the next step."""
    shape = program.shape
    first_step = emit_first_step(program) if shape.adaptive else None
    begin = emit_begin(program) if shape.scheme else None
    f = program.function("settle")
    if shape.stops:
        pass_stops(f)
    if shape.events:
        fire_pending(f)
    with f.when(f["status"].equals(Reason.RUNNING) & (f["t"] >= f["t_end"])):
        f["status"] = Reason.FINISHED
    with f.when(f["status"].differs(Reason.RUNNING)):
        f.give()
    if shape.update:
        with f.when(f["at_grid"].equals(1)):
            _update_memory(f)
    if begin:
        with f.when(f["restart"].equals(1)):
            f.internal(begin)
    if shape.dense:
        _settle_derivative(f)
    if shape.events:
        with f.when(f["restart"].equals(1)):
            adopt_signs(f)
            mark_returning(f)
    if first_step:
        with f.when(f["choose_step"].equals(1)):
            f.internal(first_step)
    f["restart"] = 0
    f.give()
    return f


def _update_memory(f: LoopFunction) -> None:
    """The memory after `update`; a change makes the derivative at this point stale."""
    memory, new_memory = f.vector("memory"), f.vector("new_memory")
    f.update(f["t"], f.vector("state"))
    with f.each(f.shape.memory) as m:
        with f.when(new_memory[m].differs(memory[m])):
            f["restart"] = 1
        memory[m] = new_memory[m]


def _settle_derivative(f: LoopFunction) -> None:
    """k₀ for the next step: that of the last step's end, or computed anew where that is not valid."""
    n, state, k0 = f.shape.states, f.vector("state"), f.vector("k0")
    kept = f["restart"].equals(0)
    with f.when(kept):
        f.copy(n, f.vector(f"k{f.shape.tableau.stages}"), k0)
    with f.when(~kept):
        f.derivatives(f["t"], state, k0)
        with f.when(not_finite(f, state, k0)):
            f["status"] = Reason.DIVERGED
            f["failed"] = first_nonfinite(f, state, k0)
