"""Random expressions for property tests, as plain trees that can be built in more than one way."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, number, symbol
from armillary.errors import ExpressionError

NAMES = ("a", "b", "c", "q1", "q2", "A.q1", "u1")
ROLES = {"a": "parameter", "b": "parameter", "c": "parameter", "q1": "coordinate", "q2": "coordinate"}
SYMBOLS = {name: symbol(name, ROLES.get(name, "speed")) for name in NAMES}

SMOOTH = ("sin", "cos", "exp", "atan")
NUMBERS = st.sampled_from([0, 1, -1, 2, -2, 3, 0.5, -0.25, 1.75, 10])

leaves = st.one_of(st.sampled_from(NAMES), NUMBERS)


def _grown(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.tuples(st.just("+"), several),
        st.tuples(st.just("*"), several),
        st.tuples(st.just("-"), st.tuples(children)),
        st.tuples(st.just("/"), st.tuples(children, children)),
        st.tuples(st.just("^"), st.tuples(children, st.sampled_from([2, 3, -1, -2]))),
        st.tuples(st.sampled_from(SMOOTH), st.tuples(children)),
    )


def _with_corners(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(children, children)
    return st.one_of(
        _grown(children),
        st.tuples(st.sampled_from(["<", "<=", "==", "and", "or", "min", "max", "atan2", "pow"]), pair),
        st.tuples(st.sampled_from(["abs", "sign", "not", "sqrt", "tan", "log", "asin"]), st.tuples(children)),
        st.tuples(st.just("select"), st.tuples(children, children, children)),
    )


smooth_trees = st.recursive(leaves, _grown, max_leaves=12)
trees = st.recursive(leaves, _with_corners, max_leaves=14)

_BUILD: dict[str, Any] = {
    "-": lambda x: -x,
    "/": lambda x, y: x / y,
    "^": lambda x, n: x**n,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": fn.equal,
    "and": fn.and_,
    "or": fn.or_,
    "min": fn.minimum,
    "max": fn.maximum,
    "atan2": fn.atan2,
    "pow": lambda x, y: x**y,
    "select": fn.select,
    "not": fn.not_,
    **{name: fn.BY_NAME[name][0] for name in (*SMOOTH, "abs", "sign", "sqrt", "tan", "log", "asin")},
}


def build(tree: Any, *, backwards: bool = False) -> Expr | None:
    """The expression of a tree, its sums and products taken from either end; None where it has no value."""
    try:
        return _build(tree, backwards)
    except ExpressionError:
        return None


def _build(tree: Any, backwards: bool) -> Expr:
    if isinstance(tree, str):
        return SYMBOLS[tree]
    if not isinstance(tree, tuple):
        return number(tree)
    operation, children = tree
    if operation == "^":
        return _build(children[0], backwards) ** children[1]
    args = [_build(child, backwards) for child in children]
    if operation in "+*":
        if backwards:
            args.reverse()
        result = args[0]
        for x in args[1:]:
            result = result + x if operation == "+" else result * x
        return result
    return _BUILD[operation](*args)


def plain_value(tree: Any, values: dict[str, Any]) -> Any:
    """The tree's value by arithmetic alone, for real or complex numbers, without any expression."""
    if isinstance(tree, str):
        return values[tree]
    if not isinstance(tree, tuple):
        return float(tree)
    operation, children = tree
    if operation == "^":
        return np.power(plain_value(children[0], values) + 0.0, children[1])
    args = [plain_value(child, values) for child in children]
    if operation in "+*":
        result = args[0]
        for x in args[1:]:
            result = result + x if operation == "+" else result * x
        return result
    numeric: dict[str, Any] = {
        "-": np.negative, "/": np.divide, "sin": np.sin, "cos": np.cos, "exp": np.exp, "atan": np.arctan,
        "<": np.less, "<=": np.less_equal, "==": np.equal, "and": np.logical_and, "or": np.logical_or,
        "min": np.minimum, "max": np.maximum, "atan2": np.arctan2, "pow": np.power,
        "select": lambda c, a, b: np.where(c, a, b)[()], "not": np.logical_not, "abs": np.abs,
        "sign": np.sign, "sqrt": np.sqrt, "tan": np.tan, "log": np.log, "asin": np.arcsin,
    }  # fmt: skip
    return numeric[operation](*args) * 1.0
