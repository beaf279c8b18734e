"""Spreading: constant factors multiplied into sums that stand within sums, where terms may meet others."""

from __future__ import annotations

from armillary.algebra.expression import Expr, multiply, number, power, total
from armillary.program.passes.graph import Graph


def spread(graph: Graph) -> Graph:
    """x + k (a + b y) = x + k a + k b y for constants k, a, b, whose products are computed beforehand.

    This alone saves nothing; but x + k a may occur in other sums, which ``share`` finds.
    """
    counted = graph.uses

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if node.kind != "sum" or node.constant:
            return None
        offset, coefficients = node.data
        terms: list[tuple[float, Expr]] = [(1, number(offset))]
        changed = False
        for c, old, new in zip(coefficients, node.args, args, strict=True):
            opened = _opened(new) if counted[old] == 1 else None
            changed = changed or opened is not None
            terms += [(c, new)] if opened is None else [(c * k, t) for k, t in opened]
        return total(terms) if changed else None

    return graph.remade(make, {n for n in graph.order if n.kind == "sum"})


def _opened(term: Expr) -> list[tuple[float, Expr]] | None:
    """The terms of a constant times a sum of constants and their multiples; None for anything else."""
    if term.kind != "product":
        return None
    moving = [(b, n) for b, n in zip(term.args, term.data[1], strict=True) if not b.constant]
    if len(moving) != 1 or moving[0][1] != 1 or moving[0][0].kind != "sum":
        return None
    inner = moving[0][0]
    if not inner.data[0] and not any(t.constant for t in inner.args):
        return None
    factor = multiply(term, power(inner, -1))
    offset, coefficients = inner.data
    parts = [(c, multiply(t, factor)) for c, t in zip(coefficients, inner.args, strict=True)]
    return [*parts, (offset, factor)] if offset else parts
