"""A vehicle in a host program: its road by a callback of C, against the same road in its equations."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh
from tests.export.fmi.fmu_models import begun, get, need_compiler, opened, put, references

TYRE = veh.BrushTyre(18.0, 1.0, vertical_damping=600.0, radius=0.32)
SPEED, DURATION = 8.0, 1.6
WEIGHT = 300.0 * 9.80665
LOADS = ["front Fz", "rear Fz"]


def cart(road: veh.Road | None) -> veh.Car:
    """A body on two wheels that moves along and up: little code, and a road under each."""
    s = arm.System("cart")
    s.parameter("V", SPEED, units="m/s")
    s.gravity(9.80665, -s.ground.z)
    body = s.body("body", joint=arm.Prismatic("x"), mass=0, inertia=0)
    frame = s.body("frame", body, arm.Prismatic("z"), mass=280, inertia=0)
    wheels = {
        name: veh.add_wheel(
            s, name, frame, TYRE, at=(x, 0, 0.313), mass=10, inertia=(0.2, 0.4, 0.2), road=road
        )
        for name, x in (("front", 0.8), ("rear", -0.8))
    }
    spins = {name: 1 / float(TYRE.effective_radius(WEIGHT / 2)) for name in wheels}
    for name, ratio in spins.items():
        s.parameter(f"{name}_spin_per_speed", ratio, units="1/m")
    return veh.Car(s, wheels, spins)


@cache
def hosted() -> veh.Car:
    return cart(veh.HostRoad())


def bump(x: arm.Expr, y: object) -> arm.Expr:
    """The road of the example bump.c."""
    along = (x - 10.0) / 2.0
    return arm.select(arm.and_(along > 0, along < 1), 0.025 * (1 - arm.cos(2 * np.pi * along)), 0.0)


def grip(x: arm.Expr, y: object) -> arm.Expr:
    return arm.select(arm.and_(x > 15, x < 18), 0.5, 1.0)


def test_inputs_of_a_host_describe_the_plane_under_a_wheel() -> None:
    """Downhill on a slope of 0.1, gravity accelerates a rolling car by g sin, less what spins its wheels."""
    car = hosted()
    memory = {f"{wheel}_road_slope_x": -0.1 for wheel in car.wheels}
    memory |= {f"{wheel}_road_x": place for wheel, place in (("front", 0.8), ("rear", -0.8))}
    start = {**car.start(SPEED), "frame.u1": -0.1 * SPEED}
    run = car.model.simulate(1.0, step=1e-3, sample=0.1, initial=start, memory=memory)
    lean = np.arctan(0.1)
    gained = float(run["body.u1"][10] - run["body.u1"][5]) / 0.5 / np.cos(lean)
    spinning = 2 * 0.4 * float(next(iter(car.spin_per_speed.values()))) ** 2
    assert np.isclose(gained, 9.80665 * np.sin(lean) * 300 / (300 + spinning), rtol=2e-3)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")
def test_a_car_in_c_drives_over_the_bump_of_its_host(tmp_path: Path) -> None:
    """The host's plane is renewed each step, so that halving it halves the difference, at least."""
    (tmp_path / "cart").mkdir()
    (tmp_path / "cart" / "mine.txt").write_text("kept")
    with pytest.raises(arm.ArmillaryError, match="force=True"):
        veh.export_vehicle(hosted(), tmp_path / "cart")
    folder = veh.export_vehicle(hosted(), tmp_path / "cart", force=True)
    flags = "CFLAGS=-std=c99 -O0 -Wall -Wextra -pedantic -Werror"
    subprocess.run(["make", "-s", "-f", "vehicle.mk", flags], cwd=folder, check=True, capture_output=True)
    direct = cart(veh.Road(bump, grip))
    exact = direct.model.simulate(DURATION, step=1e-4, sample=0.01, initial=direct.start(SPEED))
    errors = []
    for step in (5e-4, 2.5e-4):
        done = subprocess.run(
            ["./bump", f"{SPEED}", f"{step}", f"{DURATION}"], cwd=folder, check=True, capture_output=True,
            text=True,
        )  # fmt: skip
        names, *lines = done.stdout.splitlines()
        assert names.split(",")[1:] == ["body.q1", *LOADS]
        rows = np.array([[float(word) for word in line.split(",")] for line in lines])
        assert np.isclose(rows[-1, 0], DURATION)
        loads = np.stack([np.interp(rows[:, 0], exact.time, exact[name]) for name in LOADS])
        errors.append(float(np.max(np.abs(rows[:, 2:].T - loads))))
    change = float(np.ptp(exact["front Fz"]))
    assert change > WEIGHT and errors[0] < 0.01 * change and errors[1] < 0.6 * errors[0], (change, errors)


def test_an_fmu_takes_the_road_under_each_wheel_as_inputs(tmp_path: Path) -> None:
    """A host that sets heights and frictions every 10 ms moves the car as held data do in the process."""
    need_compiler()
    car = hosted()
    start = car.start(SPEED)
    path = car.system.derive().export("fmu", tmp_path / "cart.fmu", initial=start, kind="co_simulation")
    times = np.arange(60) * 0.01
    data = {
        "front_road_height": 0.01 * np.sin(20 * times) ** 2,
        "rear_road_friction": 1 - 0.5 * (times > 0.3),
    }
    names = ["body.u1", "frame.q1", "frame.u1", "rear_kappa"]
    unit, places = begun(opened(path, tmp_path / "cart"), "2.0"), references(path)
    found = []
    for k, t in enumerate(times):
        put(unit, [places[name] for name in data], [float(values[k]) for values in data.values()])
        unit.doStep(currentCommunicationPoint=float(t), communicationStepSize=0.01)
        found.append(get(unit, [places[name] for name in names]))
    unit.terminate()
    unit.freeInstance()
    given = {name: (times, values) for name, values in data.items()}
    run = car.model.simulate(0.6, step=1e-3, sample=0.01, initial=start, inputs=given)
    expected = np.stack([run[name][1:] for name in names], axis=1)
    assert np.ptp(expected[:, 1]) > 1e-3
    assert np.allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_a_car_on_a_road_of_its_own_is_refused() -> None:
    with pytest.raises(arm.ModelError, match=r"road=HostRoad\(\)"):
        veh.export_vehicle(cart(None), "nowhere")
