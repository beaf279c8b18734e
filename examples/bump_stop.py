"""A quarter car over a kerb: bump stops in the suspension, and a tyre that can leave the road.

The suspension's travel ends at rubber stops in both directions (Hunt & Crossley's law). The tyre is the same
law written into a force: it pushes the wheel up and never pulls it down. A damper with dry friction, as a
worn strut has it, holds the car where it came to rest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm


def system(stops: bool = True) -> arm.System:
    """Wheel and car above it, moving vertically; the road has a kerb of half a sine, met after 0.5 s."""
    s = arm.System("quarter car")
    s.parameter("kerb", 0.10, units="m", about="height of the kerb")
    s.parameter("length", 0.6, units="m", about="length of the kerb")
    s.parameter("speed", 36.0, units="km/h", about="speed of the car")
    s.parameter("k", 20e3, units="N/m", about="suspension spring")
    s.parameter("c", 1200.0, units="N*s/m", about="damper")
    s.parameter("kt", 180e3, units="N/m", about="tyre")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=40.0, inertia=0)
    car = s.body("car", wheel, arm.Prismatic("z"), mass=350.0, inertia=0)
    s.gravity(9.81, -s.ground.z)
    along = s.expression("speed*(t - 0.5)")
    crossed = arm.and_(along > 0, along < s.parameters["length"])
    road = arm.select(crossed, s.expression("kerb*sin(pi*speed*(t - 0.5)/length)"), 0)
    depth = road - wheel.q1
    tyre = arm.contact_force(depth, arm.time_derivative(depth), s.parameters["kt"], 0.05)
    s.force("tyre", tyre, s.ground.z, at=wheel)
    s.force("spring", "-k*car.q1 - c*car.u1", s.ground.z, at=car, reaction=wheel)
    s.brake("strut_friction", car.q1, capacity=60.0, static=90.0, stiffness=4e5, damping=6e3)
    if stops:
        s.stop("bump", car.q1, lower=-0.22, upper=-0.12, stiffness=4e6, damping=0.6, exponent=1.5)
    s.output("height of the car", wheel.q1 + car.q1, units="mm")
    s.output("travel", car.q1, units="mm")
    return s


def main(folder: str = "out") -> None:
    """From rest over the kerb, with the stops and without them."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    rest = {"wheel.q1": -390 * 9.81 / 180e3, "car.q1": -350 * 9.81 / 20e3}
    for stops in (False, True):
        run = system(stops).derive().compile().simulate(3.0, initial=rest, sample=1e-3)
        loose = (run["tyre"] == 0.0).sum()
        print(
            f"{'with' if stops else 'no  '} stops: travel {run['travel'].min():.0f} to "
            f"{run['travel'].max():.0f} mm, tyre up to {run['tyre'].max() / 1e3:.1f} kN and "
            f"{loose} ms in the air"
        )
    grips = [e.time for e in run.events]
    print(f"the strut sticks or slips {len(grips)} times, last at {grips[-1]:.2f} s, and then holds")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("travel", "tyre", "bump", "strut_friction", path=Path(folder) / "bump_stop.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
