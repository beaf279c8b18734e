"""FMUs simulated by two hosts against the same model in the process: our own, and FMPy as a third party.

Co-simulation takes the same rk4 steps as the process, so only rounding differs: 1e-10 of each column's size.
Where a periodic update is due between grid points it ends a step, while the process interpolates within one:
the interpolation's error of fourth order, 5e-10 here, is then allowed ten times.
Model exchange is integrated at 1e-10, by SciPy in our host and by CVode in FMPy, against dop853 at 1e-12:
what is left is CVode's error. FMPy ships CVode and its other binaries for x86 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from examples import four_bar, spinning_top
from tests.export.fmi import host
from tests.export.fmi.fmu_models import START, Exported, need_compiler

Simulate = Callable[..., Any]


@pytest.fixture(params=["our host", "FMPy"])
def simulate_fmu(request: pytest.FixtureRequest) -> Simulate:
    """The function of a host that simulates an FMU; both take the same arguments."""
    if request.param == "our host":
        return host.simulate_fmu
    if not host.FMPY_SIMULATES:
        pytest.skip("FMPy has no binaries for this machine")
    fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
    return lambda path, **options: fmpy.simulate_fmu(str(path), **options)


def far(found: Any, expected: Any) -> float:
    """The largest difference, relative to the column's size."""
    expected = np.asarray(expected)
    return float(np.max(np.abs(found - expected)) / (1.0 + np.max(np.abs(expected))))


CONTINUOUS = ["plate.q1", "ball.q1", "plate.u1", "ball.u1", "height", "spring", "brake"]
DISCRETE = ["bounces", "sampled", "held"]


def test_fmpy_finds_no_problem(unit: Exported) -> None:
    pytest.importorskip("fmpy", reason="FMPy is not installed")
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(unit.path)) == []


def test_co_simulation_is_the_run_in_the_process(
    unit: Exported, hopping: Any, simulate_fmu: Simulate
) -> None:
    run = hopping.compile().simulate(0.5, step=1e-3, initial=START)
    names = [*CONTINUOUS, *DISCRETE, "peak"]
    found = simulate_fmu(
        unit.path, fmi_type="CoSimulation", stop_time=0.5, output_interval=0.01, output=names
    )
    assert len(run.events) == 3  # bounces
    for name in names:
        assert far(found[name], run[name][::10]) < 5e-9, name


def test_model_exchange_is_the_same_motion(unit: Exported, hopping: Any, simulate_fmu: Simulate) -> None:
    run = hopping.compile().simulate(0.5, rtol=1e-12, atol=1e-13, initial=START, sample=0.0125)
    names = [*CONTINUOUS, *DISCRETE]
    found = simulate_fmu(
        unit.path, fmi_type="ModelExchange", stop_time=0.5, output_interval=0.0125, output=names,
        relative_tolerance=1e-10,
    )  # fmt: skip
    at = [int(np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1]) for t in run.time]
    for name in names:
        assert far(found[name][at], run[name]) < 2e-6, name


def test_parameters_and_inputs_reach_the_model_in_their_units(
    unit: Exported, hopping: Any, simulate_fmu: Simulate
) -> None:
    """In a run that starts later, from where its clocks count."""
    changed = {"k": 5.0, "loss": 0.5}
    run = hopping.compile().simulate(
        0.5, t0=0.3, step=1e-3, initial=START, parameters=changed, memory={"push": 4.0}
    )
    found = simulate_fmu(
        unit.path, fmi_type="CoSimulation", start_time=0.3, stop_time=0.5, output_interval=0.01,
        start_values={**changed, "push": 4.0}, output=["ball.q1", "sampled"],
    )  # fmt: skip
    for name in ("ball.q1", "sampled"):
        assert far(found[name], run[name][::10]) < 5e-9


@pytest.fixture(scope="module", params=[four_bar, spinning_top])
def closed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    four_bar_unit: Callable[[str], Path],
) -> tuple[Path, arm.Run]:
    """The FMU of an example for both hosts, and its run in the process."""
    need_compiler()
    equations = request.param.system().derive()
    spun = {name: 2.0 + i for i, name in enumerate(equations.speeds)}
    if request.param is four_bar:
        return four_bar_unit("3.0"), equations.compile().simulate(1.0, step=1e-3)
    place = tmp_path_factory.mktemp("closed") / "unit.fmu"
    path = equations.export("fmu", place, version="3.0", initial=spun)
    return path, equations.compile().simulate(1.0, step=1e-3, initial=spun)


