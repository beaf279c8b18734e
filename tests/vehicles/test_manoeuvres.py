"""Manoeuvres against textbook formulas, linear models and each other; lane changes against their geometry."""

from __future__ import annotations

from functools import cache
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import armillary as arm
import armillary.vehicles as veh

V, M, IZZ, A, B, SIGMA = 25.0, 1500.0, 2600.0, 1.2, 1.5, 0.4
L = A + B


@cache
def linear_car(front: float = 6e4, rear: float = 7e4) -> veh.Car:
    """Stiffnesses of one tyre, N/rad."""
    tyres = [veh.LinearTyre(c, relaxation_alpha=SIGMA) for c in (front, rear)]
    return veh.single_track_car(*tyres, speed=V)


@cache
def driven_car() -> veh.Car:
    front, rear = (
        veh.BrushTyre(slip_stiffness=c, friction=1.0, vertical_damping=300.0, radius=0.32)
        for c in (18.0, 24.0)
    )
    return veh.fourteen_freedom_car(front, rear, driver=veh.PathDriver(veh.double_lane_change_track().path))


def gradient(front: float, rear: float) -> float:
    """K of the textbook, with stiffnesses of axles."""
    return M / L * (B / (2 * front) - A / (2 * rear))


@pytest.mark.parametrize(("front", "rear"), [(6e4, 7e4), (7e4, 5e4)])
def test_figures_of_the_linear_car_are_those_of_the_textbook(front: float, rear: float) -> None:
    found = veh.handling_figures(linear_car(front, rear), 20.0)
    k = gradient(front, rear)
    assert np.isclose(found.understeer_gradient, k, rtol=1e-8)
    assert np.isclose(found.yaw_gain, 20 / (L + k * 400), rtol=1e-8)
    assert np.isclose(found.acceleration_gain, 400 / (L + k * 400), rtol=1e-8)
    if k > 0:
        assert np.isclose(found.characteristic_speed, np.sqrt(L / k), rtol=1e-8)
        assert np.isnan(found.critical_speed)
    else:
        assert np.isclose(found.critical_speed, np.sqrt(-L / k), rtol=1e-7)
        assert np.isnan(found.characteristic_speed)
    assert np.isnan(veh.handling_figures(linear_car(front, rear), 20.0, critical=False).critical_speed)


@pytest.mark.parametrize("speed", [10.0, 45.0, 130.0])
def test_a_critical_speed_is_found_from_below_and_from_above(speed: float) -> None:
    """√(L/−K) with K = m/L (b/Cf − a/Cr), also for a car that is already faster."""
    front, rear = 8e4, 5e4
    car = linear_car(front, rear)
    expected = np.sqrt(-L / gradient(front, rear))
    assert 10 < expected < 45
    assert np.isclose(veh.handling_figures(car, speed).critical_speed, expected, rtol=1e-7)


def test_a_critical_speed_is_found_up_to_the_end_of_the_search() -> None:
    """Critical at 110 m/s, between the last of the trial speeds that grow by 1.3 and 120 m/s."""
    front = 7e4
    rear = A / 2 / (B / (2 * front) + L**2 / (M * 110.0**2))
    assert np.isclose(gradient(front, rear), -L / 110.0**2, rtol=1e-12)
    assert np.isclose(veh.handling_figures(linear_car(front, rear), 20.0).critical_speed, 110.0, rtol=1e-7)


def test_steady_circles_by_trim_have_the_steer_angle_of_their_radius() -> None:
    """δ = L/R + K ay for small angles; the end of a step steer has the same motion to 1e-6."""
    found = veh.steady_circle(linear_car(), speed=V, radius=[3000.0, 6000.0])
    assert np.allclose(V / found.yaw_velocity, [3000, 6000], rtol=1e-9)
    assert np.allclose(
        found.steer, (L + gradient(6e4, 7e4) * V**2) / found.speed * found.yaw_velocity, rtol=1e-4
    )
    again = veh.steady_circle(linear_car(), speed=V, steer=[0.03])
    end = veh.step_steer(linear_car(), steer=0.03, speed=V, duration=10.0)
    assert np.isclose(again.yaw_velocity[0], end.yaw_velocity.steady, rtol=1e-6)
    assert np.isclose(again.lateral_acceleration[0], end.lateral_acceleration.steady, rtol=1e-6)
    assert len(again.table().splitlines()) == 3
    with pytest.raises(arm.ModelError, match="either steer= or radius="):
        veh.steady_circle(linear_car(), speed=V)


