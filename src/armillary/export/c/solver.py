"""The solver in C: the record of a run and the functions of the solver."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from armillary.export.c.model import INPUTS, RENEWED, RESULT, CModel
from armillary.export.c.printer import (
    CPrinter,
    CSolverPrinter,
    Signature,
    block,
    function,
    helpers,
    lookup_function,
    string_literal,
    table_name,
)
from armillary.export.text.configurations import (
    change_functions,
    change_sizes,
    has_function,
    implicit_tables,
    tables_of,
)
from armillary.export.text.files import fill, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import CONSTRAINT_GEOMETRY, STATUSES, status_words
from armillary.export.text.source import Sections, Source
from armillary.export.text.start import AssemblySource
from armillary.solver.language.translator import Solver, solver_for
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.tableau import Method
from armillary.text_tables import aligned

# Configurations of a system in C. Each further configuration has a file with its functions. One more file has
# the functions by which runs leave and enter the first configuration. A header declares all these functions;
# the solver's file has their table and tables of numbers.

_OF_CHANGES = ("leave", "enter", "impulse", "adjust", "ratings", CONSTRAINT_GEOMETRY)
_ORDINARY = ("derivatives", "outputs", "events", "update", *_OF_CHANGES)
_PARTIAL = "partial_rates"  # section of stiff programs
_SIZES = {
    "N_OWN_EVENTS": "own_events", "N_CONFIGURATIONS": "configuration_count", "N_STATES": "states_room",
    "N_EVENTS": "events_room", "N_CONSTANTS": "constants_most", "N_SPEEDS": "speeds", "N_MOTION": "motion",
    "N_LOCKABLE": "lockable", "N_MEMBERS": "members", "N_SETTINGS": "settings",
    "N_OWN_MOTION": "own_motion", "N_ROWS": "rows", "N_ELEMENTS": "elements", "N_STAGES": "stages",
    "N_NESTS": "nests", "N_LOOKS": "looks",
}  # fmt: skip


def configuration_files(model: CModel) -> dict[str, str]:
    """Return the files of all configurations; empty if there is only one."""
    if not model.source.changing:
        return {}
    stem = model.stem
    files = {f"{stem}_changes.h": _header(model), f"{stem}_changes.c": _file(model, whole=False)}
    for other in configurations(model)[1:]:
        files[f"{other.stem}.c"] = _file(other, whole=True, header=stem)
    return files


def configurations(model: CModel) -> list[CModel]:
    """Return the models of all configurations, the first one first."""
    return [model, *(model.further(source) for source in model.source.others)]


def _file(model: CModel, *, whole: bool, header: str = "") -> str:
    """Return all functions of a configuration, or only those by which runs leave and enter it."""
    text = "\n".join([*([model.body()] if whole else []), changing_functions(model)])
    helpers_text = model.helper_functions(text)
    apart = f"{APART}\n" if "APART" in helpers_text + text else ""
    name = f"{model.stem}.c" if whole else f"{model.stem}_changes.c"
    what = "one of its configurations" if whole else "changes from and to the configuration as derived"
    head = block([f"{name}: {model.description.name}: {what}"])
    include = f'#include "{header or model.stem}_changes.h"\n\n#include <math.h>\n'
    as_cpp = "#if defined(__cplusplus)\n#define restrict\n#endif\n\n" if "embedded" in model.has else ""
    return f"{head}\n{include}\n{as_cpp}{apart}{helpers_text}\n{text}"


APART = """\
#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* pieces of long functions stay apart: quicker to compile */
#else
#define APART
#endif
"""


def changing_functions(model: CModel) -> str:
    """Return the functions by which a run leaves and enters a configuration."""
    texts = []
    for f in change_functions(model.source):
        targets = [f"out[{i}]" for i in range(len(f.section.results))]
        signature = Signature(f"{model.stem}_{f.name}", f"{INPUTS}, {RESULT}", targets)
        texts.append(function(signature, f"{f.about}.", model.sections.body(f.section)))
    return "\n".join(texts)


def _header(model: CModel) -> str:
    """Return the header with prototypes of the functions of all configurations."""
    stem = model.stem
    lines = [block([f"{stem}_changes.h: functions of all configurations of {model.description.name}"])]
    lines += [
        f"#ifndef {model.upper}_CHANGES_H",
        f"#define {model.upper}_CHANGES_H",
        f'#include "{stem}.h"',
        "",
    ]
    for one in configurations(model):
        had = _function_names(one)
        if one is not model:
            lines.append(f"void {one.stem}_precompute(const double *parameters, double *constants);")
            if "fire" in had:
                taken = f"{_without_restrict(INPUTS)}, {_without_restrict(RENEWED)}"
                lines.append(f"void {one.stem}_fire(int event, {taken});")
            if "normalise" in had:
                inputs = _without_restrict(INPUTS).replace("const double *state", "double *state", 1)
                lines.append(f"void {one.stem}_normalise({inputs});")
        own = (*_ORDINARY, _PARTIAL) if one is not model else _OF_CHANGES
        lines += [
            f"void {one.stem}_{name}({_without_restrict(INPUTS)}, double *out);"
            for name in own
            if name in had
        ]
    return "\n".join([*lines, "", "#endif", ""])


def _without_restrict(arguments: str) -> str:
    return arguments.replace("*restrict ", "*")


def _function_names(model: CModel) -> set[str]:
    """Return the names of the functions that a configuration has."""
    found = {name for name, there in has_function(model.program, model.source.passing).items() if there}
    partial = {_PARTIAL} if model.program.partial_rates else set()
    return {"precompute", "derivatives", "outputs"} | partial | found


def configuration_values(model: CModel, vectors: Sequence[str], code: str) -> dict[str, str]:
    """Return sizes and tables of the solver's files.

    ``vectors`` names the state vectors of a run; ``code`` is the text of the functions that read the tables.
    """
    if not model.source.changing:
        return {"own_events": f"{model.upper}_EVENTS"}
    models = configurations(model)
    every = [m.source.equations for m in models]
    sizes = {
        _SIZES[name]: str(value)
        for name, value in change_sizes(every, model.source.passing).items()
        if name in _SIZES
    }
    return sizes | {
        "configuration_tables": _configuration_tables(models, code),
        "cleared": " = ".join(f"run->{name}[i]" for name in vectors),
    }


def _configuration_tables(models: Sequence[CModel], code: str) -> str:
    """Return the functions and numbers of all configurations that the code reads."""
    model = models[0]
    partial = (_PARTIAL,) if "differentiated" in model.has else ()
    members = ", *".join(["update", *partial])
    texts = [_TYPES.replace("@name@", model.stem).replace("*update;", f"*{members};")]
    ordinary = [*_ORDINARY[:4], *partial, *_ORDINARY[4:]]
    entries = []
    for one in models:
        had = _function_names(one)
        functions = [
            f"{one.stem}_{name}" if name in had else "0"
            for name in ("precompute", *ordinary, "fire", "normalise")
        ]
        entries.append("    {" + ", ".join(functions) + "},")
    every = [m.source.equations for m in models]
    found = tables_of(every, model.source.passing, recloses=True)
    # The templates read the first three tables. A bracket after a name shows that the code reads this table;
    # without a bracket the name can be in a comment.
    read = {"used_states", "watched_events", "stops", *re.findall(r"\b(\w+)\[", code)}
    for kind, tables in (("int", found.tables), ("double", found.reals)):
        named = {table_name(name): values for name, values in tables.items()}
        texts += [_array_text(n, v, kind) for n, v in named.items() if n in read]
    texts += [
        "static const configuration configurations[] = {\n" + "\n".join(entries) + "\n};\n",
        "/* The present configuration of a run. */",
        f"static const configuration *present(const {model.stem}_run *run)",
        "{\n    return &configurations[run->configuration];\n}\n",
        f"static void install({model.stem}_run *run, int c);\n",
    ]
    return "\n".join(texts)


def _array_text(name: str, values: Iterable[float], kind: str = "int") -> str:
    text = "\n".join(wrap_statement(", ".join(map(repr, values)) or "0", 100, "    ", "    "))
    return f"static const {kind} {name}[] = {{\n{text}}};"


_TYPES = """\
typedef void section(double t, const double *state, const double *constants, const double *memory,
    double *out);

