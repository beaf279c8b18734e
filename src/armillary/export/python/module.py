"""The text of an exported Python module: data, a function per section, integration, main program."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence

from armillary.algebra.tables import Piecewise
from armillary.export.python.solver import (
    assembly_values,
    configuration_values,
    contact_texts,
    run_values,
    solver_values,
)
from armillary.export.text.body import SectionText, Step, closing, field_names
from armillary.export.text.configurations import change_functions, contact_sources, implicit_tables, left_text
from armillary.export.text.files import (
    fill,
    head,
    helpers,
    helpers_called_in,
    note,
    operations_text,
    run_keys,
    template,
)
from armillary.export.text.printer import CHOICE, LOGIC, SUM, Operand, Printer, one_line, wrap_statement
from armillary.export.text.source import SectionFunction, Sections, Source, features
from armillary.export.text.start import AssemblySource, StartSource
from armillary.mechanics.constraints.closing_thresholds import CORRECTIONS
from armillary.program.program import ProgramSection
from armillary.settings import RUN_TABLE

# Expressions in Python.
#
# Numbers are floats, with the same arithmetic as in compiled code. But Python raises exceptions for results
# that are infinite or NaN in IEEE 754, even if the chosen branch of a condition does not use them. So
# divisions and functions call helpers that return the values of the standard.


class PythonPrinter(Printer):
    """Printer of expressions in Python."""

    keywords = frozenset(
        (*keyword.kwlist, "math", "abs", "min", "max", "range", "list", "tuple", "lookup", "div")
    )
    functions = {  # noqa: RUF012
        **{name: name for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "exp", "log", "sign", "abs")},
        "atan": "math.atan", "atan2": "math.atan2", "pow": "power", "min": "least", "max": "most",
        "tanh": "math.tanh", "floor": "floor", "ceil": "ceil", "mod": "modulo",
    }  # fmt: skip
    logic = {"and": "and", "or": "or"}  # noqa: RUF012
    negation = "not "
    specials = ('float("nan")', 'float("inf")', 'float("-inf")')
    truth_number = "float({})"

    def choice(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        text = f"{self.at(yes, SUM)} if {self.at_truth(condition, LOGIC)} else {self.at(no, SUM)}"
        return Operand(text, CHOICE)

    def quotient(self, above: str, below: Sequence[str]) -> str:
        divisor = without_parentheses(below[0]) if len(below) == 1 else "*".join(below)
        return f"div({without_parentheses(above)}, {divisor})"


def without_parentheses(text: str) -> str:
    """Return a text without parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


WIDTH = 110
ARGUMENTS = "t: float, state: Vector, constants: Vector, memory: Vector"


