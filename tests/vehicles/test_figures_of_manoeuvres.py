"""Figures of manoeuvres from given motions: those are closed forms, so that the figures are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import armillary as arm
import armillary.vehicles as veh
from tests.later import later

signal = later("scipy.signal")

V, RATIO, G = 20.0, 16.0, 9.80665
Motion = Callable[[np.ndarray, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


def car_that_moves(motion: Motion, parameters: tuple[str, ...] = ()) -> Any:
    """A car whose runs have the columns that ``motion`` makes of times and inputs. The input "steer" is given
    to it as the angle of the front wheels.
    """

    def simulate(duration: float, *, step: float, sample: float, inputs: Any, **given: Any) -> Any:
        t = np.linspace(0, duration, round(duration / sample) + 1)
        values = {name: np.interp(t, *data) for name, data in inputs.items()}
        columns = motion(t, values | {"steer": values["steer"] / RATIO})
        run = SimpleNamespace(time=t, events=(), given=given, columns=columns)
        return Rows(run)

    system = SimpleNamespace(memories=("steer", "brake"), parameters=parameters,
                             outputs=("vertical acceleration",))  # fmt: skip
    return SimpleNamespace(
        model=SimpleNamespace(simulate=simulate), system=system, steering_ratio=RATIO, step=2e-3,
        start=lambda speed: {"body.u1": speed}, hands_off=lambda speed: {"V": speed},
    )  # fmt: skip


class Rows:
    def __init__(self, run: Any) -> None:
        self.time, self.events, self.given, self.columns = run.time, run.events, run.given, run.columns

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self.columns[name])

    def __contains__(self, name: str) -> bool:
        return name in self.columns


def test_a_sine_has_the_gains_and_delays_of_a_car_that_follows_late() -> None:
    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        late = [np.interp(t - wait, t, np.degrees(given["steer"])) for wait in (0.12, 0.2)]
        return {"yaw velocity": 4.0 * late[0], "lateral acceleration": -0.7 * late[1]}

    found = veh.sine_steer(car_that_moves(motion), steer=0.02, speed=V, frequency=0.8, settle=2.0)
    assert found.run.time[-1] == pytest.approx(0.5 + 1.25 + 2.0) and found["frequency"] == 0.8
    assert found.run.given["parameters"] == {"V": V} and found.run.given["initial"] == {"body.u1": V}
    assert found["steer amplitude"] == pytest.approx(np.degrees(0.02))
    for name, gain, delay in (("yaw velocity", 4.0, 0.12), ("lateral acceleration", -0.7, 0.2)):
        assert found[f"{name} peak"] == pytest.approx(gain * np.degrees(0.02), rel=1e-4)
        assert found[f"{name} gain"] == pytest.approx(abs(gain), rel=1e-4)
        assert found[f"{name} delay"] == pytest.approx(delay, abs=1e-4)


def test_the_peak_of_a_sine_is_the_first_one_also_where_the_second_is_larger() -> None:
    """A response whose second half swings 1.4 times as far as the first one, to the other side."""

    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        angle = np.degrees(given["steer"])
        return {
            "yaw velocity": np.where(angle < 0, 1.4, 1.0) * 3.0 * angle,
            "lateral acceleration": np.where(angle < 0, 1.4, 1.0) * -0.5 * angle,
        }

    found = veh.sine_steer(car_that_moves(motion), steer=0.02, speed=V, frequency=0.5)
    assert found["yaw velocity peak"] == pytest.approx(3.0 * np.degrees(0.02), rel=1e-4)
    assert found["yaw velocity gain"] == pytest.approx(3.0, rel=1e-4)
    assert found["lateral acceleration peak"] == pytest.approx(-0.5 * np.degrees(0.02), rel=1e-4)


def oscillator(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Yaw velocity with gain 3 1/s, 1.2 Hz and damping 0.4, in deg/s; lateral acceleration 20 m/s² per rad
    with a lag of 0.25 s.
    """
    w = 2 * np.pi * 1.2
    yaw = signal.lsim(([3 * w**2], [1, 0.8 * w, w**2]), given["steer"], t)[1]
    side = signal.lsim(([20.0], [0.25, 1]), given["steer"], t)[1]
    return {"yaw velocity": np.degrees(yaw), "lateral acceleration": side}


