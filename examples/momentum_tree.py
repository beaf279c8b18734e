"""A spacecraft of five bodies, with momenta as states: a hub, a panel, and a boom with two antennas.

The tree of Stoneking (2010), momentum state dynamics: joints of one axis, a ball, two axes and three. The
whole system's momentum and angular momentum are states that nothing changes, so they are the same to the
last bit at the end of any run, however coarse its steps; with speeds as states they drift.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

TILT = ("z", 0.3)  # of the panel's hinge
CANT = ("x", -0.4)  # of the boom behind its ball
NOTHING = {"mass": 0, "inertia": 0}

# Mass, mass centre from the body's reference point, and inertia about it: 11, 22, 33, 12, 13, 23.
BODIES = {
    "B1": (100.0, (0.05, -0.02, 0.1), (40.0, 50.0, 45.0, 2.0, -1.0, 3.0)),
    "B2": (20.0, (0.6, 0.05, -0.02), (3.0, 6.0, 5.0, 0.1, 0.2, -0.1)),
    "B3": (35.0, (0.1, 0.7, 0.05), (9.0, 4.0, 8.0, 0.5, 0.3, -0.2)),
    "B4": (12.0, (0.02, 0.4, 0.1), (2.0, 1.2, 1.8, 0.1, 0.0, 0.05)),
    "B5": (15.0, (-0.1, 0.05, 0.5), (2.5, 2.2, 1.0, 0.0, 0.1, 0.1)),
}
START = {
    "B1.u1": -0.34, "B1.u2": 0.09, "B1.u3": 0.23, "B1.u4": 0.42, "B1.u5": -0.35, "B1.u6": 0.11,
    "G1.q1": 0.06, "G1.u1": -0.45, "G2.u1": 0.24, "G2.u2": 0.07, "G2.u3": -0.37,
    "G3a.u1": -0.39, "G3b.u1": 0.02, "G4a.u1": -0.01, "G4b.u1": 0.04, "G4c.u1": 0.48,
}  # fmt: skip


def system() -> arm.System:
    """B2 and B3 on the hub B1; B4 and B5 on B3. Every joint has a body of its own, without mass, for each of
    its axes: so springs act along them one by one.
    """
    s = arm.System("tree of five")

    def body(name: str, **where: object) -> arm.Body:
        mass, com, inertia = BODIES[name]
        return s.body(name, mass=mass, com=com, inertia=inertia, **where)

    B1 = body("B1", joint=arm.Free())
    hinge = s.body("hinge", B1, at=(0.8, 0.1, -0.2), orient=TILT, **NOTHING)
    G1 = s.body("G1", hinge, arm.Revolute((1, 2, 2)), **NOTHING)
    body("B2", parent=G1, at=(0.1, 0, -0.05))
    G2 = s.body("G2", B1, arm.Spherical(), at=(-0.3, 0.9, 0.2), **NOTHING)
    B3 = body("B3", parent=G2, at=(-0.05, 0.09, -0.04), orient=CANT)
    G3a = s.body("G3a", B3, arm.Revolute("z"), at=(0.2, 1.4, 0.1), **NOTHING)
    G3b = s.body("G3b", G3a, arm.Revolute("x"), **NOTHING)
    body("B4", parent=G3b, at=(0, 0, 0.1))
    G4a = s.body("G4a", B3, arm.Revolute("y"), at=(-0.3, 1.2, -0.1), **NOTHING)
    G4b = s.body("G4b", G4a, arm.Revolute("x"), **NOTHING)
    G4c = s.body("G4c", G4b, arm.Revolute("z"), **NOTHING)
    body("B5", parent=G4c, at=(-0.05, 0, 0))

    axis = (hinge.x + 2 * hinge.y + 2 * hinge.z) / 3
    s.moment("panel_spring", "-50*(G1.q1 - 0.1)", axis, on=G1, reaction=hinge)
    s.moment("azimuth_spring", "-20*G3a.q1", B3.z, on=G3a, reaction=B3)
    s.moment("elevation_spring", "-10*G3b.q1", G3a.x, on=G3b, reaction=G3a)
    s.moment("middle_spring", "-5*G4b.q1", G4a.x, on=G4b, reaction=G4a)
    springs = "25*(G1.q1 - 0.1)^2 + 10*G3a.q1^2 + 5*G3b.q1^2 + 2.5*G4b.q1^2"
    s.output("energy", s.kinetic_energy() + s.expression(springs), units="J", about="motion and springs")
    angular = s.angular_momentum("mass centre")
    for letter, unit in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"h{letter}", arm.dot(angular, unit), units="N*m*s", about="angular momentum, from speeds")
    return s


def main(folder: str = "out") -> None:
    """A minute in coarse steps of 20 ms, with momenta and with speeds as states."""
    runs = {}
    for formalism in ("momentum", "kane"):
        eom = system().derive(formalism=formalism)
        print(f"{formalism}: {eom.operations}")
        runs[formalism] = eom.compile().simulate(60.0, step=0.02, sample=0.1, initial=START)
        drift = max(abs(runs[formalism][f"h{a}"] - runs[formalism][f"h{a}"][0]).max() for a in "xyz")
        print(f"  angular momentum drifts by {drift:.1e} N·m·s, energy by "
              f"{abs(runs[formalism]['energy'] - runs[formalism]['energy'][0]).max():.1e} J")  # fmt: skip
    Path(folder).mkdir(parents=True, exist_ok=True)
    runs["momentum"].plot("G1.q1", "energy", path=Path(folder) / "momentum_tree.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
