"""Inlining: intermediate values that are used once are replaced by their definitions."""

from __future__ import annotations

from armillary.algebra.expression import Expr
from armillary.algebra.intermediate import KeptName
from armillary.program.passes.graph import Graph

_PLAIN = frozenset((1, -1))  # exponents of products and divisions


def inline(graph: Graph) -> Graph:
    """Intermediate values that are used once, replaced by their definitions, so that sums and products
    merge and simplify further.

    A product that is squared stays whole: (a b)² is two multiplications, a² b² three. So does a value that
    listings show.
    """
    counted = graph.uses
    squared: set[Expr] = set()
    for node in graph.special:
        if node.kind == "product" and not _PLAIN.issuperset(node.data[1]):
            squared.update([b for b, n in zip(node.args, node.data[1], strict=True) if n not in _PLAIN])

    dissolved = {
        node
        for node in graph.order
        if node.kind == "let"
        and counted[node] == 1
        and not isinstance(node.data, KeptName)
        and not (node in squared and node.args[0].kind == "product")
    }
    if not dissolved:
        return graph
    return graph.remade(lambda node, args: args[0] if node in dissolved else None, dissolved)
