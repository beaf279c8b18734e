"""The way into machine code of a section on arm64: numbers beside the code, and angles checked within it.

    entry     angles = state; thirds = those below; limit
    common    numbers = those below; registers are saved
              operations; among them, for each angle: to far where it is beyond the limit
              registers are restored; return
    far       registers are restored; to the function that replaces angles, which calls the second entry
    entry_at  a limit that nothing is beyond, NaN neither; to common
    address of that function; thirds; numbers

Written by LLVM before the operations, with addresses of four instructions each, the same takes 10 of the 253
cycles of the Stanford arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack

from armillary.llvm.arrangement.entry import NEAR, SPACING, Encoded, Entry

CHECK, LIMIT_REGISTER = 15, 8  # registers of integers
_BESIDE = 1 << 18  # words that addresses and branches reach
_SET_LIMIT = [
    (0xD2800000 if i == 3 else 0xF2800000) | i << 21 | (NEAR >> 16 * i & 0xFFFF) << 5 | LIMIT_REGISTER
    for i in (3, 2, 1, 0)
    if NEAR >> 16 * i & 0xFFFF
]  # the first quarter alone, then others into it


def reaches(entry: Entry, words: int) -> bool:
    """Whether one instruction loads each angle, and reaches what lies beside so many words of code."""
    around = words + len(_SET_LIMIT) + 8 + 5 * len(entry.angles)
    return max(entry.angles, default=0) < 4096 and around < _BESIDE


# sub sp, sp, 4096; str xzr, [sp]: a large frame takes its pages one after the other, so that a stack that is
# too small ends at its guard page; otherwise the frame would lie in the memory beyond.
TOUCHED_PAGE = [0xD14007FF, 0xF90003FF]


def framed(
    entry: Entry, head: Sequence[int], body: Sequence[int], tail: Sequence[int], arrays: Sequence[str]
) -> Encoded:
    """The whole code, whose arrays are in registers in this order."""
    register = {name: i for i, name in enumerate(arrays)}
    places = list(dict.fromkeys(entry.angles))
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
    """The address so many words from here."""
    return 0x10000000 | words << 5 | register
