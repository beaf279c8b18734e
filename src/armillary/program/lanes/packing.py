"""A section with packs: the last pass, for machine code with vector registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr
from armillary.program.lanes.pack import Column, Pack
from armillary.program.lanes.pack_choice import worthwhile
from armillary.program.lanes.packs import possible_packs

if TYPE_CHECKING:
    from armillary.program.form.program import ProgramSection


def in_lanes(alike: Sequence[Column], width: int) -> tuple[Column, ...]:
    """States that correspond, for packs of at most so many lanes."""
    if width < 2:
        return ()
    return tuple([column[i : i + width] for column in alike for i in range(0, len(column), width)])


def packed(
    section: ProgramSection,
    alike: Sequence[Column],
    places: Mapping[Expr, object],
    *,
    own_sines: bool = False,
) -> ProgramSection:
    """The section with the packs that pay, the nodes of each side by side; itself where there are none.
    ``own_sines``: those of plain angles are computed where they are used, not all of them together.
    """
    best: tuple[list[Pack], float] = ([], 0.0)
    for width in sorted({len(column) for column in alike}):  # four lanes need not be better than two
        possible = possible_packs(section.nodes, in_lanes(alike, width))
        best = max(
            best, worthwhile(possible, section.nodes, section.results, places, own_sines), key=lambda b: b[1]
        )
    packs = tuple(best[0])
    if not packs:
        return section
    return replace(section, nodes=_side_by_side(section.nodes, packs), packs=packs)


def _side_by_side(nodes: Sequence[Expr], packs: Sequence[Pack]) -> tuple[Expr, ...]:
    """The nodes in nearly the same order, those of a pack together, after the operands of all of them."""
    home = {node: pack for pack in packs for node in pack.lanes}
    listed = set(nodes)
    order: dict[Expr, None] = {}
    for wanted in nodes:
        waiting = [] if wanted in order else [wanted]
        while waiting:
            node = waiting[-1]
            if node in order:
                waiting.pop()
                continue
            pack = home.get(node)
            together = pack.lanes if pack is not None else (node,)
            missing = [a for n in together for a in n.args if a not in order and a in listed]
            if missing:
                waiting += missing
            else:
                order.update(dict.fromkeys(together))
                waiting.pop()
    return tuple(order)
