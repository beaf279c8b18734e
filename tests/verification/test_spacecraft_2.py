"""Spacecraft 2 against Sayers (1990), section 9.5: accelerations, the published run, conservation, cost."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from examples.spacecraft_2 import START, system
from tests.verification.common import (
    ACCELERATIONS,
    TIGHT,
    WAYS,
    assert_constant,
    assert_same,
    counts,
    reference,
)

REFERENCE = reference("spacecraft_2")

# The source numbers the hub's spin about its axes z, y, x as u4, u5, u6; here it is about x, y, z.
ORDER = [0, 1, 2, 5, 4, 3, 6, 7, 8, 9]


@cache
def compiled() -> Any:
    return system().derive().compile()


@WAYS
def test_accelerations(formalism: str, regroup: bool) -> None:
    model = system().derive(formalism, regroup=regroup).compile()
    found = [
        model.derivatives(0.0, np.concatenate([state["q"], np.array(state["u"])[ORDER]]))
        for state in REFERENCE["states"]
    ]
    expected = [
        np.concatenate([state["qdot"], np.array(state["udot"])[ORDER]]) for state in REFERENCE["states"]
    ]
    assert_same(found, expected, ACCELERATIONS, f"accelerations and rates, {formalism}")


def test_momenta_and_without_damping_the_energy_are_kept() -> None:
    """Internal springs and dampers change neither momentum nor angular momentum."""
    model = compiled()
    start = START | {"A1.q1": 0.3, "A2.q1": -0.2, "W.u1": 0.01, "W.u2": -0.02, "A4.u1": 0.05}
    for damping in (0.0, 0.001359):
        run = model.simulate(200.0, sample=1.0, initial=start, parameters={"D": damping}, **TIGHT)
        for letter in "xyz":
            assert_constant(run, f"p{letter}", 1e-10, scale=10.0)
            assert_constant(run, f"h{letter}", 1e-10, scale=0.1)
        if damping == 0.0:
            assert_constant(run, "energy", 1e-10)
        else:
            assert np.all(np.diff(run["energy"]) < 0)


def test_cost_is_the_documented_one() -> None:
    """The table of docs/verification; a change for the better is welcome, and entered here and there."""
    assert counts(compiled().equations) == (244, 308, 14)
