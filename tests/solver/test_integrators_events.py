"""Events, memory and normalisation: closed-form times, and who is called when."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from armillary.solver.methods.registry import METHODS
from tests.solver import traced
from tests.solver.problems import ADAPTIVE, COMPILED, FIXED, ball, bounces, integrate
from tests.solver.traced import Model, compile_model


def _step(method: str, size: float) -> dict[str, float]:
    return {} if METHODS[method].adaptive else {"step": size}


@pytest.mark.parametrize("direction", [0, -1])
@pytest.mark.parametrize("method", COMPILED)
def test_a_ball_bounces_at_its_closed_form_times(method, direction):
    """A parabola is integrated and interpolated exactly, so only rounding is left: some ulp per bounce."""
    expected = bounces(1.0, 0.8, 3.9)
    run = integrate(
        ball(direction).functions, method, t0=0, t_end=3.9, state=[1, 0], constants=[0.8], sample=0.01,
        **_step(method, 0.007),
    )  # fmt: skip
    assert (run.status, run.t_stop, len(run.time)) == ("finished", 3.9, 391)
    assert [k for _, k in run.events] == [0] * len(expected)
    assert np.array([t for t, _ in run.events]) == pytest.approx(expected, abs=1e-12)
    assert np.min(run.samples[:, 0]) > -1e-12


@pytest.mark.parametrize("method", COMPILED)
def test_rows_before_and_after_a_bounce_lie_on_its_parabolas(method):
    """Dropped from 5 with gravity 10, the ball comes down at t = 1 with speed 10 and goes up with 5."""
    run = integrate(
        ball().functions,
        method,
        t0=0,
        t_end=1.9,
        state=[5, 0],
        constants=[0.5],
        sample=0.1,
        **_step(method, 0.07),
    )
    t = np.arange(20) * 0.1
    after = t - 1
    assert run.samples[:10, 0] == pytest.approx(5 - 5 * t[:10] ** 2, abs=1e-12)
    assert run.samples[11:, 0] == pytest.approx(5 * after[11:] - 5 * after[11:] ** 2, abs=1e-12)
    assert run.samples[11:, 1] == pytest.approx(5 - 10 * after[11:], abs=1e-12)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_step_after_an_event_is_chosen_as_at_the_start_of_a_run(method):
    """Dropped from 5 with gravity 10, the ball goes up at t = 1 with speed 5, as one thrown at that time."""
    whole = integrate(ball().functions, method, t0=0, t_end=1.9, state=[5, 0], constants=[0.5])
    thrown = integrate(ball().functions, method, t0=1, t_end=1.9, state=[0, 5], constants=[0.5])
    after = whole.time[whole.time > 1 + 1e-9]
    assert len(thrown.time) > 3
    assert after == pytest.approx(thrown.time[1:], rel=1e-6)


@pytest.mark.parametrize("method", COMPILED)
def test_an_unwanted_direction_is_let_pass(method):
    """Thrown up through the event's level, the ball crosses it rising, then falling."""
    for direction, expected in ((1, [0.2]), (-1, [1.8]), (0, [0.2, 1.8])):
        model = compile_model(
            lambda t, y, p, m: [y[1], -10.0],
            n_states=2,
            events=lambda t, y, p, m: [y[0] - 1.8],
            n_events=1,
            directions=(direction,),
        )
        run = integrate(
            model.functions, method, t0=0, t_end=2, state=[0, 10], **_step(method, 0.03), max_step=0.1
        )
        assert [t for t, _ in run.events] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_an_unwanted_change_later_in_the_step_does_not_take_the_place_of_an_event(method):
    """One step from 0 to 2: a clock at 1.1, and a function that falls at 1.5, where only rises are wanted."""
    model = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        events=lambda t, y, p, m: [t - 1.1, 1.5 - t],
        n_events=2,
        directions=(1, 1),
    )
    run = integrate(model.functions, method, t0=0, t_end=2, state=[0], step=2.0)
    assert run.events == [(pytest.approx(1.1, abs=1e-13), 0)]


