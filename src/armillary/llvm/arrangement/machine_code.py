"""Machine code of a section from its lines: selection of operations, and the frame around the code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from struct import pack
from typing import ClassVar, NamedTuple

from armillary.llvm.arrangement.arrangement import (
    LIMITS,
    PAIR,
    Limits,
    Line,
    Load,
    Operation,
    Registers,
    Store,
    chosen_order,
)
from armillary.llvm.instructions import real
from armillary.llvm.sines import LIMIT, PI_OVER_2

# Operations of machine code, by their LLVM text.
#
# A form names an operation; its instructions are in the modules of instruction sets (``arm64.py``,
# ``x86_64.py``). Operations on pairs and on four doubles are the same operation on all lanes.

FOUR = "<4 x double>"
WIDTHS = {"double": 0, PAIR: 1, FOUR: 2}


class Form(NamedTuple):
    """An operation without its operands: its name, and 0, 1 or 2 for one, two or four doubles."""

    name: str
    wide: int


ALIKE = Form("alike", 0)  # the value is in its operand's register: no instruction
PUT = Form("put", 0)  # store a loaded value, or zero
NEGATIONS = [Form("negate", wide) for wide in WIDTHS.values()]
BOTH_LANES = Form("both lanes", 1)
SECOND_LANE = Form("second lane", 1)
THIRD, FOURTH = Form("insert third", 2), Form("insert fourth", 2)


ZERO = "0x0000000000000000"
# Comparisons, whose results are masks as wide as a value; with NaN only ``unequal`` is true.
COMPARISONS = {
    "ogt": "greater",
    "oge": "not less",
    "olt": "less",
    "ole": "not greater",
    "oeq": "equal",
    "une": "unequal",
}


def permutation(lanes: Sequence[int], wide: int) -> Form:
    """Return the form of a choice of lanes; its name has the number that encodes the choice."""
    return Form(f"lanes {sum([lane << 2 * i for i, lane in enumerate(lanes)])}", wide)


def _chosen_lanes(kind: str, lanes: Sequence[int]) -> str:
    mask = ", ".join([f"i32 {lane}" for lane in lanes])
    return f"shufflevector {kind} $, {kind} poison, <{len(lanes)} x i32> <{mask}>"


def _forms() -> dict[str, Form]:
    made: dict[str, Form] = {}
    for wide, kind, end in ((0, "double", "f64"), (1, PAIR, "v2f64"), (2, FOUR, "v4f64")):
        for word, name in (("fmul", "multiply"), ("fdiv", "divide"), ("fadd", "add"), ("fsub", "subtract")):
            made[f"{word} {kind} $, $"] = Form(name, wide)
        for word in ("fmuladd", "fma"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $, {kind} $)"] = Form("fuse", wide)
        for word in ("maximum", "minimum"):
            made[f"call {kind} @llvm.{word}.{end}({kind} $, {kind} $)"] = Form(word, wide)
        for word, name in (("sqrt", "root"), ("fabs", "size")):
            made[f"call {kind} @llvm.{word}.{end}({kind} $)"] = Form(name, wide)
    for wide, kind, mask in ((0, "double", "i1"), (1, PAIR, "<2 x i1>"), (2, FOUR, "<4 x i1>")):
        for word, name in COMPARISONS.items():
            made[f"fcmp {word} {kind} $, $"] = Form(name, wide)
            zero = f"splat (double {ZERO})" if wide else ZERO
            made[f"fcmp {word} {kind} $, {zero}"] = Form(f"{name} zero", wide)
        made[f"select {mask} $, {kind} $, {kind} $"] = Form("select" if wide else "select one", wide)
        made[f"and {mask} $, $"], made[f"or {mask} $, $"] = Form("both", wide), Form("either", wide)
        made[f"uitofp {mask} $ to {kind}"] = Form("one if set", wide)
    for wide, kind, bits in ((1, PAIR, "<2 x i64>"), (2, FOUR, "<4 x i64>")):
        for text, name in (
            (f"xor {bits} $, $", "turn signs"),
            (f"shl {bits} $, splat (i64 63)", "last bit first"),
            (f"lshr {bits} $, splat (i64 1)", "bits down"),
            (f"icmp slt {bits} $, splat (i64 0)", "first bit"),
            (f"shl {bits} $, splat (i64 52)", "to the exponent"),
            (f"lshr {bits} $, splat (i64 52)", "from the exponent"),
            (f"add {bits} $, $", "add whole"),
            (f"sub {bits} $, $", "subtract whole"),
            (f"and {bits} $, $", "both"),
            (f"or {bits} $, $", "either"),
        ):
            made[text] = Form(name, wide)
        made[f"bitcast {kind} $ to {bits}"] = made[f"bitcast {bits} $ to {kind}"] = ALIKE
    for lanes in product(range(4), repeat=2):
        made[_chosen_lanes(FOUR, lanes)] = permutation((*lanes, 0, 0), 1)
    for lanes in product(range(2), repeat=4):
        made[_chosen_lanes(PAIR, lanes)] = permutation(lanes, 2)
    made[f"extractelement {PAIR} $, i64 1"] = SECOND_LANE
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> zeroinitializer"] = BOTH_LANES
    made[f"shufflevector {PAIR} $, {PAIR} poison, <2 x i32> <i32 1, i32 0>"] = Form("swap", 1)
    made[f"insertelement {PAIR} $, double $, i64 1"] = Form("insert", 1)
    made[f"extractelement {FOUR} $, i64 1"] = SECOND_LANE
    made[f"extractelement {FOUR} $, i64 2"] = Form("third lane", 2)
    made[f"extractelement {FOUR} $, i64 3"] = Form("fourth lane", 2)
    made[f"insertelement {FOUR} $, double $, i64 1"] = Form("insert", 1)
    made[f"insertelement {FOUR} $, double $, i64 2"] = THIRD
    made[f"insertelement {FOUR} $, double $, i64 3"] = FOURTH
    made[f"shufflevector {FOUR} $, {FOUR} poison, <4 x i32> zeroinitializer"] = Form("both lanes", 2)
    made[f"shufflevector {FOUR} $, {FOUR} poison, <2 x i32> <i32 2, i32 3>"] = Form("upper half", 2)
    for text in (
        f"insertelement {FOUR} poison, double $, i64 0",
        f"extractelement {FOUR} $, i64 0",
        f"shufflevector {FOUR} $, {FOUR} poison, <2 x i32> <i32 0, i32 1>",
        f"extractelement {PAIR} $, i64 0",
        f"insertelement {PAIR} poison, double $, i64 0",
    ):
        made[text] = ALIKE
    return made


FORMS = _forms()


def _kind(text: str, form: Form) -> str:
    """Return the kind of the value of an operation."""
    if text.startswith("extractelement") or (not form.wide and form is not ALIKE):
        return "double"
    whole = form.name != "upper half" if form.wide == 2 else text.startswith("bitcast") and FOUR in text
    return FOUR if whole else PAIR


KINDS = {text: _kind(text, form) for text, form in FORMS.items()}


# The frame around the machine code of a section: its arguments, and its form in an LLVM module.
#
# The first entry takes the arrays of the section and reads angles from its state; the usual thirds (the third
# parts of π/2, see ``sines.py``) are stored beside the code, like the numbers. Among the operations, angles
# are compared with LIMIT. If one is larger, the code jumps to a function that replaces angles and calls the
# second entry, which takes angles and thirds as further arrays. All results are then stored again.
# ``arm64.py`` and ``x86_64.py`` write the frame.

SPACING = 12  # instructions between two comparisons of angles
NEAR = 2 * int(real(LIMIT), 16)  # LIMIT's bits shifted left by one, without the sign


class Entry(NamedTuple):
    """Arrays of a section, indices of its angles in the state, and numbers beside the code."""

    arguments: Sequence[str]
    angles: Sequence[int]
    numbers: Sequence[float]

    def arrays(self, used: Iterable[str], most: int) -> list[str]:
        """Return the arrays in the order of their registers: all if at most ``most``, else the used ones."""
        further = (["angles", "thirds"] if self.angles else []) + (["numbers"] if self.numbers else [])
        if len(self.arguments) + len(further) <= most:
            return [*self.arguments, *further]
        needed = {*used, "state"}
        return [*[a for a in self.arguments if a in needed], *further]

    def values(self) -> bytes:
        """Return the bytes of the third part of π/2 for each angle, and of the numbers."""
        values = [*[PI_OVER_2[2]] * len(self.angles), *self.numbers]
        return pack(f"<{len(values)}d", *values)


class Encoded(NamedTuple):
    """Machine code of a function whose arguments are the addresses of ``arrays``.

    ``second`` is the offset in bytes of the second entry, ``address`` the offset of the address of the
    function that replaces angles. Without angles they are 0 and −1.
    """

    code: bytes
    arrays: list[str]
    second: int
    address: int


def machine_code(name: str, encoded: Encoded) -> str:
    """Return the functions NAME_code and NAME_code_at with this code, as part of an LLVM module.

    The function that replaces angles is NAME_far. The code is written as a string of bytes, which LLVM reads
    in a tenth of the time of a list of numbers (1.5 µs per word).
    """
    code, second, address = encoded.code, encoded.second, encoded.address
    lines = [".text", ".p2align 6", f"{name}_code:", *_bytes(code[:second])]
    if address < 0:
        lines += _bytes(code[second:])
    else:
        lines += [f"{name}_code_at:", *_bytes(code[second:address]), f".quad {name}_far"]
        lines += _bytes(code[address + 8 :])
    return "\n".join([f'module asm "{line}"' for line in lines])


def _bytes(code: bytes) -> list[str]:
    text = "".join(map(_WRITTEN_BYTES.__getitem__, code))
    return [f".ascii \\22{text}\\22"] if text else []


# Bytes as written in a string of assembler in a string of LLVM, where \ is \5C and " is \22.
_WRITTEN_BYTES = [
    f"\\5C{byte:03o}" if byte < 32 or byte > 126 or chr(byte) in '\\"' else chr(byte) for byte in range(256)
]


# Selection of operations for an instruction set.
#
# LLVM takes 50 µs per operation to select similar instructions once order, registers, loads and stores are
# decided (``arrangement.py``): 0.6 s for a chain of 64 links, for which this code takes 0.12 s. A section
# with an operation that the selection for its instruction set does not support is compiled by LLVM.

Signed = list[tuple[str, bool]]  # operands, and whether they are negated


class Selection:
    """Operations of lines, and stores of values; ``complete`` unless an operation is unsupported."""

    WIDEST: ClassVar[int] = 1  # values are pairs at most
    LATENCIES: ClassVar[Mapping[str, int]]  # cycles until a result can be used, by the names of forms

    def __init__(
        self, lines: Sequence[Line], loads: Mapping[str, Load], opposites: Mapping[str, str]
    ) -> None:
        self.loads, self.opposites = loads, opposites
        self.operations: list[Operation] = []
        self.results: dict[str, list[Load]] = {}
        # For each name of a value: the value whose register it shares, and whether that value is its
        # opposite.
        self.alike: dict[str, tuple[str, bool]] = {}
        self.made: dict[str, Operation] = {}
        self.complete = True
        for line in lines:
            if not self.add(*line):
                self.complete = False
                break

    def signed_register(self, name: str) -> tuple[str, bool]:
        """Return the value whose register holds a value, and whether the value is its opposite."""
        source = self.opposites.get(name)
        if source is None:
            return self.alike.get(name) or (name, False)
        found, minus = self.alike.get(source) or (source, False)
        return found, not minus

    def add(self, name: str, text: str, names: Sequence[str]) -> bool:
        form = FORMS.get(text)
        if form is None:
            return False
        if form is ALIKE:
            self.rename(name, text, self.signed_register(names[0]))
            return True
        given, opposites, alike = [], self.opposites, self.alike
        for a in names:
            given.append(self.signed_register(a) if a in opposites or a in alike else (a, False))
        form, given, minus = self.suit_operation(name, form, given)
        if form.name not in self.LATENCIES or form.wide > self.WIDEST:
            return False
        self.append(name, KINDS[text], form, given)
        if minus:
            alike[name] = name, True
        return True

    def rename(self, name: str, text: str, given: tuple[str, bool]) -> None:
        """Enter a value that shares the register of another value."""
        source, minus = given
        if minus:
            self.append(name, KINDS[text], NEGATIONS[1], [(source, False)])
        else:
            self.alike[name] = source, False

    def append(self, name: str, kind: str, form: Form, given: Signed) -> Operation:
        operation = Operation(name, kind, [a for a, _ in given], self.LATENCIES[form.name])
        operation.shape, operation.signed = form, given
        self.operations.append(operation)
        self.made[name] = operation
        return operation

    def suit_operation(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        """Return an operation adapted to the instruction set, and whether its result is the opposite."""
        return form, given, False

    def opposite(self, operation: Operation) -> bool:
        """Make an operation compute the opposite if this costs no instruction; return whether it was done."""
        raise NotImplementedError

    def store(self, stores: Sequence[Store]) -> bool:
        """Add the stores of values to operations, or as operations; return whether all are supported."""
        known = [kind for kind, wide in WIDTHS.items() if wide <= self.WIDEST]
        if any([kind not in known for _, _, kind in self.loads.values()]):
            return False
        found = [self.signed_register(value) for value, _ in stores]
        self._turn_round(found)
        computed = set(self.made)
        for (value, place), (name, minus) in zip(stores, found, strict=True):
            if name in computed and not minus:
                self.results.setdefault(name, []).append(place)
            elif value == ZERO and place[2] == "double":
                self.put([], place)
            elif name not in computed and name not in self.loads:
                return False
            elif minus:  # the opposite is a further value, which may be stored together with another one
                own = f"{value} {place}"
                self.append(own, place[2], NEGATIONS[WIDTHS[place[2]]], [(name, False)])
                self.results[own] = [place]
            else:
                self.put([(name, False)], place)
        return True

    def put(self, given: Signed, place: Load) -> None:
        operation = Operation("", "", [a for a, _ in given], 0)
        operation.shape, operation.signed, operation.place = PUT, given, place
        self.operations.append(operation)

    def _turn_round(self, stored: list[tuple[str, bool]]) -> None:
        """Make operations compute stored values themselves, not their opposites, if that costs nothing."""
        users = {name: 0 for name, minus in stored if minus}
        if not users:
            return
        for operation in self.operations:
            for name in operation.operands:
                if name in users:
                    users[name] += 1
        for name, _ in stored:
            if name in users:
                users[name] += 1
        for i, (name, minus) in enumerate(stored):
            if minus and users[name] == 1 and name in self.made and self.opposite(self.made[name]):
                stored[i] = name, False


class MachineCode(Registers):
    """A writer of instructions for operations in an order; ``held`` of ``Registers`` has register numbers."""

    SELECTION: ClassVar[type[Selection]]
    MOST_ARRAYS: ClassVar[int]  # most addresses that are passed in registers
    RESERVED: ClassVar[int]  # registers that hold no values
    WRITERS: ClassVar[Mapping[str, Callable[..., int]]]  # by the names of forms
    change: ClassVar[Callable[[Sequence[Operation], Sequence[int]], None] | None] = None
    limits: Limits = LIMITS

    def limits_for(self, operations: Sequence[Operation]) -> Limits:
        """Return the limits of live values with which these operations are ordered."""
        return self.limits

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str],
        registers: int,
    ) -> None:
        super().__init__(loads, {}, results, registers - self.RESERVED)
        self.given, self.registers = list(arrays), registers
        self.made = -1  # the register of the current operation's value

    def operate(self, operation: Operation) -> int:
        self.made = -1
        return self.WRITERS[operation.shape.name](self, operation)

    def finish(self) -> None:
        self.made = -1

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        """Return the code of operations in this order; `None` if it cannot be written."""
        raise NotImplementedError


def encode_lines(
    lines: Sequence[Line],
    loads: Mapping[str, Load],
    opposites: Mapping[str, str],
    stores: Sequence[Store],
    entry: Entry,
    machine: type[MachineCode],
    registers: int,
) -> Encoded | None:
    """Return the machine code of arranged lines; `None` if one of the operations is not supported."""
    selection = machine.SELECTION(lines, loads, opposites)
    if not selection.complete or not selection.store(stores):
        return None
    used = [place[0] for place in (*loads.values(), *(place for _, place in stores))]
    code = machine(loads, selection.results, entry.arrays(used, machine.MOST_ARRAYS), registers)
    order = chosen_order(
        selection.operations,
        selection.results,
        code.neighbours(),
        machine.change,
        code.limits_for(selection.operations),
    )
    return code.function(order, entry)
