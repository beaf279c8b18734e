"""Documents about a system in LaTeX or HTML: equations as handouts, tables, and sections of a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from armillary.algebra.arguments import file_path
from armillary.algebra.expression import Expr
from armillary.algebra.node import text
from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
from armillary.algebra.typesetting import LATEX, MATHML, Notation, tex_text
from armillary.errors import ModelError
from armillary.limited_files import write_file
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.program.equations import DerivedEquations, assigned_names, in_steps
from armillary.program.pieces import pieces_of
from armillary.program.program import ProgramSection
from armillary.program.textbook import FORMS, Textbook, definitions, equations, kinematics, textbook
from armillary.text_tables import Html, counted, html_table, html_text

# Documents of headings, tables and equations: a LaTeX article, or one HTML page without other files.


class Formula(str):
    """A typeset formula in the notation of its document; cells of a table that are ordinary str are words."""


@dataclass(frozen=True)
class Heading:
    """The title of a part, with a remark below it."""

    title: str
    remark: str = ""


@dataclass(frozen=True)
class DocumentTable:
    """Rows of words and formulas."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Displayed:
    """One equation on a separate line; the document marks a ``result`` of a section."""

    formula: str
    result: bool = False


Block = Heading | DocumentTable | Displayed


def latex_article(title: str, remark: str, blocks: Sequence[Block]) -> str:
    """Return the text of a LaTeX article."""
    lines = [
        r"\documentclass{article}",
        r"\usepackage{amsmath}",
        r"\usepackage{longtable}",
        r"\usepackage[margin=20mm]{geometry}",
        r"\allowdisplaybreaks",
        rf"\title{{{tex_text(title)}}}",
        rf"\author{{{tex_text(remark)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
    ]
    for block in blocks:
        if isinstance(block, Heading):
            lines += [rf"\section*{{{tex_text(block.title)}}}", tex_text(block.remark)]
        elif isinstance(block, DocumentTable):
            lines += _latex_table(block)
        else:
            lines.append(rf"\[ {block.formula} \]")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _latex_table(table: DocumentTable) -> list[str]:
    def cell(text: str) -> str:
        return f"${text}$" if isinstance(text, Formula) else tex_text(text)

    if not table.rows:
        return []
    lines = [" & ".join(map(cell, row)) + r" \\" for row in [table.header, *table.rows]]
    lines.insert(1, r"\hline")
    columns = "l" * len(table.header)
    return [
        rf"\subsection*{{{tex_text(table.caption)}}}",
        rf"\begin{{longtable}}[l]{{{columns}}}",
        *lines,
        r"\end{longtable}",
    ]


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d0d7de; --faint: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --faint: #9198a1; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; } caption { text-align: left; font-weight: 600; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; }
math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math",
  "DejaVu Math TeX Gyre", math; font-size: 1.1em; }
