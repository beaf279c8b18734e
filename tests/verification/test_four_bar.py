"""The four-bar linkage of Sayers (1990), section 9.3: assembly, and a long run with fixed steps."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from armillary.errors import ParameterError
from armillary.verification.rows import equations
from tests.verification.common import (
    TIGHT,
    assert_near,
    reference,
)

REFERENCE = reference("four_bar")
ASSEMBLED = REFERENCE["displaced"]["q"]


@cache
def model() -> Any:
    return equations("four_bar").compile()


@pytest.mark.parametrize(
    "rough",
    [
        {"A.q1": -0.5},
        {"B.q1": ASSEMBLED[1]},
        {"C.q1": ASSEMBLED[2]},
        {"A.q1": -0.5, "B.q1": 0.3, "C.q1": -0.9},
        {"A.q1": -0.5, "B.q1": 1.5, "C.q1": 1.0},
        {"A.q1": -0.5, "C.q1": -2.0},
    ],
    ids=str,
)
def test_assembly(rough: dict[str, float]) -> None:
    """One angle determines the others, whichever it is; of three that disagree the crank's stays."""
    assert model().equations.speeds == ("A.u1",)
    state = model().state(rough)
    assert_near(state[:3], ASSEMBLED, 1e-12, "assembled angles")
    assert state[3] == 0.0
    assert [f"{angle:.4f}" for angle in state[:3]] == [f"{a:.4f}" for a in REFERENCE["displaced"]["echo"]]


def test_a_linkage_that_cannot_close_says_so() -> None:
    """The crank's tip is then 0.815 m from the other hinge, and the bars between are 0.7 m long together."""
    with pytest.raises(ParameterError, match=r"cannot be closed with A\.q1 as given") as refused:
        model().state({"A.q1": -2.0})
    assert "B.pin stays on C.pin along B.y" in str(refused.value)
    assert "set by L1, L4, L5" in str(refused.value)


@pytest.mark.parametrize("how", [{"step": 1e-3}, TIGHT], ids=["rk4", "dop853"])
def test_loop_stays_closed_over_a_long_run(how: dict[str, Any]) -> None:
    """1000 s without damping, about 6000 swings."""
    run = model().simulate(1000.0, sample=0.5, initial={"A.q1": -0.5}, parameters={"D": 0.0}, **how)
    for axis in "xy":
        assert_near(run[f"gap along ground.{axis}"], 0.0, 1e-10, f"gap along {axis}")
    if "method" in how:
        assert_near(run["energy"] / run["energy"][0], 1.0, 1e-10, "energy over 1000 s")
