"""Loops opened by name, their margins, and spectra of outputs: against closed forms and python-control."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.linear.linear_model import LinearModel
from armillary.errors import ArmillaryError


@cache
def servo() -> arm.stages.Model:
    """A mass with a PD controller and a lag of its actuator: L = (k + c s)/(s² (1 + T s))."""
    s = arm.System("servo")
    for name, value in (("k", 4.0), ("c", 2.0), ("T", 0.1)):
        s.parameter(name, value)
    s.parameter("d", 0.0, units="N")
    s.parameter("F", 0.0)
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.state("actuator", "(-k*mass.q1 - c*mass.u1 + F - actuator)/T", 0.0, units="N")
    s.force("push", "actuator + d", s.ground.x, at=mass)
    s.output("command", "-k*mass.q1 - c*mass.u1")
    return s.derive().compile()


def _closed() -> LinearModel:
    return servo().linearize(inputs=["d", "F"], outputs=["push", "mass.q1"])


def _loop(w: np.ndarray) -> np.ndarray:
    s = 1j * w
    return (4 + 2 * s) / (s**2 * (1 + 0.1 * s))


W = np.geomspace(0.05, 200, 60)


@pytest.mark.parametrize("how", ["state", "load"])
def test_a_loop_is_opened_by_name_at_a_state_or_where_an_input_is_added(how: str) -> None:
    """Both are the same loop here; closed again, 1 + L = 0 at the poles of the whole."""
    lin = _closed()
    loop = lin.break_loop("actuator") if how == "state" else lin.break_loop("push", input="d")
    np.testing.assert_allclose(loop.frequency_response(W).values[:, 0, 0], _loop(W), rtol=1e-10)
    again = np.linalg.eigvals(loop.A - loop.B @ loop.C)
    assert np.allclose(np.sort_complex(again), np.sort_complex(lin.poles()), rtol=1e-9)
    assert (loop.inputs, loop.outputs) == ((("actuator",),) * 2 if how == "state" else (("d",), ("push",)))


def test_margins_are_those_of_python_control() -> None:
    control = pytest.importorskip("control")
    loop = _closed().break_loop("actuator")
    found = loop.margins()
    plant = control.tf([2, 4], [0.1, 1, 0, 0])
    _, phase, _, _, crossover, _ = control.stability_margins(plant)
    assert found.phase == pytest.approx(phase, rel=1e-6)
    assert found.phase_omega == pytest.approx(crossover, rel=1e-6)
    assert found.stable and found.gain == np.inf and not len(found.gains)  # the phase does not reach −180°
    w = np.geomspace(0.1, 100, 200_001)
    assert found.modulus == pytest.approx(np.min(np.abs(1 + _loop(w))), rel=1e-8)
    assert found.delay == pytest.approx(np.radians(phase) / crossover, rel=1e-6)
    assert "phase margin" in repr(found) and "stable" in repr(found)


def test_a_loop_without_gain_has_no_margins_but_the_distance_of_one() -> None:
    """Its magnitude is zero at all frequencies, of which there is no logarithm."""
    s = arm.System("idle")
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", -4.0 * mass.q1 - mass.u1, s.ground.x, at=mass)
    s.input("F")
    s.force("push", "0*F", s.ground.x, at=mass)
    linear = s.derive().compile().linearize(inputs=["F"], outputs=["mass.q1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = linear.margins()
    assert found.stable and found.modulus == 1.0 and found.gain == found.phase == np.inf


def test_gain_margins_and_unstable_loops() -> None:
    """K/(s (s + 1)²) has the gain margin 2/K at 1 rad/s, and is unstable beyond; python-control agrees."""
    control = pytest.importorskip("control")
    s = arm.System("three lags")
    s.parameter("K", 0.5)
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.state("motor", "-K*mass.q1 - motor", 0.0)
    s.force("push", "motor - mass.u1", s.ground.x, at=mass)
    model = s.derive().compile()
    for K in (0.5, 4.0):
        found = model.linearize(parameters={"K": K}).break_loop("motor").margins()
        gain, phase, _, at_180, at_one, _ = control.stability_margins(control.tf([K], [1, 2, 1, 0]))
        assert found.gain == pytest.approx(2 / K, rel=1e-9) and found.gain_omega == pytest.approx(1, rel=1e-9)
        assert (found.gain, found.gain_omega) == (pytest.approx(gain), pytest.approx(at_180))
        assert (found.phase, found.phase_omega) == (pytest.approx(phase), pytest.approx(at_one))
        assert found.stable == (K < 2) and (found.phase > 0) == (K < 2)


def test_a_light_resonance_above_the_crossover_is_not_missed() -> None:
    """L = 0.01·ω₀²/(s² + 2ζω₀ s + ω₀²) with ζ = 1e-4 exceeds 1 in a band of 1 % about ω₀ alone."""
    s = arm.System("resonance")
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("d", 0.0, units="N")
    s.force("spring", "-1e4*mass.q1 - 0.02*mass.u1", s.ground.x, at=mass)
    s.force("push", "-100*mass.q1 + d", s.ground.x, at=mass)
    found = (
        s.derive().compile().linearize(inputs=["d"], outputs=["push"]).break_loop("push", input="d").margins()
    )
    # |ω₀² − ω² + 0.02 i ω| = 100, a quadratic in ω²
    wanted = np.sqrt(np.roots([1, -2e4 + 0.02**2, 1e8 - 1e4]))
    assert np.allclose(np.sort(found.phases[:, 0]), np.sort(wanted), rtol=1e-9)


def test_margins_are_those_of_the_named_input() -> None:
    """L = K/(s (s + 1)): |L| = 1 at ω² = (√(1 + 4 K²) − 1)/2, with a phase margin of 90° − atan ω."""
    s = arm.System("two inputs")
    mass = s.body("mass", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("c", 1.0, units="N*s/m")
    for name in ("weak", "strong"):
        s.input(name, units="N")
    s.force("push", "weak + 3*strong - c*mass.u1", s.ground.x, at=mass)
    lin = s.derive().compile().linearize(inputs=["weak", "strong"], outputs=["mass.q1"])
    for name, K in (("weak", 1.0), ("strong", 3.0)):
        found = lin.margins(input=name)
        omega = np.sqrt((np.sqrt(1 + 4 * K * K) - 1) / 2)
        assert found.phase_omega == pytest.approx(omega, rel=1e-9)
        assert found.phase == pytest.approx(90 - np.degrees(np.arctan(omega)), rel=1e-9)


def test_places_where_no_loop_can_be_opened_get_a_sentence() -> None:
    lin = _closed()
    with pytest.raises(ArmillaryError, match=r"'push' is an output, not a state.*input="):
        lin.break_loop("push")
    with pytest.raises(ArmillaryError, match="no state 'actuatr'; did you mean 'actuator'"):
        lin.break_loop("actuatr")
    with pytest.raises(ArmillaryError, match=r"'mass\.q1' is in 'm' and 'd' in 'N'"):
        lin.break_loop("mass.q1", input="d")
    with pytest.raises(ArmillaryError, match="name the input, one of d, F"):
        lin.margins("push")


def test_spectra_of_outputs_follow_from_those_of_inputs() -> None:
    """White noise of two-sided intensity 1 is 2 per Hz one-sided: its root mean square is the H2 norm."""
    lin = servo().linearize(inputs=["F"], outputs=["mass.q1"])
    f = np.geomspace(1e-4, 1e3, 20_000)
    white = lin.psd({"F": 2.0}, f)
    assert white.rms("mass.q1") == pytest.approx(lin.h2_norm(), rel=1e-4)
    falling = lin.psd({"F": lambda f: 3.0 / f**2}, f)
    np.testing.assert_allclose(falling["mass.q1"], white["mass.q1"] * 1.5 / f**2)
    two = servo().linearize(inputs=["F", "d"], outputs=["mass.q1"])
    both = two.psd({"F": 1.0, "d": np.full(f.size, 3.0)}, f)
    g = np.abs(two.frequency_response(2 * np.pi * f).values[:, 0]) ** 2
    np.testing.assert_allclose(both["mass.q1"], g @ [1.0, 3.0])
    with pytest.raises(ArmillaryError, match="has 3 values for 20000 frequencies"):
        lin.psd({"F": [1, 2, 3]}, f)
    with pytest.raises(ArmillaryError, match="negative"):
        lin.psd({"F": -1.0}, f)
