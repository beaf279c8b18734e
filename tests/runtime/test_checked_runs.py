"""Runs checked as they go: constraints that no longer hold, locks with sets, bad input, named starts."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ModelError, ParameterError, SimulationError
from armillary.runtime.start import assembly
from armillary.stages.model import Model
from tests.systems.locks import discs, locking, two_motors
from tests.systems.parallelogram import model as parallelogram_model
from tests.systems.parallelogram import started

# ---------------------------------------------------------------- redundant first, violated later


@pytest.mark.parametrize("how", [{}, {"step": 0.01}], ids=["adaptive", "rk4"])
def test_a_speed_constraint_that_was_redundant_and_is_not_any_more_stops_the_run(how: dict[str, Any]) -> None:
    """Both carriages are equally quick; from 5 s on the second row asks for a difference."""
    s = arm.System("late")
    s.parameter("a", 1.0, units="m/s2")
    s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.body("B", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.constrain("A.u1 - B.u1", name="c1")
    s.constrain("A.u1 - B.u1 - a*max(t - 5, 0)", name="c2")
    equations = s.derive()
    assert equations.redundant_constraints == ("c2",)
    with pytest.raises(SimulationError, match=r"constraint 'c2'.*does not hold any more") as stopped:
        equations.compile().simulate(8.0, initial={"A.u1": 1.0}, **how)
    run = stopped.value.run
    assert run.time[-1] >= 5.0
    assert run["A.q1"][run.time <= 5.0] == pytest.approx(run.time[run.time <= 5.0], abs=1e-9)


def test_closing_loops_is_interrupted_by_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that take long are closed again in a thread, with the same result; there Ctrl-C is heard."""
    monkeypatch.setattr(assembly, "_FEW", 10**6)
    given = {"B.q1": 2.0}
    found, joined = two_motors().state(given), threading.Thread.join
    monkeypatch.setattr(assembly, "_FEW", 1)
    assert np.array_equal(two_motors().state(given), found)

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        if timeout is not None:
            raise KeyboardInterrupt
        joined(thread)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    monkeypatch.setattr(threading.Thread, "is_alive", lambda thread: True)
    with pytest.raises(KeyboardInterrupt):
        two_motors().state(given)
    monkeypatch.undo()
    assert np.array_equal(two_motors().state(given), found)


def test_threads_that_close_loops_with_other_parameters_keep_their_own() -> None:
    wanted = {w: two_motors().simulate(0.3, parameters={"w": w}).values for w in (1.0, 1.5)}
    wrong: list[float] = []

    def work(w: float) -> None:
        for _ in range(20):
            if not np.array_equal(two_motors().simulate(0.3, parameters={"w": w}).values, wanted[w]):
                wrong.append(w)

    threads = [threading.Thread(target=work, args=(w,)) for w in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_motors_that_part_tear_a_loop_and_stop_the_run() -> None:
    assert two_motors().simulate(5.0, sample=0.1).info["status"] == "finished"
    with pytest.raises(ArmillaryError, match=r"'pin along ground.*does not hold any more"):
        two_motors().simulate(6.0, sample=0.1)


def test_the_error_of_a_torn_loop_has_the_run_so_far() -> None:
    with pytest.raises(SimulationError) as stopped:
        two_motors().simulate(6.0, sample=0.1)
    assert stopped.value.run.time[0] == 0.0


def test_a_lock_that_contradicts_a_constraint_of_time_names_the_event_and_its_time() -> None:
    s = arm.System("discs")
    disc = {"mass": 1, "inertia": (1, 1, 1), "com": (0.1, 0, 0)}
    s.body("A", joint=arm.Revolute("z"), **disc)
    s.body("C", joint=arm.Revolute("z"), **disc)
    s.constrain("A.u1 - C.u1 - w*cos(w*t)", name="drive")
    s.event("hold", "t - 0.3", lock=("A.q1", "C.q1"))
    with pytest.raises(SimulationError, match=r"at t = 0\.3 s, after event 'hold': .*'drive'") as stopped:
        s.derive().compile().simulate(1.0, sample=0.01, parameters={"w": 1.0})
    run = stopped.value.run
    assert run.time[-1] == pytest.approx(0.29, abs=0.011)
    assert run["A.q1"] - run["C.q1"] == pytest.approx(np.sin(run.time), abs=1e-8)


# ---------------------------------------------------------------- locks and sets


def test_an_event_that_unlocks_and_sets_a_speed_does_both() -> None:
    s = discs()
    s.lock("B.q1")
    s.event("free", "t - 0.5", unlock="B.q1", set={"B.u1": 3})
    run = s.derive().compile().simulate(1.0, sample=0.05, initial={"A.u1": 1.0})
    after = run.time > 0.5 + 1e-9
    assert run["B.u1"][after] == pytest.approx(3.0, abs=1e-12)
    assert run["A.u1"][after] == pytest.approx(1.0, abs=1e-12)
    assert run.final["B.q1"] == pytest.approx(1.5, abs=1e-9)


def test_an_event_that_locks_and_sets_a_speed_sets_it_first() -> None:
    """u⁻ = (5, 1): 2·5 + 1·1 = 2 a, a = 5.5."""
    s = discs()
    s.event("grip", "t - 0.5", lock="B.q1", set={"A.u1": 5.0})
    run = s.derive().compile().simulate(1.0, sample=0.05, initial={"A.u1": 1.0, "B.u1": 1.0})
    assert run["A.u1"][-1] == pytest.approx(5.5, abs=1e-12)
    assert run["B.u1"][-1] == 0.0


def test_a_set_at_the_time_of_an_unlock_is_kept() -> None:
    s = discs()
    s.memory("k", 0)
    s.lock("B.q1")
    s.event("free", "t - 0.5", unlock="B.q1")
    s.event("kick", "t - 0.5", set={"B.u1": 3, "k": "k + 1"})
    run = s.derive().compile().simulate(1.0, sample=0.05, initial={"A.u1": 1.0})
    assert [e.name for e in run.events] == ["free", "kick"] and run["k"][-1] == 1
    assert run["B.u1"][-1] == pytest.approx(3.0, abs=1e-12)


# ---------------------------------------------------------------- redundant coordinates


def rods(closed: bool) -> arm.System:
    """Two rods, their end on a third one or free; an event puts the first 0.2 rad further."""
    s = arm.System("rods")
    N = s.ground
    moments = (0.01, 0.02, 0.03)
    A = s.body("A", joint=arm.Revolute("z"), com=(0.15, 0, 0), mass=1, inertia=moments)
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), com=(0.35, 0.05, 0), mass=2, inertia=moments)
    s.gravity(9.81, -N.y)
    if closed:
        C = s.body("C", joint=arm.Revolute("z"), at=(0.8, 0, 0), com=(0.25, 0, 0), mass=1.5, inertia=moments)
        s.close_loop(B.point("e", (0.7, 0, 0)), C.point("e", (0.5, 0, 0)), [N.x, N.y], name="pin")
        s.start({"C.q1": 1.5})
    s.start({"A.q1": 0.9})
    s.event("kick", "t - 0.1", set={"A.q1": "A.q1 + 0.2"})
    return s


