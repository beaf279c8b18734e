"""Derivatives by the one joint that is driven, while others stay where they were."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


def test_derivatives_of_a_two_link_arm_with_a_held_elbow() -> None:
    """x = cos q₁ + ½ cos(q₁ + q₂) with q₂ held: −sin q₁ − ½ sin(q₁ + q₂), and once more."""
    s = arm.System("arm")
    upper = s.body("upper", joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1))
    lower = s.body("lower", upper, arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.output("x", arm.dot(arm.position(lower.point("tip", (0.5, 0, 0))), s.ground.x), units="m")
    q, elbow = np.linspace(0.0, 1.5, 6), 0.4
    swept = s.derive().compile().sweep({"upper.q1": q}, start={"lower.q1": elbow}, derivatives=True)
    assert swept.held == {"lower.q1": elbow}
    names = [name for name in swept.names if name.startswith("d")]
    first, second = (next(n for n in names if n.startswith(begin)) for begin in ("d(x)", "d²(x)"))
    assert swept[first] == pytest.approx(-np.sin(q) - 0.5 * np.sin(q + elbow), abs=1e-12)
    assert swept[second] == pytest.approx(-np.cos(q) - 0.5 * np.cos(q + elbow), abs=1e-12)
