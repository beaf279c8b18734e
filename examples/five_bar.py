"""A planar five-bar: two motors on the ground move one point in a plane.

Cranks A and C turn on the ground; links B and D on them meet in the tool. Two freedoms remain, and the two
cranks, whose motors follow sines by feedback, are those that are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

MASSES = {"A": 0.6, "B": 0.5, "C": 0.6, "D": 0.5}


def system(motors: bool = True) -> arm.System:
    """The linkage in the plane of x and y, gravity along −y; all bars along x at zero."""
    s = arm.System("five-bar linkage")
    s.parameter("w", 0.15, units="m", about="half the distance of the motors")
    s.parameter("crank", 0.25, units="m", about="length of A and C")
    s.parameter("link", 0.35, units="m", about="length of B and D")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    N = s.ground
    bodies = {}
    for crank, link, side in (("A", "B", "-w"), ("C", "D", "w")):
        for name, parent, place, length in ((crank, None, side, "crank"), (link, crank, "crank", "link")):
            mass = MASSES[name]
            bodies[name] = s.body(
                name, parent, arm.Revolute("z"), at=(place, 0, 0), com=(f"{length}/2", 0, 0),
                mass=mass, inertia=(0, f"{mass}*{length}^2/12", f"{mass}*{length}^2/12"),
            )  # fmt: skip
    B, D = bodies["B"], bodies["D"]
    tool = B.point("tool", ("link", 0, 0))
    s.close_loop(
        tool, D.point("tool", ("link", 0, 0)), directions=[N.x, N.y], name="tool", eliminate=("B.q1", "D.q1")
    )
    s.start({"A.q1": 2.0, "C.q1": 1.1, "B.q1": -1.5, "D.q1": 1.5})  # the tool above the motors
    s.gravity("g", -N.y)
    if motors:
        s.parameter("stiffness", 60.0, units="N*m/rad", about="of both motors")
        s.parameter("damping", 3.0, units="N*m*s/rad", about="of both motors")
        s.moment("left", "-stiffness*(A.q1 - 2.0 - 0.2*sin(2*t)) - damping*A.u1", N.z, on="A")
        s.moment("right", "-stiffness*(C.q1 - 1.1 - 0.2*cos(2*t)) - damping*C.u1", N.z, on="C")
    s.output("x", arm.dot(arm.position(tool), N.x), units="m", about="of the tool")
    s.output("y", arm.dot(arm.position(tool), N.y), units="m", about="of the tool")
    s.output("energy", s.total_energy(), units="J")
    return s


def main(folder: str = "out") -> None:
    """A few turns of the tool."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}; kept: {', '.join(eom.speeds)}")
    run = eom.compile().simulate(8.0, sample=0.01)
    print(f"the tool moves between {run['x'].min():.3f} and {run['x'].max():.3f} m")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("x", "y", path=Path(folder) / "five_bar.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
