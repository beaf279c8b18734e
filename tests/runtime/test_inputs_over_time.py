"""Inputs over time: against closed forms of an oscillator that follows them, piece by piece."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ModelError, ParameterError, UnitsError
from armillary.runtime.inputs.reading import _sample_function, driven_inputs

OMEGA = 3.0
RNG = np.random.default_rng(7)
UNEVEN = np.cumsum(np.concatenate([[0.1], RNG.uniform(0.03, 0.2, 11)]))
POINTS = RNG.normal(size=12)
HOWS = ("hold", "linear", "smooth", "cubic")


def follower() -> arm.System:
    """ẍ = −ω² (x − u), with u in mm; a memory that is renewed every step, and another that holds u."""
    s = arm.System("follower")
    u = s.input("u", units="mm", about="what is followed")
    s.input("push", 0.0, units="N", interpolation="hold")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", -(OMEGA**2) * (b.q1 - u), s.ground.x, at=b.com)
    s.force("hand", "push", s.ground.x, at=b.com)
    s.output("rate", arm.time_derivative(u), units="mm/s")
    s.memory("steps", 0.0, update="steps + 1")
    return s


@pytest.fixture(scope="module")
def model() -> arm.CompiledModel:
    return follower().derive().compile()


def exact(pieces: Any, t: float) -> float:
    """x at a time from rest at zero, for constant or linear pieces: x − u swings with ω between breaks, and
    its rate jumps with that of u. In metres, of pieces in millimetres.
    """
    breaks = [0.0, *pieces.breaks[pieces.breaks > 0.0], np.inf]
    x, v, now = 0.0, 0.0, 0.0
    for end in breaks[1:]:
        until = min(end, t)
        inside = np.array([now, 0.5 * (now + until)])
        u0, u1 = 1e-3 * pieces(inside)
        slope = (u1 - u0) / (inside[1] - inside[0]) if until > now else 0.0
        y, w = x - u0, v - slope
        phase = OMEGA * (until - now)
        x = y * np.cos(phase) + w / OMEGA * np.sin(phase) + u0 + slope * (until - now)
        v = -y * OMEGA * np.sin(phase) + w * np.cos(phase) + slope
        now = until
        if now >= t:
            break
    return float(x)


@pytest.mark.parametrize("how", ["hold", "linear"])
@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_adaptive_runs_follow_jumps_and_kinks_to_their_tolerance(
    model: arm.CompiledModel, how: str, method: str
) -> None:
    signal = arm.Signal(UNEVEN, POINTS, interpolation=how)
    run = model.simulate(2.0, method=method, rtol=1e-10, atol=1e-13, inputs={"u": signal}, sample=0.25)
    wanted = [exact(signal.pieces(), t) for t in run.time]
    np.testing.assert_allclose(run["b.q1"], wanted, atol=1e-10, rtol=0)
    np.testing.assert_allclose(run["u"], signal(run.time), atol=1e-14)


@pytest.mark.parametrize("how", ["hold", "linear"])
def test_fixed_steps_keep_their_order_across_jumps_on_their_grid(model: arm.CompiledModel, how: str) -> None:
    t = 0.1 * np.arange(1, 13)
    signal = arm.Signal(t, POINTS, interpolation=how)
    errors = []
    for step in (0.05, 0.025):
        run = model.simulate(1.5, step=step, inputs={"u": signal})
        assert len(run) == round(1.5 / step) + 1
        errors.append(abs(run["b.q1"][-1] - exact(signal.pieces(), 1.5)))
    assert 13.0 < errors[0] / errors[1] < 19.0  # 2⁴, less what higher orders take


@pytest.mark.parametrize("method", ["rk4", "midpoint", "dopri5", "dop853", "rodas5p"])
def test_a_jump_at_the_end_of_a_run_belongs_to_the_time_after_it(
    model: arm.CompiledModel, method: str
) -> None:
    """v = ∫ push dt with push = 1 N, then 2 N: what begins at the last instant has no effect."""
    push = arm.Signal([0.0, 0.5, 1.0], [1.0, 2.0, 1e4], interpolation="hold")
    tolerance = {"rk4": 1e-6, "midpoint": 1e-3}.get(method, 1e-9)
    how: dict[str, float] = {"rtol": 1e-10, "atol": 1e-12} if tolerance == 1e-9 else {"step": 0.025}
    for t0, t_end in ((0.5, 1.0), (0.7, 1.0), (-0.2, 0.5)):
        run = model.simulate(
            t_end, t0=t0, method=method, inputs={"push": push, "u": 0.0}, initial={"b.q1": 0.0}, **how
        )
        w, f = OMEGA * (t_end - t0), 2.0 if t0 > 0 else 1.0
        wanted = f / OMEGA * np.sin(w)  # of an oscillator at rest under a constant force
        assert run["b.u1"][-1] == pytest.approx(wanted, abs=tolerance)
        assert run["push"][-1] == push(t_end)


def test_fixed_steps_are_split_at_jumps_between_grid_points(model: arm.CompiledModel) -> None:
    signal = arm.Signal(UNEVEN, POINTS, interpolation="hold")
    run = model.simulate(1.5, step=1e-3, inputs={"u": signal}, sample=0.5)
    np.testing.assert_allclose(run["b.q1"], [exact(signal.pieces(), x) for x in run.time], atol=1e-13)
    inner = np.sum((UNEVEN > 0.0) & (UNEVEN < 1.5)) - 1  # the first instant brings no jump
    assert run.info["steps"] == 1500 + inner
    assert run["steps"][-1] == 1501.0  # the memory is renewed at grid points alone


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("t", [UNEVEN, np.linspace(0.2, 1.1, 12)], ids=["uneven", "even"])
def test_compiled_values_and_rates_are_those_of_scipy(model: arm.CompiledModel, how: str, t: Any) -> None:
    from scipy.interpolate import CubicSpline, PchipInterpolator, interp1d

    run = model.simulate(1.4, step=0.007, inputs={"u": arm.Signal(t, POINTS, interpolation=how)})
    inside = (run.time > t[0]) & (run.time < t[-1]) & (np.min(np.abs(run.time[:, None] - t), axis=1) > 1e-9)
    x = run.time[inside]
    if how in ("hold", "linear"):
        wanted = interp1d(t, POINTS, kind="previous" if how == "hold" else "linear")(x)
        slope = 0.0 * x if how == "hold" else (np.diff(POINTS) / np.diff(t))[np.searchsorted(t, x) - 1]
    else:
        made = (PchipInterpolator if how == "smooth" else CubicSpline)(t, POINTS)
        wanted, slope = made(x), made(x, 1)
    np.testing.assert_allclose(run["u"][inside], wanted, atol=1e-13)
    np.testing.assert_allclose(run["rate"][inside], slope, atol=1e-11)
    assert np.all(run["u"][run.time < t[0] - 1e-9] == POINTS[0])
    assert np.all(run["u"][run.time > t[-1] + 1e-9] == POINTS[-1])
    assert np.all(run["rate"][(run.time < t[0] - 1e-9) | (run.time > t[-1] + 1e-9)] == 0.0)


def test_other_data_need_no_other_code(model: arm.CompiledModel) -> None:
    first = model.simulate(1.0, inputs={"u": (UNEVEN, POINTS)}, sample=1.0)
    code = core_of(model).driven
    other = model.simulate(1.0, inputs={"u": (UNEVEN, 2 * POINTS), "push": 0.0}, sample=1.0)
    assert core_of(model).driven is code
    assert other["b.q1"][-1] == pytest.approx(2 * first["b.q1"][-1], rel=1e-9)
    assert model.simulate(1.0, sample=1.0)["b.q1"][-1] == 0.0  # without data: the default


def test_all_forms_of_data_are_the_same_run(model: arm.CompiledModel, tmp_path: Path) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    t, y = UNEVEN, POINTS
    file = tmp_path / "data.csv"
    lines = [
        "time [ms],other,u [cm]",
        *(f"{1e3 * a!r},1,{0.1 * b!r}" for a, b in zip(t.tolist(), y.tolist(), strict=True)),
    ]
    file.write_text("\n".join(lines))
    array = xarray.DataArray(0.1 * y, coords={"time": t}, dims="time", attrs={"units": "cm"})
    forms: list[Any] = [
        {"u": (t, y)},
        {"u": (t.tolist(), y.tolist())},
        {"u": arm.Signal(t, 1e-3 * y, units="m")},
        {"u": pandas.Series(y, index=t)},
        pandas.DataFrame({"t": t, "u": y}),
        pandas.DataFrame({"u": y}, index=t),
        {"u": array},
        xarray.Dataset({"u": array}),
        file,
        str(file),
        {"u": arm.Signal.from_csv(file, "time", "u")},
        {"u": arm.Signal.from_csv(file, 1, 3)},
    ]
    runs = [model.simulate(1.0, step=0.01, inputs=form)["b.q1"] for form in forms]
    for q in runs[1:]:
        np.testing.assert_allclose(q, runs[0], atol=1e-15, rtol=1e-10)


@pytest.mark.parametrize(
    "function", [lambda t: 5 * np.sin(2 * t), lambda t: 5 * np.sin(2 * t) if t < 9 else 0]
)
@pytest.mark.parametrize("how", [{"step": 0.005}, {}])
def test_a_function_is_sampled_finely_enough(model: arm.CompiledModel, function: Any, how: Any) -> None:
    run = model.simulate(2.0, inputs={"u": function}, sample=0.5, **how)
    a, t = 5e-3 * OMEGA**2 / (OMEGA**2 - 4.0), run.time  # forced motion, and free motion from rest
    np.testing.assert_allclose(run["b.q1"], a * (np.sin(2 * t) - 2 / OMEGA * np.sin(OMEGA * t)), atol=2e-10)


def test_an_input_moves_a_prescribed_joint_with_its_rates() -> None:
    """A pendulum on a sledge: the sledge by data, and by the function from which they come."""
    end = {}
    for given in ("road", "0.2*sin(4*t)"):
        s = arm.System("sledge")
        s.input("road", units="m", interpolation="cubic")
        sledge = s.body("sledge", joint=arm.Prismatic("x"), mass=1, inertia=0)
        s.body("bob", parent=sledge, joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
        s.gravity(9.81, -s.ground.y)
        s.prescribe(sledge.q1, given)
        s.output("drive", s.effort(sledge.q1))
        model = s.derive().compile()
        data = {"road": lambda t: 0.2 * np.sin(4 * t)} if given == "road" else None
        run = model.simulate(2.0, inputs=data, sample=0.5)
        end[given] = np.array([run[name] for name in ("sledge.q1", "sledge.u1", "bob.q1", "drive")])
    one, other = end.values()
    np.testing.assert_allclose(one[:3], other[:3], atol=1e-8)
    # The second derivative of a spline through 10 001 points, not a knot: 1e-8 inside, 1e-5 at the ends.
    np.testing.assert_allclose(one[3, 1:-1], other[3, 1:-1], atol=1e-6)


def arm_with_latch(latch: bool) -> arm.System:
    s = arm.System("latch")
    a = s.body("a", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.body("b", parent=a, joint=arm.Revolute("z"), at=(0, -1, 0), com=(0, -0.5, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    if latch:
        s.event("latched", "b.q1 + 0.2", direction=-1, lock="b.q1")
    return s


@pytest.fixture(scope="module")
def switched() -> dict[bool, np.ndarray]:
    """The same motion with a memory that events of time switch."""
    found = {}
    for latch in (False, True):
        s = arm_with_latch(latch)
        s.memory("tau", 5.0, units="N*m")
        s.event("one", "t - 0.1", direction=1, set={"tau": -3.0})
        s.event("two", "t - 0.4", direction=1, set={"tau": 2.0})
        s.moment("drive", "tau", s.ground.z, on="a")
        run = s.derive("kane").compile().simulate(1.0, sample=0.25)
        assert any(e.name == "latched" for e in run.events) is latch
        found[latch] = run["a.q1"]
    return found


@pytest.mark.parametrize("formalism", ["kane", "recursive", "momentum", "redundant"])
def test_formalisms_agree_on_an_arm_that_latches_under_data(
    formalism: str, switched: dict[bool, np.ndarray]
) -> None:
    latch = formalism in ("kane", "recursive")
    s = arm_with_latch(latch)
    s.input("tau", units="N*m", interpolation="hold")
    s.moment("drive", "tau", s.ground.z, on="a")
    how: dict[str, Any] = {"step": 5e-4} if formalism == "redundant" else {}
    run = (
        s.derive(formalism)
        .compile()
        .simulate(1.0, sample=0.25, inputs={"tau": ([0.0, 0.1, 0.4], [5.0, -3.0, 2.0])}, **how)
    )
    # Park and Chiou's method has second order.
    np.testing.assert_allclose(run["a.q1"], switched[latch], atol=1e-6 if how else 1e-9)


def test_sensitivities_take_inputs() -> None:
    s = arm.System("gain")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("k", 2.0)
    s.input("u", interpolation="linear")
    s.state("z", rate="k*u - z")
    made = s.derive().compile()
    data = {"u": ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])}
    how: dict[str, Any] = {"inputs": data, "sample": [2.0], "rtol": 1e-11, "atol": 1e-12}
    found = made.sensitivities(2.0, ["k"], ["z"], **how)
    # ż = k u − z from zero: z is proportional to k.
    assert found["z", "k"][-1] == pytest.approx(found.run["z"][-1] / 2.0, rel=1e-9)
    assert found.run["z"][-1] == pytest.approx(2.0 * (1 - np.exp(-1.0)) ** 2, rel=1e-9)


def test_a_fit_takes_the_inputs_of_its_experiments() -> None:
    s = arm.System("lag")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("tau", 0.3, units="s")
    s.input("u", interpolation="hold")
    s.lag("y", "u", "tau")
    made = s.derive().compile()
    drive = {"u": ([0.0, 0.5, 1.2], [1.0, -1.0, 2.0])}
    run = made.simulate(2.0, parameters={"tau": 0.17}, inputs=drive, sample=0.1)
    data = {"time": run.time, "y": run["y"]}
    found = arm.fit(made, arm.Experiment(data, inputs=drive), ["tau"])
    assert found.values["tau"] == pytest.approx(0.17, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"v": (UNEVEN, POINTS)}, ParameterError, "there is no input 'v'"),
        ({"steps": (UNEVEN, POINTS)}, ParameterError, "a memory, which the model itself updates"),
        ({"u": (UNEVEN[::-1], POINTS)}, ParameterError, "times must increase"),
        ({"u": (UNEVEN, POINTS[:-1])}, ParameterError, "12 instants but values of shape (11,)"),
        ({"u": (UNEVEN, POINTS * np.nan)}, ParameterError, "value number 0 is not finite"),
        ({"u": (UNEVEN, np.ones((2, 12)))}, ParameterError, "for 2 runs, but this is one run"),
        ({"u": "3 s"}, ParameterError, "input 'u'"),
        ({"u": object()}, ParameterError, "needs data over time"),
        ({"u": (UNEVEN, POINTS, "hold")}, ParameterError, "needs data over time"),
        ({"u": arm.Signal([0], [1], units="N")}, UnitsError, "but its data are in N"),
        ("nowhere.csv", arm.ExpressionError, "there is no such file"),
        (3, ParameterError, "inputs= must hold values by name"),
    ],
)
def test_wrong_data_are_refused_by_a_sentence(
    model: arm.CompiledModel, given: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as told:
        model.simulate(1.0, inputs=given)
    assert words in str(told.value)


def test_wrong_signals_and_inputs_are_refused(model: arm.CompiledModel) -> None:
    with pytest.raises(ParameterError, match="interpolation='spline'"):
        arm.Signal([0, 1], [0, 1], interpolation="spline")
    with pytest.raises(ModelError, match="interpolation='step'"):
        follower().input("w", interpolation="step")
    with pytest.raises(ParameterError, match="give only one of them"):
        model.simulate(1.0, memory={"u": 1.0}, inputs={"u": (UNEVEN, POINTS)})
    s = arm.System("none")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(ParameterError, match="has no inputs"):
        s.derive().compile().simulate(1.0, inputs={"k": 1.0})


def test_an_event_inside_a_step_that_a_jump_shortens() -> None:
    """Free fall upwards under a constant force that begins inside a step: the event's time is known."""
    s = arm.System("puck")
    s.input("force", units="N", interpolation="hold")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("hand", "force", s.ground.x, at=b.com)
    s.event("line", "b.q1 - 0.5", direction=1, stop=False)
    data = {"force": ([0.0, 0.513, 0.537, 1.513], [0.0, 4.0, 0.0, 1.0])}
    run = s.derive().compile().simulate(2.0, step=0.1, initial={"b.u1": 0.948}, inputs=data)
    before = 0.948 * 0.513  # 0.486324, then u = 0.948 + 4 τ: 0.5 = before + 0.948 τ + 2 τ²
    tau = (-0.948 + np.sqrt(0.948**2 + 8 * (0.5 - before))) / 4
    assert run.events[0].time == pytest.approx(0.513 + tau, abs=1e-12)
    v = 0.948 + 4 * 0.024
    assert run["b.u1"][-1] == pytest.approx(v + 0.487, abs=1e-12)
    np.testing.assert_allclose(run.time, 0.1 * np.arange(21), atol=1e-12)


