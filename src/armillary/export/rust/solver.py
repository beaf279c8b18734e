"""The solver in Rust: the record of a run, and the functions of armillary.solver."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from armillary.export.text.configurations import (
    CHANGE_EXTENTS,
    IMPLICIT_EXTENTS,
    OF_CHANGES,
    WORDS,
    ContactSource,
    contact_constants,
)
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import SolverPrinter, element_types
from armillary.solver.language.translator import VECTORS, Field, Solver, SolverFunction


def size_name(name: str) -> str:
    """Return the Rust name of a size: the name without N_, except that ELEMENTS is the name of a table."""
    return "ELEMENTS_ROOM" if name == "N_ELEMENTS" else name[2:]


_TYPES = {"real": "Real", "whole": "i32", "count": "i64", "truth": "bool", "index": "usize"}
_ZEROS = {"Real": "0.0", "i32": "0", "i64": "0", "bool": "false"}
_ELEMENTS = element_types("i32", "bool")
_SIZES = {"States": "STATES", "Memory": "MEMORY", "Outputs": "OUTPUTS"}
_SIZES |= {"PlaceFlags": "COORDINATES"}
_SIZES |= {kind: size_name(name) for kind, name in (CHANGE_EXTENTS | IMPLICIT_EXTENTS).items()}


class RustSolverPrinter(SolverPrinter):
    """Printer of functions in Rust that change a run; every loop has a bound on its turns."""

    remark = "// {}"
    ended = ";"
    spelled = {"and": "&&", "or": "||", "not": "!"}  # noqa: RUF012
    heads = {  # noqa: RUF012
        "if": "if {} {{", "elif": "}} else if {} {{", "else": "}} else {{",
        "while": "for _ in 0..MOST_TURNS {{ if !({}) {{ break }}",
        "loop": "for _ in 0..MOST_TURNS {{", "for": "for {} in 0..{} as usize {{",
        "from": "for {0} in ({2}) as usize..({1}) as usize {{",
    }  # fmt: skip
    closings = dict.fromkeys(("if", "while", "loop", "for"), "}")
    functions = {  # noqa: RUF012
        "abs": "absolute", "min": "smaller", "max": "larger", "float": "(({}) as Real)",
        "isnan": "{0} != {0}", "differs": "{} != {}", "at": "({} * {} + {})",
    }  # fmt: skip

    record_type = "Run"

    def __init__(self, solver: Solver) -> None:
        names = {
            "N_STATES": "STATES", "N_MEMORY": "MEMORY", "N_EVENTS": "EVENTS", "NONE": "-1", "FIRST": "0",
            "INFINITY": "Real::INFINITY", "NAN": "Real::NAN",
        }  # fmt: skip
        sizes = (*OF_CHANGES, *IMPLICIT_EXTENTS.values(), "N_ENTRIES")
        names |= {name: size_name(name) for name in sizes if name.startswith("N_")}
        names |= WORDS
        super().__init__(solver, names)

    # ---------------------------------------------------------------- the record

    def fields(self, code: str) -> list[Field]:
        """Return the fields of a run that a text uses."""
        used = set(re.findall(r"\brun\.(\w+)", code))
        return [f for f in self.solver.fields if f.name in used]

    def type_of(self, f: Field) -> str:
        if f.type in _TYPES:
            return _TYPES[f.type]
        return f"[{_ELEMENTS.get(f.type, 'Real')}; {self.extent(f.type)}]"

    def extent(self, kind: str) -> str:
        """Return the length of a vector."""
        return _SIZES.get(kind, "EVENTS")

    def record(self, code: str) -> tuple[list[str], list[str]]:
        """Return the members of a run's structure, and their initial values."""
        kept = self.fields(code)
        members = [
            f"    pub {f.name}: {self.type_of(f)}," + (f" // {f.about}" if f.about else "") for f in kept
        ]
        zeros = [f"            {f.name}: {_zero(self.type_of(f))}," for f in kept]
        return members, zeros

    def constants(self) -> list[str]:
        """Return the constants of the solver."""
        kinds = {name: "usize" if name == "MOST_TURNS" else "i32" for name in self.solver.constants}
        return [
            f"const {name}: {kinds[name] if isinstance(value, int) else 'Real'} = {value!r};"
            for name, value in self.solver.constants.items()
        ]

    # ---------------------------------------------------------------- statements

    def field(self, name: str) -> str:
        return f"run.{name}"

    def truth(self, value: bool) -> str:
        return str(value).lower()

    def declare(self, name: str, kind: str, value: str) -> str:
        return f"let mut {name}: {_TYPES[kind]} = {value};"

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        test, yes, no = (self.expression(part) for part in (value.test, value.body, value.orelse))
        return self.lines(self.set(name, declared, f"if {test} {{ {yes} }} else {{ {no} }}"))

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        if isinstance(value, ast.Attribute):
            return [self.assign(target, self.expression(value))]
        self.element = "i"
        lines = self.lines(f"{target}[i] = {self.expression(value)};")
        self.element = ""
        return [f"for i in 0..{self.extent(kind)} {{", *self.indent_lines(lines), "}"]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        constants = "&run.constants"
        if self.changing:
            c = "run.configuration"
            if name in ("enter", "impulse", "adjust"):
                c, *arguments = arguments
                constants = f"&run.all_constants[{c} as usize]"
            name, arguments = f"{name}_of", [c, *arguments]
        read = arguments if name.startswith("outputs") else [*arguments, "&run.memory"]
        given = ", ".join([*read[:-1], constants, read[-1]])
        if name.startswith("normalise"):
            return [f"{name}({given.replace('&', '&mut ', 1)});"]
        if name.startswith("fire"):
            return [
                *self.lines(f"{name}({given}, &mut run.new_memory, &mut run.stage);"),
                "run.memory = run.new_memory;",
                "run.state = run.stage;",
            ]
        return self.lines(f"{name}({given}, &mut {targets[0]});")

    def report(self, k: str) -> list[str]:
        return [f"run.fired[{k} as usize] = true;"]

    def call(self, function: SolverFunction, arguments: Sequence[str], target: str = "") -> str:
        """Return a call; arguments are evaluated before it, since it borrows the run mutably."""
        names = [f"a{i}" for i in range(len(arguments))]
        # the function may change the run, so it gets copies
        copied = [a.startswith("&run.") for a in arguments]
        passed = [f"&{name}" if copy else name for name, copy in zip(names, copied, strict=True)]
        call = f"{function.name}({', '.join(['run', *passed])})"
        if not arguments:
            return self.assign(target, call) if target else f"{call};"
        values = [a[1:] if copy else a for a, copy in zip(arguments, copied, strict=True)]
        given = f"let ({', '.join(names)},) = ({', '.join(values)},);"
        return f"{target} = {{ {given} {call} }};" if target else f"{{ {given} {call}; }}"

    def arguments(self, call: ast.Call) -> list[str]:
        found = []
        for a in call.args:
            vector = isinstance(a, ast.Attribute) and self.types[a.attr] in VECTORS
            if not (isinstance(a, ast.Name) and a.id == "run"):
                found.append(f"{'&' if vector else ''}{self.expression(a)}")
        return found

    def is_index(self, node: ast.expr) -> bool:
        known = {} if self.current is None else self.current.locals
        return isinstance(node, ast.Name) and known.get(node.id) == "index"

    def leveled_expression(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Name(id=name) if self.is_index(node):
                return f"({name} as i32)", 9
            case ast.Name(id=name) if name.startswith("N_"):
                return f"({self.names[name]} as i32)", 9
        return super().leveled_expression(node)

    def place(self, index: ast.expr) -> str:
        if self.is_index(index) and isinstance(index, ast.Name):
            return index.id
        return f"{self.expression(index, 9)} as usize"

    def function(self, function: SolverFunction) -> list[str]:
        run = f"run: &{'mut ' if function.changes_run else ''}{self.record_type}"
        arguments = [run] if function.takes_run else []
        for name, kind in function.arguments.items():
            arguments.append(f"{name}: {'&[Real; STATES]' if kind == 'States' else _TYPES[kind]}")
        result = f" -> {_TYPES[function.result]}" if function.result else ""
        head = f"fn {function.name}({', '.join(arguments)}){result} {{"
        return [f"/// {function.about}", head, *self.body(function), "}"]


def _zero(kind: str) -> str:
    if kind[0] == "[":
        element, size = kind[1:-1].split("; ")
        return f"[{_ZEROS[element]}; {size}]"
    return _ZEROS[kind]


# The solver of contacts in Rust is a module inside the module of the equations; its record is on the stack.


def contact_module(sources: Sequence[ContactSource], precision: str) -> str:
    """Return the block functions that sections call, with the functions and data that they need."""
    if not sources:
        return ""
    numbers = contact_constants(sources, precision).items()
    lines = ["use crate::math::*;", "use crate::Real;", ""]
    lines += [f"const {name}: Real = {value!r};" for name, value in numbers]
    lines += [line for source in sources for line in _contact_solver(source)]
    inside = [f"    {line}" if line else "" for line in lines]
    head = "/// Forces, impulses and statuses of contacts."
    return "\n".join([head, "mod contacts {", *inside, "}", "use contacts::*;", ""])


def _contact_solver(source: ContactSource) -> list[str]:
    printer = RustContacts(source)
    lines = [f"const {printer.names[name]}: usize = {size};" for name, size in source.sizes.items()]
    for name, numbers in source.whole_tables(0).items():
        text = f"static {printer.names[name]}: [i32; {len(numbers)}] = [{', '.join(map(str, numbers))}];"
        lines += wrap_statement(text, 106, "", "    ")
    text = printer.text()
    members, zeros = printer.record(text + " ".join(f" run.{f.name}" for f in source.solver.fields))
    record = printer.record_type
    lines += ["", "/// The record of one contact problem.", f"struct {record} {{", *members, "}", ""]
    lines += [f"impl {record} {{", f"    const fn new() -> {record} {{", f"        {record} {{", *zeros]
    lines += ["        }", "    }", "}", "", *text.split("\n")]
    return [*lines, *(line for name in source.called for line in printer.block_function(name))]


class RustContacts(RustSolverPrinter):
    """Printer of functions that find forces and statuses of contacts."""

    heads = {**RustSolverPrinter.heads, "while": "while {} {{"}  # noqa: RUF012

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source, self.record_type = source, f"Contacts{source.tag}"
        self.names = {"FIRST": "0", "NONE": "-1"}
        self.names |= {name: name.removeprefix("N_") + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def extent(self, kind: str) -> str:
        return str(self.source.lengths[kind])

    def block_function(self, name: str) -> list[str]:
        """Return a function that reads an array of arguments and fills an array of results."""
        block = self.source.called[name]
        head = f"pub fn {name}(given: &[Real; {block.arity}], found: &mut [Real; {block.count}]) {{"
        takes = [
            f"    run.{p.field}.copy_from_slice(&given[{p.first}..{p.first + p.length}]);"
            for p in self.source.takes(name)
            if p.length
        ]
        gives = [
            f"    found[{p.first}..{p.first + p.length}].copy_from_slice(&run.{p.field});"
            for p in self.source.gives(name)
            if p.length
        ]
        about = f"/// {self.solver.functions[self.source.entry(name)].about}"
        start = f"    let mut run = {self.record_type}::new();"
        return [about, head, start, *takes, f"    {self.source.entry(name)}(&mut run);", *gives, "}", ""]
