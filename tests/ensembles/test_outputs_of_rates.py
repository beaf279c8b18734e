"""Accelerations as outputs of batches with fixed steps: from the rates that steps have computed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines.lane_engines import Lanes, LanesWithEvents
from armillary.ensembles.engines.lane_steps import LaneSteps
from armillary.ensembles.engines.scalar import Scalar
from armillary.ensembles.plan import EVENT, FINISHED, Plan, plan, restrict_outputs
from armillary.export.cuda import kernels
from armillary.export.cuda.teams import Team
from armillary.program.sections import with_outputs_of_rates
from armillary.settings import RunSettings
from armillary.stages.model import Model
from tests.ensembles.fake_cupy import CXX, Module

RUNS = 11
SHOWN = ["last acceleration", "height"]


@cache
def chain(ends: bool = True) -> Model:
    """Four links that hang from a cart on a spring; a run may end where the cart has gone far."""
    s = arm.System("chain on a cart")
    s.parameter("k", 40.0, units="N/m")
    s.gravity(9.81, -s.ground.y)
    parent = s.body("cart", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.force("spring", "-k*cart.q1", s.ground.x, at=parent.com)
    for k in range(4):
        at = (0, 0, 0) if k == 0 else (0, -0.5, 0)
        parent = s.body(
            f"link{k}", parent, arm.Revolute("z"), at=at, com=(0, -0.25, 0), mass=1, inertia=(0.02, 0, 0.02)
        )
    if ends:
        s.event("far", "cart.q1 - 0.6", direction=1, stop=True)
    s.output("last acceleration", arm.dot(arm.acceleration(parent.com), s.ground.x), units="m/s2")
    s.output("height", arm.dot(arm.position(parent.com), s.ground.y), units="m")
    return s.derive().compile()


def batch() -> dict[str, Any]:
    return {
        "parameters": {"k": np.linspace(20.0, 60.0, RUNS)},
        "initial": {"link0.q1": np.linspace(0.1, 1.4, RUNS), "link3.u1": 1.0},
        "metrics": ["maximum(last acceleration)", "rms(last acceleration)", "minimum(height)"],
        "outputs": SHOWN,
    }


def planned(method: str, ends: bool = True) -> Plan:
    return plan(core_of(chain(ends)), RunSettings(3.0, step=0.01, sample=0.05, method=method), **batch())


def test_outputs_of_rates_need_a_part_of_the_operations() -> None:
    """The equations of motion are not computed again: nothing is divided, and only sines are called."""
    model = core_of(chain())
    program = restrict_outputs(model.equations.program, model.output_names, SHOWN)
    found = with_outputs_of_rates(program, model.equations.targets, SHOWN)
    read = [program.state[i].data.name for i, _ in found.row_rates]
    assert read == ["cart.u1", "link0.u1", "link1.u1", "link2.u1", "link3.u1"]
    assert str(program.outputs.operations) == "126 +, 181 ×, 4 ÷, 8 functions"
    assert str(found.outputs.operations) == "35 +, 42 ×, 0 ÷, 8 functions"
    assert found.constants == program.constants and found.derivatives is program.derivatives


def test_outputs_without_rates_are_left_alone() -> None:
    model = core_of(chain())
    program = restrict_outputs(model.equations.program, model.output_names, ["height"])
    assert with_outputs_of_rates(program, model.equations.targets, ["height"]) is program


@pytest.mark.parametrize("method", ["rk4", "ab2"])
def test_lanes_have_the_accelerations_of_the_scalar_loop(method: str, on_lanes: list[int]) -> None:
    """Rows at steps, the first and the last row, and rows of runs that an event ends."""
    made = planned(method)
    scalar, lanes = (kind(made)(made.starts, 0, RUNS) for kind in (Scalar, LanesWithEvents))
    np.testing.assert_array_equal(lanes.status, scalar.status)
    assert {FINISHED, EVENT} == set(lanes.status)
    for name in ("state", "rows", "slots", "t_stop"):
        np.testing.assert_allclose(getattr(lanes, name), getattr(scalar, name), rtol=1e-9, atol=1e-10)
    assert sum(on_lanes) > 100 * RUNS


@pytest.mark.parametrize("method", ["rk4", "midpoint", "ab2"])
def test_lanes_without_events_compute_rates_once(method: str) -> None:
    """Numbers of the scalar loop; the loop's outputs read rates, and the step uses them once more."""
    made = planned(method, ends=False)
    scalar, found = (kind(made)(made.starts, 0, RUNS) for kind in (Scalar, Lanes))
    assert {FINISHED} == set(found.status)
    for name in ("state", "rows", "slots", "t_stop"):
        np.testing.assert_allclose(getattr(found, name), getattr(scalar, name), rtol=1e-9, atol=1e-10)
    rated = replace(made, program=made.program_with_rates(made.program, made.code.equations.targets))
    calls = [LaneSteps(each, 4).texts()[0].count("call void @derivatives") for each in (made, rated)]
    assert calls[1] - calls[0] == (2 if method == "ab2" else 1), "only those of a run's start"


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("threads", [1, 2])
def test_registers_of_a_card_compute_rates_once(
    threads: int, precision: str, card: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row has its own; the kernel with fixed steps keeps a step's first rates for its row."""
    monkeypatch.setattr(kernels, "best_team", lambda writer, real, resident: Team.of(writer, threads))
    given = {**batch(), "step": 0.01, "method": "midpoint", "progress": False, "sample": 0.05}
    cpu = chain(False).simulate_batch(3.0, **given)
    gpu = chain(False).simulate_batch(3.0, device="gpu", precision=precision, **given)
    text = (card.folder / "1" / "kernel.cu").read_text()
    assert "if (s > 0)" in text and ("model_rates(rate, rates)" in text) == (threads == 2)
    close = {"rtol": 1e-9, "atol": 1e-10} if precision == "double" else {"rtol": 2e-3, "atol": 2e-3}
    for column in (*given["metrics"], *SHOWN):
        np.testing.assert_allclose(gpu[column], cpu[column], **close)


@pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
@pytest.mark.parametrize("how", [{"sample": 0.05}, {"sample": 0.037}])
def test_a_card_has_the_accelerations_of_the_process(how: dict[str, Any], card: Module) -> None:
    """Rows at the ends of steps, and inside of steps, where rates are computed for the row."""
    given = {**batch(), "step": 0.01, "method": "midpoint", "progress": False, **how}
    cpu, gpu = (chain().simulate_batch(3.0, device=d, **given) for d in ("cpu", "gpu"))
    assert gpu.info["engine"] == "gpu" and "rates = run->k0" in (card.folder / "1" / "kernel.cu").read_text()
    assert list(gpu.status) == list(cpu.status) and {"event", "finished"} == set(gpu.status)
    for column in (*given["metrics"], *SHOWN):
        np.testing.assert_allclose(gpu[column], cpu[column], rtol=1e-9, atol=1e-10)
