"""Machine code of arranged sections for x86-64; x86_frame.py has the frame around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import ClassVar

from armillary.llvm.arrangement import x86_instructions as x86
from armillary.llvm.arrangement.arrangement import PAIR, Limits, Load, Operation
from armillary.llvm.arrangement.machine_code import (
    FORMS,
    FOUR,
    FOURTH,
    KINDS,
    NEGATIONS,
    THIRD,
    WIDTHS,
    Encoded,
    Entry,
    Form,
    MachineCode,
    Selection,
    Signed,
)
from armillary.llvm.arrangement.order_and_registers import ANYWHERE, FAR_IN_MEMORY, IN_REGISTER, NO_EXCESS
from armillary.llvm.arrangement.x86_frame import ACCUMULATOR, ONES, SIGNS, SIZES, AddressRegisters

# Instructions for x86-64 with fused operations (AVX2, FMA3), with 32 registers if AVX-512VL is available.
# Functions follow the System V convention; their only arguments are addresses of arrays.
#
# Three properties of this instruction set are used. One operand of most instructions may be in memory: an
# input, number or stored value whose next use is far is not loaded into a register. A fused operation
# overwrites one of its operands: a register whose value has no further use. Fused operations exist with all
# four signs, so that a negated operand costs nothing in them. The product of a negated factor is computed
# without the sign, and its users negate it.


class X86(MachineCode):
    """A writer of instructions for operations in a given order."""

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
        self.masks: dict[int, int] = {}  # by index of an instruction: offset of its mask beside the code
        self.low: list[int] = [*range(min(registers, 16))][::-1]
        self.high: list[int] = [*range(16, registers)][::-1]

    def limits_for(self, operations: Sequence[Operation]) -> Limits:
        functions = any([o.shape.name == "select" and o.shape.wide == 2 for o in operations])
        return _WITH_FUNCTIONS[self.registers] if functions else self.limits

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        used = {place[0] for places in self.results.values() for place in places}
        used |= {place[0] for place in self.loads.values()} | {o.place[0] for o in order if not o.name}
        long = any([o.kind == FOUR for o in order]) or any([k == FOUR for _, _, k in self.loads.values()])
        frame = AddressRegisters.of(entry, self.given, used, long, len(order))
        if frame is None:
            return None
        self.frame = frame
        self.pass_over(order)
        return frame.frame_code(self.parts, self.masks, self.slots)

    # ---------------------------------------------------------------- registers and memory

    def new(self) -> int:
        """Return a register for a value: one of the first sixteen, where instructions are shorter."""
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
        """Write an instruction whose third operand is a value in a register or in memory."""
        register = self.held.get(third)
        if register is None:
            self.memory(what, first, second, self.loads.get(third) or self.stored[third], number)
        else:
            self.parts.append(x86.of_registers(what, first, second, register, number))

    def apply_mask(self, what: x86.Instruction, operation: Operation, mask: int) -> int:
        register, made = self.held[operation.signed[0][0]], self.new()
        what = what.of_four if operation.shape.wide == 2 else what
        self.masks[len(self.parts)] = mask
        self.parts.append(x86.with_memory(what, made, register, x86.CODE, 0, self.registers))
        return made

    def ways(self, order: Sequence[Operation]) -> list[int]:
        return [way for operation in order for way in self.ways_of(operation)]

    def ways_of(self, operation: Operation) -> list[int]:
        """Return how each operand is read: one may be in memory."""
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

    def is_last_use(self, name: str) -> bool:
        """Return whether a value is in a register and this operation is its last user."""
        return name in self.held and self.last_user[name] == self.now

    def overwritable_register(self, name: str) -> int:
        """Return a register that holds a value and may be overwritten: its own at its last use, or a copy."""
        if self.is_last_use(name):
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
        """Write an operation whose operands may be exchanged."""
        (a, _), (b, _) = operation.signed
        held = self.held
        if a not in held or (b in held and held[a] < 8 <= held[b]):
            a, b = b, a
        made = self.new()
        self.write(_WORDS[operation.shape.name][operation.shape.wide], made, held[a], b)
        return made

    def order_operands(self, operation: Operation) -> int:
        """Write an operation whose operands must not be exchanged."""
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
        if b not in held and (self.is_last_use(a) and not self.is_last_use(c)):
            made, order, second, third = self.overwritable_register(a), 132, c, b
        elif c in held and self.is_last_use(c):
            made, order, second, third = self.overwritable_register(c), 231, a, b
        elif self.is_last_use(a) and b in held:
            made, order, second, third = self.overwritable_register(a), 213, b, c
        elif b not in held or self.is_last_use(b):
            made, order, second, third = self.overwritable_register(b), 213, a, c
        else:
            made, order, second, third = self.overwritable_register(c), 231, a, b
        self.write(x86.fused_multiply_add(order, wide, product, opposite), made, held[second], third)
        return made

    def root(self, operation: Operation) -> int:
        register, made = self.held[operation.signed[0][0]], self.new()
        single = not operation.shape.wide
        what = x86.ROOT[operation.shape.wide]
        self.parts.append(x86.of_registers(what, made, register if single else 0, register))
        return made

    def absolute(self, operation: Operation) -> int:
        return self.apply_mask(x86.AND, operation, SIZES)

    def negate(self, operation: Operation) -> int:
        return self.apply_mask(x86.XOR, operation, SIGNS)

    def one_if_set(self, operation: Operation) -> int:
        if self.registers > 16:
            return self.apply_mask(x86.AND, operation, ONES)
        # Without AVX-512 only the sign bits of masks may be set. A shift spreads them over the upper halves
        # of lanes, which contain all bits of 1.0.
        register, made, four = self.held[operation.signed[0][0]], self.new(), operation.shape.wide == 2
        spread, keep = x86.SPREAD_HALVES, x86.AND
        if four:
            spread, keep = spread.of_four, keep.of_four
        self.parts.append(x86.of_registers(spread, x86.OF_SIGN, made, register, 31))
        self.masks[len(self.parts)] = ONES
        self.parts.append(x86.with_memory(keep, made, made, x86.CODE, 0, self.registers))
        return made

    def shift(self, operation: Operation) -> int:
        """Write a shift by a number; its result is encoded in the place of a second operand."""
        register, made = self.held[operation.signed[0][0]], self.new()
        what, field, number = _SHIFTS[operation.shape.name]
        four = operation.shape.wide == 2
        if what.only == "evex" and self.registers == 16:  # without AVX-512 users of masks read only signs
            self.parts.append(x86.of_registers(_COPY[four], made, 0, register))
            return made
        what = what.of_four if four else what
        self.parts.append(x86.of_registers(what, field, made, register, number))
        return made

    def select(self, operation: Operation) -> int:
        (mask, _), (a, _), (b, _) = operation.signed
        held, four = self.held, operation.shape.wide == 2
        if self.registers > 16 and (self.is_last_use(mask) or max(held[mask], held[a], held[b]) > 15):
            made, what = self.overwritable_register(mask), x86.CHOOSE
            self.write(what.of_four if four else what, made, held[a], b, 0xCA)
            return made
        made, what = self.new(), x86.BLEND.of_four if four else x86.BLEND
        if made > 15:
            self.parts.append(x86.of_registers(_COPY[four], made, 0, held[mask]))
            self.write(x86.CHOOSE.of_four if four else x86.CHOOSE, made, held[a], b, 0xCA)
        else:
            self.write(what, made, held[b], a, held[mask] << 4)
        return made

    def compare(self, operation: Operation) -> int:
        """Write a comparison of two values, or of a value with zero; its result is a mask of equal width."""
        name, made, four = operation.shape.name, self.new(), operation.shape.wide == 2
        first, second = self.held[operation.signed[0][0]], made
        if name in _AGAINST_ZERO:
            self.parts.append(x86.of_registers(x86.XOR, made, made, made))
        else:
            second = self.held[operation.signed[1][0]]
        how = _COMPARISONS[name.removesuffix(" zero")]
        if max(made, first, second) < 16:  # only these registers can be used by a comparison to a mask
            what = x86.COMPARE.of_four if four else x86.COMPARE
            self.parts.append(x86.of_registers(what, made, first, second, how))
        else:
            for what, *operands in (
                (x86.COMPARE_TO_FLAGS, _FLAGS, first, second, how),
                (x86.SPREAD_FLAGS, made, 0, _FLAGS),
            ):
                self.parts.append(x86.of_registers(what.of_four if four else what, *operands))
        return made

    def choose_lanes(self, operation: Operation) -> int:
        made, number = self.new(), int(operation.shape.name.rpartition(" ")[2])
        self.parts.append(x86.of_registers(x86.PERMUTE, made, 0, self.held[operation.signed[0][0]], number))
        return made

    def insert(self, operation: Operation) -> int:
        """Copy the first lane of one value to the second lane of another."""
        (a, _), (b, _) = operation.signed
        made = self.new()
        what = x86.FIRST_LANES if b in self.held else x86.LOAD_SECOND_LANE
        self.write(what, made, self.held[a], b)
        return made

    def lanes(self, operation: Operation) -> int:
        """Extract lanes of a value; if it is in memory, load them from an offset."""
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
        """Join two pairs, or a pair and a double."""
        (a, _), (b, _) = operation.signed
        made = self.new()
        self.write(x86.JOIN, made, self.held[a], b, 1)
        return made

    def swap(self, operation: Operation) -> int:
        name, made = operation.signed[0][0], self.new()
        self.write(x86.SHUFFLE, made, self.held[name], name, 1)
        return made

    def put(self, operation: Operation) -> int:
        """Store zero, or a loaded value by an integer register."""
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
            # Both are one part, since checks of angles, inserted between parts, use the same register.
            self.parts.append(loaded + x86.store_integer(ACCUMULATOR, base, offset))
        return -1


# On Skylake with 32 registers, the limit 48 instead of 32 makes Spacecraft 2 (2 operations per cycle) take
# 13 % less time, an arm 3 % less, a quadruped (3 operations per cycle) 3 % more, and a quadruped without
# packs of four 13 % more.
_LIMITS = {
    32: ((2, 48, 0, False, NO_EXCESS), (inf, 32, 0, True, NO_EXCESS)),
    16: ((2, 24, 0, False, NO_EXCESS), (inf, 16, 0, True, NO_EXCESS)),
}
# With elementary functions of four doubles the machine is not patient: a car with 14 degrees of freedom takes
# 0.98 of the time, and 0.88 if polynomials are evaluated by Horner's rule. Limits of 24 to 48 values give the
# same time.
_WITH_FUNCTIONS = {registers: ((inf, most, 0, False, NO_EXCESS),) for registers, most in ((32, 28), (16, 16))}
_WORDS = {
    "add": x86.ADD,
    "multiply": x86.MULTIPLY,
    "subtract": x86.SUBTRACT,
    "divide": x86.DIVIDE,
    **{
        name: (what, what, what.of_four)
        for name, what in (
            ("turn signs", x86.XOR), ("both", x86.AND), ("either", x86.OR), ("add whole", x86.ADD_WHOLE),
            ("subtract whole", x86.SUBTRACT_WHOLE), ("larger", x86.LARGER), ("smaller", x86.SMALLER),
        )
    },
}  # fmt: skip
# The numbers of comparisons in instructions. If an operand is NaN, only "unequal" and "unordered" are true.
_COMPARISONS = {
    "greater": 0x1E, "not less": 0x1D, "less": 0x11, "not greater": 0x12, "equal": 0, "unequal": 4,
    "unordered": 3,
}  # fmt: skip
_AGAINST_ZERO = frozenset([f"{name} zero" for name in _COMPARISONS])
_FLAGS = 1  # the register of flags
_CHOICES = {form.name: 3 for form in FORMS.values() if form.name.startswith("lanes ")}
_SHIFTS = {
    "last bit first": (x86.SHIFT, x86.LEFT, 63),
    "bits down": (x86.SHIFT, x86.RIGHT, 1),
    "to the exponent": (x86.SHIFT, x86.LEFT, 52),
    "from the exponent": (x86.SHIFT, x86.RIGHT, 52),
    "first bit": (x86.SPREAD_SIGN, x86.OF_SIGN, 63),
}
_COPY = (x86.COPY, x86.COPY.of_four)
# Lanes of a value: index of the first, and their kind.
_LANES = {
    "second lane": (1, "double"),
    "third lane": (2, "double"),
    "fourth lane": (3, "double"),
    "upper half": (2, PAIR),
}
# Indices of operands that may be in memory.
_IN_MEMORY: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("add", "multiply", "turn signs"), (0, 1)),
    **dict.fromkeys(("subtract", "divide", "insert"), (1,)),
    "fuse": (0, 1, 2),
    "join": (1,),
    **dict.fromkeys(("both lanes", *_LANES), (0,)),
}
# Least width of operands in memory, if it differs from the operation's.
_IN_PLACE = {"insert": 0, "both lanes": 0, "join": 1}
_WRITERS: dict[str, Callable[[X86, Operation], int]] = {
    **dict.fromkeys(("add", "multiply", "turn signs", "both", "either", "add whole"), X86.symmetric),
    **dict.fromkeys(("subtract", "divide", "subtract whole", "larger", "smaller"), X86.order_operands),
    **dict.fromkeys((*_COMPARISONS, *_AGAINST_ZERO), X86.compare),
    **dict.fromkeys(_CHOICES, X86.choose_lanes),
    "one if set": X86.one_if_set,
    "select one": X86.select,
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
    """Selection for x86-64, with the latencies of Skylake.

    An operation with negated operands computes its value or the opposite, if one of them needs no negation.
    """

    WIDEST = 2

    LATENCIES: ClassVar[dict[str, int]] = {
        **dict.fromkeys(_WRITERS, 1),
        **dict.fromkeys(("add", "subtract", "multiply", "fuse"), 4),
        **dict.fromkeys((*_COMPARISONS, *_AGAINST_ZERO), 4),
        **{"divide": 13, "root": 15, "larger": 4, "smaller": 4},
        **_CHOICES,
    }

    def rename(self, name: str, text: str, given: tuple[str, bool]) -> None:
        if text.startswith("bitcast") and given[1]:
            given = self.negate(given[0], KINDS[text]), False
        self.alike[name] = given

    def negate(self, name: str, kind: str) -> str:
        """Return the negated value in a new register; of a pair, ``kind`` "double" negates only one lane."""
        own = f"-{kind} {name}"
        if own not in self.made:
            self.append(own, kind, NEGATIONS[WIDTHS[kind]], [(name, False)])
        return own

    def suit_operation(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        what = form.name
        if form is FOURTH:
            return self.join_pair(given)
        if what in ("maximum", "minimum"):
            return self.extreme(name, form, given)
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
        if (
            what in _LANES
            or what in _CHOICES
            or what in ("both lanes", "swap")
            or (what == "insert" and all(signs))
        ):
            return form, [(a, False) for a, _ in given], True
        if what in ("select", "select one") and signs[1] and signs[2]:
            return form, [(a, False) for a, _ in given], True
        own = [kind for kind, wide in WIDTHS.items() if wide == form.wide]
        kinds = (PAIR, "double") if what in ("insert", THIRD.name) else own * 3
        found = [
            (self.negate(a, kind) if minus else a, False)
            for (a, minus), kind in zip(given, kinds, strict=False)
        ]
        return form, found, False

    def extreme(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        """Make the larger or smaller of two values: NaN if one is NaN, and −0 is below 0.

        Instructions return their second operand if one is NaN or both are zero. So the results for both
        orders are combined, by "and" (larger) or "or" (smaller), which gives zeros the right sign. An "or"
        with the mask of unordered values gives NaN.
        """
        kind, wide = list(WIDTHS)[form.wide], form.wide
        a, b = ((self.negate(x, kind) if minus else x, False) for x, minus in given)
        larger = form.name == "maximum"
        parts = [f"{name} {i}" for i in range(4)]
        word = Form("larger" if larger else "smaller", wide)
        self.append(parts[0], kind, word, [a, b])
        self.append(parts[1], kind, word, [b, a])
        if larger:
            self.append(parts[2], kind, Form("both", wide), [(part, False) for part in parts[:2]])
            self.append(parts[3], kind, Form("unordered", wide), [a, b])
        return Form("either", wide), [(part, False) for part in (parts[2:] if larger else parts[:2])], False

    def join_pair(self, given: Signed) -> tuple[Form, Signed, bool]:
        """Insert the third and the fourth of four doubles together, as a pair."""
        (three, _), (last, minus) = given
        before = self.made.get(three)
        if before is None or before.shape is not THIRD:
            return FOURTH, given, False
        (pair, _), (third, _) = before.signed
        name = f"{third} {last} {minus}"
        if minus:
            last = self.negate(last, "double")
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
