"""The Magic Formula against an independent implementation, in two conventions, and its smoothness."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

DATA = Path(__file__).parent / "data"
INPUTS = ("fz", "kappa", "alpha", "gamma", "pressure")


@cache
def values(name: str) -> np.ndarray:
    """Reference points by the names of their columns."""
    return np.genfromtxt(DATA / f"{name}_values.csv", delimiter=",", names=True)


@cache
def tyre(convention: str = "tno", name: str = "made_up_61") -> veh.MagicFormula:
    return veh.read_tyre(DATA / f"{name}.tir", convention=convention)


def test_friction_falls_with_the_speed_of_sliding() -> None:
    """λ*μ = λμ/(1 + λμV Vs/V0), (4.E7) of Pacejka: half at Vs = V0 for λμV = 1."""
    data = DATA / "made_up_61.tir"
    falling = veh.read_tyre(data, changes={"LMUV": 1.0})
    given = falling.coefficients
    half = veh.read_tyre(data, changes={"LMUV": 0.0} | {k: given[k] / 2 for k in ("LMUX", "LMUY")})
    speed = given["LONGVL"]
    for kappa, alpha in ((0.2, 0.0), (0.05, 0.1)):
        found = falling.forces(4000.0, kappa, alpha, sliding=speed)
        assert np.allclose(found, half.forces(4000.0, kappa, alpha), rtol=1e-12)
        assert not np.allclose(found, falling.forces(4000.0, kappa, alpha), rtol=0.1)


@pytest.mark.parametrize("convention", ["tno", "book"])
def test_forces_are_those_of_the_reference(convention: str) -> None:
    """To 1e-12 of the largest value of each column; 5e-16 is found."""
    table = values("made_up_61")
    found = tyre(convention).evaluate(*[table[name] for name in INPUTS])
    for name, value in found._asdict().items():
        reference = table[f"{convention}_{name}"]
        assert np.max(np.abs(value - reference)) <= 1e-12 * np.max(np.abs(reference)), name


@pytest.mark.parametrize("convention", ["tno", "book"])
def test_derivatives_are_those_of_the_reference(convention: str) -> None:
    """To 1e-10 of the largest value of each column; 1e-15 is found. At γ = 0 it is that of γ > 0."""
    table = values("made_up_61")
    found = tyre(convention).derivatives(*[table[name] for name in INPUTS])
    for by, slopes in found.items():
        for name in ("fx", "fy", "mz"):
            reference = table[f"{convention}_d{name}_d{by}"]
            error = np.max(np.abs(getattr(slopes, name) - reference))
            assert error <= 1e-10 * np.max(np.abs(reference)), (name, by)


def test_version_52_has_the_forces_of_the_reference() -> None:
    table = values("mf_185_80R14")
    old = tyre(name="mf_185_80R14")
    inputs = [table[name] for name in INPUTS[:4]]
    whole = old.evaluate(*inputs)
    pure = old.pure(*inputs)
    for name, value in zip(
        ("fx", "fy", "mz", "fx0", "fy0", "mz0"), (whole.fx, whole.fy, whole.mz, *pure), strict=True
    ):
        assert np.max(np.abs(value - table[name])) <= 1e-12 * np.max(np.abs(table[name])), name


def test_the_formula_over_expressions_is_that_over_numbers() -> None:
    """To rounding: the algebra orders sums and products anew."""
    s = arm.System("tyre")
    symbols = [s.parameter(name, 1.0) for name in INPUTS]
    table = values("made_up_61")
    found = tyre().forces(*symbols)
    plain = tyre().evaluate(*[table[name] for name in INPUTS])
    for expression, numbers in zip(found, plain, strict=True):
        value = arm.evaluate(expression, {name: table[name] for name in INPUTS})
        assert np.max(np.abs(value - numbers)) <= 1e-13 * np.max(np.abs(numbers))


def test_shapes_are_broadcast_and_those_that_do_not_fit_are_named() -> None:
    found = tyre().evaluate(4000, np.zeros((3, 1)), np.linspace(-0.1, 0.1, 4))
    assert found.fy.shape == found.my.shape == (3, 4)
    with pytest.raises(arm.ModelError, match=r"shapes do not fit together: .*kappa \(3,\), alpha \(4,\)"):
        tyre().evaluate(4000, np.zeros(3), np.zeros(4))
    with pytest.raises(arm.ModelError, match="fz must be a number or an array of numbers, not str"):
        tyre().evaluate("heavy", 0, 0)


@pytest.mark.parametrize("convention", ["tno", "book"])
def test_a_wheel_without_load_has_no_force_and_finite_derivatives(convention: str) -> None:
    model = tyre(convention)
    kappa, alpha, gamma = np.meshgrid([-1, 0, 0.2], [-0.2, 0, 0.1], [-0.1, 0, 0.1])
    for load in (-100.0, 0.0):
        assert all(np.all(force == 0) for force in model.evaluate(load, kappa, alpha, gamma))
    for load in (0.0, 1e-9, 1.0):
        slopes = model.derivatives(load, kappa, alpha, gamma, 2.3e5)
        assert all(np.all(np.isfinite(x)) for forces in slopes.values() for x in forces)


@pytest.mark.parametrize("convention", ["tno", "book"])
def test_forces_and_first_derivatives_do_not_jump(convention: str) -> None:
    """Along lines through zero slip, lock and lift-off the change over a step falls with the step. The kinks
    of the formula itself, |γ| at zero camber, are left out: there the derivative by γ may jump.
    """
    model = tyre(convention)
    lines = {
        "kappa": (np.array([-1.0, 0.0, 0.0012]), dict(fz=3000.0, alpha=0.03, gamma=0.02)),
        "alpha": (np.array([-0.01, 0.0, 0.004]), dict(fz=3000.0, kappa=0.02, gamma=0.02)),
        "fz": (np.array([1e-3, 1.0, 50.0]), dict(kappa=0.02, alpha=0.03, gamma=0.02)),
    }
    for name, (places, others) in lines.items():
        for step in (1e-4, 1e-6):
            near = [{**others, name: places + sign * step * np.abs(places)} for sign in (-1, 1)]
            slopes = [model.derivatives(**point)[name] for point in near]
            for low, high in zip(*slopes, strict=True):
                scale = np.maximum(np.abs(low), 1e-3 * np.max(np.abs(low)))
                assert np.all(np.abs(high - low) <= 5e3 * step * scale + 1e-9), (name, step)


def test_straight_running_has_exact_derivatives() -> None:
    """At κ = α = γ = 0 without shifts, where equivalent slips are zero, ∂Fy/∂α is Kyα, ∂Mz/∂α −t Kyα.

    Kyα and t by hand: PKY1 Fz0 sin(PKY4 atan(Fz/Fz0/PKY2)) and QDZ1 R0 at the nominal load and pressure.
    """
    shifts = [
        n for n in tyre().coefficients if n[:3] in ("PHX", "PVX", "PHY", "PVY", "RHX", "RHY", "QHZ", "RVY")
    ]
    extras = {n: 0.0 for n in (*shifts, "SSZ1", "SSZ2", "SSZ3", "SSZ4", "QDZ6", "QDZ7", "QDZ8", "QDZ9")}
    scales = {n: 1.0 for n in tyre().coefficients if n[0] == "L" and n not in ("LONGVL", "LMUV")}
    scales = {n: x for n, x in scales.items() if n[1:4] not in ("ONG", "ATE")}
    plain = veh.read_tyre(DATA / "made_up_61.tir", changes={**extras, **scales, "QDZ10": 0.0, "QDZ11": 0.0})
    c = plain.coefficients
    slopes = plain.derivatives(c["FNOMIN"], 0.0, 0.0, 0.0, c["NOMPRES"])["alpha"]
    stiffness = c["PKY1"] * c["FNOMIN"] * np.sin(c["PKY4"] * np.arctan(1 / c["PKY2"]))
    assert np.isclose(slopes.fy, stiffness, rtol=1e-9)  # ε = 1e-6 N in B
    assert np.isclose(slopes.mz, -c["QDZ1"] * c["UNLOADED_RADIUS"] * stiffness, rtol=1e-6)  # ε of the speed
    assert slopes.fx == 0


def test_backward_rolling_turns_trail_and_rolling_resistance() -> None:
    ahead = tyre().forces(3000.0, 0.0, 0.05, 0.0)
    back = tyre().forces(3000.0, 0.0, 0.05, 0.0, rolling=-1.0)
    assert (back.fy, back.my) == (ahead.fy, -ahead.my)
    assert np.isclose(ahead.mz, -back.mz, rtol=0.2)  # the lever of Fx, which is not zero at κ = 0, stays


def test_limits_of_input_and_curvature_are_options() -> None:
    path = DATA / "mf_185_80R14.tir"
    plain, kept = veh.read_tyre(path), veh.read_tyre(path, limit_inputs=True)
    assert kept.evaluate(3000, 0, 0.1, 0.5) == plain.evaluate(3000, 0, 0.1, 0.26181)
    assert kept.evaluate(20000, 0.1, 0.1) == plain.evaluate(8550, 0.1, 0.1)
    curved = veh.read_tyre(DATA / "made_up_61.tir", changes={"PEX1": 3.0})
    limited = veh.read_tyre(DATA / "made_up_61.tir", changes={"PEX1": 3.0}, limit_curvature=True)
    assert limited.evaluate(4200, 0.3, 0).fx > curved.evaluate(4200, 0.3, 0).fx


def test_turn_slip_reduces_to_the_plain_formula_and_camber_is_spin() -> None:
    """Without spin, camber and the terms of camber the factors of turn slip are one. A small camber acts as
    the spin that it is: the same side force to first order where the effective radius is R0.
    """
    data = DATA / "made_up_61.tir"
    names = {"VERTICAL_STIFFNESS": 2e5, "PHYP1": 1.0, "PHYP2": 0.15, "QDRP1": 0.9}
    model = veh.read_tyre(data, changes=names)
    plain, spun = model.evaluate(4000, 0.02, 0.05, 0), model.evaluate(4000, 0.02, 0.05, 0, turn_slip=0.0)
    for a, b in zip(plain, spun, strict=True):
        assert np.isclose(a, b, rtol=1e-9)
    bare = veh.read_tyre(data, changes={**names, "PKY3": 0.0, "PDY3": 0.0, "PEY4": 0.0})
    step = 1e-6

    def slope(**turn: float) -> float:
        high, low = (bare.evaluate(4000, 0, 0, sign * step, **turn).fy for sign in (1, -1))
        return float(high - low) / (2 * step)

    assert np.isclose(slope(turn_slip=0.0), slope(), rtol=1e-5)
    strong = veh.read_tyre(data, changes={**names, "PDYP1": 1.0, "PDXP1": 1.0, "PKYP1": 1.0})
    turning = strong.evaluate(4000, 0.05, 0.05, 0, turn_slip=2.0)
    assert abs(turning.fy) < abs(plain.fy) * 3 and abs(turning.fx) < abs(strong.evaluate(4000, 0.05, 0.05).fx)


@pytest.mark.parametrize(
    ("given", "formula", "scaled", "figure"),
    [
        ({"PDXP1": 2.0, "PDXP2": 0.4, "PDXP3": 9.0},
         lambda r, dfz, kappa, tan: 2.0 * (1 + 0.4 * dfz) / np.hypot(1, 9 * kappa) * r,
         ("PDX1", "PDX2", "PVX1", "PVX2"), "fx"),
        ({"PDYP1": 1.4, "PDYP2": -0.3, "PDYP3": 5.0, "PDYP4": 0.2},
         lambda r, dfz, kappa, tan: 1.4 * (1 - 0.3 * dfz) / np.hypot(1, 5 * tan) * (r + 0.2 * np.sqrt(r)),
         ("PDY1", "PDY2", "PVY1", "PVY2"), "fy"),
        ({"PKYP1": 5.0}, lambda r, dfz, kappa, tan: 5.0 * r**2, ("PKY1",), "fy"),
        ({"QDTP1": 3.0}, lambda r, dfz, kappa, tan: 3.0 * r, ("QDZ1", "QDZ2"), "mz"),
        ({"QBRP1": -4.0}, lambda r, dfz, kappa, tan: 4.0 * r, ("QBZ9", "QBZ10"), "mz"),
    ],
    ids=["zeta1", "zeta2", "zeta3", "zeta5", "zeta6"],
)  # fmt: skip
def test_a_factor_of_turn_slip_is_a_smaller_coefficient(
    given: dict[str, float], formula: Callable[..., float], scaled: tuple[str, ...], figure: str
) -> None:
    """ζ = cos atan x, equations (4.75) to (4.79), (4.91) and (4.102), in place of the coefficients that it
    multiplies: peaks, stiffness, trail and slope of the residual moment. Spin shifts no curve and has no
    moment of its own here (PHYP2, QCRP1, QDZ8).
    """
    data = DATA / "made_up_61.tir"
    names = {"VERTICAL_STIFFNESS": 2e5, "QDRP1": 0.9, "QCRP1": 0.0, "PHYP2": 1e-12}
    names |= dict.fromkeys(("QDZ8", "QDZ9", "QDZ10", "QDZ11"), 0.0)
    turning = veh.read_tyre(data, changes=names | given)
    c = turning.coefficients
    fz, kappa, alpha, turn = 4600.0, 0.03, 0.06, -1.3
    dfz = fz / (c["FNOMIN"] * c["LFZO"]) - 1
    zeta = 1 / np.hypot(1, formula(abs(c["UNLOADED_RADIUS"] * turn), dfz, kappa, np.tan(alpha)))
    assert 0.3 < zeta < 0.9
    plain = veh.read_tyre(data, changes=names | {name: zeta * c[name] for name in scaled})
    found = getattr(turning.evaluate(fz, kappa, alpha, turn_slip=turn), figure)
    assert np.isclose(found, getattr(plain.evaluate(fz, kappa, alpha), figure), rtol=1e-6)
    assert not np.isclose(found, getattr(turning.evaluate(fz, kappa, alpha), figure), rtol=1e-3)


def test_a_turn_undoes_the_spin_of_camber() -> None:
    """φ = φt + (1 − ε) (1 + κ) cos α sin γ/Re is zero: the factor of the longitudinal peak is one again."""
    changes = {"VERTICAL_STIFFNESS": 2e5, "QDRP1": 0.9, "PDXP1": 0.9, "PECP1": 0.6, "PECP2": 0.5}
    model = veh.read_tyre(DATA / "made_up_61.tir", changes=changes)
    fz, kappa, alpha, gamma = 4600.0, 0.05, 0.04, 0.2
    dfz = fz / (model.coefficients["FNOMIN"] * model.coefficients["LFZO"]) - 1
    share = 0.6 * (1 + 0.5 * dfz)
    rolled = (1 + kappa) * np.cos(alpha) * np.sin(gamma) / float(model.effective_radius(fz))
    plain, still, turning = (
        model.evaluate(fz, kappa, alpha, gamma, **turn).fx
        for turn in ({}, {"turn_slip": -(1 - share) * rolled}, {"turn_slip": 0.0})
    )
    assert np.isclose(still, plain, rtol=1e-9) and abs(turning - plain) > 1e-4 * abs(plain)


def test_radii_and_vertical_force_fit_together() -> None:
    """The loaded radius of 6.1 and 6.2 gives back its load; Re = R0 − Fz0/cz (D atan(B) + F) by hand."""
    changes = {"VERTICAL_STIFFNESS": 2e5, "BREFF": 8.0, "DREFF": 0.3, "FREFF": 0.05, "Q_FZ2": 15.0,
               "PFZ1": 0.7, "Q_FCX": 0.1, "Q_FCY": 0.2, "Q_V1": 7e-4, "Q_V2": 0.04,
               "Q_CAM1": 100.0, "Q_CAM2": 50.0,
               "Q_CAM3": 0.3, "Q_FYS1": 5.0, "Q_FYS2": 3.0, "Q_FYS3": 2.0, "WIDTH": 0.2,
               "ASPECT_RATIO": 0.55}  # fmt: skip
    load = np.array([500.0, 4200.0, 8000.0])
    for version in ("6.1", "6.2"):
        model = veh.read_tyre(DATA / "made_up_61.tir", changes=changes, version=version)
        radius = model.loaded_radius(load, omega=50.0, fx=500.0)
        deflection = model.spinning_radius(50.0) - radius
        again = model.vertical_force(deflection, omega=50.0, fx=500.0)
        assert np.allclose(again, load, rtol=1e-10)
        pulled = model.loaded_radius(load, omega=50.0, fy=900.0)
        deflection = model.spinning_radius(50.0) - pulled
        assert np.allclose(model.vertical_force(deflection, omega=50.0, fy=900.0), load, rtol=1e-10)
        assert np.all(pulled < model.loaded_radius(load, omega=50.0))  # side forces soften the tyre
        tilted = model.loaded_radius(load, omega=50.0, gamma=0.1)
        assert np.all(np.isfinite(tilted))
        assert (version == "6.1") == np.allclose(tilted, model.loaded_radius(load, omega=50.0))
    effective = 0.318 - 4200 / (2e5 * (1 + 0.7 * (2.3 / 2.2 - 1))) * (0.3 * np.arctan(8) + 0.05)
    assert np.isclose(model.effective_radius(4200.0), effective, rtol=1e-14)
    assert model.vertical_force(-0.01) == 0
    with pytest.raises(arm.ModelError, match="effective radius needs VERTICAL_STIFFNESS"):
        tyre().effective_radius(4000.0)


@pytest.mark.parametrize("gamma", [0.1, -0.2])
def test_a_tilted_tyre_of_62_is_pressed_in_more_under_its_crown(gamma: float) -> None:
    """MF-Tyre 6.2: ρ = ρ0 + s² w/8 |tan γ| − Q_CAM3 ρ0 |γ|, s the ratio of Q_CAM1 R + Q_CAM2 R² loaded
    to free, w = (1.075 − aspect/2) width of the tread.
    """
    changes = {"VERTICAL_STIFFNESS": 2e5, "Q_FZ2": 15.0, "Q_CAM1": 100.0, "Q_CAM2": 50.0, "Q_CAM3": 0.3,
               "Q_FYS1": 0.0, "Q_FYS2": 0.0, "Q_FYS3": 0.0, "WIDTH": 0.2, "ASPECT_RATIO": 0.55}  # fmt: skip
    model = veh.read_tyre(DATA / "made_up_61.tir", changes=changes, version="6.2")
    radius, free = float(model.loaded_radius(5000.0, gamma=gamma)), float(model.spinning_radius(0.0))
    share = (100 * radius + 50 * radius**2) / (100 * free + 50 * free**2)
    width, tilt = (1.075 - 0.55 / 2) * 0.2, abs(gamma)
    pressed = free - radius + share**2 * width / 8 * np.tan(tilt) - 0.3 * (free - radius) * tilt
    assert float(model.vertical_force(pressed)) == pytest.approx(5000.0, rel=1e-9)


@pytest.mark.parametrize("given", [{"Q_FYS1": 500.0}, {"Q_FYS2": 400.0}, {"Q_FYS3": 300.0}])
def test_camber_of_62_counts_as_a_side_force_in_the_sag(given: dict[str, float]) -> None:
    """MF-Tyre 6.2: Fy − (Q_FYS1 + Q_FYS2 R/RΩ + Q_FYS3 (R/RΩ)²) γ takes the place of Fy."""
    none = {"Q_CAM1": 0.0, "Q_CAM2": 0.0, "Q_CAM3": 0.0, "Q_FYS1": 0.0, "Q_FYS2": 0.0, "Q_FYS3": 0.0}
    changes = {"VERTICAL_STIFFNESS": 2e5, "Q_FZ2": 15.0, "Q_FCY": 0.2, "Q_FCY2": 0.3, **none, **given}
    model = veh.read_tyre(DATA / "made_up_61.tir", changes=changes, version="6.2")
    radius, free = float(model.loaded_radius(5000.0, gamma=0.1, fy=900.0)), float(model.spinning_radius(0.0))
    power = {"Q_FYS1": 0, "Q_FYS2": 1, "Q_FYS3": 2}
    side = 900.0 - 0.1 * sum(value * (radius / free) ** power[name] for name, value in given.items())
    assert float(model.vertical_force(free - radius, fy=side)) == pytest.approx(5000.0, rel=1e-9)
    assert float(model.vertical_force(free - radius, fy=900.0)) != pytest.approx(5000.0, rel=1e-5)


def test_relaxation_lengths_of_52_are_those_of_its_coefficients() -> None:
    """By hand at the nominal load of 3800 N: PTX1 R0 and PTY1 sin(2 atan(1/PTY2)) R0."""
    along, across = tyre(name="mf_185_80R14").relaxation_lengths(3800.0)
    assert np.isclose(along, 1.9021 * 0.376)
    assert np.isclose(across, 1.8473 * np.sin(2 * np.arctan(1 / 1.9465)) * 0.376)
    stiff = {"LONGITUDINAL_STIFFNESS": 4e5, "LATERAL_STIFFNESS": 1.5e5}
    model = veh.read_tyre(DATA / "made_up_61.tir", changes=stiff)
    along, across = model.relaxation_lengths(4000.0)
    slopes = model.derivatives(4000.0, 0.0, 0.0)
    assert np.isclose(along, slopes["kappa"].fx / 4e5, rtol=0.01)
    assert np.isclose(across, -slopes["alpha"].fy / 1.5e5, rtol=0.01)
    with pytest.raises(arm.ModelError, match="needs LONGITUDINAL_STIFFNESS"):
        tyre().relaxation_lengths(4000.0)
