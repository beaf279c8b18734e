"""The single-track car against its textbook, the 14-freedom car against balances, ISO 7401's figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

DATA = Path(__file__).parent / "data"
V, M, IZZ, A, B, SIGMA = 25.0, 1500.0, 2600.0, 1.2, 1.5, 0.4
CF, CR = 2 * 6e4, 2 * 7e4


@cache
def small_car() -> veh.Car:
    front, rear = (veh.LinearTyre(c, relaxation_alpha=SIGMA) for c in (6e4, 7e4))
    return veh.single_track_car(front, rear, speed=V)


@cache
def large_car() -> veh.Car:
    tyre = veh.read_tyre(DATA / "mf_185_80R14.tir", changes={"VERTICAL_DAMPING": 500.0})
    return veh.fourteen_freedom_car(tyre, tyre, speed=V)


def textbook() -> tuple[np.ndarray, np.ndarray]:
    """A and B of v, r and the lagged side forces of both axles; steer is the input.

    m (v̇ + V r) = Ff + Fr,  I ṙ = a Ff − b Fr,  σ Ḟ/V + F = −C α
    """
    a = np.array([
        [0, -V, 1 / M, 1 / M],
        [0, 0, A / IZZ, -B / IZZ],
        [-CF / SIGMA, -CF * A / SIGMA, -V / SIGMA, 0],
        [-CR / SIGMA, CR * B / SIGMA, 0, -V / SIGMA],
    ])  # fmt: skip
    return a, np.array([0, 0, CF * V / SIGMA, 0])


def test_the_single_track_car_has_the_eigenvalues_of_the_textbook() -> None:
    """The two tyres of an axle are two states; their difference decays with −V/σ and acts on nothing."""
    found = np.linalg.eigvals(small_car().model.linearize().A)
    for value in [*np.linalg.eigvals(textbook()[0]), -V / SIGMA]:
        assert np.min(np.abs(found - value)) < 1e-8 * abs(value)


def test_figures_of_a_step_steer_are_those_of_the_textbook_response() -> None:
    """The linear system stepped by the exponential of its matrix, exact for a ramp; a steer so small that
    sines do not count.
    """
    from scipy.linalg import expm

    steer, step = 1e-4, 1e-3
    found = veh.step_steer(small_car(), steer=steer, speed=V, start=0.4, rise=0.2)
    a, b = textbook()
    whole = np.zeros((6, 6))  # with the steer and its rate as states
    whole[:4, :4], whole[:4, 4], whole[4, 5] = a, b, 1
    ahead = expm(whole * step)
    t = np.arange(6001) * step
    x = np.zeros((len(t), 6))
    for k in range(len(t) - 1):
        x[k, 5] = steer / 0.2 if 400 <= k < 600 else 0
        x[k + 1] = ahead @ x[k]
    yaw, lateral = x[:, 1], (x[:, 2] + x[:, 3]) / M
    gain = V / (A + B + M / (A + B) * (B / CF - A / CR) * V**2)
    assert np.isclose(found.yaw_velocity.gain, gain, rtol=1e-5)
    assert np.isclose(found.lateral_acceleration.gain, gain * V, rtol=1e-5)
    for response, y in ((found.yaw_velocity, yaw), (found.lateral_acceleration, lateral)):
        after = np.argmax(y >= 0.9 * y[-1])
        assert t[after - 1] <= response.response_time + 0.5 <= t[after]
        assert np.isclose(response.peak_time, t[np.argmax(y)] - 0.5, atol=2e-3)  # a flat peak
        assert np.isclose(response.overshoot, np.max(y) / y[-1] - 1, atol=1e-5)
    slip = np.degrees(x[-1, 0] / V)
    assert np.isclose(found.tb_factor, found.yaw_velocity.peak_time * abs(slip), rtol=1e-4)
    assert "TB factor" in found.table() and len(found.table().splitlines()) == 13


def test_the_steady_circle_by_trim_is_the_end_of_the_manoeuvre() -> None:
    run = veh.step_steer(small_car(), steer=0.02, speed=V, duration=10.0).run
    model = small_car().model
    circle = model.simulate(
        0.01, step=1e-3, initial=model.trim(memory={"steer": 0.02}), inputs={"steer": ([0, 1], [0.02] * 2)}
    )
    for name in (*model.speed_names, *model.state_names):
        assert np.isclose(circle[name][0], run[name][-1], rtol=1e-9, atol=1e-12), name


def test_the_large_car_stands_in_balance() -> None:
    """With all coordinates zero the loads are the weight; then the shifts of the tyres' curves, which are not
    zero at zero slip, move it by their deflection of a millimetre.
    """
    rest = large_car().start(0.0)
    run = large_car().model.simulate(0.5, step=1e-3, initial=rest, parameters={"V": 0.0})
    loads = sum(run[f"{name} Fz"] for name in large_car().wheels)
    assert np.isclose(loads[0], (1350 + 240) * 9.80665, rtol=1e-12)
    assert np.allclose(loads, loads[0], rtol=1e-4)
    assert np.max(np.abs(run["body.q3"])) < 1e-4 and np.max(np.abs(run["body.q1"])) < 5e-3


def test_the_large_car_in_a_circle_balances_its_load_transfer() -> None:
    """About the line amid the contacts, to 1 %: Σ Fz y = −Σ m h ay − Σ m g h φ − Σ Iw Ω r: the inertia of the
    masses, their weight as they lean, and the wheels as gyroscopes.
    """
    found = veh.step_steer(large_car(), steer=0.02, speed=V)
    end = found.run.final
    moment = sum((end[f"{n} Fz"] * (1 if "left" in n else -1)) * 0.75 for n in large_car().wheels)
    lateral = end["lateral acceleration"]
    lean = np.radians(end["roll angle"])
    raised = 1350 * 0.55 + 240 * 0.354
    gyroscopes = 4 * 1.2 * end["rear_left.u1"] * np.radians(end["yaw velocity"])
    assert np.isclose(moment, -raised * (lateral + 9.80665 * lean) - gyroscopes, rtol=0.01)
    assert 2.5 < lateral < 3.5 and 0.02 < lean < 0.05
    assert found.yaw_velocity.overshoot > 0 and found.lateral_acceleration.response_time > 0.2


def test_a_text_model_of_a_car_gives_the_same_run(tmp_path: Path) -> None:
    car = small_car()
    car.system.save(tmp_path / "car.toml")
    again = arm.load(tmp_path / "car.toml").derive().compile()
    options = {"step": 1e-3, "inputs": {"steer": ([0, 1], [0.01, 0.01])}}
    here, there = (m.simulate(1.0, **options) for m in (car.model, again))
    assert np.allclose(here["yaw velocity"], there["yaw velocity"], rtol=1e-12)


def test_wrong_arguments_are_named() -> None:
    tyre = veh.LinearTyre(6e4)
    with pytest.raises(arm.ModelError, match="there is no parameter 'mass'"):
        veh.single_track_car(tyre, tyre, parameters={"mass": 1.0})
    with pytest.raises(arm.ModelError, match="drive='all' is not known"):
        veh.fourteen_freedom_car(tyre, tyre, drive="all")
    with pytest.raises(arm.ModelError, match="steer=0 is no step"):
        veh.step_steer(small_car(), steer=0.0, speed=V)
    with pytest.raises(arm.ModelError, match="still changes by"):
        veh.step_steer(small_car(), steer=0.01, speed=V, duration=1.0)


@pytest.mark.parametrize("kind", ["single track", "tractor"])
def test_steering_to_the_left_is_the_mirror_image_of_steering_to_the_right(kind: str) -> None:
    """A tyre with plysteer and conicity has its mirror image on the right, so a car runs straight."""
    stiffness = {"LONGITUDINAL_STIFFNESS": 3e5, "LATERAL_STIFFNESS": 1.5e5, "VERTICAL_STIFFNESS": 2e5}
    tyre = veh.read_tyre(DATA / "made_up_61.tir", side="left", changes=stiffness)
    assert abs(tyre.evaluate(4e3, 0.0, 0.0).fy) > 10.0  # N: a tyre with sides
    if kind == "tractor":
        car = veh.tractor_and_trailer(tyre, tyre, tyre, speed=20.0)
    else:
        car = veh.single_track_car(tyre, tyre, speed=20.0)
    model = car.system.derive().compile()
    runs = [model.simulate(2.0, step=2e-3, inputs={"steer": ([0, 1], [x, x])}) for x in (0.02, -0.02, 0.0)]
    for name in ("yaw velocity", "lateral acceleration", "sideslip angle"):
        left, right, straight = (np.asarray(run[name]) for run in runs)
        size = np.max(np.abs(left))
        assert np.max(np.abs(left + right)) < 1e-9 * size
        assert np.max(np.abs(straight)) < 1e-9 * size
