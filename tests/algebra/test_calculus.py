"""Gradients, evaluators, constant parts and solutions of expressions; lengths of vectors near zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import armillary as arm
from armillary.algebra.calculus import (
    constant_part,
    derivative,
    evaluate,
    evaluate_all,
    evaluator,
    gradient,
    solve_for,
)
from armillary.algebra.expression import UNIT, ZERO, Expr, number, symbol
from armillary.algebra.functions import cos, let, maximum, minimum, sin
from armillary.algebra.walk import operands_first, symbols
from armillary.errors import ExpressionError
from tests.algebra.random_expressions import NAMES, SYMBOLS, build, plain_value, smooth_trees

ALL = [SYMBOLS[name] for name in NAMES]
a, b, q, r, u = (SYMBOLS[name] for name in ("a", "b", "q1", "q2", "u1"))

points = st.lists(st.floats(0.2, 1.9), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda values: dict(zip(NAMES, values, strict=True))
)


def largest(roots: list[Expr], at: dict[str, float]) -> float:
    """The largest value on the way, which scales rounding."""
    return float(np.max(np.abs(evaluate_all(operands_first(roots), at))))


# ---------------------------------------------------------------- gradient


@settings(max_examples=40)
@given(smooth_trees, smooth_trees, points)
def test_a_gradient_holds_the_derivatives(tree: Any, inner: Any, at: dict[str, float]) -> None:
    """Backwards from the expression or forwards from each symbol, also through a value used twice."""
    outer, part = build(tree), build(inner)
    assume(outer is not None and part is not None)
    shared = let(part, "z")
    e = outer * shared + sin(shared)
    with np.errstate(all="ignore"):
        backwards, forwards = gradient(e, ALL), [derivative(e, s) for s in ALL]
        found, expected = evaluate_all(backwards, at), evaluate_all(forwards, at)
        size = max(1.0, largest(backwards, at), largest(forwards, at))
    assume(np.isfinite(size) and size < 1e8)
    assert np.max(np.abs(np.subtract(found, expected))) <= 1e-12 * size


@settings(max_examples=40)
@given(smooth_trees, points, st.sampled_from(NAMES))
def test_a_gradient_agrees_with_the_complex_step(tree: Any, at: dict[str, float], name: str) -> None:
    """Im f(x + ih)/h by plain arithmetic (Squire & Trapp 1998)."""
    e = build(tree)
    assume(e is not None)
    with np.errstate(all="ignore"):
        expected = np.imag(plain_value(tree, {**at, name: at[name] + 1e-30j})) / 1e-30
        partial = gradient(e, ALL)[NAMES.index(name)]
        size = max(1.0, largest([e, partial], at))
        assume(np.isfinite(expected) and np.isfinite(size) and size < 1e4)
        found = evaluate(partial, at)
    assert abs(found - expected) <= 1e-8 * size**2


def test_a_gradient_by_symbols_that_are_not_held_is_zero() -> None:
    assert gradient(sin(q) * a, [r, u]) == [ZERO, ZERO]
    assert gradient(number(3), [q]) == [ZERO]
    assert gradient(q, [q, r]) == [UNIT, ZERO]


def test_a_gradient_of_many_symbols_shares_its_parts() -> None:
    """sin(Σ x²) of a hundred: one cosine, and each element the product of it and of one symbol."""
    many = [symbol(f"x{i}", "parameter") for i in range(100)]
    whole = let(sum((x * x for x in many[1:]), many[0] * many[0]), "z")
    parts = gradient(sin(whole), many)
    order = operands_first(parts)
    assert sum(node.kind == "call" for node in order) == 1
    assert len(order) < 6 * len(many)


# ---------------------------------------------------------------- evaluator


@settings(max_examples=40)
@given(st.lists(smooth_trees, min_size=1, max_size=3), points, points)
def test_an_evaluator_gives_the_values_at_each_place(trees: list[Any], one: Any, other: Any) -> None:
    made = [build(tree) for tree in trees]
    assume(all(e is not None for e in made))
    roots: list[Expr] = [e for e in made if e is not None]
    at = evaluator(roots)
    with np.errstate(all="ignore"):
        for values in (one, other, one):  # nothing stays from the place before
            expected = [plain_value(tree, values) for tree in trees]
            size = max(1.0, largest(roots, values))
            assume(np.all(np.isfinite(expected)) and np.isfinite(size) and size < 1e6)
            assert at(values) == pytest.approx(expected, abs=1e-9 * size)


def test_an_evaluator_takes_symbols_names_and_arrays() -> None:
    at = evaluator([q * a + 1, cos(q)])
    angles = np.linspace(0, 1, 5)
    by_symbol, by_name = at({q: angles, a: 2.0}), at({"q1": angles, "a": 2.0})
    for found in (by_symbol, by_name):
        np.testing.assert_array_equal(found[0], 2.0 * angles + 1)
        np.testing.assert_array_equal(found[1], np.cos(angles))


def test_an_evaluator_names_all_that_is_missing_and_can_be_asked_again() -> None:
    at = evaluator([q * a + u])
    with pytest.raises(ExpressionError, match="no value for a, u1"):
        at({"q1": 1.0})
    assert at({"q1": 1.0, "a": 2.0, "u1": 3.0}) == [5.0]


# ---------------------------------------------------------------- constant parts


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        (a + sin(q), a), (a * b + 2 + q, a * b + 2), (a + b, a + b), (number(3), number(3)), (sin(a), sin(a)),
        (sin(q), ZERO), (a * q, ZERO), (q + r, ZERO), (2 * q - 5, number(-5)),
        (3 * a - 2 * b + q - 1, 3 * a - 2 * b - 1), ((a + q) * (b + r), ZERO), (a - a + q, ZERO),
    ],
)  # fmt: skip
def test_the_constant_part_of_a_sum(expression: Expr, part: Expr) -> None:
    assert constant_part(expression) is part


@given(smooth_trees, points)
def test_what_is_left_without_the_constant_part_has_none(tree: Any, at: dict[str, float]) -> None:
    e = build(tree)
    assume(e is not None)
    part = constant_part(e)
    assert part.constant
    assert constant_part(e - part) is ZERO or e.constant


# ---------------------------------------------------------------- solutions


@settings(max_examples=40)
@given(smooth_trees, smooth_trees, points)
def test_the_solution_of_a_linear_expression_makes_it_zero(
    tree: Any, other: Any, at: dict[str, float]
) -> None:
    slope, offset = build(tree), build(other)
    assume(slope is not None and offset is not None)
    assume(u not in symbols(slope) and u not in symbols(offset) and slope is not ZERO)
    e = slope * u + offset
    assume(u in symbols(e))
    x = solve_for(e, u)
    assert u not in symbols(x)
    with np.errstate(all="ignore"):
        value = evaluate(x, at)
        left = evaluate(e, {**at, "u1": value})
        size = max(1.0, largest([e, x], {**at, "u1": value}))
    assume(np.isfinite(value) and np.isfinite(size) and size < 1e6)
    assert abs(left) <= 1e-10 * size**2


def test_solutions_by_hand() -> None:
    assert solve_for(2 * u - 6 * a, u) is 3 * a
    assert solve_for(u, u) is ZERO
    assert evaluate(solve_for(q * (u + a) - b * u, u), {"q1": 3.0, "a": 2.0, "b": 1.0}) == -3.0


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (a * q + 1, "does not hold 'u1', so it cannot be solved for it"),
        (number(2), "does not hold 'u1'"),
        (u - u + q, "does not hold 'u1'"),
        (u**2 - a, "is not linear in 'u1', so it cannot be solved for it"),
        (sin(u) - a, "is not linear in 'u1'"),
        (1 / u + a, "is not linear in 'u1'"),
        (u * q + u**3, "is not linear in 'u1'"),
        (abs(u) - a, "is not linear in 'u1'"),
        (maximum(u, 0) - a, "is not linear in 'u1'"),
    ],
)
def test_what_cannot_be_solved_is_named(expression: Expr, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as refused:
        solve_for(expression, u)
    assert str(expression) in str(refused.value)


# ---------------------------------------------------------------- lengths


def distance() -> tuple[Expr, list[str]]:
    """Between the tip of a rod on a rod and the ground's point where both rods point to at zero."""
    s = arm.System("s")
    A = s.body("A", joint=arm.Revolute("z"))
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0))
    gap = arm.position(B.point("tip", (0.7, 0, 0)), s.ground.point("pin", (1, 0, 0)))
    return arm.magnitude(gap), ["A.q1", "B.q1"]


