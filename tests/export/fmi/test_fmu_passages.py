"""FMUs that pass places where constraints lose rank: in co-simulation with communication points inside the
step across, in model exchange by rates of that step, which an importer integrates.

A parallelogram is flat twice in a turn, where its equations are 0/0; its cranks are a pendulum otherwise,
which is driven by an input here. A counter adds up the times at which it is flat.
"""

from __future__ import annotations

import math
from ctypes import byref, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armillary as arm
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import FailedCall, Host, simulate_fmu
from tests.systems.parallelogram import CRANK, GRAVITY, parallelogram, started

STEP = 2.5e-3
NAMES = ["A.q1", "B.q1", "C.q1", "A.u1", "B.u1", "C.u1", "energy", "sum of times"]


@cache
def driven() -> arm.Equations:
    s = parallelogram()
    A = s.bodies["A"]
    s.input("push", 0.0, units="N*m")
    s.moment("drive", "push", s.ground.z, on=A)
    s.memory("times", 0.0)
    s.event("flat", A.q1, set={"times": "times + t"})
    s.output("sum of times", "times")
    s.start(started(0.5, 3.0))
    return s.derive()


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_compiler()
    path = tmp_path_factory.mktemp("flat") / "parallelogram.fmu"
    return driven().export("fmu", path, version="3.0", step=STEP, configurations=True)


@pytest.mark.parametrize("interval", [0.3, STEP])
def test_communication_points_in_a_step_across_show_the_motion_of_the_process(
    unit: Path, interval: float
) -> None:
    """Each step across makes rounding 1e-16 to 1e-10. Rates of dependent speeds are sound there, too."""
    run = driven().compile().simulate(1.5, step=STEP, sample=interval)
    assert str(run.info["configurations"]).count("passed") >= 3
    output = [*NAMES, "der(A.u1)", "der(B.u1)"]
    found = simulate_fmu(unit, stop_time=1.5, output_interval=interval, output=output)
    for name in NAMES:
        size = 1 + np.max(np.abs(run[name]))
        np.testing.assert_allclose(found[name], run[name], rtol=0, atol=1e-9 * size, err_msg=name)
    np.testing.assert_allclose(found["der(B.u1)"], -found["der(A.u1)"], rtol=0, atol=1e-5)


def test_an_importer_integrates_the_step_across(unit: Path) -> None:
    """Its beginning and its end are time events; a counter adds up the times at which it is flat inside."""
    run = driven().compile().simulate(0.7, sample=0.0125, method="dop853", rtol=1e-12, atol=1e-13)
    assert str(run.info["configurations"]).count("passed") == 2
    options: dict[str, Any] = {"stop_time": 0.7, "output_interval": 0.0125, "output": NAMES}
    found = simulate_fmu(unit, fmi_type="ModelExchange", **options)
    for name in NAMES:
        size = 1 + np.max(np.abs(run[name]))
        np.testing.assert_allclose(found[name], run[name], rtol=0, atol=2e-9 * size, err_msg=name)


def pendulum(times: np.ndarray, push: np.ndarray) -> np.ndarray:
    """The crank's angle with an input that has these values from these times on."""
    inertia = 2 * (0.01 + CRANK**2 / 4) + CRANK**2
    y, found = np.array([0.5, 3.0]), [0.5]
    for i in range(len(times) - 1):
        y = solve_ivp(
            lambda _, y, i=i: [y[1], (push[i] - 2 * CRANK * GRAVITY * math.cos(y[0])) / inertia],
            (times[i], times[i + 1]), y, method="DOP853", rtol=1e-11, atol=1e-12,
        ).y[:, -1]  # fmt: skip
        found.append(y[0])
    return np.array(found)


