"""A hub with two arrays of hinged panels on an orbit: the scenario of Basilisk's hinged-body test.

Source: Allard (2018), N hinged rigid body dynamics model, Basilisk technical memorandum; numbers of the
module's integrated test. Gravity there is evaluated at the system's mass centre and acts alike on all bodies,
so that orbit and rotation each keep their energy and angular momentum; "gradient" is closer to nature.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

MU = 398600441500000.0  # m³/s², of the Earth
ORBIT = {
    "position": (-4020338.690396649, 7490566.741852513, 5248299.211589362),
    "velocity": (-5199.77710904224, -3436.681645356935, 1041.576797498721),
}
FREE_FLIGHT = {"position": (0.1, -0.4, 0.3), "velocity": (-0.2, 0.5, 0.1)}
ARRAYS = (  # number of panels, hinge on the hub, and turn of the panels' axes about z
    (4, (0.5, 0, 1.0), ((-1, 0, 0), (0, -1, 0), (0, 0, 1))),
    (3, (-0.5, 0, 1.0), None),
)


def system(field: str | None = "mass centre") -> arm.System:
    """Hub and panels on an orbit, or without gravity (``field`` None)."""
    s = arm.System("panels on an orbit")
    hub = s.body("hub", joint=arm.Free(), mass=750.0, inertia=(900.0, 800.0, 600.0))
    made: list[arm.Body] = []
    s.parameter("k", 500.0, units="N*m/rad", about="stiffness of a hinge")
    s.parameter("c", 0.0, units="N*m*s/rad", about="damping of a hinge")
    for n, at, orient in ARRAYS:
        made += arm.panels(
            s, hub, n, at=at, orient=orient, axis="y", along=(-1, 0, 0), length=1.5, mass=50.0,
            inertia=(50.0, 25.0, 25.0), stiffness="k", damping="c", first=len(made) + 1,
        )  # fmt: skip
    s.start({"panel1.q1": "5*pi/180", "hub.u4": 0.1, "hub.u5": -0.1, "hub.u6": 0.1})
    if field is not None:
        s.attractor("earth", MU, field=field)
    s.start_mass_centre(hub, **(FREE_FLIGHT if field is None else ORBIT))
    s.attitude_output("hub mrp", hub, "mrp")
    conserved(s, made, 0.0 if field is None else MU)
    return s


def conserved(s: arm.System, hinged: list[arm.Body], mu: float) -> None:
    """Outputs that stay what they are, of the orbit and of the rotation about the mass centre."""
    strain = sum(s.expression("0.5*k") * panel.q1**2 for panel in hinged)
    s.output("rotational energy", s.kinetic_energy("mass centre") + strain, units="J")
    mass, place, momentum = s.total_mass(), s.mass_centre(), s.momentum()
    orbital = arm.dot(momentum, momentum) / (2 * mass)
    if mu:
        orbital = orbital - s.parameter("mu", mu, units="m3/s2") * mass / arm.magnitude(place)
    s.output("orbital energy", orbital, units="J")
    spin, orbiting = s.angular_momentum("mass centre"), arm.cross(place, momentum)
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"rotational h{letter}", arm.dot(spin, axis), units="N*m*s")
        s.output(f"orbital h{letter}", arm.dot(orbiting, axis), units="N*m*s")


def main(folder: str = "out") -> None:
    """Ten seconds on the orbit, by the two models of gravity."""
    runs = {}
    for field in ("mass centre", "gradient"):
        eom = system(field).derive()
        print(f"gravity, {field}: {eom.formalism}, {eom.operations}")
        runs[field] = eom.compile().simulate(10.0, step=1e-3, sample=0.02)
    run = runs["mass centre"]
    for name in ("rotational energy", "rotational hx", "orbital energy", "orbital hz"):
        drift = abs(run[name] / run[name][0] - 1).max()
        print(f"{name:18} {run[name][0]:22.12g} {run.units[name]}, changes by a relative {drift:.1e}")
    bent = abs(runs["gradient"]["panel1.q1"] - run["panel1.q1"]).max()
    print(f"the gradient changes the first hinge's angle by {bent:.1e} rad")
    Path(folder).mkdir(parents=True, exist_ok=True)
    picture = Path(folder) / "basilisk_panels.png"
    run.plot("panel1.q1", "panel4.q1", "panel7.q1", "hub mrp 1", "hub mrp 2", "hub mrp 3", path=picture)


if __name__ == "__main__":
    main(*sys.argv[1:2])
