"""A graph that passes transform: roots, the order of the nodes below them, uses and operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import cached_property
from itertools import chain

from armillary.algebra.expression import Expr
from armillary.algebra.functions import with_definition
from armillary.algebra.node import DIFFERENCE, PRODUCT_OF_TWO, SUM_OF_TWO
from armillary.algebra.walk import is_negative, operands_first, rebuild, rebuild_simply
from armillary.program.cost import Operations, count_nodes


class Graph:
    """Roots with the order of all nodes below them, which is computed once."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self.order = operands_first(self.roots)
        self.hoisted = False  # whether it is known to hold no constant without a name

    @cached_property
    def uses(self) -> Counter[Expr]:
        """The number of uses of each node: operands of distinct nodes, and roots."""
        found: Counter[Expr] = Counter(self.roots)
        found.update(chain.from_iterable([node.args for node in self.order]))
        return found

    @cached_property
    def special(self) -> list[Expr]:
        """Sums and products but a + b, a − b and a·b, which most are, in order."""
        return [
            n
            for n in self.order
            if n.data is not PRODUCT_OF_TWO
            and n.data is not SUM_OF_TWO
            and n.data is not DIFFERENCE
            and (n.kind == "sum" or n.kind == "product")
        ]

    @cached_property
    def operations(self) -> Operations:
        """Operations of the variable nodes."""
        return count_nodes(self.order)

    def remade(self, make: Callable[[Expr, list[Expr]], Expr | None], among: Container[Expr]) -> Graph:
        """The graph with every node made again by ``make(node, new operands)``, operands first.

        Where ``make`` returns None, the node is the same operation on the new operands. It does so for all
        nodes but those ``among`` which a pass finds something to do, as long as their operands stay. A pass
        changes few nodes; those above differ only in the names of intermediate values. Their operands are
        sorted again without simplification, which requires that different nodes have different new names.
        """
        new: dict[Expr, Expr] = {}
        apart: set[Expr] = set()  # nodes that have become more than themselves under other names and signs
        touched: set[Expr] = set()  # these, and all that are new
        origin: dict[Expr, Expr] = {}  # of new intermediate values and calls
        renew = new.__getitem__
        for node in self.order:
            before = node.args
            kind = node.kind
            if touched.isdisjoint(before) and node not in among:
                new[node] = node
                if (kind == "let" or kind == "call") and origin.setdefault(node, node) is not node:
                    apart.add(node)
                    touched.add(node)
                continue
            args = list(map(renew, before))
            made = make(node, args)
            # An intermediate value stands for itself, whatever it is made of now.
            alike = kind == "let" or apart.isdisjoint(before)
            if made is not None:
                alike = alike and made is node
            elif tuple(args) == before:
                made = node
            elif kind == "let":
                made = with_definition(node, args[0])
            elif not alike or (made := rebuild_simply(node, args)) is None:
                made = rebuild(node, args)
                alike = alike and kind == "call"
            if alike and (kind == "let" or kind == "call"):
                value = made.args[0] if is_negative(made) else made
                alike = value.kind == kind and origin.setdefault(value, node) is node
                alike = alike and (kind == "let" or value.data == node.data)
            if not alike:
                apart.add(node)
                touched.add(node)
            elif made is not node:
                touched.add(node)
            new[node] = made
        roots = [new[r] for r in self.roots]
        return self if roots == self.roots else Graph(roots)


def same_or_rebuilt(node: Expr, args: list[Expr]) -> Expr:
    """The node itself where its operands are the same, else the same operation on the new ones."""
    for x, y in zip(args, node.args, strict=True):
        if x is not y:
            return rebuild(node, args)
    return node


def lone_number(node: Expr) -> bool:
    """Whether a sum has a number as a term, or a product one as a factor."""
    return node.data[0] != 0 if node.kind == "sum" else node.data[0] not in (1, -1)
