"""Mechanisms in closed form: four-bar linkages in a row and with a spring, and a flyball governor."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.algebra.vectors import dot
from armillary.model.bodies.body import Point
from armillary.model.bodies.motion import angular_acceleration
from armillary.model.joints import Prismatic, Revolute
from armillary.stages import System
from armillary.untyped import DataTable
from armillary.verification.rows import TIGHT, Case, difference, drift, largest_difference

_GRAVITY = 9.81
_IFTOMM = "IFToMM benchmark A02"
_ELLIPTIC = "elliptic functions"


def four_bars(count: int) -> System:
    """Rods of 1 m and 1 kg: count + 1 cranks that stand upright, and count couplers; all loops flat at ±90°.

    Source: González et al. (2006), the benchmark A02 of the IFToMM committee for multibody dynamics.
    """
    s = System(f"{count} four-bar linkages")
    s.gravity(_GRAVITY, -s.ground.y)
    rod: DataTable = {"mass": 1.0, "inertia": (1 / 12, 1e-3, 1 / 12)}
    first = s.body("crank0", joint=Revolute("z"), com=(0, 0.5, 0), **rod)
    tip = first.point("tip", (0, 1, 0))
    lying = rod | {"inertia": (1e-3, 1 / 12, 1 / 12)}
    for i in range(1, count + 1):
        coupler = s.body(
            f"coupler{i}", parent=tip.body, at=_place(tip), joint=Revolute("z"), com=(0.5, 0, 0), **lying
        )
        crank = s.body(f"crank{i}", joint=Revolute("z"), at=(i, 0, 0), com=(0, 0.5, 0), **rod)
        end = crank.point("tip", (0, 1, 0))
        axes = (s.ground.x, s.ground.y)
        s.close_loop(coupler.point("tip", (1, 0, 0)), end, axes, name=f"loop{i}")
        tip = coupler.point("next", (1, 0, 0))
    s.output("energy", s.total_energy(), units="J")
    return s


def _place(point: Point) -> tuple[int, int, int]:
    return (0, 1, 0) if point.body.name == "crank0" else (1, 0, 0)


def crank_angle(t: np.ndarray, count: int) -> np.ndarray:
    """The angle of the cranks, turned from upright with 1 rad/s: all couplers stay level.

        I θ̈ = W sin θ,   I = (count + 1)/3 + count,   W = ((count + 1)/2 + count) g

    A pendulum that goes round: θ = π + 2 am(ω t/√m − K(m), m), ω² = W/I, m = 2 W/(½ I θ̇₀² + 2 W).
    """
    from scipy.special import ellipj, ellipk

    inertia, weight = (count + 1) / 3 + count, ((count + 1) / 2 + count) * _GRAVITY
    m = 2 * weight / (0.5 * inertia + 2 * weight)
    amplitude = ellipj(math.sqrt(weight / inertia / m) * t - ellipk(m), m)[3]
    return np.asarray(2 * amplitude + math.pi)


def measure_four_bars() -> Iterator[float]:
    for count in (1, 3):
        model = four_bars(count).derive().compile()
        run = model.simulate(1.5, sample=0.02, initial={"crank0.u1": -1.0}, **TIGHT)
        yield largest_difference(run["crank0.q1"], -crank_angle(run.time, count))
        yield drift(run["energy"])


# ------------------------------------------------------------------------------------------ diagonal spring

_SPRING, _DAMPING, _REST = 25.0, 1.0, math.sqrt(2)  # N/m, N s/m, m
_EQUILIBRIUM = 2.23433101898  # rad


def diagonal_spring() -> System:
    """A square of rods of 1 m and 1 kg, the ground one of them; a spring and a damper in its diagonal.

    Source: the benchmark "fourbar linkage with diagonal spring" of the IFToMM committee for multibody
    dynamics, with the data and the equilibrium of B. P. Minaker's solution of it (EoM, input_ex_four_bar,
    2016). That does not state the free length; with the diagonal of the square the equilibrium is the
    published one.
    """
    s = System("four-bar linkage with a diagonal spring")
    rod: DataTable = {"com": (0.5, 0, 0), "mass": 1.0, "inertia": (0, 1 / 12, 1 / 12)}
    crank = s.body("crank", joint=Revolute("z"), **rod)
    coupler = s.body("coupler", crank, Revolute("z"), at=(1, 0, 0), **rod)
    rocker = s.body("rocker", joint=Revolute("z"), at=(1, 0, 0), **rod)
    end = rocker.point("end", (1, 0, 0))
    s.close_loop(coupler.point("end", (1, 0, 0)), end, directions=[s.ground.x, s.ground.y], name="pin")
    s.gravity(_GRAVITY, -s.ground.y)
    law = f"-{_SPRING}*(x - {_REST!r}) - {_DAMPING}*v"
    s.strut("spring", law, between=(s.ground.origin, end))
    s.start({"crank.q1": 2.0, "coupler.q1": -2.0, "rocker.q1": 2.0})
    return s


def measure_diagonal_spring() -> Iterator[float]:
    """With the angle φ of crank and rocker, the coupler level, and the diagonal ℓ = 2 cos φ/2,

    V = 2 m g sin φ + k (ℓ − ℓ₀)²/2        5/3 m φ̈ + c ℓ'² φ̇ + V'' φ = 0
    """
    model = diagonal_spring().derive().compile()
    op = model.equilibrium()
    phi = op["rocker.q1"]
    yield abs(phi - _EQUILIBRIUM)
    s, c = math.sin(phi / 2), math.cos(phi / 2)
    stretch = 2 * c - _REST
    slope = 2 * _GRAVITY * math.cos(phi) - _SPRING * stretch * s
    stiffness = -2 * _GRAVITY * math.sin(phi) + _SPRING * (s * s - stretch * c / 2)
    yield abs(slope / stiffness)  # a step of Newton's method
    damping, mass = _DAMPING * s * s, 5 / 3
    pole = complex(-damping, math.sqrt(4 * mass * stiffness - damping**2)) / (2 * mass)
    poles = model.linearize(at=op).poles()
    yield float(np.max(np.abs(np.sort_complex(poles) - [pole.conjugate(), pole]))) / abs(pole)


# ------------------------------------------------------------------------------------------------- governor

_ARM, _BALL, _SLEEVE = 0.3, 0.4, 0.6  # m, kg, kg


def governor() -> System:
    """Two balls on arms that hang from a spindle, and a sleeve that links of the same length lift."""
    s = System("flyball governor")
    s.parameter("W", 10.0, units="rad/s", about="speed of the spindle")
    s.gravity(_GRAVITY, -s.ground.z)
    spindle = s.body("spindle", joint=Revolute("z"), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    s.prescribe(spindle.u1, "W")
    sleeve = s.body("sleeve", spindle, Prismatic("z"), at=(0, 0, -2 * _ARM), mass=_SLEEVE, inertia=0)
    for name, axis in (("left", "y"), ("right", "-y")):
        ball = s.body(name, spindle, Revolute(axis), com=(0, 0, -_ARM), mass=_BALL, inertia=0)
        s.close_joint("distance", ball.com, sleeve.origin, length=_ARM, name=f"{name} link")
    turning = dot(angular_acceleration(s.bodies["left"]), spindle.y)
    s.output("acceleration", turning, units="rad/s2")
    s.start({"left.q1": 0.5, "right.q1": 0.5, "sleeve.q1": 2 * _ARM * (1 - math.cos(0.5))})
    return s


def measure_governor() -> Iterator[float]:
    """(2 m L² + 4 M L² sin²θ) θ̈ = 2 m L² Ω² sin θ cos θ − 2 (m + M) g L sin θ − 4 M L² sin θ cos θ θ̇²."""
    model = governor().derive().compile()
    found, expected = [], []
    for angle, rate, spin in ((0.3, 0.0, 9.0), (0.9, 1.5, 12.0), (1.2, -2.0, 8.0)):
        s, c = math.sin(angle), math.cos(angle)
        start = {"left.q1": angle, "right.q1": angle, "sleeve.q1": 2 * _ARM * (1 - c), "left.u1": rate}
        state = model.state(start, parameters={"W": spin})
        found.append(model.outputs(0.0, state, {"W": spin})["acceleration"])
        inertia = 2 * _BALL * _ARM**2 + 4 * _SLEEVE * _ARM**2 * s * s
        load = 2 * _BALL * _ARM**2 * spin**2 * s * c - 2 * (_BALL + _SLEEVE) * _GRAVITY * _ARM * s
        expected.append((load - 4 * _SLEEVE * _ARM**2 * s * c * rate**2) / inertia)
    yield largest_difference(found, expected)
    spin = 12.0
    steady = math.acos((1 + _SLEEVE / _BALL) * _GRAVITY / (_ARM * spin**2))
    run = model.simulate(2.0, sample=0.01, initial={"left.q1": steady}, parameters={"W": spin}, **TIGHT)
    yield largest_difference(run["left.q1"], steady)


CASES = (
    Case(
        "four_bars",
        "A row of four-bar linkages",
        _IFTOMM,
        (
            difference("one loop, crank over 1.5 s, past the flat position (rad)", 1e-8, _ELLIPTIC),
            difference("energy of the same", 1e-8, "conservation"),
            difference("the same with three loops (rad)", 1e-8, _ELLIPTIC),
            difference("energy of the same", 1e-8, "conservation"),
        ),
        measure_four_bars,
        "mechanisms",
    ),
    Case(
        "diagonal_spring",
        "Four-bar linkage with a diagonal spring",
        "IFToMM benchmark, solution of Minaker (2016)",
        (
            difference("angle at equilibrium (rad), published to 12 digits", 1e-10),
            difference("the same, closed form (rad)", 1e-12, "Lagrange's equation"),
            difference("eigenvalues, relative", 1e-12, "Lagrange's equation"),
        ),
        measure_diagonal_spring,
        "mechanisms",
    ),
    Case(
        "governor",
        "Flyball governor",
        "closed form, Lagrange's equation",
        (
            difference("acceleration of the balls at three states (rad/s²)", 1e-10),
            difference("steady angle where Ω² = (1 + M/m) g/(L cos θ), over 2 s (rad)", 1e-9),
        ),
        measure_governor,
        "mechanisms",
    ),
)
