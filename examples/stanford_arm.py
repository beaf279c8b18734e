"""The Stanford arm: five hinges and a slider, driven by feedback of position and speed.

Source: Sayers (1990), section 9.6 and Appendix E, after Kane and Levinson. The mass of B is illegible in the
source; 6 kg is taken, which enters only as MB L1² added to A2.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

TARGETS = {"A.q1": "AROT", "B.q1": "BROT", "C.q1": "CDISP", "D.q1": "DROT", "E.q1": "EROT", "F.q1": "FROT"}

LENGTHS = {
    "L1": (0.1, "shoulder offset: mass centre of B and the slider's line, along B's x"),
    "L2": (0.6, "wrist on D, along its y"),
    "L3": (0.2, "mass centre of F, along its y"),
    "L4": (0.1, "height of the shoulder, which no equation needs"),
    "L5": (0.7, "mass centre of D, along its y"),
    "L6": (0.06, "mass centre of E, along its y"),
}
MASSES = {"MA": 9.0, "MB": 6.0, "MC": 4.0, "MD": 1.0, "ME": 0.6, "MF": 0.5}
MOMENTS = {
    "A": (0.01, 0.02, 0.01),
    "B": (0.06, 0.01, 0.05),
    "C": (0.4, 0.01, 0.4),
    "D": (0.0005, 0.001, 0.001),
    "E": (0.0005, 0.0002, 0.0005),
    "F": (0.001, 0.002, 0.003),
}
GAINS = (3.0, 5.0, 1.0, 3.0, 0.3, 0.6, 0.3, 0.6, 0.25, 0.25, 30.0, 41.0)  # K1 … K12


def system(controller: bool = True, offset: bool = True) -> arm.System:
    """The arm; without controller its joints are free, without offset the slider passes B's origin."""
    s = arm.System("Stanford arm")
    N = s.ground
    for name, (value, about) in LENGTHS.items():
        s.parameter(name, value, units="m", about=about)
    for name, value in MASSES.items():
        s.parameter(name, value, units="kg", about=f"mass of {name[1]}")
    for body, moments in MOMENTS.items():
        for i, (value, axis) in enumerate(zip(moments, "xyz", strict=True), start=1):
            s.parameter(
                f"{body}{i}", value, units="kg*m2", about=f"moment of inertia of {body} about its {axis}"
            )
    s.parameter("GEES", 9.80665, units="m/s2", about="gravity")

    A = s.body("A", joint=arm.Revolute("y"), mass="MA", inertia=("A1", "A2", "A3"))
    B = s.body(
        "B", A, arm.Revolute("x"), at=(0, "L4", 0), com=("L1", 0, 0), mass="MB", inertia=("B1", "B2", "B3")
    )
    slider = ("L1", 0, 0) if offset else (0, 0, 0)
    C = s.body("C", B, arm.Prismatic("y"), at=slider, mass="MC", inertia=("C1", "C2", "C3"))
    D = s.body("D", C, arm.Revolute("y"), com=(0, "L5", 0), mass="MD", inertia=("D1", "D2", "D3"))
    E = s.body(
        "E", D, arm.Revolute("x"), at=(0, "L2", 0), com=(0, "L6", 0), mass="ME", inertia=("E1", "E2", "E3")
    )
    F = s.body("F", E, arm.Revolute("y"), com=(0, "L3", 0), mass="MF", inertia=("F1", "F2", "F3"))
    s.gravity("GEES", -N.y)
    s.output(
        "tip height", arm.dot(arm.position(F.com), N.y), units="m", about="of F's mass centre above the base"
    )
    s.output("energy", s.total_energy(), units="J")
    _give_shapes(N, A, B, C, D, E, F)
    if controller:
        _control(s, N, A, B, C, D, E, F)
    return s


