"""The slider-crank with a flexible connecting rod of the test set for initial value problems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.model.joints import Prismatic, Revolute
from armillary.stages import System
from armillary.untyped import DataTable
from armillary.verification.rows import TIGHT, Case, value

_SOURCE = "Simeon (1996); test set for IVP solvers, problem crank, index 2"
L1, L2 = 0.15, 0.30
RHO, E, SIDE = 7870.0, 0.2e12, 0.008
CRANK = 0.002727  # inertia about the pin
ROD = (0.151104, 0.0045339259)  # mass, inertia about the crank pin
BLOCK = 0.075552
SPIN = 150.0

# Amplitudes (m) of two sine waves across the rod, and displacements of its middle and its end along it.
START = {"rod.q4": 0.103339863e-4, "rod.q5": 0.169327969e-4, "rod.u2": 0.444896105, "rod.u3": 0.463434311e-2,
         "rod.u4": -0.178591076e-5, "rod.u5": -0.268938672e-5}  # fmt: skip
# At 0.1 s, as published to 16 digits, with what their last digits are worth: stretching has 1.4e4 rad/s, and
# the reference, by a stiff method, is good to 1e-5 of it. The problem's own equations, integrated to 1e-12
# as ordinary ones, give our numbers.
_STRETCH = "the reference is good to about 1e-5 of the vibration along the rod"
END = {
    "angle of the rod (rad)": (-3.311734987910881e-01, 1e-8, ""),
    "place of the block (m)": (1.697373326718410e-01, 1e-8, ""),
    "first bending amplitude (m)": (1.893192460247178e-04, 1e-7, ""),
    "second bending amplitude (m)": (2.375751865617931e-05, 1e-6, ""),
    "stretch of the middle (m)": (-5.323907988763734e-06, 1e-5, _STRETCH),
    "stretch of the end (m)": (-8.363283141616840e-06, 1e-5, _STRETCH),
    "rate of the rod (rad/s)": (6.025346682645789e01, 1e-7, ""),
    "speed of the block (m/s)": (-8.753116989887888e00, 1e-6, ""),
}


def integrals() -> DataTable:
    """Modal integrals of the rod about the crank pin, x along it; their form is Stoneking's.

    The published mass matrix of the stretch is 15 times the matrix of its quadratic elements; it is used as
    published. The rod's inertia changes with the same matrix: q·Mq.
    """
    volume = SIDE * SIDE * L2
    mass, stiff = RHO * volume, E * SIDE * SIDE / L2
    M, K, B = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    M[0, 0] = M[1, 1] = 0.5
    M[2:, 2:] = [[8, 1], [1, 2]]
    K[0, 0], K[1, 1] = np.pi**4 / 24 * (SIDE / L2) ** 2, np.pi**4 * 2 / 3 * (SIDE / L2) ** 2
    K[2:, 2:] = np.array([[16, -8], [-8, 7]]) / 3
    B[0, 2:] = -16 / np.pi**3, 8 / np.pi**3 - 1 / np.pi
    B[1, 3] = 0.5 / np.pi
    B -= B.T
    P, H = np.zeros((3, 4)), np.zeros((3, 4))
    P[0, 2:], P[1, 0] = (2 / 3, 1 / 6), 2 / np.pi
    H[2, :2] = 1 / np.pi, -0.5 / np.pi
    R, S, Q = np.zeros((4, 3, 3)), np.zeros((4, 4, 3, 3)), np.zeros((3, 4, 4))
    R[2:, 2, 2] = -mass * L2 * np.array([1 / 3, 1 / 6])
    S[:, :, 2, 2] = -mass * M
    Q[2] = mass * B.T
    tip = np.zeros((1, 3, 4))
    tip[0, 0, 3] = 1.0
    return {
        "m": ROD[0], "c": (ROD[0] * L2 / 2, 0, 0), "J": np.diag([0.0, ROD[1], ROD[1]]), "P": mass * P,
        "H": mass * L2 * H, "M": mass * M, "K": stiff * K, "Q": Q, "R": R, "S": S,
        "nodes": {"end": (L2, 0, 0)}, "shapes": tip,
    }  # fmt: skip


def system() -> System:
    """Crank at a given spin, rod in four shapes, and block."""
    s = System("flexible slider-crank")
    crank = s.body("crank", joint=Revolute("z"), mass=0.36, inertia=(CRANK, CRANK, CRANK))
    rod = s.body("rod", crank, Revolute("z"), at=(L1, 0, 0))
    rod.flexible(**integrals())
    block = s.body("block", joint=Prismatic("x"), at=(L1 + L2, 0, 0), mass=BLOCK, inertia=0)
    s.parameter("spin", SPIN, units="rad/s")
    s.prescribe(crank.q1, "spin*t")
    s.close_loop(rod.node("end"), block, [s.ground.x, s.ground.y], name="pin")
    return s


def measure() -> Iterator[float]:
    run = system().derive("kane").compile().simulate(0.1, initial=START, **TIGHT)
    yield run["rod.q1"][-1] + run["crank.q1"][-1]
    yield run["block.q1"][-1] + L1 + L2
    yield from (run[f"rod.q{i}"][-1] for i in (2, 3, 4, 5))
    yield run["rod.u1"][-1] + SPIN
    yield run["block.u1"][-1]


CASES = (
    Case(
        "flexible_slider_crank",
        "Flexible slider-crank",
        _SOURCE,
        tuple(value(what, number, part * abs(number), "", why) for what, (number, part, why) in END.items()),
        measure,
        "flexible-slider-crank",
    ),
)
