"""Sections with scheduling and register allocation, and shorter chains of dependent operations.

Chains are shortened by regrouping products and sums:

    m·(a·x + c) = (m·a)·x + m·c,     (a·x)·b + c = (a·b)·x + c,     (a·x)·b = (a·b)·x,

if x arrives last and the operation is on the longest chain of a section. No operation is added: either m·a
and a·b are computed already, or the operations that they replace have no other user. Elimination has such
chains: x is a reciprocal or a solved unknown, m·a a coefficient of the elimination. The Stanford arm's
longest chain becomes 7 % shorter, and its evaluation on a Xeon takes 5 % less time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from weakref import proxy

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.llvm.arrangement.arm64 import Arm64
from armillary.llvm.arrangement.arrangement import (
    PAIR,
    Line,
    Load,
    Store,
    latency,
    parse_line,
    schedule_and_allocate,
    write_operation,
)
from armillary.llvm.arrangement.machine_code import (
    NEAR,
    Encoded,
    Entry,
    MachineCode,
    encode_lines,
    machine_code,
)
from armillary.llvm.arrangement.order_and_registers import ModelMachine
from armillary.llvm.arrangement.x86_64 import X86
from armillary.llvm.called_functions import is_number_zero
from armillary.llvm.instructions import Instructions, Operand, ValueTypes, number_of_bits, real
from armillary.llvm.node_writer import NumberPlaces, Products, Writer
from armillary.llvm.pack_writer import PackWriter
from armillary.llvm.sines import PI_OVER_2, far_angle_function, sine_cosine
from armillary.llvm.vector_math import near_function
from armillary.program.packs import PACKED_CALLS, largest_size
from armillary.untyped import Given

# Chains are shortened in code of at most LONGEST lines, and at most WIDEST lines per cycle of the longest
# chain.
LONGEST, WIDEST = 800, 2.5
_ROUNDS = 8
_CYCLES = latency("fmul double $, $")

Signed = tuple[str, bool]  # a value, and whether it is negated


class ProductForms(NamedTuple):
    """A product and a fused product and sum as lines, of values of one type."""

    product: str
    fused: str

    @classmethod
    def of(cls, types: ValueTypes) -> ProductForms:
        v = types.real
        return cls(f"fmul {v} $, $", f"call {v} @llvm.fmuladd.{types.suffix}({v} $, {v} $, {v} $)")


class _Grouping(NamedTuple):
    """A line late·(known₀·known₁) + scale·rest that replaces the line of the same name."""

    name: str
    without: str  # the operand that the line no longer uses
    late: Signed
    known: tuple[Signed, Signed]
    scale: Signed | None  # factor of ``rest``
    rest: Signed | None
    operations: int  # number of operations added


def shorten_chains(
    lines: Sequence[Line],
    opposites: Mapping[str, str],
    stored: Sequence[str],
    forms: ProductForms,
    negative: Callable[[str], str],
    named: Callable[[], str],
) -> list[Line]:
    """Return lines with shorter chains, without unused lines; return code longer than LONGEST unchanged.

    ``stored`` are the stored values, ``forms`` the forms of the lines that are regrouped. ``negative``
    returns the name of a negated value; ``named`` returns a new name.
    """
    if len(lines) > LONGEST:
        return list(lines)
    found = used_lines(lines, opposites, stored)
    for _ in range(_ROUNDS):
        section = _Section(found, opposites, stored, forms)
        groupings = section.groupings()
        if not groupings:
            break
        found = used_lines(section.regroup_lines(groupings, negative, named), opposites, stored)
    return found


def used_lines(lines: Sequence[Line], opposites: Mapping[str, str], stored: Sequence[str]) -> list[Line]:
    """Return the lines that stored values need."""
    wanted, found, negated = {opposites.get(name, name) for name in stored}, [], opposites.keys()
    for line in reversed(lines):
        name, _, names = line
        if name in wanted:
            wanted.update(names)
            if not negated.isdisjoint(names):
                wanted.update([opposites[name] for name in names if name in opposites])
            found.append(line)
    return found[::-1]


class _Section:
    """Lines, with the cycles at which their values are available."""

    def __init__(
        self, lines: list[Line], opposites: Mapping[str, str], stored: Sequence[str], forms: ProductForms
    ) -> None:
        self.lines, self.opposites, self.forms = lines, opposites, forms
        self.at = {line[0]: i for i, line in enumerate(lines)}
        self.given = [[self.signed_value(name) for name in names] for _, _, names in lines]
        self.users = Counter([name for own in self.given for name, _ in own])
        self.users.update([self.signed_value(name)[0] for name in stored])
        self.products: dict[frozenset[str], int] = {}
        for i, (_, form, _) in enumerate(lines):
            if form == forms.product:
                self.products.setdefault(frozenset([name for name, _ in self.given[i]]), i)
        self.cycles = [latency(form) for _, form, _ in lines]
        operands = [[*{self.at[name]: None for name, _ in own if name in self.at}] for own in self.given]
        flat, counts = [a for own in operands for a in own], list(map(len, operands))
        self.machine = ModelMachine(flat, counts, self.cycles, [True] * len(lines))
        self.spare, self.ahead = self.machine.spare, self.machine.ahead

    def signed_value(self, name: str) -> Signed:
        source = self.opposites.get(name)
        return (name, False) if source is None else (source, True)

    def arrival(self, *values: Signed) -> int:
        """Return the cycle at which the last of some values is available."""
        places = [self.at[name] for name, _ in values if name in self.at]
        return max([self.ahead[i] + self.cycles[i] for i in places], default=0)

    def product(self, a: Signed, b: Signed, before: int) -> int:
        """Return the index, below ``before``, of a line with the product ±a·b; −1 if there is none."""
        i = self.products.get(frozenset((a[0], b[0])), -1)
        return i if i < before else -1

    def groupings(self) -> list[_Grouping]:
        """Return groupings of lines on the longest chain; no grouping removes a line that others use."""
        if len(self.lines) > WIDEST * self.machine.longest_chain:
            return []
        found: list[_Grouping] = []
        touched: set[str] = set()
        for i, (_, form, _) in enumerate(self.lines):
            if self.spare[i] or form not in self.forms:
                continue
            best = min(self._line_groupings(i), key=lambda grouping: grouping.operations, default=None)
            if best is not None and best.operations <= 0 and touched.isdisjoint((best.without, best.late[0])):
                touched |= {best.name, best.without}
                found.append(best)
        return found

    def _line_groupings(self, i: int) -> list[_Grouping]:
        name, form, _ = self.lines[i]
        found = []
        for k in (0, 1):
            inner, minus = self.given[i][k]
            j = self.at.get(inner, -1)
            if j < 0 or self.lines[j][1] not in self.forms:
                continue
            other, single = self.given[i][1 - k], self.users[inner] == 1
            for x, a in (self.given[j][:2], self.given[j][1::-1]):
                late = (x[0], x[1] ^ minus)
                before = self.arrival(x) - _CYCLES
                if self.lines[j][1] == self.forms.product:
                    rest = self.given[i][2] if form == self.forms.fused else None
                    new = (self.product(a, other, i) < 0) - single
                    if self.arrival(a, other) <= before and (
                        rest is None or self.arrival(rest) <= before + 5
                    ):
                        found.append(_Grouping(name, inner, late, (a, other), None, rest, new))
                elif self.lines[j][1] == self.forms.fused and form == self.forms.product and single:
                    c = self.given[j][2]
                    new = (self.product(a, other, i) < 0) + (self.product(c, other, i) < 0) - 1
                    if self.arrival(a, other, c) < before:
                        found.append(
                            _Grouping(name, inner, late, (a, other), other, (c[0], c[1] ^ minus), new)
                        )
        return found

    def regroup_lines(
        self, groupings: list[_Grouping], negative: Callable[[str], str], named: Callable[[], str]
    ) -> list[Line]:
        instead = {grouping.name: grouping for grouping in groupings}
        found: list[Line] = []

        def write_value(value: Signed) -> str:
            return negative(value[0]) if value[1] else value[0]

        def product(a: Signed, b: Signed, before: int) -> Signed:
            i = self.product(a, b, before)
            minus = a[1] ^ b[1]
            if i >= 0:
                (_, first), (_, second) = self.given[i]
                return self.lines[i][0], minus ^ first ^ second
            name = named()
            found.append((name, self.forms.product, [a[0], b[0]]))
            return name, minus

        for i, line in enumerate(self.lines):
            grouping = instead.get(line[0])
            if grouping is None:
                found.append(line)
                continue
            rest = grouping.rest
            if grouping.scale is not None and rest is not None:
                rest = product(grouping.scale, rest, i)
            operands = [grouping.late, product(*grouping.known, i), *([] if rest is None else [rest])]
            form = self.forms.product if rest is None else self.forms.fused
            found.append((line[0], form, [write_value(value) for value in operands]))
        return found


# The nodes of a section as lines. At the end all lines are ordered, and loads and stores are added.
#
# Sines of states are operations like all others, two angles at a time; before all lines, angles beyond LIMIT
# are replaced (``sines.py``).

FEWEST = 32  # fewest registers of machines for which LLVM text is scheduled here: see ``jit.registers``
# Most angles of x86-64 code for which neighbours in the state are loaded separately. One load of two angles
# that were stored separately waits until both are in the cache, after all earlier stores, so the sines of a
# stage would begin only after the stage before. With separate loads, evaluations in a sequence take 0.87 of
# the time for the Stanford arm, 0.98 for a chain of eight links, and 1.00 for a chain of sixteen, whose
# independent evaluations take 1.01.
FEW_ANGLES = 8
INSTRUCTION_SETS: dict[str, type[MachineCode]] = {"arm64": Arm64, "x86_64": X86}


class ArrangedWriter(Writer):
    """Lines of one function, for a machine with ``module.registers``."""

    def __init__(self, *given: Given) -> None:
        self.operations: list[Line] = []
        self.loads: dict[str, Load] = {}
        self.opposites: dict[str, str] = {}
        self._at: dict[Load, str] = {}
        self.stores: list[Store] = []
        self.angles: list[int] = []  # indices in the state of angles with a sine or cosine
        super().__init__(*given)
        self.forms = ProductForms.of(self.types)
        self.pairs: NumberPlaces = given[4]  # indices of numbers in their array
        if self.lanes > 1:  # weak references, as in Writer
            self.number = partial(ArrangedWriter.pair, proxy(self))
            self.whole = partial(ArrangedWriter.pair_of_bits, proxy(self))
        self.arguments: Sequence[str] = ()  # arrays that the function takes
        self.encodes = True  # whether to write machine code, if the module has an instruction set

    def load(self, array: str, index: int, kind: str = "") -> str:
        place = self._place(array, index, kind)
        name = self._at.get(place)
        if name is None:
            name = self._at[place] = self._name_lines()
            self.loads[name] = place
        return name

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        self.stores.append((value, self._place(array, index, kind)))

    def _place(self, array: str, index: int, kind: str) -> Load:
        """Return the place of an array's element, with all its lanes; if ``kind`` is given, of a double."""
        return (array, index, kind) if kind else (array, index * self.lanes, self.module.real)

    def _name_lines(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, operation: str) -> str:
        name = self._name_lines()
        self.operations.append(parse_line(name, operation))
        return name

    def arithmetic(self, operation: str, a: Operand, b: Operand, flags: str = "contract ") -> str:
        return self._direct(f"{operation} {flags}{self.real} $, $", (self.operand(a), self.operand(b)))

    def multiply_add(self, a: str, b: str, c: str) -> str:
        if self.real != self.module.real:
            return super().multiply_add(a, b, c)
        return self._direct(self.forms.fused, (a, b, c))

    def _direct(self, form: str, operands: tuple[str, ...]) -> str:
        """Add a line of a form, without parsing its text if all operands are values."""
        for a in operands:
            if a[:2] != "%v":
                return self.emit(write_operation(form, operands))
        name = self._name_lines()
        self.operations.append((name, form, operands))
        return name

    def argument(self, node: Expr) -> str:
        """Return an argument of a function: a zero is loaded, like other numbers."""
        return self.zero() if self.module.encodes and is_number_zero(node) else self.value(node)

    def function_value(self, node: Expr, args: list[str]) -> str:
        """Emit an elementary function; for two runs at once emit its operations instead of a call."""
        if self.lanes > 1 and node.data in PACKED_CALLS:
            found = near_function(node.data, largest_size(node.args[0]))
            if found is not None:
                return found(self, args[0])
        return super().function_value(node, args)

    def zero(self) -> str:
        """Return zero from the array of numbers: machine code has no immediate operands."""
        if self.lanes > 1:
            return self.pair(0.0)
        return self.load("numbers", self.pairs.setdefault(0.0, len(self.pairs)))

    def neg(self, a: str) -> str:
        if a in self.opposites:
            return self.opposites[a]
        name = self._name_lines()
        self.opposites[name] = a
        return name

    def body(self, name: str) -> str:
        stored = [value for value, _ in self.stores]
        self.operations = shorten_chains(
            self.operations, self.opposites, stored, self.forms, self.neg, self._name_lines
        )
        if self.module.encodes and self.encodes:
            numbers = [] if "numbers" in self.arguments else number_values(self.pairs)
            entry = Entry(self.arguments, self.angles, numbers)
            machine, registers = INSTRUCTION_SETS[self.module.encodes], self.module.registers
            code = encode_lines(
                self.operations, self.loads, self.opposites, self.stores, entry, machine, registers
            )
            if code is not None:
                self.encoded = True
                return self._call_of_code(name, code)
        registers = self.module.registers if self.module.registers >= FEWEST else 0
        room, lines = schedule_and_allocate(
            self.operations, self.loads, self.opposites, self.stores, registers
        )
        if not self.angles:
            return "\n".join([*room, *lines])
        check, arrays, replace, usual = self._checked_angles(name)
        return "\n".join(
            [
                *room,
                *arrays,
                "  br label %check\ncheck:",
                *check,
                replace,
                "  br label %usual\nusual:",
                "  %angles = phi ptr [ %state, %check ], [ %replaced, %rare ]",
                f"  %thirds = phi ptr [ {usual}, %check ], [ %corrected, %rare ]",
                *lines,
            ]
        )

    def _call_of_code(self, name: str, code: Encoded) -> str:
        """Add machine code to the module as bytes; return a call of it."""
        self.module.functions.append(machine_code(name, code))
        taken = [a for a in code.arrays if a in self.arguments]
        passed = ", ".join([f"ptr %{array}" for array in taken])
        self.module.functions.append(f'declare void @"\\01{name}_code"({", ".join(["ptr"] * len(taken))})')
        if self.angles:
            _, arrays, replace, _ = self._checked_angles(name)
            listed = ", ".join(["ptr"] * (len(taken) + 2))
            self.module.functions.append(f'declare void @"\\01{name}_code_at"({listed})')
            call = f'  call void @"\\01{name}_code_at"({passed}, ptr %replaced, ptr %corrected)'
            self.module.define(
                f'hidden void @"\\01{name}_far"({passed}) noinline cold', "\n".join([*arrays, replace, call])
            )
        return f'  tail call void @"\\01{name}_code"({passed})'

    # ---------------------------------------------------------------- sines and cosines

    def trigonometry(self, angles: list[Expr]) -> None:
        """Emit sines and cosines of states in pairs: two neighbours, or one angle of two runs.

        Other angles take a call.
        """
        states = sorted([a for a in angles if self._in_state(a)], key=lambda a: self.places[a][1])
        super().trigonometry([a for a in angles if not self._in_state(a)])
        if self.lanes > 1:
            for angle in states:
                place = self.lanes * self.places[angle][1]
                found = self.sines_of_two(self.load("angles", place, PAIR), [place, place + 1])
                self.values |= zip((sin(angle), cos(angle)), found, strict=True)
            return
        apart = self.module.encodes == "x86_64" and len(states) <= FEW_ANGLES
        for pair in self.pairs_of(states):
            self._sine_pair(pair, apart)

    def pairs_of(self, states: list[Expr]) -> list[list[Expr]]:
        """Return the states, which are sorted, in pairs."""
        return _pair_angles(states, [self.places[a][1] for a in states])

    def _in_state(self, angle: Expr) -> bool:
        place = self.places.get(angle)
        return isinstance(place, tuple) and place[0] == "state"

    def _sine_pair(self, pair: list[Expr], apart: bool) -> None:
        """Emit sines and cosines of one or two states; ``apart``: load neighbours separately."""
        places = [self.places[a][1] for a in pair]
        if len(pair) == 2 and places[1] == places[0] + 1 and not apart:
            x = self.load("angles", places[0], PAIR)
        else:
            x = "poison"
            for i, place in enumerate(places):
                x = self.emit(f"insertelement {PAIR} {x}, double {self.load('angles', place)}, i64 {i}")
        both = self.sines_of_two(x, [*places, places[0]][:2])
        for function, found in zip((sin, cos), both, strict=True):
            for i, angle in enumerate(pair):
                self.values[function(angle)] = self.emit(f"extractelement {PAIR} {found}, i64 {i}")

    def sines_of_two(self, x: str, places: list[int]) -> tuple[str, str]:
        """Emit sines and cosines of two angles, whose indices in the state are given."""
        third = self.load("thirds", len(self.angles), PAIR)
        self.angles += places
        return sine_cosine(Pairs(self), x, third)

    def with_run(self, products: Products, array: str, first: int, factors: list[float]) -> Products:
        """Emit two pairs in place of a vector of four, with the same operations as LLVM's."""
        if not self.module.encodes:
            return super().with_run(products, array, first, factors)
        v = Pairs(self)
        made = []
        for i in (0, 2):
            x, both = self.load(array, first + i, PAIR), (factors[i], factors[i + 1])
            scale = None if both == (1, 1) else self.pair_of(both)
            if products is None:
                made.append(x if scale is None else v.mul(x, scale))
            else:
                before = products[i // 2]
                made.append(v.add(before, x) if scale is None else v.fma(x, scale, before))
        return made

    def run_total(self, products: Products, value: str | None) -> str:
        if not self.module.encodes:
            return super().run_total(products, value)
        both = Pairs(self).add(*products)
        total = self.add(*[self.emit(f"extractelement {PAIR} {both}, i64 {i}") for i in range(2)])
        return total if value is None else self.add(value, total)

    def pair(self, value: float) -> str:
        """Return a number for both lanes."""
        return self.pair_of((value, value))

    def pair_of_bits(self, value: int) -> str:
        """Return a whole number for both lanes."""
        return self.as_bits(self.pair(number_of_bits(value)))

    def pair_of(self, both: tuple[float, float]) -> str:
        """Return two numbers as a vector, from the array of numbers."""
        place = self.pairs.get((both, 0), len(self.pairs))
        for i in range(2):
            self.pairs.setdefault((both, i), place + i)
        return self.load("numbers", place, PAIR)

    def _checked_angles(self, name: str) -> tuple[list[str], list[str], str, str]:
        """Return the four parts of the code that replaces angles beyond LIMIT.

        The first part branches to ``usual`` if all angles are below the limit, else to the block ``rare``.
        The second has the arrays %replaced, as long as the state, and %corrected; the third is a call that
        fills these arrays with smaller angles and their thirds (third parts of π/2). The fourth is the name
        of the array of usual thirds.
        """
        count = len(self.angles)
        places, thirds = f"{name}_angles", f"thirds_{count}"
        self.module.need("far_angle", far_angle_function)
        values = ", ".join([f"double {real(PI_OVER_2[2])}"] * count)
        self.module.need(
            thirds, lambda: f"@{thirds} = internal constant [{count} x double] [{values}], align 16"
        )
        listed = ", ".join([f"i32 {place}" for place in self.angles])
        self.module.functions.append(f"@{places} = internal constant [{count} x i32] [{listed}]")
        check = []
        before = "true"
        for i, place in enumerate(dict.fromkeys(self.angles)):
            check += [
                f"  %p{i} = getelementptr inbounds double, ptr %state, i64 {place}",
                f"  %b{i} = load i64, ptr %p{i}, align 8",
                f"  %s{i} = shl i64 %b{i}, 1",
                f"  %n{i} = icmp ult i64 %s{i}, {NEAR}",
                f"  %near{i} = and i1 %n{i}, {before}",
            ]
            before = f"%near{i}"
        check.append(f"  br i1 {before}, label %usual, label %rare, !prof !0\nrare:")
        given = f"ptr %state, i64 {count}, ptr @{places}, ptr %replaced, ptr %corrected"
        arrays = [
            f"  %replaced = alloca [{max(self.angles) + 1} x double], align 16",
            f"  %corrected = alloca [{count} x double], align 16",
        ]
        return check, arrays, f"  call void @far_angles({given})", f"@{thirds}"


class ArrangedPackWriter(ArrangedWriter, PackWriter):
    """Lines of a function with packs."""

    def pairs_of(self, states: list[Expr]) -> list[list[Expr]]:
        """Return pairs of angles; angles whose sines are one pack stay together."""
        paired: list[list[Expr]] = []
        left = dict.fromkeys(states)
        for pack in self.home.values():
            pair = [operands for operands in pack.operands[0]] if pack.kind == "call" else []
            if len(pair) == 2 and pair[0] is not pair[1] and all([a in left for a in pair]):
                paired.append(pair)
                for angle in pair:
                    del left[angle]
        return [*paired, *super().pairs_of(list(left))]


class Pairs(Instructions):
    """A writer of operations on two numbers at a time, among the lines of another writer."""

    def __init__(self, writer: ArrangedWriter) -> None:
        super().__init__(2)
        self.writer = writer
        self.number = writer.pair

    def emit(self, operation: str) -> str:
        return self.writer.emit(operation)

    def call(self, intrinsic: str, *arguments: Operand) -> str:
        name, taken = f"llvm.{intrinsic}.v2f64", ", ".join([PAIR] * len(arguments))
        self.writer.module.need(name, lambda: f"declare {PAIR} @{name}({taken}) nounwind")
        return super().call(intrinsic, *arguments)


def number_values(numbers: NumberPlaces) -> list[float]:
    """Return the values of an array of numbers; a lane's number is entered as its vector and the lane."""
    return [(n[0][n[1]] if n[0] else 0.0) if isinstance(n, tuple) else n for n in numbers]


def _pair_angles(angles: list[Expr], places: list[int]) -> list[list[Expr]]:
    """Return angles in pairs: first neighbours in the state, then the others; the last may be alone."""
    pairs: list[list[Expr]] = []
    alone: list[Expr] = []
    i = 0
    while i < len(angles):
        if i + 1 < len(angles) and places[i + 1] == places[i] + 1:
            pairs.append(angles[i : i + 2])
            i += 2
        else:
            alone.append(angles[i])
            i += 1
    return pairs + [alone[i : i + 2] for i in range(0, len(alone), 2)]
