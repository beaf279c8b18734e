"""A call with parameters, memory or a start of its own changes nothing for the calls after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm

OTHER: dict[str, Any] = {"parameters": {"L": 0.5, "c": 0.3}}


def _fresh() -> Any:
    s = arm.System("pendulum")
    s.parameter("L", 1.0, units="m")
    s.parameter("c", 0.1)
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.memory("offset", 0.2)
    s.moment("damper", "-c*bob.u1", s.ground.z, on=bob)
    s.output("height", "dot(position(bob.com), ground.y) + offset")
    s.start({"bob.q1": 0.4})
    return s.derive().compile()


@cache
def _used() -> Any:
    return _fresh()


CALLS: dict[str, Callable[..., Any]] = {
    "derivatives": lambda m, **how: m.derivatives(0.0, [0.3, 0.2], **how),
    "accelerations": lambda m, **how: m.accelerations(0.0, [0.3], [0.2], **how),
    "outputs": lambda m, **how: [*m.outputs(0.0, [0.3, 0.2], **how).values()],
    "simulate": lambda m, **how: m.simulate(0.2, step=0.05, **how).values,
    "linearize": lambda m, **how: m.linearize(**how).A,
    "equilibrium": lambda m, **how: m.equilibrium(**how).eigenvalues,
    "sensitivities": lambda m, **how: m.sensitivities(0.2, ["c"], step=0.05, **how).values,
    "batch": lambda m, **how: m.simulate_batch(0.2, step=0.05, runs=2, progress=False, **how)["bob.q1"],
}


@cache
def _at_first(name: str) -> np.ndarray:
    return np.asarray(CALLS[name](_fresh()))


@pytest.mark.parametrize("name", CALLS)
def test_calls_with_other_parameters_leave_the_defaults(name: str) -> None:
    assert not np.array_equal(np.asarray(CALLS[name](_used(), **OTHER)), _at_first(name))
    for other in CALLS:
        np.testing.assert_array_equal(np.asarray(CALLS[other](_used())), _at_first(other), err_msg=other)
