r"""LaTeX of an expression: ``m*L^2/(2*k)`` becomes ``\frac{m\,L^{2}}{2\,k}``."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import ClassVar

from armillary.algebra.nodes.node import Node
from armillary.algebra.notation.typesetting import GREEK, Notation, Pieces, name_parts
from armillary.errors import ExpressionError, shown

_FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "tanh": r"\tanh",
    "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "exp": r"\exp",
    "log": r"\ln", "min": r"\min", "max": r"\max", "sign": r"\operatorname{sgn}",
}  # fmt: skip
_DOTS = {0: "", 1: r"\dot", 2: r"\ddot"}
_SPECIAL = str.maketrans({c: "\\" + c for c in "_%&#${}"})


class _Latex(Notation):
    plus, minus, negative = " + ", " - ", "-"
    space, comma, lnot, equals = r"\,", ", ", r"\lnot ", " = "
    operators: ClassVar[dict[str, str]] = {
        "lt": " < ", "le": r" \le ", "gt": " > ", "ge": r" \ge ", "eq": " = ", "ne": r" \ne ",
        "and": r" \land ", "or": r" \lor ",
    }  # fmt: skip

    def word(self, word: str) -> str:
        if word in GREEK:
            return "\\" + word
        if len(word) == 1 or word.isdigit():
            return word.translate(_SPECIAL)
        return r"\mathrm{" + word.translate(_SPECIAL) + "}"

    def name(self, name: str) -> str:
        head, subscripts, owners, dots = name_parts(name)
        result = f"{_DOTS[min(dots, 2)]}{{{self.word(head)}}}" if dots else self.word(head)
        if subscripts:
            result += "_{" + ",".join(map(self.word, subscripts)) + "}"
        if owners:
            result += "^{" + ".".join(map(self.word, owners)) + "}"
        return result

    def plain(self, digits: str) -> str:
        return digits

    def ten(self, mantissa: str, exponent: int) -> str:
        return mantissa + (r" \cdot " if mantissa.strip("-") else "") + f"10^{{{exponent}}}"

    def function(self, name: str) -> str:
        return _FUNCTIONS.get(name) or r"\operatorname{" + name.translate(_SPECIAL) + "}"

    def grouped(self, pieces: Pieces) -> Pieces:
        return pieces

    def bracketed(self, pieces: Pieces, bars: bool = False) -> Pieces:
        return [r"\left|", *pieces, r"\right|"] if bars else [r"\left(", *pieces, r"\right)"]

    def fraction(self, above: Pieces, below: Pieces) -> Pieces:
        return [r"\frac{", *above, "}{", *below, "}"]

    def root(self, inside: Pieces) -> Pieces:
        return [r"\sqrt{", *inside, "}"]

    def raised(self, base: Pieces, exponent: Pieces) -> Pieces:
        return [*base, "^{", *exponent, "}"]

    def cases(self, condition: Pieces, then: Pieces, otherwise: Pieces) -> Pieces:
        first = [*then, r" & \text{if } ", *condition, r" \\ "]
        return [r"\begin{cases} ", *first, *otherwise, r" & \text{otherwise} \end{cases}"]

    def text(self, text: str) -> str:
        return r"\text{" + tex_text(text) + "}"

    def bold(self, letter: str) -> str:
        return rf"\mathbf{{{letter}}}"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        inside = r" \\ ".join(" & ".join(row) for row in rows)
        return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"

    def broken(self, left: str, lines: Sequence[str]) -> str:
        rest = r" \\ &\quad ".join(lines)
        return rf"\begin{{aligned}} {left} &= {rest} \end{{aligned}}"

    def labelled(self, inside: str, label: str) -> str:
        return rf"\underbrace{{{inside}}}_{{{self.text(label)}}}"


LATEX = _Latex()


def latex(expression: Node, limit: int | None = None) -> str:
    """The expression in LaTeX, without dollar signs; empty if longer than ``limit`` characters."""
    if not isinstance(expression, Node):
        raise ExpressionError(f"latex: {shown(expression)} is not an expression")
    return LATEX.typeset(expression, limit)


def name_latex(name: str) -> str:
    r"""A name as mathematics, e.g. ``A.q1`` as ``q_{1}^{A}``, and its rate ``A.q1'`` with a dot over q."""
    return LATEX.name(name)


def tex_text(text: str) -> str:
    """Words for LaTeX, outside of formulas: its special characters are escaped, letters and signs that its
    usual fonts lack are formulas, and others are replaced by their numbers.
    """
    return "".join(_WORDS.get(c) or (c if c < "\u0180" or c in _PUNCTUATION else _strange(c)) for c in text)


def _strange(c: str) -> str:
    name = unicodedata.name(c, "")
    head, _, letter = name.partition(" LETTER ")
    if head in ("GREEK SMALL", "GREEK CAPITAL") and letter.isalpha():
        word = (letter.lower() if head == "GREEK SMALL" else letter.capitalize()).replace("amda", "ambda")
        if word in GREEK:
            return f"$\\{word}$"
    return f"U+{ord(c):04X}"


_PUNCTUATION = "\u2013\u2014\u2018\u2019\u201c\u201d"  # dashes and quotation marks
_FORMULAS = {
    "×": r"\times", "÷": r"\div", "−": "-", "·": r"\cdot", "±": r"\pm", "µ": r"\mu", "°": r"^{\circ}",
    "²": "^{2}", "³": "^{3}", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≈": r"\approx", "→": r"\to",
    "∞": r"\infty", "√": r"\surd", "∂": r"\partial",
}  # fmt: skip
_WORDS = {c: f"${formula}$" for c, formula in _FORMULAS.items()} | {c: "\\" + c for c in "_%&#${}"}
_WORDS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_WORDS |= {"\u2003": r"\quad{}", "└": "{}", "…": r"\dots{}"}
