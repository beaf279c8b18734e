"""Depth and size: 8,000 nodes in a chain, long rows and texts, without overflow, in time in proportion.

Times are bounds against quadratic algorithms, which would need minutes here, not measurements of speed.
"""

from __future__ import annotations

import gc
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from armillary.algebra import node as interning
from armillary.algebra.calculus import derivative, evaluate
from armillary.algebra.expression import Expr, symbol, total
from armillary.algebra.functions import sin
from armillary.algebra.parsing import parse
from armillary.algebra.typesetting import latex
from armillary.algebra.walk import operands_first, substitute
from armillary.errors import ExpressionError

DEEP = 4_000  # sines in sums: two nodes each
x, y = symbol("x", "coordinate"), symbol("y", "coordinate")


def names(name: str) -> Expr:
    return symbol(name, "coordinate")


@contextmanager
def within(seconds: float):
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def nested(start: Expr) -> Expr:
    e = start
    for _ in range(DEEP):
        e = sin(e) + y
    return e


@pytest.fixture(scope="module")
def deep():
    return nested(x)


def test_the_recursion_limit_is_far_below(deep):
    assert sys.getrecursionlimit() < DEEP
    assert len(list(operands_first([deep]))) == 2 * DEEP + 2


def test_it_prints_and_reads_back(deep):
    with within(4):
        text = str(deep)
        assert text.startswith("y + sin(y + sin(")
        assert parse(text, names) is deep


def test_it_has_latex(deep):
    assert latex(deep).count(r"\sin") == DEEP


def test_it_is_evaluated(deep):
    value = 0.3
    for _ in range(DEEP):
        value = np.sin(value) + 0.2
    assert evaluate(deep, {"x": 0.3, "y": 0.2}) == pytest.approx(value, rel=1e-12)


def test_it_is_differentiated(deep):
    """By y, since by x the factors cos(…) < 1 multiply to nothing: s' = cos(s)·s' + 1 from s' = 0."""
    with within(6):
        slope = derivative(deep, y)
    value, expected = 0.3, 0.0
    for _ in range(DEEP):
        value, expected = np.sin(value) + 0.2, np.cos(value) * expected + 1
    assert evaluate(slope, {"x": 0.3, "y": 0.2}) == pytest.approx(expected, rel=1e-10)


def test_the_chain_rule_does_not_copy_the_chain():
    e = x
    for _ in range(5000):
        e = sin(e)
    with within(5):
        slope = derivative(e, x)
    value, expected = 1.0, 1.0
    for _ in range(5000):
        value, expected = np.sin(value), expected * np.cos(value)
    assert evaluate(slope, {"x": 1.0}) == pytest.approx(expected, rel=1e-9)


def test_it_is_substituted_into(deep):
    with within(4):
        renamed = substitute(deep, {y: symbol("w", "coordinate")})
        assert substitute(renamed, {symbol("w", "coordinate"): y}) is deep


def test_nodes_are_freed_with_their_last_user():
    gc.collect()
    before = len(interning._table)
    e = nested(symbol("w"))
    assert len(interning._table) > before + DEEP
    del e
    gc.collect()
    assert len(interning._table) <= before


def test_equal_nodes_made_and_dropped_again_do_not_pile_up():
    gc.collect()
    before = len(interning._table)
    for k in range(2000):
        total([(k + 0.5, x), (1, y)])
    gc.collect()
    assert len(interning._table) <= before


class TestLongTexts:
    def test_parentheses(self):
        assert parse("(" * 10_000 + "x" + ")" * 10_000, names) is x

    def test_signs(self):
        assert parse("-" * 10_001 + "x", names) is -x

    def test_calls(self):
        e = parse("sin(" * 10_000 + "x" + ")" * 10_000, names)
        assert len(list(operands_first([e]))) == 10_001

    def test_powers(self):
        assert parse("^".join(["x"] * 8_000), names).args[0] is x

    def test_a_sum_of_many_terms(self):
        with within(5):
            e = parse(" - ".join([f"x{i}*y" for i in range(10_000)]), names)
        assert str(e.args[0]) == "y"  # the common factor
        assert len(e.args[1].args) == 10_000

    def test_a_product_of_many_factors(self):
        with within(5):
            e = parse("*".join([f"x{i}" for i in range(7_000)]) + "/x0", names)
            assert len(e.args) == 6_999
            assert len(substitute(e, {names("x1"): x}).args) == 6_999

    def test_many_pythagorean_pairs(self):
        assert float(parse("+".join([f"sin(x{i})^2 + cos(x{i})^2" for i in range(1500)]), names)) == 1500

    def test_a_fifth_of_a_megabyte(self):
        text = " + ".join(["x*sin(y) - 3.5*x/y"] * 10_000)
        with within(5.5):
            e = parse(text, names)
        assert evaluate(e, {"x": 2.0, "y": 0.5}) == pytest.approx(10_000 * (2 * np.sin(0.5) - 14), rel=1e-12)

    def test_an_error_at_the_end_is_found_there(self):
        text = "(x + " * 10_000
        with pytest.raises(ExpressionError) as caught:
            parse(text, names)
        assert caught.value.column == len(text)
        assert len(str(caught.value)) < 400
