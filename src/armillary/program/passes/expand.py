"""Expanding: results that are linear in the same values, written out over them."""

from __future__ import annotations

from armillary.algebra.expression import UNIT, Expr, multiply, number, scale, total
from armillary.program.passes.graph import Graph, same_or_rebuilt
from armillary.program.passes.hoist import Constants

Form = dict[Expr, Expr]  # constant factors by variable value; that of UNIT is the constant term

LONG = 24  # terms from which on a form is computed and used as one value


def expand(graph: Graph, constants: Constants) -> Graph:
    """Every sum as Σ kᵢ xᵢ + k₀ over values that are not sums themselves, with constant k: a result
    that is linear in a few values costs one product per value.

    This pays off for small linear systems only; the caller compares costs.
    """
    forms: dict[Expr, Form] = {}
    written: dict[Expr, Expr] = {}

    def value(node: Expr) -> Expr:
        if node not in written:
            parts = [(1, multiply(constants.name(k), x)) for x, k in forms[node].items()]
            written[node] = node if node.constant else total(parts)
        return written[node]

    for node in graph.order:
        form = _linear(node, forms)
        if form is None or len(form) > LONG:
            form = (
                {node: UNIT}
                if not node.args
                else {same_or_rebuilt(node, [value(a) for a in node.args]): UNIT}
            )
        forms[node] = {UNIT: node} if node.constant else form
    return Graph([value(r) for r in graph.roots])


def _linear(node: Expr, forms: dict[Expr, Form]) -> Form | None:
    """The form of a sum, a multiple or a named one of these; None for anything else."""
    if node.constant:
        return None
    if node.kind == "let":
        return forms[node.args[0]]
    if node.kind == "sum":
        offset, coefficients = node.data
        result: Form = {UNIT: number(offset)} if offset else {}
        for c, a in zip(coefficients, node.args, strict=True):
            for value, k in forms[a].items():
                part = scale(k, c)
                result[value] = total([(1, result[value]), (1, part)]) if value in result else part
        return result
    if node.kind == "product":
        coefficient, exponents = node.data
        moving = [(b, n) for b, n in zip(node.args, exponents, strict=True) if not b.constant]
        if len(moving) == 1 and moving[0][1] == 1:
            factor = number(coefficient)
            for b, n in zip(node.args, exponents, strict=True):
                if b.constant:
                    factor = multiply(factor, b**n)
            return {value: multiply(factor, k) for value, k in forms[moving[0][0]].items()}
    return None
