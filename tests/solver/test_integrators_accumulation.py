"""Events that come faster and faster end a run; those that only look like it do not."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest

from armillary.solver.methods.registry import METHODS
from tests.solver import traced
from tests.solver.problems import COMPILED, FIXED, ball, integrate
from tests.solver.traced import Model, compile_model


def _step(method: str, size: float) -> dict[str, float]:
    return {} if METHODS[method].adaptive else {"step": size}


BALLS = ((0.01, -1), (0.1, 0), (0.5, -1), (0.8, 0), (0.95, -1))  # restitution, direction of the event


@pytest.mark.parametrize(
    ("method", "restitution", "direction"),
    [(m, *ball) for m in COMPILED for ball in BALLS],
)
def test_a_ball_that_comes_to_rest_ends_the_run(method, restitution, direction):
    """Dropped from 5 with gravity 10, its bounces have the limit (1 + e)/(1 − e) seconds.

    The run may end up to 1e-3 of the first bounce, 2e, before that; it ends at a bounce, above the floor.
    """
    limit = (1 + restitution) / (1 - restitution)
    run = integrate(
        ball(direction).functions, method, t0=0, t_end=60, state=[5, 0], constants=[restitution], sample=1e-2,
        max_step=0.1, **_step(method, 1e-2),
    )  # fmt: skip
    assert (run.status, run.failed_event) == ("events accumulate", 0)
    assert run.t_stop == pytest.approx(limit, abs=2e-3 * restitution / (1 - restitution))
    assert run.t_stop == run.events[-1][0]
    assert np.min(run.samples[:, 0]) > -1e-12
    assert run.time.tolist() == pytest.approx(np.arange(len(run.time)) * 1e-2)
    assert run.time[-1] > run.t_stop - 1e-2


@cache
def bump_stop(direction: int) -> Model:
    """A mass pushed against a stop at x = p[1] by a constant force; p[0] is the restitution."""
    return compile_model(
        lambda t, y, p, m: [y[1], 3.0],
        n_states=2,
        events=lambda t, y, p, m: [y[0] - p[1]],
        n_events=1,
        fire=lambda k, t, y, p, m: ([], [y[0], -p[0] * y[1]]),
        directions=(direction,),
    )


@pytest.mark.parametrize("direction", [1, 0])
@pytest.mark.parametrize("stop", [0.3, 57.1])
@pytest.mark.parametrize("method", COMPILED)
def test_a_mass_does_not_pass_its_stop(method, stop, direction):
    """Away from x = 0 the last bounces are lower than the rounding of x, and only their speed shows them."""
    for restitution in (0.2, 0.5, 0.8):
        first = sqrt(2 * 0.3 / 3)
        limit = first * (1 + restitution) / (1 - restitution)
        run = integrate(
            bump_stop(direction).functions, method, t0=0, t_end=20, state=[stop - 0.3, 0],
            constants=[restitution, stop], sample=1e-2, **_step(method, 1e-3),
        )  # fmt: skip
        assert (run.status, run.failed_event) == ("events accumulate", 0)
        assert run.t_stop == pytest.approx(limit, abs=2e-3 * first * restitution / (1 - restitution))
        assert np.max(run.samples[:, 0]) < stop + 1e-12
        assert run.final_state[0] < stop + 1e-12


@pytest.mark.parametrize("method", COMPILED)
@pytest.mark.optimised
def test_relays_that_undo_each_other_at_once_end_the_run(method):
    """ẏ = 1 below zero and −1 above: at zero nothing moves any more.

    Where rounding puts y at zero itself, on neither side, the relay that switched there is the last one.
    """
    model = compile_model(
        lambda t, y, p, m: [m[0]],
        n_states=1,
        n_memory=1,
        events=lambda t, y, p, m: [y[0], y[0]],
        n_events=2,
        fire=lambda k, t, y, p, m: ([-1.0 if k == 0 else 1.0], [y[0]]),
        directions=(1, -1),
    )
    run = integrate(model.functions, method, t0=0, t_end=3, state=[-1], memory=[1], **_step(method, 0.03))
    assert [t for t, _ in run.events] == pytest.approx([1] * len(run.events), abs=1e-10)
    assert run.events[0][1] == 0
    if run.status == "finished":
        last = run.events[-1][1]
        assert run.final_state[0] == pytest.approx(-2 if last == 0 else 2, abs=1e-10)
    else:
        assert run.status == "events accumulate" and run.t_stop == pytest.approx(1, abs=1e-10)


# Not accumulations


@pytest.mark.parametrize("method", COMPILED)
def test_a_ball_that_is_caught_in_time_runs_on(method):
    """Restitution 1/2 until the speed at impact is below 1e-3, then rest: the user's own remedy.

    Impacts at 10 · 2⁻ⁿ m/s: the one with n = 14 is the last.
    """

    def fire(k, t, y, p, m):
        held = (0.0 - y[1]).where_less(1e-3, 1.0, 0.0)
        return [held], [y[0], (1.0 - held) * (-0.5) * y[1]]

    model = compile_model(
        lambda t, y, p, m: [y[1], -10.0 * (1.0 - m[0])],
        n_states=2,
        n_memory=1,
        events=lambda t, y, p, m: [y[0]],
        n_events=1,
        fire=fire,
        directions=(-1,),
    )
    run = integrate(
        model.functions, method, t0=0, t_end=5, state=[5, 0], memory=[0], sample=0.1, **_step(method, 1e-3)
    )
    assert (run.status, len(run.events)) == ("finished", 15)
    assert run.final_state == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("method", COMPILED)
def test_a_relay_whose_function_stays_beyond_zero_fires_once(method, direction):
    """ÿ = 1 until y = 2 at t = 2, then ÿ = −¼: y rises on to 2 + 2²/(2·¼) = 10 at t = 10."""
    model = compile_model(
        lambda t, y, p, m: [y[1], m[0]],
        n_states=2,
        n_memory=1,
        events=lambda t, y, p, m: [y[0] - 2.0],
        n_events=1,
        fire=lambda k, t, y, p, m: ([-0.25], [y[0], y[1]]),
        directions=(direction,),
    )
    run = integrate(model.functions, method, t0=0, t_end=10, state=[0, 0], memory=[1], **_step(method, 0.01))
    assert run.status == "finished"
    assert run.events == [(pytest.approx(2, abs=1e-12), 0)]
    assert run.final_state == pytest.approx([10, 0], abs=1e-9)


@pytest.mark.parametrize("method", COMPILED)
@pytest.mark.optimised
def test_crossings_of_a_chirp_and_of_a_narrow_peak_are_all_found(method):
    """cos(t²) has 31 zeros up to t = 10, ever closer; a peak of width 2e-4 is crossed twice a turn."""
    chirp = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        events=lambda t, y, p, m: [traced.cos(t * t)],
        n_events=1,
    )
    options = {"t0": 0, "t_end": 10, "max_step": 0.01, **_step(method, 0.01)}
    run = integrate(chirp.functions, method, state=[0], **options)
    zeros = np.sqrt((np.arange(40) + 0.5) * np.pi)
    zeros = zeros[zeros < 10]
    assert run.status == "finished"
    assert [t for t, _ in run.events] == pytest.approx(zeros, abs=1e-12)
    peak = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        events=lambda t, y, p, m: [0.01 - (t - 2.0).call("fabs"), traced.sin(t) - (1 - 5e-9)],
        n_events=2,
    )
    run = integrate(peak.functions, method, state=[0], **options | {"max_step": 2e-5, "step": 2e-5})
    assert run.status == "finished"
    assert [t for t, k in run.events if k == 0] == pytest.approx([1.99, 2.01], abs=1e-11)
    top, half = np.pi / 2, np.arccos(1 - 5e-9)
    expected = [top - half, top + half, top + 2 * np.pi - half, top + 2 * np.pi + half]
    assert [t for t, k in run.events if k == 1] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("method", FIXED)
def test_a_fast_clock_late_in_time_is_no_accumulation(method):
    """Ticks of 1 µs at t = 1e5 s, 7e4 roundings each."""
    model = compile_model(
        lambda t, y, p, m: [0.0],
        n_states=1,
        n_memory=1,
        events=lambda t, y, p, m: [t - m[0]],
        n_events=1,
        fire=lambda k, t, y, p, m: ([m[0] + 1e-6], [y[0]]),
        directions=(1,),
    )
    start = 1e5
    run = integrate(
        model.functions, method, t0=start, t_end=start + 1e-3, state=[0], memory=[start + 1e-6], step=3e-6
    )
    assert run.status == "finished"
    assert len(run.events) in (999, 1000)


@pytest.mark.parametrize("method", COMPILED)
def test_a_burst_after_a_pause_and_a_shaft_that_spins_up_are_no_accumulations(method):
    """Pulses 1e-7 s apart after a pause of ½ s; and the turns of angle t² + 1e-3 t, 400 in 20 s, as 1/√n."""
    burst = compile_model(
        lambda t, y, p, m: [0.0],
        n_states=1,
        n_memory=1,
        events=lambda t, y, p, m: [t - m[0]],
        n_events=1,
        fire=lambda k, t, y, p, m: ([m[0] + m[0].where_less(1.5, 0.5, 1e-7)], [y[0]]),
        directions=(1,),
    )
    run = integrate(
        burst.functions, method, t0=0, t_end=1.50005, state=[0], memory=[0.5], **_step(method, 0.01)
    )
    assert run.status == "finished"
    assert len(run.events) in (502, 503)  # 0.5, 1, 1.5 and then every 1e-7 s
    shaft = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        events=lambda t, y, p, m: [traced.sin((2 * np.pi) * (t * t + 1e-3 * t))],
        n_events=1,
        directions=(1,),
    )
    run = integrate(shaft.functions, method, t0=0, t_end=20.001, state=[0], step=2e-3, max_step=2e-3)
    assert (run.status, len(run.events)) == ("finished", 400)
