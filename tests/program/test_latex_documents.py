"""Whole LaTeX documents of examples, read by a strict grammar: what LaTeX would refuse is found here."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import armillary as arm
from tests.program.latex_grammar import LatexError, check_document, check_formula

# Loops, rolling, tables, memories, choices, flexible bodies, small variables; each derived in a moment.
EXAMPLES = (
    "pendulum",
    "four_bar",
    "rolling_disc",
    "car",
    "integral_control",
    "bump_stop",
    "slosh",
    "spinning_boom",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_equations_and_handouts_of_examples_are_latex(name: str, tmp_path: Path) -> None:
    eom = importlib.import_module(f"examples.{name}").system().derive()
    check_document(eom.handout(tmp_path / "handout.tex").read_text(encoding="utf-8"))
    check_document(eom.latex(names="full"))
    check_document(eom.latex(form="rows", speeds="q'"))


def test_words_of_users_do_not_break_a_document(tmp_path: Path) -> None:
    """Special characters of TeX and letters that its fonts lack, in names of systems and in descriptions."""
    s = arm.System(r"50 % of {a_b} & #1, $x$ \end{document} ~ ^ θ ≥ 3 µm² 日本")
    s.parameter("L", 0.5, units="m", about="between “A” and B – 5 °, é, α·β → ∞")
    rod = s.body("rod", joint=arm.Revolute("z"), com=("L", 0, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("drag_1", "-0.1*rod.u1", s.ground.z, on=rod)
    text = s.derive().handout(tmp_path / "handout.tex").read_text(encoding="utf-8")
    check_document(text)
    assert r"$\theta$ $\ge$ 3 $\mu$m$^{2}$" in text
    strange = {c for c in text if ord(c) > 0x17F and c not in "–—“”‘’"}  # of the fonts of every LaTeX
    assert strange == set()


@pytest.mark.parametrize(
    "text",
    [
        "a_{1}_{2}", "x^{2}^{3}", r"\frac{a}", r"\left( x", r"x \right)", "{x", "x}", r"\foo x", "a & b",
        r"\begin{bmatrix} a & b \\ c \end{bmatrix}", r"\begin{bmatrix} a \end{pmatrix}", "50 % of", "θ",
        r"\text{a_b}", "a$b", r"\left< x \right>", "x_",
    ],
)  # fmt: skip
def test_the_grammar_refuses_what_latex_refuses(text: str) -> None:
    with pytest.raises(LatexError):
        check_formula(text)


@pytest.mark.parametrize(
    "text",
    [
        "a_b", "50 % of", r"\begin{longtable}[l]{ll} a & b & c \\ \end{longtable}", r"\section*{a", r"\[ x",
        r"\begin{document} x", r"x \end{document}", "a # b",
    ],
)  # fmt: skip
def test_the_grammar_refuses_documents_that_latex_refuses(text: str) -> None:
    with pytest.raises(LatexError):
        check_document(text)
