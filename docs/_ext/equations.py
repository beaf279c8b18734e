"""Equations of the theory pages: numbered lines of mathematics become MathML, their numbers links.

On the pages, in docstrings and in this program an equation is written as it is read,

    f* = m a + α × h + ω × (ω × h)        n* = J α + ω × J ω + h × a                    (4.3)

an indented block whose number, chapter and equation, stands at the end of a line. Browsers set MathML without
a script, so the site needs no MathJax and no network. Elsewhere on these pages "(4.3)" leads to that line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from mathematics import display
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

NUMBERED = re.compile(r"^(?P<line> {4,}\S.*?)\s+\((?P<number>\d+\.\d+)\)$", re.MULTILINE)
SYMBOL = re.compile(r"(?<!\w)(Δ?[^\W\d_]\d?[\u0300-\u036f]?'?[⁰⁺⁻]?)_([A-Za-zΑ-ω0-9_]+)")
MENTIONED = re.compile(r"\((\d+\.\d+)\)")


def equations(folder: Path) -> dict[str, str]:
    """Number of every equation of the theory pages, with the page where it stands, page by page."""
    found: dict[str, str] = {}
    for page in sorted(folder.glob("theory/*.md")):
        for match in NUMBERED.finditer(page.read_text(encoding="utf-8")):
            if match["number"] in found:
                raise ValueError(
                    f"{page}: equation ({match['number']}) exists on {found[match['number']]} too"
                )
            found[match["number"]] = f"theory/{page.stem}"
    return found


def anchor(number: str) -> str:
    """Name of an equation's place on its page."""
    return f"eq-{number.replace('.', '-')}"


class Displays(SphinxTransform):
    """Indented blocks with a number, as rows of mathematics."""

    default_priority = 210

    def apply(self, **kwargs: Any) -> None:
        if not self.env.docname.startswith("theory/"):
            return
        for block in list(self.document.findall(nodes.literal_block)):
            text = "".join(f"    {line}\n" for line in block.astext().splitlines())
            if NUMBERED.search(text):
                block.replace_self(nodes.raw("", _rows(text), format="html"))


def _rows(text: str) -> str:
    """The block up to each number in turn: its mathematics on the left, the number on the right."""
    rows, lines = [], []
    for line in text.splitlines():
        numbered = NUMBERED.match(line)
        lines.append(numbered["line"] if numbered else line)
        if numbered:
            name = anchor(numbered["number"])
            link = f'<a class="number" href="#{name}">({numbered["number"]})</a>'
            rows.append(f'<div class="equation" id="{name}">{display(lines)}{link}</div>')
            lines = []
    if any(line.strip() for line in lines):
        rows.append(f'<div class="equation">{display(lines)}</div>')
    return "\n".join(rows)


def set_text(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Numbers in the text as links to their equations, and indices of the theory's symbols set low."""
    theory = docname.startswith("theory/")
    if not (theory or docname == "compiler"):
        return
    known = app.env.equations  # type: ignore[attr-defined]
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw | nodes.title):
            continue
        new: list[nodes.Node] = []
        for i, piece in enumerate(MENTIONED.split(text.astext())):  # text, number, text, …
            if i % 2 and piece in known:
                shown = nodes.inline("", f"({piece})")
                new.append(make_refnode(app.builder, docname, known[piece], anchor(piece), shown))
            else:
                new += _lowered(piece, theory) if i % 2 == 0 else [nodes.Text(f"({piece})")]
        text.parent.replace(text, new)


def _lowered(text: str, theory: bool) -> list[nodes.Node]:
    pieces = SYMBOL.split(text) if theory else [text]  # text, symbol, index, text, …
    new: list[nodes.Node] = []
    for i, piece in enumerate(pieces):
        if i % 3 == 2:
            new.append(nodes.subscript("", piece.replace("_", ",")))
        elif piece:
            new.append(nodes.Text(piece))
    return new


def collect(app: Sphinx) -> None:
    """The numbers, before pages refer to them."""
    app.env.equations = equations(Path(app.srcdir))  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", collect)
    app.connect("doctree-resolved", set_text)
    app.add_transform(Displays)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
