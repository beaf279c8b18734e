"""Runs in momenta against runs in speeds, through everything that may happen on the way; joints that are
locked and released against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError, SimulationError
from armillary.stages.model import Model
from tests.systems.falling_four_bar import four_bar

START = {"hub.u4": 0.3, "hub.u5": 0.2, "arm.u1": 0.5, "slider.u1": 0.2}
TIGHT: dict[str, Any] = {"method": "dop853", "rtol": 1e-11, "atol": 1e-12}


def spacecraft() -> arm.System:
    """A free hub with a driven flexible arm and a mass that slides on the arm's tip."""
    s = arm.System("flexible arm")
    s.parameter("w", 1.0, units="1/s")
    s.parameter("k", 3.0, units="N/m")
    hub = s.body("hub", joint=arm.Free(), com=(0.1, 0, 0), mass=5, inertia=(2, 3, 4))
    boom = s.body("arm", parent=hub, at=(0.5, 0, 0), joint=arm.Revolute("z"), com=(0.3, 0, 0), mass=1,
                  inertia=(0.1, 0.2, 0.2))  # fmt: skip
    boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5, GJ=20.0, polar=0.01), modes=1, damping=0.01)
    tip = boom.node("tip")
    slider = s.body("slider", parent=tip, joint=arm.Prismatic("y"), mass=0.5, inertia=(0.01, 0.02, 0.03))
    s.moment("motor", "0.3*sin(w*t) - 0.1*arm.u1", boom.z, on=boom, reaction=hub)
    s.force("spring", "-k*slider.q1", tip.y, at=slider, reaction=tip)
    return s


def set_states(s: arm.System) -> None:
    """Events that set states of every kind, a sampled controller, and reactions of joints as outputs."""
    s.event("kick", "t - 1.4", direction=1, set={"arm.u1": "-arm.u1", "slider.q1": 0.1, "arm.u2": 0.5})
    s.event("push", "t - 1.7", direction=1, set={"hub.u1": 1.0, "hub.q2": "hub.q2 + 1", "hub.u5": "2*hub.u5"})
    s.memory("held", 0.0, update="arm.q1 + arm.u1/w", every=0.1)
    s.moment("control", "-0.5*held", s.bodies["arm"].z, on="arm", reaction="hub")
    for axis in "xyz":
        unit = getattr(s.ground, axis)
        s.output(f"force {axis}", arm.dot(s.reaction_force(s.bodies["arm"]), unit), units="N")
        s.output(f"moment {axis}", arm.dot(s.reaction_moment(s.bodies["slider"]), unit), units="N*m")


def lock_joint_and_mode(s: arm.System) -> None:
    """A joint locked from the start; then it is released, caught together with a mode, and released alone."""
    s.lock("arm.q1")
    s.event("open", "t - 0.3", direction=1, unlock="arm.u1")
    s.event("catch", "t - 0.5", direction=1, lock=["arm.u1", "arm.u2"], set={"slider.u1": 0.7})
    s.event("let go", "t - 0.8", direction=1, unlock=["arm.u1"], set={"arm.u1": 0.4})


def lock_part_of_the_root(s: arm.System) -> None:
    s.event("catch", "t - 0.3", direction=1, lock=["hub.u4", "hub.u1"])
    s.event("let go", "t - 0.8", direction=1, unlock=["hub.u4", "hub.u1"])


def prescribed_joint_and_mode(s: arm.System) -> None:
    s.prescribe("arm.q1", "0.3*sin(2*w*t)")
    s.prescribe("arm.q2", "0.02*sin(3*w*t)")
    s.output("drive", s.effort("arm.q1"))
    s.output("modal drive", s.effort("arm.q2"))


def second_spacecraft(s: arm.System) -> None:
    other = s.body("other", joint=arm.Free(), at=(5, 0, 0), com=(0.1, 0, 0), mass=5, inertia=(2, 3, 4))
    s.body("ball", parent=other, joint=arm.Spherical(), at=(1, 0, 0), mass=1, com=(0, 0.2, 0),
           inertia=(0.1, 0.2, 0.3))  # fmt: skip
    s.strut("tether", "-20*(x - 4)", between=(other.origin, s.bodies["slider"].origin))


RUNS: dict[str, tuple[Callable[[arm.System], None], dict[str, Any]]] = {
    "states set, late start, other parameters": (
        set_states,
        {"t0": 1.0, "parameters": {"k": 30.0, "w": 2.0}},
    ),
    "joint and mode locked": (lock_joint_and_mode, {"initial": {"hub.u4": 0.3, "slider.u1": 0.2}}),
    "part of the root locked": (lock_part_of_the_root, {}),
    "prescribed": (prescribed_joint_and_mode, {"initial": {"hub.u4": 0.3, "slider.u1": 0.2}}),
    "two spacecraft": (second_spacecraft, {"initial": {**START, "other.u6": 0.4, "ball.u1": 0.3}}),
}


