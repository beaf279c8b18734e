"""The Whipple bicycle against published benchmarks: linear matrices, eigenvalues, nonlinear accelerations.

Sources: Meijaard, Papadopoulos, Ruina & Schwab (2007), Proc. R. Soc. A 463, matrices of the benchmark and
table 2; Basu-Mandal, Chatterjee & Papadopoulos (2007), "Hands-free circular motions of a benchmark bicycle",
in the same journal, table 1.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import armillary as arm
from armillary.runtime.models.compiled import CompiledModel
from examples.bicycle import PARAMETERS, system
from tests.verification.common import TIGHT, assert_constant, assert_near, counts

GRAVITY = 9.81
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])

# Table 2, to twelve decimals: weave (one of two conjugate), capsize and castering by forward speed.
EIGENVALUES = {
    1.0: (3.526961709901 + 0.807740275199j, -3.134231250666, -7.110080146374),
    2.0: (2.682345175127 + 1.680662965907j, -3.071586456415, -8.673879848317),
    3.0: (1.706756056640 + 2.315824473843j, -2.633661372537, -10.351014672459),
    4.0: (0.413253315211 + 3.079108186032j, -1.429444273613, -12.158614265764),
    5.0: (-0.775341882196 + 4.464867713788j, -0.322866429004, -14.078389692798),
}
WEAVE, CAPSIZE = 4.292382536341, 6.024262015388

# Basu-Mandal, table 1; angles and speeds with the signs of our axes.
TURNING = {
    "lean.q1": math.pi / 2 - 0.9501292851472,
    "fork.q1": -0.2311385135743,
    "heading.u1": 0.3 * (8.9129896614890 - 0.0119185528069),
    "lean.u1": -0.6068425835418,
    "fork.u1": -0.4859824687093,
}


@cache
def plain() -> CompiledModel:
    """The bicycle of the example."""
    return system().derive().compile()


@cache
def pushed() -> CompiledModel:
    """The bicycle with torques on lean and steer, whose response is the inverse of the mass matrix."""
    s = system()
    for name in ("lean_torque", "steer_torque"):
        s.parameter(name, 0.0, units="N*m")
    s.moment("leaning", "lean_torque", s.bodies["lean"].x, on="rider")
    s.moment("steering", "steer_torque", s.bodies["fork"].z, on="handlebar", reaction="rider")
    return s.derive().compile()


def accelerations(speed: float, **values: float) -> np.ndarray:
    """Of lean and steer, with the loop closed."""
    model = pushed()
    torques = {name: values.pop(name) for name in ("lean_torque", "steer_torque") if name in values}
    named = {name.replace("_", "."): value for name, value in values.items()}
    state = model.state({"heading.u1": speed} | named)
    rates = dict(zip(model.speed_names, model.derivatives(0.0, state, torques)[-3:], strict=True))
    return np.array([rates["lean.u1"], rates["fork.u1"]])


def slope(speed: float, name: str, step: float = 0.01) -> np.ndarray:
    """Central differences of sixth order: 1e-12 of truncation and as much of rounding at this step."""
    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    total = np.zeros(2)
    for k, weight in weights:
        total += weight * (
            accelerations(speed, **{name: k * step}) - accelerations(speed, **{name: -k * step})
        )
    return total / step


def columns(speed: float, *names: str) -> np.ndarray:
    return np.column_stack([slope(speed, name) for name in names])


def eigenvalues(speed: float) -> np.ndarray:
    """Of lean, steer and their rates."""
    lower = columns(speed, "lean_q1", "fork_q1", "lean_u1", "fork_u1")
    return np.linalg.eigvals(np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), lower]))


def test_linear_matrices() -> None:
    mass = np.linalg.inv(columns(0.0, "lean_torque", "steer_torque"))
    still = -mass @ columns(0.0, "lean_q1", "fork_q1")
    moving = -mass @ columns(5.0, "lean_q1", "fork_q1")
    damping = -mass @ columns(5.0, "lean_u1", "fork_u1")
    assert_near(mass, M, 1e-9, "M")
    assert_near(still / GRAVITY, K0, 1e-9, "K0")
    assert_near((moving - still) / 25.0, K2, 1e-9, "K2")
    assert_near(damping / 5.0, C1, 1e-9, "C1")


@pytest.mark.parametrize("speed", EIGENVALUES)
def test_eigenvalues(speed: float) -> None:
    weave, capsize, castering = EIGENVALUES[speed]
    expected = sorted([weave, weave.conjugate(), capsize, castering], key=lambda z: (z.real, z.imag))
    found = sorted(eigenvalues(speed), key=lambda z: (z.real, z.imag))
    assert_near(np.real(found), np.real(expected), 1e-9, f"real parts at {speed} m/s")
    assert_near(np.imag(found), np.imag(expected), 1e-9, f"imaginary parts at {speed} m/s")


def test_eigenvalues_of_the_published_matrices() -> None:
    """At all speeds of table 2, from those matrices: at rest they come in pairs ±."""
    for speed in range(11):
        stiffness, damping = GRAVITY * K0 + speed**2 * K2, speed * C1
        lower = -np.linalg.solve(M, np.hstack([stiffness, damping]))
        expected = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), lower]))
        found = np.array(sorted(eigenvalues(speed), key=lambda z: (round(z.real, 6), z.imag)))
        expected = np.array(sorted(expected, key=lambda z: (round(z.real, 6), z.imag)))
        assert_near(np.abs(found - expected), 0.0, 1e-9, f"eigenvalues at {speed} m/s")


def test_speeds_between_which_it_balances_itself() -> None:
    def weave(speed: float) -> float:
        return max(z.real for z in eigenvalues(speed) if z.imag > 1e-3)

    def capsize(speed: float) -> float:
        return max(z.real for z in eigenvalues(speed) if abs(z.imag) < 1e-9)

    assert_near(brentq(weave, 4.2, 4.4, xtol=1e-13), WEAVE, 1e-9, "weave speed (m/s)")
    assert_near(brentq(capsize, 5.9, 6.1, xtol=1e-13), CAPSIZE, 1e-9, "capsize speed (m/s)")


def test_accelerations_far_from_upright() -> None:
    """Leaning 36 and steering 13 degrees: dependent coordinates and speeds, and all accelerations."""
    model = plain()
    state = model.state(TURNING)
    place = dict(zip(model.coordinate_names, state, strict=False))
    rates = dict(
        zip((*model.coordinate_names, *model.speed_names), model.derivatives(0.0, state), strict=True)
    )
    assert_near(place["frame.q1"], math.pi - 3.1257073014894, 1e-12, "pitch")
    found = [
        rates["heading.q3"], rates["frame.q1"], rates["front.q1"],
        rates["lean.u1"], rates["fork.u1"], rates["heading.u1"],
    ]  # fmt: skip
    expected = [
        -0.7830033527065, 0.0119185528069, -8.0133620584155,
        7.8555281128244, 4.6198904039403, 0.3 * (1.8472554144217 + 0.1205543897884),
    ]  # fmt: skip
    assert_near(found, expected, 2e-12, "yaw, pitch and wheel rates; accelerations of lean, steer and travel")


def test_energy_is_kept_and_the_wheel_stays_on_the_ground() -> None:
    start = {"heading.u1": 4.6, "lean.u1": 0.5}
    run = plain().simulate(5.0, sample=0.02, initial=start, **TIGHT)
    assert_constant(run, "energy", 1e-10)
    assert_near(run["gap"], 0.0, 1e-10, "gap of the front wheel")


def textbook() -> arm.System:
    """The same bicycle in plain words: a free frame, and both contacts as conditions with roots in them."""
    s = arm.System("bicycle, as in a textbook")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    w, c, rR, rF, lam = (s.parameters[name] for name in ("w", "c", "rR", "rF", "lam"))
    frame = s.body(
        "frame", joint=arm.Joint(translate="xyz", rotate="zxy"), com=("xB", 0, "zB + rR"), mass="mB",
        inertia=("IBxx", "IByy", "IBzz", 0, "IBxz", 0),
    )  # fmt: skip
    rear = s.body("rear", frame, arm.Revolute("y"), mass="mR", inertia=("IRxx", "IRyy", "IRxx"))
    fork = s.body(
        "fork", frame, arm.Revolute((arm.sin(lam), 0, arm.cos(lam))), at=(w + c, 0, rR),
        com=("xH - w - c", 0, "zH"), mass="mH", inertia=("IHxx", "IHyy", "IHzz", 0, "IHxz", 0),
    )  # fmt: skip
    front = s.body(
        "front", fork, arm.Revolute("y"), at=(-c, 0, -rF), mass="mF", inertia=("IFxx", "IFyy", "IFxx")
    )
    down = s.ground.z
    s.gravity("g", down)
    for wheel, carrier, radius in ((rear, frame, rR), (front, fork, rF)):
        lowest: Any = radius * arm.direction(arm.project(down, carrier.y))
        slip = arm.velocity(wheel) + arm.cross(arm.angular_velocity(wheel), lowest)
        s.constrain(arm.dot(arm.position(wheel) + lowest, down), name=f"{wheel.name} touches")
        s.constrain(arm.dot(slip, carrier.y), name=f"{wheel.name} side")
        s.constrain(arm.dot(slip, arm.cross(carrier.y, lowest)), name=f"{wheel.name} rolls")
    speeds = {"yaw": frame.u4, "lean": frame.u5, "pitch": frame.u6, "steer": fork.u1, "front": front.u1}
    for name, speed in speeds.items():
        s.output(name, speed)
        s.output(f"{name} acceleration", arm.time_derivative(speed))
    return s


def test_textbook_description_agrees() -> None:
    """Other coordinates, other dependent speeds, roots: the same accelerations."""
    model = textbook().derive().compile()
    assert len(model.speed_names) == 3
    # The speed of the hub sideways and along follows from that of the contact point and the lean rate.
    start = {
        "frame.q5": TURNING["lean.q1"], "fork.q1": TURNING["fork.q1"], "frame.u4": -0.7830033527065,
        "frame.u5": TURNING["lean.u1"], "rear.u1": -8.9129896614890,
    }  # fmt: skip
    found = model.outputs(0.0, model.state(start))
    expected = {
        "pitch": 0.0119185528069, "steer": -0.4859824687093, "front": -8.0133620584155,
        "yaw acceleration": -0.8353281706379, "lean acceleration": 7.8555281128244,
        "pitch acceleration": -0.1205543897884, "steer acceleration": 4.6198904039403,
        "front acceleration": -2.4548072904550,
    }  # fmt: skip
    assert_near([found[name] for name in expected], list(expected.values()), 1e-11, "in other coordinates")


def test_cost_is_the_documented_one() -> None:
    """The table of docs/verification; a change for the better is welcome, and entered here and there."""
    assert counts(plain().equations) == (368, 570, 10)


def test_cost_is_below_that_of_general_algebra() -> None:
    """SymPy has 2,367 operations after sharing common ones, and is not yet solved for accelerations."""
    assert sum(counts(plain().equations)) < 2000
