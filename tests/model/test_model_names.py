"""What users read: names, descriptions, units and starting values that a joint and a body bring along."""

from __future__ import annotations

from typing import Any

import pytest

import armillary as arm

# (joint, its description, one row per coordinate and speed of body B on A: name, units, description)
TABLE: list[tuple[Any, str, list[str]]] = [
    (arm.Fixed(), "fixed", []),
    (
        arm.Revolute("y"),
        "revolute y",
        ["B.q1 [rad] rotation of B in A about y", "B.u1 [rad/s] rotation rate of B in A about y"],
    ),
    (
        arm.Prismatic((1, 0, 2)),
        "prismatic (1, 0, 2)",
        ["B.q1 [m] displacement of B in A along (1, 0, 2)", "B.u1 [m/s] speed of B in A along (1, 0, 2)"],
    ),
    (
        arm.Cylindrical("z"),
        "cylindrical z",
        [
            "B.q1 [m] displacement of B in A along z",
            "B.q2 [rad] rotation of B in A about z",
            "B.u1 [m/s] speed of B in A along z",
            "B.u2 [rad/s] rotation rate of B in A about z",
        ],
    ),
    (
        arm.Planar("y", velocity="body"),
        "planar y",
        [
            "B.q1 [m] displacement of B in A along z",
            "B.q2 [m] displacement of B in A along x",
            "B.q3 [rad] rotation of B in A about y",
            "B.u1 [m/s] speed of B in A along B's own z",
            "B.u2 [m/s] speed of B in A along B's own x",
            "B.u3 [rad/s] rotation rate of B in A about y",
        ],
    ),
    (
        arm.Gimbal("zxz"),
        "gimbal zxz",
        [
            "B.q1 [rad] first rotation of B in A, about z",
            "B.q2 [rad] second rotation of B in A, about x",
            "B.q3 [rad] third rotation of B in A, about z",
            "B.u1 [rad/s] first rotation rate of B in A, about z",
            "B.u2 [rad/s] second rotation rate of B in A, about x",
            "B.u3 [rad/s] third rotation rate of B in A, about z",
        ],
    ),
    (
        arm.Spherical(),
        "spherical quaternion",
        [
            "B.q1 [] Euler parameter 0 of B in A",
            "B.q2 [] Euler parameter 1 of B in A",
            "B.q3 [] Euler parameter 2 of B in A",
            "B.q4 [] Euler parameter 3 of B in A",
            "B.u1 [rad/s] angular velocity of B in A along its own x",
            "B.u2 [rad/s] angular velocity of B in A along its own y",
            "B.u3 [rad/s] angular velocity of B in A along its own z",
        ],
    ),
    (
        arm.Free("zyx", velocity="body"),
        "free zyx, velocity in body axes",
        [
            "B.q1 [m] displacement of B in A along x",
            "B.q2 [m] displacement of B in A along y",
            "B.q3 [m] displacement of B in A along z",
            "B.q4 [rad] first rotation of B in A, about z",
            "B.q5 [rad] second rotation of B in A, about y",
            "B.q6 [rad] third rotation of B in A, about x",
            "B.u1 [m/s] velocity of B's origin in A along its own x",
            "B.u2 [m/s] velocity of B's origin in A along its own y",
            "B.u3 [m/s] velocity of B's origin in A along its own z",
            "B.u4 [rad/s] angular velocity of B in A along its own x",
            "B.u5 [rad/s] angular velocity of B in A along its own y",
            "B.u6 [rad/s] angular velocity of B in A along its own z",
        ],
    ),
    (
        arm.Joint(translate=["x"], rotate=[(0, 1, 1)]),
        "translate x, rotate (0, 1, 1)",
        [
            "B.q1 [m] displacement of B in A along x",
            "B.q2 [rad] rotation of B in A about (0, 1, 1)",
            "B.u1 [m/s] speed of B in A along x",
            "B.u2 [rad/s] rotation rate of B in A about (0, 1, 1)",
        ],
    ),
]


@pytest.mark.parametrize(("joint", "description", "rows"), TABLE, ids=[row[1] for row in TABLE])
def test_coordinates_and_speeds_have_readable_names(joint: Any, description: str, rows: list[str]) -> None:
    s = arm.System("names")
    s.body("A", mass=1, inertia=0)
    body = s.body("B", "A", joint, mass=1, inertia=0)
    assert joint.describe() == description
    assert repr(body) == f"Body(B, {description})"
    nodes = (*body.coordinates, *body.speeds)
    assert [f"{x.name} [{x.data.units}] {x.data.about}" for x in nodes] == rows
    assert (joint.coordinate_count, joint.speed_count) == (len(body.coordinates), len(body.speeds))


def test_quaternions_start_at_no_rotation_and_all_else_at_zero() -> None:
    s = arm.System("start")
    body = s.body("B", joint=arm.Free())
    assert [s.initial[x] for x in (*body.coordinates, *body.speeds)] == [0, 0, 0, 1, 0, 0, 0] + [0] * 6


def test_a_body_whose_name_says_rotation_keeps_its_euler_parameters_without_units() -> None:
    body = arm.System("s").body("rotation_stage", joint=arm.Spherical())
    assert [q.data.units for q in body.coordinates] == [""] * 4


def test_coordinates_and_speeds_are_ordered_body_by_body() -> None:
    s = arm.System("order")
    s.body("A", joint=arm.Revolute("x"))
    s.body("B", "A", arm.Spherical())
    s.body("C", "A", arm.Cylindrical("x"))
    assert [q.name for q in s.coordinates] == ["A.q1", "B.q1", "B.q2", "B.q3", "B.q4", "C.q1", "C.q2"]
    assert [u.name for u in s.speeds] == ["A.u1", "B.u1", "B.u2", "B.u3", "C.u1", "C.u2"]


def test_mass_and_inertia_left_out_become_parameters_named_after_the_body() -> None:
    s = arm.System("defaults")
    s.body("B")
    described = [f"{p.name} [{p.data.units}] {p.data.about}" for p in s.parameters.values()]
    assert described == [
        "B.mass [kg] mass of B",
        "B.I11 [kg*m^2] moment of inertia of B about its own x",
        "B.I22 [kg*m^2] moment of inertia of B about its own y",
        "B.I33 [kg*m^2] moment of inertia of B about its own z",
    ]
    assert all(p.data.default is None for p in s.parameters.values())


@pytest.mark.parametrize(
    "given",
    [(1, 2, 2.5, 0.1, 0.2, 0.3), ((1, 0.1, 0.2), (0.1, 2, 0.3), (0.2, 0.3, 2.5))],
    ids=["six elements", "3×3"],
)
def test_an_inertia_may_be_written_in_two_ways(given: Any) -> None:
    body = arm.System("s").body("B", mass=1, inertia=given)
    assert [[float(x) for x in row] for row in body.inertia] == [
        [1, 0.1, 0.2],
        [0.1, 2, 0.3],
        [0.2, 0.3, 2.5],
    ]
