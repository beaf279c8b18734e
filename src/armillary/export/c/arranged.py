"""Sections for GCC and Clang: one assignment per operation, ordered as Armillary orders its own machine code.

Compilers order the plain text of a section (``printer.py``) for few live values, keep constants in registers,
and spill results to make room for them. Here llvm/arrangement chooses the operations, their order, the values
in registers, and where sines are computed; this file writes C instead of LLVM text. On a Neoverse N1 GCC's
code from this text takes 0.6 to 0.9 of the time of its code from the plain text.

If an angle is beyond the limit of the sines written here, the plain text is called, which calls the library.

The file begins with the functions of vectors that such code calls. The functions for arctangents, and for
sines and cosines of moderate angles, are translated line by line from the LLVM code that llvm/vector_math.py
and llvm/sines.py write; each fused operation becomes a product and a sum. Choices and comparisons act on the
bits of whole vectors.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from armillary.algebra.block_functions import is_block
from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.export.c.printer import WIDTH, CPrinter, Signature, argument_names, comment, function_text
from armillary.export.text.body import Place
from armillary.export.text.files import fill, template
from armillary.export.text.printer import CHOICE, Operand, wrap_statement
from armillary.export.text.source import Sections
from armillary.llvm.arrangement.arranged_writer import (
    ArrangedPackWriter,
    Pairs,
    number_values,
    shorten_chains,
)
from armillary.llvm.arrangement.arrangement import (
    LABELS,
    PAIR,
    SPARE,
    Load,
    Operation,
    Registers,
    in_order,
    write_operation,
)
from armillary.llvm.arrangement.machine_code import FORMS, FOUR, NEAR
from armillary.llvm.instructions import Instructions, Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import NumberPlaces
from armillary.llvm.pack_writer import Signs
from armillary.llvm.pieces import Cut, cut, plain_angles
from armillary.llvm.section_writer import is_arithmetic
from armillary.llvm.sines import (
    HALF_TURNS,
    ROUND,
    TWO_OVER_PI,
    reduced_by_short_parts,
    short_remainder,
    sine_and_cosine,
    sine_of_remainder,
)
from armillary.llvm.vector_math import atan
from armillary.program.branch_packs import Pack
from armillary.program.packs import largest_size
from armillary.program.program import ProgramSection

WIDTHS = (2, 4)


def sine(v: Instructions, x: str) -> str:
    """Emit sin x as ``near_sine`` of llvm/sines.py does: subtract a multiple of π, in short parts."""
    shifted = _whole(v, v.fma(x, TWO_OVER_PI / 2, ROUND))
    return _turned_sine(v, x, shifted, v.sub(shifted, ROUND))


def cosine(v: Instructions, x: str) -> str:
    """Emit cos x as ``near_cosine`` of llvm/sines.py does: subtract an odd multiple of π/2 in short parts."""
    shifted = _whole(v, v.add(v.fma(x, TWO_OVER_PI / 2, 0.5), ROUND))
    return _turned_sine(v, x, shifted, v.sub(v.sub(shifted, ROUND), 0.5))


def _whole(v: Instructions, shifted: str) -> str:
    """Emit ``shifted``, a sum with ROUND, so that no compiler cancels ROUND when it is subtracted later.

    An integer operation without effect hides the sum from compilers that reorder sums.
    """
    return v.as_reals(v.integer("or", v.as_bits(shifted), 0x433 << 52))


def _turned_sine(v: Instructions, x: str, shifted: str, turns: str) -> str:
    """Emit (−1)ⁿ sin r with r = x − π·turns; the last bit of ``shifted`` tells whether n is odd."""
    r, e = short_remainder(v, x, turns, 2.0)
    return sine_of_remainder(v, v.sub(r, e), shifted)


_EMITTED: dict[str, Callable[[Instructions, str], str]] = {"atan": atan, "sine": sine, "cosine": cosine}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
ELEMENTARY = {"atan": "atan", "sin": "sine", "cos": "cosine"}  # by the names of functions in equations
ON_BITS = frozenset((*_COMPARED, "select", "and", "or", "not"))


def name_of(function: str, lanes: int) -> str:
    """Return the name in C of a function of vectors."""
    return f"{function}_of_{lanes}"


VECTOR_FUNCTIONS = tuple(
    name_of(f, lanes)
    for f in (*_EMITTED, *ON_BITS, "greater", "lesser", "size", "chosen", "truth")
    for lanes in WIDTHS
)


def vector_functions(code: str) -> str:
    """Return the functions of vectors that a text calls, directly or through other such functions."""
    found = []
    for lanes in WIDTHS:
        texts = {name_of(f, lanes): text for f, text in _texts(lanes).items()}
        called: dict[str, None] = {}
        for name in reversed(texts):  # functions stand after those that they call
            if any(f"{name}(" in text for text in (code, *(texts[n] for n in called))):
                called[name] = None
        found += [texts[name] for name in texts if name in called]
    return "\n".join(found)


def _texts(lanes: int) -> dict[str, str]:
    """Return the texts of all functions of vectors with this number of lanes, by name."""
    v, b = f"lanes_{lanes}", f"bits_{lanes}"

    def small(function: str, arguments: str, value: str, kind: str = v) -> str:
        taken = ", ".join(f"{v} {a}" for a in arguments.split())
        return f"SMALL {kind} {name_of(function, lanes)}({taken}) {{ return {value}; }}\n"

    chosen, truth = name_of("chosen", lanes), name_of("truth", lanes)
    texts = {
        "chosen": f"SMALL {v} {chosen}({b} mask, {v} a, {v} b)\n"
        f"{{\n    return ({v})((mask & ({b})a) | (~mask & ({b})b));\n}}\n",
        "truth": f"SMALL {v} {truth}({b} mask) {{ return {chosen}(mask, ({v}){{0}} + 1.0, ({v}){{0}}); }}\n",
        "size": small("size", "a", f"({v})(({b})a & 0x7fffffffffffffffLL)"),
        "greater": small("greater", "a b", f"{chosen}((a > b) | (a != a), a, b)"),
        "lesser": small("lesser", "a b", f"{chosen}((a < b) | (a != a), a, b)"),
        "select": small("select", "c a b", f"{chosen}(c != 0.0, a, b)"),
        "not": small("not", "a", f"{truth}(a == 0.0)"),
        "and": small("and", "a b", f"{truth}((a != 0.0) & (b != 0.0))"),
        "or": small("or", "a b", f"{truth}((a != 0.0) | (b != 0.0))"),
    }
    texts |= {f: small(f, "a b", f"{truth}(a {sign} b)") for f, sign in _COMPARED.items()}
    return texts | {f: _translate_function(f, lanes) for f in _EMITTED}


# Forms of LLVM instructions, with the C expression for each: T is the type of vectors, $ an operand, and @
# the number of lanes.
_TRANSLATIONS = [
    (re.compile(form.replace("T", r"<\d x \w+>").replace("$", r"(%\w+|splat \(\w+ \w+\))") + "$"), text)
    for form, text in (
        ("fadd (?:contract )?T $, $", "{0} + {1}"),
        ("fsub (?:contract )?T $, $", "{0} - {1}"),
        ("fmul (?:contract )?T $, $", "{0} * {1}"),
        ("fdiv (?:contract )?T $, $", "{0} / {1}"),
        (r"call T @llvm\.fmuladd\.v\df64\(T $, T $, T $\)", "{0} * {1} + {2}"),
        (r"call T @llvm\.fabs\.v\df64\(T $\)", "size_of_@({0})"),
        ("fcmp ole T $, $", "{0} <= {1}"),
        ("fcmp ogt T $, $", "{0} > {1}"),
        ("select T $, T $, T $", "chosen_of_@({0}, {1}, {2})"),
        ("bitcast <. x double> $ to T", "(bits_@){0}"),
        ("bitcast <. x i64> $ to T", "(lanes_@){0}"),
        ("xor T $, $", "{0} ^ {1}"),
        ("or T $, $", "{0} | {1}"),
        ("shl T $, $", "{0} << {1}"),
    )
]


def _translate_function(function: str, lanes: int) -> str:
    """Return a function of vectors in C, from its code in LLVM's language."""
    v = Instructions(lanes)
    result = _EMITTED[function](v, "%x")
    lines = [f"static inline lanes_{lanes} {name_of(function, lanes)}(lanes_{lanes} x)", "{"]
    for line in v.lines:
        name, _, operation = line.strip().partition(" = ")
        text, given = _translate_operation(operation)
        masks = operation.startswith(("fcmp", "xor", "or", "shl")) or operation.endswith("i64>")
        value = text.format(*(_operand(word, lanes) for word in given)).replace("@", str(lanes))
        lines.append(f"    const {'bits' if masks else 'lanes'}_{lanes} {name[1:]} = {value};")
    return "\n".join([*lines, f"    return {result[1:]};", "}", ""])


