"""The phase of frequency responses: against Σ arg(iω − z) − Σ arg(iω − p) of known zeros and poles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.linear.linear_model import LinearModel


@cache
def two_masses() -> arm.stages.Model:
    """m = 1 and k = 1e4 between the ground and two masses; the force acts on the first."""
    s = arm.System("two masses")
    s.parameter("c", 0.01)
    s.parameter("F", 0.0)
    a, b = (s.body(name, joint=arm.Prismatic("x"), mass=1, inertia=0) for name in "ab")
    s.force("first", "F - 1e4*a.q1 - c*a.u1", s.ground.x, at=a)
    s.force("second", "-1e4*(b.q1 - a.q1) - c*(b.u1 - a.u1)", s.ground.x, at=b, reaction=a)
    for body in (a, b):
        s.output(f"acc_{body.name}", arm.dot(arm.acceleration(body.com), s.ground.x))
    return s.derive().compile()


def _linear(c: float) -> LinearModel:
    outputs = ["a.q1", "b.q1", "acc_a", "acc_b"]
    return two_masses().linearize(inputs=["F"], outputs=outputs, parameters={"c": c})


def _closed_forms(w: np.ndarray, c: float) -> np.ndarray:
    """Degrees; arg(iω − r) of a root with a negative real part is continuous in ω."""
    spring, mass = np.array([c, 1e4]), np.array([1.0, 0.0, 0.0])
    alone = np.polyadd(mass, spring)
    poles = np.roots(np.polysub(np.polymul(alone, np.polyadd(mass, 2 * spring)), np.polymul(spring, spring)))
    found = []
    for zeros in (np.roots(alone), np.roots(spring)):
        angle = sum(np.angle(1j * w - z) for z in zeros) - sum(np.angle(1j * w - p) for p in poles)
        found.append(np.degrees(angle))
    return np.stack([*found, *(f + 180 for f in found)], axis=1)


@pytest.mark.parametrize("count", [7, 40, 400])
@pytest.mark.parametrize("c", [0.01, 10.0])
def test_the_phase_is_that_of_poles_and_zeros_however_coarse_the_frequencies(c: float, count: int) -> None:
    """Damping ratios from 3e-5: unwrapping samples alone is 360° off behind a resonance."""
    for start in (1.0, 90.0):  # also from the middle of the resonances on
        w = np.geomspace(start, 3e3, count)
        found = _linear(c).frequency_response(w).phase[..., 0]
        np.testing.assert_allclose(found, _closed_forms(w, c), atol=1e-3)


def test_curves_of_undamped_responses_stay_together() -> None:
    """G is real there: 0 and −180° for positions, 180° and 0 for accelerations; its sign tells which."""
    r = _linear(0.0).frequency_response(np.geomspace(1.0, 3e3, 50))
    assert np.array_equal(np.unique(np.round(r.phase[:, :2], 6)), [-180, 0])
    assert np.array_equal(np.unique(np.round(r.phase[:, 2:], 6)), [0, 180])
    turned = np.where(r.values.real < 0, 180, 0)
    assert np.allclose((r.phase - turned) % 360, 0)


def test_a_negative_static_gain_starts_at_minus_180_with_any_rounding() -> None:
    """An inverted pendulum, 1/(s² − 1), beside one that is damped a little: −180.0x° and −179.9x°."""
    s = arm.System("inverted")
    s.parameter("T", 0.0)
    for name, c in (("a", 1e-3), ("b", -1e-3)):
        body = s.body(name, joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
        s.moment(f"turn_{name}", f"T + {name}.q1 - {c}*{name}.u1", s.ground.z, on=body)
    r = s.derive().compile().linearize(inputs=["T"], outputs=["a.q1", "b.q1"]).frequency_response([0.05, 0.1])
    assert np.allclose(r.phase, -180, atol=0.1)


def test_many_operating_points_have_phases_of_their_own() -> None:
    w = np.geomspace(1.0, 3e3, 40)
    many = two_masses().linearize(inputs=["F"], outputs=["b.q1"], parameters={"c": [0.01, 10.0]})
    found = many.frequency_response(w).phase[..., 0, 0]
    for row, c in zip(found, (0.01, 10.0), strict=True):
        np.testing.assert_allclose(row, _closed_forms(w, c)[:, 1], atol=1e-3)


def test_bode_plots_are_also_in_hz_and_decibels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lin, w = _linear(10.0), np.geomspace(1.0, 1e3, 30)
    top, bottom = lin.bode(w, tmp_path / "bode.svg", hz=True, decibels=True).axes
    x, y = top.lines[0].get_data()
    np.testing.assert_allclose(x, w / (2 * np.pi))
    np.testing.assert_allclose(y, 20 * np.log10(np.abs(lin.frequency_response(w)["a.q1", "F"])))
    assert (top.get_ylabel(), bottom.get_xlabel()) == ("magnitude (dB)", "frequency (Hz)")
    assert top.get_yscale() == "linear"
    plain = lin.bode(w).axes
    assert (plain[0].get_ylabel(), plain[1].get_xlabel()) == ("magnitude", "frequency (rad/s)")


def test_a_response_without_its_linear_model_has_no_phase() -> None:
    """Between its frequencies nothing is known, so turns could be lost."""
    response = _linear(0.01).frequency_response(np.array([1.0, 10.0]))
    assert np.array_equal(replace(response, model=None).magnitude, response.magnitude)
    with pytest.raises(arm.ArmillaryError, match="has no linear model, which its phase needs"):
        _ = replace(response, model=None).phase
