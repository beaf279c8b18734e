"""The model in C: <name>.h with its documentation, and <name>.c with its functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from armillary.algebra.block_functions import is_block
from armillary.algebra.expression import Expr
from armillary.errors import ArmillaryError
from armillary.export.c.arranged import ELEMENTARY, RESERVED, arranged_function, arrangement_types, arranges
from armillary.export.c.printer import (
    CPrinter,
    CSolverPrinter,
    Signature,
    block,
    comment,
    counts,
    function,
    heading,
    helpers,
    lookup_function,
    string_literal,
    trigonometry,
)
from armillary.export.text.body import closing
from armillary.export.text.configurations import ContactSource, contact_constants, contact_sources
from armillary.export.text.description import ExportDescription
from armillary.export.text.files import fill, note, setting_values, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.selftest import self_test
from armillary.export.text.source import Sections, Source, features
from armillary.program.packs import in_lanes, pack_calls, pack_section
from armillary.program.program import Program, ProgramSection
from armillary.solver.methods.method_text import exported_methods, method_names
from armillary.solver.methods.registry import METHODS
from armillary.solver.methods.tableau import Method
from armillary.text_tables import aligned

# Operations on vectors in exported C, and remarks about them in the head of a file.

WIDTHS = (1, 2, 4)
USUAL = 2  # doubles in a vector; all 64-bit machines have such vectors


def checked_lanes(lanes: object) -> int:
    """Return ``lanes`` if it is a supported number of doubles in a vector."""
    for width in WIDTHS:
        if lanes == width and not isinstance(lanes, bool):
            return width
    raise ArmillaryError(f"lanes={lanes!r}: give 2 or 4, the doubles of a vector, or 1 for no vectors")


def remark(section: ProgramSection) -> list[str]:
    """Return the lines about vectors in the head of a file."""
    if not section.packs:
        return []
    widest = max(len(pack.lanes) for pack in section.packs)
    return [f"operations of branches that are alike are on vectors of {widest} doubles, for GCC and Clang"]


def in_vectors(program: Program, lanes: int) -> ProgramSection:
    """Return the derivatives with packs of at most ``lanes`` lanes; without packs if none saves time."""
    if lanes == 1 or any(is_block(node) for node in program.derivatives.nodes):
        return program.derivatives
    places = {s: ("state", i) for i, s in enumerate(program.state)}
    places |= {s: ("constants", i) for i, s in enumerate(program.constants)}
    packed = pack_section(program.derivatives, in_lanes(program.alike, lanes), places, width=lanes)
    return pack_calls(packed, lanes, ELEMENTARY)


# The solver of contacts in C: its record is on the stack of the block function that a section calls.


def contact_code(sources: Sequence[ContactSource], stem: str, precision: str = "double") -> str:
    """Return the block functions that sections call, and the functions that they need."""
    if not sources:
        return ""
    numbers = contact_constants(sources, precision)
    constants = [f"static const double {name.lower()} = {value!r};" for name, value in numbers.items()]
    return "\n".join(["\n".join(constants), _HELPERS, *(_contact_solver(source, stem) for source in sources)])


_HELPERS = """
static double contact_larger(double a, double b) { return a > b ? a : b; }

