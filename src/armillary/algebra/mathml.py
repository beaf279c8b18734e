"""MathML of an expression, which browsers show without any script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from html.entities import name2codepoint
from typing import ClassVar

from armillary.algebra.node import Node
from armillary.algebra.typesetting import GREEK, Notation, Pieces, name_parts

_FUNCTIONS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln", "sign": "sgn"}
_DOTS = {1: "˙", 2: "¨"}
_CASE = "<mtr><mtd>", "</mtd><mtd>", "</mtd></mtr>"


class _MathMl(Notation):
    plus, minus, negative = "<mo>+</mo>", "<mo>−</mo>", "<mo>−</mo>"
    space, comma, lnot = '<mspace width="0.17em"/>', "<mo>,</mo>", "<mo>¬</mo>"
    equals = "<mo>=</mo>"
    operators: ClassVar[dict[str, str]] = {
        name: f"<mo>{mark}</mo>"
        for name, mark in {
            "lt": "&lt;", "le": "≤", "gt": "&gt;", "ge": "≥", "eq": "=", "ne": "≠", "and": "∧", "or": "∨",
        }.items()
    }  # fmt: skip

    def word(self, word: str) -> str:
        if word.isdigit():
            return f"<mn>{word}</mn>"
        return f"<mi>{chr(name2codepoint[word]) if word in GREEK else escape(word)}</mi>"

    def name(self, name: str) -> str:
        head, subscripts, owners, dots = name_parts(name)
        base = self.word(head)
        if dots:
            base = f'<mover accent="true">{base}<mo>{_DOTS[min(dots, 2)]}</mo></mover>'
        sub = f"<mrow>{self.comma.join(map(self.word, subscripts))}</mrow>"
        above = self.word(".".join(owners))
        if subscripts and owners:
            return f"<msubsup>{base}{sub}{above}</msubsup>"
        if subscripts:
            return f"<msub>{base}{sub}</msub>"
        return f"<msup>{base}{above}</msup>" if owners else base

    def plain(self, digits: str) -> str:
        return f"<mn>{digits}</mn>"

    def ten(self, mantissa: str, exponent: int) -> str:
        power = f"<msup><mn>10</mn><mn>{exponent}</mn></msup>"
        if not mantissa.strip("-"):
            return self.negative + power if mantissa else power
        return f"<mn>{mantissa}</mn><mo>·</mo>{power}"

    def function(self, name: str) -> str:
        return f"<mi>{escape(_FUNCTIONS.get(name, name))}</mi>"

    def group(self, pieces: Pieces) -> Pieces:
        return ["<mrow>", *pieces, "</mrow>"]

    def put_in_brackets(self, pieces: Pieces, bars: bool = False) -> Pieces:
        left, right = "||" if bars else "()"
        return [f"<mrow><mo>{left}</mo>", *pieces, f"<mo>{right}</mo></mrow>"]

    def fraction(self, above: Pieces, below: Pieces) -> Pieces:
        return ["<mfrac>", *self.group(above), *self.group(below), "</mfrac>"]

    def root(self, inside: Pieces) -> Pieces:
        return ["<msqrt>", *inside, "</msqrt>"]

    def raise_to(self, base: Pieces, exponent: Pieces) -> Pieces:
        return ["<msup>", *self.group(base), *self.group(exponent), "</msup>"]

    def cases(self, condition: Pieces, then: Pieces, otherwise: Pieces) -> Pieces:
        begin, apart, end = _CASE
        first = [begin, *then, apart, "<mtext>if </mtext>", *condition, end]
        last = [begin, *otherwise, apart, "<mtext>otherwise</mtext>", end]
        return ['<mrow><mo>{</mo><mtable columnalign="left">', *first, *last, "</mtable></mrow>"]

    def text(self, text: str) -> str:
        return f"<mtext>{escape(text)}</mtext>"

    def bold(self, letter: str) -> str:
        first, least = ("a", 0x1D41A) if letter.islower() else ("A", 0x1D400)
        return f"<mi>{chr(least + ord(letter) - ord(first))}</mi>"  # browsers have no mathvariant="bold"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        lines = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in rows)
        inside = "".join(f"<mtr>{line}</mtr>" for line in lines)
        return f"<mrow><mo>[</mo><mtable>{inside}</mtable><mo>]</mo></mrow>"

    def break_lines(self, left: str, lines: Sequence[str]) -> str:
        cells = [f"{self.equals}{line}" if i == 0 else line for i, line in enumerate(lines)]
        starts = [left, *[""] * (len(lines) - 1)]
        rows = (f"<mtr><mtd>{a}</mtd><mtd>{b}</mtd></mtr>" for a, b in zip(starts, cells, strict=True))
        return f'<mtable columnalign="right left" style="text-align:left">{"".join(rows)}</mtable>'

    def label_below(self, inside: str, label: str) -> str:
        braced = f'<munder><mrow>{inside}</mrow><mo stretchy="true">⏟</mo></munder>'
        return f"<munder>{braced}{self.text(label)}</munder>"


MATHML = _MathMl()


def mathml(expression: Node, limit: int | None = None) -> str:
    """The inside of a ``<math>`` element; empty if longer than ``limit`` characters."""
    return MATHML.typeset(expression, limit)


def name_mathml(name: str) -> str:
    """A name as mathematics: A.q1 is q with the subscript 1 and A as a superscript, A.q1' its rate, q̇."""
    return MATHML.name(name)
