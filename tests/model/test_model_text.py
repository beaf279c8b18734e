"""Text in place of expressions: it means the same as the Python that a user would write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate
from tests.mechanics.random_trees import values
from tests.mechanics.solving import planted_on_numbers, rates


@pytest.fixture
def s() -> arm.System:
    s = arm.System("text")
    A = s.body("A", joint=arm.Revolute("z"), com=(0.3, 0.1, 0), mass="mA", inertia=(0.1, 0.2, 0.25))
    B = s.body("B", A, arm.Prismatic("x"), at=(1, 0, 0), mass=2, inertia=0)
    B.point("tip", (0, 0.5, 0))
    s.parameter("k", 3.0, units="N/m")
    s.memory("n", 1.0)
    return s


# (text, the same in Python)
SAME: list[tuple[str, Any]] = [
    ("A.q1 + 2*A.q1", lambda s: 3 * s.bodies["A"].q1),
    ("dot(position(A.com), ground.y)", lambda s: arm.dot(arm.position(s.bodies["A"].com), s.ground.y)),
    ("dot(position(A), A.x)", lambda s: arm.dot(arm.position(s.bodies["A"].origin), s.bodies["A"].x)),
    ("magnitude(velocity(B.tip))", lambda s: arm.magnitude(arm.velocity(s.bodies["B"].tip))),
    ("dot(velocity(B.tip, A), A.x)", lambda s: s.bodies["B"].u1),
    ("dot(position(B.tip, A.com), A.y)", lambda s: 0.4),
    ("dot(acceleration(B), ground.x)", lambda s: arm.dot(arm.acceleration(s.bodies["B"]), s.ground.x)),
    ("dot(angular_velocity(B), ground.z)", lambda s: s.bodies["A"].u1),
    ("dot(angular_acceleration(B), B.z)", lambda s: s.accelerations[s.bodies["A"].u1]),
    ("angle(ground.x, A.x, ground.z)", lambda s: s.bodies["A"].q1),
    ("dot(cross(A.x, A.y), ground.z)", lambda s: 1),
    ("dot(project(A.x + A.z, A.z), A.x)", lambda s: 1),
    ("dot(direction(2*A.x), A.x)", lambda s: 1),
    ("time_derivative(A.q1^2)", lambda s: 2 * s.bodies["A"].q1 * s.bodies["A"].u1),
    ("k*B.q1", lambda s: s.parameters["k"] * s.bodies["B"].q1),
    ("A.mass + B.mass", lambda s: s.parameters["mA"] + 2),
    ("n + t/t", lambda s: s.memories["n"].symbol + 1),
    (
        "select(A.q1 > 0, k, 2*k)",
        lambda s: arm.select(s.bodies["A"].q1 > 0, s.parameters["k"], 2 * s.parameters["k"]),
    ),
]


@pytest.mark.parametrize(("text", "python"), SAME, ids=[row[0] for row in SAME])
def test_text_means_what_python_means(s: arm.System, text: str, python: Any) -> None:
    found, expected = s.expression(text), s.expression(python(s))
    at = {**values(s, [0.4, 0.7], [1.1, -0.3], t=2.0), "mA": 1.5, "n": 1.0}
    at.update({s.accelerations[u].name: 0.2 * i + 0.1 for i, u in enumerate(s.speeds)})
    assert evaluate(found, at) == pytest.approx(evaluate(expected, at), rel=1e-14)


def test_a_controller_in_text_acts_like_one_in_python() -> None:
    """The moment of the public interface's own example."""
    found = []
    for written in ("text", "python"):
        s = arm.System("control")
        A = s.body("A", joint=arm.Revolute("y"), mass=9, inertia=(0.01, 0.02, 0.01))
        if written == "text":
            s.moment("tau", "-k1*(A.q1 - q1_target) - k2*A.u1", s.ground.y, on="A")
        else:
            k1, k2, target = (s.parameter(name) for name in ("k1", "k2", "q1_target"))
            s.moment("tau", -k1 * (A.q1 - target) - k2 * A.u1, "ground.y", on=A)
        at = {**values(s, [0.3], [0.5]), "k1": 3.0, "k2": 0.5, "q1_target": 1.2}
        found.append(rates(*planted_on_numbers(s, at), "recursive")[0])
    assert found[0] == found[1] == pytest.approx((3 * 0.9 - 0.25) / 0.02, rel=1e-14)


def test_an_undeclared_plain_name_becomes_a_parameter_without_default(s: arm.System) -> None:
    s.output("o", "gain*A.q1")
    assert s.parameters["gain"].data.default is None
    assert s.expression("gain") is s.parameters["gain"]


def test_an_undeclared_dotted_name_is_an_error_with_the_nearest(s: arm.System) -> None:
    with pytest.raises(arm.ExpressionError, match=r"no 'tp'; did you mean 'tip'\?\n    2\*B.tp") as caught:
        s.expression("2*B.tp")
    assert caught.value.column == 2


def test_loads_take_text_for_everything() -> None:
    """Points, bodies and directions by name; a reaction body keeps the line of action, named or not."""
    found = []
    for as_text in (True, False):
        s = arm.System("loads")
        A = s.body("A", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1, inertia=(1, 1, 1))
        B = s.body("B", A, arm.Revolute("z"), at=(1, 0, 0), com=(0.5, 0, 0), mass=1, inertia=(1, 1, 1))
        tip = B.point("tip", (1, 0.2, 0))
        given: list[Any] = ["A.x + 2*ground.y", "B.tip", "A"] if as_text else [A.x + 2 * s.ground.y, tip, A]
        s.force("F", 3, given[0], at=given[1], reaction=given[2])
        s.moment("M", 2, "-ground.z", on="B", reaction="A")
        s.strut("S", "-5*(x - 1) - v", between=("ground.origin" if as_text else s.ground, given[1]))
        found.append(rates(*planted_on_numbers(s, values(s, [0.2, 0.9], [1.0, -2.0])), "recursive"))
    np.testing.assert_array_equal(found[0], found[1])


def test_strut_laws_may_be_functions() -> None:
    found = []
    for law in ("-5*(x - 1) - 2*v", lambda x, v: -5 * (x - 1) - 2 * v):
        s = arm.System("strut")
        s.body("A", joint=arm.Prismatic("x"), mass=2, inertia=0)
        s.strut("S", law, between=(s.ground, "A"))
        found.append(rates(*planted_on_numbers(s, values(s, [1.5], [0.3])), "recursive")[0])
    assert found[0] == found[1] == pytest.approx(-(5 * 0.5 + 2 * 0.3) / 2, rel=1e-15)
