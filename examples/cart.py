"""A four-wheeled cart that is pushed: two rigid axles, the front one on a pivot, eight conditions of rolling.

Source: Sayers (1990), section 9.2. The pivot stands ahead of the front axle, so the axle swings about until
it trails. Axes: x forward, y to the right, z down. Of the two wheels on an axle neither can slip sideways
without the other, so that two of the conditions say nothing new.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "BI33": (12.0, "kg*m2", "yaw inertia of the body"),
    "BM": (20.0, "kg", "mass of the body"),
    "CMB1": (0.5, "m", "mass centre of the body ahead of the rear axle"),
    "CMF1": (0.02, "m", "mass centre of the front axle's frame ahead of the axle"),
    "EPS": (0.1, "m", "pivot ahead of the front axle"),
    "F": (100.0, "N", "push"),
    "FI33": (0.5, "kg*m2", "yaw inertia of the front axle's frame"),
    "FM": (5.0, "kg", "mass of the front axle's frame"),
    "IA": (0.02, "kg*m2", "inertia of a wheel about its axle"),
    "IT": (0.01, "kg*m2", "inertia of a wheel across its axle"),
    "L1": (1.5, "m", "rear axle to pivot"),
    "MW": (1.0, "kg", "mass of a wheel"),
    "R": (0.2, "m", "radius of the wheels"),
    "TRK2": (0.5, "m", "half the track"),
}


def system() -> arm.System:
    """Body B in the plane of the floor, with its origin on the rear axle; front frame FA; four wheels."""
    s = arm.System("cart")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    R = s.parameters["R"]
    B = s.body(
        "B",
        joint=arm.Planar("z", velocity="body"),
        com=("CMB1", 0, 0),
        mass="BM",
        inertia=("BI33", "BI33", "BI33"),
    )
    FA = s.body(
        "FA", B, arm.Revolute("z"), at=("L1", 0, 0), com=("CMF1 - EPS", 0, 0), mass="FM",
        inertia=("FI33", "FI33", "FI33"),
    )  # fmt: skip
    places = {
        "LFW": (FA, "-EPS", "-TRK2"),
        "RFW": (FA, "-EPS", "TRK2"),
        "LRW": (B, 0, "-TRK2"),
        "RRW": (B, 0, "TRK2"),
    }
    wheels = [
        s.body(name, carrier, arm.Revolute("y"), at=(x, y, 0), mass="MW", inertia=("IT", "IA", "IT"))
        for name, (carrier, x, y) in places.items()
    ]
    s.force("push", "F", B.x, at=B.origin)

    for wheel in reversed(wheels):
        ahead = arm.dot(arm.velocity(wheel), wheel.parent.x)
        s.constrain(R * wheel.u1 - ahead, name=f"{wheel.name} rolls")
    for wheel in reversed(wheels):
        s.constrain(arm.dot(arm.velocity(wheel), wheel.parent.y), name=f"{wheel.name} does not slip sideways")

    s.output("yaw rate", B.u3, units="rad/s")
    s.output("steer rate", FA.u1, units="rad/s")
    s.output("energy", s.kinetic_energy(), units="J")
    s.output(
        "work",
        "F*R*(LRW.q1 + RRW.q1)/2",
        units="J",
        about="of the push, which acts midway between the rear wheels",
    )
    return s


def main(folder: str = "out") -> None:
    """The published scenario: a push of 100 N from rest, with the front axle at an angle."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    print(f"say nothing new: {', '.join(eom.redundant_constraints)}")
    run = eom.compile().simulate(3.0, step=0.02, method="midpoint", initial={"FA.q1": 0.25})
    print(f"after 3 s: {run.final['B.u1']:.3f} m/s, steer {run.final['FA.q1']:.1e} rad")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("yaw rate", "steer rate", path=Path(folder) / "cart.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
