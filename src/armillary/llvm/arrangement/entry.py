"""The way into machine code of a section: what it takes, and how it is handed to LLVM.

The first entry takes the arrays of the section; angles are those of its state, and thirds of π/2 the usual
ones (``quarter_turns.py``), which lie beside the code like the numbers that it owns. An angle beyond the
limit, which is looked at among the operations, leads to a function that replaces angles and calls the second
entry; that takes both as further arrays. Results may be stored already where an angle is found too large: all
of them are stored again. ``arm64_entry.py`` and ``x86_entry.py`` write this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import pack
from typing import NamedTuple

from armillary.llvm.instructions import real
from armillary.llvm.vector_math.quarter_turns import LIMIT, PI_OVER_2

SPACING = 12  # instructions from one look at an angle to the next
NEAR = 2 * int(real(LIMIT), 16)  # bits of a size, from the exponent on


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

    def values(self) -> bytes:
        """Thirds of π/2 for all angles, and the numbers."""
        values = [*[PI_OVER_2[2]] * len(self.angles), *self.numbers]
        return pack(f"<{len(values)}d", *values)


class Encoded(NamedTuple):
    """Code of a function of addresses of arrays, in this order; the places of its second entry and of the
    address of the function that replaces angles, in bytes: 0 and −1 without angles.
    """

    code: bytes
    arrays: list[str]
    second: int
    address: int


def machine_code(name: str, encoded: Encoded) -> str:
    """Functions NAME_code and NAME_code_at of this code, as a part of an LLVM module; the function that
    replaces angles is NAME_far.

    LLVM reads a string of bytes in a tenth of the time of a list of numbers, which takes 1.5 µs per word.
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


# Bytes in a string of the assembler in a string of LLVM, which writes \ as \5C and " as \22.
_WRITTEN_BYTES = [
    f"\\5C{byte:03o}" if byte < 32 or byte > 126 or chr(byte) in '\\"' else chr(byte) for byte in range(256)
]
