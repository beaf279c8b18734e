"""Instruction order and register allocation of straight-line code, in place of LLVM's.

A section is one block of hundreds of operations, with more live values than a machine has registers. LLVM
orders the operations for few live values, keeps numbers and inputs in registers, and spills results to make
room. On a Neoverse N1 a store takes the slot of an addition, and the spills take a fifth of the time of the
Stanford arm. In this file

    1. operations start in the order of a model machine: of the ready operations, the one with the longest
       chain of users first. While more values than a limit are alive, the operation that leaves the fewest
       live values goes first: among all operations if the machine is *patient*, else among the ready ones. On
       a Xeon a chain of eight links takes 6 % less time with a machine that is not patient, but a tree of 31
       bodies takes 4 % more. The tree has more operations per cycle of the longest chain (its *width*), so
       the width decides (``LIMITS``). In wide code only a window of the next operations in the given order is
       considered. Chains that would outlast all other operations go first in any case.
    2. if a value needs a register, the value with the farthest next use gives up its own (Belady 1966).
       Inputs and numbers are loaded again; other values are stored once, when they first lose their register.
       If one instruction stores two values (``arm64.py``), the next candidate is stored with the first, and
       results wait for their neighbours.

Loads and stores are volatile, and every few operations there is a label, across which LLVM's schedulers move
nothing; so LLVM's register allocation finds registers for all values. With inlined sines, code in this order
takes 0.81 of the time of code in LLVM's order for the Stanford arm, and 0.85 for a chain of eight.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain, compress, repeat
from math import inf
from typing import Any, ClassVar, TypeAlias

from armillary.llvm.arrangement.order_and_registers import (
    ANYWHERE,
    DROP,
    IN_REGISTER,
    KEEP,
    LET_GO,
    LOAD,
    OPERATE,
    RESULT,
    ModelMachine,
    Steps,
    chosen_steps,
    compiled_choice,
)
from armillary.llvm.building.routines import RoutineMethod
from armillary.llvm.instructions import LABEL
from armillary.untyped import DataTable

# Rows of: the largest width for which the row holds; the limit of live values; the window of operations (0:
# all); whether the machine is patient; the excess of a chain, in operations, above which it goes first in
# spite of the limit.
Limits = Sequence[tuple[float, int, int, bool, int]]
# Measured on a Neoverse N1. With a patient machine nine models take 2 to 9 % more. Without the excess rule a
# chain of eight takes 2 % more, and so do 18 models on average. Excesses of 20 to 60 operations give the same
# time, and so do limits of 24 to 40 values.
LIMITS: Limits = ((2.5, 32, 0, False, 40), (inf, 32, 1024, False, 40))
SPARE = 3  # registers for LLVM's intermediate values
LABELS = 16  # operations between labels

# Latencies of a Neoverse N1 in cycles; with those of other cores the order hardly changes.
_LATENCY = {"fmul": 3, "fadd": 2, "fsub": 2, "call": 4, "fdiv": 13}
_FUNCTION = 40
_OTHER = 3

NAME = re.compile(r"%v\d+")
_NEVER = 1 << 60

PAIR = "<2 x double>"
# Kinds of values in registers, and their size in doubles.
_DOUBLES = {"double": 1, PAIR: 2, "<2 x i64>": 2, "<4 x double>": 4, "<4 x i64>": 4}
_KIND = re.compile(r"\w+ (?:contract )?(double|<\d+ x \w+>)")

Line = tuple[str, str, Sequence[str]]  # name of a value, operation with $ for operands, names of the operands
Load = tuple[str, int, str]  # an array, an index in it, and the kind of the value
Store = tuple[str, Load]  # a value, and the array element for it


Register: TypeAlias = Any  # depends on the subclass of Registers: a name in LLVM text, or a number


def schedule_and_allocate(
    lines: Sequence[Line],
    loads: Mapping[str, Load],
    opposites: Mapping[str, str],
    stores: Sequence[Store],
    registers: int,
) -> tuple[list[str], list[str]]:
    """Return the ``alloca`` for spilled values, and lines with operations in a new order, loads, stores.

    The order is for a machine with ``registers`` registers for doubles. ``loads`` names the values that are
    loaded when they are used. ``opposites`` gives, for each opposite, the value that it negates; a negated
    operand costs nothing. Stored results may be loaded again from their array, so no other array may alias
    the arrays of ``stores``. If ``registers`` is 0, LLVM decides the order, loads and stores.
    """
    if not registers:
        own, given = stored_values(stores, {line[0] for line in lines})
        return _Lines(loads, opposites, own, _NEVER).text(
            _needed_operations(_operations(lines, opposites, given), own)
        )
    order, own = in_order(lines, opposites, stores)
    return _Lines(loads, opposites, own, registers - SPARE).text(order, "volatile ")


def in_order(
    lines: Sequence[Line], opposites: Mapping[str, str], stores: Sequence[Store]
) -> tuple[list[Operation], dict[str, list[Load]]]:
    """Return the operations of lines in the order of the model machine, and the targets of their values."""
    own, given = stored_values(stores, {line[0] for line in lines})
    return chosen_order(_operations(lines, opposites, given), own), own


def stored_values(stores: Sequence[Store], computed: Set[str]) -> tuple[dict[str, list[Load]], list[Store]]:
    """Return the array elements in which computed values are stored, and the stores of all other values."""
    own: dict[str, list[Load]] = {}
    for value, place in stores:
        if value in computed:
            own.setdefault(value, []).append(place)
    return own, [store for store in stores if store[0] not in computed]


def chosen_order(
    operations: list[Operation],
    results: Mapping[str, Sequence[Load]],
    pairs: Sequence[tuple[str, str]] = (),
    change: Callable[[Sequence[Operation], Sequence[int]], None] | None = None,
    limits: Limits = LIMITS,
) -> list[Operation]:
    """Return the operations whose values are used or stored, in the order of the model machine.

    In each of ``pairs`` both values stay alive until the second is computed. ``change`` may replace
    operations; it is called with the cycles by which each operation may be late.
    """
    needed = _needed_operations(operations, results)
    if not pairs:
        return _order(needed, change, limits)
    other = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    listed: list[Operation] = []
    known: set[str] = set()
    for operation in needed:
        listed.append(operation)
        name = operation.name
        if name in other:
            known.add(name)
            if other[name] in known:
                wait = Operation("", "", (name, other[name]), 0)
                wait.shape = None
                listed.append(wait)
    return [operation for operation in _order(listed, change, limits) if operation.shape is not None]


def parse_line(name: str, text: str) -> Line:
    """Return the line of an operation in LLVM text."""
    return name, NAME.sub("$", text), NAME.findall(text)


def write_operation(form: str, names: Iterable[str]) -> str:
    """Return the LLVM text of an operation with given operands."""
    first, *others = form.split("$")
    return first + "".join([name + part for name, part in zip(names, others, strict=True)])


class Operation:
    """An operation: name and kind of its value ("" for a store), and the names of its operands."""

    __slots__ = (
        "addend", "held", "kind", "latency", "name", "operands", "place", "renewed", "shape", "signed",
        "text",
    )  # fmt: skip
    text: str  # the instruction as LLVM text
    shape: Any  # the form for machine code; ``signed``: its operands, and whether they are negated
    signed: list[tuple[str, bool]]
    place: Load  # of a store

    def __init__(self, name: str, kind: str, operands: Sequence[str], latency: int) -> None:
        self.name, self.kind, self.latency = name, kind, latency
        self.addend = ""  # the operand that may arrive later than the others (``order_and_registers.py``)
        # An operand that needs no register: its value is moved to the result's register, or memory is copied.
        self.renewed = ""
        several = len(operands) > 2 or (len(operands) == 2 and operands[0] == operands[1])
        self.operands = [*dict.fromkeys(operands)] if several else list(operands)
        self.held = kind in _DOUBLES  # whether the value takes a register for doubles


def _kind(text: str) -> str:
    """Return the type of an instruction's value; "" for comparisons and structures."""
    word = text[: text.index(" ")]
    if " to " in text:
        return text.rpartition(" to ")[2]
    if word == "select":
        return text.split(", ")[1].rpartition(" ")[0]
    if word == "extractelement":
        return "double"
    if word == "shufflevector":
        return f"<{text[text.rindex('<', 0, text.index(' x i32>')) + 1 : text.index(' x i32>')]} x double>"
    found = _KIND.match(text) if word not in ("fcmp", "icmp") else None
    return found[1] if found else ""


