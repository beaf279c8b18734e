"""Linear models of large systems, whose A is not written out but computed column by column."""

from __future__ import annotations

import numpy as np
import pytest
from random_systems import random_case

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.linear import rates
from armillary.analysis.linear.matrices import Linearization
from armillary.program import linearization


@pytest.mark.parametrize("seed", [0, 1, 2])  # a tree, a closed loop, rolling
def test_columns_are_those_of_the_written_matrices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed)
    model = case.system.derive(case.formalism).compile()
    written = model.linearize(case.at, inputs=case.inputs, outputs=case.outputs)
    monkeypatch.setattr(linearization, "WRITTEN_OUT", 0)
    columns = Linearization(core_of(model.equations), written.inputs, written.outputs)
    assert columns.form.tangent is not None
    assert columns.form.A == {}
    place = (float(written.time), np.asarray(written.state), written.parameters, np.asarray(written.memory))
    factors = np.array([v.factor for v in columns.form.states])
    found = columns.at(*place)
    size = max(1.0, np.max(np.abs(written.A)))
    assert np.max(np.abs(found.A * factors / factors[:, None] - written.A)) < 1e-12 * size
    many = columns.rows(place[0], np.tile(place[1], (3, 1)), place[2], place[3])
    assert np.array_equal(many.A[2], found.A)
    assert np.array_equal(many.C[1], found.C)
    assert np.array_equal(many.B[0], found.B)


def test_a_large_model_is_linearised_and_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pendulum on pendulum: small oscillations hold M q̈ + K q = 0 with the masses of a hanging chain."""
    monkeypatch.setattr(linearization, "WRITTEN_OUT", 1)
    monkeypatch.setattr(rates, "_PAIRS", 0)
    s = arm.System("chain")
    s.gravity(9.81, "-ground.z")
    body = None
    for i in range(4):
        at = (0, 0, 0) if body is None else (0, 0, -1)
        body = s.body(f"b{i}", body, arm.Revolute("y"), at=at, mass=1, com=(0, 0, -1), inertia=0)
    lin = s.derive("recursive").compile().linearize()
    assert lin.linearization.form.tangent is not None
    i, j = np.indices((4, 4))
    last = [np.maximum(i, j) <= k for k in range(4)]
    M = sum((k - i + 1) * (k - j + 1) * last[k] for k in range(4))
    K = 9.81 * sum((4 - k) * last[k] for k in range(4))
    assert np.allclose(lin.A[4:, :4], -np.linalg.solve(M, K), rtol=1e-12, atol=1e-10)
    assert np.array_equal(lin.A[:4], np.eye(4, 8, 4))
    with pytest.raises(arm.ArmillaryError, match="too long to be written out: 8 states"):
        lin.symbolic()
