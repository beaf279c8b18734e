"""Batches of runs with events on lanes: equal to the scalar loop, whatever their neighbours."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines import lane_engines
from armillary.ensembles.engines.engine import Outcome
from armillary.ensembles.engines.lane_engines import LanesWithEvents
from armillary.ensembles.engines.scalar import Scalar
from armillary.ensembles.plan import EVENT, FINISHED, NOT_RUN, TOO_MANY_STEPS, Plan, plan
from armillary.settings import RunSettings
from armillary.stages.model import Model

RUNS = 21


@cache
def latched() -> Model:
    """A pendulum on a free body, released at some time, that locks where it hangs straight; a run ends where
    the body has turned far. In three configurations' time, motion is an oscillation of many steps.
    """
    s = arm.System("latched pendulum")
    for name, value in (("k", 30.0), ("release", 0.3), ("far", 0.9)):
        s.parameter(name, value)
    hub = s.body("hub", joint=arm.Revolute("z"), mass=3, inertia=(0.4, 0.4, 0.5), com=(0.1, 0, 0))
    arm_ = s.body(
        "arm",
        parent=hub,
        at=(0.5, 0, 0),
        joint=arm.Revolute("z"),
        com=(0.4, 0, 0),
        mass=1,
        inertia=0,
    )
    s.moment("spring", "-k*hub.q1", s.ground.z, on=hub)
    s.moment("hinge", "-2*(arm.q1 + 0.4)", s.ground.z, on=arm_, reaction=hub)
    s.lock(arm_.q1)
    s.start({"arm.q1": 1.2})
    s.event("opens", "t - release", direction=1, unlock=[arm_.q1])
    s.event("latches", arm_.q1, direction=-1, lock=[arm_.q1])
    s.event("far", "hub.q1 - far", stop=True)
    return s.derive().compile()


@cache
def planned(t_end: float = 6.0, **how: Any) -> Plan:
    random = np.random.default_rng(2)
    return plan(
        core_of(latched()),
        RunSettings(t_end, sample=0.05, **how),
        parameters={"k": random.uniform(20.0, 40.0, RUNS), "release": random.uniform(0.1, 0.9, RUNS)},
        initial={
            "hub.q1": random.uniform(0.2, 0.6, RUNS), "hub.u1": np.where(np.arange(RUNS) % 7 == 3, 8.0, 0.0)
        },
        outputs=["hub.q1", "arm.u1"],
        metrics=["rms(hub.u1)", "final(arm.q1)"],
    )  # fmt: skip


def _made(kind: type[Scalar], made: Plan) -> Outcome:
    latched().simulate(made.settings.t_end)  # meets the configurations
    engine = kind(made)
    return engine(made.starts, 0, RUNS)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rk4"])
def test_runs_that_lock_and_unlock_are_those_of_the_scalar_loop(method: str, on_lanes: list[int]) -> None:
    """Rows, metrics, ends and the events that end runs, to rounding; lanes take most of the steps."""
    made = planned(method=method, step=0.01 if method == "rk4" else None)
    scalar, lanes = (_made(kind, made) for kind in (Scalar, LanesWithEvents))
    np.testing.assert_array_equal(lanes.status, scalar.status)
    assert {FINISHED, EVENT} == set(lanes.status)
    np.testing.assert_array_equal(lanes.event, scalar.event)
    for name in ("state", "rows", "slots", "t_stop"):
        np.testing.assert_allclose(getattr(lanes, name), getattr(scalar, name), rtol=1e-9, atol=1e-11)
    assert sum(on_lanes) > 20 * RUNS and len(on_lanes) >= 3


def test_numbers_do_not_depend_on_neighbours() -> None:
    made = planned(method="dop853")
    whole = _made(LanesWithEvents, made)
    engine = LanesWithEvents(made)
    for first, last in ((0, 1), (1, 4), (4, RUNS)):
        part = engine(made.starts, first, last)
        for name in ("status", "state", "rows", "slots", "t_stop"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[..., first:last])


def test_steps_are_counted_over_lanes_and_scalar_loop() -> None:
    """A run ends where it has tried as many steps as are allowed, wherever it took them."""
    made = planned(method="dop853", max_steps=30)
    scalar, lanes = (_made(kind, made) for kind in (Scalar, LanesWithEvents))
    np.testing.assert_array_equal(lanes.status, scalar.status)
    assert TOO_MANY_STEPS in set(lanes.status)
    np.testing.assert_allclose(lanes.t_stop, scalar.t_stop, rtol=1e-9)


def test_halted_runs_are_not_made() -> None:
    """Those that an event does not end in their first steps."""
    made = planned(method="dop853")
    engine = LanesWithEvents(made)
    engine.halt[0] = 1.0
    status = engine(made.starts, 0, RUNS).status
    assert set(status) <= {NOT_RUN, EVENT} and np.sum(status == NOT_RUN) > RUNS / 2


def test_large_batches_are_made_on_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"parameters": {"k": np.linspace(20.0, 40.0, 9)}, "progress": False}
    small = latched().simulate_batch(2.0, metrics=["final(hub.q1)"], **given)
    monkeypatch.setattr(lane_engines, "LEAST_RUNS", 9)
    monkeypatch.setattr(lane_engines, "LEAST_LANES", 2)
    large = latched().simulate_batch(2.0, metrics=["final(hub.q1)"], **given)
    assert small.info["engine"] == "scalar"
    assert large.info["engine"].startswith("lanes of ") and large.info["engine"].endswith("between events")
    np.testing.assert_allclose(large["final(hub.q1)"], small["final(hub.q1)"], rtol=1e-9)


def test_models_without_events_are_left_to_other_engines() -> None:
    s = arm.System("pendulum")
    s.body("A", joint=arm.Revolute("y"), com=(0, 0, -1), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.z)
    made = plan(
        core_of(s.derive().compile()), RunSettings(1.0, method="dop853"), initial={"A.q1": np.ones(3)}
    )
    assert LanesWithEvents.refusal(made) == "there are no events"
