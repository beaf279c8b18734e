"""Impact and dry friction: a rebound by Hunt and Crossley, and an oscillator that friction brings to rest."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.model.joints import Prismatic
from armillary.stages import System
from armillary.verification.rows import TIGHT, Case, difference, largest_difference, value


def rebound(speed: float, damping: float) -> float:
    """The speed after an impact: a v − ln(1 + a v) = −a e v − ln(1 − a e v), whatever mass, k and n.

    From dv/dδ of m v v' = −k δⁿ (1 + a v), integrated over the impact (Hunt & Crossley 1975).
    """
    from scipy.optimize import brentq

    lost = damping * speed - math.log1p(damping * speed)

    def balance(after: float) -> float:
        return -damping * after - math.log1p(-damping * after) - lost

    return float(brentq(balance, 0.0, (1 - 1e-12) / damping, xtol=1e-15))


def measure_impact() -> Iterator[float]:
    for exponent, damping in ((1.0, 0.4), (1.5, 0.1)):
        s = System("impact")
        ball = s.body("ball", joint=Prismatic("y"), mass=0.2, inertia=0)
        s.stop("floor", ball.q1, lower=0, stiffness=1e5, damping=damping, exponent=exponent)
        model = s.derive().compile()
        run = model.simulate(0.2, initial={"ball.q1": 0.1, "ball.u1": -2.0}, max_step=1e-3, **TIGHT)
        yield abs(run.final["ball.u1"] / rebound(2.0, damping) - 1)


_MASS, _STIFFNESS, _FRICTION, _START = 2.0, 50.0, 4.0, 1.0  # kg, N/m, N, m


def measure_friction() -> Iterator[float]:
    """Every half period π/ω the amplitude falls by 2 F/k, until the spring cannot overcome the friction."""
    s = System("oscillator with dry friction")
    block = s.body("block", joint=Prismatic("x"), mass=_MASS, inertia=0)
    s.force("spring", f"-{_STIFFNESS}*block.q1", s.ground.x, at=block.origin)
    s.brake("rail", block.q1, capacity=_FRICTION, stiffness=1e7, damping=2e3)
    omega, step = math.sqrt(_STIFFNESS / _MASS), 2 * _FRICTION / _STIFFNESS
    turns = math.floor((_START - _FRICTION / _STIFFNESS) / step) + 1
    times = np.pi / omega * np.arange(turns + 1)
    run = s.derive().compile().simulate(
        times[-1] + 1.0, sample=[*times, times[-1] + 1.0], initial={"block.q1": _START}, **TIGHT
    )  # fmt: skip
    expected = [(-1) ** i * (_START - i * step) for i in range(turns + 1)]
    yield largest_difference(run["block.q1"][:-1], expected)
    yield float(run["block.q1"][-1])
    yield abs(float(run["block.u1"][-1]))


_REST = (-1) ** 6 * (_START - 6 * 2 * _FRICTION / _STIFFNESS)

CASES = (
    Case(
        "impact",
        "Impact with loss",
        "Hunt & Crossley (1975), closed form",
        (
            difference("rebound from 2 m/s, linear spring, of itself", 1e-8),
            difference("the same, exponent 1.5", 1e-8),
        ),
        measure_impact,
        "contact",
    ),
    Case(
        "dry_friction",
        "Oscillator with dry friction",
        "closed form: the amplitude falls by 2 F/k in every half period",
        (
            difference("turning points, where friction has an elastic play of 4e-7 m (m)", 5e-6),
            value("place where it comes to rest (m)", _REST, 5e-6),
            difference("speed there a second later (m/s)", 1e-9),
        ),
        measure_friction,
        "contact",
    ),
)
