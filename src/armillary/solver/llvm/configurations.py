"""Changes of configuration in a loop: the tables they read, and the installation of another configuration.

A run holds, for each configuration, addresses of its sections (`SECTIONS` of layout.py) and figures
(`ChangeShape.figures`). States and events beyond those of the present configuration stay in the vectors: the
states are zero and have no rates, the event functions are one.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.llvm.building.builder import Value
from armillary.llvm.building.emitter import ADDRESS, WHOLE
from armillary.solver import tables
from armillary.solver.llvm.functions import LoopFunction, LoopModule
from armillary.solver.llvm.layout import INSTALLED, SECTIONS

Table = Callable[[LoopFunction, Value], Value]


def figure(f: LoopFunction, name: str, index: Value) -> Value:
    """Return an entry of a table."""
    return f.table(name)[index]


def _entry_reader(table: tables.Table) -> Table:
    """Return a function that reads an entry, as a real, a whole number or a truth value."""

    def entry(f: LoopFunction, i: Value) -> Value:
        place = f["configuration"] * f.size(table.sizes[0]) + i if table.present else i
        found = figure(f, table.name, place)
        if table.kind == "real":
            return found
        return found.differs(0.0) if table.kind == "truth" else found.to_whole()

    return entry


def _figure_reader(name: str) -> Table:
    return lambda f, i: figure(f, name, i)


# The tables by their words in the small language.
TABLES: dict[str, Table] = {
    **{table.word: _entry_reader(table) for table in tables.TABLES},
    "LOCKED": _entry_reader(tables.Table("locked_in", "truth", ("lockable",), present=True)),
    **{name.upper(): _figure_reader(name) for name in tables.ACROSS},
    "AT_END": lambda f, i: i.equals(tables.AT_END),
}


def emit_install(program: LoopModule) -> LoopFunction:
    """Emit `install(c)`, which gives the run the sections of configuration c. The state stays: if no
    configuration fits, the run ends in the previous one at this state; otherwise `stage` replaces it.
    """
    shape = program.shape
    f = program.function("install", arguments=(WHOLE,), rare=True)
    c, table = f.argument(2), f.outside("sections")
    f["configuration"] = c
    for name in INSTALLED:
        address = f.builder.load(table.at(c * len(SECTIONS) + SECTIONS.index(name)), ADDRESS)
        f[name] = Value(f, address)
    used = figure(f, "used_states", c).to_whole()
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
    watched = figure(f, "watched_events", c).to_whole()
    with f.each(f.size("events")) as k, f.when(k >= watched):
        f.vector("g")[k] = 1.0
    f.give()
    return f
