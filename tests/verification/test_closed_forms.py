"""Small systems with solutions on paper: the pendulum in elliptic functions, the bouncing ball's times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from examples import bouncing_ball, pendulum
from tests.verification.common import TIGHT, assert_near


@pytest.mark.parametrize("start", [0.01, 1.0, 3.0])
def test_pendulum(start: float) -> None:
    """sin(θ/2) = k sn(K(k) − ω t), k = sin(θ₀/2), released at θ₀."""
    model = pendulum.system().derive().compile()
    k, frequency = math.sin(start / 2), math.sqrt(9.81 / 0.5)
    run = model.simulate(5.0, sample=0.05, initial={"bob.q1": start}, **TIGHT)
    sn = ellipj(ellipk(k * k) - frequency * run.time, k * k)[0]
    assert_near(run["bob.q1"], 2 * np.arcsin(k * sn), 1e-9, f"pendulum from {start} rad over 5 s")
    assert_near(run["energy"], -2.0 * 9.81 * 0.5 * math.cos(start), 1e-10, "its energy")


def test_bouncing_ball() -> None:
    model = bouncing_ball.system().derive().compile()
    run = model.simulate(3.0, sample=0.01, initial={"ball.q1": 1.0}, **TIGHT)
    times = bouncing_ball.bounce_times(len(run.events))
    assert len(times) == 6
    assert {event.name for event in run.events} == {"bounce"}
    assert_near([event.time for event in run.events], times, 1e-10, "times of the bounces")
    bounces = np.searchsorted(times, run.time)
    assert_near(run["energy"], 0.1 * 9.81 * 0.64**bounces, 1e-10, "energy after each bounce")
