"""Runs of a batch that start where some motion moves no mass, and get nowhere."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
from armillary.ensembles.engines import lane_engines
from armillary.errors import SimulationError


@pytest.mark.parametrize("engine", ["lanes", "scalar", "lanes between events"])
def test_a_run_that_gets_nowhere_fails_with_the_sentence_of_a_single_run(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gimbal made of three bodies, whose axes lie in a plane at the start of the first run: its steps of
    1e-10 s took minutes, and it then ended as finished. The other run is not disturbed.
    """
    s = arm.System("gimbal of bodies")
    outer = s.body("outer", joint=arm.Revolute("z"), mass=0, inertia=0)
    inner = s.body("inner", parent=outer, joint=arm.Revolute("y"), mass=0, inertia=0)
    s.body("rotor", parent=inner, joint=arm.Revolute("x"), com=(0.1, 0, 0.2), mass=1, inertia=(1, 2, 2.5))
    s.gravity(9.81, -s.ground.z)
    if engine != "lanes":
        s.event("far", "rotor.q1 - 100", stop=True)
    if engine == "lanes between events":
        monkeypatch.setattr(lane_engines, "LEAST_RUNS", 2)
        monkeypatch.setattr(lane_engines, "LEAST_LANES", 2)
    model = s.derive().compile()
    start = {"inner.q1": np.array([np.pi / 2, 0.5]), "outer.u1": 1.0, "rotor.u1": 0.5}
    batch = model.simulate_batch(1.0, initial=start, metrics=["final(rotor.q1)"], progress=False)
    assert batch.info["engine"].startswith(engine.split()[0])
    with pytest.raises(SimulationError, match="does not advance: near t = 0 s body 'outer'") as error:
        model.simulate(1.0, initial={**start, "inner.q1": np.pi / 2})
    assert batch.status.tolist() == ["failed", "finished"]
    assert batch.messages == {0: str(error.value)}
    single = model.simulate(1.0, initial={**start, "inner.q1": 0.5})
    assert batch["final(rotor.q1)"][1] == pytest.approx(single.final["rotor.q1"], rel=1e-9)
