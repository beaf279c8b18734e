"""A walker with legs that are alike."""

from __future__ import annotations

from functools import cache

import armillary as arm
from armillary.stages.equations import Equations


def walker(wheel: bool) -> arm.System:
    """A trunk with four legs: mirrored in y, with numbers and parameters of their own, axes of either sign,
    springs that go slack, damping by the root of a speed, and perhaps a wheel that only the last one has.
    """
    s = arm.System("walker")
    s.gravity(9.81, -s.ground.z)
    one_per_second = s.parameter("one_per_second", 1.0, units="rad/s")
    trunk = s.body("trunk", joint=arm.Free(velocity="body"), mass=12, inertia=(0.3, 0.5, 0.6))
    for i, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        k = s.parameter(f"k{i}", 40.0 + i)
        axis = (0, 1, 0) if y > 0 else (0, -1, 0)
        hip = s.body(
            f"hip{i}", trunk, arm.Revolute("x"), at=(0.4 * x, 0.2 * y, 0), mass=1.1, com=(0, 0.05 * y, 0.01),
            inertia=(0.01, 0.02, 0.03),
        )  # fmt: skip
        thigh = s.body(
            f"thigh{i}", hip, arm.Revolute(axis), at=(0.03 * x, 0.08 * y, 0), mass=2 + 0.1 * i,
            com=(0.02, 0.01 * y, -0.15), inertia=(0.03, 0.04, 0.01),
        )  # fmt: skip
        shank = s.body(
            f"shank{i}", thigh, arm.Revolute(axis), at=(0, 0.02 * y, -0.3), mass=0.6, com=(0, 0, -0.1),
            inertia=(0.01, 0.011, 0.002),
        )  # fmt: skip
        s.moment(f"stop{i}", -k * arm.max(shank.q1 - 0.1 * y, 0), thigh.y, on=shank, reaction=thigh)
        w = hip.u1 / one_per_second
        loss = arm.sqrt(1 + w**2) * arm.select(w > 0, w, abs(w) * w) + arm.sin(hip.q1 + 2 * thigh.q1)
        s.moment(f"loss{i}", -0.3 * loss, trunk.x, on=hip, reaction=trunk)
    if wheel:
        s.body("wheel", shank, arm.Revolute("y"), at=(0, 0, -0.3), mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    return s


@cache
def derived(wheel: bool = True) -> Equations:
    return walker(wheel).derive("recursive", check=True)
