"""The derivatives of a thread that shares a run with others (teams.py), as assignments in C.

The operations and their order are those of llvm/pack_writer.py, for which this file writes C in place of
LLVM's words. The value of a pack is that of the thread's own lane.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.export.c.printer import GROUP
from armillary.export.c.text import WIDTH, comment
from armillary.export.cuda.sections import SectionWriter
from armillary.export.text.body import Place
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.printing.printer import ATOM, CHOICE, SUM
from armillary.export.text.printing.printer import Operand as Printed
from armillary.llvm.instructions import Operand, Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Terms
from armillary.llvm.pack_writer import PackWriter, Vector
from armillary.llvm.sections import Cut
from armillary.program.branch_packs import Column, Pack, meant
from armillary.untyped import Given

_WORD = re.compile(r"[A-Za-z_]\w*")


class TeamWriter(PackWriter):
    """Assignments of one thread; each value is the name of one, a number, or either with a minus sign."""

    def __init__(self, own: SectionWriter, found: Cut, columns: Sequence[Column]) -> None:
        held: dict[Expr, Place] = {}
        self.column_of: dict[Expr, tuple[Column, int]] = {}
        for i, column in enumerate(columns):
            if len(column) == 1:
                held[column[0]] = ("state", i)
            self.column_of |= {s: (column, i) for s in column if len(column) > 1}
        others = {s: p for s, p in own.places.items() if p[0] != "state"}
        given: Places = {s: p if p[0] else "t" for s, p in {**others, **held}.items()}
        super().__init__(
            Module(), given, found.crossing, found.arrival, None, found.fused, set(), found.packs,
            found.together, {},
        )  # fmt: skip
        self.printer, self.number = own.printer, self._number
        self._names = own.namer.copy().numbered("z")
        # Inputs under their names in other functions.
        names = own.identifiers
        self._inputs = {f"{p[0]}[{p[1]}]": names[s] for s, p in given.items() if isinstance(p, tuple)}
        self._made: dict[int, str] = {}  # the value that a line makes
        self._known: dict[str, str] = {}  # what is loaded, and numbers of lanes
        self._both: dict[str, tuple[str, str]] = {}
        self._groups = count(1)
        self._stores: list[tuple[str, int]] = []

    def text(self, targets: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Lines of the function, without values that nothing takes."""
        stores = [f"    {targets[i]} = {value}; /* {comment(labels[i])} */" for value, i in self._stores]
        wanted = set(_WORD.findall("\n".join(stores)))
        kept: list[str] = []
        for i in range(len(self.lines) - 1, -1, -1):
            if self._made.get(i) is None or self._made[i] in wanted:
                wanted.update(_WORD.findall(self.lines[i]))
                kept.append(self.lines[i])
        lines = [part for line in reversed(kept) for part in wrapped(line, WIDTH, "    ", "        ")]
        return [*lines, *stores]

    def plain_vector(self, column: Column) -> str:
        """Values of lanes, with their own signs; of one node, its value."""
        nodes = tuple(map(meant, column))
        return self.value(nodes[0]) if len(nodes) == 1 else self._vector(nodes, plain=True)[0]

    # ---------------------------------------------------------------- operations

    def emit(self, operation: str) -> str:
        name = self._made[len(self.lines)] = self._inputs.get(operation) or next(self._names)
        self.lines.append(f"const double {name} = {operation};")
        return name

    def _number(self, value: float) -> str:
        return self.printer.number(value).text

    def arithmetic(self, operation: str, a: Operand, b: Operand, flags: str = "") -> str:
        sign = {"fadd": "+", "fsub": "-", "fmul": "*"}[operation]
        return self.emit(f"{self.operand(a)} {sign} {self.operand(b)}")

    def div(self, a: Operand, b: Operand) -> str:
        inverse = self.emit(f"reciprocal({self.operand(b)})")
        return inverse if a == self.number(1.0) else self.mul(a, inverse)

    def neg(self, a: str) -> str:
        return a[1:] if a.startswith("-") else f"-{a}"

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return self.emit(f"{c} - {a[1:]} * {b}" if a.startswith("-") else f"{a} * {b} + {c}")

    def runs(self, terms: Terms, value: str | None) -> tuple[Terms, str | None]:
        return terms, value

    def call(self, intrinsic: str, *arguments: Given) -> str:
        return self._called_with(lambda given: self.printer.function(intrinsic, given), arguments)

    def library_call(self, name: str, *args: str) -> str:
        return self._called_with(lambda given: self.printer.function(name, given), args)

    def function_value(self, node: Expr, args: list[str]) -> str:
        return self._called_with(lambda given: self.printer.call(node, given), args)

    def _called_with(self, called: Callable[[list[Printed]], Printed], args: Sequence[str]) -> str:
        given = [Printed(a, SUM if a.startswith("-") else ATOM) for a in args]
        return self.emit(self.printer.at(called(given), CHOICE))

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

    def sine_pack(self, pack: Pack, angles: str) -> str:
        if angles not in self._both:
            k = next(self._groups)
            self.lines.append(f"double sines_{k}, cosines_{k};")
            self.lines.append(f"sine_cosine({angles}, &sines_{k}, &cosines_{k});")
            self._both[angles] = f"sines_{k}", f"cosines_{k}"
        return self._both[angles][("sin", "cos").index(pack.lanes[0].data)]

    # ---------------------------------------------------------------- what a thread holds

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        self._stores.append((value, index))

    def found(self, node: Expr) -> str:
        if node not in self.column_of:
            return super().found(node)
        column, i = self.column_of[node]
        return self.lane(self.load("state", i), column.index(node), len(column))

    def _gathered(self, column: Column) -> Vector:
        first = column[0]
        if first in self.column_of:
            states, i = self.column_of[first]
            plain, held = (1,) * len(column), self.load("state", i)
            if states == column:
                return held, plain
            if {*column} <= {*states}:
                return self.chosen_lanes(held, [states.index(s) for s in column], len(states)), plain
        return super()._gathered(column)

    def load(self, array: str, index: int, kind: str = "") -> str:
        return self._once(f"{array}[{index}]")

    def load_vector(self, array: str, index: int, count: int) -> str:
        return self.together([self.load(array, index + i) for i in range(count)])

    def _once(self, text: str) -> str:
        """A value that is written once in a function."""
        if text not in self._known:
            self._known[text] = self.emit(text)
        return self._known[text]

    # ---------------------------------------------------------------- lanes of other threads

    def lane(self, vector: str, lane: int, count: int) -> str:
        return self._once(f"from_lane({vector}, {lane}, {count})")

    def chosen_lanes(self, vector: str, places: Sequence[int], count: int) -> str:
        chosen = by_lane([str(i) for i in places])
        return self._once(f"from_lane({vector}, {chosen}, {count})")

    def together(self, values: list[str]) -> str:
        return values[0] if len({*values}) == 1 else self._once(by_lane(values))

    def splat(self, value: str, count: int) -> str:
        return value

    def lane_numbers(self, values: tuple[float, ...]) -> str:
        return self.together([self._number(v) for v in values])

    def _lanes_added(self, packs: list[Pack], coefficients: dict[Expr, float]) -> str:
        width = max([len(p.lanes) for p in packs])
        value = ""
        while width > 1:
            here = [p for p in packs if len(p.lanes) == width]
            terms = [(self._vector(p.lanes), tuple([coefficients[n] for n in p.lanes])) for p in here]
            if value:
                terms.append(((value, (1,) * width), (1.0,) * width))
            total, _ = self._added(terms, None, vote=False)
            width //= 2
            value = self.emit(f"across({total}, {width})")
        return value

    @contextmanager
    def vectors_of(self, count: int) -> Iterator[None]:
        yield  # a thread's value of a vector is a single number


def by_lane(values: Sequence[str]) -> str:
    """One of some values, by a thread's lane."""
    if len({*values}) == 1:
        return values[0]
    if len(values) == 2:
        return f"lane & 1 ? {values[1]} : {values[0]}"
    low, high = by_lane(values[:2]), by_lane(values[2:])
    return f"lane & 2 ? ({high}) : ({low})"
