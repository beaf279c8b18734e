"""Orbital elements: published numbers, there and back, Kepler's equation, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm

EARTH = 398600.4418  # km³/s²


def test_elements_of_a_published_state() -> None:
    """Vallado (2013), Fundamentals of Astrodynamics and Applications, example 2-5; digits as printed."""
    orbit = arm.Orbit.from_state(EARTH, (6524.834, 6862.875, 6448.296), (4.901327, 5.533756, -1.976341))
    assert orbit.p == pytest.approx(11067.790, abs=0.02)
    assert orbit.a == pytest.approx(36127.343, abs=0.2)
    assert orbit.e == pytest.approx(0.832853, abs=1e-6)
    angles = [math.degrees(x) % 360 for x in (orbit.i, orbit.raan, orbit.argp, orbit.nu)]
    assert angles == pytest.approx([87.870, 227.898, 53.38, 92.335], abs=0.005)


def test_a_published_state_from_its_elements() -> None:
    """Vallado (2013), example 2-6: the way back. Angles are printed to 0.005 deg, worth a relative 1e-4, and
    the true anomaly to 0.0005 deg; the state comes from unrounded ones."""
    orbit = arm.Orbit(
        EARTH, p=11067.790, e=0.83285, i="87.87 deg", raan="227.89 deg", argp="53.38 deg", nu="92.335 deg"
    )
    np.testing.assert_allclose(orbit.position, [6525.344, 6861.535, 6449.125], rtol=1e-5)
    np.testing.assert_allclose(orbit.velocity, [4.902276, 5.533124, -1.975709], rtol=1e-5)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.95, 1.0, 1.7])
@pytest.mark.parametrize("i", [0.0, 0.9, math.pi / 2, 2.5])
def test_there_and_back(e: float, i: float) -> None:
    orbit = arm.Orbit(EARTH, periapsis=8000.0, e=e, i=i, raan=0.4, argp=-1.1, nu=0.8)
    again = arm.Orbit.from_state(EARTH, orbit.position, orbit.velocity)
    np.testing.assert_allclose(again.position, orbit.position, rtol=1e-12, atol=1e-8)
    np.testing.assert_allclose(again.velocity, orbit.velocity, rtol=1e-12, atol=1e-11)
    assert again.e == pytest.approx(e, abs=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.6, 0.97, 1.0, 2.2])
def test_kepler_against_an_integration(e: float) -> None:
    from scipy.integrate import solve_ivp

    orbit = arm.Orbit(1.0, periapsis=1.0, e=e, i=0.5, raan=1.0, argp=2.0, nu=-1.2)

    def fall(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], -y[:3] / np.linalg.norm(y[:3]) ** 3])

    start = np.concatenate([orbit.position, orbit.velocity])
    end = solve_ivp(fall, (0, 7.0), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    later = orbit.after(7.0)
    np.testing.assert_allclose(np.concatenate([later.position, later.velocity]), end, atol=2e-11)


@pytest.mark.parametrize(("e", "a"), [(0.0, 7000.0), (0.2, 9000.0), (0.9, 40000.0), (1.5, -20000.0)])
def test_each_way_to_state_the_size_gives_the_same_orbit(e: float, a: float) -> None:
    """r = p / (1 + e cos ν), nearest at ν = 0: periapsis a (1 − e), and p = a (1 − e²)."""
    nearest = a * (1 - e)
    sizes: list[dict[str, float]] = [
        {"a": a},
        {"p": a * (1 - e**2)},
        {"periapsis": nearest},
        {"altitude": nearest - 6378.0, "radius": 6378.0},
    ]
    for size in sizes:
        orbit = arm.Orbit(EARTH, **size, e=e, i=0.4, raan=1.0, argp=0.3)
        assert orbit.a == pytest.approx(a) and orbit.p == pytest.approx(a * (1 - e**2))
        assert np.linalg.norm(orbit.position) == pytest.approx(nearest)
        speed = math.sqrt(EARTH * (2 / nearest - 1 / a))  # vis viva
        assert np.linalg.norm(orbit.velocity) == pytest.approx(speed)


def test_a_period_leads_back() -> None:
    orbit = arm.Orbit(EARTH, altitude=500.0, radius=6378.0, e=0.1, i="98 deg")
    assert orbit.a * (1 - orbit.e) == pytest.approx(6878.0)
    assert orbit.period == pytest.approx(2 * math.pi * math.sqrt(orbit.a**3 / EARTH))
    np.testing.assert_allclose(orbit.after(orbit.period).position, orbit.position, rtol=1e-12, atol=1e-8)
    assert arm.Orbit(EARTH, p=8000.0, e=1.2).period == math.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"a": 7000.0, "mu": -1.0}, "mu=-1.0 is not positive"),
        ({"a": 7000.0, "e": -0.1}, "negative"),
        ({"a": 7000.0, "p": 6000.0}, "give one of a, p, periapsis or altitude, not a, p"),
        ({}, "not none"),
        ({"a": 7000.0, "e": 1.0}, "a parabola has none"),
        ({"a": 7000.0, "e": 1.5}, "give a negative one for a hyperbola"),
        ({"a": -7000.0}, "positive one for an ellipse"),
        ({"altitude": 500.0}, "altitude= and radius="),
        ({"p": 7000.0, "radius": 6378.0}, "altitude= and radius="),
        ({"periapsis": -1.0}, "no distance"),
        ({"p": 9000.0, "e": 2.0, "nu": "120 deg"}, r"beyond the asymptote.*within ±120 deg"),
        ({"p": 9000.0, "e": 1.0, "nu": math.pi}, "beyond the asymptote"),
        ({"a": 7000.0, "i": "51.6 degrees of arc"}, "not an angle"),
        ({"a": 7000.0, "i": "3 m"}, "not an angle"),
        ({"a": 7000.0, "nu": math.nan}, "not a finite number"),
        ({"a": "7000 km"}, "not a finite number"),
    ],
)
def test_what_is_no_orbit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(arm.ModelError, match=message):
        arm.Orbit(options.pop("mu", EARTH), **options)


@pytest.mark.parametrize(
    ("position", "velocity", "message"),
    [
        ((7000.0, 0, 0), (1.0, 0, 0), "along one line"),
        ((7000.0, 0, 0), (0, 0, 0), "along one line"),
        ((7000.0, 0), (0, 7.0, 0), "not three finite numbers"),
        ((7000.0, 0, 0), (0, math.inf, 0), "not three finite numbers"),
    ],
)
def test_states_that_have_no_orbit(position: Any, velocity: Any, message: str) -> None:
    with pytest.raises(arm.ModelError, match=message):
        arm.Orbit.from_state(EARTH, position, velocity)
