"""Times may be text with a unit wherever a call takes seconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.later import unit_registry


def described() -> arm.System:
    s = arm.System("pendulum")
    b = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.parameter("k", 2.0, units="N*m")
    s.moment("wave", "k*sin(3*t)", s.ground.z, on=b)
    s.output("x", "sin(b.q1 + 0.1*t)")
    return s


@cache
def model() -> arm.CompiledModel:
    return described().derive().compile()


@cache
def run() -> arm.Run:
    return model().simulate(0.2, step=0.01)


def linear() -> arm.LinearModel:
    return model().linearize(inputs=["k"], outputs=["x"])


def clocked(every: Any) -> list[float]:
    s = described()
    s.memory("ticks", 0.0, update="ticks + 1", every=every)
    other = described()
    other.memory("ticks", 0.0)
    other.update("ticks", "ticks + 1", every=every)
    return [list(x.memories.values())[1].period or 0.0 for x in (s, other)]


# Results of a time of 50 ms, as arrays.
CALLS: dict[str, Callable[[Any], Any]] = {
    "trim": lambda t: model().trim(rates={"b.u1": 0}, fixed={"b.u1": 0}, t=t).state,
    "linearize at": lambda t: model().linearize(at={"b.q1": 0.1, "t": t}, outputs=["x"]).C,
    "linearize at a time of a run": lambda t: model().linearize(at=(run(), t), outputs=["x"]).C,
    "sweep": lambda t: model().sweep({"b.q1": [0.1, 0.2]}, outputs=["x"], time=t)["x"],
    "solve": lambda t: model().solve({"x": 0.5}, time=t)["b.q1"],
    "discretize": lambda t: linear().discretize(t).A,
    "step response": lambda t: linear().step_response(t).time,
    "step response of a discrete model": lambda t: linear().discretize(0.01).step_response(t).time,
    "delayed": lambda t: arm.Signal([0, 1], [0, 1]).delayed(t).time,
    "sampled": lambda t: arm.Signal.sampled(np.sin, 1.0, every=t).values,
    "sampled from": lambda t: arm.Signal.sampled(np.sin, 1.0, every=0.1, t0=t).values,
    "sampled to": lambda t: arm.Signal.sampled(np.sin, t, every=0.01).values,
    "random signal": lambda t: arm.random_signal(1.0, (100.0, 200.0), t).values,
    "clock": clocked,
}


@pytest.mark.parametrize("name", CALLS)
def test_text_with_a_unit_is_the_time_in_seconds(name: str) -> None:
    np.testing.assert_array_equal(CALLS[name]("50 ms"), CALLS[name](0.05))
    with pytest.raises(arm.ArmillaryError, match="has units of"):
        CALLS[name]("50 mm")


@pytest.mark.parametrize("name", ["trim", "sweep", "discretize", "delayed", "clock"])
def test_a_quantity_is_the_time_in_seconds(name: str) -> None:
    ms = unit_registry().ms
    np.testing.assert_array_equal(CALLS[name](50 * ms), CALLS[name](0.05))


def test_pages_and_text_models_take_them_too(tmp_path: Path) -> None:
    page = model().live(tmp_path / "page.html", step="50 ms", grab=False)
    assert re.search(r'"step":\s*0\.05\b', page.read_text())
    s = described()
    s.memory("ticks", 0.0, update="ticks + 1", every="50 ms")
    s.save(tmp_path / "clock.toml")
    again = arm.load(tmp_path / "clock.toml")
    assert again.memories["ticks clock"].period == 0.05
