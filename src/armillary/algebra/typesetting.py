"""Expressions typeset with fractions, roots, powers and cases, in LaTeX and in MathML.

One walk (``Notation.typeset``) puts the marks of either language around the parts of an expression. Browsers
show MathML without a script. ``DisplayedNode`` gives nodes their text and what notebooks show.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from html.entities import name2codepoint
from typing import ClassVar, NamedTuple, NoReturn

from armillary.algebra import node
from armillary.algebra.node import ATOM, POWER, PRODUCT, SUM, UNARY, Node, Pieces, number_text
from armillary.algebra.terms import short
from armillary.errors import ExpressionError, shown

# Like the printer of node.py, the walk takes any node with ``kind``, ``args`` and ``data``, and uses an
# explicit stack. A ``let`` is shown as its definition.

GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu",
    "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
}  # fmt: skip
_ABBREVIATED = r"[sc]_\d[\d_]*"  # names that textbook.py uses, such as s_1 for sin q₁
_BELOW = (1, 2, 3, 4, 6, 8, 12)  # denominators of printed fractions
_MOST_ABOVE = 99  # largest numerator
_EXACT = 1e-11  # largest relative error of a fraction: numbers of collected terms have twelve digits
# Positions of parameters in a product, by the letters that textbooks use for them: symbols of a derived
# program have no units that could decide the position.
_RANKS = {
    **dict.fromkeys(("m", "M", "I", "J"), 0),
    "g": 1,
    **dict.fromkeys(("l", "L", "r", "R", "d", "h"), 3),
}
_RAISED = ("sin", "cos", "tan")  # written sin²(x), not sin(x)²


class NameParts(NamedTuple):
    """A name as mathematics: A.k1_front' is k with one dot, the subscripts 1 and front, and the owner A."""

    head: str
    subscripts: list[str]
    owners: list[str]
    dots: int


def name_parts(name: str) -> NameParts:
    """Split a name into mathematics: omega1 is ω with the subscript 1, A.q1 is q₁ with the superscript A."""
    bare = name.rstrip("'")
    *owners, own = bare.split(".")
    head, *subscripts = [part for part in own.split("_") if part] or [own]
    found = re.fullmatch(r"([^\d]+)(\d+)", head) or re.fullmatch(r"([a-z])([A-Z]\w*)", head)  # q1, mB
    if found:
        head, first = found.groups()
        subscripts.insert(0, first)
    return NameParts(head, subscripts, owners, len(name) - len(bare))


def fraction_of(value: float) -> tuple[int, int] | None:
    """Return a number as a simple fraction, 5/4 for 1.25 and 1/3 for 0.333333333333.

    Return None for whole numbers and for numbers that are not simple fractions.
    """
    for below in _BELOW:
        above = round(value * below)
        if 0 < abs(above) <= _MOST_ABOVE and abs(value * below - above) < _EXACT * abs(above):
            return None if below == 1 else (above, below)
    return None


def _readable_number(value: float) -> str:
    """Return a number as text without rounding errors in the last digits: 1.45 for 1.4500000000000002."""
    exact, short = number_text(value), f"{value:.15g}"
    return number_text(float(short)) if len(short) + 3 <= len(exact) else exact


def _rank(factor: Node) -> int:
    """Return the position of a factor in a product as textbooks order it: m g l θ̇ cos θ.

    The order is: masses and inertias, gravity, other constants, lengths, variables, sums in parentheses,
    rates, functions.
    """
    if factor.kind == "symbol":
        name = factor.data.name
        if factor.data.role == "parameter":
            return _RANKS.get(name_parts(name).head, 2)
        return 6 if name.endswith("'") else 7 if re.fullmatch(_ABBREVIATED, name) else 4
    return 7 if factor.kind == "call" else 5


