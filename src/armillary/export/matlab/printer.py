"""Expressions in MATLAB.

There is no choice inside an expression, min and max leave out NaN, and roots and logarithms of negative
numbers are complex: for these there are helpers, written at the end of each file that needs them.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.block_functions import BlockFunction
from armillary.algebra.tables import Piecewise
from armillary.export.text.printer import Operand, Printer, list_items, one_line

KEYWORDS = (
    "break case catch classdef continue else elseif end for function global if otherwise parfor persistent "
    "return spmd switch try while do until end_try_catch endif endwhile endfor endfunction unwind_protect"
)
# Functions that generated files call: a variable of such a name would hide them.
_CALLED = (
    "double sin cos tan tanh atan atan2 exp abs floor ceil rem Inf NaN true false zeros setdiff fieldnames "
    "isempty isnan error"
)


class MatlabPrinter(Printer):
    """MATLAB's way of writing expressions; ``package`` is where the functions of tables are."""

    keywords = frozenset(f"{KEYWORDS} {_CALLED}".split())
    functions = {  # noqa: RUF012
        "sqrt": "root", "log": "logarithm", "asin": "arcsine", "acos": "arccosine", "pow": "real_power",
        "min": "least", "max": "most", "sign": "signum", "mod": "modulo",
    }  # fmt: skip
    comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "~="}  # noqa: RUF012
    negation = "~"
    specials = ("NaN", "Inf", "(-Inf)")
    truth_number = "double({})"
    choosing = "choose({test}, {yes}, {no})"

    def __init__(self, package: str) -> None:
        super().__init__()
        self.package = package

    def element(self, array: str, index: int) -> str:
        return f"{array}({index + 1})"

    def block(self, block: BlockFunction) -> str:
        return f"{self.package}.{super().block(block)}"

    def table(self, table: Piecewise, arguments: Sequence[Operand]) -> Operand:
        return Operand(f"{self.package}.{super().table(table, arguments).text}")


def table_function(name: str, table: Piecewise, width: int) -> str:
    """Return a lookup table as a function file: its data, then the lookup."""
    arguments = ("x", "y")[: table.arity]
    lines = [
        f"function value = {name}({', '.join(arguments)})",
        f"% Table '{one_line(table.name)}': a piecewise polynomial.",
    ]
    lines.append("persistent breaks coefficients")
    lines.append("if isempty(breaks)")
    lines.append("  breaks = {};")
    for a, places in enumerate(table.breaks):
        lines += [
            f"  breaks{{{a + 1}}} = [ ...",
            *list_items([repr(float(v)) for v in places], width, " " * 4, " ..."),
        ]
        lines[-1] += "];"
    # One matrix per cell: rows are powers of the first argument, columns of the last.
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cells = table.coefficients.reshape(-1, *((1, *degrees) if table.arity == 1 else degrees))
    for i, cell in enumerate(cells):
        rows = "; ".join(" ".join(repr(float(v)) for v in row) for row in cell)
        lines.append(f"  coefficients{{{i + 1}}} = [{rows}];")
    outside = ", ".join(f"'{o}'" for o in table.outside)
    lines += ["end", f"value = lookup(breaks, coefficients, {{{outside}}}, [{', '.join(arguments)}]);", "end"]
    return "\n".join(lines) + "\n"