def _needed_operations(operations: list[Operation], results: Mapping[str, Sequence[Load]]) -> list[Operation]:
    """Return the operations whose values are used or stored."""
    wanted = set(results)
    found = []
    for operation in reversed(operations):
        if not operation.name or operation.name in wanted:
            wanted.update(operation.operands)
            found.append(operation)
    return found[::-1]


def _operations(
    lines: Sequence[Line], opposites: Mapping[str, str], stores: Sequence[Store]
) -> list[Operation]:
    found = []
    for name, form, names in lines:
        operation = Operation(name, _kind(form), [opposites.get(a, a) for a in names], latency(form))
        operation.text = write_operation(form, names)
        found.append(operation)
    for value, (array, index, kind) in stores:
        operands = [opposites.get(a, a) for a in NAME.findall(value)]
        operation = Operation("", "", operands, 0)
        operation.text, operation.place = value, (array, index, kind)
        found.append(operation)
    return found


def latency(text: str) -> int:
    """Return the cycles until the value of a line can be used."""
    return _FUNCTION if " @sincos" in text else _LATENCY.get(text[: text.index(" ")], _OTHER)


# -------------------------------------------------------------------- order


def _order(
    operations: Sequence[Operation],
    change: Callable[[Sequence[Operation], Sequence[int]], None] | None = None,
    limits: Limits = LIMITS,
) -> list[Operation]:
    """Return the operations in the order in which the model machine starts them."""
    producer = {operation.name: i for i, operation in enumerate(operations)}
    operands = [operation.operands for operation in operations]

    def times() -> tuple[list[int], list[tuple[int, int]]]:
        late = [(i, o.addend) for i, o in enumerate(operations) if o.addend]
        cycles = [o.latency for o in operations]
        return cycles, [(i, producer[addend]) for i, addend in late if addend in producer]

    before = list(map(producer.get, chain.from_iterable(operands), repeat(-1)))
    latencies, late = times()
    held = [operation.held for operation in operations]
    machine = ModelMachine(before, list(map(len, operands)), latencies, held, late)
    if change is not None:
        change(operations, machine.spare)
        machine.set_times(*times())
    width = len(operations) / max(machine.longest_chain, 1)
    most, window, patient, excess = next(row[1:] for row in limits if width <= row[0])
    return [operations[i] for i in machine.order(most, window or len(operations), patient, excess)]


