r"""LaTeX of expressions, as input text and expected LaTeX."""

from __future__ import annotations

import pytest

from armillary.algebra.expression import symbol
from armillary.algebra.functions import BY_NAME
from armillary.algebra.parsing import parse
from armillary.algebra.tables import Table
from armillary.algebra.typesetting import latex, name_latex


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("q", "q"),
        ("q1", "q_{1}"),
        ("A.q1", "q_{1}^{A}"),
        ("left_arm.q1", r"q_{1}^{\mathrm{left\_arm}}"),
        ("omega", r"\omega"),
        ("Omega12", r"\Omega_{12}"),
        ("mB", "m_{B}"),
        ("k_front", r"k_{\mathrm{front}}"),
        ("q1_target", r"q_{1,\mathrm{target}}"),
        ("IXX", r"\mathrm{IXX}"),
        ("_", r"\_"),
        ("A.q1'", r"\dot{q}_{1}^{A}"),  # a prime would be a second superscript, which TeX refuses
    ],
)
def test_names_become_mathematics(name, expected):
    assert name_latex(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b - 2*c", r"a + b - 2\,c"),
        ("-(a + b)*c", r"-c\,\left(a + b\right)"),
        ("a*b/(c*d)", r"\frac{a\,b}{c\,d}"),
        ("1/x", r"\frac{1}{x}"),
        ("(a + b)/(c + d)", r"\frac{a + b}{c + d}"),
        ("-x/2", r"-\frac{1}{2}\,x"),
        ("sin(q1)^2*x", r"x\,\sin^{2}\left(q_{1}\right)"),
        ("atan(x)^2", r"\arctan\left(x\right)^{2}"),
        ("(a + b)^2", r"\left(a + b\right)^{2}"),
        ("A.q1^2", r"\left(q_{1}^{A}\right)^{2}"),
        ("sqrt(x + 1)", r"\sqrt{x + 1}"),
        ("x^1.5", r"x^{\frac{3}{2}}"),
        ("x^y", r"x^{y}"),
        ("2^x", r"2^{x}"),
        ("(x^y)^2", r"\left(x^{y}\right)^{2}"),
        ("abs(x - y)", r"\left|x - y\right|"),
        ("log(x) + sign(x)", r"\ln\left(x\right) + \operatorname{sgn}\left(x\right)"),
        ("min(x, y)", r"\min\left(x, y\right)"),
        ("atan2(y, x)", r"\operatorname{atan2}\left(y, x\right)"),
        ("not (x <= y)", r"\lnot \left(x \le y\right)"),
        ("x < y and z != 1", r"\left(x < y\right) \land \left(z \ne 1\right)"),
        ("select(x < y, x, 0)", r"\begin{cases} x & \text{if } x < y \\ 0 & \text{otherwise} \end{cases}"),
        ("1e-7*x", r"10^{-7}\,x"),
        ("1.4500000000000002*x", r"1.45\,x"),  # without the last bits of a calculation
        ("3.141592653589793*x", r"3.141592653589793\,x"),
        ("2.5e20*x", r"2.5 \cdot 10^{20}\,x"),
        ("lift_1(x)", r"\operatorname{lift\_1}\left(x\right)"),
    ],
)
def test_latex_of_an_expression(text, expected):
    functions = {**BY_NAME, "lift_1": (Table([0, 1], [0, 1], name="lift_1"), 1)}
    # Functions sort by structure, which is stable but not for the eye: terms are compared as a set.
    found = latex(parse(text, symbol, functions))
    assert sorted(found.split(" + ")) == sorted(expected.split(" + "))
    assert found.count("{") == found.count("}")


def test_notebooks_show_mathematics_unless_it_is_endless():
    x = symbol("x")
    assert (x**2)._repr_latex_() == "$x^{2}$"
    doubled = x
    for i in range(60):  # as a text 2^60 terms long
        doubled = (doubled + symbol(f"a{i}")) * (doubled + symbol(f"b{i}"))
    assert doubled._repr_latex_() is None
    assert repr(doubled).endswith("...")
    assert len(repr(doubled)) == 5000
