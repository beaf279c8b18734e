"""Spacecraft 2: a hub with four antennas on sprung and damped hinges, tumbling slowly in free space.

Source: Sayers (1990), section 9.5. Hinge axes follow the input of the source and its table, not its prose.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "IXX": (110.0, "kg*m2", "moment of inertia of W about x"),
    "IYY": (100.0, "kg*m2", "moment of inertia of W about y"),
    "IZZ": (70.0, "kg*m2", "moment of inertia of W about z"),
    "IA": (0.02, "kg*m2", "moment of inertia of an antenna about its mass centre, across it"),
    "M1": (500.0, "kg", "mass of W"),
    "M2": (2.0, "kg", "mass of an antenna"),
    "K": (2.85e-5, "N*m/rad", "hinge stiffness"),
    "D": (0.001359, "N*m*s/rad", "hinge damping"),
    "L1": (0.5, "m", "hinges ahead of W's mass centre"),
    "L2": (0.3, "m", "hinges off the axis"),
    "L3": (0.2, "m", "hinge to mass centre of an antenna"),
}
START = {"W.u4": 0.00017, "W.u5": 0.00017, "W.u6": 0.0017}


def system(velocity: str = "body") -> arm.System:
    """Hub W, its velocity and spin in its own axes, and antennas A1 to A4; x is the axis of symmetry."""
    s = arm.System("Spacecraft 2")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    free = arm.Free(rotation="zyx", velocity=velocity)
    W = s.body("W", joint=free, mass="M1", inertia=("IXX", "IYY", "IZZ"))
    hinges = (((0, "L2"), "y"), (("L2", 0), "z"), ((0, "-L2"), "y"), (("-L2", 0), "z"))
    for i, ((y, z), axis) in enumerate(hinges, start=1):
        antenna = s.body(
            f"A{i}",
            W,
            arm.Revolute(axis),
            at=("L1", y, z),
            com=("L3", 0, 0),
            mass="M2",
            inertia=(0, "IA", "IA"),
        )
        s.moment(f"T{i}", f"-K*A{i}.q1 - D*A{i}.u1", getattr(W, axis), on=antenna, reaction=W)
    strain = " + ".join(f"0.5*K*A{i}.q1^2" for i in range(1, 5))
    s.output("energy", s.kinetic_energy() + s.expression(strain), units="J", about="motion and hinge springs")
    momentum, angular = s.momentum(), s.angular_momentum()
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"p{letter}", arm.dot(momentum, unit), units="N*s", about="momentum")
        s.output(f"h{letter}", arm.dot(angular, unit), units="N*m*s", about="angular momentum")
    return s


def main(folder: str = "out") -> None:
    """The published scenario: 1000 s from a slow spin about z."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(1000.0, method="dop853", sample=5.0, rtol=1e-10, atol=1e-14, initial=START)
    print(f"energy falls from {run['energy'][0]:.6e} to {run['energy'][-1]:.6e} J by the dampers")
    drift = abs(run["hz"] - run["hz"][0]).max()
    print(f"angular momentum about z stays {run['hz'][0]:.9f} N*m*s within {drift:.1e}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot(
        "A1.q1", "A2.q1", "A3.q1", "A4.q1", "W.u4", "W.u5", "W.u6", path=Path(folder) / "spacecraft_2.png"
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
