"""Expressions in Fortran.

Helpers compare reals for equality, since compilers warn of such comparisons. Helpers replace min and max,
too, which Fortran does not define for NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.tables import Piecewise
from armillary.export.text.printer import (
    ATOM,
    CHOICE,
    PRODUCT,
    UNARY,
    Operand,
    Printer,
    bytes_of,
    list_items,
    one_line,
)
from armillary.untyped import Given

# Fortran has no reserved words, but a variable with the name of a function would hide it.
_TAKEN = "dp merge sqrt abs sin cos tan tanh asin acos atan atan2 exp log min max modulo aint real huge"


class FortranPrinter(Printer):
    """Printer of expressions in Fortran."""

    folded = True
    keywords = frozenset(_TAKEN.split())
    functions = {  # noqa: RUF012
        "min": "smaller_of", "max": "larger_of", "sign": "signum",
        "floor": "floored", "ceil": "raised", "mod": "modulo",
    }  # fmt: skip
    comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "equal", "ne": "equal"}  # noqa: RUF012
    logic = {"and": ".and.", "or": ".or."}  # noqa: RUF012
    negation = ".not. "

    specials = (
        "ieee_value(1.0_dp, ieee_quiet_nan)",
        "ieee_value(1.0_dp, ieee_positive_inf)",
        "ieee_value(1.0_dp, ieee_negative_inf)",
    )
    truth_number = "merge(1.0_dp, 0.0_dp, {})"
    choosing = "merge({yes}, {no}, {test})"

    def literal(self, value: float) -> str:
        return f"{float(value)!r}_dp"

    def element(self, array: str, index: int) -> str:
        return f"{array}({index + 1})"

    def as_truth(self, number: Operand) -> Operand:
        return Operand(f"nonzero({self.at(number, CHOICE)})", ATOM, True)

    def function(self, name: str, arguments: Sequence[Operand]) -> Operand:
        if name == "pow":
            base, exponent = (self.at(a, ATOM) for a in arguments)
            return Operand(f"{base}**{exponent}", PRODUCT if base.startswith("-") else UNARY)
        return super().function(name, arguments)

    def call(self, node: Expr, operands: Sequence[Operand]) -> Operand:
        if node.data in ("eq", "ne"):
            text = f"equal({', '.join(self.at(a, CHOICE) for a in operands)})"
            return Operand(text, ATOM, True) if node.data == "eq" else Operand(f"(.not. {text})", ATOM, True)
        return super().call(node, operands)


def table_function(name: str, table: Piecewise, width: int) -> str:
    """Return a lookup table as a function: constants, bisection on each axis, then Horner's rule."""
    arguments = ("x", "y")[: table.arity]
    shape = table.coefficients.shape
    lines = [
        f"  ! Table '{one_line(table.name)}': a piecewise polynomial.",
        f"  pure function {name}({', '.join(arguments)}) result(value)",
        f"    real(dp), intent(in) :: {', '.join(arguments)}",
        "    real(dp) :: value, " + ", ".join(f"d{a}" for a in arguments)
        + (f", row({shape[2]})" if table.arity == 2 else ""),
        "    integer :: " + ", ".join(f"i{a}" for a in arguments) + (", p" if table.arity == 2 else ""),
        "    logical :: beyond",
    ]  # fmt: skip
    for a, breaks in zip(arguments, table.breaks, strict=True):
        lines += _constant(f"{a}_breaks({len(breaks)})", breaks, width)
    # One array per interval of the first axis keeps every statement short.
    flat = table.coefficients.reshape(shape[0], -1)
    cell = flat.shape[1]
    lines.append(f"    real(dp) :: cell({cell})")
    lines.append("    beyond = .false.")
    for a, outside in zip(arguments, table.outside, strict=True):
        lines.append(f"    call piece({a}, {a}_breaks, '{outside}', i{a}, d{a}, beyond)")
    lines.append("    select case (ix)")
    for i, values in enumerate(flat):
        lines.append(f"    case ({i + 1})" if i < len(flat) - 1 else "    case default")
        lines.append("      cell = [ &")
        lines += list_items([literal(v) for v in values], width, " " * 8, " &")
        lines[-1] += "]"
    lines.append("    end select")
    if table.arity == 1:
        lines.append("    value = horner(cell, dx)")
    else:
        degree = shape[3]
        start = f"((iy - 1)*{shape[2]} + p - 1)*{degree}"
        lines += [
            f"    do p = 1, {shape[2]}",
            f"      row(p) = horner(cell({start} + 1:{start} + {degree}), dy)",
        ]
        lines += ["    end do", "    value = horner(row, dx)"]
    lines += ["    if (beyond) value = 0.0_dp", f"  end function {name}"]
    return "\n".join(lines) + "\n"


def literal(value: float) -> str:
    """Return the exact literal of a number."""
    return f"{float(value)!r}_dp"


def _constant(declared: str, values: Given, width: int) -> list[str]:
    lines = [f"    real(dp), parameter :: {declared} = [ &"]
    lines += list_items([literal(v) for v in values], width, " " * 6, " &")
    lines[-1] += "]"
    return lines


# Lines have at most 132 bytes: compilers of Fortran count bytes, not characters, in comments, too.

WIDTH = 130  # most bytes of a line of statements
PIECE = 50  # most bytes of a character constant in a line; quotes are written twice

LONGEST_LINE = 132


def short_lines(text: str) -> str:
    """Return a text whose lines are not too long: a comment at the end of a long line is moved above it.

    Statements and character constants must already be broken into lines.
    """
    return "".join(f"{line}\n" for long in text.splitlines() for line in _shorten_line(long))


def _shorten_line(line: str) -> list[str]:
    if bytes_of(line) <= LONGEST_LINE:
        return [line]
    code, comment = _split_comment(line)
    indent = line[: len(line) - len(line.lstrip())]
    return [*_wrap_comment(comment, f"{indent}! "), *([code.rstrip()] if code.strip() else [])]


def _split_comment(line: str) -> tuple[str, str]:
    """Return a statement and the comment after it."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "!":
            return line[:place], line[place + 1 :].strip()
    return line, ""


def _wrap_comment(comment: str, indent: str) -> list[str]:
    lines: list[str] = []
    line = indent
    for word in comment.split():
        for piece in cut_text(word, LONGEST_LINE - len(indent)):
            if line != indent and bytes_of(line) + bytes_of(piece) > LONGEST_LINE:
                lines.append(line.rstrip())
                line = indent
            line += f"{piece} "
    return [*lines, line.rstrip()] if line != indent else lines


def cut_text(text: str, most: int) -> list[str]:
    """Cut a text into parts of at most ``most`` bytes, never inside a character."""
    found = [""]
    for character in text:
        if bytes_of(found[-1]) + bytes_of(character) > most:
            found.append("")
        found[-1] += character
    return found


def character_constant(text: str) -> str:
    """Return a character constant; a long one in pieces, to limit the length of lines."""
    return "// &\n      ".join("'" + piece.replace("'", "''") + "'" for piece in cut_text(text, PIECE))
