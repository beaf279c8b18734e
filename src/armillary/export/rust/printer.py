"""Expressions and lookup tables in Rust."""

from __future__ import annotations

import numpy as np

from armillary.algebra.tables import Piecewise
from armillary.export.text.printer import (
    CHOICE,
    SUM,
    Operand,
    Printer,
    nested_polynomial,
    one_line,
    wrap_statement,
)

_WORDS = """
as async await break const continue crate dyn else enum extern false fn for gen if impl in let loop match
mod move mut pub ref return self Self static struct super trait true type unsafe use where while abstract
become box do final macro override priv try typeof unsized virtual yield Real Run run f32 f64 i32 i64 usize
bool main core std sqrt tan asin acos atan atan2 exp log pow tanh floor ceil hypot math model solver
sine_cosine
"""


class RustPrinter(Printer):
    """Rust: `if` is an expression, sines and cosines come in pairs."""

    keywords = frozenset(_WORDS.split())
    paired_angles = 1
    functions = {  # noqa: RUF012
        "sin": "sine", "cos": "cosine", "abs": "absolute", "min": "lesser", "max": "greater",
        "sign": "sign_of", "mod": "modulo",
    }  # fmt: skip
    specials = ("Real::NAN", "Real::INFINITY", "(-Real::INFINITY)")
    truth_number = "(if {} {{ 1.0 }} else {{ 0.0 }})"

    def __init__(self, precision: str) -> None:
        super().__init__()
        self.single = precision == "single"

    def literal(self, value: float) -> str:
        if not self.single:
            return repr(float(value))
        with np.errstate(over="ignore"):
            text = str(np.float32(value))
        if text == "inf":  # rustc refuses a literal beyond the largest number
            return "Real::INFINITY"
        return text if "." in text or "e" in text else f"{text}.0"

    def choice(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        test, first, second = self.at_truth(condition, CHOICE), self.at(yes, SUM), self.at(no, SUM)
        return Operand(f"if {test} {{ {first} }} else {{ {second} }}", CHOICE)


def lookup_function(name: str, table: Piecewise, printer: Printer) -> str:
    """Return a table as a function: bisection on each axis, then Horner's rule."""
    axes = range(table.arity)
    lines = [f"/// Table '{one_line(table.name)}': a polynomial in each interval between its breaks."]
    lines.append(f"fn {name}({', '.join(f'x{a}: Real' for a in axes)}) -> Real {{")
    arrays = {f"BREAKS{a}": table.breaks[a] for a in axes} | {"COEFFICIENTS": np.ravel(table.coefficients)}
    for array, values in arrays.items():
        items = ", ".join(printer.number(float(v)).text for v in values)
        text = f"static {array}: [Real; {len(values)}] = [{items}];"
        lines += wrap_statement(text, 110, "    ", "        ")
    for a in axes:
        first, last = (printer.number(float(table.breaks[a][k])).text for k in (0, -1))
        held = f"if x{a} < {first} {{ {first} }} else if x{a} > {last} {{ {last} }} else {{ x{a} }}"
        lines += [
            f"    let inside{a} = {held if table.outside[a] == 'clamp' else f'x{a}'};",
            f"    let (mut i{a}, mut end) = (0, {len(table.breaks[a]) - 1});",
            f"    while end - i{a} > 1 {{",
            f"        let middle = (i{a} + end) / 2;",
            f"        if inside{a} >= BREAKS{a}[middle] {{ i{a} = middle }} else {{ end = middle }}",
            "    }",
            f"    let s{a} = inside{a} - BREAKS{a}[i{a}];",
        ]
    return "\n".join([*lines, *_horner(table), "    value", "}", ""])


def _horner(table: Piecewise) -> list[str]:
    """Along the last axis for each power of the first, then along the first."""
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cell = int(np.prod(degrees))
    place = "i0" if table.arity == 1 else f"(i0 * {shape[1]} + i1)"
    lines = [f"    let c = &COEFFICIENTS[{place} * {cell}..{place} * {cell} + {cell}];"]
    lines.append(f"    let mut value = {nested_polynomial(table)};")
    for a in range(table.arity):
        if degrees[a] == 1:  # a constant piece would not notice NaN
            lines.append(f"    if x{a} != x{a} {{ value = x{a} }}")
        if table.outside[a] == "zero":
            first, last = (repr(float(table.breaks[a][k])) for k in (0, -1))
            lines.append(f"    if x{a} < {first} || x{a} > {last} {{ value = 0.0 }}")
    return lines
