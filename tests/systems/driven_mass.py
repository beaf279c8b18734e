"""A mass on a spring, driven by data over time."""

from __future__ import annotations

import numpy as np

import armillary as arm

RUNS, T_END = 11, 1.0


TIMES = np.linspace(-0.1, 1.2, 40)


DATA = np.random.default_rng(3).normal(size=(RUNS, 40))


STIFFNESS = np.linspace(50.0, 90.0, RUNS)


def made(rate: bool, event: bool = False) -> arm.CompiledModel:
    s = arm.System("mass on a road")
    s.parameter("k", 60.0, units="N/m")
    road = s.input("road", units="mm")
    s.input("push", 1.5, units="N")
    b = s.body("b", joint=arm.Prismatic("z"), mass=1, inertia=0)
    damping = b.u1 - arm.time_derivative(road) if rate else b.u1
    s.force("spring", s.expression("-k*(b.q1 - road) + push") - 2 * damping, s.ground.z, at=b.com)
    if event:
        s.event("low", "b.q1 + 0.02", direction=-1, set={"b.u1": "-b.u1"})
    return s.derive().compile()
