"""Batches, sensitivities, fits and linear models of stiff runs, by methods for such runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.program import rate_columns as partial_rates

TIGHT: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "sample": 0.1, "initial": {"rod.q1": 1.0}}


def damper() -> arm.System:
    """A light bob on a rod, with a damper of 10 µs: an explicit method takes steps of 60 µs."""
    s = arm.System("damper")
    s.parameter("k", 1000.0)
    s.parameter("c", 100.0)
    s.parameter("m", 1.0, units="kg")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass="m", inertia=0)
    bob = s.body("bob", rod, arm.Revolute("z"), at=(0, -0.5, 0), com=(0, -0.1, 0), mass=0.1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("drag", "-0.1*rod.u1*abs(rod.u1)", s.ground.z, on=rod)
    s.moment("damper", "-k*bob.q1 - c*bob.u1", s.ground.z, on=bob, reaction=rod)
    return s


@cache
def model() -> arm.CompiledModel:
    return damper().derive().compile()


@pytest.mark.parametrize(
    ("method", "how"), [("rodas5p", {"rtol": 1e-7, "atol": 1e-9}), ("rodas3", {"step": 0.01}), ("auto", {})]
)
def test_runs_of_batches_are_those_of_single_runs(method: str, how: dict[str, Any]) -> None:
    common = {"method": method, "sample": 0.1, "initial": {"rod.q1": 1.0}, **how}
    m = np.array([0.5, 1.0, 2.0])
    batch = model().simulate_batch(0.5, parameters={"m": m}, **common)
    for i, mass in enumerate(m):
        one = model().simulate(0.5, parameters={"m": mass}, **common)
        np.testing.assert_allclose(batch["rod.q1"][i], one["rod.q1"], rtol=0, atol=1e-12)
        assert np.ptp(one["rod.q1"]) > 0.1


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["rodas5p", "auto"])
def test_sensitivities_of_stiff_runs_are_differences_of_runs(
    method: str, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against central differences of single runs: their error is 1e-6 of the change in m."""
    if sparse:
        monkeypatch.setattr(partial_rates, "_SMALL", 0)
        monkeypatch.setattr(partial_rates, "_is_quicker", lambda *_: True)
    found = (
        damper().derive().compile().sensitivities(1.0, ["m", "rod.q1"], ["rod.q1"], method=method, **TIGHT)
    )
    d = 1e-4
    runs = [model().simulate(1.0, method="rodas5p", parameters={"m": 1.0 + e}, **TIGHT) for e in (d, -d)]
    wanted = (runs[0]["rod.q1"] - runs[1]["rod.q1"]) / (2 * d)
    np.testing.assert_allclose(found["rod.q1", "m"], wanted, rtol=0, atol=1e-6)
    starts = [
        model().simulate(1.0, method="rodas5p", **{**TIGHT, "initial": {"rod.q1": 1.0 + e}}) for e in (d, -d)
    ]
    wanted = (starts[0]["rod.q1"] - starts[1]["rod.q1"]) / (2 * d)
    np.testing.assert_allclose(found["rod.q1", "rod.q1"], wanted, rtol=0, atol=1e-6)
    assert found.run.info["steps"] < 1000


def test_a_fit_by_stiff_runs_finds_the_parameters_of_its_data() -> None:
    truth = model().simulate(1.0, method="rodas5p", parameters={"m": 1.4}, **TIGHT)
    data = arm.Experiment({"time": truth.time, "rod.q1": truth["rod.q1"]}, initial={"rod.q1": 1.0})
    found = arm.fit(model(), data, ["m"], method="rodas5p", rtol=1e-8, atol=1e-10, progress=False)
    assert found.parameters["m"] == pytest.approx(1.4, rel=1e-6)


def test_linear_models_at_the_end_of_stiff_runs_have_the_fast_root() -> None:
    """At rest the bob has k and c about its hinge, and the rod follows its inertia: λ ≈ −c/I of both in turn
    to rotations, I the reduced inertia of rod and bob.
    """
    run = model().simulate(1.0, method="rodas5p", **TIGHT)
    roots = np.linalg.eigvals(model().linearize((run, 1.0)).A)
    assert roots.real.min() < -1e4
    q = run["bob.q1"][-1]
    mass = np.array(
        [[0.25 + 0.1 * (0.25 + 0.01 + 0.1 * np.cos(q)), 0.1 * (0.01 + 0.05 * np.cos(q))], [0, 0.001]]
    )
    mass[1, 0] = mass[0, 1]
    assert roots.real.min() == pytest.approx(-100.0 * np.linalg.inv(mass)[1, 1], rel=1e-3)
