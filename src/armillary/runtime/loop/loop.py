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

from math import inf

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import ADDRESS, WHOLE
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import BETWEEN, LOGGED, LoopShape, Phase, Reason
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
    for name in solver.keys() & {"choose_start", "choose_for_motion"}:
        solver[name].function.linkage = ""
    _emit_drive(program, solver)
    if not linked:
        _emit_may_jump(program)
    if shape.general and shape.plain:
        for name in ("stages", "accept_step", "settle", "fixed_step"):  # each has one caller
            program.module.functions[f"armillary_{name}"].attributes.append("alwaysinline")
    return program


def _emit_drive(program: LoopModule, solver: dict[str, LoopFunction]) -> None:
    f = program.function("drive", WHOLE)
    probe = solver.get("probe")
    f.function.linkage = ""
    with f.repeat() as loop:
        full = f["filled"] >= f["capacity"]
        if program.shape.events:
            full = full | (f["firings"] + f.size("events") + LOGGED > f["log_capacity"])
        with f.when(full):
            f.give(f.whole(Reason.FULL))
        every = f["every_step"].equals(1)
        sample = Local(f, f.real(inf))
        with f.when(~every):
            sample.set(f.outside("times")[f["filled"]])
        due = sample.get()

        with f.when(f["phase"].equals(Phase.ARRIVED)):
            if probe:
                with f.when(due < f["t"] - f["near"]):
                    if program.shape.passing:
                        with f.when(f.internal(solver["is_near_place"], due)):
                            f.internal(solver["row_near_place"], due)
                            _shown_row(f)
                            loop.again()
                    f.internal(probe, due - f["t_old"])
                    _row(f, due, f.vector("point"))
                    loop.again()
            f["phase"] = Phase.SETTLED
            f.internal(solver["settle"])
            if program.shape.passing:
                with f.when(f["phase"].equals(Phase.ARRIVED)):  # a step goes on after an event in it
                    loop.again()
            if program.shape.partitioned:
                with f.when(f["status"].equals(Reason.LACKING)):  # no row shows the state before the change
                    f.give(f.whole(Reason.LACKING))
        ended = f["status"].differs(Reason.RUNNING)
        with f.when(f["phase"].equals(Phase.SETTLED)):
            with f.when(due <= f["t"] + f.choose(ended, 0.0, f["near"])):
                _row_here(f, every, solver)
                loop.again()
            f["phase"] = Phase.READY
            with f.when(every & (f["at_grid"].equals(1) | ended)):
                _row_here(f, every, solver)
                loop.again()
        with f.when(ended):
            if program.shape.passing:
                with f.when(_ends_near_place(f, solver)):
                    f.internal(solver["row_near_place"], f["t"])
                    f["passing"] = BETWEEN
            f.give(f["status"])
        with f.when(f["budget"] <= 0):
            f.give(f.whole(Reason.PAUSED))
        f["budget"] = f["budget"] - 1
        f["due"] = due
        f.internal(solver["step"])
    f.builder.unreachable()


def _emit_may_jump(program: LoopModule) -> None:
    """Whether speeds of some kind in a row may be far above all in earlier rows, not counting rest: see
    models/failures/weak_masses.py. ``kinds``: their number, then of each the number of its columns, and
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


def _row(f: LoopFunction, t: Value, state: Span, memory: str = "memory") -> None:
    """The outputs at one point as the next row."""
    if f.shape.outputs:
        place = f.outside("samples").at(f["filled"] * f.size("outputs"))
        f.outputs(t, state, memory, place)
        if f.shape.general:
            f.expect_stores(Span(f, place), f.size("outputs"))
    f["filled"] = f["filled"] + 1


def _shown_row(f: LoopFunction) -> None:
    """The row in the vector `shown` as the next one."""
    first, shown = f["filled"] * f.size("outputs"), f.vector("shown")
    with f.each(f.size("outputs")) as i:
        f.outside("samples")[first + i] = shown[i] + 0.0  # a zero has no sign where users see it
    f["filled"] = f["filled"] + 1


def _ends_near_place(f: LoopFunction, solver: dict[str, LoopFunction]) -> Value:
    """Whether the run has ended, by an event or its time, where rows are found from rows around."""
    near: Value = f.internal(solver["is_near_place"], f["t"])
    return (f["status"].equals(Reason.EVENT) | f["status"].equals(Reason.FINISHED)) & near


def _row_here(f: LoopFunction, every: Value, solver: dict[str, LoopFunction]) -> None:
    with f.when(every):
        f.outside("times")[f["filled"]] = f["t"]
    if not f.shape.passing:
        _row_of_state(f)
        return
    near = _ends_near_place(f, solver)
    with f.when(near):
        f.internal(solver["row_near_place"], f["t"])
        _shown_row(f)
    with f.when(~near):
        _row_of_state(f)


def _row_of_state(f: LoopFunction) -> None:
    state = f.vector("state")
    if f.shape.update:
        with f.when(f["status"].differs(Reason.RUNNING)):
            f.update(f["t"], state)
            _row(f, f["t"], state, "new_memory")
        with f.when(f["status"].equals(Reason.RUNNING)):
            _row(f, f["t"], state)
    else:
        _row(f, f["t"], state)
