"""Sections of a derived program as a document, one equation per assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from armillary.algebra.expression import Expr
from armillary.program.form.program import ProgramSection
from armillary.program.print import tables
from armillary.program.print.documents import Block, Displayed, Heading, document, notation_of
from armillary.program.print.listing import assigned_names, in_steps

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


class Assignment(NamedTuple):
    """One line of a section: a name and what it is, in names of earlier lines."""

    name: str
    value: Expr
    result: bool  # a result of the section, not an intermediate value


def assignments(section: ProgramSection) -> list[Assignment]:
    """The lines of a section in order."""
    steps, results = in_steps(section.results, assigned_names(section))
    lines = [Assignment(name.data.name, value, False) for name, value in steps]
    return lines + [Assignment(*pair, True) for pair in zip(section.labels, results, strict=True)]


def sections_document(equations: DerivedEquations, sections: list[ProgramSection], markup: str) -> str:
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
    return document(markup, f"{system.name}: equations of motion", summary(equations), blocks)


def summary(equations: DerivedEquations) -> str:
    """Bodies, degrees of freedom, formalism and cost, in words."""
    bodies = len(equations.system.bodies)
    size = f"{bodies} bod{'y' if bodies == 1 else 'ies'}, {equations.freedom}"
    return f"{size}; formalism {equations.formalism}; derivatives: {equations.operations}"