def _translate_operation(operation: str) -> tuple[str, Sequence[str]]:
    for form, text in _TRANSLATIONS:
        if found := form.fullmatch(operation):
            return text, found.groups()
    raise TypeError(f"no translation to C of the operation '{operation}'")


def _operand(word: str, lanes: int) -> str:
    """Return an operand in C: a name, a number in all lanes, or a whole number."""
    if word[0] == "%":
        return word[1:]
    kind, number = word.removeprefix("splat (").rstrip(")").split()
    if kind == "i64":
        return f"{number}LL" if int(number) > 63 else number
    value = repr(struct.unpack(">d", bytes.fromhex(number[2:]))[0])
    return f"(lanes_{lanes}){{{', '.join([value] * lanes)}}}"


REGISTERS = 32
# Fewest nodes: a section with fewer, such as a pendulum's, is faster as plain text, a section of two links
# slower.
FEWEST = 20
PIECE = 1600  # most operations in one function; with 800 a hexapod takes 3 % more time
WHOLE = 20000  # most operations in one function if all are arithmetic
RESERVED = (
    *("ARRANGED", "RARE", "ALIGNED", "IN_TURN", "ORDER", "ROUNDED", "bits_2", "is_near", "numbers", "slots"),
    *(f"lanes_{n}{use}" for n in (2, 4) for use in ("", "_in_array")),
    *("bits_4", "SMALL", *VECTOR_FUNCTIONS),
)

