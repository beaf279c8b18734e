"""Batches against single runs and closed forms, whatever the engine, the batch size and the threads."""

from __future__ import annotations

import _thread
import platform
import threading
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles import batch as batches
from armillary.ensembles.batch import _Crew
from armillary.ensembles.engines import lane_engines
from armillary.ensembles.engines.lane_engines import Lanes
from armillary.ensembles.plan import AT_ONCE, EVENT, FAILED, FINISHED, plan
from armillary.settings import RunSettings
from armillary.stages.model import Model
from tests.ensembles.batch_systems import everything, example, stopping, worst_difference
from tests.later import unit_registry
from tests.runtime.compiled_systems import escaping, oscillator, pendulum_model, spinning
from tests.systems.changing_links import changing

RANDOM = np.random.default_rng(6)
ALL = ["final", "minimum", "maximum", "mean", "rms"]


@pytest.fixture(autouse=True)
def numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random numbers for a test whatever ran before it."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(6))


def spread(model: Any, runs: int, share: float = 0.05) -> dict[str, Any]:
    """Two parameters and one speed that differ between runs."""
    known = {name: v for name, v in model.parameters.items() if v}
    chosen = list(known)[:2]
    speed = model.speed_names[-1]
    start = model.state()[-1]
    return {
        "parameters": {name: known[name] * RANDOM.normal(1, share, runs) for name in chosen},
        "initial": {speed: start + RANDOM.normal(0, share, runs)},
    }


# ---------------------------------------------------------------- the same numbers as single runs


@pytest.mark.parametrize(
    "name, t_end, step",
    [
        ("stanford_arm", 0.5, 0.001),
        ("car", 1.0, 0.01),
        ("spacecraft_2", 1.0, 0.005),
    ],
)
@pytest.mark.optimised
def test_fixed_steps_on_lanes(name: str, t_end: float, step: float) -> None:
    model = example(name)
    batch = model.simulate_batch(step, step=step, runs=3, progress=False)
    assert batch.info["engine"].startswith("lanes")
    assert worst_difference(model, t_end, spread(model, 11), [0, 7, 8, 10], step=step) < 1e-11


@pytest.mark.optimised
def test_all_functions_tables_and_memory_on_lanes() -> None:
    model = everything()
    given = {"initial": {"A.q1": RANDOM.normal(0, 1, 13), "B.q1": RANDOM.normal(0, 0.5, 13)}}
    batch = model.simulate_batch(0.1, step=0.01, progress=False, **given)
    assert batch.info["engine"].startswith("lanes")
    assert worst_difference(model, 1.0, given, list(range(13)), step=0.01) < 1e-12
    assert worst_difference(model, 1.0, given, [0, 5], step=0.01, method="midpoint") < 1e-12
    # The end of the run is no grid point, and samples are every third step.
    assert worst_difference(model, 0.995, given, [1, 2], step=0.01, sample=0.03) < 1e-12


@pytest.mark.parametrize(
    "how", [{"sample": 0.02}, {"step": 0.01, "sample": 0.013}, {"method": "dopri5", "sample": 0.1}]
)
def test_adaptive_steps_and_samples_inside_steps_are_the_single_runs(how: dict[str, Any]) -> None:
    for model in (everything(), spinning()):
        speed = model.speed_names[0]
        given = {"initial": {speed: RANDOM.normal(1, 0.3, 5)}}
        assert worst_difference(model, 1.0, given, [0, 3], **how) == 0.0