def _give_shapes(
    N: arm.Body, A: arm.Body, B: arm.Body, C: arm.Body, D: arm.Body, E: arm.Body, F: arm.Body
) -> None:
    """What the arm looks like; its motion does not depend on it."""
    N.shape(arm.Cylinder(0.11, 0.24, "y"), at=(0, -0.19, 0), colour="#9aa5ae", name="pedestal")
    N.shape(arm.Cylinder(0.17, 0.03, "y"), at=(0, -0.325, 0), colour="#7d8790", name="foot")
    A.shape(arm.Cylinder(0.08, 0.13, "y"), at=(0, -0.005, 0), name="turret")
    A.shape(arm.Cylinder(0.055, 0.11, "x"), at=(0, "L4", 0), name="shoulder")
    B.shape(arm.Cylinder(0.035, "L1", "x"), at=("L1/2", 0, 0), name="shaft")
    B.shape(arm.Box(0.1, 0.24, 0.1), at=("L1", 0, 0), name="sleeve")
    C.shape(arm.Cylinder(0.03, 1.1, "y"), name="boom")  # of a rod with the inertia of C
    D.shape(arm.Cylinder(0.04, 0.07, "y"), at=(0, "L2 - 0.06", 0), name="wrist")
    E.shape(arm.Cylinder(0.034, 0.09, "x"), name="knuckle")
    E.shape(arm.Cylinder(0.022, "L6", "y"), at=(0, "L6/2", 0), name="stem")
    F.shape(arm.Cylinder(0.03, 0.05, "y"), at=(0, "L6 + 0.025", 0), name="flange")
    F.shape(arm.Box(0.13, 0.03, 0.05), at=(0, "L6 + 0.06", 0), name="palm")
    for side in (-1, 1):
        name = "left" if side < 0 else "right"
        F.shape(arm.Box(0.018, 0.1, 0.04), at=(0.05 * side, "L3 - 0.015", 0), name=f"{name}_finger")


def _control(
    s: arm.System, N: arm.Body, A: arm.Body, B: arm.Body, C: arm.Body, D: arm.Body, E: arm.Body, F: arm.Body
) -> None:
    """Feedback at each joint, with the weight of what it carries compensated (eqs. 9.6.1 to 9.6.6)."""
    for i, value in enumerate(GAINS, start=1):
        effort, per = ("N", "m") if i > 10 else ("N*m", "rad")
        units = f"{effort}/{per}" if i % 2 else f"{effort}*s/{per}"
        s.parameter(f"K{i}", value, units=units, about="controller gain")
    for coordinate, target in TARGETS.items():
        value, units = (0.1, "m") if coordinate == "C.q1" else (math.pi / 3, "rad")
        s.parameter(target, value, units=units, about=f"target of {coordinate}")

    s.moment("tau1", "-K1*(A.q1 - AROT) - K2*A.u1", N.y, on=A)
    s.moment(
        "tau2",
        "-(K3*(B.q1 - BROT) + K4*B.u1 + GEES*(((MC + MD)*C.q1 + MD*L5)*sin(B.q1)"
        " + (ME*L6 + MF*L3)*(cos(E.q1)*sin(B.q1) + cos(D.q1)*sin(E.q1)*cos(B.q1))"
        " + (ME + MF)*(C.q1 + L2)*sin(B.q1)))",
        A.x, on=B, reaction=A,
    )  # fmt: skip
    s.moment(
        "tau3",
        "-(K5*(D.q1 - DROT) + K6*D.u1 - GEES*(ME*L6 + MF*L3)*sin(B.q1)*sin(D.q1)*sin(E.q1))",
        D.y, on=D, reaction=C,
    )  # fmt: skip
    s.moment(
        "tau4",
        "-(K7*(E.q1 - EROT) + K8*E.u1"
        " + GEES*(ME*L6 + MF*L3)*(cos(B.q1)*sin(E.q1) + sin(B.q1)*cos(D.q1)*cos(E.q1)))",
        E.x, on=E, reaction=D,
    )  # fmt: skip
    s.moment("tau5", "-(K9*(F.q1 - FROT) + K10*F.u1)", F.y, on=F, reaction=E)
    # A body as reaction: it is pushed back along the same line of action.
    s.force(
        "sigma",
        "-(K11*(C.q1 - CDISP) + K12*C.u1 - GEES*(MC + MD + ME + MF)*cos(B.q1))",
        C.y,
        at=C.origin,
        reaction=B,
    )


def main(folder: str = "out") -> None:
    """The published scenario: from rest with B at 90 degrees to the targets."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(10.0, step=1e-3, method="rk4", sample=0.01, initial={"B.q1": math.pi / 2})
    for name, target in TARGETS.items():
        print(
            f"{name} ends at {run.final[name]:8.5f}, target {run.parameters[target]:8.5f} {run.units[name]}"
        )
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot(*TARGETS, path=Path(folder) / "stanford_arm.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
