"""A parallelogram through its flat position: all ways to close it meet there, and it stays on its own.

Both cranks stay parallel, so the coupler never turns and the linkage is a pendulum:

    (2 I + m_B r²) q̈ = −(2 m_A r/2 + m_B r) g cos q         I of a crank about its hinge
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from armillary.errors import SimulationError
from tests.systems.parallelogram import model, pendulum, started
from tests.verification.common import TIGHT, assert_near

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
