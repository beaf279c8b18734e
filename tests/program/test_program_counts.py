"""Operation counts are those of the listing, and the record of the passes tells how they came about."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.expression import Expr, symbol
from armillary.program.formalisms import momentum
from armillary.program.passes import Constants, Graph, hoist
from armillary.program.passes.graph import Operations, count
from armillary.stages.equations import Equations
from tests.mechanics import random_trees
from tests.program.listings import recounted
from tests.systems.everything import everything

SEEDS = (2, 9, 11)

q, r = (symbol(name, "coordinate") for name in "qr")
a, b = (symbol(name, "parameter") for name in "ab")


# Expression, (additions, multiplications, divisions, functions) by hand.
BY_HAND: list[tuple[Expr, tuple[int, int, int, int]]] = [
    (q + r - 1, (2, 0, 0, 0)),
    (-q, (0, 0, 0, 0)),
    (3 * q - 2 * r, (1, 2, 0, 0)),
    (-3 * q * r, (0, 2, 0, 0)),
    (q**2, (0, 1, 0, 0)),
    (q**3, (0, 2, 0, 0)),
    (q**4, (0, 2, 0, 0)),
    (q**7, (0, 4, 0, 0)),
    (1 / q, (0, 0, 1, 0)),
    (2 / q, (0, 0, 1, 0)),
    (2 * q / r, (0, 1, 1, 0)),
    (1 / (q * r), (0, 1, 1, 0)),
    (q / r**2, (0, 1, 1, 0)),
    (q**-3, (0, 2, 1, 0)),
    (arm.sqrt(q), (0, 0, 1, 0)),
    (1 / arm.sqrt(q), (0, 0, 2, 0)),
    (q**1.5, (0, 1, 1, 0)),
    (q**0.3, (0, 0, 0, 1)),
    (q**-2.2 * r, (0, 0, 1, 1)),
    (q**r, (0, 0, 0, 1)),
    (arm.sin(q) * arm.cos(q), (0, 1, 0, 2)),
    (arm.select(q < r, q, 2.0), (0, 0, 0, 2)),
    (arm.and_(q < r, arm.not_(q < 1)), (0, 0, 0, 4)),
    (a * b * q, (0, 2, 0, 0)),
    (arm.sin(a) * a**2 + q, (1, 0, 0, 0)),
]


@pytest.mark.parametrize(("expression", "expected"), BY_HAND, ids=lambda x: str(x))
def test_counts_by_hand(expression: Expr, expected: tuple[int, int, int, int]) -> None:
    assert count([expression]) == Operations(*expected)


def test_what_is_shared_counts_once() -> None:
    shared = arm.sin(q + 2 * r)
    assert count([shared * q, shared - r, shared]) == Operations(2, 2, 0, 1)


@cache
def random_system(seed: int) -> Equations:
    return random_trees.build(random_trees.tree_case(seed), parameters=bool(seed % 2)).derive()


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_are_those_of_the_listing_of_random_systems(seed: int) -> None:
    equations = random_system(seed)
    for name in ("derivatives", "outputs", "normalise", "precompute"):
        shown = equations.show(name)
        section = next(s for s in equations.program.sections() if s.name == name)
        assert recounted(shown) == section.operations
        assert shown.splitlines()[0] == f"{name}: {section.operations}"
    assert recounted(equations.show()) == equations.operations


def test_counts_are_those_of_the_listing_for_every_kind_of_operation() -> None:
    equations = everything().derive()
    for section in equations.program.sections():
        assert recounted(equations.show(section.name)) == section.operations, section.name
    assert equations.program.precompute.operations.total > 0
    assert equations.program.outputs.operations.functions >= 15


@pytest.mark.parametrize("seed", SEEDS)
def test_gains_lead_from_the_derived_equations_to_the_reported_count(seed: int) -> None:
    equations = random_system(seed)
    gains = equations.gains
    assert gains[0].name == "inline"
    assert ("hoist" in [g.name for g in gains]) == bool(equations.program.constants)
    assert gains[0].before == count(core_of(equations).targets.rates)
    assert gains[-1].after == equations.operations
    for first, second in pairwise(gains):
        assert first.after == second.before
    for gain in gains:
        if gain.name in ("reciprocals", "factor", "share", "fold"):
            assert gain.after.weight < gain.before.weight
    shown = equations.report()
    for gain in gains:
        o = gain.after
        numbers = rf"{o.additions}\s+{o.multiplications}\s+{o.divisions}\s+{o.functions}"
        assert re.search(rf"{gain.name}\s+{numbers}", shown)


def test_outputs_events_and_memory_cost_nothing_in_the_derivatives() -> None:
    def pendulum(rich: bool) -> arm.System:
        s = arm.System("pendulum")
        bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass="m", inertia=0)
        s.gravity("g", -s.ground.y)
        if rich:
            s.memory("most", 0.0, update="max(most, bob.q1)")
            s.event("bottom", "bob.q1")
            s.output("height", arm.dot(arm.position(bob.com), s.ground.y))
            s.output("pull", arm.magnitude(arm.acceleration(bob.com)))
        return s

    plain, rich = pendulum(False).derive(), pendulum(True).derive()
    assert rich.operations == plain.operations == Operations(0, 1, 0, 1)
    assert rich.program.outputs.operations.total > plain.operations.total
    assert len(rich.program.derivatives.nodes) == len(plain.program.derivatives.nodes)


def test_outputs_use_what_the_passes_made_of_the_derivatives() -> None:
    """An acceleration as an output repeats the operations of the derivatives as these have become."""
    s = random_trees.build(random_trees.tree_case(6))
    s.output("felt", arm.magnitude(arm.acceleration(list(s.bodies.values())[-1].com)))
    program = core_of(s.derive()).program
    rates, outputs = program.derivatives, program.outputs
    assert len(set(outputs.nodes) & set(rates.nodes)) > 0.9 * len(rates.nodes)


def test_columns_of_reports_are_as_wide_as_their_names() -> None:
    s = arm.System("pendulum")
    bob = s.body("bob_with_a_long_name", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.body("end", bob, arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    lines = str(s.derive().report()).splitlines()
    places = [line.index("bob_with_a_long_name") for line in lines if line.startswith("  end")]
    assert places == [line.index("parent") for line in lines if "parent" in line]


def test_large_systems_share_their_divisions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the size where factors and pairs are searched for, dividing once costs nothing to find."""
    monkeypatch.setattr("armillary.program.passes.SEARCHED", 10)
    equations = random_trees.build(random_trees.tree_case(6)).derive()
    names = [gain.name for gain in equations.gains]
    assert "reciprocals" in names and "factor" not in names and "share" not in names
    assert equations.operations.divisions < equations.gains[0].before.divisions / 4


