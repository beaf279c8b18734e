"""A tractor with a semi-trailer in the plane, and its rearward amplification."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.cars import Car, add_iso_outputs, declare_parameters, read_values
from armillary.vehicles.manoeuvres.open_loop import START, drive
from armillary.vehicles.manoeuvres.result import Manoeuvre, peak
from armillary.vehicles.tyres.tyre import Tyre
from armillary.vehicles.wheel import add_rolling_wheel

# Value in SI units, unit, meaning.
TRACTOR: dict[str, tuple[float, str, str]] = {
    "m": (7500.0, "kg", "mass of the tractor"),
    "Izz": (35e3, "kg*m2", "yaw inertia of the tractor"),
    "a": (1.4, "m", "front axle ahead of the tractor's mass centre"),
    "b": (2.3, "m", "rear axle behind it"),
    "c": (1.8, "m", "fifth wheel behind it"),
    "mt": (28e3, "kg", "mass of the trailer"),
    "Itz": (4.5e5, "kg*m2", "yaw inertia of the trailer"),
    "e": (5.5, "m", "trailer's mass centre behind the fifth wheel"),
    "f": (7.7, "m", "trailer's axles behind the fifth wheel"),
}


def tractor_and_trailer(
    steer_tyre: Tyre,
    drive_tyre: Tyre,
    trailer_tyre: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
) -> Car:
    """Return a tractor and a semi-trailer on a fifth wheel, at constant speed: they move sideways and yaw.

    Each tyre argument describes one wheel of the left side: the front axle has two, the driven axle four, and
    the trailer two on each of its three axles, which are modelled at one position; half of the wheels have
    mirror images. Static loads follow from the masses. Outputs are the tractor's quantities as in ISO 8855,
    the articulation angle, and the trailer's yaw velocity and lateral acceleration at its mass centre.
    """
    s = arm.System("tractor and semi-trailer")
    p = declare_parameters(s, TRACTOR, parameters, speed)
    numbers = read_values(TRACTOR, parameters)
    tractor = s.body(
        "body", joint=arm.Planar("z", velocity="body"), mass="m", inertia=(0, 0, "Izz"), check_inertia=False
    )
    s.prescribe(tractor.u1, "V")
    trailer = s.body(
        "trailer", tractor, arm.Revolute("z"), at=("-c", 0, 0), com=("-e", 0, 0), mass="mt",
        inertia=(0, 0, "Itz"), check_inertia=False,
    )  # fmt: skip
    tractor.shape(arm.Box("a + b + 1.5", 2.5, 2.5), at=("(a - b)/2", 0, 1.8))
    trailer.shape(arm.Box("f + 5", 2.5, 2.8), at=("-f/2 - 0.5", 0, 2.4))
    knuckle = s.body("knuckle", tractor, arm.Revolute("z"), at=("a", 0, 0), mass=0, inertia=0)
    s.prescribe(knuckle.q1, "steer")
    pin = p["mt"] * p["g"] * (p["f"] - p["e"]) / p["f"]  # load of the fifth wheel
    base = p["a"] + p["b"]
    front = (p["m"] * p["g"] * p["b"] + pin * (p["b"] - p["c"])) / base
    rear = p["m"] * p["g"] + pin - front
    behind = p["mt"] * p["g"] - pin
    axles = (
        ("front", knuckle, steer_tyre, front / 2, (0, 0), 2),
        ("rear", tractor, drive_tyre, rear / 4, ("-b", 0), 4),
        ("trailer", trailer, trailer_tyre, behind / 6, ("-f", 0), 6),
    )
    for name, parent, tyre, load, place, count in axles:
        made = tyre.with_parameters(s, name)
        for i in range(1, count + 1):
            fitted = made if i % 2 else made.mirror()  # odd numbers are on the left
            add_rolling_wheel(
                s, f"{name}_{i}", parent, fitted, load=load, speed=p["V"], at=(*place, made.free_radius),
                outputs=False,
            )  # fmt: skip
    add_iso_outputs(s, tractor)
    left = arm.cross(s.ground.z, trailer.x)
    s.output("articulation angle", trailer.q1, units="deg", about="of the trailer against the tractor")
    s.output("trailer yaw velocity", arm.dot(arm.angular_velocity(trailer), s.ground.z), units="deg/s")
    s.output("trailer lateral acceleration", arm.dot(arm.acceleration(trailer.com), left), units="m/s2")
    return Car(s, {}, {}, numbers["a"] + numbers["b"])


def rearward_amplification(
    car: Car, *, speed: float, steer: float = 0.01, frequency: float = 0.4, settle: float = 4.0
) -> Manoeuvre:
    """Run one period of sinusoidal steering and compare trailer and tractor, ISO 14791.

    Figures: ratios of the trailer's peak lateral acceleration and yaw velocity to the tractor's.
    """
    if "trailer lateral acceleration" not in car.system.outputs:
        raise arm.ModelError("rearward_amplification: this vehicle has no trailer; use tractor_and_trailer")
    require_numbers(
        "rearward_amplification", positive={"frequency": frequency}, not_negative={"settle": settle},
        not_zero={"steer": steer},
    )  # fmt: skip
    grid = np.linspace(0, 1 / frequency, 401)
    times = [0.0, *(START + grid)]
    run = drive(
        car, START + 1 / frequency + settle, speed,
        (times, [0.0, *(steer * np.sin(2 * np.pi * frequency * grid))]),
    )  # fmt: skip
    figures: dict[str, tuple[float, str]] = {"frequency": (frequency, "Hz")}
    for name, unit in (("lateral acceleration", "m/s2"), ("yaw velocity", "deg/s")):
        first, second = peak(run[name]), peak(run[f"trailer {name}"])
        figures[f"peak {name} of the tractor"] = (first, unit)
        figures[f"peak {name} of the trailer"] = (second, unit)
        figures[f"rearward amplification, {name}"] = (abs(second / first), "")
    figures["peak articulation angle"] = (peak(run["articulation angle"]), "deg")
    return Manoeuvre("rearward amplification", "ISO 14791", run, figures)