def test_pulse_and_random_steering_give_the_frequency_response_of_the_linear_model() -> None:
    """The linear model's own response, C (jω − A)⁻¹ B + D, at a small angle."""
    linear = linear_car().model.linearize(inputs=["steer"], outputs=["yaw velocity", "lateral acceleration"])

    def response(frequency: float) -> np.ndarray:
        shift = 2j * np.pi * frequency * np.eye(len(linear.A))
        return (linear.C @ np.linalg.solve(shift - linear.A, linear.B) + linear.D)[:, 0]

    gain = abs(response(0.1)[0]) * np.pi / 180
    phase = np.degrees(np.angle(response(1.0)[1]))
    pulse = veh.pulse_steer(linear_car(), steer=1e-3, speed=V)
    assert np.isclose(pulse["yaw velocity gain at 0.1 Hz"], gain, rtol=2e-3)
    assert np.isclose(pulse["lateral acceleration phase at 1 Hz"], phase, atol=0.5)
    random = veh.random_steer(linear_car(), steer=1e-3, speed=V, duration=20.0)
    assert np.isclose(random["lateral acceleration phase at 1 Hz"], phase, atol=1.0)
    assert np.isclose(random["yaw velocity gain at 0.10 Hz"], gain, rtol=1e-2)


def test_a_sine_has_the_delays_of_the_linear_car() -> None:
    found = veh.sine_steer(linear_car(), steer=1e-3, speed=V)
    assert 0.05 < found["yaw velocity delay"] < 0.2
    assert found["lateral acceleration delay"] > found["yaw velocity delay"]
    assert np.isclose(found["yaw velocity gain"], V / (L + gradient(6e4, 7e4) * V**2), rtol=0.2)
    with pytest.raises(arm.ModelError, match="has no figure 'yaw'"):
        found["yaw"]


def test_tracks_have_the_measures_of_the_standards() -> None:
    one, two = veh.double_lane_change_track(2.0), veh.obstacle_avoidance_track(2.0)
    assert np.isclose(one.lanes[-1].end - one.lanes[0].start, 125)
    assert np.isclose(two.lanes[-1].end - two.lanes[0].start, 61)
    assert np.isclose(one.lanes[1].right - one.lanes[0].right, 3.5)
    assert np.isclose(two.lanes[1].right - two.lanes[0].left, 1.0)
    widths = [[lane.left - lane.right for lane in track.lanes] for track in (one, two)]
    assert np.allclose(widths, [[2.45, 2.65, 2.85], [2.45, 3.0, 3.0]])
    assert len(one.cones) == 30 and one.path(30.0) == 0 and np.isclose(one.path(75.0), one.lanes[1].middle)
    with pytest.raises(arm.ModelError, match="is not the width of a car"):
        veh.double_lane_change_track(1800.0)
    with pytest.raises(arm.ModelError, match="use 'edge' or 'middle'"):
        veh.double_lane_change_track(offset_from="left")


def test_the_double_lane_change_has_the_published_numbers_of_the_standard() -> None:
    """ISO 3888-1: sections of 15, 30, 25, 25, 15 and 15 m, widths 1.1, 1.2 and 1.3 w + 0.25 m, offset 3.5 m;
    Project Chrono measures the offset from the middle of the first lane to the edge of the second.
    """
    w = 1.9
    first, middle, last = veh.double_lane_change_track(w).lanes
    ends = [first.start, first.end, middle.start, middle.end, last.start, last.end]
    assert np.allclose(np.diff(ends), [15, 30, 25, 25, 15 + 15])
    for lane, factor in ((first, 1.1), (middle, 1.2), (last, 1.3)):
        assert np.isclose(lane.left - lane.right, factor * w + 0.25)
    assert np.isclose(middle.right - first.right, 3.5) and last.right == first.right
    chrono = veh.double_lane_change_track(w, offset_from="middle").lanes
    assert np.isclose(chrono[1].middle, (1.2 * w + 0.25) / 2 + 3.5) and chrono[2] == last


def test_a_car_that_overturns_ends_its_run_and_fails() -> None:
    """A mass centre 1.4 m high: half the track over it is 0.54, less than the friction."""
    high = {"h": 1.4}
    with pytest.raises(arm.ModelError, match=r"step_steer: the vehicle overturned after \d.*smaller steer"):
        veh.step_steer(driven_car(), steer=0.06, speed=V, parameters=high)
    car = driven_car()
    run = car.model.simulate(
        6.0, step=1e-3, sample=0.01, inputs={"steer": ([0, 0.1], [0.0, 0.06])}, initial=car.start(V),
        parameters={**car.hands_off(V), **high},
    )  # fmt: skip
    end = float(run.time[-1])
    assert end < 5 and run.events[-1].name == "overturned" and np.isclose(run.events[-1].time, end)
    lean = np.cos(np.radians(run["roll angle"][-1])) * np.cos(np.radians(run["pitch angle"][-1]))
    assert np.isclose(lean, 0.2, atol=1e-6)
    test = veh.Manoeuvre("turn", "none", run, {}, True)
    assert test.passed is False and f"overturned after {end:.2f} s" in test.table()


