"""Events, clocks and adaptive steps on a GPU: the kernel compiled as C++, behind a stand-in for CuPy."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.stages.model import Model
from tests.ensembles.batch_systems import stopping
from tests.ensembles.fake_cupy import CXX, Module
from tests.systems.changing_configurations import I1, I2, clutch

pytestmark = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
NVCC = shutil.which("nvcc")
RUNS = 6


@cache
def juggler() -> Model:
    """A ball that bounces on the floor and under a ceiling, pushed by a controller that looks at its height
    by a clock; a counter of hits and a greatest speed; a run ends where the ball has swung by 25 rad.
    """
    s = arm.System("juggler")
    ball = s.body("ball", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.body("arm", ball, arm.Revolute("z"), com=(0, 0.02, 0), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    s.parameter("g", 9.81)
    s.parameter("k", 3.0, units="N/m")
    s.parameter("top", 1.1, units="m")
    s.gravity("g", -s.ground.y)
    s.memory("held", 0.0, update="ball.q1", every=0.13, units="m")
    s.memory("hits", 0.0)
    s.memory("fastest", 0.0, update="max(fastest, abs(ball.u1))", units="m/s")
    s.force("push", "k*(top - held)", s.ground.y, at=ball.com)
    hit = {"ball.u1": "-0.9*ball.u1", "hits": "hits + 1"}
    s.event("floor", ball.q1, direction=-1, set=hit)
    s.event("ceiling", "ball.q1 - top", direction=1, set=hit)
    s.event("dizzy", "arm.q1 - 25", stop=True)
    s.output("count", "hits")
    s.output("seen", "held")
    s.output("fast", "fastest")
    return s.derive().compile()


HOW: dict[str, dict[str, Any]] = {
    "rk4": {"step": 0.01, "sample": 0.25},
    "rows inside steps": {"step": 0.01, "sample": 0.037, "method": "midpoint"},
    "dopri5": {"method": "dopri5", "sample": 0.21},
    "dop853": {"sample": 0.21, "rtol": 1e-11, "atol": 1e-12},
}


@pytest.mark.parametrize("name", HOW)
def test_events_and_clocks_are_those_of_the_process(name: str, card: Module) -> None:
    """Counts of hits are equal, all else to 1e-11 with fixed steps. An adaptive method chooses its steps by
    errors that are rounding alone in a fall, so that they are not those of the process, nor is a memory that
    is renewed at steps; results agree to the tolerance of 1e-10.
    """
    given: dict[str, Any] = {
        "parameters": {"g": np.linspace(8.0, 11.0, RUNS)},
        "initial": {
            "ball.q1": np.linspace(0.2, 1.0, RUNS),
            "ball.u1": 6.0,
            "arm.u1": np.linspace(2.0, 9.0, RUNS),
        },
        "metrics": ["final(count)", "maximum(ball.q1)", "mean(seen)"],
        "outputs": ["ball.q1", "count", "seen", *(["fast"] if "step" in HOW[name] else [])],
        "progress": False,
    }
    cpu, gpu = (juggler().simulate_batch(4.0, device=d, **given, **HOW[name]) for d in ("cpu", "gpu"))
    assert gpu.info["engine"] == "gpu" and gpu.info["evaluations_per_second"] > 0
    assert list(gpu.status) == list(cpu.status) and {"event", "finished"} == set(gpu.status)
    assert list(gpu.ended_by) == list(cpu.ended_by)
    np.testing.assert_allclose(gpu.t_stop, cpu.t_stop, rtol=1e-12)
    np.testing.assert_array_equal(gpu["count"], cpu["count"])
    assert np.nanmax(gpu["count"]) > 8
    near = 1e-11 if "step" in HOW[name] else 1e-10
    for column in (*given["metrics"], *given["outputs"]):
        np.testing.assert_allclose(gpu[column], cpu[column], rtol=near, atol=near)
    np.testing.assert_allclose(gpu.final_state, cpu.final_state, rtol=near, atol=near)
    if NVCC and name == "dop853":
        command = [NVCC, "-std=c++14", "-w", "-ptx", "-arch=sm_80", "kernel.cu", "-o", "kernel.ptx"]
        subprocess.run(command, cwd=card.folder / "1", check=True)


def test_single_precision_and_what_is_refused(card: Module) -> None:
    """The fall ends at √(2h/g), to a few roundings of 32 bits; adaptive steps need 64."""
    heights = np.array([1.0, 2.0, 4.0])
    given: dict[str, Any] = {"initial": {"ball.q1": heights}, "progress": False, "device": "gpu"}
    fell = stopping().simulate_batch(2.0, step=0.01, precision="single", **given)
    assert set(fell.ended_by) == {"floor"}
    np.testing.assert_allclose(fell.t_stop, np.sqrt(2 * heights / 9.81), rtol=1e-6)
    with pytest.raises(ArmillaryError, match="give a step=, or precision='double'"):
        stopping().simulate_batch(2.0, precision="single", **given)
    with pytest.raises(ArmillaryError, match=r"possible on the GPU: .*take rk4, midpoint, dopri5 or dop853"):
        stopping().simulate_batch(2.0, method="rodas5p", **given)


def test_clutches_grip_and_let_go_on_the_card(card: Module) -> None:
    """ω = (I₁ω₁ + I₂ω₂)/(I₁ + I₂) while they grip; no run is left to the process."""
    w1, w2 = np.linspace(1.0, 4.0, RUNS), np.linspace(-4.0, 0.0, RUNS)
    given: dict[str, Any] = {"initial": {"A.u1": w1, "B.u1": w2 - w1}, "outputs": ["A.u1"], "progress": False}
    model = clutch().derive().compile()
    batch = model.simulate_batch(3.0, sample=0.5, device="gpu", **given)
    single = model.simulate(3.0, sample=0.5, initial={"A.u1": w1[1], "B.u1": w2[1] - w1[1]})
    assert batch.info["engine"] == "gpu" and set(batch.status) == {"finished"}
    held = (batch.time > 1.0 + 1e-9) & (batch.time < 2.0 - 1e-9)
    together = (I1 * w1 + I2 * w2) / (I1 + I2)
    np.testing.assert_allclose(batch["A.u1"][:, held], together[:, None], rtol=1e-12)
    np.testing.assert_allclose(batch["A.u1"][1], single["A.u1"], rtol=1e-12)


def test_a_contact_that_dips_below_its_plane_within_one_step_is_found(card: Module) -> None:
    """The tip of a pendulum strikes a table 1 mm above its lowest place: at 3 rad/s it would be below for
    0.03 s, less than a step, so that no gap is negative at the end of any step.
    """
    s = arm.System("striker")
    s.parameter("l", 1.0, units="m")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, -0.5, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    table = s.ground.point("table", (0, -0.999, 0))
    s.contact("edge", rod.point("tip", (0, "-l", 0)), plane=(table, s.ground.y), restitution=0.5)
    model = s.derive().compile()
    start = {"rod.q1": np.linspace(-0.30, -0.28, RUNS), "rod.u1": 3.0}
    for device in ("cpu", "gpu"):
        runs = model.simulate_batch(0.2, step=0.05, initial=start, device=device, progress=False)
        angle, rate = runs["rod.q1"], runs["rod.u1"]
        reached = -np.arccos(0.999)  # cos q = 0.999: the tip meets the table
        assert np.all(angle <= reached + 1e-9)
        assert np.allclose(rate[:, -1], -1.5, rtol=1e-12)
