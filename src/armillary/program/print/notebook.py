"""Descriptions and equations as notebooks show them."""

from __future__ import annotations

from collections.abc import Callable

from armillary.columns import counted, html_text
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations
from armillary.program.pieces.pieces import Pieces
from armillary.program.print import tables
from armillary.program.print.documents import Displayed, DocumentTable, html_blocks, notation_of
from armillary.program.print.equations import equations
from armillary.program.print.listings import summary
from armillary.program.print.textbook import textbook

_FEW = 4  # speeds up to which equations are written out
_ROWS = 40  # of a table


def system_html(system: Description) -> str:
    """The tree of bodies with joints, what acts on them, and a table of parameters."""
    kinds = [
        (len(system.speeds), "speed"),
        (len(system.loads), "load"),
        (len(system.constraints), "constraint"),
        (len(system.outputs), "output"),
    ]
    facts = ", ".join(counted(number, noun) for number, noun in kinds if number)
    head = f"<p><b>{html_text(system.name)}</b>{': ' * bool(facts)}{html_text(facts)}</p>"
    return head + html_blocks([_cut(tables.bodies(system)), _cut(tables.parameters(system))])


def equations_html(derived: DerivedEquations, pieces: Callable[[], Pieces]) -> str:
    """A summary of the derivation; the equations themselves where they are few and short."""
    head = _head(derived)
    if len(derived.speeds) <= _FEW and len(derived.system.bodies) <= 2 * _FEW:
        book = textbook(pieces(), names="full")
        if not book.definitions:
            return head + html_blocks([Displayed(line) for line in equations(book, notation_of("html"))])
    return head + html_blocks([_cut(tables.moving(derived.system.moving()))])


def model_html(derived: DerivedEquations) -> str:
    """A summary of the compiled model: its motion, and the parameters of runs."""
    shown = [tables.moving(derived.system.moving()), tables.parameters(derived.system)]
    return _head(derived) + html_blocks([_cut(table) for table in shown])


def _head(derived: DerivedEquations) -> str:
    return f"<p><b>{html_text(derived.system.name)}</b>: {html_text(summary(derived))}</p>"


def _cut(table: DocumentTable) -> DocumentTable:
    """A table of not too many rows, the last of which has the number of those left out."""
    more = len(table.rows) - _ROWS
    if more <= 0:
        return table
    last = [f"… {more} more", *[""] * (len(table.header) - 1)]
    return DocumentTable(table.caption, table.header, [*table.rows[:_ROWS], last])
