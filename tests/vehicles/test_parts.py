"""Parts against closed forms and balances; the full car stands, and its energy balance closes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

TYRE = veh.BrushTyre(slip_stiffness=18.0, friction=1.0, vertical_damping=300.0, radius=0.32)
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


@cache
def car() -> veh.Car:
    driver = veh.PathDriver(veh.double_lane_change_track().path)
    return veh.full_car(TYRE, TYRE, energy=True, road=veh.split_road(1.0), driver=driver)


def test_the_full_car_stands_at_its_hard_points() -> None:
    """Preloads carry the weight, of rack and arms too, to 0.2 mm; left and right are equal."""
    rest = car().start(0.0)
    run = car().model.simulate(1.0, step=1e-3, sample=0.1, initial=rest, parameters={"V": 0.0})
    loads = sum(run[f"{name} Fz"] for name in car().wheels)
    mass = 1350 + 4 * (20 + 20) + 2 * 4 + 3
    assert np.isclose(loads[0], mass * 9.80665, rtol=1e-9)
    assert np.isclose(loads[-1], mass * 9.80665, rtol=1e-4)
    for name in car().wheels:
        assert abs(run[f"{name} travel"][-1]) < 0.2  # mm
    assert np.allclose(run["front_left travel"], run["front_right travel"], atol=1e-9)


def test_the_energy_balance_of_braking_in_a_turn_closes() -> None:
    steer = np.radians(1.5) * car().steering_ratio
    run = car().model.simulate(
        1.2, step=1e-3, sample=0.02, initial=car().start(25.0),
        inputs={"steer": ([0, 0.1, 0.2], [0, 0, steer]), "brake": ([0, 0.6, 0.7], [0, 0, 0.4])},
        parameters={"hold": 0.0, "driver_gain": 0.0},
    )  # fmt: skip
    assert veh.energy_error(run, car().powers) < 1e-8
    assert run["speed"][-1] < 23.5 and run["work_brakes"][-1] < -5e4 and run["work_air"][-1] < -1e3
    assert run["lateral acceleration"][28] > 2


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_driver_steers_back_to_the_path(side: float) -> None:
    run = car().model.simulate(
        0.6, step=1e-3, sample=0.1, initial={**car().start(15.0), "body.q2": 0.5 * side}
    )
    assert side * run["lateral acceleration"][-1] < -0.1


MANOEUVRES: dict[str, Callable[[veh.Car], veh.Manoeuvre]] = {
    "sine": lambda car: veh.sine_steer(car, steer=0.02, speed=25.0, settle=1.0),
    "pulse": lambda car: veh.pulse_steer(car, steer=0.02, speed=22.0, duration=4.0),
    "random": lambda car: veh.random_steer(car, steer=0.01, speed=22.0, duration=6.0, highest=2.0),
    "lane change": lambda car: veh.lane_change(car, veh.double_lane_change_track(), speed=15.0),
    "sine with dwell": lambda car: veh.sine_with_dwell(car, steer=0.06),
    "fishhook": lambda car: veh.fishhook(car, steer=0.08, speed=20.0),
    "J-turn": lambda car: veh.j_turn(car, steer=0.06, speed=20.0),
    "braking to standstill": lambda car: veh.braking(car, speed=8.0, brake=0.5),
    "two frictions": lambda car: veh.split_braking(car, speed=25.0, brake=0.5, right=0.3, duration=2.0),
}


@pytest.mark.parametrize("name", MANOEUVRES)
def test_the_energy_balance_of_a_manoeuvre_closes(name: str) -> None:
    """To 1e-8 of the energy exchanged, with steps of 1 ms; 2e-9 is found in the hardest, a J-turn."""
    assert veh.energy_error(MANOEUVRES[name](car()).run, car().powers) < 1e-8


def test_brakes_stop_the_car_as_their_torque_demands() -> None:
    """Straight ahead the torques over the loaded radii decelerate the mass and the spin of the wheels, with
    the drag at the mean speed, to 1 %: loads move to the front. In a turn the car still turns.
    """
    found = veh.braking(car(), speed=25.0, brake=0.4, duration=1.0)
    front, rear = (
        0.32 - (1350 * 9.80665 * x / 2.7 / 2 + m * 9.80665) / 2e5 for x, m in ((1.45, 44), (1.25, 40))
    )
    mass = 1350 + 4 * 40 + 8 + 3 + 4 * 1.2 * car().spin_per_speed["rear_left"] / front
    force = 0.4 * 2 * (1500 / front + 800 / rear) * (1.0 - 0.05)
    drag = 1.204 / 2 * 0.66 * (25 - found["mean deceleration"] / 2) ** 2
    assert np.isclose(found["mean deceleration"], (force + drag) / mass, rtol=0.01)
    assert abs(found["yaw angle"]) < 1e-6 and abs(found["lateral deviation"]) < 1e-6
    turn = veh.braking_in_a_turn(car(), steer=0.02, speed=25.0, brake=0.2, settle=1.5, duration=1.1)
    assert 2 < turn["lateral acceleration before"] < 5 and turn["mean deceleration in 1 s"] > 1
    assert 0.8 < turn["its ratio at equal radius"] < 1.3


def test_braking_on_two_frictions_turns_the_car_to_the_side_that_grips() -> None:
    """The brakes of the left side act in full, less what decelerates the wheels; the right wheels lock and
    slide with a friction of 0.1.
    """
    found = veh.split_braking(car(), speed=25.0, brake=0.5, right=0.1, duration=0.6)
    run = found.run
    spin = np.asarray(run["front_right.u1"])
    assert spin[-1] < 1.0 and run["front_left.u1"][-1] > 60
    inside = (run.time > 0.8) & (run.time < 1.0)
    forces = [np.asarray(run[f"{name} Fx"])[inside] for name in car().wheels]
    loads = [np.asarray(run[f"{name} Fz"])[inside] for name in car().wheels]
    for i in (1, 3):
        assert np.allclose(forces[i], -0.1 * loads[i], rtol=0.02)
    for i, name, torque in ((0, "front_left", 1500), (2, "rear_left", 800)):
        slowing = np.gradient(np.asarray(run[f"{name}.u1"]), np.asarray(run.time))[inside]
        held = (0.5 * torque + 1.2 * slowing) / (0.32 - loads[i] / 2e5)
        assert np.allclose(forces[i], -held, rtol=0.01)
    assert found["yaw angle"] > 0.1 and found["lateral deviation"] > 0
    assert 0.4 < found["use of friction"] < 1
    even = veh.split_braking(car(), speed=25.0, brake=0.2, right=1.0, duration=0.3)
    assert abs(even["yaw angle"]) < 1e-6
    with pytest.raises(arm.ModelError, match="must be positive"):
        veh.split_braking(car(), speed=25.0, brake=0.5, right=0.0)


def test_the_gg_diagram_is_the_circle_of_friction() -> None:
    """Tyres with a friction of one: no acceleration exceeds g by more than the air's drag (1.7 %) and the
    swing of the loads as the car dives (3 %), braking and cornering reach nine tenths of it, and the car
    brakes and turns at once.
    """
    found = veh.gg_diagram(car(), speed=25.0, pedals=(0.0, 0.7, 1.3), torques=(600.0,), ramp=1.0)
    whole = np.hypot(found.longitudinal, found.lateral) / 9.80665
    assert 0.9 < whole.max() < 1.05
    assert -found.longitudinal.min() > 0.9 * 9.80665 and found.lateral.max() > 0.85 * 9.80665
    assert np.any((found.longitudinal < -4) & (found.lateral > 5))
    assert found.longitudinal.max() > 0.5
    inside = found.hull
    assert np.isclose(inside[:, 1].max(), -inside[:, 1].min()) and len(inside) > 5
    assert "largest deceleration" in found.table()


def test_a_split_road_has_two_frictions() -> None:
    road = veh.split_road(0.3, 0.9)
    assert np.isclose(road.below(5.0, -1.0).friction, 0.3) and np.isclose(road.below(5.0, 1.0).friction, 0.9)
    assert np.isclose(road.below(0.0, 0.0).friction, 0.6)
    beside = veh.split_road(0.3, 0.9, edge=2.5, width=0.4)
    assert np.allclose([beside.below(0.0, 2.5 + y).friction for y in (-0.3, 0.0, 0.3)], [0.3, 0.6, 0.9])
    with pytest.raises(arm.ModelError, match="must be positive"):
        veh.split_road(0.0)


def test_tables_of_springs_and_dampers_and_stops_act_as_given() -> None:
    """A mass on a strut with tables: forces at given lengths and speeds by hand."""
    s = arm.System("strut")
    mass = s.body("mass", joint=arm.Prismatic("z"), at=(0, 0, 0.5), mass=10, inertia=0)
    spring = arm.Table([-0.1, 0, 0.05, 0.1], [-1e3, 0, 500, 2e3], name="spring", x_units="m", y_units="N")
    damper = arm.Table([-1, 0, 1], [-3e3, 0, 1e3], name="damper", x_units="m/s", y_units="N")
    part = veh.add_spring_damper(
        s, "strut", mass.origin, s.ground.origin, preload=100.0, spring=spring, damper=damper,
        bump=veh.Stop(0.06, 1e5), rebound=veh.Stop(0.08, 2e5),
    )  # fmt: skip
    s.output("force", part.force, units="N")
    s.output("loss", part.damper_power, units="W")
    model = s.derive().compile()

    def at(height: float, speed: float) -> tuple[float, float]:
        run = model.simulate(1e-6, step=1e-6, initial={"mass.q1": height, "mass.u1": speed})
        return run["force"][0], run["loss"][0]

    assert np.allclose(at(-0.05, 0.0), (100 + 500, 0), rtol=1e-12)
    assert np.allclose(at(0.0, -0.5), (100 + 500, -250), rtol=1e-12)  # compression
    assert np.allclose(at(0.0, 0.5), (100 - 1500, -750), rtol=1e-12)  # rebound
    # Beyond its width of 10 mm a stop has the force of its rate over the travel since it touched.
    assert np.isclose(at(-0.1, 0.0)[0], 100 + 2000 + 1e5 * 0.04, rtol=1e-9)
    assert np.isclose(at(0.1, 0.0)[0], 100 - 1000 - 2e5 * 0.02, rtol=1e-9)


def test_a_bushing_keeps_momentum_and_energy() -> None:
    """Two free bodies in space, far displaced: momenta are constant; energy is the work of the rubber."""
    s = arm.System("bushing")
    a = s.body("a", joint=arm.Free(), mass=2, inertia=(0.1, 0.2, 0.3))
    b = s.body("b", joint=arm.Free(), mass=3, inertia=(0.3, 0.2, 0.2))
    part = veh.add_bushing(
        s, "rubber", a.point("p", (0.1, 0.2, 0)), b.point("p", (-0.1, 0, 0.1)),
        stiffness=(1e3, 2e3, lambda x: 3e3 * x + 1e6 * x**3), damping=(5, 5, 5), torsion=(50, 60, 70),
        torsion_damping=(0.1, 0.1, 0.1),
    )  # fmt: skip
    veh.add_energy_balance(s, {"rubber": part.power})
    for axis in "xyz":
        s.output(f"H{axis}", arm.dot(s.angular_momentum(), getattr(s.ground, axis)))
        s.output(f"p{axis}", arm.dot(s.momentum(), getattr(s.ground, axis)))
    run = s.derive().compile().simulate(
        1.0, sample=0.1, initial={"a.q1": 0.03, "a.u2": 0.5, "b.u4": 0.6, "a.u6": 0.4, "b.q2": 0.1}, **TIGHT
    )  # fmt: skip
    assert veh.energy_error(run, {"rubber": 0}) < 1e-8
    for name in ("Hx", "Hy", "Hz", "px", "py", "pz"):
        assert np.allclose(run[name], run[name][0], atol=1e-9), name


@cache
def dragster() -> arm.System:
    """A sled on one axle that an engine drives, with air, brakes and heat."""
    s = arm.System("dragster")
    s.input("pedal")
    s.input("gear")
    s.input("brake", units="N*m")
    sled = s.body("sled", joint=arm.Prismatic("x"), at=(0, 0, 0.3), mass=300, inertia=0)
    slide = s.body("slide", sled, arm.Prismatic("z"), mass=300, inertia=0)
    s.gravity(9.81, -s.ground.z)
    wheels = [
        veh.add_wheel(s, name, slide, TYRE, at=(0, side * 0.7, 0), mass=20, inertia=(0.5, 0.9, 0.5))
        for name, side in (("left", 1), ("right", -1))
    ]
    speeds, full, drag = [0, 200, 500, 700], [100, 250, 260, 150], [-10, -20, -40, -60]
    train = veh.add_powertrain(
        s, "engine", slide, *wheels, engine=veh.combustion_engine(speeds, full, drag),
        pedal=s.expression("pedal"), gear=s.expression("gear"), ratios=[3.5, 2.0], final=4.0,
        differential=veh.Differential("limited"),
    )  # fmt: skip
    brakes = [
        veh.add_brake(
            s, wheel, s.expression("brake"), heat_capacity=5e3, fade=lambda t: 1 - 5e-4 * (t - 293.15)
        )
        for wheel in wheels
    ]
    air = veh.add_air(s, "air", sled, sled.com, drag=0.8)
    powers = {
        "tyres": wheels[0].power() + wheels[1].power(),
        "drive": train.power,
        "brakes": brakes[0].power + brakes[1].power,
        "air": air.power,
    }
    veh.add_energy_balance(s, powers)
    s.state("work_engine", units="J")
    s.rate("work_engine", train.torque * train.speed)
    s.state("lost_engine", units="J")
    s.rate("lost_engine", train.clutch_loss + train.drive.differential_loss)
    return s


def test_the_work_of_an_engine_is_that_of_wheels_clutch_and_rotor() -> None:
    """Two gears, then brakes: all energy is found again; the discs have the heat of the brakes but for
    what they gave off.
    """
    model = dragster().derive().compile()
    run = model.simulate(
        3.0, sample=0.1, initial={"engine_speed": 100.0, "slide.q1": 0.005},
        inputs={
            "pedal": ([0, 2, 2.1], [1, 1, 0]), "gear": arm.Signal([0, 1.0], [1.0, 2.0], interpolation="hold"),
            "brake": ([0, 2.2, 2.4], [0, 0, 600.0]),
        }, **TIGHT,
    )  # fmt: skip
    kinds = {"tyres": 0, "drive": 0, "brakes": 0, "air": 0}
    assert veh.energy_error(run, kinds) < 1e-8
    rotor = 0.15 / 2 * (run["engine_speed"][-1] ** 2 - run["engine_speed"][0] ** 2)
    given = run["work_engine"][-1]
    assert np.isclose(given, rotor + run["lost_engine"][-1] + run["work_drive"][-1], rtol=1e-8)
    assert max(run["sled.u1"]) > 10 and run["sled.u1"][-1] < max(run["sled.u1"]) - 2
    heat = 5e3 * sum(run[f"{side}_brake_temperature"][-1] - 293.15 for side in ("left", "right"))
    assert 0.99 < heat / -run["work_brakes"][-1] < 1


@pytest.mark.parametrize("given", ["number", "expression"])
def test_a_clutch_transmits_its_capacity_at_most_and_nothing_when_open(given: str) -> None:
    """A change of gears at once makes the clutch slip by 130 rad/s: it then transmits its capacity of
    300 N·m, not also the torque of a damper. An open clutch lets the engine turn alone: J ω̇ = T.
    """
    s = arm.System("clutch")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=1000, inertia=0)
    wheels = [
        veh.add_wheel(
            s, name, sled, veh.LinearTyre(5e4, slip_stiffness=5e4), at=(0, side * 0.7, 0.285), mass=20,
            inertia=(0.5, 0.9, 0.5),
        )
        for name, side in (("left", 1), ("right", -1))
    ]  # fmt: skip
    share = s.input("share")
    s.input("gear")
    train = veh.add_powertrain(
        s, "engine", sled, *wheels, engine=lambda speed, pedal: 100.0 * pedal, pedal=1.0, inertia=0.2,
        gear=s.expression("gear"), clutch=300.0 if given == "number" else 300.0 * share, ratios=[10.0, 5.0],
        final=1.0, start=200.0,
    )  # fmt: skip
    s.output("torque", train.clutch_torque)
    s.output("loss", train.clutch_loss)
    run = s.derive().compile().simulate(
        1.0, step=2e-4, initial={"sled.u1": 6.0, "left.u1": 20.0, "right.u1": 20.0},
        inputs={"gear": arm.Signal([0, 0.4], [1.0, 2.0], interpolation="hold"),
                "share": arm.Signal([0, 0.7], [1.0, 0.0], interpolation="hold")},
    )  # fmt: skip
    torque, time = np.asarray(run["torque"]), np.asarray(run.time)
    assert np.max(np.abs(torque)) <= 300 * (1 + 1e-12)
    slipping = (time > 0.45) & (time < 0.5)
    assert np.allclose(torque[slipping], 300, rtol=1e-3)
    if given == "expression":
        late = time > 0.701
        assert not np.any(torque[late])
        gain = np.diff(np.asarray(run["engine_speed"])[late]) / np.diff(time[late])
        assert np.allclose(gain, 100 / 0.2, rtol=1e-9)


def test_gears_are_changed_where_the_engine_reaches_its_limits() -> None:
    """A sled speeds up to 20 m/s and slows down towards 2.9 m/s: shifts happen where the wheels turn at up/i
    and down/i of the gear that is left, in the order of the gears, and the pedals hold the speeds.
    """
    s = arm.System("shifts")
    target = s.input("target", units="m/s")
    sled = s.body("sled", joint=arm.Prismatic("x"), at=(0, 0, 0.3), mass=300, inertia=0)
    slide = s.body("slide", sled, arm.Prismatic("z"), mass=300, inertia=0)
    s.gravity(9.81, -s.ground.z)
    wheels = [
        veh.add_wheel(s, name, slide, TYRE, at=(0, side * 0.7, 0), mass=20, inertia=(0.5, 0.9, 0.5))
        for name, side in (("left", 1), ("right", -1))
    ]
    gas, slow = veh.SpeedDriver(brake=0.04).pedals(s, "driver", target - sled.u1)
    whole = [14.0, 8.0, 5.0]
    train = veh.add_powertrain(
        s, "engine", slide, *wheels, engine=veh.electric_motor(90.0, 40e3), pedal=gas,
        gear=veh.GearShift(up=350.0, down=120.0, pause=0.3), ratios=[r / 4 for r in whole], final=4.0,
    )  # fmt: skip
    most = s.parameter("brake_torque", 600.0, units="N*m")
    for wheel in wheels:
        veh.add_brake(s, wheel, most * slow)
    s.output("engine torque", train.torque, units="N*m")
    run = s.derive().compile().simulate(
        20.0, step=1e-3, sample=1e-3, initial={"slide.q1": 0.005},
        inputs={"target": arm.Signal([0, 9.0], [20.0, 2.9], interpolation="hold")},
    )  # fmt: skip
    names = [event.name for event in run.events]
    assert names == ["engine_upshift"] * 2 + ["engine_downshift"] * 2
    spin = np.asarray(run["left.u1"])
    for event, left_ratio, limit in zip(run.events, [14.0, 8.0, 5.0, 8.0], [350, 350, 120, 120], strict=True):
        before = int(np.searchsorted(run.time, event.time)) - 1  # the clutch opens at the event
        assert np.isclose(spin[before], limit / left_ratio, rtol=2e-3)
    assert np.isclose(np.interp(8.9, run.time, run["sled.u1"]), 20.0, atol=0.5)
    assert 2.9 < run["sled.u1"][-1] < 4.0


def test_a_body_coasts_as_drag_alone_demands() -> None:
    """v = v0/(1 + k v0 t), k = ρ c A/(2 m)."""
    s = arm.System("coast")
    body = s.body("body", joint=arm.Prismatic("x"), mass=100, inertia=0)
    veh.add_air(s, "air", body, body.com, drag=0.7, density=1.2)
    run = s.derive().compile().simulate(5.0, initial={"body.u1": 50.0}, rtol=1e-11, atol=1e-11)
    assert np.isclose(run["body.u1"][-1], 50 / (1 + 1.2 * 0.7 / 200 * 50 * 5), rtol=1e-9)


def test_a_body_at_rest_is_carried_by_the_wind() -> None:
    """v = w − w/(1 + k w t): what coasts is the velocity relative to the air."""
    s = arm.System("carried")
    body = s.body("body", joint=arm.Prismatic("x"), mass=100, inertia=0)
    veh.add_air(s, "air", body, body.com, drag=0.7, density=1.2, wind=20 * s.ground.x)
    run = s.derive().compile().simulate(5.0, rtol=1e-11, atol=1e-11)
    assert np.isclose(run["body.u1"][-1], 20 - 20 / (1 + 1.2 * 0.7 / 200 * 20 * 5), rtol=1e-9)


def test_motors_have_the_torque_of_their_power() -> None:
    law = veh.electric_motor(300.0, 60e3)
    assert law(100.0, 0.5) == 150.0 and np.isclose(law(400.0, 1.0), 150.0)


def test_numbers_of_parts_become_parameters_of_the_model() -> None:
    """The options by which parts are built are what runs may set, under the names of the parts."""
    s = arm.System("parts")
    body = s.body("body", joint=arm.Prismatic("x"), mass=100, inertia=0)
    veh.add_rack(s, "rack", body, angle=0.0, pinion=0.01, column_stiffness=321.0, column_damping=1.7)
    wheel = veh.add_wheel(s, "w", body, TYRE, mass=20, inertia=(0.5, 0.9, 0.5), slow=0.7, damping_time=0.03)
    veh.add_brake(s, wheel, 100.0, heat_capacity=5e3, cooling=12.0, ambient=280.0)
    wanted = {
        "rack_pinion": 0.01, "rack_column_stiffness": 321.0, "rack_column_damping": 1.7, "w_slow": 0.7,
        "w_damping_time": 0.03, "w_brake_capacity": 5e3, "w_brake_cooling": 12.0, "w_brake_ambient": 280.0,
    }  # fmt: skip
    assert {name: s.parameters[name].data.default for name in wanted} == wanted
    assert s.initial[s.states["w_brake_temperature"].symbol] == 280.0


def test_a_rolling_wheel_has_the_kinetic_energy_of_its_spin() -> None:
    """J (V/r)²/2 beside that of the sled."""
    s = arm.System("rolling")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=10, inertia=0)
    speed = s.parameter("V", 4.0, units="m/s")
    s.prescribe(sled.u1, speed)
    radius = s.parameter("r", 0.32, units="m")
    tyre = veh.LinearTyre(0.0, radius=radius, relaxation_alpha=s.parameter("sigma", 0.1, units="m"))
    veh.add_rolling_wheel(
        s, "wheel", sled, tyre, load=s.parameter("Z", 100.0, units="N"), speed=speed, spin_inertia=0.8
    )
    s.output("energy", s.kinetic_energy(), units="J")
    run = s.derive().compile().simulate(0.01, step=0.01)
    assert np.isclose(run["energy"][0], 10 * 16 / 2 + 0.8 * (4 / 0.32) ** 2 / 2, rtol=1e-12)


def test_wrong_parts_are_named() -> None:
    s = arm.System("faults")
    with pytest.raises(arm.ModelError, match="where it shifts down again"):
        veh.GearShift(up=300.0, down=200.0).check("engine", [3.0, 1.5])
    with pytest.raises(arm.ModelError, match="must be below that of gear 1"):
        veh.GearShift().check("engine", [3.0, 3.5])
    with pytest.raises(arm.ModelError, match="0 < down < up"):
        veh.GearShift(up=100.0, down=200.0).check("engine", [3.0])
    with pytest.raises(arm.ModelError, match="differential 'welded' is not known"):
        veh.Differential("welded")
    with pytest.raises(arm.ModelError, match="gear ratios of zero"):
        veh.add_powertrain(
            s, "engine", s.ground, None, None, engine=None, pedal=0, gear=1, ratios=[3.0, 0.0], final=4.0
        )
    with pytest.raises(arm.ModelError, match="pinion=0 moves nothing"):
        veh.add_rack(s, "rack", s.ground, angle=0, pinion=0.0)
    with pytest.raises(arm.ModelError, match="there is no parameter 'mass'"):
        veh.full_car(TYRE, TYRE, parameters={"mass": 1.0})
    with pytest.raises(arm.ModelError, match="must be positive"):
        veh.electric_motor(0.0, 1.0)


def test_the_full_car_is_the_same_as_a_text_model(tmp_path: Path) -> None:
    car().system.save(tmp_path / "car.toml")
    again = veh.Car.load(tmp_path / "car.toml")
    assert again.steering_ratio == 16 and again.spin_per_speed == dict(car().spin_per_speed)
    assert list(again.system.loads) == list(car().system.loads)
    assert list(again.system.outputs) == list(car().system.outputs)


def test_a_locked_differential_holds_light_wheels_together() -> None:
    """Wheels of 0.25 kg·m² on a good and a bad road; a coupling of 400 N·m·s/rad diverged at 1 ms."""
    s = arm.System("axle")
    sled = s.body("sled", joint=arm.Prismatic("x"), mass=600, inertia=0)
    left, right = (
        veh.add_wheel(s, name, sled, veh.BrushTyre(20.0, friction), at=(0, y, 0.28), mass=10,
                      inertia=(0.125, 0.25, 0.125))
        for name, y, friction in (("left", 0.7, 1.0), ("right", -0.7, 0.1))
    )  # fmt: skip
    veh.add_differential(s, "axle", sled, left, right, s.input("T", units="N*m"),
                         kind=veh.Differential("locked"))  # fmt: skip
    start = {sled.u1: 5.0, left.body.u1: 17.0, right.body.u1: 17.0}
    run = s.derive().compile().simulate(2.0, step=1e-3, inputs={"T": ([0, 1], [800.0, 800.0])}, initial=start)
    assert abs(run["left.u1"][-1] - run["right.u1"][-1]) < 400 / (333 * 0.25)  # rad/s: half the torque moved


def test_the_drag_of_an_engine_brings_it_to_rest() -> None:
    """A drag that is constant below the table would drive a stopped engine backwards, faster and faster."""
    s = arm.System("engine")
    law = veh.combustion_engine([100, 300, 600], [100, 200, 150], [-10, -20, -40])
    s.state("speed", initial=150.0, units="rad/s")
    s.rate("speed", law(s.expression("speed"), 0.0) / s.parameter("J", 0.15, units="kg*m2"))
    s.body("weight", joint=arm.Prismatic("x"), mass=1, inertia=0)
    run = s.derive().compile().simulate(20.0, step=1e-2)
    assert 0 <= run["speed"][-1] < 1e-3


def test_in_the_highest_gear_the_clutch_stays_closed() -> None:
    """An engine at 1 rad/s² × t over the gear meets the limit of 5 rad/s in both gears, at 5 s and 10 s."""
    s = arm.System("gears")
    gain = s.parameter("gain", 1.0, units="rad/s^2")
    shift = veh.GearShift(up=5.0, down=1.0, pause=0.4)
    gear, clutch = shift.add(s, "engine", lambda gear: gain * s.expression("t") / gear, 2)
    s.output("gear", gear)
    s.output("clutch", clutch)
    s.body("b", joint=arm.Prismatic("x"), mass=1)
    run = s.derive().compile().simulate(11.0, sample=[0.0, 4.9, 5.2, 6.0, 9.9, 10.1, 11.0])
    assert run["gear"].tolist() == [1, 1, 2, 2, 2, 2, 2]
    assert run["clutch"] == pytest.approx([1, 1, 0.5, 1, 1, 1, 1], abs=1e-6)
