"""Factors of symmetric indefinite matrices against NumPy's eigenvalues and the matrices themselves."""

import numpy as np
import pytest

from armillary.control.symmetric_factors import SymmetricFactors


def banded(order, seed, border=2):
    """A random matrix with a band, a dense border and zeros on its diagonal, as matrices of steps are."""
    rng = np.random.default_rng(seed)
    near = np.abs(np.subtract.outer(np.arange(order), np.arange(order))) <= 4
    lower = np.where(near & (rng.random((order, order)) < 0.7), rng.normal(size=(order, order)), 0.0)
    lower[-border:] = rng.normal(size=(border, order))
    lower = np.tril(lower)
    lower[np.arange(0, order, 2), np.arange(0, order, 2)] = 0.0
    lower[np.arange(1, order), np.arange(order - 1)] += 3.0  # away from singular
    group = np.append(np.arange(order - border) // 3, np.full(border, order))
    return lower, np.unique(group, return_inverse=True)[1]


@pytest.mark.parametrize("order", [3, 20, 61])
def test_factors_solve_and_count_eigenvalues(order):
    for seed in range(5):
        lower, group = banded(order, seed)
        whole = lower + np.tril(lower, -1).T
        rows, columns = np.nonzero((lower != 0) | np.eye(order, dtype=bool))
        factors = SymmetricFactors(rows, columns, group)
        found = factors.factor(lower[rows, columns])
        eigenvalues = np.linalg.eigvalsh(whole)
        assert np.min(np.abs(eigenvalues)) > 1e-6  # else rounding decides on signs
        assert found == (np.sum(eigenvalues > 0), np.sum(eigenvalues < 0), 0)
        right = np.arange(1.0, order + 1)
        x = factors.solve(right)
        assert np.allclose(whole @ x, right, atol=1e-9 * np.abs(whole).sum() * np.abs(x).max())


def test_a_pivot_that_is_zero_waits_in_a_front_that_grows():
    """Two groups of zeros on the diagonal: no variable of the first can be eliminated in its group."""
    n = 30
    rows = np.concatenate([np.arange(2 * n), np.arange(n) + n])
    columns = np.concatenate([np.arange(2 * n), np.arange(n)])
    factors = SymmetricFactors(rows, columns, np.repeat(np.arange(2), n))
    found = factors.factor(np.concatenate([np.zeros(2 * n), np.full(n, 2.0)]))
    assert found == (n, n, 0)
    assert np.allclose(factors.solve(np.arange(2.0 * n)), np.append(np.arange(n) + n, np.arange(n)) / 2)


def test_rows_of_a_chain_do_not_wait_for_a_common_variable_that_is_eliminated_last():
    """x_k − x_{k−1} − T = 0, 1e6 on the diagonal of each variable: a row's pivot, 1e-6, is small beside T's
    1.
    """
    n = 60
    x, rows, T = np.arange(n), n + np.arange(n), 2 * n
    places = [(x, x, 1e6), (rows, rows, 0.0), (rows, x, 1.0), (rows[1:], x[:-1], -1.0)]
    places += [(np.full(n, T), rows, -1.0), (np.array([T]), np.array([T]), 1e6)]
    values = np.concatenate([np.full(len(i), value) for i, _, value in places])
    i, j = (np.concatenate([place[side] for place in places]) for side in (0, 1))
    factors = SymmetricFactors(i, j, np.concatenate([x // 3, x // 3, [n]]))
    assert factors.factor(values) == (n + 1, n, 0)
    assert factors.widest_front < 20  # of 121
    right = np.sin(np.arange(T + 1.0))
    whole = np.zeros((T + 1, T + 1))
    whole[i, j] = whole[j, i] = values
    assert np.allclose(whole @ factors.solve(right), right, atol=1e-12)


def test_zero_eigenvalues_are_counted():
    factors = SymmetricFactors(np.array([0, 1, 2]), np.array([0, 1, 2]), np.zeros(3, dtype=int))
    assert factors.factor(np.array([2.0, 0.0, -3.0])) == (1, 1, 1)
