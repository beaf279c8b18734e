"""Steady motion of closed loops, and branches along which several unknowns are found."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm


@cache
def _governor() -> Any:
    """Watt's governor with one arm of 1 m, a rod of 1 m and a sleeve on the spindle."""
    s = arm.System("governor")
    s.gravity(9.81, "-ground.z")
    spindle = s.body("spindle", joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.2))
    link = s.body("arm", spindle, arm.Revolute("y"), com=(0, 0, -1), mass=2, inertia=0)
    rod = s.body("rod", link, arm.Revolute("y"), at=(0, 0, -1), mass=0, inertia=0)
    sleeve = s.body("sleeve", spindle, arm.Prismatic("z"), mass=1.5, inertia=0)
    s.close_loop(rod.point("end", (0, 0, -1)), sleeve.point("ring", (0, 0, 0)), (spindle.x, spindle.z))
    s.force("damper", "-2*sleeve.u1", spindle.z, at=sleeve.com, reaction=spindle.com)
    s.start({"arm.q1": -0.6, "rod.q1": 1.2, "sleeve.q1": -2 * np.cos(0.6)})
    return s.derive().compile()


@pytest.mark.parametrize("spin", [5.0, 8.0])
def test_a_governor_at_constant_speed(spin: float) -> None:
    """With the sleeve 2 cos θ below, m = 2 and M = 1.5: m sin θ cos θ Ω² = (m + 2 M) g sin θ.

    Small motion about it, with the moment of momentum (J + m sin² θ) Ω kept where nothing drives the spindle:
    (m + 4 M sin² θ) θ̈ + 4 c sin² θ θ̇ + k θ = 0 with
    k = (m + 2 M) g cos θ − m cos 2θ Ω² + (m sin 2θ Ω)²/(J + m sin² θ).
    """
    m, M, J, g, damping = 2.0, 1.5, 0.2, 9.81, 2.0
    op = _governor().trim(fixed={"spindle.u1": spin})
    cosine = (m + 2 * M) * g / (m * spin**2)
    theta = -op["arm.q1"]
    assert np.cos(theta) == pytest.approx(cosine, rel=1e-10)
    assert op["sleeve.q1"] == pytest.approx(-2 * cosine, rel=1e-10)
    s, c = np.sin(theta), np.cos(theta)
    mass, drag = m + 4 * M * s**2, 4 * damping * s**2
    stiff = (m + 2 * M) * g * c - m * (c**2 - s**2) * spin**2 + 4 * (m * s * c * spin) ** 2 / (J + m * s**2)
    expected = np.sort_complex([*np.roots([mass, drag, stiff]), 0.0])
    np.testing.assert_allclose(np.sort_complex(op.eigenvalues), expected, atol=1e-8)
    poles = _governor().linearize(op).poles()  # and the angle of the spindle
    for root in expected:
        assert np.min(np.abs(poles - root)) < 1e-8
    assert op.stability.growing == 0 and op.cyclic["spindle.q1"] == spin


def test_branches_with_three_unknowns() -> None:
    """Two links hang; the first is turned by T until its end is at x: T = (m₁ + m₂) g x."""
    s = arm.System("two links")
    s.gravity(10.0, "-ground.y")
    a = s.body("a", joint=arm.Revolute("z"), com=(0, -1, 0), mass=2, inertia=0)
    s.body("b", a, arm.Revolute("z"), at=(0, -1, 0), com=(0, -1, 0), mass=1, inertia=0)
    s.moment("motor", s.input("T", units="N*m"), s.ground.z, on=a)
    s.output("x", "dot(position(a.com), ground.x)", units="mm")
    model = s.derive().compile()
    branch = model.trace(model.equilibrium(outputs={"x": 0.0}, inputs=["T"]), "x", 0.0, 500.0)
    assert branch["x"][0] == 0.0 and branch["x"][-1] == pytest.approx(500.0, rel=1e-12)
    np.testing.assert_allclose(branch["T"], 0.03 * branch["x"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.sin(branch["a.q1"]), branch["x"] / 1000, atol=1e-10)
    np.testing.assert_allclose(branch["b.q1"], -branch["a.q1"], atol=1e-10)
    middle = branch.point(len(branch) // 2)
    assert middle.inputs["T"] == pytest.approx(branch["T"][len(branch) // 2])
