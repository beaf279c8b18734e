"""The way into machine code of a section on arm64: numbers beside the code, and angles checked within it.

The first entry takes the arrays of the section; angles are those of its state, and thirds of π/2 the usual
ones (``quarter_turns.py``). The second one, after angles beyond the limit, takes both as further arrays.

    entry     angles = state; thirds = those below; limit
    common    numbers = those below; registers are saved
              operations; among them, for each angle: to far where it is beyond the limit
              registers are restored; return
    far       registers are restored; to the function that replaces angles, which calls the second entry
    entry_at  a limit that nothing is beyond, NaN neither; to common
    address of that function; thirds; numbers

Results may be stored already where an angle is found too large: all of them are stored again. Written by
LLVM before the operations, with addresses of four instructions each, the same takes 10 of the 253 cycles of
the Stanford arm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import pack, unpack
from typing import NamedTuple

from armillary.llvm.instructions import real
from armillary.llvm.vector_math.quarter_turns import LIMIT, PI_OVER_2

CHECK, LIMIT_REGISTER = 15, 8  # registers of integers
SPACING = 12  # words from one check to the next
_BESIDE = 1 << 18  # words that addresses and branches reach
_NEAR = 2 * int(real(LIMIT), 16)  # bits of a size, from the exponent on
_SET_LIMIT = [
    (0xD2800000 if i == 3 else 0xF2800000) | i << 21 | (_NEAR >> 16 * i & 0xFFFF) << 5 | LIMIT_REGISTER
    for i in (3, 2, 1, 0)
    if _NEAR >> 16 * i & 0xFFFF
]  # the first quarter alone, then others into it


class Entry(NamedTuple):
    """Arrays that the section takes, places of its angles in the state, and numbers that it owns."""

    arguments: Sequence[str]
    angles: Sequence[int]
    numbers: Sequence[float]

    def arrays(self, used: Iterable[str], most: int) -> list[str]:
        """Arrays by the registers of their addresses: where they are too many, only those that are used."""
        further = (["angles", "thirds"] if self.angles else []) + (["numbers"] if self.numbers else [])
        if len(self.arguments) + len(further) <= most:
            return [*self.arguments, *further]
        needed = {*used, "state"}
        return [*[a for a in self.arguments if a in needed], *further]

    def near(self, words: int) -> bool:
        """Whether one instruction loads each angle, and reaches what lies beside so many words of code."""
        around = words + len(_SET_LIMIT) + 8 + 5 * len(self.angles)
        return max(self.angles, default=0) < 4096 and around < _BESIDE

    def framed(
        self, head: Sequence[int], body: Sequence[int], tail: Sequence[int], arrays: Sequence[str]
    ) -> tuple[list[int], int, int]:
        """All words, and the places of the second entry and of the address of the function that replaces
        angles (−1 without angles).
        """
        register = {name: i for i, name in enumerate(arrays)}
        places = list(dict.fromkeys(self.angles))
        middle: list[int] = []
        branches = []
        for i, place in enumerate(places):
            middle += body[SPACING * i : SPACING * (i + 1)]
            middle.append(0xF9400000 | place << 10 | register["angles"] << 5 | CHECK)
            middle.append(0xEB000400 | CHECK << 16 | LIMIT_REGISTER << 5 | 31)  # the limit and twice the bits
            branches.append(len(middle))
            middle.append(0x54000009)  # where the limit is not higher
        middle += body[SPACING * len(places) :]
        common = 2 + len(_SET_LIMIT) if places else 0
        start = common + bool(self.numbers) + len(head)
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
        if self.numbers:
            words.append(_address(register["numbers"], thirds + 2 * len(self.angles) - common))
        words += [*head, *middle, *tail, 0xD65F03C0]
        if places:
            words += [*tail, 0x58000010 | address - second + 2 << 5, 0xD61F0200]  # to the address, by x16
            words += [0x92800000 | LIMIT_REGISTER, 0x14000000 | common - second - 1 & 0x3FFFFFF]
        words += [0xD503201F] * (address - len(words))
        words += [0, 0] if places else []
        values = [*[PI_OVER_2[2]] * len(self.angles), *self.numbers]
        words += unpack(f"<{2 * len(values)}I", pack(f"<{len(values)}d", *values))
        return words, second if places else 0, address if places else -1


def _address(register: int, words: int) -> int:
    """The address so many words from here."""
    return 0x10000000 | words << 5 | register


class Encoded(NamedTuple):
    """A function of addresses of arrays, in this order; places of its second entry and of an address."""

    words: list[int]
    arrays: list[str]
    second: int
    address: int


def machine_words(name: str, code: Encoded) -> str:
    """Functions NAME_code and NAME_code_at of these words (``entry.py``), as a part of an LLVM module; the
    function that replaces angles is NAME_far.

    LLVM reads a string of bytes in a tenth of the time of a list of numbers, which takes 1.5 µs per word.
    """
    words, end = code.words, len(code.words)
    lines = [".text", ".p2align 4", f"{name}_code:", *_bytes(words[: code.second])]
    if code.address < 0:
        lines += _bytes(words[code.second :])
    else:
        lines += [f"{name}_code_at:", *_bytes(words[code.second : code.address]), f".xword {name}_far"]
        lines += _bytes(words[code.address + 2 : end])
    return "\n".join([f'module asm "{line}"' for line in lines])


def _bytes(words: Sequence[int]) -> list[str]:
    code = "".join(map(_WRITTEN_BYTES.__getitem__, pack(f"<{len(words)}I", *words)))
    return [f".ascii \\22{code}\\22"] if code else []


# Bytes in a string of the assembler in a string of LLVM, which writes \ as \5C and " as \22.
_WRITTEN_BYTES = [
    f"\\5C{byte:03o}" if byte < 32 or byte > 126 or chr(byte) in '\\"' else chr(byte) for byte in range(256)
]
