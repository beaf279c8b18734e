"""A Stewart platform: six legs of variable length carry a platform in all its six freedoms.

Each leg is a cylinder on a universal joint and a rod that slides in it, whose end is a ball under the
platform. Motors in the legs follow given lengths by feedback. The platform's six speeds are kept; the legs'
eighteen follow from the six balls.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import armillary as arm

BASE, TOP, HEIGHT = 1.0, 0.6, 1.1  # radii of the joints' circles and the platform's height at rest, in metres
LEGS = range(1, 7)
CYLINDER, ROD = 0.35, -0.30  # mass centres along each leg, from the universal joint and from the ball


def base_point(i: int) -> tuple[float, float, float]:
    """Universal joint of a leg on the ground: pairs 20 degrees apart."""
    angle = math.radians(120 * ((i - 1) // 2) + (10 if i % 2 == 0 else -10))
    return (BASE * math.cos(angle), BASE * math.sin(angle), 0.0)


def top_point(i: int) -> tuple[float, float, float]:
    """Ball of a leg in the platform's axes: each leg of a pair leads to another corner."""
    angle = math.radians(120 * ((i - 1) // 2) + (50 if i % 2 == 0 else -50))
    return (TOP * math.cos(angle), TOP * math.sin(angle), 0.0)


def home(i: int) -> tuple[float, float, float]:
    """Coordinates of a leg at rest: two angles of its universal joint, and its length."""
    (a, b, _), (x, y, _) = base_point(i), top_point(i)
    length = math.hypot(x - a, y - b, HEIGHT)
    return math.atan2(b - y, HEIGHT), math.asin((x - a) / length), length


def system(motors: bool = True) -> arm.System:
    """The platform on its legs; without motors their forces are parameters, ``leg1`` to ``leg6``."""
    s = arm.System("Stewart platform")
    s.parameter("m", 50.0, units="kg", about="mass of the platform")
    s.parameter("m_cylinder", 4.0, units="kg", about="mass of a cylinder")
    s.parameter("m_rod", 2.0, units="kg", about="mass of a rod")
    s.parameter("J_leg", 0.2, units="kg*m2", about="moment of inertia of a cylinder or rod across its axis")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    if motors:
        s.parameter("k", 5e4, units="N/m", about="stiffness of a motor")
        s.parameter("c", 2e3, units="N*s/m", about="damping of a motor")
        s.parameter("stroke", 0.1, units="m", about="of each leg, up and down")
    N = s.ground
    platform = s.body("platform", joint=arm.Free(), at=(0, 0, HEIGHT), mass="m", inertia=(4.0, 4.0, 7.0))
    for i in LEGS:
        cylinder = s.body(
            f"cylinder{i}", joint=arm.Gimbal("xy"), at=base_point(i),
            com=(0, 0, CYLINDER), mass="m_cylinder", inertia=("J_leg", "J_leg", 0),
        )  # fmt: skip
        rod = s.body(
            f"rod{i}", cylinder, arm.Prismatic("z"),
            com=(0, 0, ROD), mass="m_rod", inertia=("J_leg", "J_leg", 0),
        )  # fmt: skip
        s.start(dict(zip((cylinder.q1, cylinder.q2, rod.q1), home(i), strict=True)))
        s.close_joint("spherical", rod.origin, platform.point(f"ball{i}", top_point(i)), name=f"ball {i}")
        aim = f"{home(i)[2]} + stroke*sin(2*t + {i})"
        push = f"200 - k*(rod{i}.q1 - ({aim})) - c*rod{i}.u1" if motors else f"leg{i}"
        s.force(f"push{i}", push, rod.z, at=rod.origin, reaction=cylinder)
    s.gravity("g", -N.z)
    s.output("energy", s.total_energy(), units="J")
    s.output("height", arm.dot(arm.position(platform), N.z), units="m", about="of the platform")
    s.output("tilt", arm.acos(arm.dot(platform.z, N.z)), units="deg", about="of the platform")
    return s


def main(folder: str = "out") -> None:
    """The legs follow sines one after the other; the platform wobbles."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}; kept: {', '.join(eom.speeds)}")
    model = eom.compile()
    run = model.simulate(5.0, sample=0.01)
    print(f"heights {run['height'].min():.3f} to {run['height'].max():.3f} m, ", end="")
    print(f"tilts up to {run['tilt'].max():.2f} degrees")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("height", "tilt", path=Path(folder) / "stewart_platform.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
