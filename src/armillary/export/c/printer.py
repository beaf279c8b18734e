"""Expressions, lookup tables, comments and functions in C; C++ and CUDA use them, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.tables import Piecewise
from armillary.export.text.body import SectionText, Step
from armillary.export.text.configurations import WORDS
from armillary.export.text.files import fill, template
from armillary.export.text.printer import Printer, nested_polynomial, wrap_statement
from armillary.export.text.solver_printer import SOLVER_STATUSES, SolverPrinter, element_types
from armillary.program.passes.graph import Operations
from armillary.program.sparse_rates import TABLES
from armillary.solver.language.translator import Field, Solver, SolverFunction
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.tables import EXPORTED
from armillary.text_tables import aligned
from armillary.untyped import Given

WIDTH = 110
PIECE = 400  # assignments in one function; for longer ones compile time grows faster than the length
# a literal of a floating-point number
NUMBER = re.compile(r"(?<![\w.])((?:\d+\.\d*|\d+(?=e))(?:e[+-]?\d+)?)(?![\w.])")
COMMENT = re.compile(r"(/\*.*?\*/)", re.S)


def comment(text: str) -> str:
    """Return a text for the inside of a comment, in one line."""
    return " ".join(comment_line(text).split())


def string_literal(text: str) -> str:
    """Return a string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + "".join(c if c >= " " else f"\\{ord(c):03o}" for c in escaped) + '"'


def block(lines: Iterable[str]) -> str:
    """Return lines as one block comment."""
    inside = [f" * {comment_line(line)}".rstrip() for line in lines]
    return "/*" + "\n".join(inside)[2:] + "\n */"


def comment_line(line: str) -> str:
    """Return a line for a comment, in which blanks are kept."""
    # Backslashes are replaced first: a slash that replaces one after a star must not end the comment.
    return line.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def counts(operations: Operations) -> str:
    """Return operation counts in words."""
    o = operations
    parts = (o.additions, "additions"), (o.multiplications, "multiplications"), (o.divisions, "divisions")
    return ", ".join(f"{n} {what}" for n, what in (*parts, (o.functions, "functions")))


@dataclass(frozen=True)
class Signature:
    """A generated function: its name, its declared arguments, and the array elements that get its results."""

    name: str
    arguments: str
    targets: Sequence[str]
    prefix: str = ""  # before "void"


def function(signature: Signature, about: str, body: SectionText, scale: dict[int, str] | None = None) -> str:
    """Return a section as a function; if it is long, as several with a work array between them.

    ``scale`` holds factors of inputs by index, for parameters in the user's units.
    """
    pieces = _cut_steps(body.steps)
    if len(pieces) > 1:
        return _split_function(signature, about, body, pieces, scale or {})
    lines = _function_lines(body, signature, body.steps, range(len(body.results)), scale or {})
    return function_text(signature, about, lines, argument_names(signature))


def _function_lines(
    body: SectionText,
    signature: Signature,
    steps: Sequence[Step],
    results: Iterable[int],
    scale: dict[int, str],
    received: dict[str, int] | None = None,
    handed_on: dict[str, int] | None = None,
    angles: bool = True,
) -> list[str]:
    """Return the lines of one function: state, angles, then steps and results.

    Constants are declared right before the first step that needs them: declared at the top, they would fill
    registers, which the compiler then has to spill. ``received`` and ``handed_on`` are indices in the work
    array of values that other pieces compute or need.
    """
    results = list(results)
    read = set().union(*(s.reads for s in steps), *(body.result_reads[i] for i in results))
    read |= {a.angle for a in body.angles} if angles else set()
    first: list[str] = []
    waiting: dict[str, str] = {}
    for i in body.inputs:
        if i.array and i.name in read:
            scaled = i.array == "parameters" and i.index in scale
            factor = f" * {scale[i.index]}" if scaled else ""
            value = f"{i.name} = {i.array}[{i.index}]{factor}"
            if i.array == "constants":
                waiting[i.name] = value
            else:
                first.append(f"    const double {value};")
    waiting |= {n: f"{n} = work[{k}]" for n, k in (received or {}).items()}

    def declare_constants(reads: Iterable[str]) -> list[str]:
        now = [waiting.pop(n) for n in sorted(reads) if n in waiting]
        return wrap_statement(f"const double {', '.join(now)};", WIDTH, "    ", "        ") if now else []

    lines = [*first, *(_angle_lines(body) if angles else [])]
    for step in steps:
        lines += declare_constants(step.reads)
        lines += _step_statements(step)
    lines += [f"    work[{place}] = {n};" for n, place in (handed_on or {}).items()]
    for k in results:
        lines += declare_constants(body.result_reads[k])
        text = f"{signature.targets[k]} = {body.results[k]}; /* {comment(body.section.labels[k])} */"
        lines += wrap_statement(text, WIDTH, "    ", "        ")
    return lines


