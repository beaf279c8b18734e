"""Declarations of small and large: what they record, what the equations become, and mistakes in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ModelError


def pendulum(**joint: Any) -> arm.System:
    """A mass point on a rod of length L; q1 = 0 hangs."""
    s = arm.System("pendulum")
    L = s.parameter("L", 0.5, units="m")
    s.body("bob", joint=arm.Revolute("z", **joint), com=(0, -L, 0), mass=2.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    return s


def rate(eom: Any, q: float, u: float = 0.0, **parameters: float) -> float:
    return float(eom.compile().derivatives(0.0, [q, u], parameters or None)[1])


def test_a_description_gives_the_small_and_the_full_model() -> None:
    s = pendulum()
    s.small("bob.q1", "bob.u1")
    assert rate(s.derive(), 0.3) == pytest.approx(-9.81 / 0.5 * 0.3, rel=1e-15)
    assert rate(s.derive(small=False), 0.3) == pytest.approx(-9.81 / 0.5 * math.sin(0.3), rel=1e-15)
    assert s.derive(small=False).neglected.total == 0
    assert s.derive().operations.functions == 0


def test_small_joints_are_declarations_of_all_their_variables() -> None:
    s = pendulum(small=True)
    by_name = pendulum()
    by_name.small("bob.q1", "bob.u1")
    assert {str(e): order for e, order in s.smallness.items()} == {"bob.q1": 1, "bob.u1": 1}
    assert sorted(s.derive().show().splitlines()) == sorted(by_name.derive().show().splitlines())


@pytest.mark.parametrize(
    "joint",
    [
        arm.Joint(translate="x", rotate="zy", small=True),
        arm.Prismatic("x", small=True),
        arm.Cylindrical("z", small=True),
        arm.Planar("z", velocity="body", small=True),
        arm.Gimbal("zx", small=True),
        arm.Spherical("xyz", small=True),
        arm.Free("xyz", velocity="body", small=True),
    ],
    ids=lambda joint: joint.describe(),
)
def test_every_joint_may_be_small(joint: arm.Joint) -> None:
    """Whatever the joint, rates differ from the full ones in second order: the defect falls by 4 or more."""
    s = arm.System("one body")
    s.body("A", joint=joint, com=(0.1, 0.2, 0.3), mass=2.0, inertia=(0.4, 0.5, 0.6, 0.01, 0.02, 0.03))
    s.gravity(9.81, -s.ground.y)
    assert len(s.smallness) == len(s.coordinates) + len(s.speeds)
    state = np.sin(np.arange(1, len(s.smallness) + 1))
    for formalism in ("kane", "recursive"):
        small, full = (s.derive(formalism, small=flag).compile() for flag in (True, False))
        defects = [
            np.abs(small.derivatives(0.0, size * state) - full.derivatives(0.0, size * state)).max()
            for size in (0.02, 0.01)
        ]
        assert defects[1] <= defects[0] / 3.8 + 1e-14


def test_pendulum_to_fifth_order() -> None:
    """−(g/L)(q − q³/6 + q⁵/120); keep=5 keeps up to the sixth order here, and there is none."""
    s = pendulum(small=True)
    eom = s.derive(keep=5)
    for q in (0.1, 0.5, 1.0):
        assert rate(eom, q) == pytest.approx(-9.81 / 0.5 * (q - q**3 / 6 + q**5 / 120), rel=1e-15)
    assert [record.order for record in eom.neglected] and all(r.order >= 6 for r in eom.neglected)


def test_buckling_needs_the_third_order() -> None:
    """An upright rod on a spring of stiffness k < m g L leans at q² = 6 (1 − k/(m g L)), to third order.

    The first order knows only that it falls; the cubic's own equilibrium is exact.
    """
    s = arm.System("column")
    s.body("rod", joint=arm.Revolute("z", small=True), com=(0, "L", 0), mass="m", inertia=0)
    s.gravity("g", -s.ground.y)
    s.moment("spring", "-k*rod.q1", s.ground.z, on="rod")
    values = {"L": 0.8, "m": 1.5, "g": 9.81, "k": 0.95 * 1.5 * 9.81 * 0.8}
    lean = math.sqrt(6 * (1 - 0.95))
    linear, cubic = s.derive(), s.derive(keep=2)
    assert rate(cubic, lean, **values) == pytest.approx(0, abs=1e-13)
    assert rate(linear, lean, **values) == pytest.approx(0.05 * 9.81 / 0.8 * lean, rel=1e-12)
    full = rate(s.derive(small=False), lean, **values)  # fifth-order terms: q⁵/120
    assert full == pytest.approx(9.81 / 0.8 * lean**5 / 120, rel=0.01)


def test_large_stiffness_keeps_the_force_of_a_small_stretch() -> None:
    """K·x beside a force of order zero, with terms of relative second order dropped all the same."""
    s = arm.System("sledge")
    A = s.body("A", joint=arm.Prismatic("x", small=True), mass=1.0, inertia=0)
    s.force("spring", "-K*(A.q1 + A.q1**3/w**2) - C*A.q1**2", A.x, at=A)
    s.force("pull", "F", A.x, at=A)
    s.large("K")
    model = s.derive().compile()
    values = {"K": 100.0, "C": 3.0, "F": 2.0, "w": 1.0}
    assert model.derivatives(0.0, [0.1, 0.0], values)[1] == pytest.approx(2.0 - 100.0 * 0.1, rel=1e-15)


def test_expressions_are_judged_as_wholes() -> None:
    s = arm.System("sledge")
    A = s.body("A", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    stretch = A.q1 - s.parameter("rest", 2.0, units="m")
    s.small(stretch)
    s.force("spring", -s.parameter("K", 5.0, units="N/m") * stretch, A.x, at=A)
    s.force("odd", s.parameter("C", 7.0, units="N/m3") * stretch**3, A.x, at=A)
    model = s.derive().compile()
    assert model.derivatives(0.0, [2.5, 0.0])[1] == pytest.approx(-5.0 * 0.5, rel=1e-15)
    assert s.derive(small=False).compile().derivatives(0.0, [2.5, 0.0])[1] == pytest.approx(-2.5 + 7.0 / 8)


def test_a_vector_expression_may_name_a_speed() -> None:
    s = pendulum()
    bob = s.bodies["bob"]
    s.small(arm.dot(arm.angular_velocity(bob), s.ground.z), -3 * bob.q1)
    assert list(s.smallness) == [bob.u1, bob.q1]


def test_a_prescribed_speed_has_its_order() -> None:
    """The rotor's rate is given and declared large: its gyroscopic torque on small tilts is of order zero."""
    s = arm.System("rotor")
    frame = s.body("frame", joint=arm.Gimbal("xy", small=True), mass=1.0, inertia=(1, 1, 1))
    rotor = s.body("rotor", frame, arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.2))
    s.moment("known", "T", s.ground.x, on=frame)
    s.prescribe(rotor.u1, "spin")
    s.large(rotor.u1)
    assert {str(e): order for e, order in s.judgements().items()}["spin"] == -1
    state, values = [1e-3, 2e-3, 0.0, 3e-3, 4e-3], {"T": 1.0, "spin": 1000.0}
    small, full = (s.derive(small=flag).compile().derivatives(0.0, state, values) for flag in (True, False))
    assert np.abs(small - full).max() < 1e-4 * np.abs(full).max()


