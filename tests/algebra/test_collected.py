"""Expressions written out as in a textbook have the same value and the fewest terms."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.algebra import functions as fn
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import Expr, number, symbol
from armillary.algebra.functions import let
from armillary.algebra.textbook_form import collect_textbook_terms

x, y, z, a, b, m = (symbol(name) for name in "xyzabm")


def one(expression: Expr) -> str:
    found = collect_textbook_terms([expression])
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (fn.cos(x) * fn.cos(y) - fn.sin(x) * fn.sin(y), "cos(x + y)"),
        (fn.sin(x) * fn.cos(y) - fn.cos(x) * fn.sin(y), "sin(x - y)"),
        (a * let(fn.cos(x) * b, "z") * fn.cos(x) + a * b * fn.sin(x) ** 2, "a*b"),
        (fn.sin(x + y) * fn.cos(y) - fn.cos(x + y) * fn.sin(y), "sin(x)"),
        (m * (a + b * fn.cos(x)) ** 2 + m * (b * fn.sin(x)) ** 2, "m*(a^2 + 2*a*b*cos(x) + b^2)"),
        (a * fn.sin(x) ** 2 + b * fn.cos(x) ** 2, "a*sin(x)^2 + b*cos(x)^2"),
        (2 * fn.sin(x) * fn.cos(x), "sin(2*x)"),
        (fn.cos(x) * fn.sin(-2 * y) + fn.sin(x) * fn.cos(2 * y), "sin(x - 2*y)"),
        (a / (b * m) + x / (b * m), "a/(b*m) + x/(b*m)"),
        ((a + b) * (a - b) - a**2, "-b^2"),
        (number(0.1) * 3 * a, "0.3*a"),
        (fn.sqrt(x * (a - a)), "0"),
        (fn.exp(fn.cos(x) ** 2 + fn.sin(x) ** 2 + a), "exp(a + 1)"),
    ],
)
def test_the_shortest_way_to_write_it(expression: Expr, expected: str) -> None:
    assert one(expression) == expected


def test_random_expressions_keep_their_values() -> None:
    """Products and powers of sums, with intermediate values, fractions, roots and sines of sums."""
    rng = np.random.default_rng(5)
    pool: list[Expr] = [x, y, z, a, b, m, fn.sin(x), fn.cos(y), fn.sin(x + y), fn.cos(x - z), fn.cos(2 * z)]
    makers = [
        lambda p, q: p + 2 * q,
        lambda p, q: p - q,
        lambda p, q: p * q,
        lambda p, q: let(p * q + p, "t"),
        lambda p, q: p**2 - q,
        lambda p, q: p / (2 + q**2),
        lambda p, q: fn.sqrt(1 + p**2) * q,
        lambda p, q: fn.tanh(p) + q,
    ]
    roots = []
    for _ in range(60):
        picked = [pool[i] for i in rng.integers(len(pool), size=2)]
        roots.append(makers[rng.integers(len(makers))](*picked))
        if len(pool) < 25:
            pool.append(roots[-1])
    written = [(root, found[0]) for root in roots if (found := collect_textbook_terms([root])) is not None]
    assert len(written) > 50
    values = {s: rng.normal(size=7) for s in (x, y, z, a, b, m)}
    before, after = (evaluate_all(list(side), values) for side in zip(*written, strict=True))
    for p, q in zip(before, after, strict=True):
        np.testing.assert_allclose(q, p, rtol=1e-9, atol=1e-9)  # printed numbers have twelve digits


def test_what_is_too_long_to_be_read_is_refused() -> None:
    sums = [fn.cos(symbol(f"t{i}")) + symbol(f"k{i}") for i in range(9)]
    whole = sums[0]
    for term in sums[1:]:
        whole = whole * term
    assert collect_textbook_terms([whole]) is None  # 2⁹ terms


def test_expressions_are_written_out_as_long_as_that_takes_few_products() -> None:
    """A sum of six terms to the 8th takes 11,577 products, to the 10th more than 30,000; 20,000 are allowed
    to all expressions together.
    """

    def nothing(six: Expr, n: int) -> Expr:
        return let(six ** (n - 1), f"s{n}") * six - six**n

    six = a + b + m + x + y + z
    assert one(nothing(six, 9)) == "0"
    assert collect_textbook_terms([nothing(six, 11)]) is None
    assert collect_textbook_terms([nothing(six, 9), nothing(six + a, 9)]) is None
