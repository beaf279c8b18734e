"""Expressions in JAX: array operations that can be traced, without branches.

Both sides of a choice are evaluated, and differentiated: an infinite derivative on the side that is not taken
would be multiplied by zero, which is NaN. So functions whose derivative is infinite where they are finite,
such as the root of zero, go through helpers that have the derivative zero there. Nothing can be done here for
a side that is itself infinite; the README says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.expression import Expr
from armillary.export.python.printer import PythonPrinter
from armillary.export.text.printing.printer import ATOM, CHOICE, Operand, Printer

_NAMES = {"atan": "arctan", "min": "minimum", "max": "maximum"}
_GUARDED = {"sqrt": "sqrt", "asin": "asin", "acos": "acos", "atan2": "atan2", "pow": "power"}
_LOGIC = {"and": "logical_and", "or": "logical_or", "not": "logical_not"}


class JaxPrinter(PythonPrinter):
    """Functions of jax.numpy, and `where` in place of conditions."""

    keywords = PythonPrinter.keywords | {"jnp", "jax", "lax", "real", "vector", "Array", "guarded"}
    functions = {
        name: f"jnp.{_NAMES.get(name, name)}"
        for name in (
            *("sin", "cos", "tan", "tanh", "atan", "exp", "log", "abs", "sign"),
            *("floor", "ceil", "min", "max", "mod"),
        )
    } | _GUARDED
    specials = ("jnp.nan", "jnp.inf", "(-jnp.inf)")
    truth_number = "jnp.where({}, 1.0, 0.0)"
    choosing = "jnp.where({test}, {yes}, {no})"

    choice, quotient = Printer.choice, Printer.quotient  # not those of Python

    def call(self, node: Expr, operands: Sequence[Operand]) -> Operand:
        if node.data in _LOGIC:  # `and` and `or` cannot be traced
            arguments = ", ".join(self.at_truth(a, CHOICE) for a in operands)
            return Operand(f"jnp.{_LOGIC[node.data]}({arguments})", ATOM, True)
        return super().call(node, operands)
