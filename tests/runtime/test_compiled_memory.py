"""Memory that is renewed every so many seconds, and parameter sets that no body can have."""

from __future__ import annotations

from typing import Any

import pytest

import armillary as arm

pytestmark = pytest.mark.optimised


def held_controller(period: float) -> arm.System:
    s = arm.System("sample and hold")
    cart = s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.memory("held", 0.0, update="-4*A.q1 - 2*A.u1", every=period)
    s.force("F", "1*held", s.ground.x, at=cart.origin)
    return s


@pytest.mark.parametrize(
    "options", [{}, {"step": 1e-3}, {"step": 0.01}, {"step": 0.03}, {"step": 0.1}, {"method": "dopri5"}]
)
@pytest.mark.parametrize("t0", [0.0, 2.5])
def test_a_held_force_follows_the_exact_recursion(options: dict[str, Any], t0: float) -> None:
    """Between samples the force is constant, so the motion is a parabola that every method integrates
    exactly.
    """
    run = held_controller(0.1).derive().compile().simulate(t0 + 1.05, t0=t0, initial={"A.q1": 1.0}, **options)
    x, v, f = 1.0, 0.0, 0.0
    for _ in range(10):
        x, v = x + 0.1 * v + 0.005 * f, v + 0.1 * f
        f = -4 * x - 2 * v
    x, v = x + 0.05 * v + 0.00125 * f, v + 0.05 * f
    assert run.final["A.q1"] == pytest.approx(x, abs=1e-12)
    assert run.final["held"] == pytest.approx(f, abs=1e-12)
    assert run.events == ()
    assert run.names == ("A.q1", "A.u1", "held", "F")


@pytest.mark.parametrize("every", [0, -0.1, float("nan"), "often"])
def test_periods_are_positive_numbers(every: Any) -> None:
    s = arm.System("s")
    with pytest.raises(arm.ArmillaryError, match=r"period|positive"):
        s.memory("held", 0.0, update="1", every=every)


def test_a_period_needs_an_update() -> None:
    with pytest.raises(arm.ModelError, match="give its new value with update="):
        arm.System("s").memory("held", every=0.1)


def test_impossible_bodies_are_found_per_parameter_set() -> None:
    s = arm.System("s")
    s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass="m", inertia=("I", "I", "I"))
    model = s.derive().compile()
    with pytest.raises(arm.ParameterError, match=r"body 'A': its mass \(by m\) is -1"):
        model.simulate(1.0, step=0.1, parameters={"m": -1.0, "I": 1.0})
    with pytest.raises(arm.ParameterError, match=r"its moment of inertia about x \(by I\) is -2"):
        model.simulate(1.0, step=0.1, parameters={"m": 1.0, "I": -2.0})


def test_missing_values_are_named_with_their_places_and_neighbours() -> None:
    s = arm.System("s")
    body = s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass="m", inertia=0)
    s.parameter("k", 2.0)
    s.moment("spring", "-kk*A.q1", s.ground.z, on=body)
    with pytest.raises(arm.ParameterError) as caught:
        s.derive().compile().simulate(1.0, step=0.1)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("no value for parameters m, kk: ")
    assert lines[1:] == ["  m: in body 'A'", "  kk: in moment 'spring'; did you mean 'k'?"]


def test_initial_values_may_be_texts() -> None:
    s = arm.System("s")
    s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=0)
    assert s.derive().compile().state({"A.q1": "-pi/2"})[0] == pytest.approx(-1.5707963267948966, rel=1e-15)
