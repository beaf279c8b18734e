"""The compiled integration loop.

At each time it reaches, the loop passes through three phases:

    ARRIVED   rows requested inside the step just taken, from its dense output;
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

from armillary.llvm.building.builder import Local, Span
from armillary.llvm.building.emitter import ADDRESS, WHOLE
from armillary.runtime.loop.functions import LoopModule
from armillary.runtime.loop.layout import LoopShape
from armillary.runtime.loop.solver_functions import solver_functions
from armillary.runtime.loop.thresholds.mass_thresholds import SPEED_JUMP


def emit_loop(shape: LoopShape, linked: bool = False) -> LoopModule:
    """The whole loop: armillary_drive(Control*, workspace*) -> Reason, armillary_choose_start(Control*,
    workspace*) where a table has all configurations and else, where there are some,
    armillary_choose_for_motion(Control*, workspace*), and armillary_may_jump(Control*, workspace*, kinds) for
    this process; no other function is visible.
    """
    program = LoopModule(shape, linked)
    solver = solver_functions(program)
    for name in solver.keys() & {"drive", "choose_start", "choose_for_motion"}:
        solver[name].function.linkage = ""
    if not linked:
        _emit_may_jump(program)
    if shape.general and shape.plain:
        for name in ("stages", "accept_step", "settle", "fixed_step"):  # each has one caller
            program.module.functions[f"armillary_{name}"].attributes.append("alwaysinline")
    return program


def _emit_may_jump(program: LoopModule) -> None:
    """Whether speeds of some kind in a row may be far above all in earlier rows, not counting rest: see
    models/failures.py. ``kinds``: their number, then of each the number of its columns, and
    these.
    """
    f = program.function("may_jump", WHOLE, (ADDRESS,))
    f.function.linkage = ""
    kinds, rows = Span(f, f.argument(2).raw), f.outside("samples")
    place = Local(f, f.whole(1))
    with f.each(kinds[0].to_whole()):
        first, before = place.get() + 1, Local(f, f.real(0.0))
        columns = kinds[place.get()].to_whole()
        with f.each(f["filled"]) as i:
            size = Local(f, f.real(0.0))
            with f.each(columns) as j:
                column = kinds[first + j].to_whole()
                value = f.magnitude(rows[i * f.size("outputs") + column])
                size.set(f.intrinsic("maximum", size.get(), value))
            calm = (size.get() < SPEED_JUMP * before.get()) | (before.get() <= 0.0)
            with f.when(~calm):
                f.give(f.whole(1))
            before.set(f.intrinsic("maximum", before.get(), size.get()))
        place.set(first + columns)
    f.give(f.whole(0))
