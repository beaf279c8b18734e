"""Derivatives and values of expressions, without recursion.

Forward differentiation computes the derivative of each node once, from the derivatives of its operands. It
differentiates the definitions of ``let`` nodes, so derivatives through intermediate values are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.block_functions import BlockFunction, BlockPart
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, multiply, number, power, scale, total
from armillary.algebra.functions import let
from armillary.algebra.node import DIFFERENCE, PRODUCT_OF_TWO, SUM_OF_TWO
from armillary.algebra.walk import operands_first, product_of_powers, substitute, symbols
from armillary.errors import ExpressionError, shown

NumericValue: TypeAlias = Any  # a number or an array, like the given values
Values: TypeAlias = Mapping[Any, Any]  # numbers or arrays by symbol or by name
ValueTable: TypeAlias = dict[Any, Any]  # like Values, but still being filled

# A derivative with more factors than this becomes an intermediate value. By the chain rule the derivative of
# f(f(…f(x))), with n functions, has n factors, and that of each inner part one factor fewer. Without
# intermediate values all these derivatives together would hold about n²/2 factors.
_LARGE = 32


def derivative(expression: Expr, by: Expr) -> Expr:
    """∂expression/∂by for a symbol ``by``."""
    return directional_derivatives([as_expr(expression)], {_checked_symbol(by, "derivative"): UNIT})[0]


def _checked_symbol(value: object, verb: str) -> Expr:
    if not isinstance(value, Expr) or value.kind != "symbol":
        raise ExpressionError(f"{verb}: {shown(value)} is not a symbol, such as a coordinate or parameter")
    return value


def directional_derivatives(
    roots: Iterable[Expr],
    rates: Mapping[Expr, Expr],
    rule: Callable[[Expr, list[Expr]], Expr] | None = None,
) -> list[Expr]:
    """Σ ∂root/∂s · rate(s) over the symbols s of ``rates``, for each root; other symbols are held fixed.

    With rates q̇ and u̇ this is the total time derivative. ``rule`` gives the derivative of a node from the
    derivatives of its operands; the default is ``node_derivative``.
    """
    roots, rule = list(roots), rule or node_derivative
    d: dict[Expr, Expr] = {}
    for node in operands_first(roots, rates):
        rate = rates.get(node)
        if rate is not None:
            d[node] = rate
        elif not node.args or all([d[a] is ZERO for a in node.args]):
            d[node] = ZERO
        else:
            rate = rule(node, [d[a] for a in node.args])
            large = rate.kind == "product" and len(rate.args) > _LARGE
            d[node] = let(rate, "chain") if large else rate
    return [d[root] for root in roots]


def gradient(expression: Expr, by: Sequence[Expr]) -> list[Expr]:
    """∂expression/∂s for each of several symbols, in one walk backwards from the expression."""
    return _walk_back([(expression, UNIT)], by, lambda node, weight: [p * weight for p in _partials(node)])


_Shares: TypeAlias = Callable[[Expr, Expr], list[Expr]]  # (node, its weight) → one product per operand


def _walk_back(roots: Sequence[tuple[Expr, Expr]], by: Sequence[Expr], shares: _Shares) -> list[Expr]:
    """Σ weight · ∂root/∂s over the pairs (root, weight), for each symbol s of ``by``.

    ``shares`` returns, for a node and its weight, the products of the weight and the slopes of the node.
    """
    order = operands_first([root for root, _ in roots])
    moving = set(by)
    for node in order:
        if any([a in moving for a in node.args]):
            moving.add(node)
    weight: dict[Expr, list[tuple[float, Expr]]] = {}
    for root, factor in roots:
        weight.setdefault(root, []).append((1, factor))
    found: dict[Expr, Expr] = {}
    for node in reversed(order):
        if node not in moving or node not in weight:
            continue
        whole = found[node] = total(weight[node])
        if not node.args or whole is ZERO:
            continue
        if node.kind == "let" and len(weight[node]) > 1:
            whole = let(whole, f"{node.data}_weight")
        for a, share in zip(node.args, shares(node, whole), strict=True):
            if a in moving and share is not ZERO:
                weight.setdefault(a, []).append((1, share))
    return [found.get(s, ZERO) for s in by]


def _partials(node: Expr) -> list[Expr]:
    """Return the partial derivatives of a node with respect to each of its operands."""
    if node.data is PRODUCT_OF_TWO:  # most often
        return [node.args[1], node.args[0]]
    if node.kind == "sum":
        return [number(c) for c in node.data[1]]
    if node.kind == "product":
        return [
            scale(node * power(base, -1), exponent)
            for base, exponent in zip(node.args, node.data[1], strict=True)
        ]
    return [UNIT] if node.kind == "let" else call_partials(node)


def node_derivative(node: Expr, rates: list[Expr]) -> Expr:
    """Return the derivative of a node, from its operands' derivatives."""
    if node.data is PRODUCT_OF_TWO:  # most often
        partials = zip(reversed(node.args), rates, strict=True)
        return total([(1, multiply(other, rate)) for other, rate in partials if rate is not ZERO])
    if node.kind == "sum":
        return total(zip(node.data[1], rates, strict=True))
    if node.kind == "product":
        terms: list[tuple[float, Expr]] = []
        for base, exponent, rate in zip(node.args, node.data[1], rates, strict=True):
            if rate is not ZERO:
                terms.append((exponent, product_of_powers([(node, 1), (base, -1), (rate, 1)])))
        return total(terms)
    if node.kind == "let":
        return let(rates[0], f"{node.data}_dot")
    if isinstance(node.data, BlockFunction | BlockPart):
        return node.data.tangent(node, rates)
    pairs = zip(call_partials(node), rates, strict=True)
    return total([(1, partial * rate) for partial, rate in pairs if rate is not ZERO])


