"""Closed loops in FMUs, through the functions of the standard: start values that open them, and drift."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.export.fmi.fmu_models import VERSIONS, need_compiler
from tests.export.fmi.host import FailedCall, Host, simulate_fmu
from tests.systems.reclosing import crank, five_bar_equations

NAMES = ["A.q1", "B.q1", "C.q1"]


@pytest.fixture(params=VERSIONS)
def linkage(request: pytest.FixtureRequest, four_bar_unit: Callable[[str], Path]) -> Path:
    return four_bar_unit(request.param)


def gap(q: list[float] | np.ndarray) -> float:
    """How far apart the pins are, with the lengths of the example."""
    a, b, c = q[0], q[0] + q[1], q[2]
    x = 0.5 * math.cos(a) - 0.3 * math.sin(b) - (0.1 + 0.4 * math.cos(c))
    return math.hypot(x, 0.5 * math.sin(a) + 0.3 * math.cos(b) - (0.3 + 0.4 * math.sin(c)))


@pytest.mark.parametrize("exchange", [False, True])
def test_a_start_value_that_opens_a_loop_is_assembled_when_initialization_ends(
    linkage: Path, exchange: bool
) -> None:
    one = Host(linkage, exchange=exchange)
    one.initialize(0.0, {"A.q1": -0.4})
    found = one.get(NAMES)
    assert found[0] == -0.4
    assert gap(found) < 1e-10
    one.close()


def test_a_start_that_cannot_be_assembled_is_an_error_with_a_message(linkage: Path) -> None:
    """And the importer may set other values and end the initialization then."""
    one = Host(linkage)
    with pytest.raises(FailedCall, match="ExitInitializationMode: status 3"):
        one.initialize(0.0, {"A.q1": -1.9, "B.q1": 0.2})
    assert "the loops cannot be closed with A.q1, B.q1 as given" in one.messages[-1]
    assert "'pin along B.x': B.pin stays on C.pin along B.x" in one.messages[-1]
    one.set({"B.q1": 0.4, "A.q1": -0.4})
    one.call("ExitInitializationMode")  # more is given than the loop leaves free: B.q1 is a first guess
    found = one.get(NAMES)
    assert found[0] == -0.4
    assert gap(found) < 1e-10
    one.close()


def test_drift_of_a_host_s_integrator_is_taken_off_in_an_event(linkage: Path) -> None:
    """5e-5 off asks for an event, whose iteration closes the loop and tells that states have moved; a state
    as it should be asks for none.
    """
    one = Host(linkage, exchange=True)
    one.initialize(0.0, {"A.q1": -0.2})
    assert not one.discrete().moved
    one.call("EnterContinuousTimeMode")
    x = one.vector("GetContinuousStates", one.states)
    one.place(0.0, x)
    assert one.completed() == (False, False)
    assert np.array_equal(one.vector("GetContinuousStates", one.states), x)
    drifted = x + np.array([0.0, 0.0, 5e-5, 0.0])
    assert gap(drifted) > 1e-5
    one.place(0.0, drifted)
    assert one.completed() == (True, False)
    one.call("EnterEventMode")
    assert one.discrete().moved
    found = one.vector("GetContinuousStates", one.states)
    assert found[0] == x[0]
    assert gap(found) < 1e-10
    one.close()


def test_loops_are_closed_anew_after_events_that_set_coordinates(tmp_path: Path) -> None:
    """A slider-crank that is put back again and again, and a slider that is put where no crank reaches."""
    need_compiler()
    s = crank()
    s.event("break", "t - 1.05", direction=1, set={"C.q1": 2.0})
    eom = s.derive()
    unit = eom.export("fmu", tmp_path / "crank.fmu", version="3.0", step=1e-3)
    names = ["A.q1", "B.q1", "C.q1", "A.u1", "W.q1"]
    tight = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}
    for kind, how, room in (("CoSimulation", {"step": 1e-3}, 1e-11), ("ModelExchange", tight, 1e-8)):
        run = eom.compile().simulate(1.0, sample=0.1, **how)
        assert len(run.events) == 12
        found = simulate_fmu(unit, fmi_type=kind, stop_time=1.0, output_interval=0.1, output=names)
        for name in names:
            np.testing.assert_allclose(found[name], run[name], rtol=0, atol=room, err_msg=f"{kind} {name}")
    one = Host(unit)
    one.initialize(0.0, {})
    with pytest.raises(FailedCall):
        one.step(0.0, 1.1)
    assert "the loops cannot be closed with C.q1 as given" in one.messages[-1]
    one.close()


def test_loops_are_closed_anew_in_all_configurations(tmp_path: Path) -> None:
    """A five-bar linkage that is turned by a clock, exchanges dependent speeds, in FMI 2 by events that the
    user did not make, and has a crank caught. Steps of co-simulation are those of the process; a host's
    integrator has 1e-10, which the motion magnifies.
    """
    need_compiler()
    eom = five_bar_equations()
    unit = eom.export("fmu", tmp_path / "five.fmu", step=1e-3, configurations=True)
    names = [f"{body}.{kind}1" for body in "ABCD" for kind in "qu"] + ["times"]
    options: dict[str, Any] = {"stop_time": 1.0, "output_interval": 0.125, "output": names}
    tight = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}
    for kind, how, room in (("CoSimulation", {"step": 1e-3}, 1e-9), ("ModelExchange", tight, 1e-6)):
        run = eom.compile().simulate(1.0, sample=0.125, **how)
        assert len(run.events) == 8 and str(run.info["configurations"]).count("became independent") >= 4
        assert all(word in run.info["configurations"] for word in ("catch", "let go"))
        found = simulate_fmu(unit, fmi_type=kind, **options)
        for name in names:
            said = f"{kind} {name}"
            np.testing.assert_allclose(found[name], run[name], rtol=0, atol=room, err_msg=said)
            np.testing.assert_allclose(found[name][:5], run[name][:5], rtol=0, atol=room / 20, err_msg=said)
