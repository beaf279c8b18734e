"""Flexible bodies in odd places: on each other's nodes, held at their ends, in loops, judged small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.calculus import evaluate_all, gradient
from armillary.algebra.expression import as_expr
from armillary.errors import ModelError
from armillary.verification.rows import largest
from tests.mechanics import flexible_trees as trees

FORMALISMS = ("kane", "recursive", "back_substitution", "momentum")
BY_SPEEDS = FORMALISMS[:3]  # those that take constraints


def worst(found: Any, wanted: np.ndarray) -> float:
    """The largest error in terms of the largest acceleration."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


# ---------------------------------------------------------------- first principles


@pytest.mark.parametrize(
    ("seed", "formalisms"),
    [(4, FORMALISMS[::2]), (12, FORMALISMS[1::2]), (23, FORMALISMS[::2]), (24, FORMALISMS[1::2])],
)
def test_random_trees_move_as_their_particles_do(seed: int, formalisms: tuple[str, ...]) -> None:
    """Flexible bodies on nodes of flexible bodies, held at nodes or not, by every kind of joint.

    At modal rotations well below a radian, and where the modes turn a node by 6 rad; each tree by two
    formalisms.
    """
    tree = trees.random_tree(seed)
    states = trees.random_state(tree, seed), trees.turned_state(tree, seed, 6.0)
    wanted = [trees.accelerations(tree, q, u) for q, u in states]
    system = trees.build(tree)
    for i, formalism in enumerate(formalisms):
        model = system.derive(formalism, regroup=(seed // 2 + i) % 2 == 0).compile()
        for (q, u), expected in zip(states, wanted, strict=True):
            assert worst(model.accelerations(0.0, q, u), expected) < 1e-10, formalism


def boom_on_boom(held: str | None, stiffening: bool, second_order: bool = True) -> arm.System:
    """Beams that bend both ways and twist, the second one sliding on a place of the first."""
    s = arm.System("boom on boom")
    joint = arm.Joint(translate=["y"], rotate=["x", "z"])
    hub = s.body("hub", joint=joint, com=(0.1, 0, 0), mass=3, inertia=(1, 2, 1.5))
    order = {} if second_order else {"second_order": False}
    boom = s.body("boom", parent=hub, at=(0.2, 0, 0), joint=arm.Revolute("z"), orient=("x", 0.3))
    beam = arm.Beam(
        2.0,
        EI=(50.0, 80.0),
        mass_per_length=0.5,
        GJ=20.0,
        polar=0.01,
        root="free" if held else "clamped",
        tip_mass=0.1,
        tip_inertia=(0.01, 0.02, 0.03),
        along=(0.6, 0.8, 0),
        across="z",
    )
    boom.flexible(beam, modes=2, stiffening=stiffening, held=held, **order)
    joint_body = {"com": (0, 0.1, 0.2), "mass": 0.3, "inertia": (0.01, 0.02, 0.03)}
    s.body("load", parent=boom.node("tip"), joint=arm.Cylindrical("y"), **joint_body)
    other = s.body("other", parent=boom.node(1.3), joint=arm.Prismatic("y"), at=(0, 0, 0.1), **joint_body)
    other.flexible(
        arm.Beam(1.0, EI=(50.0, 80.0), mass_per_length=0.5), modes=1, stiffening=stiffening, **order
    )
    s.gravity(9.81, -s.ground.z)
    return s


def lagrange(s: arm.System, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """q̈ from Lagrange's equations of the system's own energies, where u = q̇."""
    at = dict(zip([x.name for x in (*s.coordinates, *s.speeds)], [*q, *u], strict=True)) | {"t": 0.0}
    kinetic, potential = s.kinetic_energy(), s.potential_energy() + s.strain_energy()
    count = len(u)
    momenta = gradient(kinetic, s.speeds)
    second = [e for p in momenta for e in gradient(as_expr(p), [*s.speeds, *s.coordinates])]
    slopes = [*gradient(kinetic, s.coordinates), *gradient(potential, s.coordinates)]
    values = np.array(evaluate_all([as_expr(e) for e in (*second, *slopes)], at), float)
    matrix = values[: 2 * count * count].reshape(count, 2 * count)
    by_place = values[2 * count * count :].reshape(2, count)
    return np.linalg.solve(matrix[:, :count], by_place[0] - by_place[1] - matrix[:, count:] @ u)


@pytest.mark.parametrize(
    ("held", "stiffening", "second_order", "formalisms"),
    [("tip", True, True, FORMALISMS[::2]), (None, False, False, FORMALISMS[1::2])],
    ids=["stiffened and held at its tip", "first order"],
)
def test_beams_on_beams_obey_lagrange(
    held: str | None, stiffening: bool, second_order: bool, formalisms: tuple[str, ...]
) -> None:
    s = boom_on_boom(held, stiffening, second_order)
    rng = np.random.default_rng(3)
    q, u = 0.3 * rng.normal(size=len(s.speeds)), rng.normal(size=len(s.speeds))
    amplitudes = {a for flex in s.flexibles.values() for a in flex.coordinates}
    q *= [0.15 if x in amplitudes else 1.0 for x in s.coordinates]
    wanted = lagrange(s, q, u)
    for formalism in formalisms:
        assert worst(s.derive(formalism).compile().accelerations(0.0, q, u), wanted) < 1e-10, formalism


# ---------------------------------------------------------------- loops and constraints


def beam(**more: Any) -> arm.Beam:
    return arm.Beam(1.0, EI=50.0, mass_per_length=0.5, motions="y", **more)


@pytest.mark.parametrize("formalism", BY_SPEEDS)
def test_two_booms_tied_at_their_tips_conserve_energy(formalism: str) -> None:
    s = arm.System("tied booms")
    s.gravity(9.81, -s.ground.y)
    booms = [s.body(name, joint=arm.Revolute("z"), at=(x, 0, 0)) for name, x in (("a", 0), ("b", 1.2))]
    for boom in booms:
        boom.flexible(beam(), modes=2)
    tips = [boom.node("tip") for boom in booms]
    s.close_loop(*tips, [s.ground.x, s.ground.y], name="tips")
    s.output("E", s.kinetic_energy() + s.potential_energy() + s.strain_energy(), units="J")
    for axis in "xy":
        s.output(f"gap {axis}", arm.dot(arm.position(tips[0], tips[1]), getattr(s.ground, axis)), units="m")
    run = (
        s.derive(formalism)
        .compile()
        .simulate(1.0, method="dop853", rtol=1e-11, atol=1e-12, initial={"a.q1": 0.9, "b.q1": 2.2})
    )
    assert np.abs(run["a.q2"]).max() > 1e-3  # they do bend
    np.testing.assert_allclose(run["E"], run["E"][0], rtol=1e-9)
    assert largest([np.abs(run[f"gap {axis}"]).max() for axis in "xy"]) < 1e-10


def test_constraints_between_modes_and_joints_are_kept_alike_by_all() -> None:
    """A gear between a hinge and one beyond a node, and two modal rates tied to each other."""
    ends = []
    for formalism in BY_SPEEDS:
        s = arm.System("geared")
        hub = s.body("hub", joint=arm.Free(), mass=5, inertia=(2, 3, 4))
        boom = s.body("boom", parent=hub, joint=arm.Revolute("z"))
        boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5, GJ=20.0, polar=0.01), modes=3)
        data = {"com": (0.2, 0, 0), "mass": 1, "inertia": (0.1, 0.1, 0.1)}
        s.body("load", parent=boom.node("tip"), joint=arm.Revolute("z"), **data)
        s.constrain("boom.q1 + 2*load.q1")
        s.constrain("boom.u2 - 0.3*boom.u3")
        model = s.derive(formalism).compile()
        run = model.simulate(
            1.0, method="dop853", rtol=1e-11, atol=1e-12, initial={"hub.u4": 0.3, "boom.u1": 0.5}
        )
        np.testing.assert_allclose(run["boom.q1"], -2 * run["load.q1"], atol=1e-10)
        np.testing.assert_allclose(run["boom.u2"], 0.3 * run["boom.u3"], atol=1e-10)
        ends.append([run[name][-1] for name in model.coordinate_names])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-11)


