"""Instruction words of arm64 code, made from the steps of ``order_and_registers.py`` by compiled routines.

The routines give register numbers to values, and addresses to places in memory. A word is the sum of an
instruction's constant bits and its register fields: each register number times the value of the lowest bit of
its field. ``InstructionRow`` is one instruction of an operation.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.llvm.arrangement import order_and_registers as choice
from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, WHOLE, IRModule
from armillary.llvm.building.routines import (
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    routine,
)
from armillary.llvm.jit import GENERAL, machine_settings

STACK = 31  # sp as the register of an address
ADDRESS_PLUS = 0x91000000  # add with an immediate of twelve bits
COPY = 0x4EA01C00
# Spare registers with the instructions that set each to its constant: 1 in both lanes, and −0. Operations
# also use these registers for intermediate values; the constant is then set again before its next use.
SPARE = {30: (0x6F03F61E,), 31: (0x2F00E41F, 0x1E6143FF)}
NEARBY = (16, 14)  # registers for the two addresses within large arrays that were used last
_INTEGERS = (17, 13)  # integer registers for copies; the second one must not hold an address of ``odd``
_REACH = 63  # doubles to either side of an address that an instruction on two doubles reaches
_FAR = 4096  # doubles after an address that other instructions reach

_LOAD, _STORE = (0xFD400000, 0x3DC00000), (0xFD000000, 0x3D800000)  # of one double, of two
_LOAD_INTEGER, _STORE_INTEGER = (0xF9400000, 0), (0xF9000000, 0)
_STORE_TWO = 0x6D000000  # of two doubles, at a multiple of eight bytes between −512 and 504
_LOAD_TWO_INTEGERS, _STORE_TWO_INTEGERS = 0xA9400000, 0xA9000000

# Registers of results: none, a new one, or (RENEWED + k) that of operand k; if operand k is still needed, a
# new register with a copy of it.
NO_RESULT, NEW, RENEWED = range(3)
PUT_ZERO, PUT_DOUBLE, PUT_PAIR = -1, -2, -3  # in place of a word


class InstructionRow(NamedTuple):
    """An instruction word without registers, and the registers to insert.

    ``a``, ``b``, ``c``: operands by index, each with the value of the lowest bit of its field;
    ``result``: the register in the lowest bits; ``number``: the spare register whose constant is
    used; ``changed``: the spare register that is overwritten.
    """

    word: int
    a: int = -1
    a_bit: int = 0
    b: int = -1
    b_bit: int = 0
    c: int = -1
    c_bit: int = 0
    result: int = NO_RESULT
    number: int = 0
    changed: int = 0


# Indices in the array ``state``: numbers of words, of free registers, of slots on the stack and of ``odd``
# addresses; whether pairs are copied; the register of the new value; the value of a BESIDE step, or −1.
_WORDS, _ROOM, _SLOTS, _ODD, _COPIES_PAIRS, _MADE, _BESIDE = range(7)
# two entries each, for the addresses in NEARBY, last used first: base, offset in doubles, and register
_BASES, _MIDDLES, _NEAR = 8, 10, 12
_HELD = 14  # one entry per spare register, from here on: whether it holds its constant
_STATE = 16

_FIELDS = RoutineLayout(
    ("size", "first_odd"),
    (
        "steps", "places",
        "first_row", "end_row", "rows", "first_given", "given", "made", "last_user", "single",
        "base", "index", "known", "result_base", "result_index", "result_wide", "result_value", "result_of",
        "put_base", "put_index", "register", "waiting", "room", "taken", "odd", "odd_bases", "words", "state",
    ),
)  # fmt: skip


class EncodedSteps(NamedTuple):
    """Words, and the resources that they need.

    ``slots``: doubles on the stack; ``odd``: base registers of arrays that need a second address, one double
    further, in the order of the registers of these addresses; ``taken``: registers that hold values at some
    time; ``copies_pairs``: whether pairs are copied through integer registers.
    """

    words: list[int]
    slots: int
    odd: list[int]
    taken: list[bool]
    copies_pairs: bool


def words_of_steps(
    arrays: dict[str, np.ndarray], room: list[int], values: int, first_odd: int
) -> EncodedSteps:
    """Return the words of all steps.

    ``values``: number of values; ``room``: free registers, used from the end; integer registers from
    ``first_odd`` on are free. ``arrays`` has all instruction rows and the range of rows of each operation,
    the values ``given`` to operations, and the base, index and kind of each place in memory; the other arrays
    are made here.
    """
    state = np.zeros(_STATE, dtype=np.int64)
    state[[_ROOM, _MADE, _BESIDE]] = len(room), -1, -1
    state[_BASES : _BASES + 2] = -1
    state[_NEAR : _NEAR + 2] = NEARBY[::-1]
    size, zeros = len(arrays["steps"]), np.zeros
    own = {
        "state": state, "room": np.array([*room, *[0] * 32], dtype=np.int64),
        "words": np.empty(8 * size + 64, dtype=np.int64), "register": np.full(values + 1, -1, dtype=np.int64),
        "waiting": zeros(values + 1, dtype=np.int64), "taken": zeros(32, dtype=np.int64),
        "odd": np.full(32, -1, dtype=np.int64), "odd_bases": zeros(32, dtype=np.int64),
    }  # fmt: skip
    numbers = {"size": size, "first_odd": first_odd}
    compiled_words()("words", _FIELDS.fields({**arrays, **own, **numbers}))
    words, odd = own["words"][: state[_WORDS]].tolist(), own["odd_bases"][: state[_ODD]].tolist()
    taken = own["taken"].astype(bool).tolist()
    return EncodedSteps(words, int(state[_SLOTS]), odd, taken, bool(state[_COPIES_PAIRS]))


def compiled_words() -> RoutineMethod:
    return _words_method(machine_settings())


@cache
def _words_method(chosen: tuple[object, ...]) -> RoutineMethod:
    """Return one method with the code of this file and of order_and_registers.py.

    It is kept for this process, since loading a method takes 2 ms.
    """
    files = [Path(__file__), Path(choice.__file__)]
    return compiled_method("arm64 words", _text, files, ["steps", "words"], 1, GENERAL)


def _text() -> str:
    module = IRModule()
    choice.write_choice(module)
    near = routine(module, _FIELDS, "near", WHOLE, WHOLE, WHOLE)
    _near(near)
    two = routine(module, _FIELDS, "two", NOTHING, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE)
    _two(two, near)
    memory = routine(module, _FIELDS, "memory", NOTHING, *[WHOLE] * 6)
    _memory(memory, near)
    operate = routine(module, _FIELDS, "operate", NOTHING, WHOLE)
    _Writer(operate, memory, two).operate(operate.argument(1))
    _Writer(routine(module, _FIELDS, "words", NOTHING, public=True), memory, two).words(operate)
    return str(module)


def _get(r: Routine, entry: int) -> Value:
    return r.index("state", r.whole(entry))


def _set(r: Routine, entry: int, value: Value) -> None:
    r.put_index("state", r.whole(entry), value)


def _write(r: Routine, word: Value) -> None:
    count = _get(r, _WORDS)
    r.put_index("words", count, word)
    _set(r, _WORDS, count + 1)


def _near(r: Routine) -> None:
    """Emit: return a register with the address ``middle`` doubles after the base.

    Two such registers are kept; if neither has the address, the least recently used one is replaced. The
    work arrays of humanoids have thousands of numbers: with an addition for each access instead, the matrices
    A and B of a linearisation would take 6 % more instructions.
    """
    base, middle = r.argument(1), r.argument(2)
    last, older = ([_get(r, first + i) for first in (_BASES, _MIDDLES, _NEAR)] for i in range(2))
    with r.when(last[0].equals(base) & last[1].equals(middle)):
        r.give(last[2])
    register = older[2]
    for entry, value in zip((_BASES, _MIDDLES, _NEAR), last, strict=True):
        _set(r, entry + 1, value)
    for entry, value in zip((_BASES, _MIDDLES, _NEAR), (base, middle, register), strict=True):
        _set(r, entry, value)
    with r.when(older[0].equals(base) & older[1].equals(middle)):
        r.give(register)
    offset = middle * 8
    pages = offset.whole_quotient(r.whole(4096))
    left = offset - pages * 4096
    source = Local(r, base)
    with r.when(pages > 0):
        _write(r, pages * 1024 + base * 32 + register + (ADDRESS_PLUS | 0x400000))
        source.set(register)
    with r.when(left > 0):
        _write(r, left * 1024 + source.get() * 32 + register + ADDRESS_PLUS)
    r.give(register)


def _two(r: Routine, near: Routine) -> None:
    """Emit a load or store of two registers, to neighbouring doubles from a place on."""
    word, low, high = (r.argument(i) for i in (1, 2, 3))
    base, index = Local(r, r.argument(4)), Local(r, r.argument(5))
    with r.when(index.get() > _REACH):
        middle = (index.get() + _REACH).whole_quotient(r.whole(2 * _REACH)) * (2 * _REACH)
        base.set(r.run(near, base.get(), middle))
        index.set(index.get() - middle)
    _write(r, word + (index.get() & r.whole(127)) * (1 << 15) + high * 1024 + base.get() * 32 + low)
    r.give()


def _memory(r: Routine, near: Routine) -> None:
    """Emit a load or store of a register.

    Arguments: the word for a double, the word for a pair, the register, whether it holds a pair, base, index.
    """
    single, pair, register, wide = (r.argument(i) for i in (1, 2, 3, 4))
    base, index = Local(r, r.argument(5)), Local(r, r.argument(6))
    word, size = Local(r, single), Local(r, r.whole(1))
    with r.when(wide.equals(1)):
        word.set(pair)
        size.set(2)
        with r.when((index.get() & r.whole(1)).equals(1)):  # needs the address one double further
            with r.when(r.index("odd", base.get()) < 0):
                count = _get(r, _ODD)
                r.put_index("odd", base.get(), count + r["first_odd"])
                r.put_index("odd_bases", count, base.get())
                _set(r, _ODD, count + 1)
            base.set(r.index("odd", base.get()))
            index.set(index.get() - 1)
    with r.when(index.get() >= size.get() * _FAR):
        middle = index.get().whole_quotient(r.whole(_FAR)) * _FAR
        base.set(r.run(near, base.get(), middle))
        index.set(index.get() - middle)
    _write(r, word.get() + index.get().whole_quotient(size.get()) * 1024 + base.get() * 32 + register)
    r.give()


class _Writer:
    """A writer of instructions for steps and operations."""

    def __init__(self, r: Routine, memory: Routine, two: Routine) -> None:
        self.r, self.memory_routine, self.two_routine = r, memory, two

    def memory(self, words: tuple[int, int], register: Value, wide: Value, base: Value, index: Value) -> None:
        r = self.r
        r.run(self.memory_routine, r.whole(words[0]), r.whole(words[1]), register, wide, base, index)

    def own_memory(self, words: tuple[int, int], register: Value, value: Value) -> None:
        """Emit a load or store of a value at its place."""
        base, index = (self.r.index(name, value) for name in ("base", "index"))
        self.memory(words, register, 1 - self.r.index("single", value), base, index)

    def two(self, word: int, low: Value, high: Value, base: Value, index: Value) -> None:
        self.r.run(self.two_routine, self.r.whole(word), low, high, base, index)

    def take(self) -> Value:
        """Return a free register; there is always one more register than held values."""
        r = self.r
        room = _get(r, _ROOM) - 1
        _set(r, _ROOM, room)
        register = r.index("room", room)
        r.put_index("taken", register, r.whole(1))
        return register

    def release(self, register: Value) -> None:
        r, room = self.r, _get(self.r, _ROOM)
        r.put_index("room", room, register)
        _set(r, _ROOM, room + 1)

    def place(self, value: Value, base: Value, index: Value) -> None:
        """Emit: record the place at which a value is stored."""
        for name, entry in (("base", base), ("index", index), ("known", self.r.whole(1))):
            self.r.put_index(name, value, entry)

    # ---------------------------------------------------------------- operations

    def operate(self, i: Value) -> None:
        r = self.r
        _set(r, _MADE, r.whole(-1))
        first = r.index("first_given", i)
        with r.span(r.index("first_row", i), r.index("end_row", i)) as k:
            row = {
                name: r.index("rows", k * len(InstructionRow._fields) + place)
                for place, name in enumerate(InstructionRow._fields)
            }
            with r.when(row["word"] < 0):
                self._put(i, first, row["word"])
                r.give()
            word = Local(r, row["word"])
            for name in ("a", "b", "c"):
                with r.when(row[name] >= 0):
                    register = r.index("register", r.index("given", first + row[name]))
                    word.set(word.get() + register * row[f"{name}_bit"])
            for spare, words in SPARE.items():
                place = r.whole(_HELD + spare - min(SPARE))
                with r.when(row["changed"].equals(spare)):
                    r.put_index("state", place, r.whole(0))
                with r.when(row["number"].equals(spare)), r.when(r.index("state", place).equals(0)):
                    r.put_index("state", place, r.whole(1))
                    for each in words:
                        _write(r, r.whole(each))
            with r.when(row["result"].equals(NEW)):
                _set(r, _MADE, self.take())
            with r.when(row["result"] >= RENEWED):
                self._renew(i, r.index("given", first + row["result"] - RENEWED))
            with r.when(row["result"].differs(NO_RESULT)):
                word.set(word.get() + _get(r, _MADE))
            _write(r, word.get())
        r.give()

    def _renew(self, i: Value, value: Value) -> None:
        """Emit: set MADE to a register that holds a value and may be overwritten: the value's own register
        at its last use, else a new one with a copy.
        """
        r = self.r
        register = r.index("register", value)
        own = (register >= 0) & r.index("last_user", value).equals(i) & r.index("waiting", value).equals(0)
        with r.when(own):
            _set(r, _MADE, register)
        with r.when(~own):
            _set(r, _MADE, self.take())
            known = r.index("known", value).equals(1)
            with r.when(known):  # load the copy, since a load does not use the arithmetic units
                self.own_memory(_LOAD, _get(r, _MADE), value)
            with r.when(~known):
                _write(r, register * ((1 << 16) + (1 << 5)) + _get(r, _MADE) + COPY)

    def _put(self, i: Value, first: Value, what: Value) -> None:
        """Emit the store of zero, or of a value in memory, by integer registers, whose units are idle."""
        r, single = self.r, self.r.whole(0)
        base, index = r.index("put_base", i), r.index("put_index", i)
        with r.when(what.equals(PUT_ZERO)):
            self.memory(_STORE_INTEGER, r.whole(31), single, base, index)
        with r.when(what.equals(PUT_DOUBLE)):  # also for the first lane of a pair
            value, by = r.index("given", first), r.whole(_INTEGERS[0])
            self.memory(_LOAD_INTEGER, by, single, r.index("base", value), r.index("index", value))
            self.memory(_STORE_INTEGER, by, single, base, index)
        with r.when(what.equals(PUT_PAIR)):
            _set(r, _COPIES_PAIRS, r.whole(1))
            value = r.index("given", first)
            low, high = (r.whole(register) for register in _INTEGERS)
            self.two(_LOAD_TWO_INTEGERS, low, high, r.index("base", value), r.index("index", value))
            self.two(_STORE_TWO_INTEGERS, low, high, base, index)

    # ---------------------------------------------------------------- steps

    def words(self, operate: Routine) -> None:
        r = self.r
        with r.each(r["size"]) as k:
            step, place = r.index("steps", k), r.index("places", k)
            with r.when(step.equals(choice.DROP)):
                register = r.index("register", place)
                r.put_index("register", place, r.whole(-1))
                with r.when(register.differs(_get(r, _MADE))):
                    self.release(register)
            with r.when(step.equals(choice.OPERATE)):
                r.run(operate, place)
            with r.when(step.equals(choice.KEEP)):
                r.put_index("register", place, _get(r, _MADE))
                _set(r, _MADE, r.whole(-1))
            with r.when(step.equals(choice.LET_GO)):
                with r.when(r.index("made", place) >= 0):
                    self.release(_get(r, _MADE))
                _set(r, _MADE, r.whole(-1))
            with r.when(step.equals(choice.LOAD)):
                register = self.take()
                r.put_index("register", place, register)
                self.own_memory(_LOAD, register, place)
            with r.when(step.equals(choice.RESULT)):
                self._result(place)
            with r.when(step.equals(choice.SPILL)):
                self._spill(place)
            with r.when(step.equals(choice.BESIDE)):
                _set(r, _BESIDE, place)
            with r.when(step.equals(choice.WAIT)):
                r.put_index("waiting", place, r.whole(1))
            with r.when(step.equals(choice.STORE_WAITING)):
                self._store_waiting(place)
                self.own_memory(_STORE, r.index("register", place), place)
        r.give()

    def _store_waiting(self, value: Value) -> None:
        """Emit: record the place of a result that has waited to be stored with its neighbour."""
        r = self.r
        r.put_index("waiting", value, r.whole(0))
        j = r.index("result_of", value)
        self.place(value, r.index("result_base", j), r.index("result_index", j))

    def _result(self, j: Value) -> None:
        r = self.r
        base, index, wide = (r.index(f"result_{name}", j) for name in ("base", "index", "wide"))
        value, made, beside = r.index("result_value", j), _get(r, _MADE), _get(r, _BESIDE)
        with r.when(value >= 0):
            self.place(value, base, index)
        with r.when(beside < 0):
            self.memory(_STORE, made, wide, base, index)
        with r.when(beside >= 0):
            _set(r, _BESIDE, r.whole(-1))
            self._store_waiting(beside)
            other, there = r.index("register", beside), r.index("index", beside)
            with r.when(index < there):
                self.two(_STORE_TWO, made, other, base, index)
            with r.when(index >= there):
                self.two(_STORE_TWO, other, made, base, there)

    def _spill(self, value: Value) -> None:
        """Emit: spill a value to a new stack slot.

        A value noted as BESIDE is stored in the next slot by the same instruction, and keeps its register.
        """
        r = self.r
        beside, wide, stack = _get(r, _BESIDE), 1 - r.index("single", value), r.whole(STACK)
        slot = Local(r, _get(r, _SLOTS))
        register = r.index("register", value)
        with r.when(beside < 0):
            slot.set(slot.get() + (slot.get() & wide))
            self.place(value, stack, slot.get())
            self.own_memory(_STORE, register, value)
            _set(r, _SLOTS, slot.get() + 1 + wide)
        with r.when(beside >= 0):
            _set(r, _BESIDE, r.whole(-1))
            for i, each in enumerate((value, beside)):
                self.place(each, stack, slot.get() + i)
            self.two(_STORE_TWO, register, r.index("register", beside), stack, slot.get())
            _set(r, _SLOTS, slot.get() + 2)
