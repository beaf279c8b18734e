"""Spacecraft 1: a bus with a clock platform, a camera, a boom on a flexible root, and thrusters with a dead band.

Source: Sayers (1990), section 9.4 and Appendix D (full nonlinear version). The clock and the camera follow commanded ramps; thrusters
hold the attitude. Coordinates of B are those of its own mass centre B0; where the source uses the velocity of
the mass centre B* of bus and clock as speeds, ``system`` does too: B's origin is placed there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "L1": (1.5, "m", "clock joint below the bus's mass centre"),
    "L2": (0.75, "m", "clock's mass centre above its joint"),
    "L3": (0.1, "m", "camera joint on the clock"),
    "L5": (0.22, "m", "camera's mass centre along its y"),
    "L6": (0.2, "m", "camera's mass centre along its z"),
    "L7": (1.2, "m", "boom joint on the bus"),
    "L8": (3.3, "m", "boom's mass centre from its joint"),
    "BM": (410.0, "kg", "mass of the bus"),
    "CM": (6.8, "kg", "mass of the clock"),
    "DM": (57.5, "kg", "mass of the camera"),
    "FM": (10.7, "kg", "mass of the boom"),
    "BI11": (115.0, "kg*m2", "inertia of the bus"),
    "BI12": (-14.0, "kg*m2", "inertia of the bus"),
    "BI13": (14.0, "kg*m2", "inertia of the bus"),
    "BI22": (316.0, "kg*m2", "inertia of the bus"),
    "BI23": (-34.6, "kg*m2", "inertia of the bus"),
    "BI33": (440.0, "kg*m2", "inertia of the bus"),
    "CI": (0.35, "kg*m2", "inertia of the clock across its axis"),
    "DI11": (4.85, "kg*m2", "inertia of the camera"),
    "DI12": (-0.41, "kg*m2", "inertia of the camera"),
    "DI13": (-0.07, "kg*m2", "inertia of the camera"),
    "DI22": (2.2, "kg*m2", "inertia of the camera"),
    "DI23": (-0.54, "kg*m2", "inertia of the camera"),
    "DI33": (5.5, "kg*m2", "inertia of the camera"),
    "FI1": (27.2, "kg*m2", "inertia of the boom across it"),
    "FI2": (0.2, "kg*m2", "inertia of the boom along it"),
    "KCLOCK": (3500.0, "N*m/rad", "servo stiffness of clock and camera"),
    "BCLOCK": (20.0, "N*m*s/rad", "servo damping of clock and camera"),
    "KB": (2000.0, "N*m/rad", "boom stiffness"),
    "BB": (10.0, "N*m*s/rad", "boom damping"),
}
THRUSTERS = {
    "LTT1": (0.23, "N*m", "thruster couple about x"),
    "LTT2": (0.21, "N*m", "thruster couple about y"),
    "LTT3": (0.31, "N*m", "thruster couple about z"),
    "GYRO": (2.0, "s", "gain of the rate in the thrusters' error"),
    "BAND": (0.0025, "rad", "dead band of the error"),
    "ONTIME": (0.02, "s", "least time that a thruster stays on"),
}
START = {"C.q1": 4.0, "D.q1": -0.5}
NEVER = 1e9  # a time after the end of every run


def system(thrusters: bool | str = True) -> arm.System:
    """The spacecraft; ``thrusters`` are switched once per step (True), exactly when due ("events"), or left out (False)."""
    s = arm.System("Spacecraft 1")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    s.function("ramp", lambda start, slope: start + slope * arm.minimum(arm.maximum(s.time - 1, 0), 10), 2)

    B = s.body(
        "B", joint=arm.Free(rotation="xyz", velocity="body"), com=(0, 0, "(L1 - L2)*CM/(BM + CM)"),
        mass="BM", inertia=("BI11", "BI22", "BI33", "BI12", "BI13", "BI23"),
    )  # fmt: skip
    centre = B.com_coordinates[2]
    C = s.body(
        "C", B, arm.Revolute("z"), at=(0, 0, centre - s.expression("L1")), com=(0, 0, "L2"), mass="CM", inertia=("CI", "CI", 0)
    )
    D = s.body(
        "D", C, arm.Revolute((-1, 0, 0)), at=(0, "-L3", 0), orient=((-1, 0, 0), (0, 1, 0), (0, 0, -1)),
        com=(0, "L5", "L6"), mass="DM", inertia=("DI11", "DI22", "DI33", "DI12", "DI13", "DI23"),
    )  # fmt: skip
    E = s.body("E", B, arm.Revolute("z"), at=(0, "-L7", centre), mass=0, inertia=0)
    F = s.body("F", E, arm.Revolute("x"), com=(0, "-L8", 0), mass="FM", inertia=("FI1", "FI2", "FI1"))

    s.moment("BT1", "-KB*E.q1 - BB*E.u1", E.z, on=F, reaction=B)
    s.moment("BT2", "-KB*F.q1 - BB*F.u1", F.x, on=F, reaction=B)
    s.moment("CLOCKT", "KCLOCK*(ramp(4, -0.025) - C.q1) - BCLOCK*C.u1", C.z, on=C, reaction=B)
    s.moment("CAMT", "KCLOCK*(ramp(-0.5, 0.01) - D.q1) - BCLOCK*D.u1", D.x, on=D, reaction=C)
    if thrusters:
        for name, (value, units, about) in THRUSTERS.items():
            s.parameter(name, value, units=units, about=about)
        for i, axis in enumerate((B.x, B.y, B.z), start=1):
            _thruster(s, i, axis, B, by_events=thrusters == "events")
    for name, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"B0{name}", arm.dot(arm.position(B.com), axis), units="m", about="position of the bus's mass centre")
        s.output(f"p{name}", arm.dot(s.momentum(), axis), units="N*s", about="momentum")
        s.output(f"h{name}", arm.dot(s.angular_momentum("mass centre"), axis), units="N*m*s", about="angular momentum")
    return s
