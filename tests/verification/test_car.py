"""The car against Sayers (1990), section 9.1: accelerations, outputs, the published method, cost."""

from __future__ import annotations

from examples.car import system
from tests.verification.common import (
    ACCELERATIONS,
    WAYS,
    assert_same,
    counts,
    reference,
)

REFERENCE = reference("car")


@WAYS
def test_accelerations(formalism: str, regroup: bool) -> None:
    model = system().derive(formalism, regroup=regroup).compile()
    found = [model.derivatives(0.0, [*state["q"], *state["u"]]) for state in REFERENCE["states"]]
    expected = [[*state["qdot"], *state["udot"]] for state in REFERENCE["states"]]
    assert_same(found, expected, ACCELERATIONS, f"accelerations and rates, {formalism}")


def test_cost_is_the_documented_one() -> None:
    """The table of docs/verification; a change for the better is welcome, and entered here and there."""
    assert counts(system().derive()) == (41, 69, 6)
