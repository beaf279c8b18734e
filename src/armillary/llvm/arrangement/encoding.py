"""From the lines of a section to the machine code of an instruction set.

LLVM takes 50 µs per operation to come to much the same instructions once order, registers, loads and stores
are decided (``arrangement.py``): 0.6 s for a chain of 64 links, where this takes 0.12. A section with an
operation that the instruction set does not write is LLVM's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from armillary.llvm.arrangement.arrangement import (
    LIMITS,
    Limits,
    Line,
    Load,
    Operation,
    Registers,
    Store,
    chosen_order,
)
from armillary.llvm.arrangement.entry import Encoded, Entry
from armillary.llvm.arrangement.forms import ALIKE, FORMS, KINDS, NEGATIONS, PUT, WIDTHS, Form

Signed = list[tuple[str, bool]]  # operands, and whether they are negated
ZERO = "0x0000000000000000"


class Selection:
    """Operations of lines, and where their values are stored; ``complete`` unless one is not known here."""

    WIDEST: ClassVar[int] = 1  # values are pairs at most
    LATENCIES: ClassVar[Mapping[str, int]]  # cycles until a result can be used, by the names of forms

    def __init__(
        self, lines: Sequence[Line], loads: Mapping[str, Load], opposites: Mapping[str, str]
    ) -> None:
        self.loads, self.opposites = loads, opposites
        self.operations: list[Operation] = []
        self.results: dict[str, list[Load]] = {}
        # Names of values, to the registers that hold them, and whether these hold their opposites.
        self.alike: dict[str, tuple[str, bool]] = {}
        self.made: dict[str, Operation] = {}
        self.complete = True
        for line in lines:
            if not self.add(*line):
                self.complete = False
                break

    def signed(self, name: str) -> tuple[str, bool]:
        """The register of a value, and whether it holds the opposite."""
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
            self.rename(name, text, self.signed(names[0]))
            return True
        given, opposites, alike = [], self.opposites, self.alike
        for a in names:
            given.append(self.signed(a) if a in opposites or a in alike else (a, False))
        form, given, minus = self.suited(name, form, given)
        if form.name not in self.LATENCIES or form.wide > self.WIDEST:
            return False
        self.append(name, KINDS[text], form, given)
        if minus:
            alike[name] = name, True
        return True

    def rename(self, name: str, text: str, given: tuple[str, bool]) -> None:
        """A value in the register of another one."""
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

    def suited(self, name: str, form: Form, given: Signed) -> tuple[Form, Signed, bool]:
        """An operation as the instruction set has it, and whether it gives the opposite value."""
        return form, given, False

    def opposite(self, operation: Operation) -> bool:
        """Changes an operation to that of the opposite value, where this costs no instruction."""
        raise NotImplementedError

    def store(self, stores: Sequence[Store]) -> bool:
        """Values to their places: with the operations that give them, or by operations of their own."""
        known = [kind for kind, wide in WIDTHS.items() if wide <= self.WIDEST]
        if any([kind not in known for _, _, kind in self.loads.values()]):
            return False
        found = [self.signed(value) for value, _ in stores]
        self._turn_round(found)
        computed = set(self.made)
        for (value, place), (name, minus) in zip(stores, found, strict=True):
            if name in computed and not minus:
                self.results.setdefault(name, []).append(place)
            elif value == ZERO and place[2] == "double":
                self.put([], place)
            elif name not in computed and name not in self.loads:
                return False
            elif minus:  # a value of its own, which may be stored together with another one
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
        """Values to be stored instead of opposites, where operations can give these themselves."""
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
    """Instructions of operations in a given order. ``held`` has the numbers of registers."""

    SELECTION: ClassVar[type[Selection]]
    MOST_ARRAYS: ClassVar[int]  # addresses that registers hand on
    RESERVED: ClassVar[int]  # registers that hold no values
    WRITERS: ClassVar[Mapping[str, Callable[..., int]]]  # by the names of forms
    change: ClassVar[Callable[[Sequence[Operation], Sequence[int]], None] | None] = None
    limits: Limits = LIMITS

    def __init__(
        self,
        loads: Mapping[str, Load],
        results: Mapping[str, Sequence[Load]],
        arrays: Sequence[str],
        registers: int,
    ) -> None:
        super().__init__(loads, {}, results, registers - self.RESERVED)
        self.given, self.registers = list(arrays), registers
        self.made = -1  # the register of the operation that is written

    def operate(self, operation: Operation) -> int:
        self.made = -1
        return self.WRITERS[operation.shape.name](self, operation)

    def finish(self) -> None:
        self.made = -1

    def function(self, order: Sequence[Operation], entry: Entry) -> Encoded | None:
        """The code of operations in this order, or None where it cannot be written."""
        raise NotImplementedError


def encoded(
    lines: Sequence[Line],
    loads: Mapping[str, Load],
    opposites: Mapping[str, str],
    stores: Sequence[Store],
    entry: Entry,
    machine: type[MachineCode],
    registers: int,
) -> Encoded | None:
    """The code of ``arranged``, or None where one of its operations is not written here."""
    selection = machine.SELECTION(lines, loads, opposites)
    if not selection.complete or not selection.store(stores):
        return None
    used = [place[0] for place in (*loads.values(), *(place for _, place in stores))]
    code = machine(loads, selection.results, entry.arrays(used, machine.MOST_ARRAYS), registers)
    order = chosen_order(
        selection.operations, selection.results, code.neighbours(), machine.change, code.limits
    )
    return code.function(order, entry)
