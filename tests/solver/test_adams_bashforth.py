"""Adams–Bashforth of order 2: its evaluations, its starts, and the same steps on lanes and in programs.

The method is exact where rates are linear in time, as those of a ball between its bounces, provided that no
rate from before an event, a jump or a change of memory enters a step.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import armillary as arm
from tests.solver.problems import bounces


@cache
def ball() -> arm.CompiledModel:
    s = arm.System("ball")
    s.parameter("restitution", 0.8, units="1")
    s.body("A", joint=arm.Prismatic("y"), mass=1)
    s.gravity(10.0, -s.ground.y)
    s.event("touchdown", "A.q1", direction=-1, set={"A.u1": "-restitution*A.u1"})
    return s.derive().compile()


@cache
def pusher() -> arm.CompiledModel:
    """A mass under a force that a memory turns at grid points: 1 N where the time is below one second."""
    s = arm.System("pusher")
    s.body("A", joint=arm.Prismatic("x"), mass=1)
    s.memory("side", 1.0, update="select(t < 0.995, 1, -1)")
    s.parameter("newton", 1.0, units="N")
    s.force("push", "newton*side", s.ground.x, at=s.bodies["A"].origin)
    return s.derive().compile()


def height(t: np.ndarray) -> np.ndarray:
    """Of the ball, dropped from 1 m."""
    hits = np.array([-math.sqrt(0.2), *bounces(1.0, 0.8, 3.0)])
    speeds = math.sqrt(20.0) * 0.8 ** np.arange(len(hits))
    last = np.searchsorted(hits, t, side="right") - 1
    x = t - hits[last]
    return speeds[last] * x - 5.0 * x**2


def test_a_step_takes_one_evaluation_and_the_first_one_two() -> None:
    run = ball().simulate(0.4, step=0.01, method="ab2", initial={"A.q1": 1.0})
    assert run.info["steps"] == 40
    assert run.info["evaluations"] == 40 + 2  # the rate at the end of the run is kept for rows and events


@pytest.mark.parametrize("step", [0.01, 0.037])
def test_no_rate_from_before_an_event_enters_a_step(step: float) -> None:
    run = ball().simulate(3.0, step=step, method="ab2", sample=0.0173, initial={"A.q1": 1.0})
    assert len(run.events) == len(bounces(1.0, 0.8, 3.0)) > 3
    np.testing.assert_allclose(run["A.q1"], height(run.time), rtol=0, atol=1e-11)
    again = ball().simulate(3.0, step=step, method="ab2", sample=0.0173, initial={"A.q1": 1.0})
    assert np.array_equal(run["A.q1"], again["A.q1"])


def test_no_rate_from_before_a_change_of_memory_enters_a_step() -> None:
    run = pusher().simulate(2.0, step=0.01, method="ab2")
    t = run.time
    exact = np.where(t < 1.0, t**2 / 2, 0.5 + (t - 1.0) - (t - 1.0) ** 2 / 2)
    np.testing.assert_allclose(run["A.q1"], exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("model", "starts"), [(ball, {"A.q1": [1.0, 0.7, 1.3]}), (pusher, {"A.u1": [0.0, 1.0, 2.0]})]
)
def test_runs_on_lanes_are_single_runs_to_the_last_bit(model, starts) -> None:
    how = {"step": 0.01, "method": "ab2"}
    batch = model().simulate_batch(
        2.0, initial={k: np.array(v) for k, v in starts.items()}, metrics={"end": "final(A.q1)"}, **how
    )
    for i in range(3):
        run = model().simulate(2.0, initial={k: v[i] for k, v in starts.items()}, **how)
        assert run["A.q1"][-1] == batch["end"][i]
