"""Thresholds of a run follow its own parameters, not the defaults with which its program was derived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armillary.algebra.arguments import core_of
from armillary.program.targets.targets import INTERNAL_EVENTS
from armillary.runtime.models.instance import Instance
from armillary.stages.model import Model
from tests.systems.ball_in_a_slot import LARGE, SMALL, ball


def start(seed: int) -> dict[str, float]:
    chance = np.random.default_rng(seed)
    names = {"ball.q1": 1.0, "ball.u1": 2.0, "ball.u6": 3.0}
    return {name: float(chance.uniform(-size, size)) for name, size in names.items()}


def watched(model: Model, state: np.ndarray) -> dict[str, Any]:
    """Values of what watches over the dependent speeds, with the large radius."""
    instance = Instance(core_of(model), {"a": LARGE})
    values = instance.events(0.0, state, np.zeros(0))
    names = [e.name for e in core_of(model.equations).targets.watched]
    assert set(names) <= set(INTERNAL_EVENTS)
    return {f"{name} {i}": v for i, (name, v) in enumerate(zip(names, values, strict=True))}


def test_watch_functions_are_those_of_a_model_whose_default_is_the_parameter_of_the_run() -> None:
    small, large = ball(SMALL), ball(LARGE)
    assert small.equations.dependents == large.equations.dependents
    for seed in range(5):
        state = large.state(start(seed), {"a": LARGE})
        found, expected = watched(small, state), watched(large, state)
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-3)  # sizes are taken at rounded places


def test_a_ball_of_nine_times_the_default_radius_rolls_on() -> None:
    """No force does work: the kinetic energy stays, and no place of lost rank is met, for there is none. The
    motion is that of a model whose default this radius is.
    """
    run = ball(SMALL).simulate(3.0, sample=0.1, initial=start(3), parameters={"a": LARGE})
    same = ball(LARGE).simulate(3.0, sample=0.1, initial=start(3))
    assert run["ball.q1"] == pytest.approx(same["ball.q1"], abs=1e-8)
    assert "passed" not in run.info.get("configurations", "")
    assert np.ptp(run["kinetic energy"]) < 1e-6 * run["kinetic energy"][0]
    assert np.max(np.abs(np.sin(2 * run["ball.q1"]) / 2 - run["ball.q2"])) < 1e-9


def test_energy_is_kept_to_the_tolerance_through_ten_exchanges_of_dependent_speeds() -> None:
    """No force does work. Rows lie inside steps, also the last one before each exchange."""
    rtol, initial = 1e-10, {"ball.q1": 0.469, "ball.u1": -1.545, "ball.u6": -0.653}
    run = ball(LARGE).simulate(6.0, sample=0.05, initial=initial, rtol=rtol, atol=rtol / 100)
    assert run.info["configurations"].count("became") >= 6
    energy = run["kinetic energy"] + 7.0 * 9.81 * LARGE
    assert np.ptp(energy) < 5 * rtol * energy[0]
    assert abs(energy[-1] - energy[0]) < 2 * rtol * energy[0]
