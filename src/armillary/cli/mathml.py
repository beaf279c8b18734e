"""MathML of an expression, which browsers show without any script; the twin of `algebra/latex.py`.

Works on any node with ``kind``, ``args``, ``data``, with an explicit stack, however deep the expression is.
"""

from __future__ import annotations

import re
from html import escape
from html.entities import name2codepoint
from typing import Any

from armillary.algebra.printing import ATOM, POWER, PRODUCT, SUM, UNARY, number_text

_SPACE = '<mspace width="0.17em"/>'  # between factors, so that names do not run together
_GREEK = range(0x391, 0x3CA)  # Α to ω

_OPERATORS = {"lt": "&lt;", "le": "≤", "gt": "&gt;", "ge": "≥", "eq": "=", "ne": "≠", "and": "∧", "or": "∨"}
_FUNCTIONS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln", "sign": "sgn"}


def mathml(expression: Any) -> str:
    """The inside of a ``<math>`` element."""
    out: list[str] = []
    stack: list[Any] = [(expression, SUM)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend(reversed(_pieces(*item)))
    return "".join(out)


def name_mathml(name: str) -> str:
    """A name as mathematics: A.q1 is q with the subscript 1 and A as a superscript, A.q1' its rate, q̇."""
    *owners, own = name.removesuffix("'").split(".")
    head, *below = [part for part in own.split("_") if part] or [own]
    found = re.fullmatch(r"([^\d]+)(\d+)", head)
    if found:
        head, first = found.groups()
        below.insert(0, first)
    base = _word(head)
    if name.endswith("'"):
        base = f'<mover accent="true">{base}<mo>˙</mo></mover>'
    sub = "<mo>,</mo>".join(map(_word, below))
    above = _word(".".join(owners)) if owners else ""
    if sub and above:
        return f"<msubsup>{base}<mrow>{sub}</mrow>{above}</msubsup>"
    if sub:
        return f"<msub>{base}<mrow>{sub}</mrow></msub>"
    return f"<msup>{base}{above}</msup>" if above else base


def _word(word: str) -> str:
    if word.isdigit():
        return f"<mn>{word}</mn>"
    letter = name2codepoint.get(word, 0)  # of names such as omega
    return f"<mi>{chr(letter) if letter in _GREEK else escape(word)}</mi>"


def _number(value: float) -> str:
    text = number_text(value)
    if "e" not in text:
        return f"<mn>{text}</mn>"
    mantissa, exponent = text.split("e")
    ten = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>"
    return f"<mn>{mantissa}</mn><mo>·</mo>{ten}"


def _pieces(node: Any, place: int) -> list[Any]:
    if node.kind == "number":
        return _wrapped([_number(node.data)], node.data < 0 and place > SUM)
    if node.kind == "symbol":
        return [name_mathml(node.data.name)]
    if node.kind == "let":
        return [(node.args[0], place)]
    if node.kind == "sum":
        return _wrapped(_sum(node), place > SUM)
    return _product(node, place) if node.kind == "product" else _call(node, place)


def _wrapped(pieces: list[Any], needed: bool) -> list[Any]:
    return ["<mrow><mo>(</mo>", *pieces, "<mo>)</mo></mrow>"] if needed else ["<mrow>", *pieces, "</mrow>"]


def _sum(node: Any) -> list[Any]:
    constant, coefficients = node.data
    pieces: list[Any] = []
    for coefficient, term in zip(coefficients, node.args, strict=True):
        if pieces or coefficient < 0:
            pieces.append("<mo>−</mo>" if coefficient < 0 else "<mo>+</mo>")
        if abs(coefficient) != 1:
            pieces.append(_number(abs(coefficient)) + _SPACE)
        pieces.append((term, PRODUCT))
    if constant:
        pieces += ["<mo>−</mo>" if constant < 0 else "<mo>+</mo>", _number(abs(constant))]
    return pieces


def _product(node: Any, place: int) -> list[Any]:
    coefficient, exponents = node.data
    factors = list(zip(node.args, exponents, strict=True))
    fraction = any(n < 0 for n in exponents)
    parts: list[list[Any]] = []
    for below in (False, True):
        side = [(base, abs(n)) for base, n in factors if (n < 0) == below]
        number = not below and (abs(coefficient) != 1 or not side)
        alone = SUM if fraction and len(side) == 1 and not number else UNARY
        texts = [[_number(abs(coefficient))]] if number else []
        texts += [_power(base, n, alone) for base, n in side]
        parts.append([piece for i, text in enumerate(texts) for piece in ([_SPACE] if i else []) + text])
    above, under = parts
    pieces = ["<mfrac><mrow>", *above, "</mrow><mrow>", *under, "</mrow></mfrac>"] if under else above
    if coefficient < 0:
        pieces = ["<mo>−</mo>", *pieces]
    return _wrapped(pieces, place > PRODUCT or (coefficient < 0 and place == PRODUCT))


def _power(base: Any, exponent: float, place: int) -> list[Any]:
    if exponent == 1:
        return [(base, place)]
    if exponent == 0.5:
        return ["<msqrt>", (base, SUM), "</msqrt>"]
    return ["<msup><mrow>", (base, ATOM), f"</mrow>{_number(exponent)}</msup>"]


def _call(node: Any, place: int) -> list[Any]:
    name = node.data if isinstance(node.data, str) else None
    args = node.args
    if name in _OPERATORS:
        return _wrapped([(args[0], UNARY), f"<mo>{_OPERATORS[name]}</mo>", (args[1], UNARY)], place > SUM)
    if name == "pow":
        pieces = ["<msup><mrow>", (args[0], ATOM), "</mrow><mrow>", (args[1], SUM), "</mrow></msup>"]
        return _wrapped(pieces, place >= POWER)
    if name == "abs":
        return ["<mrow><mo>|</mo>", (args[0], SUM), "<mo>|</mo></mrow>"]
    shown = _FUNCTIONS.get(name or "", name or str(getattr(node.data, "name", "f")))
    pieces = [f"<mrow><mi>{escape(shown)}</mi><mo>⁡</mo><mo>(</mo>"]
    for i, argument in enumerate(args):
        pieces += ["<mo>,</mo>"] if i else []
        pieces.append((argument, SUM))
    return [*pieces, "<mo>)</mo></mrow>"]
