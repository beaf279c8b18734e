"""Spreading of constant factors and sharing of divisions, powers and roots: exact, and worth their claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr, power, symbol, total
from armillary.algebra.functions import let, sqrt
from armillary.algebra.walk import operands_first
from armillary.program.passes import Constants, Graph, hoist, improve, reciprocals, share, spread
from armillary.program.passes.graph import count
from tests.algebra.random_expressions import NAMES, SYMBOLS, build, smooth_trees

a, b, k = (symbol(name, "parameter") for name in "abk")
q, r = (symbol(name, "coordinate") for name in "qr")
u, v, w, x = (symbol(name, "speed") for name in "uvwx")
AT = {"a": 0.7, "b": 1.3, "k": 2.1, "q": 0.4, "r": 1.6, "u": 0.9, "v": 1.1, "w": 0.3, "x": 1.8}
EXPONENTS = st.sampled_from([-0.5, -1.0, -1.5, -2.0, -2.5, -3.0, 0.5, 1.0, 2.0])


def counted(roots: list[Expr]) -> tuple[int, int, int, int]:
    o = count(roots)
    return o.additions, o.multiplications, o.divisions, o.functions


def size(roots: list[Expr], at: dict[Any, Any]) -> float:
    """The largest value on the way to the roots, which scales rounding."""
    with np.errstate(all="ignore"):
        return max(1.0, float(np.max(np.abs(evaluate_all(operands_first(roots), at)))))


def assert_same(before: list[Expr], after: list[Expr], at: dict[Any, Any] = AT) -> None:
    """Equal to 1e-13 of the largest value on the way there."""
    found, expected = evaluate_all(after, at), evaluate_all(before, at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * size([*before, *after], at))


points = st.lists(st.floats(0.3, 2.5), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda values: dict(zip(NAMES, values, strict=True))
)

# ---------------------------------------------------------------- spread


def test_spread_brings_constants_together_that_stood_apart() -> None:
    """u + k (a + b q): the two constants k a and k b are made beforehand, one multiplication is saved."""
    root = u + b + k * (a + b * q)
    (opened,) = spread(Graph([root])).roots
    assert_same([root], [opened])
    before, after = (hoist(Graph([e]), Constants()).roots for e in (root, opened))
    assert counted(before) == (3, 2, 0, 0)
    assert counted(after) == (2, 1, 0, 0)  # u + (b + k a) + (k b) q


def test_spread_lets_other_sums_share_what_appears() -> None:
    """u + k a is in both sums, once the first is opened."""
    roots = [u + k * (a + q), u + k * a + r * v]
    constants = Constants()
    plain = share(hoist(Graph(roots), Constants())).roots
    opened = share(hoist(spread(Graph(roots)), constants)).roots
    assert_same(roots, spread(Graph(roots)).roots)
    assert count(opened).additions == count(plain).additions - 1
    assert count(opened).weight < count(plain).weight


@pytest.mark.parametrize(
    "root",
    [
        u + k * (q + r),  # no constant in it: nothing could meet
        u + v * (a + q),  # the factor moves
        u + k * (a + q) ** 2,
        u + k * v * (a + q),
        k * (a + q),  # not within a sum
        u + k * (a + b),  # a constant as it is
        u + k / (a + q),
    ],
    ids=str,
)
def test_spread_leaves_alone_what_it_could_not_help(root: Expr) -> None:
    assert spread(Graph([root])).roots == [root]


def test_spread_leaves_terms_alone_that_are_needed_elsewhere() -> None:
    term = k * (a + b * q)
    roots = [u + term, v - 2 * term]
    assert spread(Graph(roots)).roots == roots


def test_spread_keeps_signs_numbers_and_lone_numbers() -> None:
    root = total([(-3, k * (2 - 5 * q)), (1, u)]) + 7
    (opened,) = spread(Graph([root])).roots
    assert opened is not root
    assert_same([root], [opened])


@settings(max_examples=40)
@given(st.lists(smooth_trees, min_size=2, max_size=4), points)
def test_spread_keeps_the_values_of_random_sums(trees: list[Any], at: dict[str, float]) -> None:
    made = [build(tree) for tree in trees]
    assume(all(e is not None for e in made))
    parts = [e for e in made if e is not None]
    p, s, t = SYMBOLS["a"], SYMBOLS["b"], SYMBOLS["q1"]
    roots = [total([(1, e), (2, p * (s + e * s + 3))]) + p * t for e in parts]
    assume(np.isfinite(size(roots, at)) and size(roots, at) < 1e8)
    assert_same(roots, spread(Graph(roots)).roots, at)


# ---------------------------------------------------------------- reciprocals


def d() -> Expr:
    return let(u * v + w, "d")


# Counts are (additions, multiplications, divisions and roots, functions), u v + w taking one + and one ×.
SAVED: dict[str, tuple[list[Expr], int, int]] = {
    "the same value": ([q / d(), r / d(), x / d()], 3, 1),
    "its powers": ([q / d(), r / d() ** 2, x / d() ** 3], 3, 1),
    "roots": ([q / sqrt(d()), r / sqrt(d()), x / sqrt(d())], 6, 2),
    "roots and the value": ([q / sqrt(d()), r / d()], 3, 2),
    "powers of a root": ([q * power(d(), -0.5), r * power(d(), -1.5), x * power(d(), -2.5)], 6, 2),
}


@pytest.mark.parametrize(("roots", "before", "after"), SAVED.values(), ids=SAVED)
def test_one_division_and_one_root_are_left(roots: list[Expr], before: int, after: int) -> None:
    shared = reciprocals(Graph(roots)).roots
    assert_same(roots, shared)
    assert count(roots).divisions == before
    assert count(shared).divisions == after
    assert count(shared).weight < count(roots).weight


def test_a_divisor_used_once_stays_as_it_is() -> None:
    roots = [q / d(), r / let(u + x, "e"), power(d(), 2) * v]
    assert reciprocals(Graph(roots)).roots == roots


def test_constant_divisors_are_left_to_hoist() -> None:
    roots = [q / a, r / a]
    assert reciprocals(Graph(roots)).roots == roots


def test_exponents_that_are_no_whole_or_half_ones_are_left() -> None:
    roots = [q * power(d(), -0.3), r * power(d(), -0.3)]
    assert reciprocals(Graph(roots)).roots == roots


def test_a_second_time_changes_nothing() -> None:
    once = reciprocals(Graph([q / d(), r / d() ** 2, 1 / d(), x / sqrt(w), v / w])).roots
    again = reciprocals(Graph(once)).roots
    assert counted(again) == counted(once)
    assert_same(once, again)


@settings(max_examples=40)
@given(st.lists(st.tuples(smooth_trees, EXPONENTS, EXPONENTS), min_size=2, max_size=4), points)
def test_powers_and_roots_of_random_values_stay_exact(
    factors: list[tuple[Any, float, float]], at: dict[str, float]
) -> None:
    """Products of random expressions with powers of two positive bases that they share."""
    made = [(build(tree), m, n) for tree, m, n in factors]
    assume(all(e is not None for e, _, _ in made))
    s, t = SYMBOLS["q1"], SYMBOLS["u1"]
    one, two = let(s * s + t + 1, "one"), let(s * t + 2, "two")
    roots = [e * power(one, m) * power(two, n) for e, m, n in made if e is not None]
    assume(np.isfinite(size(roots, at)) and size(roots, at) < 1e8)
    assert_same(roots, reciprocals(Graph(roots)).roots, at)
    constants = Constants()
    improved = improve(roots, constants)[0].roots
    values = evaluate_all(constants.definitions.values(), at)
    assert_same(roots, improved, {**at, **dict(zip(constants.definitions, values, strict=True))})
    assert count(improved).weight <= count(roots).weight