@cache
def in_momenta() -> Model:
    """The spacecraft as it is, with its momenta as states."""
    return spacecraft().derive("momentum").compile()


@pytest.mark.parametrize("name", RUNS)
def test_runs_in_momenta_are_runs_in_speeds(name: str) -> None:
    change, options = RUNS[name]
    options = {"initial": START, **options}
    runs = []
    for formalism in ("momentum", "recursive"):
        s = spacecraft()
        change(s)
        model = s.derive(formalism).compile()
        runs.append(model.simulate(options.get("t0", 0.0) + 1.2, **TIGHT, **options))
    found, wanted = runs
    assert [e.name for e in found.events] == [e.name for e in wanted.events]
    assert set(wanted.names) <= set(found.names)
    # An event on a row may be located a rounding before or after it.
    beside = np.all(
        [np.abs(wanted.time - e.time) > 1e-9 for e in wanted.events] or [wanted.time > -1], axis=0
    )
    for column in wanted.names:
        size = np.abs(wanted[column]).max()
        one, other = found[column][beside], wanted[column][beside]
        np.testing.assert_allclose(one, other, atol=1e-8 * max(size, 1.0), err_msg=column)


def test_a_run_goes_on_from_the_last_row_of_another() -> None:
    model = in_momenta()
    names = (*model.coordinate_names, *model.speed_names)
    first = model.simulate(0.5, **TIGHT, initial=START)
    second = model.simulate(1.0, **TIGHT, t0=0.5, initial={n: first[n][-1] for n in names})
    whole = model.simulate(1.0, **TIGHT, initial=START)
    np.testing.assert_allclose(
        [second[n][-1] for n in names], [whole[n][-1] for n in names], rtol=1e-9, atol=1e-10
    )


def test_momenta_of_a_free_flexible_spacecraft_do_not_change_in_the_last_digit() -> None:
    run = in_momenta().simulate(5.0, initial={**START, "hub.u1": 0.1})
    for kind in ("momentum", "angular momentum"):
        for axis in "xyz":
            assert np.ptp(run[f"{kind} {axis}"]) == 0.0


# ---------------------------------------------------------------- locked joints and contradictions


def test_prescribed_motion_is_neither_locked_nor_released() -> None:
    for verb in ("lock", "unlock"):
        s = spacecraft()
        s.prescribe("arm.q1", "0.1*w*t")
        s.event("catch", "t - 0.5", **{verb: "arm.u1"})
        with pytest.raises(ModelError, match=r"event 'catch'.*'arm\.u1' is prescribed"):
            s.derive()


def test_lock_and_release_at_once_are_refused() -> None:
    s = spacecraft()
    with pytest.raises(ModelError, match=r"event 'both'.*'arm\.u1' cannot be locked and unlocked at once"):
        s.event("both", "t - 0.5", lock="arm.q1", unlock="arm.u1")


def test_what_was_never_locked_is_not_released() -> None:
    s = spacecraft()
    s.event("let go", "t - 0.5", unlock="arm.u1")
    with pytest.raises(ModelError, match=r"event 'let go'.*'arm\.u1', but it is never locked"):
        s.derive()


def test_an_event_that_locks_a_joint_does_not_set_it_moving() -> None:
    s = spacecraft()
    with pytest.raises(ModelError, match=r"event 'catch'.*'arm\.u1' is locked.*cannot be set"):
        s.event("catch", "t - 0.5", lock="arm.u1", set={"arm.u1": 1.0})


def test_a_loop_locked_more_often_than_needed_stands_still_until_all_are_released() -> None:
    """One freedom, three locked joints: a release of one leaves it held, of all sets it free. The second run
    has tables of all configurations; with all joints locked there is no loop to close after a step.
    """
    s = four_bar()
    joints = ["crank.u1", "rod.u1", "rocker.u1"]
    s.event("catch", "t - 0.2", lock=joints)
    s.event("loosen", "t - 0.3", unlock=joints[0])
    s.event("let go", "t - 0.4", unlock=joints[1:])
    model = s.derive().compile()
    run, again = (model.simulate(0.5, initial={"crank.q1": 1.2}, sample=0.01) for _ in range(2))
    np.testing.assert_array_equal(again.values, run.values)
    held = (run.time > 0.205) & (run.time < 0.4)
    assert np.all(run["crank.u1"][held] == 0) and np.all(run["rocker.u1"][held] == 0)
    assert abs(run["crank.u1"][-1]) > 0.1


def test_a_release_with_speeds_that_the_loop_forbids_is_explained() -> None:
    s = four_bar()
    s.event("catch", "t - 0.2", lock="crank.u1")
    s.event("throw", "t - 0.4", unlock="crank.u1", set={"crank.u1": 1.0, "rocker.u1": -5.0})
    with pytest.raises(SimulationError, match=r"event 'throw'.*crank\.u1, rocker\.u1 contradict.*'pin"):
        s.derive().compile().simulate(0.5, initial={"crank.q1": 1.2})