static void contact_copy(int count, const double *from, double *to)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}
"""


def _contact_solver(source: ContactSource, stem: str) -> str:
    """Return the solver for a group of contacts that have the same sizes and tables."""
    printer = ContactPrinter(source, stem)
    sizes = ", ".join(f"{printer.names[name]} = {size}" for name, size in source.sizes.items())
    tables = [
        f"static const int {printer.names[name]}[{max(1, len(numbers))}] = "
        f"{{{', '.join(map(str, numbers)) or 0}}};"
        for name, numbers in source.whole_tables(0).items()
    ]
    lines = [
        f"enum {{ {sizes} }};",
        *(line for table in tables for line in wrap_statement(table, 110, "", "    ")),
        "",
        "/* The record of one contact problem. */",
        "typedef struct {",
        *printer.record(),
        f"}} {printer.record_type};",
        "",
        printer.text(),
        *(printer.block_function(name) for name in source.called),
    ]
    return "\n".join(lines)


class ContactPrinter(CSolverPrinter):
    """A printer of functions that find forces and statuses of contacts."""

    functions = {**CSolverPrinter.functions, "max": "contact_larger"}  # noqa: RUF012

    def __init__(self, source: ContactSource, stem: str) -> None:
        super().__init__(source.solver, stem)
        self.source, self.record_type = source, f"{stem}_contacts{source.tag}"
        self.names = {name: name.lower() for name in self.solver.constants} | {"FIRST": "0", "NONE": "-1"}
        self.names |= {name: name.removeprefix("N_") + source.tag for name in source.sizes}
        self.names |= {name: name.lower() + source.tag for name in source.block.tables}

    def extent(self, kind: str, room: bool = False) -> str:
        return str(self.source.lengths[kind])

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return [f"contact_copy({self.extent(kind)}, {self.expression(value)}, {target});"]

    def block_function(self, name: str) -> str:
        """Return a C function that reads an array of arguments and fills an array of results."""
        takes = [
            f"    contact_copy({p.length}, given + {p.first}, run.{p.field});"
            for p in self.source.takes(name)
        ]
        gives = [
            f"    contact_copy({p.length}, run.{p.field}, found + {p.first});"
            for p in self.source.gives(name)
        ]
        last = self.source.gives(name)[-1]
        idle = [
            f"    if (given[{p.first}] < 0.5) {{ /* no results are wanted, and the record has none */\n"
            f"        for (int i = 0; i < {last.first + last.length}; i++)\n"
            "            found[i] = 0.0;\n        return;\n    }"
            for p in self.source.takes(name)
            if p.field == "asked"
        ]
        return "\n".join([
            f"static void {name}(const double *given, double *found)", "{", *idle,
            f"    {self.record_type} run;", *takes, f"    {self.source.entry(name)}(&run);", *gives, "}", "",
        ])  # fmt: skip


INPUTS = (
    "double t, const double *restrict state, const double *restrict constants, const double *restrict memory"
)
RESULT = "double *restrict out"
RENEWED = "double *restrict new_memory, double *restrict new_state"


# Names that identifiers of a model must not have: functions, macros, and arrays of sines and cosines (32
# arrays of four angles suffice for 128 joints).
_RESERVED = (
    *RESERVED,
    *("APART", "WHOLE", "IN_ORDER", "BARRIER", "ANGLES"),
    *("sine_cosine", "sines_cosines", "reduced_sine_cosine", "reduced_sines_cosines", "large_sines_cosines"),
    *(f"{name}_{k}" for name in ("sines", "cosines") for k in range(1, 33)),
)


class CModel:
    """One system's functions in C, its names and its features."""

    kind_of_printer = CPrinter

    precision = "double"

    def __init__(self, source: Source, lanes: int = 1) -> None:
        self.lanes = lanes
        self.source, self.description, self.program = source, source.description, source.program
        self.printer = self.kind_of_printer()
        self.sections = Sections(source, self.printer, _RESERVED)
        self.stem = source.stem
        self.upper = self.stem.upper()

    @property
    def values(self) -> dict[str, str]:
        """Values for templates."""
        d = self.description
        return {
            "name": self.stem,
            "NAME": self.upper,
            "title": comment(d.name),
            "version": d.version,
            "parameters": str(len(d.parameters)),
            "constants": str(d.constants),
            "states": str(len(d.states)),
            "memory": str(len(d.memory)),
            "outputs": str(len(d.outputs)),
            "events": str(len(d.events)),
            "coordinates": str(len(self.source.equations.coordinates)),
            "method_count": str(len(exported_methods(True, self.source.stiff))),
            "method_names": ", ".join(f'"{m.name}"' for m in exported_methods(True, self.source.stiff)),
            "method_words": method_names(True, '"', stiff=self.source.stiff),
            "method_list": method_names(True, joint="and", stiff=self.source.stiff),
            "gaps": str(len(loops.gaps) if (loops := self.source.assembly) else 0),
            **setting_values("(double)INFINITY"),
            "placed": ", ".join(map(str, start.placed)) if (start := self.source.start) else "",
            "placed_count": str(len(start.placed) if start else 0),
            "parameter_value": f"{self.stem}_parameter_table[i].start",
            **{
                f"{kind}_value": f"{self.stem}_{kind}_table[i].start * {self.stem}_{kind}_table[i].factor"
                for kind in ("state", "memory")
            },
            "configuration_objects": " ".join(
                f"{self.stem}{part}.o"
                for part in ("_changes", *(other.prefix for other in self.source.others))
            ),
            **closing(self.precision),
        }

    @property
    def has(self) -> set[str]:
        """The features of the system, which select parts of templates."""
        arranged = {"arranged"} if self.arranges else set()
        return {"host", "assembles", "rows", *arranged, *features(self.source)}

    def in_precision(self, code: str) -> str:
        """Return C text of doubles with the numbers and functions of the model's precision."""
        return code

    @cached_property
    def wide(self) -> ProgramSection:
        """The derivatives, with operations on vectors if they are requested and save time."""
        return in_vectors(self.program, self.lanes)

    @property
    def arranges(self) -> bool:
        """Whether the derivatives are also written in the order of ``arranged.py``, for GCC and Clang."""
        return arranges(self.wide, self.sections.places)

    # ---------------------------------------------------------------- header

    def header(self) -> str:
        """Return <name>.h."""
        head = block([f"{self.stem}.h: {self.description.name}", "", *roadmap(self.description)])
        values = self.values | {"head": head, "lists": self.lists()}
        return fill(template(__package__, "model.h.txt"), values, self.has)

    def lists(self) -> str:
        """Return enumerations that name the indices of all arrays, with units and descriptions."""
        ids, d, program = self.sections.identifiers, self.description, self.program
        states = [note(s.units, s.about) for s in d.states]
        entries = [
            ("P", "Parameters, in the units named here.", [ids.of[p] for p in program.parameters],
             [note(p.units, p.about) for p in d.parameters]),
            ("X", "States.", [ids.of[s] for s in program.state], states),
            ("M", "Memory: inputs, and values kept between steps.", [ids.of[m] for m in program.memory],
             [note(m.units, ("input; " if m.input else "") + m.about) for m in d.memory]),
            ("Y", "Outputs, in the units named here.", ids.outputs,
             [note(o.units, o.about) for o in d.outputs]),
            ("E", "Events.", ids.events, [e.about for e in d.events]),
        ]  # fmt: skip
        lists = [self._enumeration(*entry) for entry in entries]
        return "\n".join(text for text in lists if text)

    def _enumeration(self, letter: str, title: str, names: Sequence[str], about: Sequence[str]) -> str:
        """Return an enumeration of indices of an array, with the meaning of each element."""
        if not names:
            return ""
        rows = [
            (f"    {self.upper}_{letter}_{name},", f"/* {comment(text)} */" if text else "")
            for name, text in zip(names, about, strict=True)
        ]
        return "\n".join([f"/* {title} */", "enum {", *aligned(rows), "};", ""])

    # ---------------------------------------------------------------- functions

    def code(self) -> str:
        """Return <name>.c."""
        helper_functions, body = self.functions()
        lines = [f"{self.stem}.c: {self.description.name}: equations", "", *roadmap(self.description)]
        head = block([*lines, *remark(self.wide)])
        values = self.values | {
            "head": head,
            "helpers": helper_functions,
            "functions": body,
            "quantities": self.quantities(),
            "clocks": "\n".join(
                f"    memory[{i}] = t + {self.printer.number(m.period).text};"
                for i, m in enumerate(self.description.memory)
                if m.period is not None
            ),
        }
        pieces = {"pieces"} if "APART" in helper_functions + body else set()
        return fill(template(__package__, "model.c.txt"), values, self.has | pieces)

    def functions(self, sines: str = "") -> tuple[str, str]:
        """Return the helper functions and the functions of the sections.

        ``sines`` replaces the usual functions for sines and cosines.
        """
        body = self.body()
        return self.helper_functions(body, sines), body

    def body(self) -> str:
        """Return the functions of the sections; start functions only for the first configuration."""
        parts = [self.precompute(), *self.ordinary(), *self.fire(), *self.normalise()]
        parts += [] if self.source.prefix else [self.start(), self.pivot_shares(), self.physical()]
        return "\n".join(part for part in parts if part)

    def helper_functions(self, body: str, sines: str = "") -> str:
        """Return the helper functions that a text calls."""
        tables = [lookup_function(name, t, self.printer) + "\n" for t, name in self.printer.tables.items()]
        own = self.sines(body)
        turned = (sines or own) if own else ""
        found = (arrangement_types(body), turned, helpers(body), *tables, self.contacts(body))
        return "\n".join(text for text in found if text)

    def contacts(self, body: str) -> str:
        """Return the solver of contacts that a text calls."""
        return contact_code(contact_sources(self.printer.blocks, body), self.stem, self.precision)

    def further(self, source: Source) -> CModel:
        """Return the C model of another configuration, with the same lanes."""
        return type(self)(source, self.lanes)

    def sines(self, code: str) -> str:
        """Return the functions for sines and cosines that a text calls."""
        return trigonometry(code)

    def _factors(self) -> dict[int, str]:
        """Return factors of parameters from their units to the model's, by index, if they are not 1."""
        return {
            i: self.printer.number(p.factor).text
            for i, p in enumerate(self.description.parameters)
            if p.factor != 1.0
        }

    def precompute(self) -> str:
        section = self.program.precompute
        signature = Signature(
            f"{self.stem}_precompute",
            "const double *restrict parameters, double *restrict constants",
            [f"constants[{i}]" for i in range(len(section.results))],
        )
        about = f"Constants from parameters in their units: {counts(section.operations)}."
        return function(signature, about, self.sections.body(section), self._factors())

    def start(self) -> str:
        """Return the function that computes the start of a run from given values."""
        start = self.source.start
        if start is None:
            return ""
        inputs = INPUTS.replace("constants", "parameters")
        signature = Signature(f"{self.stem}_start", f"{inputs}, {RENEWED}", self.source.renewed)
        about = (
            "Memory and state of the first step from the values that are given; parameters in their units."
        )
        return function(signature, about, self.sections.body(start.section), self._factors())

    def pivot_shares(self) -> str:
        """Return the function for pivots of the mass matrix, as shares of its diagonal.

        Only runs that may reach a singular configuration need it.
        """
        masses = self.source.masses
        if masses is None:
            return ""
        targets = [f"out[{i}]" for i in range(len(masses.texts))]
        arguments = f"{INPUTS.replace('constants', 'parameters')}, {RESULT}"
        signature = Signature(f"{self.stem}_pivot_shares", arguments, targets)
        about = "Pivots of the mass matrix, as shares of its diagonal."
        return function(signature, about, self.sections.body(masses.section), self._factors())

    def physical(self) -> str:
        """Return the function for quantities that must not be negative, and the function that checks them."""
        checked = self.source.physical
        if checked is None:
            return ""
        targets = [f"out[{i}]" for i in range(len(checked.texts))]
        arguments = f"const double *restrict parameters, {RESULT}"
        signature = Signature(f"{self.stem}_physical", arguments, targets, "static ")
        about = "Quantities that must not be negative: masses, moments of inertia, armatures."
        text = function(signature, about, self.sections.body(checked.section), self._factors())
        words = "".join(f"    {string_literal(text)},\n" for text in checked.texts)
        values = self.values | {"words": words, "count": str(len(targets))}
        return "\n".join([text, fill(template(__package__, "physical.c.txt"), values, self.has)])

    def ordinary(self) -> list[str]:
        """Return the functions of time, state, constants and memory with one array of results."""
        texts = []
        for f in self.source.functions:
            signature = Signature(f"{self.stem}_{f.name}", f"{INPUTS}, {RESULT}", f.targets())
            about, body = f"{f.about}: {counts(f.section.operations)}.", self.sections.body(f.section)
            if f.name == "derivatives" and self.arranges:
                own = replace(signature, name=f"{signature.name}_plain", prefix="RARE static ")
                plain = function(own, about, body)
                texts.append(
                    arranged_function(signature, about, self.wide, self.sections, self.printer, plain)
                )
            else:
                texts.append(function(signature, about, body))
        return texts

    def fire(self) -> list[str]:
        """Return a function per event with an effect, and the function that chooses among them."""
        arguments, targets = f"{INPUTS}, {RENEWED}", self.source.renewed
        texts, cases = [], []
        shared: dict[tuple[Expr, ...], str] = {}  # events of contacts have the same effects
        for k, (section, event) in enumerate(zip(self.program.fire, self.description.events, strict=True)):
            name = shared.get(section.results, "") if section.nodes else ""
            if not name:
                name = f"{self.stem}_fire_{self.sections.identifiers.events[k]}"
                shared[section.results] = name
                about = f"Memory and state after event '{event.name}'."
                signature = Signature(name, arguments, targets, "static ")
                texts.append(function(signature, about, self.sections.body(section)))
            cases += [
                f"    case {k}:",
                f"        {name}(t, state, constants, memory, new_memory, new_state);",
                "        break;",
            ]
        if not texts:
            return []
        joined = "\n".join(heading(f"void {self.stem}_fire(int event, {arguments})"))
        choose = "\n".join(["    switch (event) {", *cases, "    default:", "        break;", "    }"])
        return [
            *texts,
            f"/* Memory and state after an event, by its number. */\n{joined}\n{{\n{choose}\n}}\n",
        ]

    def normalise(self) -> list[str]:
        """Return the function for all corrections after a step, and the functions for its parts.

        The parts correct coordinates of closed loops, normalise Euler parameters, and remove drift of
        contacts.
        """
        program, texts = self.program, []
        for f in self.source.corrections:
            signature = Signature(f"{self.stem}_{f.name}", f"{INPUTS}, {RESULT}", f.targets(), "static ")
            texts.append(function(signature, f"{f.about}.", self.sections.body(f.section)))
        if texts:
            places = ", ".join(map(str, program.corrected)) or "0"
            sizes = ", ".join(self.source.correction_sizes("constants[{}]", 0, repr))
            values = self.values | {"places": places, "count": str(len(program.corrected)), "sizes": sizes}
            values |= {
                "renewed": str(len(program.renewed)),
                "renewed_places": ", ".join(map(str, program.renewed)),
            }
            texts.append(fill(template(__package__, "normalise.c.txt"), values, self.has))
        return texts

    # ---------------------------------------------------------------- tables of names

    def quantities(self) -> str:
        """Return tables of names, units, descriptions and start values, for programs that show them."""
        d, number = self.description, self.printer.number
        rows: dict[str, list[tuple[str, str, str, float | None, float]]] = {
            "parameter": [
                (p.name, p.units, p.about, p.default if p.needed or p.default is not None else 0.0, p.factor)
                for p in d.parameters
            ],
            "state": [(s.name, s.units, s.about, s.initial / s.factor, s.factor) for s in d.starts],
            "memory": [(m.name, m.units, m.about, m.initial / m.factor, m.factor) for m in d.memory],
            "output": [(o.name, o.units, o.about, 0.0, 1.0) for o in d.outputs],
            "event": [
                (e.name, "", e.about, 2.0 if e.guard else 1.0 if e.hidden else 0.0, 1.0) for e in d.events
            ],
        }
        texts = []
        for kind, entries in rows.items():
            lines = [f"const {self.stem}_quantity {self.stem}_{kind}_table[{max(1, len(entries))}] = {{"]
            for name, units, about, start, factor in entries or [("", "", "", 0.0, 1.0)]:
                values = "NAN" if start is None else number(start).text, number(factor).text
                texts_of_row = ", ".join(string_literal(text) for text in (name, units, about))
                lines.append(f"    {{{texts_of_row}, {', '.join(values)}}},")
            texts.append("\n".join([*lines, "};", ""]))
        return "\n".join(texts)