def test_reaction_at_a_hinge_on_a_node_is_mass_times_acceleration() -> None:
    s = arm.System("load on a tip")
    boom = s.body("boom", joint=arm.Revolute("z"))
    boom.flexible(beam(), modes=2)
    load = s.body(
        "load",
        parent=boom.node("tip"),
        joint=arm.Revolute("z"),
        com=(0.2, 0, 0),
        mass=3,
        inertia=(0, 0.1, 0.1),
    )
    for axis in "xy":
        unit = getattr(s.ground, axis)
        s.output(f"force {axis}", arm.dot(s.reaction_force(load), unit), units="N")
        s.output(f"inertia {axis}", arm.dot(arm.acceleration(load.com), unit) * 3.0)
    run = s.derive().compile().simulate(0.5, initial={"boom.u1": 1.0, "load.u1": 2.0})
    for axis in "xy":
        wanted = run[f"inertia {axis}"]
        np.testing.assert_allclose(run[f"force {axis}"], wanted, atol=1e-11 * np.abs(wanted).max())


# ---------------------------------------------------------------- judged small


def test_modes_declared_small_leave_an_error_of_second_order() -> None:
    s = arm.System("small modes")
    hub = s.body("hub", joint=arm.Free(), mass=5, inertia=(2, 3, 4))
    boom = s.body("boom", parent=hub, joint=arm.Revolute("z"))
    boom.flexible(arm.Beam(2.0, EI=50.0, mass_per_length=0.5, GJ=20.0, polar=0.01), modes=3)
    modal = [f"boom.{letter}{i}" for letter in "qu" for i in (2, 3, 4)]
    s.small(*modal)
    short, whole = (s.derive("kane", small=judged).compile() for judged in (True, False))
    assert short.equations.operations.multiplications < whole.equations.operations.multiplications
    rng = np.random.default_rng(0)
    q = whole.state()[: len(whole.coordinate_names)]
    u, bend, rate = rng.normal(size=len(whole.speed_names)), rng.normal(size=3), rng.normal(size=3)
    errors = []
    for size in (1e-4, 1e-5):
        q[8:11], u[7:10] = size * bend, size * rate
        errors.append(np.abs(short.accelerations(0, q, u) - whole.accelerations(0, q, u)).max())
    assert errors[0] > 0
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.2)
    with pytest.raises(ModelError, match=r"'boom\.q2' is declared small"):
        s.derive("momentum")


# ---------------------------------------------------------------- growth


def array_multiplications(formalism: str, n: int) -> int:
    s = arm.System("array")
    hub = s.body("hub", joint=arm.Free(), mass=100, inertia=(50, 50, 50))
    arm.panels(s, hub, n, length=1.0, mass=2.0, inertia=(0.1, 0.2, 0.3), stiffness=1.0)
    return s.derive(formalism).operations.multiplications


@pytest.mark.parametrize("formalism", ["recursive", "momentum"])
def test_operations_of_a_panel_array_grow_linearly(formalism: str) -> None:
    assert array_multiplications(formalism, 12) < 2.1 * array_multiplications(formalism, 6)


@pytest.mark.parametrize("formalism", ["mbdyfn", "mbdyfl"])
def test_stiffening_is_not_dropped_in_silence(formalism: str) -> None:
    s = arm.System("stiffened")
    hub = s.body("hub", joint=arm.Free(), mass=5, inertia=(2, 3, 4))
    boom = s.body("boom", parent=hub, joint=arm.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1))
    boom.flexible(beam(), modes=2, stiffening=True)
    with pytest.raises(ModelError, match=r"'boom'.*stiffen"):
        s.derive(formalism)