@pytest.mark.parametrize("kind", ["pulse", "random"])
def test_spectra_find_the_resonance_of_the_car(kind: str) -> None:
    """|H| = G/√((1 − x²)² + (2ζx)²) with its peak G/(2ζ√(1 − ζ²)) at x = √(1 − 2ζ²)."""
    car = car_that_moves(oscillator)
    if kind == "pulse":
        found = veh.pulse_steer(car, steer=0.01, speed=V, width=0.2, highest=2.0, duration=10.0)
        low, apart, angle = 0.1, 1.9 / 116, np.interp(found.run.time, [0, 0.5, 0.6, 0.7], [0, 0, 0.01, 0])
    else:
        found = veh.random_steer(car, steer=0.01, speed=V, highest=2.0, duration=20.0, seed=4)
        low, apart, angle = 0.1, 0.1, np.zeros(0)
    x = low / 1.2
    at_low = 3 / np.hypot(1 - x**2, 0.8 * x)
    [gain] = [found[name] for name in found.figures if name.startswith("yaw velocity gain at 0.")]
    assert gain == pytest.approx(at_low, rel=2e-3)
    assert found["yaw velocity gain, peak"] == pytest.approx(3 / (0.8 * np.sqrt(1 - 0.16)), rel=2e-3)
    assert found["frequency of that peak"] == pytest.approx(1.2 * np.sqrt(1 - 0.32), abs=apart)
    phase = -np.degrees(np.arctan(2 * np.pi * 0.25))
    assert found["lateral acceleration phase at 1 Hz"] == pytest.approx(phase, abs=0.5)
    if kind == "pulse":
        whole = np.trapezoid(found.run["lateral acceleration"], found.run.time)  # 20 times the steering's
        assert whole == pytest.approx(20 * np.trapezoid(angle, found.run.time), rel=1e-3)


def test_random_steering_has_its_standard_deviation_and_differs_by_seed() -> None:
    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return {"yaw velocity": given["steer"], "lateral acceleration": given["steer"]}

    runs = [veh.random_steer(car_that_moves(motion), steer=0.01, speed=V, duration=20.0, seed=seed).run
            for seed in (0, 0, 1)]  # fmt: skip
    first, again, other = (run["yaw velocity"] for run in runs)
    assert np.array_equal(first, again) and np.std(first - other) > 0.01
    assert np.std(first[runs[0].time >= 10.0]) == pytest.approx(0.01, rel=2e-3)
    with pytest.raises(arm.ModelError, match="3 s are too short for 2 Hz"):
        veh.random_steer(car_that_moves(motion), steer=0.01, speed=V, highest=2.0, duration=3.0)


