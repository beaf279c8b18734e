"""The model in Rust: model.rs, assembly.rs (closing of loops), modules of further configurations.

The printer of expressions and lookup tables is here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from armillary.algebra.tables import Piecewise
from armillary.export.c.model import roadmap
from armillary.export.c.printer import counts
from armillary.export.embedded import bounded_assembly, embedded_features, open_sentences
from armillary.export.rust.solver import RustSolverPrinter, contact_module, size_name
from armillary.export.text.body import Step, closing
from armillary.export.text.configurations import (
    change_functions,
    change_sizes,
    change_tables,
    contact_sources,
    has_function,
    implicit_tables,
)
from armillary.export.text.files import fill, note, template
from armillary.export.text.printer import (
    CHOICE,
    SUM,
    Operand,
    Printer,
    nested_polynomial,
    one_line,
    wrap_statement,
)
from armillary.export.text.solver_printer import CONSTRAINT_GEOMETRY
from armillary.export.text.source import Sections, Source
from armillary.export.text.start import AssemblySource
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.program.program import ProgramSection
from armillary.solver.language.translator import Solver
from armillary.solver.tables import TRUTHS

_WORDS = """
as async await break const continue crate dyn else enum extern false fn for gen if impl in let loop match
mod move mut pub ref return self Self static struct super trait true type unsafe use where while abstract
become box do final macro override priv try typeof unsized virtual yield Real Run run f32 f64 i32 i64 usize
bool main core std sqrt tan asin acos atan atan2 exp log pow tanh floor ceil hypot math model solver
sine_cosine
"""


class RustPrinter(Printer):
    """Printer of expressions in Rust: `if` is an expression, sines and cosines are computed in pairs."""

    keywords = frozenset(_WORDS.split())
    paired_angles = 1
    functions = {  # noqa: RUF012
        "sin": "sine", "cos": "cosine", "abs": "absolute", "min": "lesser", "max": "greater",
        "sign": "sign_of", "mod": "modulo",
    }  # fmt: skip
    specials = ("Real::NAN", "Real::INFINITY", "(-Real::INFINITY)")
    truth_number = "(if {} {{ 1.0 }} else {{ 0.0 }})"

    def __init__(self, precision: str) -> None:
        super().__init__()
        self.single = precision == "single"

    def literal(self, value: float) -> str:
        if not self.single:
            return repr(float(value))
        with np.errstate(over="ignore"):
            text = str(np.float32(value))
        if text == "inf":  # rustc refuses a literal beyond the largest number
            return "Real::INFINITY"
        return text if "." in text or "e" in text else f"{text}.0"

    def choice(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        test, first, second = self.at_truth(condition, CHOICE), self.at(yes, SUM), self.at(no, SUM)
        return Operand(f"if {test} {{ {first} }} else {{ {second} }}", CHOICE)


def lookup_function(name: str, table: Piecewise, printer: Printer) -> str:
    """Return the function of a table: bisection on each axis, then Horner's rule."""
    axes = range(table.arity)
    lines = [f"/// Table '{one_line(table.name)}': a polynomial in each interval between its breaks."]
    lines.append(f"fn {name}({', '.join(f'x{a}: Real' for a in axes)}) -> Real {{")
    arrays = {f"BREAKS{a}": table.breaks[a] for a in axes} | {"COEFFICIENTS": np.ravel(table.coefficients)}
    for array, values in arrays.items():
        items = ", ".join(printer.number(float(v)).text for v in values)
        text = f"static {array}: [Real; {len(values)}] = [{items}];"
        lines += wrap_statement(text, 110, "    ", "        ")
    for a in axes:
        first, last = (printer.number(float(table.breaks[a][k])).text for k in (0, -1))
        held = f"if x{a} < {first} {{ {first} }} else if x{a} > {last} {{ {last} }} else {{ x{a} }}"
        lines += [
            f"    let inside{a} = {held if table.outside[a] == 'clamp' else f'x{a}'};",
            f"    let (mut i{a}, mut end) = (0, {len(table.breaks[a]) - 1});",
            f"    while end - i{a} > 1 {{",
            f"        let middle = (i{a} + end) / 2;",
            f"        if inside{a} >= BREAKS{a}[middle] {{ i{a} = middle }} else {{ end = middle }}",
            "    }",
            f"    let s{a} = inside{a} - BREAKS{a}[i{a}];",
        ]
    return "\n".join([*lines, *_horner(table), "    value", "}", ""])


