"""The degrees of freedom of the four-wheeled cart; its numbers are the case `cart`."""

from __future__ import annotations

from armillary.verification.cases.vehicles import COORDINATES
from armillary.verification.rows import equations


def test_two_degrees_of_freedom_and_two_redundant_conditions() -> None:
    eom = equations("cart")
    assert eom.coordinates == COORDINATES
    assert eom.speeds == ("B.u1", "B.u3")
    assert eom.redundant_constraints == ("LRW does not slip sideways", "LFW does not slip sideways")
    assert set(eom.dependents) == {"B.u2", "FA.u1", "LFW.u1", "RFW.u1", "LRW.u1", "RRW.u1"}
