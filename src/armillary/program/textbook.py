"""M u̇ = f printed with the symbols and in the form of a textbook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html.entities import name2codepoint
from typing import NamedTuple

from armillary.algebra.arguments import checked_names, one_of, table, text
from armillary.algebra.expression import ZERO, Expr, scale, symbol, total
from armillary.algebra.node import text as expression_text
from armillary.algebra.textbook_form import collect_textbook_terms
from armillary.algebra.typesetting import GREEK, Notation, name_parts
from armillary.algebra.walk import symbols, transform
from armillary.errors import ModelError
from armillary.program.equations import assigned_names, in_steps
from armillary.program.pieces import Pieces
from armillary.program.program import section

FORMS = ("M u' = f", "M u' + h = Q", "rows")  # h: velocity terms on the left side
SPEEDS = ("u", "q'")  # q': speeds that are rates of coordinates are printed as rates
NAMES = ("short", "full")  # numbered symbols, or the model's names


# M u̇ = f with a textbook's symbols: q₁, u₁, s₁ for sin q₁, c₁₂ for cos(q₁ + q₂).

_GREEK_NAMES = {chr(name2codepoint[word]): word for word in GREEK}


class SymbolEntry(NamedTuple):
    """A printed symbol, and the quantity of the model that it represents."""

    symbol: Expr
    stands_for: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Textbook:
    """The parts of M u̇ = f as expressions to be printed.

    Terms are collected. If this makes them too long to read, they are printed as the formalism made them,
    with intermediate values (``definitions``).
    """

    coordinates: tuple[SymbolEntry, ...]
    speeds: tuple[SymbolEntry, ...]
    rates: tuple[Expr, ...]  # u̇ or q̈, as symbols
    kinematics: tuple[tuple[Expr, Expr], ...]  # (q̇ as a symbol, its value) unless both are the same symbol
    mass_matrix: tuple[tuple[Expr, ...], ...]
    coriolis: tuple[Expr, ...]
    causes: dict[str, tuple[Expr, ...]]  # terms of f by cause, without velocity terms
    definitions: tuple[tuple[Expr, Expr], ...] = ()  # intermediate values, in order

    @property
    def forcing(self) -> dict[str, tuple[Expr, ...]]:
        """Nonzero causes of f, with their signs."""
        velocity = {"velocity": tuple(scale(c, -1) for c in self.coriolis)}
        every = velocity | self.causes
        return {name: row for name, row in every.items() if any(x is not ZERO for x in row)}


def textbook(
    pieces: Pieces, *, speeds: str = "u", names: str = "short", symbols: Mapping[str, str] | None = None
) -> Textbook:
    """Return pieces as expressions to be printed.

    ``symbols`` are the user's symbols of coordinates and speeds by name, {"pole.q1": "theta"}. Sines of these
    coordinates are not abbreviated, and a speed that is the rate of such a coordinate is printed as its
    symbol with a dot. ``speeds="q'"`` prints q̇ for every speed that is the rate of a coordinate.
    ``names="full"`` keeps the model's names, A.q1 as q₁ with the superscript A, and does not abbreviate sines
    and cosines; "short" numbers coordinates and speeds.
    """
    one_of(speeds, SPEEDS, "there is no way to write speeds ", ModelError)
    one_of(names, NAMES, "there is no kind of names ", ModelError)
    rates = [pieces.plain(pieces.system.rates[q]) for q in pieces.reduction.coordinates(pieces.system)]
    causes = {name: tuple(v) for name, v in pieces.causes.items() if name != "velocity"}
    mass = [x for row in pieces.mass_matrix for x in row]
    roots = [*mass, *pieces.coriolis, *(x for v in causes.values() for x in v), *rates]
    found = collect_textbook_terms(roots)
    intermediate: list[tuple[Expr, Expr]] = []
    if found is None:
        found, intermediate = _in_steps(roots)
    values = [value for _, value in intermediate]
    used = _Symbols(pieces, [*found, *values], rates, by_rates=speeds == "q'",
                    short=names == "short", own=own_symbols(pieces, symbols))  # fmt: skip
    printed = iter(used.print_roots(found))
    n = len(pieces.speeds)
    matrix = tuple(tuple(next(printed) for _ in range(n)) for _ in range(n))
    coriolis = tuple(next(printed) for _ in range(n))
    forces = {name: tuple(next(printed) for _ in range(n)) for name in causes}
    dots = [_rate_variable(q) for q in used.coordinates]
    return Textbook(
        tuple(map(SymbolEntry, used.coordinates, pieces.coordinates)),
        tuple(map(SymbolEntry, used.speeds, pieces.speeds)),
        tuple(map(_rate_variable, used.speeds)),
        tuple((dot, rate) for dot, rate in zip(dots, printed, strict=True) if dot is not rate),
        matrix,
        coriolis,
        forces,
        tuple(zip([name for name, _ in intermediate], used.print_roots(values), strict=True)),
    )


def _in_steps(roots: Sequence[Expr]) -> tuple[list[Expr], list[tuple[Expr, Expr]]]:
    """Return the roots with symbols for intermediate values, and (symbol, definition) of each, in order."""
    whole = section("", [""] * len(roots), roots)
    names = {node: name for node, name in assigned_names(whole).items() if not _is_trig(node)}
    steps, results = in_steps(whole.results, names)
    return results, steps


def _is_trig(node: Expr) -> bool:
    return node.kind == "call" and node.data in ("sin", "cos") and node.args[0].kind == "symbol"


class _Symbols:
    """The symbols of coordinates, speeds, sines and cosines."""

    def __init__(
        self, pieces: Pieces, roots: Sequence[Expr], rates: Sequence[Expr], *, by_rates: bool, short: bool,
        own: Mapping[str, Expr],
    ) -> None:  # fmt: skip
        moving = {*pieces.coordinates, *pieces.speeds}
        others = {_shape(s.data.name) for s in symbols(*roots) if s not in moving}
        if twice := [name for name, s in own.items() if _shape(s.data.name) in others]:
            raise ModelError(
                f"symbols=: '{own[twice[0]].data.name}' of '{twice[0]}' is the symbol of another quantity in "
                "the equations; choose another"
            )
        short = short and not any(_looks_like_coordinate(shape) for shape in others)
        self.short = short
        self.coordinates = [
            own.get(q.data.name, _variable(f"q_{i}") if short else q)
            for i, q in enumerate(pieces.coordinates, start=1)
        ]
        named = {s for s in self.coordinates if s in own.values()}
        paired = zip(rates, self.coordinates, strict=True)
        of = {rate: q for rate, q in paired if by_rates or q in named}
        self.speeds = [
            own.get(u.data.name, _rate_variable(of[u]) if u in of else _variable(f"u_{i}") if short else u)
            for i, u in enumerate(pieces.speeds, start=1)
        ]
        self._known = dict(zip(pieces.coordinates, self.coordinates, strict=True))
        self._known |= dict(zip(pieces.speeds, self.speeds, strict=True))
        self._number = {q: i for i, q in enumerate(self.coordinates, start=1) if q not in named}

    def print_roots(self, roots: Iterable[Expr]) -> list[Expr]:
        """Return expressions with these symbols in place of the model's."""
        renamed = transform(roots, self._known.get)
        return transform(renamed, self._abbreviate) if self.short else renamed

    def _abbreviate(self, node: Expr) -> Expr | None:
        """Return s₁ for sin q₁, c₁₂ for cos(q₁ + q₂), None for other nodes."""
        if node.kind != "call" or node.data not in ("sin", "cos"):
            return None
        angle = node.args[0]
        parts = angle.args if angle.kind == "sum" and angle.data[0] == 0 else (angle,)
        plain = angle.kind != "sum" or all(c == 1 for c in angle.data[1])
        if not plain or any(part not in self._number for part in parts):
            return None
        numbers = sorted(self._number[part] for part in parts)
        apart = "_" if numbers[-1] > 9 else ""
        return _variable(f"{node.data[0]}_{apart.join(map(str, numbers))}")


