"""Documents of headings, tables and equations: a LaTeX article, or one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.notation.latex import LATEX, tex_text
from armillary.algebra.notation.mathml import MATHML
from armillary.algebra.notation.typesetting import Notation
from armillary.columns import Html, html_table, html_text


class Formula(str):
    """A finished formula in the notation of its document, where other texts are words."""


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
    """One equation on a line of its own; a result is marked."""

    formula: str
    result: bool = False


Block = Heading | DocumentTable | Displayed


def latex_article(title: str, remark: str, blocks: Sequence[Block]) -> str:
    """The text of a LaTeX article."""
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
    """The text of an HTML page."""
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
    """Blocks as a part of a page."""
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
    # In notebooks, which have no style of ours. Without room above and below, scripts were cut off.
    room = "margin:.2em 0;padding:.4em 0;overflow-x:auto;overflow-y:hidden"
    return f'<div class="{kind}" style="{room}"><math displaystyle="true">{block.formula}</math></div>'


def notation_of(markup: str) -> Notation:
    """The notation of formulas in "latex" or "html" documents."""
    return LATEX if markup == "latex" else MATHML


def document(markup: str, title: str, remark: str, blocks: Sequence[Block]) -> str:
    """A whole document in "latex" or "html"."""
    made = latex_article if markup == "latex" else html_page
    return made(title, remark, blocks)
