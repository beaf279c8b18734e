"""Expressions as text of a programming language; a language overrides the parts in which it differs.

Operations have the order of llvm/node_writer.py: terms and factors in the order in which they become
available, each term multiplied by its coefficient, a division after all factors. So results agree with
compiled ones except for fused operations and library functions. The text of a node is built from the texts of
its operands; the caller (body.py) visits a section's nodes in order, without recursion. This file also breaks
long lines and lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.algebra.block_functions import BlockFunction
from armillary.algebra.expression import Expr
from armillary.algebra.tables import Piecewise
from armillary.errors import ArmillaryError

# Binding strengths: an operand that binds less strongly than its context requires gets parentheses.
CHOICE, LOGIC, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(7)

_LARGEST_POWER = 64  # larger powers are calls of pow: their products would be longer than a line


@dataclass(frozen=True)
class Operand:
    """Text of a value; ``truth``: whether it is a truth value rather than a number."""

    text: str
    strength: int = ATOM
    truth: bool = False


class Printer:
    """Printer of expressions in C's notation; subclasses for other languages override parts."""

    keywords: frozenset[str] = frozenset()
    folded = False  # whether names that differ only in case are the same
    longest_name = 63
    inline = 160  # operands with more characters get a name
    # number of angles in a call for sines and cosines; these calls come first in a function; 0: no such calls
    paired_angles: int = 0
    functions: Mapping[str, str] = {}  # names that differ from those of algebra/functions.py
    comparisons: Mapping[str, str] = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
    logic: Mapping[str, str] = {"and": "&&", "or": "||"}
    negation = "!"
    specials: tuple[str, str, str] | None = None  # NaN and both infinities
    truth_number = "({} ? 1.0 : 0.0)"  # 1 or 0 from a truth value
    choosing = ""  # text of a choice with {test}, {yes} and {no}, if it is a call; "" for ?:

    def __init__(self) -> None:
        self.tables: dict[Any, str] = {}  # tables used so far, with the names of their functions
        self.blocks: dict[BlockFunction, str] = {}  # block functions used so far, with their names

    # ---------------------------------------------------------------- parts of a language

    def literal(self, value: float) -> str:
        """Return a finite number ≥ 0 as a literal that is read back exactly."""
        return repr(float(value))

    def special(self, value: float) -> str:
        """Return an infinity or NaN."""
        if self.specials is None:
            raise ArmillaryError(
                f"the equations contain the number {value}, which has no literal in this language"
            )
        return self.specials[0 if value != value else 1 if value > 0 else 2]

    def as_number(self, truth: str) -> Operand:
        """Convert a truth value to 1 or 0."""
        return Operand(self.truth_number.format(truth))

    def as_truth(self, number: Operand) -> Operand:
        """Return whether a number is not zero."""
        return Operand(
            f"{self.at(number, SUM)} {self.comparisons['ne']} {self.literal(0.0)}", COMPARISON, True
        )

    def choice(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        """Return a conditional expression; the condition is a truth value."""
        if self.choosing:
            test, first, second = self.at_truth(condition, CHOICE), self.at(yes, CHOICE), self.at(no, CHOICE)
            return Operand(self.choosing.format(test=test, yes=first, no=second))
        text = f"{self.at_truth(condition, COMPARISON)} ? {self.at(yes, SUM)} : {self.at(no, SUM)}"
        return Operand(text, CHOICE)

    def function(self, name: str, arguments: Sequence[Operand]) -> Operand:
        """Return a call of a function of numbers: sin, atan2, min, sign, …"""
        shown = ", ".join(self.at(a, CHOICE) for a in arguments)
        return Operand(f"{self.functions.get(name, name)}({shown})")

    def table(self, table: Piecewise, arguments: Sequence[Operand]) -> Operand:
        """Return a lookup in a table; the language writes one function per entry of ``tables``."""
        name = self.tables.setdefault(table, f"table_{len(self.tables) + 1}")
        return self.function(name, arguments)

    def block(self, block: BlockFunction) -> str:
        """Return the name of a block function; the language writes a function per entry of ``blocks``."""
        if block not in self.blocks:
            others = sum(other.name == block.name for other in self.blocks)  # same name, other size
            self.blocks[block] = block_names(block, others + 1)[-1]
        return self.blocks[block]

    def element(self, array: str, index: int) -> str:
        """Return an element of an array of results, counted from 0."""
        return f"{array}[{index}]"

    def quotient(self, above: str, below: Sequence[str]) -> str:
        """Return a division by a product of factors."""
        return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({'*'.join(below)})"

    def root(self, base: Operand) -> Operand:
        """Return a square root."""
        return self.function("sqrt", [base])

    def whole_power(self, base: Operand, n: int) -> Operand:
        """Return base^n by repeated squaring; for n > 1 the base must be a name or a number."""
        if n == 1:
            return base
        if n > _LARGEST_POWER:
            return self.function("pow", [base, Operand(self.literal(float(n)))])
        result: str | None = None
        square = self.at(base, UNARY)
        while n:
            if n & 1:
                result = square if result is None else f"{result}*{_as_factor(square)}"
            n >>= 1
            if n:
                square = f"{_as_factor(square)}*{_as_factor(square)}"
        assert result is not None
        return Operand(result, PRODUCT)

    # ---------------------------------------------------------------- operands in a context

    def at(self, operand: Operand, place: int) -> str:
        """Return the text of a number, in parentheses if it binds less strongly than ``place``."""
        if operand.truth:
            operand = self.as_number(operand.text)
        return operand.text if operand.strength >= place else f"({operand.text})"

    def at_truth(self, operand: Operand, place: int) -> str:
        """Return the text of a truth value, in parentheses if it binds less strongly than ``place``."""
        if not operand.truth:
            operand = self.as_truth(operand)
        return operand.text if operand.strength >= place else f"({operand.text})"

    # ---------------------------------------------------------------- nodes

    def number(self, value: float) -> Operand:
        """Return a number of any sign."""
        if value != value or abs(value) == float("inf"):
            return Operand(self.special(value))
        if value < 0:
            return Operand(f"-{self.literal(-value)}", SUM)
        return Operand(self.literal(value))

    def node(self, node: Expr, operands: Sequence[Operand], arrival: Mapping[Expr, int]) -> Operand:
        """Return a node as text, its operands given in the order of ``node.args``."""
        if node.kind == "let":
            return operands[0]
        if node.kind == "sum":
            return self.sum(node, operands, arrival)
        if node.kind == "product":
            return self.product(node, operands, arrival)
        return self.call(node, operands)

    def sum(self, node: Expr, operands: Sequence[Operand], arrival: Mapping[Expr, int]) -> Operand:
        constant, coefficients = node.data
        terms = sorted(
            zip(coefficients, node.args, operands, strict=True),
            key=lambda t: (arrival.get(t[1], 0), t[1].kind == "product", t[0] < 0),
        )
        text = self.number(float(constant)).text if constant else ""
        for c, _, operand in terms:
            size = abs(float(c))
            term = (
                self.at(operand, PRODUCT) if size == 1 else f"{self.literal(size)}*{self.at(operand, UNARY)}"
            )
            if text:
                text += f" - {term}" if c < 0 else f" + {term}"
            else:
                text = f"-{term}" if c < 0 else term
        return Operand(text, SUM)

    def product(self, node: Expr, operands: Sequence[Operand], arrival: Mapping[Expr, int]) -> Operand:
        coefficient, exponents = node.data
        above: list[str] = []
        below: list[str] = []
        size = abs(float(coefficient))
        factors = sorted(zip(node.args, exponents, operands, strict=True), key=lambda f: arrival.get(f[0], 0))
        if len(factors) == 1 and coefficient == 1 and factors[0][1] > 0:
            return self.power(factors[0][2], factors[0][1])
        for _, n, operand in factors:
            (above if n > 0 else below).append(self.at(self.power(operand, abs(n)), UNARY))
        if size != 1 or not above:
            above.insert(0, self.literal(size))
        text = "*".join(above)
        if below:
            text = self.quotient(text, below)
        return Operand(f"-{text}", SUM) if coefficient < 0 else Operand(text, PRODUCT)

    def power(self, base: Operand, exponent: float) -> Operand:
        whole = int(exponent)
        if exponent == whole:
            return self.whole_power(base, whole)
        if exponent - whole != 0.5:
            return self.function("pow", [base, self.number(float(exponent))])
        root = self.root(base)
        if not whole:
            return root
        power = self.at(self.whole_power(base, whole), PRODUCT)
        return Operand(f"{power}*{self.at(root, UNARY)}", PRODUCT)

    def call(self, node: Expr, operands: Sequence[Operand]) -> Operand:
        kind = node.data
        if not isinstance(kind, str):
            if isinstance(kind, Piecewise):
                return self.table(kind, operands)
            raise ArmillaryError(
                f"function '{kind.name}' is foreign code, called by its address in this process; it cannot "
                "be exported: write it as a Python function of expressions"
            )
        if kind in self.comparisons:
            left, right = (self.at(a, SUM) for a in operands)
            return Operand(f"{left} {self.comparisons[kind]} {right}", COMPARISON, True)
        if kind in ("and", "or"):
            left, right = (self.at_truth(a, COMPARISON) for a in operands)
            return Operand(f"{left} {self.logic[kind]} {right}", LOGIC, True)
        if kind == "not":
            return Operand(f"{self.negation}{self.at_truth(operands[0], ATOM)}", COMPARISON, True)
        if kind == "select":
            return self.choice(operands[0], operands[1], operands[2])
        return self.function(kind, operands)


def block_names(block: BlockFunction, count: int) -> list[str]:
    """Return names for ``count`` block functions of one name and different sizes."""
    return [block.name, *(f"{block.name}_{k}" for k in range(2, count + 1))]


def _as_factor(text: str) -> str:
    return f"({text})" if "*" in text else text


def nested_polynomial(table: Piecewise) -> str:
    """Return the polynomial of a table's cell with coefficients c, in Horner's form.

    It is a polynomial along the first axis whose coefficients are polynomials along the last axis.
    """
    degrees = table.coefficients.shape[table.arity :]
    inner, step = int(degrees[-1]), f"s{table.arity - 1}"
    rows: list[str] = []
    for row in range(degrees[0] if table.arity == 2 else 1):
        text = f"c[{row * inner + inner - 1}]"
        for power in reversed(range(inner - 1)):
            text = f"({text} * {step} + c[{row * inner + power}])"
        rows.append(text)
    text = rows[-1]
    for lower in reversed(rows[:-1]):
        text = f"({text} * s0 + {lower})"
    return text


# Layout of text: long statements broken into lines, lists of items, long sums split.

# Pieces after which a line may end: each ends with a blank or "*".
_BREAKS = re.compile(r"[^ *]*[ *]|[^ *]+$")


def wrap_statement(text: str, width: int, indent: str, more: str, continued: str = "") -> list[str]:
    """Break a statement into lines at blanks and after "*", never inside "**".

    The first line begins with ``indent``, others with ``more``; all but the last end with ``continued``.
    """
    if len(indent) + len(text) <= width:
        return [indent + text]
    lines: list[str] = []
    line = indent
    room = width - len(continued)
    for piece in _breakable_pieces(text):
        if len(line) + len(piece.rstrip()) > room and line.strip():
            lines.append(line.rstrip() + continued)
            line = more
        line += piece
    return [*lines, line.rstrip()]


def _breakable_pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _BREAKS.findall(text):
        if pieces and pieces[-1].endswith("*") and piece == "*":
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def one_line(text: str) -> str:
    """Return a text in one line without control characters, for a comment or a string."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def column_name(text: str) -> str:
    """Return a name for a string literal: tabs and blanks stay, other control characters become blanks."""
    return "".join(c if c.isprintable() or c == "\t" else " " for c in text)


def bytes_of(text: str) -> int:
    """Return the length of a text in bytes, as compilers count it."""
    return len(text.encode())


def list_items(items: Sequence[str], width: int, indent: str, continued: str = "") -> list[str]:
    """Return lines of items separated by commas; all lines but the last end with ``continued``."""
    lines: list[str] = []
    line = indent
    for place, item in enumerate(items):
        piece = item + (", " if place < len(items) - 1 else "")
        if bytes_of(line) + bytes_of(piece.rstrip()) > width - len(continued) and line.strip():
            lines.append(line.rstrip() + continued)
            line = indent
        line += piece
    return [*lines, line.rstrip()] if items else []


def partial_sums(text: str, longest: int) -> list[str]:
    """Return a long sum cut at its outer signs: the first part, then parts that begin with " + " or " - "."""
    parts: list[str] = []
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place - start > longest and text[place : place + 3] in (" + ", " - "):
            parts.append(text[start:place])
            start = place
    return [*parts, text[start:]]
