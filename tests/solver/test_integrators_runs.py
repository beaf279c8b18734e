"""Runs as a whole: rows, chunks, ends of every kind, bad input, and what is compiled when."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from dataclasses import replace
from math import exp

import numpy as np
import pytest

from armillary.errors import ArmillaryError
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.settings import SampleTimes
from armillary.solver.llvm.compiled_loop import Loop
from armillary.solver.llvm.layout import Reason
from armillary.solver.methods.registry import METHODS
from tests.solver.problems import (
    ADAPTIVE,
    COMPILED,
    FIXED,
    ball,
    integrate,
    modulated,
    oscillator,
    settings,
    van_der_pol,
)
from tests.solver.traced import compile_model

pytestmark = pytest.mark.optimised


def _step(method: str, size: float) -> dict[str, float]:
    return {} if METHODS[method].adaptive else {"step": size}


def _same(one, other) -> bool:
    """Bitwise equality of everything two runs computed."""
    arrays = ("time", "samples", "final_state", "final_memory")
    scalars = ("status", "failed_state", "t_stop", "events", "steps", "rejected", "evaluations")
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays) and all(
        getattr(one, s) == getattr(other, s) for s in scalars
    )


# Rows


@pytest.mark.parametrize("method", COMPILED)
@pytest.mark.parametrize("sample", [0.1, 0.03, 0.7])
def test_rows_stand_at_multiples_of_the_sample_time(method, sample):
    t0 = 0.3
    run = integrate(
        oscillator().functions, method, t0=t0, t_end=5.3, state=[1, 0], sample=sample, **_step(method, 0.01)
    )
    count = int(np.floor(5 / sample + 1e-9)) + 1
    expected = t0 + np.arange(count) * sample
    if abs(expected[-1] - 5.3) < 1e-12:
        expected[-1] = 5.3
    assert run.time.tolist() == expected.tolist()
    assert run.samples.shape == (count, 2)
    assert run.samples.flags.c_contiguous
    assert run.samples[:, 0] == pytest.approx(
        np.cos(run.time - t0),
        # errors per unit of time: h²/6 of midpoint and 5 h²/12 of Adams and Bashforth
        abs={"midpoint": 2e-4, "ab2": 2.2e-4}.get(method, 2e-6),
    )


@pytest.mark.parametrize("method", COMPILED)
def test_rows_at_given_times(method):
    times = np.sort(np.random.default_rng(5).uniform(0, 3, 200))
    run = integrate(
        modulated().functions, method, t0=0, t_end=3, state=[1], sample=times, **_step(method, 0.01)
    )
    assert run.time.tolist() == times.tolist()
    assert run.samples[:, 0] == pytest.approx(
        np.exp(np.sin(times)), rel={"midpoint": 1e-4, "ab2": 1e-4, "rodas3": 1e-6}.get(method, 1e-7)
    )


@pytest.mark.parametrize("method", FIXED)
def test_without_a_sample_time_every_step_has_a_row_and_the_last_is_shortened(method):
    run = integrate(modulated().functions, method, t0=1, t_end=2.05, state=[exp(np.sin(1))], step=0.1)
    assert run.time.tolist() == [*(1 + np.arange(11) * 0.1), 2.05]
    assert run.steps == 11


def test_a_grid_of_three_tenths_ends_at_three_tenths():
    """3 · 0.1 is not 0.3 in binary; the run ends at 0.3, and so does its last row."""
    run = integrate(oscillator().functions, "rk4", t0=0, t_end=0.3, state=[1, 0], step=0.1, sample=0.1)
    assert run.time.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert run.steps == 3


@pytest.mark.parametrize("method", FIXED)
def test_steps_that_sum_to_less_than_the_end_by_rounding_reach_it_without_a_sliver(method):
    """100 · 0.57 is the number below 57 in binary: 100 steps, not 101."""
    assert 100 * 0.57 < 57
    run = integrate(oscillator().functions, method, t0=0, t_end=57, state=[1, 0], step=0.57)
    assert (run.steps, len(run.time), run.time[-1], run.t_stop) == (100, 101, 57.0, 57.0)


def test_a_million_rows_do_not_add_up_rounding():
    run = integrate(oscillator().functions, "midpoint", t0=0, t_end=1e4, state=[0, 0], step=0.01, sample=0.01)
    assert len(run.time) == 1_000_001
    assert np.array_equal(run.time, np.arange(1_000_001) * 0.01)
    assert run.steps == 1_000_000


@pytest.mark.parametrize("method", FIXED)
def test_every_kth_row_is_bitwise_the_row_of_a_run_with_all(method):
    every = integrate(
        van_der_pol().functions, method, t0=0, t_end=4, state=[2, 0], constants=[1.0], step=0.01
    )
    tenth = integrate(
        van_der_pol().functions, method, t0=0, t_end=4, state=[2, 0], constants=[1.0], step=0.01, sample=0.1
    )
    assert np.array_equal(tenth.samples, every.samples[::10])


def test_sample_times_off_the_grid_are_recognised():
    cases = [
        (SampleTimes(0.1, 0.0, 1.0), 0.01, True),
        (SampleTimes(0.1, 0.0, 1.05), 0.01, True),
        (SampleTimes(0.1, 0.0, 1.0), 0.03, False),
        (SampleTimes(0.1, 0.0, 1.0), 0.2, False),
        (SampleTimes(0.01 * (1 + 1e-9), 0.0, 1e4), 0.01, False),  # strays by 1e-3 steps until the end
        (SampleTimes(np.array([0.0, 0.02, 0.5]), 0.0, 0.5), 0.02, True),
        (SampleTimes(np.array([0.0, 0.021]), 0.0, 0.5), 0.02, False),
        (SampleTimes(None, 0.0, 0.5), 0.02, True),
    ]
    assert [times.on_grid(step) for times, step, _ in cases] == [expected for *_, expected in cases]


@pytest.mark.parametrize("method", COMPILED)
def test_a_run_of_no_length_is_one_row(method):
    run = integrate(oscillator().functions, method, t0=2, t_end=2, state=[1, 0], **_step(method, 0.1))
    assert (run.status, run.steps, run.time.tolist(), run.samples.tolist()) == (
        "finished",
        0,
        [2.0],
        [[1.0, 0.0]],
    )


# Chunks


@pytest.mark.parametrize("model", [van_der_pol, ball])
@pytest.mark.parametrize("sample", [None, 0.01, 0.0137])
@pytest.mark.parametrize("method", COMPILED)
def test_chunks_leave_no_trace(method, sample, model):
    """A run taken one, then seven steps at a time is bit for bit the run taken at once."""
    functions = model().functions

    def run(chunk: int):
        how = settings(method, t_end=3.0, sample=sample, rtol=1e-6, atol=1e-8, **_step(method, 0.01))
        state, memory, constants = np.array([1.0, 0.5]), np.empty(0), np.array([0.8])
        whole = CompiledRun(functions, how, state=state, memory=memory, constants=constants)
        while whole.advance(chunk) is Reason.PAUSED:
            pass
        return whole.result("finished")

    once = run(10**9)
    assert once.steps > 7
    assert _same(once, run(1))
    assert _same(once, run(7))


@pytest.mark.parametrize("method", COMPILED)
def test_too_many_steps_keep_what_there_is(method):
    options = {"t0": 0, "t_end": 100, "state": [1, 0], **_step(method, 0.01)}
    run = integrate(oscillator().functions, method, max_steps=20, **options)
    assert run.status == "too many steps"
    assert run.steps + run.rejected == 20
    assert run.t_stop == run.time[-1] < 100
    assert run.samples[-1].tolist() == run.final_state.tolist()


@pytest.mark.parametrize("method", ("rk4", "dop853", "rodas5p"))
def test_an_interrupt_keeps_what_there_is(method, monkeypatch):
    """Ctrl-C is heard between chunks; here the progress report raises it."""
    seen = []

    def progress(t: float) -> None:
        seen.append(t)
        if len(seen) == 3:
            raise KeyboardInterrupt

    run = integrate(
        oscillator().functions,
        method,
        t0=0,
        t_end=1e6,
        state=[1, 0],
        sample=0.5,
        progress=progress,
        **_step(method, 0.01),
    )
    assert run.status == "interrupted"
    assert seen == sorted(seen)
    assert run.t_stop == seen[-1] < 1e6
    assert run.time.tolist() == [0.5 * i for i in range(int(run.t_stop / 0.5) + 1)]


def test_ctrl_c_ends_a_run_at_its_next_report():
    """A real signal, after a row of a run that would take hours. A report may fall between the note that the
    signal is on its way and the signal.
    """
    code = """
