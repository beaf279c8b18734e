"""A cart that swings its pole up with the least effort: an optimal motion, and a regulator that follows it.

The problem is that of Kelly (2017), An introduction to trajectory optimization, SIAM Review 59, 849-904,
section 6: from rest below to rest above, 1 m aside, in 2 s, with at most 20 N.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm
from armillary import control

STATES = ["cart.q1", "pole.q1", "cart.u1", "pole.u1"]


def system(law: bool = False) -> arm.System:
    """The cart and its pole; with ``law`` the force follows a motion by feedback, else it is an input."""
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    if law:
        (force,) = control.tracking_inputs(s, "track", STATES)
    else:
        force = s.input("F", units="N")
    s.force("motor", force, s.ground.x, at=cart.com)
    s.output("angle", "pole.q1", units="deg")
    return s


def main(folder: str = "out") -> None:
    """The plan, what happens without feedback after a disturbed start, and with it."""
    equations = system().derive()
    print(f"derivatives: {equations.operations}")
    model = equations.compile()
    plan = model.optimize(
        "F^2",
        duration=2.0,
        inputs={"F": (-20, 20)},
        bounds={"cart.q1": (-2, 2)},
        final={"cart.q1": 1.0, "pole.q1": math.pi, "cart.u1": 0.0, "pole.u1": 0.0},
        intervals=30,
        accuracy=1e-5,
    ).check()
    print(
        f"effort {plan.cost:.2f} N²s; {plan.intervals} intervals, error of the states {plan.errors[-1]:.0e}"
    )
    disturbed = {"pole.q1": 0.1}
    run = model.simulate(2.0, initial=disturbed, inputs=plan.signals())
    print(f"the inputs alone, from 0.1 rad aside: {run.final['angle']:.0f} deg after 2 s")
    regulator = model.lqr_along(plan.run, ["F"], Q=1.0, R=0.1, final=100.0)
    closed = system(law=True).derive().compile()
    run = closed.simulate(2.0, initial=disturbed, inputs=regulator.signals("track"))
    print(f"with feedback: {run.final['angle']:.0f} deg")
    Path(folder).mkdir(parents=True, exist_ok=True)
    plan.run.plot("cart.q1", "angle", "F", path=Path(folder) / "swing_up.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