def test_stops_that_rounding_alone_keeps_apart_are_one() -> None:
    """Two steps of inputs at one second, one of them some roundings later; those a millisecond apart are two,
    and none is after the end of a run.
    """
    s = arm.System("push")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    for name in ("F", "G"):
        s.input(name, 0.0, units="N", interpolation="hold")
        s.force(f"push_{name}", name, s.ground.x, at=cart.com)

    def stops(later: float, t_end: float = 2.0) -> list[float]:
        signals = {
            "F": arm.Signal([0.0, 1.0, 3.0], [0.0, 1.0, 0.0]),
            "G": arm.Signal([0.0, 1.0 + later, 3.0], [0.0, 2.0, 0.0]),
        }
        found = driven_inputs(s, signals).stops(0.0, t_end, adaptive=False)
        return [] if found is None else found.tolist()

    assert stops(4e-16) == stops(4e-15) == pytest.approx([1.0]) and len(stops(4e-15)) == 1
    assert stops(1e-3) == pytest.approx([1.0, 1.001])
    assert stops(0.0, t_end=0.5) == []


@pytest.mark.parametrize(
    ("step", "every"), [(1.0, 0.5), (3.0, 1.5), (9.0, 2.0), (None, 2.0), (0.02, 2.0)]
)  # a run of 20,000 s: 10,000 intervals, but the stages of fixed steps while these are fewer than a million
def test_a_function_is_sampled_at_the_stages_of_fixed_steps(step: float | None, every: float) -> None:
    settings: Any = SimpleNamespace(t0=5.0, t_end=20_005.0, step=step)
    signal = _sample_function("u", np.sqrt, settings)
    assert (signal.time[0], signal.time[-1]) == (5.0, 20_005.0)
    assert np.diff(signal.time) == pytest.approx(every, rel=1e-3)
    assert np.array_equal(signal.values, np.sqrt(signal.time))