_TYPES = {"double": "double", PAIR: "lanes_2", FOUR: "lanes_4", "<2 x i64>": "bits_2", "": "bits_2"}
_GIVEN = re.compile(r"%\w+|splat \(double 0x[0-9A-F]{16}\)|0x[0-9A-F]{16}")  # operands in LLVM text
_CALL = re.compile(r"call (?:double|<\d x double>) (?!@)")  # an operation whose text is C
_SIGNS = {"multiply": "*", "divide": "/"}
_FUNCTIONS = {"maximum": "greater", "minimum": "lesser", "root": "sqrt", "size": "fabs"}
_OF_VECTORS = {"maximum": "greater", "minimum": "lesser", "size": "size"}
# Other operations, by their LLVM text. C shifts signed bits: only the last bit of the result is used.
_OTHERS = {
    f"bitcast {PAIR} $ to <2 x i64>": "(bits_2){0}",
    f"bitcast <2 x i64> $ to {PAIR}": "(lanes_2){0}",
    "xor <2 x i64> $, $": "{0} ^ {1}",
    "shl <2 x i64> $, splat (i64 63)": "{0} << 63",
    "lshr <2 x i64> $, splat (i64 1)": "{0} >> 1",
    "icmp slt <2 x i64> $, splat (i64 0)": "{0} < 0",
    f"select <2 x i1> $, {PAIR} $, {PAIR} $": "(lanes_2)(((bits_2){1} & {0}) | ((bits_2){2} & ~{0}))",
    f"insertelement {PAIR} poison, double $, i64 0": "{{{0}, 0.0}}",
    f"insertelement {PAIR} $, double $, i64 1": "{{{0}[0], {1}}}",
    f"extractelement {PAIR} $, i64 0": "{0}[0]",
    f"extractelement {PAIR} $, i64 1": "{0}[1]",
}


