"""Sharp's motorcycle, described by bodies and relaxed tyres, against an independent derivation."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh

REFERENCE = json.loads((Path(__file__).parent / "data" / "sharp1971.json").read_text(encoding="utf-8"))


@cache
def model() -> object:
    return veh.motorcycle().derive().compile()


def test_parameters_are_those_of_the_paper() -> None:
    given = {("trail" if name == "t" else name): x for name, x in REFERENCE["parameters_SI"].items()}
    found = dict(veh.motorcycle().derive().compile().parameters)
    of_wheels = {"shortest_relaxation": 0.005, "quickest_slip": 0.002}  # bounds that the paper does not need
    bounds = {f"{wheel}_wheel_{name}": x for wheel in ("front", "rear") for name, x in of_wheels.items()}
    assert {**given, "V": 20.0, "g": REFERENCE["g"], **bounds} == found


@pytest.mark.parametrize("speed", ["10", "20", "70", "100"])
def test_eigenvalues_are_those_of_the_reference(speed: str) -> None:
    """To 1e-8; 2e-13 is found. The other eigenvalues are zero: place, heading and the turns of the wheels."""
    linear = model().linearize(parameters={"V": 0.3048 * float(speed)})
    found = np.linalg.eigvals(linear.A)
    for real, imaginary in REFERENCE["eigenvalues"][speed]:
        value = complex(real, imaginary)
        assert np.min(np.abs(found - value)) <= 1e-8 * abs(value)
    assert np.sum(np.abs(found) < 1e-6) == len(found) - 8


def test_a_push_at_20_m_per_s_dies_out_but_for_the_slow_capsize() -> None:
    """The lean after the weave has decayed grows as the capsize root says, 0.0799 to 0.0800 1/s at 20 m/s."""
    run = model().simulate(9.0, step=2e-3, initial={"rear.u1": 1e-3})
    roots = np.linalg.eigvals(model().linearize().A)
    growth = max(root.real for root in roots if abs(root.imag) < 1e-9)
    late = np.abs(run["lean"][[3000, 4500]])
    assert np.isclose(np.log(late[1] / late[0]) / 3.0, growth, rtol=1e-3)


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(arm.ModelError, match="there is no parameter 'mass'"):
        veh.motorcycle(parameters={"mass": 3.0})
