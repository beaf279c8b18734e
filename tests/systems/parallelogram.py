"""A parallelogram, which all ways to close it meet in its flat position."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

import armillary as arm
from armillary.stages.model import Model

CRANK, GRAVITY = 0.3, 9.81


def parallelogram() -> arm.System:
    """Cranks A and C, coupler B; all along x at zero, which is flat."""
    s = arm.System("parallelogram")
    s.parameter("g", GRAVITY, units="m/s2")
    N = s.ground
    moments = (0.01, 0.01, 0.01)
    A = s.body("A", joint=arm.Revolute("z"), com=(CRANK / 2, 0, 0), mass=1, inertia=moments)
    B = s.body("B", A, arm.Revolute("z"), at=(CRANK, 0, 0), com=(0.5, 0, 0), mass=1, inertia=moments)
    C = s.body("C", joint=arm.Revolute("z"), at=(1, 0, 0), com=(CRANK / 2, 0, 0), mass=1, inertia=moments)
    s.gravity("g", -N.y)
    s.close_loop(B.point("end", (1, 0, 0)), C.point("end", (CRANK, 0, 0)), [N.x, N.y], name="pin")
    s.output("energy", s.total_energy())
    return s


@cache
def model() -> Model:
    return parallelogram().derive().compile()


def started(q: float, u: float) -> dict[str, float]:
    return {"A.q1": q, "B.q1": -q, "C.q1": q, "A.u1": u}


def pendulum(times: np.ndarray, q: float, u: float) -> np.ndarray:
    inertia = 2 * (0.01 + CRANK**2 / 4) + CRANK**2
    found = solve_ivp(
        lambda _, y: [y[1], -2 * CRANK * GRAVITY * math.cos(y[0]) / inertia],
        (0, times[-1]), [q, u], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    return np.asarray(found.y[0])
