"""The frame around machine code of sections for x86-64: entries, addresses of arrays, checks of angles.

entry     angles = state; thirds = those below; limit
common    numbers = those below; save registers; room on the stack
          operations; among them, for each angle: jump to far if beyond the limit
          restore stack and registers; return
far       restore stack and registers; jump to the function that replaces angles, which calls the second entry
entry_at  angles and thirds from the stack if there are many arguments; a limit that nothing exceeds, not even
          NaN; jump to common
address of that function; thirds; numbers; masks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from struct import pack
from typing import NamedTuple

from armillary.llvm.arrangement import x86_instructions as x86
from armillary.llvm.arrangement.arrangement import Load
from armillary.llvm.arrangement.machine_code import NEAR, SPACING, Encoded, Entry

ACCUMULATOR = 0  # for intermediate whole numbers
_ARGUMENTS = (7, 6, 2, 1, 8, 9)
_FREE = (10, 11, 3, 5, 12, 13, 14, 15)
_SAVED = (3, 5, 12, 13, 14, 15)  # must be saved for the caller
SIGNS, SIZES, ONES = 0, 32, 64  # offsets of the masks of signs and of all other bits, and of ones
_MASKS = pack("<8Q4d", *[1 << 63] * 4, *[(1 << 63) - 1] * 4, *[1.0] * 4)
_LIMIT, _NO_LIMIT = "limit", (1 << 64) - 1
# Code beyond some 7 kB does not stay in the cache of decoded instructions, and the core then decodes 17 to 21
# bytes per cycle, no more than it executes. So numbers and stored values are addressed with offsets of one
# byte from registers below 8, two or three of them in longer code: instructions are 1 to 4 bytes shorter.
# Derivatives of arms and legged robots take 0.91 to 1.00 of the time, the matrices A and B of linearisations
# 0.92 to 1.00. Slots on the stack are not reused: reused slots would be nearer to the address, and most
# models would take 0.99 of this time, but A and B of a humanoid 1.02.
_LONG, _LONGER = 200, 600  # operations above which code gets one, and two or three such registers
_REACH = 256  # bytes that an address covers
_FRAME = "frame"  # the stack pointer before alignment


class AddressRegisters(NamedTuple):
    """Registers with addresses of arrays, and the arguments."""

    entry: Entry
    registers: Mapping[str, int]
    taken: Sequence[str]
    within: Mapping[str, Sequence[int]]  # registers with addresses within an array instead of its beginning

    @staticmethod
    def of(
        entry: Entry, arrays: Sequence[str], used: Set[str], long: bool, size: int
    ) -> AddressRegisters | None:
        """Assign registers to ``size`` operations; `None` if the arguments do not fit.

        ``long``: some values are four doubles.
        """
        taken = [a for a in arrays if a in entry.arguments]
        if len(taken) > len(_ARGUMENTS):
            return None
        needed = {*used, "state"} if entry.angles else used
        registers = {a: r for a, r in zip(taken, _ARGUMENTS, strict=False) if a in needed}
        further = ["angles", "thirds"] if entry.angles else []
        registers |= dict(zip(further, _ARGUMENTS[len(taken) :], strict=False))
        further += (["numbers"] if entry.numbers else []) + ([_LIMIT] if entry.angles else [])
        further += [_FRAME] if long else []
        left = [r for r in (*_ARGUMENTS, *_FREE) if r not in registers.values()]
        within: dict[str, list[int]] = {}
        for name in ("slots", *[a for a in further if a == "numbers"]) if size > _LONG else ():
            registers[name] = min(left, key=lambda r: (r > 7, r in _SAVED))
            left.remove(registers[name])
            within[name] = [registers[name]]
        registers.setdefault("slots", x86.STACK)
        for name in further:
            if name not in registers:
                registers[name] = left.pop(0)
        if not used <= {*registers}:
            return None
        others = [r for r in left if r & 7 != x86.STACK]  # a base with these bits makes instructions longer
        for name in ("slots", "numbers", "slots") if size > _LONGER else ():
            if name in within and others:
                within[name].append(others.pop())
        return AddressRegisters(entry, registers, taken, within)

    def place(self, load: Load) -> tuple[int, int]:
        """Return the register of an address, and the offset of a value from it in bytes."""
        array, index, _ = load
        offset, bases = 8 * index, self.within.get(array)
        if bases is None:
            return self.registers[array], offset
        nearest = offset // _REACH
        if nearest >= len(bases):
            nearest = len(bases) - 1
        return bases[nearest], offset - nearest * _REACH - _REACH // 2  # see _middle

    def frame_code(self, body: Sequence[bytes], masks: Mapping[int, int], slots: int) -> Encoded:
        """Return the code with its frame; ``masks``: offsets of masks, by index of the instruction."""
        places = list(dict.fromkeys(self.entry.angles))
        size = 8 * slots
        size += -(size + 8 * len(self.saved) + 8) % 16 if slots else 0  # pairs at multiples of sixteen bytes
        head, tail = x86.make_room(size), x86.move_stack(size)
        if _FRAME in self.registers:
            frame = self.registers[_FRAME]
            head = x86.copy_integer(frame, x86.STACK) + x86.make_room(size) + x86.align_stack(32)
            tail = x86.copy_integer(x86.STACK, frame) + x86.LEAVE_LONG
        for i, register in enumerate(self.within.get("slots", ())):
            head += x86.address_from(register, x86.STACK, _middle(i))
        tail += b"".join([x86.pop(r) for r in reversed(self.saved)])
        middle, branches, looks = self._insert_angle_checks(body, masks, places)
        numbers = self._numbers
        common = len(self._first(0))
        start = common + 7 * len(numbers) + len(head)
        far = start + len(middle) + len(tail) + 1
        second = far + len(tail) + 6
        address = second + len(self._second(0)) if places else far
        address += -address % 16 + (8 if places else 0)
        thirds = address + 8 if places else address
        values = self.entry.values()
        beside = thirds + len(values) + -len(values) % 16
        for place in branches:
            middle[place : place + 6] = x86.branch_unless_below(far - start - place - 6)
        for end, mask in looks:
            middle[end - 4 : end] = pack("<i", beside + mask - start - end)
        code = bytearray(self._first(thirds))
        for register, offset in numbers:
            place = thirds + 8 * len(self.entry.angles) + offset
            code += x86.address(register, place - len(code) - 7)
        code += head + middle + tail + x86.RETURN
        if places:
            code += tail + x86.branch_to_address(address - second) + self._second(common - second)
        code += b"\x90" * (address - len(code)) + bytes(thirds - address) + values
        if masks:
            code += bytes(beside - len(code)) + _MASKS
        return Encoded(bytes(code), [*self.taken], second if places else 0, address if places else -1)

    def _insert_angle_checks(
        self, body: Sequence[bytes], masks: Mapping[int, int], places: Sequence[int]
    ) -> tuple[bytearray, list[int], list[tuple[int, int]]]:
        """Return code with checks of angles; offsets of branches, and of ends of instructions with masks."""
        code = bytearray()
        branches: list[int] = []
        ends: list[tuple[int, int]] = []
        looks = iter(places)
        for i, part in enumerate(body):
            if not i % SPACING and len(branches) < len(places):
                self._check_angle(code, branches, next(looks))
            code += part
            if i in masks:
                ends.append((len(code), masks[i]))
        for place in looks:
            self._check_angle(code, branches, place)
        return code, branches, ends

    def _check_angle(self, code: bytearray, branches: list[int], place: int) -> None:
        code += x86.load_integer(ACCUMULATOR, self.registers["angles"], 8 * place)
        code += x86.double_integer(ACCUMULATOR)
        code += x86.compare_integers(ACCUMULATOR, self.registers[_LIMIT])
        branches.append(len(code))
        code += bytes(6)

    @property
    def saved(self) -> list[int]:
        taken = {*self.registers.values(), *(r for own in self.within.values() for r in own)}
        return [r for r in _SAVED if r in taken]

    @property
    def _numbers(self) -> list[tuple[int, int]]:
        """Registers with addresses within the numbers, and their offsets from the first number."""
        if not self.entry.numbers:
            return []
        within = self.within.get("numbers")
        return (
            [(self.registers["numbers"], 0)]
            if within is None
            else [(r, _middle(i)) for i, r in enumerate(within)]
        )

    def _first(self, thirds: int) -> bytes:
        """Return the first entry; ``thirds`` is the offset of the thirds from its beginning."""
        code = b"".join([x86.push(r) for r in self.saved])
        if self.entry.angles:
            code += x86.copy_integer(self.registers["angles"], self.registers["state"])
            code += x86.address(self.registers["thirds"], thirds - len(code) - 7)
            code += x86.set_integer(self.registers[_LIMIT], NEAR)
        return code

    def _second(self, common: int) -> bytes:
        """Return the second entry; ``common`` is the offset of the common code from its beginning."""
        code = b"".join([x86.push(r) for r in self.saved])
        for i, name in enumerate(("angles", "thirds")):
            beyond = len(self.taken) + i - len(_ARGUMENTS)
            if beyond >= 0:
                above = 8 * (beyond + 1 + len(self.saved))
                code += x86.load_integer(self.registers[name], x86.STACK, above)
        code += x86.set_integer(self.registers[_LIMIT], _NO_LIMIT)
        return code + x86.branch(common - len(code) - 5)


def _middle(i: int) -> int:
    """Return the offset of the address in an array's i-th register, in bytes."""
    return i * _REACH + _REACH // 2
