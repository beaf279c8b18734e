"""Jacobians by elimination equal tangents along single variables, also at the edges of choices and roots."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr, number, symbol
from armillary.algebra.functions import let
from armillary.algebra.jacobians import columns_forward, jacobian, nest_products
from armillary.algebra.walk import operands_first

X = [symbol(f"x{i}", "variable") for i in range(5)]


def _results() -> list[Expr]:
    a, b, c, d, e = X
    shared = let(arm.sin(a) * arm.cos(b) * c, "shared")
    long = shared * d * e * (1 + a * a) * arm.exp(b / 3)
    return [
        shared, long, a, arm.sqrt(long * long + 1) / (2 + d * d), arm.atan2(b, c) - shared,
        arm.select(a > b, long / c, c / (d * d)), arm.max(long, shared * e) + arm.min(a, 2 * b),
        arm.abs(d) * arm.tanh(e), 3 * d - e, number(7),
    ]  # fmt: skip


def _dense(elements: dict[tuple[int, int], Expr], rows: int, values: dict[Expr, float]) -> np.ndarray:
    found = np.zeros((rows, len(X)))
    for place, value in zip(elements, evaluate_all(elements.values(), values), strict=True):
        found[place] = value
    return found


@pytest.mark.parametrize("seed", range(5))
def test_elements_equal_tangents_of_single_variables(seed: int) -> None:
    values = dict(zip(X, np.random.default_rng(seed).uniform(-2, 2, 5), strict=True))
    results = _results()
    expected = _dense(columns_forward(results, X), len(results), values)
    for form in (results, nest_products(results, X)):
        np.testing.assert_allclose(
            evaluate_all(form, values), evaluate_all(results, values), rtol=1e-13, atol=1e-15
        )
        np.testing.assert_allclose(
            _dense(jacobian(form, X), len(results), values), expected, rtol=1e-12, atol=1e-13
        )


def test_the_side_that_a_choice_does_not_take_may_have_no_slope() -> None:
    a, b = X[:2]
    results = [arm.select(a > 0, arm.sqrt(a) * b, b * b), arm.select(b > 0, 1 / a, a)]
    with np.errstate(all="ignore"):
        found = _dense(jacobian(results, X), 2, dict(zip(X, (0.0, -2.0, 1.0, 1.0, 1.0), strict=True)))
    np.testing.assert_array_equal(found[:, :2], [[0, -4], [1, 0]])


def test_a_root_that_is_at_rest_has_no_slope_and_a_moving_one_an_infinite_one() -> None:
    a, b = X[:2]
    rest = dict(zip(X, (0.0, 0.0, 1.0, 1.0, 1.0), strict=True))
    with np.errstate(all="ignore"):
        found = _dense(jacobian([arm.sqrt(a * a) * b, arm.sqrt(a)], X), 2, rest)
    np.testing.assert_array_equal(found[:, :2], [[0, 0], [np.inf, 0]])


def test_each_element_is_one_product_where_all_variables_meet_in_one_value() -> None:
    n = 12
    many = [symbol(f"y{i}", "variable") for i in range(n)]
    narrow = let(sum((arm.sin(y) * (i + 2) for i, y in enumerate(many)), start=number(7)), "narrow")
    results = [arm.exp(narrow * (k + 1)) / (1 + narrow * narrow) for k in range(n)]
    nodes = len(operands_first(jacobian(results, many).values()))
    assert nodes - n * n < 10 * n  # what belongs to single variables and single results
    assert nodes < len(operands_first(columns_forward(results, many).values()))