def own_symbols(pieces: Pieces, given: Mapping[str, str] | None) -> dict[str, Expr]:
    """Return the user's symbols of coordinates and speeds by name; Greek letters are spelled out."""
    known = [s.data.name for s in (*pieces.coordinates, *pieces.speeds)]
    found = {}
    for name, word in checked_names(
        table(given, "symbols="), known, "symbols=: there is no", ModelError
    ).items():
        plain = _spell_greek(text(word, f"the symbol of '{name}'"))
        if not plain.isidentifier():
            raise ModelError(
                f"symbols=: {word!r} of '{name}' is no symbol: letters and digits, such as theta_1"
            )
        found[name] = _variable(plain)
    if len({s.data.name for s in found.values()}) < len(found):
        raise ModelError("symbols=: two of the coordinates and speeds have the same symbol")
    return found


def _spell_greek(word: str) -> str:
    """Replace Greek letters by their names: θ1 becomes theta1."""
    return "".join(_GREEK_NAMES.get(letter, letter) for letter in word)


def _variable(name: str) -> Expr:
    return symbol(name, "variable")


def _rate_variable(s: Expr) -> Expr:
    return _variable(f"{s.data.name}'")


def _shape(name: str) -> tuple[str, str]:
    """Return (head, subscripts) of a printed name; empty if the name has an owner."""
    parts = name_parts(name)
    return ("", "") if parts.owners else (parts.head, "".join(parts.subscripts))


