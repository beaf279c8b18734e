"""Values that several sections of one model need, each computed by one function.

Rows of contacts, their columns and free accelerations enter derivatives, outputs, events, the decision at an
event and the correction of drift. Written out in each of these sections they make up half of the code of a
model with contacts, and LLVM's time grows with it.

A group holds the values that the same sections need. A value that another one needs is needed by all sections
of that one, so groups of more sections come first and none needs a later one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from armillary.algebra.block_functions import is_block, is_block_part
from armillary.algebra.expression import Expr
from armillary.llvm.instructions import Place
from armillary.program.branch_packs import strip_lets
from armillary.program.program import ProgramSection

LEAST = 400  # values that are written once less: with fewer, calls cost more than they save


@dataclass(frozen=True)
class SharedGroup:
    """Values in an array of this name, for the sections of these names."""

    array: str
    section: ProgramSection
    users: frozenset[str]
    needs: tuple[str, ...]  # arrays of other groups


@dataclass(frozen=True)
class SharedSections:
    """Groups in the order in which they are computed, the rest of each section, and the arrays of values."""

    groups: tuple[SharedGroup, ...] = ()
    rest: Mapping[str, ProgramSection] = field(default_factory=dict)
    places: Mapping[Expr, Place] = field(default_factory=dict)


def share_sections(sections: Mapping[str, ProgramSection]) -> SharedSections:
    """Return the common values of sections with blocks and the rest of each; empty if these are few."""
    users = _users_of_nodes(sections)
    if not any(is_block(node) for node in users):
        return SharedSections()
    together: dict[frozenset[str], list[Expr]] = defaultdict(list)
    for node, names in users.items():
        if len(names) > 1:
            together[names].append(node)
    if sum([len(nodes) * (len(names) - 1) for names, nodes in together.items()]) < LEAST:
        return SharedSections()
    home = {node: names for names, nodes in together.items() for node in nodes}
    wanted = _wanted_elsewhere(sections, users, home)
    order = sorted(together, key=lambda names: (-len(names), sorted(names)))
    places: dict[Expr, Place] = {}
    groups = []
    for k, names in enumerate(order):
        array, example = f"shared{k}", sections[min(names)]
        nodes = [n for n in example.nodes if home.get(n) is names]  # operands first, as they are there
        at_hand = set(nodes)
        nodes += [n for n in together[names] if n not in at_hand]  # parts of blocks that others want
        results = tuple([node for node in nodes if node in wanted])
        needs = sorted({str(places[a][0]) for n in nodes for x in n.args if (a := strip_lets(x)) in places})
        places |= {node: (array, i) for i, node in enumerate(results)}
        labels = ("",) * len(results)
        group = replace(example, name=array, labels=labels, results=results, nodes=tuple(nodes), packs=())
        groups.append(SharedGroup(array, group, names, tuple(needs)))
    rest = {
        name: replace(section, nodes=tuple([n for n in section.nodes if n not in home]))
        for name, section in sections.items()
    }
    return SharedSections(tuple(groups), rest, places)


def _users_of_nodes(sections: Mapping[str, ProgramSection]) -> dict[Expr, frozenset[str]]:
    """Return the sections that need each value; parts of a block stay with the block."""
    found: dict[Expr, set[str]] = {}
    for name, section in sections.items():
        for node in section.nodes:
            if node.kind != "let":
                found.setdefault(node, set()).add(name)
    for node, names in found.items():
        if is_block_part(node):
            names |= found[node.args[0]]
    known: dict[frozenset[str], frozenset[str]] = {}
    return {node: known.setdefault(key := frozenset(names), key) for node, names in found.items()}


def _wanted_elsewhere(
    sections: Mapping[str, ProgramSection],
    users: Mapping[Expr, frozenset[str]],
    home: Mapping[Expr, frozenset[str]],
) -> set[Expr]:
    """Return the shared values that enter other groups, the rest of a section, or its results."""
    wanted = {strip_lets(result) for section in sections.values() for result in section.results}
    for node in users:
        own = home.get(node)
        wanted |= {a for a in map(strip_lets, node.args) if a in home and home[a] is not own}
    return wanted & home.keys()