def test_a_driver_passes_the_lane_change_slowly_and_fails_it_fast() -> None:
    track = veh.double_lane_change_track()
    slow = veh.lane_change(driven_car(), track, speed=50 / 3.6)
    assert slow.passed and slow["cones touched"] == 0 and 0 < slow["least distance to the edges"] < 0.22
    beyond = np.asarray(slow.run["body.q1"]) > track.lanes[-1].end
    assert slow["exit speed"] == 3.6 * slow.run["speed"][int(np.argmax(beyond))]
    assert slow["exit speed"] != 3.6 * slow.run["speed"][-1]
    fast = veh.lane_change(driven_car(), track, speed=90 / 3.6)
    assert not fast.passed and fast["cones touched"] > 0 and "failed" in fast.table()
    y = np.interp(75.0, slow.run["body.q1"], slow.run["body.q2"])
    assert abs(y - track.lanes[1].middle) < 0.2
    best = veh.fastest(lambda v: veh.lane_change(driven_car(), track, speed=v), 50 / 3.6, 25.0, within=1.0)
    assert 55 / 3.6 < best < 80 / 3.6
    with pytest.raises(arm.ModelError, match="has no driver"):
        veh.lane_change(linear_car(), track, speed=10.0)


def test_severe_manoeuvres_have_verdicts() -> None:
    """At a small angle the car is stable but does not move aside by 1.83 m. Its driver does not steer."""
    car = driven_car()
    mild = veh.sine_with_dwell(car, steer=0.01)
    assert mild["yaw velocity ratio after 1.75 s"] < 20 and not mild.passed
    assert "responsive: no" in mild.verdict
    # In proportion, aside by 1.68 m: enough for a heavy vehicle (1.52 m), not for others (1.83 m).
    steer = 0.01 * 1.68 / mild["lateral displacement at 1.07 s"]
    for heavy in (True, False):
        found = veh.sine_with_dwell(car, steer=steer, heavy=heavy)
        assert 1.52 < found["lateral displacement at 1.07 s"] < 1.83
        assert ("responsive: yes" in found.verdict) == heavy
    turn = veh.fishhook(car, steer=0.08, speed=20.0)
    assert turn.passed and turn["least load of a wheel"] > 0 and abs(turn["peak roll angle"]) > 2
    for sharp, wait in (
        (veh.j_turn(car, steer=-0.02, speed=20.0, rate=0.04), 4.0),
        (veh.fishhook(car, steer=-0.02, speed=20.0, rate=0.04), 0.25 + 1.0 + 3.0),
    ):
        time, angle = sharp.run.time, sharp.run["steer"]
        begun = time[np.flatnonzero(angle)[0] - 1]
        early = (time > begun) & (time <= begun + 0.5 + 1e-9)
        assert np.allclose(angle[early], -0.04 * (time[early] - begun), atol=1e-9)
        assert np.isclose(angle[early][-1], -0.02) and np.isclose(time[-1], begun + 0.5 + wait)
    with pytest.raises(arm.ModelError, match="has no brakes"):
        veh.braking(car, speed=20.0, brake=0.5)


