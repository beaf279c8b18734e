"""A solar array that unfolds and locks panel by panel.

Launch locks hold the folded array on the hub. Released, its springs unfold the first panel with the stack on
it; where it is straight its hinge locks for good, and that frees the next one. Each latch is an impulse:
speeds jump, momentum and angular momentum stay, energy is lost. In free space the hub turns back as the array
swings out, and at the end all is at rest again, with the hub at another attitude.

The numbers are ours, those of a small satellite with a wing of three panels.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from math import pi
from pathlib import Path

import armillary as arm

PANELS = 3
TUMBLING = {"hub.u4": 0.02, "hub.u5": 0.03, "hub.u6": -0.01, "hub.u1": 0.1}
FORMALISMS = ("kane", "recursive", "back_substitution", "momentum")


def system(together: bool = False) -> arm.System:
    """Hub and wing; ``together`` releases all panels at once instead of each by the latch before it."""
    s = arm.System("array deployment")
    s.parameter("k", 1.5, units="N*m/rad", about="springs of the hinges")
    s.parameter("c", 0.4, units="N*m*s/rad", about="dampers of the hinges")
    s.parameter("release", 1.0, units="s", about="time at which the launch locks open")
    hub = s.body("hub", joint=arm.Free(), mass=120.0, inertia=(20.0, 24.0, 18.0))
    # Springs that would rest beyond the latch still push there.
    beyond = [sign * pi / 9 for sign in (-1, 1, -1)]
    wing = arm.panels(
        s, hub, PANELS, at=(0.5, 0, 0.4), length=1.2, mass=6.0, inertia=(0.5, 0.75, 1.2), stiffness="k",
        damping="c", rest=beyond, start="folded", latch=0.0,
    )  # fmt: skip
    s.lock(*(panel.q1 for panel in wing))
    free = wing if together else wing[:1]
    s.event("launch locks open", "t - release", direction=1, unlock=[panel.q1 for panel in free])
    if not together:
        for inner, outer in pairwise(wing):
            s.event(f"{outer.name} is released", inner.q1, unlock=[outer.q1])
    stretched = [panel.q1 - rest for panel, rest in zip(wing, beyond, strict=True)]
    strain = s.expression("0.5*k") * sum(angle**2 for angle in stretched)
    s.output("energy", s.kinetic_energy() + strain, units="J", about="motion and springs")
    s.output("hub force", arm.magnitude(s.reaction_force(wing[0])), units="N", about="of the wing on the hub")
    moment = -arm.dot(s.reaction_moment(wing[0]), hub.y) - s.expression("panel1_hinge")
    s.output("hub moment", moment, units="N*m", about="of the first hinge on the hub, with its spring")
    momentum, angular = s.momentum(), s.angular_momentum("mass centre")
    for letter, axis in zip("xyz", (s.ground.x, s.ground.y, s.ground.z), strict=True):
        s.output(f"p{letter}", arm.dot(momentum, axis), units="N*s", about="momentum")
        s.output(f"h{letter}", arm.dot(angular, axis), units="N*m*s", about="angular momentum")
    s.output("pitch", "2*atan2(hub.q6, hub.q4)", units="deg", about="of the hub, where it turns about y only")
    return s


def main(folder: str = "out") -> None:
    """From the locked stack to the straight wing, with speeds and with momenta as states."""
    runs = {}
    for formalism in FORMALISMS:
        eom = system().derive(formalism)
        print(f"{formalism}, all hinges locked: {eom.operations}")
    for formalism in ("auto", "momentum"):
        model = system().derive(formalism).compile()
        runs[formalism] = model.simulate(12.0, sample=0.02, rtol=1e-11, atol=1e-13)
    run = runs["auto"]
    for event in run.events:
        energy = run.interpolate([event.time - 0.02, event.time + 0.02], "energy")
        print(f"{event.time:8.4f} s  {event.name:20} energy {energy[0]:.3f} J, then {energy[1]:.3f} J")
    gap = max(abs(run[name] - runs["momentum"][name]).max() for name in ("panel3.q1", "pitch", "energy"))
    print(f"the hub has turned by {run.final['pitch']:.3f} deg; angular momentum never exceeds "
          f"{max(abs(run[f'h{a}']).max() for a in 'xyz'):.1e} N·m·s")  # fmt: skip
    print(f"momenta as states give the same motion within {gap:.1e}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = ("panel1.q1", "panel2.q1", "panel3.q1", "pitch", "energy", "hub force", "hub moment")
    run.plot(*names, path=Path(folder) / "array_deployment.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