def _horner(table: Piecewise) -> list[str]:
    """Return Horner's rule: on the last axis for each power of the first axis, then on the first axis."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = int(np.prod(degrees))
    place = "i0" if table.arity == 1 else f"(i0 * {shape[1]} + i1)"
    lines = [f"    let c = &COEFFICIENTS[{place} * {cell}..{place} * {cell} + {cell}];"]
    lines.append(f"    let mut value = {nested_polynomial(table)};")
    for a in range(table.arity):
        if degrees[a] == 1:  # a constant polynomial would lose a NaN argument
            lines.append(f"    if x{a} != x{a} {{ value = x{a} }}")
        if table.outside[a] == "zero":
            first, last = (repr(float(table.breaks[a][k])) for k in (0, -1))
            lines.append(f"    if x{a} < {first} || x{a} > {last} {{ value = 0.0 }}")
    return lines


_STATE = "t: Real, state: &[Real; STATES], constants: &[Real; CONSTANTS], memory: &[Real; MEMORY]"
_START = _STATE.replace("constants: &[Real; CONSTANTS]", "parameters: &[Real; PARAMETERS]")
_NEW = "new_memory: &mut [Real; MEMORY], new_state: &mut [Real; STATES]"


class RustModel:
    """One system's functions in Rust, its names and its features."""

    def __init__(self, source: Source, precision: str) -> None:
        self.source, self.description, self.program = source, source.description, source.program
        self.precision, self.stem = precision, source.stem
        self.printer = RustPrinter(precision)
        self.sections = Sections(source, self.printer)
        self.has = embedded_features(source, precision)
        self.sizes: dict[str, int] = {}  # lengths of arrays; `code` sets them

    @property
    def values(self) -> dict[str, str]:
        """Values for templates."""
        d = self.description
        return {
            "name": self.stem,
            "title": one_line(d.name),
            "version": d.version,
            "real": "f32" if self.precision == "single" else "f64",
            **closing(self.precision, FEW_CORRECTIONS),
        }

    def code(self) -> str:
        """Return model.rs."""
        d = self.description
        counted = {
            "PARAMETERS": d.parameters, "STATES": d.states, "MEMORY": d.memory, "OUTPUTS": d.outputs,
            "EVENTS": d.events,
        }  # fmt: skip
        sizes = {name: len(items) for name, items in counted.items()} | {"CONSTANTS": d.constants}
        if "reclosing" in self.has:
            sizes["COORDINATES"] = len(self.source.equations.coordinates)
        if self.source.changing:  # sizes of the largest configuration
            every = [self.source.equations, *(other.equations for other in self.source.others)]
            sizes |= {
                size_name(name): size for name, size in change_sizes(every, self.source.passing).items()
            }
        sizes |= {size_name(name): n for name, n in implicit_tables(self.source).sizes.items()}
        self.sizes = sizes
        head = [f"//! {one_line(d.name)}", "", *(f"// {line}".rstrip() for line in roadmap(d))]
        values = self.values | {
            "head": "\n".join(head),
            "sizes": "\n".join(f"pub const {name}: usize = {size};" for name, size in sizes.items()),
            "lists": self._lists(),
            "defaults": self._defaults(),
            "functions": self.functions(),
            "clocks": "\n".join(
                f"    memory[{i}] = t + {self.printer.number(m.period).text};"
                for i, m in enumerate(d.memory)
                if m.period is not None
            ),
        }
        return fill(template(__package__, "model.rs.txt"), values, self.has)

    def functions(self) -> str:
        """Return the text of all sections, with the tables and contact functions that they call."""
        parts = [self._precompute(), *self._ordinary(), *self._fire(), *self._normalise(), self._start()]
        parts += self._changes()
        tables = [lookup_function(name, table, self.printer) for table, name in self.printer.tables.items()]
        contacts = contact_module(contact_sources(self.printer.blocks), self.precision)
        return "\n".join(part for part in (*tables, contacts, *parts) if part)

    def _changes(self) -> Iterable[str]:
        """Return the functions by which a run leaves and enters this configuration."""
        sizes = {
            "leave": "MOTION",
            "enter": "STATES",
            "impulse": "SPEEDS",
            "adjust": "SPEEDS",
            "ratings": "MEMBERS",
            CONSTRAINT_GEOMETRY: "ELEMENTS_ROOM",
        }
        for f in change_functions(self.source):
            state = _STATE if f.name in ("leave", CONSTRAINT_GEOMETRY) else _STATE.replace("STATES", "MOTION")
            arguments = f"{state}, out: &mut [Real; {sizes[f.name]}]"
            targets = [f"out[{i}]" for i in range(len(f.section.results))]
            yield self.function(f.section, f"pub fn {f.name}", arguments, targets, f"{f.about}.")

    def _lists(self) -> str:
        """Return modules with names for the indices of all arrays, with units and descriptions."""
        ids, d, program = self.sections.identifiers, self.description, self.program
        lists = [
            _module(
                "parameter",
                [ids.of[p] for p in program.parameters],
                [note(p.units, p.about) for p in d.parameters],
            ),
            _module("state", [ids.of[s] for s in program.state], [note(s.units, s.about) for s in d.states]),
            _module(
                "memory", [ids.of[m] for m in program.memory], [note(m.units, m.about) for m in d.memory]
            ),
            _module("output", ids.outputs, [note(o.units, o.about) for o in d.outputs]),
            _module("event", ids.events, [e.about for e in d.events]),
        ]
        return "\n".join(text for text in lists if text)

    def _defaults(self) -> str:
        d = self.description
        tables: dict[str, list[float | None]] = {
            "PARAMETER": [p.default if p.needed or p.default is not None else 0.0 for p in d.parameters],
            "STATE": [s.initial for s in d.starts],
            "MEMORY": [m.initial for m in d.memory],
        }
        sizes = {"PARAMETER": "PARAMETERS", "STATE": "STATES", "MEMORY": "MEMORY"}
        lines = []
        for kind, values in tables.items():
            values += [0.0] * (self.sizes[sizes[kind]] - len(values))
            numbers = ["Real::NAN" if v is None else self.printer.number(float(v)).text for v in values]
            text = f"pub static {kind}_VALUES: [Real; {sizes[kind]}] = [{', '.join(numbers)}];"
            lines += wrap_statement(text, 110, "", "    ")
        return "\n".join(lines)

    # ---------------------------------------------------------------- sections

    def function(
        self,
        section: ProgramSection,
        name: str,
        arguments: str,
        targets: Sequence[str],
        about: str,
        scaled: bool = False,
    ) -> str:
        """Return a section as a function; with ``scaled``, it takes parameters in their stated units."""
        body = self.sections.body(section)
        factors = {
            i: self.printer.number(p.factor).text
            for i, p in enumerate(self.description.parameters)
            if scaled and p.factor != 1.0
        }
        lines = []
        for i in body.inputs:
            if i.array:
                factor = f" * {factors[i.index]}" if i.array == "parameters" and i.index in factors else ""
                lines.append(f"    let {i.name}: Real = {i.array}[{i.index}]{factor};")
        lines += [f"    let ({a.sine}, {a.cosine}) = sine_cosine({a.angle});" for a in body.angles]
        for step in body.steps:
            lines += _step_statements(step)
        for target, text, label in zip(targets, body.results, section.labels, strict=True):
            written = wrap_statement(f"{target} = {text};", 110, "    ", "        ")
            lines += [*written[:-1], f"{written[-1]} // {one_line(label)}"]
        head = wrap_statement(f"{name}({arguments}) {{", 110, "", "    ")
        return "\n".join([f"/// {one_line(about)}", *head, *lines, "}", ""])

    def _precompute(self) -> str:
        section = self.program.precompute
        arguments = "parameters: &[Real; PARAMETERS], constants: &mut [Real; CONSTANTS]"
        targets = [f"constants[{i}]" for i in range(len(section.results))]
        about = f"Constants from parameters in their units: {counts(section.operations)}."
        return self.function(section, "pub fn precompute", arguments, targets, about, scaled=True)

    def _ordinary(self) -> Iterable[str]:
        """Yield the functions of time, state, constants and memory with one array of results."""
        for f in self.source.functions:
            arguments = f"{_STATE}, out: &mut [Real; {f.size[2:].upper()}]"
            about = f"{f.about}: {counts(f.section.operations)}."
            yield self.function(f.section, f"pub fn {f.name}", arguments, f.targets(), about)

    def _fire(self) -> Iterable[str]:
        """Yield one function per event, and the function that calls them by event number."""
        cases = []
        for k, (section, event) in enumerate(zip(self.program.fire, self.description.events, strict=True)):
            name = f"fire_{self.sections.identifiers.events[k]}"
            about = f"Memory and state after event '{event.name}'."
            yield self.function(section, f"fn {name}", f"{_STATE}, {_NEW}", self.source.renewed, about)
            cases.append(f"        {k} => {name}(t, state, constants, memory, new_memory, new_state),")
        if cases:
            head = wrap_statement(f"pub fn fire(event: i32, {_STATE}, {_NEW}) {{", 110, "", "    ")
            about = "/// Memory and state after an event, by its number."
            yield "\n".join([about, *head, "    match event {", *cases, "        _ => {}", "    }", "}", ""])

    def _normalise(self) -> Iterable[str]:
        """Yield the functions that correct a state after a step.

        They close loops, scale Euler parameters to unit length, and remove the drift of closed contacts.
        """
        program = self.program
        for f in self.source.corrections:
            arguments = f"{_STATE}, out: &mut [Real; {f.size}]"
            yield self.function(f.section, f"fn {f.name}", arguments, f.targets(), f"{f.about}.")
        if program.normalises:
            values = self.values | {
                "places": ", ".join(map(str, program.corrected)),
                "count": str(len(program.corrected)),
                "renewed": str(len(program.renewed)),
                "renewed_places": ", ".join(map(str, program.renewed)),
                "sizes": ", ".join(self.source.correction_sizes("constants[{}]", 0, self.printer.literal)),
            }
            yield fill(template(__package__, "normalise.rs.txt"), values, self.has)

    def _start(self) -> str:
        """Return the function that computes the first memory and state of a run from given values."""
        start = self.source.start
        if start is None:
            return ""
        about = (
            "Memory and state of the first step from the values that are given; parameters in their units."
        )
        arguments = f"{_START}, {_NEW}"
        return self.function(
            start.section, "pub fn start", arguments, self.source.renewed, about, scaled=True
        )


