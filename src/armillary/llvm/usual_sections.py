"""Sections without the operations that only rare conditions need.

A model marks conditions that hardly ever hold in a run (``RareCondition``), such as drift that must be
removed or a pivot in doubt. If none of them holds, a section needs only its `usual` part, in which choices on
these conditions are already decided. It has no block functions that are called only under such a condition,
and no values that only these functions read. The usual part also computes whether some rare condition holds;
in that case the whole section is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.block_functions import is_block, is_block_part
from armillary.algebra.expression import ZERO, Expr, as_expr, call
from armillary.algebra.functions import RareCondition
from armillary.algebra.walk import operands_first, transform
from armillary.program.branch_packs import strip_lets
from armillary.program.program import Program, ProgramSection, section


@dataclass(frozen=True)
class UsualSection:
    """A section for states in which no rare condition holds; its last result is whether one holds."""

    usual: ProgramSection
    whole: ProgramSection


@dataclass(frozen=True)
class ArrivalSections:
    """The sections that a step needs at its end, as one evaluation, if no state has to be corrected there.

    ``units`` gives Euler parameters unit length. ``arrival`` then has the rates, the event functions, whether
    states have to be corrected, and whether another rare condition holds.
    """

    units: ProgramSection
    arrival: ProgramSection


def split_rare_conditions(whole: ProgramSection) -> UsualSection | None:
    """Return the usual part of a section, or None if it has no rare conditions."""
    given = {n: ZERO for n in whole.nodes if n.kind == "let" and isinstance(n.data, RareCondition)}
    if not given:
        return None
    found = transform([*whole.results, *(n.args[0] for n in given)], given.get)
    results, conditions = found[: len(whole.results)], found[len(whole.results) :]
    some = as_expr(reduce(fn.or_, conditions))
    # With choices decided, some values are functions of constants alone, which `precompute` does not have.
    usual = section(whole.name, [*whole.labels, "rare"], [*results, some], constant=True)
    return UsualSection(usual, whole)


def _use_longer_blocks(results: Sequence[Expr]) -> list[Expr]:
    """Return results that take the parts of a block from another block that extends it, if there is one."""
    nodes = operands_first(results)
    blocks = [n for n in nodes if is_block(n)]
    given = {block: [strip_lets(x) for x in block.args] for block in blocks}
    longer = {
        block: other
        for other in blocks
        for block in blocks
        if other.data.extends == block.data.name and given[other][: len(block.args)] == given[block]
    }

    def take_part(node: Expr) -> Expr | None:
        other = longer.get(node.args[0]) if is_block_part(node) else None
        return None if other is None else call(node.data, (other,), None)

    return transform(results, take_part)


def join_arrival(
    program: Program, usual: dict[str, ProgramSection], split: dict[str, UsualSection]
) -> ArrivalSections | None:
    """Return the sections of an arrival, or None if steps usually correct more than Euler parameters."""
    if "renew" not in split or not program.events.results:
        return None
    places = {place + i for place in program.quaternions for i in range(4)}
    renewed = list(zip(program.renewed, usual["renew"].results, strict=False))
    if any(x is not program.state[place] for place, x in renewed if place not in places):
        return None
    units = [(program.state[place].data.name, x) for place, x in renewed if place in places]
    both = [usual[name] for name in ("derivatives", "events")]
    counts = [len(whole.results) for whole in (program.derivatives, program.events)]
    results = [x for part, n in zip(both, counts, strict=True) for x in part.results[:n]]
    labels = [x for part, n in zip(both, counts, strict=True) for x in part.labels[:n]]
    others = [split[name].usual.results[-1] for name in ("derivatives", "events") if name in split]
    *results, drift, some = _use_longer_blocks(
        [*results, split["renew"].usual.results[-1], as_expr(reduce(fn.or_, others, 0))]
    )
    return ArrivalSections(
        section("units", [name for name, _ in units], [x for _, x in units], constant=True),
        section("arrival", [*labels, "drift", "rare"], [*results, drift, some], constant=True),
    )
