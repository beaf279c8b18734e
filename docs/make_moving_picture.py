"""The moving picture of the README: a double pendulum with the path of its tip, docs/_static/pendulum.webp.

    python docs/make_moving_picture.py

The file is kept in the repository; a test sees that it is there and small.
"""

from __future__ import annotations

from pathlib import Path

import armillary as arm

PLACE = Path(__file__).parent / "_static" / "pendulum.webp"


def pendulum() -> arm.Run:
    """Five seconds of two rods, the lower one with a weight at its tip."""
    s = arm.System("double pendulum")
    s.gravity(9.81, "-ground.z")
    rod = {"mass": 1.0, "com": (0, 0, -0.25), "inertia": (0.02, 0.02, 0.001)}
    upper = s.body("upper", joint=arm.Revolute("y"), **rod)
    lower = s.body("lower", upper, arm.Revolute("y"), at=(0, 0, -0.5), **rod)
    for body in (upper, lower):
        body.shape(arm.Capsule(0.022, 0.46), at=(0, 0, -0.25))
        body.shape(arm.Cylinder(0.034, 0.07, axis=(0, 1, 0)), colour="#5d6b78")
    lower.shape(arm.Sphere(0.055), at=(0, 0, -0.5))
    lower.point((0, 0, -0.5), name="tip")
    s.start({"upper.q1": 2.4, "lower.q1": 0.9})
    return s.derive().compile().simulate(5.0, sample=0.01, rtol=1e-10)


if __name__ == "__main__":
    made = pendulum().animate(PLACE, size=(360, 250), rate=12, paths=["lower.tip"])
    print(f"{made}: {made.stat().st_size:,} bytes")
