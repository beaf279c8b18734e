"""Simulations of compiled models: methods, rows, what a run records, how it ends."""

from __future__ import annotations

import io
import math
import os
import re
import signal
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ParameterError, SimulationError
from tests.runtime.compiled_systems import escaping, oscillator, pendulum_model, spinning

C = {"c": 0.0}
METHODS = {
    "rk4": {"step": 1e-3},
    "midpoint": {"step": 2e-5},
    "dopri5": {},
    "dop853": {},
    "rodas5p": {},
    "auto": {},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.optimised
def test_every_method_gives_the_same_motion(method: str) -> None:
    """x = cos 2t. To 1e-7 over 2 s, of which each method's own error may be most."""
    run = oscillator().simulate(2.0, method=method, initial={"A.q1": 1.0}, sample=0.25, **METHODS[method])
    assert run.time == pytest.approx(np.arange(9) * 0.25, abs=1e-15)
    assert run["A.q1"] == pytest.approx(np.cos(2 * run.time), abs=1e-7)
    assert run["A.u1"] == pytest.approx(-2 * np.sin(2 * run.time), abs=2e-7)
    assert run["spring"] == pytest.approx(-4 * np.cos(2 * run.time), abs=4e-7)
    assert run.info["method"] == method and run.info["status"] == "finished"


def test_tolerances_are_kept() -> None:
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        run = oscillator().simulate(5.0, method="dopri5", initial={"A.q1": 1.0}, rtol=rtol, atol=rtol)
        errors.append(np.max(np.abs(run["A.q1"] - np.cos(2 * run.time))))
    assert errors[0] < 1e-2 and errors[1] < 1e-5 and errors[2] < 1e-8
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_a_step_alone_means_rk4_and_none_means_dop853() -> None:
    fixed = oscillator().simulate(1.0, step=0.1)
    assert fixed.info["method"] == "rk4" and len(fixed) == 11 and fixed.info["step"] == 0.1
    free = oscillator().simulate(1.0)
    assert free.info["method"] == "dop853" and len(free) == 1001 and free.info["step"] == 0.0
    assert oscillator().simulate(1.0, step=0.1, method="dopri5").info["method"] == "dopri5"


def test_rows_are_a_grid_or_given_times() -> None:
    run = oscillator().simulate(1.0, step=1e-3, sample=0.3, initial={"A.q1": 1.0})
    assert run.time == pytest.approx([0, 0.3, 0.6, 0.9], abs=1e-15)
    times = [0.0, 0.0005, 0.1234, 0.99, 1.0]
    for options in ({"step": 1e-3}, {}, {"method": "rodas5p"}):
        run = oscillator().simulate(1.0, sample=times, initial={"A.q1": 1.0}, **options)
        assert run.time.tolist() == times
        assert run["A.q1"] == pytest.approx(np.cos(2 * run.time), abs=1e-9)
    late = oscillator().simulate(3.0, t0=2.0, step=0.5, initial={"A.q1": 1.0})
    assert late.time.tolist() == [2.0, 2.5, 3.0]


def test_a_run_of_no_length_has_one_row() -> None:
    for options in ({"step": 0.1}, {}):
        run = oscillator().simulate(0.0, initial={"A.q1": 1.0}, **options)
        assert run.time.tolist() == [0.0] and run["A.q1"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk5"}, r"no integration method 'rk5'; did you mean 'rk4'\?"),
        ({"method": "rk4"}, "takes steps of one size: give step=, e.g. step=1e-3"),
        ({"step": -1.0}, "the step must be positive, not -1.0"),
        ({"step": math.nan}, "the step must be positive, not nan"),
        ({"sample": 0.0}, "the time between samples must be positive"),
        ({"sample": [0.0, 3.0]}, "sample times must lie between 0.0 and 1.0"),
        ({"rtol": -1.0}, "tolerances must be positive"),
        ({"atol": [1e-6] * 3}, "atol must be one number or 2"),
        ({"t0": 2.0}, "t0 and t_end must be finite, and t_end not before t0"),
        ({"memory": {"count": 1.0}}, "there is no memory 'count'"),
    ],
)
def test_impossible_ways_to_run(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArmillaryError, match=message):
        oscillator().simulate(1.0, **options)


