"""Runs through several configurations: joints locked and unlocked on the way, and no seams in the rows."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError, ModelError, ParameterError
from armillary.stages.model import Model
from examples import slider_crank
from tests.systems.changing_configurations import I1, I2, W1, W2, clutch, five_bar

METHODS: dict[str, dict[str, Any]] = {
    "dop853": {"sample": 0.05},
    "dopri5": {"method": "dopri5", "sample": 0.05},
    "rodas5p": {"method": "rodas5p", "sample": 0.05},
    "rk4": {"step": 0.01},
    "midpoint": {"step": 0.01, "method": "midpoint"},
    "auto": {"method": "auto", "sample": 0.05},
}

# ---------------------------------------------------------------- two discs and a clutch


@cache
def clutch_model() -> Model:
    return clutch().derive().compile()


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_clutch_shares_the_angular_momentum(how: dict[str, Any]) -> None:
    """ω = (I₁ω₁ + I₂ω₂)/(I₁ + I₂), and what is lost is ½ I₁I₂/(I₁ + I₂) (ω₁ − ω₂)²."""
    run = clutch_model().simulate(3.0, initial={"A.u1": W1, "B.u1": W2 - W1}, **how)
    together = (I1 * W1 + I2 * W2) / (I1 + I2)
    after = run.time > 1.0 + 1e-9
    assert run["A.u1"][~after][:-1] == pytest.approx(W1, abs=1e-12)
    assert run["A.u1"][after] == pytest.approx(together, abs=1e-12)
    assert run["B.u1"][after] == pytest.approx(0.0, abs=1e-12)
    assert run["L"] == pytest.approx(I1 * W1 + I2 * W2, abs=1e-12)
    lost = 0.5 * I1 * I2 / (I1 + I2) * (W1 - W2) ** 2
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(lost, abs=1e-12)
    turned = W1 + together * (run.time[-1] - 1.0)
    assert run["A.q1"][-1] == pytest.approx(turned, abs=1e-10)
    assert run["B.q1"][-1] == pytest.approx(W2 - W1, abs=1e-10)
    assert [(round(e.time, 9), e.name) for e in run.events] == [(1.0, "grip"), (2.0, "release")]
    assert (
        run.info["configurations"]
        == "t = 1 s: event 'grip' locks B.u1; t = 2 s: event 'release' unlocks B.u1"
    )


def test_tolerances_by_state_follow_the_states_through_changes() -> None:
    """One number for each state is the same as one for all, if they are equal; a lock takes one away."""
    how: dict[str, Any] = {"sample": 0.25, "initial": {"A.u1": W1, "B.u1": W2 - W1}, "rtol": 1e-8}
    how["parameters"] = {"torque": 0.6}
    one, each = (clutch_model().simulate(3.0, atol=atol, **how) for atol in (1e-9, [1e-9] * 4))
    np.testing.assert_array_equal(one.values, each.values)
    batch = clutch_model().simulate_batch(
        3.0, sample=0.25, rtol=1e-8, atol=[1e-9] * 4, parameters={"torque": [0.6, 0.6]}, progress=False,
        initial={"A.u1": W1, "B.u1": W2 - W1},
    )  # fmt: skip
    np.testing.assert_array_equal(batch["A.u1"][1], one["A.u1"])


def test_a_motor_works_while_the_clutch_is_open_only() -> None:
    """Ḣ of each disc is ∓ the torque until they grip; then it is an inner force that does nothing."""
    run = clutch_model().simulate(
        3.0, sample=0.1, initial={"A.u1": W1, "B.u1": W2 - W1}, parameters={"torque": 0.6}
    )
    grip, release = np.searchsorted(run.time, [1.0 + 1e-9, 2.0 + 1e-9])
    before = run.time[: grip - 1]
    assert run["A.u1"][: grip - 1] == pytest.approx(W1 - 0.6 / I1 * before, abs=1e-9)
    assert run["B.u1"][: grip - 1] == pytest.approx(W2 - W1 + (0.6 / I1 + 0.6 / I2) * before, abs=1e-9)
    assert np.ptp(run["A.u1"][grip:release]) < 1e-12
    free = run.time[release:] - 2.0
    assert run["A.u1"][release:] == pytest.approx(run["A.u1"][grip] - 0.6 / I1 * free, abs=1e-9)
    assert run["B.u1"][release:] == pytest.approx((0.6 / I1 + 0.6 / I2) * free, abs=1e-9)


def test_a_lock_of_the_description_holds_until_an_event_opens_it() -> None:
    s = arm.System("latch")
    A = s.body("A", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.lock(A.q1)
    s.event("open", "t - 0.5", unlock="A.q1")
    model = s.derive().compile()
    run = model.simulate(1.0, sample=0.05, initial={"A.q1": -math.pi / 2 + 0.01})
    assert np.ptp(run["A.q1"][run.time < 0.5]) == 0.0
    swing = 0.01 * np.cos(math.sqrt(9.81 / 0.5) * (run.time - 0.5))
    after = run.time >= 0.5
    assert run["A.q1"][after] == pytest.approx(-math.pi / 2 + swing[after], abs=1e-6)
    with pytest.raises(ParameterError, match=r"A\.u1"):
        model.simulate(1.0, sample=0.05, initial={"A.u1": 1.0})


# ---------------------------------------------------------------- an arm whose elbow locks

LENGTHS = (0.8, 0.6)
MASSES = (2.0, 1.5)


def elbow() -> arm.System:
    """Two rods in a horizontal plane, on a shoulder; the elbow locks where it is stretched to 0.3 rad."""
    s = arm.System("arm")
    moments = [m * a**2 / 12 for m, a in zip(MASSES, LENGTHS, strict=True)]
    A = s.body(
        "A", joint=arm.Revolute("z"), com=(LENGTHS[0] / 2, 0, 0), mass=MASSES[0],
        inertia=(0, moments[0], moments[0]),
    )  # fmt: skip
    B = s.body(
        "B", A, arm.Revolute("z"), at=(LENGTHS[0], 0, 0), com=(LENGTHS[1] / 2, 0, 0), mass=MASSES[1],
        inertia=(0, moments[1], moments[1]),
    )  # fmt: skip
    s.event("stretched", "B.q1 - 0.3", direction=-1, lock=B.u1)
    s.event("let go", "t - 1.5", unlock=B.u1)
    s.output("H", arm.dot(s.angular_momentum(), s.ground.z))
    s.output("energy", s.kinetic_energy())
    return s


def test_elbow_lock_keeps_the_angular_momentum_about_the_shoulder() -> None:
    (a, b), (m, n) = LENGTHS, MASSES
    model = elbow().derive().compile()
    run = model.simulate(
        2.0, sample=0.02, initial={"B.q1": 1.5, "A.u1": 1.0, "B.u1": -3.0}, rtol=1e-12, atol=1e-13
    )  # fmt: skip
    [lock, free] = run.events
    assert (lock.name, free.name) == ("stretched", "let go")
    assert run["H"] == pytest.approx(run["H"][0], abs=1e-10)
    held = (run.time > lock.time) & (run.time < free.time)
    assert run["B.q1"][held] == pytest.approx(0.3, abs=1e-9)
    assert run["B.u1"][held] == pytest.approx(0.0, abs=1e-12)
    # Both rods as one body about the shoulder, with the cosine theorem.
    inertia = m * a**2 / 3 + n * b**2 / 12 + n * (a**2 + b**2 / 4 + a * b * math.cos(0.3))
    assert run["A.u1"][held] == pytest.approx(run["H"][0] / inertia, abs=1e-9)
    assert run["energy"][held] == pytest.approx(0.5 * run["H"][0] ** 2 / inertia, abs=1e-9)
    assert run["energy"][0] - run["energy"][held][0] > 0.05
    # From there on it moves as it does when it is started so.
    after = run.time > free.time
    assert run["energy"][after] == pytest.approx(run["energy"][held][0], abs=1e-9)
    start = {"A.q1": 0.0, "B.q1": 0.3, "A.u1": run["A.u1"][held][0]}
    again = model.simulate(0.5, sample=run.time[after] - free.time, initial=start)
    assert run["B.q1"][after] == pytest.approx(again["B.q1"], abs=1e-7)


# ---------------------------------------------------------------- locking inside a closed loop


@cache
def caught() -> Model:
    return five_bar().derive().compile()


@pytest.mark.parametrize("how", [{"sample": 0.01}, {"step": 1e-3}], ids=["adaptive", "rk4"])
def test_a_crank_caught_in_a_loop_leaves_the_other_its_momentum(how: dict[str, Any]) -> None:
    """Of T = ½ (p u_A² + 2 r u_A u_C + s u_C²) the catch leaves p u_A + r u_C, the momentum of A."""
    model = caught()
    run = model.simulate(0.3, initial={"A.u1": 2.0, "C.u1": 3.0}, **how)
    q = {name: run[name][run.time <= 0.1 + 1e-9][-1] for name in ("A.q1", "B.q1", "C.q1", "D.q1")}

    def energy(a: float, c: float) -> float:
        state = model.state(q | {"A.u1": a, "C.u1": c})
        return model.outputs(0.0, state)["energy"]

    p, s = 2 * energy(1, 0), 2 * energy(0, 1)
    r = energy(1, 1) - p / 2 - s / 2
    before, after = (run.time < 0.1 - 1e-9), (run.time > 0.1 + 1e-9) & (run.time < 0.2 - 1e-9)
    a, c = (
        np.polyval(np.polyfit(run.time[before][-6:] - 0.1, run[name][before][-6:], 5), 0.0)
        for name in ("A.u1", "C.u1")
    )
    assert 0.5 * (p * a**2 + 2 * r * a * c + s * c**2) == pytest.approx(run["energy"][0], rel=1e-5)
    held = 0.5 * p * (a + r / p * c) ** 2
    assert run["energy"][after] == pytest.approx(held, rel=1e-5)
    assert run["C.u1"][after] == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(run["C.q1"][after]) < 1e-12
    assert np.ptp(run["energy"][run.time > 0.2 - 1e-9]) < 1e-6
    assert np.ptp(run["C.q1"][run.time > 0.2]) > 1e-3
    gap_x = (
        -0.2 + 0.3 * np.cos(run["A.q1"]) + 0.4 * np.cos(run["A.q1"] + run["B.q1"])
        - 0.3 * np.cos(run["C.q1"]) - 0.4 * np.cos(run["C.q1"] + run["D.q1"])
    )  # fmt: skip
    assert np.max(np.abs(gap_x)) < 1e-10


# ---------------------------------------------------------------- rows


@cache
def thrice() -> Model:
    """A clutch that grips again off the grid of rows, and a run that ends where A has turned by 15 rad."""
    s = clutch()
    s.event("again", "t - 2.3333", lock="B.q1")
    s.event("enough", "A.q1 - 15", stop=True)
    return s.derive().compile()


@cache
def crank() -> Model:
    s = slider_crank.system(keep_slider=True)
    s.memory("ticks", 0.0, update="ticks + 1", every=0.03)
    return s.derive().compile()


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_rows_are_where_they_would_be_without_modes(how: dict[str, Any]) -> None:
    """Events between and on the grid leave each row once."""
    run = thrice().simulate(3.0, initial={"A.u1": 1.0}, **how)
    spacing = how.get("sample", how.get("step"))
    expected = np.linspace(0.0, 3.0, round(3.0 / spacing) + 1)
    assert len(run.time) == len(expected)
    assert run.time == pytest.approx(expected, abs=1e-9)
    assert len(run.events) == 3


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_rows_and_clocks_do_not_notice_another_choice_of_speeds(how: dict[str, Any]) -> None:
    """A slider-crank that keeps its slider's speed until a dead centre comes near, at about t = 0.12."""
    run = crank().simulate(0.5, initial={"A.q1": 0.5, "A.u1": 20.0}, **how)
    spacing = how.get("sample", how.get("step"))
    assert not run.events  # an exchange is no event of the description
    assert run.time == pytest.approx(np.linspace(0.0, 0.5, round(0.5 / spacing) + 1), abs=1e-9)
    assert run["ticks"][-1] == 16  # 0.5/0.03
    q = run["A.q1"]
    assert run["C.q1"] == pytest.approx(0.1 * np.cos(q) + np.sqrt(0.09 - (0.1 * np.sin(q)) ** 2), abs=1e-10)


