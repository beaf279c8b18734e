"""Runs in which the mass matrix becomes singular: a stop that names the joint and the time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import armillary as arm


@pytest.fixture(scope="module")
def string() -> arm.CompiledModel:
    """A mass on a massless rod that hangs on another: singular where the two are in line."""
    s = arm.System("string")
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("bob", rod, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass="m", inertia=0)
    s.gravity(9.81, -s.ground.y)
    return s.derive().compile()


def free_fall_time() -> float:
    """When a mass that falls from where the rods make an angle of 1 rad has the distance 2 from the hinge.

    No rod carries a load across, so that the mass falls freely from (1 + cos 1, sin 1).
    """
    x, y = 1 + np.cos(1.0), np.sin(1.0)
    return float(np.sqrt(2 * (y + np.sqrt(4 - x * x)) / 9.81))


@pytest.mark.parametrize("formalism", ["kane", "momentum", "redundant", "constrained"])
def test_the_last_step_of_a_run_and_every_formalism_notice_such_a_place(formalism: str) -> None:
    """It lies in the step from 0.65 s to 0.66 s. Momenta go on from it with a smooth energy, and wrongly; in
    absolute coordinates only the energy tells, a step later. Constraints of other bodies do not matter.
    """
    s = arm.System("string")
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("bob", rod, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    if formalism == "constrained":
        s.body("a", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
        s.body("b", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
        s.constrain("a.q1*a.q1 - b.q1", name="cam")
    model = s.derive("kane" if formalism == "constrained" else formalism).compile()
    with pytest.raises(arm.SimulationError, match=r"'rod', turning .* moves no mass") as e:
        model.simulate(0.67 if formalism == "redundant" else 0.66, step=1e-2, initial={"bob.q1": 1.0})
    assert e.value.run.time[-1] == pytest.approx(0.65, abs=0.011)


def test_a_motion_without_mass_that_constraints_hold_is_no_reason() -> None:
    """Rods that are geared pass through a line, and the bob swings across; the run fails for a root."""
    s = arm.System("geared string")
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    bob = s.body("bob", rod, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1, inertia=0)
    s.constrain("rod.q1 - 0.5*bob.q1 - 0.1*bob.q1*bob.q1", name="cam")
    s.moment("motor", "1e-3*sqrt(0.3 - t)", s.ground.z, on=bob, reaction=rod)
    with pytest.raises(arm.SimulationError, match="diverged") as e:
        s.derive("kane").compile().simulate(1.0, step=1e-2, initial={"bob.q1": -0.2, "bob.u1": 1.0})
    assert e.value.run["bob.q1"][-1] > 0.05
    assert "moves no mass" not in str(e.value)


def test_angles_of_a_joint_may_jump_in_absolute_coordinates() -> None:
    """A body that turns uniformly through the lock of its three angles: only these are in trouble there."""
    s = arm.System("gimbal")
    s.body("B", joint=arm.Gimbal("zyx"), mass=1, inertia=(1, 1, 1))
    s.output("T", s.kinetic_energy())
    run = s.derive("redundant").compile().simulate(2.0, step=1e-2, initial={"B.u2": 1.0, "B.u1": 1e-2})
    assert run["T"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("how", [{}, {"step": 1e-3}, {"step": 1e-2}])
def test_a_run_into_a_place_without_mass_stops_and_names_the_joint(
    string: arm.CompiledModel, how: dict[str, float]
) -> None:
    named = r"body 'rod', turning about \(0, 0, 1\).*moves no mass"
    with pytest.raises(arm.SimulationError, match=named) as e:
        string.simulate(3.0, initial={"bob.q1": 1.0}, parameters={"m": 1.0}, **how)
    t = float(re.search(r"near t = ([\d.]+) s", str(e.value))[1])  # type: ignore[index]
    assert t == pytest.approx(free_fall_time(), abs=0.02)
    assert "the mass matrix becomes singular" in str(e.value)
    assert np.all(np.isfinite(e.value.run["bob.q1"]))


def test_a_run_that_ends_beyond_such_a_place_is_cut_there(string: arm.CompiledModel) -> None:
    """With a step that jumps over it all values stay finite, and some would be of size 1e7 and more."""
    with pytest.raises(arm.SimulationError, match="the mass matrix becomes singular") as e:
        string.simulate(0.67, step=1e-2, initial={"bob.q1": 1.0}, parameters={"m": 1.0})
    assert np.max(np.abs(e.value.run["rod.u1"])) < 1e3


def test_a_gimbal_that_locks_is_named() -> None:
    s = arm.System("gimbal")
    s.body("B", joint=arm.Gimbal("zyx"), mass=1, inertia=(1, 2, 3))
    with pytest.raises(arm.SimulationError, match=r"near t = 1\.57.*'B', at rest while its joint moves"):
        s.derive().compile().simulate(3.0, step=1e-2, initial={"B.u2": 1.0, "B.u1": 1e-3})


def test_a_gimbal_that_locks_is_named_though_speeds_had_jumped_before() -> None:
    """Motions reach the lock of axes that are not orthogonal: orientations end there."""
    s = arm.System("kicked gimbal")
    s.body("B", joint=arm.Gimbal(["x", "y", (0, 0.6, 0.8)]), mass=1, inertia=(1, 2, 3))
    s.event("kick", "t - 0.1", set={"B.u1": 1.0, "B.u2": 3.0})
    with pytest.raises(arm.SimulationError, match=r"step too small.*'B', at rest while its joint moves"):
        s.derive().compile().simulate(3.0, sample=0.01, initial={"B.u2": 1e-3})


@pytest.fixture(scope="module")
def locked() -> arm.CompiledModel:
    """A gimbal whose first and third axis are the same where runs start unless they are told otherwise."""
    s = arm.System("locked")
    arm_ = s.body("arm", joint=arm.Revolute((1, 2, 3)), com=(0.1, 0.2, 0.3), mass=1, inertia=(0.6, 0.7, 0.8))
    s.body("b", arm_, arm.Gimbal("xyx"), com=(0.3, 0.1, -0.2), mass=1, inertia=(0.5, 0.6, 0.7))
    s.gravity(9.81, -s.ground.z)
    return s.derive("kane").compile(tier="final")


@pytest.mark.parametrize("how", [{}, {"step": 0.01}], ids=["adaptive", "rk4"])
def test_a_run_that_starts_where_a_gimbal_is_locked_is_refused(locked: arm.CompiledModel, how: Any) -> None:
    """With the accelerations that rounding errors leave there, rk4 ended with plausible numbers, and adaptive
    steps did not end at all.
    """
    single, *_ = [locked.simulate(0.3, **how, initial={"b.q2": 0.5}) for _ in range(3)]
    with pytest.raises(arm.SimulationError, match=r"cannot start: .*'b', .* moves no mass.*Spherical"):
        locked.simulate(0.3, **how)  # with the settings of the runs before, whose rooms are used again
    batch = locked.simulate_batch(0.3, **how, initial={"b.q2": [0.0, 0.5, np.pi]}, progress=False)
    assert list(batch.failed) == [0, 2] and "moves no mass" in batch.messages[2]
    assert batch.histories["b.q1"][1, -1] == pytest.approx(single["b.q1"][-1], rel=1e-12)


def test_all_runs_of_a_batch_that_start_alike_where_a_gimbal_is_locked_fail(
    locked: arm.CompiledModel,
) -> None:
    batch = locked.simulate_batch(0.1, step=0.01, runs=2, progress=False)
    assert list(batch.failed) == [0, 1]


@pytest.mark.parametrize("weak", [0, 5, 7])
def test_runs_whose_parameters_hold_a_locked_gimbal_are_made(held: arm.CompiledModel, weak: int) -> None:
    J = np.linspace(1.0, 2.0, 8)
    J[weak] = 0.0
    batch = held.simulate_batch(0.1, step=0.01, parameters={"J": J}, threads=1, progress=False)
    assert list(batch.failed) == [weak] and "moves no mass" in batch.messages[weak]


@pytest.fixture(scope="module")
def held() -> arm.CompiledModel:
    """A gimbal that starts where its first and third axis are the same, the first with an armature."""
    s = arm.System("geared")
    s.body("b", joint=arm.Gimbal("xyx"), mass=1, inertia=(0.5, 0.6, 0.7))
    s.parameter("J", 0.1, units="kg*m2")
    s.armature("b.u1", "J")
    return s.derive().compile(tier="quick")


def test_a_gimbal_in_one_plane_of_which_an_angle_is_held_starts() -> None:
    s = arm.System("held")
    s.body("b", joint=arm.Gimbal("xyx"), com=(0.3, 0.1, -0.2), mass=1, inertia=(0.5, 0.6, 0.7))
    s.gravity(9.81, -s.ground.z)
    s.lock("b.q3")
    assert np.isfinite(s.derive().compile(tier="quick").simulate(0.1, step=0.01)["b.q1"][-1])


def test_a_gimbal_on_a_driven_base_is_found_among_the_coordinates_of_the_state() -> None:
    s = arm.System("driven")
    base = s.body("base", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.prescribe("base.q1", "0.1*sin(t)")
    s.body("b", base, arm.Gimbal("xyx"), com=(0.3, 0.1, -0.2), mass=1, inertia=(0.5, 0.6, 0.7))
    model = s.derive().compile(tier="quick")
    assert np.isfinite(model.simulate(0.1, step=0.01, initial={"b.q2": 0.5})["b.q1"][-1])
    with pytest.raises(arm.SimulationError, match="cannot start"):
        model.simulate(0.1, step=0.01, initial={"b.q1": 0.5, "b.q3": 0.7})


def test_a_run_that_gets_nowhere_from_a_place_without_mass_ends(string: arm.CompiledModel) -> None:
    for _ in range(3):
        string.simulate(0.01, initial={"bob.q1": 1.0}, parameters={"m": 1.0})
    for end in (0.01, 1.0):
        with pytest.raises(arm.SimulationError, match=r"does not advance: near t = 0 s body 'rod'"):
            string.simulate(end, initial={"rod.q1": 0.3, "rod.u1": 0.1}, parameters={"m": 1.0})


def test_fast_runs_without_such_a_place_are_left_alone() -> None:
    s = arm.System("rotor")
    s.body("B", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.moment("drive", 1e9, s.ground.z, on=s.bodies["B"])
    run = s.derive().compile().simulate(1.0, step=1e-2)
    assert run["B.u1"][-1] == pytest.approx(1e9)


def test_parameters_that_take_all_mass_away_are_refused(string: arm.CompiledModel) -> None:
    with pytest.raises(arm.ParameterError, match="with these parameters, the mass matrix of 'string'"):
        string.simulate(0.1, parameters={"m": 0.0})
    batch = string.simulate_batch(
        0.1, step=1e-2, initial={"bob.q1": 1.0}, parameters={"m": np.array([1.0, 0.0])}
    )
    assert list(batch.status) == ["finished", "failed"]


def test_a_fast_run_with_a_prescribed_joint_is_left_alone() -> None:
    """A joint that is given has no pivot; the spring behind it pushes away, and the mass leaves for good."""
    s = arm.System("catapult")
    base = s.body("base", joint=arm.Revolute("z"), mass=0, inertia=0)
    mass = s.body("mass", base, arm.Prismatic("x"), mass=1, inertia=(1, 1, 1))
    s.prescribe("base.q1", "0.1*t")
    s.force("push", "100*mass.q1", base.x, at=mass.com)
    model = s.derive().compile()
    rate = np.sqrt(100 + 0.01)  # x'' = (100 + 0.1²) x, the latter centrifugal
    for sample in (None, 0.5):  # the latter with a factor of 150 from row to row
        run = model.simulate(2.0, initial={"mass.q1": 1.0}, sample=sample)
        assert run["mass.u1"][-1] == pytest.approx(rate * np.sinh(2.0 * rate), rel=1e-7)


def test_a_slender_body_at_any_speed_is_left_alone() -> None:
    """Its pivot about the wire is 1e-8 of its inertias everywhere, and units of mm make speeds large."""
    s = arm.System("wire", units="mm-kg-s")
    s.body("b", joint=arm.Free(), mass=1e-3, inertia=(1e3, 1e3, 1e-5))
    s.start({"b.u1": 2e6, "b.u4": 1.0})
    run = s.derive().compile().simulate(1.0, step=0.1)
    assert run["b.q1"][-1] == pytest.approx(2e6, rel=1e-9)  # b.u4 turns it about its own axis: no coupling


def test_a_step_too_large_for_a_damper_of_a_slender_body_is_told_as_such() -> None:
    s = arm.System("rod")
    b = s.body("b", joint=arm.Spherical(), mass=1, inertia=(1, 1, 1e-7))
    s.moment("damper", "-1e-3*b.u3", b.z, on=b)
    with pytest.raises(arm.SimulationError, match="use a smaller step") as e:
        s.derive().compile().simulate(1.0, step=1e-2, initial={"b.u3": 1.0, "b.u1": 0.1})
    assert "moves no mass" not in str(e.value)


def test_a_correct_run_close_past_a_gimbal_lock_is_left_alone() -> None:
    """The angles' speeds grow ten thousandfold there; the body itself turns uniformly."""
    s = arm.System("gimbal")
    s.body("B", joint=arm.Gimbal("zyx"), mass=1, inertia=(1, 1, 1))
    s.output("T", s.kinetic_energy())
    times = np.linspace(0.0, np.pi, 21)
    start = {"B.u2": 1.0, "B.u1": 1e-4}
    run = s.derive().compile().simulate(np.pi, initial=start, sample=times, rtol=1e-10, atol=1e-12)
    assert np.max(np.abs(run["B.u1"])) > 1e3
    assert run["T"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("units", ["SI", "mm-kg-s"])
def test_where_a_run_is_cut_does_not_depend_on_units(units: str) -> None:
    length = 1000.0 if units == "mm-kg-s" else 1.0
    s = arm.System("string", units=units)
    rod = s.body("rod", joint=arm.Revolute("z"), mass=0, inertia=0)
    s.body("bob", rod, arm.Revolute("z"), at=(length, 0, 0), com=(length, 0, 0), mass=1, inertia=0)
    s.gravity(9.81 * length, -s.ground.y)
    with pytest.raises(arm.SimulationError, match="moves no mass") as e:
        s.derive().compile().simulate(0.67, step=1e-2, initial={"bob.q1": 1.0})
    assert e.value.run.time[-1] == pytest.approx(0.65)


def test_runs_of_a_batch_that_diverge_at_such_a_place_tell_it(string: arm.CompiledModel) -> None:
    """Of eight the first ones are made again for the reason, and the others refer to them."""
    angles = np.array([1.0, *np.linspace(0.9, 1.1, 7)])
    batch = string.simulate_batch(1.0, step=1e-2, initial={"bob.q1": angles}, parameters={"m": 1.0})
    assert set(batch.status) <= {"diverged", "failed"}
    assert all(
        "body 'rod', turning about (0, 0, 1) in its axes, moves no mass" in m for m in batch.messages.values()
    )
    assert len(batch.messages) == 8


def top(k: float = 0.5) -> arm.System:
    """A body on a ball joint with the moment of inertia 1 − k about the line to its mass centre."""
    s = arm.System("top")
    s.parameter("k", k)
    s.body("b", joint=arm.Spherical(), com=(0, 0, -1), mass=1, inertia=(1, 1, "1-k"))
    s.gravity(9.81, -s.ground.z)
    return s


@pytest.mark.parametrize(
    "formalism", ["auto", "kane", "recursive", "momentum", "back_substitution", "redundant"]
)
def test_inertias_that_cancel_at_the_parameters_of_a_run_are_refused(formalism: str) -> None:
    model = top().derive(formalism).compile()
    with pytest.raises(arm.ParameterError, match=r"with these parameters, .*'b', turning about"):
        model.simulate(0.1, step=1e-2, parameters={"k": 1.0})
    model.simulate(0.1, step=1e-2, parameters={"k": 0.9})
    values = np.array([0.9, 1.0, 0.0, 1.0])
    batch = model.simulate_batch(0.1, step=1e-2, parameters={"k": values})
    assert list(batch.status) == ["finished", "failed", "finished", "failed"]


def test_very_many_sets_of_parameters_are_all_looked_at() -> None:
    values = np.linspace(0.1, 0.9, 6000)
    values[[17, 5001]] = 1.0
    batch = top().derive().compile().simulate_batch(0.01, step=1e-2, parameters={"k": values})
    assert np.flatnonzero(np.array(batch.status) == "failed").tolist() == [17, 5001]


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_runs_of_a_batch_beyond_such_a_place_fail_and_name_the_joint(
    string: arm.CompiledModel, method: str
) -> None:
    """Each run of a batch ends as it does alone; from 2 rad the rods do not come into line in this time."""
    angles = np.array([1.0, -1.0, 1.0, 2.0])
    initial = {"bob.q1": angles, "rod.q1": np.array([0.0, 0.0, 0.0, 0.5])}
    end = {"end": "final(rod.u1)"}
    batch = string.simulate_batch(
        0.67, step=1e-2, method=method, initial=initial, parameters={"m": 1.0}, metrics=end
    )
    alone = []
    for i in range(4):
        try:
            one = {name: values[i] for name, values in initial.items()}
            run = string.simulate(0.67, step=1e-2, method=method, initial=one, parameters={"m": 1.0})
            alone.append(float(run["rod.u1"][-1]))
        except arm.SimulationError:
            alone.append(np.nan)
    assert np.isnan(alone[0])
    assert np.isfinite(alone[3])
    assert batch["end"] == pytest.approx(alone, rel=1e-9, nan_ok=True)
    told = [i for i in range(4) if batch.status[i] not in ("finished", "failed")]
    assert all("moves no mass" in batch.messages[i] for i in told)
    if method == "rk4":
        assert list(batch.status[[0, 2, 3]]) == ["failed", "failed", "finished"]
        assert "body 'rod', turning about (0, 0, 1) in its axes, moves no mass" in batch.messages[0]