def _looks_like_coordinate(shape: tuple[str, str]) -> bool:
    """Return whether a name would look like a numbered coordinate, speed, sine or cosine."""
    return shape[0] in ("q", "u", "s", "c") and shape[1].isdigit()


# M u̇ = f typeset in a notation: a list of equations, each a text in LaTeX or MathML.

_WIDE = 64  # M is printed as a matrix if the rows, as plain text, have at most this number of characters
_LONG = 90  # a right side, as plain text, is printed on one line up to this number of characters


def equations(book: Textbook, notation: Notation, form: str = FORMS[0]) -> list[str]:
    """Return the equations of motion.

    "M u' = f" has the mass matrix and f by causes; "M u' + h = Q" keeps the velocity terms h on the left;
    "rows" is one equation per speed.
    """
    one_of(form, FORMS, "there is no form ", ModelError)
    if form == "rows":
        return _equation_lines(book, notation)
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
    """Return the definitions of the intermediate values as equations."""
    return [
        f"{notation.typeset(name)}{notation.equals}{notation.typeset(value)}"
        for name, value in book.definitions
    ]


def kinematics(book: Textbook, notation: Notation) -> list[str]:
    """Return the equation of q̇ for every coordinate whose rate is not printed as a symbol."""
    return [
        f"{notation.typeset(dot)}{notation.equals}{notation.typeset(rate)}" for dot, rate in book.kinematics
    ]


def _matrix(book: Textbook, n: Notation) -> list[str]:
    """Return M as a matrix if it fits on a line, else the elements of its upper half."""
    rows = book.mass_matrix
    if max(sum(len(expression_text(x, limit=_WIDE)) for x in row) for row in rows) <= _WIDE:
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


def _equation_lines(book: Textbook, n: Notation) -> list[str]:
    found = []
    for i, row in enumerate(book.mass_matrix):
        left = total([(1, x * rate) for x, rate in zip(row, book.rates, strict=True)])
        found.append(_by_causes(n.typeset(left), {name: v[i] for name, v in book.forcing.items()}, n))
    return found


def _by_causes(left: str, terms: dict[str, Expr], n: Notation) -> str:
    """Return an equation with the cause below each term, on one line or with one line for each term.

    The sign of a negative product is before the brace.
    """
    lines: list[str] = []
    length = 0
    for name, term in terms.items():
        if term is ZERO:
            continue
        turned = scale(term, -1)
        negative = term.kind == "product" and term.data[0] < 0 and turned.kind != "sum"
        sign = (n.minus if lines else n.negative) if negative else (n.plus if lines else "")
        lines.append(sign + n.label_below(n.typeset(turned if negative else term), name))
        length += len(expression_text(term, limit=_LONG))
    if length > _LONG and len(lines) > 1:
        return n.break_lines(left, lines)
    return left + n.equals + ("".join(lines) or n.plain("0"))