def test_a_step_has_the_times_and_the_overshoot_of_an_oscillator() -> None:
    """Overshoot exp(−πζ/√(1 − ζ²)) at π/(ω√(1 − ζ²)); a lag reaches 90 % after T ln 10 and has no peak."""
    w, z, lag = 2 * np.pi * 1.5, 0.3, 0.2
    own = w * np.sqrt(1 - z**2)

    def step(x: np.ndarray) -> np.ndarray:
        wave = np.cos(own * x) + z * w / own * np.sin(own * x)
        return np.where(x > 0, 1 - np.exp(-z * w * np.maximum(x, 0)) * wave, 0.0)

    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        x = t - 1.0005
        return {
            "yaw velocity": np.degrees(0.08 * step(x)),
            "lateral acceleration": -1.6 * (1 - np.exp(-np.maximum(x, 0) / lag)),
            "sideslip angle": np.full(len(t), -1.2),
        }

    found = veh.step_steer(car_that_moves(motion), steer=0.02, speed=V, start=1.0, rise=1e-3, step=1e-3)
    yaw, side = found.yaw_velocity, found.lateral_acceleration
    assert np.diff(found.run.time) == pytest.approx(1e-3)  # response times count in milliseconds
    assert (yaw.steady, yaw.gain) == pytest.approx((0.08, 4.0), rel=1e-4)
    assert yaw.overshoot == pytest.approx(np.exp(-np.pi * z / np.sqrt(1 - z**2)), rel=1e-3)
    assert yaw.peak_time == pytest.approx(np.pi / own, abs=1e-4)
    assert yaw.response_time == pytest.approx(brentq(lambda x: step(x) - 0.9, 0.01, np.pi / own), abs=1e-4)
    assert (side.steady, side.gain) == pytest.approx((-1.6, -80.0), rel=1e-6)
    assert side.response_time == pytest.approx(lag * np.log(10), abs=1e-4)
    assert np.isnan(side.peak_time) and side.overshoot == 0
    assert found.sideslip == pytest.approx(np.radians(-1.2))
    assert found.tb_factor == pytest.approx(1.2 * yaw.peak_time)
    shown = dict(zip([line[:36].strip() for line in found.table().splitlines()],
                     [float(line[36:46]) for line in found.table().splitlines()], strict=True))  # fmt: skip
    assert shown["steady yaw velocity"] == pytest.approx(np.degrees(0.08), abs=1e-3)
    assert shown["lateral acceleration gain"] == pytest.approx(-80 * np.pi / 180, abs=1e-3)
    assert shown["yaw velocity overshoot"] == pytest.approx(37.23, abs=0.03)
    assert shown["steady sideslip angle"] == -1.2 and shown["steer angle"] == pytest.approx(1.1459, abs=1e-4)
    with pytest.raises(arm.ModelError, match="rise=6 s must be positive and end before"):
        veh.step_steer(car_that_moves(motion), steer=0.02, speed=V, rise=6.0)


@pytest.mark.parametrize(("left", "aside", "heavy", "passed"), [
    (30.0, 1.9, False, True), (30.0, 1.7, False, False), (30.0, 1.7, True, True), (30.0, 1.4, True, False),
    (36.0, 1.9, False, False),
])  # fmt: skip
def test_a_sine_with_dwell_is_judged_by_what_is_left_after_it(
    left: float, aside: float, heavy: bool, passed: bool
) -> None:
    """Of 25 deg/s at the second peak, ``left`` per cent 1 s after the end, falling with 0.5 s."""
    end = 0.5 + 0.5 + 1 / 0.8

    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        after = -25 * left / 100 * np.exp(-(t - end - 1) / 0.5)
        held = (t > 0.5 + 0.75 / 0.8 + 1e-9) & (t < 0.5 + 0.75 / 0.8 + 0.5 - 1e-9)
        assert np.allclose(given["steer"][held], 0.05)  # of −sin at three quarters
        assert np.allclose(given["steer"][t >= end], 0, atol=1e-12)
        yaw = 500 * given["steer"]
        return {
            "yaw velocity": np.where(t > end, -after, yaw),
            "body.q2": 3 + aside * ((t - 0.5) / 1.07) ** 2,
            "lateral acceleration": -0.2 * yaw,
        }

    car = car_that_moves(motion, ("hold",))
    found = veh.sine_with_dwell(car, steer=-0.05, speed=V, frequency=0.8, heavy=heavy)
    assert found.run.given["parameters"]["hold"] == 0.0
    assert found.run.time[-1] == pytest.approx(end + 2.5)
    assert found["second peak of yaw velocity"] == pytest.approx(25.0)
    assert found["yaw velocity ratio after 1.00 s"] == pytest.approx(left, rel=1e-4)
    assert found["yaw velocity ratio after 1.75 s"] == pytest.approx(left * np.exp(-1.5), rel=1e-4)
    assert found["lateral displacement at 1.07 s"] == pytest.approx(aside, rel=1e-4)
    assert abs(found["peak lateral acceleration"]) == pytest.approx(5.0, rel=1e-4)
    assert found.passed is passed


