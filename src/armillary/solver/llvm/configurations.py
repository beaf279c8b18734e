"""Changes of configuration in a loop: the tables they read, and the installation of another configuration.

A run holds, for each configuration, addresses of its sections (`SECTIONS` of layout.py) and figures
(`ChangeShape.figures`). States and events that the present configuration lacks keep their places: the states
are zero and have no rates, the event functions are one.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.llvm.building.builder import Value
from armillary.llvm.building.emitter import ADDRESS, WHOLE
from armillary.solver.llvm.functions import LoopFunction, LoopModule
from armillary.solver.llvm.layout import ACROSS, AT_END, HEAD, INSTALLED, SECTIONS

Table = Callable[[LoopFunction, Value], Value]


def figure(f: LoopFunction, name: str, index: Value) -> Value:
    """Return an entry of a table."""
    figures = f.outside("figures")
    return figures[index + figures[HEAD.index(f"first {name}")].to_whole()]


def _of_event(name: str) -> Table:
    return lambda f, k: figure(f, name, f["configuration"] * f.size("events") + k)


def _locked_here(f: LoopFunction, j: Value) -> Value:
    return figure(f, "locked", f["configuration"] * f.size("lockable") + j).differs(0.0)


def _is(name: str) -> Table:
    return lambda f, i: figure(f, name, i).differs(0.0)


def _number(table: Table) -> Table:
    return lambda f, i: table(f, i).to_whole()


def _truth(table: Table) -> Table:
    return lambda f, i: table(f, i).differs(0.0)


# The tables of solver/language/language.py.
TABLES: dict[str, Table] = {
    "DIRECTION": _number(_of_event("direction")),
    "STOPS": _truth(_of_event("ends")),
    "LANDS": _truth(_of_event("lands")),
    "ROLE": _number(_of_event("role")),
    "RECLOSES": _truth(_of_event("recloses")),
    "LOCKED": _locked_here,
    "LOCKED_IN": _is("locked"),
    "LOCKS": _is("locks"),
    "UNLOCKS": _is("unlocks"),
    "SETS": _is("sets"),
    "MOVES": _is("moves"),
    **{
        # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
        name.upper(): _number(lambda f, s, name=name: figure(f, name, s))  # type: ignore[misc]
        for name in ("setting_event", "setting_speed")
    },
    "SETTING_ACTS": _truth(
        lambda f, s: figure(f, "setting_acts", f["configuration"] * f.size("settings") + s)
    ),
    "STRIKES": _is("strikes"),
    "CHOICE_EVENT": _number(lambda f, c: figure(f, "choice", c)),
    "RANK_EVENT": _number(lambda f, c: figure(f, "rank", c)),
    "GROUP_SIZE": _number(lambda f, c: figure(f, "group_size", c)),
    "ELEMENTS": _number(lambda f, c: figure(f, "elements", c)),
    "FIRST_ELEMENT": _number(lambda f, c: figure(f, "first_element", c)),
    "ROW_OF": _number(lambda f, e: figure(f, "row_of", f["configuration"] * f.size("elements") + e)),
    "SPEED_OF": _number(lambda f, e: figure(f, "speed_of", f["configuration"] * f.size("elements") + e)),
    "SPEED_OF_ROW": _number(lambda f, i: figure(f, "speed_of_row", f["configuration"] * f.size("rows") + i)),
    "ROW_OF_STEP": _number(lambda f, i: figure(f, "row_of_step", i)),
    "SPEED_OF_STEP": _number(lambda f, i: figure(f, "speed_of_step", i)),
    "SPEED_KIND": _number(lambda f, j: figure(f, "speed_kind", j)),
    "IS_MODAL": _is("is_modal"),
    "STATE_SIZE": lambda f, i: figure(f, "state_size", f["configuration"] * f.size("own_motion") + i),
    "TURNS_ROWS": lambda f, i: figure(f, "turns_rows", f["configuration"] * f.size("own_motion") + i),
    "NEAR_PLACE": _number(_of_event("near_place")),
    # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
    **{name.upper(): lambda f, i, name=name: figure(f, name, i) for name in ACROSS},  # type: ignore[misc]
    "AT_END": lambda f, i: i.equals(AT_END),
    "MEMBER": _number(lambda f, i: figure(f, "member", i)),
}


def emit_install(program: LoopModule) -> LoopFunction:
    """Emit `install(c)`, which gives the run the sections of configuration c. The state stays: if no
    configuration fits, the run ends in the previous one, at this state; else the state in `stage` replaces
    it.
    """
    shape = program.shape
    f = program.function("install", arguments=(WHOLE,), rare=True)
    c, table = f.argument(2), f.outside("sections")
    f["configuration"] = c
    for name in INSTALLED:
        address = f.builder.load(table.at(c * len(SECTIONS) + SECTIONS.index(name)), ADDRESS)
        f[name] = Value(f, address)
    used = figure(f, "used", c).to_whole()
    f["used"] = used
    common = ("trial", "stage", "base", "finish", "point", "k0", "k_end", "fast", "image", "right_side")
    there, own = shape.lengths(), [name for name in shape.tableau.vectors if not name.startswith("nest")]
    vectors = [name for name in dict.fromkeys((*common, "time_rate", "k_before", *own)) if name in there]
    with f.each(f.size("states")) as m, f.when(m >= used):
        for name in vectors:
            f.vector(name)[m] = 0.0
    if shape.partitioned and shape.adaptive:
        with f.when(f["by_state"].equals(1)), f.each(f.size("states")) as m:
            f.vector("atol")[m] = f.outside("tolerances")[c * f.size("states") + m]
    watched = figure(f, "watched", c).to_whole()
    with f.each(f.size("events")) as k, f.when(k >= watched):
        f.vector("g")[k] = 1.0
    f.give()
    return f
