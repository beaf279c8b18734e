"""Runs with the settings of earlier ones, whose rooms they use again: the same to the last bit."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ParameterError, SimulationError
from armillary.runtime import progress
from armillary.runtime.integrators import compiled_run, integrate
from armillary.runtime.models import repeated_runs
from armillary.runtime.start import assembly
from armillary.stages.model import Model
from tests.runtime.compiled_systems import pendulum_model, spinning
from tests.systems.changing_links import changing
from tests.systems.locks import locking, two_motors


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of all runs that were tried in this way, whether they were made so."""
    found: list[bool] = []
    run = repeated_runs.RepeatedRuns.run

    def noted(self: Any, *given: Any) -> Any:
        result = run(self, *given)
        found.append(result is not None)
        return result

    monkeypatch.setattr(repeated_runs.RepeatedRuns, "run", noted)
    return found


@cache
def linkage() -> Model:
    return changing()


@cache
def with_a_state() -> Model:
    s = arm.System("pendulum")
    s.body("A", joint=arm.Revolute("z"), mass=1, com=(0, -1, 0), inertia=(1, 1, 1))
    s.state("z", "cos(A.q1)", units="ms")  # whose values are multiplied in entering
    s.event("passes", "A.q1", direction=1)
    s.gravity(9.81, -s.ground.y)
    return s.derive().compile()


def test_rows_are_those_that_the_loop_wrote_and_times_those_of_other_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither is copied or looked at again: for long runs that took half the time of a row."""
    results = []
    result = compiled_run.CompiledRun.result
    monkeypatch.setattr(
        compiled_run.CompiledRun, "result", lambda *given: results.append(result(*given)) or results[-1]
    )
    how = {"step": 1e-2, "sample": 1e-2, "parameters": {"c": 0.1}}
    runs = [pendulum_model().simulate(1.0, initial={"bob.q1": x}, **how) for x in (0.1, 0.2, 0.3)]
    for run, found in zip(runs, results, strict=True):
        assert run.values is found.samples and not run.values.flags.writeable
    first, *others = [run.time for run in runs]
    assert all(np.shares_memory(first, other) for other in others)
    with pytest.raises(ValueError, match="WRITEABLE"):
        others[-1].setflags(write=True)


def same(found: arm.Run, expected: arm.Run) -> None:
    assert found.time.tobytes() == expected.time.tobytes()
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.events == expected.events and found.parameters == expected.parameters
    first, second = ({**run.info, "created": ""} for run in (found, expected))
    assert first == second and list(first) == list(second)


RUNS: dict[str, tuple[Any, list[dict[str, float] | None], dict[str, Any]]] = {
    "fixed steps": (pendulum_model, [{"bob.q1": 0.3}, {"bob.u1": 1.0, "bob.q1": -0.2}, None], {"step": 1e-2}),
    "rows inside steps": (
        pendulum_model,
        [{"bob.q1": 0.3}, {"bob.q1": 0.5}],
        {"step": 1e-2, "sample": 0.033},
    ),
    "many rows": (pendulum_model, [{"bob.q1": 0.3}, {"bob.q1": 0.5}], {"step": 2e-4}),
    "a state, events": (with_a_state, [{"A.q1": 2.0, "z": 1 / 3}, {"z": 0.3, "A.u1": -3.0}], {"sample": 0.1}),
    "Euler parameters": (spinning, [{"A.q4": 2.0, "A.q5": 1.0, "A.u4": 1.0}, {"A.u5": 3.0}], {"sample": 0.1}),
    "exchanges, loops to be closed": (
        linkage,
        [{"A.u1": 6.0}, {"A.u1": 1.0}, {"B.u1": -2.0}, {"A.u1": 1.0, "A.q1": 1.2}],
        {"sample": 0.1},
    ),
    "a lock": (locking, [{"A.u1": 1.0}, {"B.u1": 0.5}], {"step": 1e-2}),
}


@pytest.mark.parametrize(("model", "starts", "how"), RUNS.values(), ids=RUNS)
def test_runs_in_rooms_that_others_have_used(
    model: Any, starts: list[dict[str, float] | None], how: dict[str, Any], made: list[bool]
) -> None:
    model, how = model(), {"t_end": 1.5, "parameters": {"c": 0.1}, **how}
    if "c" not in model.parameters:
        del how["parameters"]
    for initial in (*starts, *starts):  # all that they meet is known then
        model.simulate(initial=initial, **how)
    expected = []
    for initial in starts:
        core_of(model)._kept = None
        expected.append(model.simulate(initial=initial, **how))
    del made[:]
    model.simulate(initial=starts[0], **how)
    found = [model.simulate(initial=initial, **how) for initial in (*starts, *starts)]
    assert made == [True] * len(found)
    for run, other in zip(found, (*expected, *expected), strict=True):  # rows of earlier runs are theirs
        same(run, other)


@pytest.mark.parametrize("how", [{"step": 1e-3}, {"rtol": 1e-12}], ids=["rk4", "dop853"])
def test_runs_on_a_terminal_are_made_so_and_show_their_progress(
    how: dict[str, Any],
    made: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"parameters": {"c": 0.1}, "initial": {"bob.q1": 0.3}, "sample": 0.1, **how}
    expected = [pendulum_model().simulate(3.0, **given) for _ in range(3)][-1]
    for name, value in (("on_terminal", lambda: True), ("_PATIENCE", 0.0), ("_OFTEN", 0.0)):
        monkeypatch.setattr(progress, name, value)
    monkeypatch.setattr(integrate, "FIRST_STEPS", 20)
    monkeypatch.setattr(integrate, "CHUNK_SECONDS", 1e-6)
    del made[:]
    same(pendulum_model().simulate(3.0, **given), expected)
    assert made == [True]
    assert "100.0 %  t = 3 s" in capsys.readouterr().err


def test_rows_with_room_from_the_start_are_those_of_a_room_that_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2,501 rows; the second run is stopped after a part of them, and the third one uses its room."""
    model, results = with_a_state(), []
    for room in (compiled_run._GIVEN_AT_ONCE, 0):
        monkeypatch.setattr(compiled_run, "_GIVEN_AT_ONCE", room)
        core_of(model)._kept = None
        core_of(model).run_functions.plans.clear()
        for q, most in ((0.3, 10_000), (0.5, 1300), (0.7, 10_000)):
            given = {"sample": 4e-4, "step": 4e-4, "max_steps": most, "initial": {"A.q1": q}}
            try:
                results.append(model.simulate(1.0, **given))
            except SimulationError as error:
                results.append(error.run)
    assert [len(run) for run in results[:3]] == [2501, 1301, 2501]
    for found, expected in zip(results[:3], results[3:], strict=True):
        same(found, expected)


