"""Every function of every function, at values of either sign: simplification keeps the value, and derivatives
are those of differences.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from armillary.algebra.calculus import derivative, evaluate
from armillary.algebra.expression import Expr
from tests.algebra.random_expressions import SYMBOLS, build, plain_value

ONE = ("sin", "cos", "tan", "exp", "atan", "abs", "sign", "sqrt", "log", "asin", "-")
POWERS = (2, 3, -1, -2, 0.5, 1.5, -0.5)
TWO = ("+", "*", "/", "<", "<=", "==", "and", "or", "min", "max", "atan2", "pow")
A, B = np.array(list(product((-1.4, -0.6, 0.3, 0.9), (-0.8, -0.2, 0.5, 1.7)))).T


def _of_one(x: Any) -> list[Any]:
    return [*((name, (x,)) for name in ONE), *(("^", (x, n)) for n in POWERS)]


@cache
def _trees() -> list[Any]:
    """f(g(a)), roots of squares, and f(a) ∘ g(b), f(a) g(b) ∘ f(a), f(a) g(b) cos b ∘ f(a) g(b) for each
    operation of two.
    """
    found = [outer for inner in _of_one("a") for outer in _of_one(inner)]
    found += [("^", (("^", (("*", (k, f)), n)), m)) for k in (4, -3) for f in _of_one("a") for n in (2, 4)
              for m in (0.5, 1.5, -0.5)]  # fmt: skip
    few = ["b", ("abs", ("b",)), ("^", ("b", 2)), ("*", (-2, "b"))]
    for f, g, two in product(["a", *_of_one("a")], few, TWO):
        both = ("*", (f, g))
        found += [(two, (f, g)), (two, (both, f)), (two, (("*", (both, ("cos", ("b",)))), both))]
    return found


def _plainly(tree: Any, a: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.broadcast_to(plain_value(tree, {"a": a, "b": B}), A.shape)


def _values(e: Expr) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate(e, {"a": A, "b": B}), A.shape)


def test_compositions_have_the_values_of_plain_arithmetic() -> None:
    """1e-12: constants are folded and factors are shared, which costs some last digits."""
    tried = 0
    for tree in _trees():
        e = build(tree)
        if e is None:  # no value at all
            continue
        expected = _plainly(tree, A)
        some = np.isfinite(expected) & (np.abs(expected) < 1e6)
        tried += np.sum(some)
        right = np.abs(_values(e) - expected) <= 1e-12 * np.maximum(np.abs(expected), 1)
        assert np.all(right[some]), (tree, str(e), A[some & ~right], B[some & ~right])
    assert tried > 20_000


def test_derivatives_of_compositions_are_those_of_differences() -> None:
    """Differences over ±1e-5, also of one side each: where these disagree there is a corner."""
    tried = 0
    for tree in _trees()[::5]:
        e = build(tree)
        if e is None:
            continue
        low, middle, high = (_plainly(tree, A + d) for d in (-1e-5, 0.0, 1e-5))
        with np.errstate(all="ignore"):
            after, before = (high - middle) / 1e-5, (middle - low) / 1e-5
            size = np.maximum(np.maximum(np.abs(middle), np.abs(after)), 1.0)
            some = np.isfinite(after + before) & (size < 1e3) & (np.abs(after - before) < 1e-2 * size)
        tried += np.sum(some)
        right = np.abs(_values(derivative(e, SYMBOLS["a"])) - (after + before) / 2) <= 1e-5 * size
        assert np.all(right[some]), (tree, A[some & ~right], B[some & ~right])
    assert tried > 4_000
