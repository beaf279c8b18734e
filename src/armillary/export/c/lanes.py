"""Operations on vectors in exported C: which, and what the head of a file states about them."""

from __future__ import annotations

from armillary.algebra.block_functions import is_block
from armillary.errors import ArmillaryError
from armillary.program.pack_choice import in_lanes, packed
from armillary.program.program import Program, ProgramSection

WIDTHS = (1, 2, 4)
USUAL = 2  # doubles in a vector that all 64-bit machines have


def checked_lanes(lanes: object) -> int:
    """Doubles in a vector."""
    for width in WIDTHS:
        if lanes == width and not isinstance(lanes, bool):
            return width
    raise ArmillaryError(f"lanes={lanes!r}: give 2 or 4, the doubles of a vector, or 1 for no vectors")


def remark(section: ProgramSection) -> list[str]:
    """The lines about vectors in the head of a file."""
    if not section.packs:
        return []
    widest = max(len(pack.lanes) for pack in section.packs)
    return [f"operations of branches that are alike are on vectors of {widest} doubles, for GCC and Clang"]


def in_vectors(program: Program, lanes: int) -> ProgramSection:
    """The derivatives with packs of at most so many lanes; without, where none pays."""
    if lanes == 1 or any(is_block(node) for node in program.derivatives.nodes):
        return program.derivatives
    places = {s: ("state", i) for i, s in enumerate(program.state)}
    places |= {s: ("constants", i) for i, s in enumerate(program.constants)}
    return packed(program.derivatives, in_lanes(program.alike, lanes), places)