def call_partials(node: Expr) -> list[Expr]:
    """Return the partial derivatives of a call with respect to each of its arguments."""
    rule = _RULES.get(node.data) if isinstance(node.data, str) else None
    if rule is not None:
        return rule(node, *node.args)
    if hasattr(node.data, "partials"):  # a table or a foreign function
        found: list[Expr] = node.data.partials(*node.args)
        return found
    if isinstance(node.data, str) and node.data in _PIECEWISE_CONSTANT:
        return [ZERO] * len(node.args)
    raise ExpressionError(f"'{node}' cannot be differentiated: give its function a derivative")


_PIECEWISE_CONSTANT = ("sign", "floor", "ceil", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")

_RULES: dict[str, Callable[..., list[Expr]]] = {
    "sin": lambda f, x: [fn.cos(x)],
    "cos": lambda f, x: [scale(fn.sin(x), -1)],
    "tan": lambda f, x: [1 + f * f],
    "tanh": lambda f, x: [1 - f * f],
    "asin": lambda f, x: [power(1 - x * x, -0.5)],
    "acos": lambda f, x: [scale(power(1 - x * x, -0.5), -1)],
    "atan": lambda f, x: [1 / (1 + x * x)],
    "exp": lambda f, x: [f],
    "log": lambda f, x: [1 / x],
    "abs": lambda f, x: [fn.sign(x)],
    "atan2": lambda f, y, x: [x / (x * x + y * y), -y / (x * x + y * y)],
    "pow": lambda f, b, e: [e * f / b, fn.log(b) * f],
    "mod": lambda f, x, y: [UNIT, scale(fn.floor(x / y), -1)],
    "min": lambda f, a, b: [a <= b, b < a],
    "max": lambda f, a, b: [a >= b, b > a],
    "select": lambda f, c, a, b: [ZERO, fn.select(c, UNIT, ZERO), fn.select(c, ZERO, UNIT)],
}


def evaluate(expression: Expr, values: Values) -> NumericValue:
    """Return the value of the expression for numbers or arrays given by symbol or by name."""
    if not isinstance(values, Mapping):
        raise ExpressionError(f"evaluate: {shown(values)} is not a table of values, e.g. {{'k': 2.0}}")
    return evaluate_all([as_expr(expression)], values)[0]


def evaluate_all(roots: Iterable[Expr], values: Values) -> list[NumericValue]:
    """Return the values of several expressions; common subexpressions are computed once."""
    return evaluator(roots)(values)


def evaluator(roots: Iterable[Expr]) -> Callable[[Values], list[NumericValue]]:
    """Return a function that computes the values of several expressions from values by symbol or by name.

    The graph of the expressions is walked once, here, and not at every call of the function.
    """
    roots = list(roots)
    order = operands_first(roots)

    def evaluate_at(values: Values) -> list[NumericValue]:
        if not isinstance(values, Mapping):
            raise ExpressionError(f"values by symbol or name are needed, {{'m': 2.0}}, not {shown(values)}")
        result: dict[Expr, NumericValue] = {}
        missing: list[str] = []
        for node in order:
            data = node.data
            # The most frequent operations, with the roundings and zeros of `_node_value`.
            if data is PRODUCT_OF_TWO:
                a, b = node.args
                result[node] = 1.0 * result[a] * result[b]
            elif data is SUM_OF_TWO:
                a, b = node.args
                result[node] = 0 + result[a] + result[b]
            elif data is DIFFERENCE:
                a, b = node.args
                result[node] = 0 + result[a] - result[b]
            elif node.kind == "let":
                result[node] = result[node.args[0]]
            elif node.kind == "number":
                result[node] = data
            elif node.kind == "symbol":
                if node in values:
                    result[node] = values[node]
                elif data.name in values:
                    result[node] = values[data.name]
                else:
                    missing.append(data.name)
                    result[node] = np.nan
            else:
                result[node] = _node_value(node, [result[a] for a in node.args])
        if missing:
            raise ExpressionError(f"no value for {', '.join(sorted(missing))}")
        return [result[root] for root in roots]

    return evaluate_at


def _node_value(node: Expr, args: list[NumericValue]) -> NumericValue:
    if node.kind == "sum":
        constant, coefficients = node.data
        value: NumericValue = constant
        for c, x in zip(coefficients, args, strict=True):
            value = value + c * x
        return value
    if node.kind == "product":
        coefficient, exponents = node.data
        value = float(coefficient)
        for n, x in zip(exponents, args, strict=True):
            value = value * (x if n == 1 else np.sqrt(x) if n == 0.5 else np.power(x + 0.0, n))
        return value
    if isinstance(node.data, str):
        return _NUMERIC[node.data](*args)
    return node.data.value(*args)


_NUMERIC: dict[str, Callable[..., NumericValue]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "exp": np.exp, "log": np.log, "abs": np.abs, "sign": np.sign, "atan2": np.arctan2,
    "pow": np.power, "floor": np.floor, "ceil": np.ceil, "mod": np.mod, "min": np.minimum,
    "max": np.maximum, "select": lambda c, a, b: np.asarray(np.where(np.not_equal(c, 0), a, b))[()],
    "lt": lambda a, b: np.less(a, b) * 1.0, "le": lambda a, b: np.less_equal(a, b) * 1.0,
    "gt": lambda a, b: np.greater(a, b) * 1.0, "ge": lambda a, b: np.greater_equal(a, b) * 1.0,
    "eq": lambda a, b: np.equal(a, b) * 1.0, "ne": lambda a, b: np.not_equal(a, b) * 1.0,
    "and": lambda a, b: np.logical_and(a, b) * 1.0, "or": lambda a, b: np.logical_or(a, b) * 1.0,
    "not": lambda a: np.logical_not(a) * 1.0,
}  # fmt: skip


def nominal(expression: Expr) -> Expr:
    """Return the expression with all coordinates and speeds at zero (Sayers 1990, Table 5.3.4)."""
    moving = ("coordinate", "speed", "acceleration")
    expression = as_expr(expression)
    return substitute(expression, {s: ZERO for s in symbols(expression) if s.data.role in moving})


def constant_part(expression: Expr) -> Expr:
    """Return the terms of a sum that hold only parameters and numbers (Sayers 1990, Table 5.3.4)."""
    expression = as_expr(expression)
    if expression.constant:
        return expression
    if expression.kind != "sum":
        return ZERO
    offset, coefficients = expression.data
    constant = [(c, t) for c, t in zip(coefficients, expression.args, strict=True) if t.constant]
    return total([*constant, (1, number(offset))])


def solve_for(expression: Expr, unknown: Expr) -> Expr:
    """Return the value of a symbol that makes an expression zero, if the expression is linear in the symbol
    (Sayers 1990, Table 5.3.4).
    """
    expression, unknown = as_expr(expression), _checked_symbol(unknown, "solve_for")
    factor = derivative(expression, unknown)
    if factor is ZERO:
        raise ExpressionError(f"'{expression}' does not hold '{unknown}', so it cannot be solved for it")
    if unknown in symbols(factor):
        raise ExpressionError(f"'{expression}' is not linear in '{unknown}', so it cannot be solved for it")
    return -substitute(expression, {unknown: ZERO}) / factor


# Tangents: derivatives along a direction that are finite wherever the result has a derivative.
#
# The chain rule multiplies slopes by rates. At rest the slope of √(v²) is infinite and the rate of v² is 0.
# Their product is not a number, although a drag −c |v| v, which uses √(v²), has a derivative there.
# So 0·∞ is 0 in tangents, and ``select``, ``min`` and ``max`` have the derivative of the operand that they
# select. Otherwise tangents equal ``directional_derivatives``. A product is replaced by 0 only if the rate is
# zero and the slope is infinite, so that a tangent can be differentiated again by its rates, also at rest.


def tangents(roots: Iterable[Expr], rates: Mapping[Expr, Expr]) -> list[Expr]:
    """Σ ∂root/∂s · rate(s) over the symbols s of ``rates``, for each root; other symbols are held fixed."""
    return directional_derivatives(roots, rates, node_tangent)


_STEEPEST = 1e300  # larger slopes count as infinite


def partial_derivative(node: Expr, by: Expr) -> Expr:
    """∂node/∂by for ``by``, one of the node's operands.

    The result is zero where the slope is infinite, since the rate that will multiply it may be zero there.
    """
    rates = [UNIT if a is by else ZERO for a in node.args]
    if node.kind == "let":
        return UNIT
    if node.kind == "call" and isinstance(node.data, BlockFunction | BlockPart):
        raise ExpressionError(f"'{node.data.name}' has no partial derivatives of its own")
    found = node_tangent(node, rates)
    return found if found.kind == "number" or not may_be_steep(node) else finite_or_zero(found)


def finite_or_zero(slope: Expr) -> Expr:
    """Return ``slope``, or zero where it is infinite or not a number."""
    finite: Expr = fn.select(abs(slope) <= _STEEPEST, slope, ZERO)
    return finite


def pullback(roots: Sequence[Expr], weights: Sequence[Expr], by: Sequence[Expr]) -> list[Expr]:
    """Σ weight · ∂root/∂s over all roots, for each symbol s of ``by``: ``tangents`` in reverse mode.

    The result is finite wherever the tangents are finite. An infinite slope counts as zero if the value of
    its node is finite, or if ``select``, ``min`` or ``max`` does not select the node.
    """
    chosen = below_choices(roots)

    def shares(node: Expr, weight: Expr) -> list[Expr]:
        if node.kind == "sum" or node.kind == "let":
            return [p * weight for p in _partials(node)]
        # An operand may occur twice; the first occurrence gets the whole share.
        first = {a: i for i, a in reversed(list(enumerate(node.args)))}
        found = [
            partial_derivative(node, a) * weight if first[a] == i else ZERO for i, a in enumerate(node.args)
        ]
        if node not in chosen or not may_be_infinite(node):
            return found
        return [fn.select(fn.equal(weight, 0), ZERO, share) for share in found]

    return _walk_back(list(zip(roots, weights, strict=True)), by, shares)


def below_choices(roots: Sequence[Expr]) -> set[Expr]:
    """Return the nodes whose values a ``select``, ``min`` or ``max`` may leave unused."""
    found: set[Expr] = set()
    for node in reversed(operands_first(roots)):
        if node in found or (node.kind == "call" and node.data in ("select", "min", "max")):
            found.update(node.args)
    return found


def may_be_infinite(node: Expr) -> bool:
    """Return whether a slope of the node may be infinite, or not a number, at some finite operands."""
    if node.kind == "product":
        return any([n < 1 for n in node.data[1]])
    smooth = ("sin", "cos", "tanh", "atan", *_PIECEWISE_CONSTANT, "select", "min", "max", "abs")
    return node.kind == "call" and node.data not in smooth


def may_be_steep(node: Expr) -> bool:
    """Return whether a slope of the node may be infinite where its value is finite."""
    if node.kind == "product":
        return any([n % 1 for n in node.data[1]])
    return node.kind == "call" and node.data in ("asin", "acos", "pow")


def node_tangent(node: Expr, rates: list[Expr]) -> Expr:
    """Return the derivative of a node from its operands' derivatives, with 0·∞ = 0."""
    if node.kind == "product" and any([n % 1 for n in node.data[1]]):
        return total([(1, term) for term in _product_terms(node, rates)])
    rule = _TANGENT_RULES.get(node.data) if node.kind == "call" and isinstance(node.data, str) else None
    return node_derivative(node, rates) if rule is None else rule(node, rates)


def _product_terms(node: Expr, rates: list[Expr]) -> Iterable[Expr]:
    for base, exponent, rate in zip(node.args, node.data[1], rates, strict=True):
        if rate is not ZERO:
            term = exponent * (node * power(base, -1) * rate)
            yield _unless_still(term, rate, base) if exponent % 1 else term


def _unless_still(term: Expr, rate: Expr, steep: Expr) -> Expr:
    """Return ``term`` = rate · slope, or zero where ``rate`` and ``steep`` are zero.

    Where ``steep`` is zero, the slope is infinite.
    """
    if rate.kind == "number":
        return term
    found: Expr = fn.select(fn.and_(fn.equal(steep, 0), fn.equal(rate, 0)), ZERO, term)
    return found


def _steep_call_rate(node: Expr, rates: list[Expr]) -> Expr:
    """Return the rate of asin, acos or pow, whose slopes may be infinite."""
    x = node.args[0]
    steep = x if node.data == "pow" else 1 - x * x
    pairs = zip(call_partials(node), rates, strict=True)
    terms = [_unless_still(partial * rate, rate, steep) for partial, rate in pairs if rate is not ZERO]
    return total([(1, term) for term in terms])


def _atan2_rate(node: Expr, rates: list[Expr]) -> Expr:
    """Return the rate of atan2(y, x); zero at x = y = 0."""
    y, x = node.args
    square = x * x + y * y
    found: Expr = fn.select(fn.equal(square, 0), ZERO, (x * rates[0] - y * rates[1]) / square)
    return found


_TANGENT_RULES: dict[str, Callable[[Expr, list[Expr]], Expr]] = {
    "select": lambda node, rates: fn.select(node.args[0], rates[1], rates[2]),
    "min": lambda node, rates: fn.select(node.args[0] <= node.args[1], rates[0], rates[1]),
    "max": lambda node, rates: fn.select(node.args[0] >= node.args[1], rates[0], rates[1]),
    "asin": _steep_call_rate,
    "acos": _steep_call_rate,
    "pow": _steep_call_rate,
    "atan2": _atan2_rate,
}
