"""The solver in C: the record of a run and the functions of runtime/solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.columns import aligned
from armillary.export.c.configurations import configuration_values
from armillary.export.c.model import CModel
from armillary.export.c.solver_printer import CSolverPrinter
from armillary.export.c.text import quoted
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.run_rules import STATUSES, status_words
from armillary.runtime.integrators.records import Method
from armillary.runtime.solver.language.translator import Solver, solver_for
from armillary.runtime.solver.methods import exported_methods

# Functions that the fixed text of solver.c.txt calls.
_WANTED = ("probe", "settle", "advance", "turn", "start_run")


def solver_texts(
    model: CModel,
    adaptive: bool = True,
    kind: Callable[[Solver, str], CSolverPrinter] | None = None,
    also: Sequence[str] = (),
) -> tuple[str, str]:
    """<name>_solver.h and <name>_solver.c, with the methods that choose their steps or without them, and
    with further functions.
    """
    solver = solver_for(model.has, adaptive, (*_WANTED, *also), always_dense=False, guard=model.source.guard)
    methods = exported_methods(adaptive, model.source.stiff)
    return printed_solver(model, (kind or CSolverPrinter)(solver, model.stem), methods)


def printed_solver(
    model: CModel, printer: CSolverPrinter, methods: Sequence[Method], loops: str = ""
) -> tuple[str, str]:
    """<name>_solver.h and <name>_solver.c of a solver with these methods; ``loops``: members of what is kept
    while loops are closed, where a run has a place for it.
    """
    events = model.description.events
    printer.code = text = printer.text().rstrip("\n")
    values = model.values | {
        "methods": ", ".join(f"{model.upper}_{m.name.upper()}" for m in methods),
        "method": methods[0].name,
        "adaptive": " || ".join(f"method == {model.upper}_{m.name.upper()}" for m in methods if m.adaptive)
        or "0",
        "solver_constants": "\n".join(printer.constants()),
        "status_words": status_words(joint=",\n        "),
        "statuses": "\n".join(f"    {line}" for line in _statuses(model.upper)),
        "loops": loops,
        "comparing": "".join(code for name, code in _COMPARING.items() if f"{name}(" in text),
        "solver": text,
        "directions": ", ".join(str(e.direction) for e in events),
        "terminal": ", ".join(str(int(e.stop)) for e in events),
        "set_places": "\n".join(wrapped(", ".join(map(str, model.source.set_places)), 100, "    ", "    ")),
        **_jumps(model),
        **_masses(model),
        **_structure(model, text),
        **configuration_values(model, [f.name for f in printer.fields() if f.type == "States"], text),
    }
    code = fill(template(__package__, "solver.c.txt"), values, model.has)
    printer.code = code
    values["fields"] = "\n".join(printer.record())
    return fill(template(__package__, "solver.h.txt"), values, model.has), code


def _statuses(upper: str) -> list[str]:
    """The statuses of a run, as members of an enumeration."""
    return aligned([(f"{upper}_{s.name.upper()},", f"/* {s.about} */" if s.about else "") for s in STATUSES])


_COMPARING = {
    "smaller": "static double smaller(double a, double b) { return a < b ? a : b; }\n",
    "larger": "static double larger(double a, double b) { return a > b ? a : b; }\n",
    "copy_whole": """\
static void copy_whole(int count, const int *from, int *to)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}
""",
}


def _masses(model: CModel) -> dict[str, str]:
    """Counts and tables for places without mass."""
    masses = model.source.masses
    if masses is None:
        return {}
    kinds = ", ".join(map(str, masses.kinds))
    return {
        "pivots": str(len(masses.texts)),
        "kinds": str(masses.kind_count),
        "kind_of": "\n".join(wrapped(kinds, 100, "    ", "    ")),
        "pivot_of": "\n".join(wrapped(", ".join(map(str, masses.owners)), 100, "    ", "    ")),
        "weak_texts": "".join(f"    {quoted(text)},\n" for text in masses.texts),
    }


def _structure(model: CModel, code: str) -> dict[str, str]:
    """Sizes and tables of sparse equations of implicit steps, as far as the code reads them."""
    found = model.program.structure
    if found is None:
        return {}
    lines = []
    for name, table in found.tables().items():
        if f"{name}[" in code:
            numbers = wrapped(", ".join(map(str, table)), 100, "    ", "    ")
            lines += [f"static const int {name}[] = {{", *numbers, "};"]
    return {
        "sparse_unknowns": str(found.unknowns),
        "sparse_entries": str(len(found.entry_column)),
        "sparse_factors": str(len(found.column)),
        "structure": "\n".join(lines),
    }


def _jumps(model: CModel) -> dict[str, str]:
    """Times at which data bend, with infinity at their end, and whether they jump there."""
    stops = model.program.stops
    times = ", ".join([*(model.printer.number(t).text for t, _ in stops), "(double)INFINITY"])
    hard = ", ".join([*(str(int(jumps)) for _, jumps in stops), "1"])
    values = {"jump_times": times, "jump_hard": hard}
    found = {name: "\n".join(wrapped(text, 100, "    ", "    ")) for name, text in values.items()}
    return {**found, "jump_count": str(len(stops) + 1)}
