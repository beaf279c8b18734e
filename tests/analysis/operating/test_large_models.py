"""Operating points of large systems, whose Jacobian is computed column by column."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.operating.conditions import Conditions
from armillary.program.linearization import form


def _linkage() -> arm.System:
    """Two rods with springs and a third that closes the loop; a force pulls at their end."""
    s = arm.System("linkage")
    s.gravity(9.81, "-ground.z")
    s.parameter("F", 3.0, units="N")
    upper = s.body("upper", joint=arm.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=0)
    lower = s.body("lower", upper, arm.Revolute("y"), at=(0, 0, -1), mass=1, com=(0, 0, -0.5), inertia=0)
    s.close_joint("distance", lower.point((0, 0, -1), name="end"), s.ground.point(0.8, 0, -1), length=1.0)
    s.force("pull", "F", s.ground.x, at=upper.com)
    s.output("height", arm.dot(arm.position(lower.com), s.ground.z), units="m")
    s.start({"upper.q1": 0.3, "lower.q1": -0.2})
    return s


def test_points_are_those_of_the_written_jacobian(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _linkage().derive().compile()
    written = model.equilibrium()
    held = model.trim(fixed={"upper.q1": 0.4}, inputs=["F"], outputs={}, rates={"upper.u1": 0})
    monkeypatch.setattr(form, "WRITTEN_OUT", 0)
    again = _linkage().derive().compile()
    conditions = Conditions(again.equations, ("height",), ("F",))
    assert conditions.by_columns
    assert np.allclose(again.equilibrium().state, written.state, rtol=0, atol=1e-10)
    assert again.equilibrium().stable == written.stable
    found = again.trim(fixed={"upper.q1": 0.4}, inputs=["F"], outputs={}, rates={"upper.u1": 0})
    assert found.inputs["F"] == pytest.approx(held.inputs["F"], rel=1e-9)