.result { border-left: 3px solid #0969da; padding-left: .6rem; }
.faint { color: var(--faint); }
"""


def html_page(title: str, remark: str, blocks: Sequence[Block]) -> str:
    """Return the text of an HTML page."""
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html_text(title)}</title><style>{_STYLE}</style></head>
<body>
<h1>{html_text(title)}</h1>
<p class="faint">{html_text(remark)}</p>
{html_blocks(blocks)}
</body></html>
"""


def html_blocks(blocks: Sequence[Block]) -> str:
    """Return the HTML text of blocks, a part of a page."""
    return "\n".join(map(_html_block, blocks))


def _html_block(block: Block) -> str:
    if isinstance(block, Heading):
        remark = f'<p class="faint">{html_text(block.remark)}</p>' if block.remark else ""
        return f"<h2>{html_text(block.title)}</h2>{remark}"
    if isinstance(block, DocumentTable):
        rows = [
            [Html(f"<math>{c}</math>") if isinstance(c, Formula) else c for c in row] for row in block.rows
        ]
        return html_table(block.header, rows, caption=block.caption)
    kind = "equation result" if block.result else "equation"
    # The style is inline, since notebooks do not load _STYLE. Without padding, superscripts were cut off.
    room = "margin:.2em 0;padding:.4em 0;overflow-x:auto;overflow-y:hidden"
    return f'<div class="{kind}" style="{room}"><math displaystyle="true">{block.formula}</math></div>'


def notation_of(markup: str) -> Notation:
    """Return the notation of formulas in "latex" or "html" documents."""
    return LATEX if markup == "latex" else MATHML


def document(markup: str, title: str, remark: str, blocks: Sequence[Block]) -> str:
    """Return the text of a complete document in "latex" or "html"."""
    made = latex_article if markup == "latex" else html_page
    return made(title, remark, blocks)


# Tables about a description: the tree of bodies, coordinates and speeds, and parameters.

_SHOWN = 40  # most characters of an expression in a cell


def bodies(system: Description) -> DocumentTable:
    """Return a table of all bodies as an indented tree, with joint, coordinates and mass."""
    children: dict[str, list[Body]] = {}
    for body in system.bodies.values():
        children.setdefault(body.parent.name if body.parent else "", []).append(body)
    rows = []
    stack = [(body, 0) for body in reversed(children.get(system.ground.name, []))]
    while stack:
        body, depth = stack.pop()
        names = ", ".join(q.data.name for q in body.coordinates)
        rows.append([
            "\u2003" * (depth - 1) + "└ " * (depth > 0) + body.name,
            body.joint.describe(),
            names,
            text(body.mass, limit=_SHOWN),
        ])  # fmt: skip
        stack += [(child, depth + 1) for child in reversed(children.get(body.name, []))]
    return DocumentTable("Bodies", ["body", "joint", "coordinates", "mass"], rows)


def moving(symbols: Sequence[Expr]) -> DocumentTable:
    """Return a table of coordinates, speeds and states."""
    rows = [[s.data.name, s.data.units or "", s.data.about] for s in symbols]
    return DocumentTable("Coordinates and speeds", ["name", "units", "meaning"], rows)


def parameters(system: Description, units: Mapping[str, str] | None = None) -> DocumentTable:
    """Return the table of all parameters with their defaults, in stated units or the given ``units``."""
    from armillary.model.parameter_meanings import parameter_descriptions

    about = parameter_descriptions(system)
    rows = []
    for name, p in system.parameters.items():
        default = "" if p.data.default is None else f"{p.data.default:.9g}"
        rows.append([name, default, (units or {}).get(name, p.data.units or ""), about[name]])
    return DocumentTable("Parameters", ["name", "default", "units", "meaning"], rows)


# Sections of a derived program as a document, one equation per assignment.


class Assignment(NamedTuple):
    """One line of a section: a name and its value, an expression of names of earlier lines."""

    name: str
    value: Expr
    result: bool  # a result of the section, not an intermediate value


def assignments(section: ProgramSection) -> list[Assignment]:
    """Return the lines of a section in order."""
    steps, results = in_steps(section.results, assigned_names(section))
    lines = [Assignment(name.data.name, value, False) for name, value in steps]
    return lines + [Assignment(*pair, True) for pair in zip(section.labels, results, strict=True)]


def sections_document(equations: DerivedEquations, sections: list[ProgramSection], markup: str) -> str:
    """Return a document in "latex" or "html" with bodies, states, parameters and the equations
    of sections.
    """
    system, notation = equations.system, notation_of(markup)
    blocks: list[Block] = [
        bodies(system),
        moving(system.moving()),
        parameters(system, equations.parameter_units),
    ]
    for section in sections:
        blocks.append(Heading(section.name, str(section.operations)))
        for line in assignments(section):
            left = notation.name(line.name) + notation.equals
            blocks.append(Displayed(left + notation.typeset(line.value), line.result))
    return document(markup, f"{system.name}: equations of motion", summary(equations), blocks)


def summary(equations: DerivedEquations) -> str:
    """Return one line with the numbers of bodies and degrees of freedom, the formalism and the cost."""
    bodies = len(equations.system.bodies)
    size = f"{bodies} bod{'y' if bodies == 1 else 'ies'}, {equations.freedom}"
    return f"{size}; formalism {equations.formalism}; derivatives: {equations.operations}"


# The equations of motion as a handout: tree, symbols, parameters, kinematics, M u̇ = f with f split by cause.

Symbols: TypeAlias = Mapping[str, str] | None
_MARKUPS = {".html": "html", ".htm": "html", ".tex": "latex"}

_ABBREVIATIONS = (
    "s and c with numbers are the sine and cosine of the coordinates with these numbers, or of their sum."
)


def latex(
    derived: DerivedEquations,
    form: str = FORMS[0],
    *,
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> str:
    """M u̇ = f as displayed equations of LaTeX (amsmath), with each cause of f below its terms.

    Forms: "M u' = f"; "M u' + h = Q", with velocity terms h on the left; "rows", one equation per speed.
    ``speeds="q'"`` writes q̇ for speeds that are rates of coordinates. ``names="short"`` numbers
    coordinates, q₁, and writes s₁ for sin q₁, c₁₂ for cos(q₁ + q₂); "full" keeps the model's names.
    ``symbols={"cart.q1": "x", "pole.q1": "θ"}`` sets other symbols; their rates are ẋ and θ̇.
    """
    notation = notation_of("latex")
    book = textbook(pieces_of(derived), speeds=speeds, names=names, symbols=symbols)
    lines = [*definitions(book, notation), *equations(book, notation, form)]
    return "\n".join(rf"\[ {line} \]" for line in lines) + "\n"


def html(
    derived: DerivedEquations,
    form: str = FORMS[0],
    *,
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> str:
    """Return the equations as HTML with MathML, which browsers show without a script or network."""
    notation = notation_of("html")
    book = textbook(pieces_of(derived), speeds=speeds, names=names, symbols=symbols)
    lines = [*definitions(book, notation), *equations(book, notation, form)]
    return html_blocks([Displayed(line) for line in lines])


def plain_equations(derived: DerivedEquations) -> str:
    """Return M and the parts of f by cause, for M u̇ = f, as tables of text with the model's names."""
    pieces = pieces_of(derived)
    found: list[ExpressionMatrix | ExpressionVector] = [pieces.mass_matrix, *pieces.causes.values()]
    return "\n\n".join(str(array.collected()) for array in found)


def handout(
    derived: DerivedEquations,
    path: str | os.PathLike[str],
    form: str = FORMS[0],
    *,
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> Path:
    """Write a document with tree, symbols, parameters and equations, a file .html or .tex; return its path.

    The options are those of ``latex``.
    """
    markup = _MARKUPS.get(file_path(path, "handout", ModelError).suffix.lower())
    if markup is None:
        raise ModelError(f"handout '{path}': its name must end in {' or '.join(_MARKUPS)}")
    write_file(path, handout_text(derived, markup, form, speeds, names, symbols))
    return Path(path)


def handout_text(
    derived: DerivedEquations,
    markup: str,
    form: str = FORMS[0],
    speeds: str = "u",
    names: str = "short",
    symbols: Symbols = None,
) -> str:
    """Return the text of a handout in "latex" or "html"."""
    system, notation = derived.system, notation_of(markup)
    book = textbook(pieces_of(derived), speeds=speeds, names=names, symbols=symbols)
    given = parameters(system, derived.parameter_units)
    rows = [[Formula(notation.name(row[0])), *row] for row in given.rows]
    blocks: list[Block] = [
        bodies(system),
        _symbols(book, system, notation),
        DocumentTable(given.caption, ["symbol", *given.header], rows),
    ]
    parts = {
        "Kinematics": kinematics(book, notation),
        "Intermediate values": definitions(book, notation),
        "Equations of motion": equations(book, notation, form),
    }
    remarks = {"Equations of motion": _ABBREVIATIONS if _has_numbered_coordinates(book) else ""}
    for title, lines in parts.items():
        if lines:
            blocks += [Heading(title, remarks.get(title, "")), *map(Displayed, lines)]
    return document(markup, f"{system.name}: equations of motion", summary(derived), blocks)


def _has_numbered_coordinates(book: Textbook) -> bool:
    """Return whether coordinates are numbered, so that their sines are abbreviated."""
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


# Descriptions and equations as notebooks show them.

_FEW = 4  # most speeds with which equations are written out
_ROWS = 40  # most rows of a table


def system_html(system: Description) -> str:
    """Return HTML with the numbers of parts, the tree of bodies with joints, and a table of parameters."""
    kinds = [
        (len(system.speeds), "speed"),
        (len(system.loads), "load"),
        (len(system.constraints), "constraint"),
        (len(system.outputs), "output"),
    ]
    facts = ", ".join(counted(number, noun) for number, noun in kinds if number)
    head = f"<p><b>{html_text(system.name)}</b>{': ' * bool(facts)}{html_text(facts)}</p>"
    return head + html_blocks([_cut(bodies(system)), _cut(parameters(system))])


def equations_html(derived: DerivedEquations) -> str:
    """Return HTML with a summary of the derivation, and the equations if few and short, else the states."""
    head = _head(derived)
    if len(derived.speeds) <= _FEW and len(derived.system.bodies) <= 2 * _FEW:
        book = textbook(pieces_of(derived), names="full")
        if not book.definitions:
            return head + html_blocks([Displayed(line) for line in equations(book, notation_of("html"))])
    return head + html_blocks([_cut(moving(derived.system.moving()))])


def model_html(derived: DerivedEquations) -> str:
    """Return HTML with a summary of the compiled model, and tables of its states and parameters."""
    shown = [moving(derived.system.moving()), parameters(derived.system)]
    return _head(derived) + html_blocks([_cut(table) for table in shown])


def _head(derived: DerivedEquations) -> str:
    return f"<p><b>{html_text(derived.system.name)}</b>: {html_text(summary(derived))}</p>"


def _cut(table: DocumentTable) -> DocumentTable:
    """Return a table of at most _ROWS rows and a last row with the number of rows left out."""
    more = len(table.rows) - _ROWS
    if more <= 0:
        return table
    last = [f"… {more} more", *[""] * (len(table.header) - 1)]
    return DocumentTable(table.caption, table.header, [*table.rows[:_ROWS], last])
