"""Two problems of the Test Set for IVP Solvers: Andrews' squeezing mechanism and the car axis.

Source: Mazzia & Magherini (2008), Test Set for Initial Value Problem Solvers, release 2.4; its reference
solutions were computed with a tolerance of 1e-14 by another program (PSIDE on the equations of index 3).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armillary.model.bodies.body import Body
from armillary.model.joints import Joint, Revolute
from armillary.model.reading.kinds import TripleLike
from armillary.stages import System
from armillary.untyped import DataTable
from armillary.verification.rows import TIGHT, Case, difference, largest, largest_difference

_TEST_SET = "Mazzia & Magherini (2008), Test Set for IVP Solvers"

# ------------------------------------------------------------------------------- Andrews' squeezing mechanism

_MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)  # kg
_INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # kg m2
_A, _B, _C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)  # m
# Angles beta, Theta, gamma, phi, delta, Omega, epsilon of the source and our coordinates.
_ANGLES = ("K1.q1", "K2.q1", "K3.q1", "K4.q1", "K5.q1", "K6.q1", "K7.q1")
_START = (
    -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885,
    0.487364979543842550, -0.222668390165885885, 1.23054744454982119,
)  # fmt: skip
_END = (
    15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
    0.5244099658805304, 0.5347301163226948, 1.048080741042263,
)  # fmt: skip
_END_RATES = (
    1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385,
    0.5735699284790808, -19.29337464421385, 0.3231791658026955,
)  # fmt: skip


def squeezer() -> System:
    """Seven plane bodies on four fixed points, closed by three loops; driven by a moment of 0.033 N m."""
    s = System("Andrews' squeezing mechanism")
    rr, d, ss, e, zt, zf, u = 7e-3, 28e-3, 35e-3, 2e-2, 4e-2, 2e-2, 4e-2

    def link(number: int, parent: Body | None, at: TripleLike, com: tuple[float, float]) -> Body:
        mass, moment = _MASSES[number - 1], _INERTIAS[number - 1]  # only that about z counts
        own: DataTable = {"mass": mass, "inertia": (moment, moment, moment)}
        return s.body(f"K{number}", parent, Revolute("z"), at=at, com=(*com, 0), **own)

    crank = link(1, s.ground, (0, 0, 0), (92e-5, 0))
    second = link(2, crank, (rr, 0, 0), (-115e-4, 0))
    third = link(3, s.ground, _B, (1043e-5, -1874e-5))
    fifth = link(5, s.ground, _A, (2308e-5, 916e-5))
    fourth = link(4, fifth, (zt, 0, 0), (0, -(e - 1421e-5)))
    seventh = link(7, s.ground, _A, (-449e-5, -1228e-5))
    sixth = link(6, seventh, (0, -u, 0), (zf - 1421e-5, 0))
    tip = second.point("tip", (-d, 0, 0))
    for body, place in ((third, (0, -ss, 0)), (fourth, (0, -e, 0)), (sixth, (zf, 0, 0))):
        end = body.point("end", place)
        s.close_loop(tip, end, (s.ground.x, s.ground.y), name=f"loop of {body.name}")
    s.moment("drive", 0.033, s.ground.z, on=crank)
    hook = third.point("hook", (2e-2, -18e-3, 0))
    s.strut("spring", "-4530*(x - 0.07785)", between=(s.ground.point("C", _C), hook))
    return s


def measure_squeezer() -> Iterator[float]:
    model = squeezer().derive().compile()
    start = dict(zip(_ANGLES, _START, strict=True))
    run = model.simulate(0.03, initial=start, **TIGHT)
    yield largest([abs(run.final[name] / end - 1) for name, end in zip(_ANGLES, _END, strict=True)])
    rates = [name.replace("q", "u") for name in _ANGLES]
    yield largest_difference([run.final[name] for name in rates], _END_RATES) / largest(np.abs(_END_RATES))


# ---------------------------------------------------------------------------------------------- the car axis

_AXIS_END = {
    "left.q1": 0.04934557842755629, "left.q2": 0.4969894602303324,
    "right.q1": 1.041742524885400, "right.q2": 0.3739110272652214,
    "left.u1": -0.07705836840321485, "left.u2": 0.007446866596327776,
    "right.u1": 0.01755681574942899, "right.u2": 0.7703410437794031,
}  # fmt: skip


def car_axis() -> System:
    """Two points on springs over two wheels, one of which goes over a bumpy road; a rod holds them apart.

    The masses are M ε²/2 with M = 10 and ε = 0.01, gravity is 1, and all lengths are in metres.
    """
    s = System("car axis")
    for name, value, units in (("L", 1.0, "m"), ("r", 0.1, "m"), ("w", 10.0, "rad/s")):
        s.parameter(name, value, units=units)

    def point(name: str, mass: float) -> Body:
        return s.body(name, joint=Joint(translate=("x", "y")), mass=mass, inertia=0)

    left, right, wheel = point("left", 5e-4), point("right", 5e-4), point("wheel", 0)
    s.prescribe(wheel.q2, "r*sin(w*t)")
    s.prescribe(wheel.q1, "sqrt(L*L - r*r*sin(w*t)*sin(w*t))")
    s.gravity(1.0, -s.ground.y)
    s.strut("left_spring", "-(x - 0.5)", between=(s.ground.origin, left.origin))
    s.strut("right_spring", "-(x - 0.5)", between=(wheel.origin, right.origin))
    s.constrain(left.q1 * wheel.q1 + left.q2 * wheel.q2, name="upright")
    s.close_joint("distance", left.origin, right.origin, length="L", name="axis")
    s.start({left.q1: 0.0, left.q2: 0.5, right.q1: 1.0, right.q2: 0.5})
    return s


def measure_axis() -> Iterator[float]:
    start = {"left.u1": -0.5, "right.u1": -0.5}
    run = car_axis().derive().compile().simulate(3.0, initial=start, **TIGHT)
    yield largest([abs(run.final[name] - end) for name, end in _AXIS_END.items() if ".q" in name])
    yield largest([abs(run.final[name] - end) for name, end in _AXIS_END.items() if ".u" in name])


CASES = (
    Case(
        "squeezer",
        "Andrews' squeezing mechanism",
        f"{_TEST_SET}, problem II-2",
        (
            difference("seven angles after 0.03 s, each of itself", 1e-9),
            difference("their rates, of the largest", 1e-9),
        ),
        measure_squeezer,
        "test-set",
    ),
    Case(
        "car_axis",
        "Car axis",
        f"{_TEST_SET}, problem II-6",
        (
            difference("coordinates after 3 s (m)", 1e-10),
            difference("speeds after 3 s (m/s)", 1e-9),
        ),
        measure_axis,
        "test-set",
    ),
)
