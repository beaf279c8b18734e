"""Rolling without slip, in circles of known radius: a leaning disc, and a car steered by Ackermann's law."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.verification.rows import (
    TIGHT,
    Case,
    difference,
    equations,
    example,
    largest,
    largest_difference,
    scaled_difference,
)

_CIRCLES = ((0.2, 3.0), (0.6, 5.0), (-0.9, 14.0), (1.2, -30.0))  # lean (rad), yaw rate (rad/s)
_STEERS = (0.05, 0.3, -0.5)  # rad


def measure_disc() -> Iterator[float]:
    """(C + mR²) ω₃ Ω cos θ + m g R sin θ − A Ω² sin θ cos θ = 0: a circle of radius R ω₃/Ω."""
    disc = example("rolling_disc")
    model = equations("rolling_disc").compile()
    still = []
    for lean, yaw_rate in _CIRCLES:
        spin = disc.steady_spin(lean, yaw_rate)
        start = {"lean.q1": lean, "heading.u3": yaw_rate, "disc.u1": spin}
        still.append(largest_difference(model.derivatives(0.0, model.state(start))[-3:], 0.0) / yaw_rate**2)
        radius, until = disc.RADIUS * spin / yaw_rate, 0.5 / abs(yaw_rate)
        run = model.simulate(until, sample=until / 20, initial=start, **TIGHT)
        turned = yaw_rate * run.time
        x, y = radius * np.sin(turned), radius * (1 - np.cos(turned))
        yield largest(largest_difference(run["heading.q1"], x), largest_difference(run["heading.q2"], y))
    yield largest(still)


def measure_car() -> Iterator[float]:
    """The middle of the rear axle goes in a circle of radius L/tan δ; work becomes energy."""
    car = example("steered_car")
    model = car.system("tightest").derive().compile()
    turns, gains = [], []
    for steer in _STEERS:
        radius = car.PARAMETERS["L"][0] / math.tan(steer)
        given = {"initial": {"car.u1": 1.0}, "parameters": {"tightest": 1 / radius}}
        run = model.simulate(10.0, sample=0.1, **given, **TIGHT)
        turned = run["path"] / radius
        x, y = radius * np.sin(turned), radius * (1 - np.cos(turned))
        yield largest(largest_difference(run["car.q1"], x), largest_difference(run["car.q2"], y))
        turns.append(largest_difference(run["car.q3"], turned))
        gains.append(scaled_difference(run["energy"] - run["energy"][0], run["work"]))
    yield largest(turns)
    yield largest(gains)


CASES = (
    Case(
        "rolling_disc",
        "Rolling disc",
        "closed form of the steady circle",
        (
            *(difference(f"path in a circle, lean of {abs(lean)} rad (m)", 1e-10) for lean, _ in _CIRCLES),
            difference("accelerations in these circles, of the square of the yaw rate", 1e-10),
        ),
        measure_disc,
        "rolling-disc",
    ),
    Case(
        "steered_car",
        "Steered car",
        "closed form, radius L/tan δ",
        (
            *(difference(f"path over 10 s, steer of {abs(steer)} rad (m)", 1e-9) for steer in _STEERS),
            difference("heading of the same (rad)", 1e-11),
            difference("energy gained against work", 1e-11, "work and energy"),
        ),
        measure_car,
        "steered-car",
    ),
)
