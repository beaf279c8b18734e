"""Derivatives along a direction that stay numbers wherever they exist.

The chain rule multiplies: at rest the slope of √(v²) is infinite and the rate of v² is zero, and the product
of the two is not a number, although whatever follows from it (a drag −c |v| v) has a derivative. So 0·∞
counts as 0 here, and of the two sides of a choice only the one taken counts. Elsewhere these are the
derivatives of calculus.py: the zero is chosen where the slope is infinite, not wherever the rate is zero, so
that a tangent can be differentiated again by its rates, at rest too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from armillary.algebra import functions as fn
from armillary.algebra.derivatives.calculus import call_partials, directional_derivatives, node_derivative
from armillary.algebra.expression import UNIT, ZERO, Expr, power, total
from armillary.algebra.user_functions.blocks import BlockFunction, BlockPart
from armillary.errors import ExpressionError

_STEEPEST = 1e300  # slopes above are infinite


def tangents(roots: Iterable[Expr], rates: Mapping[Expr, Expr]) -> list[Expr]:
    """Σ ∂root/∂s · rate(s) over the given symbols; all other symbols are held fixed."""
    return directional_derivatives(roots, rates, _rule)


def partial_derivative(node: Expr, by: Expr) -> Expr:
    """∂node/∂by for one of the node's own operands; zero where the slope is infinite, for the rate that would
    be multiplied with it is not known.
    """
    rates = [UNIT if a is by else ZERO for a in node.args]
    if node.kind == "let":
        return UNIT
    if node.kind == "call" and isinstance(node.data, BlockFunction | BlockPart):
        raise ExpressionError(f"'{node.data.name}' has no partial derivatives of its own")
    found = _rule(node, rates)
    if found.kind == "number" or not _may_be_steep(node):
        return found
    finite: Expr = fn.select(abs(found) <= _STEEPEST, found, ZERO)
    return finite


def _may_be_steep(node: Expr) -> bool:
    """Whether a slope of the node may be infinite where its value is finite."""
    if node.kind == "product":
        return any([n % 1 for n in node.data[1]])
    return node.kind == "call" and node.data in ("asin", "acos", "pow")


def _rule(node: Expr, rates: list[Expr]) -> Expr:
    if node.kind == "product" and any([n % 1 for n in node.data[1]]):
        return total([(1, term) for term in _product_terms(node, rates)])
    own = _OWN.get(node.data) if node.kind == "call" and isinstance(node.data, str) else None
    return node_derivative(node, rates) if own is None else own(node, rates)


def _product_terms(node: Expr, rates: list[Expr]) -> Iterable[Expr]:
    for base, exponent, rate in zip(node.args, node.data[1], rates, strict=True):
        if rate is not ZERO:
            term = exponent * (node * power(base, -1) * rate)
            yield _unless_still(term, rate, base) if exponent % 1 else term


def _unless_still(term: Expr, rate: Expr, steep: Expr) -> Expr:
    """A term that is zero where its rate is, also at ``steep`` = 0, where its other factor is infinite."""
    if rate.kind == "number":
        return term
    found: Expr = fn.select(fn.and_(fn.equal(steep, 0), fn.equal(rate, 0)), ZERO, term)
    return found


def _steep(node: Expr, rates: list[Expr]) -> Expr:
    x = node.args[0]
    steep = x if node.data == "pow" else 1 - x * x
    pairs = zip(call_partials(node), rates, strict=True)
    terms = [_unless_still(partial * rate, rate, steep) for partial, rate in pairs if rate is not ZERO]
    return total([(1, term) for term in terms])


def _angle(node: Expr, rates: list[Expr]) -> Expr:
    """Of atan2(y, x); the angle of nothing does not turn."""
    y, x = node.args
    square = x * x + y * y
    found: Expr = fn.select(fn.equal(square, 0), ZERO, (x * rates[0] - y * rates[1]) / square)
    return found


_OWN: dict[str, Callable[[Expr, list[Expr]], Expr]] = {
    "select": lambda node, rates: fn.select(node.args[0], rates[1], rates[2]),
    "min": lambda node, rates: fn.select(node.args[0] <= node.args[1], rates[0], rates[1]),
    "max": lambda node, rates: fn.select(node.args[0] >= node.args[1], rates[0], rates[1]),
    "asin": _steep,
    "acos": _steep,
    "pow": _steep,
    "atan2": _angle,
}
