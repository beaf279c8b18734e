"""The equations of motion as a handout: tree, symbols, parameters, kinematics, M u̇ = f by causes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from armillary.algebra.arguments import file_path
from armillary.algebra.notation.typesetting import Notation
from armillary.algebra.vectors.named_arrays import ExpressionMatrix, ExpressionVector
from armillary.atomic import replacing
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations
from armillary.program.pieces.pieces import Pieces
from armillary.program.print import tables
from armillary.program.print.documents import (
    Block,
    Displayed,
    DocumentTable,
    Formula,
    Heading,
    document,
    html_blocks,
    notation_of,
)
from armillary.program.print.equations import definitions, equations, kinematics
from armillary.program.print.forms import FORMS
from armillary.program.print.listings import summary
from armillary.program.print.textbook import Textbook, textbook

Symbols: TypeAlias = Mapping[str, str] | None
_MARKUPS = {".html": "html", ".htm": "html", ".tex": "latex"}

_ABBREVIATIONS = (
    "s and c with numbers are the sine and cosine of the coordinates with these numbers, or of their sum."
)


def latex_equations(
    pieces: Pieces, form: str = FORMS[0], speeds: str = "u", names: str = "short", symbols: Symbols = None
) -> str:
    """M u̇ = f in LaTeX: displayed equations for a document with amsmath."""
    notation = notation_of("latex")
    book = textbook(pieces, speeds=speeds, names=names, symbols=symbols)
    lines = [*definitions(book, notation), *equations(book, notation, form)]
    return "\n".join(rf"\[ {line} \]" for line in lines) + "\n"


def html_equations(
    pieces: Pieces, form: str = FORMS[0], speeds: str = "u", names: str = "short", symbols: Symbols = None
) -> str:
    """M u̇ = f in MathML, as a part of a page."""
    notation = notation_of("html")
    book = textbook(pieces, speeds=speeds, names=names, symbols=symbols)
    lines = [*definitions(book, notation), *equations(book, notation, form)]
    return html_blocks([Displayed(line) for line in lines])


def plain_equations(pieces: Pieces) -> str:
    """M u̇ = f and its causes as tables of text, with the model's names."""
    found: list[ExpressionMatrix | ExpressionVector] = [pieces.mass_matrix, *pieces.causes.values()]
    return "\n\n".join(str(array.collected()) for array in found)


def write_handout(
    derived: DerivedEquations,
    pieces: Pieces,
    path: str | os.PathLike[str],
    form: str = FORMS[0],
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> Path:
    """A handout in a file, by the file's suffix .html or .tex; written whole or not at all."""
    markup = _MARKUPS.get(file_path(path, "handout", ModelError).suffix.lower())
    if markup is None:
        raise ModelError(f"handout '{path}': its name must end in {' or '.join(_MARKUPS)}")
    text = handout_text(derived, pieces, markup, form, speeds, names, symbols)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def handout_text(
    derived: DerivedEquations,
    pieces: Pieces,
    markup: str,
    form: str = FORMS[0],
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> str:
    """The text of a handout in "latex" or "html"."""
    system, notation = derived.system, notation_of(markup)
    book = textbook(pieces, speeds=speeds, names=names, symbols=symbols)
    given = tables.parameters(system, derived.parameter_units)
    rows = [[Formula(notation.name(row[0])), *row] for row in given.rows]
    blocks: list[Block] = [
        tables.bodies(system),
        _symbols(book, system, notation),
        DocumentTable(given.caption, ["symbol", *given.header], rows),
    ]
    parts = {
        "Kinematics": kinematics(book, notation),
        "Intermediate values": definitions(book, notation),
        "Equations of motion": equations(book, notation, form),
    }
    remarks = {"Equations of motion": _ABBREVIATIONS if _numbered(book) else ""}
    for title, lines in parts.items():
        if lines:
            blocks += [Heading(title, remarks.get(title, "")), *map(Displayed, lines)]
    return document(markup, f"{system.name}: equations of motion", summary(derived), blocks)


def _numbered(book: Textbook) -> bool:
    """Whether coordinates are numbered, so that their sines are abbreviated."""
    return any(entry.symbol.data.name.startswith("q_") for entry in book.coordinates)


def _symbols(book: Textbook, system: Description, notation: Notation) -> DocumentTable:
    pairs = [(e.symbol, e.stands_for) for e in (*book.coordinates, *book.speeds)]
    others = [*(s.symbol for s in system.states.values())]
    others += [m.symbol for m in system.memories.values() if not m.hidden and m.period is None]
    pairs += [(s, s) for s in others]
    rows = [
        [Formula(notation.typeset(shown)), s.data.name, s.data.units or "", s.data.about]
        for shown, s in pairs
    ]
    return DocumentTable(
        "Coordinates, speeds, states and inputs", ["symbol", "name", "units", "meaning"], rows
    )
