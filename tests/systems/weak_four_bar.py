"""A four-bar whose constraints become weak."""

from __future__ import annotations

import armillary as arm


def four_bar(s: arm.System | None = None) -> arm.System:
    """Every link with mass, moved by its weight through two changes of its dependent speeds."""
    s = s or arm.System("four-bar linkage")
    s.gravity(9.81, -s.ground.y)
    a = s.body("A", joint=arm.Revolute("z"), com=(0.25, 0, 0), mass=2.0, inertia=(0.01, 0.05, 0.05))
    b = s.body("B", parent=a, joint=arm.Revolute("z"), at=(0.5, 0, 0), com=(0, 0.2, 0), mass=10.0,
               inertia=(1.0, 0.1, 1.0))  # fmt: skip
    c = s.body("C", joint=arm.Revolute("z"), at=(0.1, 0.3, 0), com=(0.2, 0, 0), mass=1.6,
               inertia=(0.01, 0.03, 0.03))  # fmt: skip
    s.close_loop(b.point("pin", (0, 0.3, 0)), c.point("pin", (0.4, 0, 0)), [s.ground.x, s.ground.y])
    return s
