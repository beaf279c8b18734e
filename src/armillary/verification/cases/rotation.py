"""Free rotation in closed form: Euler and Poinsot, a flipping body, a gyrostat, libration on an orbit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armillary.algebra.vectors import dot
from armillary.model.joints import Free, Spherical
from armillary.model.space.orbit import Orbit
from armillary.stages import System
from armillary.verification.rows import TIGHT, Case, difference, drift, largest, largest_difference

_LANDAU = "Landau & Lifshitz, Mechanics, § 37"
_INERTIA = (1.0, 2.0, 3.0)  # kg m2
_NEAR = 1e-3  # rad/s beside the spin of 2 rad/s about the middle axis


def _free_body() -> System:
    s = System("free body")
    s.body("body", joint=Spherical(), mass=1.0, inertia=_INERTIA)
    s.output("energy", s.kinetic_energy(), units="J")
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"h{letter}", dot(s.angular_momentum(s.ground.origin), axis), units="N*m*s")
    return s


def rotation(t: np.ndarray, energy: float, momentum: float) -> np.ndarray:
    """ω of a free body with I₁ < I₂ < I₃ and M² > 2 E I₂, which passes ω₂ = 0 at t = 0.

    ω₁ = a cn τ, ω₂ = b sn τ, ω₃ = c dn τ (Landau & Lifshitz, eq. 37.10).
    """
    from scipy.special import ellipj

    A, B, C = _INERTIA
    square, twice = momentum * momentum, 2 * energy
    rate = math.sqrt((C - B) * (square - twice * A) / (A * B * C))
    m = (B - A) * (twice * C - square) / ((C - B) * (square - twice * A))
    sn, cn, dn, _ = ellipj(rate * t, m)
    a = math.sqrt((twice * C - square) / (A * (C - A)))
    b = math.sqrt((twice * C - square) / (B * (C - B)))
    c = math.sqrt((square - twice * A) / (C * (C - A)))
    return np.array([a * cn, b * sn, c * dn])


def flip_period() -> float:
    """Seconds between two passages of a body near its middle axis through the same state: 4 K/rate."""
    from scipy.special import ellipkm1

    A, B, C = _INERTIA
    omega = np.array([0.0, 2.0, _NEAR])
    twice, square = float(np.dot(_INERTIA, omega**2)), float(np.dot(np.square(_INERTIA), omega**2))
    rate = math.sqrt((C - B) * (square - twice * A) / (A * B * C))
    rest = ((C - B) * (square - twice * A) - (B - A) * (twice * C - square)) / (
        (C - B) * (square - twice * A)
    )
    return float(4 * ellipkm1(rest) / rate)


def measure_free() -> Iterator[float]:
    model = _free_body().derive().compile()
    start = np.array([0.8, 0.0, 1.1])
    energy = 0.5 * float(np.dot(_INERTIA, start**2))
    momentum = math.sqrt(float(np.dot(np.square(_INERTIA), start**2)))
    speeds = [f"body.u{i}" for i in (1, 2, 3)]
    run = model.simulate(40.0, sample=0.1, initial=dict(zip(speeds, start, strict=True)), **TIGHT)
    yield largest_difference([run[name] for name in speeds], rotation(run.time, energy, momentum))
    yield largest([drift(run["energy"]), *(drift(run[f"h{axis}"], momentum) for axis in "xyz")])
    near = {"body.u2": 2.0, "body.u3": _NEAR}
    s = _free_body()
    s.event("flip", "body.u2")
    flips = s.derive().compile().simulate(40.0, initial=near, **TIGHT).events
    times = [event.time for event in flips if event.name == "flip"]
    yield abs(2 * float(np.mean(np.diff(times))) - flip_period())


def measure_gyrostat() -> Iterator[float]:
    """λ = ((C − A) ω₃ + h)/A: the rate at which ω turns about the axis of symmetry, in the body."""
    A, C, J, spin = 5.0, 3.0, 0.1, 200.0
    s = System("gyrostat")
    bus = s.body("bus", joint=Free(), mass=40.0, inertia=(A, A, C))
    s.reaction_wheel("wheel", on=bus, axis="z", inertia=J, drive="constant", speed=spin)
    model = s.derive().compile()
    start = {"bus.u4": 0.3, "bus.u6": -0.7}
    run = model.simulate(20.0, sample=0.05, initial=start, **TIGHT)
    along, across = C + J, A + J / 2  # with the wheel's, a thin disc's
    rate = ((along - across) * -0.7 + J * spin) / across
    yield largest_difference(run["bus.u4"], 0.3 * np.cos(rate * run.time))
    yield largest_difference(run["bus.u5"], 0.3 * np.sin(rate * run.time))
    yield largest_difference(run["bus.u6"], -0.7)


_MU = 3.986004418e14  # m3/s2
_LIBRATING = (100.0, 300.0, 250.0)  # kg m2: the axis of least inertia points down


def measure_libration() -> Iterator[float]:
    """θ̈ + (3 n²/2) (I_y − I_x)/I_z sin 2θ = 0, a pendulum in 2θ: sin θ = k sn(K − ω t), k = sin θ₀."""
    from scipy.special import ellipj, ellipk

    orbit = Orbit(_MU, a=7.0e6)
    n = orbit.mean_motion
    s = System("libration")
    s.attractor("earth", _MU, field="gradient")
    body = s.body("body", joint=Free(), mass=500.0, inertia=_LIBRATING)
    s.start_orbit(body, orbit)
    s.attitude_output("attitude", body, "zyx")
    model = s.derive().compile()
    omega = n * math.sqrt(3 * (_LIBRATING[1] - _LIBRATING[0]) / _LIBRATING[2])
    for start in (0.1, 1.0):
        given = {"body.q4": math.cos(start / 2), "body.q7": math.sin(start / 2), "body.u6": n}
        run = model.simulate(1.5 * orbit.period, sample=60.0, initial=given, rtol=1e-12, atol=1e-13)
        pitch = np.unwrap(run["attitude 1"]) - n * run.time
        k = math.sin(start)
        sn = ellipj(ellipk(k * k) - omega * run.time, k * k)[0]
        yield largest_difference(pitch, np.arcsin(k * sn))


CASES = (
    Case(
        "free_rotation",
        "Free rotation of a body with three inertias",
        _LANDAU,
        (
            difference("angular velocity over 40 s (rad/s)", 1e-10),
            difference("energy and angular momentum in the ground's axes", 1e-10, "conservation"),
            difference("period of the flips near the middle axis, 29.23 s (s)", 1e-8),
        ),
        measure_free,
        "free-rotation",
    ),
    Case(
        "gyrostat",
        "Symmetric gyrostat",
        "closed form: ω turns at ((C − A) ω₃ + h)/A",
        (
            difference("first component of ω over 20 s (rad/s)", 1e-10),
            difference("second component", 1e-10),
            difference("third component, constant", 1e-12),
        ),
        measure_gyrostat,
        "free-rotation",
    ),
    Case(
        "libration",
        "Libration in a gravity gradient",
        "closed form: elliptic functions",
        (
            difference("pitch over an orbit and a half from 0.1 rad (rad)", 1e-8),
            difference("pitch over an orbit and a half from 1 rad (rad)", 1e-8),
        ),
        measure_libration,
        "free-rotation",
    ),
)
