"""Rates with their Jacobian: by a tree's factorised mass matrix, by elimination, on vectors of places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.algebra.jacobians import columns_forward
from armillary.control.knot_functions import KnotFunctions, Knots, values_and_jacobian
from armillary.control.plant import input_ports, state_ports
from armillary.llvm import jit, sections
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models import compiled_program
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.start.initial import initial_memory


def _free_body_with_arm() -> arm.System:
    s = arm.System("free body with an arm")
    base = s.body("base", joint=arm.Free(), mass=3.0, inertia=(0.2, 0.3, 0.4))
    s.input("torque", units="N*m")
    link = s.body("link", parent=base, joint=arm.Revolute("y"), at=(0.2, 0, 0), com=(0, 0, -0.3), mass=1.0,
                  inertia=(0.02, 0.02, 0.01))  # fmt: skip
    s.moment("motor", "torque", link.y, on=link, reaction=base)
    tip = s.body("tip", parent=link, joint=arm.Prismatic("z"), mass=0.5, inertia=(0.01, 0.01, 0.01))
    s.force("spring", "-40*tip.q1 - 2*tip.u1", tip.z, at=tip.origin, reaction=link)
    s.gravity(9.81, -s.ground.z)
    return s


def _sledge() -> arm.System:
    """Two bodies under loads that are longer than the rest of their equations."""
    s = arm.System("sledge")
    s.input("torque", units="N*m")
    for name, units in (("L", "m"), ("V", "m/s"), ("F", "N")):
        s.parameter(name, 1.0, units=units)
    x = s.body("x", joint=arm.Prismatic("x"), mass=2.0, inertia=(0.1, 0.1, 0.1))
    y = s.body("y", parent=x, joint=arm.Prismatic("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    slip = "(y.u1 + 0.3*sin(x.q1/L)*x.u1)/sqrt(x.u1^2 + 0.01*V^2 + (V*y.q1/L)^2)"
    side = f"-max(0*F, 5*F - 3*F*y.q1/L + torque/L)*atan(2*{slip})*cos(x.q1/L)"
    s.force("side", side, y.y, at=y.origin)
    drag = f"-F*abs(x.u1)*x.u1/V^2*({slip})^2 - F*min(x.q1, y.q1)/L*exp(-(x.u1/V)^2)"
    s.force("drag", drag, x.x, at=x.origin)
    return s


SYSTEMS = {"tree": _free_body_with_arm, "loads": _sledge}


@cache
def _derived(name: str) -> DerivedEquations:
    return core_of(SYSTEMS[name]().derive())


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_jacobian_of_rates_equals_tangents_of_single_states_and_inputs(name: str) -> None:
    equations = _derived(name)
    by = [p.symbol for p in (*state_ports(equations), *input_ports(equations, ["torque"]))]
    rates = equations.targets.rates
    with derivation():
        values, elements = values_and_jacobian(equations, rates, by)
        expected = columns_forward(rates, by)
    functions = ModelFunctions(
        equations,
        {"made": [*values, *elements.values()], "plain": [*rates, *expected.values()]},
        search=False,
    )
    rng, memory = np.random.default_rng(2), initial_memory(equations)
    start = np.zeros(len(state_ports(equations)))
    start[[p.name == "base.q4" for p in state_ports(equations)]] = 1.0
    for _ in range(3):
        state = start + rng.uniform(-0.1, 0.1, len(start))
        made, plain = (functions(kind, 0.0, state, memory=memory) for kind in ("made", "plain"))
        n = len(rates)
        whole = np.zeros((2, n, len(by)))
        for k, (pattern, found) in enumerate(((elements, made), (expected, plain))):
            for place, x in zip(pattern, found[n:], strict=True):
                whole[(k, *place)] = x
        np.testing.assert_allclose(made[:n], plain[:n], rtol=1e-11, atol=1e-11 * np.abs(plain[:n]).max())
        np.testing.assert_allclose(whole[0], whole[1], rtol=1e-11, atol=1e-12 * np.abs(whole[1]).max())


@pytest.mark.optimised
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_rows_on_vectors_of_places_equal_rows_one_by_one(count: int) -> None:
    equations = _derived("tree")
    by = [p.symbol for p in state_ports(equations)]
    with derivation():
        values, elements = values_and_jacobian(equations, equations.targets.rates, by)
    results = {"slopes": [*values, *elements.values()], "few": list(values[:3])}
    single = ModelFunctions(equations, results, search=False)
    many = ModelFunctions(equations, results, search=False, many=True)
    rng = np.random.default_rng(count)
    states = rng.uniform(-1, 1, (count, len(by)))
    memory = rng.uniform(-1, 1, (count, 1))
    for name in results:
        for stored in (memory, memory[0]):
            given = (name, rng.uniform(0, 1, count), states, None, stored, None, single.constants())
            np.testing.assert_allclose(many.rows(*given), single.rows(*given), rtol=1e-13, atol=1e-13)
    one = many("slopes", 0.3, states[0], memory=memory[0])
    np.testing.assert_allclose(
        one, single("slopes", 0.3, states[0], memory=memory[0]), rtol=1e-13, atol=1e-13
    )


def test_values_and_jacobian_at_knots_are_those_of_finite_differences() -> None:
    equations = _derived("tree")
    states = state_ports(equations)
    knots = KnotFunctions(equations, equations.targets.rates, [p.symbol for p in states])
    rng = np.random.default_rng(5)
    x, memory = rng.uniform(-0.5, 0.5, (1, len(states))), np.array([[0.7]])
    place = lambda y: Knots(np.zeros(len(y)), y, np.tile(memory, (len(y), 1)), np.empty((len(y), 0)))  # noqa: E731
    step = 1e-6
    moved = x + step * np.concatenate([np.eye(len(states)), -np.eye(len(states))])
    values = knots.values(place(moved))
    expected = (values[: len(states)] - values[len(states) :]).T / (2 * step)
    np.testing.assert_allclose(knots.dense_jacobian(place(x))[0], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.optimised
def test_long_functions_of_several_places_are_translated_with_equal_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit for bit: what LLVM does with long functions changes neither products nor sums."""
    equations = _derived("tree")
    results = equations.targets.rates
    states = np.random.default_rng(1).uniform(-1, 1, (11, len(equations.program.state)))
    levels: list[int] = []
    plain_engine = jit.engine

    def engine(name: str, texts: Callable[[], Sequence[str]], level: int, passes: jit.Passes) -> object:
        levels.append(level)
        return plain_engine(name, texts, level, passes)

    monkeypatch.setattr(jit, "engine", engine)
    found = []
    for most in (10**9, 0):
        monkeypatch.setattr(compiled_program, "OPTIMISED", most)
        functions = ModelFunctions(equations, {"rates": results}, search=False, many=True)
        found.append(functions.rows("rates", 0.0, states))
    arranged = jit.encodes() == "arm64" and jit.register_doubles() == 2
    assert levels[::2] == ([2, 2] if arranged else [2, 0])
    assert np.array_equal(*found)


@pytest.mark.optimised
def test_functions_of_several_places_are_written_in_short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors in long pieces outnumber the registers; the pieces leave no trace in the results."""
    equations = _derived("tree")
    _, results = KnotFunctions(equations, equations.targets.rates, equations.program.state).with_jacobian("j")
    program = results.equations.program
    nodes = len(program.stepping[0].nodes)
    assert nodes > 3 * sections.POINTS_PIECE
    text = sections.lane_functions_text(program, 8)
    assert nodes / 250 < text.count("define internal void @j_") < nodes / 50
    monkeypatch.setattr(sections, "POINTS_PIECE", 10**9)
    assert "@j_0" not in sections.lane_functions_text(program, 8)