@pytest.mark.parametrize("size", [0.0, 1e-16, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4, 0.5, -1e-9])
def test_the_length_of_a_vector_of_several_frames_is_a_number_near_zero(size: float) -> None:
    """Its square is a sum of products that cancel: 1e-16 of it remain, 1e-8 of the length."""
    length, names = distance()
    for turn in (0.0, size, -size, 2 * size):
        value = float(evaluate(length, {names[0]: size, names[1]: turn}))
        tip = np.array([0.3 * np.cos(size) + 0.7 * np.cos(size + turn) - 1,
                        0.3 * np.sin(size) + 0.7 * np.sin(size + turn)])  # fmt: skip
        assert value >= 0.0
        assert value == pytest.approx(float(np.linalg.norm(tip)), abs=5e-8)


def test_the_length_of_a_closed_loop_is_a_number_wherever_it_is() -> None:
    """Turned as a whole, with B at −A: rounding may leave the square below zero at any of these."""
    s = arm.System("s")
    A = s.body("A", joint=arm.Revolute("z"))
    B = s.body("B", A, arm.Revolute("z"), at=(0.3, 0, 0))
    C = s.body("C", joint=arm.Revolute("z"), at=(1, 0, 0))
    gap = arm.position(B.point("e", (1, 0, 0)), C.point("e", (0.3, 0, 0)))
    angles = np.linspace(-3, 3, 601)
    values = evaluate(arm.magnitude(gap), {"A.q1": angles, "B.q1": -angles, "C.q1": angles})
    assert np.all(np.isfinite(values))
    assert np.max(values) < 1e-7


