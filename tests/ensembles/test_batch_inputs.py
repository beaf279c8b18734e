"""Inputs over time in batches: every engine makes the runs that single runs are."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines import lane_engines
from armillary.ensembles.plan import plan
from armillary.errors import ArmillaryError
from armillary.runtime.inputs.reading import InputBlock
from armillary.settings import RunSettings
from tests.systems.driven_mass import DATA, RUNS, STIFFNESS, T_END, TIMES, made

pytestmark = pytest.mark.optimised


@pytest.fixture(scope="module")
def plain() -> arm.CompiledModel:
    return made(rate=False)


def check(model: arm.CompiledModel, engine: str, signal: Any, *, rounding: float = 1e-9, **how: Any) -> None:
    """A batch against single runs; push differs from run to run as a memory."""
    push = np.linspace(0.0, 2.0, RUNS)
    batch = model.simulate_batch(
        T_END, parameters={"k": STIFFNESS}, memory={"push": push}, inputs={"road": signal}, sample=0.25,
        progress=False, **how,
    )  # fmt: skip
    assert batch.info["engine"].startswith(engine), batch.info["engine"]
    assert list(batch.status) == ["finished"] * RUNS
    for i in (0, 4, RUNS - 1):
        own = signal.of_run(i)
        run = model.simulate(
            T_END, parameters={"k": STIFFNESS[i]}, memory={"push": push[i]}, inputs={"road": own},
            sample=0.25, **how,
        )  # fmt: skip
        for name in ("b.q1", "road", "push"):
            np.testing.assert_allclose(batch[name][i], run[name], rtol=rounding, atol=1e-12)
    place = list(model.equations.system.memories).index("road")
    np.testing.assert_allclose(
        batch.final_memory[:, place], 1e-3 * np.broadcast_to(signal(T_END), RUNS), rtol=1e-12
    )


@pytest.mark.parametrize("values", [DATA, DATA[0]], ids=["per run", "shared"])
@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_lanes_of_fixed_steps(plain: arm.CompiledModel, values: np.ndarray, how: str) -> None:
    check(plain, "lanes", arm.Signal(TIMES, values, interpolation=how), step=0.01)


def test_lanes_of_adaptive_steps(plain: arm.CompiledModel) -> None:
    check(plain, "lanes", arm.Signal(TIMES, DATA, interpolation="smooth"), method="dopri5")


@pytest.mark.parametrize("how", [{"step": 0.01}, {"method": "dop853"}])
def test_jumps_in_compiled_runs_one_after_another(plain: arm.CompiledModel, how: Any) -> None:
    check(plain, "scalar", arm.Signal(TIMES, DATA, interpolation="hold"), **how)


@pytest.mark.parametrize("method", ["rodas5p", "auto"])
def test_stiff_methods(plain: arm.CompiledModel, method: str) -> None:
    check(plain, "scalar", arm.Signal(TIMES, DATA, interpolation="linear"), method=method)


def test_stiff_methods_on_lanes(plain: arm.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes of the data are differences over 1e-6 of a step, which magnify rounding a million times."""
    monkeypatch.setattr(lane_engines, "_stiff_refusal", lambda plan, lanes: "")
    signal = arm.Signal(TIMES, DATA, interpolation="smooth")
    check(plain, "lanes", signal, method="rodas5p", rounding=1e-7)


def test_rates_and_events() -> None:
    check(made(rate=True), "scalar", arm.Signal(TIMES, DATA, interpolation="linear"), step=0.01)
    check(made(rate=False, event=True), "scalar", arm.Signal(TIMES, 5 * DATA), method="dopri5")


def test_a_wrong_number_of_rows_is_refused(plain: arm.CompiledModel) -> None:
    signal = arm.Signal(TIMES, DATA)
    with pytest.raises(ArmillaryError, match="input 'road' has 11; there must be one per run"):
        plain.simulate_batch(1.0, step=0.01, parameters={"k": [1.0, 2.0]}, inputs={"road": signal})


def test_threads_share_one_set_of_data(plain: arm.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories of runs hold addresses of it: a second set would leave those of the first without data."""
    make = InputBlock.of

    def slowly(pieces: Any) -> InputBlock:
        time.sleep(0.02)
        return make(pieces)

    monkeypatch.setattr(InputBlock, "of", slowly)
    asked = plan(
        core_of(plain), RunSettings(1.0, step=0.01), inputs={"road": arm.Signal(TIMES, DATA)}, runs=RUNS
    )
    with ThreadPoolExecutor(4) as threads:
        memories = list(threads.map(lambda _: asked.starts.block(0, RUNS)[2], range(4)))
    for memory in memories:
        np.testing.assert_array_equal(memory, memories[0])


def test_loops_are_closed_in_every_run_with_inputs() -> None:
    """A slider-crank, x = a cos q + sqrt(b² − a² sin² q), whose slider is pushed."""
    s = arm.System("pushed crank")
    push = s.input("push", units="N")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(0.01, 0.01, 0.01))
    B = s.body("B", A, arm.Revolute("z"), at=(0.1, 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    C = s.body("C", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(B.point("end", (0.3, 0, 0)), C.origin, [s.ground.x, s.ground.y], name="pin")
    s.force("pushing", push, s.ground.x, at=C.com)
    model = s.derive().compile()
    q, times, data = np.array([0.3, 0.6, 0.9]), [0.0, 1.0], np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    how = {"step": 0.01, "progress": False}
    batch = model.simulate_batch(0.05, initial={"A.q1": q}, inputs={"push": arm.Signal(times, data)}, **how)
    x = 0.1 * np.cos(q) + np.sqrt(0.09 - (0.1 * np.sin(q)) ** 2)
    np.testing.assert_allclose(batch["C.q1"][:, 0], x, atol=1e-12)
    run = model.simulate(0.05, initial={"A.q1": q[2]}, inputs={"push": arm.Signal(times, data[2])}, **how)
    np.testing.assert_array_equal(batch["C.u1"][2], run["C.u1"])