def test_each_run_has_its_own_parameters_whatever_the_runs_before_had() -> None:
    """F t²/(2 m) of 1 kg after 1 s; also with numbers of other kinds, and names in another order."""
    s = arm.System("push")
    body = s.body("body", joint=arm.Prismatic("x"), mass=s.parameter("m", 1.0), inertia=0)
    s.force("push", s.parameter("F", 1.0), body.x, at=body.com)
    model = s.derive().compile()
    given = [None, {"F": 2.0}, {}, {"F": 2.0}, None, {"F": 3}, {"F": np.float64(2.0)}, {"F": 2.0, "m": 4.0},
             {"m": 4.0, "F": 2.0}, {"m": 2.0, "F": 4.0}, {"F": 4.0, "m": 2.0}, {"F": 4.0}, {}]  # fmt: skip
    for parameters in given:
        expected = 0.5 * (parameters or {}).get("F", 1.0) / (parameters or {}).get("m", 1.0)
        for _ in range(2):
            run = model.simulate(1.0, step=0.5, parameters=parameters)
            assert run["body.q1"][-1] == pytest.approx(expected, rel=1e-12), parameters


def test_other_settings_parameters_and_names_are_noticed(made: list[bool]) -> None:
    model = pendulum_model()
    how: dict[str, Any] = {"t_end": 0.2, "step": 1e-2, "parameters": {"c": 0.0}}
    runs = [model.simulate(initial={"bob.q1": 0.3}, **how) for _ in range(3)]
    assert made == [True]
    other = model.simulate(initial={"bob.q1": 0.3}, **{**how, "parameters": {"c": 0.5}})
    assert np.any(other.values != runs[0].values)
    for initial, message in (({"bob.q2": 0.3}, "'bob.q2'"), ({"bob.q1": float("nan")}, "'bob.q1'")):
        for _ in range(3):
            with pytest.raises(ParameterError, match=message):
                model.simulate(initial=initial, **how)
    with pytest.raises(ParameterError, match="'c' needs a number"):  # which is not compared with 0.0
        model.simulate(**{**how, "parameters": {"c": np.array([0.0, 0.1])}})
    degrees = model.simulate(initial={"bob.q1": "0.3 rad"}, **how)
    same(degrees, runs[0])
    memory: list[float] = []
    model.simulate(initial={"bob.q1": 0.3}, **how, progress=memory.append)
    assert memory  # a function that is called


