"""Terms of sums and factors of products: order, common factors, sums of two terms, NumPy's operations."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from armillary.algebra import node as printing
from armillary.algebra.node import DIFFERENCE, SUM_OF_TWO, TRUNCATION, Node, NodeType, intern, negate, settle
from armillary.algebra.units import ONE, Dimension
from armillary.errors import ExpressionError, UnitsError

AnyNode = TypeVar("AnyNode", bound=Node)


def short(node: Node) -> str:
    """Return a node as text for an error message, of at most 60 characters."""
    return printing.text(node, limit=60)


def common_dimension(terms: Sequence[Node], *, checked: bool = True) -> Dimension | None:
    """Return the dimension that all terms of known dimension share.

    If two differ, raise UnitsError if ``checked``, else return None.
    """
    dimension: Dimension | None = None
    where = terms[0]
    for e in terms:
        d = e.dimension
        if d is not dimension and d is not None:
            if dimension is not None:
                if not checked:
                    return None
                terms_text = f"'{short(where)}' [{dimension}] and '{short(e)}' [{d}]"
                raise UnitsError(f"cannot add {terms_text}: their dimensions differ")
            dimension, where = d, e
    return dimension


def dimension_product(a: Dimension | None, b: Dimension | None) -> Dimension | None:
    """Return the dimension of a product; `None` if a factor's dimension is unknown."""
    return None if a is None or b is None else a * b


SortKey: TypeAlias = tuple[Any, ...]  # of numbers, texts and nested keys


def term_order(term: tuple[Node, float]) -> SortKey:
    e = term[0]
    order = e.order
    if e.kind == "product":
        first = e.args[0].order
        return (first[0], first[1], 1, order)
    return (order[0], order[1], 0, order)


def factors(e: AnyNode) -> Iterable[tuple[AnyNode, float]]:
    return zip(e.args, e.data[1], strict=True) if e.kind == "product" else ((e, 1),)


def unlike(terms: Sequence[tuple[Node, float]]) -> bool:
    """Return whether no two terms differ in constant factors only, which is the usual case."""
    return len({_variable_factors(e) for e, _ in terms}) == len(terms)


def _variable_factors(e: Node) -> object:
    """Return the variable bases and exponents of a term, by which ``unlike`` compares terms.

    Constants stand first among the factors of a product.
    """
    if e.kind != "product":
        return e
    if not e.args[0].constant or e.constant:
        return e.args[0] if e.data[1] == (1,) else (e.args, e.data[1])
    first = next(i for i, b in enumerate(e.args) if not b.constant)
    bases, exponents = e.args[first:], e.data[1][first:]
    return bases[0] if exponents == (1,) else (bases, exponents)


def common_factors(nodes: Sequence[AnyNode]) -> dict[AnyNode, float]:
    """Return the factors that all terms have, each with its least exponent."""
    first, last = nodes[0], nodes[-1]
    others = {*last.args} if last.kind == "product" else {last}
    if others.isdisjoint(first.args if first.kind == "product" else (first,)):
        return {}
    common = dict(factors(first))
    for e in nodes[1:]:
        mine = dict(factors(e))
        common = {b: min(n, mine[b]) for b, n in common.items() if b in mine and n * mine[b] > 0 and n > 0}
        if not common:
            break
    return common


def factor_order(factor: tuple[Node, float]) -> SortKey:
    base = factor[0]
    return (not base.constant, settle(base).order if base.kind == "product" else base.order)


# Sums ±a ± b of two terms without a common factor are the most frequent. `sum_of_two` makes them in fewer
# steps than `total`.


def sum_of_two(c: float, a: NodeType, d: float, b: NodeType) -> NodeType | None:
    """c·a + d·b as ``total`` makes it; `None` if ``total`` would do more than order the two terms.

    It does more if a term is a sum, or if there are like terms, constants, common factors, truncation, or
    terms of different dimensions.
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
    first, second = a, b  # the first factors, by which terms are ordered
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
    # The order of `term_order`, without making its keys.
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
    return made if (d if swapped else c) == 1 else negate(made)


def pair_node(args: tuple[NodeType, NodeType], sign: int, dimension: Dimension | None) -> NodeType:
    """Return the node of a + b or a − b in canonical order."""
    data = SUM_OF_TWO if sign == 1 else DIFFERENCE
    return intern(type(args[0]), "sum", args, data, dimension, (*args, sign))


# NumPy operations on expressions: NumPy's scalars count as numbers; a NumPy function or an array raises an
# error that names the alternative.

_OPERATIONS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
# Armillary's names of NumPy's functions.
_OUR_NAMES = {
    **{n: n for n in ("ceil", "cos", "equal", "exp", "floor", "hypot", "log", "not_equal", "sign", "sin")},
    **{n: n for n in ("sqrt", "tan", "tanh")},
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "absolute": "abs",
    "minimum": "min",
    "maximum": "max",
    "remainder": "mod",
}


def apply_numpy(function: np.ufunc, method: str, inputs: tuple[object, ...], what: str) -> object:
    """Apply a NumPy operation to a scalar and an expression, or raise an error with the remedy."""
    name = function.__name__
    if name not in _OPERATIONS:
        known = _OUR_NAMES.get(name)
        remedy = f"use arm.{known}" if known else "write it with operators and functions such as arm.exp"
        raise ExpressionError(f"numpy.{name} takes numbers, not {what}: {remedy}")
    if method != "__call__" or any(np.ndim(x) for x in inputs if isinstance(x, np.ndarray)):
        raise ExpressionError(f"{what} is a scalar: take the array's elements one by one")
    return _OPERATIONS[name](*[float(x) if isinstance(x, np.generic | np.ndarray) else x for x in inputs])
