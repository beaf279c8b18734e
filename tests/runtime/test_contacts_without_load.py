"""Contacts that bear nothing, and contacts in models of any size: rounding is no reason for an event."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm


@pytest.fixture(scope="module")
def arm_with_stop() -> arm.Model:
    """An arm in free space, with a slider on it, that runs against a stop and stays there."""
    s = arm.System("arm with a stop")
    a = s.body("A", joint=arm.Revolute("y"), mass="m", inertia=(0.1, 0.2, 0.3), com=(0.2, 0.0, 0.0))
    s.body("B", a, joint=arm.Prismatic("x"), mass="mb", inertia=(0.1, 0.2, 0.3))
    s.stop("stop", "A.q1", lower=0.0, restitution=0.0)
    return s.derive().compile()


def test_an_arm_without_weight_rests_at_its_stop(arm_with_stop: arm.Model) -> None:
    # The force of the stop is zero after the impact: rounding decided about it again and again.
    rng = np.random.default_rng(5)
    for _ in range(40):
        angle, speed, place, mass = rng.uniform((0.1, 0.4, 0.1, 0.5), (0.8, 2.0, 1.0, 2.0))
        run = arm_with_stop.simulate(
            2.5,
            initial={"A.q1": angle, "A.u1": -speed, "B.q1": place},
            parameters={"m": mass, "mb": 2.5 - mass},
        )
        assert len([e for e in run.events if e.name == "stop_touch"]) <= 2
        assert abs(run["A.q1"][-1]) < 1e-14
        assert run["A.q1"].min() > -1e-14
        assert run["A.u1"][-1] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("length", [1e-8, 1.0, 1e8])
def test_a_brake_stops_a_slide_of_any_size(length: float) -> None:
    # A brake's own length was one metre: in a model of 1e8 m rounding of the time made it begin to slide.
    s = arm.System("brake")
    a = s.body("A", joint=arm.Prismatic("x"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    s.brake("brake", "A.q1", capacity="capacity")
    s.force("push", "f", s.ground.x, at=a)
    run = (
        s.derive()
        .compile()
        .simulate(4.0, initial={"A.u1": length}, parameters={"capacity": length, "f": 0.3 * length})
    )
    stops = 1.0 / 0.7
    assert [e.name for e in run.events] == ["brake_grip"]
    assert run.events[0].time == pytest.approx(stops, rel=1e-9)
    assert run["A.q1"][-1] == pytest.approx(0.5 * stops * length, rel=1e-9)


def test_a_wall_that_bears_what_a_slope_pushes_has_the_speeds_of_that_load() -> None:
    """The weight has no part along the stop, so any approach counted as an impact, however slow it was."""
    s = arm.System("block on a slope beside a wall")
    body = s.body("b", joint=arm.Joint(translate=["x", "z"]), mass=1.0, inertia=(1.0,) * 3)
    s.gravity(10.0, -s.ground.z)
    s.contact("slope", body, plane=(s.ground, 0.6 * s.ground.x + 0.8 * s.ground.z))
    s.stop("wall", "b.q1", upper=4.0, restitution=0.5)
    closed = {"slope_status": 1, "wall_status": 0}
    start = {"b.q1": 4.0 - 2**-50, "b.q2": -3.0, "b.u1": 4e-8, "b.u2": -3e-8}
    run = s.derive().compile().simulate(1.0, initial=start, memory=closed, sample=0.5)
    assert [event.name for event in run.events] == ["wall_touch"]
    assert run["wall"][-1] == pytest.approx(-7.5, rel=1e-9)


def test_a_body_without_load_or_speed_has_no_events() -> None:
    """All thresholds are zero there; a function that was exactly zero counted as an event at each step."""
    s = arm.System("body on a floor")
    body = s.body("b", joint=arm.Joint(translate=["x", "z"]), mass=1.0, inertia=(1.0,) * 3)
    s.contact("floor", body, plane=(s.ground, s.ground.z), friction=0.5)
    run = s.derive().compile().simulate(1.0, memory={"floor_status": 2})
    assert run.events == () and run.info["steps"] < 30


def test_bodies_that_fall_together_have_no_events() -> None:
    """Their weights cancel in the contacts between them; what is left is rounding, which decided."""
    s = arm.System("bodies that fall together")
    plank = s.body(
        "A",
        joint=arm.Joint(translate=["x", "z"], rotate=["y"]),
        mass=1.0,
        inertia=(0.1,) * 3,
        com=(0.3, 0, 0.2),
    )
    table = s.body("B", joint=arm.Joint(translate=["x", "z"], rotate=["y"]), mass=2.0, inertia=(0.2,) * 3)
    s.gravity(10.0, -s.ground.z)
    for name, x in (("left", 0.7), ("right", 1.3)):
        s.contact(name, plank.point(name, (x, 0, -0.2)), plane=(table, table.z), friction=0.5)
    model = s.derive().compile()
    rng = np.random.default_rng(1)
    for _ in range(60):  # three of them were refused
        angle, x, z = rng.uniform(-1, 1), *rng.uniform(-3, 3, 2)
        turned = {"A.q3": angle, "B.q3": angle, "B.q1": x, "B.q2": z}
        above = {"A.q1": x + 0.2 * np.sin(angle), "A.q2": z + 0.2 * np.cos(angle)}
        assert model.simulate(1.0, initial=turned | above, sample=0.5).events == ()


def test_small_bodies_far_apart_in_their_own_sizes_have_mass() -> None:
    # The check of masses put sliding bodies 0.3 m apart: beside that, bodies of a micrometre have no inertia.
    s = arm.System("small")
    a = s.body("A", joint=arm.Free(), mass="m", inertia=("i", "i", "i"))
    s.body("B", a, joint=arm.Prismatic("x"), mass="m", inertia=("i", "i", "i"))
    model = s.derive().compile()
    size = 1e-7
    run = model.simulate(
        1.0, initial={"A.u4": 1.0, "B.q1": size, "B.u1": size}, parameters={"m": 1.0, "i": 0.1 * size**2}
    )
    assert np.isfinite(run["B.q1"]).all()