# ---------------------------------------------------------------- Euler parameters


@pytest.mark.parametrize(
    ("options", "seconds"),
    [({"step": 0.02}, 200.0), ({"rtol": 1e-6, "atol": 1e-8}, 200.0), ({"method": "rodas5p"}, 5.0)],
)
def test_euler_parameters_stay_unit(options: dict[str, Any], seconds: float) -> None:
    """Over thousands of steps whose own errors are larger, to 1e-12; energy shows that the motion is real."""
    start = {"A.u4": 0.2, "A.u5": 3.0, "A.u6": 0.1, "A.u1": 1.0}
    run = spinning().simulate(seconds, initial=start, sample=seconds / 200, **options)
    length = sum(run[f"A.q{i}"] ** 2 for i in range(4, 8))
    assert np.max(np.abs(np.sqrt(length) - 1)) < 1e-12
    assert np.ptp(run["A.q5"]) > 0.5
    energy = run["A.u4"] ** 2 + 2 * run["A.u5"] ** 2 + 2.5 * run["A.u6"] ** 2
    assert energy == pytest.approx(energy[0], rel=1e-4)


# ---------------------------------------------------------------- ends before the end


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"method": "midpoint", "step": 1e-3}])
def test_a_diverging_run_says_when_and_which_state_and_keeps_its_data(options: dict[str, Any]) -> None:
    """ẍ = 2x³ with ẋ = x² has x = 1/(1 − t)."""
    with pytest.raises(SimulationError) as caught:
        escaping().simulate(5.0, initial={"A.q1": 1.0, "A.u1": 1.0}, **options)
    error = caught.value
    assert "simulation of 'escaping' stopped at t = 1.0" in str(error)
    assert "diverged in 'A." in str(error) and ".run" in str(error)
    run = error.run
    assert run.info["status"] == "diverged"
    assert 1000 <= len(run) < 1100 and np.all(np.isfinite(run.values[:-1]))
    early = run.time < 0.9
    assert run["A.q1"][early] == pytest.approx(1 / (1 - run.time[early]), rel=1e-2)


def test_an_adaptive_run_ends_where_no_step_is_small_enough() -> None:
    with pytest.raises(SimulationError) as caught:
        escaping().simulate(5.0, initial={"A.q1": 1.0, "A.u1": 1.0}, method="dopri5", sample=0.1)
    assert re.search(r"stopped at t = 1 s \(step too small in 'A.[qu]1'\)", str(caught.value))
    assert caught.value.run.info["status"] == "step too small"
    assert caught.value.run.time == pytest.approx(np.arange(len(caught.value.run)) * 0.1)
    assert 9 <= len(caught.value.run) <= 11


def test_a_run_with_too_many_steps_keeps_its_data() -> None:
    with pytest.raises(SimulationError, match=r"too many steps\): raise max_steps") as caught:
        oscillator().simulate(10.0, step=0.01, max_steps=50)
    assert len(caught.value.run) in (50, 51)


def test_nan_at_the_start_is_reported_with_its_state() -> None:
    s = arm.System("rooted")
    body = s.body("A", joint=arm.Prismatic("x"), mass=1)
    s.force("pull", "k*sqrt(A.q1)", "ground.x", at=body.com)
    model = s.derive().compile()
    with pytest.raises(SimulationError, match=r"stopped at t = 0 s \(diverged in 'A.u1'\)") as caught:
        model.simulate(1.0, step=0.1, initial={"A.q1": -1.0}, parameters={"k": 1.0})
    assert caught.value.run.info["evaluations"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself")
@pytest.mark.parametrize(
    "options",
    [{"step": 1e-6}, {"method": "dopri5", "max_step": 1e-6}, {"method": "rodas5p", "max_step": 1e-4}],
)
def test_ctrl_c_returns_what_was_computed(options: dict[str, Any]) -> None:
    """The signal comes a moment after two rows of a run that would take minutes to hours, on any machine."""
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def started(t: float) -> None:
        if t > 0.02 and not timer.is_alive() and not timer.finished.is_set():
            timer.start()

    run = oscillator().simulate(1e3, initial={"A.q1": 1.0}, sample=1e-2, progress=started, **options)
    timer.join()
    assert run.info["status"] == "interrupted"
    assert 0.02 < run.time[-1] + 1e-9 < 1e3
    assert run["A.q1"] == pytest.approx(np.cos(2 * run.time), abs=1e-6)


# ---------------------------------------------------------------- progress


def test_a_progress_function_hears_of_the_time_reached() -> None:
    heard: list[float] = []
    oscillator().simulate(1.0, step=1e-6, sample=0.1, progress=heard.append)
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1.0) and len(heard) > 1


