"""Impacts and friction without compliance: bounces, rocking, stick–slip, Painlevé's rod, a woodpecker toy;
and with compliance: a rebound by Hunt and Crossley, and an oscillator that friction brings to rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from armillary.model.joints import Joint, Prismatic
from armillary.stages import System
from armillary.verification.rows import TIGHT, difference, largest_difference, published_case, value

_G = 9.81


@published_case(
    "bounces_to_rest",
    "Bouncing ball",
    "closed form; e = 0.8, dropped from 1 m",
    difference("times of all bounces (s)", 1e-11),
    value("end of the bounces (s)", math.sqrt(2 / _G) * 1.8 / 0.2, 2e-6),
    difference("place afterwards (m)", 1e-10),
    page="impacts",
)
def measure_ball() -> Iterator[float]:
    """Bounce k lasts 2 t₁ eᵏ; the last one ends at t₁ (1 + e)/(1 − e). The fall lasts t₁."""
    s = System("ball")
    ball = s.body("ball", joint=Prismatic("y"), mass=0.2, inertia=0)
    s.gravity(_G, -s.ground.y)
    s.contact("floor", ball, plane=(s.ground, s.ground.y), restitution=0.8)
    run = s.derive().compile().simulate(6.0, initial={"ball.q1": 1.0}, **TIGHT)
    first = math.sqrt(2 / _G)
    times = np.array([event.time for event in run.events])
    yield largest_difference(times, first + 2 * first * np.cumsum([0.0, *(0.8 ** np.arange(1, len(times)))]))
    yield float(times[-1])
    yield abs(float(run["ball.q1"][-1]))


_WIDE, _HIGH = 0.1, 0.4  # half of the block's width and height, m
_RATIO = 1 - 1.5 * math.sin(math.atan(_WIDE / _HIGH)) ** 2


@published_case(
    "rocking_block",
    "Rocking block",
    "Housner (1963)",
    difference("energy after an impact over that before", 1e-8),
    difference("speeds in the end, when impacts have accumulated (m/s, rad/s)", 1e-11),
    value("force of a corner, both sticking (N)", _G, 1e-6),
    page="impacts",
)
def measure_block() -> Iterator[float]:
    """The energy between two impacts is constant; an impact multiplies it by (1 − (3/2) sin² α)²."""
    s = System("block")
    inertia = 2 * (_WIDE**2 + _HIGH**2) / 3
    block = s.body("block", joint=Joint(translate=["x", "y"], rotate=["z"]), mass=2.0, inertia=(inertia,) * 3)
    s.gravity(_G, -s.ground.y)
    for name, x in (("left", -_WIDE), ("right", _WIDE)):
        s.contact(name, block.point(name, (x, -_HIGH, 0)), plane=(s.ground, s.ground.y), friction=1.0)
    s.output("energy", s.total_energy(), units="J")
    tilt = 0.1
    start = {
        "block.q1": _WIDE - _WIDE * math.cos(tilt) + _HIGH * math.sin(tilt),
        "block.q2": _WIDE * math.sin(tilt) + _HIGH * math.cos(tilt),
        "block.q3": -tilt,
    }
    run = s.derive().compile().simulate(8.0, initial=start, sample=1e-3, **TIGHT)
    energy = run["energy"] - 2.0 * _G * _HIGH
    edges = [0.0, *(event.time for event in run.events)][:6]
    levels = [energy[(run.time > a) & (run.time < b)].mean() for a, b in pairwise(edges)]
    yield largest_difference([b / a for a, b in pairwise(levels)], [_RATIO**2] * (len(levels) - 1))
    yield largest_difference([run[f"block.u{i}"][-1] for i in (1, 2, 3)], [0.0] * 3)
    yield float(run["left"][-1])


_BELT, _MASS, _STIFFNESS, _SLIDING, _STATIC = 0.2, 2.0, 50.0, 4.0, 9.0  # m/s, kg, N/m, N, N


@published_case(
    "stick_slip",
    "Block on a belt",
    "closed form of sticking and sliding",
    difference("times of sticking and sliding, 10 s (s)", 1e-9),
    difference("speed against the belt's while it sticks (m/s)", 1e-12),
    page="impacts",
)
def measure_belt() -> Iterator[float]:
    """A block sticks until k x = F_s and then slides until ẋ = v, with
    x = F/k + A cos(ω t + φ), A² = ((F_s − F)/k)² + (v/ω)².
    """
    s = System("belt")
    block = s.body("block", joint=Prismatic("x"), mass=_MASS, inertia=0)
    belt = s.body("belt", joint=Prismatic("x"), mass=1.0, inertia=0)
    s.prescribe(belt.u1, _BELT)
    s.force("spring", f"-{_STIFFNESS}*block.q1", s.ground.x, at=block)
    s.clutch("rub", block.q1, belt.q1, capacity=_SLIDING, static=_STATIC)
    run = s.derive().compile().simulate(10.0, initial={"block.u1": _BELT}, sample=1e-3, **TIGHT)
    omega = math.sqrt(_STIFFNESS / _MASS)
    a, b = (_STATIC - _SLIDING) / _STIFFNESS, _BELT / omega
    lasts = (2 * (math.pi - math.atan2(a, b)) / omega, 2 * a / _BELT)  # durations of sliding and sticking
    times = np.array([event.time for event in run.events])
    expected = _STATIC / _STIFFNESS / _BELT + np.cumsum([0.0, *(lasts[k % 2] for k in range(len(times) - 1))])
    yield largest_difference(times, expected)
    sticks = run["rub_status"] == 1
    yield largest_difference(run["block.u1"][sticks], np.full(int(sticks.sum()), _BELT))


@published_case(
    "painleve_rod",
    "Painlevé's rod",
    "Painlevé (1895): no solution for μ > 4/3 at tan θ = 2; Génot & Brogliato (1999), impact without "
    "collision: the tip stops, by impulses of 2 and 1.5 N s at 5 m/s",
    value("least friction that jams", 4 / 3, 2e-5),
    value("speed along the floor after it, μ = 1.4 (m/s)", -3.0, 1e-7),
    value("speed across the floor (m/s)", 1.5, 1e-7),
    value("rate of turn (rad/s)", 1.5 * math.sqrt(5.0), 1e-7),
    page="impacts",
)
def measure_rod() -> Iterator[float]:
    """Yield the least friction at which a rod jams, and its speeds after the impulse that stops its tip.

    The rod slides at tan θ = 2, with its mass centre behind its tip.
    """
    s = System("rod")
    s.parameter("mu", 1.0)
    rod = s.body("rod", joint=Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(1 / 3,) * 3)
    s.gravity(_G, -s.ground.y)
    s.contact("tip", rod.point("tip", (-1.0, 0, 0)), plane=(s.ground, s.ground.y), friction="mu")
    model = s.derive().compile()
    angle = math.atan(2.0)
    start = {"rod.q2": math.sin(angle), "rod.q3": angle, "rod.u1": -5.0}
    low, high = 1.0, 2.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        run = model.simulate(1e-9, initial=start, parameters={"mu": middle})
        if run.events:
            high = middle
        else:
            low = middle
    yield high
    run = model.simulate(1e-9, initial=start, parameters={"mu": 1.4})
    yield from (run.final[f"rod.u{i}"] for i in (1, 2, 3))


def woodpecker() -> System:
    """Return Glocker's model (1995), which has three contacts with friction.

    Its coordinates are the displacement y of the sleeve and the small angles φ_M of the sleeve and φ_S of the
    bird. The coordinates here are y, l_M φ_M and l_G φ_S, so that all are lengths.
    """
    r0, rm, hm, lm, lg, hs, ls = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    s = System("woodpecker")
    up = s.ground.y
    sleeve = s.body("sleeve", joint=Prismatic("y"), mass=0.0003, inertia=0)
    tilt = s.body("tilt", sleeve, Prismatic("y"), mass=0, inertia=0)
    bird = s.body("bird", tilt, Prismatic("y"), mass=0.0045, inertia=0)
    s.armature("tilt.q1", 5e-9 / lm**2)
    s.armature("bird.q1", 7e-7 / lg**2)
    s.gravity(_G, -up)
    s.define("twist", f"0.0056*(tilt.q1/{lm} - bird.q1/{lg})")
    s.force("on_sleeve", f"-twist/{lm}", up, at=tilt, reaction=sleeve)
    s.force("on_bird", f"twist/{lg}", up, at=bird, reaction=tilt)
    beak = f"sleeve.u1 + tilt.u1 + {(lg - ls) / lg}*bird.u1"
    gap = f"{lm + lg - ls - r0} - {hs / lg}*bird.q1"
    s.unilateral("beak", gap, slip=beak, friction=0.3, restitution=0.5)
    for name, sign in (("lower", "+"), ("upper", "-")):
        slip = f"sleeve.u1 + {rm / lm}*tilt.u1"
        s.unilateral(name, f"{rm - r0} {sign} {hm / lm}*tilt.q1", slip=slip, friction=0.3)
    s.start({"tilt.q1": -0.1036 * lm, "bird.q1": _ANGLE * lg, "sleeve.u1": _FALL, "bird.u1": _TURN * lg})
    return s


_ANGLE, _FALL, _TURN = -0.2788, -0.3411, -7.4583  # rad, m/s, rad/s: a published point of the cycle


@published_case(
    "woodpecker",
    "Woodpecker toy",
    "Leine, Glocker & van Campen (2001), by time stepping",
    difference("spread of ten periods of the cycle (s)", 1e-6),
    value("speed of the sleeve on the cycle at φ_S = −0.2788 (m/s)", _FALL, 0.002),
    value("rate of the bird there (rad/s)", _TURN, 0.01),
    page="impacts",
)
def measure_woodpecker() -> Iterator[float]:
    run = woodpecker().derive().compile().simulate(8.0, sample=np.arange(7.6, 8.0, 1e-4).tolist())
    pecks = np.array([event.time for event in run.events if event.name == "beak_touch"])
    yield float(np.ptp(np.diff(pecks)[-10:]))
    angle = run["bird.q1"] / 0.015
    (places,) = np.nonzero((angle[:-1] > _ANGLE) & (angle[1:] <= _ANGLE))
    k = places[-2]
    yield float(run["sleeve.u1"][k])
    yield float(run["bird.u1"][k] / 0.015)


def rebound(speed: float, damping: float) -> float:
    """Return the speed e v after an impact at v, the root of a v − ln(1 + a v) = −a e v − ln(1 − a e v).

    This is m v dv/dδ = −k δⁿ (1 + a v) integrated over the impact (Hunt & Crossley 1975), for any
    mass m, stiffness k and exponent n.
    """
    from scipy.optimize import brentq

    lost = damping * speed - math.log1p(damping * speed)

    def balance(after: float) -> float:
        return -damping * after - math.log1p(-damping * after) - lost

    return float(brentq(balance, 0.0, (1 - 1e-12) / damping, xtol=1e-15))


@published_case(
    "impact",
    "Impact with loss",
    "Hunt & Crossley (1975), closed form",
    difference("rebound from 2 m/s, linear spring, relative", 1e-8),
    difference("the same, exponent 1.5", 1e-8),
    page="contact",
)
def measure_impact() -> Iterator[float]:
    for exponent, damping in ((1.0, 0.4), (1.5, 0.1)):
        s = System("impact")
        ball = s.body("ball", joint=Prismatic("y"), mass=0.2, inertia=0)
        s.stop("floor", ball.q1, lower=0, stiffness=1e5, damping=damping, exponent=exponent)
        model = s.derive().compile()
        run = model.simulate(0.2, initial={"ball.q1": 0.1, "ball.u1": -2.0}, max_step=1e-3, **TIGHT)
        yield abs(run.final["ball.u1"] / rebound(2.0, damping) - 1)


_BALL_MASS, _BALL_STIFFNESS, _FRICTION, _START = 2.0, 50.0, 4.0, 1.0  # kg, N/m, N, m
_REST = (-1) ** 6 * (_START - 6 * 2 * _FRICTION / _BALL_STIFFNESS)


@published_case(
    "dry_friction",
    "Oscillator with dry friction",
    "closed form: the amplitude falls by 2 F/k in every half period",
    difference("turning points, where friction has an elastic play of 4e-7 m (m)", 5e-6),
    value("place where it comes to rest (m)", _REST, 5e-6),
    difference("speed there a second later (m/s)", 1e-9),
    page="contact",
)
def measure_friction() -> Iterator[float]:
    """Every half period π/ω the amplitude falls by 2 F/k, until the spring cannot overcome the friction."""
    s = System("oscillator with dry friction")
    block = s.body("block", joint=Prismatic("x"), mass=_BALL_MASS, inertia=0)
    s.force("spring", f"-{_BALL_STIFFNESS}*block.q1", s.ground.x, at=block.origin)
    s.brake("rail", block.q1, capacity=_FRICTION, stiffness=1e7, damping=2e3)
    omega, step = math.sqrt(_BALL_STIFFNESS / _BALL_MASS), 2 * _FRICTION / _BALL_STIFFNESS
    turns = math.floor((_START - _FRICTION / _BALL_STIFFNESS) / step) + 1
    times = np.pi / omega * np.arange(turns + 1)
    run = s.derive().compile().simulate(
        times[-1] + 1.0, sample=[*times, times[-1] + 1.0], initial={"block.q1": _START}, **TIGHT
    )  # fmt: skip
    expected = [(-1) ** i * (_START - i * step) for i in range(turns + 1)]
    yield largest_difference(run["block.q1"][:-1], expected)
    yield float(run["block.q1"][-1])
    yield abs(float(run["block.u1"][-1]))
