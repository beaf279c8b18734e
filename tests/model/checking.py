"""Vectors and expressions as numbers, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.algebra.vectors import Vector
from armillary.stages import System


def numbers(system: System, quantity: Any, at: dict[str, Any]) -> Any:
    """Components in the ground of a vector, or the values of several scalars."""
    parts = quantity.components(system.ground.frame) if isinstance(quantity, Vector) else quantity
    return np.array(evaluate_all([as_expr(x) for x in parts], at), float)


def agree(found: Any, expected: Any) -> None:
    """Equal to rounding: both sides are short sums of products of numbers of size one to ten."""
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
