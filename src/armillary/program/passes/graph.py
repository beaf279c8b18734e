"""A program under improvement: roots, the order of the nodes below them, and what is asked of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first, rebuild
from armillary.program.cost import Operations, count_nodes


class Graph:
    """Roots with the order of all nodes below them, walked once and used by every question about them."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self.order = operands_first(self.roots)

    @cached_property
    def uses(self) -> Counter[Expr]:
        """How many places use each node: operands of distinct nodes, and roots."""
        found: Counter[Expr] = Counter(self.roots)
        for node in self.order:
            for a in node.args:
                found[a] += 1
        return found

    @cached_property
    def operations(self) -> Operations:
        """Operations of the variable nodes."""
        return count_nodes(self.order)

    def remade(self, make: Callable[[Expr, list[Expr]], Expr]) -> Graph:
        """The graph with every node made anew by ``make(node, new operands)``, operands first."""
        new: dict[Expr, Expr] = {}
        for node in self.order:
            new[node] = make(node, [new[a] for a in node.args]) if node.args else node
        return Graph([new[r] for r in self.roots])


def same_or_rebuilt(node: Expr, args: list[Expr]) -> Expr:
    """The node itself where its operands are the same, else the same operation on the new ones."""
    for x, y in zip(args, node.args, strict=True):
        if x is not y:
            return rebuild(node, args)
    return node


def lone_number(node: Expr) -> bool:
    """Whether a sum has a number as a term, or a product one as a factor."""
    return node.data[0] != 0 if node.kind == "sum" else node.data[0] not in (1, -1)
