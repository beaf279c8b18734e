"""MathML of expressions, as input text and expected elements."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from armillary.algebra.expression import symbol
from armillary.algebra.functions import BY_NAME
from armillary.algebra.parsing import parse
from armillary.algebra.tables import Table
from armillary.algebra.typesetting import mathml, name_mathml


def shape(inside: str) -> str:
    """Elements and texts without attributes, and without the rows that only group; it must be sound XML."""

    def told(element: ElementTree.Element) -> str:
        texts = [element.text or "", *(told(child) for child in element)]
        inner = "".join(texts)
        return inner if element.tag in ("mrow", "math", "mi", "mn", "mo") else f"{element.tag}[{inner}]"

    return told(ElementTree.fromstring(f"<math>{inside}</math>")).replace("mspace[]", " ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("q1", "msub[q1]"),
        ("A.q1", "msubsup[q1A]"),
        ("A.q1'", "msubsup[mover[q˙]1A]"),
        ("mB", "msub[mB]"),
        ("omega_front", "msub[ωfront]"),
        ("a<b", "a<b"),
    ],
)
def test_names_become_mathematics(name: str, expected: str) -> None:
    assert shape(name_mathml(name)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b - 2*c", "a+b−2 c"),
        ("(a + b)/(c*d)", "mfrac[a+bc d]"),
        ("sin(x)^2", "msup[sin2](x)"),
        ("A.x^2", "msup[(msup[xA])2]"),
        ("sqrt(x + 1)", "msqrt[x+1]"),
        ("abs(x - y)", "|x−y|"),
        ("not (x <= y)", "¬(x≤y)"),
        ("x < y and z != 1", "(x<y)∧(z≠1)"),
        ("select(x < y, x, 0)", "{mtable[mtr[mtd[x]mtd[mtext[if ]x<y]]mtr[mtd[0]mtd[mtext[otherwise]]]]"),
        ("1e-7*x", "msup[10-7] x"),
        ("lift_1(x)", "lift_1(x)"),
    ],
)
def test_mathml_of_an_expression(text: str, expected: str) -> None:
    functions = {**BY_NAME, "lift_1": (Table([0, 1], [0, 1], name="lift_1"), 1)}
    assert shape(mathml(parse(text, symbol, functions))) == expected
