"""Constraints that no motion satisfies, each right by itself: refused when derived or when a run starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.model.mistakes import cases
from tests.systems.bad_constraints import Model

Said = list[tuple[str, Callable[[arm.System], Any], str]]


def many(*verbs: Callable[[arm.System], Any]) -> Callable[[arm.System], None]:
    def say(s: arm.System) -> None:
        for verb in verbs:
            verb(s)

    return say


DERIVED: Said = [
    (
        "two speeds for one joint",
        many(lambda s: s.constrain("A.u1 - w", name="a"), lambda s: s.constrain("A.u1 - 2*w", name="b")),
        "'b'.*contradicts.*'a'.*leave 1 = 0",
    ),
    (
        "a speed beside a prescribed one",
        many(lambda s: s.prescribe("A.u1", "w"), lambda s: s.constrain("A.u1 - 2*w", name="a")),
        "'a'.*contradicts.*A.u1",
    ),
    (
        "a place beside a prescribed one",
        many(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.constrain("A.q1 - 2*w*t", name="a")),
        "'a'.*contradicts.*A.q1",
    ),
    (
        "a speed of a locked joint",
        many(lambda s: s.lock("A.u1"), lambda s: s.constrain("A.u1 - w", name="a")),
        "'a'.*contradicts",
    ),
    (
        "one speed eliminated twice",
        many(
            lambda s: s.constrain("A.u1 + C.u1", name="a", eliminate="A.u1"),
            lambda s: s.constrain("A.u1 - 2*C.u1", name="b", eliminate="A.u1"),
        ),
        "'b' cannot eliminate 'A.u1'.*it could eliminate 'C.u1'",
    ),
    (
        "a prescribed speed eliminated",
        many(
            lambda s: s.prescribe("A.u1", "w"),
            lambda s: s.constrain("A.u1 - C.u1", name="a", eliminate="A.u1"),
        ),
        "'a' cannot eliminate 'A.u1': it is prescribed",
    ),
    (
        "an event that sets a prescribed speed",
        many(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.event("e", "t - 1", set={"A.u1": 3.0})),
        "event 'e': 'A.u1' is prescribed",
    ),
    (
        "an event that sets a locked speed",
        many(lambda s: s.lock("A.q1"), lambda s: s.event("e", "t - 1", set={"A.u1": 3.0})),
        "event 'e': 'A.u1' is locked",
    ),
    (
        "an event that locks a prescribed joint",
        many(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.event("e", "t - 1", lock="A.q1")),
        "event 'e': 'A.u1' is prescribed",
    ),
    (
        "an event that sets what the user eliminates",
        many(
            lambda s: s.constrain("A.u1 - C.u1", eliminate="A.u1"),
            lambda s: s.event("e", "t - 1", set={"A.u1": 3.0}),
        ),
        "'A.u1'",
    ),
    (
        "a load that depends on a reaction",
        lambda s: s.force("R", arm.dot(s.reaction_force("A"), s.ground.x), s.ground.x, at="B"),
        "a load depends on 'A joint force",
    ),
    (
        "a load that depends on the force of a constraint",
        lambda s: s.moment("R", s.constrain("A.u1 - C.u1").force, s.ground.z, on="B"),
        "a load depends on 'force of constraint1'",
    ),
    (
        "a reaction beside a force that acts nobody knows where",
        many(
            lambda s: s.constrain("A.u1 - C.u1", name="gear"),
            lambda s: s.output("r", arm.dot(s.reaction_force("A"), s.ground.x)),
        ),
        "joint of 'A' requires the point where the force of constraint 'gear' acts: .*at= and along=",
    ),
    (
        "a root of less than nothing",
        lambda s: s.constrain("sqrt(A.q1 - 5) - C.q1", name="root"),
        "'root'.*not a number where runs start.*start",
    ),
    (
        "the logarithm of nothing",
        lambda s: s.constrain("log(A.q1) - C.q1", name="log"),
        "'log'.*not a number where runs start.*start",
    ),
    (
        "a small declaration that makes an equation vanish",
        many(
            lambda s: s.parameter("eps", 0.01),
            lambda s: s.small("eps"),
            lambda s: s.constrain("A.u1 - eps^2*C.u1", name="gear"),
            lambda s: s.lock("B.q1"),
        ),
        "the equation of speed 'C.u1' vanishes.*small: eps.*remedy",
    ),
]


@pytest.mark.parametrize(("say", "message"), cases(**{"": DERIVED}))
@pytest.mark.filterwarnings("error")
def test_refused_when_derived(say: Callable[[arm.System], Any], message: str) -> None:
    m = Model()
    say(m.s)
    with pytest.raises(arm.ArmillaryError, match="(?s)" + message):
        m.s.derive()


RUN: Said = [
    (
        "two places for one joint",
        many(lambda s: s.constrain("A.q1 - 0.1", name="a"), lambda s: s.constrain("A.q1 - 0.2", name="b")),
        "'a'.*0.05 remains.*'b'.*-0.05 remains",
    ),
    ("no place at all", lambda s: s.constrain("A.q1^2 + 1", name="a"), "cannot be closed.*'a'.*1 remains"),
    (
        "a place of a locked joint that starts elsewhere",
        many(lambda s: s.lock("A.q1"), lambda s: s.constrain("A.q1 - 1", name="a")),
        "'a'.*-1 remains",
    ),
    (
        "a prescribed motion with an offset",
        many(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.constrain("A.q1 - w*t - 1", name="a")),
        "'a'.*-1 remains",
    ),
    (
        "a place where two branches meet",
        lambda s: s.constrain("A.q1*C.q1", name="cross"),
        "lose rank.*cross.*more than one way; start a little away",
    ),
    ("a parameter without value", lambda s: s.constrain("A.q1 - foo"), "no value for parameter foo"),
    (
        "a rod whose length is zero",
        many(
            lambda s: s.parameter("rod", 0.0, units="m"),
            lambda s: s.close_joint("distance", "F", "C", length="rod"),
        ),
        "distance1",
    ),
]


@pytest.mark.parametrize(("say", "message"), cases(**{"": RUN}))
@pytest.mark.filterwarnings("error")
def test_refused_when_run(say: Callable[[arm.System], Any], message: str) -> None:
    m = Model()
    say(m.s)
    with pytest.raises(arm.ArmillaryError, match="(?s)" + message):
        m.s.derive().compile().simulate(0.01, step=1e-3)


# ---------------------------------------------------------------- a four-bar


def four_bar(rocker: float = 0.5) -> arm.System:
    s = arm.System("four-bar")
    N = s.ground
    for name, value in (("crank", 0.25), ("coupler", 0.6), ("rocker", rocker), ("base", 0.5)):
        s.parameter(name, value, units="m")
    one = (0.1, 0.1, 0.1)
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=one)
    B = s.body("B", A, arm.Revolute("z"), at=("crank", 0, 0), mass=1, inertia=one)
    C = s.body("C", joint=arm.Revolute("z"), at=("base", 0, 0), mass=1, inertia=one)
    tip, pin = B.point("tip", ("coupler", 0, 0)), C.point("pin", (0, "rocker", 0))
    s.close_loop(tip, pin, [N.x, N.y], name="pin")
    return s


def test_a_loop_that_cannot_close_says_what_remains_and_what_sets_it() -> None:
    """Base, crank and coupler in a row reach 1.35 m, a rocker of 3 m further: 3 − 1.35 remains in all."""
    model = four_bar().derive().compile()
    with pytest.raises(arm.ArmillaryError, match=r"(?s)cannot be closed.*B\.tip stays on C\.pin") as caught:
        model.simulate(0.1, parameters={"rocker": 3.0})
    text = str(caught.value)
    for name in ("crank", "coupler", "rocker", "base"):
        assert name in text
    gaps = [float(line.split(": ")[-1].split()[0]) for line in text.splitlines() if "remains" in line]
    assert np.linalg.norm(gaps) == pytest.approx(3 - (0.5 + 0.25 + 0.6), abs=0.01)
    assert model.simulate(0.1)["A.q1"][0] == 0  # and the model is as good as before


def test_given_motions_that_contradict_a_loop_are_named() -> None:
    s = four_bar()
    s.prescribe("A.q1", "2*t")
    s.prescribe("C.q1", "-3*t")
    with pytest.raises(arm.ArmillaryError, match=r"(?s)pin along ground.*contradicts") as caught:
        s.derive()
    assert "A.q1" in str(caught.value)
    assert "C.q1" in str(caught.value)


def test_nothing_left_to_move_is_over_constrained() -> None:
    s = four_bar()
    s.constrain("A.u1 - C.u1", name="extra")
    with pytest.raises(arm.ArmillaryError, match=r"(?s)four-bar.*over-constrained.*'pin along.*'extra'"):
        s.derive()


def test_initial_speeds_that_contradict_a_constraint() -> None:
    s = four_bar()
    model = s.derive().compile()
    with pytest.raises(arm.ArmillaryError, match=r"(?s)A.u1, B.u1, C.u1 contradict.*pin along"):
        model.state({"A.u1": 1.0, "B.u1": 1.0, "C.u1": 7.0})


def test_given_coordinates_have_no_initial_value() -> None:
    s = four_bar()
    s.prescribe("A.q1", "2*t")
    model = s.derive().compile()
    for name in ("A.q1", "A.u1"):
        with pytest.raises(arm.ArmillaryError, match=f"'{name}' is prescribed, so it has no initial value"):
            model.state({name: 1.0})


# ---------------------------------------------------------------- not impossible


def three_cranks() -> arm.System:
    """Three equal cranks under one bar: the second holds it parallel already, so one row is redundant."""
    s = arm.System("three cranks")
    N = s.ground
    one = (1, 1, 1)
    first = s.body("first", joint=arm.Revolute("z"), mass=1, inertia=one)
    bar = s.body("bar", first, arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=one, com=(1, 0, 0))
    for i, name in ((1, "second"), (2, "third")):
        crank = s.body(name, joint=arm.Revolute("z"), at=(i, 0, 0), mass=1, inertia=one)
        s.close_loop(bar.point((i, 0, 0)), crank.point((1, 0, 0)), [N.x, N.y], name=name)
    s.gravity(9.81, -N.y)
    s.start({"first.q1": 1.0, "bar.q1": -1.0, "second.q1": 1.0, "third.q1": 1.0})
    return s


def test_a_third_equal_crank_is_redundant_and_not_too_much() -> None:
    """The motion of one crank with all inertia reflected: 3 + m (bar 1 kg on r = 1): 4 q̈ = −m g r cos q."""
    eom = three_cranks().derive()
    assert len(eom.speeds) == 1
    assert len(eom.redundant_constraints) == 1
    model = eom.compile()
    y = model.state({"first.q1": 0.7})
    assert model.derivatives(0.0, y)[-1] == pytest.approx(-9.81 * np.cos(0.7) / 4, rel=1e-9)


def test_a_condition_that_holds_by_itself_is_redundant() -> None:
    """A planar loop closed in three directions: across the plane there is nothing to close."""
    plane, space = four_bar(), four_bar()
    space.constraints.clear()
    space.close_loop("B.tip", "C.pin", [space.ground.x, space.ground.y, space.ground.z], name="pin")
    one, other = plane.derive(), space.derive()
    assert list(other.redundant_constraints) == ["pin along ground.z"]
    assert other.operations == one.operations


@pytest.mark.parametrize("first", ["start", "prescribe"])
def test_a_start_of_what_is_prescribed_is_refused_at_once(first):
    s = arm.System("prescribed")
    s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    verbs = {"start": lambda: s.start({"A.q1": 1.0}), "prescribe": lambda: s.prescribe("A.q1", "w*t")}
    verbs.pop(first)()
    (second,) = verbs.values()
    with pytest.raises(arm.ModelError, match=r"'A\.q1'.*prescribed"):
        second()
