"""A bowling ball that rolls on a plane while it is steered along y = sin x, in redundant coordinates.

The ball rolls without slipping and its centre keeps to a path: three constraints on five speeds, one of them
of positions. With its mass centre off the geometric one the motion never repeats itself.

Source: Park and Chiou (1987), section 7, with the slips of its formulas and of its table of data corrected;
see docs/verification/bowling-ball.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm
from armillary.model.joints import Assembly, JointType, Maker, Slide, Tumble

WEIGHT, GRAVITY, RADIUS, OFFSET = 71.32, 9.80665, 0.109, 0.15  # N, m/s2, m, offset in radii
START = {"ball.u1": 0.109, "ball.u2": 0.109, "ball.u3": -1.0, "ball.u4": 1.0}


class OnPlane(JointType):
    """Two slides across z and a ball joint: a body whose centre keeps its height."""

    coordinate_count, speed_count = 6, 5

    def assemble(self, maker: Maker) -> Assembly:
        """Slides along x and y, then the steps of a ball joint."""
        x, y = maker.distance("x"), maker.distance("y")
        v = [maker.distance_rate("x"), maker.distance_rate("y")]
        turning = arm.Spherical().assemble(maker)
        (tumble,) = turning.steps
        assert isinstance(tumble, Tumble)
        slides = (Slide((1, 0, 0), x, v[0]), Slide((0, 1, 0), y, v[1]))
        return Assembly((*slides, tumble), (*v, *turning.rates), quaternions=(2,))

    def describe(self) -> str:
        return "on a plane"


def system(offset: float = OFFSET) -> arm.System:
    """The ball; its moments of inertia are 2/5 m a² about the geometric centre, whatever the offset."""
    s = arm.System("bowling ball")
    N, mass, shift = s.ground, WEIGHT / GRAVITY, offset * RADIUS
    moment = 0.4 * mass * RADIUS**2
    across = moment - mass * shift**2
    ball = s.body("ball", joint=OnPlane(), com=(0, 0, shift), mass=mass, inertia=(across, across, moment))
    s.gravity(GRAVITY, -N.z)
    wave = s.parameter("k", 1.0, units="1/m", about="wave number of the path")
    spin = arm.angular_velocity(ball)
    s.constrain(ball.u1 - RADIUS * arm.dot(spin, N.y), name="rolling in x")
    s.constrain(ball.u2 + RADIUS * arm.dot(spin, N.x), name="rolling in y")
    s.constrain(arm.sin(wave * ball.q1) / wave - ball.q2, name="path")
    s.output("x", ball.q1, units="m")
    s.output("y", ball.q2, units="m")
    s.output("energy", s.total_energy(), units="J")
    return s


def main(folder: str = "out") -> None:
    """Ten seconds with and without offset, by the staggered scheme of the source and by projection."""
    runs = []
    for offset in (0.0, OFFSET):
        eom = system(offset).derive(formalism="redundant")
        model = eom.compile()
        print(f"offset {offset:.2f} a, {eom.formalism}: {eom.operations}")
        for method in ("staggered", "projected"):
            run = model.simulate(10.0, step=0.01, method=method, initial=START)
            drift = abs(run["energy"] / run["energy"][0] - 1).max()
            print(
                f"  {method}: mean speed {run['x'][-1] / 10:.4f} m/s, off the path by "
                f"{run['constraint error'].max():.0e} m, unit norm by {run['unit-norm error'].max():.0e}, "
                f"energy by {drift:.0e}"
            )
        runs.append(run)
    Path(folder).mkdir(parents=True, exist_ok=True)
    runs[-1].plot(
        "multiplier of rolling in x", "multiplier of rolling in y", path=Path(folder) / "bowling_ball.png"
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
