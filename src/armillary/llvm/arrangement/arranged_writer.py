"""The nodes of a section as lines that are put in order, and whose loads and stores are placed, at last.

Sines of states are operations like all others, two angles at a time; before all lines, angles beyond their
limit are replaced (``far_angles.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from weakref import proxy

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.llvm.arrangement.arm64 import Arm64
from armillary.llvm.arrangement.arrangement import PAIR, Line, Load, Store, arranged, parsed, written
from armillary.llvm.arrangement.chains import ProductForms, shortened
from armillary.llvm.arrangement.encoding import MachineCode, encoded
from armillary.llvm.arrangement.entry import NEAR, Encoded, Entry, machine_code
from armillary.llvm.arrangement.x86_64 import X86
from armillary.llvm.instructions import Instructions, Operand, real
from armillary.llvm.mathematics.far_angles import far_angle_function
from armillary.llvm.mathematics.trigonometry import sine_cosine
from armillary.llvm.node_writer import NumberPlaces, Products, Writer
from armillary.llvm.pack_writer import PackWriter
from armillary.llvm.vector_math.quarter_turns import PI_OVER_2
from armillary.untyped import Given

FEWEST = 32  # registers from which on the order of LLVM's code is decided here: see ``jit.registers``
# Angles of x86-64 code up to which neighbours in the state are loaded one by one. A load of two that were
# stored apart waits until both are in the cache, with all stored before them, so the sines of a stage began
# when the stage before was over. Evaluations in a sequence take 0.87 of the time for the arm, 0.98 for a
# chain of eight; a chain of sixteen gains nothing, and its independent ones take 1 % longer.
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
        self.angles: list[int] = []  # places in the state of those that have a sine or cosine
        super().__init__(*given)
        self.forms = ProductForms.of(self.types)
        self.pairs: NumberPlaces = given[4]  # places of numbers
        if self.lanes > 1:  # without a cycle, as in Writer
            self.number = partial(ArrangedWriter.pair, proxy(self))
        self.arguments: Sequence[str] = ()  # arrays that the function takes

    def load(self, array: str, index: int, kind: str = "") -> str:
        place = self._place(array, index, kind)
        name = self._at.get(place)
        if name is None:
            name = self._at[place] = self._named()
            self.loads[name] = place
        return name

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        self.stores.append((value, self._place(array, index, kind)))

    def _place(self, array: str, index: int, kind: str) -> Load:
        """All lanes of an element of an array; a value of another ``kind`` by its place among doubles."""
        return (array, index, kind) if kind else (array, index * self.lanes, self.module.real)

    def _named(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, operation: str) -> str:
        name = self._named()
        self.operations.append(parsed(name, operation))
        return name

    def arithmetic(self, operation: str, a: Operand, b: Operand, flags: str = "contract ") -> str:
        return self._direct(f"{operation} {flags}{self.real} $, $", (self.operand(a), self.operand(b)))

    def multiply_add(self, a: str, b: str, c: str) -> str:
        if self.real != self.module.real:
            return super().multiply_add(a, b, c)
        return self._direct(self.forms.fused, (a, b, c))

    def _direct(self, form: str, operands: tuple[str, ...]) -> str:
        """A line whose operands are names, most often."""
        for a in operands:
            if a[:2] != "%v":
                return self.emit(written(form, operands))
        name = self._named()
        self.operations.append((name, form, operands))
        return name

    def zero(self) -> str:
        """A number of the array: machine code has no operands that are numbers."""
        if self.lanes > 1:
            return self.pair(0.0)
        return self.load("numbers", self.pairs.setdefault(0.0, len(self.pairs)))

    def neg(self, a: str) -> str:
        if a in self.opposites:
            return self.opposites[a]
        name = self._named()
        self.opposites[name] = a
        return name

    def body(self, name: str) -> str:
        stored = [value for value, _ in self.stores]
        self.operations = shortened(
            self.operations, self.opposites, stored, self.forms, self.neg, self._named
        )
        if self.module.encodes:
            numbers = [] if "numbers" in self.arguments else number_values(self.pairs)
            entry = Entry(self.arguments, self.angles, numbers)
            machine, registers = INSTRUCTION_SETS[self.module.encodes], self.module.registers
            code = encoded(
                self.operations, self.loads, self.opposites, self.stores, entry, machine, registers
            )
            if code is not None:
                return self._call_of_code(name, code)
        registers = self.module.registers if self.module.registers >= FEWEST else 0
        room, lines = arranged(self.operations, self.loads, self.opposites, self.stores, registers)
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
        """A call of machine code that the module holds as bytes."""
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
        """Sines and cosines of states by two, neighbours together, or an angle of two runs; those of other
        angles by a call.
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
        """States, in order, by two."""
        return _by_two(states, [self.places[a][1] for a in states])

    def _in_state(self, angle: Expr) -> bool:
        place = self.places.get(angle)
        return isinstance(place, tuple) and place[0] == "state"

    def _sine_pair(self, pair: list[Expr], apart: bool) -> None:
        """``apart``: neighbours are loaded one by one."""
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
        """Sines and cosines of two angles, of which these places of the state are."""
        third = self.load("thirds", len(self.angles), PAIR)
        self.angles += places
        return sine_cosine(Pairs(self), x, third)

    def with_run(self, products: Products, array: str, first: int, factors: list[float]) -> Products:
        """Two pairs in place of a vector of four, in the operations that LLVM makes of that."""
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
        """A number for both lanes."""
        return self.pair_of((value, value))

    def pair_of(self, both: tuple[float, float]) -> str:
        """Two numbers, from the array of numbers."""
        place = self.pairs.get((both, 0), len(self.pairs))
        for i in range(2):
            self.pairs.setdefault((both, i), place + i)
        return self.load("numbers", place, PAIR)

    def _checked_angles(self, name: str) -> tuple[list[str], list[str], str, str]:
        """A branch to ``usual`` where all angles are below the limit, and the block ``rare``; room for
        %replaced, an array like the state, and %corrected; what fills them with other angles and the thirds
        for them; and the usual thirds.
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
        """Angles whose sines are packs together."""
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
    """Operations on two numbers at a time, among the lines of a writer."""

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
    """Numbers of an array; those of lanes are entered with all of their vector and their place in it."""
    return [n[0][n[1]] if isinstance(n, tuple) else n for n in numbers]


def _by_two(angles: list[Expr], places: list[int]) -> list[list[Expr]]:
    """Neighbours in the state together, then the others in order; the last one may be alone."""
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