# -------------------------------------------------------------------- registers


class Registers:
    """A pass over operations in a given order that adds loads and stores.

    A subclass writes the code: ``operate`` computes a value and returns its register, ``load`` returns a
    register with an element of an array, ``store`` stores a register, ``release`` frees it.
    """

    STORES_TWO: ClassVar[bool] = False  # whether one instruction stores two doubles

    def __init__(
        self,
        loads: Mapping[str, Load],
        opposites: Mapping[str, str],
        results: Mapping[str, Sequence[Load]],
        size: int,
    ) -> None:
        self.loads, self.opposites, self.results, self.size = loads, opposites, results, size
        self.held: DataTable = {}  # registers, by the values that they hold
        self.stored: dict[str, Load] = {}  # places of stored values
        self.slots = 0  # doubles of spilled values on the stack
        self.kinds: dict[str, str] = {name: load[2] for name, load in loads.items()}
        self.now = 0  # index of the present operation in the order
        self.last_user: dict[str, int] = {}  # index of the last operation that uses a value

    def operate(self, operation: Operation) -> Register:
        raise NotImplementedError

    def load(self, place: Load) -> Register:
        raise NotImplementedError

    def store(self, register: Register, place: Load) -> None:
        raise NotImplementedError

    def release(self, register: Register) -> None:
        """Free a register whose value has no further use."""

    def finish(self) -> None:
        """End an operation, after its stores."""

    def compile_code(self) -> RoutineMethod:
        return compiled_choice()

    def ways(self, order: Sequence[Operation]) -> list[int]:
        """Return for each operand of all operations how it is read (``order_and_registers.py``)."""
        found: list[int] = []
        for operation in order:
            if operation.renewed:
                found += [ANYWHERE if a == operation.renewed else IN_REGISTER for a in operation.operands]
            else:
                found += (IN_REGISTER,) * len(operation.operands)
        return found

    def neighbours(self) -> list[tuple[str, str]]:
        """Return pairs of results that one instruction can store together."""
        return []

    def pass_over(self, order: Sequence[Operation]) -> None:
        """Choose loads, spills and registers for operations in this order, and write the code."""
        self.kinds.update({operation.name: operation.kind for operation in order})
        # Comparisons take no register for doubles, and arguments, such as the time, need no load.
        names = [*self.loads, *[operation.name for operation in order if operation.held]]
        number = {name: i for i, name in enumerate(names)}
        pairs = [pair for pair in self.neighbours() if all([self.kinds[a] == "double" for a in pair])]
        partner = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
        operands = [operation.operands for operation in order]
        counts = [len(self.results[o.name]) if o.name in self.results else 0 for o in order]
        results = [(o.name, place) for o in compress(order, counts) for place in self.results[o.name]]
        steps = chosen_steps(
            list(map(number.get, chain.from_iterable(operands), repeat(-1))),
            list(map(len, operands)),
            self.ways(order),
            [number.get(operation.name, -1) for operation in order],
            counts,
            [number.get(partner.get(name, ""), -1) for name, _ in results],
            [name in number and place[2] == self.kinds[name] for name, place in results],
            [self.kinds[name] == "double" for name in names],
            len(self.loads),
            self.size,
            self.STORES_TWO,
            self.compile_code(),
        )
        self.follow(order, number, results, steps)

    def follow(
        self, order: Sequence[Operation], number: Mapping[str, int], results: Sequence[Store], steps: Steps
    ) -> None:
        """Write the code of all steps, which refer to values, operations and results by index."""
        held, names, made = self.held, list(number), None
        self.last_user = dict(zip(names, steps.last_user.tolist(), strict=True))
        for step, place in zip(steps.kinds.tolist(), steps.places.tolist(), strict=True):
            if step == DROP:
                self.release(held.pop(names[place]))
            elif step == OPERATE:
                self.now = place
                made = self.operate(order[place])
            elif step == KEEP:
                held[names[place]] = made
                self.finish()
            elif step == LET_GO:
                self.finish()
                if order[place].name:
                    self.release(made)
            elif step == LOAD:
                name = names[place]
                held[name] = self.load(self.loads.get(name) or self.stored[name])
            elif step == RESULT:
                name, there = results[place]
                self.store_result(name, there, made)
            else:  # SPILL; BESIDE does not occur here
                self.spill(names[place])

    def store_result(self, name: str, place: Load, register: Register) -> None:
        self.store(register, place)
        if place[2] == self.kinds[name]:
            self.stored[name] = place

    def spill(self, value: str) -> None:
        """Store a value to a new stack slot."""
        kind = self.kinds[value]
        self.slots += -self.slots % _DOUBLES[kind]
        self.stored[value] = ("slots", self.slots, kind)
        self.slots += _DOUBLES[kind]
        self.store(self.held[value], self.stored[value])


