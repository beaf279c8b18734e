"""Sections whose operations are wide, in C: vectors of GCC and Clang, and single numbers beside them.

The operations and their order are those of llvm/pack_writer.py, for which this file writes C in place of
LLVM's words: an assignment per operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.errors import ArmillaryError
from armillary.export.c.printer import GROUP, CPrinter
from armillary.export.c.text import WIDTH, Signature, comment, function_text, passed
from armillary.export.text.names import Namer
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.printer import ATOM, CHOICE, SUM, Operand
from armillary.export.text.source import Sections
from armillary.llvm.instructions import Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Terms
from armillary.llvm.pack_writer import PackWriter, Signs
from armillary.llvm.sections import Cut, cut, plain_angles
from armillary.program.form.program import Program, ProgramSection
from armillary.program.lanes.pack import Pack
from armillary.program.lanes.packing import in_lanes, packed
from armillary.untyped import Given

WIDTHS = (1, 2, 4)
RESERVED = tuple(f"lanes_{n}{use}" for n in WIDTHS[1:] for use in ("", "_in_array"))
PIECE = 1600  # operations in one function, as llvm/sections.py counts them; a hexapod takes 3 % more with 800
_WORD = re.compile(r"[A-Za-z_]\w*")


def checked_lanes(lanes: object) -> int:
    """Doubles in a vector."""
    for width in WIDTHS:
        if lanes == width and not isinstance(lanes, bool):
            return width
    raise ArmillaryError(f"lanes={lanes!r}: give 2 or 4, the doubles of a vector, or 1 for no vectors")


def remark(section: ProgramSection, lanes: int) -> list[str]:
    """The lines about vectors in the head of a file."""
    if lanes == 1:
        return []
    if not section.packs:
        return [f"lanes={lanes}: no branches are alike, or vectors would not pay; all operations are single"]
    widest = max(len(pack.lanes) for pack in section.packs)
    return [f"operations of branches that are alike are on vectors of {widest} doubles, for GCC and Clang"]


def in_vectors(program: Program, lanes: int) -> ProgramSection:
    """The derivatives with packs of at most so many lanes; without, where none pays."""
    if lanes == 1:
        return program.derivatives
    places = {s: ("state", i) for i, s in enumerate(program.state)}
    places |= {s: ("constants", i) for i, s in enumerate(program.constants)}
    return packed(program.derivatives, in_lanes(program.alike, lanes), places)


def vector_types(code: str) -> str:
    """The types that a text takes."""
    lines = []
    for n in WIDTHS[1:]:
        if f"lanes_{n}" in code:
            kind, size = f"typedef double lanes_{n}", f"vector_size({8 * n})"
            lines.append(f"{kind} __attribute__(({size}));")
            lines.append(f"{kind}_in_array __attribute__(({size}, aligned(8), may_alias));")
    if not lines:
        return ""
    return "\n".join(
        [
            "#if !defined(__GNUC__)",
            '#error "vectors of GCC and Clang; for other compilers export with lanes=1"',
            "#endif",
            "/* Operations of branches that are alike, side by side. */",
            *lines,
            "",
        ]
    )


def vector_function(
    signature: Signature,
    about: str,
    section: ProgramSection,
    sections: Sections,
    printer: CPrinter,
) -> str:
    """A section with packs as a function, or as several with a work array between them."""
    found = cut(section, PIECE, loading=False)
    given: Places = {s: place if place[0] else "t" for s, place in sections.places.items()}
    signs: dict[Pack, Signs] = {}
    opposite: set[Expr] = set()
    names = sections.identifiers
    bodies = []
    for k, piece in enumerate(found.pieces):
        writer = LanesWriter(printer, names.of, names.namer, given, found, opposite, signs)
        if k == 0:
            writer.trigonometry(plain_angles(section))
        for node in piece:
            writer.node(node)
        outs = [("out", i) for i in range(len(section.results))]
        writer.results(section, outs, found.results[k])
        bodies.append(writer.text(signature.targets, section.labels))
    given_names = passed(signature)
    if len(bodies) == 1:
        return function_text(signature, about, bodies[0], given_names)
    arguments, texts, calls = f"{signature.arguments}, double *restrict work", [], []
    for k, lines in enumerate(bodies):
        inner = Signature(f"{signature.name}_{k + 1}", arguments, ())
        texts.append(function_text(inner, "", lines, [*given_names, "work"], "APART static "))
        calls.append(f"    {inner.name}({', '.join([*given_names, 'work'])});")
    room = f"    double work[{max(1, len(found.crossing))}];"
    return "\n".join([*texts, function_text(signature, about, [room, *calls], given_names)])


class LanesWriter(PackWriter):
    """Assignments of one function; each value is the name of one, a number, or either with a minus sign."""

    def __init__(
        self,
        printer: CPrinter,
        identifiers: Mapping[Expr, str],
        namer: Namer,
        places: Places,
        found: Cut,
        opposite: set[Expr],
        signs: dict[Pack, Signs],
    ) -> None:
        super().__init__(
            Module(), places, found.crossing, found.arrival, None, found.fused, opposite, found.packs,
            found.together, signs,
        )  # fmt: skip
        self.printer, self.number = printer, self._number
        self._width = 1
        self._names = namer.copy().numbered("z")
        # Inputs under their names in other functions.
        self._inputs = {f"{p[0]}[{p[1]}]": identifiers[s] for s, p in places.items() if isinstance(p, tuple)}
        self._made: dict[int, str] = {}  # the value that a line makes
        self._known: dict[Any, str] = {}  # what is loaded, and numbers of lanes
        self._groups = count(1)
        self._stores: list[tuple[str, int]] = []

    def text(self, targets: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Lines of the function, without values that nothing takes."""
        stores = []
        for value, i in self._stores:
            stores.append(f"    {targets[i]} = {value}; /* {comment(labels[i])} */")
        wanted = set(_WORD.findall("\n".join(stores)))
        kept: list[str] = []
        for i in range(len(self.lines) - 1, -1, -1):
            if self._made.get(i) is None or self._made[i] in wanted:
                wanted.update(_WORD.findall(self.lines[i]))
                kept.append(self.lines[i])
        lines = [part for line in reversed(kept) for part in wrapped(line, WIDTH, "    ", "        ")]
        return [*lines, *stores]

    def kind(self, count: int) -> str:
        """The type of a value of so many lanes."""
        return "double" if count == 1 else f"lanes_{count}"

    # ---------------------------------------------------------------- single operations

    def emit(self, operation: str) -> str:
        name = self._made[len(self.lines)] = self._inputs.get(operation) or next(self._names)
        self.lines.append(f"const {self.kind(self._width)} {name} = {operation};")
        return name

    def _number(self, value: float) -> str:
        return self.printer.number(value).text

    def arithmetic(self, operation: str, a: str | float, b: str | float, flags: str = "") -> str:
        sign = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}[operation]
        return self.emit(f"{self.operand(a)} {sign} {self.operand(b)}")

    def neg(self, a: str) -> str:
        return a[1:] if a.startswith("-") else f"-{a}"

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return self.emit(f"{c} - {a[1:]} * {b}" if a.startswith("-") else f"{a} * {b} + {c}")

    def runs(self, terms: Terms, value: str | None) -> tuple[Terms, str | None]:
        return terms, value

    def call(self, intrinsic: str, *arguments: Given) -> str:
        return self._on_lanes(lambda given: self.printer.function(intrinsic, given), arguments)

    def library_call(self, name: str, *args: str) -> str:
        return self._on_lanes(lambda given: self.printer.function(name, given), args)

    def function_value(self, node: Expr, args: list[str]) -> str:
        return self._on_lanes(lambda given: self.printer.call(node, given), args)

    def _on_lanes(self, called: Callable[[list[Operand]], Operand], args: Sequence[str]) -> str:
        """A function of numbers, on each lane where values are vectors."""
        lanes = [""] if self._width == 1 else [f"[{i}]" for i in range(self._width)]
        texts = []
        for lane in lanes:
            given = [Operand(f"{a}{lane}", SUM if a.startswith("-") else ATOM) for a in args]
            texts.append(self.printer.at(called(given), CHOICE))
        return self.emit(texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}")

    def sines(self, angles: list[Expr], values: list[str]) -> None:
        k, n = next(self._groups), len(angles)
        if n == 1:
            self.lines.append(f"double sines_{k}[1], cosines_{k}[1];")
            self.lines.append(f"sine_cosine({values[0]}, sines_{k}, cosines_{k});")
        else:
            given = ", ".join([*values, *["0.0"] * (GROUP - n)])
            self.lines.append(f"double sines_{k}[{GROUP}], cosines_{k}[{GROUP}];")
            self.lines.append(f"sines_cosines({given}, sines_{k}, cosines_{k});")
        for i, angle in enumerate(angles):
            self.values[sin(angle)] = self.emit(f"sines_{k}[{i}]")
            self.values[cos(angle)] = self.emit(f"cosines_{k}[{i}]")

    def load(self, array: str, index: int, kind: str = "") -> str:
        return self.load_vector(array, index, 1)

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        if array == "out":
            self._stores.append((value, index))
        else:
            self.lines.append(f"{array}[{index}] = {value};")

    # ---------------------------------------------------------------- vectors

    def load_vector(self, array: str, index: int, count: int) -> str:
        place = f"{array}[{index}]"
        return self._once(count, place if count == 1 else f"*(const {self.kind(count)}_in_array *)&{place}")

    def store_vector(self, value: str, array: str, index: int, count: int) -> None:
        self.lines.append(f"*({self.kind(count)}_in_array *)&{array}[{index}] = {value};")

    def lane(self, vector: str, lane: int, count: int) -> str:
        return self._once(1, f"{vector}[{lane}]")

    def chosen_lanes(self, vector: str, places: Sequence[int], count: int) -> str:
        return self.together([f"{vector}[{i}]" for i in places])

    def together(self, values: list[str]) -> str:
        return self._once(len(values), f"{{{', '.join(values)}}}")

    def splat(self, value: str, count: int) -> str:
        return self.together([value] * count)

    def lane_numbers(self, values: tuple[float, ...]) -> str:
        return self.together([self._number(v) for v in values])

    def sine_pack(self, pack: Pack, angles: str) -> str:
        with self.vectors_of(len(pack.lanes)):
            return self.function_value(pack.lanes[0], [angles])

    def _once(self, count: int, text: str) -> str:
        """A value that is written once in a function."""
        if text not in self._known:
            with self.vectors_of(count):
                self._known[text] = self.emit(text)
        return self._known[text]

    @contextmanager
    def vectors_of(self, count: int) -> Iterator[None]:
        before, self._width = self._width, count
        try:
            yield
        finally:
            self._width = before
