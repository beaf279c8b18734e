"""A parallelogram through its flat position: all ways to close it meet there, and it stays on its own.

Both cranks stay parallel, so the coupler never turns and the linkage is a pendulum:

    (2 I + m_B r²) q̈ = −(2 m_A r/2 + m_B r) g cos q         I of a crank about its hinge
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armillary as arm
from armillary.errors import SimulationError
from armillary.stages.model import Model
from tests.verification.common import TIGHT, assert_near

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


# Where the equations are 0/0 they are stepped across; that leaves about 1e-7 in the crank's angle.
HOW = {
    "by default": ({}, 1e-5),
    "tight": (TIGHT, 1e-6),
    "rk4, 1 ms": ({"step": 1e-3}, 1e-5),
    "rk4, 0.1 ms": ({"step": 1e-4}, 1e-5),
    "rodas5p": ({"method": "rodas5p"}, 1e-5),
}


@pytest.mark.parametrize("speed", [3.0, 12.0], ids=["swinging", "turning"])
@pytest.mark.parametrize(("how", "tolerance"), HOW.values(), ids=HOW)
def test_flat_positions_are_passed(how: dict[str, Any], tolerance: float, speed: float) -> None:
    """5 s: through a dozen flat positions or more, as a pendulum or a rotor. Tolerances are the methods'."""
    run = model().simulate(5.0, sample=0.01, initial=started(0.5, speed), **how)
    flat = np.count_nonzero(np.diff(np.sign(np.sin(run["A.q1"]))))
    assert flat >= 10
    assert_near(run["C.q1"], run["A.q1"], 1e-9, "angle between the cranks")
    assert_near(run["B.q1"], -run["A.q1"], 1e-9, "turn of the coupler")
    assert_near(run["A.q1"], pendulum(run.time, 0.5, speed), tolerance, "crank angle")
    assert_near(run["energy"], run["energy"][0], 10 * tolerance, "energy")


def test_a_thousand_flat_positions() -> None:
    run = model().simulate(160.0, sample=0.1, initial=started(0.5, 20.0), parameters={"g": 0.0})
    assert run.info["configurations"].count("passed") == run.final["A.q1"] // math.pi == 1018
    assert_near(run["C.q1"], run["A.q1"], 1e-9, "angle between the cranks")


def test_the_other_way_to_close_it_is_kept_too() -> None:
    """Started crossed, the cranks turn against each other and the coupler tilts."""
    run = model().simulate(
        1.0, initial={"A.q1": 1.0, "B.q1": -2.0, "C.q1": -1.5, "A.u1": 1.0}, parameters={"g": 0.0}
    )
    assert np.max(run["C.q1"] * run["A.q1"]) < 0
    assert_near(run["energy"] / run["energy"][0], 1.0, 1e-6, "energy")


def test_a_start_in_the_flat_position_is_refused() -> None:
    """Nothing says there in which of the two ways it goes on."""
    with pytest.raises(SimulationError, match="lose rank") as refused:
        model().simulate(1.0, initial={"A.u1": 3.0})
    assert "pin along ground.x" in str(refused.value)
    assert "more than one way; start a little away from there" in str(refused.value)