class Notation(ABC):
    """The marks of a typesetting language, and the walk that puts them around parts of an expression."""

    plus: str
    minus: str  # between terms
    negative: str  # before a first term
    space: str  # between factors
    comma: str
    operators: ClassVar[dict[str, str]]
    lnot: str

    @abstractmethod
    def word(self, word: str) -> str:
        """Return a word or whole number that is part of a name."""

    @abstractmethod
    def name(self, name: str) -> str:
        """Return a name with its subscripts, owners and dots."""

    @abstractmethod
    def plain(self, digits: str) -> str:
        """Return a number without an exponent."""

    @abstractmethod
    def ten(self, mantissa: str, exponent: int) -> str:
        """Return a number with a power of ten; the mantissa may be empty or only a sign."""

    @abstractmethod
    def function(self, name: str) -> str:
        """Return the name of a function."""

    @abstractmethod
    def group(self, pieces: Pieces) -> Pieces:
        """Return the parts as a group, without a visible mark."""

    @abstractmethod
    def put_in_brackets(self, pieces: Pieces, bars: bool = False) -> Pieces:
        """Return the parts in parentheses, or between bars."""

    @abstractmethod
    def fraction(self, above: Pieces, below: Pieces) -> Pieces: ...

    @abstractmethod
    def root(self, inside: Pieces) -> Pieces: ...

    @abstractmethod
    def raise_to(self, base: Pieces, exponent: Pieces) -> Pieces: ...

    @abstractmethod
    def cases(self, condition: Pieces, then: Pieces, otherwise: Pieces) -> Pieces: ...

    # ------------------------------------------------------- equations, from parts that are already typeset

    equals: str

    @abstractmethod
    def text(self, text: str) -> str:
        """Return ordinary words."""

    @abstractmethod
    def bold(self, letter: str) -> str:
        """Return the name of a matrix or vector."""

    @abstractmethod
    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Return the elements in square brackets."""

    @abstractmethod
    def break_lines(self, left: str, lines: Sequence[str]) -> str:
        """Return an equation whose right side takes several lines."""

    @abstractmethod
    def label_below(self, inside: str, label: str) -> str:
        """Return terms with a brace and words below them."""

    # ------------------------------------------------------------------------------------------- the walk

    def typeset(self, expression: Node, limit: int | None = None) -> str:
        """Return the expression; empty if longer than ``limit`` characters."""
        out: list[str] = []
        length = 0
        stack: Pieces = [(expression, SUM)]
        while stack:
            item = stack.pop()
            if not isinstance(item, str):
                stack.extend(reversed(self._pieces(*item)))
                continue
            out.append(item)
            length += len(item)
            if limit is not None and length > limit:
                return ""
        return "".join(out)

    def _pieces(self, node: Node, binding: int) -> Pieces:
        kind = node.kind
        if kind == "number":
            power = "e" in _readable_number(node.data)
            return self._wrap(
                [self._number(node.data)], (node.data < 0 and binding > SUM) or (binding == ATOM and power)
            )
        if kind == "symbol":
            name = node.data.name
            return self._wrap([self.name(name)], binding == ATOM and "." in name)
        if kind == "let":
            return [(node.args[0], binding)]
        if kind == "sum":
            return self._wrap(self._sum(node), binding > SUM)
        if kind == "product":
            if binding == SUM and node.data == (-1, (1,)) and node.args[0].kind == "sum":
                return self.group(self._sum(node.args[0], -1))  # −a + b, not −(a − b)
            return self._product(node, binding)
        return self._call(node, binding)

    def _wrap(self, pieces: Pieces, needed: bool) -> Pieces:
        return self.put_in_brackets(pieces) if needed else self.group(pieces)

    def _number(self, value: float) -> str:
        if (parts := fraction_of(value)) is not None:
            above, below = parts
            sign = [self.negative] if above < 0 else []
            made = self.fraction([self.plain(str(abs(above)))], [self.plain(str(below))])
            return "".join([*sign, *made])
        shown = _readable_number(value)
        if "e" not in shown:
            return self.plain(shown)
        mantissa, exponent = shown.split("e")
        return self.ten({"1": "", "-1": "-"}.get(mantissa, mantissa), int(exponent))

    def _sum(self, node: Node, sign: int = 1) -> Pieces:
        constant, coefficients = sign * node.data[0], [sign * c for c in node.data[1]]
        pieces: Pieces = []
        for coefficient, term in zip(coefficients, node.args, strict=True):
            if pieces:
                pieces.append(self.minus if coefficient < 0 else self.plus)
            elif coefficient < 0:
                pieces.append(self.negative)
            if abs(coefficient) != 1:
                pieces.append(self._number(abs(coefficient)) + self.space)
            pieces.append((term, PRODUCT))
        if constant:
            pieces += [self.minus if constant < 0 else self.plus, self._number(abs(constant))]
        return pieces

    def _product(self, node: Node, binding: int) -> Pieces:
        coefficient, exponents = node.data
        factors = list(zip(node.args, exponents, strict=True))
        above, below = ([(b, abs(n)) for b, n in factors if (n < 0) == under] for under in (False, True))
        above.sort(key=lambda factor: _rank(factor[0]))
        parts = fraction_of(abs(coefficient)) if below else None  # 5 m/(4 k), not 5/4 m/k
        size = abs(coefficient) if parts is None else parts[0]
        numbers = [[self._number(size)]] if size != 1 or not above else []
        # A sum that stands alone above or below a fraction's line needs no parentheses.
        inner = SUM if below and len(above) == 1 and not numbers else UNARY
        pieces = self._join_factors([*numbers, *(self._power(base, n, inner) for base, n in above)])
        if below:
            inner = SUM if len(below) == 1 and parts is None else UNARY
            under = [self._power(base, n, inner) for base, n in below]
            under = under if parts is None else [[self._number(parts[1])], *under]
            pieces = self.fraction(pieces, self._join_factors(under))
        if coefficient < 0:
            pieces = [self.negative, *pieces]
        return self._wrap(pieces, binding > PRODUCT or (coefficient < 0 and binding == PRODUCT))

    def _join_factors(self, factors: list[Pieces]) -> Pieces:
        return [piece for i, factor in enumerate(factors) for piece in ([self.space] if i else []) + factor]

    def _power(self, base: Node, exponent: float, binding: int) -> Pieces:
        if exponent == 1:
            return [(base, binding)]
        if exponent == 0.5:
            return self.root([(base, SUM)])
        number = [self._number(exponent)]
        if base.kind == "call" and base.data in _RAISED:
            return [
                *self.raise_to([self.function(base.data)], number),
                *self.put_in_brackets([(base.args[0], SUM)]),
            ]
        return self.raise_to([(base, ATOM)], number)

    def _call(self, node: Node, binding: int) -> Pieces:
        name = node.data if isinstance(node.data, str) else None
        args = node.args
        if name in self.operators:
            return self._wrap([(args[0], UNARY), self.operators[name], (args[1], UNARY)], binding > SUM)
        if name == "not":
            return self._wrap([self.lnot, (args[0], UNARY)], binding > SUM)
        if name == "pow":
            return self._wrap(self.raise_to([(args[0], ATOM)], [(args[1], SUM)]), binding >= POWER)
        if name == "abs":
            return self.put_in_brackets([(args[0], SUM)], bars=True)
        if name == "select":
            condition, then, otherwise = ([(argument, SUM)] for argument in args)
            return self.cases(condition, then, otherwise)
        pieces: Pieces = []
        for i, argument in enumerate(args):
            pieces += ([self.comma] if i else []) + [(argument, SUM)]
        return [self.function(name or str(node.data.name)), *self.put_in_brackets(pieces)]


# LaTeX of an expression: ``m*L^2/(2*k)`` becomes ``\frac{m\,L^{2}}{2\,k}``.

_LATEX_FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "tanh": r"\tanh",
    "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "exp": r"\exp",
    "log": r"\ln", "min": r"\min", "max": r"\max", "sign": r"\operatorname{sgn}",
}  # fmt: skip
_LATEX_DOTS = {0: "", 1: r"\dot", 2: r"\ddot"}
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
        result = f"{_LATEX_DOTS[min(dots, 2)]}{{{self.word(head)}}}" if dots else self.word(head)
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
        return _LATEX_FUNCTIONS.get(name) or r"\operatorname{" + name.translate(_SPECIAL) + "}"

    def group(self, pieces: Pieces) -> Pieces:
        return pieces

    def put_in_brackets(self, pieces: Pieces, bars: bool = False) -> Pieces:
        return [r"\left|", *pieces, r"\right|"] if bars else [r"\left(", *pieces, r"\right)"]

    def fraction(self, above: Pieces, below: Pieces) -> Pieces:
        return [r"\frac{", *above, "}{", *below, "}"]

    def root(self, inside: Pieces) -> Pieces:
        return [r"\sqrt{", *inside, "}"]

    def raise_to(self, base: Pieces, exponent: Pieces) -> Pieces:
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

    def break_lines(self, left: str, lines: Sequence[str]) -> str:
        rest = r" \\ &\quad ".join(lines)
        return rf"\begin{{aligned}} {left} &= {rest} \end{{aligned}}"

    def label_below(self, inside: str, label: str) -> str:
        return rf"\underbrace{{{inside}}}_{{{self.text(label)}}}"


LATEX = _Latex()


def latex(expression: Node, limit: int | None = None) -> str:
    """Return the expression in LaTeX, without dollar signs; empty if longer than ``limit`` characters."""
    if not isinstance(expression, Node):
        raise ExpressionError(f"latex: {shown(expression)} is not an expression")
    return LATEX.typeset(expression, limit)


def name_latex(name: str) -> str:
    """Return a name in LaTeX: ``A.q1`` as ``q_{1}^{A}``, and its rate ``A.q1'`` with a dot over q."""
    return LATEX.name(name)


