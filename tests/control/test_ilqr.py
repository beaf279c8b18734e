"""Iterated LQR against LQR, and the swing-up of the cart and pole."""

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole, slider
from tests.later import later

linalg = later("scipy.linalg")


def test_on_a_linear_model_one_iteration_gives_the_discrete_riccati_solution():
    """The step map of the double integrator is exact: x⁺ = F x + G v. The cost is ½ x₀ᵀ P₀ x₀."""
    found = slider().ilqr(
        1.0, step=0.1, inputs=["F"], Q=[1.0, 0.5], R=0.2, final=[3.0, 4.0], initial={"b.q1": 1.0}
    )
    F, G = np.array([[1, 0.1], [0, 1]]), np.array([[0.005], [0.1]])
    Q, R, P = 0.1 * np.diag([1.0, 0.5]), 0.1 * np.array([[0.2]]), np.diag([3.0, 4.0])
    for _ in range(10):
        K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        P = Q + F.T @ P @ (F - G @ K)
    assert found.converged and found.cost == pytest.approx(0.5 * P[0, 0], rel=1e-10)
    assert np.allclose(found.K[0], -K, rtol=1e-8)


def test_the_cart_pole_swings_up_within_its_limits():
    how = dict(
        step=0.04, inputs={"F": (-20, 20)}, Q={"cart.q1": 0.1}, R=0.01, final=[100, 100, 10, 10],
        target={"pole.q1": np.pi}, iterations=60,
    )  # fmt: skip
    found = cart_pole().ilqr(2.0, second=True, **how)
    assert abs(found.run.final["pole.q1"] - np.pi) < 0.02 and abs(found.run.final["cart.q1"]) < 0.02
    assert np.abs(found.input).max() <= 20 and all(np.diff(found.costs) <= 0)
    # The inputs, held, make the same motion in a run.
    held = arm.Signal(found.time, np.append(found.input[:, 0], 0.0), interpolation="hold")
    run = cart_pole().simulate(2.0, step=0.04, inputs={"F": held})
    assert np.allclose(run.final["pole.q1"], found.run.final["pole.q1"], atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"inputs": []}, "nothing can be steered; the model has 'F'"),
        ({"inputs": ["L"]}, "is a parameter, which stays constant"),
        ({"inputs": ["G"]}, "has no input"),
        ({"inputs": {"F": (1, -1)}}, "low < high"),
        ({"step": 0.0}, "at least one step"),
        ({"guess": [1.0, 2.0]}, "guess= must be inputs for 20 steps"),
        ({"target": {"pole": 1}}, "target=: there is no 'pole'"),
    ],
)
def test_wrong_arguments_are_named(changed, words):
    how = {"step": 0.1, "inputs": ["F"], "Q": 1.0, "R": 1.0, "final": 1.0} | changed
    with pytest.raises(arm.ArmillaryError, match=words):
        cart_pole().ilqr(2.0, **how)