def test_hoisting_what_is_named_already_changes_nothing() -> None:
    rates = random_system(11).program.derivatives.results

    graph = Graph(rates)
    assert hoist(graph, Constants()) is graph


def test_a_ball_on_an_arm_costs_no_more_than_with_columns_in_the_axes_of_its_joint() -> None:
    """Axes of turns are constant in the parent, those of a ball joint in its body: columns of M formed in the
    other axes take 17 additions and 31 multiplications more.
    """
    s, parent = arm.System("arm"), None
    for k, joint in enumerate((arm.Revolute("z"), arm.Spherical())):
        parent = s.body(
            f"B{k}", parent, joint, at=("l0", "0", "l1") if k else (0, 0, 0), com=(f"c{k}", f"d{k}", 0),
            mass=f"m{k}", inertia=(f"x{k}", f"y{k}", f"z{k}"),
        )  # fmt: skip
    s.gravity("g", -s.ground.z)
    found = s.derive("kane").operations
    assert found.additions <= 77 and found.multiplications <= 117


@pytest.mark.parametrize("links", [2, 3])
def test_the_cheaper_of_two_solutions_for_the_speeds_is_taken(
    links: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two links the recursion takes fewer operations, with three the matrix."""

    def operations(*methods: str) -> int:
        monkeypatch.setattr(momentum, "SOLUTIONS", methods)
        s, body = arm.System("chain"), None
        solid = {"com": (0, 0.1, 0.2), "mass": 1, "inertia": (0.1, 0.2, 0.3)}
        for i in range(links):
            at = (0, 0, 0.3) if body else (0, 0, 0)
            body = s.body(f"b{i}", body, arm.Revolute("xyz"[i]), at=at, **solid)
        return core_of(s.derive(formalism="momentum")).program.derivatives.operations.total

    matrix, recursion = operations("matrix"), operations("recursion")
    assert (recursion < matrix) == (links == 2) and matrix != recursion
    assert operations("matrix", "recursion") == min(matrix, recursion)
