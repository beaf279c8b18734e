"""Filters against the linear Kalman filter and against simulated truth."""

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole, slider


def _measured(model, output, deviation, **how):
    run = model.simulate(2.0, sample=0.02, **how)
    noise = deviation * np.random.default_rng(3).standard_normal(len(run))
    return run, {"time": run.time, output: run[output] + noise}


@pytest.mark.parametrize("method", ["ekf", "ukf"])
def test_on_a_linear_model_both_are_the_kalman_filter_and_smoother(method):
    """The recursions written out for x⁺ = F x, y = x₁; the last smoothed estimate is the filtered one.

    Noise of intensity w on the speed's rate has the covariance w [h³/3, h²/2; h²/2, h] after h.
    """
    model = slider()
    _, data = _measured(model, "b.q1", 0.1, initial={"b.u1": 1.0})
    found = model.estimate(
        data,
        ["b.q1"],
        process=[0.0, 0.3],
        measurement=0.01,
        covariance=[1.0, 4.0],
        method=method,
        smooth=True,
    )
    F, C, h = np.array([[1, 0.02], [0, 1]]), np.array([[1.0, 0.0]]), 0.02
    W = 0.3 * np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
    x, P = np.zeros(2), np.diag([1.0, 4.0])
    filtered = []
    for k, y in enumerate(data["b.q1"]):
        if k:
            x, P = F @ x, F @ P @ F.T + W
        K = P @ C.T / (C @ P @ C.T + 0.01)
        x, P = x + K[:, 0] * (y - x[0]), P - K @ C @ P
        filtered.append((x, P))
    assert np.allclose(found.state, [x for x, _ in filtered], atol=1e-8)
    assert np.allclose(found.covariance, [P for _, P in filtered], atol=1e-8)
    back, (x, P) = [filtered[-1]], filtered[-1]
    for own, before in reversed(filtered[:-1]):
        ahead = F @ before @ F.T + W
        G = before @ F.T @ np.linalg.inv(ahead)
        x, P = own + G @ (x - F @ own), before + G @ (P - ahead) @ G.T
        back.append((x, P))
    assert np.allclose(found.smoothed.state, [x for x, _ in back[::-1]], atol=1e-6)
    assert np.allclose(found.smoothed.covariance, [P for _, P in back[::-1]], atol=1e-6)


@pytest.mark.parametrize("method", ["ekf", "ukf"])
@pytest.mark.parametrize("step", [None, 0.05])
def test_noise_between_rare_measurements_moves_the_coordinates(method, step):
    """The covariance is F P Fᵀ + w [h³/3, h²/2; h²/2, h] for any h and parts of it."""
    t = np.array([0.0, 0.3, 2.3, 2.4, 3.9])
    found = slider().estimate(
        {"time": t, "b.q1": np.full(5, np.nan)}, ["b.q1"], process=[0.1, 0.3], measurement=1.0,
        covariance=0.0, method=method, step=step,
    )  # fmt: skip
    expected = [[[0.1 * h + 0.1 * h**3, 0.15 * h**2], [0.15 * h**2, 0.3 * h]] for h in t]
    assert np.allclose(found.covariance, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("method", ["ekf", "ukf"])
def test_a_swinging_pole_is_found_from_its_tip(method):
    model = cart_pole()
    run, data = _measured(model, "tip", 0.01, initial={"pole.q1": 1.0})
    found = model.estimate(
        data, ["tip"], process=1e-6, measurement=1e-4, initial={"pole.q1": 0.8},
        covariance=[1e-2] * 4, method=method, smooth=True, step=0.01,
    )  # fmt: skip
    truth = np.stack([run[name] for name in found.states], axis=1)
    assert np.all(np.abs(found.state[-1] - truth[-1]) < 5 * found.standard_deviation[-1])
    assert 0.7 < found.consistency < 1.3  # χ² over 101 values has a deviation of 0.14
    before, after = (np.abs(e.state[0] - truth[0])[1] for e in (found, found.smoothed))
    assert after < before / 5
    assert found.run["tip"][-1] == pytest.approx(run["tip"][-1], abs=0.01)


def test_measurements_that_are_missing_correct_nothing():
    model = slider()
    data = {"time": [0.0, 0.1, 0.2], "b.q1": [0.0, np.nan, np.nan], "F": [1.0, 1.0, 1.0]}
    found = model.estimate(data, ["b.q1"], process=0.0, measurement=1.0, inputs=["F"])
    assert np.allclose(found.state[-1], [0.02, 0.2])  # ½ a t², a t


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"time": [0, 1]}, "no column 'b.q1'"),
        ({"time": [0, 0], "b.q1": [1, 2]}, "in increasing order"),
        ({"time": [0, 1], "b.q1": [1, 2, 3]}, "3 values for 2 times"),
        ({"time": [0, 1], "b.q1": [1, np.inf]}, "'b.q1' has an infinite value; NaN marks missing values"),
        ({"time": [0, 1], "b.q1": [1, "two"]}, "'b.q1' of the data must be a number or an array of numbers"),
    ],
)
def test_wrong_data_are_named(data, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        slider().estimate(data, "b.q1", process=1.0, measurement=1.0)  # one name need not be in a list


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_inputs_of_the_data_are_finite(wrong):
    data = {"time": [0, 1], "b.q1": [1, 2], "F": [0, wrong]}
    with pytest.raises(arm.ArmillaryError, match="an input of the data is not a finite number"):
        slider().estimate(data, ["b.q1"], process=1.0, measurement=1.0, inputs=["F"])


def test_euler_parameters_are_refused():
    s = arm.System("free")
    s.body("a", joint=arm.Spherical(), mass=1.0, inertia=(1, 2, 3))
    s.output("w", "a.u1")
    with pytest.raises(arm.ArmillaryError, match="needs independent states"):
        s.derive("kane").compile().estimate(
            {"time": [0, 1], "w": [0, 0]}, ["w"], process=1.0, measurement=1.0
        )


def test_data_without_a_value_say_nothing_about_their_noise():
    data = {"time": [0.0, 1.0], "b.q1": [np.nan, np.nan]}
    assert np.isnan(slider().estimate(data, ["b.q1"], process=1.0, measurement=1.0).consistency)


@pytest.mark.parametrize("method", ["ekf", "ukf"])
def test_an_estimate_that_overflows_is_refused_with_its_time(method):
    """The rate x² leads from 1e3 beyond all numbers within 1 ms, and so does the covariance."""
    s = arm.System("growth")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.state("x", rate="x^2", initial=1e3)
    model = s.derive().compile()
    with np.errstate(all="ignore"), pytest.raises(arm.ArmillaryError, match=r"not finite from t = 0.1 s on"):
        model.estimate(
            {"time": [0.0, 0.1, 0.2], "x": [1e3, 0.0, 0.0]}, ["x"], process=1.0, measurement=1.0,
            covariance=1.0, method=method, step=0.01,
        )  # fmt: skip