@pytest.mark.parametrize("together", [True, False])
def test_wheels_of_a_side_lift_off_together_or_one_after_the_other(together: bool) -> None:
    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        def lifted(begin: float) -> np.ndarray:
            return np.where((t > begin) & (t < begin + 0.4), 0.5, 2000.0)

        loads = {"front_left": lifted(1.0), "rear_left": lifted(1.2 if together else 1.5),
                 "front_right": lifted(2.2), "rear_right": np.full(len(t), 3000.0)}  # fmt: skip
        shown = {f"{wheel} Fz": load for wheel, load in loads.items()}
        return shown | {"lateral acceleration": -6 * t, "roll angle": 2 * t, "sideslip angle": -t}

    for manoeuvre in (veh.j_turn, veh.fishhook):
        found = manoeuvre(car_that_moves(motion), steer=0.1, speed=V)
        assert found.passed is not together and found["least load of a wheel"] == 0.5
        end = found.run.time[-1]
        figures = [found[f"peak {name}"] for name in ("lateral acceleration", "roll angle", "sideslip angle")]
        assert figures == pytest.approx([-6 * end, 2 * end, -end])


def slowing(rate: float, begin: float) -> Motion:
    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        x = np.clip(t - begin, 0, V / rate)
        assert np.all((given["brake"] > 0) == (t > begin + 1e-9))
        yaw = np.where(t < begin + 1e-9, 12.0, 12.0 - 3.0 * (t - begin))
        return {
            "speed": V - rate * x, "body.q1": V * x - rate * x**2 / 2, "body.q2": 0.3 * x**2,
            "body.q4": 0.02 * x, "yaw velocity": yaw, "lateral acceleration": 0.25 * yaw,
            "sideslip angle": np.where(t < begin, -9.0, -2.0),
        }  # fmt: skip

    return motion


def test_braking_has_the_distance_of_a_constant_deceleration() -> None:
    car = car_that_moves(slowing(6.0, 0.5), ("hold", "mu_right", "mu_left"))
    found = veh.split_braking(car, speed=V, brake=0.4, right=0.2, left=0.9)
    assert found.run.given["parameters"] == {"V": V, "hold": 0.0, "mu_right": 0.2, "mu_left": 0.9}
    assert found.run.time[-1] == pytest.approx(4.5)
    until = (V - 0.3) / 6  # the car stands below 0.3 m/s; the sample after that ends the figures
    assert found["mean deceleration"] == pytest.approx(6.0, rel=1e-6)
    assert found["distance"] == pytest.approx(V * until - 3 * until**2, abs=1e-3)
    assert found["lateral deviation"] == pytest.approx(0.3 * until**2, abs=3e-3)
    assert found["yaw angle"] == pytest.approx(np.degrees(0.02 * until), abs=5e-3)
    assert found["yaw angle after 1 s"] == pytest.approx(np.degrees(0.02), rel=1e-6)
    assert found["yaw velocity after 1 s"] == pytest.approx(9.0)
    assert found["use of friction"] == pytest.approx(6 / (G * 0.55), rel=1e-6)
    assert veh.braking(car, speed=V, brake=0.4).figures == {
        name: found.figures[name] for name in list(found.figures)[:5]
    }
    wheels = tuple(f"{wheel}_grip" for wheel in ("front_left", "front_right", "rear_left", "rear_right"))
    run = veh.split_braking(car_that_moves(slowing(6.0, 0.5), wheels), speed=V, brake=0.4).run
    assert [run.given["parameters"][wheel] for wheel in wheels] == [1.0, 0.3, 1.0, 0.3]


def test_braking_in_a_turn_compares_yaw_velocities_at_the_same_radius() -> None:
    car = car_that_moves(slowing(5.0, 4.5))
    found = veh.braking_in_a_turn(car, steer=0.03, speed=V, brake=0.3, settle=4.0)
    assert found.run.time[-1] == pytest.approx(7.5)
    assert found["lateral acceleration before"] == pytest.approx(3.0)
    assert found["mean deceleration in 1 s"] == pytest.approx(5.0)
    assert (found["yaw velocity before"], found["yaw velocity after 1 s"]) == pytest.approx((12.0, 9.0))
    assert found["its ratio at equal radius"] == pytest.approx(9 / 12 * 20 / 15)
    assert (found["peak yaw velocity"], found["peak sideslip angle"]) == pytest.approx((12.0, -2.0))