def test_a_slow_progress_function_does_not_slow_the_run() -> None:
    """Its own time is not taken for that of the steps between calls."""
    calls = 0

    def slow(t: float) -> None:
        nonlocal calls
        calls += 1
        time.sleep(0.15)

    oscillator().simulate(10.0, step=1e-3, sample=1.0, progress=slow)
    assert calls < 20


def test_an_error_in_a_progress_function_ends_the_run() -> None:
    def broken(t: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        oscillator().simulate(1.0, step=1e-3, progress=broken)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_of_progress_appears_on_a_terminal_only_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armillary.runtime.progress._PATIENCE", 0.0)
    monkeypatch.setattr("armillary.runtime.progress._OFTEN", 0.0)
    for stream, wanted, expected in (
        (Terminal(), True, True),
        (io.StringIO(), True, False),
        (Terminal(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        oscillator().simulate(1.0, step=1e-5, sample=0.1, progress=wanted)
        shown = stream.getvalue()
        assert ("% " in shown and "s left" in shown) == expected
        assert not shown or shown.endswith(" \r")


def test_nothing_is_shown_of_a_short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    oscillator().simulate(1.0, step=1e-3)
    assert stream.getvalue() == ""


# ---------------------------------------------------------------- what a run records


def test_a_run_records_how_it_was_made() -> None:
    run = pendulum_model().simulate(1.0, step=0.01, initial={"bob.q1": 0.2}, parameters={"c": 0.1})
    assert run.system == "pendulum"
    assert run.names == pendulum_model().output_names
    assert run.units["height"] == "cm" and run.units["bob.q1"] == "rad" and run.units["friction"] == "N*m"
    assert run.descriptions["height"] == "of the bob"
    info = run.info
    assert info["armillary"] == version("armillary") and info["llvmlite"] == version("llvmlite")
    assert info["numpy"] == np.__version__ and info["python"] == ".".join(map(str, sys.version_info[:3]))
    assert info["formalism"] == pendulum_model().formalism
    assert (info["method"], info["step"], info["status"]) == ("rk4", 0.01, "finished")
    assert (info["steps"], info["rejected"], info["evaluations"]) == (100, 0, 400)
    assert str(info["created"]).endswith("+00:00")
    adaptive = pendulum_model().simulate(1.0, parameters=C, initial={"bob.q1": 2.0}, rtol=1e-6, atol=1e-7)
    assert adaptive.info["rtol"] == 1e-6 and adaptive.info["atol"] == "1e-07"
    assert int(adaptive.info["evaluations"]) >= 12 * int(adaptive.info["steps"])


@pytest.mark.parametrize("suffix", ["nc", "csv", "parquet"])
def test_a_run_survives_its_file(tmp_path: Path, suffix: str) -> None:
    run = pendulum_model().simulate(1.0, initial={"bob.q1": 0.2}, parameters={"c": 0.1})
    run.save(tmp_path / f"run.{suffix}")
    assert arm.load_run(tmp_path / f"run.{suffix}") == run


def test_runs_repeat_themselves_exactly_and_compiling_again_changes_nothing() -> None:
    first, second = (oscillator().simulate(3.0, initial={"A.q1": 1.0}) for _ in range(2))
    assert np.array_equal(first.values, second.values)
    again = oscillator().equations.compile().simulate(3.0, initial={"A.q1": 1.0})
    assert np.array_equal(first.values, again.values)


def test_outputs_of_a_run_are_those_of_the_model() -> None:
    run = pendulum_model().simulate(1.0, step=0.1, initial={"bob.q1": 0.2}, parameters={"c": 0.1})
    for i, t in enumerate(run.time):
        found = pendulum_model().outputs(t, [run["bob.q1"][i], run["bob.u1"][i]], {"c": 0.1})
        assert list(found.values()) == run.values[i].tolist()


def test_parameters_are_checked_before_anything_runs() -> None:
    with pytest.raises(ParameterError, match="no value for parameter c"):
        pendulum_model().simulate(1.0, step=1e-3)


def test_what_is_kept_between_runs_follows_the_values_that_are_given() -> None:
    model, given, sample = pendulum_model(), dict(C), np.array([0.1, 0.2])
    first = model.simulate(0.2, sample=sample, initial={"bob.q1": 1.0}, parameters=given)
    given["c"], sample[0] = 0.5, 0.05  # changed in place
    other = model.simulate(0.2, sample=sample, initial={"bob.q1": 1.0}, parameters=given)
    again = model.simulate(0.2, sample=[0.1, 0.2], initial={"bob.q1": 1.0}, parameters=C)
    assert other.time.tolist() == [0.05, 0.2] and other.parameters["c"] == 0.5
    assert other["bob.q1"][-1] != first["bob.q1"][-1]
    assert np.array_equal(again.values, first.values) and first.parameters["c"] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        first.values[0, 0] = 1.0


def test_runs_with_other_settings_in_between_leave_no_trace() -> None:
    """What a loop begins with is kept for the next run with the same settings, and none writes to it."""
    model, start = pendulum_model(), {"bob.q1": 1.0}
    kinds: list[dict[str, Any]] = [
        {"sample": 0.1}, {"sample": 0.1, "rtol": 1e-5}, {"step": 0.01}, {"step": 0.01, "sample": 0.05},
        {"sample": [0.1, 0.15]},
    ]  # fmt: skip
    first = [model.simulate(0.2, initial=start, parameters=C, **how) for how in kinds]
    values = [run.values.copy() for run in first]
    for k in (0, 0, 1, 2, 2, 3, 4, 4, 0, 3, 3, 1):
        again = model.simulate(0.2, initial=start, parameters=C, **kinds[k])
        model.simulate(0.2, initial={"bob.q1": -0.5, "bob.u1": 2}, parameters=C, **kinds[k])
        assert np.array_equal(again.time, first[k].time) and np.array_equal(again.values, values[k])
        assert np.array_equal(first[k].values, values[k])


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_a_state_that_stays_zero_needs_no_absolute_tolerance(method: str) -> None:
    """Its error and what is tolerated of it are both zero; beside it a motion has its relative error."""
    s = arm.System("two carriages")
    A = s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("B", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "-4*A.q1", s.ground.x, at=A.origin)
    how: dict[str, Any] = {"method": method, "atol": 0.0, "initial": {"A.q1": 1.0}}
    model = s.derive().compile()
    run = model.simulate(0.7, **how)
    assert run.final["A.q1"] == pytest.approx(math.cos(1.4), rel=1e-7) and run.final["B.q1"] == 0.0
    batch = model.simulate_batch(0.7, runs=2, sample=0.7, **how)
    assert batch["A.q1"][:, -1] == pytest.approx(math.cos(1.4), rel=1e-7)


def test_runs_of_one_model_in_threads_keep_their_own_parameters() -> None:
    model = pendulum_model()
    how: dict[str, Any] = {"step": 1e-2, "initial": {"bob.q1": 1.0}, "progress": False}
    wanted = {c: model.simulate(1.0, parameters={"c": c}, **how).values for c in (0.0, 0.1, 0.2)}
    wrong: list[float] = []

    def work(c: float) -> None:
        for _ in range(20):
            run = model.simulate(1.0, parameters={"c": c}, **how)
            if run.parameters["c"] != c or not np.array_equal(run.values, wanted[c]):
                wrong.append(c)

    threads = [threading.Thread(target=work, args=(c,)) for c in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
