"""Folding: numbers before the terms of a sum go into a constant factor of the term."""

from __future__ import annotations

from collections.abc import Iterable

from armillary.algebra.expression import Expr, number, scale, total
from armillary.program.form.cost import numbers_before
from armillary.program.passes.graph import Graph
from armillary.program.passes.hoist import Constants, hoisted_product


def fold(graph: Graph, constants: Constants) -> Graph:
    """Numbers before the terms of a sum, multiplied into a constant factor of the term: 2·(c₁ x) = c₂ x.

    It comes last, because terms with the same constant may still have a pair to share.
    """
    scaled_sums = [node for node in graph.special if node.kind == "sum" and not _plain(node)]
    folding = [a for node in scaled_sums for c, a in _terms(node) if _folds(c, a)]
    if not folding:
        return graph
    counted = graph.uses
    if not any([counted[a] == 1 for a in folding]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr | None:
        if _plain(node):
            return None
        terms: list[tuple[float, Expr]] = [(1, number(node.data[0]))]
        changed = False
        for c, old, term in zip(node.data[1], node.args, args, strict=True):
            if _folds(c, term) and counted[old] == 1:
                scaled = scale(term, abs(c))
                named = hoisted_product(scaled, list(scaled.args), constants)
                c, term = (1 if c > 0 else -1), scaled if named is None else named
                changed = True
            terms.append((c, term))
        return total(terms) if changed else None

    return graph.remade(make, set(scaled_sums))


def _terms(node: Expr) -> Iterable[tuple[float, Expr]]:
    return zip(node.data[1], node.args, strict=True)


def _folds(c: float, term: Expr) -> bool:
    """Whether a number before a term goes into a constant factor of it."""
    return c not in (1, -1) and term.kind == "product" and term.args[0].constant


def _plain(node: Expr) -> bool:
    """Whether no number stands before a term."""
    return node.kind != "sum" or node.constant or not numbers_before(node.data[1])
