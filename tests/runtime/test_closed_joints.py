"""Joints closed between bodies against the same joints of a tree: one motion, either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError

AT = (0.2, -0.1, 0.3)  # of the joint, on the ground
CENTRE = (0.3, 0.2, -0.1)
MOMENTS = (0.05, 0.08, 0.06, 0.01, -0.005, 0.004)
TIGHT: dict[str, Any] = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13, "sample": 0.05}


def hung(joint: arm.Joint, closed: str = "", **how: Any) -> arm.System:
    """A body on the ground by a joint of the tree, or by one that is closed; gravity pulls aslant."""
    s = arm.System(closed or "tree")
    N = s.ground
    A = s.body("A", joint=joint, at=AT, com=CENTRE, mass=2.0, inertia=MOMENTS)
    if closed:
        s.close_joint(closed, A.origin, N.point("socket", AT), name="joint", **how)
    s.gravity(9.81, N.x * 0.6 + N.y * 0.48 - N.z * 0.64)
    _watch(s, A)
    return s


def _watch(s: arm.System, body: arm.Body) -> None:
    for label, point in (("centre", body.com), ("mark", body.point("mark", (0.5, -0.4, 0.7)))):
        for axis in "xyz":
            s.output(f"{label} {axis}", arm.dot(arm.position(point), getattr(s.ground, axis)))
    s.output("energy", s.total_energy())


def assert_same_motion(run: arm.Run, expected: arm.Run) -> None:
    for name in [n for n in expected.names if n.startswith(("centre", "mark"))]:
        assert np.max(np.abs(run[name] - expected[name])) < 1e-9, name


# kind, how it is closed, the tree's joint, speeds of the tree, speeds of the free body
CASES: dict[str, tuple[dict[str, Any], Any, tuple[float, ...], dict[str, float]]] = {
    "revolute": ({"axis": "z"}, arm.Revolute("z"), (3.0,), {"A.u6": 3.0}),
    "spherical": ({}, arm.Spherical(), (1.0, -2.0, 3.0), {"A.u4": 1.0, "A.u5": -2.0, "A.u6": 3.0}),
    "universal": ({"axis": ("y", "x")}, arm.Gimbal("xy"), (2.0, 3.0), {"A.u4": 2.0, "A.u5": 3.0}),
    "prismatic": ({"axis": "z"}, arm.Prismatic("z"), (1.0,), {"A.u3": 1.0}),
    "cylindrical": ({"axis": "z"}, arm.Cylindrical("z"), (1.0, 3.0), {"A.u3": 1.0, "A.u6": 3.0}),
}


@pytest.mark.parametrize(
    ("kind", "rotation"), [*((kind, "quaternion") for kind in CASES), ("spherical", "zyx")]
)
def test_a_free_body_held_by_a_closed_joint_moves_as_on_that_joint(kind: str, rotation: str) -> None:
    how, joint, speeds, free_speeds = CASES[kind]
    started = {f"A.u{i}": u for i, u in enumerate(speeds, start=1)}
    tree = hung(joint).derive().compile().simulate(1.0, initial=started, **TIGHT)
    eom = hung(arm.Free(rotation), kind, **how).derive()
    assert len(eom.speeds) == len(speeds)
    assert eom.redundant_constraints == ()
    run = eom.compile().simulate(1.0, initial=free_speeds, **TIGHT)
    assert_same_motion(run, tree)
    assert np.ptp(run["energy"]) < 1e-9


def test_a_distance_is_a_spherical_pendulum() -> None:
    """A point mass on a rod of the tree, and a free one that keeps its distance."""
    tree = arm.System("tree")
    bob = tree.body("A", joint=arm.Gimbal("xy"), com=(0, 0, -0.7), mass=2.0, inertia=0)
    rod = arm.System("rod")
    free = rod.body("A", joint=arm.Joint(translate=["x", "y", "z"]), at=(0, 0, -0.7), mass=2.0, inertia=0)
    rod.close_joint("distance", free.origin, rod.ground.origin, length=0.7, name="rod")
    for s, body in ((tree, bob), (rod, free)):
        s.gravity(9.81, -s.ground.z)
        for axis in "xyz":
            s.output(axis, arm.dot(arm.position(body.com), getattr(s.ground, axis)))
    expected = tree.derive().compile().simulate(2.0, initial={"A.u1": 2.0, "A.u2": 1.0}, **TIGHT)
    model = rod.derive().compile()
    assert len(model.speed_names) == 2
    run = model.simulate(2.0, initial={"A.u1": -0.7, "A.u2": 1.4}, **TIGHT)
    for axis in "xyz":
        assert np.max(np.abs(run[axis] - expected[axis])) < 1e-9
    assert np.max(np.abs(run["x"] ** 2 + run["y"] ** 2 + run["z"] ** 2 - 0.49)) < 1e-12


def test_a_fixed_joint_makes_one_body_of_two() -> None:
    """A pendulum with a free body welded to its end, and one that carries it as its child."""

    def pendulum(welded: bool) -> arm.System:
        s = arm.System("pendulum")
        A = s.body("A", joint=arm.Revolute((0.6, 0, 0.8)), com=(0.2, 0, 0), mass=1, inertia=MOMENTS)
        end = (0.5, 0.1, 0)
        if welded:
            B = s.body("B", joint=arm.Free(), at=end, com=CENTRE, mass=2, inertia=MOMENTS)
            s.close_joint("fixed", B.origin, A.point("end", end), name="weld")
        else:
            B = s.body("B", A, arm.Fixed(), at=end, com=CENTRE, mass=2, inertia=MOMENTS)
        s.gravity(9.81, -s.ground.y)
        _watch(s, B)
        return s

    tree = pendulum(False).derive().compile().simulate(1.0, initial={"A.u1": 2.0}, **TIGHT)
    eom = pendulum(True).derive()
    assert len(eom.speeds) == 1
    run = eom.compile().simulate(1.0, initial={"A.u1": 2.0}, **TIGHT)
    assert_same_motion(run, tree)


def test_axes_may_differ_between_the_bodies() -> None:
    """A hinge along the body's own x, which lies along the ground's z."""
    s = arm.System("turned")
    turn = ("y", -np.pi / 2)  # x of the body along z of the ground
    A = s.body("A", joint=arm.Free(), at=AT, orient=turn, com=(0, 0.3, 0.1), mass=2, inertia=MOMENTS)
    s.close_joint("revolute", A.origin, s.ground.point("socket", AT), axis=("x", "z"))
    s.gravity(9.81, -s.ground.y)
    _watch(s, A)
    tree = arm.System("tree")
    B = tree.body(
        "A", joint=arm.Revolute("z"), at=AT, orient=turn, com=(0, 0.3, 0.1), mass=2, inertia=MOMENTS
    )
    tree.gravity(9.81, -tree.ground.y)
    _watch(tree, B)
    run = s.derive().compile().simulate(1.0, initial={"A.u4": 3.0}, **TIGHT)
    expected = tree.derive().compile().simulate(1.0, initial={"A.u1": 3.0}, **TIGHT)
    assert_same_motion(run, expected)


def four_bar(closed: str) -> arm.System:
    s = arm.System("four-bar")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=MOMENTS)
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0), mass=1, inertia=MOMENTS)
    C = s.body("C", joint=arm.Revolute("z"), at=(0.5, 0, 0), mass=1, inertia=MOMENTS)
    p, q = B.point("pin", (0.55, 0, 0)), C.point("pin", (0.4, 0, 0))
    if closed == "revolute":
        s.close_joint("revolute", p, q, axis="z", name="pin")
    else:
        s.close_loop(p, q, [s.ground.x, s.ground.y], name="pin")
    s.gravity(9.81, -s.ground.y)
    s.start({"A.q1": 1.0, "B.q1": -0.7, "C.q1": 1.2})
    return s


def test_a_hinge_in_a_planar_loop_has_redundant_rows_which_are_named() -> None:
    eom = four_bar("revolute").derive()
    assert eom.speeds == ("A.u1",)
    assert len(eom.redundant_constraints) == 3
    assert {"pin axis 1", "pin axis 2"} < set(eom.redundant_constraints)
    assert any(name.endswith(".z") for name in eom.redundant_constraints)
    run = eom.compile().simulate(1.0, initial={"A.u1": 4.0}, **TIGHT)
    plain = four_bar("plain").derive().compile().simulate(1.0, initial={"A.u1": 4.0}, **TIGHT)
    for name in ("A.q1", "B.q1", "C.q1"):
        assert np.max(np.abs(run[name] - plain[name])) < 1e-9


def test_a_free_body_that_is_fixed_to_the_ground_has_no_freedom() -> None:
    with pytest.raises(ModelError, match=r"over-constrained: 6 constraints determine all of its 6 speeds"):
        hung(arm.Free(), "fixed").derive()


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("revolut", {}, "there is no joint 'revolut'; did you mean 'revolute'"),
        ("revolute", {}, "revolute joint 'joint' needs axis="),
        ("universal", {"axis": "x"}, "has two axes, one in each body"),
        ("distance", {}, "needs length="),
        ("distance", {"length": 0}, "its length 0 is not positive"),
        ("spherical", {"length": 1}, "only a 'distance' has a length"),
    ],
)
def test_bad_input(kind: str, how: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        hung(arm.Free(), kind, **how)
    assert message in str(refused.value)