/* The functions of a configuration; no function: 0. */
typedef struct {
    void (*precompute)(const double *parameters, double *constants);
    section *derivatives, *outputs, *events, *update;
    section *leave, *enter, *impulse, *adjust, *ratings, *constraint_geometry;
    void (*fire)(int event, double t, const double *state, const double *constants, const double *memory,
        double *new_memory, double *new_state);
    void (*normalise)(double t, double *state, const double *constants, const double *memory);
} configuration;
"""


# Functions of the described solver that the template solver.c.txt calls.
_WANTED = ("probe", "settle", "advance", "turn", "start_run")


class SolverTexts(NamedTuple):
    """The texts of the solver. For a device, the header has only the record of a run, and the tables do not
    begin with the comment and the includes of a file.
    """

    header: str
    tables: str  # the tables and the functions that read them
    functions: str  # the functions of the described solver, and those through which programs call it

    def files(self, stem: str) -> dict[str, str]:
        """Return <name>_solver.h and <name>_solver.c by name."""
        return {f"{stem}_solver.h": self.header, f"{stem}_solver.c": self.tables + self.functions}


def solver_texts(
    model: CModel,
    adaptive: bool = True,
    kind: Callable[[Solver, str], CSolverPrinter] | None = None,
    also: Sequence[str] = (),
) -> SolverTexts:
    """Return <name>_solver.h and <name>_solver.c, with or without adaptive methods.

    ``also`` names further functions of the described solver that the text must have.
    """
    solver = solver_for(model.has, adaptive, (*_WANTED, *also), always_dense=False, guard=model.source.guard)
    methods = exported_methods(adaptive, model.source.stiff)
    return printed_solver(model, (kind or CSolverPrinter)(solver, model.stem), methods)


def printed_solver(
    model: CModel, printer: CSolverPrinter, methods: Sequence[Method], loops: str = ""
) -> SolverTexts:
    """Return <name>_solver.h and <name>_solver.c of a solver with these methods.

    ``loops``: members of the workspace for closing loops, if the record of a run holds one.
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
        "set_places": "\n".join(
            wrap_statement(", ".join(map(str, model.source.set_places)), 100, "    ", "    ")
        ),
        **_jump_times(model),
        **_masses(model),
        **_sparse_tables(model, text),
        **configuration_values(model, [f.name for f in printer.fields() if f.type == "States"], text),
    }
    tables, functions = (
        fill(template(__package__, name), values, model.has)
        for name in ("solver.c.txt", "solver_functions.c.txt")
    )
    printer.code = tables + functions
    values["fields"] = "\n".join(printer.record())
    return SolverTexts(fill(template(__package__, "solver.h.txt"), values, model.has), tables, functions)


