"""Sections: complete, in order, free of constants, and readable as programs of their own."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.errors import ModelError
from armillary.export.c.model import CModel
from armillary.export.text.source import make_source
from armillary.program import program
from armillary.program.program import ProgramSection
from armillary.stages.equations import Equations
from tests.mechanics import random_trees
from tests.program.listings import run_listing
from tests.systems.everything import everything

SEEDS = (3, 11)


def check_order(section: ProgramSection) -> None:
    """Each node once, after its operands, and everything that the results need."""
    assert len(set(section.nodes)) == len(section.nodes)
    known: set[arm.Expr] = set()
    for node in section.nodes:
        for operand in node.args:
            given = operand.kind in ("number", "symbol")
            assert given or operand in known, f"{section.name}: '{node!r}' comes before its operand"
        known.add(node)
    for result in section.results:
        assert result in known or result.kind in ("number", "symbol")
    assert len(section.labels) == len(section.results)


def test_names_stand_behind_their_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take no time, so that the model machine has no turn for them."""
    monkeypatch.setattr(program, "WIDE", math.inf)
    nodes = random_trees.build(random_trees.tree_case(3)).derive("recursive").program.derivatives.nodes
    names = [i for i, node in enumerate(nodes) if node.kind == "let"]
    assert len(names) > 10
    for i in names:
        before = next(node for node in reversed(nodes[:i]) if node.kind != "let")
        assert nodes[i].args[0] is before


@pytest.mark.parametrize("way", ["longest chain first", "operands first"])
@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_come_once_and_after_their_operands(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "WIDE", math.inf if way == "longest chain first" else 0.0)
    equations = random_trees.build(random_trees.tree_case(seed), parameters=seed % 2 == 0).derive("recursive")
    for section in equations.program.sections():
        check_order(section)


@pytest.mark.parametrize("formalism", ["kane", "recursive"])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_constant_is_computed_outside_precompute(seed: int, formalism: str) -> None:
    """No node is constant, none has two constants that could have been one, and none an unnamed one."""
    for section in random_trees.derived(seed, formalism).program.sections()[1:]:
        for node in section.nodes:
            fixed = [a for a in node.args if a.constant]
            assert not node.constant
            assert all(a.kind in ("number", "symbol") for a in fixed)
            if node.kind in ("sum", "product"):
                number = node.data[0] != 0 if node.kind == "sum" else abs(node.data[0]) != 1
                assert len(fixed) + number <= 1, f"{section.name}: {node!r}"


@pytest.mark.parametrize("seed", SEEDS)
def test_constants_are_distinct_and_all_needed(seed: int) -> None:
    program = random_trees.derived(seed, "kane").program
    assert len(set(program.constants)) == len(program.constants)
    assert len(set(program.precompute.results)) == len(program.precompute.results)
    names = [c.name for c in program.constants]
    assert len(set(names)) == len(names)
    read = {a for s in program.sections()[1:] for node in s.nodes for a in node.args}
    read |= {r for s in program.sections()[1:] for r in s.results}
    assert set(program.constants) <= read


@pytest.mark.parametrize("seed", SEEDS)
def test_precompute_gives_the_constants(seed: int) -> None:
    equations = random_trees.derived(seed, "kane")
    program = equations.program
    expected = evaluate_all(program.precompute.results, equations.parameters)
    np.testing.assert_allclose(equations.compile().constants(), expected, rtol=1e-13)


def test_sections_are_there_whether_used_or_not() -> None:
    plain = arm.System("plain")
    plain.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    names = [s.name for s in plain.derive().program.sections()]
    assert names == [
        *("precompute", "derivatives", "outputs", "events", "update"),
        *("normalise", "correct", "geometry"),
    ]
    names = [s.name for s in everything().derive().program.sections()]
    assert names == [
        *("precompute", "derivatives", "outputs", "events", "update"),
        *("fire turned", "normalise", "correct", "geometry"),
    ]


def test_unknown_section_names_the_nearest() -> None:
    with pytest.raises(ModelError, match="no section 'derivative'; did you mean 'derivatives'"):
        everything().derive().show("derivative")


# ---------------------------------------------------------------- listings are programs


def constants_of(equations: Equations, parameters: dict[str, float]) -> dict[str, float]:
    """The named constants, by running the listing of precompute."""
    found = run_listing(equations.show("precompute"), parameters)
    return {label: found[label] for label in equations.program.precompute.labels}


