"""Motions that move no mass are refused before any formalism, alike by all, all joints at once.

The independent truth is the mass matrix of ``reference.py``, made of partial velocities body by body, and its
singular values at a random place.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.mechanics.constraints.reduction import initial_configuration
from armillary.mechanics.massless import RunMasses, check_masses, tree_masses
from armillary.program.derive import FORMALISMS
from tests.mechanics.random_trees import Case, build, tree_case
from tests.mechanics.reference import equations

SEEDS = range(80)
EACH = 8  # trees of both kinds


@cache
def lightened(seed: int) -> Case:
    """A random tree in which some bodies are points, lines or nothing at all."""
    case = tree_case(seed)
    rng = np.random.default_rng(seed + 1000)
    bodies = list(case.tree.bodies)
    for i, body in enumerate(bodies):
        kind = rng.integers(8)
        if kind == 0:
            bodies[i] = replace(body, mass=0.0, inertia=np.zeros((3, 3)))
        elif kind == 1:  # a point, somewhere
            bodies[i] = replace(body, inertia=np.zeros((3, 3)))
        elif kind == 2:  # a line through the origin and the mass centre
            c = body.com
            bodies[i] = replace(body, inertia=0.3 * (np.eye(3) * (c @ c) - np.outer(c, c)))
    return replace(case, tree=replace(case.tree, bodies=bodies))


def nullity(case: Case) -> int:
    """Rank that the mass matrix lacks, with ones on its diagonal where it is not zero."""
    M = np.asarray(equations(case.tree, case.q, case.u)[0])
    size = np.sqrt(np.diag(M))
    M = M / np.outer(np.where(size > 1e-9, size, 1.0), np.where(size > 1e-9, size, 1.0))
    return int(np.sum(np.linalg.svd(M, compute_uv=False) < 1e-9))


@cache
def trees() -> tuple[dict[int, int], list[int]]:
    """Seeds of singular trees with the rank that they lack, and of regular ones; made by the first test."""
    singular: dict[int, int] = {}
    regular: list[int] = []
    for seed in SEEDS:
        if lacks := nullity(lightened(seed)):
            singular[seed] = lacks
        else:
            regular.append(seed)
        if min(len(singular), len(regular)) >= EACH:
            break
    return singular, regular


def refused(system: arm.System, formalism: str) -> str:
    with pytest.raises(arm.ModelError, match="moves no mass") as error:
        system.derive(formalism)
    return str(error.value)


def test_there_are_enough_random_trees_of_both_kinds() -> None:
    singular, regular = trees()
    assert len(singular) >= EACH and len(regular) >= EACH


@pytest.mark.parametrize("which", range(EACH))
def test_every_formalism_refuses_a_random_singular_tree_in_the_same_words(which: int) -> None:
    seed, lacks = list(trees()[0].items())[which]
    system = build(lightened(seed))
    told = refused(system, "auto")
    asked = FORMALISMS if which < 4 else ["recursive"]
    assert all(refused(system, formalism) == told for formalism in asked)
    assert f"singular in {lacks} directions" in told if lacks > 1 else "the mass matrix is singular" in told
    assert told.count("moves no mass") == lacks


@pytest.mark.parametrize("which", range(EACH))
def test_no_random_tree_with_mass_in_every_direction_is_refused(which: int) -> None:
    system = build(lightened(trees()[1][which]))
    assert check_masses(system, initial_configuration(system)) == []


def test_the_direction_of_a_hidden_line_without_inertia_is_named() -> None:
    """A point mass off all axes: only the line to it has no inertia, (0.3, 0.1, -0.5)/√0.35."""
    for joint in (arm.Spherical(), arm.Gimbal("zyx"), arm.Joint(rotate=["x", (0, 0.6, 0.8), "z"])):
        s = arm.System("pendulum")
        s.body("B", joint=joint, com=(0.3, 0.1, -0.5), mass=1, inertia=0)
        s.gravity(9.81, -s.ground.z)
        for formalism in ("auto", *FORMALISMS):
            told = refused(s, formalism)
            assert "body 'B', turning about (-0.5071, -0.169, 0.8452) in its axes" in told


def test_all_massless_joints_are_listed_at_once() -> None:
    s = arm.System("robot")
    hub = s.body("hub", joint=arm.Free(), mass=1, inertia=(1, 1, 1))
    for i in range(24):
        s.body(f"finger{i}", hub, arm.Revolute((1, 2, i)), at=(i, 0, 1), mass=0, inertia=0)
    told = refused(s, "auto")
    assert all(f"speed 'finger{i}.u1' moves no mass" in told for i in range(24))
    assert "singular in 24 directions" in told


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_what_is_singular_does_not_depend_on_units(size: float) -> None:
    """A thin rod, a hundred times longer than thick, in very small and very large units."""
    for spin, singular in ((1e-4, False), (0.0, True)):
        s = arm.System("rod")
        s.body("rod", joint=arm.Spherical(), com=(0.6 * size, 0, 0.8 * size), mass=1.0 / size,
               inertia=_rod(spin * size))  # fmt: skip
        if singular:
            refused(s, "recursive")
        else:
            check_masses(s, initial_configuration(s))


def _rod(spin: float) -> tuple[float, ...]:
    """An inertia of ``spin`` about the line along (0.6, 0, 0.8), and nothing else: to be in balance, twice it
    about one axis across.
    """
    a, b = np.array([0.6, 0, 0.8]), np.array([0, 1, 0])
    J = spin * (np.outer(a, a) + np.outer(b, b))
    return (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])


def test_a_chain_with_one_light_end_is_not_singular() -> None:
    """The mass matrix of a uniform chain of 40 links has condition 1e6; that of one with a feather, 1e12."""
    for end in (1.0, 1e-6):
        s = arm.System("chain")
        link = None
        for i in range(40):
            link = s.body(f"L{i}", link, arm.Revolute("z"), at=(1 if i else 0, 0, 0), com=(0.5, 0, 0),
                          mass=end if i == 39 else 1.0, inertia=0)  # fmt: skip
        assert check_masses(s, initial_configuration(s)) == []


def held_slider(*, closed: bool) -> arm.System:
    """A slider-crank whose connecting rod and slider have no mass of their own."""
    s = arm.System("slider-crank")
    crank = s.body("crank", joint=arm.Revolute("z"), com=(0.05, 0, 0), mass=1, inertia=(0.01, 0.01, 0.01))
    rod = s.body("rod", crank, arm.Revolute("z"), at=(0.1, 0, 0), mass=0, inertia=0)
    slider = s.body("slider", joint=arm.Prismatic("x"), mass=0, inertia=0)
    s.start({"crank.q1": 0.5, "rod.q1": -0.7, "slider.q1": 0.38})
    if closed:
        s.close_loop(rod.point((0.3, 0, 0)), slider.origin, [s.ground.x, s.ground.y])
    else:
        s.close_loop(rod.point((0.3, 0, 0)), slider.origin, [s.ground.y])
    return s


def test_massless_links_that_constraints_hold_are_accepted() -> None:
    """The crank alone then moves: J u̇ = −k u with J = 0.01 + 0.05²."""
    s = held_slider(closed=True)
    s.moment("drag", "-0.3*crank.u1", s.ground.z, on=s.bodies["crank"])
    eom = s.derive()
    assert eom.formalism == "kane"
    model = eom.compile()
    rates = model.derivatives(0.0, model.state({"crank.u1": 2.0}))
    assert rates[-1] == pytest.approx(-0.3 * 2.0 / 0.0125, rel=1e-12)
    for formalism in ("recursive", "back_substitution"):
        with pytest.raises(arm.ModelError, match=r"moves no mass.*without constraints.*use formalism='kane'"):
            s.derive(formalism)
    s.derive("redundant")


def test_a_massless_link_that_constraints_leave_loose_is_refused_by_all() -> None:
    s = held_slider(closed=False)
    for formalism in ("auto", "kane", "recursive", "back_substitution", "redundant"):
        assert "slider.u1" in refused(s, formalism)


def test_what_is_locked_or_prescribed_needs_no_mass() -> None:
    s = arm.System("driven")
    stage = s.body("stage", joint=arm.Planar("z"), mass=0, inertia=0)
    s.body("bob", stage, arm.Revolute("x"), com=(0, 0, -1), mass=1, inertia=0)
    refused(s, "kane")
    s.lock("stage.u3")
    s.prescribe("stage.q1", "0.1*sin(3*t)")
    s.prescribe("stage.q2", "0.2*t")
    assert check_masses(s, initial_configuration(s)) == []
    assert s.derive().speeds == ("bob.u1",)


@pytest.mark.parametrize("light", [1.0, 1e-3, 1e-9])
def test_a_links_own_inertia_bounds_its_pivots_at_every_place(light: float) -> None:
    rng = np.random.default_rng(5)
    system = arm.System("chain")
    last = system.ground
    for k, (axis, size) in enumerate(zip("zxyz", (1.0, light, 1.0, 1.0), strict=True)):
        moments = tuple(size * x for x in (0.02, 0.03, 0.04))
        last = system.body(
            f"B{k}", last, arm.Revolute(axis), at=rng.uniform(-1.0, 1.0, 3).tolist(), mass=size,
            com=rng.uniform(-0.1, 0.1, 3).tolist(), inertia=moments,
        )  # fmt: skip
    masses, plain = tree_masses(system, initial_configuration(system))
    places = {plain(q): rng.uniform(-3.0, 3.0, 2000) for q in system.coordinates}
    weakest = float(np.min(masses.shares(places)))
    least = masses.least_share({})
    assert masses.links.constant_lengths and 1e-3 * light < least <= weakest


@pytest.mark.parametrize("length", [1.0, 1e3])  # a metre in metres and in millimetres
def test_the_share_of_a_joint_counts_what_hangs_on_it_at_its_distance(length: float) -> None:
    """Balls J and K with m at a distance r: of three times J + K + m r², all moments added, J is left."""
    J, K, m, r = 0.02 * length**2, 0.5 * length**2, 3.0, 2.0 * length
    system = arm.System("two balls")
    first = system.body("first", joint=arm.Revolute("z"), mass=0, inertia=(J, J, J))
    system.body("second", first, arm.Revolute("z"), at=(r, 0, 0), mass=m, inertia=(K, K, K))
    masses, _ = tree_masses(system, initial_configuration(system))
    assert masses.least_share({}) == pytest.approx(J / (3 * (J + K + m * r**2)), rel=1e-12)


def test_of_very_many_sets_only_those_without_mass_are_refused() -> None:
    """More than are judged one by one: all whose masses cancel share their words; where constraints hold a
    link, the words of one set in which a loose link lacks mass are not those of the others.
    """
    s = arm.System("free")
    s.parameter("a", 1.0, units="kg")
    s.parameter("b", 0.0, units="kg")
    s.body("block", joint=arm.Prismatic("x"), mass="a - b", inertia=0)
    b = np.linspace(1.0, 2.0, 150)
    found = RunMasses(s).all_singular({"a": b.copy(), "b": b}, 150)
    assert list(found) == list(range(150)) and len(set(found.values())) == 1 and "block" in found[149]

    s = held_slider(closed=True)
    s.parameter("m", 1.0, units="kg")
    s.parameter("length", 0.1, units="m")
    s.body("loose", joint=arm.Prismatic("y"), mass="m", inertia=0)
    s.body("end", s.bodies["crank"], arm.Fixed(), at=("length", 0, 0), mass=0.1, inertia=0)
    lengths = np.linspace(0.1, 0.2, 150)
    found = RunMasses(s).all_singular({"length": lengths, "m": np.where(lengths == 0.2, 0.0, 1.0)}, 150)
    assert list(found) == [149] and "loose" in found[149]
