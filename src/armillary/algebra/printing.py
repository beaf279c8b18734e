"""One line of mathematics for an expression: stable, so that tests and people can compare it.

Works on any node with ``kind``, ``args``, ``data``; walks with an explicit stack, so depth does not matter.
A ``let`` node prints as its definition unless ``names`` gives it one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from armillary.algebra.node import Node

# Binding strength: a looser expression inside a tighter place gets parentheses.
SUM, PRODUCT, UNARY, POWER, ATOM = range(5)

OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or"}


Pieces: TypeAlias = list[Any]  # finished texts, and (expression, place) still to be set


def number_text(value: float) -> str:
    """Shortest text that reads back as the same double; whole numbers without a point."""
    if isinstance(value, int) or (value == value and abs(value) < 1e16 and float(value).is_integer()):
        return str(int(value))
    return repr(float(value))


Names: TypeAlias = Mapping[Any, str]  # by nodes of the class of the expression


def text(expression: Node, names: Names | None = None, limit: int | None = None) -> str:
    """The expression as one line, e.g. ``m*(L*cos(q) - x)^2``.

    What the graph shares the text repeats, so it may become exponentially long: ``limit`` stops it after that
    many characters, with dots.
    """
    out: list[str] = []
    length = 0
    stack: Pieces = [(expression, SUM)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            length += len(item)
            if limit is not None and length > limit:
                return "".join(out)[: limit - 3] + "..."
        else:
            stack.extend(reversed(_pieces(item[0], item[1], names or {})))
    return "".join(out)


def _pieces(node: Node, place: int, names: Names) -> Pieces:
    if node in names:
        return [names[node]]
    kind = node.kind
    if kind == "number":
        shown = number_text(node.data)
        return [f"({shown})"] if node.data < 0 and place > SUM else [shown]
    if kind == "symbol":
        return [node.data.name]
    if kind == "let":
        return [(node.args[0], place)]
    if kind == "sum":
        return _add_parentheses(_sum_pieces(node), place > SUM)
    if kind == "product":
        return _product_pieces(node, place)
    return _call_pieces(node, place)


def _add_parentheses(pieces: Pieces, needed: bool) -> Pieces:
    return ["(", *pieces, ")"] if needed else pieces


def _sum_pieces(node: Node) -> Pieces:
    constant, coefficients = node.data
    pieces: Pieces = []
    for coefficient, term in zip(coefficients, node.args, strict=True):
        if pieces:
            pieces.append(" - " if coefficient < 0 else " + ")
        elif coefficient < 0:
            pieces.append("-")
        if abs(coefficient) != 1:
            pieces.append(number_text(abs(coefficient)) + "*")
        pieces.append((term, PRODUCT))
    if constant:
        pieces.append(f" - {number_text(-constant)}" if constant < 0 else f" + {number_text(constant)}")
    return pieces


def _product_pieces(node: Node, place: int) -> Pieces:
    coefficient, exponents = node.data
    above: list[Pieces] = []
    below: list[Pieces] = []
    for base, exponent in zip(node.args, exponents, strict=True):
        (below if exponent < 0 else above).append(_power_pieces(base, abs(exponent)))
    pieces: Pieces = ["-"] if coefficient < 0 else []
    size = abs(coefficient)
    if size != 1 or not above:
        above.insert(0, [number_text(size)])
    for i, factor in enumerate(above):
        pieces += (["*"] if i else []) + factor
    if below:
        pieces.append("/")
        inside: Pieces = []
        for i, factor in enumerate(below):
            inside += (["*"] if i else []) + factor
        pieces += _add_parentheses(inside, len(below) > 1)
    return _add_parentheses(pieces, place > PRODUCT or (coefficient < 0 and place == PRODUCT))


def _power_pieces(base: Node, exponent: float) -> Pieces:
    if exponent == 0.5:
        return ["sqrt(", (base, SUM), ")"]
    if exponent == 1:
        return [(base, UNARY)]
    shown = number_text(exponent)
    return [(base, ATOM), "^" + (shown if float(exponent).is_integer() else f"({shown})")]


def _call_pieces(node: Node, place: int) -> Pieces:
    name = node.data if isinstance(node.data, str) else node.data.name
    if name in OPERATORS:
        left, right = node.args
        pieces: Pieces = [(left, UNARY), f" {OPERATORS[name]} ", (right, UNARY)]
        return _add_parentheses(pieces, place > SUM or name in ("and", "or"))
    if name == "not":
        return _add_parentheses(["not ", (node.args[0], UNARY)], place > SUM)
    if name == "pow":
        return _add_parentheses([(node.args[0], ATOM), "^", (node.args[1], ATOM)], place == ATOM)
    pieces = [name + "("]
    for i, argument in enumerate(node.args):
        pieces += ([", "] if i else []) + [(argument, SUM)]
    return [*pieces, ")"]