def arranges(section: ProgramSection, places: Mapping[Expr, Place]) -> bool:
    """Return whether a section is written by ``arranged_function``.

    It must call no block functions, and have packs or, with at least FEWEST nodes, only arithmetic.
    """
    if any(is_block(node) for node in section.nodes):
        return False
    return bool(section.packs) or (len(section.nodes) >= FEWEST and is_arithmetic(section, dict(places)))


def arrangement_types(code: str) -> str:
    """Return the types and macros that a text needs."""
    if "ARRANGED" not in code:
        return ""
    functions = vector_functions(code)
    has = {name for name in ("lanes_4", "is_near") if name in code} | ({"functions"} if functions else set())
    return fill(template(__package__, "arranged.c.txt"), {"near": hex(NEAR), "functions": functions}, has)


def arranged_function(
    signature: Signature,
    about: str,
    section: ProgramSection,
    sections: Sections,
    printer: CPrinter,
    plain: str,
) -> str:
    """Return a section as one function, or as several with a work array; ``plain``: its plain text."""
    places: Places = {s: place if place[0] else "%t" for s, place in sections.places.items()}
    whole = WHOLE if is_arithmetic(section, dict(sections.places)) else 0
    found = cut(section, PIECE, whole, loading=False)
    numbers: NumberPlaces = {}
    signs: dict[Pack, Signs] = {}
    opposite: set[Expr] = set()
    bodies: list[list[str]] = []
    angles: list[int] = []
    for k, piece in enumerate(found.pieces):
        writer = _Writer(printer, places, found, numbers, opposite, signs)
        if k == 0:
            writer.trigonometry(plain_angles(section))
        for node in piece:
            writer.node(node)
        outs = [("out", i) for i in range(len(section.results))]
        writer.results(section, outs, found.results[k])
        angles += dict.fromkeys(writer.angles)
        bodies.append(writer.text(section.labels))
    arguments = signature.arguments.replace("const double", "const IN_TURN double")
    names, work = argument_names(signature), bool(found.crossing)
    arguments += ", IN_TURN double *restrict work" if work else ""
    handed = [*names, *(["work"] if work else [])]
    texts, calls = [], []
    if numbers:
        values = ", ".join(repr(v) for v in number_values(numbers))
        table = (
            f"ALIGNED static const IN_TURN double {signature.name}_numbers[{len(numbers)}] = {{{values}}};"
        )
        texts.append("\n".join(wrap_statement(table, WIDTH, "", "    ")) + "\n")
    for k, lines in enumerate(bodies):
        inner = Signature(f"{signature.name}_{k + 1}", arguments, ())
        lines = [line.replace("numbers[", f"{signature.name}_numbers[") for line in lines]
        unused = [n for n in handed if not re.search(rf"\b{n}\b", "\n".join(lines))]
        lines = ["    IN_ORDER"] * (k == 0 and bool(angles)) + [f"    (void){n};" for n in unused] + lines
        prefix = "APART static " if len(bodies) > 1 else "static inline "
        texts.append(function_text(inner, "", lines, [], prefix))
        calls.append(f"    {inner.name}({', '.join(handed)});")
    room = [f"    ALIGNED double work[{len(found.crossing)}];"] if work else []
    far = []
    if angles:
        near = " && ".join(f"is_near(state[{i}])" for i in angles)
        far = wrap_statement(f"if (!({near})) {{", WIDTH, "    ", "        ")
        far += [f"        {signature.name}_plain({', '.join(names)});", "        return;", "    }"]
    whole_text = function_text(signature, about, [*room, *far, *calls], names)
    fallback = function_text(signature, about, [f"    {signature.name}_plain({', '.join(names)});"], names)
    if not angles:
        plain = f"#if !defined(ARRANGED)\n{plain}#endif\n"
    return "\n".join([plain, "#if defined(ARRANGED)", *texts, f"{whole_text}#else", f"{fallback}#endif\n"])


