"""The car with small variables beside the full one as inputs shrink, and the terms that it neglects."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.verification.cases.vehicles import STATE, small_car
from tests.verification.common import (
    TIGHT,
)


@cache
def compiled(small: bool = True) -> Any:
    return small_car().derive(small=small).compile()


@cache
def runs(steer: float) -> tuple[arm.Run, arm.Run]:
    """Two seconds of the small and of the full car."""
    how: dict[str, Any] = {"sample": np.linspace(0, 2, 41), "parameters": {"STEER": steer}, **TIGHT}
    return compiled().simulate(2.0, **how), compiled(small=False).simulate(2.0, **how)


@pytest.mark.parametrize("name", [*STATE.values(), "Ay", "r", "alpha_f"])
def test_the_full_response_differs_in_second_order(name: str) -> None:
    """Halve the steer: the difference, relative to the response, falls to a quarter or less.

    Left and right are alike in this car, so the difference of a sideways motion has no even orders: it falls
    to an eighth while the motion itself falls to a half.
    """
    responses = {steer: runs(steer) for steer in (1.0, 0.5, 0.25)}
    defects = []
    for steer, (small, full) in responses.items():
        defects.append(np.max(np.abs(small[name] - full[name])) / steer)
    assert defects[0] / defects[1] > 3.9
    assert defects[1] / defects[2] > 3.9


def test_neglected_terms_are_told() -> None:
    eom = compiled().equations
    assert eom.neglected.total > 20
    assert all(above >= 2 for above in eom.neglected.by_order)
    assert any("RB.q1^2" in record.term and record.order == 2 for record in eom.neglected)
    assert eom.show().startswith("# small: RB.q1, RB.u1, NRB.u2, NRB.u3\n")
    assert f"neglected: {eom.neglected.summary()}" in eom.report()
