"""Sums of two terms are made in fewer steps than others, and are the same nodes."""

from itertools import product

import pytest

from armillary.algebra.expression import Expr, multiply, number, power, scale, symbol, total
from armillary.algebra.functions import cos, let, sin
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.truncation import Truncation
from armillary.algebra.units import LENGTH, TIME
from armillary.errors import UnitsError

k, m = symbol("k", "parameter"), symbol("m", "parameter")
q, u, x = symbol("q", "coordinate"), symbol("u", "speed"), symbol("x", dimension=LENGTH)
z = let(total(((1, q), (1, u))))
PLAIN = [number(0), number(2.5), k, q, u, x, z, sin(q), cos(q), total(((1, q), (-1, k)))]
PRODUCTS = [
    *(multiply(a, b) for a, b in ((q, u), (q, z), (k, q), (m, q), (k, u), (sin(q), u))),
    *(power(a, n) for a in (sin(q), cos(q), q) for n in (2, -1, 0.5)),
    multiply(power(sin(q), 2), u),
    multiply(power(cos(q), 2), u),
    scale(q, 2.5),
    scale(multiply(k, u), 3),
    multiply(number(3, LENGTH), u),
]
TERMS = [*PLAIN, *PRODUCTS, *(scale(e, -1) for e in (*PLAIN[2:], *PRODUCTS))]


def general(c: float, a: Expr, d: float, b: Expr) -> Expr:
    return total(((c, a), (d, b), (1, number(0))))


def test_a_sum_of_two_terms_is_that_of_any_number_of_terms() -> None:
    for a, b in product(TERMS, TERMS):
        for c, d in ((1, 1), (1, -1), (-1, 1), (-1, -1), (2, 1), (1, 0.5)):
            assert total(((c, a), (d, b))) is general(c, a, d, b)


def test_small_terms_are_left_out_of_sums_of_two() -> None:
    small = symbol("e", "coordinate", smallness=2)
    with truncate_new_nodes(Truncation(1)):
        assert total(((1, q), (1, small))) is q


def test_lengths_and_times_are_not_added() -> None:
    t = symbol("t", dimension=TIME)
    with pytest.raises(UnitsError, match="cannot add"):
        total(((1, x), (1, t)), checked=True)
    assert total(((1, x), (1, t))).dimension is None
