"""Vehicles of the package as text models: the same energies, powers and loops as those built in Python."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import armillary as arm
import armillary.vehicles as veh
from armillary.cli.app import app
from armillary.model.space.attraction import all_loads

CAR = veh.BrushTyre(18.0, 1.0, vertical_damping=300.0, radius=0.32)
TRUCK = veh.BrushTyre(
    16.0, 0.9, vertical_damping=400.0, radius=0.38, vertical_stiffness=2.4e5, nominal_load=6000.0,
    half_length=0.08,
)  # fmt: skip
RACE = veh.BrushTyre(
    22.0, 1.5, vertical_damping=150.0, radius=0.23, vertical_stiffness=1e5, nominal_load=700.0,
    half_length=0.05, relaxation_kappa=0.15, relaxation_alpha=0.25,
)  # fmt: skip
BUILT: dict[str, Callable[[], veh.Car]] = {
    "fourteen_freedom_car": lambda: veh.fourteen_freedom_car(CAR, CAR),
    "full_car": lambda: veh.full_car(CAR, CAR),
    "pickup": lambda: veh.pickup(TRUCK, TRUCK),
    "formula_student_car": lambda: veh.formula_student_car(RACE, RACE),
}


def quantities(system: arm.System) -> dict[str, np.ndarray]:
    """Energies, the power of all loads, gaps of the loops and rates of slips at ten states about 20 m/s.

    Numbers belong to names without "_wheel", so that both descriptions of a car get the same.
    """
    values: dict[str, object] = {
        name: p.data.default for name, p in system.parameters.items() if p.data.default is not None
    }
    variables = [x for body in system.bodies.values() for x in (*body.coordinates, *body.speeds)]
    others = sorted({*system.states, "steer", *({"brake", "drive"} & set(system.memories))})

    def draw(name: str) -> np.ndarray:
        if "knuckle" in name:  # prescribed, and behind in the text alone
            return np.zeros(10)
        return 0.01 * np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, 10)

    for x in variables:
        name = x.data.name.replace("_wheel.", ".")
        spins = name.endswith(("left.u1", "right.u1"))
        values[x.data.name] = (20.0 if name == "body.u1" else 60.0 if spins else 0.0) + draw(name)
    values |= {name: draw(name) for name in others}
    power: object = 0
    for load in all_loads(system):
        for sign, body, at in ((1, load.body, load.at), (-1, load.reaction_body, load.reaction_at)):
            if body is None:
                continue
            rate = arm.angular_velocity(body)
            if load.kind == "force":  # a reaction without a point acts along the same line
                rate = arm.velocity(body.origin) + arm.cross(rate, arm.position(at or load.at, body.origin))
            power = power + sign * arm.dot(load.vector, rate)
    gaps = sum(c.position * c.position for c in system.constraints.values())
    rates = sum(rate * rate for rate in system.state_rates().values())
    found = {
        "kinetic": system.kinetic_energy(), "potential": system.potential_energy(), "power": power,
        "gaps": gaps, "rates": rates,
    }  # fmt: skip
    return {name: np.asarray(arm.evaluate(value, values)) * np.ones(10) for name, value in found.items()}


@pytest.mark.parametrize("name", BUILT)
def test_a_vehicle_of_the_package_has_the_energies_and_powers_of_the_one_built_in_python(name: str) -> None:
    text, built = veh.Car.load(name), BUILT[name]()
    first, second = (quantities(car.system) for car in (text, built))
    begin = {str(q): value for q, value in text.system.initial.items() if value}
    assert begin == pytest.approx(text.start(text.system.parameters["V"].data.default), rel=1e-15)
    for label, values in first.items():
        assert np.allclose(values, second[label], rtol=1e-8, atol=1e-9 * np.max(np.abs(values))), label
    assert text.steering_ratio == built.steering_ratio and np.isclose(text.wheelbase, built.wheelbase)
    mine, other = (
        {label.replace("_wheel.", "."): value for label, value in car.start(20.0).items()}
        for car in (text, built)
    )
    assert mine.keys() == other.keys() and np.allclose(list(mine.values()), [other[k] for k in mine])


LINEAR: dict[str, Callable[[], veh.Car]] = {
    "single_track_car": lambda: veh.single_track_car(
        *(veh.LinearTyre(c, relaxation_alpha=0.4) for c in (6e4, 7e4))
    ),
    "tractor_and_trailer": lambda: veh.tractor_and_trailer(
        *[veh.LinearTyre(1.5e5, relaxation_alpha=0.5, radius=0.5)] * 3
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_vehicle_at_constant_speed_answers_as_the_one_built_in_python(name: str) -> None:
    runs = [
        car.model.simulate(1.5, step=2e-3, inputs={"steer": ([0, 0.1, 0.3], [0, 0, 0.02])})
        for car in (veh.Car.load(name), LINEAR[name]())
    ]
    for output in ("yaw velocity", "lateral acceleration", "sideslip angle"):
        assert np.allclose(runs[0][output], runs[1][output], rtol=1e-10, atol=1e-12)


def test_the_motorcycle_has_sharps_eigenvalues() -> None:
    """Those of the independent derivation at 70 ft/s, to 1e-8."""
    reference = json.loads((Path(__file__).parent / "data" / "sharp1971.json").read_text(encoding="utf-8"))
    model = arm.load(veh.vehicle_file("motorcycle")).derive().compile()
    found = np.linalg.eigvals(model.linearize(parameters={"V": 0.3048 * 70}).A)
    for real, imaginary in reference["eigenvalues"]["70"]:
        value = complex(real, imaginary)
        assert np.min(np.abs(found - value)) <= 1e-8 * abs(value)


def test_the_command_drives_a_vehicle_by_its_name_and_names_those_it_knows(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["maneuver", "handling", "single_track_car", "--speed", "90 km/h"])
    assert done.exit_code == 0 and "understeer gradient" in done.output
    angle = CliRunner().invoke(app, ["maneuver", "handling", "single_track_car", "--speed", "1 deg"])
    assert angle.exit_code == 2 and "--speed has units of [m/s] (m/s), but '1 deg' has [" in angle.output
    refused = CliRunner().invoke(app, ["maneuver", "handling", "no_such_car"])
    assert refused.exit_code == 2 and "full_car" in refused.output


def test_a_copy_of_a_vehicle_runs_from_its_folder_and_is_not_overwritten(tmp_path: Path) -> None:
    path = veh.copy_vehicle("single_track_car", tmp_path)
    assert path == tmp_path / "single_track_car.toml" and (tmp_path / "parts" / "rolling_wheel.toml").exists()
    assert veh.Car.load(path).wheelbase == pytest.approx(2.7)
    with pytest.raises(arm.ModelError, match="exists already"):
        veh.copy_vehicle("single_track_car", tmp_path)
    with pytest.raises(arm.ModelError, match="there is no vehicle 'tank'"):
        veh.vehicle_file("tank")


@functools.cache
def _kart_model() -> Any:
    return veh.Car.load("go_kart").model


def test_the_kart_stands_on_its_wheels_and_its_frame_bends_as_a_beam() -> None:
    """Loads carry the weight of body, frame, front member and wheels. The front hubs rise against the body as
    the first mode of a clamped beam lets them, λ = 1.8751: under a force F on its end by 12/λ⁴ F L³/(3 EI),
    less 2·0.78299/λ⁴ w L⁴/EI by its own weight.
    """
    kart, model = veh.Car.load("go_kart"), _kart_model()
    run = model.simulate(4.0, step=1e-3, sample=0.1, initial=kart.start(10.0), parameters={"V": 10.0})
    loads = {name: float(run[f"{name} Fz"][-1]) for name in kart.spin_per_speed}
    weight = 9.80665 * (145 + 12 * 1.05 + 12 + 2 * 3 + 2 * 5)
    assert np.isclose(sum(loads.values()), weight, rtol=2e-4)
    assert np.isclose(loads["front_left"], loads["front_right"], rtol=1e-6)
    force = 2 * loads["front_left"] - 9.80665 * (12 + 2 * 3)
    line = 12 * 9.80665  # weight per length
    quartic = 1.8751041**4
    rise = (12 / 3 * force * 1.05**3 - 2 * 0.7829917 * line * 1.05**4) / (quartic * 4e4)
    height = kart.system.expression("dot(position(front_member.origin) - position(frame.origin), body.z)")
    values = {name: float(run[name][-1]) for name in model.coordinate_names}
    parameters = {name: p.data.default for name, p in kart.system.parameters.items()}
    assert np.isclose(arm.evaluate(height, {**parameters, **values}), rise, rtol=1e-3)


@pytest.mark.parametrize("pedal", [0.0, 1.0])
def test_the_kart_stands_still(pedal: float) -> None:
    """Also with its brakes on, at the step of manoeuvres: no rate of a brake or an axle is beyond RK4."""
    kart = veh.Car.load("go_kart")
    run = _kart_model().simulate(
        3.0,
        step=1e-3,
        sample=0.1,
        initial=kart.start(0.0),
        parameters={"V": 0.0},
        inputs={"brake": ([0, 1], [pedal, pedal])},
    )
    assert all(abs(float(run[f"{wheel}_wheel.u1"][-1])) < 1e-4 for wheel in kart.spin_per_speed)
    assert abs(float(run["body.q2"][-1])) < 1e-9 and abs(float(run["body.u1"][-1])) < 1e-5
