"""Gauss's elimination of the small language, against NumPy."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest

from armillary.numerics import elimination


def solve(A: np.ndarray, b: np.ndarray, complete: bool) -> np.ndarray:
    """The solution by the description, with a stride that is larger than the matrix."""
    scope: dict[str, Any] = {**vars(elimination), "COMPLETE": complete}
    for name, f in vars(elimination).items():
        if isinstance(f, FunctionType) and f.__module__ == elimination.__name__:
            scope[name] = FunctionType(f.__code__, scope, name)
    n, stride = len(A), len(A) + 2
    run = elimination.LinearEquations()
    run.system, run.solved = np.full(n * stride, np.nan), b.copy()
    run.exchange = np.zeros(n, dtype=int)
    run.crossing = np.zeros(n, dtype=int)
    run.system.reshape(n, stride)[:, :n] = A.T
    scope["eliminate_columns"](run, n, stride)
    scope["solve_columns"](run, n, stride)
    return run.solved


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_equations_are_solved(n: int, complete: bool) -> None:
    chance = np.random.default_rng(n)
    A, b = chance.normal(size=(n, n)), chance.normal(size=n)
    np.testing.assert_allclose(solve(A, b, complete), np.linalg.solve(A, b), rtol=1e-9, atol=1e-11)


def test_a_pivot_is_not_an_element_that_vanishes() -> None:
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]])
    np.testing.assert_array_equal(solve(A, np.array([3.0, 8.0, 4.0]), False), [1.0, 3.0, 4.0])


def test_redundant_equations_leave_unknowns_at_zero() -> None:
    """Two of five equations are sums of others: as many unknowns are zero, and all equations hold."""
    chance = np.random.default_rng(3)
    A = chance.normal(size=(5, 3)) @ chance.normal(size=(3, 5))
    b = A @ chance.normal(size=5)
    x = solve(A, b, True)
    assert np.sum(x == 0.0) == 2
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-11 * np.abs(b).max())