def _step_statements(step: Step) -> list[str]:
    if (call := step.block) is None:
        return wrap_statement(f"const double {step.name} = {step.text};", WIDTH, "    ", "        ")
    given = f"const double {call.given}[{len(call.arguments)}] = {{{', '.join(call.arguments)}}};"
    return [
        *wrap_statement(given, WIDTH, "    ", "        "),
        f"    double {step.name}[{call.results}];",
        f"    {call.function}({call.given}, {step.name});",
    ]


def argument_names(signature: Signature) -> list[str]:
    """Return the names of a function's arguments."""
    return [part.split()[-1].lstrip("*").partition("[")[0] for part in signature.arguments.split(", ")]


def function_text(
    signature: Signature, about: str, lines: list[str], names: list[str], prefix: str | None = None
) -> str:
    """Return a function of given lines; arguments that it does not read are cast to void."""
    body = "\n".join(lines)
    unused = [n for n in names if not _mentions(body, n)]
    if unused:
        lines = [f"    {' '.join(f'(void){n};' for n in unused)}", *lines]
    head = f"{signature.prefix if prefix is None else prefix}void {signature.name}({signature.arguments})"
    remark = [f"/* {comment(about)} */"] if about else []
    return "\n".join([*remark, *heading(head), "{", *lines, "}", ""])


def heading(head: str) -> list[str]:
    """Return the head of a function, broken between its arguments."""
    whole = head.replace(" ", "\1").replace("*", "\0").replace(",\1", ", ")
    return [line.replace("\0", "*").replace("\1", " ") for line in wrap_statement(whole, WIDTH, "", "    ")]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _angle_lines(body: SectionText) -> list[str]:
    """Return lines for named sines and cosines, computed in groups of the printer's ``paired_angles``."""
    lines, size = [], max(1, body.paired_angles)
    read = set().union(*(s.reads for s in body.steps), *body.result_reads)
    for start in range(0, len(body.angles), size):
        group = body.angles[start : start + size]
        if len(group) == 1:
            a = group[0]
            lines += [
                f"    double {a.sine}, {a.cosine};",
                f"    sine_cosine({a.angle}, &{a.sine}, &{a.cosine});",
            ]
            continue
        k = start // size + 1
        padded = [a.angle for a in group] + ["0.0"] * (size - len(group))
        lines.append(f"    double sines_{k}[{size}], cosines_{k}[{size}];")
        lines.append(f"    sines_cosines({', '.join(padded)}, sines_{k}, cosines_{k});")
        for i, a in enumerate(group):
            found = {a.sine: f"sines_{k}[{i}]", a.cosine: f"cosines_{k}[{i}]"}
            used = [f"{name} = {value}" for name, value in found.items() if name in read]
            lines.append(f"    const double {', '.join(used)};")
    return lines


# ---------------------------------------------------------------- long sections