def _statuses(upper: str) -> list[str]:
    """Return the statuses of a run, as members of an enumeration."""
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
    """Return counts and tables for the search for motions without mass."""
    masses = model.source.masses
    if masses is None:
        return {}
    kinds = ", ".join(map(str, masses.kinds))
    return {
        "pivots": str(len(masses.texts)),
        "kinds": str(masses.kind_count),
        "kind_of": "\n".join(wrap_statement(kinds, 100, "    ", "    ")),
        "pivot_of": "\n".join(wrap_statement(", ".join(map(str, masses.owners)), 100, "    ", "    ")),
        "weak_texts": "".join(f"    {string_literal(text)},\n" for text in masses.texts),
    }


def _sparse_tables(model: CModel, code: str) -> dict[str, str]:
    """Return the sizes and tables of sparse equations of implicit steps that the code reads."""
    found = implicit_tables(model.source)
    lines = [_array_text(name.lower(), v) for name, v in found.counted_from(0, code).items()]
    names = {"unknowns": "N_UNKNOWNS", "entries": "N_ENTRIES", "factors": "N_FACTORS"}
    sizes = {f"sparse_{word}": str(found.sizes.get(name, 0)) for word, name in names.items()}
    return sizes | {"structure": "\n".join(lines)}


def _jump_times(model: CModel) -> dict[str, str]:
    """Return a table of the times at which data over time bend or jump, and a table with 1 for each time at
    which they jump, else 0. The last time is infinity.
    """
    stops = model.program.stops
    times = ", ".join([*(model.printer.number(t).text for t, _ in stops), "(double)INFINITY"])
    hard = ", ".join([*(str(int(jumps)) for _, jumps in stops), "1"])
    values = {"jump_times": times, "jump_hard": hard}
    found = {name: "\n".join(wrap_statement(text, 100, "    ", "    ")) for name, text in values.items()}
    return {**found, "jump_count": str(len(stops) + 1)}


# <name>_assembly.c closes loops before a run, as in the process.