class PythonModule:
    """One system's module; classes of other dialects override the parts that differ."""

    package = "armillary.export.python"  # the folder of the templates
    reserved: tuple[str, ...] = (
        "Vector", "Parameters", "Event", "Trajectory", "Run", "precompute", "derivatives", "outputs",
        "events", "update", "fire", "normalise", "renew_states", "correct", "geometry", "closed", "started",
        "simulate", "rk4", "midpoint", "rates", "finite", "main", "lookup", "horner", "number", "replaced",
        "parameters_of", "changed_by", "physical", "check_physical", "sign_of", "csv", "sys", "OnStart",
        "tomllib", "dataclass", "constraints", "leave", "enter", "impulse", "adjust", "ratings",
    )  # fmt: skip
    vector = ("[", "]")  # around the numbers of a result
    decorator = ""  # decorator of the class of parameters
    corrections = CORRECTIONS  # most corrections of loops after a step
    always: tuple[str, ...] = ()  # names of helpers that every module has
    adaptive = True  # whether there are methods with adaptive steps
    multistep = True  # whether there are methods that use rates of earlier steps
    needs = "Python 3.11 and later without other packages"

    def __init__(self, made: Source, name: str, printer: Printer | None = None) -> None:
        self.made, self.name, self.has = made, name, features(made)
        self.program, self.description = made.program, made.description
        self.sections = Sections(made, printer or self.printer(), self.reserved)
        self.of = configuration_suffix(made)
        self.fields = field_names((p.name for p in self.description.parameters), keyword.kwlist)

    def printer(self) -> Printer:
        return PythonPrinter()

    def fill_template(self, file: str, values: Mapping[str, str] | None = None) -> str:
        """Return a template of this dialect with values in it."""
        return fill(template(self.package, file), values or {}, self.has)

    def solver(self) -> str:
        """Return the text of the integration."""
        stops = self.program.stops
        times = ", ".join([*(repr(t) for t, _ in stops), "math.inf"]) + ","
        hard = ", ".join([*(str(jumps) for _, jumps in stops), "True"]) + ","
        places = "".join(f"{bool(set_)}, " for set_ in self.made.set_places)
        values = {"jump_times": times, "jump_hard": hard, "set_places": places}
        jumps = {
            name: "\n".join(wrap_statement(text, WIDTH, "    ", "    ")) for name, text in values.items()
        }
        changes = configuration_values(self.made, function_name, WIDTH)
        values = solver_values(self.made, self.has) | jumps | self.weak_masses() | changes
        return self.fill_template("solver.txt", values | self.structure() | self.run_texts())

    def structure(self) -> dict[str, str]:
        """Return sizes and tables of the linear equations of implicit steps."""
        found = implicit_tables(self.made)
        tables = [f"{name} = {list(values)}" for name, values in found.tables.items()]
        lines = [line for text in tables for line in wrap_statement(text, WIDTH, "", "    ")]
        return {"structure": "\n".join([*(f"{name} = {n}" for name, n in found.sizes.items()), *lines])}

    def run_texts(self) -> dict[str, str]:
        """Return the parts common to programs of runs: the result, settings, their checks, how runs end."""
        texts = ("trajectory", "simulate", "status_text")
        values = run_values(self.made.stiff, self.multistep) | {"left": left_text(self.has)}
        found = {t: fill(template(PythonModule.package, f"{t}.txt"), values, self.has) for t in texts}
        return values | {name: text.rstrip("\n") for name, text in found.items()}

    def weak_masses(self) -> dict[str, str]:
        """Return tables for singular configurations, in which a motion moves no mass."""
        masses = self.made.masses
        if masses is None:
            return {}
        texts = "\n".join(f"    {text!r}," for text in masses.texts)
        return {
            "weak_masses": texts,
            "kind": repr(masses.kinds),
            "owners": repr(masses.owners),
            "kinds": str(masses.kind_count),
        }

    def text(self) -> str:
        """Return the whole module."""
        texts = self.functions()
        functions = "\n\n".join([*self.contacts(), *texts])
        tables = "\n".join(self.table(name, t) for t, name in self.sections.printer.tables.items())
        called = "\n\n".join(helpers_called_in(helpers(self.package), f"{functions} {tables}", self.always))
        imports = self.fill_template(
            "imports.txt", {"bisect": "from bisect import bisect_right\n" if tables else ""}
        )
        words = (
            "\n".join(f"    {text!r}," for text in checked.texts) if (checked := self.made.physical) else ""
        )
        values = self.run_settings() | {"physical": words}
        program = fill(template(PythonModule.package, "program.txt"), values, self.has)
        parts = [self.data(), called, tables, functions, self.solver(), program]
        texts = [f"{self.head()}\n\n{imports}", *(part for part in parts if part.strip("\n"))]
        return "\n\n\n".join(text.strip("\n") for text in texts) + "\n"

    settings: tuple[str, ...] = ("method", *(key.key for key in run_keys()))
    needed: tuple[str, ...] = ("duration",)

    def run_settings(self) -> dict[str, str]:
        """Return the keys of [run] in run files: for this program, for other programs, and required ones."""
        elsewhere = [key for key in RUN_TABLE if key not in self.settings]
        groups = {"settings": self.settings, "elsewhere": elsewhere, "needed": self.needed}
        return {name: ", ".join(f'"{key}"' for key in keys) for name, keys in groups.items()}

    def head(self) -> str:
        name = self.name
        lines = head(self.description, f"{name}.py", f"a simulation program, for {self.needs}.")
        usage = [
            "",
            f"    python {name}.py run.toml              a run, written as run.csv",
            f"    python test_{name}.py                  compares with stored numbers",
            "",
            f"    import {name}",
            f"    trajectory = {name}.simulate(1.0, 0.01)",
            "",
            "Parameters and outputs are in the units stated with them, and so are states and memory.",
        ]
        return f'"""{_docstring(chr(10).join([*lines, *usage]))}\n"""'

    def data(self) -> str:
        """Return the class of parameters, and tables of the names and defaults of all other quantities."""
        d, names = self.description, self.fields
        lines = [
            *filter(None, [self.decorator]),
            "@dataclass(frozen=True, kw_only=True)",
            "class Parameters:",
        ]
        lines += [f'    """Parameters of {_docstring(d.name)}, in the units stated with them."""', ""]
        for name, p in zip(names, d.parameters, strict=True):
            default = "" if p.default is None else f" = {float(p.default)!r}"
            lines.append(_with_remark(f"    {name}: float{default}", note(p.units, p.about)))
        other = [(n, repr(p.name), "") for p, n in zip(d.parameters, names, strict=True) if p.name != n]
        lines += ["", "", "# Parameters by the names of the model, which run files use, with their fields."]
        lines += _mapping("OTHER_NAMES", other)
        fields = "for name in Parameters.__dataclass_fields__"
        lines.append(f"PARAMETER_NAMES = {{OTHER_NAMES.get(name, name): name {fields}}}")
        title = (
            "Values that a run starts from, in the order of the states" if self.made.start else "States with"
        )
        lines += ["", f"# {title}{'.' if self.made.start else ' their initial values.'}"]
        lines += _mapping(
            "STATES", [(s.name, repr(s.initial / s.factor), note(s.units, s.about)) for s in d.starts]
        )
        if self.made.start is not None and self.made.start.placed:
            lines += [
                "",
                "# States that start_mass_centre sets at the start of a run, with the bodies it names.",
            ]
            placed = [(d.starts[i].name, repr(body), "") for i, body in self.made.start.placed.items()]
            lines += _mapping("PLACED", placed)
        lines += [
            "",
            "# Memory, kept between steps and changed once per step or by events, and inputs from outside.",
        ]
        lines += _mapping(
            "MEMORY", [(m.name, repr(m.initial / m.factor), note(m.units, m.about)) for m in d.memory]
        )
        clocks = [(m.name, repr(m.period), "s") for m in d.memory if m.period is not None]
        lines += ["", "# Clocks among them start one period after the start of a run."]
        lines += _mapping("PERIODS", clocks)
        factors = [(s.name, repr(s.factor), "") for s in d.starts if s.factor != 1.0]
        factors += [(m.name, repr(m.factor), "") for m in d.memory if m.factor != 1.0]
        lines += ["", "# Factors from the units stated above to the units of the equations, if they differ."]
        lines += _mapping("FACTORS", factors)
        lines += ["", "# Outputs with their units."]
        lines += _mapping("OUTPUTS", [(o.name, repr(o.units), o.about) for o in d.outputs])
        lines += ["OUTPUT_NAMES = list(OUTPUTS)"]
        if d.events:
            lines += ["", "EVENTS = ("]
            for e in d.events:
                flags = f"{e.direction}, {e.stop}, {e.hidden}, {e.guard}"
                lines.append(_with_remark(f"    Event({e.name!r}, {flags}),", e.about))
            lines.append(")")
        return "\n".join(lines)

    # ---------------------------------------------------------------- functions

    def functions(self) -> list[str]:
        """Return all sections as functions."""
        texts = self.equations()
        for other in self.made.others:
            texts += type(self)(other, self.name, self.sections.printer).equations()
        if self.made.assembly is not None:
            texts += self.assembly(self.made.assembly)
        if self.made.start is not None:
            texts.append(self.start_values_text(self.made.start))
        if (checked := self.made.physical) is not None:
            body = self.sections.body(checked.section)
            lines = ["def physical(parameters: Parameters) -> Vector:"]
            lines += ['    """Masses, moments of inertia and armatures, which must not be negative."""']
            lines += [
                *self.parameters(body),
                *self.steps(body),
                *self.return_vector(body.results, checked.texts),
            ]
            texts.append("\n".join(lines) + "\n")
        if self.made.masses is not None and "masses" in self.has and self.adaptive:
            body = self.sections.body(self.made.masses.section)
            arguments = ARGUMENTS.replace("constants: Vector", "parameters: Parameters")
            lines = [f"def pivot_shares({arguments}) -> Vector:"]
            lines += self.body(body, "Pivots of the mass matrix, as shares of its diagonal")
            texts.append(
                "\n".join([*lines, *self.return_vector(body.results, self.made.masses.texts)]) + "\n"
            )
        return texts

    def equations(self) -> list[str]:
        """Return the functions of one configuration's sections."""
        program = self.program
        texts = [self.precompute()]

        def add(f: SectionFunction) -> None:
            body = self.sections.body(f.section)
            name, arguments = function_name(self.made, f.name), ARGUMENTS
            if f.name in ("enter", "impulse", "adjust", "ratings"):
                arguments = arguments.replace("state", "motion")
            lines = [f"def {name}({arguments}) -> Vector:", *self.body(body, f.about, f.name)]
            texts.append("\n".join([*lines, *self.return_vector(body.results, f.labels)]) + "\n")

        for function in self.made.functions:
            add(function)
        if program.fire:
            texts += [self.fire(k, section) for k, section in enumerate(program.fire)]
            names = ", ".join(f"fire_{k + 1}{self.of}" for k in range(len(program.fire)))
            texts.append(_FIRE.format(of=self.of, arguments=ARGUMENTS, names=names))
        for function in self.made.corrections:
            add(function)
        if program.normalises:
            places = {
                **closing(attempts=self.corrections),
                "renewed": repr(list(program.renewed)),
                "corrected": repr(list(program.corrected)),
                "sizes": f"[{', '.join(self.made.correction_sizes('constants[{}]', 0, repr))}]",
                "of": self.of,
            }
            has = {*self.has, "further"} if self.of else self.has
            texts.append(fill(template(self.package, "normalise.txt"), places, has))
        for function in change_functions(self.made) if program.changes else ():
            add(function)
        return texts

    whole_state = "[*place, *[0.0] * (len(STATES) - LOOP_COORDINATES)]"
    call_of_geometry = f"geometry(run.t, {whole_state}, run.constants, run.memory)"

    def assembly(self, loops: AssemblySource) -> list[str]:
        """Return the functions that close loops before a run."""
        section = loops.section
        body = self.sections.body(section)
        lines = [f"def geometry({ARGUMENTS}) -> Vector:"]
        lines += self.body(body, "Gaps of the loops, elements of J, elements of N, sizes of gaps")
        values = {**assembly_values(loops, WIDTH - 12), "call": self.call_of_geometry}
        return [
            "\n".join([*lines, *self.return_vector(body.results, section.labels)]) + "\n",
            fill(template(PythonModule.package, "assembly.txt"), values, self.has | loops.features),
        ]

    def parameter_text(self, name: str) -> str:
        """Return the expression by which a section reads a parameter."""
        return f"parameters.{name}"

    def contacts(self) -> list[str]:
        """Return the texts of the solver of contacts."""
        return contact_texts(contact_sources(self.sections.printer.blocks), WIDTH - 12)

    def precompute(self) -> str:
        """Return the function that computes constants from parameters in the user's units."""
        body = self.sections.body(self.program.precompute)
        lines = [f"def precompute{self.of}(parameters: Parameters) -> Vector:"]
        lines.append(
            f'    """Constants from parameters, once per run: {operations_text(body.section.operations)}."""'
        )
        lines += [*self.parameters(body), *self.steps(body)]
        return (
            "\n".join(
                [*lines, *self.return_vector(body.results, [c.data.name for c in self.program.constants])]
            )
            + "\n"
        )

    def parameters(self, body: SectionText) -> list[str]:
        """Return lines for the parameters that a section reads, in the units of the equations."""
        lines = []
        for i in body.inputs:
            if i.array == "parameters":
                factor = self.description.parameters[i.index].factor
                value = self.parameter_text(self.fields[i.index]) + (
                    "" if factor == 1.0 else f" * {factor!r}"
                )
                lines.append(f"    {i.name} = {value}")
        return lines

    def body(self, body: SectionText, about: str, name: str = "") -> list[str]:
        """Return the docstring, the inputs and the assignments of a section."""
        lines = [f'    """{_docstring(about)}: {operations_text(body.section.operations)}."""']
        sizes = {"state": len(self.program.state), "constants": len(self.program.constants)}
        sizes["memory"] = len(self.program.memory)
        of_motion = name in ("enter", "impulse", "adjust", "ratings")
        if of_motion:
            sizes["state"] = len(self.program.motion)
        for array, size in sizes.items():
            names = {i.index: i.name for i in body.inputs if i.array == array}
            if names:
                listed = ", ".join(names.get(k, "_") for k in range(size))
                given = "motion" if of_motion and array == "state" else array
                lines += _unpack_array(f"[{listed}]" if size == 1 else listed, given)
        return lines + self.parameters(body) + self.steps(body)

    def steps(self, body: SectionText) -> list[str]:
        """Return the assignments of a section."""
        return [line for step in body.steps for line in self.statements(step)]

    def statements(self, step: Step) -> list[str]:
        """Return an assignment, or a call of a block function with a vector of arguments."""
        if (call := step.block) is None:
            return _assignment(step.name, step.text)
        opening, closing = self.vector
        arguments = wrap_statement(f"{', '.join(call.arguments)},", WIDTH, " " * 8, " " * 8)
        return [f"    {step.name} = {call.function}({opening}", *arguments, f"    {closing})"]

    def return_vector(self, results: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Return the statement that returns the results, each with its label as a remark."""
        return self.numbers(results, labels, "    ", "return ", "")

    def numbers(
        self, results: Sequence[str], labels: Sequence[str], indent: str, before: str, after: str
    ) -> list[str]:
        """Return the lines of a vector of results, after the text ``before`` and followed by ``after``."""
        opening, closing = self.vector
        if not results:
            return [f"{indent}{before}{opening}{closing}{after}"]
        lines = [f"{indent}{before}{opening}"]
        for text, label in zip(results, labels, strict=True):
            parts = wrap_statement(text + ",", WIDTH, f"{indent}    ", f"{indent}    ")
            same = len(parts) == 1 and text == label
            lines += [*parts[:-1], parts[-1] + ("" if same else f"  # {label}")]
        return [*lines, f"{indent}{closing}{after}"]

    def start_values_text(self, start: StartSource) -> str:
        """Return the function that computes the first memory and state of a run from given values."""
        body = self.sections.body(start.section)
        arguments = ARGUMENTS.replace("constants: Vector", "parameters: Parameters")
        lines = [f"def started({arguments}) -> tuple[Vector, Vector]:"]
        lines += self.body(body, "Memory and state of the first step from the values that are given")
        return "\n".join([*lines, *self.new_memory_text(body)]) + "\n"

    def fire(self, k: int, section: ProgramSection) -> str:
        body = self.sections.body(section)
        lines = [f"def fire_{k + 1}{self.of}({ARGUMENTS}) -> tuple[Vector, Vector]:"]
        lines += self.body(body, f"Memory and state after event '{self.description.events[k].name}'")
        return "\n".join([*lines, *self.new_memory_text(body)]) + "\n"

    def new_memory_text(self, body: SectionText) -> list[str]:
        """Return the statement that returns new memory and state."""
        d, count = self.description, len(self.description.memory)
        lines = ["    return ("]
        lines += self.numbers(body.results[:count], [m.name for m in d.memory], " " * 8, "", ",")
        lines += self.numbers(body.results[count:], [s.name for s in d.states], " " * 8, "", ",")
        return [*lines, "    )"]

    def table(self, name: str, table: Piecewise) -> str:
        """Return a lookup table: its data, and its function."""
        title = one_line(table.name)
        lines = [f"# table '{title}'", f"{name.upper()} = (", "    ("]
        for places in table.breaks:
            lines += wrap_statement(f"{_nested_tuple(places.tolist())},", WIDTH, " " * 8, " " * 9)
        lines += ["    ),", "    ("]
        for cell in table.coefficients.tolist():
            lines += wrap_statement(f"{_nested_tuple(cell)},", WIDTH, " " * 8, " " * 9)
        lines += ["    ),", f"    {tuple(table.outside)!r},", ")", "", ""]
        arguments = ("x", "y")[: table.arity]
        lines.append(f"def {name}({', '.join(f'{a}: float' for a in arguments)}) -> float:")
        lines.append(f'    """Table \'{_docstring(title)}\'."""')
        lines.append(f"    return lookup(*{name.upper()}, {', '.join(arguments)})")
        return "\n".join(lines) + "\n\n"


