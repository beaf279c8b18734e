"""Rough starts: the homotopy of scaled loads where Newton's method ends beside a solution."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.operating.newton import newton
from armillary.analysis.operating.problem import Problem, problem, read_request
from armillary.analysis.operating.trim import scaled_loads, start_vector
from armillary.runtime.models.instance import Instance
from armillary.stages.model import Model


@pytest.fixture(scope="module")
def lamp() -> Model:
    """Two rods on springs, with a motor in the shoulder."""
    s = arm.System("lamp")
    s.parameter("torque", 0.0, units="N*m")
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0, 0.2, 0), mass=0.5, inertia=0)
    lower = s.body("lower", upper, arm.Revolute("z"), at=(0, 0.4, 0), com=(0, 0.2, 0), mass=0.8, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("shoulder", "torque - 12*upper.q1", s.ground.z, on=upper)
    s.moment("elbow", "-4*(lower.q1 + 1)", upper.z, on=lower, reaction=upper)
    s.output("height", arm.dot(arm.position(lower.point("tip", (0, 0.4, 0))), s.ground.y), units="m")
    return s.derive().compile()


def _asked(model: Model, start: dict[str, float]) -> tuple[Problem, np.ndarray]:
    request = read_request(
        core_of(model), at_rest=True, outputs={"height": 0.3}, inputs=["torque"], starts=start
    )  # fmt: skip
    x = start_vector(request, Instance(core_of(model), {}), request.starts[0])
    return problem(request, x), x


@pytest.mark.parametrize("start", [(-1.5, -3.0), (-0.5, -3.0), (1.0, 2.5), (2.0, 3.0), (2.5, 2.5)])
def test_the_homotopy_leads_to_a_solution_where_newton_does_not(
    lamp: Model, start: tuple[float, float]
) -> None:
    made, x = _asked(lamp, {"upper.q1": start[0], "lower.q1": start[1]})
    assert not newton(made.equations(x)).met
    there = scaled_loads(made.equations(x))
    assert there is not None
    assert newton(made.equations(there)).met


def test_rough_starts_find_what_is_asked(lamp: Model) -> None:
    """The elbow's balance: 4 (θ₂ + 1) = m g l sin(θ₁ + θ₂), with the tip at 0.4 (cos θ₁ + cos(θ₁ + θ₂))."""
    op = lamp.equilibrium(
        outputs={"height": 0.3}, inputs=["torque"], starts={"upper.q1": -1.5, "lower.q1": -3.0}
    )
    first, second = op["upper.q1"], op["upper.q1"] + op["lower.q1"]
    assert 0.4 * (np.cos(first) + np.cos(second)) == pytest.approx(0.3, rel=1e-12)
    assert 4 * (op["lower.q1"] + 1) == pytest.approx(0.8 * 9.81 * 0.2 * np.sin(second), rel=1e-9)


def test_no_path_is_none(lamp: Model) -> None:
    """Beyond the reach of 0.8 m there is no solution, so no curve arrives."""
    request = read_request(core_of(lamp), at_rest=True, outputs={"height": 0.9}, inputs=["torque"])
    x = start_vector(request, Instance(core_of(lamp), {}), request.starts[0])
    assert scaled_loads(problem(request, x).equations(x)) is None


def test_steps_near_a_root_go_on_with_the_last_derivatives() -> None:
    """Also where these leave a direction open: the third link turns about the vertical. With derivatives of
    its own for each step there are four.
    """
    s = arm.System("hanging chain")
    s.gravity(9.81, -s.ground.z)
    link = s.ground
    for i, axis in enumerate("xyzx"):
        link = s.body(
            f"link{i + 1}", link, arm.Revolute(axis), at=(0, 0, -0.3 if i else 0), com=(0, 0, -0.15),
            mass=1, inertia=(0.01, 0.012, 0.005),
        )  # fmt: skip
    op = s.derive().compile().equilibrium(starts={"link1.q1": 0.3, "link4.q1": -0.2})
    assert op.steps == 2 and op.error < 1e-13
    assert [op[f"link{i}.q1"] for i in (1, 2, 4)] == pytest.approx([0.0, 0.0, 0.0], abs=1e-13)