class PlainPrinter(CPrinter):
    """A printer of C with the library's sines, since assembly runs once."""

    paired_angles = 0


_OPENING = """\
#include "@name@.h"

#include <math.h>
#include <stdio.h>
"""


def assembly_code(
    source: Source, file: str = "", opening: str = _OPENING, closing: str = "", *, on_device: bool = False
) -> str:
    """Return the file that closes the loops of a system.

    ``opening`` and ``closing`` are its first and last lines, which can make it a file of C++; ``on_device``
    leaves out the messages that only a program on the host can write.
    """
    loops = source.assembly
    assert loops is not None
    printer = PlainPrinter()
    geometry = geometry_function(source.stem, loops, Sections(source, printer))
    tables = [lookup_function(name, table, printer) for table, name in printer.tables.items()]
    solved = AssemblyPrinter(loops, source.stem, loops.solver)
    values = assembly_values(source, solved, solved.text().rstrip("\n"), file) | {
        "opening": opening.replace("@name@", source.stem),
        "closing": closing,
        "helpers": "\n".join([*([] if on_device else [APART]), helpers(geometry), *tables]),
        "functions": geometry,
        "before": _texts(before for before, _ in loops.gaps),
        "after": _texts(after for _, after in loops.gaps),
        "redundant": string_literal(loops.redundant),
    }
    has = loops.features | {"host", *(["device"] if on_device else ["messages"])}
    return fill(template(__package__, "assembly.c.txt"), values, has)


def geometry_function(stem: str, loops: AssemblySource, sections: Sections) -> str:
    """Return the function that computes the gaps of loops, their sizes, and the matrices J and N."""
    targets = [f"out[{i}]" for i in range(len(loops.section.results))]
    signature = Signature(f"{stem}_geometry", f"{INPUTS}, {RESULT}", targets, "static ")
    about = "Gaps, elements of J, elements of N, sizes of gaps."
    return function(signature, about, sections.body(loops.section))


def assembly_values(source: Source, solved: AssemblyPrinter, solver: str, file: str = "") -> dict[str, str]:
    """Return template values that do not depend on the surrounding program."""
    loops, stem = solved.loops, source.stem
    head = [
        f"{file or f'{stem}_assembly.c'}: {source.description.name}: loops closed before a run", "",
        "The loops are closed by moving coordinates whose values were not given: first those of the",
        "dependent speeds, then all on which the loops depend, then the same from scattered starts. If more",
        "coordinates are given than the loops leave free, given dependent coordinates move, too: their",
        "values are first guesses.",
    ]  # fmt: skip
    return {
        "name": stem,
        "NAME": stem.upper(),
        "head": block(head),
        "sizes": _list_items("enum { ", [f"{name} = {n}" for name, n in loops.sizes.items()], " };"),
        "coordinates": str(len(loops.coordinates)),
        "tables": solved.tables(),
        "record": solved.record_type,
        "fields": "\n".join(solved.record()),
        "constants": "\n".join(solved.constants()),
        "solver": solver,
        "first": _list_items("", map(repr, loops.first)),
        "whole": _list_items("", map(str, loops.whole)),
    }


class AssemblyPrinter(CSolverPrinter):
    """A printer of functions that close loops."""

    def __init__(self, loops: AssemblySource, stem: str, described: Solver) -> None:
        super().__init__(described, stem)
        self.names = {name: name.lower() for name in self.solver.constants} | {
            "FIRST": "0",
            "INFINITY": "(double)INFINITY",
        }
        self.loops, self.record_type = loops, "loops"

    def extent(self, kind: str, room: bool = False) -> str:
        return str(self.loops.lengths[kind])

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{self.stem}_geometry({', '.join(arguments)}, run->constants, run->memory, {targets[0]});"]

    def tables(self) -> str:
        """Return the tables of the system."""
        tables: dict[str, Sequence[int]] = {**self.loops.whole_tables(0), **self.loops.truth_tables}
        return "\n".join(
            _list_items(
                f"static const int {name}[{max(1, len(numbers))}] = {{", map(str, numbers or [0]), "};"
            )
            for name, numbers in tables.items()
        )


def _list_items(before: str, items: Iterable[str], after: str = "") -> str:
    return "\n".join(wrap_statement(f"{before}{', '.join(items)}{after}", 110, "", "    "))


def _texts(texts: Iterable[str]) -> str:
    return "".join(f"    {string_literal(text)},\n" for text in texts)
