"""Bad loads and texts, and things of another system: each mistake is an error at its own line."""

from __future__ import annotations

from typing import Any

import pytest

import armillary as arm
from tests.model.mistakes import Table, cases, check

NAN = float("nan")

LOADS: Table = [
    (
        "moment without a body",
        lambda m: m.s.moment("M", 1, m.A.z),
        "moment 'M' acts on no body; give one with on=body",
    ),
    ("moment on a point", lambda m: m.s.moment("M", 1, m.A.z, on=m.A.com), "moment 'M'.*is not a body"),
    (
        "moment on an unknown body",
        lambda m: m.s.moment("M", 1, m.A.z, on="C"),
        "moment 'M': there is no body 'C'",
    ),
    (
        "moment in newtons",
        lambda m: m.s.moment("M", "F0", m.A.z, on=m.A),
        r"'F0' has dimension .* \(N\*m\) is needed",
    ),
    (
        "moment against itself",
        lambda m: m.s.moment("M", 1, m.A.z, on="A", reaction="A"),
        "same body 'A', so it has no effect",
    ),
    (
        "load twice",
        lambda m: [m.s.moment("M", 1, m.A.z, on=m.A) for _ in "12"],
        "'M': the name is taken by a load",
    ),
    (
        "direction of three numbers",
        lambda m: m.s.force("F", 1, (0, 0, 1), at=m.A),
        "is not a vector; give one such as body.x",
    ),
    (
        "zero direction",
        lambda m: m.s.force("F", 1, m.A.x - m.A.x, at=m.A),
        "force 'F': its direction is the zero vector",
    ),
    (
        "NaN direction",
        lambda m: m.s.force("F", 1, m.A.x * NAN, at=m.A),
        "force 'F': a component of its direction is nan",
    ),
    (
        "force nowhere",
        lambda m: m.s.force("F", 1, m.A.x, at=None),
        "None is not a point; give one such as body.origin",
    ),
    ("force at coordinates", lambda m: m.s.force("F", 1, m.A.x, at=(1, 0, 0)), r"\(1, 0, 0\) is not a point"),
    (
        "force at an unknown point",
        lambda m: m.s.force("F", 1, m.A.x, at="A.tip"),
        "force 'F': body 'A' has no 'tip'",
    ),
    (
        "force that is a vector",
        lambda m: m.s.force("F", "A.x", m.A.x, at=m.A),
        "'A.x' is a vector, a scalar is needed",
    ),
    ("NaN force", lambda m: m.s.force("F", NAN, m.A.x, at=m.A), "force 'F' is nan"),
    (
        "force against its own body",
        lambda m: m.s.force("F", 1, m.A.x, at=m.A.com, reaction=m.A),
        "has no effect",
    ),
    (
        "metres and newtons",
        lambda m: m.s.force("F", "L + F0", m.A.x, at=m.A),
        r"cannot add 'L' \[m\] and 'F0' \[kg.m/s\^2\]",
    ),
    (
        "strut on one body",
        lambda m: m.s.strut("S", "-x", between=(m.A.com, m.A)),
        "strut 'S': both ends are on body 'A'",
    ),
    (
        "strut with one end",
        lambda m: m.s.strut("S", "-x", between=(m.A,)),
        "strut 'S': between=.*is not a pair of points",
    ),
    (
        "strut without length",
        lambda m: m.s.strut("S", "-x", between=(m.A, m.s.ground)),
        "two points always coincide",
    ),
    (
        "law of one argument",
        lambda m: m.s.strut("S", lambda x: x, between=(m.A, m.B)),
        "function of two arguments, length x",
    ),
    (
        "law in the wrong units",
        lambda m: m.s.strut("S", "F0*x", between=(m.A, m.B)),
        r"strut 'S'.*\(N\) is needed",
    ),
    (
        "gravity on a moving axis",
        lambda m: m.s.gravity(9.81, -m.A.y),
        "gravity: its direction.*must be fixed in the ground",
    ),
    ("NaN gravity", lambda m: m.s.gravity(NAN, -m.s.ground.y), "gravity is nan"),
    (
        "gravity in newtons",
        lambda m: m.s.gravity("F0", -m.s.ground.y),
        r"gravity: 'F0' has dimension .* \(m/s\^2\) is needed",
    ),
    ("gravity's arguments swapped", lambda m: m.s.gravity(-m.s.ground.y, 9.81), "gravity:.*is a vector"),
    (
        "prescribed twice",
        lambda m: [m.s.prescribe("A.u1", 1) for _ in "12"],
        "speed 'A.u1' is prescribed or locked already",
    ),
    (
        "prescribed by motion",
        lambda m: m.s.prescribe("A.u1", "2*A.q1"),
        "time, parameters and inputs only, not on 'A.q1'",
    ),
    ("prescribed in metres", lambda m: m.s.prescribe("A.u1", "L"), r"'L' has dimension \[m\], but \[1/s\]"),
]