class _Writer(ArrangedPackWriter):
    """A writer of one function, which calls C functions such as sines and loads numbers from a table."""

    def __init__(
        self,
        printer: CPrinter,
        places: Places,
        found: Cut,
        numbers: NumberPlaces,
        opposite: set[Expr],
        signs: dict[Pack, Signs],
    ) -> None:
        super().__init__(
            Module(registers=REGISTERS, encodes="c"), places, found.crossing, found.arrival, numbers,
            found.fused, opposite, found.packs, found.together, signs,
        )  # fmt: skip
        self.printer = printer

    def text(self, labels: Sequence[str]) -> list[str]:
        """Return the lines of the function."""
        stored = [value for value, _ in self.stores]
        lines = shorten_chains(
            self.operations, self.opposites, stored, self.forms, self.neg, self._name_lines
        )
        order, results = in_order(lines, self.opposites, self.stores)
        code = _Lines(self.loads, self.opposites, results, REGISTERS - SPARE)
        return code.text(order, labels)

    def sines_of_two(self, x: str, places: list[int]) -> tuple[str, str]:
        self.angles += places
        v = Pairs(self)
        shifted = self._in_c(2, "ROUNDED($ * $ + $)", [x, self.pair(TWO_OVER_PI), self.pair(ROUND)])
        return sine_and_cosine(v, shifted, *reduced_by_short_parts(v, x, shifted))

    def sines(self, angles: list[Expr], values: list[str]) -> None:
        """Add sines and cosines of values that are not states."""
        for angle, value in zip(angles, values, strict=True):
            for node in (sin(angle), cos(angle)):
                self.values[node] = self.function_value(node, [value])

    def sine_pack(self, pack: Pack, angles: str) -> str:
        with self.vectors_of(len(pack.lanes)):
            if max(largest_size(node.args[0]) for node in pack.lanes) <= HALF_TURNS:
                return self._of_vectors(ELEMENTARY[pack.lanes[0].data], [angles])
            return self._on_lanes(lambda given: self.printer.call(pack.lanes[0], given), [angles])

    def function_value(self, node: Expr, args: list[str]) -> str:
        if node.data in ("min", "max", "abs"):
            return super().function_value(node, args)
        if not self.types.single and node.data in ON_BITS:
            return self._of_vectors(node.data, args)
        return self._on_lanes(lambda given: self.printer.call(node, given), args)

    def _elementary(self, name: str, x: str, lanes: int, size: float) -> str:
        with self.vectors_of(lanes):
            if name == "atan":
                return self._of_vectors(name, [x])
            return self.library_call(name, x)

    def _of_vectors(self, function: str, args: list[str]) -> str:
        """Add a call of a function of vectors."""
        lanes = self.types.lanes
        return self._in_c(lanes, f"{name_of(function, lanes)}({', '.join('$' for _ in args)})", args)

    def library_call(self, name: str, *args: str) -> str:
        return self._on_lanes(lambda given: self.printer.function(name, given), args)

    def _on_lanes(self, called: Callable[[list[Operand]], Operand], args: Sequence[str]) -> str:
        """Add a call of a function of numbers, for each lane if values are vectors."""
        lanes = 1 if self.types.single else self.types.lanes
        places = [""] if lanes == 1 else [f"[{i}]" for i in range(lanes)]
        texts = [self.printer.at(called([Operand(f"${i}")] * len(args)), CHOICE) for i in places]
        return self._in_c(lanes, texts[0] if lanes == 1 else f"{{{', '.join(texts)}}}", [*args] * lanes)

    def _in_c(self, lanes: int, form: str, names: Sequence[str]) -> str:
        """Add an operation whose text is C; return the name of its value."""
        kind = "double" if lanes == 1 else f"<{lanes} x double>"
        return self._direct(f"call {kind} {form}", tuple(names))

    def lane(self, vector: str, lane: int, count: int) -> str:
        return self._in_c(1, f"$[{lane}]", [vector])

    def chosen_lanes(self, vector: str, places: Sequence[int], count: int) -> str:
        form = f"{{{', '.join(f'$[{i}]' for i in places)}}}"
        return self._in_c(len(places), form, [vector] * len(places))

    def together(self, values: list[str]) -> str:
        return self._in_c(len(values), f"{{{', '.join(['$'] * len(values))}}}", values)

    def splat(self, value: str, count: int) -> str:
        return self.together([value] * count)