@pytest.mark.parametrize("extreme", [minimum, maximum])
def test_the_derivative_of_an_extreme_at_a_tie_is_that_of_one_of_its_values(extreme: Any) -> None:
    """Along x = y both values move alike, so the extreme moves as they do: the two partials add up to one."""
    x, y = symbol("x", "coordinate"), symbol("y", "coordinate")
    by_x, by_y = gradient(extreme(x, y), [x, y])
    at = {x: 1.5, y: 1.5}
    assert float(evaluate(by_x, at)) + float(evaluate(by_y, at)) == 1.0
    for values, expected in (({x: 1.0, y: 2.0}, extreme is minimum), ({x: 2.0, y: 1.0}, extreme is maximum)):
        assert float(evaluate(by_x, values)) == float(expected)


@pytest.mark.parametrize(
    ("x", "y"), [(0.0, 0.0), (-0.0, -0.0), (-0.0, 0.0), (0.0, -0.0), (1e308, 1e308), (0.1, 3)]
)
def test_two_terms_or_factors_have_the_bits_of_longer_sums_and_products(x: float, y: float) -> None:
    """Sums begin with 0, so that none is −0; a third term 0·z and a third factor z⁰ change nothing else."""
    a, b = symbol("a"), symbol("b")
    with np.errstate(over="ignore"):
        found = evaluate_all([a + b, a - b, a * b], {"a": np.float64(x), "b": np.float64(y)})
        expected = [0.0 + x + y, 0.0 + x + -1.0 * y, 1.0 * np.float64(x) * y]
    assert np.array(found, float).tobytes() == np.array(expected, float).tobytes()
