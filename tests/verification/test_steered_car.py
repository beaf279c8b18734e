"""The steered car against closed forms: the path that its steer angles ask for, and its equation of motion.

A point at (x, y) of the car moves with u (1 − κ y, κ x), a wheel spins with u p/R, p² = (1 − κ y)² + (κ x)².
With these partial velocities Kane's equation of the speed u is

    A u̇ + κ̇ u B + κ Σ I_t δ̈ = 2 M/R        A = Σ m p² + I κ² + Σ I_a p²/R²        B = ½ ∂A/∂κ

where Σ runs over car and wheels, over wheels, or over the steered ones.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from armillary.stages.model import Model
from armillary.verification.rows import equations
from examples.steered_car import PARAMETERS
from tests.verification.common import ACCELERATIONS, TIGHT, assert_close, assert_near, assert_same

P = {name: value for name, (value, _, _) in PARAMETERS.items()}
WHEELS = [(x, y) for x in (0.0, P["L"]) for y in (P["T"] / 2, -P["T"] / 2)]


@cache
def model(curvature: str = "tightest*sin(pace*t)") -> Model:
    return equations("steered_car", curvature=curvature).compile()


def closed_form(u: float, k: float, k1: float = 0.0, k2: float = 0.0) -> float:
    """u̇ for a curvature and its two derivatives."""
    masses = [(P["m"], P["ahead"], 0.0)] + [(P["mw"] + P["Ia"] / P["R"] ** 2, x, y) for x, y in WHEELS]
    yaw = P["Iz"] + 4 * P["It"]
    A = sum(m * ((1 - k * y) ** 2 + (k * x) ** 2) for m, x, y in masses) + yaw * k**2
    B = sum(m * (-y * (1 - k * y) + k * x * x) for m, x, y in masses) + yaw * k
    steering = 0.0
    for x, y in WHEELS[2:]:
        # δ = atan(κ L/(1 − κ y)), dδ/dκ = L/p²
        square, slope = (1 - k * y) ** 2 + (k * x) ** 2, -2 * y * (1 - k * y) + 2 * k * x * x
        steering += x / square * k2 - x * slope / square**2 * k1**2
    return (2 * P["drive"] / P["R"] - k1 * u * B - k * P["It"] * steering) / A


def to_and_fro(t: float, u: float) -> float:
    """u̇ for the curvature of the example."""
    size, pace = P["tightest"], P["pace"]
    sine, cosine = math.sin(pace * t), math.cos(pace * t)
    return closed_form(u, size * sine, size * pace * cosine, -size * pace**2 * sine)


def test_one_degree_of_freedom_and_two_redundant_conditions() -> None:
    eom = model().equations
    assert len(eom.speeds) == 1
    assert eom.redundant_constraints == ("front_right keeps its track", "rear_right keeps its track")


@pytest.mark.parametrize("t", [0.0, 0.7, 3.0, 8.0])
def test_acceleration(t: float) -> None:
    eom = model().equations
    for speed in (0.5, 10.0, -4.0):
        state = model().state({"car.u1": speed, "car.q3": 0.3}, t=t)
        rate = dict(zip((*eom.coordinates, *eom.speeds), model().derivatives(t, state), strict=True))
        along = rate["car.q1"] * math.cos(0.3) + rate["car.q2"] * math.sin(0.3)
        across = rate["car.q2"] * math.cos(0.3) - rate["car.q1"] * math.sin(0.3)
        curvature = P["tightest"] * math.sin(P["pace"] * t)
        assert_near([along, across, rate["car.q3"]], [speed, 0.0, curvature * speed], 1e-13, "rates")
        assert_same([rate["car.u1"]], [to_and_fro(t, speed)], ACCELERATIONS, "acceleration")


@pytest.mark.parametrize("steer", [0.05, 0.3, -0.5])
def test_speed_in_a_circle_grows_evenly(steer: float) -> None:
    """The radius is L/tan δ for one wheel amid the front ones; the case `steered_car` compares the path."""
    radius = P["L"] / math.tan(steer)
    run = model("tightest").simulate(
        10.0, sample=0.1, initial={"car.u1": 1.0}, parameters={"tightest": 1 / radius}, **TIGHT
    )
    assert_close(run["speed"], 1.0 + closed_form(1.0, 1 / radius) * run.time, 1e-11, "speed")


def test_run_to_and_fro() -> None:
    """The speed by a fourth-order integration of its equation; the yaw rate is curvature times speed."""
    run = model().simulate(12.0, sample=0.01, initial={"car.u1": 1.0}, **TIGHT)
    u, h = 1.0, 0.01
    expected = [u]
    for t in run.time[:-1]:
        a = to_and_fro(t, u)
        b = to_and_fro(t + h / 2, u + h / 2 * a)
        c = to_and_fro(t + h / 2, u + h / 2 * b)
        d = to_and_fro(t + h, u + h * c)
        u += h / 6 * (a + 2 * b + 2 * c + d)
        expected.append(u)
    assert_near(run["speed"], expected, 1e-8, "speed over 12 s")
    curvature = P["tightest"] * np.sin(P["pace"] * run.time)
    assert_near(run["yaw rate"], curvature * run["speed"], 1e-12, "yaw rate")
