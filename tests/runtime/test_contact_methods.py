"""Contacts with linearly implicit methods and with `auto`: the motion that dop853 has."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.fuzz import contact_checks as checks
from tests.fuzz import contact_mechanisms as cm

SEED = 59  # a slider-crank with two contacts, as in tests/fuzz


@cache
def _reference() -> tuple[cm.Mechanism, Any, Any]:
    mechanism = cm.make_mechanism(SEED)
    model = mechanism.compile()
    return mechanism, model, checks.simulate(mechanism, model, sample=mechanism.duration / 200)


@pytest.mark.parametrize("method", ["rodas5p", "auto"])
def test_methods_that_choose_their_steps_have_the_same_motion_and_events(method: str) -> None:
    mechanism, model, reference = _reference()
    run = checks.simulate(mechanism, model, method=method, sample=mechanism.duration / 200)
    assert checks.find_faults(mechanism, run) == []
    assert [e.name for e in run.events] == [e.name for e in reference.events]
    # Both have rtol of the survey (1e-9); errors grow with each impact.
    assert checks.compare(mechanism, reference, run) < 1e-7


def test_rodas3_comes_nearer_with_the_third_power_of_its_step() -> None:
    mechanism, model, reference = _reference()
    apart = []
    for step in (2e-3, 1e-3):
        run = checks.simulate(
            mechanism, model, method="rodas3", step=step, sample=mechanism.duration / 200, max_steps=10_000
        )
        assert checks.find_faults(mechanism, run, exact=False) == []
        apart.append(checks.compare(mechanism, reference, run))
    assert apart[0] < 1e-5
    assert apart[1] < apart[0] / 5