def test_ride_weighs_sines_by_the_standard_and_loads_by_their_mean() -> None:
    """Factors of ISO 2631-1, table 3: Wk 1.036 at 8 Hz, Wd 1.011 at 1 Hz; sin⁴ is 3/8 in the mean."""

    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        calm = np.where(t < 1.0, 40.0, 1.0)
        loads = {"front_left": 3000 + 600 * np.sin(9 * np.pi * t), "front_right": np.full(len(t), 3100.0),
                 "rear_left": 2500 + 250 * calm * np.sin(5 * np.pi * t)}  # fmt: skip
        return {f"{wheel} Fz": load for wheel, load in loads.items()} | {
            "vertical acceleration": 0.5 * calm * np.sin(16 * np.pi * t),
            "lateral acceleration": 0.3 * calm * np.sin(2 * np.pi * t),
            "longitudinal acceleration": np.full(len(t), -0.2) * calm,
        }

    found = veh.ride(car_that_moves(motion), speed=V, duration=21.0, settle=1.0)
    up, side = 1.036 * 0.5 / np.sqrt(2), 1.011 * 0.3 / np.sqrt(2)
    assert found["weighted vertical acceleration"] == pytest.approx(up, rel=3e-3)
    assert found["weighted lateral acceleration"] == pytest.approx(side, rel=3e-3)
    assert found["weighted longitudinal acceleration"] == pytest.approx(0, abs=1e-12)
    assert found["total vibration value"] == pytest.approx(np.hypot(up, side), rel=3e-3)
    assert found["vertical vibration dose"] == pytest.approx(1.036 * 0.5 * (3 / 8 * 20) ** 0.25, rel=3e-3)
    assert abs(found["peak vertical acceleration"]) == pytest.approx(0.5, rel=1e-3)
    assert found["peak longitudinal acceleration"] == -0.2
    assert found["largest load of a wheel"] == pytest.approx(3600, rel=1e-3)
    assert found["least load of a wheel"] == pytest.approx(2250, rel=1e-3)
    assert found["dynamic load coefficient, front"] == pytest.approx(0.2 / np.sqrt(2) / 2, rel=1e-3)
    assert found["dynamic load coefficient, rear"] == pytest.approx(0.1 / np.sqrt(2), rel=1e-3)
    assert found.verdict == "a little uncomfortable"


def test_a_g_g_diagram_counts_samples_until_the_car_spins() -> None:
    def motion(t: np.ndarray, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        pedal = max(given["brake"]) if "brake" in given else -max(given["drive"]) / 1e3
        return {
            "sideslip angle": np.where(t > 1.8, 61.0, 0.0), "speed": np.where(t > 1.5, 2.9, V),
            "longitudinal acceleration": np.full(len(t), -8.0 * pedal), "lateral acceleration": 5.0 * t,
        }  # fmt: skip

    found = veh.gg_diagram(car_that_moves(motion), speed=V, pedals=(0.0, 0.5), torques=(250.0,), ramp=1.2)
    assert set(found.longitudinal) == {0.0, -4.0, 2.0}
    assert (found.lateral.min(), found.lateral.max()) == pytest.approx((4.0, 7.5), abs=0.02)
    corners = {tuple(np.round(corner, 1)) for corner in found.hull}
    assert corners == {(-4.0, 7.5), (-4.0, -7.5), (2.0, 7.5), (2.0, -7.5)}
    rows = [line.split() for line in found.table().splitlines()]
    values = [7.5, 4.0, 2.0, np.hypot(4.0, 7.5)]
    assert [float(row[-4]) for row in rows] == pytest.approx(values, abs=2e-3)
    assert [float(row[-2]) for row in rows] == pytest.approx(np.array(values) / G, abs=3e-4)


def test_tables_of_handling_are_in_degrees_and_kilometres_per_hour() -> None:
    one = np.array([0.5])
    table = veh.SteadyCircle(10 * one, 0.02 * one, 0.2 * one, 2 * one, -0.04 * one, ()).table()
    expected = [18, np.degrees(0.01), 1, np.degrees(0.1), np.degrees(-0.02), 50]
    assert [float(word) for word in table.splitlines()[-1].split()] == pytest.approx(expected, abs=1e-3)
    figures = veh.Handling(20.0, 5.0, 100.0, 0.002, 30.0, 50.0, one, one)
    shown = [float(line[36:46]) for line in figures.table().splitlines()]
    assert shown == pytest.approx([72, 5, 100 * np.pi / 180, np.degrees(0.002), 108, 180], abs=1e-4)