def _step_statements(step: Step) -> list[str]:
    if (call := step.block) is None:
        return wrap_statement(f"let {step.name}: Real = {step.text};", 110, "    ", "        ")
    given = f"let {call.given}: [Real; {len(call.arguments)}] = [{', '.join(call.arguments)}];"
    return [
        *wrap_statement(given, 110, "    ", "        "),
        f"    let mut {step.name}: [Real; {call.results}] = [0.0; {call.results}];",
        f"    {call.function}(&{call.given}, &mut {step.name});",
    ]


def _module(kind: str, names: Sequence[str], about: Sequence[str]) -> str:
    """Return a module of constants: the indices of an array, with their descriptions."""
    if not names:
        return ""
    lines = [f"/// Index of each {kind} in its array.", f"pub mod {kind} {{"]
    for i, (name, text) in enumerate(zip(names, about, strict=True)):
        lines += [f"    /// {one_line(text)}"] if text else []
        lines.append(f"    pub const {name}: usize = {i};")
    return "\n".join([*lines, "}", ""])


# assembly.rs closes kinematic loops from rough start values, in memory of the caller.


class RustAssemblyPrinter(RustSolverPrinter):
    """Printer of the functions that close loops."""

    record_type = "Loops"

    def __init__(self, loops: AssemblySource, described: Solver) -> None:
        super().__init__(described)
        self.loops = loops
        self.names = {"FIRST": "0", "INFINITY": "Real::INFINITY", "OPEN": "NOT_CLOSED"}
        self.names |= {name: str(size) for name, size in loops.sizes.items()}

    def extent(self, kind: str) -> str:
        return str(self.loops.lengths[kind])

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"geometry({', '.join(arguments)}, &run.constants, &run.memory, &mut {targets[0]});"]


