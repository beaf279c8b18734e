"""Runs that are refused or had to stop: what the user is told, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, SimulationError
from armillary.runtime.integrators import settings
from tests.solver.problems import integrate, oscillator


def _ball():
    s = arm.System("ball")
    s.parameter("e", 0.8)
    body = s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.event("bounce", body.q1, direction=-1, set={body.u1: "-e*b.u1"})
    return s.derive().compile()


@pytest.mark.parametrize("how", [{"step": 1e-3}, {}, {"method": "dopri5"}, {"method": "rodas5p"}])
def test_a_bouncing_ball_names_its_event_and_keeps_its_data(how):
    """From 1 m with e = 0.8 it rests after √(2/9.81) · 1.8/0.2 = 4.0637 s."""
    with pytest.raises(
        SimulationError, match=r"event 'bounce' accumulates at t = 4\.0637\d* s.*stop=True"
    ) as e:
        _ball().simulate(6, initial={"b.q1": 1}, **how)
    run = e.value.run
    assert run.info["status"] == "events accumulate"
    assert run.time[-1] > 4.05
    assert np.min(run["b.q1"]) > -1e-12
    assert len(run.events) > 60


def test_a_fixed_step_run_is_not_told_of_tolerances():
    s = arm.System("runaway")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push", "1000*b.u1^3", s.ground.x, at=body.origin)
    model = s.derive().compile()
    start = {"b.u1": 1.0}
    for how, message in (
        ({"step": 1e-3}, "diverged.*use a smaller step"),
        ({"step": 1e-5, "max_steps": 1}, "too many steps.*use a larger step"),
    ):
        with pytest.raises(SimulationError, match=message) as e:
            model.simulate(1, initial=start, **how)
        assert "tol" not in str(e.value)
    with pytest.raises(SimulationError, match="rtol"):
        model.simulate(1, initial=start)


def test_tolerances_are_recorded_where_they_were_used():
    model = _ball()
    assert "rtol" not in model.simulate(0.1, step=0.01, rtol=1e-3, initial={"b.q1": 1}).info
    assert model.simulate(0.1, rtol=1e-3, initial={"b.q1": 1}).info["rtol"] == 1e-3


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"step": 1e-4}, r"record 1e\+11 rows of 2 outputs \(1.6 TB\); give sample=, e.g. sample=10"),
        ({"step": 1e-4, "sample": 1e-3}, r"1e\+10 rows .*\(160 GB\); give a larger sample=, e.g. sample=10"),
        ({"sample": 1e-3}, "give a larger sample="),
        ({"sample": 1e-3, "method": "rodas5p"}, "give a larger sample="),
        ({"step": 1e-3, "sample": 5e-324}, "too short for any run"),
    ],
)
def test_more_rows_than_memory_holds_are_refused_before_the_run(how, message):
    with pytest.raises(ArmillaryError, match=message):
        _ball().simulate(1e7, **how)


def test_more_rows_than_memory_holds_are_refused_before_a_run_that_locks_a_joint():
    """Their times were written down first: 8 GB for a billion rows, or an error of NumPy."""
    s = arm.System("latch")
    s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.event("latch", "t - 0.1", lock="a.q1")
    model = s.derive().compile(tier="quick")
    for how in ({"step": 1e-300}, {"sample": 1e-12}):
        with pytest.raises(ArmillaryError, match="this would record"):
            model.simulate(1.0, **how)
    batch = model.simulate_batch(1e3, sample=1e-12, runs=1, metrics=["final(a.q1)"], progress=False)
    assert batch["final(a.q1)"].tolist() == [0.0]  # no histories are kept


@pytest.mark.parametrize("method", ["dopri5", "rodas5p"])
def test_a_row_per_adaptive_step_ends_where_room_does(method, monkeypatch):
    """Room for 1500 rows of two outputs: the run stops there, and what it has is kept."""
    monkeypatch.setattr(settings, "MOST_BYTES", 1500 * 16)
    run = integrate(oscillator().functions, method, t0=0, t_end=100, state=[1, 0], max_step=0.01, rtol=1e-6)
    assert (run.status, len(run.time), len(run.samples)) == ("too many rows", 1500, 1500)
    assert run.samples[:, 0] == pytest.approx(np.cos(run.time), abs=1e-4)


@pytest.mark.parametrize("step", [0.01, 0.002, 0.003, 0.02])
def test_a_memory_renewed_periodically_lags_by_less_than_a_period(step):
    """A memory that keeps the time of its last update: ⌊t/0.01⌋·0.01, at a tick the tick itself."""
    s = arm.System("sampler")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    held = s.memory("held", 0.0, update=s.time, every=0.01, units="s")
    s.output("held time", held, units="s")
    run = s.derive().compile().simulate(3, step=step)
    assert len(run.time) == round(3 / step) + 1
    assert run["held time"] == pytest.approx(np.floor(run.time / 0.01 + 1e-6) * 0.01, abs=1e-12)