def state_of(equations: Equations, seed: int) -> tuple[np.ndarray, dict[str, float]]:
    state = np.random.default_rng(seed).uniform(0.2, 0.9, len(equations.program.state))
    return state, dict(zip([*equations.coordinates, *equations.speeds], state, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_listing_computes_what_the_compiled_code_computes(seed: int) -> None:
    equations = random_trees.derived(seed, "recursive")
    state, values = state_of(equations, seed)
    parameters = {name: value for name, value in equations.parameters.items() if value is not None}
    constants = constants_of(equations, parameters)
    found = run_listing(equations.show(), {**parameters, **constants, **values})
    expected = equations.compile().derivatives(0.0, state)
    rates = [found[f"{name.replace('.', '__')}'"] for name in values]
    np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-12 * np.max(np.abs(expected)))


def test_listings_of_every_kind_of_operation_compute_the_outputs() -> None:
    equations = everything().derive()
    state, values = state_of(equations, 1)
    parameters = {name: 0.3 + 0.1 * i for i, name in enumerate(equations.parameters)}
    constants = constants_of(equations, parameters)
    found = run_listing(
        equations.show("outputs"), {**parameters, **constants, **values, "t": 0.5, "held": 0.25}
    )
    expected = equations.compile().outputs(0.5, state, parameters, memory=[0.25])
    for name, value in expected.items():
        assert found[name.replace(".", "__")] == pytest.approx(value, rel=1e-13), name


def test_names_of_a_listing_are_not_those_of_parameters() -> None:
    """The passes call values p, s and z, and constants c1, c2: as users call parameters."""
    s = arm.System("clash")
    names = ("p", "s", "z", "z1", "c1", "c2", "reciprocal", "sin_B_q1")
    p, spring, z, z1, c1, c2, reciprocal, sine = (s.parameter(n, 0.4 + 0.1 * i) for i, n in enumerate(names))
    parent = None
    for name in "ABC":
        joint = arm.Revolute("z" if name == "A" else "x")
        moments = (reciprocal, reciprocal, reciprocal)
        parent = s.body(name, parent, joint, at=(p, c1, 0), com=(c2, z, z1), mass=spring, inertia=moments)
    s.gravity(sine, -s.ground.y)
    equations = s.derive("kane")
    for section in equations.program.sections()[:2]:
        assigned = [
            line.partition(" = ")[0].strip() for line in equations.show(section.name).splitlines()[1:]
        ]
        inner = assigned[: len(assigned) - len(section.results)]
        assert len(set(assigned)) == len(assigned)
        assert not set(inner) & set(names)
    state, values = state_of(equations, 3)
    parameters = {name: value for name, value in equations.parameters.items() if value is not None}
    constants = constants_of(equations, parameters)
    found = run_listing(equations.show(), {**parameters, **constants, **values})
    expected = equations.compile().derivatives(0.0, state)
    np.testing.assert_allclose([found[f"{n.replace('.', '__')}'"] for n in values], expected, rtol=1e-12)


def sprung() -> Equations:
    """Loads that are used twice, so that listings name them: each is minus something, as springs are."""
    s = arm.System("sprung")
    s.parameter("K", 3.0, units="N/m")
    s.parameter("C", 0.2, units="N*s/m")
    s.parameter("T", 0.5, units="N*m/rad")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    b = s.body("b", a, arm.Prismatic("x"), mass=2, inertia=0)
    c = s.body("c", b, arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    d = s.body("d", c, arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.force("spring", "-K*b.q1 - C*b.u1", s.ground.x, at=b.com, reaction=a.com)
    s.moment("twist", "-T*(d.q1 + 0.1*d.q1^3)", s.ground.z, on=d, reaction=c)
    ends = b.point("p", (0, 1, 0)), s.ground.point("g", (0, 0, 1))
    s.strut("strut", "-K*(x - 1) - 2*C*v", between=ends)
    return s.derive("kane")


def test_a_named_load_has_the_sign_that_the_user_gave_it() -> None:
    """In the listing, and in generated C: spring = −K q − C u, whatever the equations make of it."""
    equations = sprung()
    _, values = state_of(equations, 3)
    K, C, T = 3.0, 0.2, 0.5
    q, u, v = values["b.q1"], values["b.u1"], values["a.u1"] + values["b.u1"]
    length = math.sqrt((values["a.q1"] + q) ** 2 + 2)
    rate = (values["a.q1"] + q) * v / length
    expected = {
        "spring": -K * q - C * u,
        "twist": -T * (values["d.q1"] + 0.1 * values["d.q1"] ** 3),
        "strut": -K * (length - 1) - 2 * C * rate,
        "strut_length": length,
    }
    parameters = {"K": K, "C": C, "T": T}
    named = set()
    for section in ("derivatives", "outputs"):
        found = run_listing(
            equations.show(section), {**parameters, **constants_of(equations, parameters), **values}
        )
        for name in expected.keys() & found.keys():
            assert found[name] == pytest.approx(expected[name], rel=1e-12), (section, name)
            named.add(name)
    assert named == expected.keys()
    model = CModel(make_source(core_of(equations)))
    lines = dict(re.findall(r"const double (\w+) = ([^;]*);", model.functions()[1]))
    written = eval(  # the expression that stands in C
        lines["spring"], {"C": C, "K": K, "b_u1": u, "b_q1": q}
    )
    assert written == pytest.approx(expected["spring"], rel=1e-14)


def test_what_was_derived_before_does_not_matter() -> None:
    """Intermediate values of earlier derivations may still live, under names that other formalisms gave."""
    formalisms = ("kane", "mbdyfn", "recursive", "momentum")

    def listings(order: tuple[str, ...]) -> dict[str, str]:
        s = arm.System("satellite")
        bus = s.body("bus", joint=arm.Free(), mass=300.0, inertia=(70.0, 60.0, 50.0))
        boom = s.body("boom", parent=bus, at=(0, 0, 0.4))
        boom.flexible(arm.Beam(6.0, EI=150.0, mass_per_length=0.3, along="z", tip_mass=1.0), modes=2)
        arm.panels(s, bus, 1, at=(0.5, 0, 0), length=1.0, mass=3.0, inertia=(0.25, 0.25, 0.5), stiffness=60.0)
        kept = {name: s.derive(name) for name in order}
        return {name: kept[name].show() for name in formalisms}

    assert listings(formalisms) == listings(formalisms[::-1])