class _Lines(Registers):
    """A writer of lines of C: loads, operations and stores in their order."""

    def text(self, order: Sequence[Operation], labels: Sequence[str]) -> list[str]:
        self.lines: list[str] = []
        self.made: dict[str, str] = {}  # all values computed so far, with their names
        self.labels, self.done = labels, 0
        self.names = (f"z{i}" for i in count(1))
        self.pass_over(order)
        room = [f"    ALIGNED IN_TURN double slots[{self.slots}];"] if self.slots else []
        return [*room, *self.lines]

    def finish(self) -> None:
        self.done += 1
        if not self.done % LABELS:
            self.lines.append(f"    ORDER({self.done // LABELS})")

    def operate(self, operation: Operation) -> str:
        given = [self.operand(word) for word in _GIVEN.findall(operation.text)]
        if not operation.name:
            self.store(given[0], operation.place)
            return ""
        value = _in_c(_GIVEN.sub("$", operation.text), given)
        found = self.made[operation.name] = self.assign(operation.kind, value)
        return found

    def operand(self, word: str) -> str:
        if word in self.opposites:
            return f"-{self.operand(self.opposites[word])}"
        if word[0] == "%":
            found: str = self.held.get(word) or self.made.get(word) or word[1:]
            return found
        return repr(struct.unpack(">d", bytes.fromhex(word.rstrip(")")[-16:]))[0])

    def assign(self, kind: str, value: str) -> str:
        name = next(self.names)
        self.lines += wrap_statement(f"const {_TYPES[kind]} {name} = {value};", WIDTH, "    ", "        ")
        return name

    def load(self, place: Load) -> str:
        kind = place[2]
        return self.assign(kind, f"({_TYPES[kind]})" * ("i64" in kind) + _element(place, "const "))

    def store(self, register: str, place: Load) -> None:
        array, index, kind = place
        label = f" /* {comment(self.labels[index])} */" if array == "out" else ""
        self.lines.append(f"    {_element(place)} = {'(lanes_2)' * ('i64' in kind)}{register};{label}")


def _element(place: Load, qualifier: str = "") -> str:
    """Return an element of an array, or a vector that begins at it."""
    array, index, kind = place
    element = f"{'state' if array == 'angles' else array}[{index}]"
    if kind == "double":
        return element
    return f"*({qualifier}IN_TURN lanes_{kind[1]}_in_array *)&{element}"


def _in_c(form: str, given: Sequence[str]) -> str:
    """Return the C expression of an operation in LLVM text or in C, with given operands."""
    if called := _CALL.match(form):
        return write_operation(form[called.end() :], given)
    if form in _OTHERS:
        return _OTHERS[form].format(*given)
    operation = FORMS[form]
    if operation.name in _FUNCTIONS:
        name, lanes = _FUNCTIONS[operation.name], 1 << operation.wide
        if lanes > 1 and operation.name in _OF_VECTORS:
            return f"{name_of(_OF_VECTORS[operation.name], lanes)}({', '.join(given)})"
        places = [""] if lanes == 1 else [f"[{i}]" for i in range(lanes)]
        calls = [f"{name}({', '.join(a + i for a in given)})" for i in places]
        return calls[0] if lanes == 1 else f"{{{', '.join(calls)}}}"
    if operation.name in _SIGNS:
        return f"{given[0]} {_SIGNS[operation.name]} {given[1]}"
    if operation.name == "fuse":
        a, b, c = given
        product, minus = (f"{a.lstrip('-')} * {b.lstrip('-')}"), (a[0] == "-") != (b[0] == "-")
        return _sum_text(c, product, minus) if minus else _sum_text(product, c)
    return _sum_text(given[0], given[1], operation.name == "subtract")


def _sum_text(a: str, b: str, minus: bool = False) -> str:
    minus ^= b[0] == "-"
    return f"{a} {'-' if minus else '+'} {b.lstrip('-')}"