def test_events_are_decided_on_the_whole_expression() -> None:
    """q² is of second order beside 0.01, yet it says when the event happens."""
    s = pendulum(small=True)
    s.event("swung out", "bob.q1**2 - 0.01", direction=1, stop=True)
    run = s.derive().compile().simulate(5.0, initial={"bob.u1": 1.0}, rtol=1e-11, atol=1e-12)
    frequency = math.sqrt(9.81 / 0.5)  # q = sin(ωt)/ω, so that q = 0.1 at asin(0.1 ω)/ω
    assert run.events[0].time == pytest.approx(math.asin(0.1 * frequency) / frequency, abs=1e-9)


def test_equations_say_what_they_neglect() -> None:
    s = pendulum(small=True)
    s.large("L")
    eom = s.derive()
    head = eom.show().splitlines()[:4]
    assert head[0] == "# small: bob.q1, bob.u1"
    assert head[1] == "# large: L"
    assert head[2] == "# kept in each sum: its leading order and 1 above"
    assert head[3] == f"# neglected: {eom.neglected.summary()}"
    assert repr(eom).endswith("functions, small)")
    assert "neglected" not in s.derive(small=False).show()


# ---------------------------------------------------------------- declarations that leave nothing


def test_an_equation_that_vanishes_is_named() -> None:
    s = arm.System("flat")
    A = s.body("A", joint=arm.Revolute("z", small=True), mass=1.0, inertia=(1, 1, 1))
    s.moment("spring", "-k*(1 - cos(A.q1))", A.z, on=A)
    with pytest.raises(ModelError) as caught:
        s.derive()
    message = str(caught.value)
    assert "the equation of speed 'A.u1' vanishes" in message
    assert "small: A.q1, A.u1" in message
    assert "derive(keep=2)" in message
    model = s.derive(keep=2).compile()
    assert model.derivatives(0.0, [0.2, 0.0], {"k": 3.0})[1] == pytest.approx(-3.0 * 0.02, rel=1e-14)


