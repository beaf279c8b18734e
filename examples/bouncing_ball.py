"""A bouncing ball: an event that sets a speed, checked against the closed form.

Dropped from height h, with restitution e, the ball meets the floor for the n-th time at

    t_n = sqrt(2h/g) (1 + 2e + 2e² + … + 2eⁿ⁻¹)
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm


def system() -> arm.System:
    """A ball that slides along the vertical and rebounds where its height is zero."""
    s = arm.System("bouncing ball")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    s.parameter("e", 0.8, units="-", about="restitution")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=0.1, inertia=0)
    s.gravity("g", -s.ground.y)
    s.event("bounce", ball.q1, direction=-1, set={ball.u1: "-e*ball.u1"}, about="the ball meets the floor")
    s.output("energy", s.total_energy(), units="J")
    return s


def bounce_times(count: int, height: float = 1.0, g: float = 9.81, e: float = 0.8) -> list[float]:
    """t_1 … t_count for a ball dropped from rest."""
    fall = (2 * height / g) ** 0.5
    return [fall * (1 + 2 * sum(e**k for k in range(1, n))) for n in range(1, count + 1)]


def main(folder: str = "out") -> None:
    """Three seconds of bouncing, the times of the bounces, and a plot."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}")
    run = eom.compile().simulate(3.0, method="dop853", sample=0.005, initial={"ball.q1": 1.0})
    for event, expected in zip(run.events, bounce_times(len(run.events)), strict=True):
        print(f"{event.name} at {event.time:.12f} s, closed form {expected:.12f} s")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("ball.q1", "energy", path=Path(folder) / "bouncing_ball.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
