"""A passenger car for handling studies: yaw, sideslip and roll at constant speed, in inches and pounds.

Source: Sayers (1990), section 9.1, the full nonlinear version. Axes are those of SAE: x forward, y to the
right, z down. Weights in pounds become masses with the source's own gravity of 386.2 in/s².
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "CA1": (-444.0, "lb/deg", "front cornering stiffness"),
    "CA2": (-428.0, "lb/deg", "rear cornering stiffness"),
    "CAM1": (1080.0, "in*lb/deg", "front aligning moment coefficient"),
    "CAM2": (1000.0, "in*lb/deg", "rear aligning moment coefficient"),
    "CCOEF1": (0.82, "-", "front wheel camber per body roll"),
    "CE": (63.4, "in", "rear axle to mass centre of the body"),
    "CG1": (78.0, "lb/deg", "front camber stiffness"),
    "CROLL": (212.0, "in*lb*s/deg", "roll damping"),
    "H": (15.48, "in", "mass centre of the body above the roll axis"),
    "HRA": (10.0, "in", "roll axis above the ground at the rear axle, which no equation needs"),
    "IXX": (5580.0, "in*lb*s2", "inertia of the body"),
    "IXZ": (0.0, "in*lb*s2", "inertia of the body"),
    "IYY": (12000.0, "in*lb*s2", "inertia of the body"),
    "IZZR": (37080.0, "in*lb*s2", "inertia of the body"),
    "KROLL": (6211.0, "in*lb/deg", "roll stiffness"),
    "KRS2": (-0.016, "-", "rear roll-steer coefficient"),
    "L": (125.5, "in", "wheelbase"),
    "NRBI33": (
        1.0,
        "in*lb*s2",
        "yaw inertia of the chassis, as the source runs it; 1285 was apparently meant",
    ),
    "NRBW": (704.0, "lb", "weight of the chassis, which does not roll"),
    "RBW": (3831.0, "lb", "weight of the body, which rolls"),
    "SPEED": (968.0, "in/s", "forward speed"),
    "STEER": (1.0, "deg", "steer of the front wheels, from the start"),
    "THETAR": (5.1, "deg", "inclination of the roll axis"),
    "GEES": (386.2, "in/s2", "gravity"),
}


def system() -> arm.System:
    """Chassis NRB in the road's plane, its origin on the rear axle, and body RB on the inclined roll axis."""
    s = arm.System("car", units="in-lb-s")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    N = s.ground
    NRB = s.body(
        "NRB",
        joint=arm.Planar("z", velocity="body"),
        com=(0, 0, "-HRA"),
        mass="NRBW/GEES",
        inertia=("NRBI33", "NRBI33", "NRBI33"),
    )
    # The body's x lies along the roll axis. Its published moments of inertia break the triangle inequality.
    RB = s.body(
        "RB", NRB, arm.Revolute(("cos(THETAR)", 0, "sin(THETAR)")), at=(0, 0, "-HRA"),
        orient=("y", "-THETAR"), com=("CE", 0, "-H"), mass="RBW/GEES",
        inertia=("IXX", "IYY", "IZZR", 0, "IXZ", 0), check_inertia=False,
    )  # fmt: skip
    for end, x in (("front", "L"), ("rear", 0)):  # what it looks like; the motion does not depend on it
        for side, y in (("left", -28), ("right", 28)):
            NRB.shape(arm.Wheel(12, 7), at=(x, y, -12), name=f"{end}_{side}_wheel")
    level = ("y", "THETAR")
    RB.shape(arm.Box(185, 48, 18), at=("CE", 0, -8), orient=level, name="hull")
    RB.shape(arm.Box(90, 46, 18), at=("CE - 8", 0, -26), orient=level, name="cabin")
    s.gravity("GEES", N.z)
    s.prescribe(NRB.u1, "SPEED")

    front = NRB.point("front", ("L", 0, 0))
    slip = "atan2(dot(velocity({0}), NRB.y), dot(velocity({0}), NRB.x))"
    alpha_f = f"({slip.format('NRB.front')} - STEER)"
    alpha_r = f"({slip.format('NRB.origin')} - KRS2*RB.q1)"
    s.force("FY1", f"CA1*{alpha_f} + CG1*CCOEF1*RB.q1", NRB.y, at=front)
    s.force("FY2", f"CA2*{alpha_r}", NRB.y, at=NRB.origin)
    s.moment("MZ1", f"CAM1*{alpha_f}", N.z, on=NRB)
    s.moment("MZ2", f"CAM2*{alpha_r}", N.z, on=NRB)
    s.moment("ROLLM", "-KROLL*RB.q1 - CROLL*dot(angular_velocity(RB, NRB), NRB.x)", RB.x, on=RB, reaction=NRB)

    sideways = arm.direction(arm.project(RB.y, N.z))  # the body's y as seen on the road
    lateral = arm.dot(arm.acceleration(RB.com), sideways)
    s.output("Ay", lateral / s.parameters["GEES"], about="lateral acceleration in gravities")
    s.output("r", arm.dot(arm.angular_velocity(NRB), N.z), units="deg/s", about="yaw rate")
    s.output("alpha_f", alpha_f, units="deg", about="slip angle of the front tyres")
    s.output("alpha_r", alpha_r, units="deg", about="slip angle of the rear tyres")
    for load in ("FY1", "FY2"):
        s.output(load, load, units="lb", about="side force of an axle")
    for load in ("MZ1", "MZ2", "ROLLM"):
        s.output(load, load, units="in*lb", about="moment")
    return s


def main(folder: str = "out") -> None:
    """The published scenario: a step of one degree of steer at 55 miles per hour."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(2.0, step=0.025, method="midpoint")
    print(f"steady state: {run.final['r']:.3f} deg/s yaw rate, {run.final['Ay']:.4f} g")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("r", "Ay", "alpha_f", "alpha_r", path=Path(folder) / "car.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