def tex_text(text: str) -> str:
    """Return words for LaTeX outside of formulas.

    Special characters are escaped. Greek letters and signs that the usual fonts lack become formulas, other
    characters their Unicode numbers.
    """
    return "".join(_WORDS.get(c) or (c if c < "\u0180" or c in _PUNCTUATION else _rare_tex(c)) for c in text)


def _rare_tex(c: str) -> str:
    """Return a Greek letter as a formula, another character as U+ and its number."""
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
    """Return the inside of a ``<math>`` element; empty if longer than ``limit`` characters."""
    return MATHML.typeset(expression, limit)


def name_mathml(name: str) -> str:
    """Return a name in MathML: A.q1 is q with the subscript 1 and the superscript A; A.q1' is its rate, q̇."""
    return MATHML.name(name)


# Most characters that a notebook or debugger shows of an expression; str() returns all.
_SHOWN = 5000


class DisplayedNode(Node):
    """A node with its text and its display in notebooks."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of a symbol; the text of any other node."""
        return self.data.name if self.kind == "symbol" else node.text(self)

    def __str__(self) -> str:
        return node.text(self)

    def __repr__(self) -> str:
        return node.text(self, limit=_SHOWN)

    def __reduce__(self) -> NoReturn:
        raise ExpressionError(
            f"'{short(self)}' cannot be pickled: an expression belongs to its system in this process; "
            "pickle the system instead, or the expression as text, str(expression)"
        )

    def _repr_latex_(self) -> str | None:
        shown = latex(self, limit=_SHOWN)
        return f"${shown}$" if shown else None

    def _repr_html_(self) -> str | None:
        """MathML, which notebooks show without a network."""

        shown = mathml(self, limit=4 * _SHOWN)
        return f"<math>{shown}</math>" if shown else None
