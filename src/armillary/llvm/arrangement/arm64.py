"""Machine code of arranged sections for 64-bit ARM.

Instruction words follow the Arm Architecture Reference Manual (DDI 0487), section C7.2. A function takes only
addresses of arrays, in x0 to x7, and calls nothing. A vector register holds a pair of doubles, or one double
in its first lane. If some operations need spare registers, two of the vector registers are kept for them. The
function saves d8 to d15 for its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from struct import pack
from typing import ClassVar

import numpy as np

from armillary.llvm.arrangement.arm64_words import (
    ADDRESS_PLUS,
    COPY,
    NEARBY,
    NEW,
    NO_RESULT,
    PUT_DOUBLE,
    PUT_PAIR,
    PUT_ZERO,
    RENEWED,
    SPARE,
    STACK,
    InstructionRow,
    compiled_words,
    words_of_steps,
)
from armillary.llvm.arrangement.arrangement import SPARE as RESERVED
from armillary.llvm.arrangement.arrangement import Line, Load, Operation, Store
from armillary.llvm.arrangement.machine_code import (
    BOTH_LANES,
    COMPARISONS,
    KINDS,
    NEAR,
    PUT,
    SECOND_LANE,
    SPACING,
    Encoded,
    Entry,
    Form,
    MachineCode,
    Selection,
    Signed,
)
from armillary.llvm.arrangement.order_and_registers import Steps, starts
from armillary.llvm.building.routines import RoutineMethod

# Instruction words without register numbers: for single doubles, and for pairs.
_MULTIPLY, _DIVIDE = (0x1E600800, 0x6E60DC00), (0x1E601800, 0x6E60FC00)
_NEGATE = (0x1E614000, 0x6EE0F800)
_NEGATED_PRODUCT = 0x1E608800
# The fused operations ±a·b ± c, by whether the product and c are negated.
_FUSED = {(0, 0): 0x1F400000, (1, 0): 0x1F408000, (0, 1): 0x1F608000, (1, 1): 0x1F600000}
_FUSED_PAIRS = (0x4E60CC00, 0x4EE0CC00)  # the result replaces c
_FUSED_ALL, _MULTIPLY_ALL = (0x4FC01000, 0x4FC05000), 0x4FC09000  # both lanes of a times the first lane of b
_SELECT, _INSERT, _SWAP, _NOT = 0x6E601C00, 0x6E180400, 0x6E004000, 0x6E205800
_ONE, _MINUS_ZERO = SPARE  # the spare registers that hold these constants
_MULTIPLY_LANES = "multiply both lanes by one"
_FUSE_LANES = "fuse both lanes with one"
_ADD_LANES = "add both lanes"
_ONE_IF_SET, _UNEQUAL, _UNEQUAL_ZERO = "one if set", "unequal", "unequal zero"
# comparisons, and the equivalent comparisons of exchanged operands
_TURNED_ROUND = {"less": "greater", "not greater": "not less"}
_PRODUCT_ALONE, _SUM_ALONE = Form("fuse with zero", 0), Form("fuse with one", 0)
_FUSIONS = ("fuse", _FUSE_LANES)
_PRODUCTS, _SUMS = ("multiply", _MULTIPLY_LANES), ("add", "subtract")
# operations whose results may be addends that a fused operation needs later than its factors
_SOON = {*_FUSIONS, *_PRODUCTS, *_SUMS, _PRODUCT_ALONE.name, _SUM_ALONE.name}
_PAIRS = 0.7  # share of operations on pairs above which single sums are not fused
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
    "greater": (0x7EE0E400, 0x6EE0E400),
    "not less": (0x7E60E400, 0x6E60E400),
    "equal": (0x5E60E400, 0x4E60E400),
    "greater zero": (0x5EE0C800, 0x4EE0C800),
    "not less zero": (0x7EE0C800, 0x6EE0C800),
    "less zero": (0x5EE0E800, 0x4EE0E800),
    "not greater zero": (0x7EE0D800, 0x6EE0D800),
    "equal zero": (0x5EE0D800, 0x4EE0D800),
    "both": (0x4E201C00, 0x4E201C00),
    "either": (0x4EA01C00, 0x4EA01C00),
    "to the exponent": (0, 0x4F745400),
    "from the exponent": (0, 0x6F4C0400),
    "add whole": (0, 0x4EE08400),
    "subtract whole": (0, 0x6EE08400),
    _MULTIPLY_LANES: (0, _MULTIPLY_ALL),
    _ADD_LANES: (0, 0x7E70D800),
}


class Arm64(MachineCode):
    """A writer of instruction words for operations in a given order."""

    MOST_ARRAYS, RESERVED, STORES_TWO = 8, RESERVED, True

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str],
        registers: int,
    ) -> None:
        super().__init__(loads, results, arrays, registers)
        self.arrays = {name: i for i, name in enumerate(arrays)}  # registers of their addresses
        # Free registers are taken from the end; those that must be saved for the caller are taken last.
        self.room: list[int] = [*range(15, 7, -1), *range(29, 15, -1), *range(7, -1, -1)]
        # The units that add also store; a store of two doubles takes as long as a store of one. So a result
        # waits for its neighbour while there are free registers: the matrices A and B of the linearised
        # Stanford arm then take 10 % less time.
        self.results_at = {places[0]: name for name, places in results.items() if len(places) == 1}

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        arrays = list(self.arrays)
        # If no operation needs the spare registers, values may use them: batches take 0.99 of the time.
        if not any(map(_takes_spare, order)):
            self.room[8:8] = reversed(SPARE)  # before registers to be saved
            self.size += len(SPARE)
        self.pass_over(order)
        words, slots, odd, taken, copies_pairs = self.written
        size = -(-slots // 2) * 16
        saved = [r for r in range(8, 16, 2) if taken[r] or taken[r + 1]]
        head = [ADDRESS_PLUS | 8 << 10 | base << 5 | LIMIT_REGISTER + 1 + i for i, base in enumerate(odd)]
        head += [0x6DBF0000 | r + 1 << 10 | STACK << 5 | r for r in saved]  # stp with pre-decrement of sp
        tail = [0x6CC10000 | r + 1 << 10 | STACK << 5 | r for r in reversed(saved)]
        head += TOUCHED_PAGE * (size >> 12)
        head += [0xD1000000 | (size & 4095) << 10 | STACK << 5 | STACK] if size & 4095 else []  # sub sp
        for step, shift in ((size >> 12, 0x400000), (size & 4095, 0)):
            if step:
                tail.insert(0, ADDRESS_PLUS | shift | step << 10 | STACK << 5 | STACK)
        most_odd = min(NEARBY) - LIMIT_REGISTER - 1 - copies_pairs
        if len(self.arrays) > self.MOST_ARRAYS or len(odd) > most_odd:
            return None
        if not reaches(entry, len(head) + len(words) + 2 * len(tail)):
            return None
        return frame_code(entry, head, words, tail, arrays)

    def neighbours(self) -> list[tuple[str, str]]:
        found = []
        for (array, index, kind), name in self.results_at.items():
            other = self.results_at.get((array, index + 1, kind))
            if other is not None and other != name and kind == "double" and not index % 2:
                found.append((name, other))
        return found

    def compile_code(self) -> RoutineMethod:
        return compiled_words()

    def follow(
        self, order: Sequence[Operation], number: Mapping[str, int], results: Sequence[Store], steps: Steps
    ) -> None:
        """Write the words of the steps, by ``arm64_words.py``."""
        forms: dict[Form, int] = {}
        shapes = _integer_array([forms.setdefault(o.shape, len(forms)) for o in order])[: len(order)]
        signed = [o.signed for o in order]
        counts = _integer_array(list(map(len, signed)))[: len(order)]
        first = starts(counts)
        flat = list(chain.from_iterable(signed))
        signs = _integer_array([minus for _, minus in flat])[: len(flat)]
        # Operations of the same form and signs have the same instructions.
        owners = np.repeat(np.arange(len(order)), counts)
        alike = 8 * shapes
        np.add.at(alike, owners, signs << np.arange(len(signs)) - first[owners])
        put_base, put_index = _integer_array([], len(order)), _integer_array([], len(order))
        for i in np.flatnonzero(shapes == forms.get(PUT, -1)).tolist():
            place = order[i].place
            put_base[i], put_index[i] = self.base(place), place[1]
            alike[i] = _put(order[i])[0].word  # negative, unlike the numbers of all other operations
        _, examples, kind = np.unique(alike, return_index=True, return_inverse=True)
        rows = [_WRITERS[order[i].shape.name](order[i]) for i in examples.tolist()]
        end = starts(_integer_array([len(each) for each in rows]))
        places, count = list(self.loads.values()), len(number)
        of = {name: j for j, (name, _) in enumerate(results)}
        self.written = words_of_steps(
            {
                "steps": steps.kinds, "places": steps.places, "made": steps.made,
                "last_user": steps.last_user, "single": steps.single,
                "first_row": end[kind], "end_row": end[kind + 1],
                "rows": _integer_array([field for each in rows for row in each for field in row]),
                "first_given": first, "given": _integer_array([number[name] for name, _ in flat]),
                "base": _integer_array([self.base(place) for place in places], count),
                "index": _integer_array([index for _, index, _ in places], count),
                "known": _integer_array([True] * len(places), count),
                "result_base": _integer_array([self.base(place) for _, place in results]),
                "result_index": _integer_array([place[1] for _, place in results]),
                "result_wide": _integer_array([place[2] != "double" for _, place in results]),
                "result_value": _integer_array(
                    [number[name] if place[2] == self.kinds[name] else -1 for name, place in results]
                ),
                "result_of": _integer_array([of.get(name, -1) for name in number]),
                "put_base": put_base, "put_index": put_index,
            },
            self.room, count, LIMIT_REGISTER + 1,
        )  # fmt: skip

    def base(self, place: Load) -> int:
        """Return the register with the address of an array."""
        return self.arrays.setdefault(place[0], len(self.arrays))


def _takes_spare(operation: Operation) -> bool:
    """Return whether an operation needs a spare register, for a negated operand or for −0 or 1."""
    form = operation.shape
    if form.name in _FUSIONS or (form.name in _PRODUCTS and not form.wide):
        return False
    held = form in (_PRODUCT_ALONE, _SUM_ALONE) or form.name in (_ONE_IF_SET, _UNEQUAL, _UNEQUAL_ZERO)
    return held or any([minus for _, minus in operation.signed])


def _row(
    word: int, operands: Sequence[tuple[int, int]], result: int, number: int = 0, changed: int = 0
) -> InstructionRow:
    """Return an instruction; each operand comes with the lowest bit of its field.

    An operand is an index among the operation's values, or −r for the spare register r.
    """
    fields: list[int] = []
    for operand, bit in operands:
        if operand < 0:
            word |= -operand << bit
        else:
            fields += [operand, 1 << bit]
    fields += [-1, 0] * (3 - len(fields) // 2)
    return InstructionRow._make([word, *fields, result, number, changed])


def _operands(operation: Operation) -> tuple[list[InstructionRow], list[int]]:
    """Return instructions that write negated operands to spare registers, and the operands to use."""
    rows: list[InstructionRow] = []
    found = []
    spare = iter(SPARE)
    for place, (_, minus) in enumerate(operation.signed):
        if minus:
            here = next(spare)
            word = _NEGATE[operation.shape.wide] | here
            rows.append(_row(word, [(place, 5)], NO_RESULT, changed=here))
            place = -here
        found.append(place)
    return rows, found


def _simple(operation: Operation) -> list[InstructionRow]:
    rows, operands = _operands(operation)
    word = _WORDS[operation.shape.name][operation.shape.wide]
    return [*rows, _row(word, [*zip(operands, (5, 16), strict=False)], NEW)]


def _multiply(operation: Operation) -> list[InstructionRow]:
    (_, minus), (_, other) = operation.signed
    if operation.shape.wide:
        return _simple(operation)
    word = _MULTIPLY[False] if minus == other else _NEGATED_PRODUCT
    return [_row(word, [(0, 5), (1, 16)], NEW)]


def _fuse_alone(operation: Operation) -> list[InstructionRow]:
    """Return the fused operation that computes a product alone, ±a·b − 0, or a sum alone, ±a·1 ± b."""
    (_, minus), (_, other) = operation.signed
    if operation.shape is _PRODUCT_ALONE:
        word, bit, number = _FUSED[minus ^ other, False] | _MINUS_ZERO << 10, 16, _MINUS_ZERO
    else:
        word, bit, number = _FUSED[minus, other] | _ONE << 16, 10, _ONE
    return [_row(word, [(0, 5), (1, bit)], NEW, number)]


def _fuse(operation: Operation) -> list[InstructionRow]:
    (_, minus), (_, other), (_, opposite) = operation.signed
    if not operation.shape.wide:
        return [_row(_FUSED[minus ^ other, opposite], [(0, 5), (1, 16), (2, 10)], NEW)]
    words = _FUSED_ALL if operation.shape.name == _FUSE_LANES else _FUSED_PAIRS
    return [_row(words[minus ^ other], [(0, 5), (1, 16)], RENEWED + 2)]


def _select(operation: Operation) -> list[InstructionRow]:
    rows, (_, a, b) = _operands(operation)
    return [*rows, _row(_SELECT, [(a, 5), (b, 16)], RENEWED)]


def _insert(operation: Operation) -> list[InstructionRow]:
    """Return instructions that copy the first lane of one value to the second lane of another."""
    rows, (a, b) = _operands(operation)
    if a >= 0:
        return [*rows, _row(_INSERT, [(b, 5)], RENEWED)]
    return [*rows, _row(_INSERT, [(a, 0), (b, 5)], NO_RESULT), _row(COPY, [(a, 5), (a, 16)], NEW)]


def _one_if_set(operation: Operation) -> list[InstructionRow]:
    return [_row(_WORDS["both"][False] | _ONE << 16, [(0, 5)], NEW, _ONE)]


def _unequal(operation: Operation) -> list[InstructionRow]:
    """Return the comparison "not equal", of two values or of one with zero.

    It is the opposite of "equal", which goes to a spare register.
    """
    form = operation.shape
    zero = form.name == _UNEQUAL_ZERO
    equal = _WORDS["equal zero" if zero else "equal"][form.wide] | _ONE
    operands = [(0, 5)] if zero else [(0, 5), (1, 16)]
    return [_row(equal, operands, NO_RESULT, changed=_ONE), _row(_NOT | _ONE << 5, [], NEW)]


def _swap(operation: Operation) -> list[InstructionRow]:
    rows, (a,) = _operands(operation)
    return [*rows, _row(_SWAP, [(a, 5), (a, 16)], NEW)]


def _put(operation: Operation) -> list[InstructionRow]:
    """Return the store of zero, or of a loaded value."""
    if not operation.signed:
        return [InstructionRow(PUT_ZERO)]
    return [InstructionRow(PUT_DOUBLE if operation.place[2] == "double" else PUT_PAIR)]


def _integer_array(values: Sequence[int], size: int = 0) -> np.ndarray:
    """Return whole numbers as an array, padded with zeros to a size."""
    found = np.zeros(max(size, len(values), 1), dtype=np.int64)
    found[: len(values)] = values
    return found


_WRITERS: dict[str, Callable[[Operation], list[InstructionRow]]] = {
    **dict.fromkeys(_WORDS, _simple),
    **dict.fromkeys(_PRODUCTS, _multiply),
    **dict.fromkeys(_FUSIONS, _fuse),
    **dict.fromkeys((_PRODUCT_ALONE.name, _SUM_ALONE.name), _fuse_alone),
    "select": _select,
    "select one": _select,
    _ONE_IF_SET: _one_if_set,
    _UNEQUAL: _unequal,
    _UNEQUAL_ZERO: _unequal,
    "insert": _insert,
    "swap": _swap,
    "put": _put,
}


def _compares(name: str) -> bool:
    return name.removesuffix(" zero") in COMPARISONS.values()


class _ArmSelection(Selection):
    """Selection of instructions for 64-bit ARM, with the latencies of a Neoverse N1."""

    LATENCIES: ClassVar[dict[str, int]] = {
        **dict.fromkeys(_WRITERS, 3),
        **dict.fromkeys(("fuse", _FUSE_LANES, "maximum", "minimum", "root", "size"), 4),
        **dict.fromkeys(("add", "subtract", "negate", _ADD_LANES), 2),
        **dict.fromkeys(("both", "either", "select one"), 2),
        **dict.fromkeys(filter(_compares, _WORDS), 2),
        "divide": 13,
    }

    def __init__(
        self, lines: Sequence[Line], loads: Mapping[str, Load], opposites: Mapping[str, str]
    ) -> None:
        self.fused: set[str] = set()  # names of fused operations
        # by name of a pair or lane: BOTH_LANES or SECOND_LANE, and the value that it was made from
        self.of_one: dict[str, tuple[Form, str]] = {}
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
        if given:  # copied through integer registers
            self.operations[-1].renewed = given[0][0]

    def suit_operation(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        """Return an equivalent operation that uses known lanes and negates fewer operands; the last result
        is true if it computes the opposite value.

        A product of pairs with a factor of two equal lanes becomes a product with that lane, and the two
        lanes of one pair are added directly.
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
        if form.name in _TURNED_ROUND:
            return Form(_TURNED_ROUND[form.name], form.wide), given[::-1], False
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
    """Replace sums a + b by fused operations a·1 + b, and products by a·b − 0 if they may take a cycle more.

    All operations then have the same latency. A unit delivers one result per cycle, so an operation waits if
    it would finish together with a slower one that started before it; random sequences of two latencies lose
    a tenth of the time. If only sums are replaced, the Stanford arm takes 0.97 of the time; a chain of eight
    bodies, a chain of 64, and 12 models on average take 0.98. If only sums with two spare cycles are
    replaced, the share is 0.985.
    Operations on pairs are not replaced. If most of the code is pairs, sums of single doubles are not
    replaced either, since that would save nothing.
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
            given.sort(key=lambda value: place.get(value[0], -1))  # the addend may come late
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


Arm64.SELECTION, Arm64.change = _ArmSelection, staticmethod(_fuse_single)


# The frame around the machine code of a section on arm64, with numbers beside the code and checks of angles.
# Thirds, and the function that replaces angles, are explained in ``machine_code.py``.
#
#     entry     angles = state; thirds = those below; limit
#     common    numbers = those below; save registers
#               operations; among them, for each angle: jump to far if it is beyond the limit
#               restore registers; return
#     far       restore registers; jump to the function that replaces angles, which calls the second entry
#     entry_at  a limit that nothing exceeds, not even NaN; jump to common
#     address of that function; thirds; numbers
#
# If LLVM compiled the entry and the checks ahead of the operations, with four instructions for each address,
# they would take 10 of the 253 cycles of the Stanford arm.

CHECK, LIMIT_REGISTER = 15, 8  # integer registers
_BESIDE = 1 << 18  # range of addresses and branches, in words
_SET_LIMIT = [
    (0xD2800000 if i == 3 else 0xF2800000) | i << 21 | (NEAR >> 16 * i & 0xFFFF) << 5 | LIMIT_REGISTER
    for i in (3, 2, 1, 0)
    if NEAR >> 16 * i & 0xFFFF
]  # movz of the highest non-zero quarter, movk of the others


def reaches(entry: Entry, words: int) -> bool:
    """Return whether single instructions can load each angle and reach the data after ``words`` words."""
    around = words + len(_SET_LIMIT) + 8 + 5 * len(entry.angles)
    return max(entry.angles, default=0) < 4096 and around < _BESIDE


# sub sp, sp, 4096; str xzr, [sp]: a large frame touches its pages one after the other, so that overflow of
# the stack ends at its guard page; otherwise the frame might lie in the memory beyond.
TOUCHED_PAGE = [0xD14007FF, 0xF90003FF]


def frame_code(
    entry: Entry, head: Sequence[int], body: Sequence[int], tail: Sequence[int], arrays: Sequence[str]
) -> Encoded:
    """Return the code with its frame; ``arrays`` are in the order of their registers."""
    register = {name: i for i, name in enumerate(arrays)}
    places = list(dict.fromkeys(entry.angles))
    middle: list[int] = []
    branches = []
    for i, place in enumerate(places):
        middle += body[SPACING * i : SPACING * (i + 1)]
        middle.append(0xF9400000 | place << 10 | register["angles"] << 5 | CHECK)
        # compare the limit with the angle's bits shifted left by one, without the sign
        middle.append(0xEB000400 | CHECK << 16 | LIMIT_REGISTER << 5 | 31)
        branches.append(len(middle))
        middle.append(0x54000009)  # branch if the limit is not higher
    middle += body[SPACING * len(places) :]
    common = 2 + len(_SET_LIMIT) if places else 0
    start = common + bool(entry.numbers) + len(head)
    far = start + len(middle) + len(tail) + 1
    second = far + len(tail) + 2
    address = second + 2 if places else far
    address += address % 2
    thirds = address + 2 if places else address
    for branch in branches:
        middle[branch] |= far - start - branch << 5
    words = []
    if places:
        words.append(0xAA0003E0 | register["state"] << 16 | register["angles"])
        words += [_address(register["thirds"], thirds - 1), *_SET_LIMIT]
    if entry.numbers:
        words.append(_address(register["numbers"], thirds + 2 * len(entry.angles) - common))
    words += [*head, *middle, *tail, 0xD65F03C0]
    if places:
        words += [*tail, 0x58000010 | address - second + 2 << 5, 0xD61F0200]  # to the address, by x16
        words += [0x92800000 | LIMIT_REGISTER, 0x14000000 | common - second - 1 & 0x3FFFFFF]
    words += [0xD503201F] * (address - len(words))
    words += [0, 0] if places else []
    code = pack(f"<{len(words)}I", *words) + entry.values()
    return Encoded(code, [*arrays], 4 * second if places else 0, 4 * address if places else -1)


def _address(register: int, words: int) -> int:
    """Return the word that loads the address ``words`` words from itself."""
    return 0x10000000 | words << 5 | register
