"""The Whipple bicycle: a rider fixed to the frame, a fork that steers, two thin wheels that do not slip.

Source: Meijaard, Papadopoulos, Ruina & Schwab (2007), "Linearized dynamics equations for the balance and
steer of a bicycle: a benchmark and review", Proc. R. Soc. A 463, table 1. Axes: x forward, y right, z down.

The rear wheel touches the ground by the choice of coordinates: place and heading of its contact point, then
lean. That the front wheel touches is a condition; its contact point lies below the hub as seen in the wheel's
plane, along n − (n·a) a for the vertical n and the axle a.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

PARAMETERS = {
    "w": (1.02, "m", "wheelbase"),
    "c": (0.08, "m", "trail"),
    "lam": (math.pi / 10, "rad", "tilt of the steer axis"),
    "g": (9.81, "m/s2", "gravity"),
    "rR": (0.3, "m", "radius of the rear wheel"),
    "mR": (2.0, "kg", "mass of the rear wheel"),
    "IRxx": (0.0603, "kg*m2", "inertia of the rear wheel across its axle"),
    "IRyy": (0.12, "kg*m2", "inertia of the rear wheel about its axle"),
    "xB": (0.3, "m", "mass centre of frame and rider, ahead of the rear contact"),
    "zB": (-0.9, "m", "the same, below the ground"),
    "mB": (85.0, "kg", "mass of frame and rider"),
    "IBxx": (9.2, "kg*m2", "inertia of frame and rider"),
    "IByy": (11.0, "kg*m2", "inertia of frame and rider"),
    "IBzz": (2.8, "kg*m2", "inertia of frame and rider"),
    "IBxz": (2.4, "kg*m2", "inertia of frame and rider, an element of the matrix"),
    "xH": (0.9, "m", "mass centre of handlebar and fork, ahead of the rear contact"),
    "zH": (-0.7, "m", "the same, below the ground"),
    "mH": (4.0, "kg", "mass of handlebar and fork"),
    "IHxx": (0.05892, "kg*m2", "inertia of handlebar and fork"),
    "IHyy": (0.06, "kg*m2", "inertia of handlebar and fork"),
    "IHzz": (0.00708, "kg*m2", "inertia of handlebar and fork"),
    "IHxz": (-0.00756, "kg*m2", "inertia of handlebar and fork, an element of the matrix"),
    "rF": (0.35, "m", "radius of the front wheel"),
    "mF": (3.0, "kg", "mass of the front wheel"),
    "IFxx": (0.1405, "kg*m2", "inertia of the front wheel across its axle"),
    "IFyy": (0.28, "kg*m2", "inertia of the front wheel about its axle"),
}


def system() -> arm.System:
    """Heading, lean, pitch and steer from the rear contact to the front hub: three degrees of freedom."""
    s = arm.System("bicycle")
    for name, (value, units, about) in PARAMETERS.items():
        s.parameter(name, value, units=units, about=about)
    w, c, rR, rF, lam = (s.parameters[name] for name in ("w", "c", "rR", "rF", "lam"))
    sine, cosine = arm.sin(lam), arm.cos(lam)
    N = s.ground

    heading = s.body("heading", joint=arm.Planar("z", velocity="body"), mass=0, inertia=0)
    lean = s.body("lean", heading, arm.Revolute("x"), mass=0, inertia=0)
    hub = (0, 0, -rR)
    rear = s.body("rear", lean, arm.Revolute("y"), at=hub, mass="mR", inertia=("IRxx", "IRyy", "IRxx"))

    # The axes of frame and fork follow the steer axis; what is drawn in upright axes is fixed to them.
    upright = ("y", -lam)
    frame = s.body("frame", lean, arm.Revolute("y"), at=hub, orient=("y", lam), mass=0, inertia=0)
    s.body(
        "rider", frame, orient=upright, com=("xB", 0, "zB + rR"), mass="mB",
        inertia=("IBxx", "IByy", "IBzz", 0, "IBxz", 0),
    )  # fmt: skip
    reach, drop = (w + c) * cosine - rR * sine, w * sine + (rR - rF) * cosine
    fork = s.body("fork", frame, arm.Revolute("z"), at=(reach, 0, drop), mass=0, inertia=0)
    s.body(
        "handlebar", fork, at=(-reach, 0, -drop), orient=upright, com=("xH", 0, "zH + rR"), mass="mH",
        inertia=("IHxx", "IHyy", "IHzz", 0, "IHxz", 0),
    )  # fmt: skip
    offset = w * cosine - (rR - rF) * sine - reach
    front = s.body(
        "front", fork, arm.Revolute("y"), at=(offset, 0, 0), mass="mF", inertia=("IFxx", "IFyy", "IFxx")
    )
    s.gravity("g", N.z)

    s.constrain(heading.u2, name="rear wheel does not slip sideways")
    s.constrain(heading.u1 + rR * rear.u1, name="rear wheel rolls")
    # With d down to the contact point and ahead = a × d, no slip is v + ω × r d = 0; along a and ahead:
    down = arm.project(N.z, fork.y)
    ahead = arm.cross(fork.y, arm.direction(down))
    gap = arm.dot(arm.position(front), N.z) + rF * arm.magnitude(down)
    turning = arm.angular_velocity(front)
    s.constrain(gap, name="front wheel touches")
    side = arm.dot(arm.velocity(front), fork.y) - rF * arm.dot(turning, ahead)
    s.constrain(side, name="front wheel does not slip sideways")
    s.constrain(arm.dot(arm.velocity(front), ahead) + rF * arm.dot(turning, fork.y), name="front wheel rolls")

    s.output("lean", lean.q1, units="deg")
    s.output("steer", fork.q1, units="deg")
    s.output("energy", s.total_energy(), units="J")
    s.output("gap", gap, units="m", about="of the front wheel from the ground")
    return s


def main(folder: str = "out") -> None:
    """Five seconds at 4.6 m/s, where the bicycle balances itself, after a push that makes it lean."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    for speed, constraint in eom.dependents.items():
        print(f"  {speed} follows from '{constraint}'")
    start = {"heading.u1": 4.6, "lean.u1": 0.5}
    run = eom.compile().simulate(5.0, sample=0.01, initial=start, rtol=1e-10, atol=1e-12)
    print(f"largest lean {abs(run['lean']).max():.2f} deg, at the end {run.final['lean']:.3f} deg")
    print(f"energy changes by at most {abs(run['energy'] - run['energy'][0]).max():.1e} J")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("lean", "steer", path=Path(folder) / "bicycle.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