def test_redundant_coordinates_refuse_an_event_that_would_open_a_loop() -> None:
    with pytest.raises(ModelError, match=r"event 'kick' sets 'A\.q1', after which loops .* formalism='kane'"):
        rods(True).derive("redundant")
    run = rods(True).derive("kane").compile().simulate(0.3, step=1e-3, initial={"A.u1": 1.0})
    q = [run[name] for name in ("A.q1", "B.q1", "C.q1")]
    x = 0.3 * np.cos(q[0]) + 0.7 * np.cos(q[0] + q[1]) - 0.8 - 0.5 * np.cos(q[2])
    assert np.max(np.abs(x)) < 1e-10
    kick = np.flatnonzero(run.time > 0.1 - 1e-9)[0]
    assert q[0][kick + 1] - q[0][kick - 1] == pytest.approx(0.2, abs=5e-3)  # 2 ms of motion in it


def test_redundant_coordinates_without_loops_go_on_after_an_event_that_sets_one() -> None:
    """Against the minimal equations: of second order in the step (staggered), or to 1e-8 (projected)."""
    start, times = {"A.u1": 1.0}, {"sample": 0.01}
    minimal = rods(False).derive("kane").compile().simulate(0.3, initial=start, **times)
    model = rods(False).derive("redundant").compile()

    def error(method: str, step: float) -> float:
        run = model.simulate(0.3, initial=start, step=step, method=method, **times)
        assert [(e.name, round(e.time, 9)) for e in run.events] == [("kick", 0.1)]
        return max(float(np.max(np.abs(run[name] - minimal[name]))) for name in ("A.q1", "B.q1"))

    coarse, fine = error("staggered", 1e-3), error("staggered", 5e-4)
    assert fine < 1e-5 and 3.5 < coarse / fine < 4.5
    assert error("projected", 1e-3) < 1e-8


# ---------------------------------------------------------------- bad input with loops and locks

nan = float("nan")
BAD: dict[str, tuple[float, dict[str, Any], str]] = {
    "unknown method": (1.0, {"method": "rk45"}, "no integration method 'rk45'; did you mean 'rk4'"),
    "capitals": (1.0, {"method": "RK4", "step": 0.01}, "no integration method 'RK4'; did you mean 'rk4'"),
    "no step": (1.0, {"method": "rk4"}, "steps of one size: give step="),
    "backwards": (-1.0, {}, r"t_end not before t0; t0 is 0\.0 and t_end -1\.0"),
    "late start": (1.0, {"t0": 2.0}, r"t_end not before t0; t0 is 2\.0 and t_end 1\.0"),
    "no end": (nan, {}, r"must be finite, .*; t0 is 0\.0 and t_end nan"),
    "negative step": (1.0, {"step": -0.01}, r"step must be positive, not -0\.01"),
    "no number": (1.0, {"step": nan}, "step must be positive, not nan"),
    "negative sample": (1.0, {"sample": -1.0}, r"samples must be positive, not -1\.0"),
    "tolerance": (1.0, {"rtol": -1.0}, "tolerances must be positive"),
    "largest step": (1.0, {"max_step": nan}, "largest step must be positive, not nan"),
}


