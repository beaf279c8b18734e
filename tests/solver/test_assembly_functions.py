"""Single functions that close loops, written in a part of Python and run as Python, against dense algebra."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from armillary.mechanics.constraints.closing_thresholds import LEAST_SIZE
from armillary.solver import assembly

GAPS, ROWS, SPEEDS, PLACES = 2, 3, 4, 5
Given = Callable[..., None]


class Copies(SimpleNamespace):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.copy() if isinstance(value, np.ndarray) else value)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    def give(**names: Any) -> None:
        for name, value in names.items():
            monkeypatch.setattr(assembly, name, value, raising=False)

    give(N_GAPS=GAPS, N_ROWS=ROWS, N_SPEEDS=SPEEDS, N_COORDINATES=PLACES, N_JACOBIAN=ROWS * SPEEDS, FIRST=0)
    give(at=lambda i, n, j: i * n + j, sqrt=math.sqrt, isnan=math.isnan, UNITS=False, INFINITY=math.inf)
    return give


@pytest.mark.parametrize("fixed", [(), (1,), (1, 2)])
def test_speeds_agree_by_the_smallest_change_of_those_that_may(fixed: tuple[int, ...], given: Given) -> None:
    """J (u + Δ) + b = 0 with the least |Δ|: the dependent speeds 1 and 2 first; if these cannot, all but the
    last, which no constraint depends on.
    """
    rng = np.random.default_rng(2)
    J, b, u = rng.normal(size=(2, SPEEDS)), rng.normal(size=2), rng.normal(size=SPEEDS)
    J[:, 3] = 0.0

    def set_step(run: Any) -> None:
        matrix = np.array(run.matrix[: run.columns * 2]).reshape(run.columns, 2).T
        run.step = -np.linalg.pinv(matrix) @ np.array(run.residual)

    given(N_ROWS=2, KNOWN_OF=[5, 6], DEPENDENT_SPEED=[False, True, True, False], EPSILON=2.2e-16)
    given(HOLDING_SPEED=[True, True, True, False], factorise_matrix=lambda run: None, set_step=set_step)
    run = SimpleNamespace(
        jacobian=J.ravel(), numbers=[0.0] * 5 + b.tolist(), speed=u, change=np.ones(SPEEDS), status=0,
        cut=0.0, fixed=[j in fixed for j in range(SPEEDS)], moving=[False] * SPEEDS, broken=[9.0, 9.0],
        residual=[9.0, 9.0], matrix=[9.0] * 8, rows=0, columns=0,
    )  # fmt: skip
    assembly.agree_speeds(run)
    moving = [j for j in (1, 2) if j not in fixed]
    if len(moving) < 2:
        moving = [j for j in (0, 1, 2) if j not in fixed]
    expected = np.zeros(SPEEDS)
    expected[moving] = -np.linalg.pinv(J[:, moving]) @ (J @ u + b)
    assert run.change == pytest.approx(expected, abs=1e-12)
    left = np.abs(J @ (u + expected) + b).max()
    assert (run.status == assembly.CONTRADICTED) is bool(left > 1e-6) is (len(fixed) == 2)


def test_gaps_are_measured_by_the_speeds_that_change_them(given: Given) -> None:
    """|g|, and the largest gap over the largest element of its row of J; a row that nearly vanishes has a
    share of the largest element of all.
    """
    J = np.array([[2.0, -8.0, 0, 1], [0, 0.5, -0.25, 0]])
    run = SimpleNamespace(numbers=[3.0, -4.0], jacobian=J.ravel())
    assert assembly.gap_length(run) == 5.0
    assert assembly.worst_residual(run) == 8.0  # 4/0.5, not 3/8
    run.numbers = [-3.0, 0.1]
    assert assembly.worst_residual(run) == pytest.approx(3 / 8)
    run.jacobian = np.array([[2.0, -8.0, 0, 1], [0, 0, 0, 0]]).ravel()
    assert assembly.worst_residual(run) == pytest.approx(max(3 / 8, 0.1 / (LEAST_SIZE * 8)))
    run.numbers = [0.0, math.nan]
    assert math.isnan(assembly.worst_residual(run))


def test_a_step_moves_coordinates_by_their_rates_and_keeps_what_is_held(given: Given) -> None:
    """q + N Δ, with the last four of unit length; held coordinates stay where they were."""
    rng = np.random.default_rng(3)
    N, place = rng.normal(size=(PLACES, SPEEDS)), rng.normal(size=PLACES)
    given(UNITS=True, N_UNITS=1, UNIT_FROM=[1])
    run = Copies(place=place, moved=np.zeros(PLACES), moving=[True, False, True, False], rates=N.ravel(),
                 step=np.array([0.3, -0.2]), held=[True, False, False, False, True])  # fmt: skip
    assembly.displace(run)
    free = place + N[:, [0, 2]] @ run.step
    free[1:] /= np.linalg.norm(free[1:])
    assert run.moved == pytest.approx([place[0], *free[1:4], place[4]])


def test_held_coordinates_are_tied_by_equations_of_their_own(given: Given) -> None:
    """Rows of N for held coordinates that moving speeds would move, with the largest element of J times the
    stiffness in each; the matrix is kept by columns.
    """
    J, N = np.array([[1.0, 2, 0, 3], [0, -4, 5, 0]]), np.zeros((PLACES, SPEEDS))
    entries = [(0, 0), (1, 1), (1, 3), (4, 2), (2, 3)]
    for value, (k, j) in enumerate(entries, 2):
        N[k, j] = value
    given(N_RATES=len(entries), RATE_PLACE=[k for k, _ in entries], RATE_SPEED=[j for _, j in entries])
    run = SimpleNamespace(
        moving=[True, True, False, True], held=[False, True, True, False, True], tied=[True] * PLACES, rows=0,
        columns=0, stiffness=0.5, jacobian=J.ravel(), rates=N.ravel(), matrix=np.zeros(3 * 4),
    )  # fmt: skip
    assembly.count_equations(run)
    assert run.tied == [False, True, True, False, False] and (run.rows, run.columns) == (GAPS + 2, 3)
    assembly.differentiate(run)
    moving = [0, 1, 3]
    expected = [*J[:, moving], N[1, moving] * 0.5 * 4 / 4, N[2, moving] * 0.5 * 4 / 6]
    found = run.matrix.reshape(3, 4).T
    assert found == pytest.approx(np.array(expected))


def test_columns_are_divided_by_their_largest_element(given: Given) -> None:
    J = np.array([[1.0, -6, 0, 1e-20], [2, 3, 0, 0], [-4, 0, 0, 0]])
    given(IS_KEPT=[True, False, True])
    run = SimpleNamespace(jacobian=J.ravel(), matrix=np.zeros(SPEEDS * ROWS), rows=0, columns=0)
    for all_rows in (True, False):
        assembly.set_scaled_rows(run, all_rows)
        scaled = J / [4, 6, 1, 1]
        scaled[1] *= all_rows
        found = run.matrix.reshape(SPEEDS, ROWS).T
        assert found == pytest.approx(scaled) and run.columns == SPEEDS


@pytest.mark.parametrize("alone", [None, 0, 2, SPEEDS - 1])
def test_one_speed_that_moves_or_one_place_that_is_free_is_enough(alone: int | None, given: Given) -> None:
    run = SimpleNamespace(
        moving=[j == alone for j in range(SPEEDS)], held=[k != alone for k in range(PLACES)]
    )
    assert assembly.some_speed_moves(run) == assembly.some_place_is_free(run) == (alone is not None)
