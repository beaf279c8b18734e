"""A system on one printable page: its drawing, bodies, coordinates, parameters and equations of motion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from armillary.errors import ArmillaryError, shown
from armillary.model.description import Description
from armillary.program.pieces import pieces_of
from armillary.program.print.documents import handout_text
from armillary.results.plots.motion import MotionView, show_page, write_html

# The drawing is made for white paper.
_STYLE = """
figure { float: right; width: 46%; margin: 0 0 1rem 1.5rem; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; }
figure svg { display: block; width: 100%; height: auto; }
h2 { clear: both; } .equation { overflow-y: hidden !important; padding: .15em 0; }
@page { size: A4; margin: 14mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --line: #bbb; --faint: #444; }
  body { font-size: 9.5pt; line-height: 1.35; margin: 0; padding: 0; max-width: none; }
  h1 { font-size: 16pt; margin: 0; } h2 { font-size: 12pt; break-after: avoid; }
  table, .equation, figure { break-inside: avoid; }
}
"""


def sheet(
    system: object,
    path: str | os.PathLike[str] | None = None,
    *,
    view: str = "auto",
    names: str = "short",
    symbols: Mapping[str, str] | None = None,
) -> MotionView | Path:
    """A system on one page to print: drawing, bodies, coordinates, parameters, equations of motion.

    It opens in the browser or is shown in a notebook; with ``path``, an .html file, it is written there.
    ``view`` is as for ``s.draw``, ``names`` and ``symbols`` as for ``eom.latex``.
    """
    page = sheet_text(system, view=view, names=names, symbols=symbols)
    return show_page(page) if path is None else write_html(page, path)


def sheet_text(
    system: object, *, view: str = "auto", names: str = "short", symbols: Mapping[str, str] | None = None
) -> str:
    """The text of the page."""
    if not isinstance(system, Description) or not hasattr(system, "derive"):  # a System: it stands above
        raise ArmillaryError(f"a sheet is made of a system, not of {shown(system)}")
    equations = system.derive()
    model = equations.compile()
    unknown = {name: 1.0 for name, value in model.parameters.items() if value is None}  # for the drawing
    drawing = model.draw(view=view, parameters=unknown)
    text = handout_text(equations, pieces_of(equations), "html", names=names, symbols=symbols)
    text = text.replace("</style>", f"{_STYLE}</style>", 1)
    head, remark, rest = text.partition('<p class="faint">')
    line, end, rest = rest.partition("</p>")
    return f"{head}<figure>{drawing}</figure>{remark}{line}{end}{rest}"