@pytest.mark.optimised
def test_adaptive_steps_on_lanes_are_the_single_runs() -> None:
    """Every lane has its own time and step, and takes another run when its own has ended; see
    `test_batch_inputs.py` for dopri5.
    """
    assert adaptive_difference("dop853", (example("spacecraft_2"), 2.0), (spinning(), 3.0)) < 1e-12


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="only x86-64 can do without fused operations",
)
@pytest.mark.optimised
def test_without_fused_operations_lanes_have_the_bits_of_single_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which products a compiler fuses is its own choice, in loops of vectors another than in single runs: it
    makes the only difference in motions, and outputs differ by rounding.
    """
    monkeypatch.setenv("ARMILLARY_CPU", "-fma,-fma4,-avx512f")
    assert adaptive_difference("dopri5", (example("stanford_arm"), 0.5), (spinning(), 3.0)) < 1e-15


def adaptive_difference(method: str, *runs: tuple[Model, float]) -> float:
    """The worst of these models and durations, whose engine must be that of lanes."""
    found = []
    for model, t_end in runs:
        model = model.equations.compile()  # for the processor as it is described now
        given = spread(model, 21, share=0.3)
        how = {"method": method, "sample": [0.0, 0.1, 0.111, t_end - 0.01], "rtol": 1e-8, "max_step": 0.3}
        assert model.simulate_batch(0.1, **how | {"sample": 0.1}, **given).info["engine"].startswith("lanes")
        found.append(worst_difference(model, t_end, given, [0, 7, 8, 20], **how))
    return float(np.max(found))


def test_adaptive_runs_on_lanes_end_for_themselves() -> None:
    """A run that grows beyond bounds, one that needs too many steps, and one that is not finite from the
    start, among others.
    """
    k = np.array([0.0, 2.0, 0.0, 200.0, 0.0, 1e308, 0.0, 0.1, 0.0, 0.0])
    batch = escaping().simulate_batch(
        2.0, method="dopri5", parameters={"k": k}, initial={"A.q1": 1.0, "A.u1": 0.5}, max_steps=200,
        outputs=["A.q1"], sample=0.5, metrics={"end": "final(A.q1)"}, progress=False,
    )  # fmt: skip
    assert batch.info["engine"].startswith("lanes")
    np.testing.assert_allclose(batch["end"][k == 0.0], 2.0, rtol=1e-13)
    for i in np.flatnonzero(k):
        single = None
        try:
            single = escaping().simulate(
                2.0, method="dopri5", parameters={"k": k[i]}, initial={"A.q1": 1.0, "A.u1": 0.5},
                max_steps=200, sample=0.5,
            )  # fmt: skip
            assert batch.status[i] == "finished" and batch["end"][i] == single["A.q1"][-1]
        except arm.SimulationError as error:
            assert batch.status[i] in str(error)
            np.testing.assert_array_equal(batch["A.q1"][i][: len(error.run)], error.run["A.q1"])
            assert np.all(np.isnan(batch["A.q1"][i][len(error.run) :])) and np.isnan(batch["end"][i])
    assert len(set(batch.status)) >= 3


def test_batch_size_threads_and_chunks_leave_no_trace() -> None:
    model = example("stanford_arm")
    given = spread(model, 300)
    whole = model.simulate_batch(0.1, step=0.001, outputs=["E.q1"], threads=1, progress=False, **given)
    again = model.simulate_batch(0.1, step=0.001, outputs=["E.q1"], threads=3, progress=False, **given)
    np.testing.assert_array_equal(whole["E.q1"], again["E.q1"])
    for i0, i1 in ((0, 1), (5, 12), (291, 300)):
        part = {kind: {n: v[i0:i1] for n, v in values.items()} for kind, values in given.items()}
        some = model.simulate_batch(0.1, step=0.001, outputs=["E.q1"], progress=False, **part)
        np.testing.assert_array_equal(whole["E.q1"][i0:i1], some["E.q1"])
        np.testing.assert_array_equal(whole.final_state[i0:i1], some.final_state)


def test_runs_that_turn_quickly_leave_no_trace_in_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sines of stages may be taken near those of the first one while angles change by less than 1/64 in a
    step, here while speeds are below 15 rad/s: always, from the middle on no more, or never.
    """
    monkeypatch.setenv("ARMILLARY_COMPILE", "full")
    s = arm.System("double pendulum")
    s.gravity(9.81, -s.ground.y)
    upper = s.body("upper", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1, inertia=0)
    s.body("lower", upper, arm.Revolute("z"), at=(1, 0, 0), com=(0.4, 0.1, 0), mass=0.7, inertia=0)
    model = s.derive().compile()
    speeds = np.array([1.0, 40.0, 12.0, 1.5, -400.0, 14.0])
    how = {"step": 0.001, "outputs": ["upper.q1", "lower.u1"], "progress": False}

    def batch(*runs: int) -> np.ndarray:
        made = model.simulate_batch(0.5, initial={"lower.u1": speeds[list(runs)]}, **how)
        assert made.info["engine"].startswith("lanes")
        return np.stack([made["upper.q1"], made["lower.u1"]])

    together = batch(*range(6))
    assert np.sum(np.max(np.abs(together[1]), axis=1) > 15.6) > 2 > np.sum(np.abs(speeds[:3]) > 15.6)
    for runs in ((0,), (1,), (2,), (5,), (0, 3), (1, 4), (3, 1), (5, 2), (4, 0, 5)):
        np.testing.assert_array_equal(batch(*runs), together[:, list(runs)])
    given = {"initial": {"lower.u1": speeds}}
    assert worst_difference(model, 0.5, given, list(range(6)), step=0.001) < 1e-11


@pytest.mark.optimised
def test_vectors_of_every_width_give_the_same_bits() -> None:
    model = everything()
    p = plan(
        core_of(model), RunSettings(0.5, step=0.01), initial={"A.q1": np.linspace(-1, 1, 16)},
        metrics=["mean(reach)", "crossing(A.q1, 0.1)"],
    )  # fmt: skip
    found = [Lanes(p, width)(p.starts, 0, 16) for width in (2, 4, 8, 16)]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].state, other.state)
        np.testing.assert_array_equal(found[0].slots, other.slots)


def test_closed_loops_and_their_own_assembly() -> None:
    model = example("four_bar")
    name = next(n for n, v in model.parameters.items() if v)
    given = {"parameters": {name: model.parameters[name] * RANDOM.normal(1, 0.01, 4)}}
    assert worst_difference(model, 0.3, given, [0, 1, 2, 3], step=0.01) == 0.0


def test_starts_that_must_be_found_are_those_of_single_runs() -> None:
    """Mass centres and momenta, with parameters and initial values that differ."""
    s = arm.System("hub")
    s.parameter("d", 0.3, units="m")
    hub = s.body("hub", joint=arm.Free(), mass=3, inertia=(1, 2, 3))
    s.body("panel", hub, arm.Revolute("y"), at=("d", 0, 0), com=("d", 0, 0), mass=1, inertia=(0.1, 0.2, 0.2))
    s.start_mass_centre("hub", position=(1, "d", 0), velocity=(0, 0, 2))
    d, q = np.array([0.2, 0.4, 0.6]), np.array([0.1, 0.5, 0.9])
    for formalism in ("auto", "momentum"):
        model = s.derive(formalism).compile()
        given = {"parameters": {"d": d}, "initial": {"panel.q1": q}}
        assert worst_difference(model, 0.1, given, [0, 1, 2], step=0.05) == 0.0


def test_runs_that_change_their_mode_are_made_again() -> None:
    model = changing()
    given = {"initial": {model.speed_names[0]: np.array([0.0, 1.0, 6.0])}}
    assert worst_difference(model, 2.0, given, [0, 1, 2], sample=0.1) < 1e-12
    single = [
        model.simulate(2.0, initial={model.speed_names[0]: u}, sample=0.1).info for u in (0.0, 1.0, 6.0)
    ]
    assert any("configurations" in info for info in single)  # else this tested nothing


