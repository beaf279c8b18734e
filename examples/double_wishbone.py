"""A double-wishbone suspension on a quarter of a car: two wishbones, an upright, a steering rod and a strut.

The left front corner; x forward, y to the left, z up. The upright sits on the lower ball; the upper ball is
closed as a spherical joint and the steering rod as a distance. The car's heave and the wheel's travel remain.
"""

from __future__ import annotations

import sys
from pathlib import Path

import armillary as arm

# Places in metres at rest, from a point of the car abreast of the wheel's centre.
POINTS = {
    "lower front": (0.15, 0.35, -0.10),
    "lower rear": (-0.20, 0.35, -0.09),
    "lower ball": (0.00, 0.72, -0.12),
    "upper front": (0.12, 0.42, 0.12),
    "upper rear": (-0.15, 0.42, 0.10),
    "upper ball": (-0.02, 0.68, 0.14),
    "rack": (-0.14, 0.36, -0.03),
    "rod end": (-0.12, 0.70, -0.04),
    "strut top": (-0.02, 0.45, 0.45),
    "strut foot": (0.00, 0.58, -0.10),
    "wheel": (0.00, 0.76, 0.00),
}
MASSES = {"car": 300.0, "lower": 4.0, "upper": 2.0, "upright": 35.0}
MOMENTS = {
    "car": (0.0, 0.0, 0.0),
    "lower": (0.05, 0.03, 0.08),
    "upper": (0.02, 0.01, 0.03),
    "upright": (1.0, 1.6, 1.0),
}


def between(p: str, q: str) -> tuple[float, float, float]:
    """From one point to another, at rest."""
    a, b = POINTS[p], POINTS[q]
    return (b[0] - a[0], b[1] - a[1], b[2] - a[2])


def length(p: str, q: str) -> float:
    """Distance of two points, at rest."""
    x, y, z = between(p, q)
    return (x * x + y * y + z * z) ** 0.5


def system() -> arm.System:
    """The corner on a road; all coordinates are zero at rest, where no point has moved."""
    s = arm.System("double wishbone")
    s.parameter("k", 60e3, units="N/m", about="spring of the strut")
    s.parameter("c", 3e3, units="N*s/m", about="damper of the strut")
    s.parameter("preload", 4900.0, units="N", about="force of the strut at rest")
    s.parameter("tyre", 200e3, units="N/m", about="vertical stiffness of the tyre")
    s.parameter("bump", 0.05, units="m", about="height of the bump")
    s.parameter("rack", 0.0, units="m", about="travel of the steering rack to the left")
    s.parameter("g", 9.81, units="m/s2", about="gravity")
    N = s.ground
    car = s.body("car", joint=arm.Prismatic("z"), mass=MASSES["car"], inertia=MOMENTS["car"])
    arms = {}
    for name in ("lower", "upper"):
        x, y, z = between(f"{name} rear", f"{name} ball")
        arms[name] = s.body(
            name, car, arm.Revolute(between(f"{name} rear", f"{name} front")), at=POINTS[f"{name} rear"],
            com=(x / 2, y / 2, z / 2), mass=MASSES[name], inertia=MOMENTS[name],
        )  # fmt: skip
    upright = s.body(
        "upright", arms["lower"], arm.Gimbal("zxy"), at=between("lower rear", "lower ball"),
        com=between("lower ball", "wheel"), mass=MASSES["upright"], inertia=MOMENTS["upright"],
    )  # fmt: skip
    s.close_joint(
        "spherical",
        upright.point("top", between("lower ball", "upper ball")),
        arms["upper"].point("ball", between("upper rear", "upper ball")),
        name="upper ball",
    )
    x, y, z = POINTS["rack"]
    s.close_joint(
        "distance",
        upright.point("arm", between("lower ball", "rod end")),
        car.point("steering", (x, f"{y} + rack", z)),
        length=length("rack", "rod end"),
        name="rod",
    )
    s.gravity("g", -N.z)
    foot = arms["lower"].point("foot", between("lower rear", "strut foot"))
    s.strut(
        "strut",
        f"preload - k*(x - {length('strut top', 'strut foot')}) - c*v",
        between=(car.point("top", POINTS["strut top"]), foot),
    )
    hub = upright.com
    s.function(
        "road",
        lambda t: arm.select(arm.abs(t - 1.0) < 0.1, (1 + arm.cos(31.41592653589793 * (t - 1.0))) / 2, 0),
    )
    s.force(
        "contact",
        f"tyre*(bump*road(t) - dot(position(upright.com), ground.z)) + {sum(MASSES.values())}*g",
        N.z,
        at=hub,
    )

    axle = upright.y
    s.output(
        "travel", arm.dot(arm.position(hub, car.origin), N.z), units="mm", about="of the wheel in the car"
    )
    s.output("track", arm.dot(arm.position(hub, car.origin), N.y), units="mm", about="half of the track")
    s.output(
        "camber", -arm.asin(arm.dot(axle, N.z)), units="deg", about="positive where the top leans outwards"
    )
    s.output(
        "toe",
        arm.atan2(arm.dot(axle, N.x), arm.dot(axle, N.y)),
        units="deg",
        about="positive inwards in front",
    )
    return s


def main(folder: str = "out") -> None:
    """A table of camber and toe over the travel, and a bump of 50 mm."""
    eom = system().derive()
    print(f"{eom.formalism}: {eom.operations}; kept: {', '.join(eom.speeds)}")
    model = eom.compile()
    print(model.sweep({"travel": [-60, -30, 0, 30, 60]}, ["camber", "toe"], derivatives=True))
    run = model.simulate(2.0, sample=0.002)
    travel, heave = run["travel"].max(), 1e3 * run["car.q1"].max()
    print(f"over the bump the wheel moves by {travel:.1f} mm in the car, and the car by {heave:.1f} mm")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("travel", "camber", "toe", "contact", path=Path(folder) / "double_wishbone.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