def test_sample_times_of_ones_own_are_kept() -> None:
    times = [0.0, 0.3, 1.0, 1.0001, 1.9, 2.5]
    run = clutch_model().simulate(3.0, sample=times, initial={"A.u1": W1, "B.u1": W2 - W1})
    assert run.time == pytest.approx(times, abs=1e-12)
    assert run["L"] == pytest.approx(I1 * W1 + I2 * W2, abs=1e-12)


def test_memories_and_clocks_go_on_across_modes() -> None:
    """They count as they do where nothing is locked, except for the steps that end at the two events."""
    runs = []
    for locks in (True, False):
        s = clutch() if locks else arm.System("plain")
        if not locks:
            s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, I1))
        s.memory("steps", 0.0, update="steps + 1")
        s.memory("ticks", 0.0, update="ticks + 1", every=0.27)
        runs.append(s.derive().compile().simulate(3.0, step=0.01, initial={"A.u1": W1}))
    changing, plain = runs
    assert np.array_equal(changing["ticks"], plain["ticks"])
    assert np.all(np.diff(changing["steps"]) >= 1)
    assert 0 <= changing["steps"][-1] - plain["steps"][-1] <= 2


def test_an_event_that_stops_ends_the_run_in_a_later_configuration() -> None:
    model = thrice()
    together = (I1 * W1 + I2 * W2) / (I1 + I2)
    for how in METHODS.values():
        run = model.simulate(3.0, initial={"A.u1": W1, "B.u1": W2 - W1}, **how)
        assert run.events[-1].name == "enough"
        assert run.events[-1].time == pytest.approx(1.0 + (15.0 - W1) / together, abs=1e-9)
        assert run.info["status"] == "event"
        if "step" in how:  # a row of its own, as every step has
            assert run.final["A.q1"] == pytest.approx(15.0, abs=1e-8)


