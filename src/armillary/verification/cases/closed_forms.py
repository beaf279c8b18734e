"""Systems that can be solved on paper: pendulum, bouncing ball, spinning top."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.verification.reference import TIGHT, apart, drift, example, largest
from armillary.verification.rows import Case, difference, value


def measure_pendulum() -> Iterator[float]:
    """sin(θ/2) = k sn(K(k) − ω t), k = sin(θ₀/2), released at θ₀."""
    from scipy.special import ellipj, ellipk

    model = example("pendulum").system().derive().compile()
    frequency = math.sqrt(9.81 / 0.5)
    for start in (0.01, 1.0, 3.0):
        k = math.sin(start / 2)
        run = model.simulate(5.0, sample=0.05, initial={"bob.q1": start}, **TIGHT)
        sn = ellipj(ellipk(k * k) - frequency * run.time, k * k)[0]
        yield apart(run["bob.q1"], 2 * np.arcsin(k * sn))
    yield drift(model.simulate(5.0, step=1e-3, method="rk4", initial={"bob.q1": 1.0})["energy"])


def measure_ball() -> Iterator[float]:
    ball = example("bouncing_ball")
    run = ball.system().derive().compile().simulate(3.0, sample=0.01, initial={"ball.q1": 1.0}, **TIGHT)
    yield len(run.events)
    times = ball.bounce_times(len(run.events))
    yield apart([event.time for event in run.events], times)
    yield apart(run["energy"], 0.1 * 9.81 * 0.64 ** np.searchsorted(times, run.time))


def measure_top() -> Iterator[float]:
    top, angle = example("spinning_top"), math.radians(30.0)
    model = top.system().derive().compile()
    for spin in (60.0, 125.0, 400.0):
        run = model.simulate(2.0, sample=0.005, initial=top.tilted(angle) | {"top.u3": spin}, **TIGHT)
        yield apart(run["z"], top.height(run.time, angle, spin))
    yield largest([drift(run[name]) for name in ("energy", "hz", "norm")])


CASES = (
    Case(
        "pendulum",
        "Pendulum",
        "elliptic functions",
        (
            *(difference(f"angle over 5 s, released at {start} rad", 1e-9) for start in ("0.01", "1", "3")),
            difference("energy over 5 s with RK4 at 1 ms", 1e-10, "conservation"),
        ),
        measure_pendulum,
        "closed-forms",
    ),
    Case(
        "bouncing_ball",
        "Bouncing ball",
        "closed form",
        (
            value("bounces in 3 s", 6, 0),
            difference("times of the bounces (s)", 1e-10),
            difference("energy between them (J)", 1e-10),
        ),
        measure_ball,
        "closed-forms",
    ),
    Case(
        "spinning_top",
        "Spinning top",
        "elliptic functions",
        (
            *(difference(f"height of the axis over 2 s at {spin} rad/s", 1e-9) for spin in (60, 125, 400)),
            difference("energy, vertical angular momentum, unit quaternion", 1e-10, "conservation"),
        ),
        measure_top,
        "closed-forms",
    ),
)
