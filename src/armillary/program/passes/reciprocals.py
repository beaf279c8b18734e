"""Reciprocals: one division in place of several by the same value."""

from __future__ import annotations

from collections import Counter

from armillary.algebra.expression import Expr, let, multiply, number, power
from armillary.program.passes.graph import Graph, same_or_rebuilt


def reciprocals(graph: Graph) -> Graph:
    """One division and products in place of several divisions by the same value."""
    counted: Counter[Expr] = Counter()
    for node in graph.order:
        if node.kind == "product" and not node.constant:
            counted.update(
                [b for b, n in zip(node.args, node.data[1], strict=True) if n == -1 and not b.constant]
            )

    def make(node: Expr, args: list[Expr]) -> Expr:
        if node.kind != "product" or node.constant:
            return same_or_rebuilt(node, args)
        coefficient, exponents = node.data
        divided = [b for b, n in zip(node.args, exponents, strict=True) if n == -1 and counted[b] > 1]
        if not divided or len(exponents) == 1:
            return same_or_rebuilt(node, args)
        result = number(coefficient)
        for old, base, n in zip(node.args, args, exponents, strict=True):
            factor = let(power(base, -1), "reciprocal") if n == -1 and counted[old] > 1 else power(base, n)
            result = multiply(result, factor)
        return result

    return graph.remade(make)