def assembly_file(model: RustModel) -> dict[str, str]:
    """Return the module that closes loops; empty if there are no loops."""
    loops = model.source.assembly
    if loops is None:
        return {}
    own = RustModel(model.source, model.precision)  # its printer has only the tables of this file
    targets = [f"out[{i}]" for i in range(len(loops.section.results))]
    arguments = (
        f"t: Real, state: &[Real; {len(loops.coordinates)}], constants: &[Real; CONSTANTS], "
        f"memory: &[Real; MEMORY], out: &mut [Real; {len(targets)}]"
    )
    about = "Gaps, elements of J, elements of N, sizes of gaps."
    geometry = own.function(loops.section, "fn geometry", arguments, targets, about)
    tables = [lookup_function(name, table, own.printer) for table, name in own.printer.tables.items()]
    printer = RustAssemblyPrinter(loops, bounded_assembly(loops, model.precision))
    solver = printer.text().rstrip("\n")
    kept = " run.t run.start run.given run.place run.status"
    members, zeros = printer.record(solver + kept)
    values = model.values | {
        "sentences": "\n".join(_sentences(loops)),
        "tables": "\n".join(_loop_tables(loops)),
        "coordinates": str(len(loops.coordinates)),
        "first": ", ".join(own.printer.literal(x) for x in loops.first),
        "whole": ", ".join(str(bool(w)).lower() for w in loops.whole),
        "constants": "\n".join(printer.constants()),
        "members": "\n".join(members),
        "zeros": "\n".join(zeros),
        "functions": "\n".join([*tables, geometry]),
        "solver": solver,
    }
    return {"src/assembly.rs": fill(template(__package__, "assembly.rs.txt"), values, loops.features)}


