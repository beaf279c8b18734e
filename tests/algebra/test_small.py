"""Orders of smallness: what sums drop, series of functions, what results need, and the record of it all."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from armillary.algebra import functions as fn
from armillary.algebra.calculus import evaluate, evaluate_all
from armillary.algebra.expression import Expr, number, power, symbol
from armillary.algebra.functions import let, with_smallness
from armillary.algebra.node import _forget, truncate_new_nodes
from armillary.algebra.truncation import Truncation
from armillary.algebra.walk import Undimensioned, substitute

S, R = symbol("s", smallness=1), symbol("r", smallness=1)
Q = symbol("q", "coordinate")
A, K = symbol("a", "parameter"), symbol("K", "parameter", smallness=-1)


@pytest.mark.parametrize(
    ("expression", "order"),
    [
        (S, 1), (K, -1), (A + Q, 0), (S * R, 2), (K * S, 0), (S / R, 0), (S**3, 3), (fn.sqrt(S), 0.5),
        (S + S * R, 1), (S + 1, 0), (K + Q, -1), (let(Q * S + R * S), 1), (fn.sin(S), 1), (fn.cos(S), 0),
        (abs(S * R), 2), (fn.maximum(S * R, S), 1), (fn.select(Q > 0, S, S * S), 1), (S > 0, 0),
        (with_smallness(Q - A, 1), 1), (with_smallness(Q - A, 1) * K, 0), (number(3), 0),
    ],
)  # fmt: skip
def test_order_of_an_expression(expression: Expr, order: float) -> None:
    assert expression.smallness == order


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Q + S + S * R, "q + s"),
        (lambda: S + S * R, "s*(r + 1)"),
        (lambda: S + S * R * R, "s"),
        (lambda: S * R + S**3 + S**4, "s*(r + s^2)"),
        (lambda: K * S + S + S * R, "(K + 1)*s"),
        (lambda: K + 1 + S, "K + 1"),
        (lambda: K * K + K + 1, "K*(K + 1)"),
        (lambda: Q + K * S * R + S * R, "K*r*s + q"),
        (lambda: fn.sin(S), "s"),
        (lambda: fn.cos(S), "1"),
        (lambda: fn.tan(A * S), "a*s"),
        (lambda: fn.exp(S), "s + 1"),
        (lambda: fn.log(1 + S), "-s*(0.5*s - 1)"),
        (lambda: fn.sin(A + S), "sin(a) + cos(a)*s"),
        (lambda: fn.cos(A + S), "cos(a) - sin(a)*s"),
        (lambda: fn.sin(Q + S), "sin(q + s)"),
        (lambda: 1 / (A + S), "-(s/a - 1)/a"),
        (lambda: fn.sqrt(A + S), "sqrt(a)*(0.5*s/a + 1)"),
        (lambda: fn.sqrt(1 + S * S), "1"),
        (lambda: fn.sqrt(Q + S), "sqrt(q + s)"),
        (lambda: 1 / let(A + Q * S), "-(q*s/a - 1)/a"),
        (lambda: fn.atan2(S, A), "s/a"),
        (lambda: fn.atan2(S, Q), "atan2(s, q)"),  # q may be negative
        (lambda: fn.atan2(S, R), "atan2(s, r)"),
        (lambda: fn.atan2(S, number(-1)), "atan2(s, -1)"),
        (lambda: fn.atan2(S, -A), "atan2(s, -a)"),
        (lambda: fn.log(S), "log(s)"),
        (lambda: fn.asin(1 + S), "asin(s + 1)"),
        (lambda: abs(S) + Q, "q + abs(s)"),
    ],
)  # fmt: skip
def test_what_is_dropped(make: Any, text: str) -> None:
    with truncate_new_nodes(Truncation()):
        assert str(make()) == text


def test_nothing_is_dropped_outside_of_a_derivation() -> None:
    assert str(Q + S * S) == "q + s^2"
    assert str(fn.sin(S)) == "sin(s)"


# Taylor coefficients of orders 0 to 5, as fractions.
SERIES = {
    "sin": (0, 1, 0, Fraction(-1, 6), 0, Fraction(1, 120)),
    "cos": (1, 0, Fraction(-1, 2), 0, Fraction(1, 24), 0),
    "tan": (0, 1, 0, Fraction(1, 3), 0, Fraction(2, 15)),
    "asin": (0, 1, 0, Fraction(1, 6), 0, Fraction(3, 40)),
    "atan": (0, 1, 0, Fraction(-1, 3), 0, Fraction(1, 5)),
    "exp": (1, 1, Fraction(1, 2), Fraction(1, 6), Fraction(1, 24), Fraction(1, 120)),
}


@pytest.mark.parametrize("name", SERIES)
def test_series_to_fifth_order(name: str) -> None:
    with truncate_new_nodes(Truncation(keep=5)):
        made = fn.BY_NAME[name][0](S)
        wanted = sum((number(float(c)) * S**k for k, c in enumerate(SERIES[name])), number(0))
    points = np.linspace(-0.5, 0.5, 7)
    values = evaluate_all([made, wanted], {"s": points})
    np.testing.assert_allclose(values[0] + 0 * points, values[1] + 0 * points, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan", "exp", "log"])
@pytest.mark.parametrize("place", [0.3, 0.6])
def test_series_about_a_constant(name: str, place: float) -> None:
    """Fifth order about a: the defect falls by 2⁶ when the small part is halved; 52 allows for order 7."""
    f = fn.BY_NAME[name][0]
    with truncate_new_nodes(Truncation(keep=5)):
        made = f(A + S)
    steps = np.array([2.0**-4, 2.0**-5], np.longdouble)
    values = evaluate(made, {"a": np.longdouble(place), "s": steps})
    exact = evaluate(f(A + S), {"a": np.longdouble(place), "s": steps})
    first, second = np.abs(values - exact)
    assert first / second > 52


def test_power_series_is_the_binomial_one() -> None:
    with truncate_new_nodes(Truncation(keep=3)):
        made = power(1 + S, -0.5)
    expected = 1 - Fraction(1, 2) * Fraction(1, 10) + Fraction(3, 8) / 100 - Fraction(5, 16) / 1000
    assert evaluate(made, {"s": 0.1}) == pytest.approx(float(expected), rel=1e-15)


def test_results_lose_what_they_do_not_need() -> None:
    """Inside intermediate values, where sums cannot see it: beside q, s·z needs z to order zero only."""
    truncation = Truncation()
    z = let(Q + R, "z")
    with truncate_new_nodes(truncation):
        (alone,) = truncation.drop_small_terms([S * z])
        (beside,) = truncation.drop_small_terms([A * Q + S * z])
    assert str(alone) == "s*(q + r)"
    assert str(beside) == "q*(a + s)"
    assert [record.term for record in truncation.neglected] == ["r"]


def test_a_value_is_kept_to_the_largest_need_of_its_users() -> None:
    truncation = Truncation()
    z = let(Q + R, "z")
    with truncate_new_nodes(truncation):
        both = truncation.drop_small_terms([A * Q + S * z, Q * z])
    assert [str(root) for root in both] == ["a*q + s*(q + r)", "q*(q + r)"]


def test_declared_expressions_have_their_order_wherever_they_stand() -> None:
    stretch = A - Q
    plain = Undimensioned({stretch: 1}, Truncation())
    assert plain(stretch).smallness == 1
    assert str(plain(Q + K * stretch + stretch * stretch)) == "K*(a - q) + q"
    moved = substitute(plain(stretch * Q), {plain(Q): plain(Q * Q)})  # made again, it is still of that order
    assert moved.smallness == 1


def test_a_reader_reads_what_it_has_read() -> None:
    plain = Undimensioned({Q: 1}, Truncation())
    once = plain(Q * A + Q)
    assert once.smallness == 1
    assert plain(once) is once
    assert plain.exact(Q * Q + 1) is not plain(Q * Q + 1)


def test_the_record_of_neglected_terms() -> None:
    truncation = Truncation()
    with truncate_new_nodes(truncation):
        fn.cos(S)
        fn.cos(S)
        Q + S * R * R
    record = truncation.neglected
    assert (record.total, len(record), record.by_order) == (3, 2, {2: 2, 3: 1})
    assert str(next(iter(record))) == "-0.5*s^2  (order 2 beside order 0, 2 times)"
    assert record.summary() == "3 terms, of which 2 are 2 and 1 is 3 orders above the leading"
    assert str(record.join(record)).splitlines()[0].startswith("neglected: 6 terms")
    assert str(Truncation().neglected) == "neglected: none"


def test_the_record_is_bounded() -> None:
    truncation = Truncation()
    with truncate_new_nodes(truncation):
        for i in range(5000):
            Q + i * S * S
            Q + symbol(f"x{i}") * S * S
    assert truncation.neglected.total == 9999  # the first has nothing to drop
    assert len(truncation.neglected) == 2000
    assert len(str(truncation.neglected).splitlines()) == 32


# ---------------------------------------------------------------- truncation and values

LEAVES = st.one_of(st.sampled_from(["s", "r", "q", "a"]), st.sampled_from([1, -1, 2, 0.5, -3]))


def _grown(children: Any) -> Any:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    single = st.tuples(children)
    return st.one_of(
        st.tuples(st.just("+"), several),
        st.tuples(st.just("*"), several),
        st.tuples(st.sampled_from(sorted(_BUILD)), single),
    )


_BUILD: dict[str, Any] = {
    "sin": fn.sin, "cos": fn.cos, "exp": lambda x: fn.exp(fn.sin(x)), "atan": fn.atan,
    "square": lambda x: x**2, "let": lambda x: let(x) if isinstance(x, Expr) else x,
    "reciprocal": lambda x: 1 / (3 + fn.cos(x)), "root": lambda x: fn.sqrt(2 + fn.sin(x)),
}  # fmt: skip
TREES = st.recursive(LEAVES, _grown, max_leaves=14)


def build(tree: Any) -> Expr:
    """The expression of a tree; denominators and radicands stay away from zero."""
    if not isinstance(tree, tuple):
        return {"s": S, "r": R, "q": Q, "a": A}[tree] if isinstance(tree, str) else number(tree)
    operation, operands = tree[0], [build(t) for t in tree[1]]
    if operation == "+":
        return sum(operands[1:], operands[0])
    if operation == "*":
        product = operands[0]
        for x in operands[1:]:
            product = product * x
        return product
    return _BUILD[operation](operands[0])  # type: ignore[no-any-return]


@pytest.mark.parametrize("keep", [0, 1, 3])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(tree=TREES)
def test_truncation_is_of_the_order_it_claims(tree: Any, keep: int) -> None:
    """Scale the small symbols by 1 and 1/4: the defect falls by 4^(order + keep + 1), or to rounding."""
    exact = build(tree)
    truncation = Truncation(keep)
    with truncate_new_nodes(truncation):
        (made,) = truncation.drop_small_terms([build(tree)])
    assume(isinstance(exact, Expr) and exact.smallness < 4)
    scales = np.array([2.0**-9, 2.0**-11], np.longdouble)
    at = {"s": 0.7 * scales, "r": -0.9 * scales, "q": np.longdouble(0.8), "a": np.longdouble(1.3)}
    values = [np.asarray(v) + 0 * scales for v in evaluate_all([made, exact], at)]
    defect = np.abs(values[0] - values[1])
    rounding = 1e-15 * (1 + np.max(np.abs(values[1])))
    claimed = 4.0 ** (exact.smallness + keep + 1)
    assert defect[1] <= 1.5 * defect[0] / claimed + rounding


def test_a_node_that_was_made_again_stays_known_when_the_old_one_is_freed() -> None:
    old, new = (SimpleNamespace(key=("a sum",)) for _ in range(2))
    table: dict[Any, Any] = {old.key: new}
    _forget(old, table)
    assert table == {old.key: new}
    _forget(new, table)
    assert table == {}
