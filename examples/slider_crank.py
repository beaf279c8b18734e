"""A slider-crank that turns full circles: its loop is closed once, and every dead centre is passed.

With crank a and rod b the slider is at

    x = a cos q + sqrt(b² − a² sin² q)

Where the slider's own speed is kept in place of the crank's, which does not follow from it in a dead
centre, the run goes on with another choice and notes when and why.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm


def system(keep_slider: bool = False, rod: float = 0.3) -> arm.System:
    """Crank A, rod B and slider C, all along x at zero; ``keep_slider`` keeps the slider's speed."""
    s = arm.System("slider-crank")
    s.parameter("a", 0.1, units="m", about="crank")
    s.parameter("b", rod, units="m", about="rod")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    N = s.ground
    A = s.body("A", joint=arm.Revolute("z"), com=("a/2", 0, 0), mass=1.0, inertia=(0.0, 0.01, 0.01))
    B = s.body(
        "B", A, arm.Revolute("z"), at=("a", 0, 0), com=("b/2", 0, 0), mass=1.0, inertia=(0.0, 0.01, 0.01)
    )
    C = s.body("C", joint=arm.Prismatic("x"), mass=0.5, inertia=0)
    s.gravity("g", -N.y)
    s.close_loop(
        B.point("end", ("b", 0, 0)),
        C.origin,
        directions=[N.x, N.y],
        name="wrist pin",
        eliminate=("B.q1", "A.q1") if keep_slider else (),
    )
    s.output("energy", s.total_energy(), units="J")
    s.output("lift", arm.dot(arm.position(B.end), N.y), units="m", about="of the rod's end, which stays zero")
    return s


def main(folder: str = "out") -> None:
    """Ten revolutions and more from 20 rad/s, with either speed kept."""
    for keep_slider in (False, True):
        eom = system(keep_slider).derive()
        print(f"{eom.formalism}: {eom.operations}; kept: {', '.join(eom.speeds)}")
        run = eom.compile().simulate(4.0, sample=0.002, initial={"A.q1": 0.5, "A.u1": 20.0})
        changes = run.info.get("configurations", "no switch")
        print(f"  {run.final['A.q1'] / 6.283185307:.4f} revolutions; {changes}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("C.q1", "A.u1", path=Path(folder) / "slider_crank.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