def test_runs_that_lock_joints_need_no_defaults_of_parameters() -> None:
    s = arm.System("brake")
    s.parameter("c", units="N*m*s/rad")
    s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.body("B", "A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.moment("damping", "-c*A.u1", s.ground.z, on="A")
    s.event("grip", "t - 0.1", lock="B.q1")
    model = s.derive().compile(tier="quick")
    given = {"parameters": {"c": np.array([1.0, 2.0])}, "initial": {"A.u1": 1.0}}
    assert worst_difference(model, 0.2, given, [0, 1], sample=0.1) < 1e-12
    assert worst_difference(model, 0.2, given, [0, 1], sample=0.1, method="rodas5p") < 1e-12


def test_memory_at_the_end_whatever_made_the_run() -> None:
    """Renewed every step, in runs on lanes, of the scalar loop, one by one, and made again after a change of
    mode.
    """
    speeds = np.array([0.0, 1.0, 6.0])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (everything(), {"step": 0.01}, "lanes"),
        (everything(), {"sample": 0.1}, "scalar"),
        (everything(), {"method": "rodas5p", "sample": 0.1}, "scalar"),
        (everything(), {"method": "auto", "sample": 0.1}, "scalar"),
        (changing(), {"sample": 0.1}, "scalar"),
    ]
    for model, how, engine in cases:
        batch = model.simulate_batch(0.5, initial={"A.u1": speeds}, progress=False, **how).check()
        assert batch.info["engine"].startswith(engine)
        for i in (0, 2):
            run = model.simulate(0.5, initial={"A.u1": speeds[i]}, **how)
            name = "worst" if model is changing() else "seen"
            worst = batch[name][i]
            assert worst[-1] == pytest.approx(run[name][-1], rel=1e-12)
            # The last row has the memory that a further step would begin with.
            assert worst[-2] * (1 - 1e-12) <= batch.final_memory[i][0] <= worst[-1] * (1 + 1e-12)
            names = (*model.coordinate_names, *model.speed_names)
            assert batch.final_state[i] == pytest.approx([run[n][-1] for n in names], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("how", [{"step": 0.01}, {"sample": 0.05}, {"method": "dopri5", "sample": 0.05}])
def test_a_model_whose_motion_is_all_prescribed(how: dict[str, Any]) -> None:
    s = arm.System("driven")
    A = s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.parameter("w", 2.0, units="rad/s")
    s.prescribe(A.q1, "sin(w*t)")
    s.output("angle", A.q1)
    w = np.array([2.0, 3.0])
    batch = (
        s.derive()
        .compile()
        .simulate_batch(0.3, parameters={"w": w}, outputs=["angle"], progress=False, **how)
    )
    np.testing.assert_allclose(batch["angle"], np.sin(w[:, None] * batch.time), rtol=1e-14, atol=1e-16)
    assert set(batch.status) == {"finished"}


def test_stiff_methods_and_redundant_coordinates() -> None:
    model = pendulum_model()
    given = {"parameters": {"c": np.array([0.0, 0.1])}, "initial": {"bob.q1": np.array([0.1, 1.0])}}
    for method in ("rodas5p", "auto"):
        assert worst_difference(model, 0.5, given, [0, 1], method=method, sample=0.1) == 0.0
    s = arm.System("loose")
    s.body("A", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.gravity(9.81, -s.ground.y)
    loose = s.derive(formalism="redundant").compile()
    batch = loose.simulate_batch(
        0.2,
        step=0.001,
        initial={"A.q1": np.array([0.0, 0.3])},
        metrics={"end": "final(A.q1)"},
        progress=False,
    )
    single = loose.simulate(0.2, step=0.001, initial={"A.q1": 0.3})
    assert batch["end"][1] == single["A.q1"][-1]


# ---------------------------------------------------------------- closed forms


def test_metrics_of_an_oscillator() -> None:
    """x = a cos ωt over two periods: every metric is known."""
    w = np.linspace(1.0, 3.0, 21)
    amplitude = np.linspace(0.5, 2.0, 21)
    names = [f"{kind}(A.q1)" for kind in ALL]
    batch = oscillator().simulate_batch(
        2.0, step=1e-3, parameters={"w": w}, initial={"A.q1": amplitude}, progress=False,
        metrics=[*names, "crossing(A.q1, 0)", "crossing(A.q1, 0, rising)", "histogram(A.q1, -2, 2, 4)"],
    )  # fmt: skip
    np.testing.assert_allclose(batch["final(A.q1)"], amplitude * np.cos(2 * w), atol=1e-10)
    np.testing.assert_allclose(batch["maximum(A.q1)"], amplitude, rtol=1e-14)
    turned = w * 2.0 > np.pi
    np.testing.assert_allclose(batch["minimum(A.q1)"][turned], -amplitude[turned], rtol=3e-6)
    np.testing.assert_allclose(batch["mean(A.q1)"], amplitude * np.sin(2 * w) / (2 * w), atol=2e-6)
    square = amplitude**2 * (0.5 + np.sin(4 * w) / (8 * w))
    np.testing.assert_allclose(batch["rms(A.q1)"], np.sqrt(square), rtol=3e-6)
    np.testing.assert_allclose(batch["crossing(A.q1, 0)"], np.pi / 2 / w, atol=1e-6)
    rises = 1.5 * np.pi / w
    expected = np.where(rises < 2.0, rises, np.nan)
    np.testing.assert_allclose(batch["crossing(A.q1, 0, rising)"], expected, atol=1e-6)
    assert np.all(batch["histogram(A.q1, -2, 2, 4)"].sum(axis=1) == 2001)


def test_an_event_ends_runs_at_their_own_times() -> None:
    height = np.array([0.5, 1.0, 5.0, 100.0])
    batch = stopping().simulate_batch(
        2.0, initial={"ball.q1": height}, outputs=["ball.q1"], sample=0.1, progress=False,
        metrics={"speed": "final(ball.u1)", "low": "minimum(ball.q1)", "mean": "mean(ball.q1)"},
    )  # fmt: skip
    fall = np.sqrt(2 * height / 9.81)
    assert batch.status.tolist() == ["event"] * 3 + ["finished"]
    np.testing.assert_allclose(batch.t_stop, np.minimum(fall, 2.0), rtol=1e-12)
    np.testing.assert_allclose(batch["speed"], -9.81 * batch.t_stop, rtol=1e-12)
    assert np.all(np.isnan(batch["ball.q1"][0][batch.time > fall[0]]))
    assert np.all(np.isfinite(batch["ball.q1"][0][batch.time < fall[0]]))
    assert batch.failed.size == 0 and batch.ended_by.tolist() == ["floor"] * 3 + [""]


def test_an_event_ends_runs_that_were_interrupted_for_a_look_at_the_keyboard() -> None:
    """Every 20,000 steps: the second run after two such pauses."""
    height = np.array([5.0, 100.0])
    batch = stopping().simulate_batch(
        5.0, step=1e-4, initial={"ball.q1": height}, metrics={"speed": "final(ball.u1)"}, progress=False
    )
    np.testing.assert_allclose(batch.t_stop, np.sqrt(2 * height / 9.81), rtol=1e-9)
    assert batch.t_stop[1] / 1e-4 > 2 * AT_ONCE
    assert batch.status.tolist() == ["event"] * 2 and batch.ended_by.tolist() == ["floor"] * 2


def test_a_run_that_diverges_does_not_disturb_its_neighbours() -> None:
    k = np.array([0.0, 2.0, 0.0, 200.0, 0.0])
    model = escaping()
    batch = model.simulate_batch(
        2.0, step=0.01, parameters={"k": k}, initial={"A.q1": 1.0, "A.u1": 0.5}, outputs=["A.q1"],
        metrics={"end": "final(A.q1)"}, progress=False,
    )  # fmt: skip
    assert batch.failed.tolist() == [1, 3]
    assert set(batch.status[[1, 3]]) == {"diverged"}
    np.testing.assert_allclose(batch["end"][[0, 2, 4]], 2.0, rtol=1e-13)
    assert np.isnan(batch["end"][1]) and np.isnan(batch["A.q1"][1, -1])
    with pytest.raises(arm.SimulationError) as failure:
        model.simulate(2.0, step=0.01, parameters={"k": 2.0}, initial={"A.q1": 1.0, "A.u1": 0.5})
    single = failure.value.run
    assert batch.t_stop[1] == single.time[-1]
    np.testing.assert_array_equal(batch["A.q1"][1][: len(single)], single["A.q1"])
    with pytest.raises(arm.ArmillaryError, match=r"2 of 5 runs of 'escaping' failed: run 1: diverged"):
        batch.check()


def test_runs_that_cannot_start_do_not_keep_the_others_from_it() -> None:
    batch = pendulum_model().simulate_batch(
        0.1, step=0.01, parameters={"m": [1.0, -2.0, 3.0], "c": 0.1}, metrics={"end": "final(height)"},
        progress=False,
    )  # fmt: skip
    assert (
        batch.failed.tolist() == [1]
        and np.isnan(batch["end"][1])
        and np.all(np.isfinite(batch["end"][[0, 2]]))
    )
    message = "body 'bob': its mass (by m) is -2 with these parameters; it must be 0 or more"
    assert batch.messages == {1: message}
    s = arm.System("three bars")
    bar = {"com": (0.5, 0, 0), "mass": 1, "inertia": (0.1, 0.1, 0.1)}
    A = s.body("A", joint=arm.Revolute("z"), **bar)
    B = s.body("B", A, arm.Revolute("z"), at=(1, 0, 0), **bar)
    C = s.body("C", B, arm.Revolute("z"), at=(1, 0, 0), **bar)
    s.parameter("d", 1.0, units="m")
    s.close_loop(C.point("end", (1, 0, 0)), s.ground.point("wall", ("d", 0, 0)), [s.ground.x, s.ground.y])
    model = s.derive().compile()
    for how in ({"step": 0.01}, {"method": "rodas5p", "sample": 0.05}):
        batch = model.simulate_batch(
            0.1,
            parameters={"d": [1.0, 10.0, 1.2]},
            initial={"A.q1": 1.0, "B.q1": -1.0},
            progress=False,
            **how,
        )
        assert batch.failed.tolist() == [1] and "loop" in batch.messages[1]
        assert np.all(np.isfinite(batch["B.q1"][[0, 2]])) and np.all(np.isnan(batch["B.q1"][1]))


def test_momenta_as_states() -> None:
    """The start of each run is placed by itself: momenta depend on masses."""
    s = arm.System("two links")
    A = s.body("A", joint=arm.Revolute("z"), com=(0, -1, 0), mass="m", inertia=(0.1, 0.1, 0.1))
    s.body("B", A, arm.Revolute("x"), at=(0, -2, 0), com=(0, -1, 0), mass=1, inertia=(0.1, 0.2, 0.3))
    s.gravity(9.81, -s.ground.y)
    model = s.derive("momentum").compile()
    given = {"parameters": {"m": np.array([1.0, 2.0, 3.0])}, "initial": {"B.u1": np.array([0.1, 0.2, 0.3])}}
    assert worst_difference(model, 0.1, given, [0, 1, 2], step=0.01) < 1e-12
    assert worst_difference(model, 0.1, given, [0, 2], sample=0.05) < 1e-12


# ---------------------------------------------------------------- what may be given


def test_whole_states_quantities_and_numbers_in_units() -> None:
    ureg = unit_registry()
    model = pendulum_model()
    length = np.array([0.5, 0.6, 0.7])
    how: dict[str, Any] = {"step": 0.01, "outputs": ["height"], "progress": False}
    rest: dict[str, Any] = {"m": 2.0, "c": 0.1}
    plain = model.simulate_batch(0.3, parameters={"L": length, **rest}, initial={"bob.q1": 0.4}, **how)
    metres = model.simulate_batch(
        0.3, parameters={"L": length * 100 * ureg.cm, **rest}, initial={"bob.q1": 0.4 * ureg.rad}, **how
    )
    np.testing.assert_allclose(plain["height"], metres["height"], rtol=1e-13)
    states = np.array([[0.4, 0.0], [0.5, 0.1]])
    whole = model.simulate_batch(0.3, initial=states, parameters={"c": 0.1}, **how)
    named = model.simulate_batch(
        0.3, initial={"bob.q1": states[:, 0], "bob.u1": states[:, 1]}, parameters={"c": 0.1}, **how
    )
    np.testing.assert_array_equal(whole["height"], named["height"])
    assert plain.units["height"] == "cm" and metres.units["L"] == "m"
    np.testing.assert_allclose(metres.parameters["L"], length, rtol=1e-15)


@pytest.mark.parametrize("how", [{"step": 0.01}, {"method": "rodas5p", "sample": 0.1}])
def test_a_series_is_taken_by_position(how: dict[str, Any]) -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series([0.5, 0.6, 0.7, 0.8]).sort_values(ascending=False)
    chosen = series[series > 0.55]
    given: dict[str, Any] = {
        "initial": {"bob.q1": 1.0},
        "metrics": {"end": "final(height)"},
        "progress": False,
    }
    found = pendulum_model().simulate_batch(0.1, parameters={"L": chosen, "c": 0.0}, **given, **how)
    plain = pendulum_model().simulate_batch(0.1, parameters={"L": [0.8, 0.7, 0.6], "c": 0.0}, **given, **how)
    np.testing.assert_array_equal(found["end"], plain["end"])
    np.testing.assert_array_equal(found["L"], [0.8, 0.7, 0.6])


def test_the_number_of_steps_may_be_limited() -> None:
    batch = oscillator().simulate_batch(1.0, step=0.1, runs=3, max_steps=5, outputs=["A.q1"], progress=False)
    assert set(batch.status) == {"too many steps"} and set(batch.t_stop) == {0.5}
    assert np.all(np.isfinite(batch["A.q1"][:, :6])) and np.all(np.isnan(batch["A.q1"][:, 6:]))


def test_euler_parameters_are_made_unit() -> None:
    model = spinning()
    rest = {"A.q5": 1.0, "A.u5": 2.0}
    names = [n for n in model.coordinate_names if n.startswith("A.q")][3:]
    batch = model.simulate_batch(
        0.0,
        step=0.1,
        initial={names[0]: np.array([1.0, 2.0]), names[1]: 1.0, "A.u5": rest["A.u5"]},
        progress=False,
    )
    zero = {names[0]: np.array([0.0, 1.0]), names[1]: "0/2"}
    of_two = model.simulate_batch(0.0, step=0.1, initial=zero, progress=False)
    assert of_two.failed.tolist() == [0] and "all zero" in of_two.messages[0]
    for i, first in enumerate((1.0, 2.0)):
        single = model.simulate(0.0, step=0.1, initial={names[0]: first, names[1]: 1.0, "A.u5": 2.0})
        np.testing.assert_allclose([batch[n][i, 0] for n in names], [single[n][0] for n in names], rtol=1e-15)


BAD = [
    ({"parameters": {"L": [0.5, 0.6], "m": [1.0, 2.0, 3.0]}}, r"mismatched shapes: .*'L' has 2 .*'m' has 3"),
    ({"parameters": {"L": [0.5, 0.6]}, "runs": 3}, r"mismatched shapes: parameter 'L' is 2 and runs= is 3"),
    ({"parameters": {"l": [0.5, 0.6]}}, r"no parameter 'l'; did you mean 'L'"),
    ({"parameters": {"L": np.ones((2, 2))}}, r"'L' needs one number or one per run, not .* \(2, 2\)"),
    ({"parameters": {"L": [0.5, np.nan]}}, r"parameter 'L' is nan in run 1"),
    (
        {"parameters": {"m": [-1.0, -2.0]}},
        r"body 'bob': its mass \(by m\) is -1 with .*0 or more, in all 2 runs",
    ),
    ({"parameters": {"L": []}}, r"parameter 'L' has no values"),
    ({}, r"nothing differs between the runs"),
    ({"initial": {"bob.q2": [0.5, 0.6]}}, r"no coordinate, speed or state 'bob.q2'"),
    ({"initial": np.zeros((3, 5))}, r"array of shape \(runs, 2\), not one of shape \(3, 5\)"),
    ({"memory": {"x": [1.0, 2.0]}}, r"no memory 'x'"),
    ({"runs": 0}, r"runs= must be a positive whole number"),
    ({"runs": np.nan}, r"runs= must be a positive whole number"),
    ({"runs": 10**12}, r"1,000,000,000,000 runs are more than a batch can hold"),
    ({"runs": 2, "threads": np.inf}, r"threads= must be a positive whole number"),
    ({"runs": 2, "max_steps": 1.5}, r"max_steps must be a positive whole number"),
    ({"runs": 2, "sample": ["a"]}, r"sample needs a number, or text such as"),
    ({"runs": 2, "rtol": "1e-3", "step": None}, r"rtol must be a number"),
    ({"initial": [[1.0], [2.0, 0.0]]}, r"initial states must be numbers, 2 for each run"),
    ({"runs": 2, "metrics": ["histogram(height, 0, 1, nan)"]}, r"whole number of bins"),
    ({"runs": 2, "metrics": {"": "max(height)"}}, r"a metric needs a name"),
    ({"parameters": {"L": [0.5, "long"]}}, r"parameter 'L' needs a number, or text .*, not 'long'"),
    ({"parameters": {"L": [0.5, None]}}, r"parameter 'L' .*(needs numbers|finite)"),
    ({"parameters": {"L": [0.5, object()]}}, r"parameter 'L' needs numbers, or texts .*, one per run"),
    ({"runs": 2, "outputs": ["heigt"]}, r"no output 'heigt'; did you mean 'height'"),
    ({"runs": 2, "metrics": ["maximum(heigt)"]}, r"no output 'heigt'; did you mean 'height'"),
    ({"runs": 2, "metrics": ["maxmum(height)"]}, r"is not a metric; did you mean 'maximum'"),
    ({"runs": 2, "metrics": ["rms(height, 3)"]}, r"no output .height, 3.; .height. is one: leave out ., 3."),
    ({"runs": 2, "metrics": {"height": "max(height)"}, "outputs": ["height"]}, r"has the name of an output"),
    ({"parameters": {"L": [0.5, 0.6]}, "metrics": {"L": "max(height)"}}, r"has the name of a quantity"),
    ({"runs": 2, "metrics": {"status": "max(height)"}}, r"a metric cannot be called 'status'"),
    ({"runs": 2, "threads": 0}, r"threads= must be a positive whole number"),
    ({"runs": 2, "device": "tpu"}, r"device='tpu'"),
    ({"runs": 2, "precision": "single"}, r"precision='single' is for device='gpu'"),
    ({"runs": 10**9, "step": 1e-4}, r"GiB.*; keep fewer samples"),
    ({"runs": 2, "sample": 1e-12, "outputs": ["height"]}, r"GiB.*; keep fewer samples"),
    ({"runs": 2, "metrics": ["max(abs(height))"]}, r"s.output\('…', 'abs\(height\)'\)"),
    ({"runs": 2, "metrics": ["max(speed)"]}, r"no output 'speed'; there are bob.q1, bob.u1"),
    ({"parameters": {"bob.q1": [1.0, 2.0]}}, r"'bob.q1'; it is a coordinate, speed or state: give"),
    ({"initial": {"L": [1.0, 2.0]}}, r"'L' is a parameter, .* give it in parameters="),
    ({"runs": 2, "step": 0.0}, r"the step must be positive"),
    ({"runs": 2, "rtol": -1.0, "step": None}, r"tolerances must be positive"),
    ({"runs": 2, "max_step": 0.0, "step": None}, r"the largest step must be positive"),
]  # fmt: skip


@pytest.mark.parametrize("given, message", BAD)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    arguments = {"step": 0.01, "progress": False, **given}
    arguments["parameters"] = {"c": 0.1, **arguments.get("parameters", {})}
    with pytest.raises(arm.ArmillaryError, match=message):
        pendulum_model().simulate_batch(1.0, **arguments)


# ---------------------------------------------------------------- results


def test_names_that_every_batch_has_are_told_apart_in_its_other_forms(tmp_path: Any) -> None:
    """A parameter "run" replaced the numbers of the runs, a history "status" was lost, a parameter "time"
    came back from a file as the times of the samples.
    """
    pytest.importorskip("h5netcdf")
    s = arm.System("names")
    for name in ("run", "time", "status", "t_stop"):
        s.parameter(name, 1.0)
    s.body("A", joint=arm.Prismatic("x"), mass="status", inertia=0)
    for name in ("status", "t_stop"):
        s.output(name, "run + time + t_stop + A.q1")
    varied = {
        name: np.array([i + 1.0, i + 2.0]) for i, name in enumerate(("run", "time", "status", "t_stop"))
    }
    model = s.derive().compile(tier="quick")
    batch = model.simulate_batch(1.0, step=0.5, parameters=varied, progress=False)
    data, table = batch.to_xarray(), batch.to_pandas()
    again = arm.load_batch(batch.save(tmp_path / "b.nc"))
    assert data["run"].values.tolist() == [0, 1] and data["time"].values.tolist() == [0.0, 0.5, 1.0]
    for name, values in varied.items():
        assert data[f"varied {name}"].values.tolist() == values.tolist() == table[f"varied {name}"].tolist()
        assert again.parameters[name].tolist() == values.tolist()
    for name in ("status", "t_stop"):
        assert (data[f"history {name}"].values == batch[name]).all() and (again[name] == batch[name]).all()
    assert table["status"].tolist() == ["finished"] * 2 == again.status.tolist()
    assert again.t_stop.tolist() == [1.0, 1.0] == data["t_stop"].values.tolist()


def test_a_batch_in_other_forms(tmp_path: Any) -> None:
    xr, pd = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    batch = oscillator().simulate_batch(
        1.0, step=0.01, sample=0.5, parameters={"w": np.array([1.0, 2.0, 3.0])}, initial={"A.q1": 1.0},
        outputs=["A.q1"], metrics={"end": "final(A.u1)", "bins": "histogram(A.q1, -1, 1, 5)"}, progress=False,
    )  # fmt: skip
    data = batch.to_xarray()
    assert data["A.q1"].dims == ("run", "time") and data["A.q1"].shape == (3, 3)
    assert data["bins"].shape == (3, 5) and data["end"].attrs["units"] == "m/s"
    np.testing.assert_array_equal(data["w"], [1.0, 2.0, 3.0])
    table = batch.to_pandas()
    assert list(table.columns) == ["w", "end", "status", "t_stop"] and len(table) == 3
    with xr.open_dataset(batch.save(tmp_path / "b.nc"), engine="h5netcdf") as back:
        np.testing.assert_array_equal(back["end"], batch["end"])
    again = arm.load_batch(tmp_path / "b.nc")
    assert repr(again) == repr(batch) and again.definitions == batch.definitions
    assert again.units == batch.units and again.info == dict(batch.info) and again.messages == {}
    for name in ("time", "final_state", "final_memory", "t_stop", "status", "ended_by"):
        np.testing.assert_array_equal(getattr(again, name), getattr(batch, name), name)
    for group in ("metrics", "histories", "parameters", "initial", "memory"):
        mine, its = getattr(batch, group), getattr(again, group)
        assert list(mine) == list(its) and all((mine[n] == its[n]).all() for n in mine)
    assert len(again.scatter("end").axes) == len(batch.scatter("end").axes)
    with pytest.raises(arm.ArmillaryError, match="it holds a batch, which load_batch reads"):
        arm.load_run(tmp_path / "b.nc")
    assert pd.read_parquet(batch.save(tmp_path / "b.parquet"))["end"].tolist() == batch["end"].tolist()
    assert pd.read_csv(batch.save(tmp_path / "b.csv"))["w"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(arm.ArmillaryError, match=r"saved as \.nc, \.csv or \.parquet"):
        batch.save(tmp_path / "b.txt")
    with pytest.raises(arm.ArmillaryError, match=r"has no 'ende'; did you mean 'end'"):
        batch["ende"]
    lines = repr(batch).splitlines()
    assert lines[0] == "Batch of 3 runs of 'oscillator'" and lines[2].split() == [
        "lowest",
        "median",
        "highest",
    ]
    assert lines[3].split()[0] == "end" and lines[3].endswith("m/s  final(A.u1)") and "5 bins" in lines[4]
    assert "<td" in batch._repr_html_() and "final(A.u1)" in batch._repr_html_()
    seen: list[int] = []
    oscillator().simulate_batch(1.0, step=0.01, runs=5, metrics=["final(A.q1)"], progress=seen.append)
    assert seen[-1] == 5


def test_metrics_do_not_depend_on_the_samples_of_histories() -> None:
    """x = cos 20t: extremes between two looks are missed by ω² dt²/8."""
    how: dict[str, Any] = {"initial": {"A.q1": 1.0}, "parameters": {"w": [20.0, 20.0]}, "progress": False}
    metrics = {"low": "min(A.q1)", "zero": "crossing(A.q1, 0)", "mean": "mean(A.q1)"}
    plain = oscillator().simulate_batch(2.0, metrics=metrics, **how)
    sparse = oscillator().simulate_batch(2.0, metrics=metrics, outputs=["A.q1"], sample=0.5, **how)
    fine = oscillator().simulate_batch(2.0, metrics=metrics, watch=1e-4, **how)
    assert sparse["A.q1"].shape == (2, 5) and sparse.time.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    odd = oscillator().simulate_batch(2.0, metrics=metrics, outputs=["A.q1"], sample=0.0137, **how)
    for name in metrics:
        np.testing.assert_array_equal(plain[name], sparse[name])
        np.testing.assert_array_equal(plain[name], odd[name])
    assert 0.0 <= plain["low"][0] + 1.0 < 400 * 0.002**2 / 8 and 0.0 <= fine["low"][0] + 1.0 < 400 * 1e-8 / 8
    assert abs(fine["zero"][0] - np.pi / 40) < 1e-8
    fixed = oscillator().simulate_batch(2.0, step=0.001, watch=0.25, metrics={"low": "min(A.q1)"}, **how)
    assert fixed["low"][0] == pytest.approx(np.min(np.cos(20 * np.arange(9) / 4)), abs=1e-6)


@pytest.mark.parametrize(
    "model, how, threads",
    [
        (oscillator, {"step": 1e-3}, 2),
        (oscillator, {"method": "dopri5", "max_step": 1e-5, "sample": 1e3}, 1),
        (stopping, {"method": "dopri5", "max_step": 1e-5, "sample": 1e3, "initial": {"ball.q1": 1e12}}, 2),
    ],
    ids=["fixed", "adaptive", "events"],
)
def test_ctrl_c_is_heard_in_the_middle_of_a_run(
    model: Any, how: dict[str, Any], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch would take minutes; what was not finished is not run."""
    metrics = [f"final({model().coordinate_names[0]})"]
    run = _Crew.run

    def interrupted(crew: _Crew) -> None:
        threading.Timer(0.3, _thread.interrupt_main).start()
        run(crew)

    monkeypatch.setattr(_Crew, "run", interrupted)
    batch = model().simulate_batch(2e3, runs=20_000, metrics=metrics, threads=threads, progress=False, **how)
    assert "not run" in batch.status and "interrupted" in repr(batch)
    monkeypatch.setattr(_Crew, "run", run)
    again = model().simulate_batch(0.01, runs=2, metrics=metrics, progress=False, **how | {"sample": 0.01})
    assert set(again.status) == {"finished"}


@pytest.mark.parametrize(
    ("t_end", "how"),
    [
        (2.0, {}),
        # The first steps are rejected; the one after them would grow.
        (20.0, {"method": "dop853", "step": 7.0, "rtol": 1e-6, "atol": 1e-6}),
        # At the end 1.005 of the longest steps remain: two.
        (0.30015, {"step": 0.03, "max_step": 0.03, "rtol": 1e-3}),
    ],
    ids=["plain", "rejected first steps", "longest steps"],
)
def test_an_adaptive_run_on_lanes_may_end_with_its_last_allowed_step(
    t_end: float, how: dict[str, Any]
) -> None:
    """It takes the steps of the single run, no more and no fewer."""
    given = {"initial": {"A.q1": 1.0, "A.u1": 0.5}, "method": "dopri5", "sample": t_end / 2, **how}
    single = oscillator().simulate(t_end, **given)
    needed = single.info["steps"] + single.info["rejected"]
    for allowed, status in ((needed, "finished"), (needed - 1, "too many steps")):
        batch = oscillator().simulate_batch(t_end, runs=9, max_steps=allowed, progress=False, **given)
        assert batch.info["engine"].startswith("lanes")
        assert set(batch.status) == {status}
        if status == "finished":
            np.testing.assert_allclose(batch.histories["A.q1"][:, -1], single["A.q1"][-1], rtol=1e-12)


def test_runs_with_other_lengths_start_with_their_own_loops_closed() -> None:
    """x = a cos θ + √(b² − a² sin²θ) of a slider-crank, with a rod b of another length in each run."""
    s = arm.System("slider-crank")
    s.parameter("b", 0.3, units="m")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, inertia=(0.01, 0.01, 0.01))
    rod = s.body("rod", crank, arm.Revolute("z"), at=(0.1, 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.close_loop(rod.point("end", ("b", 0, 0)), slider.origin, [s.ground.x, s.ground.y], name="pin")
    s.start({"slider.q1": 0.3})
    b = np.linspace(0.25, 0.5, 5)
    batch = s.derive().compile().simulate_batch(
        0.01, step=0.001, parameters={"b": b}, initial={"crank.q1": 0.6}, sample=0.01,
        outputs=["slider.q1"], progress=False,
    )  # fmt: skip
    expected = 0.1 * np.cos(0.6) + np.sqrt(b**2 - (0.1 * np.sin(0.6)) ** 2)
    np.testing.assert_allclose(batch["slider.q1"][:, 0], expected, rtol=0, atol=1e-12)


def test_batches_that_differ_in_numbers_alone_share_their_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    class Counted(lane_engines.LaneLoop):
        def __init__(self, frame: Any) -> None:
            made.append(frame)
            super().__init__(frame)

    monkeypatch.setattr(lane_engines, "LaneLoop", Counted)
    monkeypatch.setattr(lane_engines, "_kept", WeakKeyDictionary())  # not those of other tests
    model, name = oscillator(), "A.q1"

    def reached(start: float, t_end: float, **how: Any) -> np.ndarray:
        found = model.simulate_batch(t_end, initial={name: [start, 2 * start]}, progress=False, **how)
        return np.asarray(found["last"])

    last = {"last": f"final({name})"}
    first = reached(0.1, 0.5, step=0.01, metrics=last)
    assert len(made) == 1
    assert not np.allclose(reached(0.2, 0.4, step=0.02, metrics=last), first)
    np.testing.assert_array_equal(reached(0.1, 0.5, step=0.01, metrics=last), first)
    assert len(made) == 1
    reached(0.1, 0.5, step=0.01, metrics={"last": f"maximum({name})"})
    reached(0.1, 0.5, step=0.01, metrics=last, method="midpoint")
    reached(0.1, 0.5, metrics=last, method="dopri5")
    assert len(made) == 4


def test_runs_are_examined_by_their_speeds_beside_the_usual_ones_of_a_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half a decimetre per second is fifty times the usual speed of slides, 4 rad/s eight times that of
    turns; of a kind that mostly rests, 1 in its units counts as usual. Runs that failed are not examined.
    """
    order: list[int] = []
    monkeypatch.setattr(batches, "_explain_failed_runs", lambda plan, outcome: None)
    monkeypatch.setattr(batches, "_masses_suffice", lambda plan: False)
    monkeypatch.setattr(batches, "_speeds_by_kind", lambda plan: [[0], [1, 2], [3]])
    monkeypatch.setattr(batches, "_is_suspect", lambda plan, i, state, kinds: bool(order.append(i)))
    state = np.tile([[0.001], [0.2], [-0.5], [0.0]], 6)
    state[2, 1], state[0, 2], state[3, 3], state[0, 4], state[1, 5] = 4.0, -0.05, 20.0, 9.0, 1.0
    status = np.array([FINISHED, EVENT, FINISHED, FINISHED, FAILED, FINISHED])
    plan = SimpleNamespace(model=SimpleNamespace(equations=SimpleNamespace(joints_move_bodies=True)))
    batches.mark_weak_runs(plan, SimpleNamespace(status=status, state=state))  # type: ignore[arg-type]
    assert order == [2, 3, 1, 5, 0]


@pytest.mark.parametrize(
    "count", [3, 2 * batches._EXAMINED, 2 * batches._EXAMINED + 1, 5 * batches._EXAMINED]
)
def test_the_largest_of_many_runs_come_first(count: int) -> None:
    size = np.random.default_rng(count).permutation(count).astype(float)
    runs = np.arange(count)[::-1] + 7
    assert [*batches._largest_first(size, runs)] == runs[np.argsort(-size)].tolist()