TEXT: Table = [
    ("open parenthesis", lambda m: m.s.output("o", "2*(A.q1"), r"output 'o': '\(' is never closed"),
    (
        "unknown body",
        lambda m: m.s.output("o", "2*AA.q1"),
        r"there is no body 'AA'; did you mean 'A'.*\n    2\*AA.q1\n      \^",
    ),
    ("unknown coordinate", lambda m: m.s.output("o", "A.q3"), "has 1 coordinate, so there is no A.q3"),
    ("not for texts", lambda m: m.s.output("o", "A.system"), "body 'A' has no 'system'"),
    ("not for anyone", lambda m: m.s.output("o", "A.__class__"), "body 'A' has no '__class__'"),
    ("unknown function", lambda m: m.s.output("o", "sine(L)"), "unknown function 'sine'; did you mean 'sin'"),
    ("two arguments of sin", lambda m: m.s.output("o", "sin(A.q1, 2)"), "sin takes 1 argument, but has 2"),
    (
        "two arguments of a user's function",
        lambda m: [m.s.function("f", lambda x: x), m.s.output("o", "f(1, 2)")],
        "f takes 1 argument, but has 2",
    ),
    ("function that cannot be called", lambda m: m.s.function("f", 3), "function 'f': 3 cannot be called"),
    (
        "function that branches",
        lambda m: [m.s.function("f", lambda x: 1 if x > 0 else 2), m.s.output("o", "f(A.q1)")],
        "has no truth value.*use arm.select",
    ),
    (
        "function without a value",
        lambda m: [m.s.function("f", lambda: None), m.s.output("o", "f()")],
        "a scalar is needed",
    ),
    ("sine of a length", lambda m: m.s.output("o", "sin(L)"), r"needs a dimensionless argument.*\[m\]"),
    (
        "output in the wrong unit",
        lambda m: m.s.output("o", "A.q1", units="m"),
        r"'A.q1' has dimension \[1\], but \[m\]",
    ),
    (
        "output that is a body",
        lambda m: m.s.output("o", m.A),
        "output 'o'.*is not a number, text or expression",
    ),
    (
        "position of a scalar",
        lambda m: m.s.output("o", "magnitude(position(A.q1))"),
        "output 'o': position needs a point",
    ),
    (
        "angular velocity of a point",
        lambda m: arm.angular_velocity(m.A.com),
        "angular_velocity needs a body, not Point",
    ),
    (
        "memory in the wrong unit",
        lambda m: m.s.memory("n", units="m", update="F0"),
        r"memory 'n': 'F0' has dimension",
    ),
    ("update of a coordinate", lambda m: m.s.update("A.q1", 1), "'A.q1' is not a memory of this system"),
    (
        "event that sets a parameter",
        lambda m: m.s.event("e", "A.q1", set={"L": 1}),
        "'L' cannot be set; memories, coordinates",
    ),
    (
        "event that sets wrong units",
        lambda m: m.s.event("e", "A.q1", set={"A.q1": "L"}),
        r"new value of 'A.q1': 'L' has dimension",
    ),
    ("event of no direction", lambda m: m.s.event("e", "A.q1", direction=2), "direction=2 is not −1, 0 or 1"),
]

FOREIGN: Table = [
    (
        "parent",
        lambda m: m.s.body("C", m.O),
        "parent of body 'C': body 'O' belongs to system 'other', not to 'model'",
    ),
    ("moment", lambda m: m.s.moment("M", 1, m.A.z, on=m.O), "moment 'M': body 'O' belongs to system 'other'"),
    (
        "reaction of a moment",
        lambda m: m.s.moment("M", 1, m.A.z, on=m.A, reaction=m.O),
        "reaction of moment 'M': body 'O'",
    ),
    (
        "point",
        lambda m: m.s.force("F", 1, m.A.x, at=m.O.com),
        "force 'F': body 'O' belongs to system 'other'",
    ),
    (
        "reaction body",
        lambda m: m.s.force("F", 1, m.A.x, at=m.A, reaction=m.O),
        "reaction of force 'F': body 'O' belongs",
    ),
    (
        "reaction point",
        lambda m: m.s.force("F", 1, m.A.x, at=m.A, reaction=m.O.com),
        "reaction of force 'F': body 'O'",
    ),
    (
        "strut",
        lambda m: m.s.strut("S", "-x", between=(m.A, m.O)),
        "strut 'S': body 'O' belongs to system 'other'",
    ),
    ("direction", lambda m: m.s.force("F", 1, m.O.x, at=m.A), "O.x is not fixed in a body of system 'model'"),
    (
        "gravity",
        lambda m: m.s.gravity(9.81, m.O.system.ground.y),
        "gravity.*is not fixed in a body of system 'model'",
    ),
    (
        "magnitude",
        lambda m: m.s.force("F", 2 * m.O.u1, m.A.x, at=m.A),
        "'O.u1' belongs to system 'other', not to 'model'",
    ),
    (
        "output",
        lambda m: m.s.output("o", m.O.q1),
        "output 'o': 'O.q1' belongs to system 'other', not to 'model'",
    ),
    ("speed", lambda m: m.s.prescribe(m.O.u1, 1), "prescribe: 'O.u1' belongs to system 'other'"),
    ("dot product", lambda m: arm.dot(m.A.x, m.O.x), "frames 'A' and 'O' belong to different systems"),
]


@pytest.mark.parametrize(("mistake", "message"), cases(load=LOADS, text=TEXT, foreign=FOREIGN))
def test_a_mistake_is_an_error_that_says_what_and_where(mistake: Any, message: str) -> None:
    check(mistake, message)
