"""Memory and events of compiled models: updated once per step, changed at events, reported by name."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ParameterError
from armillary.stages.model import Model
from tests.solver.problems import bounces

pytestmark = pytest.mark.optimised


@cache
def counter() -> Model:
    """A body at rest that counts the steps of whoever moves it."""
    s = arm.System("counter")
    s.body("A", joint=arm.Prismatic("x"), mass=1)
    s.memory("steps", 0.0, update="steps + 1", about="steps so far")
    s.memory("latest", -1.0, update="t")
    s.memory("previous", -1.0, update="latest")
    return s.derive().compile()


@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_memory_is_updated_once_per_step_however_often_a_method_evaluates(method: str) -> None:
    """At the start of each step, so a row shows what the next step uses; the old values make the new ones."""
    run = counter().simulate(1.0, step=0.125, method=method)
    assert run["steps"].tolist() == list(range(1, 10))
    assert run["latest"] == pytest.approx(run.time, abs=1e-15)
    assert run["previous"][0] == -1.0
    assert run["previous"][1:] == pytest.approx(run.time[:-1], abs=1e-15)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p"])
def test_adaptive_methods_update_memory_at_accepted_steps_only(method: str) -> None:
    run = counter().simulate(1.0, method=method, sample=1.0)
    assert run["steps"][-1] == int(run.info["steps"]) + 1


def test_memory_can_be_given_to_a_run_and_to_single_evaluations() -> None:
    run = counter().simulate(0.5, step=0.25, memory={"steps": 10.0})
    assert run["steps"].tolist() == [11, 12, 13]
    assert counter().outputs(0.0, [0, 0], memory=[5.0, 0.0, 0.0])["steps"] == 5.0
    assert counter().outputs(0.0, [0, 0])["steps"] == 0.0
    with pytest.raises(ParameterError, match=r"there is no memory 'step'; did you mean 'steps'\?"):
        counter().simulate(0.5, step=0.25, memory={"step": 10.0})
    with pytest.raises(ParameterError, match=r"memory 'steps' needs a number, .* not 'ten'"):
        counter().simulate(0.5, step=0.25, memory={"steps": "ten"})
    with pytest.raises(ArmillaryError, match="the memory must be 3 numbers"):
        counter().outputs(0.0, [0, 0], memory=[5.0])


# ---------------------------------------------------------------- a thruster with a dead band


def thruster() -> arm.System:
    """Attitude held by a thruster with a dead band and a minimum on-time (as in Sayers 1990, section 9.4).

    It fires against the error s = q + tau·u when |s| leaves the dead band, for at least ``shortest`` seconds.
    """
    s = arm.System("thruster")
    for name, value in {"J": 10.0, "torque": 1.0, "band": 0.01, "shortest": 0.05}.items():
        s.parameter(name, value)
    body = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=("J", "J", "J"))
    s.memory("firing", 0.0)
    s.memory("until", 0.0)
    error = "(A.q1 + 0.5*A.u1)"
    s.update("firing", f"select(t < until, firing, select(abs({error}) > band, -sign({error}), 0))")
    s.update("until", f"select(t < until, until, select(abs({error}) > band, t + shortest, until))")
    s.moment("jet", "torque*firing", "ground.z", on=body)
    return s


def thruster_in_python(step: float, count: int, q: float, u: float) -> np.ndarray:
    """The same logic by hand; between switches the motion is exactly parabolic, and RK4 exact for it."""
    firing = until = 0.0
    rows = []
    for i in range(count + 1):
        t = i * step
        error = q + 0.5 * u
        if not t < until:
            outside = abs(error) > 0.01
            firing = -math.copysign(1.0, error) if outside else 0.0
            until = t + 0.05 if outside else until
        rows.append((t, q, u, firing))
        a = firing / 10.0
        q, u = q + step * u + step**2 / 2 * a, u + step * a
    return np.array(rows)


def test_a_dead_band_relay_switches_as_its_logic_says() -> None:
    step, count = 0.01, 6000
    run = (
        thruster()
        .derive()
        .compile()
        .simulate(count * step, step=step, initial={"A.q1": 0.03, "A.u1": -0.001})
    )
    expected = thruster_in_python(step, count, 0.03, -0.001)
    assert run["firing"].tolist() == expected[:, 3].tolist()
    assert run["A.q1"] == pytest.approx(expected[:, 1], abs=1e-11)
    assert run["jet"] == pytest.approx(run["firing"], abs=1e-15)
    switches = np.flatnonzero(np.diff(run["firing"]))
    assert len(switches) > 6 and set(run["firing"]) == {-1.0, 0.0, 1.0}
    burns = [length for value, length in runs_of(run["firing"]) if value != 0]
    assert min(burns) >= 5  # the minimum on-time, in steps
    assert np.max(np.abs(run["A.q1"][-2000:])) < 0.02


def runs_of(values: np.ndarray) -> list[tuple[float, int]]:
    edges = np.flatnonzero(np.diff(values)) + 1
    starts = [0, *edges.tolist(), len(values)]
    return [(float(values[i]), j - i) for i, j in pairwise(starts[:-1])]  # the last one is cut off


# ---------------------------------------------------------------- events


def ball(**event: Any) -> Model:
    s = arm.System("ball")
    s.parameter("restitution", 0.8, units="1")
    s.body("A", joint=arm.Prismatic("y"), mass=1)
    s.gravity(10.0, -s.ground.y)
    s.memory("hits", 0.0)
    changes = {"A.u1": "-restitution*A.u1", "hits": "hits + 1"}
    s.event("touchdown", "A.q1", direction=-1, **{"set": changes, **event})
    s.event("apex", "A.u1", direction=-1)
    return s.derive().compile()


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"step": 0.01}, {"method": "rodas5p"}])
def test_events_set_speeds_and_memory_and_are_named_in_the_run(options: dict[str, Any]) -> None:
    run = ball().simulate(3.0, initial={"A.q1": 1.0}, **options)
    expected = bounces(1.0, 0.8, 3.0)
    hits = [e.time for e in run.events if e.name == "touchdown"]
    assert len(expected) > 3 and hits == pytest.approx(expected, abs=1e-9)
    assert run.final["hits"] == len(expected)
    apexes = [e.time for e in run.events if e.name == "apex"]
    between = (expected[:-1] + expected[1:]) / 2
    assert apexes[: len(between)] == pytest.approx(between, abs=1e-9)  # one more may follow the last bounce
    assert [e.time for e in run.events] == sorted(e.time for e in run.events)
    assert np.min(run["A.q1"]) > -1e-9


def test_an_event_that_stops_ends_the_run_there() -> None:
    run = ball(stop=True).simulate(3.0, initial={"A.q1": 1.0})
    assert run.info["status"] == "event"
    assert [e.name for e in run.events] == ["touchdown"]
    assert run.events[0].time == pytest.approx(math.sqrt(0.2), abs=1e-12)
    assert run.time[-1] <= run.events[0].time < run.time[-1] + 3.0 / 1000


def test_an_event_may_change_a_coordinate_and_swap_values() -> None:
    """New values are computed from the old ones, all at once."""
    s = arm.System("swap")
    s.body("A", joint=arm.Prismatic("x"), mass=1)
    s.body("B", joint=arm.Prismatic("x"), mass=1)
    s.event("meet", "t - when", set={"A.q1": "B.q1", "B.q1": "A.q1", "A.u1": "2*A.u1"})
    run = (
        s.derive()
        .compile()
        .simulate(2.0, step=0.25, initial={"A.q1": 1.0, "A.u1": 1.0, "B.q1": 5.0}, parameters={"when": 1.1})
    )
    assert [(e.name, e.time) for e in run.events] == [("meet", pytest.approx(1.1, abs=1e-12))]
    assert run.final["A.q1"] == pytest.approx(5.0 + 2 * 0.9, rel=1e-12)
    assert run.final["B.q1"] == pytest.approx(2.1, rel=1e-12)


def test_fire_sections_are_named_after_their_events() -> None:
    found = ball().equations.program.fire
    assert [section.name for section in found] == ["fire touchdown", "fire apex"]
    assert found[0].labels == ("hits", "A.q1", "A.u1")