@pytest.mark.parametrize("method", COMPILED)
def test_a_terminal_event_ends_the_run_after_firing(method):
    run = integrate(
        ball(terminal=True).functions,
        method,
        t0=0,
        t_end=9,
        state=[5, 0],
        constants=[0.5],
        **_step(method, 0.03),
    )
    assert run.status == "event"
    assert run.t_stop == pytest.approx(1, abs=1e-13)
    assert run.final_state == pytest.approx([0, 5], abs=1e-5)
    assert (run.time[-1], run.samples[-1].tolist()) == (run.t_stop, run.final_state.tolist())


@pytest.mark.parametrize("method", COMPILED)
def test_an_event_at_zero_does_not_happen_at_the_start(method):
    """A ball thrown up from the ground lands once, at t = 2."""
    run = integrate(
        ball(terminal=True).functions,
        method,
        t0=0,
        t_end=3,
        state=[0, 10],
        constants=[1],
        **_step(method, 0.01),
    )
    assert run.events == [(pytest.approx(2, abs=1e-12), 0)]


@cache
def triangle() -> Model:
    """ẏ = memory = ±1, turned at y = 1 and y = −1 by two events: a triangle wave with turns at 1, 3, 5, …"""
    return compile_model(
        lambda t, y, p, m: [m[0]],
        n_states=1,
        n_memory=1,
        events=lambda t, y, p, m: [y[0] - 1.0, y[0] + 1.0],
        n_events=2,
        fire=lambda k, t, y, p, m: ([-1.0 if k == 0 else 1.0], [y[0]]),
        directions=(1, -1),
    )


@pytest.mark.parametrize("method", COMPILED)
def test_events_switch_the_memory(method):
    run = integrate(
        triangle().functions,
        method,
        t0=0,
        t_end=8,
        state=[0],
        memory=[1],
        sample=0.125,
        **_step(method, 0.03),
    )
    assert [k for _, k in run.events] == [0, 1, 0, 1]
    assert [t for t, _ in run.events] == pytest.approx([1, 3, 5, 7], abs=1e-12)
    wave = 1 - np.abs((run.time + 1) % 4 - 2)
    assert run.samples[:, 0] == pytest.approx(wave, abs=1e-12)
    rising = (run.time + 1) % 4 < 2
    clear = np.abs((run.time + 1) % 2) > 1e-9  # at a turn itself, rounding decides
    assert np.array_equal(run.samples[clear, 1], np.where(rising, 1.0, -1.0)[clear])
    assert run.final_memory.tolist() == [1]


@pytest.mark.parametrize("method", COMPILED)
def test_simultaneous_events_all_happen_in_order(method):
    """Three functions cross zero at t = 0.5; each firing doubles and adds its number plus one.

    Times are located to 1e-13 of themselves.
    """
    model = compile_model(
        lambda t, y, p, m: [1.0],
        n_states=1,
        n_memory=1,
        events=lambda t, y, p, m: [y[0] - 0.5, 0.5 - y[0], 2.0 * y[0] - 1.0],
        n_events=3,
        fire=lambda k, t, y, p, m: ([2.0 * m[0] + (k + 1.0)], [y[0]]),
    )
    run = integrate(model.functions, method, t0=0, t_end=1, state=[0], memory=[0], **_step(method, 0.03))
    assert run.events == [(pytest.approx(0.5, rel=1e-13), k) for k in range(3)]
    assert len({t for t, _ in run.events}) == 1
    assert run.final_memory.tolist() == [((0 + 1) * 2 + 2) * 2 + 3]
    assert run.final_state == pytest.approx([1], abs=1e-13)


@pytest.mark.parametrize("method", FIXED)
def test_events_do_not_move_the_grid(method):
    """Rows at every step: the grid's own times, whatever happens between them."""
    run = integrate(ball().functions, method, t0=0.5, t_end=2.55, state=[1, 0], constants=[0.9], step=0.1)
    assert len(run.events) > 2
    assert run.time.tolist() == [*(0.5 + np.arange(21) * 0.1), 2.55]


