"""The solver in MATLAB: the structure of a run, and the local functions of armillary.solver."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence

from armillary.export.text.configurations import (
    CHANGE_EXTENTS,
    IMPLICIT_EXTENTS,
    OF_CHANGES,
    TABLE_NAMES,
    WORDS,
    ContactSource,
    change_tables,
    has_function,
    implicit_tables,
    left_text,
)
from armillary.export.text.files import fill, setting_values, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import (
    CONSTRAINT_GEOMETRY,
    NO_SOLVER,
    STATUSES,
    SolverPrinter,
    element_types,
    prefix_settings,
    setting_checks,
    status_words,
)
from armillary.export.text.source import Source
from armillary.export.text.start import AssemblySource
from armillary.solver.language.translator import Solver, SolverFunction, solver_for
from armillary.solver.methods.method_text import exported_methods, method_names

# All configurations of a system in MATLAB: their functions, and the tables that changes of configuration
# read.

_FUNCTIONS = (
    *("precompute", "derivatives", "outputs", "events", "update", "fire", "normalise"),
    *("leave", "enter", "impulse", "adjust", "ratings", "partial_rates", CONSTRAINT_GEOMETRY),
)
_MISSING = {"normalise": "@(t, state, constants, memory) state", "events": "@(varargin) zeros(0, 1)"}


def structure(values: dict[str, str]) -> str:
    """Return the text of a structure with given fields."""
    pairs = ", ".join(f"'{name}', {value}" for name, value in values.items())
    return "\n".join(wrap_statement(f"struct({pairs})", 100, "", " " * 13, " ..."))


def change_values(made: Source, package: str) -> dict[str, str]:
    """Return sizes, tables and functions of all configurations, for the template of a run."""
    found = change_tables(made)
    sections = []
    for one in (made, *made.others):
        own = f"{package}.configuration{one.prefix}" if one.prefix else package
        had = has_function(one.program, one.passing)
        names = {name: had.get(name, True) for name in _FUNCTIONS}
        sections.append(
            structure({
                name: f"@{own}.{name}" if there else _MISSING[name]
                for name, there in names.items()
                if there or name in _MISSING
            })
        )  # fmt: skip
    tables = {name.lower(): f"[{' '.join(map(str, v))}]" for name, v in found.counted_from(1).items()}
    tables |= {name.lower(): f"[{' '.join(map(repr, reals))}]" for name, reals in found.reals.items()}
    return {
        "change_sizes": structure({name[2:].lower(): str(size) for name, size in found.sizes.items()}),
        "change_tables": structure(tables),
        "sections": "; ...\n  ".join(sections),
    }


_ELEMENTS = element_types("zeros", "false")
_ZEROS = {"real": "0", "whole": "0", "count": "0", "truth": "false"}
_SIZES = {"States": "numel(r.state)", "Memory": "numel(r.memory)", "Outputs": "numel(about.outputs)"}
_SIZES |= {"Pivots": "numel(about.weak_masses)", "Kinds": "max(r.kind)"}
_IMPLICIT_SIZES = ("N_PARTIALS", "N_UNKNOWNS", "N_ENTRIES", "N_FACTORS")
_STATUSES = tuple(status.name for status in STATUSES)
_GIVEN = ("state", "memory", "method", "t0", "t_end", "every_step", "max_steps", "max_step", "rtol", "atol")
# Names of values that functions compare with; they are fields of r.is.
_VALUES = (*_STATUSES, "ready", "settled", "arrived", "step", "row", "end_reached")


def solver_values(made: Source, has: Collection[str], package: str) -> dict[str, str]:
    """Return values for the template: the methods, the fields of a run, the constants and the functions."""
    methods = exported_methods(True, made.stiff)
    described = solver_for(has, True, ("start_run", "find_row"), guard=made.guard)
    printer = MatlabSolverPrinter(described, package)
    text = printer.text().rstrip("\n")
    implicit = implicit_tables(made)
    tables = {
        name.lower(): f"[{' '.join(map(str, v))}]" for name, v in implicit.counted_from(1, text).items()
    }
    values = {name: number for number, name in enumerate((*_VALUES, *(m.name for m in methods)))}
    return {
        "method_names": ", ".join(f"'{m.name}'" for m in methods),
        "method_words": method_names(True, "'", stiff=made.stiff),
        "method_list": method_names(True, stiff=made.stiff),
        "adaptive": ", ".join(f"'{m.name}'" for m in methods if m.adaptive),
        **setting_values("Inf"),
        "setting_checks": setting_checks(
            MatlabSolverPrinter(NO_SOLVER, package),
            "if {}\n  error('{}'{});\nend",
            "%g",
            {**prefix_settings("given."), "duration": "duration", "step": "step"},
        ),
        "status_words": status_words("'", ", ...\n         "),
        "left": left_text(has),
        "method_commas": ", ".join(m.name for m in methods),
        "values": structure({name: str(number) for name, number in values.items()}),
        "rules": structure({name.lower(): repr(v) for name, v in printer.solver.constants.items()}),
        "fields": "\n".join(printer.fields()),
        "implicit": structure({name.lower(): str(n) for name, n in implicit.sizes.items()} | tables),
        "solver": text,
    }


def _size_field(name: str) -> str:
    """Return the field for a size of solver/language/language.py, whose name begins with N_."""
    return f"r.n.{name[2:].lower()}"


class MatlabSolverPrinter(SolverPrinter):
    """Printer of functions in MATLAB that take the run and return it changed; indices begin with one."""

    given: tuple[str, ...] = (*_GIVEN, "sample", "step")  # fields that the template sets
    indent = "  "
    continued = " ..."
    remark = "% {}"
    ended = ";"
    spelled = {"and": "&&", "or": "||", "not": "~", "!=": "~="}  # noqa: RUF012
    heads = {  # noqa: RUF012
        "if": "if {}", "elif": "elseif {}", "else": "else", "while": "while {}", "loop": "while true",
        "for": "for {} = 1:{}", "from": "for {0} = {2}:{1}",
    }  # fmt: skip
    closings = dict.fromkeys(("if", "while", "loop", "for"), "end")
    functions = {  # noqa: RUF012
        "is_finite": "all(isfinite({}))", "first_nonfinite": "find(~isfinite({}), 1)", "float": "({})",
        "power": "({})^({})", "differs": "{} ~= {}",
        "at": "({} - 1)*{} + {}", "below": "{} <= {}",
    }  # fmt: skip

    def __init__(self, solver: Solver, package: str) -> None:
        spelled = {
            "N_STATES": "numel(r.state)", "N_MEMORY": "numel(r.memory)", "N_EVENTS": "numel(r.direction)",
            "DIRECTION": "r.direction", "STOPS": "r.stops", "INFINITY": "Inf", "NAN": "NaN", "NONE": "0",
            "FIRST": "1", "JUMP_TIME": "r.jump_time", "JUMP_HARD": "r.jump_hard", "KIND": "r.kind",
            "PIVOT_OF": "r.pivot_of", "N_PIVOTS": "numel(r.shares)", "N_KINDS": "numel(r.peak)",
            "END": "r.is.end_reached", "N_COORDINATES": "numel(r.set_now)", "SETS_PLACE": "r.sets_place",
        }  # fmt: skip
        spelled = {name.upper(): f"r.is.{name}" for name in _VALUES} | spelled
        spelled |= {name: f"r.rules.{name.lower()}" for name in solver.constants}
        of_implicit = {name: f"r.implicit.{name.lower()}" for name in (*_IMPLICIT_SIZES, *TABLE_NAMES)}
        spelled |= of_implicit
        self.sizes = _SIZES | {"PlaceFlags": f"numel({package}.first_guess())"}
        self.sizes |= {kind: spelled[name] for kind, name in IMPLICIT_EXTENTS.items()}
        if any(f.name == "configuration" for f in solver.fields):
            spelled |= {name: f"r.tables.{name.lower()}" for name in OF_CHANGES}
            spelled |= {name: _size_field(name) for name in OF_CHANGES if name.startswith("N_")}
            spelled |= WORDS
            self.sizes = self.sizes | {kind: _size_field(name) for kind, name in CHANGE_EXTENTS.items()}
        for method in exported_methods(adaptive=True, stiff=True):
            spelled[f"METHOD_{method.name.upper()}"] = f"r.is.{method.name}"
        super().__init__(solver, spelled)
        self.package = package

    def text(self) -> str:
        return "\n\n".join("\n".join([*self.function(f), ""]) for f in self.solver.functions.values())

    def extent(self, kind: str) -> str:
        return self.sizes.get(kind, "numel(about.event_direction)")

    def fields(self) -> list[str]:
        """Return the fields of the record with their initial values."""
        lines = []
        for f in self.solver.fields:
            if f.name in self.given:
                continue
            value = _ZEROS.get(f.type) or f"{_ELEMENTS.get(f.type, 'zeros')}({self.extent(f.type)}, 1)"
            lines.append(f"r.{f.name} = {value};" + (f"  % {f.about}" if f.about else ""))
        return lines

    def run(self) -> str:
        return "r"

    def field(self, name: str) -> str:
        return f"r.{name}"

    def item(self, array: str, index: str) -> str:
        return f"{array}({index})"

    def truth(self, value: bool) -> str:
        return str(value).lower()

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        yes, no = (self.assign(name, self.expression(part)) for part in (value.body, value.orelse))
        test = self.expression(value.test)
        return [
            f"if {test}",
            *self.indent_lines(self.lines(yes)),
            "else",
            *self.indent_lines(self.lines(no)),
            "end",
        ]

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return self.lines(f"{target} = {self.expression(value)};")

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if name == "pivot_shares":
            return self.lines(f"{targets[0]} = {self.package}.{name}({', '.join(arguments)}, r.p, r.memory);")
        if self.changing:
            return self.section(name, targets, arguments)
        *given, memory = arguments if name == "outputs" else [*arguments, "r.memory"]
        target = f"[{', '.join(targets)}]" if len(targets) > 1 else targets[0]
        call = f"{self.package}.{name}({', '.join(given)}, r.constants, {memory})"
        return self.lines(f"{target} = {call};")

    def section(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Return statements that call a section of the present configuration, or of a given one."""
        section, constants, memory = "r.now", "r.constants", "r.memory"
        if name in ("enter", "impulse", "adjust"):
            c, *arguments = arguments
            section, constants = f"r.sections{{{c}}}", f"r.all_constants{{{c}}}"
        elif name == "outputs":
            *arguments, memory = arguments
        if name not in ("enter", "impulse", "adjust", "ratings"):  # these four take a motion
            arguments = [*arguments[:-1], f"{arguments[-1]}(1:r.used)"]
        call = f"{section}.{name}({', '.join(arguments)}, {constants}, {memory})"
        if name == "fire":
            filled = f"{targets[1]} = filled({targets[1]}, r.n.states, 0);"
            return [*self.lines(f"[{', '.join(targets)}] = {call};"), filled]
        filled_to = {"derivatives": "r.n.states, 0", "enter": "r.n.states, 0", "normalise": "r.n.states, 0"}
        filled_to["events"] = "r.n.events, 1"
        value = f"filled({call}, {filled_to[name]})" if name in filled_to else call
        return self.lines(f"{targets[0]} = {value};")

    def close_again(self) -> list[str]:
        if not self.changing:
            return [f"r.state = {self.package}.assembled(r.t, r.state, r.constants, r.memory, r.set_now);"]
        given = "r.t, r.state, r.all_constants{1}, r.memory, r.set_now, r.configuration"
        return [f"r.state = {self.package}.assembled({given});"]

    def report(self, k: str) -> list[str]:
        return [f"if ~r.hidden({k})", f"  r.log(end + 1, :) = {{r.t, r.event_names{{{k}}}}};", "end"]

    def call(self, function: SolverFunction, arguments: Sequence[str], target: str = "") -> str:
        call = f"{function.name}({', '.join(['r', *arguments])});"
        return f"[r, {target}] = {call}" if target else f"r = {call}"

    def result(self, value: str | None, last: bool) -> list[str]:
        lines = self.lines(f"value = {value};") if value else []
        return lines if last else [*lines, "return"]

    def function(self, function: SolverFunction) -> list[str]:
        given = [*(["r"] if function.takes_run else []), *function.arguments]
        found = [*(["r"] if function.changes_run else []), *(["value"] if function.result else [])]
        result = f"[{', '.join(found)}]" if len(found) > 1 else found[0]
        head = f"function {result} = {function.name}({', '.join(given)})"
        body = self.statements_of(function)
        return [head, f"% {function.about}", *body, "end"]

    def statements_of(self, function: SolverFunction) -> list[str]:
        """Return the statements of a function, not indented."""
        self.current = function
        return self.statements(function.body, True)


