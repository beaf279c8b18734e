"""Deduced dimensions, and contradictions that name their terms."""

from __future__ import annotations

import pytest

from armillary.algebra.deduction import deduce
from armillary.algebra.expression import Expr, symbol, total
from armillary.algebra.functions import let
from armillary.algebra.parsing import parse
from armillary.algebra.tables import Table
from armillary.algebra.units import FORCE, LENGTH, MASS, MOMENT, ONE, RATE, SPEED, TIME, Dimension
from armillary.errors import UnitsError

KNOWN = {"x": LENGTH, "y": LENGTH, "v": SPEED, "m": MASS, "t": TIME, "q": ONE, "u": RATE, "F": FORCE}


def names(name: str) -> Expr:
    return symbol(name, "coordinate" if name in KNOWN else "parameter", dimension=KNOWN.get(name))


def deduced(*entries: tuple[str, Dimension | None]) -> dict[str, Dimension]:
    equations = [(parse(text, names), dimension, f"line {i}") for i, (text, dimension) in enumerate(entries)]
    return {s.data.name: dimension for s, dimension in deduce(equations).items()}


@pytest.mark.parametrize(
    ("text", "required", "expected"),
    [
        ("-k*(x - x0) - c*v", FORCE, {"x0": LENGTH, "k": FORCE / LENGTH, "c": FORCE / SPEED}),
        ("k*q + c*u", MOMENT, {"k": MOMENT, "c": MOMENT / RATE}),
        ("k*x^3", FORCE, {"k": FORCE / LENGTH**3}),
        ("sqrt(a)", SPEED, {"a": SPEED**2}),
        ("a^2*x", LENGTH**3, {"a": LENGTH}),
        ("A*sin(w*t + p)", LENGTH, {"A": LENGTH, "w": RATE, "p": ONE}),
        ("exp(-x/d)", None, {"d": LENGTH}),
        ("min(x, a)", None, {"a": LENGTH}),
        ("max(a, b)", FORCE, {"a": FORCE, "b": FORCE}),
        ("select(v > v0, a, x)", None, {"v0": SPEED, "a": LENGTH}),
        ("abs(a)*x", LENGTH, {"a": ONE}),
        ("sign(v - a)*F", FORCE, {"a": SPEED}),
        ("atan2(x, a)", ONE, {"a": LENGTH}),
        ("a == x and b < v", None, {"a": LENGTH, "b": SPEED}),
        ("x + a + 1", None, {"a": LENGTH}),  # a bare number fits anywhere
        ("a/b", LENGTH, {}),  # only the ratio is known (Sayers 1990, section 9.1, makes the same remark)
        ("2*c*v + k*x", FORCE, {"c": FORCE / SPEED, "k": FORCE / LENGTH}),
        ("a + b + c + x", None, {"a": LENGTH, "b": LENGTH, "c": LENGTH}),
    ],
)
def test_deduced_dimensions(text, required, expected):
    assert deduced((text, required)) == expected


def test_several_expressions_decide_together():
    found = deduced(("a*b", FORCE), ("a/b", LENGTH), ("c + a", None))
    assert found["a"] is (FORCE * LENGTH) ** 0.5
    assert found["b"] is (FORCE / LENGTH) ** 0.5
    assert found["c"] is found["a"]


def test_intermediate_values_are_seen_through():
    stretch = let(parse("x - x0", names), "stretch")
    assert deduce([(names("k") * stretch, FORCE, "spring")]) == {
        names("x0"): LENGTH,
        names("k"): FORCE / LENGTH,
    }


def test_tables_say_what_they_take_and_give():
    table = Table([0, 1], [0, 2], name="bump stop", x_units="mm", y_units="kN")
    found = deduce([(names("a") * table(names("b") * names("q")), FORCE, "stop")])
    assert found == {names("a"): ONE, names("b"): LENGTH}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("k*x", FORCE), ("k*x", MOMENT)], r"line 1.*k\*x' has \[kg\*m/s\^2\], \[kg\*m\^2/s\^2\] is needed"),
        ([("a + x", None), ("a + v", None)], r"line 1.*'v' has \[m/s\], 'a' has \[m\]"),
        ([("k*x + k*v*b", None), ("b", LENGTH)], r"line 1.*'b' has \[s\], \[m\] is needed"),
        ([("sin(a)", None), ("a + x", None)], r"'a' has \[1\] because 'a' must match \[1\] in sin.*line 0"),
        ([("x*v", FORCE)], r"line 0: 'v\*x' has \[m\^2/s\]"),
    ],
)
def test_contradictions_name_both_terms_and_the_place(entries, message):
    with pytest.raises(UnitsError, match=f"(?s){message}"):
        deduced(*entries)


def test_bare_coefficients_are_trusted_to_have_units():
    """−3*q − 5*u is how gains are written as numbers: nothing is deduced from it or contradicted."""
    assert deduced(("-3*q - 5*u - k*x", MOMENT)) == {"k": MOMENT / LENGTH}
    assert deduced(("-1000*x", FORCE)) == {}


def test_an_exponent_that_is_nearly_zero_needs_no_dimension():
    assert deduced(("c**0.001 + a", None)) == {"a": ONE}  # exponents are fractions of at most 64 parts


def test_a_long_sum_of_unknowns_takes_linear_time():
    terms = [symbol(f"f{i}", "parameter") for i in range(5000)]
    found = deduce([(total([(1, term) for term in terms]), FORCE, "sum")])
    assert len(found) == 5000
    assert set(found.values()) == {FORCE}
