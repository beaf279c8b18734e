"""Factoring: common factors taken out within sums."""

from __future__ import annotations

from collections import Counter

from armillary.algebra.expression import Expr, multiply, number, power, total
from armillary.program.passes.graph import Graph


def factor(graph: Graph) -> Graph:
    """a x + b x + c = (a + b) x + c within sums, most frequent factor first: one multiplication saved per
    term joined.

    Terms with other uses are left alone, since they are computed anyway.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "sum" or node.constant:
            return None
        offset, coefficients = node.data
        terms = list(zip(coefficients, args, [counted[a] == 1 for a in node.args], strict=True))
        grouped = _grouped(terms)
        return None if grouped is None else total([*grouped, (1, number(offset))])

    long = {n for n in graph.order if n.kind == "sum" and len(n.args) > 1}
    return graph.remade(make, long)


def _grouped(terms: list[tuple[float, Expr, bool]]) -> list[tuple[float, Expr]] | None:
    """Terms with common factors taken out, or None where there are none worth taking."""
    loose = [(c, t) for c, t, own in terms if own and t.kind == "product"]
    rest = [(c, t) for c, t, own in terms if not (own and t.kind == "product")]
    if len(loose) < 2:
        return None
    changed = False
    while True:
        counted: Counter[Expr] = Counter()
        for _, term in loose:
            counted.update(_single_factors(term))
        best = max(counted, key=lambda b: (counted[b], not b.constant, b.order), default=None)
        if best is None or counted[best] < 2:
            return [*rest, *loose] if changed else None
        changed = True
        inside = [(c, multiply(t, power(best, -1))) for c, t in loose if best in _single_factors(t)]
        loose = [(c, t) for c, t in loose if best not in _single_factors(t)]
        rest.append((1, multiply(best, total(inside))))


def _single_factors(term: Expr) -> list[Expr]:
    return [b for b, n in zip(term.args, term.data[1], strict=True) if n == 1]
