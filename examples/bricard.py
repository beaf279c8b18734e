"""Bricard's overconstrained linkage: six hinges, six links, one freedom although a count gives none.

Threefold symmetric, with equal links twisted by 90° and −90° in turn (Bricard 1927; Chen, You and Tarnai,
"Threefold-symmetric Bricard linkages for deployable structures", Int. J. Solids and Structures 42, 2005). Its
angles alternate, and

    cos θ + cos φ + cos θ cos φ = 0

It turns itself inside out without end. Five coordinates and the five conditions of the last hinge leave
nothing to move, but one condition follows from the others; the derivation finds out which.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

# All hinges at right angles.
START = {f"L{i}.q1": math.pi / 2 if i % 2 else -math.pi / 2 for i in range(1, 6)}


def system() -> arm.System:
    """Links L1 to L5 on the ground, the sixth; x lies along each link, z along the hinge that bears it."""
    s = arm.System("Bricard linkage")
    s.parameter("a", 0.5, units="m", about="length of a link")
    s.parameter("m", 1.0, units="kg", about="mass of a link")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    N = s.ground
    link: arm.Body = N
    for i in range(1, 6):
        twist = 1 if i % 2 else -1
        link = s.body(
            f"L{i}", link, arm.Revolute((0, -twist, 0)), at=("a", 0, 0), orient=("x", twist * math.pi / 2),
            com=("a/2", 0, 0), mass="m", inertia=(0.001, "m*a^2/12", "m*a^2/12"),
        )  # fmt: skip
    s.close_joint("revolute", link.point("end", ("a", 0, 0)), N.origin, axis=("y", "z"), name="hinge 6")
    s.start(START)
    s.gravity("g", -N.y)
    s.output("energy", s.total_energy(), units="J")
    s.output("relation", "cos(L1.q1) + cos(L2.q1) + cos(L1.q1)*cos(L2.q1)", about="which is zero")
    return s


def main(folder: str = "out") -> None:
    """Inside out several times, fast enough to overcome gravity."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    print(f"kept: {', '.join(eom.speeds)}; redundant: {', '.join(eom.redundant_constraints)}")
    run = eom.compile().simulate(2.0, sample=0.002, initial={"L2.u1": 12.0})
    print(f"the angles' relation holds to {abs(run['relation']).max():.0e}")
    print(f"other speeds were kept from {', '.join(f'{e.time:.3f}' for e in run.events)} s on")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("L1.q1", "L2.q1", path=Path(folder) / "bricard.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
