"""Inputs over time on a GPU: the kernel's source compiled as C++, behind a stand-in for CuPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines.gpu_engine import steps_to_jumps
from armillary.ensembles.engines.gpu_runs import FixedSteps
from armillary.ensembles.plan import plan
from armillary.settings import RunSettings
from armillary.solver.methods.registry import METHODS
from tests.ensembles.fake_cupy import CXX, Module
from tests.systems.driven_mass import DATA, RUNS, STIFFNESS, T_END, TIMES, made

pytestmark = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
UNEVEN = np.sort(np.random.default_rng(5).uniform(-0.1, 1.2, 40))


@pytest.fixture(scope="module")
def plain() -> arm.CompiledModel:
    return made(rate=False)


def _both(model: arm.CompiledModel, signal: arm.Signal, **how: Any) -> tuple[arm.Batch, arm.Batch]:
    given: dict[str, Any] = {
        "parameters": {"k": STIFFNESS},
        "memory": {"push": np.linspace(0.0, 2.0, RUNS)},
        "inputs": {"road": signal},
        "sample": 0.25,
        "step": 0.01,
        "metrics": {"high": "maximum(b.q1)"},
        "outputs": ["b.q1", "road", "push"],
        "progress": False,
    }
    cpu, gpu = model.simulate_batch(T_END, **given), model.simulate_batch(T_END, device="gpu", **given, **how)
    assert gpu.info["engine"] == "gpu" and list(gpu.status) == ["finished"] * RUNS
    return cpu, gpu


@pytest.mark.parametrize(
    ("times", "values", "how"),
    [
        (TIMES, DATA, "linear"),
        (TIMES, DATA[0], "cubic"),
        (UNEVEN, DATA, "smooth"),
        (TIMES, DATA, "hold"),
        (UNEVEN, DATA[0], "hold"),
        (np.linspace(0.0, 1.0, 11), DATA[0, :11], "hold"),
    ],
    ids=["per run", "shared spline", "uneven", "jumps", "uneven jumps", "jumps at ends of steps"],
)
def test_runs_are_those_of_the_process(
    plain: arm.CompiledModel, card: Module, times: np.ndarray, values: np.ndarray, how: str
) -> None:
    """To rounding, with jumps inside steps and at their ends; steps that end at a jump differ in length."""
    cpu, gpu = _both(plain, arm.Signal(times, values, interpolation=how))
    for name in ("b.q1", "road", "push", "high"):
        np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(gpu.final_memory, cpu.final_memory, rtol=1e-12)
    assert (card.launches == 1) == (how != "hold")


def test_rates_of_inputs_and_single_precision(plain: arm.CompiledModel, card: Module) -> None:
    cpu, gpu = _both(made(rate=True), arm.Signal(TIMES, DATA, interpolation="smooth"))
    np.testing.assert_allclose(gpu["b.q1"], cpu["b.q1"], rtol=1e-11, atol=1e-14)
    cpu, gpu = _both(plain, arm.Signal(TIMES, DATA), precision="single")
    np.testing.assert_allclose(gpu["b.q1"], cpu["b.q1"], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "times", [TIMES, UNEVEN, np.linspace(0.0, 1.0, 40)], ids=["even", "uneven", "others"]
)
def test_jumps_in_single_precision(plain: arm.CompiledModel, card: Module, times: np.ndarray) -> None:
    """The time has seven digits there: a step must end before a jump, and the next begin behind it. If one
    of them did not, errors would be 5e-3.
    """
    cpu, gpu = _both(plain, arm.Signal(times, DATA, interpolation="hold"), precision="single")
    np.testing.assert_allclose(gpu["b.q1"], cpu["b.q1"], rtol=2e-5, atol=1e-6)


def test_chunks_have_the_data_of_their_own_runs(plain: arm.CompiledModel, card: Module) -> None:
    signal = arm.Signal(TIMES, DATA, interpolation="linear")
    asked = plan(
        core_of(plain), RunSettings(T_END, step=0.01, sample=0.25), inputs={"road": signal}, runs=RUNS
    )
    engine = FixedSteps(asked)
    whole = engine(asked.starts, 0, RUNS)
    for first, end in ((0, 4), (4, RUNS)):
        np.testing.assert_array_equal(engine(asked.starts, first, end).rows, whole.rows[..., first:end])


def test_data_that_do_not_fit_are_refused(plain: arm.CompiledModel, card: Module) -> None:
    card.memory = 10_000  # bytes
    with pytest.raises(arm.ArmillaryError, match=r"the data of inputs take .* GiB, more than half"):
        _both(plain, arm.Signal(TIMES, DATA))


def test_jumps_and_memories_of_steps(card: Module) -> None:
    """A counter of steps, which a jump does not add to; a mass whose force jumps at 0.505 s: x = a t²/2."""
    s = arm.System("counter")
    u = s.input("u", interpolation="hold")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("f", u, s.ground.x, at=b.com)
    s.memory("steps", 0.0, update="steps + 1")
    s.output("count", "steps")
    model = s.derive().compile()
    jumps = {"u": ([0.0, 0.505, 1.0], [0, 2, 0])}
    for how in ({"step": 0.01}, {"method": "dop853", "sample": 0.1}):
        cpu, gpu = (
            model.simulate_batch(1.0, runs=2, inputs=jumps, device=d, progress=False, **how)
            for d in ("cpu", "gpu")
        )
        np.testing.assert_allclose(gpu["b.q1"], cpu["b.q1"], rtol=1e-12, atol=1e-15)
        assert gpu["b.q1"][1, -1] == pytest.approx(0.495**2, rel=1e-11)
        if "step" in how:
            np.testing.assert_array_equal(gpu["count"], cpu["count"])


def test_events_keep_the_data_of_their_run(card: Module) -> None:
    """Two discs that grip and let go, driven by a moment of each run's own; it jumps every half second."""
    s = arm.System("driven clutch")
    a = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 2))
    s.body("B", a, joint=arm.Revolute("z"), mass=1, inertia=(2, 2, 3))
    s.moment("drive", s.input("u", units="N*m", interpolation="hold"), "ground.z", on=a)
    s.event("grip", "t - 1", lock="B.q1")
    s.event("free", "t - 2", unlock="B.q1")
    signal = arm.Signal(np.linspace(0, 3, 7), DATA[:4, :7], interpolation="hold")
    model = s.derive().compile()
    cpu, gpu = (
        model.simulate_batch(3.0, step=0.01, sample=0.25, inputs={"u": signal}, device=d, progress=False)
        for d in ("cpu", "gpu")
    )
    for name in ("A.q1", "B.u1", "u"):
        np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"stops": [0.1], "updates": 1}, "inputs jump, and 'p' has memories"),
        ({"stops": [0.1]}, ""),
        ({"updates": 1}, ""),
        ({"method": "dopri5"}, "method 'dopri5' chooses its own steps"),
        ({"row_at": None}, "samples lie inside steps"),
        ({"events": 64}, ""),
        ({"events": 65}, "'p' has more than 64 constraints"),
        ({"watched": ["hit"]}, "'p' has the event 'hit'"),
    ],
)
def test_the_quickest_kernel_is_for_fixed_steps_without_events(given: dict[str, Any], words: str) -> None:
    program = SimpleNamespace(
        name="p",
        events=SimpleNamespace(results=[0] * given.get("events", 0)),
        update=SimpleNamespace(results=[0] * given.get("updates", 0)),
    )
    watched = [SimpleNamespace(name=name) for name in given.get("watched", ())]
    model = SimpleNamespace(equations=SimpleNamespace(targets=SimpleNamespace(watched=watched)))
    plan: Any = SimpleNamespace(
        program=program, model=model, method=METHODS[given.get("method", "rk4")], stops=given.get("stops"),
        row_at=given.get("row_at", 10),
    )  # fmt: skip
    found = FixedSteps.refusal(plan)
    assert found.startswith(words) if words else found == ""


def test_steps_end_at_the_jumps_of_inputs_once_each() -> None:
    """Jumps within a step divide it, two in three parts; one at a grid point, or by rounding beside it, makes
    no step of its own, and the step before it ends some roundings early.
    """
    grid = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    plan: Any = SimpleNamespace(
        grid=grid,
        steps=np.diff(grid),
        row_at=np.array([0, -1, 1, -1, -1, 2]),
        stops=np.array([0.15, 0.2, 0.33, 0.36, 0.4 + 1e-12]),
        settings=SimpleNamespace(fixed_step=0.1),
        kept=np.array([True, True, True]),
        measured=np.array([True, False, True]),
        history=(0,),
        metrics=(),
    )
    points, steps, due = steps_to_jumps(plan, np.dtype(np.float32))
    assert points == pytest.approx([0, 0.1, 0.15, 0.2, 0.3, 0.33, 0.36, 0.4, 0.5], abs=2e-12)
    assert due.tolist() == [2, 0, 0, 4, 0, 0, 0, 0, 6]
    early = 4 * 2.0**-23 * points[1:] * [0, 1, 1, 0, 1, 1, 1, 0]
    assert np.diff(points) - steps == pytest.approx(early, abs=2e-12)
