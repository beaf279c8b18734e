"""Mistakes in stops, contacts and brakes: each is an error that says what and where."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import armillary as arm
from tests.model.mistakes import Model, Table, cases, check


def plane(m: Model) -> Any:
    return (m.s.ground, m.s.ground.y)


STOPS: Table = [
    ("no end", lambda m: m.s.stop("b", m.A.q1, stiffness=1), "stop 'b' stops nothing: give lower="),
    (
        "negative stiffness",
        lambda m: m.s.stop("b", m.A.q1, lower=0, stiffness=-3),
        "the stiffness of stop 'b' is -3; give a positive number",
    ),
    (
        "parameter with a negative default",
        lambda m: [m.s.parameter("k", -2.0), m.s.stop("b", m.A.q1, lower=0, stiffness="k")],
        "the stiffness of stop 'b' is -2",
    ),
    (
        "negative damping",
        lambda m: m.s.stop("b", m.A.q1, lower=0, stiffness=1, damping=-1),
        "the damping of stop 'b' is -1; give a number ≥ 0",
    ),
    ("flat spring", lambda m: m.s.stop("b", m.A.q1, lower=0, stiffness=1, exponent=0.5), "is less than 1"),
    (
        "ends swapped",
        lambda m: m.s.stop("b", m.A.q1, lower=1, upper=0, stiffness=1),
        "its lower end 1 is not below its upper end 0",
    ),
    (
        "not a coordinate",
        lambda m: m.s.stop("b", m.A.u1, lower=0, stiffness=1),
        "stop 'b': 'A.u1' is not a coordinate of this system; did you mean 'A.q1'",
    ),
    (
        "an end that moves with a body",
        lambda m: m.s.stop("b", m.A.q1, lower="2*B.q1/L", stiffness=1),
        "lower end of stop 'b'.*depends on 'B.q1'",
    ),
    (
        "stiffness that varies",
        lambda m: m.s.stop("b", m.A.q1, lower=0, stiffness="F0*B.q1"),
        "stiffness of stop 'b'.*a constant is needed",
    ),
    (
        "newtons for an angle",
        lambda m: m.s.stop("b", m.A.q1, lower=0, stiffness="F0"),
        r"stiffness of stop 'b': 'F0' has dimension .* \(N\*m\) is needed",
    ),
    (
        "an Euler parameter",
        lambda m: m.s.stop("b", m.s.body("S", joint=arm.Spherical()).q1, lower=0, stiffness=1),
        r"the rate of 'S.q1' \(spherical quaternion\) is not one of its speeds",
    ),
    (
        "name twice",
        lambda m: [m.s.stop("b", m.A.q1, lower=0, stiffness=1) for _ in "12"],
        "stop 'b': the name is taken by a load",
    ),
]

CONTACTS: Table = [
    (
        "zero normal",
        lambda m: m.s.contact("c", m.B, plane=(m.s.ground, m.A.x - m.A.x), stiffness=1),
        "plane of contact 'c': its direction is the zero vector",
    ),
    (
        "normal that moves",
        lambda m: m.s.contact("c", m.B, plane=(m.s.ground, m.A.x), stiffness=1),
        "its normal A.x is not fixed in 'ground'.*a normal such as ground.z",
    ),
    (
        "plane without a point",
        lambda m: m.s.contact("c", m.B, plane=m.s.ground.y, stiffness=1),
        "is not a point and a normal, e.g.",
    ),
    (
        "plane on the same body",
        lambda m: m.s.contact("c", m.B, plane=(m.B.com, m.B.x), stiffness=1),
        "its point and its plane are both on body 'B'",
    ),
    (
        "unknown body",
        lambda m: m.s.contact("c", "C.origin", plane=plane(m), stiffness=1),
        "contact 'c': there is no body 'C'",
    ),
    (
        "body of another system",
        lambda m: m.s.contact("c", m.O, plane=plane(m), stiffness=1),
        "contact 'c': body 'O' belongs to system 'other'",
    ),
    (
        "no stiffness",
        lambda m: m.s.contact("c", m.B, plane=plane(m), stiffness=0),
        "the stiffness of contact 'c' is 0; give a positive number",
    ),
    (
        "friction as a number",
        lambda m: m.s.contact("c", m.B, plane=plane(m), stiffness=1, friction=0.3),
        r"friction of contact 'c': 0.3 is not a law of friction; give SmoothFriction\(",
    ),
    (
        "negative friction",
        lambda m: m.s.contact("c", m.B, plane=plane(m), stiffness=1, friction=arm.SmoothFriction(-0.1, 1)),
        "the coefficient in friction of contact 'c' is -0.1",
    ),
    (
        "friction without damping",
        lambda m: m.s.contact("c", m.B, plane=plane(m), stiffness=1, friction=arm.StickSlip(0.3, 1, 0)),
        "the damping in friction of contact 'c' is 0; give a positive number",
    ),
    (
        "static below kinetic",
        lambda m: m.s.contact("c", m.B, plane=plane(m), stiffness=1, friction=arm.StickSlip(0.3, 1, 1, 0.2)),
        "static friction 0.2 is less than 0.3, the friction while sliding",
    ),
]

BRAKES: Table = [
    (
        "negative capacity",
        lambda m: m.s.brake("d", m.A.q1, capacity=-1, stiffness=1, damping=1),
        "the capacity of brake 'd' is -1; give a number ≥ 0",
    ),
    (
        "capacity in newtons",
        lambda m: m.s.brake("d", m.A.q1, capacity="F0", stiffness=1, damping=1),
        r"capacity of brake 'd'.*\(N\*m\) is needed",
    ),
    (
        "unknown coordinate",
        lambda m: m.s.brake("d", "A.q2", capacity=1, stiffness=1, damping=1),
        "there is no A.q2",
    ),
    (
        "memory's name taken",
        lambda m: [m.s.memory("d_status"), m.s.brake("d", m.A.q1, capacity=1, stiffness=1, damping=1)],
        "'d_status': the name is taken by a memory",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), cases(stop=STOPS, contact=CONTACTS, brake=BRAKES))
def test_a_mistake_is_an_error_that_says_what_and_where(mistake: Any, message: str) -> None:
    check(mistake, message)


def test_a_brake_that_is_refused_leaves_nothing():
    s = arm.System("boom")
    boom = s.body("boom", joint=arm.Revolute("z"))
    boom.flexible(arm.Beam(2.0, EI=5.0, mass_per_length=0.3, motions="y"), modes=1)
    with pytest.raises(arm.ModelError, match=r"'boom\.u2' is the speed of a mode"):
        s.brake("hold", boom.q2, capacity=1, stiffness=1e4, damping=10)
    assert not s.memories and not s.loads and not s.events


@cache
def puck() -> arm.Model:
    s = arm.System("puck")
    s.parameter("mu", 0.3)
    s.parameter("e", 0.5)
    s.parameter("top", 1.0)
    s.parameter("r", 0.1)
    body = s.body("puck", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1.0, inertia=(1, 1, 1))
    s.gravity(9.81, -s.ground.y)
    s.contact("floor", body, plane=(s.ground, s.ground.y), friction="mu", static=0.4, restitution="e")
    s.contact("ball", body, plane=(s.ground.point("wall", (-9, 0, 0)), s.ground.x), radius="r")
    s.stop("roof", body.q2, upper="top")
    s.stop("turn", body.q3, upper=2)
    return s.derive().compile()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"parameters": {"mu": -0.1}},
            r"contact 'floor': its friction \(by mu\) is -0.1 with these parameters; it must be 0 or more",
        ),
        (
            {"parameters": {"mu": 0.5}},
            r"'floor': its static friction must be at least the sliding friction; static - sliding friction "
            r"\(by mu\) is -0.1 with these",
        ),
        (
            {"parameters": {"e": -0.5}},
            r"contact 'floor': its restitution \(by e\) is -0.5 with .*; it must be 0 or more",
        ),
        (
            {"parameters": {"e": 1.5}},
            r"'floor': its restitution must be at most 1; 1 - restitution \(by e\) is -0.5 with these",
        ),
        (
            {"parameters": {"r": -0.1}},
            r"contact 'ball': its radius \(by r\) is -0.1 with these parameters; it must",
        ),
        (
            {"parameters": {"top": -0.5}},
            r"contacts 'roof' and 'floor' of 'puck' contradict each other: where one touches the other "
            r"overlaps by 0\.5 m; move one of them",
        ),
        (
            {"initial": {"puck.q2": -0.1}},
            r"contact 'floor' of 'puck' overlaps by 0\.1 m where the run",
        ),
        (
            {"initial": {"puck.q3": 2.5}},
            r"contact 'turn' of 'puck' overlaps by 0\.5 rad where the run",
        ),
        (
            {"initial": {"puck.q2": -0.1}, "memory": {"floor_status": 1, "roof_status": 0, "turn_status": 0}},
            r"contact 'floor' of 'puck' overlaps by 0\.1 m where the run starts",
        ),
        ({"memory": {"floor_status": 7}}, r"memory 'floor_status' of 'puck' is 7; a status is 0 \(open\), 1"),
    ],
)
def test_runs_with_contacts_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=words):
        puck().simulate(0.1, **options)


def test_of_a_batch_the_runs_with_coefficients_that_cannot_be_are_not_made() -> None:
    batch = puck().simulate_batch(0.1, parameters={"mu": [0.1, -1.0], "e": [0.2, 0.3]})
    assert list(batch.status) == ["finished", "failed"]
    assert "contact 'floor': its friction (by mu) is -1 with these parameters" in str(batch)


def test_a_gap_between_points_of_one_body_is_named_as_one_that_does_not_change() -> None:
    s = arm.System("stiff")
    body = s.body("rod", joint=arm.Free(), mass=1.0, inertia=(1, 1, 1))
    ends = body.point("left", (-1, 0, 0)), body.point("right", (1, 0, 0))
    with pytest.raises(
        arm.ModelError, match=r"unilateral 'ends': its gap '1\.5' does not change with any speed"
    ):
        s.unilateral("ends", arm.magnitude(arm.position(*ends)) - 0.5)
