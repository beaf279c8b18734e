"""Changes of configuration inside the compiled loop: the same motion as through Python, without its legs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.program.configurations import configurations_of
from armillary.runtime.models.configurations import legs
from armillary.stages.model import Model
from examples.array_deployment import system as array_deployment
from tests.systems.ball_in_a_slot import LARGE, ball
from tests.systems.changing_links import changing
from tests.systems.weak_four_bar import four_bar

BALL = {"initial": {"ball.q1": 0.469, "ball.u1": -1.545, "ball.u6": -0.653}, "sample": 0.05}


def thrown() -> Model:
    """Discs on one axis: D1 is released with a speed of its own at the instant at which D2 locks, so that it
    is not held through the impulse; then D1 is slowed while D0 locks, and both are released.
    """
    s = arm.System("discs")
    body: Any = None
    for k in range(3):
        body = s.body(f"D{k}", body, arm.Revolute("z"), mass=1, inertia=(1, 1, 0.1 * (k + 1)))
    s.lock("D1.q1")
    s.event("throw", "t - 0.5", unlock="D1.q1", set={"D1.u1": "3 - D0.u1"})
    s.event("grip", "t - 0.5", lock="D2.q1")
    s.event("hold", "t - 0.8", lock="D0.q1", set={"D1.u1": "0.5*D1.u1", "D1.q1": 0})
    s.event("let go", "t - 1", unlock=["D2.q1", "D0.q1"])
    # On a row, and it changes nothing, so no run notes it.
    s.event("let go first", "t - 0.3", unlock="D2.q1")
    return s.derive().compile()


def made_anew(model: Model) -> Model:
    """The same equations, compiled again: no run has met another configuration yet."""
    return model.equations.compile()


@pytest.fixture
def count_legs(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times at which legs begin, of all runs."""
    begun: list[float] = []
    integrate = legs.integrate_leg

    def counted(instance: Any, place: Any, *more: Any) -> Any:
        begun.append(place.t)
        return integrate(instance, place, *more)

    monkeypatch.setattr(legs, "integrate_leg", counted)
    return begun


STARTS = {
    "five-bar": (changing, 2.0, {"initial": {"A.u1": 6.0}, "sample": 0.1}),
    "ball in a slot": (lambda: ball(LARGE), 3.0, BALL),
    "thrown": (thrown, 1.5, {"initial": {"D0.u1": 1.0, "D2.u1": -2.0}, "sample": 0.1}),
    "array": (lambda: array_deployment().derive().compile(), 20.0, {"sample": 0.5}),
}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "adaptive") for name in STARTS if name != "array"),
        pytest.param("array", "adaptive", marks=pytest.mark.optimised),
        ("five-bar", "rk4"),
    ],
)
def test_a_run_does_not_depend_on_what_runs_before_it_have_met(
    name: str, how: str, count_legs: list[float]
) -> None:
    """The first run goes through Python where it meets a new configuration, the second in one leg: the rows
    are the same to the last bit where steps are adaptive. Fixed steps have a grid for each leg, to rounding.
    """
    model, span, given = STARTS[name]
    steps: dict[str, Any] = {"step": 2e-3} if how == "rk4" else {}
    fresh = made_anew(model())
    first = fresh.simulate(span, **given, **steps)
    met = len(count_legs)
    second = fresh.simulate(span, **given, **steps)
    assert met > 2 and len(count_legs) == met + 1
    tolerance = 1e-11 if steps else 0.0
    np.testing.assert_allclose(second.values, first.values, rtol=tolerance, atol=tolerance)
    assert [e.name for e in second.events] == [e.name for e in first.events]
    assert second.info["configurations"] == first.info["configurations"]
    # All that it met are of the table, so an exported program would not have ended.
    met = core_of(fresh)
    assert set(met.configuration_models) <= set(configurations_of(met.equations).numbers)


def test_speeds_that_are_set_while_joints_lock_and_unlock() -> None:
    """By moments of momentum, with inertias 0.1, 0.2 and 0.3: D1 turns at 3 and D2 at 1 when they are joined,
    at 1.8; half of 0.8 beyond D0, which turns at 1, is what both keep when D0 stops.
    """
    run = thrown().simulate(1.2, sample=0.1, initial={"D0.u1": 1.0, "D2.u1": -2.0})
    assert run["D0.u1"][[6, 9, 12]] == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)
    assert run["D1.u1"][[6, 9, 12]] == pytest.approx([0.8, 1.4, 1.4], abs=1e-12)
    assert run["D2.u1"][[6, 9, 12]] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_change_that_the_loop_gives_up_leaves_the_state_as_it_was() -> None:
    """A slider locks where the first choice of dependent speeds is poor: the loop tries the configuration
    with this choice, which has one state less and is known from another run, and leaves it to Python.
    """
    s = arm.System("slider beside a linkage")
    slider = s.body("D", joint=arm.Prismatic("x"), mass=1.0, inertia=(1, 1, 1))
    s.event("arrives", "D.q1 - 1", direction=1, lock=slider.u1)
    equations = four_bar(s).derive()
    fresh, other = (equations.compile(tier="quick") for _ in range(2))
    other.simulate(0.05, initial={"D.u1": 50.0}, sample=0.05)
    assert len(core_of(other).configuration_models) == 2
    first, second = (m.simulate(0.4, initial={"D.u1": 1 / 0.3}, sample=0.05) for m in (fresh, other))
    assert "locks D.u1" in str(first.info["configurations"])
    np.testing.assert_array_equal(second.values, first.values)


def test_a_clock_that_locks_at_a_grid_point_ticks_once_in_the_first_run_too() -> None:
    """The run goes on in another program at 0.0264, from where sums of steps reach 0.1 minus one unit."""
    s = arm.System("clock")
    for name in "ABC":
        s.body(name, joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.lock("B.q1")
    s.event("release", "t - 0.0264", direction=1, unlock="B.q1")
    s.event("clock", "t - 0.1", direction=1, lock="C.q1", set={"A.u1": "A.u1 + 1"})
    model = s.derive().compile()
    for _ in range(2):
        run = model.simulate(0.4, step=1e-3, sample=0.04)
        assert [event.name for event in run.events] == ["release", "clock"]
        assert run.final["A.u1"] == pytest.approx(1.0)
