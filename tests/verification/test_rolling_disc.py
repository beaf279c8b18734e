"""A rolling disc against closed forms: circles, the stability of upright rolling, three first integrals.

With x = sin θ of the lean, the angular velocity ω₃ about the axle is a Legendre function: from the balances
of moments about the axle and about the diameter through the contact point,

    dω₃/dθ = −μ ω_z        dω_z/dθ = ω_z tan θ − k ω₃        (1 − x²) ω₃'' − 2 x ω₃' − μ k ω₃ = 0

with μ = m R²/(C + m R²) = 2/3 and k = C/A = 2 (found by Appell and by Korteweg about 1900; O'Reilly 1996,
Nonlinear Dynamics 10). Its even and odd solutions are power series in x.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.stages.model import Model
from armillary.verification.rows import equations, largest
from examples.rolling_disc import GRAVITY, RADIUS
from tests.verification.common import TIGHT, assert_constant, assert_near

MU_K = 4 / 3


@cache
def model() -> Model:
    return equations("rolling_disc").compile()


def legendre(x: Any, first: int) -> tuple[Any, Any]:
    """The even (first = 0) or odd (1) solution and its derivative.

    aₙ₊₂ = aₙ (n(n + 1) + μk)/((n + 1)(n + 2))
    """
    value, slope, a = np.zeros_like(x), np.zeros_like(x), 1.0
    for n in range(first, 200, 2):
        value = value + a * x**n
        slope = slope + (a * n * x ** (n - 1) if n else 0.0)
        a *= (n * (n + 1) + MU_K) / ((n + 1) * (n + 2))
    return value, slope


@pytest.mark.parametrize("share", [0.25, 0.9, 1.1, 4.0])
def test_stability_of_upright_rolling(share: float) -> None:
    """λ² = −(12/5)(ω₃² − g/3R): stable where v² > gR/3, as C (C + mR²) ω₃² > A m g R says for this disc."""
    spin = math.sqrt(share * GRAVITY / (3 * RADIUS))
    names = ("lean.q1", "heading.u3", "lean.u1")

    def rates(name: str, value: float) -> np.ndarray:
        state = model().state({"disc.u1": spin, name: value})
        found = dict(zip(model().speed_names, model().derivatives(0.0, state)[-3:], strict=True))
        return np.array([value if name == "lean.u1" else 0.0, found["heading.u3"], found["lean.u1"]])

    step = 1e-3
    columns = [
        sum(
            w * (rates(n, k * step) - rates(n, -k * step)) for k, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        )
        for n in names
    ]
    found = np.linalg.eigvals(np.column_stack(columns) / step)
    square = -12 / 5 * (spin**2 - GRAVITY / (3 * RADIUS))
    expected = np.array([0.0, *(np.sqrt(complex(square)) * np.array([-1.0, 1.0]))])
    order = np.lexsort
    found = found[order((found.imag.round(6), found.real.round(6)))]
    expected = expected[order((expected.imag.round(6), expected.real.round(6)))]
    assert_near(np.abs(found**2 - expected**2), 0.0, 1e-8, f"squares of eigenvalues at {share} of the limit")
    assert (largest(found.real) > 1e-3) == (share < 1)


@pytest.mark.parametrize("start", [(0.3, -2.0, 0.0, 8.0), (-0.5, 3.0, 2.0, 15.0), (0.1, 0.5, -2.0, 12.0)])
def test_wobble_keeps_energy_and_both_integrals(start: tuple[float, float, float, float]) -> None:
    names = ("lean.q1", "heading.u3", "lean.u1", "disc.u1")
    run = model().simulate(3.0, sample=0.01, initial=dict(zip(names, start, strict=True)), **TIGHT)
    assert_constant(run, "energy", 1e-10)
    x, cosine = np.sin(run["lean.q1"]), np.cos(run["lean.q1"])
    assert np.ptp(x) > 0.1  # it does wobble
    (even, even_slope), (odd, odd_slope) = legendre(x, 0), legendre(x, 1)
    # ω_z = −(1/μ) dω₃/dθ fixes the two constants at the start.
    basis = np.array([[even[0], odd[0]], [even_slope[0] * cosine[0], odd_slope[0] * cosine[0]]])
    a, b = np.linalg.solve(basis, [run["axle"][0], -2 / 3 * run["diameter"][0]])
    assert_near(run["axle"], a * even + b * odd, 1e-9, "angular velocity about the axle")
    slope = (a * even_slope + b * odd_slope) * cosine
    assert_near(run["diameter"], -1.5 * slope, 1e-9, "angular velocity about the diameter")


def free_disc(velocity: str) -> arm.System:
    """The disc as a free body, its lowest point found by a root and held to the plane.

    With velocities in body axes, which turn with the disc, no choice of dependent speeds is good for long.
    """
    s = arm.System("free disc")
    m, R = s.parameter("m", 0.2, units="kg"), s.parameter("R", RADIUS, units="m")
    inertia = (m * R**2 / 4, m * R**2 / 2, m * R**2 / 4)
    disc = s.body("disc", joint=arm.Free("quaternion", velocity), mass=m, inertia=inertia)
    up = s.ground.z
    s.gravity(GRAVITY, -up)
    lowest: Any = -R * arm.direction(arm.project(up, disc.y))
    slip = arm.velocity(disc) + arm.cross(arm.angular_velocity(disc), lowest)
    s.constrain(arm.dot(arm.position(disc) + lowest, up), name="touches")
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, up), strict=True):
        s.constrain(arm.dot(slip, axis), name=f"no slip along {letter}")
    for letter, axis in zip("xy", (s.ground.x, s.ground.y), strict=True):
        s.output(letter, arm.dot(arm.position(disc) + lowest, axis), units="m")
    s.output("gap", arm.dot(arm.position(disc) + lowest, up), units="m")
    s.output("energy", s.total_energy(), units="J")
    return s


@pytest.mark.parametrize("velocity", ["parent", "body"])
def test_free_body_with_quaternions_draws_the_same_path(velocity: str) -> None:
    """Euler parameters, and the velocity of the centre in either axes."""
    lean, yaw_rate, spin = 0.3, -2.0, 8.0
    start = {"lean.q1": lean, "heading.u3": yaw_rate, "disc.u1": spin}
    expected = model().simulate(0.5, sample=0.02, initial=start, **TIGHT)
    eom = free_disc(velocity).derive()
    assert eom.redundant_constraints == ("no slip along z",)  # which is the rate of what touches
    start = {
        "disc.q1": 0.0, "disc.q2": -RADIUS * math.sin(lean), "disc.q3": RADIUS * math.cos(lean),
        "disc.q4": math.cos(lean / 2), "disc.q5": math.sin(lean / 2),
        "disc.u4": 0.0, "disc.u5": spin + yaw_rate * math.sin(lean), "disc.u6": yaw_rate * math.cos(lean),
    }  # fmt: skip
    run = eom.compile().simulate(0.5, sample=0.02, initial=start, **TIGHT)
    assert_near(run["x"], expected["heading.q1"], 1e-9, "x of the contact point")
    assert_near(run["y"], expected["heading.q2"], 1e-9, "y of the contact point")
    assert_near(run["gap"], 0.0, 1e-10, "gap from the plane")
    assert_constant(run, "energy", 1e-10)