@pytest.mark.parametrize("method", FIXED)
def test_a_smooth_event_is_located_to_the_order_of_the_hermite_polynomial(method):
    """cos t = 0 at π/2: the error goes down with the method's own order, at most the polynomial's fourth."""
    model = compile_model(
        lambda t, y, p, m: [y[1], -y[0]], n_states=2, events=lambda t, y, p, m: [y[0]], n_events=1
    )

    def error(step: float) -> float:
        run = integrate(model.functions, method, t0=0, t_end=2, state=[1, 0], step=step)
        return abs(run.events[0][0] - np.pi / 2)

    # Steps whose end is equally far from π/2, in steps: the polynomial's error depends on where the root
    # lies.
    coarse, fine = np.pi / 2 / 20.5, np.pi / 2 / 40.5
    slope = np.log(error(coarse) / error(fine)) / np.log(coarse / fine)
    assert slope == pytest.approx(METHODS[method].order, abs=0.3)


# Memory


@cache
def counter() -> Model:
    return compile_model(
        lambda t, y, p, m: [0.0 - y[0]], n_states=1, n_memory=1, update=lambda t, y, p, m: [m[0] + 1.0]
    )


@pytest.mark.parametrize("method", COMPILED)
def test_memory_is_updated_once_at_the_start_of_every_step(method):
    """Rows show the memory the next step begins with, the last too; the final memory waits for that."""
    options = {"rtol": 1e-4, "atol": 1e-4} if METHODS[method].adaptive else {}
    run = integrate(
        counter().functions, method, t0=0, t_end=1, state=[1], memory=[0], **_step(method, 0.125), **options
    )
    assert run.final_memory.tolist() == [run.steps]
    assert run.samples[:, 1].tolist() == list(range(1, run.steps + 2))


@pytest.mark.parametrize("method", FIXED)
def test_a_run_in_two_halves_is_the_same_run(method):
    whole = integrate(counter().functions, method, t0=0, t_end=1, state=[1], memory=[0], step=0.125)
    first = integrate(counter().functions, method, t0=0, t_end=0.5, state=[1], memory=[0], step=0.125)
    second = integrate(
        counter().functions,
        method,
        t0=0.5,
        t_end=1,
        state=first.final_state,
        memory=first.final_memory,
        step=0.125,
    )
    assert second.final_state.tolist() == whole.final_state.tolist()
    assert second.final_memory.tolist() == whole.final_memory.tolist()


def _relay_by_hand(steps: int, h: float) -> np.ndarray:
    """RK4 on ẍ = u, with u = −sign(x) outside |x| < 0.5 and kept inside, written out in plain Python."""
    y, u, rows = np.array([1.0, 0.0]), 0.0, []
    for _ in range(steps + 1):
        u = -1.0 if y[0] > 0.5 else 1.0 if y[0] < -0.5 else u
        rows.append([*y, u])

        def f(z: np.ndarray, u: float = u) -> np.ndarray:
            return np.array([z[1], u])

        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h * (k1 / 6 + k2 / 3 + k3 / 3 + k4 / 6)
    return np.array(rows)


def test_a_relay_with_a_dead_band_switches_at_grid_points():
    model = compile_model(
        lambda t, y, p, m: [y[1], m[0]],
        n_states=2,
        n_memory=1,
        update=lambda t, y, p, m: [y[0].where_less(-0.5, 1.0, (0.5 - y[0]).where_less(0.0, -1.0, m[0]))],
    )
    run = integrate(model.functions, "rk4", t0=0, t_end=20, state=[1, 0], memory=[0], step=1 / 64)
    expected = _relay_by_hand(1280, 1 / 64)
    assert len(set(run.samples[:, 2])) == 2
    assert np.max(np.abs(run.samples - expected)) < 1e-12


@pytest.mark.parametrize("method", COMPILED)
def test_a_changed_memory_makes_the_kept_derivative_stale(method):
    """ẏ = memory, which update sets to the time: with equal steps h, y(1) = Σ h·(i h), exactly."""
    model = compile_model(lambda t, y, p, m: [m[0]], n_states=1, n_memory=1, update=lambda t, y, p, m: [t])
    run = integrate(
        model.functions,
        method,
        t0=0,
        t_end=1,
        state=[0],
        memory=[5],
        step=1 / 16,
        max_step=1 / 16,
        sample=0.01,
    )
    assert run.steps == 16
    assert run.final_state[0] == pytest.approx(sum(i / 256 for i in range(16)), abs=1e-14)
    whole, part = np.divmod(run.time * 16, 1)
    assert run.samples[:, 0] == pytest.approx((whole * (whole - 1) / 2 + whole * part) / 256, abs=1e-13)


