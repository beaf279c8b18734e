"""A thin uniform disc that rolls without slip on a level plane: a coin, wobbling along its curved path.

Axes: z up. Coordinates are the contact point, the heading, the lean from the vertical and the spin, so that
the disc touches the plane by itself; that it does not slip makes two conditions on speeds.

With lean θ, yaw rate Ω and ω₃ = spin + Ω sin θ about the axle, the disc rolls in a circle where

    (C + m R²) ω₃ Ω cos θ + m g R sin θ − A Ω² sin θ cos θ = 0        A = m R²/4, C = m R²/2

which is the balance of moments about the contact point (O'Reilly 1996, "The dynamics of rolling disks and
sliding disks", Nonlinear Dynamics 10).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

MASS, RADIUS, GRAVITY = 0.2, 0.1, 9.81


def system() -> arm.System:
    """Contact point with heading, lean, and the disc; three degrees of freedom remain."""
    s = arm.System("rolling disc")
    s.parameter("m", MASS, units="kg", about="mass")
    R = s.parameter("R", RADIUS, units="m", about="radius")
    s.parameter("g", GRAVITY, units="m/s2", about="gravity")
    heading = s.body("heading", joint=arm.Planar("z", velocity="body"), mass=0, inertia=0)
    lean = s.body("lean", heading, arm.Revolute("x"), mass=0, inertia=0)
    disc = s.body(
        "disc", lean, arm.Revolute("y"), at=(0, 0, R), mass="m", inertia=("m*R^2/4", "m*R^2/2", "m*R^2/4")
    )
    s.gravity("g", -s.ground.z)
    s.constrain(heading.u2, name="no slip sideways")
    s.constrain(heading.u1 - R * disc.u1, name="rolling", eliminate=heading.u1)

    turning = arm.angular_velocity(disc)
    s.output("lean", lean.q1, units="deg")
    s.output("axle", arm.dot(turning, lean.y), units="rad/s", about="angular velocity about the axle")
    s.output("diameter", arm.dot(turning, lean.z), units="rad/s", about="angular velocity about a diameter")
    s.output("energy", s.total_energy(), units="J")
    return s


def steady_spin(lean: float, yaw_rate: float) -> float:
    """The spin, seen from the vertical plane that turns with the disc, of steady rolling in a circle."""
    s, c = math.sin(lean), math.cos(lean)
    axle = (RADIUS * yaw_rate**2 * s * c / 4 - GRAVITY * s) / (1.5 * RADIUS * yaw_rate * c)
    return axle - yaw_rate * s


def main(folder: str = "out") -> None:
    """Six seconds after a push to the side."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    start = {"lean.q1": 0.3, "heading.u3": -2.0, "disc.u1": 8.0}
    run = eom.compile().simulate(6.0, sample=0.01, initial=start, rtol=1e-11, atol=1e-12)
    print(f"lean between {run['lean'].min():.1f} and {run['lean'].max():.1f} deg")
    print(f"energy changes by at most {abs(run['energy'] - run['energy'][0]).max():.1e} J")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("heading.q2", x="heading.q1", path=Path(folder) / "rolling_disc.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