class MatlabPart(MatlabSolverPrinter):
    """Printer of functions with a record of their own, for closing loops or for contacts."""

    given = ()

    def __init__(
        self, source: AssemblySource | ContactSource, tables: Iterable[str], package: str = ""
    ) -> None:
        super().__init__(source.solver, package)
        self.lengths = source.lengths
        names = {name: f"r.rules.{name.lower()}" for name in self.solver.constants}
        names |= {name: f"r.n.{_size_name(name)}" for name in source.sizes}
        names |= {name: f"r.tables.{name.lower()}" for name in tables}
        self.names: dict[str, str] = names | {"FIRST": "1", "NONE": "0"}

    def extent(self, kind: str) -> str:
        return str(self.lengths[kind])


# Closing of loops before a run, in MATLAB: the functions of solver/assembly.py and their data.


def assembly_text(loops: AssemblySource, package: str, quoted: Callable[[str], str]) -> str:
    """Return the function `assembled` and the functions that it calls."""
    printer = MatlabAssembly(loops, package)
    tables = {name: " ".join(map(str, v)) for name, v in loops.whole_tables(1).items()}
    texts = [f"r.tables.{name.lower()} = [{numbers}];" for name, numbers in tables.items()]
    texts += [
        f"r.tables.{name.lower()} = logical([{' '.join(map(str, v))}]);"
        for name, v in loops.truth_tables.items()
    ]
    values = {
        "package": package,
        "whole": " ".join(map(str, loops.whole)),
        "sizes": structure({_size_name(name): str(n) for name, n in loops.sizes.items()}),
        "tables": "\n".join(line for text in texts for line in wrap_statement(text, 100, "", "    ", " ...")),
        "rules": structure({name.lower(): repr(v) for name, v in printer.solver.constants.items()}),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
        "before": "".join(f"    {quoted(before)}, ...\n" for before, _ in loops.gaps),
        "after": "".join(f"    {quoted(after)}, ...\n" for _, after in loops.gaps),
        "redundant": quoted(loops.redundant),
    }
    return fill(template(__package__, "assembled.txt"), values, loops.features)