def test_signals_keep_their_units_and_interpolation(tmp_path: Path) -> None:
    """Times in ms; between instants a held signal has the value of the one before, a spline that of SciPy."""
    file = tmp_path / "given.csv"
    file.write_text("t [ms],u [cm],v\n0,1,5\n200,4,7\n500,2,6\n")
    plain, held = (
        arm.Signal.from_csv(file),
        arm.Signal.from_csv(file, 1, "v", interpolation="hold", units="mm"),
    )
    assert (plain.units, plain.interpolation, plain.name) == ("cm", None, "u")
    assert np.allclose(plain.time, [0, 0.2, 0.5]) and np.allclose(plain([0.1, 0.35]), [2.5, 3.0])
    late = arm.Signal(held.time, [held.values, 2 * held.values], interpolation="hold", units="mm", name="v")
    for signal in (held, held.delayed(0.0), late.of_run(0), held.of_run(3)):
        assert (signal.units, signal.interpolation, signal.name) == ("mm", "hold", "v")
        assert np.allclose(signal([-1.0, 0.1, 0.2, 0.49, 9.0]), [5, 5, 7, 7, 6])
    assert (late.runs, held.runs, len(late)) == (2, None, 3)
    assert np.allclose(late.delayed("100 ms")(0.25), [5, 10])
    line = arm.Signal.sampled(lambda t: t**3, 1.0, every=0.25, t0=0.5, interpolation="linear", units="m")
    assert np.allclose(line.time, [0.5, 0.75, 1.0]) and line.units == "m"
    assert np.isclose(line(0.6), 0.125 + 0.4 * (0.421875 - 0.125))
    assert np.isclose(arm.Signal.sampled(lambda t: t**3, 1.0, every=0.2)(0.33), 0.33**3, rtol=1e-12)