def _cut_steps(steps: Sequence[Step]) -> list[Sequence[Step]]:
    count = max(1, round(len(steps) / PIECE))
    size = max(1, -(-len(steps) // count))
    cuts = [0]
    for i in range(size, len(steps)):
        if i - cuts[-1] >= size and not steps[i].is_part:
            cuts.append(i)
    return [steps[i:j] for i, j in zip(cuts, [*cuts[1:], len(steps)], strict=True)]


def _split_function(
    signature: Signature, about: str, body: SectionText, pieces: list[Sequence[Step]], scale: dict[int, str]
) -> str:
    """Return pieces that exchange values through a work array, and the function that calls them in turn."""
    home = {name: 0 for a in body.angles for name in (a.sine, a.cosine)}
    home |= {step.name: k for k, piece in enumerate(pieces) for step in piece}
    last = len(pieces) - 1
    stored: dict[int, list[int]] = {}
    for i, reads in enumerate(body.result_reads):
        stored.setdefault(max((home[n] for n in reads if n in home), default=last), []).append(i)
    needed: list[set[str]] = []
    for k, piece in enumerate(pieces):
        used: set[str] = set().union(
            *(s.reads for s in piece), *(body.result_reads[i] for i in stored.get(k, []))
        )
        needed.append(used | ({a.angle for a in body.angles} if k == 0 else set()))
    crossing: dict[str, int] = {}
    for k, used in enumerate(needed):
        for name in sorted(n for n in used if n in home and home[n] != k):
            crossing.setdefault(name, len(crossing))
    arguments = f"{signature.arguments}, double *restrict work"
    names = argument_names(signature)
    texts, calls = [], []
    for k, piece in enumerate(pieces):
        inner = Signature(f"{signature.name}_{k + 1}", arguments, signature.targets)
        received = {n: at for n, at in crossing.items() if n in needed[k] and home[n] < k}
        handed_on = {n: at for n, at in crossing.items() if home[n] == k}
        lines = _function_lines(
            body, signature, piece, stored.get(k, []), scale, received, handed_on, angles=k == 0
        )
        texts.append(function_text(inner, "", lines, [*names, "work"], "APART static "))
        calls.append(f"    {inner.name}({', '.join([*names, 'work'])});")
    lines = [f"    double work[{max(1, len(crossing))}];", *calls]
    return "\n".join([*texts, function_text(signature, about, lines, names)])


# Keywords of C and C++, and names that their headers define.
_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary bool true false and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq asm
catch class const_cast delete dynamic_cast explicit export friend mutable namespace new operator private
protected public reinterpret_cast static_cast template this throw try typeid typename using virtual wchar_t
alignas alignof char16_t char32_t concept constexpr consteval constinit co_await co_return co_yield decltype
noexcept nullptr requires static_assert thread_local linux unix i386 INFINITY NAN HUGE_VAL HUGE MAXFLOAT
DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS NULL errno assert main real
sin cos tan asin acos atan atan2 exp log pow sqrt fabs fma tanh floor ceil fmod
"""


GROUP = 4  # angles whose sines and cosines are computed together


class CPrinter(Printer):
    """C99: doubles, conditional expressions, sines and cosines in pairs."""

    keywords = frozenset(_WORDS.split())
    # GCC keeps the order of operations in longer operands without a name: 7 % more time on a Stewart
    # platform.
    inline = 60
    paired_angles = GROUP
    functions = {"abs": "fabs", "min": "lesser", "max": "greater", "sign": "signum", "mod": "modulo"}  # noqa: RUF012
    specials = ("NAN", "INFINITY", "(-INFINITY)")


# Functions of numbers that C lacks, or defines with other rules for NaN.
HELPERS = {
    "lesser": """\
/* The smaller of two numbers; NaN if either is. */
static inline double lesser(double a, double b) { return a < b || a != a ? a : b; }
""",
    "greater": """\
/* The larger of two numbers; NaN if either is. */
static inline double greater(double a, double b) { return a > b || a != a ? a : b; }
""",
    "modulo": """\
/* The remainder of a divided by b, with the sign of b. */
static inline double modulo(double a, double b)
{
    const double r = fmod(a, b);
    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
""",
    "signum": """\
/* 1, 0 or -1; NaN for NaN. */
static inline double signum(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }
""",
}


def trigonometry(code: str) -> str:
    """Return the functions for sines and cosines that a text calls: for single angles and for groups."""
    has = {"single"} if "sine_cosine(" in code else set()
    has |= {"several"} if "sines_cosines(" in code else set()
    return fill(template(__package__, "trigonometry.c.txt"), {}, has) if has else ""


def helpers(code: str) -> str:
    """Return the helper functions that a text calls."""
    return "\n".join(text for name, text in HELPERS.items() if f"{name}(" in code)


def lookup_function(name: str, table: Piecewise, printer: Printer) -> str:
    """Return a table as a function: bisection on each axis, then Horner's rule."""
    lines = [f"/* Table '{comment(table.name)}': a polynomial in each interval between its breaks. */"]
    lines.append(f"static double {name}({', '.join(f'double x{a}' for a in range(table.arity))})")
    lines.append("{")
    for a, breaks in enumerate(table.breaks):
        lines += _array_lines(f"breaks{a}", breaks, printer)
    lines += _array_lines("coefficients", np.ravel(table.coefficients), printer)
    for a in range(table.arity):
        lines += _axis(table, a, printer)
    return "\n".join([*lines, *_horner(table), "}"])


def _array_lines(name: str, values: Given, printer: Printer) -> list[str]:
    items = ", ".join(printer.number(float(v)).text for v in values)
    text = f"static const double {name}[{len(values)}] = {{{items}}};"
    return wrap_statement(text, 110, "    ", "        ")


def _axis(table: Piecewise, a: int, printer: Printer) -> list[str]:
    """Return lines for the interval i and the distance s from its left break, along one axis."""
    breaks, n = table.breaks[a], len(table.breaks[a]) - 1
    first, last = (printer.number(float(breaks[k])).text for k in (0, -1))
    held = (
        f"x{a} < {first} ? {first} : x{a} > {last} ? {last} : x{a}"
        if table.outside[a] == "clamp"
        else f"x{a}"
    )
    return [
        f"    const double inside{a} = {held};",
        f"    int i{a} = 0;",
        f"    for (int end = {n}; end - i{a} > 1;) {{",
        f"        const int middle = (i{a} + end) / 2;",
        f"        if (inside{a} >= breaks{a}[middle])",
        f"            i{a} = middle;",
        "        else",
        "            end = middle;",
        "    }",
        *(
            [f"    const double s{a} = inside{a} - breaks{a}[i{a}];"]
            if table.coefficients.shape[table.arity + a] > 1
            else []
        ),
    ]


def _horner(table: Piecewise) -> list[str]:
    """Return lines for the polynomial by Horner's rule, and for values outside of the table."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = int(np.prod(degrees))
    place = "i0" if table.arity == 1 else f"(i0 * {shape[1]} + i1)"
    lines = [f"    const double *c = &coefficients[{place} * {cell}];"]
    lines.append(f"    double value = {nested_polynomial(table)};")
    for a in range(table.arity):
        if degrees[a] == 1:  # a constant piece would turn NaN into a number
            lines += [f"    if (x{a} != x{a})", f"        value = x{a};"]
        if table.outside[a] == "zero":
            first, last = (repr(float(table.breaks[a][k])) for k in (0, -1))
            lines += [f"    if (x{a} < {first} || x{a} > {last})", "        value = 0.0;"]
    return [*lines, "    return value;"]


# The functions of the solver and the record of a run, printed in C.

_TYPES = {"real": "double", "whole": "int", "count": "long long", "truth": "int", "index": "int"}
_ELEMENTS = element_types("int", "int")
_EXTENTS = {
    "Motion": "@_MOTION", "Ratings": "@_MEMBERS", "Speeds": "@_SPEEDS", "Locks": "@_LOCKABLE",
    "Geometry": "@_ELEMENTS", "Jacobian": "@_ROWS * @_SPEEDS", "RowReals": "@_ROWS",
    "Entries": "@_SPARSE_ENTRIES + @_STATES", "Factors": "@_SPARSE_FACTORS",
    "Unknowns": "@_SPARSE_UNKNOWNS",
    "Slopes": "@_STAGES * @_STATES_ROOM", "Nests": "@_NESTS * @_STATES_ROOM", "OutputFlags": "@_OUTPUTS",
}  # fmt: skip


def table_name(name: str) -> str:
    """Return the name of a table of configurations, distinct from the solver's local variable `lands`."""
    return "lands_at" if name == "LANDS" else name.lower()


def _extent(kind: str, upper: str) -> str:
    return _EXTENTS[kind].replace("@", upper)


class CSolverPrinter(SolverPrinter):
    """A printer of the solver's functions in C."""

    remark = "/* {} */"
    ended = ";"
    spelled = {"and": "&&", "or": "||", "not": "!"}  # noqa: RUF012
    heads = {  # noqa: RUF012
        "if": "if ({}) {{", "elif": "}} else if ({}) {{", "else": "}} else {{", "while": "while ({}) {{",
        "loop": "for (;;) {{", "for": "for (int {0} = 0; {0} < {1}; {0}++) {{",
        "from": "for (int {0} = {2}; {0} < {1}; {0}++) {{",
    }  # fmt: skip
    closings = dict.fromkeys(("if", "while", "loop", "for"), "}")
    functions = {  # noqa: RUF012
        "abs": "fabs", "min": "smaller", "max": "larger", "power": "pow", "is_finite": "finite_all",
        "float": "(double)({})", "isnan": "{0} != {0}", "differs": "{} != {}",
    }  # fmt: skip
    code = ""  # text of the file, after it is written

    def __init__(self, solver: Solver, stem: str) -> None:
        upper = stem.upper()
        names = {
            "N_STATES": "N", "N_MEMORY": f"{upper}_MEMORY", "N_EVENTS": f"{upper}_EVENTS", "NONE": "-1",
            "DIRECTION": "direction", "STOPS": "terminal", "JUMP_TIME": "jump_time", "JUMP_HARD": "jump_hard",
            "SETS_PLACE": "sets_place", "N_COORDINATES": f"{upper}_COORDINATES",
            "FIRST": "0", "KIND": "kind_of", "PIVOT_OF": "pivot_of",
            "INFINITY": "(double)INFINITY", "NAN": "(double)NAN",
            "N_UNKNOWNS": f"{upper}_SPARSE_UNKNOWNS", "N_ENTRIES": f"{upper}_SPARSE_ENTRIES",
            **{name.upper(): name for name in TABLES},
            "N_PIVOTS": f"{upper}_PIVOTS", "N_KINDS": f"{upper}_KINDS",
        }  # fmt: skip
        names |= {status: f"{upper}_{status}" for status in SOLVER_STATUSES}
        for method in exported_methods(adaptive=True, stiff=True):
            names[f"METHOD_{method.name.upper()}"] = f"{upper}_{method.name.upper()}"
        names |= {name: name.lower() for name in solver.constants}
        if any(f.name == "configuration" for f in solver.fields):
            names |= {name: table_name(name) for name in EXPORTED}
            names |= WORDS
            names |= {"N_EVENTS": f"{upper}_EVENTS_ROOM", "N_STATES": "N", "N_OWN_EVENTS": "OWN_EVENTS"}
            names |= {
                f"N_{word}": f"{upper}_{word}"
                for word in (
                    *("CONFIGURATIONS", "SPEEDS", "LOCKABLE", "MEMBERS", "SETTINGS", "OWN_MOTION"),
                    *("ROWS", "ELEMENTS", "STAGES", "NESTS", "LOOKS", "OUTPUTS"),
                )
            }
            names["N_JACOBIAN"] = _extent("Jacobian", upper)
            names["N_COORDINATES"] = f"{upper}_PLACES"
        super().__init__(solver, names)
        self.stem, self.upper, self.record_type = stem, upper, f"{stem}_run"

    def statement(self, node: ast.stmt, last: bool) -> list[str]:
        lines = super().statement(node, last)
        if len(lines) == 3 and lines[0].endswith(" {") and lines[2] == "}":
            return [lines[0][:-2], lines[1]]
        return lines

    def extent(self, kind: str, room: bool = False) -> str:
        """Return the length of a vector; with ``room``, at least one."""
        if kind == "Partials":
            states = self.extent("States", True)
            return f"{states} * ({states} + 1)"
        if kind in ("States", "StateNumbers"):
            return (f"{self.upper}_STATES" + ("_ROOM" if self.changing else "")) if room else "N"
        if kind == "PlaceFlags":
            return f"{self.upper}_COORDINATES"
        if kind in _EXTENTS:
            return _extent(kind, self.upper) + (" + 1" if room else "")
        if self.changing and kind not in ("Memory", "Outputs", "Pivots", "Kinds"):
            return f"{self.upper}_EVENTS_ROOM"
        if kind in ("Memory", "Outputs"):
            return f"{self.upper}_{kind.upper()}" + ("_ROOM" if room else "")
        if kind in ("Pivots", "Kinds"):
            return f"{self.upper}_{kind.upper()}"
        return f"{self.upper}_EVENTS"

    def record(self) -> list[str]:
        """Return the members of the structure."""

        def member(f: Field) -> str:
            if f.type in _TYPES:
                return f"    {_TYPES[f.type]} {f.name};"
            return f"    {_ELEMENTS.get(f.type, 'double')} {f.name}[{self.extent(f.type, True)}];"

        rows = [(member(f), f"/* {f.about} */" if f.about else "") for f in self.fields()]
        return aligned(rows)

    def fields(self) -> Sequence[Field]:
        """Return the fields of the record of a run."""
        return self.solver.fields

    def constants(self) -> list[str]:
        """Return the definitions of constants."""
        lines = []
        for name, value in self.solver.constants.items():
            kind = "int" if isinstance(value, int) else "double"
            lines.append(f"static const {kind} {name.lower()} = {value!r};")
        return lines

    def field(self, name: str) -> str:
        return f"run->{name}"

    def truth(self, value: bool) -> str:
        return str(int(value))

    def declare(self, name: str, kind: str, value: str) -> str:
        return f"{_TYPES[kind]} {name} = {value};"

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        test, yes, no = (self.expression(part, 3) for part in (value.test, value.body, value.orelse))
        return self.lines(self.set(name, declared, f"{test} ? {yes} : {no}"))

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        count = self.extent(kind)
        if isinstance(value, ast.Attribute):
            one = "_whole" if kind in _ELEMENTS else ""
            return [f"copy{one}({count}, {self.expression(value)}, {target});"]
        self.element = "i"
        lines = self.lines(f"{target}[i] = {self.expression(value)};")
        self.element = ""
        return [f"for (int i = 0; i < {count}; i++)", *self.indent_lines(lines)]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if name == "pivot_shares":
            given = f"{', '.join(arguments)}, run->parameters, run->memory, {targets[0]}"
            return self.lines(f"{self.stem}_{name}({given});")
        if name == "derivatives":
            return self.lines(f"rates(run, {', '.join(arguments)}, {targets[0]});")
        if name in ("enter", "impulse", "adjust"):
            c, *others = arguments
            own = f"{', '.join(others)}, run->all_constants[{c}], run->memory, {targets[0]}"
            return self.lines(f"configurations[{c}].{name}({own});")
        function = f"present(run)->{name}" if self.changing else f"{self.stem}_{name}"
        if name == "normalise":
            return [f"{function}({', '.join(arguments)}, run->constants, run->memory);"]
        if name == "fire":
            given = f"{', '.join(arguments)}, run->constants, run->memory"
            return [
                f"{function}({given}, run->new_memory, run->stage);",
                f"copy({self.upper}_MEMORY, run->new_memory, run->memory);",
                "copy(N, run->stage, run->state);",
            ]
        t, state, *memory = arguments
        given = f"{t}, {state}, run->constants, {memory[0] if memory else 'run->memory'}"
        return self.lines(f"{function}({given}, {targets[0]});")

    def report(self, k: str) -> list[str]:
        return [f"run->fired[{k}] = 1;"]

    def function(self, function: SolverFunction) -> list[str]:
        run = f"{'' if function.changes_run else 'const '}{self.record_type} *run"
        arguments = [run] if function.takes_run else []
        for name, kind in function.arguments.items():
            arguments.append(f"const double *{name}" if kind == "States" else f"{_TYPES[kind]} {name}")
        kind = _TYPES[function.result] if function.result else "void"
        head = f"static {kind} {function.name}({', '.join(arguments)})"
        lines = self.body(function)
        unused = [name for name in function.arguments if not re.search(rf"\b{name}\b", "\n".join(lines))]
        if unused:
            lines = [*self.indent_lines([" ".join(f"(void){name};" for name in unused)]), *lines]
        return [f"/* {function.about} */", head, "{", *lines, "}"]