def test_loops_and_euler_parameters_stay_closed(closed: tuple[Path, arm.Run], simulate_fmu: Simulate) -> None:
    path, run = closed
    names = [name for name in run.names if name.rpartition(".")[2][0] in "qu"]
    for kind, bound in (("CoSimulation", 1e-10), ("ModelExchange", 1e-5)):
        found = simulate_fmu(
            path,
            fmi_type=kind,
            stop_time=1.0,
            output_interval=0.1,
            output=names,
            relative_tolerance=1e-9,
        )
        at = [int(np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1]) for t in run.time[::100]]
        for name in names:
            assert far(found[name][at], run[name][::100]) < bound, (kind, name)


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The FMU of a bouncing ball with a clock."""
    need_compiler()
    s = arm.System("ball")
    s.body("b", joint=arm.Prismatic("y"), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.event("bounce", "b.q1", direction=-1, set={"b.u1": "-0.7*b.u1"})
    s.memory("tick", update="tick + 1", every=1e-3)
    options = {"kind": "co_simulation", "initial": {"b.q1": 1.0}}
    return s.derive().export("fmu", tmp_path_factory.mktemp("ball") / "ball.fmu", **options)


def test_bounces_without_end_are_an_error_and_clocks_tick_on(ball: Path, simulate_fmu: Simulate) -> None:
    """A ball dropped from 1 m with restitution 0.7 rests at √(2/g)·(1 + 2·0.7/0.3) = 2.5586 s."""
    said: list[str] = []
    with pytest.raises(Exception, match="fmi2DoStep"):
        simulate_fmu(
            ball,
            stop_time=3.0,
            output_interval=0.5,
            output=["tick"],
            logger=lambda *a: said.append(str(a[-1])),
        )
    assert "event 'bounce' accumulates at t = 2.5586" in said[-1]
    high = {"b.q1": 1e6}  # no bounce for a while: a hundred thousand ticks
    found = simulate_fmu(ball, stop_time=100.0, output_interval=50.0, start_values=high, output=["tick"])
    assert list(found["tick"]) == [0.0, 50_000.0, 100_000.0]


def test_an_event_that_stops_ends_a_simulation_of_either_kind(tmp_path: Path, simulate_fmu: Simulate) -> None:
    need_compiler()
    s = arm.System("stopped")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.event("there", "m.q1 - 0.25", stop=True)
    path = s.derive().export("fmu", tmp_path / "stopped.fmu", initial={"m.u1": 1.0})
    for kind in ("CoSimulation", "ModelExchange"):
        found = simulate_fmu(path, fmi_type=kind, stop_time=1.0, output_interval=0.1, output=["m.q1"])
        assert found["time"][-1] < 0.31, kind


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The FMU of a mass with a force as its input."""
    need_compiler()
    s = arm.System("pushed")
    s.input("push", 0.0, units="N")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("push_x", "push", s.ground.x, at="m")
    return s.derive().export("fmu", tmp_path_factory.mktemp("pushed") / "pushed.fmu")


def test_inputs_run_straight_between_their_rows_and_jump_where_a_time_stands_twice(
    pushed: Path, simulate_fmu: Simulate
) -> None:
    """A unit mass pushed by 1 N until 1 s, then by a force that rises from 3 N to its last: 1 m/s, then 4 m/s
    where it stays at 3 N. Co-simulation holds an input over each communication step of 0.1 s, so that with a
    last of 5 N the speed gains 0.1·(3.0 + 3.2 + … + 4.8) = 3.9 m/s. In model exchange FMPy holds inputs too,
    over steps of its own, so that constant ones are compared.
    """
    for kind, last, speed, bound in (("CoSimulation", 5.0, 4.9, 1e-12), ("ModelExchange", 3.0, 4.0, 1e-7)):
        rows = [(0.0, 1.0), (1.0, 1.0), (1.0, 3.0), (2.0, last)]
        found = simulate_fmu(
            pushed, fmi_type=kind, stop_time=2.0, output_interval=0.1, output=["m.u1"],
            relative_tolerance=1e-10, input=np.array(rows, dtype=[("time", float), ("push", float)]),
        )  # fmt: skip
        at = [int(np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1]) for t in (1.0, 2.0)]
        assert np.allclose(found["m.u1"][at], [1.0, speed], rtol=0, atol=bound), kind
