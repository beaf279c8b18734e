"""Narrowing: very long sums and products in parts."""

from __future__ import annotations

from armillary.algebra.expression import Expr, number, power, total
from armillary.algebra.intermediate import let
from armillary.algebra.walk import product_of
from armillary.program.passes.graph import Graph, same_or_rebuilt

MANY = 100  # operands of a sum or product from which on it is cut: a program's line stays a line


def narrow(graph: Graph) -> Graph:
    """Sums and products of very many operands in parts, and these in parts again: no operation more or less.

    Compilers are slow on one expression with thousands of operands; LLVM's time grows with their square.
    """
    if not any([len(n.args) > MANY and not n.constant for n in graph.special]):
        return graph

    def make(node: Expr, args: list[Expr]) -> Expr:
        made = same_or_rebuilt(node, args)
        while made.kind in ("sum", "product") and len(made.args) > MANY and not made.constant:
            made = _with_parts(made)
        return made

    return graph.remade(make, set(graph.order))


def _with_parts(node: Expr) -> Expr:
    offset, factors = node.data
    items = list(zip(factors, node.args, strict=True))
    parts = [items[i : i + MANY] for i in range(0, len(items), MANY)]
    if node.kind == "sum":
        return total([*((1, let(total(part), "part")) for part in parts), (1, number(offset))])
    made = [let(product_of([power(b, n) for n, b in part]), "part") for part in parts]
    return product_of([number(offset), *made])
