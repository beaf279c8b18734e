"""A four-bar linkage with a strut: a closed loop of which one angle remains.

Source: Sayers (1990), section 9.3 and Appendix C. Cranks A and C turn on the ground, the coupler B hangs on A
and is pinned to C; a spring and damper ties B to the ground. Only the coupler has mass.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

LENGTHS = {
    "L1": (0.5, "crank A; C's pin is as far to the right of the ground's origin"),
    "L2": (0.1, "strut on B, along its y"),
    "L3": (0.2, "mass centre of B, along its y"),
    "L4": (0.3, "pin on B, along its y; height of C's hinge"),
    "L5": (0.1, "C's hinge to the right of the ground's origin"),
    "L6": (0.3, "strut on the ground, along x"),
    "L7": (0.5, "strut on the ground, along y"),
}


def system() -> arm.System:
    """The linkage; at zero the cranks lie along x, the coupler stands along y and the strut is slack."""
    s = arm.System("four-bar linkage")
    for name, (value, about) in LENGTHS.items():
        s.parameter(name, value, units="m", about=about)
    s.parameter("BM", 10.0, units="kg", about="mass of the coupler")
    s.parameter("BI33", 1.0, units="kg*m2", about="moment of inertia of the coupler about its mass centre")
    s.parameter("K", 1e4, units="N/m", about="stiffness of the strut")
    s.parameter("D", 100.0, units="N*s/m", about="damping of the strut")
    s.parameter("GEES", 9.80665, units="m/s2", about="gravity")

    N = s.ground
    A = s.body("A", joint=arm.Revolute("z"), mass=0, inertia=0)
    B = s.body(
        "B", A, arm.Revolute("z"), at=("L1", 0, 0),
        com=(0, "L3", 0), mass="BM", inertia=("BI33", "BI33", "BI33"),
    )  # fmt: skip
    C = s.body("C", joint=arm.Revolute("z"), at=("L5", "L4", 0), mass=0, inertia=0)
    # The source takes B's x and C's y, which say the same thing where B and C stand in line.
    s.close_loop(
        B.point("pin", (0, "L4", 0)), C.point("pin", ("L1 - L5", 0, 0)), directions=[B.x, B.y], name="pin"
    )
    s.gravity("GEES", -N.y)
    low, high = B.point("low", (0, "L2", 0)), N.point("high", ("L6", "L7", 0))
    s.strut("strut", "-K*(x - sqrt((L1 - L6)^2 + (L2 - L7)^2)) - D*v", between=(high, low))

    s.output("pull", "-strut", units="N", about="force of the strut, positive in tension")
    s.output("X", arm.dot(arm.position(B.com), N.x), units="m", about="mass centre of the coupler")
    s.output("Y", arm.dot(arm.position(B.com), N.y), units="m", about="mass centre of the coupler")
    s.output("tilt", "A.q1 + B.q1", units="rad", about="angle of the coupler")
    for axis in (N.x, N.y):
        open_by = arm.dot(arm.position(B.pin, C.pin), axis)
        s.output(f"gap along {axis}", open_by, units="m", about="what is left open of the loop")
    stretch = arm.magnitude(arm.position(low, high)) - s.expression("sqrt((L1 - L6)^2 + (L2 - L7)^2)")
    s.output("energy", s.total_energy() + s.parameters["K"] * stretch**2 / 2, units="J")
    return s


def main(folder: str = "out") -> None:
    """The published scenario: crank A displaced by half a radian; the other angles are found."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    print(f"{', '.join(eom.speeds)} remains, {', '.join(eom.dependents)} follow from the loop")
    run = eom.compile().simulate(1.0, method="dop853", sample=0.005, initial={"A.q1": -0.5})
    print(f"assembled at {run['B.q1'][0]:.6f} and {run['C.q1'][0]:.6f} rad")
    gap = max(abs(run["gap along ground.x"]).max(), abs(run["gap along ground.y"]).max())
    print(f"the loop stays closed to {gap:.0e} m")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("A.q1", "tilt", "pull", path=Path(folder) / "four_bar.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