def _sentences(loops: AssemblySource) -> list[str]:
    """Return the constants of error codes, each with the message of the same error in Armillary."""
    lines = []
    for number, (code, texts) in enumerate(open_sentences(loops).items(), 1):
        lines += [line for text in texts for line in wrap_statement(text, 104, "/// ", "///   ")]
        lines.append(f"pub const {code}: i32 = {number};")
    return lines


def _loop_tables(loops: AssemblySource) -> list[str]:
    lines = []
    for name, numbers in loops.whole_tables(0).items():
        text = f"static {name}: [i32; {len(numbers)}] = [{', '.join(map(str, numbers))}];"
        lines += wrap_statement(text, 110, "", "    ")
    for name, flags in loops.truth_tables.items():
        words = ", ".join(str(bool(flag)).lower() for flag in flags)
        lines += wrap_statement(f"static {name}: [bool; {len(flags)}] = [{words}];", 110, "", "    ")
    return lines


# Further configurations of a system: one module each, and changes.rs, with the tables of changes and, for
# each section, a function that calls the section of a given configuration.

_GIVEN = "t: Real, state: &[Real; {}], constants: &[Real; CONSTANTS], memory: &[Real; MEMORY]"
# Sections: length of the state argument, length of the result, and the default of result elements that a
# configuration lacks.
_SECTIONS = {
    "derivatives": ("STATES", "STATES", "0.0"),
    "outputs": ("STATES", "OUTPUTS", "0.0"),
    "events": ("STATES", "EVENTS", "1.0"),
    "update": ("STATES", "MEMORY", "0.0"),
    "leave": ("STATES", "MOTION", "0.0"),
    "enter": ("MOTION", "STATES", "0.0"),
    "impulse": ("MOTION", "SPEEDS", "0.0"),
    "adjust": ("MOTION", "SPEEDS", "0.0"),
    "ratings": ("MOTION", "MEMBERS", "0.0"),
    "partial_rates": ("STATES", "PARTIALS", "0.0"),
}


