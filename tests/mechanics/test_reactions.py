"""Reactions of joints and constraints, against sums of Newton and Euler's equations written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from tests.mechanics import reference
from tests.mechanics.closed_mechanisms import accelerations, closed_case, describe, outputs_at
from tests.mechanics.random_trees import JOINTS, Case, build, joint_case, tree_case
from tests.mechanics.reference import GROUND, Array, Joint, LoadData, TreeData

G = 9.81


def watch_reactions(s: arm.System) -> None:
    """Outputs for the joint force and moment of every body, in ground axes."""
    for name in s.bodies:
        for kind, vector in (("F", s.reaction_force(name)), ("M", s.reaction_moment(name))):
            for i, axis in enumerate(s.ground.frame.axes):
                s.output(f"{name}:{kind}{i}", arm.dot(vector, axis))


def read_reactions(s: arm.System, outputs: Any) -> Array:
    """The outputs of ``watch_reactions`` as an array (bodies, 2, 3)."""
    return np.array([[[outputs[f"{b}:{kind}{i}"] for i in range(3)] for kind in "FM"] for b in s.bodies])


def newton_euler(tree: TreeData, q: Array, u: Array, udot: Array) -> Array:
    """Force and moment about each body's origin that its joint must exert: (bodies, 2, 3), ground axes.

    Σ over the bodies beyond the joint of m (a − g) − F and of Ḣ − T, moments moved to the origin.
    """
    now = reference.state(tree, q, u)
    rates = reference.along_motion(tree, q, u, lambda at: reference.centre_velocities(tree, at), udot)
    loads = reference._wrenches(tree, now)
    wanting = np.zeros((len(tree.bodies), 2, 3))
    for b, body in enumerate(tree.bodies):
        inertia = now.R[b] @ body.inertia @ now.R[b].T
        wanting[b, 0] = body.mass * (rates[b, 0] - tree.gravity) - loads[b, 0]
        wanting[b, 1] = inertia @ rates[b, 1] + np.cross(now.w[b], inertia @ now.w[b]) - loads[b, 1]
    found = np.zeros_like(wanting)
    for b in range(len(tree.bodies)):
        beyond = b
        chain = []
        while beyond != GROUND:
            chain.append(beyond)
            beyond = tree.bodies[beyond].parent
        for carrier in chain:
            lever = now.point((b, tree.bodies[b].com)) - now.p[carrier]
            found[carrier, 0] += wanting[b, 0]
            found[carrier, 1] += wanting[b, 1] + np.cross(lever, wanting[b, 0])
    return found


def check(case: Case, formalism: str = "recursive", *, regroup: bool = True) -> None:
    s = build(case)
    watch_reactions(s)
    expected = newton_euler(case.tree, case.q, case.u, reference.accelerations(case.tree, case.q, case.u))
    found = read_reactions(s, outputs_at(s, case.q, case.u, formalism, regroup=regroup))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize("joint", JOINTS[::4], ids=lambda j: f"{j.kind} {j.settings}")
def test_every_joint_carries_what_newton_and_euler_ask(joint: Joint) -> None:
    """With loads of every kind across the joint; regrouping must not show."""
    check(joint_case(joint, seed=31, moving_parent=True))


@pytest.mark.parametrize("seed", range(500, 505))
def test_random_trees_carry_what_newton_and_euler_ask(seed: int) -> None:
    check(tree_case(seed), ("kane", "recursive")[seed % 2], regroup=seed % 4 < 2)


def test_nothing_passes_along_a_free_direction() -> None:
    """A hinge gives no moment about its axis, though a motor and a strut act across it."""
    s = arm.System("arm")
    A = s.body("A", joint=arm.Revolute("z"), mass=2, inertia=(0.1, 0.2, 0.3), com=(0.4, 0.1, 0))
    B = s.body(
        "B", A, arm.Revolute((0.6, 0, 0.8)), at=(1, 0, 0), mass=1, inertia=(0.1, 0.1, 0.2), com=(0.3, 0, 0)
    )
    s.gravity(G, -s.ground.y)
    s.moment("motor", 3, 0.6 * A.x + 0.8 * A.z, on=B, reaction=A)
    s.strut("strut", "-20*x - 2*v", between=(s.ground.point((0, 2, 0)), B.point((0.5, 0, 0.1))))
    s.output("A axis", arm.dot(s.reaction_moment(A), A.z))
    s.output("B axis", arm.dot(s.reaction_moment(B), 0.6 * A.x + 0.8 * A.z))
    s.output("B across", arm.magnitude(s.reaction_force(B)))
    run = s.derive().compile().simulate(1.0, initial={"A.u1": 2.0, "B.u1": -3.0}, sample=0.1)
    assert np.max(np.abs(run["A axis"])) < 1e-11
    assert np.max(np.abs(run["B axis"])) < 1e-11
    assert np.min(run["B across"]) > 1


# ---------------------------------------------------------------- closed forms


def pendulum() -> tuple[arm.System, arm.Body]:
    s = arm.System("pendulum")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, -0.8, 0), mass=2, inertia=0)
    s.gravity(G, -s.ground.y)
    s.output("along", arm.dot(s.reaction_force(bob), bob.y))
    s.output("across", arm.dot(s.reaction_force(bob), bob.x))
    return s, bob


def test_tension_of_a_pendulum() -> None:
    """T = m g cos θ + m l θ̇², and nothing across the string of a point mass."""
    s, _ = pendulum()
    model = s.derive().compile()
    for angle, speed in ((0.0, 0.0), (0.7, 0.0), (-1.2, 3.0), (3.0, 5.0)):
        out = model.outputs(0.0, [angle, speed])
        assert out["along"] == pytest.approx(2 * G * np.cos(angle) + 2 * 0.8 * speed**2, abs=1e-12)
        assert out["across"] == pytest.approx(0.0, abs=1e-12)


def test_a_welded_beam_hangs_on_its_root() -> None:
    """Two bodies welded in a row at rest: the root carries both weights and both moments."""
    s = arm.System("beam")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1, inertia=0)
    inner = s.body("inner", cart, at=(0, 0, 0.2), com=(0.5, 0, 0), mass=3, inertia=(0, 1, 1))
    outer = s.body("outer", inner, at=(1, 0, 0), com=(0.25, 0, 0), mass=2, inertia=(0, 1, 1))
    s.gravity(G, -s.ground.y)
    watch_reactions(s)
    found = read_reactions(s, s.derive().compile().outputs(0.0, [0.3, 0.0]))
    np.testing.assert_allclose(found[0, 0], (0, 6 * G, 0), atol=1e-12)
    np.testing.assert_allclose(found[1], ((0, 5 * G, 0), (0, 0, G * (3 * 0.5 + 2 * 1.25))), atol=1e-12)
    np.testing.assert_allclose(found[2], ((0, 2 * G, 0), (0, 0, G * 2 * 0.25)), atol=1e-12)
    assert outer.parent is inner


@pytest.mark.parametrize("velocity", ["parent", "body"])
def test_a_free_body_is_held_by_nothing(velocity: str) -> None:
    s = arm.System("stone")
    stone = s.body("stone", joint=arm.Free(velocity=velocity), mass=2, inertia=(1, 2, 3), com=(0.1, 0.2, 0.3))
    s.gravity(G, -s.ground.y)
    s.force("wind", 3, s.ground.x, at=stone.point((0.3, 0, 0)))
    watch_reactions(s)
    model = s.derive().compile()
    y = model.state({"stone.u1": 1, "stone.u2": -2, "stone.u4": 3, "stone.u5": 0.5, "stone.u6": -1})
    assert np.max(np.abs(read_reactions(s, model.outputs(0.0, y)))) < 1e-12


def test_weight_on_a_bar_held_by_a_closed_pin() -> None:
    """A uniform bar between a hinge and a roller that holds its tip: each carries half the weight."""
    s = arm.System("bridge")
    bar = s.body("bar", joint=arm.Planar("z"), com=(1, 0, 0), mass=4, inertia=(0, 1, 1))
    s.gravity(G, -s.ground.y)
    (left,) = s.close_loop(bar.origin, s.ground, [s.ground.y], name="left")
    (right,) = s.close_loop(bar.point((2, 0, 0)), s.ground, [s.ground.y], name="right")
    for c in (left, right):
        s.output(c.name, c.force)
    out = s.derive().compile()
    values = out.outputs(0.0, out.state())
    assert [values[left.name], values[right.name]] == pytest.approx([2 * G, 2 * G], rel=1e-13)


# ---------------------------------------------------------------- loops


def four_bar() -> tuple[arm.System, tuple[Any, ...]]:
    s = arm.System("four-bar")
    N = s.ground
    A = s.body("A", joint=arm.Revolute("z"), mass=1.0, inertia=(0.02, 0.02, 0.02), com=(0.1, 0.01, 0))
    B = s.body(
        "B", A, arm.Revolute("z"), at=(0.25, 0, 0), mass=2.0, inertia=(0.05, 0.05, 0.05), com=(0.3, 0, 0)
    )
    C = s.body(
        "C", joint=arm.Revolute("z"), at=(0.5, 0, 0), mass=1.5, inertia=(0.03, 0.03, 0.03), com=(0.02, 0.2, 0)
    )
    s.gravity(G, -N.y)
    s.strut("strut", "-100*(x - 0.3) - 3*v", between=(A.com, C.com))
    s.moment("motor", 2, N.z, on=A)
    loop = s.close_loop(B.point("tip", (0.6, 0, 0)), C.point("pin", (0, 0.5, 0)), [N.x, N.y], name="pin")
    return s, loop


def watch_motion(s: arm.System) -> None:
    for body in s.bodies.values():
        for i, axis in enumerate(s.ground.frame.axes):
            s.output(f"{body.name}:a{i}", arm.dot(arm.acceleration(body.com), axis))
            s.output(f"{body.name}:r{i}", arm.dot(arm.position(body.com), axis))
            s.output(f"{body.name}:o{i}", arm.dot(arm.position(body.origin), axis))
        s.output(f"{body.name}:e", arm.dot(arm.angular_acceleration(body), s.ground.z))


def planar(out: dict[str, float], name: str) -> Array:
    return np.array([out[f"{name}{i}"] for i in range(3)])


def test_each_body_of_a_four_bar_obeys_newton_and_euler() -> None:
    """Bar by bar with the reactions found: Σ F = m a and Σ M = I α about its mass centre."""
    s, loop = four_bar()
    watch_reactions(s)
    watch_motion(s)
    for i, axis in enumerate(s.ground.frame.axes):
        s.output(f"tip{i}", arm.dot(arm.position(s.bodies["B"].points["tip"]), axis))
    for c in loop:
        s.output(c.name, c.force)
    model = s.derive().compile()
    out = model.outputs(0.0, model.state({"A.q1": 0.8, "A.u1": 4.0}))
    joints = dict(zip(s.bodies, read_reactions(s, out), strict=True))
    pin = np.array([out[c.name] for c in loop] + [0.0])  # on B, from C
    tip = planar(out, "tip")
    line = planar(out, "C:r") - planar(out, "A:r")
    length = float(np.linalg.norm(line))
    strut = out["strut"] * line / length  # on C
    given = {"A": [(-strut, "A:r")], "B": [], "C": [(strut, "C:r")]}
    pushes: dict[str, list[tuple[Array, Array]]] = {
        name: [(f, planar(out, at)) for f, at in forces] for name, forces in given.items()
    }
    pushes["A"] += [(joints["A"][0], planar(out, "A:o")), (-joints["B"][0], planar(out, "B:o"))]
    pushes["B"] += [(joints["B"][0], planar(out, "B:o")), (pin, tip)]
    pushes["C"] += [(joints["C"][0], planar(out, "C:o")), (-pin, tip)]
    twist = {"A": 2.0, "B": 0.0, "C": 0.0}
    for name, mass, inertia in (("A", 1.0, 0.02), ("B", 2.0, 0.05), ("C", 1.5, 0.03)):
        total = sum((f for f, _ in pushes[name]), np.array([0, -mass * G, 0]))
        np.testing.assert_allclose(total[:2], mass * planar(out, f"{name}:a")[:2], atol=1e-10)
        centre = planar(out, f"{name}:r")
        moment = sum(float(np.cross(p - centre, f)[2]) for f, p in pushes[name]) + twist[name]
        assert moment == pytest.approx(inertia * out[f"{name}:e"], abs=1e-10)


@pytest.mark.parametrize(
    ("kinds", "formalism"),
    [
        (("spherical",), "kane"),
        (("universal",), "recursive"),
        (("revolute",), "kane"),
        (("distance", "cylindrical"), "recursive"),
    ],
)
def test_forces_of_random_closures_as_loads_give_the_constrained_motion(
    kinds: tuple[str, ...], formalism: str
) -> None:
    """With each constraint replaced by its force as a load, the open tree moves as the closed one, and its
    joints carry the same.
    """
    closed = closed_case(3, kinds)
    case, s = closed.case, describe(closed)
    N = s.ground
    watch_reactions(s)
    for c in s.constraints.values():
        for i, axis in enumerate(N.frame.axes):
            s.output(f"{c.name}:{i}", arm.dot(c.load.vector, axis) * c.force)
    out = outputs_at(s, case.q, case.u, formalism)
    loads = list(case.tree.loads)
    for c in s.constraints.values():
        pair = closed.closures[int(c.name.split()[1])]
        vector = np.array([out[f"{c.name}:{i}"] for i in range(3)])
        if c.load.kind == "force":
            loads.append(LoadData("force", c.name, vector, GROUND, at=pair.first, reaction=pair.second))
        else:
            loads.append(
                LoadData("moment", c.name, vector, GROUND, on=pair.first[0], reaction=pair.second[0])
            )
    opened = replace(case.tree, loads=loads)
    expected = accelerations(closed)
    small = 1e-9 * np.max(np.abs(expected))
    np.testing.assert_allclose(reference.accelerations(opened, case.q, case.u), expected, rtol=0, atol=small)
    carried = newton_euler(opened, case.q, case.u, expected)
    found = read_reactions(s, out)
    np.testing.assert_allclose(found, carried, rtol=0, atol=1e-10 * np.max(np.abs(carried)))


def hanging_rod(close: Callable[[arm.System, arm.Body], Any]) -> tuple[Any, arm.System]:
    s = arm.System("hanging")
    bob = s.body("bob", joint=arm.Free(rotation="xyz"), mass=2, inertia=(0.1, 0.1, 0.1))
    s.gravity(G, -s.ground.y)
    made = close(s, bob)
    return made, s


def test_force_in_a_rod_is_the_tension_of_its_pendulum() -> None:
    """Of a distance, the force pushes the first point away: −(m g cos θ + m v²/L)."""
    (rod,), s = hanging_rod(lambda s, bob: s.close_joint("distance", bob, s.ground, length=0.8, name="rod"))
    s.output("rod", rod.force)
    s.start({"bob.q2": -0.8})
    model = s.derive().compile()
    angle, speed = 0.6, 2.5
    place = {"bob.q1": 0.8 * np.sin(angle), "bob.q2": -0.8 * np.cos(angle), "bob.q3": 0.0}
    motion = {"bob.u1": speed * np.cos(angle), "bob.u2": speed * np.sin(angle), "bob.u3": 0.0}
    out = model.outputs(0.0, model.state({**place, **motion}))
    assert out["rod"] == pytest.approx(-(2 * G * np.cos(angle) + 2 * speed**2 / 0.8), rel=1e-12)


def test_statically_indeterminate_supports_are_named_and_add_up() -> None:
    """Three rollers under a beam: one of them is redundant, has no force, and the rest carry the weight."""
    s = arm.System("beam")
    bar = s.body("bar", joint=arm.Planar("z"), com=(1, 0, 0), mass=4, inertia=(0, 1, 1))
    s.gravity(G, -s.ground.y)
    made = [s.close_loop(bar.point((x, 0, 0)), s.ground, [s.ground.y], name=f"at {x}")[0] for x in (0, 1, 2)]
    for c in made:
        s.output(c.name, c.force)
    eom = s.derive()
    assert list(eom.redundant_constraints) == [made[2].name]
    model = eom.compile()
    out = model.outputs(0.0, model.state())
    forces = [out[c.name] for c in made]
    assert forces[2] == 0
    assert sum(forces) == pytest.approx(4 * G)
    assert forces[1] == pytest.approx(4 * G)


# ---------------------------------------------------------------- given motion


def test_power_of_the_effort_is_the_rate_of_energy() -> None:
    """A crane whose trolley follows a sine: ∫ effort · u dt = ΔE."""
    s = arm.System("crane")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=5, inertia=0)
    s.body("bob", cart, arm.Revolute("z"), com=(0, -0.8, 0), mass=2, inertia=(0.1, 0.1, 0.1))
    s.gravity(G, -s.ground.y)
    s.parameter("w", 3.0, units="rad/s")
    s.parameter("a", 0.3, units="m")
    s.prescribe("cart.q1", "a*sin(w*t)")
    s.output("power", s.effort("cart.q1") * cart.u1)
    s.output("energy", s.kinetic_energy() + s.potential_energy())
    run = s.derive().compile().simulate(2.0, rtol=1e-12, atol=1e-13, sample=0.001)
    from scipy.integrate import simpson

    work = simpson(run["power"], x=run.time)
    assert work == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-9)
    assert abs(run["energy"][-1] - run["energy"][0]) > 0.1


def test_effort_of_a_crank_driven_through_a_loop() -> None:
    """Slider-crank at constant crank speed: effort · ω is the rate of the energy of all parts."""
    s, _ = four_bar()
    s.loads.clear()
    s.prescribe("A.q1", "0.5 + 3*t")
    s.output("power", s.effort("A.q1") * s.bodies["A"].u1)
    s.output("energy", s.kinetic_energy() + s.potential_energy())
    run = s.derive().compile().simulate(0.6, rtol=1e-12, atol=1e-13, sample=0.001)
    from scipy.integrate import simpson

    work = simpson(run["power"], x=run.time)
    assert work == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-8)
    assert np.ptp(run["energy"]) > 0.1


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
def test_reactions_cost_nothing_where_nobody_asks(formalism: str) -> None:
    """Operations of the derivatives are the same; asking for one adds to the outputs alone."""
    plain, _ = four_bar()
    asking, loop = four_bar()
    watch_reactions(asking)
    asking.output("pin", loop[0].force)
    without, with_them = plain.derive(formalism), asking.derive(formalism)
    assert with_them.operations == without.operations
    assert len(with_them.program.outputs.results) == len(without.program.outputs.results) + 19


def test_making_a_reaction_without_output_costs_nothing() -> None:
    plain, _ = four_bar()
    made, _ = four_bar()
    made.reaction_force("A")
    made.effort("B.q1")
    first, second = plain.derive().program, made.derive().program
    assert second.outputs.operations == first.outputs.operations
    assert second.outputs.labels == first.outputs.labels
