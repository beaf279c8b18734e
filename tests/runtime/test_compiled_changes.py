"""Changes of configuration inside the compiled loop, whose tables grow with what runs meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.program.configurations import configurations_of
from armillary.runtime.models import run_changes
from armillary.runtime.models.configurations import Configurations
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.run_changes import ConfigurationSupply
from armillary.stages.model import Model
from examples.array_deployment import system as array_deployment
from tests.systems.ball_in_a_slot import LARGE, ball
from tests.systems.changing_links import changing
from tests.systems.falling_four_bar import four_bar as falling_four_bar
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
def additions(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times at which something was added to the tables of all runs."""
    added: list[float] = []
    add = ConfigurationSupply.__call__

    def counted(self: Any, run: Any) -> Any:
        added.append(run.control.t)
        return add(self, run)

    monkeypatch.setattr(ConfigurationSupply, "__call__", counted)
    return added


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
    name: str, how: str, additions: list[float]
) -> None:
    """The first run waits where it meets a new configuration, the second finds all in its tables: rows and
    counts are the same to the last bit.
    """
    model, span, given = STARTS[name]
    steps: dict[str, Any] = {"step": 2e-3} if how == "rk4" else {}
    fresh = made_anew(model())
    first = fresh.simulate(span, **given, **steps)
    met = len(additions)
    second = fresh.simulate(span, **given, **steps)
    assert met > 2 and len(additions) == met
    np.testing.assert_array_equal(second.values, first.values)
    assert [(e.time, e.name) for e in second.events] == [(e.time, e.name) for e in first.events]
    for fact in ("configurations", "steps", "rejected", "evaluations"):
        assert second.info[fact] == first.info[fact]
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


def test_tables_make_room_for_any_number_of_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """They begin with room for one in place of 64."""
    start = {"initial": {"D0.u1": 1.0, "D2.u1": -2.0}, "sample": 0.1}
    expected = thrown().simulate(1.5, **start)
    shape = run_changes.change_shape

    def small(equations: Any) -> Any:
        found, lockable = shape(equations)
        return replace(found, room=1), lockable

    monkeypatch.setattr(run_changes, "change_shape", small)
    model = thrown()
    np.testing.assert_array_equal(model.simulate(1.5, **start).values, expected.values)
    own = core_of(model)
    tables = run_changes.known_changes(Configurations(
        own.configuration_models, own.equations.configuration, Instance(own)
    )).tables  # fmt: skip
    assert tables.count == len(own.configuration_models) > 2
    assert tables.count <= tables.shape.room < 2 * tables.count


def test_a_stiff_method_takes_over_in_the_configuration_that_the_run_is_in() -> None:
    """A damper of 1e5 N s/m after a joint has locked: the sections are those of the present program."""
    s = arm.System("brake")
    for name in "AB":
        s.body(name, joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.memory("k", 0.0)
    s.event("catch", "t - 0.1", direction=1, lock="A.q1")
    s.event("brakes", "t - 0.2", direction=1, set={"k": 1.0})
    s.force("damper", "-(1 + 1e5*k)*B.u1 - (1 + 1e4*k)*B.q1", s.ground.x, at=s.bodies["B"].com)
    model, start = s.derive().compile(), {"A.u1": 1.0, "B.u1": 1.0}
    first, second = (model.simulate(1.0, method="auto", sample=0.1, initial=start) for _ in range(2))
    assert "rodas5p from t = 0.2" in str(first.info["stiffness"])
    np.testing.assert_array_equal(second.values, first.values)
    stiff = model.simulate(1.0, method="rodas5p", sample=0.1, initial=start)
    for name in ("A.q1", "B.q1"):
        np.testing.assert_allclose(first[name], stiff[name], rtol=1e-6, atol=1e-9)


def test_a_run_that_is_interrupted_while_a_configuration_is_derived_keeps_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = thrown()

    def interrupt(self: Any, configuration: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Configurations, "add", interrupt)
    run = model.simulate(1.5, initial={"D0.u1": 1.0}, sample=0.1)
    assert run.info["status"] == "interrupted"
    assert run.time[-1] == pytest.approx(0.4)  # "throw" comes at 0.5


def test_events_that_close_loops_again_at_grid_points_happen_once_with_fixed_steps() -> None:
    """Eight of them turn the crank back, at multiples of 50 steps; sums of steps miss some by a rounding."""
    s = falling_four_bar()
    for k in range(8):
        changed = {"crank.q1": "crank.q1 - 0.02", "crank.u1": "0.9*crank.u1"}
        s.event(f"e{k}", f"t - {0.1 + 0.05 * k}", direction=1, set=changed)
    model, start = s.derive().compile(), {"initial": {"crank.q1": 1.2}, "sample": 0.05}
    fixed, again, adaptive = (model.simulate(0.6, **start, **how) for how in ({"step": 1e-3},) * 2 + ({},))
    assert [e.name for e in fixed.events] == [f"e{k}" for k in range(8)]
    np.testing.assert_array_equal(again.values, fixed.values)
    np.testing.assert_allclose(fixed.values, adaptive.values, atol=1e-6)


def test_only_events_that_leave_the_motion_may_happen_beside_a_singular_configuration() -> None:
    s = arm.System("s")
    body = s.body("b", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    count, push = s.memory("count", 0.0), s.memory("push", 0.0, units="N*m")
    s.moment("M", push, s.ground.z, on=body)
    changes = {"counts": {count: 1.0}, "pushes": {push: 2.0}, "kicks": {body.u1: 1.0}}
    for i, (name, change) in enumerate(changes.items()):
        s.event(name, body.q1 - i, set=change)
    equations = core_of(s.derive())
    effects = {e.name: run_changes.near_place(e, equations) for e in equations.targets.watched}
    refused = run_changes.REFUSED
    assert effects == {"counts": run_changes.PASSES, "pushes": refused, "kicks": refused}
