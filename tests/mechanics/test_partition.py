"""Choice of dependent speeds by numbers, on random matrices: what it promises, checked from outside."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.mechanics.constraints.dependent_speeds import _exchange_pair, partition

SEEDS = range(40)


def case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix with rows of very different sizes, and speeds of different sizes."""
    chance = np.random.default_rng(seed)
    m = int(chance.integers(1, 6))
    n = int(chance.integers(m, m + 6))
    J = chance.normal(size=(m, n)) * 10.0 ** chance.uniform(-4, 4, size=(m, 1))
    J[:, 1:][chance.random((m, n - 1)) < 0.2] = 0.0
    return J, 10.0 ** chance.uniform(-2, 2, size=n)


def rank(J: np.ndarray) -> int:
    """With rows of one size each, as a row's size says nothing of what it holds."""
    norms = np.linalg.norm(J, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(J / np.where(norms > 0, norms, 1.0), 1e-7))


def factors(J: np.ndarray, sizes: np.ndarray, rows: list[int], dependent: list[int]) -> np.ndarray:
    """A of u_d = −A u_r, for speeds measured by their sizes."""
    rest = [j for j in range(J.shape[1]) if j not in dependent]
    scaled = J[rows] / sizes
    return np.abs(np.linalg.solve(scaled[:, dependent], scaled[:, rest]))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_has_a_speed_of_its_own_and_none_outruns_the_rest(seed: int) -> None:
    J, sizes = case(seed)
    pairs = partition(J, sizes, (), ())
    rows, dependent = [i for i, _ in pairs], [j for _, j in pairs]
    assert len(pairs) == rank(J / sizes)
    assert len(set(rows)) == len(set(dependent)) == len(pairs)
    assert np.all(factors(J, sizes, rows, dependent) <= 2.0 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_chosen_columns_are_well_conditioned(seed: int) -> None:
    """J Jᵀ = J_d (1 + A Aᵀ) J_dᵀ, so with d·r factors |A| ≤ 2: σ_min(J_d) ≥ σ_min(J)/√(1 + 4 d r)."""
    J, sizes = case(seed)
    pairs = partition(J, sizes, (), ())
    rows, dependent = [i for i, _ in pairs], [j for _, j in pairs]
    scaled = J[rows] / sizes
    d, r = len(dependent), J.shape[1] - len(dependent)
    least = np.linalg.svd(scaled, compute_uv=False)[-1]
    chosen = np.linalg.svd(scaled[:, dependent], compute_uv=False)[-1]
    assert chosen >= (1 - 1e-9) * least / np.sqrt(1 + 4 * d * r)


@pytest.mark.parametrize("seed", SEEDS)
def test_elimination_in_the_given_order_meets_no_small_pivot(seed: int) -> None:
    """Pairs are in the order of elimination: Gauss with them, without any search, has its pivots."""
    J, sizes = case(seed)
    left = J / sizes
    left /= np.linalg.norm(left, axis=1, keepdims=True) + 1e-300
    done: list[int] = []
    for i, j in partition(J, sizes, (), ()):
        done.append(i)
        assert abs(left[i, j]) > 1e-8
        others = [k for k in range(len(J)) if k not in done]
        left[others] -= np.outer(left[others, j] / left[i, j], left[i])


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_follow_from_others_are_left_out(seed: int) -> None:
    J, sizes = case(seed)
    chance = np.random.default_rng(seed + 1000)
    size = np.linalg.norm(J / sizes, axis=1, keepdims=True)
    J = J / np.where(size > 0, size, 1.0)  # a combination is then no smaller than what it is made of
    more = np.vstack([J, chance.uniform(0.5, 1.5, size=(2, len(J))) @ J, np.zeros(J.shape[1])])
    shuffled = chance.permutation(len(more))
    pairs = partition(more[shuffled], sizes, (), ())
    assert len(pairs) == rank(J / sizes)
    assert all(np.any(more[shuffled][i]) for i, _ in pairs)
    kept = more[shuffled][[i for i, _ in pairs]]
    assert rank(kept / sizes) == len(pairs)


def test_a_matrix_of_nothing_has_no_pairs() -> None:
    assert partition(np.zeros((2, 3)), np.ones(3), (), ()) == []
    assert partition(np.ones((2, 0)), np.ones(0), (), ()) == []


# ---------------------------------------------------------------- what is dependent now


def test_a_present_choice_stays_while_it_is_strong() -> None:
    """0.6 of the largest element is strong enough, 0.4 is not."""
    assert partition(np.array([[1.0, 0.6]]), np.ones(2), (), [(0, 1)]) == [(0, 1)]
    assert partition(np.array([[1.0, 0.4]]), np.ones(2), (), [(0, 1)]) == [(0, 0)]
    assert partition(np.array([[1.0, 0.6]]), np.ones(2), (), []) == [(0, 0)]


def test_the_size_of_a_speed_decides_whether_it_is_strong() -> None:
    """A speed a thousand times larger than the other moves a thousand times as much."""
    assert partition(np.array([[1.0, 0.6]]), np.array([1e-3, 1.0]), (), [(0, 1)]) == [(0, 0)]
    assert partition(np.array([[1.0, 0.6]]), np.array([1.0, 1e-3]), (), [(0, 0)]) == [(0, 1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_place_asked_again_gives_the_same_dependents(seed: int) -> None:
    J, sizes = case(seed)
    once = partition(J, sizes, (), ())
    again = partition(J, sizes, (), once)
    assert {j for _, j in again} == {j for _, j in once}


# ---------------------------------------------------------------- speeds that are to stay free


@pytest.mark.parametrize("seed", SEEDS)
def test_speeds_kept_free_are_never_dependent(seed: int) -> None:
    J, sizes = case(seed)
    n = J.shape[1]
    free = set(np.random.default_rng(seed + 2000).permutation(n)[: max(0, n - len(J))].tolist())
    pairs = partition(J, sizes, free, [(0, min(free))] if free else ())
    dependent = {j for _, j in pairs}
    assert not dependent & free
    allowed = [j for j in range(n) if j not in free]
    norms = np.linalg.norm(J / sizes, axis=1, keepdims=True)
    assert len(pairs) == np.linalg.matrix_rank(
        ((J / sizes) / np.where(norms > 0, norms, 1.0))[:, allowed], 1e-8
    )


def test_nothing_is_dependent_where_all_are_kept_free() -> None:
    assert partition(np.ones((1, 2)), np.ones(2), {0, 1}, ()) == []


@pytest.mark.parametrize(
    ("J", "pairs", "allowed", "expected"),
    [
        ([[0.1, 1.0, 0.3]], [(0, 0)], (0, 1, 2), (0, 1)),  # u₀ = −10 u₁ − 3 u₂
        ([[0.1, 0.2, 1.0]], [(0, 0)], (0, 1, 2), (0, 2)),
        ([[0.1, 0.19, 1.0]], [(0, 0)], (0, 1), None),  # 1.9 is little, and u₂ may not be taken
        ([[0.6, 1.0, 0.3]], [(0, 0)], (0, 1, 2), None),  # 1.7 is little
        ([[1.0, 0.0, 2.0], [0.0, 0.1, 1.0]], [(0, 0), (1, 1)], (0, 1, 2), (1, 2)),
        ([[1.0, 0.0, 2.0], [0.0, 0.1, 1.0]], [(0, 0), (1, 1)], (0, 1), None),  # no other speed
        ([[1.0, 9.0]], [], (0, 1), None),
    ],
)
def test_the_pair_is_exchanged_that_would_run_away_fastest(
    J: list[list[float]], pairs: list[tuple[int, int]], allowed: tuple[int, ...],
    expected: tuple[int, int] | None,
) -> None:  # fmt: skip
    """The largest factor by which an independent speed moves a dependent one, where it is above 2."""
    assert _exchange_pair(np.array(J), pairs, allowed) == expected
