"""Linear, brush, Fiala, TMeasy and table tyres against the integrals and curves that they stand for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

LOAD = 4000.0


@cache
def tyres() -> dict[str, veh.Tyre]:
    slip, load = np.linspace(0, 0.6, 31), np.array([0.0, 4000.0, 8000.0])
    along = arm.Table2(slip, load, np.tanh(15 * slip)[:, None] * load, kind="smooth")
    across = arm.Table2(slip, load, np.tanh(12 * slip)[:, None] * load, kind="smooth")
    curves = {
        "along": (veh.Curve(90e3, 0.11, 3.7e3, 0.5, 3.2e3), veh.Curve(160e3, 0.125, 6.9e3, 0.7, 6.0e3)),
        "across": (veh.Curve(70e3, 0.18, 3.3e3, 0.6, 3.1e3), veh.Curve(120e3, 0.2, 6.0e3, 0.8, 5.7e3)),
    }
    return {
        "linear": veh.LinearTyre(8e4, slip_stiffness=1e5, camber_stiffness=4e3, trail=0.03, per_load=True),
        "brush": veh.BrushTyre(20.0, 1.1),
        "fiala": veh.FialaTyre(1e5, 8e4),
        "tmeasy": veh.TMeasyTyre(**curves, nominal_load=3800.0),
        "table": veh.TableTyre(along, across, 0.15, 0.18),
    }


def test_the_brush_is_the_integral_over_its_bristles() -> None:
    """Bristles of stiffness c along the contact −a…a deform by σ (a − x), up to the friction of a parabolic
    pressure, which slides along the same direction; the moment is that of their forces.
    """
    a, mu, c = 0.06, 1.1, 20.0 * LOAD / (2 * 0.06**2)
    tyre = tyres()["brush"]
    x = (np.arange(20_000) + 0.5) / 20_000 * 2 * a - a
    limit = mu * 3 / 4 * LOAD / a * (1 - (x / a) ** 2)
    for kappa, alpha in ((0.0, 0.05), (0.05, 0.05), (-0.1, 0.02), (0.3, -0.3), (0.02, 0.0)):
        sigma = np.array([kappa, -np.tan(alpha)]) / (1 + kappa)
        size = np.hypot(*sigma)
        force = np.minimum(c * size * (a - x), limit) * (2 * a / len(x))
        found = tyre.evaluate(LOAD, kappa, alpha)
        assert np.allclose([found.fx, found.fy], np.sum(force) * sigma / size, atol=1e-2)
        assert np.isclose(found.mz, np.sum(force * x) * sigma[1] / size, atol=1e-2)


def test_fiala_has_its_closed_form() -> None:
    tyre = tyres()["fiala"]
    alpha = np.array([0.02, 0.08, 0.3])
    mu = 1.0 - 0.2 * np.tan(alpha)
    h = 1 - np.minimum(8e4 * np.tan(alpha) / (3 * mu * LOAD), 1)
    found = tyre.evaluate(LOAD, 0.0, alpha)
    assert np.allclose(found.fy, -mu * LOAD * (1 - h**3))
    assert np.allclose(found.mz, mu * LOAD * 0.2 * (1 - h) * h**3)
    mu = 1.0 - 0.2 * 0.2
    assert np.isclose(tyre.evaluate(LOAD, 0.2, 0.0).fx, mu * LOAD - (mu * LOAD) ** 2 / (4 * 0.2 * 1e5))
    assert np.isclose(tyre.evaluate(LOAD, 0.01, 0.0).fx, 1e5 * 0.01)


def test_tmeasy_goes_through_its_points() -> None:
    """At both loads: slope at zero, maximum with slope zero, and sliding, with the mean of their forces
    midway, since the fall between them is a cubic; slips are κ/(1 + κ) there.
    """
    tyre = tyres()["tmeasy"]
    for curves, kind in ((tyre.along, "kappa"), (tyre.across, "alpha")):  # type: ignore[attr-defined]
        for load, curve in zip((3800.0, 7600.0), curves, strict=True):
            most, sliding = (curve.slip_max, curve.force_max), (curve.slip_sliding, curve.force_sliding)
            for slip, force in (most, np.add(most, sliding) / 2, sliding):
                given = (
                    {"kappa": slip / (1 - slip), "alpha": 0.0}
                    if kind == "kappa"
                    else {"kappa": 0.0, "alpha": np.arctan(slip)}
                )
                found = tyre.evaluate(load, **given)
                value = found.fx if kind == "kappa" else -found.fy
                assert np.isclose(value, force, rtol=1e-9), (kind, load, slip)
                slope = tyre.derivatives(load, **given)[kind]
                level = abs(slope.fx if kind == "kappa" else slope.fy) < 1e-4 * curve.slope
                assert level == (slip in (curve.slip_max, curve.slip_sliding))
            if kind == "alpha":
                assert np.isclose(tyre.derivatives(load, 0.0, 0.0)["alpha"].fy, -curve.slope, rtol=1e-9)
    with pytest.raises(arm.ModelError, match="slips must rise"):
        veh.Curve(9e4, 0.5, 3e3, 0.2, 3e3)
    with pytest.raises(arm.ModelError, match="must be at least twice force_max"):
        veh.Curve(9e3, 0.1, 3e3, 0.2, 3e3)


def test_a_tmeasy_tyre_alike_in_all_directions_pushes_against_its_slip() -> None:
    """With the same curves along and across: the size of pure slip, in the direction of the slip."""
    curves = tyres()["tmeasy"].along  # type: ignore[attr-defined]
    tyre = changed("tmeasy", along=curves, across=curves)
    pure = np.array([0.05, 0.11, 0.3, 0.7])
    expected = tyre.evaluate(5000.0, pure / (1 - pure), 0.0).fx
    for turn in (0.3, 1.2):
        x, y = pure * np.cos(turn), pure * np.sin(turn)
        found = tyre.evaluate(5000.0, x / (1 - x), np.arctan(y / (1 - x)))
        assert np.allclose(found.fx, expected * np.cos(turn), rtol=1e-9)
        assert np.allclose(found.fy, -expected * np.sin(turn), rtol=1e-9)


def test_a_table_tyre_is_its_tables_in_pure_slip() -> None:
    tyre = tyres()["table"]
    slip = np.array([0.02, 0.1, 0.4])
    assert np.allclose(tyre.evaluate(LOAD, slip, 0).fx, np.tanh(15 * slip) * LOAD, rtol=1e-3)
    assert np.allclose(tyre.evaluate(LOAD, 0, -slip).fy, np.tanh(12 * slip) * LOAD, rtol=1e-3)
    both = tyre.evaluate(LOAD, slip, slip)
    assert np.all(np.hypot(both.fx, both.fy) < 1.01 * LOAD)


@pytest.mark.parametrize("name", ["linear", "brush", "fiala", "tmeasy", "table"])
def test_tyres_push_against_slip_and_without_load_not_at_all(name: str) -> None:
    tyre = tyres()[name]
    assert tyre.evaluate(LOAD, 0.05, 0).fx > 0 > tyre.evaluate(LOAD, 0, 0.05).fy
    lifted = tyre.evaluate(-10.0, np.array([-1.0, 0, 0.1]), np.array([0.1, 0, 0.2]))
    assert all(np.max(np.abs(x)) < 1e-6 for x in lifted)
    slopes = tyre.derivatives(np.array([0.0, LOAD, LOAD, LOAD]), np.array([0.0, 0, -1, 0.1]), 0.0)
    assert all(np.all(np.isfinite(x)) for forces in slopes.values() for x in forces)


@pytest.mark.parametrize("name", ["brush", "fiala", "tmeasy", "table"])
def test_derivatives_are_those_of_the_forces(name: str) -> None:
    """Central differences of 1e-5 of the input, to 1e-6 of the slope: the rounding of one in five digits."""
    tyre = tyres()[name]
    point = {"fz": 3500.0, "kappa": 0.03, "alpha": 0.04, "gamma": 0.0}
    slopes = tyre.derivatives(**point)
    for by in ("fz", "kappa", "alpha"):
        step = 1e-5 * point[by]
        high, low = (tyre.evaluate(**{**point, by: point[by] + sign * step}) for sign in (1, -1))
        for exact, a, b in zip(slopes[by], high, low, strict=True):
            assert np.isclose(exact, (a - b) / (2 * step), rtol=1e-6, atol=1e-6)


def changed(name: str, **numbers: object) -> veh.Tyre:
    return replace(tyres()[name], **numbers)  # type: ignore[type-var]


@pytest.mark.parametrize("name", ["linear", "brush", "fiala", "tmeasy", "table"])
def test_rolling_resistance_is_a_force_at_the_radius_against_the_rolling(name: str) -> None:
    tyre = changed(name, rolling_resistance=0.012, radius=0.31)
    for rolling in (1.0, -1.0):
        found = tyre.forces(LOAD, 0.02, 0.01, rolling=rolling)
        assert np.isclose(found.my, -0.012 * 0.31 * LOAD * rolling) and found.mx == 0
    assert tyre.forces(-LOAD, 0.02, 0.01).my == 0


def test_linear_tyres_have_the_moments_of_slip_and_camber() -> None:
    tyre = changed("linear", camber_moment=50.0)
    for load, share in ((LOAD, 1.0), (2 * LOAD, 2.0)):
        for rolling in (1.0, -1.0):
            found = tyre.forces(load, 0.03, 0.02, 0.1, rolling=rolling)
            moment = 0.03 * 8e4 * 0.02 * rolling - 50 * 0.1
            assert np.allclose([found.fx, found.fy, found.mz],
                               [share * 3e3, -share * (8e4 * 0.02 + 4e3 * 0.1), share * moment])  # fmt: skip
    fixed = changed("linear", per_load=False)
    assert fixed.forces(2 * LOAD, 0.03, 0.02).fy == fixed.forces(LOAD, 0.03, 0.02).fy == -8e4 * 0.02


def test_the_trail_of_a_brush_is_a_sixth_of_its_contact() -> None:
    """a/3 at small slip; a, half the length, goes with the root of the load."""
    tyre = changed("brush", half_length=0.07, nominal_load=3000.0)
    for load in (750.0, 3000.0):
        found = tyre.forces(load, 0.0, 1e-6)
        assert np.isclose(-found.mz / found.fy, 0.07 * np.sqrt(load / 3000) / 3, rtol=1e-4)


def test_the_trail_of_tmeasy_goes_through_its_points() -> None:
    """n/L is 0.15 at zero slip, zero at 0.25 and beyond 0.4, and less than zero between; L goes with √Fz."""
    tyre = changed("tmeasy", length=0.13, offset=0.15, offset_zero=0.25, offset_end=0.4)

    def offset(slip: float, load: float = 3800.0) -> float:
        found = tyre.forces(load, 0.0, np.arctan(slip))
        return float(-found.mz / found.fy / (0.13 * np.sqrt(load / 3800)))

    assert np.allclose([offset(1e-6), offset(1e-6, 950.0), offset(0.25), offset(0.4), offset(0.7)],
                       [0.15, 0.15, 0, 0, 0], atol=1e-5)  # fmt: skip
    assert offset(0.3) < -1e-3 and offset(0.2) > 1e-3
    falls = [(offset(x + 1e-5) - offset(x - 1e-5)) / 2e-5 for x in (0.25 - 2e-5, 0.25 + 2e-5)]
    assert np.isclose(*falls, rtol=1e-2)  # without a corner where it passes zero


def test_a_table_tyre_has_its_table_of_moments_and_its_camber() -> None:
    slip, load = np.linspace(0, 0.6, 4), np.array([0.0, 4000.0, 8000.0])
    table = arm.Table2(slip, load, (5 - 10 * slip)[:, None] * load / 1000)
    tyre = changed("table", aligning=table, camber_stiffness=0.8)
    found, back = (tyre.forces(LOAD, 0.0, 0.2, 0.05, rolling=rolling) for rolling in (1.0, -1.0))
    assert np.isclose(found.mz, (5 - 10 * 0.2) * 4) and back.mz == -found.mz
    assert np.isclose(found.fy, tyre.forces(LOAD, 0.0, 0.2).fy - 0.8 * LOAD * 0.05)


@pytest.mark.parametrize(("name", "expected"), [
    ("linear", (1e6, 1e6)), ("brush", (3 * 1.1 / 20, 3 * 1.1 / 20)),
    ("fiala", (3 * LOAD / 1e5, 3 * LOAD / 8e4)), ("tmeasy", (0.11, 0.18)), ("table", (0.15, np.tan(0.18))),
])  # fmt: skip
def test_tyres_say_where_they_slide(name: str, expected: tuple[float, float]) -> None:
    assert np.allclose(tyres()[name].sliding_slips(LOAD), expected)


@pytest.mark.parametrize("name", ["brush", "fiala"])
def test_sliding_tyres_have_a_share_of_their_force_on_a_smoother_road(name: str) -> None:
    tyre = tyres()[name]
    for kappa, alpha in ((5.0, 0.0), (0.0, 0.7)):
        full, half = tyre.forces(LOAD, kappa, alpha), tyre.with_friction(0.5).forces(LOAD, kappa, alpha)
        assert np.allclose([half.fx, half.fy], [full.fx / 2, full.fy / 2], rtol=2e-3)


def test_tmeasy_keeps_its_forces_under_the_load_of_a_landing() -> None:
    """The parabolas of these curves pass zero at 20 kN, where the forces were not finite and changed sign."""
    along = veh.Curve(90e3, 0.11, 3.3e3, 0.4, 3.2e3), veh.Curve(160e3, 0.10, 6.5e3, 0.5, 6.2e3)
    across = veh.Curve(70e3, 0.18, 3.1e3, 0.6, 3.1e3), veh.Curve(105e3, 0.22, 5.4e3, 0.8, 5.4e3)
    tyre = veh.TMeasyTyre(along, across, 4000.0)
    loads = np.linspace(50.0, 60e3, 1200)
    side = -tyre.evaluate(loads[:, None], 0.0, np.radians([0.5, 3.0, 10.0])).fy
    force = tyre.evaluate(loads[:, None], np.array([0.01, 0.08, 0.5]), 0.0).fx
    for found in (side, force):
        assert np.all(np.isfinite(found)) and np.all(found > 0)
        assert np.max(np.abs(np.diff(found, axis=0))) < 60.0  # N for steps of 50 N: nothing jumps
    # The maxima: the parabola 3.5 q − 0.4 q² kN until its vertex at q = 4.375, then its value there.
    assert tyre.evaluate(16e3, 0.0, np.arctan(0.30)).fy == pytest.approx(-(3.5 * 4 - 0.4 * 16) * 1e3)
    assert tyre.evaluate(40e3, 0.0, np.arctan(0.18 + 0.04 * 9)).fy == pytest.approx(-(3.5e3**2) / (4 * 400))
