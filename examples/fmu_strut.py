"""A strut as an FMU, and a car on it: one model exported, another that imports it.

The strut is a gas spring, and beside it a column of oil that is pressed through a valve: a spring and a
damper in series, with a state of their own. It is exported once, as its maker would, and then stands in a
quarter car as a force element of which nothing is known but its inputs (stroke and its rate) and its output
(the force).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import armillary as arm

KERB = "select(t < 0.2, 0, 0.05)"


def system() -> arm.System:
    """The strut alone: what its maker exports."""
    s = arm.System("gas strut")
    s.input("stroke", units="mm", about="compression of the strut")
    s.input("rate", units="m/s", about="rate of the compression")
    s.parameter("k", 18.0, units="N/mm", about="stiffness of the gas at rest")
    s.parameter("room", 0.25, units="m", about="length of the gas column")
    s.parameter("oil_k", 90.0, units="N/mm", about="stiffness of the oil column")
    s.parameter("c", 1500.0, units="N*s/m", about="damping of the valve")
    s.parameter("seals", 100.0, units="N*s/m", about="damping of the seals")
    s.body("oil", joint=arm.Prismatic("x"), mass=0.4, inertia=0)
    column = s.force("column", "oil_k*(stroke - oil.q1)", s.ground.x, at="oil.com")
    s.force("valve", "-c*oil.u1", s.ground.x, at="oil.com")
    law = s.expression("k*stroke/(1 - stroke/room) + seals*rate")
    s.output("force", law + column, units="N", about="push on both ends")
    return s


def car(strut: Path, every: float = 5e-4, extrapolate: bool = True) -> arm.System:
    """A quarter car over a kerb, its strut an FMU that is stepped ``every`` so many seconds."""
    s = arm.System("quarter car on an FMU")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=40.0, inertia=0)
    body = s.body("body", joint=arm.Prismatic("z"), mass=350.0, inertia=0)
    s.force("tyre", f"-180e3*(wheel.q1 - {KERB})", s.ground.z, at=wheel)
    found = s.fmu(
        "strut",
        strut,
        every=every,
        inputs={"stroke": wheel.q1 - body.q1, "rate": wheel.u1 - body.u1},
        outputs=["force"],
        extrapolate=extrapolate,
    )
    s.force("push", found["force"], s.ground.z, at=body, reaction=wheel)
    return s


def whole() -> arm.System:
    """The same car in one model: the truth for the coupled one."""
    s = arm.System("quarter car in one")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=40.0, inertia=0)
    body = s.body("body", joint=arm.Prismatic("z"), mass=350.0, inertia=0)
    s.force("tyre", f"-180e3*(wheel.q1 - {KERB})", s.ground.z, at=wheel)
    oil = s.body("oil", joint=arm.Prismatic("x"), mass=0.4, inertia=0)
    stroke, rate = wheel.q1 - body.q1, wheel.u1 - body.u1
    column = s.force("column", 90e3 * (stroke - oil.q1), s.ground.x, at=oil)
    s.force("valve", "-1500*oil.u1", s.ground.x, at=oil)
    law = 18e3 * stroke / (1 - stroke / 0.25) + 100 * rate
    s.force("push", law + column, s.ground.z, at=body, reaction=wheel)
    return s


def main(folder: str = "out") -> None:
    """The strut exported, the car run on it, and how far it is from the car in one model."""
    exact = whole().derive().compile().simulate(2.0, rtol=1e-10, sample=0.01)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    strut = eom.export("fmu", place / "strut.fmu", step=1e-4)
    print(arm.fmu(strut))
    for every in (2e-3, 1e-3, 5e-4):
        errors = []
        for extrapolate in (False, True):
            run = car(strut, every, extrapolate).derive().compile().simulate(2.0, rtol=1e-8, sample=0.01)
            errors.append(1e3 * np.max(np.abs(run["body.q1"] - exact["body.q1"])))
        held, line = errors
        print(f"every {1e3 * every:.1f} ms: body off by {held:.4f} mm held, {line:.4f} mm extrapolated")
    run.plot("body.q1", "wheel.q1", "strut_force", path=place / "fmu_strut.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
