"""Expressions in Python.

Numbers are floats, whose arithmetic is that of the compiled code; but where IEEE 754 has infinities and NaN,
Python raises exceptions, even for a value that a condition then leaves aside. So divisions and functions go
through helpers that return the values of the standard.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from armillary.export.text.printing.printer import CHOICE, LOGIC, SUM, Operand, Printer


class PythonPrinter(Printer):
    """Python's way of writing expressions."""

    keywords = frozenset(
        (*keyword.kwlist, "math", "abs", "min", "max", "range", "list", "tuple", "lookup", "div")
    )
    functions = {  # noqa: RUF012
        **{name: name for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "exp", "log", "sign", "abs")},
        "atan": "math.atan", "atan2": "math.atan2", "pow": "power", "min": "least", "max": "most",
        "tanh": "math.tanh", "floor": "floor", "ceil": "ceil", "mod": "modulo",
    }  # fmt: skip
    logic = {"and": "and", "or": "or"}  # noqa: RUF012
    negation = "not "
    specials = ('float("nan")', 'float("inf")', 'float("-inf")')
    truth_number = "float({})"

    def choice(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        text = f"{self.at(yes, SUM)} if {self.at_truth(condition, LOGIC)} else {self.at(no, SUM)}"
        return Operand(text, CHOICE)

    def quotient(self, above: str, below: Sequence[str]) -> str:
        return f"div({bare(above)}, {bare(below[0]) if len(below) == 1 else '*'.join(below)})"


def bare(text: str) -> str:
    """Text without parentheses around the whole of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text