def test_a_lock_that_also_stops_ends_the_run_there() -> None:
    run = clutch(stop=True).derive().compile().simulate(3.0, sample=0.05, initial={"A.u1": W1})
    assert run.events[-1].name == "grip"
    assert run.time[-1] == pytest.approx(1.0, abs=1e-9)


def test_a_model_can_run_again_and_starts_in_its_first_configuration() -> None:
    runs = [clutch_model().simulate(1.5, step=0.01, initial={"A.u1": W1, "B.u1": W2 - W1}) for _ in range(2)]
    assert np.array_equal(runs[0].values, runs[1].values)
    assert clutch_model().speed_names == ("A.u1", "B.u1")


# ---------------------------------------------------------------- bad input


def test_what_cannot_be_locked() -> None:
    s = arm.System("s")
    A = s.body("A", joint=arm.Revolute("z"), mass=1)
    s.body("F", joint=arm.Spherical(), mass=1)
    s.prescribe(A.q1, "0.5")
    with pytest.raises(ModelError, match=r"lock: 'A\.u1' is prescribed or locked already"):
        s.lock(A.q1)
    with pytest.raises(ModelError, match=r"the rate of 'F\.q1' is not a speed by itself; name a speed"):
        s.lock("F.q1")
    with pytest.raises(ArmillaryError, match=r"there is no F\.u9"):
        s.lock("F.u9")


