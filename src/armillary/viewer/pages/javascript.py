"""Expressions as functions of JavaScript, for pages that compute a geometry themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first
from armillary.errors import ArmillaryError
from armillary.export.text.printer import CHOICE, Operand, Printer

_SAME = (
    "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "abs", "sign", "min",
    "max", "floor", "ceil", "pow",
)  # fmt: skip


class JavaScriptPrinter(Printer):
    """JavaScript's way of writing expressions, that of the C family except for the names of functions."""

    functions = {  # noqa: RUF012
        **{name: f"Math.{name}" for name in _SAME},
        "mod": "((a, b) => a - b * Math.floor(a / b))",
    }
    specials = ("NaN", "Infinity", "-Infinity")


def javascript_function(name: str, results: Sequence[Expr], values: Mapping[Expr, str]) -> str:
    """A function of ``q``, an array, that returns all results; ``values`` holds the text of each symbol."""
    printer = JavaScriptPrinter()
    texts: dict[Expr, Operand] = {}
    lines: list[str] = []
    for node in operands_first(results):
        if node.kind == "symbol":
            if node not in values:
                raise ArmillaryError(f"'{node.data.name}' has no value that a page could compute")
            texts[node] = Operand(values[node])
        elif node.kind == "number":
            texts[node] = printer.number(float(node.data))
        else:
            made = printer.node(node, [texts[a] for a in node.args], {})
            lines.append(f"const z{len(lines)} = {made.text};")
            texts[node] = Operand(f"z{len(lines) - 1}", truth=made.truth)
    if printer.tables:
        raise ArmillaryError("a geometry that depends on a table cannot be computed by a page")
    shown = ", ".join(printer.at(texts[e], CHOICE) for e in results)
    return "\n".join([f"function {name}(q) {{", *lines, f"return [{shown}];", "}"])
