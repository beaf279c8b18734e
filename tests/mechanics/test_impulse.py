"""Speeds after a sudden constraint, against solutions by hand, whatever the units and sizes."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.mechanics.constraints.impulse import after_impulse

SIZES = [1e-6, 1e-3, 1.0, 1e4, 1e6, 1e8]
NOTHING = np.zeros(1)


def two_discs(J: float, K: float) -> np.ndarray:
    """M of a disc of inertia K that turns on one of J: T = ½ J a² + ½ K (a + b)²."""
    return np.array([[J + K, K], [K, K]])


@pytest.mark.parametrize("size", SIZES)
def test_a_locked_hinge_shares_the_angular_momentum(size: float) -> None:
    """(J + K) a⁺ = J a + K (a + b)."""
    M = two_discs(2 * size, 3 * size)
    after = after_impulse(M, np.array([1.0, 1.0]), np.array([[0.0, 1.0]]), NOTHING)
    assert after == pytest.approx([(2 * 1 + 3 * 2) / 5, 0.0], abs=1e-12)


@pytest.mark.parametrize("ratio", SIZES)
def test_a_light_part_on_a_heavy_one_is_held_as_exactly(ratio: float) -> None:
    """A carriage moves on beside two discs that lock, however heavy it is; its speed is not touched."""
    M = np.zeros((3, 3))
    M[0, 0] = 1.0
    M[1:, 1:] = two_discs(ratio, ratio)
    after = after_impulse(M, np.ones(3), np.array([[0.0, 0.0, 1.0]]), NOTHING)
    assert after == pytest.approx([1.0, 1.5, 0.0], abs=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_two_masses_that_meet_keep_their_momentum(size: float) -> None:
    """m₁ v₁ + m₂ v₂ = (m₁ + m₂) v for a row of any size."""
    M = np.diag([2.0 * size, 6.0 * size])
    for factor in (1e-6, 1.0, 1e6):
        after = after_impulse(M, np.array([4.0, 0.0]), np.array([[factor, -factor]]), NOTHING)
        assert after == pytest.approx([1.0, 1.0], abs=1e-12)


def test_what_moves_by_itself_is_a_known_part_of_the_row() -> None:
    """u₁ − u₂ + b = 0 with b = 0.5: the second is then quicker by half."""
    M = np.diag([1.0, 3.0])
    after = after_impulse(M, np.array([2.0, 2.0]), np.array([[1.0, -1.0]]), np.array([0.5]))
    assert after == pytest.approx([2.0 - 0.375, 2.0 + 0.125], abs=1e-12)


def test_a_row_that_holds_already_changes_nothing() -> None:
    M = two_discs(1.0, 2.0)
    u = np.array([0.7, 0.0])
    assert after_impulse(M, u, np.array([[0.0, 1.0]]), NOTHING) == pytest.approx(u, abs=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_redundant_rows_do_no_harm(size: float) -> None:
    """The same demand three times, in other words; a row of nothing."""
    M = two_discs(2 * size, 3 * size)
    rows = np.array([[0.0, 1.0], [0.0, -3.0], [0.0, 1e-3], [0.0, 0.0]])
    after = after_impulse(M, np.array([1.0, 1.0]), rows, np.zeros(4))
    assert after == pytest.approx([1.6, 0.0], abs=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_a_speed_without_mass_follows_its_row_and_takes_no_part(size: float) -> None:
    """u₃ = 2 u₁ costs nothing, so u₁ and u₂ keep their speeds."""
    M = np.diag([size, 2 * size, 0.0])
    after = after_impulse(M, np.array([1.0, 2.0, 0.0]), np.array([[2.0, 0.0, -1.0]]), NOTHING)
    assert after == pytest.approx([1.0, 2.0, 2.0], abs=1e-12)


def test_a_speed_without_mass_or_row_stays() -> None:
    M = np.diag([1.0, 1.0, 0.0])
    after = after_impulse(M, np.array([1.0, 0.0, 5.0]), np.array([[1.0, -1.0, 0.0]]), NOTHING)
    assert after == pytest.approx([0.5, 0.5, 5.0], abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_random_impulses_hold_the_rows_and_lose_the_energy_of_the_change(seed: int) -> None:
    """Carnot's theorem: T⁻ − T⁺ = ½ (u⁺ − u⁻)ᵀ M (u⁺ − u⁻) where the rows stand still."""
    chance = np.random.default_rng(seed)
    n, m = 5, 2
    root = chance.normal(size=(n, n)) * 10.0 ** chance.uniform(-2, 2, size=(n, 1))
    M, J, u = root.T @ root + np.eye(n), chance.normal(size=(m, n)), chance.normal(size=n)
    after = after_impulse(M, u, J, np.zeros(m))
    assert np.max(np.abs(J @ after)) < 1e-10
    lost = u @ M @ u - after @ M @ after
    change = after - u
    assert lost == pytest.approx(change @ M @ change, rel=1e-8)
    # Any other speeds that satisfy the rows are further away, measured by M (Gauss).
    free = np.linalg.svd(J)[2][m:]
    assert np.max(np.abs(free @ M @ change)) < 1e-8 * np.max(np.abs(M))


def test_a_run_of_heavy_discs_grips_as_the_light_ones_do() -> None:
    s = arm.System("ship")
    s.parameter("J", 1.0, units="kg*m2")
    A = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=("J", "J", "J"))
    s.body("B", A, arm.Revolute("z"), mass=0, inertia=("J", "J", "J"))
    s.event("grip", "t - 0.5", lock="B.q1")
    model = s.derive().compile()
    for J in SIZES:
        run = model.simulate(1.0, sample=0.1, initial={"A.u1": 1.0, "B.u1": 1.0}, parameters={"J": J})
        assert run["A.u1"][-1] == pytest.approx(1.5, abs=1e-12)
        assert run["B.u1"][-1] == 0.0
