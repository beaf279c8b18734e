r"""LaTeX of an expression: ``m*L^2/(2*k)`` becomes ``\frac{m\,L^{2}}{2\,k}``.

Works, as printing.py does, on any node with ``kind``, ``args``, ``data``, with an explicit stack. Names
become mathematics: omega1 is ω with the subscript 1, A.q1 is q₁ with A as a superscript, k_front is k with
"front" as a subscript. A ``let`` shows its definition.
"""

from __future__ import annotations

import re
from typing import Any

from armillary.algebra.printing import ATOM, POWER, PRODUCT, SUM, UNARY, number_text

_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu",
    "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
}  # fmt: skip

_FUNCTIONS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan",
    "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "exp": r"\exp",
    "log": r"\ln", "min": r"\min", "max": r"\max", "sign": r"\operatorname{sgn}",
}  # fmt: skip
_RAISED = ("sin", "cos", "tan")  # written sin²(x), not sin(x)²

_OPERATORS = {
    "lt": " < ", "le": r" \le ", "gt": " > ", "ge": r" \ge ", "eq": " = ", "ne": r" \ne ",
    "and": r" \land ", "or": r" \lor ",
}  # fmt: skip

_SPECIAL = str.maketrans({c: "\\" + c for c in "_%&#${}"})


def latex(expression: Any, limit: int | None = None) -> str:
    """The expression in LaTeX, without dollar signs; empty if longer than ``limit`` characters."""
    out: list[str] = []
    length = 0
    stack: list[Any] = [(expression, SUM)]
    while stack:
        item = stack.pop()
        if not isinstance(item, str):
            stack.extend(reversed(_pieces(item[0], item[1])))
            continue
        out.append(item)
        length += len(item)
        if limit is not None and length > limit:
            return ""
    return "".join(out)


def name_latex(name: str) -> str:
    """A name as mathematics, e.g. ``A.q1`` as ``q_{1}^{A}``."""
    *owners, own = name.split(".")
    head, *subscripts = [part for part in own.split("_") if part] or [own]
    found = re.fullmatch(r"([^\d]+)(\d+)", head) or re.fullmatch(r"([a-z])([A-Z]\w*)", head)  # q1, mB
    if found:
        head, first = found.groups()
        subscripts.insert(0, first)
    result = _word(head)
    if subscripts:
        result += "_{" + ",".join([_word(part) for part in subscripts]) + "}"
    if owners:
        result += "^{" + ".".join([_word(part) for part in owners]) + "}"
    return result


def _word(word: str) -> str:
    if word in _GREEK:
        return "\\" + word
    if len(word) == 1 or word.isdigit():
        return word.translate(_SPECIAL)
    return r"\mathrm{" + word.translate(_SPECIAL) + "}"


def _number(value: float) -> str:
    shown = number_text(value)
    if "e" not in shown:
        return shown
    mantissa, exponent = shown.split("e")
    ten = "10^{" + str(int(exponent)) + "}"
    return {"1": "", "-1": "-"}[mantissa] + ten if mantissa in ("1", "-1") else mantissa + r" \cdot " + ten


def _pieces(node: Any, place: int) -> list[Any]:
    kind = node.kind
    if kind == "number":
        shown = _number(node.data)
        return _wrapped([shown], (node.data < 0 and place > SUM) or (place == ATOM and "^" in shown))
    if kind == "symbol":
        shown = name_latex(node.data.name)
        return _wrapped([shown], place == ATOM and "^" in shown)
    if kind == "let":
        return [(node.args[0], place)]
    if kind == "sum":
        return _wrapped(_sum_pieces(node), place > SUM)
    if kind == "product":
        return _product_pieces(node, place)
    return _call_pieces(node, place)


def _wrapped(pieces: list[Any], needed: bool) -> list[Any]:
    return [r"\left(", *pieces, r"\right)"] if needed else pieces


def _sum_pieces(node: Any) -> list[Any]:
    constant, coefficients = node.data
    pieces: list[Any] = []
    for coefficient, term in zip(coefficients, node.args, strict=True):
        if pieces:
            pieces.append(" - " if coefficient < 0 else " + ")
        elif coefficient < 0:
            pieces.append("-")
        if abs(coefficient) != 1:
            pieces.append(_number(abs(coefficient)) + r"\,")
        pieces.append((term, PRODUCT))
    if constant:
        pieces += [" - " if constant < 0 else " + ", _number(abs(constant))]
    return pieces


def _product_pieces(node: Any, place: int) -> list[Any]:
    coefficient, exponents = node.data
    above: list[list[Any]] = []
    below: list[list[Any]] = []
    for base, exponent in zip(node.args, exponents, strict=True):
        (below if exponent < 0 else above).append(_power_pieces(base, abs(exponent)))
    if abs(coefficient) != 1 or not above:
        above.insert(0, [_number(abs(coefficient))])
    pieces = _joined(above)
    if below:
        pieces = [r"\frac{", *pieces, "}{", *_joined(below), "}"]
    if coefficient < 0:
        pieces.insert(0, "-")
    return _wrapped(pieces, place > PRODUCT or (coefficient < 0 and place == PRODUCT))


def _joined(factors: list[list[Any]]) -> list[Any]:
    pieces: list[Any] = []
    for i, factor in enumerate(factors):
        pieces += ([r"\,"] if i else []) + factor
    return pieces


def _power_pieces(base: Any, exponent: float) -> list[Any]:
    if exponent == 1:
        return [(base, UNARY)]
    if exponent == 0.5:
        return [r"\sqrt{", (base, SUM), "}"]
    raised = "^{" + _number(exponent) + "}"
    if base.kind == "call" and base.data in _RAISED:
        return [_FUNCTIONS[base.data] + raised, r"\left(", (base.args[0], SUM), r"\right)"]
    return [(base, ATOM), raised]


def _call_pieces(node: Any, place: int) -> list[Any]:
    name = node.data if isinstance(node.data, str) else None
    args = node.args
    if name in _OPERATORS:
        return _wrapped([(args[0], UNARY), _OPERATORS[name], (args[1], UNARY)], place > SUM)
    if name == "not":
        return _wrapped([r"\lnot ", (args[0], UNARY)], place > SUM)
    if name == "pow":
        return _wrapped([(args[0], ATOM), "^{", (args[1], SUM), "}"], place >= POWER)
    if name == "abs":
        return [r"\left|", (args[0], SUM), r"\right|"]
    if name == "select":
        condition, then, otherwise = args
        first = [(then, SUM), r" & \text{if } ", (condition, SUM), r" \\ "]
        return [r"\begin{cases} ", *first, (otherwise, SUM), r" & \text{otherwise} \end{cases}"]
    pieces: list[Any] = [_FUNCTIONS.get(name or "") or _operator_name(name or node.data.name), r"\left("]
    for i, argument in enumerate(args):
        pieces += ([", "] if i else []) + [(argument, SUM)]
    return [*pieces, r"\right)"]


def _operator_name(name: str) -> str:
    return r"\operatorname{" + name.translate(_SPECIAL) + "}"
