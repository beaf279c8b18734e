"""The graph that passes transform: roots, their nodes in order, numbers of uses, exact operation counts.

Each binary + or − is an addition; each × a multiplication; each ÷ and each square root a division; a whole
power counts as its squarings; unary minus is free; functions (sin, select, a power like x^0.3, …) are counted
separately. A node with several users counts once: the generated code computes it once. Constants (functions
of parameters alone) are precomputed and cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from armillary.algebra.expression import Expr
from armillary.algebra.functions import with_definition
from armillary.algebra.node import DIFFERENCE, PRODUCT_OF_TWO, SUM_OF_TWO
from armillary.algebra.walk import is_negative, operands_first, rebuild, rebuild_simply, transform


@dataclass(frozen=True)
class Operations:
    """Numbers of operations of one evaluation."""

    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    functions: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.additions + other.additions,
            self.multiplications + other.multiplications,
            self.divisions + other.divisions,
            self.functions + other.functions,
        )

    def __mul__(self, count: int) -> Operations:
        return Operations(
            count * self.additions,
            count * self.multiplications,
            count * self.divisions,
            count * self.functions,
        )

    @property
    def total(self) -> int:
        """All operations, functions included."""
        return self.additions + self.multiplications + self.divisions + self.functions

    @property
    def weight(self) -> float:
        """A measure of time: an addition or multiplication 1, a division or root 4, a function 12.

        The weights follow from latencies and throughputs of current 64-bit cores. They are used to choose
        between alternatives and are never reported.
        """
        return self.additions + self.multiplications + 4 * self.divisions + 12 * self.functions

    def __str__(self) -> str:
        return f"{self.additions} +, {self.multiplications} ×, {self.divisions} ÷, {self.functions} functions"


def node_operations(node: Expr) -> Operations:
    """Return the operations of one node, without its operands."""
    return sum_operations([node])


@lru_cache(1024)
def product_operations(exponents: tuple[float, ...], scaled: bool) -> tuple[int, int, int]:
    """Return (multiplications, divisions, functions) of a product; ``scaled``: its coefficient is not ±1."""
    multiplications = divisions = functions = above = below = 0
    for exponent in exponents:
        size = abs(exponent)
        whole = int(size)
        if size - whole not in (0, 0.5):
            functions += 1
        else:
            if size != whole:
                divisions += 1  # a square root
                multiplications += 1 if whole else 0
            if whole:
                multiplications += _power_multiplications(whole)
        if exponent > 0:
            above += 1
        else:
            below += 1
    multiplications += max(above - 1, 0) + max(below - 1, 0)
    if below:
        divisions += 1
    if scaled and above:
        multiplications += 1
    return multiplications, divisions, functions


@lru_cache(1024)
def numbers_before(coefficients: tuple[float, ...]) -> int:
    """Return the number of terms of a sum with a coefficient other than ±1."""
    return len([c for c in coefficients if c not in (1, -1)])


def _power_multiplications(n: int) -> int:
    """Return the number of multiplications of x^n by squaring."""
    return n.bit_length() - 1 + bin(n).count("1") - 1


def count(roots: Iterable[Expr]) -> Operations:
    """Return the operations that compute the roots, constants excluded."""
    return count_nodes(operands_first(roots))


def count_nodes(nodes: Iterable[Expr]) -> Operations:
    """Return the operations of the nodes that are not constant."""
    return sum_operations([node for node in nodes if not node.constant])


def sum_operations(nodes: Iterable[Expr]) -> Operations:
    """Return the operations of exactly these nodes, including constant ones."""
    additions = multiplications = divisions = functions = 0
    for node in nodes:
        data = node.data
        if data is PRODUCT_OF_TWO:  # most often
            multiplications += 1
        elif data is SUM_OF_TWO or data is DIFFERENCE:
            additions += 1
        elif node.kind == "sum":
            constant, coefficients = data
            additions += len(coefficients) - (0 if constant else 1)
            multiplications += numbers_before(coefficients)
        elif node.kind == "product":
            coefficient, exponents = data
            more = product_operations(exponents, coefficient not in (1, -1))
            multiplications += more[0]
            divisions += more[1]
            functions += more[2]
        elif node.kind == "call":
            functions += 1
    return Operations(additions, multiplications, divisions, functions)


class Graph:
    """Roots, and all nodes that they hold in an order with operands first, which is computed once."""

    def __init__(self, roots: Sequence[Expr], source: tuple[Graph, dict[Expr, Expr]] | None = None) -> None:
        self.roots = list(roots)
        self.source = source  # the graph before the last pass, and what the pass made of its nodes
        self.order = operands_first(self.roots)
        self.hoisted = False  # whether `hoist` has found that all constants have names

    @cached_property
    def uses(self) -> Counter[Expr]:
        """The number of uses of each node: operands of distinct nodes, and roots."""
        found: Counter[Expr] = Counter(self.roots)
        found.update(chain.from_iterable([node.args for node in self.order]))
        return found

    @cached_property
    def special(self) -> list[Expr]:
        """Sums and products in order, without the most frequent forms a + b, a − b and a·b."""
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

    def rebuild_nodes(self, make: Callable[[Expr, list[Expr]], Expr | None], among: Container[Expr]) -> Graph:
        """Return the graph with every node rebuilt by ``make(node, new operands)``, operands first.

        If ``make`` returns None, the node is the same operation on the new operands. Nodes not in ``among``
        are kept if their operands are unchanged. A pass changes few nodes; in their users only the names of
        intermediate values change. The operands of such a user are only sorted again, without simplification.
        This requires that different intermediate values still have different names.
        """
        order = self.order
        new = dict(zip(order, order, strict=True))
        apart: set[Expr] = set()  # nodes that changed in more than names and signs
        touched: set[Expr] = set()  # all nodes that changed
        # The old node of each intermediate value or call, old or new.
        origin = {n: n for n in order if n.kind == "let" or n.kind == "call"}
        renew = new.__getitem__
        for node in order:
            before = node.args
            if touched.isdisjoint(before) and node not in among:
                continue
            kind = node.kind
            args = list(map(renew, before))
            made = make(node, args)
            # A changed definition does not change the users of an intermediate value.
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
        return self if roots == self.roots else Graph(roots, (self, new))

    def improve_others(self, roots: Sequence[Expr]) -> list[Expr]:
        """Return other expressions with the nodes of this graph replaced by what the passes made of them.

        A node that a pass removed from the graph is rebuilt from the pass's new nodes; a removed intermediate
        value keeps its name.
        """
        made: list[dict[Expr, Expr]] = []
        first = self
        while first.source is not None:
            first, new = first.source
            made.append(new)
        made.reverse()
        ours = set(first.order)

        def improved(node: Expr) -> Expr | None:
            if node not in ours:
                return None
            changed = node
            for new in made:
                if changed not in new:
                    for inner in operands_first([changed], new):
                        if inner not in new:
                            new[inner] = same_or_rebuilt(inner, [new[a] for a in inner.args])
                changed = new[changed]
            dissolved = node.kind == "let" and changed.kind != "let" and not is_negative(changed)
            return with_definition(node, changed) if dissolved else changed

        return transform(roots, improved, ours)


def same_or_rebuilt(node: Expr, args: list[Expr]) -> Expr:
    """Return the node itself if its operands are unchanged, else the same operation on the new operands."""
    for x, y in zip(args, node.args, strict=True):
        if x is not y:
            return rebuild(node, args)
    return node


def lone_number(node: Expr) -> bool:
    """Return whether a sum has a number as a term, or a product a number as a factor."""
    return node.data[0] != 0 if node.kind == "sum" else node.data[0] not in (1, -1)
