"""The Whipple bicycle: conservation, and the same numbers as the case `bicycle` from another description.

Source: Basu-Mandal, Chatterjee & Papadopoulos (2007), "Hands-free circular motions of a benchmark bicycle",
Proc. R. Soc. A 463, table 1.
"""

from __future__ import annotations

from typing import Any

import armillary as arm
from armillary.verification.cases.vehicles import (
    LEAN_ACCELERATION,
    STEER_ACCELERATION,
    TURNING,
    TURNING_RATES,
)
from armillary.verification.rows import equations
from examples.bicycle import PARAMETERS
from tests.verification.common import TIGHT, assert_constant, assert_near


def test_energy_is_kept_and_the_wheel_stays_on_the_ground() -> None:
    start = {"heading.u1": 4.6, "lean.u1": 0.5}
    run = equations("bicycle").compile().simulate(5.0, sample=0.02, initial=start, **TIGHT)
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
        "frame.q5": TURNING["lean.q1"], "fork.q1": TURNING["fork.q1"],
        "frame.u4": TURNING_RATES["heading.q3"], "frame.u5": TURNING["lean.u1"], "rear.u1": -8.9129896614890,
    }  # fmt: skip
    found = model.outputs(0.0, model.state(start))
    expected = {
        "pitch": TURNING_RATES["frame.q1"], "steer": TURNING["fork.u1"], "front": TURNING_RATES["front.q1"],
        "yaw acceleration": -0.8353281706379, "lean acceleration": LEAN_ACCELERATION,
        "pitch acceleration": -0.1205543897884, "steer acceleration": STEER_ACCELERATION,
        "front acceleration": -2.4548072904550,
    }  # fmt: skip
    assert_near([found[name] for name in expected], list(expected.values()), 1e-11, "in other coordinates")
