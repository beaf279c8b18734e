"""Mistakes in stops, contacts and brakes: each is an error that says what and where."""

from __future__ import annotations

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
        "static friction 0.2 is less than 0.3, that of sliding",
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
