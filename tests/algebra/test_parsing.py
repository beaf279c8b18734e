"""The text form: precedence, names, calls, vectors, and errors that point at the character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.algebra.calculus import evaluate
from armillary.algebra.expression import symbol
from armillary.algebra.functions import BY_NAME
from armillary.algebra.parsing import parse
from armillary.algebra.units import FORCE, LENGTH
from armillary.algebra.vectors import Frame, Vector, cross, dot
from armillary.errors import ArmillaryError, ExpressionError, UnitsError

VALUES = {"x": 2.0, "y": 3.0, "z": 5.0, "A.q1": 7.0, "k_1": 0.5, "ω": 1.5}


def names(name: str):
    if name not in VALUES:
        raise ExpressionError(f"unknown name '{name}'")
    return symbol(name)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("-x^2", "-(x**2)"),
        ("2^3^2", "2**3**2"),
        ("2**3**2", "2**3**2"),
        ("x^-2", "x**-2"),
        ("x^-y^2", "x**(-(y**2))"),
        ("x/y*z", "x/y*z"),
        ("x/(y*z)", "x/(y*z)"),
        ("x - y - z", "x - y - z"),
        ("x - -y", "x + y"),
        ("--x", "x"),
        ("+x", "x"),
        ("2*-x", "-2*x"),
        ("x*-y^2", "-x*y**2"),
        ("1.5e-3*x + .5 + 2.", "1.5e-3*x + 2.5"),
        ("x < y", "1"),
        ("x + y <= z", "1"),
        ("x*y == 6", "1"),
        ("x != 2", "0"),
        ("x < y and y < z", "1"),
        ("x > y or y > z and z > x", "0"),
        ("not x > y", "1"),
        ("not not x > y", "0"),
        ("not x > y and z > y", "1"),
        ("select(x > y, 1, z)", "z"),
        ("min(x, max(y, z))", "x"),
        ("atan2(0*x, -1)", "3.141592653589793"),
        (" \t( x\n+ y ) ", "x + y"),
        ("k_1*ω", "0.75"),
        ("2*(3)", "6"),
        ("x*y*z*x*y*z*x*y*z*x/y", "x**4*y**2*z**3"),
    ],
)
def test_value_of_a_text(text, python):
    expected = eval(python, {"x": 2.0, "y": 3.0, "z": 5.0})  # Python's own precedence is the reference
    assert float(evaluate(parse(text, names), VALUES)) == pytest.approx(expected, rel=1e-14)


def test_dotted_names_are_one_name():
    assert parse("A.q1", names) is symbol("A.q1")
    assert str(parse("2*A.q1 + 1", names)) == "2*A.q1 + 1"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "empty"),
        ("   ", 3, "empty"),
        ("x +", 3, "ends where a value should follow"),
        ("x + * y", 4, "a value should stand before '*'"),
        ("x y", 2, "an operator is missing before 'y'"),
        ("2x", 1, "an operator is missing before 'x'"),
        ("2 (x)", 2, "an operator is missing before '('"),
        ("(x)(y)", 3, "an operator is missing before '('"),
        ("(x + (y)", 0, "'(' is never closed"),
        ("sin(x", 3, "'(' is never closed"),
        ("x + y)", 5, "')' has no matching '('"),
        ("()", 1, "a value should stand before ')'"),
        ("(x, y)", 2, "',' is outside"),
        ("min(x,)", 6, "a value should stand before ')'"),
        ("min(,x)", 4, "a value should stand before ','"),
        ("x + foo", 4, "unknown name 'foo'"),
        ("1 + sine(x)", 4, "unknown function 'sine'; did you mean 'sin'?"),
        ("k (x - 1)", 0, "unknown function 'k'; for a product write k*("),
        ("x + sin(x, y)", 4, "sin takes 1 argument, but has 2"),
        ("select(x, y)", 0, "select takes 3 arguments, but has 2"),
        ("2*sin()", 2, "sin takes 1 argument, but has 0"),
        ("sin + 1", 0, "'sin' is a function: write sin("),
        ("x < y < z", 6, "comparisons do not chain"),
        ("1 + not x", 4, "needs parentheses"),
        ("x = 2", 2, "unexpected character '='; write =="),
        ("x && y", 2, "unexpected character '&'; write and"),
        ("x[0]", 1, "unexpected character '['"),
        ("'x'", 0, "unexpected character"),
        ("x. y", 1, "unexpected character '.'"),
        ("x + 1e999", 4, "the number 1e999 is too large"),
        ("x/0", 1, "division by zero"),
        ("y + (-8)^0.5", 8, "not a real number"),
        ("2^99999999999", 1, "finite"),
        ("y + asin(2)", 4, "not a finite number"),
        ("__import__('os')", 0, "unknown function '__import__'"),
    ],
)
def test_errors_point_at_the_character(text, column, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text, names)
    assert message in caught.value.message
    assert caught.value.column == column
    assert caught.value.text == text


def test_a_lookup_error_is_an_unknown_name():
    with pytest.raises(ExpressionError, match="unknown name 'mass'"):
        parse("2*mass", {}.__getitem__)


def test_adding_lengths_to_forces_points_at_the_term():
    known = {"x": symbol("x", dimension=LENGTH), "F": symbol("F", dimension=FORCE)}
    known["y"] = symbol("y", dimension=LENGTH)
    with pytest.raises(UnitsError) as caught:
        parse("x + y^2/x - F", known.__getitem__)
    first, line, caret = str(caught.value).split("\n")
    assert "'F' [kg*m/s^2]" in first
    assert line[caret.index("^")] == "-"


@given(st.text(alphabet="xyz12.+-*/^()<>=!, andortsi", max_size=30))
def test_any_text_gives_an_expression_or_a_clear_error(text):
    try:
        parse(text, names)
    except ArmillaryError as error:
        assert str(error)


class TestVectors:
    n = Frame("N")
    functions = BY_NAME | {"dot": (dot, 2), "cross": (cross, 2), "first": (max, (1, 3))}

    def parse(self, text: str):
        axes = {"N.x": self.n.x, "N.y": self.n.y, "N.z": self.n.z}
        return parse(text, lambda name: axes.get(name) or symbol(name), self.functions)

    def test_scalars_times_unit_vectors_add_up(self):
        v = self.parse("a*N.x - 2*N.y/b + (N.z + N.x)*c")
        assert isinstance(v, Vector)
        assert [str(c) for c in v.components(self.n)] == ["a + c", "-2/b", "c"]

    def test_products_of_vectors_are_calls(self):
        assert str(self.parse("dot(a*N.x + N.y, b*N.x)")) == "a*b"
        assert str(self.parse("dot(cross(N.x, N.y), N.z)")) == "1"

    def test_a_long_sum_of_vectors_is_quick_and_right(self):
        v = self.parse(" + ".join([f"a{i}*N.x" for i in range(2000)]) + " - N.y" * 20)
        x, y, _ = v.components(self.n)
        assert len(x.args) == 2000
        assert float(y) == -20

    @pytest.mark.parametrize(
        ("text", "column", "message"),
        [
            ("N.x*N.y", 3, "cannot multiply a vector and a vector"),
            ("a + N.x", 2, "cannot add a scalar and a vector"),
            ("N.x - 1", 4, "cannot subtract a scalar from a vector"),
            ("a/N.x", 1, "cannot divide a scalar by a vector"),
            ("N.x^2", 3, "cannot raise a vector to the power of a scalar"),
            ("N.x < 1", 4, "'<' needs scalars, not a vector"),
            ("not N.x", 0, "'not' needs scalars, not a vector"),
            ("1 + dot(N.x, a)", 4, "dot needs vectors"),
            ("first()", 0, "first takes 1 to 3 arguments, but has 0"),
        ],
    )
    def test_operations_without_meaning_are_errors(self, text, column, message):
        with pytest.raises(ExpressionError) as caught:
            self.parse(text)
        assert message in caught.value.message
        assert caught.value.column == column