import os, signal, threading
from tests.solver.problems import integrate, oscillator
signal.signal(signal.SIGINT, signal.default_int_handler)
functions = oscillator().functions
integrate(functions, "rk4", t0=0, t_end=1, state=[1, 0], step=1e-3, sample=1.0)
sent, later = [], []
def interrupt():
    sent.append(True)
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(0.05, interrupt)
def started(t):
    if sent:
        later.append(t)
    if t > 100 and not timer.is_alive() and not timer.finished.is_set():
        timer.start()
run = integrate(functions, "rk4", t0=0, t_end=1e9, state=[1, 0], step=1e-3, sample=100.0, progress=started)
print(run.status, len(run.time) > 1, len(later) <= 2)
"""
    assert _python(code) == "interrupted True True"


def test_progress_reaches_the_end():
    seen: list[float] = []
    integrate(oscillator().functions, "rk4", t0=0, t_end=50, state=[1, 0], step=1e-3, progress=seen.append)
    assert seen[-1] == 50
    assert seen == sorted(seen)


# Divergence


@pytest.mark.parametrize("method", FIXED)
def test_a_fixed_step_run_that_overflows_says_when_and_which_state(method):
    """ẏ = y² from y(0) = 1 has its pole at t = 1; the other state does no harm."""
    model = compile_model(lambda t, y, p, m: [1.0, y[1] * y[1]], n_states=2)
    run = integrate(model.functions, method, t0=0, t_end=2, state=[0, 1], step=1e-3, sample=0.1)
    assert (run.status, run.failed_state) == ("diverged", 1)
    assert 1.0 <= run.t_stop < 1.02
    assert np.all(np.isfinite(run.final_state))
    assert run.time.tolist() == [i * 0.1 for i in range(11)]
    assert run.samples[5, 1] == pytest.approx(2, rel=1e-5)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_an_adaptive_run_into_a_pole_ends_with_too_small_a_step(method):
    """Up to t = 0.9 errors of 1e-8 grow by at most 1/(1 − t)² = 100, in a hundred steps: 1e-4 bounds them."""
    model = compile_model(lambda t, y, p, m: [1.0, y[1] * y[1]], n_states=2)
    run = integrate(model.functions, method, t0=0, t_end=2, state=[0, 1], sample=0.1)
    assert run.status == "step too small"
    assert run.failed_state == 1
    assert run.t_stop == pytest.approx(1, abs=1e-6)
    assert run.samples[9, 1] == pytest.approx(10, rel=1e-4)


@pytest.mark.parametrize("method", COMPILED)
def test_a_derivative_that_becomes_nan_ends_the_run(method):
    """ẏ = √(1 − t) is real up to t = 1: y = 2/3 (1 − (1 − t)^(3/2))."""
    model = compile_model(lambda t, y, p, m: [0.0, 0.0, (1.0 - t).call("sqrt")], n_states=3)
    run = integrate(
        model.functions, method, t0=0, t_end=2, state=[0, 0, 0], sample=0.25, **_step(method, 1e-3)
    )
    assert (run.status, run.failed_state) == ("diverged", 2)
    assert run.t_stop == pytest.approx(1, abs=2e-3)
    assert run.samples[2, 2] == pytest.approx(2 / 3 * (1 - 0.5**1.5), rel=1e-6)


@pytest.mark.parametrize("method", COMPILED)
def test_a_derivative_that_is_nan_at_the_start_ends_the_run_there(method):
    model = compile_model(lambda t, y, p, m: [1.0, (-1.0 - t).call("sqrt")], n_states=2)
    run = integrate(model.functions, method, t0=0, t_end=2, state=[0, 0], **_step(method, 1e-3))
    assert (run.status, run.failed_state, run.t_stop, run.steps) == ("diverged", 1, 0.0, 0)
    assert run.time.tolist() == [0.0]


# Input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "rk5"}, "did you mean 'rk4'"),
        ({"step": None}, "give step=, e.g. step=1e-3"),
        ({"step": -1.0}, "must be positive"),
        ({"t_end": float("nan")}, "finite"),
        ({"t_end": -1.0}, "t_end not before t0"),
        ({"state": [1.0]}, "the state must be 2 numbers"),
        ({"memory": [1.0]}, "the memory must be 0 numbers"),
        ({"sample": 0.0}, "between samples must be positive"),
        ({"sample": [0.0, 0.5, 0.2]}, "increasing"),
        ({"sample": [0.0, 5.0]}, "between 0.0 and 1.0"),
        ({"rtol": 0.0, "atol": 0.0}, "tolerances"),
        ({"atol": [1e-3, 1e-3, 1e-3]}, "one number or 2"),
        ({"max_step": 0.0}, "largest step"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"method": "rk4", "t0": 0, "t_end": 1.0, "state": [1, 0], "step": 0.1} | change
    with pytest.raises(ArmillaryError, match=message):
        integrate(oscillator().functions, **arguments)


@pytest.mark.parametrize("method", COMPILED)
def test_a_model_without_outputs_or_states_runs(method):
    nothing = compile_model(lambda t, y, p, m: [], n_states=0, outputs=lambda t, y, p, m: [t], n_outputs=1)
    run = integrate(nothing.functions, method, t0=0, t_end=1, state=[], sample=0.25, **_step(method, 0.1))
    assert run.samples[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    silent = replace(oscillator().functions, outputs=0, n_outputs=0)
    run = integrate(silent, method, t0=0, t_end=1, state=[1, 0], **_step(method, 0.1))
    assert run.samples.shape == (len(run.time), 0)
    assert run.final_state[0] == pytest.approx(np.cos(1), abs=1e-2)


# Code


def test_one_loop_serves_models_of_all_sizes():
    """Decays of 1 to 9 states, each with the numbers of one alone, by the same machine code."""
    ends, loops = [], set()
    for n in (1, 4, 9):
        model = compile_model(
            lambda t, y, p, m, n=n: [-(1.0 + i) * y[i] for i in range(n)],
            n_states=n, outputs=lambda t, y, p, m, n=n: [y[i] for i in range(n)], n_outputs=n,
        )  # fmt: skip
        how = settings("rk4", t_end=1, step=0.01)
        run = CompiledRun(model.functions, how, state=np.ones(n), memory=np.empty(0), constants=np.empty(0))
        assert run.advance(1000) is Reason.FINISHED
        ends.append(run.result("finished").samples[-1])
        loops.add(run._loop)
    assert len(loops) == 1
    assert ends[2] == pytest.approx([exp(-(1.0 + i)) for i in range(9)], abs=1e-5)
    assert ends[2][:4].tolist() == ends[1].tolist()
    assert ends[2][:1].tolist() == ends[0].tolist()


def test_a_loop_no_longer_needed_is_freed():
    none = np.empty(0)
    how = settings("rk4", t_end=1.0, step=0.1)
    run = CompiledRun(oscillator().functions, how, state=np.ones(2), memory=none, constants=none)
    loop = Loop(run.shape)
    engine = weakref.ref(loop._engine)
    del loop
    gc.collect()
    assert engine() is None


def test_nothing_heavy_is_imported_before_something_runs():
    code = """
import sys, armillary.runtime.integrators
print(sorted({'scipy', 'llvmlite', 'matplotlib'} & set(sys.modules)))
"""
    assert _python(code) == "[]"


def _python(code: str) -> str:
    """What a fresh interpreter prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()
