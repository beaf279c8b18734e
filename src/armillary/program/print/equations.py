"""M u̇ = f set in a notation: a list of equations, each a finished text of LaTeX or MathML."""

from __future__ import annotations

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import ZERO, Expr, scale, symbol, total
from armillary.algebra.notation.printing import text
from armillary.algebra.notation.typesetting import Notation
from armillary.errors import ModelError
from armillary.program.print.forms import FORMS
from armillary.program.print.textbook import Textbook

_WIDE = 64  # characters of a matrix's widest row, as plain text, up to which it is printed as a matrix
_LONG = 90  # characters of an equation's right side, as plain text, up to which it stands on one line


def equations(book: Textbook, notation: Notation, form: str = FORMS[0]) -> list[str]:
    """The equations of motion.

    "M u' = f" has the mass matrix and f by causes; "M u' + h = Q" keeps the velocity terms h on the left;
    "rows" is one equation per speed.
    """
    one_of(form, FORMS, "there is no form ", ModelError)
    if form == "rows":
        return _rows(book, notation)
    n = notation
    rates = n.matrix([[n.typeset(rate)] for rate in book.rates])
    with_h = form == FORMS[1]
    right = "Q" if with_h else "f"
    left = f"{n.bold('M')}{n.space}{rates}" + (f"{n.plus}{n.bold('h')}" if with_h else "")
    found = [f"{left}{n.equals}{n.bold(right)}", *_matrix(book, n)]
    if with_h:
        found += [n.name(f"h_{i}") + n.equals + n.typeset(x) for i, x in enumerate(book.coriolis, start=1)]
    return found + _forces(book, n, right, with_h)


def definitions(book: Textbook, notation: Notation) -> list[str]:
    """Intermediate values of equations that are too long to be written out."""
    return [
        f"{notation.typeset(name)}{notation.equals}{notation.typeset(value)}"
        for name, value in book.definitions
    ]


def kinematics(book: Textbook, notation: Notation) -> list[str]:
    """q̇ of every coordinate that is not a speed itself."""
    return [
        f"{notation.typeset(dot)}{notation.equals}{notation.typeset(rate)}" for dot, rate in book.kinematics
    ]


def _matrix(book: Textbook, n: Notation) -> list[str]:
    """M as a matrix where it fits, else element by element, the upper half."""
    rows = book.mass_matrix
    if max(sum(len(text(x, limit=_WIDE)) for x in row) for row in rows) <= _WIDE:
        return [n.bold("M") + n.equals + n.matrix([[n.typeset(x) for x in row] for row in rows])]
    found = []
    for i, row in enumerate(rows):
        for j in range(i, len(rows)):
            if row[j] is not ZERO:
                found.append(n.typeset(_element("M", i, j, len(rows))) + n.equals + n.typeset(row[j]))
    return found


def _element(name: str, i: int, j: int, count: int) -> Expr:
    apart = "_" if count > 9 else ""
    return symbol(f"{name}_{i + 1}{apart}{j + 1}", "variable")


def _forces(book: Textbook, n: Notation, name: str, with_h: bool) -> list[str]:
    causes = book.causes if with_h else book.forcing
    return [
        _by_causes(n.name(f"{name}_{i + 1}"), {k: v[i] for k, v in causes.items()}, n)
        for i in range(len(book.speeds))
    ]


def _rows(book: Textbook, n: Notation) -> list[str]:
    found = []
    for i, row in enumerate(book.mass_matrix):
        left = total([(1, x * rate) for x, rate in zip(row, book.rates, strict=True)])
        found.append(_by_causes(n.typeset(left), {name: v[i] for name, v in book.forcing.items()}, n))
    return found


def _by_causes(left: str, terms: dict[str, Expr], n: Notation) -> str:
    """An equation whose terms have their causes below them, on one line or one line each; a single negative
    term has its sign before the brace.
    """
    lines: list[str] = []
    length = 0
    for name, term in terms.items():
        if term is ZERO:
            continue
        turned = scale(term, -1)
        negative = term.kind == "product" and term.data[0] < 0 and turned.kind != "sum"
        sign = (n.minus if lines else n.negative) if negative else (n.plus if lines else "")
        lines.append(sign + n.labelled(n.typeset(turned if negative else term), name))
        length += len(text(term, limit=_LONG))
    if length > _LONG and len(lines) > 1:
        return n.broken(left, lines)
    return left + n.equals + ("".join(lines) or n.plain("0"))
