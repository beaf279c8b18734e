"""Given and locked motion against equal models without the degree of freedom, and against the reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.mechanics import reference
from tests.mechanics.closed_mechanisms import outputs_at
from tests.mechanics.random_trees import JOINTS, build, joint_case, tree_case
from tests.mechanics.reference import Joint

G, TIME, W = 9.81, 0.7, 2.0
TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def given(size: float) -> tuple[str, float, float, float]:
    """A motion as text, with its value and two rates at TIME."""
    text = f"{size}*sin(w*t) + 0.2*t^2*w^2"
    return (
        text,
        size * math.sin(W * TIME) + 0.2 * TIME**2 * W**2,
        size * W * math.cos(W * TIME) + 0.4 * TIME * W**2,
        -size * W**2 * math.sin(W * TIME) + 0.4 * W**2,
    )


def prescribable(s: arm.System, body: arm.Body) -> list[Any]:
    """Coordinates whose rate is a speed."""
    return [q for q in body.coordinates if s.rates[q] in s.speeds]


def check(case: Any, chosen: Any, formalism: str, regroup: bool) -> None:
    """Accelerations and efforts with some coordinates given are those of the reference."""
    s = build(case)
    s.parameter("w", W, units="rad/s")
    q, u = case.q.copy(), case.u.copy()
    known: dict[int, float] = {}
    for n, coordinate in enumerate(chosen(s)):
        i, j = s.coordinates.index(coordinate), s.speeds.index(s.rates[coordinate])
        units = "" if coordinate.data.units == "rad" else "*metre"
        if units and "metre" not in s.parameters:
            s.parameter("metre", 1.0, units="m")
        text, q[i], u[j], known[j] = given(0.3 + 0.1 * n)
        s.prescribe(coordinate, f"({text}){units}")
        s.output(f"effort {j}", s.effort(coordinate))
    for node in s.speeds:
        s.output(f"rate of {node}", arm.time_derivative(node))
    out = outputs_at(s, q, u, formalism, regroup=regroup, t=TIME)
    expected = reference.accelerations(case.tree, q, u, known)
    assert [out[str(c)] for c in (*s.coordinates, *s.speeds)] == pytest.approx([*q, *u], rel=1e-13, abs=1e-14)
    found = np.array([out[f"rate of {node}"] for node in s.speeds])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))
    M, f = reference.equations(case.tree, q, u)
    missing = M @ expected - f
    for j in known:
        assert out[f"effort {j}"] == pytest.approx(missing[j], abs=1e-10 * np.max(np.abs(missing)))


ALLOWED = [
    j
    for j in JOINTS
    if j.nu and j.kind != "spherical" and not (j.kind in ("free", "planar") and j.settings[1] == "body")
]


@pytest.mark.parametrize("joint", ALLOWED[::4], ids=lambda j: f"{j.kind} {j.settings}")
def test_every_joint_with_its_coordinates_given(joint: Joint) -> None:
    """First and last coordinate that have speeds of their own; of a free body all three places."""

    def chosen(s: arm.System) -> list[Any]:
        possible = prescribable(s, s.bodies["B1"])
        return possible if joint.kind == "free" else sorted({possible[0], possible[-1]}, key=str)

    check(joint_case(joint, 51, moving_parent=True), chosen, "recursive", True)


@pytest.mark.parametrize("seed", range(600, 604))
def test_random_coordinates_of_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def chosen(s: arm.System) -> list[Any]:
        possible = [q for body in s.bodies.values() for q in prescribable(s, body)]
        count = max(1, len(possible) // 3)
        return (
            [possible[i] for i in sorted(rng.choice(len(possible), count, replace=False))] if possible else []
        )

    check(tree_case(seed), chosen, ("kane", "recursive")[seed % 2], seed % 4 < 2)


# ---------------------------------------------------------------- equal models


def arm_of_three(middle: arm.JointType, **place: Any) -> arm.System:
    s = arm.System("arm")
    A = s.body("A", joint=arm.Revolute("z"), mass=2, inertia=(0.1, 0.2, 0.3), com=(0.2, 0.1, 0))
    B = s.body("B", A, middle, at=(0.5, 0, 0), mass=1, inertia=(0.2, 0.2, 0.1), com=(0, 0.3, 0.1), **place)
    s.body("C", B, arm.Revolute("y"), at=(0, 0, 0.4), mass=1.5, inertia=(0.1, 0.3, 0.3), com=(0.3, 0, 0))
    s.gravity(G, -s.ground.y)
    s.strut("spring", "-30*(x - 0.4) - v", between=(s.ground, s.bodies["C"].point((0.4, 0, 0))))
    return s


@pytest.mark.parametrize("constant", [0.0, 0.6])
def test_a_given_constant_is_a_weld(constant: float) -> None:
    """The same motion to rounding as with a fixed joint turned as much, and fewer states."""
    moving, welded = arm_of_three(arm.Revolute("x")), arm_of_three(arm.Fixed(), orient=("x", constant))
    moving.prescribe("B.q1", constant)
    start = {"A.q1": 0.3, "C.u1": 2.0}
    one = moving.derive().compile().simulate(1.0, initial=start, sample=0.1, **TIGHT)
    other = welded.derive().compile().simulate(1.0, initial=start, sample=0.1, **TIGHT)
    for name in ("A.q1", "C.q1", "A.u1", "C.u1", "spring"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9)
    assert moving.derive().coordinates == welded.derive().coordinates


def test_a_locked_joint_is_a_weld_where_it_starts() -> None:
    moving, welded = arm_of_three(arm.Revolute("x")), arm_of_three(arm.Fixed(), orient=("x", 0.6))
    moving.lock("B.q1")
    start = {"A.q1": 0.3, "C.u1": 2.0}
    one = moving.derive().compile().simulate(1.0, initial={**start, "B.q1": 0.6}, sample=0.1, **TIGHT)
    other = welded.derive().compile().simulate(1.0, initial=start, sample=0.1, **TIGHT)
    for name in ("A.q1", "C.q1", "A.u1", "C.u1", "spring"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(one["B.q1"], 0.6)


@pytest.mark.parametrize("velocity", ["parent", "body"])
def test_a_free_body_with_all_speeds_locked_is_a_weld(velocity: str) -> None:
    """The pendulum on it swings as on the ground."""
    s = arm.System("pier")
    pier = s.body("pier", joint=arm.Free(velocity=velocity), mass=1, inertia=(1, 1, 1))
    s.body("bob", pier, arm.Revolute("z"), at=(1, 0, 0), mass=2, inertia=0, com=(0, -0.5, 0))
    s.gravity(G, -s.ground.y)
    s.lock(*(f"pier.u{i}" for i in range(1, 7)))
    model = s.derive().compile()
    for angle in (0.0, 0.4, 1.5):
        y = model.state({"bob.q1": angle})
        assert model.derivatives(0.0, y)[-1] == pytest.approx(-G / 0.5 * math.sin(angle), rel=1e-13)


def test_given_places_of_a_free_body_are_a_shaken_table() -> None:
    """Parent velocities given as coordinates: the pendulum feels g + a."""
    s = arm.System("table")
    table = s.body("table", joint=arm.Free("xyz"), mass=1, inertia=(1, 1, 1))
    s.body("bob", table, arm.Revolute("z"), mass=2, inertia=0, com=(0, -0.5, 0))
    s.gravity(G, -s.ground.y)
    s.parameter("w", 3.0, units="rad/s")
    s.parameter("a", 0.2, units="m")
    s.prescribe("table.q1", "a*sin(w*t)")
    s.prescribe("table.q2", "a*cos(w*t)")
    s.prescribe("table.q3", 0)
    s.lock("table.u4", "table.u5", "table.u6")
    s.output("push", s.effort("table.q1"))
    s.output("hold", s.effort("table.q3"))
    model = s.derive().compile()
    t, angle, speed = 0.37, 0.8, 1.3
    ax, ay = -0.2 * 9 * math.sin(3 * t), -0.2 * 9 * math.cos(3 * t)
    y = model.state({"bob.q1": angle, "bob.u1": speed}, t=t)
    rate = -((G + ay) * math.sin(angle) + ax * math.cos(angle)) / 0.5
    assert model.derivatives(t, y)[-1] == pytest.approx(rate, rel=1e-12)
    bob = ax + 0.5 * (rate * math.cos(angle) - speed**2 * math.sin(angle))
    out = model.outputs(t, y)
    assert out["push"] == pytest.approx(1 * ax + 2 * bob, rel=1e-12)
    assert out["hold"] == pytest.approx(0, abs=1e-12)
    assert out["table.u2"] == pytest.approx(-0.2 * 3 * math.sin(3 * t), rel=1e-13)


def test_a_run_follows_the_given_coordinate_from_any_start() -> None:
    s = arm_of_three(arm.Revolute("x"))
    s.prescribe("B.q1", "0.3*sin(2*t)")
    run = s.derive().compile().simulate(3.0, t0=2.0, sample=0.25, step=1e-3)
    np.testing.assert_allclose(run["B.q1"], 0.3 * np.sin(2 * run.time), rtol=0, atol=1e-14)
    np.testing.assert_allclose(run["B.u1"], 0.6 * np.cos(2 * run.time), rtol=0, atol=1e-14)


def test_a_given_speed_has_a_coordinate_that_integrates_it() -> None:
    s = arm_of_three(arm.Revolute("x"))
    s.prescribe("B.u1", "0.6*cos(2*t)")
    run = s.derive().compile().simulate(1.0, sample=0.25, initial={"B.q1": 0.4}, **TIGHT)
    np.testing.assert_allclose(run["B.q1"], 0.4 + 0.3 * np.sin(2 * run.time), rtol=0, atol=1e-11)


# ---------------------------------------------------------------- in loops


def slider_crank() -> tuple[arm.System, float, float]:
    s = arm.System("slider-crank")
    N = s.ground
    crank, rod = 0.2, 0.6
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(0.01, 0.01, 0.01), com=(0.1, 0, 0))
    B = s.body(
        "B", A, arm.Revolute("z"), at=(crank, 0, 0), mass=1, inertia=(0.03, 0.03, 0.03), com=(0.3, 0, 0)
    )
    C = s.body("C", joint=arm.Prismatic("x"), mass=2, inertia=0)
    s.close_loop(B.point((rod, 0, 0)), C, [N.x, N.y], name="pin")
    return s, crank, rod


@pytest.mark.parametrize("speed", ["7*t", "speed*t", "speed*t + 0.3*sin(4*t)"])
def test_a_driven_slider_crank_is_pure_geometry(speed: str) -> None:
    """x = r cos θ + √(l² − r² sin² θ), and its acceleration by a complex step of the same."""
    s, r, rod = slider_crank()
    s.parameter("speed", 7.0, units="rad/s")
    s.start({"C.q1": r + rod})
    s.prescribe("A.q1", speed)
    C = s.bodies["C"]
    s.output("acceleration", arm.time_derivative(C.u1))
    s.output("push", s.effort("A.q1"))
    run = s.derive().compile().simulate(1.3, sample=0.05, rtol=1e-10)

    def theta(t: Any) -> Any:
        return 7 * t + (0.3 * np.sin(4 * t) if "sin" in speed else 0)

    def place(t: Any) -> Any:
        angle = theta(t)
        return r * np.cos(angle) + np.sqrt(rod**2 - r**2 * np.sin(angle) ** 2)

    t = np.asarray(run.time)
    np.testing.assert_allclose(run["C.q1"], place(t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["C.u1"], np.imag(place(t + 1e-30j)) / 1e-30, rtol=0, atol=1e-8)
    h = 1e-4
    second = (place(t + h) - 2 * place(t) + place(t - h)) / h**2
    np.testing.assert_allclose(run["acceleration"], second, rtol=0, atol=2e-5)
    assert np.max(np.abs(run["push"])) > 1


def test_a_slider_that_drives_its_crank() -> None:
    """The slider's place is given by time: the crank's angle follows by the law of cosines."""
    s, r, rod = slider_crank()
    s.prescribe("C.q1", "0.6 + 0.1*sin(3*t)")
    s.start({"A.q1": 1.2, "B.q1": -1.6})
    run = s.derive().compile().simulate(2.0, sample=0.1, rtol=1e-11)
    x = 0.6 + 0.1 * np.sin(3 * np.asarray(run.time))
    angle = np.arccos((x**2 + r**2 - rod**2) / (2 * r * x))
    np.testing.assert_allclose(np.abs(run["A.q1"]), angle, rtol=0, atol=1e-9)


def test_a_locked_joint_in_a_loop_leaves_a_smaller_one() -> None:
    """A five-bar with one joint locked is a four-bar: the same motion as with the two bars in one piece."""

    def five_bar(middle: arm.JointType, **place: Any) -> arm.System:
        s = arm.System("five-bar")
        N = s.ground
        A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0))
        B = s.body(
            "B", A, arm.Revolute("z"), at=(0.4, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0)
        )
        D = s.body(
            "D", B, middle, at=(0.6, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1), com=(0.1, 0.1, 0), **place
        )
        C = s.body(
            "C", joint=arm.Revolute("z"), at=(0.9, 0, 0), mass=1, inertia=(0.1, 0.1, 0.1), com=(0, 0.2, 0)
        )
        s.gravity(G, -N.y)
        s.close_loop(D.point((0.3, 0, 0)), C.point((0, 0.5, 0)), [N.x, N.y], name="pin")
        s.start({"A.q1": 1.0, "B.q1": -0.6})
        return s

    locked, rigid = five_bar(arm.Revolute("z")), five_bar(arm.Fixed(), orient=("z", 0.4))
    locked.lock("D.q1")
    start = {"A.q1": 1.0, "A.u1": 1.5}
    one = locked.derive().compile().simulate(0.4, initial={**start, "D.q1": 0.4}, sample=0.05, **TIGHT)
    other = rigid.derive().compile().simulate(0.4, initial=start, sample=0.05, **TIGHT)
    for name in ("A.q1", "B.q1", "C.q1", "C.u1"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-8)
