"""Derivatives along a direction: those of calculus, and numbers where the chain rule alone gives none."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import (
    directional_derivatives,
    evaluate_all,
    gradient,
    pullback,
    tangents,
)
from armillary.algebra.expression import Expr, symbol

x, y, dx, dy = (symbol(name) for name in ("x", "y", "dx", "dy"))
RATES = {x: dx, y: dy}


def along(expression: Expr, at: tuple[float, float], rates: tuple[float, float] = (1.0, 0.5)) -> float:
    values = dict(zip((x, y, dx, dy), (*at, *rates), strict=True))
    with np.errstate(all="ignore"):
        return float(evaluate_all(tangents([expression], RATES), values)[0])


@pytest.mark.parametrize(
    "expression",
    [
        arm.sqrt(x * x + y * y) * x,
        arm.select(x > y, x * y, arm.sin(x)),
        arm.max(x * y, y) + arm.min(x, y**2),
        arm.atan2(x, y),
        arm.asin(x / 4) * x**y,
        arm.abs(x - y) ** 1.5,
    ],
    ids=str,
)
def test_tangents_are_those_of_calculus_where_both_are_numbers(expression: Expr) -> None:
    values = {x: 1.3, y: 0.7, dx: 0.4, dy: -0.9}
    plain = evaluate_all(directional_derivatives([expression], RATES), values)[0]
    assert along(expression, (1.3, 0.7), (0.4, -0.9)) == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize(
    ("expression", "at", "rates", "expected"),
    [
        (x * arm.sqrt(x * x + y * y), (0.0, 0.0), (1.0, 0.5), 0.0),  # |v| v at rest
        (arm.max(arm.sqrt(x), 0.1), (0.0, 0.0), (1.0, 0.0), 0.0),  # the side not taken is infinite
        (arm.select(x > 0, arm.log(x), y), (0.0, 0.0), (1.0, 0.5), 0.5),
        (arm.atan2(x, y), (0.0, 0.0), (1.0, 0.5), 0.0),
        (arm.asin(x), (1.0, 0.0), (0.0, 0.5), 0.0),
    ],
    ids=str,
)
def test_nothing_times_infinity_is_nothing(
    expression: Expr, at: tuple[float, float], rates: tuple[float, float], expected: float
) -> None:
    assert along(expression, at, rates) == expected


@pytest.mark.parametrize(
    "expression",
    [
        arm.sqrt(x * x + y * y),
        arm.asin(x / 4) + arm.acos(y),
        x**y,
        arm.abs(x - y) ** 1.5,
        arm.sqrt(x) * y ** (1 / 3),
        arm.atan2(x, y),
    ],
    ids=str,
)
def test_a_tangent_is_differentiated_again_by_its_rates_also_at_rest(expression: Expr) -> None:
    """It is linear in them: ∂(Σ ∂f/∂s ṡ)/∂ẋ = ∂f/∂x, whatever the rates are."""
    (moving,) = tangents([expression], RATES)
    values = {x: 0.4, y: 0.7, dx: 0.0, dy: 0.0}
    found = evaluate_all(gradient(moving, [dx, dy]), values)
    plain = evaluate_all(gradient(expression, [x, y]), {x: 0.4, y: 0.7})
    assert found == pytest.approx(plain, rel=1e-14)


# ---------------------------------------------------------------- backwards


@pytest.mark.parametrize(
    "expression",
    [
        arm.sqrt(x * x + y * y) * x,
        arm.select(x > y, x * y, arm.sin(x)),
        arm.select(x < y, arm.log(x - y), x / y),  # log of a negative number in the side not taken
        arm.max(x * y, y) + arm.min(x, y**2),
        arm.atan2(x, x) + arm.atan2(x * y, y),  # an operand that occurs twice
        arm.asin(x / 4) * x**y,
        arm.abs(x - y) ** 1.5,
    ],
    ids=str,
)
def test_a_pullback_is_a_tangent_walked_backwards(expression: Expr) -> None:
    """w·∂f/∂x is the tangent along x with the weight w; of two roots it is the sum."""
    values = {x: 1.3, y: 0.7, dx: 2.5, dy: -0.5}
    with np.errstate(all="ignore"):
        found = evaluate_all(pullback([expression, x * y], [dx, dy], [x, y]), values)
        expected = [
            2.5 * along(expression, (1.3, 0.7), way) - 0.5 * along(x * y, (1.3, 0.7), way)
            for way in ((1.0, 0.0), (0.0, 1.0))
        ]
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        (x * arm.sqrt(x * x + y * y), (0.0, 0.0), (0.0, 0.0)),
        (arm.select(x > 0, 1 / x, y), (0.0, 0.0), (0.0, 1.0)),
        (arm.max(arm.sqrt(x), 0.1), (0.0, 0.0), (0.0, 0.0)),
        (arm.atan2(x, y), (0.0, 0.0), (0.0, 0.0)),
    ],
    ids=str,
)
def test_a_pullback_is_a_number_where_slopes_are_infinite(
    expression: Expr, at: tuple[float, float], expected: tuple[float, float]
) -> None:
    with np.errstate(all="ignore"):
        found = evaluate_all(pullback([expression], [dx], [x, y]), {x: at[0], y: at[1], dx: 1.0})
    assert tuple(found) == expected
