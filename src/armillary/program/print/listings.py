"""Sections of a derived program as a document, one equation per assignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.walk import transform
from armillary.program.listing import assigned_names
from armillary.program.print import tables
from armillary.program.print.documents import Block, Displayed, Heading, document, notation_of
from armillary.program.program import Section

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


class Assignment(NamedTuple):
    """One line of a section: a name and what it is, in names of earlier lines."""

    name: str
    value: Expr
    result: bool  # a result of the section, not an intermediate value


def assignments(section: Section) -> Iterator[Assignment]:
    """The lines of a section in order."""
    names = assigned_names(section)
    known: dict[Expr, Expr] = {}  # operands come first, so a line meets the names of all its parts
    for node in section.nodes:
        if node in names:
            inner = node.args[0] if node.kind == "let" else node
            yield Assignment(names[node], transform([inner], known.get)[0], False)
            known[node] = symbol(names[node], "variable")
    for label, result in zip(section.labels, section.results, strict=True):
        yield Assignment(label, transform([result], known.get)[0], True)


def sections_document(equations: DerivedEquations, sections: list[Section], markup: str) -> str:
    """A document in "latex" or "html" with bodies, states, parameters and the equations of sections."""
    system, notation = equations.system, notation_of(markup)
    blocks: list[Block] = [
        tables.bodies(system),
        tables.moving(system.moving()),
        tables.parameters(system, equations.parameter_units),
    ]
    for section in sections:
        blocks.append(Heading(section.name, str(section.operations)))
        for line in assignments(section):
            left = notation.name(line.name) + notation.equals
            blocks.append(Displayed(left + notation.typeset(line.value), line.result))
    return document(markup, f"{system.name}: equations of motion", described(equations), blocks)


def described(equations: DerivedEquations) -> str:
    """Bodies, degrees of freedom, formalism and cost, in words."""
    bodies = len(equations.system.bodies)
    size = f"{bodies} bod{'y' if bodies == 1 else 'ies'}, {equations.freedom}"
    return f"{size}; formalism {equations.formalism}; derivatives: {equations.operations}"
