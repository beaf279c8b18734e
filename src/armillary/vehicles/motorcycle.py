"""A motorcycle with hands off: Sharp's machine, described by its bodies, wheels and tyres."""

from __future__ import annotations

from collections.abc import Mapping

import armillary as arm
from armillary.vehicles.cars import read_values
from armillary.vehicles.tyres.simple import LinearTyre
from armillary.vehicles.wheel import add_rolling_wheel

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
    # The front frame's z is the steering axis; its origin the foot of the perpendicular a.
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
    """Return the inertia (11, 22, 33, 12, 13, 23) of a frame, from its moments along and across steering."""
    return (
        across * cosine * cosine + along * sine * sine,
        across + along,
        across * sine * sine + along * cosine * cosine,
        0,
        (across - along) * sine * cosine,
        0,
    )