def test_loops_that_cannot_be_closed_and_that_tear_say_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model, said = two_motors(), set()
    for _ in range(4):
        with pytest.raises(SimulationError, match="does not hold any more") as torn:
            model.simulate(8.0, sample=0.1)
        said.add((str(torn.value), torn.value.run.values.tobytes()))
    assert len(said) == 1
    runs = [model.simulate(2.0, sample=0.5, initial={"B.q1": 2.0}) for _ in range(3)]
    monkeypatch.setattr(assembly, "_FEW", 1)  # which takes too long: closed again in a thread
    same(model.simulate(2.0, sample=0.5, initial={"B.q1": 2.0}), runs[0])


def test_a_run_that_begins_while_another_is_under_way_has_a_room_of_its_own(
    monkeypatch: pytest.MonkeyPatch, made: list[bool]
) -> None:
    model, drive = linkage(), repeated_runs.drive
    how: dict[str, Any] = {"t_end": 1.0, "sample": 0.01}
    starts: list[dict[str, float]] = [{"A.u1": 6.0}, {"A.u1": 1.0}]
    first, second = [model.simulate(initial=start, **how) for start in (*starts, *starts)][2:]
    inner: list[arm.Run] = []

    def shared(*given: Any, **more: Any) -> Any:
        if not inner:
            work = threading.Thread(target=lambda: inner.append(model.simulate(initial=starts[1], **how)))
            monkeypatch.setattr(repeated_runs, "drive", drive)
            work.start()
            work.join()
        return drive(*given, **more)

    monkeypatch.setattr(repeated_runs, "drive", shared)
    same(model.simulate(initial=starts[0], **how), first)
    same(inner[0], second)
    assert made[-2:] == [True, True]


def test_a_change_of_what_code_is_compiled_for_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are chosen by it, also those of runs that have been made."""
    model = pendulum_model()
    for _ in range(3):
        model.simulate(0.1, step=1e-2, parameters={"c": 0.0})
    plans = len(core_of(model).run_functions.plans)
    monkeypatch.setenv("ARMILLARY_CPU", "-nothing")
    model.simulate(0.1, step=1e-2, parameters={"c": 0.0})
    assert len(core_of(model).run_functions.plans) == plans + 1


def rod(middle: Any, last: str) -> Model:
    """Three bars in a row, held by a rod, of which a joint is locked for a while."""
    s = arm.System("rod")
    s.gravity(9.81, -s.ground.z)
    bar: dict[str, Any] = {"com": (0.3, 0.05, 0.02), "mass": 1.0, "inertia": (0.1, 0.2, 0.3)}
    A = s.body("A", joint=arm.Revolute("z"), **bar)
    B = s.body("B", A, middle, at=(0.5, 0, 0.1), **bar)
    C = s.body("C", B, arm.Revolute(last), at=(0.4, 0.1, 0), **bar)
    s.close_joint("distance", C.com, s.ground.point("hook", (1.6, 0.2, 0.3)), length=0.9, name="rod")
    s.event("hold", "t - 0.05", lock="A.q1")
    s.event("let go", "t - 0.1", unlock="A.q1")
    return s.derive().compile(tier="quick")


def test_the_first_run_through_a_change_is_its_repetition() -> None:
    """The first one meets configurations that the loop of the second has in its table: with starts whose
    choice of dependent speeds is good or poor, equal to the last bit.
    """
    model = rod(arm.Gimbal("zxy"), "y")
    at_once = []
    for q in (0.0, 0.6, -0.8):
        fresh = model.equations.compile()
        start = {"B.q1": q, "B.q2": 0.3, "B.u1": -2.0, "C.u1": 0.7}
        runs = [fresh.simulate(0.2, initial=start, step=0.01) for _ in range(2)]
        at_once.append(str(runs[0].info["configurations"]).startswith("t = 0 s"))
        for run in runs[1:]:
            np.testing.assert_array_equal(run.values, runs[0].values)
    assert set(at_once) == {True, False}
    with pytest.raises(arm.ArmillaryError, match=r"0\.01 s apart are not distinct near t0 = 1e\+15 s"):
        model.simulate(1e15 + 1, t0=1e15, step=0.01)


def test_a_step_that_jumps_over_a_nearly_singular_place_is_taken_back_alike_in_all_runs() -> None:
    """Steps of 10 ms, of which one jumps over a quick exchange of dependent speeds, also in short steps: the
    first run has legs that begin elsewhere than those of later ones. No rank is lost, as in a finer run.
    """
    model = rod(arm.Revolute("y"), "x")
    runs = [model.simulate(0.2, initial={"B.u1": 2.0}, step=0.01) for _ in range(3)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.values, runs[0].values)
    finer = model.simulate(0.2, initial={"B.u1": 2.0}, step=1e-3)
    assert "passed" not in runs[0].info["configurations"] + finer.info["configurations"]
    assert runs[0].info["configurations"].count("became") == 2
