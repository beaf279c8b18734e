"""Machine code of arranged sections for 64-bit ARM.

Words are those of the Arm Architecture Reference Manual (DDI 0487), section C7.2. A function takes addresses
of arrays alone, in x0 to x7, and calls nothing. Values are in the vector registers, of which the first lane
is a double; two registers are for what operations need on their way, if some do. d8 to d15 are saved for the
caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from armillary.llvm.arrangement.arm64_entry import LIMIT_REGISTER, framed, reaches
from armillary.llvm.arrangement.arrangement import SPARE, Line, Load, Operation
from armillary.llvm.arrangement.encoding import MachineCode, Selection, Signed
from armillary.llvm.arrangement.entry import Encoded, Entry
from armillary.llvm.arrangement.forms import BOTH_LANES, KINDS, SECOND_LANE, Form

_STACK = 31  # as the register of an address
_INTEGERS = (17, 13)  # registers of what is copied; the second one only where ``odd`` leaves it
_NEARBY = (16, 14)  # registers of addresses in the middle of large arrays, the last that were used
_REACH = 504  # bytes from such an address to either side, for a store of two doubles
_FAR = 1 << 15  # bytes that all other instructions reach from an address on

# Instructions on doubles, and on pairs of them: register words without registers.
_MULTIPLY, _DIVIDE = (0x1E600800, 0x6E60DC00), (0x1E601800, 0x6E60FC00)
_NEGATE = (0x1E614000, 0x6EE0F800)
_NEGATED_PRODUCT = 0x1E608800
# ±a·b ± c by the signs of the product and of c.
_FUSED = {(0, 0): 0x1F400000, (1, 0): 0x1F408000, (0, 1): 0x1F608000, (1, 1): 0x1F600000}
_FUSED_PAIRS = (0x4E60CC00, 0x4EE0CC00)  # into a register, which holds c
_FUSED_ALL, _MULTIPLY_ALL = (0x4FC01000, 0x4FC05000), 0x4FC09000  # both lanes of a by the first one of b
_COPY, _SELECT, _INSERT = 0x4EA01C00, 0x6E601C00, 0x6E180400
_LOAD, _STORE = (0xFD400000, 0x3DC00000), (0xFD000000, 0x3D800000)
_LOAD_INTEGER, _STORE_INTEGER = (0xF9400000, 0), (0xF9000000, 0)
_STORE_TWO = 0x6D000000  # doubles, at a multiple of eight bytes between −512 and 504
_LOAD_TWO_INTEGERS, _STORE_TWO_INTEGERS = 0xA9400000, 0xA9000000
# Registers for what an operation needs on its way, with the numbers that they hold otherwise: 1, and −0.
_SPARE = {30: (0x1E6E101E,), 31: (0x2F00E41F, 0x1E6143FF)}
_ONE, _MINUS_ZERO = _SPARE
_ADDRESS_PLUS = 0x91000000  # a number of twelve bits
_MULTIPLY_LANES = "multiply both lanes by one"
_FUSE_LANES = "fuse both lanes with one"
_ADD_LANES = "add both lanes"
_PRODUCT_ALONE, _SUM_ALONE = Form("fuse with zero", 0), Form("fuse with one", 0)
_FUSIONS = ("fuse", _FUSE_LANES)
_PRODUCTS, _SUMS = ("multiply", _MULTIPLY_LANES), ("add", "subtract")
_SOON = {*_FUSIONS, *_PRODUCTS, *_SUMS, _PRODUCT_ALONE.name, _SUM_ALONE.name}  # addends that may come late
_PAIRS = 0.7  # of all operations: from there on sums are not fused
_WORDS = {
    "add": (0x1E602800, 0x4E60D400),
    "subtract": (0x1E603800, 0x4EE0D400),
    "multiply": _MULTIPLY,
    "divide": _DIVIDE,
    "negate": _NEGATE,
    "maximum": (0x1E604800, 0x4E60F400),
    "minimum": (0x1E605800, 0x4EE0F400),
    "root": (0x1E61C000, 0x6EE1F800),
    "size": (0x1E60C000, 0x4EE0F800),
    "turn signs": (0, 0x6E201C00),
    "last bit first": (0, 0x4F7F5400),
    "bits down": (0, 0x6F7F0400),
    "first bit": (0, 0x4EE0A800),
    "second lane": (0, 0x5E180400),
    "both lanes": (0, 0x4E080400),
    _MULTIPLY_LANES: (0, _MULTIPLY_ALL),
    _ADD_LANES: (0, 0x7E70D800),
}


class Arm64(MachineCode):
    """Words of operations in a given order."""

    MOST_ARRAYS, RESERVED = 8, SPARE

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str],
        registers: int,
    ) -> None:
        super().__init__(loads, results, arrays, registers)
        self.words: list[int] = []
        self.arrays = {name: i for i, name in enumerate(arrays)}  # to the registers of their addresses
        self.odd: dict[int, int] = {}  # registers of addresses, to those of addresses one double further
        self.nearby: dict[tuple[int, int], int] = {}  # (register, bytes further) to registers of _NEARBY
        self.room: list[int] = [
            *range(15, 7, -1),
            *range(29, 15, -1),
            *range(7, -1, -1),
        ]  # last those to be saved
        self.taken: set[int] = set()
        self.copies_pairs = False  # by both registers of _INTEGERS
        self.numbers: set[int] = set()  # spare registers that hold their numbers
        # Two doubles in one instruction take one turn of the units for additions, as one does: the arm's A
        # and B gain 10 % by that. So a result waits for its neighbour while there is room.
        self.results_at = {places[0]: name for name, places in results.items() if len(places) == 1}

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        arrays = list(self.arrays)
        if not any(map(_takes_spare, order)):  # batches take 0.99 of the time by that
            self.room[8:8] = reversed(_SPARE)  # before those to be saved
            self.size += len(_SPARE)
        self.pass_over(order)
        for value in list(self.waiting):
            self.store_waiting(value)
        size = -(-self.slots // 2) * 16
        saved = [r for r in range(8, 16, 2) if r in self.taken or r + 1 in self.taken]
        head = [_ADDRESS_PLUS | 8 << 10 | base << 5 | odd for base, odd in self.odd.items()]
        head += [0x6DBF0000 | r + 1 << 10 | _STACK << 5 | r for r in saved]  # stp, sp moves before
        tail = [0x6CC10000 | r + 1 << 10 | _STACK << 5 | r for r in reversed(saved)]
        for step, shift in ((size >> 12, 0x400000), (size & 4095, 0)):
            if step:
                head.append(0xD1000000 | shift | step << 10 | _STACK << 5 | _STACK)
                tail.insert(0, _ADDRESS_PLUS | shift | step << 10 | _STACK << 5 | _STACK)
        most_odd = min(_NEARBY) - LIMIT_REGISTER - 1 - self.copies_pairs
        if len(self.arrays) > self.MOST_ARRAYS or len(self.odd) > most_odd:
            return None
        if not reaches(entry, len(head) + len(self.words) + 2 * len(tail)):
            return None
        return framed(entry, head, self.words, tail, arrays)

    def neighbours(self) -> list[tuple[str, str]]:
        found = []
        for (array, index, kind), name in self.results_at.items():
            other = self.results_at.get((array, index + 1, kind))
            if other is not None and other != name and kind == "double" and not index % 2:
                found.append((name, other))
        return found

    # ---------------------------------------------------------------- registers and memory

    def new(self) -> int:
        """A register for a value. One more than values are held is always free."""
        register: int = self.room.pop()
        self.taken.add(register)
        self.made = register
        return register

    def release(self, register: int) -> None:
        if register != self.made:
            self.room.append(register)

    def load(self, place: Load) -> int:
        register: int = self.room.pop()
        self.taken.add(register)
        self.memory(_LOAD, register, place)
        return register

    def store(self, register: int, place: Load) -> None:
        self.memory(_STORE, register, place)

    def store_result(self, name: str, register: int, place: Load) -> None:
        array, index, kind = place
        other = self.results_at.get((array, index ^ 1, kind), "")
        single = kind == self.kinds[name] == "double" and place in self.results_at
        if other in self.waiting and single:
            there = self.waiting.pop(other)
            low, high = (register, self.held[other]) if place < there else (self.held[other], register)
            self.store_two(low, high, min(place, there))
            self.stored[name], self.stored[other] = place, there
            if not self.uses.get(other):
                self.drop(other)
        elif other and single and other not in self.stored and self.kinds[other] == kind:
            self.waiting[name] = place
        else:
            super().store_result(name, register, place)

    def spill(self, value: str, next_best: str) -> None:
        """With the value that would be next, which stays where it is."""
        if not self.kinds[value] == self.kinds.get(next_best) == "double" or next_best in self.waiting:
            super().spill(value, next_best)
            return
        for i, name in enumerate((value, next_best)):
            self.stored[name] = ("slots", self.slots + i, "double")
        self.store_two(self.held[value], self.held[next_best], self.stored[value])
        self.slots += 2

    def store_two(self, low: int, high: int, place: Load) -> None:
        """Doubles in two registers to neighbouring places, from this one on."""
        self.two(_STORE_TWO, low, high, place)

    def two(self, word: int, low: int, high: int, place: Load) -> None:
        """Two registers and the neighbouring places from this one on."""
        array, index, _ = place
        base = _STACK if array == "slots" else self.arrays.setdefault(array, len(self.arrays))
        offset = 8 * index
        if offset > _REACH:
            middle = (offset + _REACH) // (2 * _REACH) * 2 * _REACH
            base, offset = self.near(base, middle), offset - middle
        self.words.append(word | (offset // 8 & 127) << 15 | high << 10 | base << 5 | low)

    def near(self, base: int, offset: int) -> int:
        """A register with an address so many bytes further: one that is there, or the oldest of them. The
        work of humanoids is in arrays of thousands: with additions for each access their A and B are 6 %
        more instructions.
        """
        register = self.nearby.pop((base, offset), -1)
        if register < 0:
            full = len(self.nearby) == len(_NEARBY)
            register = self.nearby.pop(next(iter(self.nearby))) if full else _NEARBY[len(self.nearby)]
            source = base
            for step, shift in ((offset >> 12, 0x400000), (offset & 4095, 0)):
                if step:
                    self.words.append(_ADDRESS_PLUS | shift | step << 10 | source << 5 | register)
                    source = register
        self.nearby[base, offset] = register
        return register

    def memory(self, words: tuple[int, int], register: int, place: Load) -> None:
        array, index, kind = place
        base = _STACK if array == "slots" else self.arrays.setdefault(array, len(self.arrays))
        wide = kind != "double"
        size, offset = 16 if wide else 8, 8 * index
        if offset % size:  # a pair's place is odd: by the address after the first double
            base, offset = self.odd.setdefault(base, len(self.odd) + LIMIT_REGISTER + 1), offset - 8
        if offset >= 4096 * size:
            middle = offset - offset % _FAR
            base, offset = self.near(base, middle), offset - middle
        self.words.append(words[wide] | offset // size << 10 | base << 5 | register)

    # ---------------------------------------------------------------- operations

    def operands(self, operation: Operation) -> list[int]:
        """Registers of all operands, with their signs."""
        found = []
        spare = iter(_SPARE)
        for name, minus in operation.signed:
            register = self.held[name]
            if minus:
                here = next(spare)
                self.numbers.discard(here)
                self.words.append(_NEGATE[operation.shape.wide] | register << 5 | here)
                register = here
            found.append(register)
        return found

    def into(self, name: str) -> int:
        """A register that holds a value and may be changed: its own, where nothing else needs it."""
        register = self.held.get(name)
        if register is not None and len(self.uses[name]) == 1 and name not in self.waiting:
            self.made = register
            return self.made
        copy = self.new()
        place = self.loads.get(name) or self.stored.get(name)
        if place is None:
            self.words.append(_COPY | self.held[name] << 16 | self.held[name] << 5 | copy)
        else:  # loads have units of their own
            self.memory(_LOAD, copy, place)
        return copy

    def simple(self, operation: Operation) -> int:
        word = _WORDS[operation.shape.name][operation.shape.wide]
        for place, register in zip((5, 16), self.operands(operation), strict=False):
            word |= register << place
        made = self.new()
        self.words.append(word | made)
        return made

    def multiply(self, operation: Operation) -> int:
        (a, minus), (b, other) = operation.signed
        if operation.shape.wide:
            return self.simple(operation)
        word = _MULTIPLY[False] if minus == other else _NEGATED_PRODUCT
        made = self.new()
        self.words.append(word | self.held[b] << 16 | self.held[a] << 5 | made)
        return made

    def fuse_alone(self, operation: Operation) -> int:
        """±a·b − 0, or ±a·1 ± b."""
        (a, minus), (b, other) = operation.signed
        product = operation.shape is _PRODUCT_ALONE
        number = _MINUS_ZERO if product else _ONE
        if number not in self.numbers:
            self.words += _SPARE[number]
            self.numbers.add(number)
        word = _FUSED[(minus ^ other, 0) if product else (minus, other)]
        places = (16, 10) if product else (10, 16)
        made = self.new()
        self.words.append(word | self.held[b] << places[0] | number << places[1] | self.held[a] << 5 | made)
        return made

    def fuse(self, operation: Operation) -> int:
        (a, minus), (b, other), (c, opposite) = operation.signed
        x, y = self.held[a], self.held[b]
        if not operation.shape.wide:
            made = self.new()
            self.words.append(_FUSED[minus ^ other, opposite] | y << 16 | self.held[c] << 10 | x << 5 | made)
            return made
        made = self.into(c)
        words = _FUSED_ALL if operation.shape.name == _FUSE_LANES else _FUSED_PAIRS
        self.words.append(words[minus ^ other] | y << 16 | x << 5 | made)
        return made

    def select(self, operation: Operation) -> int:
        _, a, b = self.operands(operation)
        made = self.into(operation.signed[0][0])
        self.words.append(_SELECT | b << 16 | a << 5 | made)
        return made

    def insert(self, operation: Operation) -> int:
        """The first lane of one value as the second of another."""
        a, b = self.operands(operation)
        name, minus = operation.signed[0]
        made = self.into(name) if not minus else a
        self.words.append(_INSERT | b << 5 | made)
        if minus:
            made = self.new()
            self.words.append(_COPY | a << 16 | a << 5 | made)
        return made

    def swap(self, operation: Operation) -> int:
        (a,) = self.operands(operation)
        made = self.new()
        self.words.append(0x6E004000 | a << 16 | a << 5 | made)
        return made

    def put(self, operation: Operation) -> int:
        """Zero, or a value that is loaded: by the registers of integers, whose units have time."""
        place = operation.place
        if not operation.signed:
            self.memory(_STORE_INTEGER, 31, place)
            return -1
        given = self.loads[operation.signed[0][0]]
        if place[2] == "double":  # also of the first lane of a pair
            self.memory(_LOAD_INTEGER, _INTEGERS[0], (given[0], given[1], "double"))
            self.memory(_STORE_INTEGER, _INTEGERS[0], place)
        else:
            self.copies_pairs = True
            self.two(_LOAD_TWO_INTEGERS, *_INTEGERS, given)
            self.two(_STORE_TWO_INTEGERS, *_INTEGERS, place)
        return -1


def _takes_spare(operation: Operation) -> bool:
    """Whether the signs of operands are changed before an operation, or a number is held: −0 or 1."""
    form = operation.shape
    if form.name in _FUSIONS or (form.name in _PRODUCTS and not form.wide):
        return False
    return form in (_PRODUCT_ALONE, _SUM_ALONE) or any([minus for _, minus in operation.signed])


_WRITERS: dict[str, Callable[[Arm64, Operation], int]] = {
    **dict.fromkeys(_WORDS, Arm64.simple),
    **dict.fromkeys(_PRODUCTS, Arm64.multiply),
    **dict.fromkeys(_FUSIONS, Arm64.fuse),
    **dict.fromkeys((_PRODUCT_ALONE.name, _SUM_ALONE.name), Arm64.fuse_alone),
    "select": Arm64.select,
    "insert": Arm64.insert,
    "swap": Arm64.swap,
    "put": Arm64.put,
}


class _ArmSelection(Selection):
    """Cycles are those of a Neoverse N1."""

    LATENCIES: ClassVar[dict[str, int]] = {
        **dict.fromkeys(_WRITERS, 3),
        **dict.fromkeys(("fuse", _FUSE_LANES, "maximum", "minimum", "root", "size"), 4),
        **dict.fromkeys(("add", "subtract", "negate", _ADD_LANES), 2),
        "divide": 13,
    }

    def __init__(
        self, lines: Sequence[Line], loads: Mapping[str, Load], opposites: Mapping[str, str]
    ) -> None:
        self.fused: set[str] = set()  # names of sums with products
        self.of_one: dict[str, tuple[Form, str]] = {}  # values with both or the second lane of others
        super().__init__(lines, loads, opposites)

    def append(self, name: str, kind: str, form: Form, given: Signed) -> Operation:
        operation = super().append(name, kind, form, given)
        if form.name in _FUSIONS and given[2][0] not in (given[0][0], given[1][0]):
            addend, minus = given[2]
            operation.addend = addend if addend in self.fused else ""
            operation.renewed = addend if form.wide and not minus else ""
            self.fused.add(name)
        return operation

    def put(self, given: Signed, place: Load) -> None:
        super().put(given, place)
        if given:  # by registers of integers
            self.operations[-1].renewed = given[0][0]

    def suited(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        """Of values whose lanes are known from others: a product of pairs, where both lanes of a factor are
        the same, is one of the other factor and that lane; two lanes of a pair are added as they are. A
        register may hold the opposite value, so that no sign is changed on the way.
        """
        of_one = self.of_one
        if form is BOTH_LANES or form is SECOND_LANE:
            source, minus = given[0]
            of_one[name] = form, source
            return form, [(source, False)], minus
        if form.wide and form.name in ("fuse", "multiply"):
            minus = given[0][1] ^ given[1][1]
            factors = [(given[0][0], False), (given[1][0], False)]
            for i in (1, 0):
                known, source = of_one.get(factors[i][0], (None, ""))
                if known is BOTH_LANES:
                    form = Form(_FUSE_LANES if form.name == "fuse" else _MULTIPLY_LANES, 1)
                    factors = [factors[1 - i], (source, False)]
                    break
            if len(given) == 2:
                return form, factors, minus
            addend, opposite = given[2]
            factors[0] = factors[0][0], minus ^ opposite
            return form, [*factors, (addend, False)], opposite
        if form.name in ("add", "subtract"):
            (a, minus), (b, other) = given
            other ^= form.name == "subtract"
            if not form.wide and not minus and not other:
                for first, second in ((a, b), (b, a)):
                    if of_one.get(second) == (SECOND_LANE, first):
                        return Form(_ADD_LANES, 1), [(first, False)], False
            plain = [(b, False), (a, False)] if minus and not other else [(a, False), (b, False)]
            return Form("add" if minus == other else "subtract", form.wide), plain, minus and other
        if form.name == "divide":
            (a, minus), (b, other) = given
            return form, [(a, False), (b, False)], minus ^ other
        return form, given, False

    def rename(self, name: str, text: str, given: tuple[str, bool]) -> None:
        if KINDS[text] == "double":  # the first lane, or its opposite
            self.alike[name] = given
        else:
            super().rename(name, text, given)

    def opposite(self, operation: Operation) -> bool:
        form, given = operation.shape, operation.signed
        if form.wide:
            return False
        if form.name in ("fuse", "multiply"):
            for i in (0, 2)[: len(given) - 1]:
                given[i] = given[i][0], not given[i][1]
            return True
        if form.name == "subtract" and not given[0][1] and not given[1][1]:
            given.reverse()
            return True
        return False


def _fuse_single(operations: Sequence[Operation], spare: Sequence[int]) -> None:
    """Products become fused operations with −0, where a cycle more does no harm, and sums become those with 1
    as a factor. A unit has one result in a cycle: an operation of fewer cycles than the one before waits for
    its turn, and with random operations of two kinds a tenth of the time is lost. By the sums alone the arm
    takes 0.97 of the time, a chain of eight, one of 64 and 12 models on average 0.98. Only those that could
    be two cycles late: 0.985. Where most operations are on pairs, whose products and sums stay as they are,
    nothing is gained.
    """
    real = [o for o in operations if o.shape is not None]
    single = sum([o.shape.wide for o in real]) < _PAIRS * len(real)
    place = {o.name: i for i, o in enumerate(operations)}
    fused = [o for o in real if o.shape.name in _FUSIONS]
    addends = {o.signed[2][0] for o in fused}
    changed = set()
    for operation, cycles in zip(operations, spare, strict=True):
        shape = operation.shape
        if shape is None or shape.wide:
            continue
        given = operation.signed
        if shape.name == "multiply" and (cycles > 0 or operation.name in addends):
            operation.shape = _PRODUCT_ALONE
        elif shape.name in _SUMS and single:
            given[1] = given[1][0], given[1][1] ^ (shape.name == "subtract")
            given.sort(key=lambda value: place.get(value[0], -1))  # the later one may come late
            operation.shape = _SUM_ALONE
            fused.append(operation)
        else:
            continue
        operation.latency = _ArmSelection.LATENCIES["fuse"]
        changed.add(operation.name)
    soon = changed | {o.name for o in real if o.shape.name in _SOON} if single else changed
    for operation in fused:
        given = operation.signed
        addend = given[-1][0]
        if addend in soon and addend != given[0][0] and addend != given[-2][0]:
            operation.addend = addend


Arm64.SELECTION, Arm64.WRITERS, Arm64.change = _ArmSelection, _WRITERS, staticmethod(_fuse_single)
