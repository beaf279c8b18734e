"""A box thrown on a floor: eight corners that bounce, stick and slide in two directions, until it rests.

Contacts are rigid, with Poisson's law, so that the energy never grows. At rest the box has the energy of its
mass centre above one of its faces.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import armillary as arm

HALF = (0.3, 0.2, 0.1)  # of length, width and height, m


def system() -> arm.System:
    """A box with a contact at each corner."""
    s = arm.System("tumbling box")
    s.parameter("mu", 0.4, units="-", about="friction")
    s.parameter("e", 0.3, units="-", about="restitution")
    a, b, c = HALF
    mass = 2.0
    inertia = tuple(mass / 3 * (x * x + y * y) for x, y in ((b, c), (a, c), (a, b)))
    box = s.body("box", joint=arm.Free(), mass=mass, inertia=inertia)
    s.gravity(9.81, -s.ground.z)
    shape = arm.Box(2 * a, 2 * b, 2 * c)
    box.shape(shape)
    s.contact(
        "floor", box, plane=(s.ground, s.ground.z), shape=shape, friction="mu", restitution="e", law="poisson"
    )
    s.output("energy", s.total_energy(), units="J")
    half, about = 0.55, 0.5  # of the angle of its tilt, and the direction of the tilt's axis, rad
    x, y = np.sin(half) * np.cos(about), np.sin(half) * np.sin(about)
    s.start({"box.q3": 0.8, "box.q4": np.cos(half), "box.q5": x, "box.q6": y})
    s.start({"box.u1": 1.0, "box.u5": 3.0})
    return s


def main(folder: str = "out") -> None:
    """Four seconds of tumbling, where it rests, and a plot of the energy."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(4.0, sample=0.005)
    print(f"{len(run.events)} impacts, slips and stops, the last at {run.events[-1].time:.4f} s")
    print(f"the energy grows by at most {max(np.diff(run['energy']).max(), 0.0):.0e} J in 5 ms")
    closed = [k for k in range(1, 9) if run.final[f"floor_{k}_status"] != 0]
    print(f"it rests on corners {closed}, {run.final['box.q3']:.6f} m above the floor")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("box.q3", "energy", path=Path(folder) / "tumbling_box.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
