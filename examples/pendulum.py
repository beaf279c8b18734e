"""A pendulum: the shortest useful model, and its period against the closed form.

T = 4 sqrt(L/g) K(sin(θ₀/2))        K: complete elliptic integral of the first kind
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm


def system() -> arm.System:
    """A bob on a massless rod, swinging about the ground's z axis; it hangs along -y at zero."""
    s = arm.System("pendulum")
    s.parameter("L", 0.5, units="m", about="length of the rod")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=2.0, inertia=0)
    s.gravity("g", -s.ground.y)
    s.output(
        "height", arm.dot(arm.position(bob.com), s.ground.y), units="m", about="of the bob above the pivot"
    )
    s.output("energy", s.total_energy(), units="J")
    return s


def main(folder: str = "out") -> None:
    """Derivation, one swing from rest at 60 degrees, and a plot."""
    from scipy.special import ellipk

    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    start = 1.0471975511965976
    period = 4 * (0.5 / 9.81) ** 0.5 * ellipk(0.25)  # m = sin²(θ₀/2)
    run = eom.compile().simulate(period, method="dop853", sample=period / 200, initial={"bob.q1": start})
    print(f"after one period of {period:.6f} s: {run.final['bob.q1']:.9f} rad (start {start:.9f})")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("bob.q1", "height", path=Path(folder) / "pendulum.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
