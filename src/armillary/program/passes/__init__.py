"""Passes that make a program cheaper: each a pure function from graph to graph, exact up to rounding.

Enters: a ``Graph`` of root expressions whose ``let`` nodes are the intermediate values. Leaves: a graph that
computes the same roots with fewer operations. Equal expressions need no pass: they are the same node. Read
``graph.py`` first, then ``rewrites.py``. `improve` lists the passes in their order; it undoes each pass that
does not reduce the operations, except passes on which later passes build.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armillary.algebra.expression import Expr
from armillary.program.passes.graph import Graph, Operations
from armillary.program.passes.rewrites import (
    Constants,
    expand,
    factor,
    fold,
    hoist,
    inline,
    narrow,
    reciprocals,
    share,
    spread,
)

__all__ = [
    "Constants", "Graph", "expand", "factor", "fold", "hoist", "inline", "narrow", "reciprocals", "share",
    "spread",
]  # fmt: skip


# In graphs with more nodes, factors and pairs are not searched for. On a chain of 64 links (25,000 nodes) the
# search saves 1.6 % of the operations and takes longer than the derivation. With the value 0, only the first
# two passes run.
SEARCHED = 8000
# In graphs with more nodes, ``expand`` is not tried: it makes (results) × (values) products, which takes
# longer than the derivation unless the system is small.
WRITTEN_OUT = 150


@dataclass(frozen=True)
class Gain:
    """Operations before and after a pass."""

    name: str
    before: Operations
    after: Operations


def improve(
    roots: Sequence[Expr],
    constants: Constants,
    *,
    search: bool = True,
    check: Callable[[str, Graph], None] | None = None,
) -> tuple[Graph, list[Gain]]:
    """Return the roots after all passes, as a graph, and the gain of each pass.

    The first ``inline`` and each ``hoist`` are always kept, since later passes build on them; other passes
    are undone if they save nothing. Without ``search``, or in large graphs, factors and pairs are not
    searched for. The last ``hoist`` names constants that other passes have brought together. ``check`` is
    called with the name and the result of each pass, also if the pass is undone.
    """
    gains: list[Gain] = []
    graph = Graph(roots)
    searching = search and len(graph.order) <= SEARCHED

    def name_values(g: Graph) -> Graph:
        return hoist(g, constants)

    def fold_values(g: Graph) -> Graph:
        return fold(g, constants)

    def spread_and_share(g: Graph) -> Graph:
        opened = spread(g)
        return g if opened is g else share(opened)

    def expand_small(g: Graph) -> Graph:
        return name_values(expand(g, constants)) if len(g.order) <= WRITTEN_OUT else g

    passes: tuple[tuple[str, Callable[[Graph], Graph], bool, bool], ...] = (
        ("inline", inline, True, False),
        ("hoist", name_values, True, False),
        ("reciprocals", reciprocals, False, False),
        ("factor", factor, False, True),
        ("share", share, False, True),
        ("spread", spread_and_share, False, True),
        ("inline", inline, False, True),
        ("factor", factor, False, True),
        ("fold", fold_values, False, False),
        ("hoist", name_values, True, False),
        ("expand", expand_small, False, True),
    )
    for name, apply, stays, is_search in passes if SEARCHED else passes[:2]:
        if is_search and not searching:
            continue
        changed = apply(graph)
        if changed is graph:
            continue
        if check is not None:
            check(name, changed)
        if stays or changed.operations.weight < graph.operations.weight:
            gains.append(Gain(name, graph.operations, changed.operations))
            graph = changed
    return graph, gains