def roadmap(description: ExportDescription) -> list[str]:
    """Return the summary at the head of each file: bodies, joints, coordinates, cost."""
    d = description
    rows = [("body", "parent", "joint", "coordinates")]
    rows += [(b.name, b.parent, b.joint, ", ".join(b.coordinates)) for b in d.bodies]
    return [
        f"Generated by Armillary {d.version}; do not edit.",
        "",
        *(f"  {line}" for line in aligned(rows)),
        "",
        f"{d.freedom}; formalism: {d.formalism}; units inside: {d.units}",
        f"derivatives: {counts(d.operations)}; {d.constants} constants precomputed",
        *d.judged,
        *d.remarks,
    ]


# test.c compares the code's results with stored numbers of the in-process model, each with a tolerance
# ("room") for the precision of the code.


def test_code(model: CModel, method: Method = METHODS["rk4"]) -> str:
    """Return the self-test with its numbers, for a program in C or for device functions."""
    test, has = self_test(model.source, model.precision, method, model.has), set(model.has)
    reference = model.source.reference
    if not has & {"host", "embedded"}:
        has |= {"device"}  # device functions have no function for the start of a run
        test.inputs.update(start_state=[reference.initial], start_memory=[reference.memory])
    lines = [model.in_precision(_matrix_table(model, name, rows)) for name, rows in test.inputs.items()]
    for name, (expected, rooms) in test.compared.items():
        lines += [
            _matrix_table(model, f"expected_{name}", expected),
            _matrix_table(model, f"room_of_{name}", rooms),
        ]
    suffix, header = ("cpp", ".cuh") if "device" in has else ("c", "_solver.h")
    values = {"real": "double", "suffix": suffix, "included": model.stem + header, "data": "\n".join(lines)}
    values["huge"] = "1e37" if model.precision == "single" else "1e307"  # larger numbers count as infinite
    values |= model.values | {"points": str(test.points), "room": str(test.room)}
    if test.run is not None:
        has |= {"trajectory"}
        run = {"step": test.run.step, "steps": test.run.steps, "duration": test.run.duration}
        values |= {name: repr(value) for name, value in run.items()}
    return fill(template(__package__, "test.c.txt"), values, has)


def _matrix_table(model: CModel, name: str, rows: Sequence[Sequence[float]]) -> str:
    lines = [f"static const double {name}[{len(rows)}][{max(1, len(rows[0]))}] = {{"]
    for row in rows:
        numbers = ", ".join(model.printer.number(float(v)).text for v in row) or "0.0"
        lines += wrap_statement(f"{{{numbers}}},", 110, "    ", "        ")
    return "\n".join([*lines, "};"])
