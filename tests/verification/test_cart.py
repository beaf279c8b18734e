"""The four-wheeled cart against Sayers (1990), section 9.2: accelerations, the run, work, cost.

The source's second speed is the sideways velocity of the mass centre of body and rear wheels, which is the
yaw rate times a constant lever; ours is the yaw rate itself.
"""

from __future__ import annotations

from functools import cache

import pytest

from armillary.runtime.models.compiled import CompiledModel
from armillary.verification.cases.cart import COORDINATES, in_our_speeds
from examples.cart import system
from tests.verification.common import (
    ACCELERATIONS,
    assert_same,
    counts,
    reference,
)

REFERENCE = reference("cart")


@cache
def model(regroup: bool = True) -> CompiledModel:
    return system().derive(regroup=regroup).compile()


def test_two_degrees_of_freedom_and_two_redundant_conditions() -> None:
    eom = model().equations
    assert eom.coordinates == COORDINATES
    assert eom.speeds == ("B.u1", "B.u3")
    assert eom.redundant_constraints == ("LRW does not slip sideways", "LFW does not slip sideways")
    assert set(eom.dependents) == {"B.u2", "FA.u1", "LFW.u1", "RFW.u1", "LRW.u1", "RRW.u1"}


@pytest.mark.parametrize("regroup", [True, False], ids=["regrouped", "as given"])
def test_accelerations(regroup: bool) -> None:
    found = [
        model(regroup).derivatives(0.0, in_our_speeds(state["q"], state["u"]))
        for state in REFERENCE["states"]
    ]
    expected = [in_our_speeds(state["qdot"], state["udot"]) for state in REFERENCE["states"]]
    assert_same(found, expected, ACCELERATIONS, "accelerations and coordinate rates")


def test_cost_is_the_documented_one() -> None:
    """The table of docs/verification; a change for the better is welcome, and entered here and there."""
    assert counts(model().equations) == (47, 77, 4)