def followed(unit: Path, times: np.ndarray, push: np.ndarray) -> np.ndarray:
    one = Host(unit)
    one.initialize(0.0, {"push": push[0]})
    found = one.get(["A.q1"])
    for i in range(len(times) - 1):
        one.set({"push": push[i]})
        one.step(times[i], times[i + 1] - times[i])
        found += one.get(["A.q1"])
    one.close()
    return np.array(found)


def first_flat() -> float:
    return next(e.time for e in driven().compile().simulate(1.0, step=STEP).events if e.name == "flat")


@pytest.mark.parametrize(("ahead", "room"), [(12, 1e-6), (0, 1e-2), (-12, 1e-6)])
def test_an_input_that_jumps_in_a_step_across_acts_there_or_after_it(
    unit: Path, ahead: int, room: float
) -> None:
    """So many communication steps before the place, where it begins again, and after it the input acts at
    once; in the place, after a tenth of the step, which takes 50 ms.
    """
    count = round(0.6 / STEP)
    times, place = STEP * np.arange(count + 1), round(first_flat() / STEP)
    push = np.where(np.arange(count + 1) >= place - ahead, 1.0, 0.0)
    found, known = followed(unit, times, push), pendulum(times, push)
    assert np.max(np.abs(known - pendulum(times, 0 * push))) > 0.15
    assert np.max(np.abs(found - known)) < room


def test_an_input_that_changes_all_the_time_is_followed_through_flat_positions(unit: Path) -> None:
    times = STEP * np.arange(601)
    push = 0.5 * np.sin(10 * times)
    found, known = followed(unit, times, push), pendulum(times, push)
    assert np.count_nonzero(np.diff(np.sign(np.sin(found)))) >= 3
    assert np.max(np.abs(known - pendulum(times, 0 * push))) > 0.1
    assert np.max(np.abs(found - known)) < 1e-3


def test_an_event_in_a_step_across_happens_in_event_mode(unit: Path) -> None:
    one = Host(unit, events=True)
    one.initialize(0.0, {})
    one.discrete()
    one.call("EnterStepMode")
    seen, t = [], 0.0
    while t < 1.5:
        one.step(t, min(0.5, 1.5 - t))
        t = one.reached
        if one.event:
            one.call("EnterEventMode")
            seen += [t] if one.ticks("clock(flat)") else []  # or weak constraints are looked at
            one.discrete()
            one.call("EnterStepMode")
    run = driven().compile().simulate(1.5, step=STEP)
    assert seen == pytest.approx([e.time for e in run.events if e.name == "flat"], rel=1e-9)
    assert one.get(NAMES) == pytest.approx([run[name][-1] for name in NAMES], rel=1e-8)
    one.close()


def test_a_state_saved_in_a_step_across_goes_on_from_there(unit: Path) -> None:
    """Derivatives are not defined in the place: the importer is told, and goes on."""
    one, place = Host(unit), round(first_flat() / STEP) * STEP
    one.initialize(0.0, {})
    one.step(0.0, place)
    saved, found = c_void_p(), []
    one.call("GetFMUState", byref(saved))
    for _ in range(2):
        one.step(place, 0.1)
        found.append(one.get(NAMES))
        one.call("SetFMUState", saved)
    one.call("FreeFMUState", byref(saved))
    assert found[0] == found[1]
    run: Any = driven().compile().simulate(place + 0.1, step=STEP)
    assert found[0] == pytest.approx([run[name][-1] for name in NAMES], rel=1e-8)
    with pytest.raises(FailedCall, match="there are no derivatives near"):
        derivative_of(one, "der(A.u1)", "A.q1")
    one.close()


def derivative_of(one: Host, unknown: str, known: str) -> float:
    from ctypes import c_double, c_size_t, c_uint32

    found, n = c_double(), c_size_t(1)
    one.call(
        "GetDirectionalDerivative", byref(c_uint32(one.references[unknown])), n,
        byref(c_uint32(one.references[known])), n, byref(c_double(1.0)), n, byref(found), n,
    )  # fmt: skip
    return found.value