def test_an_equation_that_is_empty_anyway_is_no_mistake() -> None:
    s = arm.System("free")
    s.body("A", joint=arm.Revolute("z", small=True), mass=1.0, inertia=(1, 1, 1))
    assert s.derive().compile().derivatives(0.0, [0.1, 0.2])[1] == 0.0


def test_an_inertia_that_vanishes_is_blamed_on_the_declaration() -> None:
    s = arm.System("thin")
    s.body("A", joint=arm.Revolute("z"), mass=1.0, inertia=(0, 0, "J*(1 - cos(e))"))
    s.small("e")
    with pytest.raises(ModelError, match=r"the full model has a solution, but speed 'A.u1' moves no mass"):
        s.derive()
    assert s.derive(keep=2).speeds == ("A.u1",)


def test_a_singular_system_is_its_own_mistake() -> None:
    s = arm.System("massless")
    s.body("A", joint=arm.Revolute("z", small=True), mass=0, inertia=0)
    with pytest.raises(ModelError, match=r"^speed 'A.u1' moves no mass"):
        s.derive()


# ---------------------------------------------------------------- mistakes

MISTAKES: list[tuple[str, Callable[[arm.System], Any], str]] = [
    ("nothing", lambda s: s.small(), "names nothing"),
    ("both", lambda s: (s.small("bob.q1"), s.large("bob.q1")), "'bob.q1' is declared both small and large"),
    ("a number", lambda s: s.small(0.1), "has a size of its own"),
    ("a number in text", lambda s: s.large("3*7"), "has a size of its own"),
    ("time", lambda s: s.small("t"), "'t' cannot be: time passes"),
    ("unknown name", lambda s: s.small("LL"), "there is no 'LL'; did you mean 'L'?"),
    ("unknown coordinate", lambda s: s.small("bob.q2"), "bob"),
    ("unknown body", lambda s: s.small("bib.q1"), "there is no body 'bib'"),
    ("a vector", lambda s: s.small("bob.x"), "a scalar is needed"),
    ("an acceleration", lambda s: s.small(s.accelerations[s.speeds[0]]), "follows from the equations"),
    ("another system's", lambda s: s.small(pendulum().bodies["bob"].q1), "belongs to system"),
    ("Euler parameters", lambda s: _ball(s), "declared small: 'ball.q2' is an Euler parameter"),
    ("a small quaternion joint", lambda s: s.body("b", joint=arm.Free(small=True)), "rotation='xyz'"),
    ("negative orders", lambda s: s.derive(keep=-1), "keep=-1 is not a number of orders"),
]


def _ball(s: arm.System) -> None:
    s.body("ball", joint=arm.Spherical(), mass=1.0, inertia=(1, 1, 1))
    s.small("ball.q2")


@pytest.mark.parametrize(("mistake", "make", "part"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_mistakes_are_told(mistake: str, make: Callable[[arm.System], Any], part: str) -> None:
    s = pendulum()
    with pytest.raises(ArmillaryError) as caught:
        make(s)
    assert part in str(caught.value)
    assert "LL" not in s.parameters


# ---------------------------------------------------------------- under constraints


def parallelogram() -> arm.System:
    """Two equal cranks and a coupler, hanging: one degree of freedom."""
    s = arm.System("parallelogram")
    a = s.body("a", joint=arm.Revolute("z", small=True), com=(0, -0.5, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b = s.body("b", a, arm.Revolute("z", small=True), at=(0, -1, 0), com=(0.5, 0, 0), mass=2.0, inertia=0)
    c = s.body(
        "c", joint=arm.Revolute("z", small=True), at=(1, 0, 0), com=(0, -0.6, 0), mass=1.0, inertia=0.0
    )
    s.gravity(9.81, -s.ground.y)
    s.close_loop(b.point("end", (1, 0, 0)), c.point("end", (0, -1, 0)), [s.ground.x, s.ground.y])
    return s


def test_closed_loops_may_be_small() -> None:
    """Small swings by hand: (J_a + m_b L² + m_c r_c²) q̈ = −g (m_a/2 + m_b + 0.6 m_c) q."""
    s = parallelogram()
    run = s.derive().compile().simulate(1.0, initial={"a.q1": 0.05}, rtol=1e-11, atol=1e-13)
    stiffness = 9.81 * (0.5 + 2.0 + 0.6)
    inertia = 0.1 + 0.25 + 2.0 + 0.36
    expected = 0.05 * math.cos(math.sqrt(stiffness / inertia) * run.time[-1])
    assert run.final["a.q1"] == pytest.approx(expected, abs=1e-9)
    assert run.final["b.q1"] == pytest.approx(-expected, abs=1e-9)
    full = s.derive(small=False).compile().simulate(1.0, initial={"a.q1": 0.05}, rtol=1e-11, atol=1e-13)
    assert full.final["a.q1"] == pytest.approx(expected, abs=0.05**3)