def two_hinges() -> arm.System:
    s = arm.System("two hinges")
    a = s.body("a", joint=arm.Revolute("z"), com=(0.5, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1))
    s.body(
        "b", parent=a, joint=arm.Revolute("z"), at=(1, 0, 0), com=(0.5, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1)
    )
    return s


def test_release_of_what_was_never_locked_is_an_error() -> None:
    s = two_hinges()
    s.event("free", "t - 0.5", unlock="b.u1")
    with pytest.raises(arm.ModelError, match=r"event 'free' unlocks 'b\.u1', but it is never locked"):
        s.derive()


def test_an_event_cannot_lock_and_set_the_same_speed() -> None:
    s = two_hinges()
    with pytest.raises(arm.ModelError, match=r"'b\.u1' is locked, so it stands still"):
        s.event("stop", "t - 0.5", lock="b.u1", set={"b.u1": 1})


@pytest.mark.parametrize("formalism", ["auto", "momentum"])
def test_setting_a_joint_that_is_locked_by_then_is_an_error(formalism: str) -> None:
    s = two_hinges()
    s.event("stop", "t - 0.2", lock="b.u1")
    s.event("kick", "t - 0.4", set={"b.u1": 1})
    model = s.derive(formalism).compile()
    with pytest.raises(arm.SimulationError, match=r"event 'kick' sets 'b\.u1', which is locked") as caught:
        model.simulate(1.0, step=1e-2, initial={"a.u1": 1.0})
    assert caught.value.run.time[-1] == pytest.approx(0.4)


def test_a_joint_locked_and_released_at_one_instant_is_an_error() -> None:
    s = two_hinges()
    s.lock("a.u1")
    s.event("stop", "t - 0.2", lock="b.u1")
    s.event("go", "t - 0.2", unlock="b.u1")
    model = s.derive().compile()
    with pytest.raises(arm.SimulationError, match=r"event 'stop' locks 'b\.u1' and event 'go' unlocks it"):
        model.simulate(1.0, step=1e-2, initial={"b.u1": 1.0})


def test_the_row_at_the_instant_of_a_lock_shows_what_is_locked() -> None:
    """A free slide moves at 2 m/s until an event at t = 0.5 s, which is also a row's time, locks it."""
    s = arm.System("locked slide")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.parameter("t_lock", 0.5, units="s")
    s.event("lock", s.time - s.parameters["t_lock"], lock=b.q1)
    run = s.derive().compile().simulate(1.0, sample=0.125, initial={"b.u1": 2.0})
    np.testing.assert_allclose(run.time, np.arange(9) / 8, rtol=0, atol=1e-14)  # each time once
    np.testing.assert_array_equal(run["b.u1"], np.where(np.arange(9) < 4, 2.0, 0.0))
    np.testing.assert_allclose(run["b.q1"], np.minimum(2 * run.time, 1.0), rtol=0, atol=1e-12)
