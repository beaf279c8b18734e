"""FMUs that lock joints and exchange dependent speeds, in our own host, against runs in the process.

Their states are all coordinates and all speeds. Co-simulation takes the steps of the process; model exchange
is integrated by SciPy at 1e-10, with an event for each change.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_double, c_size_t, c_uint32
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.export.configuration_cases import CASES, equations, latched, process
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import Host, simulate_fmu

NAMES = ["upper.q1", "lower.q1", "upper.u1", "lower.u1"]


@pytest.fixture(scope="module")
def pendulum() -> Any:
    need_compiler()
    return latched({"lower.u1": "0.5 - upper.u1"}).derive()


@pytest.fixture(scope="module")
def unit(pendulum: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("latched") / "latched.fmu"
    return pendulum.export("fmu", path, version="3.0", step=2e-3)


def far(found: Any, run: Any, names: list[str]) -> float:
    return max(np.max(np.abs(found[n] - run[n])) / (1.0 + np.max(np.abs(run[n]))) for n in names)


def test_locks_and_unlocks_in_co_simulation_and_model_exchange(unit: Path, pendulum: Any) -> None:
    model, names = pendulum.compile(), [*NAMES, "energy"]
    run = model.simulate(3.0, step=2e-3, method="rk4", sample=0.15)
    assert "locks lower.u1" in run.info["configurations"] and "unlocks lower.u1" in run.info["configurations"]
    found = simulate_fmu(unit, stop_time=3.0, output_interval=0.15, output=names)
    assert far(found, run, names) < 1e-12
    run = model.simulate(3.0, method="dop853", rtol=1e-12, atol=1e-13, sample=0.15)
    options: dict[str, Any] = {"stop_time": 3.0, "output_interval": 0.15, "output": names}
    assert far(simulate_fmu(unit, fmi_type="ModelExchange", **options), run, names) < 1e-9


def test_fmus_follow_the_process_through_sixty_events(tmp_path: Path) -> None:
    """Locks, releases with speeds that are set, stick-slip and kicks: states to 1e-9, times to 1e-12."""
    need_compiler()
    case, runs = CASES["locks"], {"CoSimulation": process("locks", "rust"), "ModelExchange": process("locks")}
    path = equations("locks").export("fmu", tmp_path / "panels.fmu", step=case.span / case.steps)
    for kind, run in runs.items():
        assert len(run.events) > 60
        options: dict[str, Any] = {"stop_time": case.span, "output_interval": case.span / 8}
        found = simulate_fmu(path, fmi_type=kind, output=[*run.names], **options)
        assert far(found, run, [*run.names]) < 1e-9, kind
        assert far(found, run, ["sum of times"]) < 1e-12, kind


def test_a_lock_happens_in_the_event_mode_of_co_simulation(unit: Path, pendulum: Any) -> None:
    """The importer sees the clock of the event, lets it happen, and goes on in the other equations."""
    one = Host(unit, events=True)
    one.initialize(0.0, {})
    one.discrete()
    one.call("EnterStepMode")
    seen, t = [], 0.0
    while t < 2.0:
        one.step(t, min(0.5, 2.0 - t))
        t = one.reached
        if one.event:
            one.call("EnterEventMode")
            ticking = [name for name in ("clock(catch)", "clock(let go)") if one.ticks(name)]
            seen.append((*ticking, t, bool(one.discrete().moved)))
            one.call("EnterStepMode")
    run = pendulum.compile().simulate(2.0, step=2e-3, method="rk4")
    assert len(run.events) > 2  # it is thrown when it is let go, and caught again
    assert seen == [(f"clock({e.name})", pytest.approx(e.time, rel=1e-12), True) for e in run.events]
    assert one.get(NAMES) == pytest.approx([run[name][-1] for name in NAMES], rel=1e-9)
    one.close()


def test_fmpy_finds_no_problem_in_an_fmu_that_locks(unit: Path) -> None:
    pytest.importorskip("fmpy", reason="FMPy is not installed")
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(unit)) == []


@pytest.fixture
def caught(unit: Path) -> Iterator[tuple[Host, Any]]:
    """An instance right after the catch, with the news of the event."""
    one = Host(unit, exchange=True)
    one.initialize(0.0, {})
    one.discrete()
    one.call("EnterContinuousTimeMode")
    one.place(0.2, np.array([0.7, -0.29, -1.5, 1.5]))
    one.completed()
    one.call("EnterEventMode")
    yield one, one.discrete()
    one.close()


def test_a_lock_reinitialises_states_and_their_rates(caught: Any) -> None:
    """The elbow stands still after the catch; the angular momentum about the shoulder stays."""
    one, news = caught
    assert news.moved and not news.needed
    first, second, u, elbow = one.vector("GetContinuousStates", 4)
    assert (first, second, elbow) == (0.7, -0.29, 0.0)
    upper, lower = 0.2 + 2.0 * 0.5**2, 0.1
    c = np.cos(-0.29)
    # Body 2 about the shoulder: (r × m v) with r = 1 along body 1 and 0.4 along body 2.
    both = lower + 1.0 + 0.4**2 + 2 * 0.4 * c
    own = lower + 0.4**2 + 0.4 * c
    assert u == pytest.approx(((upper + both) * -1.5 + own * 1.5) / (upper + both), rel=1e-12)
    assert one.vector("GetContinuousStateDerivatives", 4)[3] == 0.0
    assert one.vector("GetContinuousStateDerivatives", 4)[0] == u


def test_derivatives_in_a_configuration_are_finite_differences(caught: Any) -> None:
    one, _ = caught
    one.call("EnterContinuousTimeMode")
    place, h = np.array([0.7, -0.29, -1.2, 0.0]), 1e-6
    one.place(0.2, place)
    states = [one.references[name] for name in NAMES]
    unknowns = [one.references[f"der({name})"] for name in NAMES]
    columns = []
    for i in range(4):
        one.place(0.2, place)
        seed = (c_double * 4)(*np.eye(4)[i])
        found = (c_double * 4)()
        one.call(
            "GetDirectionalDerivative", (c_uint32 * 4)(*unknowns), c_size_t(4), (c_uint32 * 4)(*states),
            c_size_t(4), seed, c_size_t(4), found, c_size_t(4),
        )  # fmt: skip
        columns.append(list(found))
        ahead, behind = (one.rates(0.2, place + sign * h * np.eye(4)[i]) for sign in (1, -1))
        np.testing.assert_allclose(columns[-1], (ahead - behind) / (2 * h), atol=1e-7)
    one.place(0.2, place)
    weights, found = np.array([1.0, -2.0, 0.5, 3.0]), (c_double * 4)()
    one.call(
        "GetAdjointDerivative", (c_uint32 * 4)(*unknowns), c_size_t(4), (c_uint32 * 4)(*states), c_size_t(4),
        (c_double * 4)(*weights), c_size_t(4), found, c_size_t(4),
    )  # fmt: skip
    np.testing.assert_allclose(list(found), weights @ np.transpose(columns), rtol=1e-12, atol=1e-12)


def test_momenta_with_locks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(arm.ArmillaryError, match="has momenta as states and events that lock"):
        latched().derive(formalism="momentum").export("fmu", tmp_path / "x.fmu")
    assert not (tmp_path / "x.fmu").exists()