_FIRE = '''def fire{of}(k: int, {arguments}) -> tuple[Vector, Vector]:
    """Memory and state after event k, counted from 0."""
    return ({names},)[k](t, state, constants, memory)
'''


def configuration_suffix(made: Source) -> str:
    """Return the suffix of the names of a configuration's functions; empty for the first."""
    return f"_in{made.prefix}" if made.prefix else ""


def function_name(made: Source, name: str) -> str:
    """Return the name of a function of a configuration."""
    return name + configuration_suffix(made)


def _docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'")


def _with_remark(line: str, about: str) -> str:
    return f"{line}  # {about}" if about else line


def _mapping(name: str, entries: Sequence[tuple[str, str, str]]) -> list[str]:
    kind = "str" if name in ("OTHER_NAMES", "OUTPUTS", "PLACED") else "float"
    if not entries:
        return [f"{name}: dict[str, {kind}] = {{}}"]
    return [
        f"{name}: dict[str, {kind}] = {{",
        *(_with_remark(f"    {key!r}: {value},", about) for key, value, about in entries),
        "}",
    ]


def _assignment(name: str, text: str) -> list[str]:
    whole = f"    {name} = {text}"
    if len(whole) <= WIDTH:
        return [whole]
    return [f"    {name} = (", *wrap_statement(text, WIDTH, " " * 8, " " * 8), "    )"]


def _unpack_array(names: str, array: str) -> list[str]:
    whole = f"    {names} = {array}"
    if len(whole) <= WIDTH:
        return [whole]
    return ["    (", *wrap_statement(names + ",", WIDTH, " " * 8, " " * 8), f"    ) = {array}"]


def _nested_tuple(values: object) -> str:
    if not isinstance(values, list):
        return repr(values)
    return f"({', '.join(_nested_tuple(v) for v in values)},)"