def configuration_files(model: RustModel) -> dict[str, str]:
    """Return the modules of further configurations; empty if there is only one."""
    if not model.source.changing:
        return {}
    files = {"src/changes.rs": _change_functions(model.source, model.printer)}
    for other in model.source.others:
        own = RustModel(other, model.precision)
        head = f"//! {one_line(other.description.name)}: configuration {other.prefix[1:]}"
        uses = "use crate::math::*;\nuse crate::model::*;\nuse crate::Real;\n"
        files[f"src/configuration{other.prefix}.rs"] = "\n".join([head, "", uses, own.functions()])
    return files


def _change_functions(made: Source, printer: RustPrinter) -> str:
    lines = [
        "//! Configurations differ in locked joints and in dependent speeds. Tables have the numbers of one",
        "//! after the other; functions call the section of a configuration by its number.",
        "",
        "use crate::model::*;",
        "use crate::Real;",
        "",
    ]
    found = change_tables(made)
    for name, values in found.tables.items():
        kind = "bool" if name in TRUTHS else "i32"
        numbers = ", ".join(str(bool(v)).lower() if name in TRUTHS else str(v) for v in values)
        lines += wrap_statement(f"pub static {name}: [{kind}; {len(values)}] = [{numbers}];", 110, "", "    ")
    for name, reals in found.reals.items():
        text = ", ".join(map(printer.literal, reals))
        lines += wrap_statement(f"pub static {name}: [Real; {len(reals)}] = [{text}];", 110, "", "    ")
    given = "t, state, constants, memory"
    sections = _SECTIONS | ({CONSTRAINT_GEOMETRY: ("STATES", "ELEMENTS_ROOM", "0.0")} if made.passing else {})
    for name, (state, size, beyond) in sections.items():
        if name == "partial_rates" and not made.program.partial_rates:
            continue
        arguments = f"c: i32, {_GIVEN.format(state)}, out: &mut [Real; {size}]"
        lines += _section_function(made, name, arguments, [f"*out = [{beyond}; {size}];"], f"{given}, out")
    new = "new_memory: &mut [Real; MEMORY], new_state: &mut [Real; STATES]"
    start = ["*new_memory = *memory;", "*new_state = *state;"]
    arguments = f"c: i32, event: i32, {_GIVEN.format('STATES')}, {new}"
    lines += _section_function(made, "fire", arguments, start, f"event, {given}, new_memory, new_state")
    arguments = f"c: i32, {_GIVEN.format('STATES')}".replace("state: &", "state: &mut ")
    lines += _section_function(made, "normalise", arguments, [], given)
    arguments = "c: i32, parameters: &[Real; PARAMETERS], constants: &mut [Real; CONSTANTS]"
    lines += _section_function(made, "precompute", arguments, [], "parameters, constants")
    return "\n".join([*lines, ""])


def _section_function(made: Source, name: str, arguments: str, start: list[str], given: str) -> list[str]:
    """Return a function that calls the section of configuration ``c``, if this configuration has it."""
    cases = [
        f"        {c} => crate::{f'configuration{one.prefix}' if c else 'model'}::{name}({given}),"
        for c, one in enumerate((made, *made.others))
        if has_function(one.program, made.passing).get(name, True)
    ]
    head = wrap_statement(f"pub fn {name}_of({arguments}) {{", 110, "", "    ")
    body = [f"    {line}" for line in start]
    return ["", *head, *body, "    match c {", *cases, "        _ => {}", "    }", "}"]