class _Lines(Registers):
    """Lines of LLVM code."""

    def text(self, order: Sequence[Operation], kept: str = "") -> tuple[list[str], list[str]]:
        """Return the stack array for spilled values, and the lines.

        ``kept`` is "volatile " if LLVM must keep the order of loads and stores.
        """
        self.lines: list[str] = []
        self.kept = kept
        self.count = self.done = 0
        self.pass_over(order)
        room = [f"  %slots = alloca [{self.slots} x double], align 16"] if self.slots else []
        return room, self.lines

    def finish(self) -> None:
        self.done += 1
        if self.kept and not self.done % LABELS:
            self.lines.append(LABEL)

    def operate(self, operation: Operation) -> str:
        text = NAME.sub(self.rename_match, operation.text)
        if operation.name:
            self.lines.append(f"  {operation.name} = {text}")
        else:
            self.store(text, operation.place)
        return operation.name

    def rename_match(self, match: re.Match[str]) -> str:
        name = match[0]
        if name in self.opposites:
            source = self.opposites[name]
            return self.emit(f"fneg {self.kinds.get(source, 'double')} {self.held.get(source, source)}")
        found: str = self.held.get(name, name)
        return found

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%r{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def element(self, array: str, index: int) -> str:
        if not index:
            return f"%{array}"
        return self.emit(f"getelementptr inbounds double, ptr %{array}, i64 {index}")

    def load(self, place: Load) -> str:
        array, index, kind = place
        return self.emit(f"load {self.kept}{kind}, ptr {self.element(array, index)}, align 8")

    def store(self, register: str, place: Load) -> None:
        array, index, kind = place
        self.lines.append(f"  store {self.kept}{kind} {register}, ptr {self.element(array, index)}, align 8")
