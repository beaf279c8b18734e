"""Bytes of x86-64 instructions on one, two or four doubles, by the Intel manual (vol. 2, sections 2.3, 2.7).

VEX prefixes are for sixteen registers, EVEX prefixes for 32; the prefix with the shorter instruction is used.

    VEX   C5 or C4, one or two bytes     opcode   operands   displacement of 0, 1 or 4 bytes   number
    EVEX  62, three bytes                the same; a displacement of one byte counts operands, not bytes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from struct import pack

_BYTES = [bytes([value]) for value in range(256)]
STACK, FRAME = 4, 5  # address registers with a special encoding
CODE = -1  # as a base: relative to the instruction


@dataclass(frozen=True, eq=False, slots=True)
class Instruction:
    """An instruction: prefix (1: 66, 2: F3, 3: F2), table (1: 0F, 2: 0F 38, 3: 0F 3A), opcode.

    ``bytes`` is the size of an operand in memory, ``wide`` bit W of VEX (EVEX always sets it), ``only`` the
    only possible prefix, if there is just one; ``long`` instructions work on four doubles.
    """

    prefix: int
    table: int
    opcode: int
    bytes: int = 16
    wide: bool = False
    only: str = ""
    long: bool = False

    @property
    def of_four(self) -> Instruction:
        """The instruction on four doubles instead of two."""
        return _of_four(self)


@cache
def _of_four(what: Instruction) -> Instruction:
    return replace(what, bytes=32, long=True)


def _all_widths(opcode: int) -> tuple[Instruction, Instruction, Instruction]:
    """Return the instruction on doubles, on pairs, and on four doubles."""
    pairs = Instruction(1, 1, opcode)
    return Instruction(3, 1, opcode, 8), pairs, pairs.of_four


ADD, MULTIPLY, SUBTRACT, DIVIDE, ROOT = (_all_widths(opcode) for opcode in (0x58, 0x59, 0x5C, 0x5E, 0x51))
LOAD, STORE = _all_widths(0x10), _all_widths(0x11)
COPY, AND, OR, XOR = (Instruction(1, 1, opcode) for opcode in (0x28, 0xDB, 0xEB, 0xEF))
ADD_WHOLE, SUBTRACT_WHOLE = (Instruction(1, 1, opcode) for opcode in (0xD4, 0xFB))
LARGER, SMALLER = (Instruction(1, 1, opcode) for opcode in (0x5F, 0x5D))  # the second operand if one is NaN
COMPARE = Instruction(1, 1, 0xC2, only="vex")  # a number says how; the result is a mask as wide as operands
COMPARE_TO_FLAGS = Instruction(1, 1, 0xC2, only="evex")  # the result is in a register of flags
SPREAD_FLAGS = Instruction(2, 2, 0x38, only="evex")  # from flags to such a mask
SHIFT = Instruction(1, 1, 0x73)  # by a number; the register field selects left or right
LEFT, RIGHT = 6, 2
SPREAD_SIGN, OF_SIGN = Instruction(1, 1, 0x72, only="evex"), 4  # arithmetic shift to the right
SPREAD_HALVES = Instruction(1, 1, 0x72, only="vex")  # the same shift, of each half of 32 bits
CHOOSE = Instruction(1, 3, 0x25, only="evex")  # bitwise, by a truth table of eight bits
BLEND = Instruction(1, 3, 0x4B, only="vex")  # by sign bits
SECOND_LANES = Instruction(1, 1, 0x15)
FIRST_LANES, LOAD_SECOND_LANE = Instruction(1, 1, 0x14), Instruction(1, 1, 0x16, 8)
BOTH_LANES, SHUFFLE = Instruction(3, 1, 0x12, 8), Instruction(1, 1, 0xC6)
ALL_LANES = Instruction(1, 2, 0x19, 8, long=True)
PERMUTE = Instruction(1, 3, 0x01, 32, wide=True, long=True)
JOIN, UPPER_HALF = Instruction(1, 3, 0x18, 16, long=True), Instruction(1, 3, 0x19, 16, long=True)
LEAVE_LONG = b"\xc5\xf8\x77"  # vzeroupper: avoids penalties in other code


@cache
def fused_multiply_add(order: int, wide: int, minus_product: bool, minus_addend: bool) -> Instruction:
    """Return the instruction for ±a·b ± c; ``order`` gives the roles of the three operands.

    132: first · third + second; 213: second · first + third; 231: second · third + first. The first operand
    is replaced by the result.
    """
    opcode = {132: 0x98, 213: 0xA8, 231: 0xB8}[order] + 4 * minus_product + 2 * minus_addend + (not wide)
    return Instruction(1, 2, opcode, 8 << wide, wide=True, long=wide == 2)


@cache
def of_registers(what: Instruction, first: int, second: int, third: int, number: int = -1) -> bytes:
    """Return an instruction on registers; ``second`` is 0 if there are only two."""
    operands = bytes([0xC0 | (first & 7) << 3 | third & 7])
    if what.only == "evex" or max(first, second, third) > 15:
        prefix = _evex(what, first, second, third >> 3 & 1, third >> 4)
    else:
        prefix = _vex(what, first, second, third >> 3)
    return prefix + operands + (bytes([number]) if number >= 0 else b"")


def with_memory(
    what: Instruction, first: int, second: int, base: int, offset: int, registers: int, number: int = -1
) -> bytes:
    """Return an instruction whose third operand is ``offset`` bytes from the address in ``base``."""
    end = bytes([number]) if number >= 0 else b""
    field = (first & 7) << 3
    high = base >> 3 if base > 0 else 0
    if base == CODE:
        prefix = _evex(what, first, second, 0, 0) if max(first, second) > 15 else _vex(what, first, second, 0)
        return prefix + bytes([field | 5]) + pack("<i", offset) + end
    evex = first > 15 or second > 15
    low = base & 7
    field |= low
    if not offset and low != FRAME:
        place = _BYTES[field]
        displacement = b""
    elif not evex and -128 <= offset < 128:
        place, displacement = _BYTES[0x40 | field], _BYTES[offset & 255]
    elif (
        registers > 16
        and what.only != "vex"
        and not offset % what.bytes
        and -128 <= (count := offset // what.bytes) < 128
    ):
        evex = True
        place, displacement = _BYTES[0x40 | field], _BYTES[count & 255]
    else:
        place, displacement = _BYTES[0x80 | field], pack("<i", offset)
    if low == STACK:
        place += b"\x24"
    prefix = _evex(what, first, second, high, 0) if evex else _vex(what, first, second, high)
    return prefix + place + displacement + end


def _vex(what: Instruction, first: int, second: int, high: int) -> bytes:
    """Return a VEX prefix and opcode; ``high``: bit 3 of the register of the third operand or its address."""
    last = (~second & 15) << 3 | what.long << 2 | what.prefix
    if what.table == 1 and not high and not what.wide:
        return bytes([0xC5, (first < 8) << 7 | last, what.opcode])
    return bytes(
        [0xC4, (first < 8) << 7 | 0x40 | (not high) << 5 | what.table, what.wide << 7 | last, what.opcode]
    )


def _evex(what: Instruction, first: int, second: int, high: int, highest: int) -> bytes:
    """Return an EVEX prefix and opcode; ``high``, ``highest``: bits 3 and 4 of the third register."""
    start = (
        (~first >> 3 & 1) << 7 | (not highest) << 6 | (not high) << 5 | (~first >> 4 & 1) << 4 | what.table
    )
    middle = 0x80 | (~second & 15) << 3 | 4 | what.prefix
    return bytes([0x62, start, middle, what.long << 5 | (~second >> 4 & 1) << 3, what.opcode])


# ---------------------------------------------------------------- addresses and whole numbers


def load_integer(register: int, base: int, offset: int) -> bytes:
    return _integer(0x8B, register, base, offset)


def store_integer(register: int, base: int, offset: int) -> bytes:
    return _integer(0x89, register, base, offset)


def store_zero(base: int, offset: int) -> bytes:
    return _integer(0xC7, 0, base, offset) + bytes(4)


def address(register: int, offset: int) -> bytes:
    """Load the address ``offset`` bytes after this instruction."""
    return _integer(0x8D, register, CODE, offset)


def address_from(register: int, base: int, offset: int) -> bytes:
    """Load the address ``offset`` bytes from the address in ``base``."""
    return _integer(0x8D, register, base, offset)


def _integer(opcode: int, register: int, base: int, offset: int) -> bytes:
    high = base >> 3 if base > 0 else 0
    start, field = bytes([0x48 | (register >> 3) << 2 | high, opcode]), (register & 7) << 3
    if base == CODE:
        return start + bytes([field | 5]) + pack("<i", offset)
    index = b"\x24" if base & 7 == STACK else b""
    if -128 <= offset < 128:
        return start + bytes([0x40 | field | base & 7]) + index + pack("<b", offset)
    return start + bytes([0x80 | field | base & 7]) + index + pack("<i", offset)


def copy_integer(to: int, source: int) -> bytes:
    return bytes([0x48 | source >> 3 << 2 | to >> 3, 0x89, 0xC0 | (source & 7) << 3 | to & 7])


def set_integer(register: int, value: int) -> bytes:
    """Set a register to a number of 64 bits."""
    if value == (1 << 64) - 1:
        return bytes([0x48 | register >> 3, 0xC7, 0xC0 | register & 7]) + b"\xff" * 4
    return bytes([0x48 | register >> 3, 0xB8 | register & 7]) + pack("<Q", value)


def double_integer(register: int) -> bytes:
    """Add a register to itself."""
    return bytes([0x48 | (register >> 3) * 5, 0x01, 0xC0 | (register & 7) * 9])


def compare_integers(a: int, b: int) -> bytes:
    return bytes([0x48 | b >> 3 << 2 | a >> 3, 0x39, 0xC0 | (b & 7) << 3 | a & 7])


def move_stack(size: int) -> bytes:
    """Move the stack pointer by ``size`` bytes; a negative size makes room."""
    if not size:
        return b""
    opposite = size < 0
    return bytes([0x48, 0x81, 0xEC if opposite else 0xC4]) + pack("<i", abs(size))


def make_room(size: int) -> bytes:
    """Make a frame of ``size`` bytes.

    Pages are touched one after the other, by ``or qword ptr [rsp], 0``, so that overflow of a stack
    ends at its guard page.
    """
    return (move_stack(-4096) + b"\x48\x83\x0c\x24\x00") * (size // 4096) + move_stack(-(size % 4096))


def push(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes([0x50 | register & 7])


def pop(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes([0x58 | register & 7])


def align_stack(bytes_: int) -> bytes:
    """Align the stack pointer to a multiple of ``bytes_``."""
    return b"\x48\x83\xe4" + pack("<b", -bytes_)


RETURN = b"\xc3"


def branch(offset: int) -> bytes:
    """Jump to ``offset`` bytes after this instruction."""
    return b"\xe9" + pack("<i", offset)


def branch_unless_below(offset: int) -> bytes:
    return b"\x0f\x83" + pack("<i", offset)


def branch_to_address(offset: int) -> bytes:
    """Jump to the address that is stored ``offset`` bytes after this instruction."""
    return b"\xff\x25" + pack("<i", offset)
