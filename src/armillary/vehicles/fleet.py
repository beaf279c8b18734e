"""Other vehicles: a pickup, a compact car and a Formula-Student car, made with `full_car`; a motorcycle with
hands off (Sharp's machine); a tractor with a semi-trailer in the plane, and its rearward amplification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers
from armillary.vehicles.cars import Car, add_iso_outputs, declare_parameters, read_values
from armillary.vehicles.driver import Driver
from armillary.vehicles.full_car import (
    DOUBLE_WISHBONE_FRONT,
    MACPHERSON_FRONT,
    AxleDesign,
    SolidDesign,
    TwistBeamDesign,
    full_car,
)
from armillary.vehicles.manoeuvres.open_loop import START, drive
from armillary.vehicles.manoeuvres.result import Manoeuvre, peak
from armillary.vehicles.parts.bushings import LeafSpring
from armillary.vehicles.parts.driveline import Differential
from armillary.vehicles.parts.springs import Stop
from armillary.vehicles.road import Road
from armillary.vehicles.suspensions.axles import Masses, double_wishbone, macpherson
from armillary.vehicles.tyres.simple import LinearTyre
from armillary.vehicles.tyres.tyre import Tyre
from armillary.vehicles.wheel import add_rolling_wheel

# Hard points of the left side: x from the axle, y from the middle, z from the wheel's centre, in metres.
SOLID_REAR: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.80, 0.0),
    "lower_inner": (0.60, 0.45, 0.00), "lower_outer": (0.02, 0.52, -0.08),
    "upper_inner": (0.45, 0.42, 0.16), "upper_outer": (0.02, 0.10, 0.18),
    "spring_top": (-0.02, 0.50, 0.42), "spring_foot": (-0.02, 0.52, 0.06),
}  # fmt: skip
LEAF = LeafSpring(length=1.3, width=0.065, thickness=0.0082, leaves=4)  # 36 kN/m
TWIST_BEAM_REAR: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.73, 0.0),
    "pivot": (0.42, 0.56, 0.02), "beam": (0.26, 0.0, 0.01),
    "spring_top": (0.04, 0.50, 0.34), "spring_foot": (0.04, 0.50, -0.02),
}  # fmt: skip
COMPACT = {
    "m": 1000.0, "Ixx": 330.0, "Iyy": 1300.0, "Izz": 1450.0, "a": 1.02, "b": 1.50, "h": 0.55, "mw": 16.0,
    "Iw": 0.8, "drag": 0.65, "lift": 0.1, "brake_front": 1200.0, "brake_rear": 500.0,
}  # fmt: skip
PICKUP = {
    "m": 1900.0, "Ixx": 800.0, "Iyy": 4200.0, "Izz": 4500.0, "a": 1.45, "b": 1.85, "h": 0.75, "mw": 28.0,
    "Iw": 1.8, "drag": 1.2, "lift": 0.0, "brake_front": 2200.0, "brake_rear": 1100.0,
}  # fmt: skip

STUDENT_FRONT: dict[str, Sequence[float]] = {
    "wheel": (0.0, 0.60, 0.0),
    "lower_front": (0.14, 0.22, -0.08), "lower_rear": (-0.16, 0.22, -0.08), "lower_ball": (0.0, 0.56, -0.10),
    "upper_front": (0.12, 0.26, 0.06), "upper_rear": (-0.16, 0.26, 0.06), "upper_ball": (-0.01, 0.54, 0.10),
    "rack": (0.07, 0.22, -0.05), "rod_end": (0.07, 0.56, -0.06),
    "spring_top": (0.0, 0.28, 0.30), "spring_foot": (0.0, 0.48, -0.08),
}  # fmt: skip
STUDENT_REAR = {
    **STUDENT_FRONT,
    "wheel": (0.0, 0.58, 0.0), "rack": (-0.16, 0.24, -0.07), "rod_end": (-0.08, 0.55, -0.09),
}  # fmt: skip
STUDENT = {
    "m": 215.0, "Ixx": 18.0, "Iyy": 85.0, "Izz": 95.0, "a": 0.80, "b": 0.75, "h": 0.28, "mw": 8.0, "Iw": 0.25,
    "drag": 1.1, "lift": -2.2, "hold": 1500.0, "brake_front": 400.0, "brake_rear": 220.0,
}  # fmt: skip
LIGHT = Masses(upright=3.0, upright_inertia=(0.02, 0.015, 0.02), arm=0.8, arm_inertia=(0.006, 0.003, 0.008))


def pickup(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
    leaf: LeafSpring | None = None,
) -> Car:
    """Return a pickup: double wishbones in front, a driven solid axle on four links behind.

    Arguments are as for `full_car`; parameters replace values of PICKUP. With ``leaf``, such as LEAF, packs
    of leaf springs hold the axle in place of links and coil springs.
    """
    front = AxleDesign(double_wishbone, DOUBLE_WISHBONE_FRONT, spring=75e3, damper=5000.0, bar=18e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=SolidDesign(SOLID_REAR, leaf=leaf), speed=speed,
        parameters={**PICKUP, **(parameters or {})}, road=road, driver=driver, energy=energy,
        steering_ratio=18.0,
    )  # fmt: skip


def compact_car(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 25.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
) -> Car:
    """Return a compact car: driven MacPherson struts in front, a twist beam behind.

    Arguments are as for `full_car`; parameters replace values of COMPACT.
    """
    front = AxleDesign(macpherson, MACPHERSON_FRONT, spring=22e3, damper=1900.0, bar=10e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=TwistBeamDesign(TWIST_BEAM_REAR, spring=24e3), speed=speed,
        parameters={**COMPACT, **(parameters or {})}, road=road, driver=driver, energy=energy, drive="front",
    )  # fmt: skip


def formula_student_car(
    front_tyre: Tyre,
    rear_tyre: Tyre,
    *,
    speed: float = 15.0,
    parameters: Mapping[str, float] | None = None,
    road: Road | None = None,
    driver: Driver | None = None,
    energy: bool = False,
) -> Car:
    """Return a Formula-Student car: double wishbones, a limited-slip differential, downforce.

    Arguments are as for `full_car`; parameters replace values of STUDENT. Tyres must have a radius of about
    0.23 m and a nominal load below 1 kN.
    """
    stop = Stop(0.03, 1e5)
    front = AxleDesign(
        double_wishbone, STUDENT_FRONT, spring=45e3, damper=2200.0, bar=8e3, masses=LIGHT, bump=stop,
        rebound=stop,
    )  # fmt: skip
    rear = replace(front, places=STUDENT_REAR, bar=6e3)
    return full_car(
        front_tyre, rear_tyre, front=front, rear=rear, speed=speed,
        parameters={**STUDENT, **(parameters or {})}, road=road, driver=driver, energy=energy,
        steering_ratio=4.0, differential=Differential("limited", preload=20.0),
    )  # fmt: skip


# Sharp (1971), converted from pounds, feet and seconds: value in SI units, unit, meaning.
SHARP_1971: dict[str, tuple[float, str, str]] = {
    "Mf": (30.647190000000002, "kg", "mass of the front frame"),
    "Mr": (217.44911, "kg", "mass of the rear frame with its rider"),
    "Zf": (1005.2980816, "N", "load of the front tyre"),
    "Irx": (31.183806535488, "kg*m2", "roll inertia of the rear frame"),
    "Irz": (21.06940667658624, "kg*m2", "yaw inertia of the rear frame"),
    "Crxz": (1.7354466245836804, "kg*m2", "product of inertia of the rear frame, ∫xz dm with z down"),
    "Ifx": (1.2337940846649602, "kg*m2", "inertia of the front frame across the steering axis"),
    "Ifz": (0.441996562198656, "kg*m2", "inertia of the front frame about a line along the steering axis"),
    "ify": (0.7185833679916801, "kg*m2", "spin inertia of the front wheel"),
    "iry": (1.0507586984784, "kg*m2", "spin inertia of the rear wheel and what turns with it"),
    "a": (
        0.9485376000000001,
        "m",
        "distance of the steering axis from the ground below the rear mass centre",
    ),
    "b": (0.47975520000000005, "m", "rear mass centre ahead of the rear contact"),
    "e": (0.024384000000000003, "m", "front mass centre ahead of the steering axis"),
    "f": (0.0283464, "m", "front mass centre above the foot of a on the steering axis"),
    "h": (0.615696, "m", "height of the rear mass centre"),
    "Rf": (0.3048, "m", "radius of the front wheel"),
    "Rr": (0.3048, "m", "radius of the rear wheel"),
    "trail": (0.11582400000000001, "m", "distance of the front contact from the steering axis"),
    "eps": (0.4715, "rad", "rake of the steering axis"),
    "Cf1": (11173.9326592, "N", "cornering stiffness of the front tyre, per rad"),
    "Cf2": (938.5747576, "N", "camber stiffness of the front tyre, per rad"),
    "Cr1": (15831.2206744, "N", "cornering stiffness of the rear tyre, per rad"),
    "Cr2": (1325.5700368, "N", "camber stiffness of the rear tyre, per rad"),
    "K": (6.779089718400001, "N*m*s", "steering damper"),
    "sigma": (0.24384000000000003, "m", "relaxation length of both tyres"),
}


def motorcycle(speed: float = 20.0, parameters: Mapping[str, float] | None = None) -> arm.System:
    """Return a motorcycle at a prescribed speed, free to move sideways, yaw, lean and steer.

    The machine has a rear frame with a rigid rider and a front frame that turns about the raked steering
    axis; two wheels spin in them, and stand on thin tyres whose side force lags by a relaxation length. Axes:
    x forward, y to the left, z up; origin in the ground below the rear mass centre. Pitch is left out: to
    first order, it does not act on leaning and steering. ``parameters`` replace values of SHARP_1971.

    Source: Sharp, The stability and control of motorcycles, J. Mech. Eng. Sci. 13 (1971) 316-329.
    """
    s = arm.System("motorcycle")
    s.parameter("V", speed, units="m/s", about="forward speed")
    s.parameter("g", 9.80665, units="m/s2", about="gravity")
    for name, value in read_values(SHARP_1971, parameters).items():
        s.parameter(name, value, units=SHARP_1971[name][1], about=SHARP_1971[name][2])
    p = s.parameters
    sine, cosine = arm.sin(p["eps"]), arm.cos(p["eps"])

    track = s.body("track", joint=arm.Planar("z", velocity="body"), mass=0, inertia=0)
    s.prescribe(track.u1, "V")
    rear = s.body(
        "rear", track, arm.Revolute("x"), com=(0, 0, "h"), mass="Mr",
        inertia=("Irx", "Irx + Irz", "Irz", 0, "Crxz", 0),
    )  # fmt: skip
    # The front frame's origin is the foot of the perpendicular a on the steering axis (−sin ε, 0, cos ε).
    front = s.body(
        "front",
        rear,
        arm.Revolute((-sine, 0, cosine)),
        at=(p["a"] * cosine, 0, p["a"] * sine),
        mass="Mf",
        com=(p["e"] * cosine - p["f"] * sine, 0, p["e"] * sine + p["f"] * cosine),
        inertia=_frame_inertia(p["Ifx"], p["Ifz"], sine, cosine),
    )
    s.moment("damper", "-K*front.u1", front.z * cosine - front.x * sine, on=front, reaction=rear)
    s.gravity("g", -s.ground.z)

    front_tyre = LinearTyre(p["Cf1"], camber_stiffness=p["Cf2"], radius=p["Rf"], relaxation_alpha=p["sigma"])
    rear_tyre = LinearTyre(p["Cr1"], camber_stiffness=p["Cr2"], radius=p["Rr"], relaxation_alpha=p["sigma"])
    contact = (p["a"] - p["trail"]) / cosine  # ahead of the origin
    add_rolling_wheel(
        s, "front_wheel", front, front_tyre, load=p["Zf"], speed=p["V"], spin_inertia=p["ify"],
        at=(contact - p["a"] * cosine, 0, p["Rf"] - p["a"] * sine),
    )  # fmt: skip
    add_rolling_wheel(
        s, "rear_wheel", rear, rear_tyre, load=(p["Mf"] + p["Mr"]) * p["g"] - p["Zf"], speed=p["V"],
        spin_inertia=p["iry"], at=(-p["b"], 0, p["Rr"]),
    )  # fmt: skip
    s.output("lean", rear.q1, units="deg")
    s.output("steer", front.q1, units="deg")
    s.output("yaw rate", track.u3, units="deg/s")
    return s


def _frame_inertia(
    across: arm.Expr, along: arm.Expr, sine: arm.Expr, cosine: arm.Expr
) -> tuple[arm.Expr | int, ...]:
    """Return a frame's inertia (11, 22, 33, 12, 13, 23) from those across and along the steering axis."""
    return (
        across * cosine * cosine + along * sine * sine,
        across + along,
        across * sine * sine + along * cosine * cosine,
        0,
        (across - along) * sine * cosine,
        0,
    )


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

    Each tyre argument describes one wheel of the left side; the wheels of the right side have its mirror
    image. The front axle has two wheels, the driven axle four, and the trailer two on each of its three
    axles, which are modelled at one position. Static loads follow from the masses. Outputs are the tractor's
    quantities as in ISO 8855, the articulation angle, and the trailer's yaw velocity and lateral acceleration
    at its mass centre.
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
