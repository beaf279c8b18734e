"""Derivatives by Euler parameters at the start, which are made unit before a run, and tolerances by state."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm

FOUR = ("b.q4", "b.q5", "b.q6", "b.q7")
START = dict(zip(FOUR, (0.8, 0.36, 0.48, 0.0), strict=True)) | {
    "b.u1": 0.4,
    "b.u4": 0.3,
    "b.u5": -0.2,
    "b.u6": 0.5,
}


@cache
def _tumbler() -> Any:
    s = arm.System("tumbler")
    b = s.body("b", joint=arm.Free(), mass=2, inertia=(1.0, 2.0, 2.5))
    s.output("x", arm.dot(b.x, s.ground.y))
    s.output("z", arm.dot(b.z, s.ground.x))
    return s.derive().compile()


@pytest.mark.parametrize("name", ["b.q1", "b.q5", "b.q7"])
def test_derivatives_by_the_attitude_at_the_start_are_those_of_differences(name: str) -> None:
    """A start is divided by its length, so that the derivative by one of four has the others in it."""
    how: dict[str, Any] = {"sample": 0.5, "rtol": 1e-11, "atol": 1e-13}
    found = _tumbler().sensitivities(1.0, [name], ["x", "z"], initial=START, **how)

    def run(d: float) -> arm.Run:
        q = {**START, name: START.get(name, 0.0) + d}
        length = np.sqrt(sum(q[n] ** 2 for n in FOUR))
        unit = {n: v / length if n in FOUR else v for n, v in q.items()}
        return _tumbler().simulate(1.0, initial=unit, **how)

    high, low = run(1e-5), run(-1e-5)
    for output in ("x", "z"):
        assert found[output, name] == pytest.approx((high[output] - low[output]) / 2e-5, abs=1e-8)


def test_tolerances_may_be_given_for_each_state() -> None:
    """Equal ones give the run of a single number, to the last step."""
    s = arm.System("oscillator")
    s.parameter("k", 40.0)
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "-k*b.q1", s.ground.x, at=b.com)
    model = s.derive().compile()
    how: dict[str, Any] = {"initial": {"b.q1": 0.3}, "sample": 0.25, "rtol": 1e-6}
    one = model.sensitivities(1.0, ["k", "b.q1"], atol=1e-8, **how)
    each = model.sensitivities(1.0, ["k", "b.q1"], atol=[1e-8, 1e-8], **how)
    assert each.run.info["steps"] == one.run.info["steps"]
    np.testing.assert_array_equal(each.values, one.values)
