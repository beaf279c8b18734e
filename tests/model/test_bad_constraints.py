"""Bad constraints: each mistake is an error that names what it is about, and leaves the system as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import armillary as arm
from tests.model.mistakes import Table, cases
from tests.systems.bad_constraints import Model

NAN = float("nan")


def contents(s: arm.System) -> dict[str, Any]:
    """All that a description has recorded, in copies."""
    return {k: v.copy() for k, v in vars(s).items() if isinstance(v, dict | list)}


def check(m: Model, mistake: Callable[[Model], Any], message: str) -> None:
    """The mistake is an ArmillaryError with this message, after which the system is what it was."""
    before = contents(m.s)
    with pytest.raises(arm.ArmillaryError, match="(?s)" + message):
        mistake(m)
    after = contents(m.s)
    assert [k for k in before if before[k] != after[k]] == []


EQUATIONS: Table = [
    ("zero", lambda m: m.s.constrain(0), "'0' holds no coordinate and no speed"),
    ("a parameter", lambda m: m.s.constrain("L", name="c"), "constraint 'c': 'L' holds no coordinate"),
    ("time alone", lambda m: m.s.constrain("t - 1"), "holds no coordinate and no speed"),
    ("memory alone", lambda m: m.s.constrain("mem - 1"), "holds no coordinate and no speed"),
    ("nothing", lambda m: m.s.constrain(None), "None is not a number, text or expression"),
    ("a vector", lambda m: m.s.constrain("A.x"), "'A.x' is a vector, a scalar is needed"),
    ("an equation", lambda m: m.s.constrain("A.q1 == 0"), "condition"),
    ("an inequality", lambda m: m.s.constrain("A.q1 < 0"), "condition"),
    ("half a text", lambda m: m.s.constrain("A.q1 +"), "ends where a value should follow"),
    ("an unknown body", lambda m: m.s.constrain("Q.u1"), "there is no body 'Q'"),
    ("an unknown speed", lambda m: m.s.constrain("A.u9"), "so there is no A.u9"),
    ("another system", lambda m: m.s.constrain(m.O.q1), "'O.q1' belongs to system 'other'"),
    ("a square", lambda m: m.s.constrain("A.u1^2 - w^2"), "not linear in the speeds: the factor of 'A.u1'"),
    ("a product", lambda m: m.s.constrain("A.u1*B.u1"), "not linear in the speeds.*holds 'B.u1'"),
    ("a magnitude", lambda m: m.s.constrain("abs(A.u1)"), "not linear in the speeds"),
    (
        "a choice",
        lambda m: m.s.constrain(arm.select(m.A.u1 > 0, m.A.u1, 2 * m.A.u1)),
        "not linear in the speeds",
    ),
    (
        "an acceleration",
        lambda m: m.s.constrain(arm.time_derivative(m.A.u1)),
        "'A.u1'' holds an acceleration; give its position or speed form",
    ),
    ("metres and radians", lambda m: m.s.constrain("A.q1 + L"), r"cannot add 'A.q1' \[1\] and 'L' \[m\]"),
    ("m/s and rad/s", lambda m: m.s.constrain("A.u1 + B.u1"), r"cannot add 'A.u1' \[1/s\] and 'B.u1'"),
    ("a name of three", lambda m: m.s.constrain("A.u1", name=3), "name"),
    ("an empty name", lambda m: m.s.constrain("A.u1", name=""), "name"),
    ("at alone", lambda m: m.s.constrain("A.u1", at=m.A.com), "needs both a point, at=, and a direction"),
    ("along alone", lambda m: m.s.constrain("A.u1", along=m.A.x), "needs both a point, at=, and a direction"),
    ("at no point", lambda m: m.s.constrain("A.u1", at=(1, 0, 0), along=m.A.x), "is not a point"),
    ("along no vector", lambda m: m.s.constrain("A.u1", at=m.A, along=(1, 0, 0)), "is not a vector"),
    ("along nothing", lambda m: m.s.constrain("A.u1", at=m.A, along=m.A.x * 0), "is the zero vector"),
]

ELIMINATED: Table = [
    ("unknown", lambda m: m.s.constrain("A.u1", eliminate="A.u7"), "eliminate=.*there is no A.u7"),
    ("of another system", lambda m: m.s.constrain("A.u1", eliminate=m.O.u1), "belongs to system 'other'"),
    ("not held", lambda m: m.s.constrain("A.u1", name="c", eliminate="B.u1"), "'c' does not hold 'B.u1'"),
    ("a parameter", lambda m: m.s.constrain("A.u1", eliminate="L"), "'L' is not a speed or coordinate"),
    ("a misspelt one", lambda m: m.s.constrain("A.u1", eliminate="Au1"), "did you mean 'A.u1'"),
    ("a body", lambda m: m.s.constrain("A.u1", eliminate=m.A), r"Body\(A.*is not a number, text"),
    (
        "a sum",
        lambda m: m.s.constrain("A.u1 + C.u1", eliminate="A.u1 + C.u1"),
        "is not a speed or coordinate",
    ),
    (
        "an Euler parameter",
        lambda m: m.s.constrain("S.q1 - 1", eliminate="S.q1"),
        "the rate of 'S.q1' is not a speed by itself",
    ),
    (
        "too few in a loop",
        lambda m: m.s.close_loop(m.F, m.C, eliminate=("F.u1",)),
        "1 speeds to eliminate for 3 directions",
    ),
    (
        "the second unknown",
        lambda m: m.s.close_loop(m.F, m.C, [m.F.x, m.F.y], eliminate=("F.u1", "F.u9")),
        "there is no F.u9",
    ),
    (
        "one in two directions",
        lambda m: m.s.close_loop(m.F, m.C, [m.F.x, m.F.y], eliminate=("F.u1", "F.u1")),
        "cannot eliminate",
    ),
]

LOOPS: Table = [
    ("at an unknown point", lambda m: m.s.close_loop("A.com", "B.nope"), "body 'B' has no 'nope'"),
    ("on an unknown body", lambda m: m.s.close_loop("Q.com", "B.com"), "there is no body 'Q'"),
    ("at a vector", lambda m: m.s.close_loop(m.A.x, m.B), "A.x is not a point"),
    ("at coordinates", lambda m: m.s.close_loop((0, 0, 0), m.B), r"\(0, 0, 0\) is not a point"),
    ("nowhere", lambda m: m.s.close_loop(None, m.B), "None is not a point"),
    ("of another system", lambda m: m.s.close_loop(m.O, m.A), "body 'O' belongs to system 'other'"),
    (
        "on one body",
        lambda m: m.s.close_loop(m.A.com, m.A),
        "both points are on body 'A', so there is no loop",
    ),
    ("on welded bodies", lambda m: m.s.close_loop(m.A.com, m.W), "'A'.*so there is no loop"),
    (
        "on the ground",
        lambda m: m.s.close_loop(m.s.ground, m.s.ground.point((0, 0, 1))),
        "both points are on body 'ground'",
    ),
    (
        "that can never close",
        lambda m: m.s.close_loop(m.A.origin, m.s.ground.point((0, 0, 1)), name="gap"),
        "'gap.*in every position",
    ),
    ("along letters", lambda m: m.s.close_loop(m.S, m.C, "xy"), "'xy' is not a vector"),
    ("along a number", lambda m: m.s.close_loop(m.S, m.C, 3), "3 is not a vector"),
    ("along nothing", lambda m: m.s.close_loop(m.S, m.C, []), "0 directions given"),
    (
        "along four",
        lambda m: m.s.close_loop(m.S, m.C, [m.S.x, m.S.y, m.S.z, m.A.x]),
        "4 directions given; give one to three",
    ),
    ("along another system", lambda m: m.s.close_loop(m.S, m.C, [m.O.x]), "not fixed in a body of system"),
    ("along one twice", lambda m: m.s.close_loop(m.F, m.C, [m.F.x, m.F.x]), "direction"),
    (
        "along three in a plane",
        lambda m: m.s.close_loop(m.F, m.C, [m.F.x, m.F.y, m.F.x + m.F.y]),
        "direction",
    ),
]

JOINTS: Table = [
    ("misspelt", lambda m: m.s.close_joint("revolut", m.F, m.C, axis="z"), "did you mean 'revolute'"),
    ("nothing", lambda m: m.s.close_joint(None, m.F, m.C), "there is no joint"),
    ("a joint type", lambda m: m.s.close_joint(arm.Revolute("z"), m.F, m.C), "there is no joint"),
    ("without axis", lambda m: m.s.close_joint("revolute", m.F, m.C), "needs axis=, such as 'z'"),
    ("axis of no name", lambda m: m.s.close_joint("revolute", m.F, m.C, axis="w"), "axis 'w' is not one of"),
    ("zero axis", lambda m: m.s.close_joint("revolute", m.F, m.C, axis=(0, 0, 0)), "has no direction"),
    ("vector as axis", lambda m: m.s.close_joint("revolute", m.F, m.C, axis=m.F.z), "give the axis as 'x'"),
    ("NaN axis", lambda m: m.s.close_joint("revolute", m.F, m.C, axis=(NAN, 0, 0)), "is nan"),
    ("moving axis", lambda m: m.s.close_joint("prismatic", m.F, m.C, axis=("A.q1", 0, 1)), "'A.q1' varies"),
    ("cross of one axis", lambda m: m.s.close_joint("universal", m.F, m.C, axis="x"), "has two axes"),
    ("axis of a ball", lambda m: m.s.close_joint("spherical", m.F, m.C, axis="x"), "axis"),
    ("axis of a weld", lambda m: m.s.close_joint("fixed", m.F, m.C, axis="x"), "axis"),
    ("axis of a rod", lambda m: m.s.close_joint("distance", m.F, m.C, axis="x", length=1), "axis"),
    (
        "length of a hinge",
        lambda m: m.s.close_joint("revolute", m.F, m.C, axis="x", length=1),
        "only a 'distance' has a length",
    ),
    ("on one body", lambda m: m.s.close_joint("revolute", m.A, m.A, axis="x"), "both points are on body 'A'"),
    ("on welded bodies", lambda m: m.s.close_joint("distance", m.W, m.A, length=1), "so there is no loop"),
    ("rod without length", lambda m: m.s.close_joint("distance", m.F, m.C), "needs length="),
    ("rod of zero", lambda m: m.s.close_joint("distance", m.F, m.C, length=0), "length 0 is not positive"),
    ("rod below zero", lambda m: m.s.close_joint("distance", m.F, m.C, length=-1), "is not positive"),
    ("rod of NaN", lambda m: m.s.close_joint("distance", m.F, m.C, length=NAN), "is nan"),
    ("rod in newtons", lambda m: m.s.close_joint("distance", m.F, m.C, length="F0"), "distance1.*F0"),
    ("rod that grows", lambda m: m.s.close_joint("distance", m.F, m.C, length="L*(1 + w*t)"), "varies with"),
]

GIVEN: Table = [
    ("prescribed to nothing", lambda m: m.s.prescribe("A.q1", None), "None is not a number"),
    ("prescribed parameter", lambda m: m.s.prescribe("L", "t"), "'L' is not a speed or coordinate"),
    ("prescribed unknown", lambda m: m.s.prescribe("A.q7", "t"), "there is no A.q7"),
    ("prescribed of another system", lambda m: m.s.prescribe(m.O.q1, "t"), "belongs to system 'other'"),
    (
        "prescribed by motion",
        lambda m: m.s.prescribe("A.q1", "C.q1"),
        "time, parameters and inputs only, not on 'C.q1'",
    ),
    (
        "prescribed by memory",
        lambda m: m.s.prescribe("A.q1", "mem"),
        "time, parameters and inputs only, not on 'mem'",
    ),
    ("prescribed in metres", lambda m: m.s.prescribe("A.q1", "L"), r"'L' has dimension \[m\]"),
    ("prescribed NaN", lambda m: m.s.prescribe("A.q1", NAN), "is nan"),
    ("prescribed Euler parameter", lambda m: m.s.prescribe("S.q1", "t"), "rate of 'S.q1' is not a speed"),
    (
        "prescribed place with body speeds",
        lambda m: m.s.prescribe("F.q1", "t"),
        "rate of 'F.q1' is not a speed",
    ),
    ("locked body", lambda m: m.s.lock(m.A), r"Body\(A"),
    ("locked second unknown", lambda m: m.s.lock("A.u1", "A.u7"), "there is no A.u7"),
    ("locked twice at once", lambda m: m.s.lock("A.q1", "A.u1"), "'A.u1' is prescribed or locked already"),
    ("locked misspelt", lambda m: m.s.lock("Aq1"), "did you mean 'A.q1'"),
    ("locked Euler parameter", lambda m: m.s.lock("S.q2"), "rate of 'S.q2' is not a speed"),
    ("start of unknown", lambda m: m.s.start({"A.q1": 1, "Q.q1": 2}), "there is no body 'Q'"),
    ("start misspelt", lambda m: m.s.start({"Aq1": 1}), "did you mean 'A.q1'"),
    ("start at NaN", lambda m: m.s.start({"A.q1": NAN}), "is nan"),
    ("start at a parameter", lambda m: m.s.start({"B.q1": "L"}), "must be a number, not 'L'"),
    ("start at unknown", lambda m: m.s.start({"B.q1": "Lx"}), "must be a number"),
    ("start from a list", lambda m: m.s.start([1, 2]), "start"),
    ("start of another system", lambda m: m.s.start({m.O.q1: 1}), "belongs to system 'other'"),
]

EVENTS: Table = [
    ("lock unknown", lambda m: m.s.event("e", "t - 1", lock="A.u7"), "event 'e'.*there is no A.u7"),
    ("lock another system", lambda m: m.s.event("e", "t - 1", lock=m.O.u1), "belongs to system 'other'"),
    ("lock a body", lambda m: m.s.event("e", "t - 1", lock=m.A), "event 'e'.*Body"),
    ("lock a parameter", lambda m: m.s.event("e", "t - 1", lock="L"), "'L' is not a speed or coordinate"),
    ("lock misspelt", lambda m: m.s.event("e", "t - 1", lock="Au1"), "did you mean 'A.u1'"),
    (
        "lock an Euler parameter",
        lambda m: m.s.event("e", "t - 1", lock="S.q1"),
        "rate of 'S.q1' is not a speed",
    ),
    (
        "lock and unlock",
        lambda m: m.s.event("e", "t - 1", lock="A.q1", unlock="A.u1"),
        "event 'e': 'A.u1' cannot be locked and unlocked",
    ),
    ("set another system", lambda m: m.s.event("e", "t - 1", set={m.O.u1: 1.0}), "belongs to system 'other'"),
]

REACTIONS: Table = [
    ("of the ground", lambda m: m.s.reaction_force(m.s.ground), "the ground has no joint"),
    ("moment of the ground", lambda m: m.s.reaction_moment("ground"), "the ground has no joint"),
    ("of an unknown body", lambda m: m.s.reaction_force("Q"), "there is no body 'Q'"),
    ("of another system", lambda m: m.s.reaction_force(m.O), "body 'O' belongs to system 'other'"),
    ("of a point", lambda m: m.s.reaction_force(m.A.com), "is not a body"),
    ("effort of unknown", lambda m: m.s.effort("Q.q1"), "effort: there is no body 'Q'"),
    ("effort of an Euler parameter", lambda m: m.s.effort("S.q1"), "rate of 'S.q1' is not a speed"),
    ("effort of another system", lambda m: m.s.effort(m.O.q1), "belongs to system 'other'"),
]


@pytest.mark.parametrize(
    ("mistake", "message"),
    cases(
        equation=EQUATIONS,
        eliminate=ELIMINATED,
        loop=LOOPS,
        joint=JOINTS,
        given=GIVEN,
        event=EVENTS,
        reaction=REACTIONS,
    ),
)
def test_mistake_is_an_error_that_leaves_no_trace(mistake: Callable[[Model], Any], message: str) -> None:
    check(Model(), mistake, message)


def _both(first: Callable[[arm.System], Any], second: Callable[[arm.System], Any]) -> Callable[[Model], Any]:
    def mistake(m: Model) -> None:
        first(m.s)
        check(m, lambda m: second(m.s), "")
        second(m.s)

    return mistake


TWICE: Table = [
    (
        "prescribed and started",
        _both(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.start({"A.q1": 1.0})),
        "'A.q1' is prescribed",
    ),
    (
        "a name",
        _both(lambda s: s.constrain("A.u1", name="c"), lambda s: s.constrain("C.u1", name="c")),
        "constraint 'c' exists already",
    ),
    (
        "a loop's name",
        _both(
            lambda s: s.close_loop("F", "C", name="l"),
            lambda s: s.close_joint("spherical", "F", "C", name="l"),
        ),
        "constraint 'l' exists already",
    ),
    (
        "a coordinate and its speed",
        _both(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.prescribe("A.u1", "w")),
        "'A.u1' is prescribed or locked already",
    ),
    (
        "prescribed and locked",
        _both(lambda s: s.prescribe("A.q1", "w*t"), lambda s: s.lock("A.q1")),
        "'A.u1' is prescribed or locked already",
    ),
    (
        "locked and prescribed",
        _both(lambda s: s.lock("A.q1"), lambda s: s.prescribe("A.u1", 1)),
        "'A.u1' is prescribed or locked already",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), cases(twice=TWICE))
def test_what_is_said_twice(mistake: Callable[[Model], Any], message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match="(?s)" + message):
        mistake(Model())


def test_a_system_goes_on_after_all_mistakes() -> None:
    """Every mistake of the tables in one system; then it derives and runs as if nothing had been said."""
    m, untouched = Model(), Model()
    for table in (EQUATIONS, ELIMINATED, LOOPS, JOINTS, GIVEN, EVENTS, REACTIONS):
        for _, mistake, _ in table:
            with pytest.raises(arm.ArmillaryError):
                mistake(m)
    one, other = m.s.derive(), untouched.s.derive()
    assert one.operations == other.operations
    assert list(one.parameters) == list(other.parameters)
