"""A hub with two chains of hinged panels in free space: deployable arrays that flex on torsion springs.

Source: Allard (2018), N hinged rigid body dynamics model, Basilisk technical memorandum; the numbers are
those of the module's integrated test, with four panels on one side and three on the other.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

SIDES = {1: (1, 2, 3, 4), -1: (5, 6, 7)}  # numbers of the panels along +x and -x, hub side first
START = {"panel1.q1": math.radians(5.0), "hub.u4": 0.1, "hub.u5": -0.1, "hub.u6": 0.1}


def system() -> arm.System:
    """Hub and seven panels; an angle is positive when its panel swings towards the hub's +z."""
    s = arm.System("hub and panels")
    s.parameter("d", 0.75, units="m", about="hinge to mass centre of a panel, half its length")
    s.parameter("m", 50.0, units="kg", about="mass of a panel")
    s.parameter("k", 500.0, units="N*m/rad", about="stiffness of a hinge")
    s.parameter("c", 0.0, units="N*m*s/rad", about="damping of a hinge")
    hub = s.body("hub", joint=arm.Free(), mass=750.0, inertia=(900.0, 800.0, 600.0))
    for side, numbers in SIDES.items():
        inner = hub
        for i in numbers:
            at = (0.5 * side, 0, 1.0) if inner is hub else (f"{2 * side}*d", 0, 0)
            panel = s.body(
                f"panel{i}", inner, arm.Revolute((0, -side, 0)), at=at, com=(f"{side}*d", 0, 0), mass="m",
                inertia=(50.0, 25.0, 25.0),
            )  # fmt: skip
            s.parameter(
                f"rest{i}", 0.0, units="rad", about=f"angle at which the spring of panel{i} is at rest"
            )
            law = f"-k*(panel{i}.q1 - rest{i}) - c*panel{i}.u1"
            s.moment(f"hinge{i}", law, -side * hub.y, on=panel, reaction=inner)
            inner = panel
    strain = " + ".join(f"0.5*k*(panel{i}.q1 - rest{i})^2" for numbers in SIDES.values() for i in numbers)
    s.output("energy", s.kinetic_energy() + s.expression(strain), units="J", about="motion and springs")
    momentum, angular = s.momentum(), s.angular_momentum()
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"p{letter}", arm.dot(momentum, axis), units="N*s", about="momentum")
        s.output(f"h{letter}", arm.dot(angular, axis), units="N*m*s", about="angular momentum")
    return s


def main(folder: str = "out") -> None:
    """Ten seconds with one panel bent at the start, without and with damping."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    model = eom.compile()
    run = model.simulate(10.0, method="dop853", sample=0.02, rtol=1e-11, atol=1e-13, initial=START)
    for name in ("energy", "hx", "hy", "hz"):
        drift = abs(run[name] - run[name][0]).max()
        print(f"{name:6} {run[name][0]:14.9f} {run.units[name]}, changes by at most {drift:.1e}")
    damped = model.simulate(10.0, method="dop853", sample=0.02, initial=START, parameters={"c": 50.0})
    print(f"with dampers the energy falls to {damped.final['energy']:.3f} J")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot(
        "panel1.q1",
        "panel4.q1",
        "panel7.q1",
        "hub.u4",
        "hub.u5",
        "hub.u6",
        path=Path(folder) / "hub_and_panels.png",
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
