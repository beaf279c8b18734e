"""A free body with a hinged part, for tests of the speeds that are chosen for free bodies."""

from __future__ import annotations

import armillary as arm


def thrown(velocity: str) -> arm.System:
    """A body B with its mass centre off its origin and a hinged part C, thrown under gravity."""
    s = arm.System("thrown")
    s.parameter("m", 3.0, units="kg")
    B = s.body(
        "B", joint=arm.Free(velocity=velocity), com=(0.3, -0.2, 0.5), mass="m",
        inertia=(1, 1.2, 1.4, 0.1, 0.05, -0.1),
    )  # fmt: skip
    s.body("C", B, arm.Revolute("z"), at=(1, 0.2, 0), com=(0.2, 0, 0.1), mass=1, inertia=(0.1, 0.2, 0.2))
    s.gravity(9.81, -s.ground.z)
    return s
