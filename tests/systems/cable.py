"""A cable of many links."""

from __future__ import annotations

import armillary as arm


def cable(n: int, branches: int = 1) -> arm.System:
    """Links with stiff bending springs, a branch of them or several, with drag that has no slope at rest and
    a state of the user's own.
    """
    s = arm.System("cable")
    s.state("heat")
    for b in range(branches):
        previous = None
        for i in range(n):
            turned = s.body(
                f"g{b}x{i}",
                previous,
                arm.Revolute("z"),
                at=(0.2, 0, 0),
                com=(0.1, 0, 0),
                mass=0.1,
                inertia=(1e-3, 1e-3, 1e-3),
            )
            drag = f"-0.1*g{b}x{i}.u1*sqrt(g{b}x{i}.u1^2) - (1e4 + heat)*g{b}x{i}.q1 - 20*g{b}x{i}.u1"
            s.moment(f"m{b}x{i}", drag, s.ground.z, on=turned, reaction=previous or s.ground)
            previous = turned
    s.rate("heat", "50*(g0x0.u1*g0x0.u1 - heat)")
    s.gravity(9.81, -s.ground.y)
    return s