def test_the_command_prints_the_figures_of_a_text_model(tmp_path: Path) -> None:
    from armillary.cli.app import app

    linear_car().system.save(tmp_path / "car.toml")
    command = ["maneuver", "handling", str(tmp_path / "car.toml"), "--speed", "72 km/h"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    expected = veh.handling_figures(linear_car(), 20.0).table()
    assert result.output.strip() == expected
    wrong = CliRunner().invoke(app, ["maneuver", "slalom", str(tmp_path / "car.toml")])
    assert wrong.exit_code == 2 and "there is no manoeuvre 'slalom'" in wrong.output
    (tmp_path / "ball.toml").write_text('name = "ball"\n[bodies.b]\nmass = 1\ninertia = 0\n')
    with pytest.raises(arm.ModelError, match="is no car for manoeuvres"):
        veh.Car.load(tmp_path / "ball.toml")


def test_the_command_has_the_defaults_of_the_function() -> None:
    from armillary.cli.app import app

    made = {option.name: option.default for option in app.get_command(None, "maneuver").params}
    own = signature(veh.run_manoeuvre).parameters
    assert (made["brake"], made["speed"]) == (own["brake"].default, "80 km/h")
    assert own["speed"].default == 80 / 3.6


def test_a_report_has_figures_and_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = veh.sine_steer(linear_car(), steer=1e-3, speed=V)
    text = found.report(tmp_path / "report.html", motion=False).read_text(encoding="utf-8")
    assert "yaw velocity delay" in text and text.count("<svg") >= 3


def test_a_lane_change_is_reported_with_its_track_and_the_angle_of_the_driver(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    track = veh.double_lane_change_track()
    found = veh.lane_change(driven_car(), track, speed=12.0)
    text = found.report(tmp_path / "report.html", motion=False).read_text(encoding="utf-8")
    assert "from above" in text and "cones" in text and "verdict" in text
    angle = np.asarray(found.run["steer angle"])
    assert np.allclose(angle, np.degrees(found.run["driver_angle"])) and np.ptp(angle) > 1
    pieces = text.split("<svg")
    assert len(pieces) == 1 + 1 + 6  # the track, and six quantities over time


def test_preview_gains_are_those_of_the_whole_riccati_equation() -> None:
    """Car and path as one system of 4 + 13 states by SciPy's solver; a long look ahead leaves the gains
    unchanged where path and car are shifted and turned together.
    """
    from scipy.linalg import expm, solve_discrete_are

    path = arm.Table([0.0, 100.0], [0.0, 0.0], name="path")
    driver = veh.SharpDriver(path, 20.0, preview=1.2)
    own, points = driver.gains
    a, b = driver.car.matrices(20.0)
    step = expm(0.1 * np.block([[a, b], [np.zeros((1, 5))]]))
    whole, force = np.zeros((17, 17)), np.zeros((17, 1))
    whole[:4, :4], force[:4] = step[:4, :4], step[:4, 4:]
    whole[4:16, 5:17] = np.eye(12)
    errors = np.zeros((2, 17))
    errors[0, [0, 4]] = 1.0, -1.0
    errors[1, [2, 4, 5]] = 1.0, 0.5, -0.5
    cost = errors.T @ np.diag([0.01, 0.1]) @ errors
    solution = solve_discrete_are(whole, force, cost, np.eye(1))
    gain = np.linalg.solve(1 + force.T @ solution @ force, force.T @ solution @ whole)[0]
    assert np.allclose(gain, [*own, *-points], atol=1e-10)
    own, points = veh.SharpDriver(path, 20.0, preview=8.0).gains
    assert np.isclose(points.sum(), own[0], rtol=1e-3)
    assert np.isclose((2.0 * np.arange(len(points))) @ points, own[2], rtol=1e-3)
    with pytest.raises(arm.ModelError, match="at least two intervals"):
        veh.SharpDriver(path, 20.0, preview=0.1)


def test_a_driver_by_optimal_preview_passes_the_double_lane_change() -> None:
    """A single-track car on linear tyres with the stiffnesses that the driver expects, at 90 km/h: with
    1.5 s of preview it stays within 0.25 m of the lanes' middle while it is between their cones.
    """
    track = veh.double_lane_change_track()
    s = arm.System("car")
    for name, value in (("V", 25.0), ("a", 1.2), ("b", 1.5)):
        s.parameter(name, value)
    car = veh.LinearCar()
    body = s.body("body", joint=arm.Planar("z", velocity="body"), mass=car.mass,
                  inertia=(0, 0, car.yaw_inertia), check_inertia=False)  # fmt: skip
    s.prescribe(body.u1, 25.0)
    steer = veh.SharpDriver(track.path, 25.0, weight_y=0.03).add(s, body, 2.7)
    for name, place, stiffness, angle in (("front", 1.2, 1.3e5, steer), ("rear", -1.5, 1.5e5, 0.0)):
        force = stiffness * (angle - (body.u2 + place * body.u3) / 25.0)
        s.force(f"{name}_tyre", force, body.y, at=body.point(place, 0, 0))
    run = s.derive().compile().simulate(7.0, step=2e-3)
    x, y = np.asarray(run["body.q1"]), np.asarray(run["body.q2"])
    for lane in track.lanes:
        inside = (x > lane.start) & (x < lane.end)
        assert inside.sum() > 100
        assert np.max(np.abs(y[inside] - lane.middle)) < 0.25
