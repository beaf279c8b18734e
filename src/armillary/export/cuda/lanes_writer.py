"""Sections whose operations are wide as assignments in C: values of several lanes, and single numbers.

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
from armillary.export.c.printer import GROUP, CPrinter
from armillary.export.c.text import WIDTH, comment
from armillary.export.text.names import Namer
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.printer import ATOM, CHOICE, SUM, Operand
from armillary.llvm.instructions import Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Terms
from armillary.llvm.pack_writer import PackWriter, Signs
from armillary.llvm.sections import Cut
from armillary.program.lanes.pack import Pack
from armillary.untyped import Given

_WORD = re.compile(r"[A-Za-z_]\w*")


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
