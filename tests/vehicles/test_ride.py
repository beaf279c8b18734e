"""Ride over roads with ISO 2631-1, and the handling diagram against its closed form."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

TYRE = veh.BrushTyre(slip_stiffness=18.0, friction=1.0, vertical_damping=300.0, radius=0.32)
SPEED = 15.0


@cache
def car() -> veh.Car:
    """On a wave of 4 mm and 5 m: 3 Hz at 15 m/s."""
    x = np.arange(-5, 100, 0.1)
    table = arm.Table(x, 0.004 * np.sin(2 * np.pi * x / 5), kind="smooth", x_units="m", y_units="m")
    return veh.fourteen_freedom_car(TYRE, TYRE, road=veh.Road(lambda x, y: table(x)))


def test_a_sine_is_weighted_by_the_factor_of_its_frequency() -> None:
    """Factors of ISO 2631-1, table 3, at 1, 4 and 8 Hz: 0.482, 0.967, 1.036 for Wk, 1.011 at 1 Hz for Wd."""
    t = np.arange(0, 20, 0.005)
    for frequency, kind, factor in ((1, "Wk", 0.482), (4, "Wk", 0.967), (8, "Wk", 1.036), (1, "Wd", 1.011)):
        weighted = veh.weigh(2.0 * np.sin(2 * np.pi * frequency * t), 0.005, kind)
        assert np.isclose(np.sqrt(np.mean(weighted**2)), factor * 2 / np.sqrt(2), rtol=2e-3)


def test_ride_over_a_wave_has_the_response_of_the_linear_car() -> None:
    """Heave and pitch of a linear car on its springs and tyres, by its complex equations of motion, at 3 Hz:
    the vertical acceleration of the mass centre within 3 %, for dampers and tyres are nearly linear here.
    """
    found = veh.ride(car(), speed=SPEED, duration=6.0, settle=2.0)
    omega = 2 * np.pi * SPEED / 5
    a, b = 1.2, 1.5
    corner = [(25e3, 2200.0, a), (28e3, 2400.0, -b)]  # one side each; both sides move alike
    matrix = np.zeros((4, 4), dtype=complex)  # heave, pitch (nose down), front and rear unsprung mass
    matrix[0, 0], matrix[1, 1] = -(omega**2) * 1350, -(omega**2) * 2100
    load = np.zeros(4, dtype=complex)
    for i, (spring, damper, place) in enumerate(corner):
        rate = 2 * (spring + 1j * omega * damper)
        tyre = 2 * (2e5 + 1j * omega * 300)
        row = np.array([1.0, -place])  # rise of the body over the axle
        matrix[:2, :2] += rate * np.outer(row, row)
        matrix[:2, 2 + i] -= rate * row
        matrix[2 + i, :2] -= rate * row
        matrix[2 + i, 2 + i] += rate + tyre - omega**2 * 2 * 60
        load[2 + i] = tyre * 0.004 * np.exp(1j * omega * place / SPEED)
    heave = np.linalg.solve(matrix, load)[0]
    acceleration = abs(heave) * omega**2 / np.sqrt(2)
    weight = float(arm.iso2631_weighting(np.array([3.0]), "Wk")[0])
    assert np.isclose(found["weighted vertical acceleration"], weight * acceleration, rtol=0.03)
    assert found["dynamic load coefficient, front"] > 0.02
    assert found.verdict in ("not uncomfortable", "a little uncomfortable", "fairly uncomfortable")
    with pytest.raises(arm.ModelError, match="must end before"):
        veh.ride(car(), speed=SPEED, duration=1.0)


def test_the_handling_diagram_of_a_linear_car_is_a_line(tmp_path: object) -> None:
    """δ − L/R = K ay with the textbook's K; angles are small enough that tan δ is δ to 1e-3."""
    linear = veh.single_track_car(*(veh.LinearTyre(c, relaxation_alpha=0.4) for c in (6e4, 7e4)))
    found = veh.handling_diagram(linear, speed=25.0, steer=[0.002, 0.005, 0.01])
    gradient = 1500 / 2.7 * (1.5 / 1.2e5 - 1.2 / 1.4e5)
    assert np.allclose(found.understeer_gradient, gradient, rtol=2e-3)
    assert np.allclose(found.excess, gradient * found.lateral_acceleration, rtol=2e-3)
    assert len(found.table().splitlines()) == 5
    with pytest.raises(arm.ModelError, match="has no brakes"):
        veh.gg_diagram(linear, speed=25.0)
    with pytest.raises(arm.ModelError, match="does not heave"):
        veh.ride(linear, speed=25.0)
