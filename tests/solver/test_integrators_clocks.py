"""Sampled controllers: clocks as events, whose ticks fall on grid points and rows up to rounding."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.solver.problems import COMPILED, FIXED, integrate
from tests.solver.traced import Model, compile_model

PERIOD, END = 0.01, 5.0
STEPS = (0.01, 0.005, 0.0025, 0.002, 0.001, 0.003, 0.02)
STIFFNESS, DAMPING = 40.0, 9.0


@cache
def controlled() -> Model:
    """ẍ = u, where u = −40 x − 9 ẋ is renewed by a clock; memory: next tick, u."""
    return compile_model(
        lambda t, y, p, m: [y[1], m[1]],
        n_states=2,
        n_memory=2,
        events=lambda t, y, p, m: [t - m[0]],
        n_events=1,
        fire=lambda k, t, y, p, m: ([m[0] + PERIOD, -(STIFFNESS * y[0]) - DAMPING * y[1]], [y[0], y[1]]),
        directions=(1,),
    )


def recursion() -> np.ndarray:
    """x, ẋ and u after each tick: a parabola between ticks, u = 0 before the first."""
    x, v, u, rows = 1.0, 0.0, 0.0, [(1.0, 0.0, 0.0)]
    for _ in range(round(END / PERIOD)):
        x, v = x + PERIOD * v + PERIOD**2 / 2 * u, v + PERIOD * u
        u = -STIFFNESS * x - DAMPING * v
        rows.append((x, v, u))
    return np.array(rows)


def expected(times: np.ndarray) -> np.ndarray:
    """x, ẋ, u at any times, at a tick itself those after it."""
    after = recursion()
    tick = np.floor(times / PERIOD + 1e-6).astype(int)
    x, v, u = after[tick].T
    since = times - tick * PERIOD
    return np.stack([x + since * v + since**2 / 2 * u, v + since * u, u], axis=1)


def _check(run) -> None:
    assert run.status == "finished"
    assert run.t_stop == END
    ticks = np.array([t for t, _ in run.events])
    # Five hundred additions of the period, half a unit in the last place of 5 each: 2.2e-13.
    assert ticks == pytest.approx(np.arange(1, 501) * PERIOD, abs=3e-13)
    # Each shift of a tick moves u by at most 40 |x| + 9 |v| < 100 times that: 1e-9 in all.
    assert np.max(np.abs(run.samples[:, [0, 1, 3]] - expected(run.time))) < 1e-9
    assert run.final_memory[1] == pytest.approx(recursion()[-1, 2], abs=1e-9)


@pytest.mark.parametrize("sample", [None, 0.01, 0.0025, 0.0037])
@pytest.mark.parametrize("method", COMPILED)
def test_a_sampled_controller_follows_its_recursion(method, sample):
    """Midpoint and all others are exact on parabolas; a row at a tick always shows the value after it."""
    for step in STEPS:
        limit = {"max_step": step} if method not in FIXED else {}
        run = integrate(
            controlled().functions,
            method,
            t0=0,
            t_end=END,
            state=[1, 0],
            memory=[PERIOD, 0],
            step=step,
            sample=sample,
            **limit,
        )
        _check(run)
        if sample:
            assert run.time.tolist()[:-1] == (np.arange(len(run.time)) * sample).tolist()[:-1]
            assert len(run.time) == int(END / sample + 1e-9) + 1
        elif method in FIXED:
            count = int(END / step + 1e-9)
            assert run.time.tolist()[:count] == (np.arange(count) * step).tolist()
            # One step per grid point and one more per tick between them (the last is at the end): no slivers.
            between = sum(abs(k * PERIOD / step - round(k * PERIOD / step)) > 1e-6 for k in range(1, 500))
            assert run.steps == len(run.time) - 1 + between


@pytest.mark.parametrize("sample", [0.01, 0.0037])
@pytest.mark.parametrize("method", ("dopri5", "dop853", "rodas5p"))
def test_a_sampled_controller_under_free_steps(method, sample):
    run = integrate(
        controlled().functions, method, t0=0, t_end=END, state=[1, 0], memory=[PERIOD, 0], sample=sample
    )
    _check(run)


@pytest.mark.parametrize("method", COMPILED)
def test_rows_at_given_times_around_a_tick_are_all_kept(method):
    """Times within rounding of a tick and of the end: each has its row, and none comes twice."""
    near = 0.02 + np.arange(-3, 4) * np.spacing(0.02)
    times = np.array([0.0, 0.013, *near, 0.5, np.nextafter(END, 0), END])
    run = integrate(
        controlled().functions, method, t0=0, t_end=END, state=[1, 0], memory=[PERIOD, 0], step=0.01,
        sample=times, max_step=0.01,
    )  # fmt: skip
    assert run.time.tolist() == times.tolist()
    assert np.max(np.abs(run.samples[:, :2] - expected(times)[:, :2])) < 1e-9


@pytest.mark.parametrize("method", COMPILED)
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_an_event_without_effect_at_a_grid_point_happens_once(method, scale):
    """y = t, whose sum of steps rounds to either side: y = 0.1, 0.2, … each crossed exactly once."""
    model = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        events=lambda t, y, p, m: [scale * (y[0] - 0.1 * k) for k in range(1, 11)],
        n_events=10,
    )
    for step in STEPS:
        run = integrate(model.functions, method, t0=0, t_end=1.05, state=[0], step=step, max_step=step)
        assert sorted(k for _, k in run.events) == list(range(10))
        assert [t for t, _ in run.events] == pytest.approx(0.1 * np.arange(1, 11), abs=1e-13)


def test_two_clocks_tick_together_where_their_sums_differ():
    """Sums of 0.01 and of 0.03 to the same time round differently; on a grid both tick at its points."""
    model = compile_model(
        lambda t, y, p, m: [0.0],
        n_states=1,
        n_memory=2,
        events=lambda t, y, p, m: [t - m[0], t - m[1]],
        n_events=2,
        fire=lambda k, t, y, p, m: ([m[0] + 0.01, m[1]] if k == 0 else [m[0], m[1] + 0.03], [y[0]]),
        directions=(1, 1),
    )
    run = integrate(model.functions, "rk4", t0=0, t_end=3, state=[0], memory=[0.01, 0.03], step=0.005)
    assert [sum(k == which for _, k in run.events) for which in (0, 1)] == [300, 100]
    assert len({t for t, _ in run.events}) == 300
    assert {t for t, _ in run.events} <= set(run.time.tolist())
    assert run.steps == 600


@pytest.mark.parametrize("method", FIXED)
def test_a_clock_keeps_time_for_a_hundred_thousand_ticks(method):
    """Drift of the sum is 1.6e-10 by then; ticks still fall on the grid's points."""
    run = integrate(
        controlled().functions, method, t0=0, t_end=1000, state=[1, 0], memory=[PERIOD, 0], step=0.01,
        sample=10.0,
    )  # fmt: skip
    assert (run.status, len(run.events), run.steps) == ("finished", 100_000, 100_000)
