"""Machine code of arranged sections for x86-64 with fused operations (AVX2, FMA3), and for 32 registers where
AVX-512VL is there. Functions follow the System V convention: they take addresses of arrays alone.

Three properties of this instruction set are used. One operand of most instructions may be in memory: an
input, a number or a stored value that is wanted next far away is not brought into a register. A fused
operation replaces one of its operands: a register whose value is wanted no more. It has all four signs, so
that an opposite costs nothing there; a product with one is computed without, and its users take the opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import ClassVar

from armillary.llvm.arrangement import x86_instructions as x86
from armillary.llvm.arrangement.arrangement import PAIR, Load, Operation
from armillary.llvm.arrangement.encoding import MachineCode, Selection, Signed
from armillary.llvm.arrangement.entry import Encoded, Entry
from armillary.llvm.arrangement.forms import FOUR, FOURTH, KINDS, NEGATIONS, THIRD, WIDTHS, Form
from armillary.llvm.arrangement.model_machine import NO_EXCESS
from armillary.llvm.arrangement.register_choice import ANYWHERE, FAR_IN_MEMORY, IN_REGISTER
from armillary.llvm.arrangement.x86_entry import ACCUMULATOR, SIGNS, SIZES, AddressRegisters


class X86(MachineCode):
    """Instructions of operations in a given order."""

    MOST_ARRAYS, RESERVED = 8, 1

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str],
        registers: int,
    ) -> None:
        super().__init__(loads, results, arrays, registers)
        self.limits = _LIMITS[registers]
        self.parts: list[bytes] = []  # instructions
        self.masks: dict[int, int] = {}  # instructions with a mask beside the code, to its place there
        self.low: list[int] = [*range(min(registers, 16))][::-1]
        self.high: list[int] = [*range(16, registers)][::-1]

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        used = {place[0] for places in self.results.values() for place in places}
        used |= {place[0] for place in self.loads.values()} | {o.place[0] for o in order if not o.name}
        long = any([o.kind == FOUR for o in order]) or any([k == FOUR for _, _, k in self.loads.values()])
        frame = AddressRegisters.of(entry, self.given, used, long, len(order))
        if frame is None:
            return None
        self.frame = frame
        self.pass_over(order)
        return frame.framed(self.parts, self.masks, self.slots)

    # ---------------------------------------------------------------- registers and memory

    def new(self) -> int:
        """A register for a value: one of the first sixteen, where instructions are shorter."""
        self.made = self.low.pop() if self.low else self.high.pop()
        return self.made

    def release(self, register: int) -> None:
        if register != self.made:
            (self.low if register < 16 else self.high).append(register)

    def load(self, place: Load) -> int:
        register = self.low.pop() if self.low else self.high.pop()
        self.memory(x86.LOAD[WIDTHS[place[2]]], register, 0, place)
        return register

    def store(self, register: int, place: Load) -> None:
        self.memory(x86.STORE[WIDTHS[place[2]]], register, 0, place)

    def memory(self, what: x86.Instruction, first: int, second: int, place: Load, number: int = -1) -> None:
        base, offset = self.frame.place(place)
        self.parts.append(x86.with_memory(what, first, second, base, offset, self.registers, number))

    def write(self, what: x86.Instruction, first: int, second: int, third: str, number: int = -1) -> None:
        """An instruction whose third operand is a value, in a register or not."""
        register = self.held.get(third)
        if register is None:
            self.memory(what, first, second, self.loads.get(third) or self.stored[third], number)
        else:
            self.parts.append(x86.of_registers(what, first, second, register, number))

    def masked(self, what: x86.Instruction, operation: Operation, mask: int) -> int:
        register, made = self.held[operation.signed[0][0]], self.new()
        what = what.of_four if operation.shape.wide == 2 else what
        self.masks[len(self.parts)] = mask
        self.parts.append(x86.with_memory(what, made, register, x86.CODE, 0, self.registers))
        return made

    def ways(self, order: Sequence[Operation]) -> list[int]:
        return [way for operation in order for way in self.ways_of(operation)]

    def ways_of(self, operation: Operation) -> list[int]:
        """One operand may be in memory."""
        form, kinds = operation.shape, self.kinds
        if form.name == "put":
            copied = operation.place[2] == "double"
            return [ANYWHERE if copied and kinds[a] == "double" else IN_REGISTER for a in operation.operands]
        places = _IN_MEMORY.get(form.name)
        if places is None:
            return [IN_REGISTER] * len(operation.operands)
        names, least = [name for name, _ in operation.signed], _IN_PLACE.get(form.name, form.wide)
        return [
            FAR_IN_MEMORY
            if names.count(a) == 1 and names.index(a) in places and WIDTHS[kinds[a]] >= least
            else IN_REGISTER
            for a in operation.operands
        ]

    def dies(self, name: str) -> bool:
        """Whether a value is in a register, and wanted by no other operation."""
        return name in self.held and self.last_user[name] == self.now

    def into(self, name: str) -> int:
        """A register that holds a value and may be changed: its own, where nothing else needs it."""
        if self.dies(name):
            self.made = self.held[name]
            return self.made
        copy = self.new()
        if name in self.held:
            self.parts.append(x86.of_registers(_COPY[self.kinds[name] == FOUR], copy, 0, self.held[name]))
        else:
            place = self.loads.get(name) or self.stored[name]
            self.memory(x86.LOAD[WIDTHS[place[2]]], copy, 0, place)
        return copy

    # ---------------------------------------------------------------- operations

    def symmetric(self, operation: Operation) -> int:
        """Operations whose operands may be exchanged."""
        (a, _), (b, _) = operation.signed
        held = self.held
        if a not in held or (b in held and held[a] < 8 <= held[b]):
            a, b = b, a
        made = self.new()
        self.write(_WORDS[operation.shape.name][operation.shape.wide], made, held[a], b)
        return made

    def ordered(self, operation: Operation) -> int:
        (a, _), (b, _) = operation.signed
        made = self.new()
        self.write(_WORDS[operation.shape.name][operation.shape.wide], made, self.held[a], b)
        return made

    def fuse(self, operation: Operation) -> int:
        (a, minus), (b, other), (c, opposite) = operation.signed
        held, wide, product = self.held, operation.shape.wide, minus ^ other
        if a not in held:
            a, b = b, a
        # a is in a register; b or c may be in memory.
        if b not in held and (self.dies(a) and not self.dies(c)):
            made, order, second, third = self.into(a), 132, c, b
        elif c in held and self.dies(c):
            made, order, second, third = self.into(c), 231, a, b
        elif self.dies(a) and b in held:
            made, order, second, third = self.into(a), 213, b, c
        elif b not in held or self.dies(b):
            made, order, second, third = self.into(b), 213, a, c
        else:
            made, order, second, third = self.into(c), 231, a, b
        self.write(x86.fused(order, wide, product, opposite), made, held[second], third)
        return made

    def root(self, operation: Operation) -> int:
        register, made = self.held[operation.signed[0][0]], self.new()
        single = not operation.shape.wide
        what = x86.ROOT[operation.shape.wide]
        self.parts.append(x86.of_registers(what, made, register if single else 0, register))
        return made

    def absolute(self, operation: Operation) -> int:
        return self.masked(x86.AND, operation, SIZES)

    def negate(self, operation: Operation) -> int:
        return self.masked(x86.XOR, operation, SIGNS)

    def shift(self, operation: Operation) -> int:
        """Shifts by a number take the result where others take their second operand."""
        register, made = self.held[operation.signed[0][0]], self.new()
        what, field, number = _SHIFTS[operation.shape.name]
        if what.only == "evex" and self.registers == 16:  # a blend looks at signs alone
            self.parts.append(x86.of_registers(x86.COPY, made, 0, register))
            return made
        self.parts.append(x86.of_registers(what, field, made, register, number))
        return made

    def select(self, operation: Operation) -> int:
        (mask, _), (a, _), (b, _) = operation.signed
        if self.registers > 16:
            made = self.into(mask)
            self.write(x86.CHOOSE, made, self.held[a], b, 0xCA)
        else:
            made = self.new()
            self.write(x86.BLEND, made, self.held[b], a, self.held[mask] << 4)
        return made

    def insert(self, operation: Operation) -> int:
        """The first lane of one value as the second of another."""
        (a, _), (b, _) = operation.signed
        made = self.new()
        what = x86.FIRST_LANES if b in self.held else x86.LOAD_SECOND_LANE
        self.write(what, made, self.held[a], b)
        return made

    def lanes(self, operation: Operation) -> int:
        """Some lanes of a value as one of their own: in memory, that is a place further on."""
        name, made, what = operation.signed[0][0], self.new(), operation.shape.name
        register = self.held.get(name)
        if register is None:
            further, kind = _LANES[what]
            array, index, _ = self.loads.get(name) or self.stored[name]
            self.memory(x86.LOAD[WIDTHS[kind]], made, 0, (array, index + further, kind))
        elif what == "second lane":
            self.parts.append(x86.of_registers(x86.SECOND_LANES, made, register, register))
        elif what == "upper half":
            self.parts.append(x86.of_registers(x86.UPPER_HALF, register, 0, made, 1))
        else:
            number = 0x55 * _LANES[what][0]
            self.parts.append(x86.of_registers(x86.PERMUTE, made, 0, register, number))
        return made

    def both_lanes(self, operation: Operation) -> int:
        made = self.new()
        what = x86.ALL_LANES if operation.shape.wide == 2 else x86.BOTH_LANES
        self.write(what, made, 0, operation.signed[0][0])
        return made

    def join(self, operation: Operation) -> int:
        """Two pairs, or a pair and a double."""
        (a, _), (b, _) = operation.signed
        made = self.new()
        self.write(x86.JOIN, made, self.held[a], b, 1)
        return made

    def swap(self, operation: Operation) -> int:
        name, made = operation.signed[0][0], self.new()
        self.write(x86.SHUFFLE, made, self.held[name], name, 1)
        return made

    def put(self, operation: Operation) -> int:
        """Zero, or a value that is loaded: by a register of integers."""
        place = operation.place
        base, offset = self.frame.place(place)
        if not operation.signed:
            self.parts.append(x86.store_zero(base, offset))
            return -1
        name = operation.signed[0][0]
        if name in self.held:
            self.store(self.held[name], place)
        else:
            loaded = x86.load_integer(ACCUMULATOR, *self.frame.place(self.loads[name]))
            # One part: between parts, looks at angles take the same register.
            self.parts.append(loaded + x86.store_integer(ACCUMULATOR, base, offset))
        return -1


# On Skylake with 32 registers, Spacecraft 2 (2 operations per cycle) takes 13 % less with the limit 48 than
# with 32, an arm 3 %; a quadruped (3) takes 3 % more, without packs of four 13 %.
_LIMITS = {
    32: ((2, 48, 0, False, NO_EXCESS), (inf, 32, 0, True, NO_EXCESS)),
    16: ((2, 24, 0, False, NO_EXCESS), (inf, 16, 0, True, NO_EXCESS)),
}
_WORDS = {
    "add": x86.ADD,
    "multiply": x86.MULTIPLY,
    "subtract": x86.SUBTRACT,
    "divide": x86.DIVIDE,
    "turn signs": (x86.XOR, x86.XOR, x86.XOR.of_four),
}
_SHIFTS = {
    "last bit first": (x86.SHIFT, x86.LEFT, 63),
    "bits down": (x86.SHIFT, x86.RIGHT, 1),
    "first bit": (x86.SPREAD_SIGN, x86.OF_SIGN, 63),
}
_COPY = (x86.COPY, x86.COPY.of_four)
# Lanes of a value: how far the first of them is from its beginning, and what they are.
_LANES = {
    "second lane": (1, "double"),
    "third lane": (2, "double"),
    "fourth lane": (3, "double"),
    "upper half": (2, PAIR),
}
# Places of operands that may be in memory.
_IN_MEMORY: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("add", "multiply", "turn signs"), (0, 1)),
    **dict.fromkeys(("subtract", "divide", "insert"), (1,)),
    "fuse": (0, 1, 2),
    "join": (1,),
    **dict.fromkeys(("both lanes", *_LANES), (0,)),
}
# Least sizes of operands there, where these are not those of the operation.
_IN_PLACE = {"insert": 0, "both lanes": 0, "join": 1}
_WRITERS: dict[str, Callable[[X86, Operation], int]] = {
    **dict.fromkeys(("add", "multiply", "turn signs"), X86.symmetric),
    **dict.fromkeys(("subtract", "divide"), X86.ordered),
    **dict.fromkeys(_SHIFTS, X86.shift),
    "fuse": X86.fuse,
    "root": X86.root,
    "size": X86.absolute,
    "negate": X86.negate,
    "select": X86.select,
    "insert": X86.insert,
    **dict.fromkeys(_LANES, X86.lanes),
    **dict.fromkeys(("join", THIRD.name), X86.join),
    "both lanes": X86.both_lanes,
    "swap": X86.swap,
    "put": X86.put,
}


class X86Selection(Selection):
    """Opposites go to the users of a value, as far as these can take them. Cycles are those of Skylake."""

    WIDEST = 2

    LATENCIES: ClassVar[dict[str, int]] = {
        **dict.fromkeys(_WRITERS, 1),
        **dict.fromkeys(("add", "subtract", "multiply", "fuse"), 4),
        **{"divide": 13, "root": 15},
    }

    def rename(self, name: str, text: str, given: tuple[str, bool]) -> None:
        if text.startswith("bitcast") and given[1]:
            given = self.negated(given[0], KINDS[text]), False
        self.alike[name] = given

    def negated(self, name: str, kind: str) -> str:
        """The opposite of a value or, of another kind, of its first lane, in a register of its own."""
        own = f"-{kind} {name}"
        if own not in self.made:
            self.append(own, kind, NEGATIONS[WIDTHS[kind]], [(name, False)])
        return own

    def suited(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        what = form.name
        if form is FOURTH:
            return self.joined(given)
        if what == "fuse":
            return form, given, False
        signs = [minus for _, minus in given]
        if True not in signs:
            return form, given, False
        if what in ("multiply", "divide"):
            return form, [(a, False) for a, _ in given], signs[0] != signs[1]
        if what in ("add", "subtract"):
            (a, _), (b, _) = given
            minus, other = signs[0], signs[1] ^ (what == "subtract")
            plain = [(b, False), (a, False)] if minus and not other else [(a, False), (b, False)]
            return Form("add" if minus == other else "subtract", form.wide), plain, minus and other
        if what == "size":
            return form, [(given[0][0], False)], False
        if what in _LANES or what in ("both lanes", "swap") or (what == "insert" and all(signs)):
            return form, [(a, False) for a, _ in given], True
        if what == "select" and signs[1] and signs[2]:
            return form, [(a, False) for a, _ in given], True
        own = [kind for kind, wide in WIDTHS.items() if wide == form.wide]
        kinds = (PAIR, "double") if what in ("insert", THIRD.name) else own * 3
        found = [
            (self.negated(a, kind) if minus else a, False)
            for (a, minus), kind in zip(given, kinds, strict=False)
        ]
        return form, found, False

    def joined(self, given: Signed) -> tuple[Form, Signed, bool]:
        """The fourth of four doubles makes a pair with the third, which is joined to the first two."""
        (three, _), (last, minus) = given
        before = self.made.get(three)
        if before is None or before.shape is not THIRD:
            return FOURTH, given, False
        (pair, _), (third, _) = before.signed
        name = f"{third} {last} {minus}"
        if minus:
            last = self.negated(last, "double")
        if name not in self.made:
            self.append(name, PAIR, Form("insert", 1), [(third, False), (last, False)])
        return Form("join", 2), [(pair, False), (name, False)], False

    def opposite(self, operation: Operation) -> bool:
        form, given = operation.shape, operation.signed
        if form.name == "fuse":
            for i in (0, 2):
                given[i] = given[i][0], not given[i][1]
        elif form.name == "subtract":
            given.reverse()
        return form.name in ("fuse", "subtract")


X86.SELECTION, X86.WRITERS = X86Selection, _WRITERS
