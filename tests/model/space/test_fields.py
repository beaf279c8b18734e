"""Gravity fields as numbers: against their own potential, exact differences, and swarms of point masses."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest

from armillary.model.space.attraction import (
    GravitySource,
    acceleration,
    acceleration_change,
    extended_body,
    potential,
)

AXIS = np.array([0.36, 0.48, 0.8])
ROUND = GravitySource(4.0e14)
OBLATE = GravitySource(4.0e14, 4.0e14 * 1e-3 * (6.4e6) ** 2 / 2, tuple(AXIS))


@pytest.mark.parametrize("source", [ROUND, OBLATE], ids=["round", "oblate"])
def test_acceleration_is_the_slope_of_the_potential(source: GravitySource) -> None:
    r = np.array([5.0e6, -4.0e6, 3.0e6])
    h = 50.0  # error of fourth order: (h/r)⁴
    slope = []
    for axis in np.eye(3):
        u = [potential(source, tuple(r + k * h * axis)) for k in (-2, -1, 1, 2)]
        slope.append((u[0] - 8 * u[1] + 8 * u[2] - u[3]) / (12 * h))
    np.testing.assert_allclose(acceleration(source, tuple(r)), -np.array(slope), rtol=0, atol=2e-9)


def test_oblateness_adds_what_the_textbook_says() -> None:
    """At the pole and at the equator: factors −3 J2 (R/r)² and +3/2 J2 (R/r)² of the round field.

    Source: Montenbruck & Gill (2000), section 3.2, the second zonal harmonic on the axis and in the equator.
    """
    mu, J2, R, r = 1.0, 1e-3, 1.0, 2.0
    source = GravitySource(mu, mu * J2 * R**2 / 2, (0, 0, 1))
    pole, equator = acceleration(source, (0, 0, r)), acceleration(source, (r, 0, 0))
    np.testing.assert_allclose(pole, [0, 0, -(1 - 3 * J2 / 4) / 4], rtol=1e-15)
    np.testing.assert_allclose(equator, [-(1 + 1.5 * J2 / 4) / 4, 0, 0], rtol=1e-15)


def test_differences_keep_their_digits() -> None:
    """Over a metre at 7000 km, against fifty decimal digits; plain subtraction keeps about eight."""
    getcontext().prec = 50
    base, step = (4.1e6, -5.2e6, 2.3e6), (0.7, 0.4, -0.6)

    def exact(place: list[Decimal]) -> list[Decimal]:
        cube = sum(x * x for x in place) ** Decimal("1.5")
        return [-Decimal("4.0e14") * x / cube for x in place]

    here, there = (
        [Decimal(x) for x in base],
        [Decimal(x) + Decimal(s) for x, s in zip(base, step, strict=True)],
    )
    wanted = [float(a - b) for a, b in zip(exact(there), exact(here), strict=True)]
    np.testing.assert_allclose(acceleration_change(ROUND, base, step), wanted, rtol=1e-14)


@pytest.mark.parametrize("source", [ROUND, OBLATE], ids=["round", "oblate"])
def test_change_is_the_difference_however_far(source: GravitySource) -> None:
    base, step = np.array([7.0e6, 1.0e6, -2.0e6]), np.array([3.0e7, -4.0e7, 1.0e6])
    wanted = np.array(acceleration(source, tuple(base + step))) - acceleration(source, tuple(base))
    np.testing.assert_allclose(acceleration_change(source, tuple(base), tuple(step)), wanted, rtol=1e-12)


SWARM = np.array([[1.0, 0, 0], [-0.4, 1.2, 0.1], [0.3, -0.5, 0.9], [-0.7, 0.2, -0.8], [0.1, -0.9, -0.3]])
MASSES = np.array([2.0, 1.0, 3.0, 1.5, 2.5])


def swarm(
    source: GravitySource, r: np.ndarray, size: float
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Energy, force and moment on point masses about r, beyond those on one mass at r; and their inertia.

    Each mass has its mirror image, so that terms of third order vanish and fourth order is what is left.
    """
    places = size * (SWARM - MASSES @ SWARM / MASSES.sum())
    places, masses = np.vstack([places, -places]), np.concatenate([MASSES, MASSES])
    energy = sum(
        m * (potential(source, tuple(r + p)) - potential(source, tuple(r)))
        for m, p in zip(masses, places, strict=True)
    )
    pulls = [
        m * np.array(acceleration_change(source, tuple(r), tuple(p)))
        for m, p in zip(masses, places, strict=True)
    ]
    moment = sum(np.cross(p, f) for p, f in zip(places, pulls, strict=True))
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, places, strict=True))
    return energy, sum(pulls), moment, inertia


@pytest.mark.parametrize("k", [0.0, 0.4], ids=["round", "oblate"])
def test_second_order_against_point_masses(k: float) -> None:
    """What is left falls with the square of the size once more: fourth order of a swarm with mirror images.

    In units of the distance, so that rounding does not hide it; the oblateness is that of no planet.
    """
    source, r = GravitySource(1.0, k, tuple(AXIS)), np.array([0.8, -0.5, 0.33])
    left = []
    for size in (0.02, 0.01):
        energy, force, moment, inertia = swarm(source, r, size)
        found = extended_body(source, tuple(r), tuple(map(tuple, inertia)))
        pairs = ((found.energy, energy), (found.force, force), (found.moment, moment))
        for number, wanted in pairs:
            np.testing.assert_allclose(number, wanted, atol=0.1 * np.max(np.abs(wanted)))
        left.append([np.linalg.norm(np.subtract(a, b)) / np.linalg.norm(b) for a, b in pairs])
    ratios = np.array(left[0]) / left[1]
    np.testing.assert_allclose(ratios, 4.0, rtol=0.1)
