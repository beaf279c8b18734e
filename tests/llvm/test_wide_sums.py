"""Sums over neighbours in the state, which the compiled code takes several at a time."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.llvm.node_writer import RUN

pytestmark = pytest.mark.optimised


def test_each_state_meets_its_own_factor_in_a_long_sum() -> None:
    """Σ cᵢ qᵢ with factors that are all different, in any order of the terms."""
    factors = [3.0, -1.25, 7.0, 0.5, 11.0, 2.0, -13.0, 17.0, 19.0, 23.0, -29.0, 31.0, 37.0, -0.25]
    assert len(factors) >= RUN  # of fewer terms, each is taken alone
    s = arm.System("slides")
    bodies = [s.body(f"b{i}", joint=arm.Prismatic("x"), mass=1, inertia=0) for i in range(len(factors))]
    s.output("sum", sum(c * b.q1 for c, b in zip(factors, bodies, strict=True)))
    s.output("back", sum(c * b.u1 for c, b in reversed(list(zip(factors, bodies, strict=True)))))
    model = s.derive().compile()
    for k in range(len(factors)):
        state = np.zeros(2 * len(factors))
        state[k], state[len(factors) + k] = 1.0, 2.0
        found = model.outputs(0.0, state)
        assert (found["sum"], found["back"]) == (factors[k], 2 * factors[k])
