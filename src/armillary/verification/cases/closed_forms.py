"""Systems that can be solved on paper: pendulum, bouncing ball, spinning top."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.stages.model import Model
from armillary.verification.rows import (
    TIGHT,
    Case,
    States,
    difference,
    drift,
    equations,
    example,
    largest,
    largest_difference,
    value,
)


def measure_pendulum() -> Iterator[float]:
    """sin(θ/2) = k sn(K(k) − ω t), k = sin(θ₀/2), released at θ₀."""
    from scipy.special import ellipj, ellipk

    model = example("pendulum").system().derive().compile()
    frequency = math.sqrt(9.81 / 0.5)
    energies = []
    for start in (0.01, 1.0, 3.0):
        k = math.sin(start / 2)
        run = model.simulate(5.0, sample=0.05, initial={"bob.q1": start}, **TIGHT)
        sn = ellipj(ellipk(k * k) - frequency * run.time, k * k)[0]
        yield largest_difference(run["bob.q1"], 2 * np.arcsin(k * sn))
        energies.append(largest_difference(run["energy"], -2.0 * 9.81 * 0.5 * math.cos(start)))
    yield largest(energies)
    yield drift(model.simulate(5.0, step=1e-3, method="rk4", initial={"bob.q1": 1.0})["energy"])


def measure_ball() -> Iterator[float]:
    ball = example("bouncing_ball")
    run = ball.system().derive().compile().simulate(3.0, sample=0.01, initial={"ball.q1": 1.0}, **TIGHT)
    yield sum(event.name == "bounce" for event in run.events)
    times = ball.bounce_times(len(run.events))
    yield largest_difference([event.time for event in run.events], times)
    yield largest_difference(run["energy"], 0.1 * 9.81 * 0.64 ** np.searchsorted(times, run.time))


_TILT = math.radians(30.0)


def _nutation(model: Model) -> Iterator[float]:
    """Elliptic functions, from slow tops that swing deep to fast ones that tremble."""
    top, drifts = example("spinning_top"), []
    for spin in (60.0, 125.0, 400.0):
        run = model.simulate(2.0, sample=0.005, initial=top.tilted(_TILT) | {"top.u3": spin}, **TIGHT)
        yield largest_difference(run["z"], top.height(run.time, _TILT, spin))
        drifts += [drift(run[name]) for name in ("energy", "hz", "norm")]
    yield largest(drifts)


_STATES = States(lambda: example("spinning_top").system(), _nutation)


def measure_top() -> Iterator[float]:
    model = equations("spinning_top").compile()
    yield from _STATES.measure(model)
    yield from _precession(model)


def _precession(model: Model) -> Iterator[float]:
    """I₁ Ω² cos θ − I₃ ω₃ Ω + m g l = 0: the axis goes round at Ω without nodding."""
    top, spin = example("spinning_top"), 125.0
    across, weight = top.ACROSS + top.MASS * top.LENGTH**2, top.MASS * top.GRAVITY * top.LENGTH
    heights, paths = [], []
    for rate in np.roots([across * math.cos(_TILT), -top.ALONG * spin, weight]).real:
        # The vertical in the body's axes is (0, sin θ, cos θ) for a tilt about x.
        start = top.tilted(_TILT) | {"top.u2": rate * math.sin(_TILT), "top.u3": spin}
        run = model.simulate(1.0, sample=0.005, initial=start, **TIGHT)
        # Tilted about x the axis points to (0, −sin θ, cos θ).
        heights.append(largest_difference(run["z"], math.cos(_TILT)))
        x, y = math.sin(_TILT) * np.sin(rate * run.time), -math.sin(_TILT) * np.cos(rate * run.time)
        paths += [largest_difference(run["x"], x), largest_difference(run["y"], y)]
    yield largest(heights)
    yield largest(paths)


CASES = (
    Case(
        "pendulum",
        "Pendulum",
        "elliptic functions",
        (
            *(difference(f"angle over 5 s, released at {start} rad", 1e-9) for start in ("0.01", "1", "3")),
            difference("energy of the same (J)", 1e-10, "closed form"),
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
            difference("steady precession, slow and fast: height of the axis", 1e-10, "closed form"),
            difference("the same: path of the axis", 1e-9, "closed form"),
        ),
        measure_top,
        "closed-forms",
        (_STATES,),
    ),
)
