"""Loads, blocks, shapes, beams and devices that cannot be: each error says what would be right."""

from __future__ import annotations

from typing import Any

import pytest

import armillary as arm
from tests.model.mistakes import Table, cases, check

LOADS: Table = [
    ("slip alone", lambda m: m.s.unilateral("u", "A.q1", slip="A.u1"), "slip= needs friction="),
    (
        "friction alone",
        lambda m: m.s.unilateral("u", "A.q1", friction=0.3),
        "friction= and static= need slip=",
    ),
    (
        "one coordinate twice",
        lambda m: m.s.clutch("c", m.A.q1, m.A.q1, capacity=1),
        "both coordinates are 'A.q1'",
    ),
    (
        "a ratio that varies",
        lambda m: m.s.clutch(
            "c", m.A.q1, m.s.body("C", joint=arm.Revolute("z")).q1, capacity=1, ratio="A.q1"
        ),
        "ratio 'A.q1' must be constant",
    ),
    (
        "half an anchor",
        lambda m: m.s.brake("b", m.A.q1, capacity=1, stiffness=3),
        "give both stiffness= and damping= of its elastic anchor",
    ),
    ("no pair", lambda m: m.s.strut("s", "x", between=3), "between=3 is not a pair of points"),
    (
        "two periods",
        lambda m: (m.s.memory("n", update="n + 1", every=1), m.s.update("n", "n + 2", every=2)),
        "memory 'n' is renewed periodically already",
    ),
    (
        "a joint as a body",
        lambda m: m.s.body("C", arm.Revolute("z")),
        "a joint is not a body; give it by name",
    ),
    ("a point of two numbers", lambda m: m.A.point(1, 2), "a point has a name and three coordinates"),
    ("nothing", lambda m: m.s.small(), r"small\(\) names nothing; give quantities"),
    (
        "axes of other equations",
        lambda m: m.s.derive("recursive", axes="body"),
        "axes='body' is for formalism='momentum', not for 'recursive'",
    ),
]
BLOCKS: Table = [
    (
        "units of two outputs for one",
        lambda m: m.s.linear_model("p", ["A.q1"], [[-1]], [[1]], [[1]], units=["N", "N"]),
        "it has 1 outputs, but units= are",
    ),
    (
        "no coefficients",
        lambda m: m.s.transfer_function("f", "A.q1", "ab", [1]),
        "'ab' is not a list of coefficients, the highest power first",
    ),
]
SHAPES: Table = [
    ("no body", lambda m: m.s.shape("a", arm.Box(1, 1, 1)), "is shown on a body; give body="),
    (
        "half a place",
        lambda m: m.s.ground.shape(arm.HeightProfile("x", x=(0, 1), y=(0, 1), points=3)),
        "points=3 are not two whole numbers",
    ),
    (
        "no range",
        lambda m: m.s.ground.shape(arm.HeightProfile("x", x=5, y=(0, 1))),
        "5 is not a range such as",
    ),
    ("no orbit", lambda m: m.s.ground.shape(arm.Earth(orbit=3)), "orbit=3 is not an Orbit"),
    (
        "an orbit without end",
        lambda m: m.s.ground.shape(arm.Earth(orbit=arm.Orbit(4e14, periapsis=7e6, e=1.5))),
        "an orbit with e=1.5 is not closed",
    ),
]


def beam(**given: Any) -> Any:
    return lambda m: m.s.body("C").flexible(arm.Beam(1.0, **given), modes=1)


PARTS: Table = [
    ("a negative moment", beam(EI=1, mass_per_length=1, tip_inertia=-1), "tip_inertia.* negative moment"),
    ("no rigidity", beam(mass_per_length=1), "it has no rigidity; give EI, EA or GJ"),
    ("no section", beam(E=1, density=1), "needs a section=, or give EI"),
    (
        "a torque without a drive",
        lambda m: m.s.reaction_wheel("w", on=m.A, axis="x", inertia=1, drive="free", torque=2),
        "torque= and drive='torque' go together",
    ),
    (
        "no pulse",
        lambda m: m.s.thruster("jet", 1, m.A.x, at=m.A.origin, on=[]),
        "has no pulse in on=; give pairs of times",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), cases(load=LOADS, block=BLOCKS, shape=SHAPES, part=PARTS))
def test_a_part_that_cannot_be_is_refused_with_what_would_be_right(mistake: Any, message: str) -> None:
    check(mistake, message)
