"""Lists of operations against Python's evaluation of the same expressions, and where machine code is kept."""

import math

import numpy as np
import pytest

import armillary as arm
from armillary.algebra import functions as fn
from armillary.algebra.arguments import core_of
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr, symbol
from armillary.control.knot_functions import CompiledFunction, KnotFunctions, Knots, ListedFunction
from armillary.control.operation_list import _CALL, _operand_rows, operation_list

T, X, Y, M, P, Q = (symbol(name, "variable") for name in ("t", "x", "y", "m", "p", "q"))

EXPRESSIONS = {
    "sums and products": [X + Y, 2 * X - 3 * Y + 4, -X - Y, X * Y - Y * M * P, 0.5 * X * Y * M + X * X,
                          -2 * X * Y],
    "quotients and powers": [X / Y, 1 / (X * Y), X**5 / Y**2, X**1.5, (X + 2) ** -0.5, X**0.3, -1 / X],
    "functions": [
        fn.sin(X) * fn.cos(Y), fn.tan(X), fn.tanh(X), fn.asin(X / 4), fn.acos(X / 4), fn.atan(X), fn.exp(-X),
        fn.log(X), fn.atan2(Y, -X), X**Y, fn.sqrt(X), fn.absolute(X - Y),
    ],
    "steps": [fn.sign(X - 1), fn.sign(0 * X + M - M), fn.floor(3 * X), fn.ceil(-3 * X),
              fn.mod(X - 2, Y), fn.mod(X, -Y)],
    "choices": [
        fn.minimum(X, Y), fn.maximum(X, 1.5 * Y), fn.select(fn.and_(X > 1, Y <= 1), X, -Y),
        fn.select(fn.or_(X < 0.5, fn.not_(Y >= 1)), 1, 2), fn.select(fn.equal(M, M), X, Y),
        fn.select(fn.not_equal(X, Y), X, Y),
    ],
    "parameters alone": [P * Q + 1, fn.sin(P) * X + fn.sin(P) * Y, as_expr(3), P, X, T * X + T],
}  # fmt: skip


@pytest.mark.parametrize("what", EXPRESSIONS)
@pytest.mark.parametrize("points", [1, 7, 37])
def test_lists_give_the_values_of_the_expressions(what, points):
    """To the rounding of fused sums; blocks of 4 to 16 points, whole ones and parts of them."""
    results = EXPRESSIONS[what]
    rng = np.random.default_rng(points)
    states, memory, times = (
        rng.uniform(0.3, 2.0, (points, 2)),
        rng.uniform(0.3, 2.0, (points, 1)),
        rng.uniform(size=points),
    )
    parameters = (0.7, -1.3)
    out = np.full((points, len(results) + 1), np.nan)  # with a column that is not written
    listed = operation_list(results, T, (X, Y), (M,), (P, Q))
    listed.bind(parameters, times, states, memory, out[:, :-1])()
    for k in range(points):
        values = {
            T: times[k],
            X: states[k, 0],
            Y: states[k, 1],
            M: memory[k, 0],
            P: parameters[0],
            Q: parameters[1],
        }
        assert out[k, :-1] == pytest.approx(evaluate_all(results, values), rel=1e-13, abs=1e-13), k
    assert np.isnan(out[:, -1]).all()


@pytest.mark.parametrize(
    ("result", "count"),
    [
        (X, 0),
        (X + Y, 1),
        (X - Y, 1),
        (-X, 1),
        (X + 4, 1),
        (2 * X + Y, 1),
        (X + 2 * Y, 1),
        (X - 2 * Y, 1),
        (M - X * Y, 1),
        (X * Y + M, 1),
        (M * Y + X, 1),
        (M - X * X, 1),
        (2 * X + 3 * Y, 2),
        (-X - Y, 2),
        (2 * X - 3 * Y + 4, 2),
        (2 * X * Y + M, 2),
        (X * Y, 1),
        (-X * Y, 2),
        (3 * X * Y, 2),
        (X / Y, 1),
        (1 / X, 1),
        (X**2, 1),
        (X**4, 2),
        (fn.sqrt(X), 1),
    ],
)
def test_factors_of_one_and_first_terms_need_no_operation(result, count):
    """Sums begin with a term that needs none, and the others are fused with their factors."""
    assert operation_list([result], T, (X, Y), (M,), ())._sizes["operations"] == count


def test_a_choice_and_a_minimum_with_what_is_no_number():
    """As in machine code: minima are NaN with either argument, and only the side that is taken counts."""
    results = [fn.minimum(X, Y), fn.maximum(Y, X), fn.select(Y > 0, X, Y), fn.select(X > 0, X, Y)]
    out = np.empty((1, 4))
    operation_list(results, T, (X, Y), (), ()).bind(
        (), np.zeros(1), np.array([[math.nan, 2.0]]), np.empty((1, 0)), out
    )()
    assert np.isnan(out[0, :3]).all() and out[0, 3] == 2.0


def test_tables_are_compiled():
    s = arm.System("cam")
    body = s.body("body", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    k = s.parameter("k", 3.0)
    spring = arm.Table([-1.0, 0.0, 1.0], [-2.0, 0.0, 4.0])
    s.force("pull", -spring(body.q1) - k * body.u1, s.ground.x, at=body.com)
    equations = core_of(s.derive())
    at = Knots(np.zeros(2), np.array([[0.5, 1.0], [-0.5, 0.0]]), np.empty((2, 0)), np.empty((2, 0)))
    rates = equations.targets.rates
    quick = KnotFunctions(equations, rates, (), tier="quick")
    assert isinstance(quick.value_function, CompiledFunction)
    assert quick.values(at, {"k": 5.0}) == pytest.approx(np.array([[1.0, -3.5], [0.0, 0.5]]))
    assert isinstance(KnotFunctions(equations, rates[:1], (), tier="quick").value_function, ListedFunction)


def test_the_operands_of_a_call_come_after_the_number_of_its_function() -> None:
    assert _operand_rows([_CALL, 9, 4, 7]) == [7]
    assert _operand_rows([_CALL + 1, 9, 4, 7, 8]) == [7, 8]
    assert _operand_rows([_CALL - 1, 9, 7, 8]) == [7, 8]
