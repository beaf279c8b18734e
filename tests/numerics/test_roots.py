"""Roots of equations from rough starts: published problems, and minima where there are no roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from armillary.numerics.language import Roots
from armillary.numerics.python_functions import python_functions
from tests.numerics.described import FACTORS, SUMS, set_all_lengths

Function = Callable[[np.ndarray], np.ndarray]


class Problem(Roots):
    """Residuals of a place x that moves by the unknowns themselves."""

    def __init__(self, r: Function, slopes: Function, start: np.ndarray) -> None:
        self.r, self.slopes = r, slopes
        self.x = self.there = np.array(start, dtype=float)
        set_all_lengths(self, len(r(self.x)), len(self.x))
        self.cut = self.least_cut = 1e-11
        self.longest, self.exact, self.met, self.most_moves = np.inf, 1e-14, 1e-9, 200.0
        self.first_radius = np.sqrt(len(self.x))


def look(run: Problem) -> None:
    run.residual[:] = run.r(run.x)


def look_there(run: Problem) -> None:
    run.missed[:] = run.r(run.there)


def differentiate(run: Problem) -> None:
    run.matrix[:] = run.slopes(run.x).T.ravel()


def displace(run: Problem) -> None:
    run.there = run.x + run.step


def arrive(run: Problem) -> None:
    run.x = run.there


def accept(run: Problem) -> None:
    run.x = run.there
    run.residual[:] = run.missed


def set_radius(run: Problem) -> None:
    run.radius = run.first_radius


def worst_residual(run: Problem) -> float:
    return float(np.max(np.abs(run.residual)))


HOOKS = (look, look_there, differentiate, displace, arrive, accept, set_radius, worst_residual)


# As they are described, and as they run while equations are derived.
@pytest.fixture(params=[False, True], ids=["described factors", "arrays"], scope="module")
def functions(request: pytest.FixtureRequest) -> dict[str, Any]:
    hooks = {f.__name__: f for f in HOOKS}
    return python_functions(hooks if request.param else FACTORS | SUMS | hooks)


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def rosenbrock_slopes(x: np.ndarray) -> np.ndarray:
    return np.array([[-20 * x[0], 10], [-1, 0]])


def powell(x: np.ndarray) -> np.ndarray:
    a, b, c, d = x
    return np.array([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])


def powell_slopes(x: np.ndarray) -> np.ndarray:
    a, b, c, d = x
    three, four = 2 * (b - 2 * c), 10**0.5 * 2 * (a - d)
    return np.array(
        [[1, 10, 0, 0], [0, 0, 5**0.5, -(5**0.5)], [0, three, -2 * three, 0], [four, 0, 0, -four]]
    )


def freudenstein(x: np.ndarray) -> np.ndarray:
    a, b = x
    return np.array([-13 + a + ((5 - b) * b - 2) * b, -29 + a + ((b + 1) * b - 14) * b])


def freudenstein_slopes(x: np.ndarray) -> np.ndarray:
    b = x[1]
    return np.array([[1, 10 * b - 3 * b**2 - 2], [1, 3 * b**2 + 2 * b - 14]])


# Moré, Garbow & Hillstrom (1981), Testing unconstrained optimization software, ACM TOMS 7, problems 1 and 13,
# with their starts; Powell's function has a singular matrix at its root.
@pytest.mark.parametrize(
    ("r", "slopes", "start", "root", "tolerance"),
    [
        (rosenbrock, rosenbrock_slopes, [-1.2, 1.0], [1.0, 1.0], 1e-13),
        (powell, powell_slopes, [3.0, -1.0, 0.0, 1.0], [0.0] * 4, 1e-4),
    ],
)
def test_published_problems_end_at_their_roots(
    r: Function,
    slopes: Function,
    start: list[float],
    root: list[float],
    tolerance: float,
    functions: dict[str, Any],
) -> None:
    run = Problem(r, slopes, np.array(start))
    functions["find_root"](run)
    np.testing.assert_allclose(run.x, root, rtol=0, atol=tolerance)


@pytest.mark.parametrize("arrays", [False, True])
def test_chords_take_the_last_derivatives_where_little_is_left(arrays: bool) -> None:
    """Of sin x = 0.3 from beside the root, x' = x (1 ± 10⁻⁴): the first step has derivatives of its own, even
    if the record holds those of another problem; the second none.
    """
    steps = []
    hooks = {f.__name__: f for f in HOOKS}

    def differentiate_and_note(run: Problem) -> None:
        steps.append("derivatives")
        differentiate(run)

    def chord(run: Problem) -> None:
        steps.append("chord")
        run.step = -run.residual / np.cos(np.arcsin(0.3))

    own = {"differentiate": differentiate_and_note, "set_chord_step": chord, "CHORDS": True}
    functions = python_functions((hooks if arrays else FACTORS | SUMS | hooks) | own)
    start = np.arcsin(0.3) * np.array([1 - 1e-4])
    run = Problem(lambda x: np.sin(x) - 0.3, lambda x: np.cos(x)[None], start)
    functions["find_root"](run)
    assert run.x[0] == pytest.approx(np.arcsin(0.3), rel=1e-12)
    assert steps[0] == "derivatives" and set(steps[1:]) <= {"chord"}, steps


def test_without_a_root_nearby_residuals_end_where_they_are_least(functions: dict[str, Any]) -> None:
    """Problem 2 of the same collection, of Freudenstein and Roth: a local minimum of |r|² = 48.98425… at
    (11.4128, −0.89681), where Aᵀ r vanishes.
    """
    run = Problem(freudenstein, freudenstein_slopes, np.array([0.5, -2.0]))
    functions["find_root"](run)
    assert float(run.residual @ run.residual) == pytest.approx(48.9842536, rel=1e-8)
    np.testing.assert_allclose(run.x, [11.41278, -0.8968053], rtol=1e-5)
    np.testing.assert_allclose(freudenstein_slopes(run.x).T @ run.residual, 0.0, rtol=0, atol=1e-4)


def test_a_cut_is_lowered_where_steps_stall(functions: dict[str, Any]) -> None:
    """Of two equations the second has 1e-5 of the effect of the first: a cut of 1e-3 leaves it alone."""
    A = np.array([[1.0, 0.0], [0.0, 1e-5]])
    run = Problem(lambda x: A @ (x - [2.0, 3.0]), lambda x: A, np.zeros(2))
    run.cut, run.least_cut, run.first_radius = 1e-3, 1e-10, 100.0
    functions["find_root"](run)
    np.testing.assert_allclose(run.x, [2.0, 3.0], rtol=1e-8)
    assert run.cut < 1e-5


def test_no_unknown_changes_by_more_than_the_longest_step() -> None:
    places = []
    run = Problem(lambda x: x - [5.0, 1.0], lambda x: np.eye(2), np.zeros(2))
    run.longest, run.first_radius = 0.5, np.inf
    functions = python_functions(
        {f.__name__: f for f in HOOKS} | {"accept": lambda run: (accept(run), places.append(run.x.copy()))}
    )
    functions["find_root"](run)
    steps = np.diff(np.array([np.zeros(2), *places]), axis=0)
    assert np.abs(steps).max() == pytest.approx(0.5, rel=1e-12)
    np.testing.assert_allclose(run.x, [5.0, 1.0], rtol=1e-13)


def test_a_branch_is_kept_or_left_unfollowed(functions: dict[str, Any]) -> None:
    """x² = a from x = 1: near a = 1 steps shrink; a = −1 has no root, and to a = 9 the first step is longer
    than the longest one.
    """

    def followed(a: float) -> tuple[bool, float]:
        run = Problem(lambda x: x**2 - a, lambda x: np.array([2 * x]), np.ones(1))
        run.longest, run.most_moves = 0.5, 40.0
        return functions["follow_root"](run), float(run.x[0])

    assert followed(1.2) == (True, pytest.approx(1.2**0.5, rel=1e-14))
    assert not followed(-1.0)[0]
    assert not followed(9.0)[0]