def _size_name(name: str) -> str:
    return name.removeprefix("N_").lower()


class MatlabAssembly(MatlabPart):
    """Printer of functions that close loops."""

    def __init__(self, loops: AssemblySource, package: str) -> None:
        super().__init__(loops, (*loops.whole_tables(1), *loops.truth_tables), package)
        self.names |= {name: f"r.is.{name.lower()}" for name in ("CLOSED", "OPEN", "NOT_REDUNDANT")}
        self.names |= {"INFINITY": "Inf"}

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{targets[0]} = {name}(r, {arguments[-1]});"]


# The solver of contacts in MATLAB: a file for each function that sections call.


def contact_files(sources: Sequence[ContactSource]) -> dict[str, str]:
    """Return the files of functions that sections call, by name."""
    files: dict[str, str] = {}
    for source in sources:
        for name, block in source.called.items():
            files[name] = _file(ContactSource({name: block}, source.tag), name)
    return files


def _file(source: ContactSource, name: str) -> str:
    """Return a function of a column of arguments that returns a column of results, with its helpers."""
    printer = MatlabPart(source, source.block.tables)
    entry = source.solver.functions[source.entry(name)]
    tables = [
        f"r.tables.{table.lower()} = [{' '.join(map(str, numbers))}];"
        for table, numbers in source.whole_tables(1).items()
    ]
    lines = [
        f"function found = {name}(given)",
        f"% {name.upper()}  {entry.about}",
        "persistent blank",
        "if isempty(blank)",
        "  blank = record();",
        "end",
        "r = blank;",
        *(f"r.{p.field}(:) = given({p.first + 1}:{p.first + p.length});" for p in source.takes(name)),
        f"r = {entry.name}(r);",
        f"found = [{'; '.join(f'r.{p.field}' for p in source.gives(name))}];",
        "end",
        "",
        "",
        "function r = record()",
        "% Data of one problem of contacts: sizes, tables, rules, and results.",
        "r = struct();",
        f"r.n = {structure({_size_name(size): str(n) for size, n in source.sizes.items()})};",
        *(line for table in tables for line in wrap_statement(table, 100, "", "    ", " ...")),
        f"r.rules = {structure({rule.lower(): repr(v) for rule, v in source.solver.constants.items()})};",
        *printer.fields(),
        "end",
        "",
        "",
        printer.text().rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"