@cache
def tree() -> Model:
    return discs().derive().compile()


@pytest.mark.parametrize(("t_end", "how", "message"), BAD.values(), ids=BAD)
def test_bad_input_has_one_answer_in_trees_and_loops_and_with_locks(
    t_end: float, how: dict[str, Any], message: str
) -> None:
    answers = set()
    for model, initial in ((tree(), {}), (parallelogram_model(), started(0.5, 1.0)), (locking(), {})):
        with pytest.raises(ArmillaryError, match=message) as refused:
            model.simulate(t_end, initial=initial, **how)
        answers.add(str(refused.value))
    assert len(answers) == 1


# ---------------------------------------------------------------- named coordinates


@cache
def pinned() -> Model:
    """A free body with one point on the ground; its speeds are along its own axes, so no rate is a speed."""
    s = arm.System("pinned")
    F = s.body("F", joint=arm.Free("xyz", "body"), mass=1, inertia=(1, 1, 1))
    s.close_loop(F.point("p", (0, 0, 1)), s.ground.point("w", (0.9, 0.3, 1.2)), name="pin")
    return s.derive().compile()


@pytest.mark.parametrize(
    "named",
    [
        {"F.q4": 0.3},
        {"F.q1": 0.5},
        {"F.q1": 0.5, "F.q2": 0.1},
        {"F.q1": 0.5, "F.q5": 0.41151684606748806},
    ],
    ids=lambda named: ", ".join(named),
)
def test_named_coordinates_of_a_pinned_free_body_do_not_move(named: dict[str, float]) -> None:
    """x + R z = w can be met with each of them: R z = (sin q₅, −sin q₄ cos q₅, cos q₄ cos q₅)."""
    model = pinned()
    q = dict(zip(model.coordinate_names, model.state(named), strict=False))
    tip = [np.sin(q["F.q5"]), -np.sin(q["F.q4"]) * np.cos(q["F.q5"]), np.cos(q["F.q4"]) * np.cos(q["F.q5"])]
    assert [q[f"F.q{i}"] + tip[i - 1] for i in (1, 2, 3)] == pytest.approx([0.9, 0.3, 1.2], abs=1e-9)
    assert {name: q[name] for name in named} == pytest.approx(named, abs=1e-9)


# ---------------------------------------------------------------- redundant at the defaults only


def three_cranks(last: float = 1.0) -> arm.System:
    """A bar on three equal cranks, one of which is not needed; its length is M."""
    s = arm.System("three cranks")
    N = s.ground
    s.parameter("L", 1.0, units="m")
    s.parameter("M", last, units="m")
    part = {"mass": 1, "inertia": (1, 1, 1)}
    K = s.body("K", joint=arm.Revolute("z"), **part)
    bar = s.body("bar", K, arm.Revolute("z"), at=("L", 0, 0), com=(1, 0, 0), **part)
    D = s.body("D", joint=arm.Revolute("z"), at=(1, 0, 0), **part)
    E = s.body("E", joint=arm.Revolute("z"), at=(2, 0, 0), **part)
    s.gravity(9.81, -N.y)
    s.close_loop(bar.point("d", (1, 0, 0)), D.point("end", ("L", 0, 0)), [N.x, N.y], name="d")
    s.close_loop(bar.point("e", (2, 0, 0)), E.point("end", ("M", 0, 0)), [N.x, N.y], name="e")
    s.start({"K.q1": 1.0, "bar.q1": -1.0, "D.q1": 1.0, "E.q1": 1.0})
    return s


def test_a_third_crank_is_redundant_only_while_it_is_as_long_as_the_others() -> None:
    equations = three_cranks().derive()
    assert len(equations.redundant_constraints) == 1 and len(equations.speeds) == 1
    model = equations.compile()
    run = model.simulate(0.5, sample=0.01)
    assert run["E.q1"] == pytest.approx(run["K.q1"], abs=1e-9)
    both = model.simulate(0.5, sample=0.01, parameters={"L": 1.05, "M": 1.05})
    assert both["E.q1"] == pytest.approx(both["K.q1"], abs=1e-9)
    with pytest.raises(ParameterError, match="is redundant with the default parameters, but not with these"):
        model.simulate(0.5, parameters={"M": 1.05})


def test_a_third_crank_of_another_length_leaves_no_motion() -> None:
    with pytest.raises(ModelError, match="'three cranks' is over-constrained: 4 constraints"):
        three_cranks(1.05).derive()
