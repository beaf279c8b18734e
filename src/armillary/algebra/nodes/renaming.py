"""The same operation on operands that differ from its own in name and sign alone."""

from __future__ import annotations

from armillary.algebra.expression import Expr, _canonical_sum, _product, multiply
from armillary.algebra.nodes.node import PRODUCT_OF_TWO, TRUNCATION, negated
from armillary.algebra.nodes.sum_of_two import sum_of_two
from armillary.algebra.nodes.terms import common_dimension
from armillary.algebra.units.dimension import ONE


def renamed(node: Expr, args: list[Expr]) -> Expr | None:
    """The result of ``rebuild`` for a sum or product whose new operands are its own under other names, or
    their negatives, and different where its own are: no terms to collect, no factors to take out, only a new
    order.

    None for other nodes, and where it is not as simple as that.
    """
    if node.data is PRODUCT_OF_TWO:  # most often
        x, y = args
        minus = False
        if x.kind == "product":
            if not is_negative(x):
                return None
            x, minus = x.args[0], True
        if y.kind == "product":
            if not is_negative(y):
                return None
            y, minus = y.args[0], not minus
        made = multiply(x, y)
        return negated(made) if minus else made
    if node.kind == "sum" and TRUNCATION.get() is None:
        constant, coefficients = node.data
        if len(args) == 2 and constant == 0:
            found = sum_of_two(coefficients[0], args[0], coefficients[1], args[1])
            if found is not None:
                return found
        terms = []
        for c, e in zip(coefficients, args, strict=True):
            if e.kind == "product" and e.data[0] != 1:
                e, c = negated(e), -c
            terms.append((e, c))
        return _canonical_sum(terms, constant, common_dimension([e for e, _ in terms], checked=False))
    if node.kind != "product" or node.unit is not ONE:
        return None
    coefficient = node.data[0]
    factors = []
    for base, n in zip(args, node.data[1], strict=True):
        if base.kind == "product":
            if n != int(n) or not is_negative(base):
                return None
            base = base.args[0]
            coefficient = -coefficient if n % 2 else coefficient
        factors.append((base, n))
    return _product(coefficient, factors)


def is_negative(e: Expr) -> bool:
    """Whether an expression is the negative of a value that is no product."""
    return e.kind == "product" and e.data == (-1, (1,)) and e.unit is ONE
