"""Operating points of large systems, whose Jacobian is computed column by column."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.operating.conditions import Conditions
from armillary.program import linearization


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
    monkeypatch.setattr(linearization, "WRITTEN_OUT", 0)
    again = _linkage().derive().compile()
    conditions = Conditions(core_of(again.equations), ("height",), ("F",))
    assert conditions.by_columns
    assert np.allclose(again.equilibrium().state, written.state, rtol=0, atol=1e-10)
    assert again.equilibrium().stable == written.stable
    found = again.trim(fixed={"upper.q1": 0.4}, inputs=["F"], outputs={}, rates={"upper.u1": 0})
    assert found.inputs["F"] == pytest.approx(held.inputs["F"], rel=1e-9)


def _chain() -> arm.System:
    """Three links that hang on hinges about y, z and y; the first has a damper."""
    s = arm.System("chain")
    s.gravity(9.81, "-ground.z")
    a = s.body("a", joint=arm.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
    b = s.body("b", a, arm.Revolute("z"), at=(0, 0, -1), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
    s.body("c", b, arm.Revolute("y"), at=(0, 0, -1), mass=2, com=(0, 0, -0.4), inertia=(0.1, 0.2, 0.15))
    s.moment("damper", "-0.3*a.u1", a.y, on=a)
    return s


def test_rest_of_large_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """With u = 0 put into the code, dampers still act on the eigenvalues; what nothing decides stays where it
    starts, and is named.
    """
    plain = _chain().derive().compile()
    monkeypatch.setattr(linearization, "WRITTEN_OUT", 0)
    found = _chain().derive().compile().equilibrium(starts={"a.q1": 2.0, "b.q1": 0.4, "c.q1": -1.5})
    assert found.problem is not None and found.problem.values.still
    assert found.problem.conditions.code(True).pattern.sum() < found.problem.conditions.depends.sum()
    np.testing.assert_allclose(np.sin([found["a.q1"], found["c.q1"]]), 0, atol=1e-12)
    monkeypatch.undo()
    written = plain.equilibrium(starts=dict(found.initial))
    assert written.problem is not None and not written.problem.conditions.by_columns
    np.testing.assert_allclose(found.state, written.state, rtol=0, atol=1e-12)
    assert found.notes == written.notes and "b.q1" in found.notes[0] and "a.q1" not in found.notes[0]
    assert found.stability is not None and written.stability is not None
    np.testing.assert_allclose(found.stability.eigenvalues, written.stability.eigenvalues, atol=1e-9)
    assert np.abs(found.stability.eigenvalues.real).max() > 0.01
