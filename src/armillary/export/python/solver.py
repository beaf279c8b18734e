"""The solver in Python: the fields of a run, and the functions of armillary.solver."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence

from armillary.export.text.configurations import (
    CHANGE_EXTENTS,
    IMPLICIT_EXTENTS,
    WORDS,
    ContactSource,
    SolverTables,
    change_tables,
    contact_constants,
    has_function,
)
from armillary.export.text.files import setting_values
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import (
    CONSTRAINT_GEOMETRY,
    NO_SOLVER,
    STATUSES,
    SolverPrinter,
    element_types,
    setting_checks,
    status_words,
)
from armillary.export.text.source import Source
from armillary.export.text.start import AssemblySource, loop_name
from armillary.solver.language.translator import Solver, SolverFunction, solver_for
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.tables import TRUTHS

# All configurations of a system in Python: their functions, and the tables that changes of configuration
# read.

# Functions of every configuration, with substitutes for those that a configuration lacks.
_FUNCTIONS = {
    "precompute": "", "derivatives": "", "outputs": "", "events": "nothing", "update": "nothing",
    "fire": "nothing", "normalise": "unchanged", "leave": "nothing", "enter": "nothing",
    "impulse": "nothing", "adjust": "nothing", "ratings": "nothing", CONSTRAINT_GEOMETRY: "nothing",
    "partial_rates": "nothing",
}  # fmt: skip
# Names of sizes in Python that differ from the names in the functions of the solver.
OTHER_SIZES = {"N_SPEEDS": "N_ALL_SPEEDS"}
EXTENTS = {kind: OTHER_SIZES.get(name, name) for kind, name in CHANGE_EXTENTS.items()}
Named = Callable[[Source, str], str]


def configuration_values(source: Source, named: Named, width: int) -> dict[str, str]:
    """Return sizes, tables and functions of all configurations, for the template of the solver."""
    if not source.changing:
        return {}
    found = change_tables(source)
    lines = []
    for name, values in found.tables.items():
        kept: Sequence[object] = [bool(v) for v in values] if name in TRUTHS else values
        lines += wrap_statement(f"{name} = [{', '.join(map(str, kept))}]", width, "", "    ")
    for name, reals in found.reals.items():
        lines += wrap_statement(f"{name} = [{', '.join(map(repr, reals))}]", width, "", "    ")
    return {
        "change_sizes": size_lines(found),
        "change_tables": "\n".join(lines),
        "sections": section_lines(source, named, width),
    }


def size_lines(found: SolverTables) -> str:
    """Return the assignments of sizes."""
    return "\n".join(f"{OTHER_SIZES.get(name, name)} = {value}" for name, value in found.sizes.items())


def section_lines(source: Source, named: Named, width: int) -> str:
    """Return one dictionary per configuration: functions by their names."""
    every = []
    for one in (source, *source.others):
        has = has_function(one.program, one.passing)
        entries = [
            f"{name!r}: {named(one, name) if has.get(name, True) else missing}"
            for name, missing in _FUNCTIONS.items()
            if has.get(name, True) or source.changing
        ]
        every.append("\n".join(wrap_statement("{" + ", ".join(entries) + "},", width, "    ", "     ")))
    return "\n".join(every)


_TYPES = {"real": "float", "whole": "int", "count": "int", "truth": "bool"}
_ARGUMENTS = {**_TYPES, "States": "Vector"}
_ZEROS = {"float": "0.0", "int": "0", "bool": "False"}
_ELEMENTS = element_types("int", "bool")
_SIZES = {"States": "len(STATES)", "Memory": "len(MEMORY)", "Outputs": "len(OUTPUTS)"}
_SIZES |= {**IMPLICIT_EXTENTS, "StateNumbers": "len(STATES)"}
_SIZES |= {"Pivots": "len(WEAK_MASSES)", "Kinds": "N_KINDS", "PlaceFlags": "LOOP_COORDINATES"}


def solver_values(made: Source, has: Collection[str]) -> dict[str, str]:
    """Return values for the template:  the fields of a run, the constants and the functions."""
    printer = PythonSolverPrinter(solver_for(has, True, ("start_run", "find_row"), guard=made.guard))
    loops = made.assembly.solver if made.assembly is not None else NO_SOLVER
    printer.elsewhere = loops.functions  # the module has them; functions with the same name are equal
    return {
        "fields": "\n".join(printer.fields()),
        "solver_constants": constant_lines(printer.solver, loops),
        "solver": printer.text().rstrip("\n"),
    }


def constant_lines(solver: Solver, loops: Solver) -> str:
    """Return the assignments of a solver's constants, without constants of loop closing."""
    return "\n".join(f"{k} = {v!r}" for k, v in solver.constants.items() if k not in loops.constants)


