"""The compiled integration loop.

At each time it reaches, the loop passes through three phases:

    ARRIVED   rows requested inside the step just taken, from its dense output; then the actions at this time:
              events, the end, `update`, the derivative for the next step
    SETTLED   the row at this time, if one is due: it shows the state and memory the next step begins with
    READY     the next step

The loop can return to its caller at every turn, since all of its numbers are in Control and the workspace.

`update` is called at the start of every step: at t₀ and wherever a step ends (with a fixed step: at grid
points, not where an event splits a step), but not at the end of the run, so that a run continued from the
final state and memory calls it there exactly once. The row at the end still shows the memory that a further
step would begin with.

The loop itself is written in the package solver. This module adds the parts that depend on the program: the
functions of the solver to compile, their sizes and tables, and the sections of the program that they call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import ADDRESS, REAL, WHOLE
from armillary.program.sparse_rates import TABLES as SPARSE_TABLES
from armillary.solver.language.translator import read_solver
from armillary.solver.llvm.functions import (
    CONFIGURATION_TABLES,
    LoopFunction,
    LoopModule,
    Table,
    emit_install,
    squares,
)
from armillary.solver.llvm.layout import PASSED, VECTOR_SIZES, LoopShape
from armillary.solver.llvm.machine_code import Model, SolverCode
from armillary.solver.llvm.redundant import emit_begin, emit_projection, emit_staggered, emit_straighten
from armillary.solver.methods.registry import METHODS
from armillary.solver.tables import NESTS, STAGES
from armillary.solver.thresholds import LANDING, LOOKS, SPEED_JUMP

# Functions that run rarely, which LLVM should optimise little.
_RARE = (
    *("change", "read_requests", "next_configuration", "rank_lost_after", "strength_ahead"),
    *("has_locks", "with_locks", "apply_lock_impulse", "set_speeds", "adjust_others", "change_others"),
    *("suitable", "has_choice", "with_choice", "note_lack", "take_closed_motion"),
    *("pair_best", "conditioning", "keep_shown"),
    *("choose_speeds", "measure_sizes", "measure_rows", "pair_rows", "solve_pairs", "exchange_worst"),
    *("locate", "lowest_place", "land", "cut", "record", "first_place", "end_at_small_step", "first_step"),
    *("cross", "take_stages", "is_sound", "keep_nests", "shorten", "judge_events", "continue_across"),
    *("plan_passage", "rank_falls", "least_singular_value", "measure_lengths", "read_rows", "turn_rows"),
    *("row_near_place", "across_state", "reject_step", "is_beside_singularity", "chooses_in_place"),
    *("end_at_change", "blame_rates"),
    *("step_from_beside", "stride_from_beside", "settle_stages", "keep_gauss", "end_search"),
)


def emit_loop(shape: LoopShape, linked: bool = False) -> LoopModule:
    """Return the whole loop. Only these functions are visible:

    armillary_drive(Control*, workspace*) -> Reason
    armillary_choose_start(Control*, workspace*)          if a table has all configurations
    armillary_choose_for_motion(Control*, workspace*)     else, if there are configurations
    armillary_may_jump(Control*, workspace*, kinds)       in this process
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
    """Emit a test whether the speeds of some kind in a row may be far above the speeds in all earlier rows,
    ignoring rows at rest; see models/failures.py. Its argument ``kinds`` holds the number of kinds, then for
    each kind the number of its columns and the columns.
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


def solver_functions(program: LoopModule) -> dict[str, LoopFunction]:
    """Return `drive` and the functions that it calls. If runs can change their configuration, also return
    `choose_start`, or `choose_for_motion` if the table does not have all configurations.
    """
    shape, tableau = program.shape, program.shape.tableau
    facts = {
        "dense": shape.dense, "adaptive": shape.adaptive, "end_enters_error": tableau.end_enters_error,
        "has_two_errors": len(tableau.errors) > 1, "JUMP_HARD": True,
    }  # fmt: skip
    given = given_functions(program)
    known = {"order": float(tableau.order), **(vars(tableau.control) if tableau.control else {})}
    choosing = "choose_start" if shape.changes and shape.changes.listed else "choose_for_motion"
    wanted = ("drive", *((choosing,) if shape.changes else ()))
    method = next(m for m in METHODS.values() if m.coefficients is tableau and not m.begins_with)
    solver = read_solver(shape.features, [method], wanted, facts=facts, given=given, commented=False)
    code = SolverCode(
        program,
        solver,
        sizes=_SIZES,
        known=known,
        tables={**TABLES, **(CONFIGURATION_TABLES if shape.changes else {})},
        model=SECTIONS,
        given=given,
        rare=_RARE,
    )
    for name in wanted:
        code.function(name)
    return code.made


def given_functions(program: LoopModule) -> dict[str, LoopFunction]:
    """Return the functions of the solver that are not in the small language: functions of redundant
    coordinates, `install`, and `squares`, whose sums have the order of a vector's lanes.
    """
    shape = program.shape
    found: dict[str, LoopFunction] = {}
    if shape.scheme is not None:
        found["begin"] = emit_begin(program)
        if shape.dense:
            found["straighten"] = emit_straighten(program)
        if shape.scheme.kind == "projected":
            found["project"] = emit_projection(program)
        else:
            found |= {"project": _emit_no_projection(program), "stages": emit_staggered(program)}
    if shape.changes:
        found["install"] = emit_install(program)
    if shape.adaptive and not shape.implicit:
        found["squares"] = _emit_squares(program)
    return found


def _emit_squares(program: LoopModule) -> LoopFunction:
    f = program.function("squares", REAL, (ADDRESS,))
    f.give(squares(f, Span(f, f.argument(2).raw)))
    return f


def _emit_no_projection(program: LoopModule) -> LoopFunction:
    """Return a `project(t)` that does nothing, for schemes without a projection."""
    f = program.function("project", arguments=(REAL,))
    f.give()
    return f


_SIZES: dict[str, int | str] = {
    **VECTOR_SIZES, "StateNumbers": "used", "N_STATES": "used", "N_MEMORY": "memory", "N_EVENTS": "events",
    "N_JACOBIAN": "jacobian", "N_ELEMENTS": "elements", "N_ROWS": "rows",
    "N_COORDINATES": "coordinates", "N_SPEEDS": "speeds", "N_LOCKABLE": "lockable",
    "N_OWN_EVENTS": "own_events", "N_MEMBERS": "members",
    "N_SETTINGS": "settings", "N_OWN_MOTION": "own_motion", "N_OUTPUTS": "outputs",
    "N_STAGES": STAGES, "N_NESTS": NESTS, "N_LOOKS": len(LOOKS),
    "N_UNKNOWNS": "unknowns", "N_ENTRIES": "entries",
}  # fmt: skip


TABLES: dict[str, Table] = {
    "DIRECTION": lambda f, k: f.vector("direction")[k].to_whole(),
    "STOPS": lambda f, k: f.vector("terminal")[k] > 0.0,
    "LANDS": lambda f, k: f.vector("terminal")[k] >= LANDING,
    "JUMP_TIME": lambda f, k: f.outside("stops")[k],
    "ROW_TIME": lambda f, i: f.outside("times")[i],
    **{
        # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
        name.upper(): lambda f, i, name=name: f.structure(name, i)  # type: ignore[misc]
        for name in SPARSE_TABLES
    },
}


def _at_state(call: Callable[[LoopFunction, Value, Span, Span], None]) -> Model:
    """Return a call of a section at a time and a state, with one vector as its result."""

    def called_at(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
        t, state = given
        assert isinstance(t, Value) and isinstance(state, Span)
        call(f, t, state, targets[0])

    return called_at


def _fire(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    k, t, state = given
    memory, new_state = targets
    if not f.shape.fire:
        return
    assert isinstance(k, Value) and isinstance(t, Value) and isinstance(state, Span)
    f.fire(k, t, state, f.vector("stage"))
    stage, fired = f.vector("stage"), f.vector("new_memory")
    with f.each(f.size("used")) as m:
        new_state[m] = stage[m]
    with f.each(f.size("memory")) as i:
        memory[i] = fired[i]


def _evaluate_end(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, state = given
    assert isinstance(t, Value) and isinstance(state, Span)
    f.evaluate_end(t, state, targets[1])  # the state in place, the functions into g


def _report(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """Log an event, which has been counted."""
    (k,) = given
    assert isinstance(k, Value)
    _log(f, k.to_real())


def _log(f: LoopFunction, number: Value) -> None:
    """Write the time and a number to the log, as the entry that was counted last."""
    log, place = f.outside("log"), (f["firings"] - 1) * 2
    log[place] = f["t"]
    log[place + 1] = number


def _report_change(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """Log the number of a configuration, as −1 − c."""
    f["firings"] = f["firings"] + 1
    _log(f, -1.0 - f["configuration"].to_real())


def _of_present(name: str) -> Model:
    """Return a call of a section of the present configuration, at a time and a state or motion."""
    return _at_state(
        lambda f, t, state, target: f.of_configuration(name, f["configuration"], t, state, target)
    )


def _of_configuration(name: str) -> Model:
    """Return a call of a section of the configuration with a given number, at a time and a motion."""

    def call(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
        c, t, motion = given
        assert isinstance(c, Value) and isinstance(t, Value) and isinstance(motion, Span)
        f.of_configuration(name, c, t, motion, targets[0])

    return call


def _report_passage(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """Log the time and the length of a step across a singular configuration, as two entries."""
    log = f.outside("log")
    for number in ("singular", "h_taken"):
        f["firings"] = f["firings"] + 1
        place = (f["firings"] - 1) * 2
        log[place] = f[number]
        log[place + 1] = float(PASSED)


def _report_time(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    f.outside("times")[f["filled"]] = f["t"]


def _outputs(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, state, memory = given
    assert isinstance(t, Value) and isinstance(state, Span) and isinstance(memory, Span)
    f.outputs(t, state, memory, targets[0])


SECTIONS: dict[str, Model] = {
    "outputs": _outputs,
    "report_passage": _report_passage,
    **{name: _of_configuration(name) for name in ("enter", "impulse", "adjust")},
    **{name: _of_present(name) for name in ("leave", "geometry", "ratings")},
    "report_change": _report_change,
    "partial_rates": _at_state(lambda f, t, state, target: f.partial_rates(t, state, target)),
    "derivatives": _at_state(lambda f, t, state, target: f.derivatives(t, state, target)),
    "events": _at_state(lambda f, t, state, target: f.events(t, state)),  # into g
    "update": _at_state(lambda f, t, state, target: f.update(t, state)),  # into new_memory
    "normalise": _at_state(lambda f, t, state, target: f.normalise(t, state)),  # in place
    "fire": _fire,
    "evaluate_end": _evaluate_end,
    "report": _report,
    "report_time": _report_time,
}
