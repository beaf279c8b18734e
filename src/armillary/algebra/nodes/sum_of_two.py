"""±a ± b of terms that have nothing in common: the commonest sum, made in fewer steps than others."""

from __future__ import annotations

from armillary.algebra.nodes.node import DIFFERENCE, SUM_OF_TWO, TRUNCATION, NodeType, intern, negated
from armillary.algebra.units.dimension import ONE, Dimension


def sum_of_two(c: float, a: NodeType, d: float, b: NodeType) -> NodeType | None:
    """c·a + d·b as ``total`` makes it, or None where it has more to do than put them in order: open sums,
    collect, merge constants, take out factors, truncate, compare dimensions.
    """
    p, q = a.kind, b.kind
    if p == "number" or q == "number" or (c != 1 and c != -1) or (d != 1 and d != -1):
        return None
    if p == "product" and (size := a.data[0]) != 1:
        if size != -1:
            return None
        c, a = -c, a.opposite
        p = a.kind
    if q == "product" and (size := b.data[0]) != 1:
        if size != -1:
            return None
        d, b = -d, b.opposite
        q = b.kind
    if p == "sum" or q == "sum" or a is b:
        return None
    first, second = a, b  # of the factors, by which terms are ordered
    if p == "product":
        first = a.args[0]
        if first.constant or a.squares or a.unit is not ONE:
            return None
        for factor in a.args:
            for other in b.args if q == "product" else (b,):
                if factor is other:
                    return None
    if q == "product":
        second = b.args[0]
        if second.constant or b.squares or b.unit is not ONE:
            return None
        if p != "product":
            for factor in b.args:
                if factor is a:
                    return None
    dimension = a.dimension
    if dimension is not b.dimension:
        if dimension is None:
            dimension = b.dimension
        elif b.dimension is not None:
            return None
    if TRUNCATION.get() is not None:
        return None
    # As by term_order, without making its keys.
    x, y = first.order, second.order
    if x[0] != y[0]:
        swapped = y[0] < x[0]
    elif x[1] != y[1]:
        swapped = y[1] < x[1]
    elif (p == "product") is not (q == "product"):
        swapped = p == "product"
    else:
        swapped = b.order < a.order
    made = pair_node((b, a) if swapped else (a, b), 1 if c == d else -1, dimension)
    return made if (d if swapped else c) == 1 else negated(made)


def pair_node(args: tuple[NodeType, NodeType], sign: int, dimension: Dimension | None) -> NodeType:
    """The node of a + b or a − b in canonical order."""
    data = SUM_OF_TWO if sign == 1 else DIFFERENCE
    return intern(type(args[0]), "sum", args, data, dimension, (*args, sign))