def run_values(stiff: bool = False, multistep: bool = True) -> dict[str, str]:
    """Return values for templates of whole runs: methods, statuses, settings and their checks."""
    methods = exported_methods(True, stiff, multistep)
    names = [m.name.upper() for m in methods]
    refusal = '    if {}:\n        raise ValueError(f"{}")'
    return {
        "methods": f"{', '.join(names)} = range({len(names)})",
        "method_names": ", ".join(f'"{m.name}": {m.name.upper()}' for m in methods),
        "adaptive": ", ".join(f'"{m.name}"' for m in methods if m.adaptive),
        "statuses": ", ".join(s.name.upper() if s.name != "open" else "LEFT_OPEN" for s in STATUSES),
        "status_count": str(len(STATUSES)),
        "status_words": status_words(joint=",\n    "),
        "setting_checks": setting_checks(
            PythonSolverPrinter(NO_SOLVER), refusal, "{{{}}}", {"chooses": "method in ADAPTIVE"}
        ),
        **setting_values("math.inf"),
    }


class PythonSolverPrinter(SolverPrinter):
    """Printer of functions in Python, with vectors as lists."""

    spelled = {"not": "not "}  # noqa: RUF012
    heads = {  # noqa: RUF012
        "if": "if {}:", "elif": "elif {}:", "else": "else:", "while": "while {}:", "loop": "while True:",
        "for": "for {} in range({}):", "from": "for {0} in range({2}, {1}):",
    }  # fmt: skip
    functions = {  # noqa: RUF012
        "is_finite": "finite", "floor": "math.floor", "sqrt": "math.sqrt", "isnan": "{0} != {0}",
        "differs": "{} != {}", "power": "({}) ** ({})",
    }  # fmt: skip

    def __init__(self, solver: Solver) -> None:
        names = {
            "N_STATES": "len(STATES)", "N_MEMORY": "len(MEMORY)", "N_EVENTS": "len(EVENTS)",
            "INFINITY": "math.inf", "NAN": "math.nan", "NONE": "-1", "FIRST": "0",
            "N_PIVOTS": "len(WEAK_MASSES)", "N_KINDS": "N_KINDS", "N_COORDINATES": "LOOP_COORDINATES",
        }  # fmt: skip
        if any(f.name == "configuration" for f in solver.fields):
            tables = ("N_STATES", "N_EVENTS", "N_COORDINATES")  # tables with a value per configuration
            names = {name: text for name, text in names.items() if name not in tables}
            names |= WORDS
            names |= OTHER_SIZES
            self.sizes = _SIZES | IMPLICIT_EXTENTS | EXTENTS
        for method in exported_methods(adaptive=True, stiff=True):
            names[f"METHOD_{method.name.upper()}"] = method.name.upper()
        super().__init__(solver, names)
        # Vectors whose elements are assigned one by one. An assignment from or to one of them copies the
        # list; between other vectors, both names refer to the same list.
        self.changed = {name for f in solver.functions.values() for name in f.filled}

    sizes = _SIZES
    elsewhere: Collection[str] = ()  # names of functions that the module already has

    def text(self) -> str:
        own = [f for f in self.solver.functions.values() if f.name not in self.elsewhere]
        return "\n\n".join("\n".join([*self.function(f), ""]) for f in own)

    def extent(self, kind: str) -> str:
        return self.sizes.get(kind, "len(EVENTS)")

    def fields(self) -> list[str]:
        """Return the attributes of the record with their initial values."""
        lines = []
        for f in self.solver.fields:
            if f.type in _TYPES:
                kind, value = _TYPES[f.type], _ZEROS[_TYPES[f.type]]
            else:
                element = _ELEMENTS.get(f.type, "float")
                kind, value = f"list[{element}]", f"[{_ZEROS[element]}] * {self.extent(f.type)}"
            lines.append(f"        self.{f.name}: {kind} = {value}" + (f"  # {f.about}" if f.about else ""))
        return lines

    def field(self, name: str) -> str:
        return f"run.{name}"

    def item(self, array: str, index: str) -> str:
        if index == "*":  # an element of a comprehension
            return array.removeprefix("run.")
        if array in ("DIRECTION", "STOPS") and not self.changing:
            return f"EVENTS[{index}].{'direction' if array == 'DIRECTION' else 'stop'}"
        return f"{array}[{index}]"

    def truth(self, value: bool) -> str:
        return str(value)

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        yes, test, no = (self.expression(part) for part in (value.body, value.test, value.orelse))
        return self.lines(f"{name} = {yes} if {test} else {no}")

    def lines(self, text: str) -> list[str]:
        if len(text) <= self.width - 12:
            return [text]
        target, _, value = text.partition(" = ")
        if not value:
            target, value = text.split(" ", 1)  # return
            return [f"{target} (", *wrap_statement(value, self.width - 16, "    ", "    "), ")"]
        return [f"{target} = (", *wrap_statement(value, self.width - 16, "    ", "    "), ")"]

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        if isinstance(value, ast.Attribute):
            changed = not self.changed.isdisjoint((value.attr, target.removeprefix("run.")))
            return [f"{target} = {self.expression(value)}{'[:]' if changed else ''}"]
        parts = [n for n in ast.walk(value) if isinstance(n, ast.Attribute) and self.types[n.attr] == kind]
        used = dict.fromkeys(n.attr for n in sorted(parts, key=lambda n: n.col_offset))
        self.element = "*"
        each = self.expression(value)
        self.element = ""
        names, lists = ", ".join(used), ", ".join(f"run.{name}" for name in used)
        over = f"zip({lists})" if len(used) > 1 else lists
        whole = f"{target} = [{each} for {names} in {over}]"
        if len(whole) <= self.width - 12:
            return [whole]
        lines = wrap_statement(each, self.width - 16, "    ", "    ")
        return [f"{target} = [", *lines, f"    for {names} in {over}", "]"]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if name == "pivot_shares":
            own = "[: len(STATES)]" if self.changing else ""  # the first configuration's states
            read = f"{', '.join(arguments)}{own}, run.parameters, run.memory"
            return self.lines(f"{targets[0]} = {name}({read})")
        if name == "derivatives":
            return self.lines(f"{targets[0]} = rates(run, {', '.join(arguments)})")
        if self.changing:
            return self.lines(self.section(name, targets, arguments))
        *given, memory = arguments if name == "outputs" else [*arguments, "run.memory"]
        return self.lines(f"{', '.join(targets)} = {name}({', '.join(given)}, run.constants, {memory})")

    def section(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> str:
        """Return the assignment of a section's result: in the present configuration, or in a given one."""
        if name in ("enter", "impulse", "adjust"):
            c, *given = arguments
            call = f"SECTIONS[{c}][{name!r}]({', '.join(given)}, run.all_constants[{c}], run.memory)"
            return f"{targets[0]} = {f'filled({call}, N_STATES)' if name == 'enter' else call}"
        if name == "fire":
            return f"{', '.join(targets)} = fired(run, {', '.join(arguments)})"
        if name == "ratings":
            read = f"{', '.join(arguments)}, run.constants, run.memory"
            return f"{targets[0]} = SECTIONS[run.configuration]['ratings']({read})"
        call = f"present(run, {name!r}, {', '.join(arguments)})"
        sizes = {"events": "N_EVENTS, 1.0", "normalise": "N_STATES"}
        return f"{targets[0]} = {f'filled({call}, {sizes[name]})' if name in sizes else call}"

    def report_change(self) -> list[str]:
        return ["pass"]

    def close_again(self) -> list[str]:
        if not self.changing:
            return ["run.state = closed(run.t, run.state, run.constants, run.memory, run.set_now)"]
        given = "run.t, run.state, run.all_constants[0], run.memory, run.set_now, run.configuration"
        return [f"run.state = closed({given})"]

    def report(self, k: str) -> list[str]:
        hidden = (
            f"{k} < N_OWN_EVENTS and not EVENTS[{k}].hidden" if self.changing else f"not EVENTS[{k}].hidden"
        )
        return [f"if {hidden}:", f"    run.log.append((run.t, EVENTS[{k}].name))"]

    def function(self, function: SolverFunction) -> list[str]:
        arguments = [f"run: {self.record_type}"] if function.takes_run else []
        arguments += [f"{name}: {_ARGUMENTS[kind]}" for name, kind in function.arguments.items()]
        result = _TYPES[function.result] if function.result else "None"
        head = f"def {function.name}({', '.join(arguments)}) -> {result}:"
        return [head, f'    """{function.about}"""', *self.body(function)]


class PythonPart(PythonSolverPrinter):
    """Printer of a second solver, with another record: for closing loops, or for contacts."""

    def __init__(
        self, source: AssemblySource | ContactSource, record_type: str, names: Mapping[str, str]
    ) -> None:
        super().__init__(source.solver)
        self.record_type, self.names, self.lengths = record_type, names, source.lengths

    def extent(self, kind: str) -> str:
        return str(self.lengths[kind])

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return [f"{target} = [*{self.expression(value)}]"]


# Closing of loops before a run, in Python: functions of solver/assembly.py and their data.


def assembly_values(loops: AssemblySource, width: int) -> dict[str, str]:
    """Return values for the template of the functions that close loops."""
    printer = PythonAssembly(loops)
    whole: dict[str, Sequence[object]] = {**loops.whole_tables(0)}
    flags: dict[str, Sequence[object]] = {k: [bool(x) for x in v] for k, v in loops.truth_tables.items()}
    tables = {**whole, **flags, "FIRST_GUESS": loops.first}
    listed = [f"{name} = [{', '.join(map(str, values))}]" for name, values in tables.items()]
    return {
        "sizes": "\n".join(f"{loop_name(name)} = {size}" for name, size in loops.sizes.items()),
        "tables": "\n".join(line for text in listed for line in wrap_statement(text, width, "", "    ")),
        "constants": "\n".join(f"{name} = {value!r}" for name, value in printer.solver.constants.items()),
        "texts": "".join(f"    ({before!r}, {after!r}),\n" for before, after in loops.gaps),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
        "redundant": repr(loops.redundant),
    }


class PythonAssembly(PythonPart):
    """Printer of functions that close loops."""

    def __init__(self, loops: AssemblySource) -> None:
        names = {"FIRST": "0", "INFINITY": "math.inf"} | {name: loop_name(name) for name in loops.sizes}
        super().__init__(loops, "Loops", names)

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{targets[0]} = {name}(run, {arguments[-1]})"]


# The solver of contacts in Python: the functions of mechanics/contact/problem.py and their data.


def contact_texts(sources: Sequence[ContactSource], width: int) -> list[str]:
    """Return the block functions that sections call, with the functions and data that they need."""
    if not sources:
        return []
    lines = ["# " + "-" * 76 + " contacts", ""]
    lines += [f"{name} = {value!r}" for name, value in contact_constants(sources).items()]
    return [
        "\n".join([*lines, ""]),
        *(text for source in sources for text in solver_texts(PythonContacts(source), width)),
    ]


def solver_texts(printer: PythonContacts, width: int) -> list[str]:
    """Return the data, the record and the functions for a group of contacts that share sizes and tables."""
    source = printer.source
    sizes = [f"{printer.names[name]} = {size}" for name, size in source.sizes.items()]
    tables = [f"{printer.names[name]} = {numbers!r}" for name, numbers in source.whole_tables(0).items()]
    data = [*sizes, *(line for table in tables for line in wrap_statement(table, width, "", "    "))]
    record = [
        f"class {printer.record_type}:",
        '    """The record of one contact problem."""',
        "",
        "    def __init__(self) -> None:",
        *printer.fields(),
        "",
    ]
    return [
        "\n".join([*data, ""]),
        "\n".join(record),
        printer.text(),
        *map(printer.block_function, source.called),
    ]


class PythonContacts(PythonPart):
    """Printer of functions that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        self.source = source
        names = {"FIRST": "0", "NONE": "-1"} | {name: name + source.tag for name in source.sizes}
        names |= {name: name + source.tag for name in source.block.tables}
        super().__init__(source, f"Contacts{source.tag}", names)

    def block_function(self, name: str) -> str:
        """Return a function of a list of arguments that returns a list of results."""
        takes = [
            f"    run.{p.field} = given[{p.first} : {p.first + p.length}]" for p in self.source.takes(name)
        ]
        gives = ", ".join(f"*run.{p.field}" for p in self.source.gives(name))
        return "\n".join([
            f"def {name}(given: list[float]) -> list[float]:",
            f'    """{self.solver.functions[self.source.entry(name)].about}"""',
            f"    run = {self.record_type}()", *takes, f"    {self.source.entry(name)}(run)",
            f"    return [{gives}]", "",
        ])  # fmt: skip