# Normalisation

NORMALISE = """
define void @normalise(double %t, ptr %y, ptr %constants, ptr %memory) {
  %v = load <4 x double>, ptr %y, align 8
  %s = fmul <4 x double> %v, %v
  %n = call reassoc double @llvm.vector.reduce.fadd.v4f64(double 0.0, <4 x double> %s)
  %r = call double @llvm.sqrt.f64(double %n)
  %a = insertelement <4 x double> poison, double %r, i64 0
  %b = shufflevector <4 x double> %a, <4 x double> poison, <4 x i32> zeroinitializer
  %u = fdiv <4 x double> %v, %b
  store <4 x double> %u, ptr %y, align 8
  ret void
}
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
"""


def _spin(normalise: bool) -> Model:
    """q̇ = ½ q ∘ (0, ω), with ω turning in the plane: ω = (cos t, sin t, 1)."""

    def derivatives(t, y, p, m):
        w, x, z = traced.cos(t), traced.sin(t), 1.0
        q = y.first(4)
        return [
            0.5 * (-(q[1] * w) - q[2] * x - q[3] * z),
            0.5 * (q[0] * w + q[2] * z - q[3] * x),
            0.5 * (q[0] * x + q[3] * w - q[1] * z),
            0.5 * (q[0] * z + q[1] * x - q[2] * w),
        ]

    return compile_model(derivatives, n_states=4, normalise=NORMALISE if normalise else "")


@pytest.mark.parametrize("method", COMPILED)
def test_quaternions_are_of_unit_length_in_every_row_and_as_accurate_as_without(method):
    options = {"t0": 0, "t_end": 5, "state": [1, 0, 0, 0], "sample": 0.013, **_step(method, 0.01)}
    options |= {"rtol": 1e-6, "atol": 1e-6} if METHODS[method].adaptive else {}
    exact = integrate(
        _spin(False).functions, "dop853", **options | {"rtol": 1e-13, "atol": 1e-13, "step": None}
    )
    free = integrate(_spin(False).functions, method, **options)
    kept = integrate(_spin(True).functions, method, **options)
    drift = np.abs(np.linalg.norm(free.samples, axis=1) - 1)
    assert np.max(drift) > 1e-12
    assert np.max(np.abs(np.linalg.norm(kept.samples, axis=1) - 1)) < 1e-15 * 4
    errors = [np.max(np.abs(run.samples - exact.samples)) for run in (kept, free)]
    assert errors[0] < 1.2 * errors[1]
    assert np.linalg.norm(kept.final_state) == pytest.approx(1, abs=4e-16)


def test_normalisation_keeps_the_order_of_dopri5():
    """The derivative kept from before the normalisation is off by a local error only."""

    def error(count: int) -> float:
        size = 5 / count
        options = {"t0": 0, "t_end": 5, "state": [1, 0, 0, 0]}
        run = integrate(_spin(True).functions, "dopri5", step=size, max_step=size, rtol=1e3, **options)
        exact = integrate(_spin(False).functions, "dop853", rtol=1e-13, atol=1e-13, **options)
        return float(np.max(np.abs(run.final_state - exact.final_state)))

    # At least: on this linear problem the leading error is partly one of length, which normalisation removes.
    assert np.log2(error(40) / error(80)) > 5 - 0.4


def test_more_events_than_fit_in_the_first_log():
    """A ball that keeps its speed bounces every 2 s: at 1, 3, 5, …; a thousand of them are all kept."""
    run = integrate(ball(-1).functions, "dop853", t0=0, t_end=2000, state=[5, 0], constants=[1], sample=100.0)
    assert len(run.events) == 1000
    # Each bounce is located to 4 ulp of t, at most 2e-12, and shifts all that follow: 2e-9 after a thousand.
    assert np.array([t for t, _ in run.events]) == pytest.approx(1 + 2 * np.arange(1000), abs=1e-8)
