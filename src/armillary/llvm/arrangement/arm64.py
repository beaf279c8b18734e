"""Machine code of arranged sections for 64-bit ARM, made here.

Order, registers, loads and stores of a section are decided (``arrangement.py``), so that only the words of
its instructions are left to be written. LLVM takes 50 µs per operation to come to the same ones: 0.6 s for a
chain of 64 links, where this takes 0.04. A section with an operation that is not among SHAPES is LLVM's.

Words are those of the Arm Architecture Reference Manual (DDI 0487), section C7.2. A function takes addresses
of arrays alone, in x0 to x7, and calls nothing. Values are in the vector registers, of which the first lane
is a double; two registers are for what an operation needs on its way. d8 to d15 are saved for the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from armillary.llvm.arrangement.arrangement import (
    PAIR,
    SPARE,
    Line,
    Load,
    Operation,
    Registers,
    Store,
    chosen_order,
    latency,
    stored_values,
)
from armillary.llvm.arrangement.entry import LIMIT_REGISTER, Encoded, Entry

Signed = list[tuple[str, bool]]  # operands, and whether they are negated

REGISTERS = 32
MOST_ARRAYS = 8  # addresses that registers hand on
_SPARE = (30, 31)
_STACK = 31  # as the register of an address
_INTEGER = 17  # the register of what is copied
_NEARBY = (16, 14)  # registers of addresses in the middle of large arrays, the last that were used
_REACH = 504  # bytes from such an address to either side, for a store of two doubles
_FAR = 1 << 15  # bytes that all other instructions reach from an address on
_ZERO = "0x0000000000000000"

# Instructions on doubles, and on pairs of them: register words without registers.
_ADD, _SUBTRACT = (0x1E602800, 0x4E60D400), (0x1E603800, 0x4EE0D400)
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
_MINUS_ZERO = (0x2F00E41F, 0x1E6143FF)  # made in the last register
_ADDRESS_PLUS = 0x91000000  # a number of twelve bits


class Pattern(NamedTuple):
    """An operation without its operands: how it is written, on pairs or not, with which words."""

    write: Callable[[MachineCode, Operation], int]
    pairs: bool
    words: tuple[int, ...] = ()


class MachineCode(Registers):
    """Words of operations in a given order. ``held`` has the numbers of registers."""

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str] = (),
    ) -> None:
        super().__init__(loads, {}, results, REGISTERS - SPARE)
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
        self.made = -1
        self.minus_zero = False  # whether the last register holds it
        # Two doubles in one instruction take one turn of the units for additions, as one does: the arm's A
        # and B gain 10 % by that. So a result waits for its neighbour while there is room.
        self.results_at = {places[0]: name for name, places in results.items() if len(places) == 1}

    def function(self, order: Sequence[Operation]) -> tuple[list[int], list[int]]:
        """The words of a function; what comes before them, and between them and the return."""
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
        return head, tail

    def neighbours(self) -> list[tuple[str, str]]:
        """Results that one instruction can store."""
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

    def operate(self, operation: Operation) -> int:
        self.made = -1
        register: int = operation.shape.write(self, operation)
        return register

    def finish(self) -> None:
        self.made = -1

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
        array, index, _ = place
        base = _STACK if array == "slots" else self.arrays.setdefault(array, len(self.arrays))
        offset = 8 * index
        if offset > _REACH:
            middle = (offset + _REACH) // (2 * _REACH) * 2 * _REACH
            base, offset = self.near(base, middle), offset - middle
        self.words.append(_STORE_TWO | (offset // 8 & 127) << 15 | high << 10 | base << 5 | low)

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
                self.minus_zero &= here != _SPARE[1]
                self.words.append(_NEGATE[operation.shape.pairs] | register << 5 | here)
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
        word = operation.shape.words[0]
        for place, register in zip((5, 16), self.operands(operation), strict=False):
            word |= register << place
        made = self.new()
        self.words.append(word | made)
        return made

    def multiply(self, operation: Operation) -> int:
        (a, minus), (b, other) = operation.signed
        if operation.shape.pairs:
            return self.simple(operation)
        word = operation.shape.words[0] if minus == other else _NEGATED_PRODUCT
        made = self.new()
        self.words.append(word | self.held[b] << 16 | self.held[a] << 5 | made)
        return made

    def fuse_alone(self, operation: Operation) -> int:
        """±a·b − 0."""
        (a, minus), (b, other) = operation.signed
        if not self.minus_zero:
            self.words += _MINUS_ZERO
            self.minus_zero = True
        word = _FUSED[minus ^ other, 0] | _SPARE[1] << 10
        made = self.new()
        self.words.append(word | self.held[b] << 16 | self.held[a] << 5 | made)
        return made

    def add(self, operation: Operation) -> int:
        """±a ± b, where ``words`` are those of a + b and a − b, or of a − b and a + b."""
        (a, minus), (b, other) = operation.signed
        plus, less = operation.shape.words
        x, y = self.held[a], self.held[b]
        made = self.new()
        subtracts = plus in _SUBTRACT
        if minus and not subtracts and not other:  # −a + b
            word, x, y = less, y, x
        elif minus and subtracts and other:  # −a − (−b)
            word, x, y = plus, y, x
        else:
            if minus:
                self.words.append(_NEGATE[operation.shape.pairs] | x << 5 | _SPARE[0])
                x = _SPARE[0]
            word = less if other else plus
        self.words.append(word | y << 16 | x << 5 | made)
        return made

    def fuse(self, operation: Operation) -> int:
        (a, minus), (b, other), (c, opposite) = operation.signed
        x, y = self.held[a], self.held[b]
        if not operation.shape.pairs:
            made = self.new()
            self.words.append(_FUSED[minus ^ other, opposite] | y << 16 | self.held[c] << 10 | x << 5 | made)
            return made
        if opposite:
            made = self.new()
            self.words.append(_NEGATE[1] | self.held[c] << 5 | made)
        else:
            made = self.into(c)
        self.words.append(operation.shape.words[minus ^ other] | y << 16 | x << 5 | made)
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
        name, _ = operation.signed[0]
        given = self.loads[name]
        if given[2] == place[2] == "double":
            self.memory(_LOAD_INTEGER, _INTEGER, given)
            self.memory(_STORE_INTEGER, _INTEGER, place)
        else:
            self.store(self.held[name], place)
        return -1


_PUT = Pattern(MachineCode.put, False)
_PRODUCT_ALONE = Pattern(MachineCode.fuse_alone, False)
_ALIKE = Pattern(MachineCode.put, False)  # the same register: nothing is written
_NEGATIONS = [Pattern(MachineCode.simple, pairs, (_NEGATE[pairs],)) for pairs in (False, True)]
_BOTH_LANES = Pattern(MachineCode.simple, True, (0x4E080400,))
_SECOND_LANE = Pattern(MachineCode.simple, True, (0x5E180400,))
_LANES_ADDED = Pattern(MachineCode.simple, True, (0x7E70D800,))
_FUSE_ALL = Pattern(MachineCode.fuse, True, _FUSED_ALL)
_SCALE_ALL = Pattern(MachineCode.multiply, True, (_MULTIPLY_ALL,))


def _shapes() -> dict[str, Pattern]:
    made: dict[str, Pattern] = {}
    code = MachineCode
    for pairs, kind, end in ((False, "double", "f64"), (True, PAIR, "v2f64")):
        made[f"fmul {kind} $, $"] = Pattern(code.multiply, pairs, (_MULTIPLY[pairs],))
        made[f"fdiv {kind} $, $"] = Pattern(code.simple, pairs, (_DIVIDE[pairs],))
        made[f"fadd {kind} $, $"] = Pattern(code.add, pairs, (_ADD[pairs], _SUBTRACT[pairs]))
        made[f"fsub {kind} $, $"] = Pattern(code.add, pairs, (_SUBTRACT[pairs], _ADD[pairs]))
        for name in ("fmuladd", "fma"):
            shape = Pattern(code.fuse, pairs, _FUSED_PAIRS)
            made[f"call {kind} @llvm.{name}.{end}({kind} $, {kind} $, {kind} $)"] = shape
        for name, words in (
            ("maximum", (0x1E604800, 0x4E60F400)),
            ("minimum", (0x1E605800, 0x4EE0F400)),
        ):
            shape = Pattern(code.simple, pairs, (words[pairs],))
            made[f"call {kind} @llvm.{name}.{end}({kind} $, {kind} $)"] = shape
        for name, words in (("sqrt", (0x1E61C000, 0x6EE1F800)), ("fabs", (0x1E60C000, 0x4EE0F800))):
            made[f"call {kind} @llvm.{name}.{end}({kind} $)"] = Pattern(code.simple, pairs, (words[pairs],))
    for text, word in (
        ("xor <2 x i64> $, $", 0x6E201C00),
        ("shl <2 x i64> $, splat (i64 63)", 0x4F7F5400),
        ("lshr <2 x i64> $, splat (i64 1)", 0x6F7F0400),
        ("icmp slt <2 x i64> $, splat (i64 0)", 0x4EE0A800),
    ):
        made[text] = Pattern(code.simple, True, (word,))
    made[f"extractelement {PAIR} $, i64 1"] = _SECOND_LANE
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> zeroinitializer"] = _BOTH_LANES
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> <i32 1, i32 0>"] = Pattern(code.swap, True)
    made[f"select <2 x i1> $, {PAIR} $, {PAIR} $"] = Pattern(code.select, True)
    made[f"insertelement {PAIR} $, double $, i64 1"] = Pattern(code.insert, True)
    for text in (
        f"bitcast {PAIR} $ to <2 x i64>",
        f"bitcast <2 x i64> $ to {PAIR}",
        f"extractelement {PAIR} $, i64 0",
        f"insertelement {PAIR} poison, double $, i64 0",
    ):
        made[text] = _ALIKE
    return made


SHAPES = _shapes()
_KINDS = {
    text: "double" if text.startswith("extractelement") or not (shape.pairs or shape is _ALIKE) else PAIR
    for text, shape in SHAPES.items()
}
_ADDITION = SHAPES["fadd double $, $"]
_SUBTRACTION = SHAPES["fsub double $, $"]
_FUSED_SUM = "call double @llvm.fma.f64(double $, double $, double $)"
_LATENCIES = {text: latency(text) for text in SHAPES}


def encoded(
    lines: Sequence[Line],
    loads: Mapping[str, Load],
    opposites: Mapping[str, str],
    stores: Sequence[Store],
    entry: Entry,
) -> Encoded | None:
    """The code of ``arranged``, or None where one of its operations is not written here."""
    found = _operations(lines, loads, opposites, stores)
    if found is None:
        return None
    operations, own = found
    used = [place[0] for place in (*loads.values(), *(place for _, place in stores))]
    arrays = entry.arrays(used, MOST_ARRAYS)
    code = MachineCode(loads, own, arrays)
    head, tail = code.function(chosen_order(operations, own, code.neighbours(), _fuse_products))
    if len(code.arrays) > MOST_ARRAYS or len(code.odd) >= min(_NEARBY) - LIMIT_REGISTER:
        return None
    if not entry.near(len(head) + len(code.words) + 2 * len(tail)):
        return None
    words, second, address = entry.framed(head, code.words, tail, arrays)
    return Encoded(words, arrays, second, address)


def _operations(
    lines: Sequence[Line], loads: Mapping[str, Load], opposites: Mapping[str, str], stores: Sequence[Store]
) -> tuple[list[Operation], dict[str, list[Load]]] | None:
    """Operations, and where their values are stored."""
    alike: dict[str, str] = {}  # names of values, to others that are the same register
    operations: list[Operation] = []
    computed: set[str] = set()
    fused: set[str] = set()  # names of sums with products
    of_one: dict[str, tuple[Pattern, str]] = {}  # values with both or the second lane of others

    def signed(name: str) -> tuple[str, bool]:
        source = opposites.get(name)
        if source is None:
            return alike.get(name, name), False
        return alike.get(source, source), True

    for name, form, names in lines:
        shape = SHAPES.get(form)
        if shape is None:
            return None
        given = [signed(a) if a in opposites else (alike.get(a, a), False) for a in names]
        if shape is _ALIKE:
            if not given[0][1]:
                alike[name] = given[0][0]
                continue
            shape, given = _NEGATIONS[True], [(given[0][0], False)]
        elif shape.pairs or of_one:
            shape, given = _of_lanes(name, shape, given, of_one)
        operation = Operation(name, _KINDS[form], [a for a, _ in given], _LATENCIES[form])
        operation.shape, operation.signed = shape, given
        if shape.write is MachineCode.fuse and given[2][0] not in (given[0][0], given[1][0]):
            addend, minus = given[2]
            operation.addend = addend if addend in fused else ""
            operation.renewed = addend if shape.pairs and not minus else ""
            fused.add(name)
        operations.append(operation)
        computed.add(name)
    if any([kind != "double" and kind != PAIR for _, _, kind in loads.values()]):
        return None
    named = [(alike.get(value, value), place) for value, place in stores]
    own, others = stored_values(_opposite_results(named, operations, opposites), computed)
    for value, place in others:
        name, minus = signed(value)
        if value == _ZERO and place[2] == "double":
            given = []
        elif name not in computed and name not in loads:
            return None
        else:
            given = [(name, minus)]
        operation = Operation("", "", [a for a, _ in given], 0)
        if minus:  # a value of its own, which may be stored together with another one
            operation = Operation(f"{value} {place}", place[2], [name], _LATENCIES["fadd double $, $"])
            operation.shape, operation.signed = _NEGATIONS[place[2] != "double"], [(name, False)]
            own[operation.name] = [place]
        else:
            operation.shape, operation.signed, operation.place = _PUT, given, place
        operations.append(operation)
    return operations, own


def _fuse_products(operations: Sequence[Operation], spare: Sequence[int]) -> None:
    """Products become fused operations with −0, where a cycle more does no harm. Their results then arrive
    with those of others, not in between, and further ones take them as addends a cycle sooner. Chains take
    2 % less time, an arm 1 %.
    """
    sums = [o for o in operations if o.shape is not None and o.shape.write is MachineCode.fuse]
    addends = [c if c != a and c != b else "" for (a, _), (b, _), (c, _) in [o.signed for o in sums]]
    wanted = set(addends)
    changed = set()
    for operation, cycles in zip(operations, spare, strict=True):
        shape = operation.shape
        if shape is None or shape.write is not MachineCode.multiply or shape.pairs:
            continue
        if cycles > 0 or operation.name in wanted:
            operation.shape, operation.latency = _PRODUCT_ALONE, _LATENCIES[_FUSED_SUM]
            changed.add(operation.name)
    for operation, addend in zip(sums, addends, strict=True):
        if addend in changed:
            operation.addend = addend


def _opposite_results(
    stores: Sequence[Store], operations: Sequence[Operation], opposites: Mapping[str, str]
) -> list[Store]:
    """Stores of values instead of opposites, where operations can give these themselves."""
    sources = {opposites[value] for value, _ in stores if value in opposites}
    if not sources:
        return list(stores)
    users = dict.fromkeys(sources, 0)
    for operation in operations:
        for name in operation.operands:
            if name in users:
                users[name] += 1
    for value, _ in stores:
        name = opposites.get(value, value)
        if name in users:
            users[name] += 1
    made = {o.name: o for o in operations}
    found = []
    for value, place in stores:
        source = opposites.get(value, "")
        computed = made.get(source)
        if computed is not None and users[source] == 1 and _turned_round(computed):
            value = source
        found.append((value, place))
    return found


def _turned_round(operation: Operation) -> bool:
    """Changes an operation on doubles to that of the opposite value, where this costs no instruction."""
    shape, given = operation.shape, operation.signed
    if shape.pairs:
        return False
    if shape.write is MachineCode.fuse or shape.write is MachineCode.multiply:
        for i in (0, 2)[: len(given) - 1]:
            given[i] = given[i][0], not given[i][1]
        return True
    if shape is _SUBTRACTION and not given[0][1] and not given[1][1]:
        given.reverse()
        return True
    return False


def _of_lanes(
    name: str, shape: Pattern, given: Signed, of_one: dict[str, tuple[Pattern, str]]
) -> tuple[Pattern, Signed]:
    """An operation on values whose lanes are known from others: a product of pairs, where both lanes of a
    factor are the same, is one of the other factor and that lane; two lanes of a pair are added as they are.
    """
    if (shape is _BOTH_LANES or shape is _SECOND_LANE) and not given[0][1]:
        of_one[name] = shape, given[0][0]
    elif shape.pairs and (shape.write is MachineCode.fuse or shape.write is MachineCode.multiply):
        for i in (1, 0):
            factor, minus = given[i]
            known, source = of_one.get(factor, (None, ""))
            if known is _BOTH_LANES:
                whole = _FUSE_ALL if shape.write is MachineCode.fuse else _SCALE_ALL
                return whole, [given[1 - i], (source, minus), *given[2:]]
    elif shape is _ADDITION and not given[0][1] and not given[1][1]:
        for (first, _), (second, _) in (given, given[::-1]):
            if of_one.get(second) == (_SECOND_LANE, first):
                return _LANES_ADDED, [(first, False)]
    return shape, given
