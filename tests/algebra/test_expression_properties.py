"""Facts that hold for every expression, tried on random ones against plain arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armillary.algebra.calculus import derivative, directional_derivatives, evaluate
from armillary.algebra.expression import number, symbol
from armillary.algebra.parsing import parse
from armillary.algebra.walk import Undimensioned, operands_first, substitute
from armillary.errors import ExpressionError
from tests.algebra.random_expressions import NAMES, SYMBOLS, build, plain_value, smooth_trees, trees

points = st.lists(st.floats(0.2, 1.9), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda values: dict(zip(NAMES, values, strict=True))
)


def _plain(tree, values):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return plain_value(tree, values)


def _magnitude(tree, values) -> float:
    """The largest intermediate value: rounding of the result is relative to it, since terms may cancel."""
    if not isinstance(tree, tuple):
        return abs(_plain(tree, values))
    operands = [c for c in tree[1] if not (tree[0] == "^" and c is tree[1][1])]
    return max([abs(_plain(tree, values)), *[_magnitude(c, values) for c in operands]])


@settings(max_examples=40)
@given(smooth_trees, points)
def test_construction_keeps_the_value(tree, values):
    e = build(tree)
    expected = _plain(tree, values)
    assume(e is not None and np.isfinite(expected))
    largest = _magnitude(tree, values)
    assume(largest < 1e6)
    with np.errstate(all="ignore"):
        found = evaluate(e, values)
    # Simplification may divide by what another branch multiplies with: a few digits of cancellation remain.
    assert abs(found - expected) <= 1e-9 * max(largest, 1)


@settings(max_examples=40)
@given(trees, points)
def test_the_order_of_construction_does_not_change_the_value(tree, values):
    forwards, backwards = build(tree), build(tree, backwards=True)
    assume(forwards is not None and backwards is not None)
    with np.errstate(all="ignore"):
        a, b = evaluate(forwards, values), evaluate(backwards, values)
    assume(np.isfinite(a) and np.isfinite(b) and abs(a) < 1e6)
    corners = {"<", "<=", "==", "sign", "and", "or", "not", "select"}
    assume(not corners & _operations(tree))  # a jump turns a last digit into another value
    largest = _magnitude(tree, values)
    assume(np.isfinite(largest))
    assert abs(a - b) <= 1e-7 * max(largest, 1)


def _operations(tree) -> set:
    return {tree[0]}.union(*[_operations(c) for c in tree[1]]) if isinstance(tree, tuple) else set()


@settings(max_examples=40)
@given(trees)
def test_the_printed_text_reads_back_as_the_same_object(tree):
    e = build(tree)
    assume(e is not None)
    # Bare numbers in a text have no known dimension, those that the algebra makes are dimensionless.
    plain = Undimensioned()
    assert plain(parse(str(e), SYMBOLS.__getitem__)) is plain(e)


@given(trees)
def test_equal_construction_gives_one_object(tree):
    assert build(tree) is build(tree)


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6), st.randoms())
def test_sums_and_products_do_not_depend_on_order(names, random):
    shuffled = list(names)
    random.shuffle(shuffled)
    for sign in "+*":
        text, other = f" {sign} ".join(names), f" {sign} ".join(shuffled)
        assert parse(text, SYMBOLS.__getitem__) is parse(other, SYMBOLS.__getitem__)


@settings(max_examples=40)
@given(smooth_trees, points, st.sampled_from(NAMES))
def test_derivatives_agree_with_the_complex_step(tree, values, name):
    """Im f(x + ih)/h is exact to rounding for h = 1e-30 (Squire & Trapp 1998); no expression takes part."""
    e = build(tree)
    assume(e is not None)
    with np.errstate(all="ignore"):
        expected = np.imag(_plain(tree, {**values, name: values[name] + 1e-30j})) / 1e-30
        assume(np.isfinite(expected) and abs(expected) < 1e6 and _magnitude(tree, values) < 1e4)
        found = evaluate(derivative(e, SYMBOLS[name]), values)
    assert abs(found - expected) <= 1e-8 * max(abs(expected), _magnitude(tree, values) ** 2, 1)


@given(smooth_trees, points)
def test_the_total_derivative_is_the_sum_of_the_partial_ones(tree, values):
    e = build(tree)
    assume(e is not None)
    rates = {SYMBOLS[name]: number(k + 1) for k, name in enumerate(NAMES)}
    with np.errstate(all="ignore"):
        total = evaluate(directional_derivatives([e], rates)[0], values)
        parts = [(k + 1) * evaluate(derivative(e, SYMBOLS[name]), values) for k, name in enumerate(NAMES)]
    assume(np.all(np.isfinite(parts)) and _magnitude(tree, values) < 1e4)
    assert abs(total - sum(parts)) <= 1e-8 * max(1, _magnitude(tree, values) ** 2, *np.abs(parts))


@given(smooth_trees, smooth_trees, points)
def test_substitution_evaluates_as_composition(tree, inner, values):
    e, x = build(tree), build(inner)
    assume(e is not None and x is not None)
    inner_value = _plain(inner, values)
    assume(np.isfinite(inner_value))
    at = {**values, "q1": inner_value}
    assume(np.isfinite(_plain(tree, at)) and _magnitude(tree, at) < 1e4 and _magnitude(inner, values) < 1e4)
    try:
        composed = substitute(e, {SYMBOLS["q1"]: x})
    except ExpressionError:  # division by an expression that became 0
        assume(False)
    with np.errstate(all="ignore"):
        found = evaluate(composed, values)
    largest = max(1, _magnitude(tree, at), _magnitude(inner, values))
    assert abs(found - _plain(tree, at)) <= 1e-7 * largest**2


@given(trees)
def test_renaming_all_symbols_and_back_gives_the_same_object(tree):
    e = build(tree)
    assume(e is not None)
    there = {s: symbol(f"other.{name}", s.data.role) for name, s in SYMBOLS.items()}
    back = {other: s for s, other in there.items()}
    assert substitute(substitute(e, there), back) is e


@given(trees)
def test_a_walk_meets_each_node_once_after_its_operands(tree):
    e = build(tree)
    assume(e is not None)
    order = list(operands_first([e]))
    place = {node: i for i, node in enumerate(order)}
    assert len(place) == len(order) and order[-1] is e
    assert all(place[a] < place[node] for node in order for a in node.args)


@given(smooth_trees, st.lists(st.floats(0.3, 1.5), min_size=3, max_size=3))
def test_arrays_give_the_same_values_as_numbers(tree, q1):
    e = build(tree)
    assume(e is not None)
    fixed = dict.fromkeys(NAMES, 0.7)
    with np.errstate(all="ignore"):
        together = np.broadcast_to(evaluate(e, {**fixed, "q1": np.array(q1)}), (3,))
        each = [evaluate(e, {**fixed, "q1": value}) for value in q1]
    np.testing.assert_allclose(together, each, rtol=1e-13)
