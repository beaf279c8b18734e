"""Pages of a system: one with sliders that poses it, and the printable sheet.

The page that poses a system: a slider for each coordinate, loops closed while they are moved.

The page computes poses of bodies in their parents, gaps Φ of all loops and of Euler parameters (|q|² − 1),
and their derivatives, by functions printed from the same expressions as the compiled code. A moved coordinate
stays where the slider is; the others follow by Newton steps of least length, δq = −Jᵀ (J Jᵀ)⁻¹ Φ.

A system on one printable page: its drawing, bodies, coordinates, parameters and equations of motion.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, shown
from armillary.model.description import Description
from armillary.model.units import state_factor
from armillary.program.equations import derived_equations
from armillary.program.functions import moving_bodies, pose_expressions
from armillary.program.pieces import pieces_of
from armillary.program.print.documents import handout_text
from armillary.results.plots.motion import MotionView, PictureOptions, show_page, write_html
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.figures import bodies_of
from armillary.viewer.page import SCENE, javascript_function, look_of, page_text

_TURN, _REACH = np.pi, 2.0  # ranges of angles; of lengths, times the size of a system


def posing_page(
    model: CompiledModel,
    initial: Given = None,
    parameters: DataMapping | None = None,
    title: str = "",
    options: PictureOptions | None = None,
) -> str:
    """The text of the page, with the position where runs start."""
    equations, given, chosen = model.equations, dict(parameters or {}), options or PictureOptions()
    system, targets = equations.system, model.equations.targets
    plain = equations.reduction.plain
    table = parameter_table(equations)
    inside = dict(zip(table.names, table.inside(table.values(given)).tolist(), strict=True))
    state = model.state(initial, parameters)
    coordinates = list(targets.coordinates)
    start = state[: len(coordinates)]
    values = {q: f"q[{i}]" for i, q in enumerate(coordinates)}
    values |= {plain(p): repr(inside[n]) for n, p in system.parameters.items() if n in inside}
    poses = pose_expressions(equations)
    gaps = [plain(c.position) for c in system.constraints.values() if c.position is not None]
    for k in targets.quaternions:
        gaps.append(sum((q**2 for q in coordinates[k + 1 : k + 4]), coordinates[k] ** 2) - 1)
    slopes = [e for gap in gaps for e in gradient(gap, coordinates)]
    everything = [*poses, *gaps, *slopes]
    values |= {s: "0.0" for s in symbols(*everything) if s.data.role == "time"}
    figure = bodies_of(equations, given) | {"paths": []}
    index = {body["name"]: i for i, body in enumerate(figure["bodies"])}
    content = {
        "system": system.name,
        "about": f"{equations.freedom}; move the sliders, or drag the view",
        "up": figure["up"],
        "size": figure["size"],
        "figures": [figure],
        "outputs": [],
        "parents": [index.get(b.parent.name, -1) if b.parent else -1 for b in moving_bodies(equations)],
        "start": start.tolist(),
        "modes": [i for i, q in enumerate(coordinates) if _is_mode(model, q)],
        "quaternions": list(targets.quaternions),
        "sliders": [_slider(q, float(start[i]), figure["size"]) for i, q in enumerate(coordinates)],
        "look": look_of(chosen, figure),
    }
    functions = {"relativePoses": poses, "loopGaps": gaps, "loopSlopes": slopes}
    code = "\n".join(javascript_function(name, e, values) for name, e in functions.items())
    return page_text(content, title or system.name, (*SCENE, "pose.js"), code)


def _is_mode(model: CompiledModel, q: Expr) -> bool:
    flexible = [b for b in moving_bodies(model.equations) if b.flex is not None]
    return any(q.data.name == c.data.name for b in flexible if b.flex for c in b.flex.coordinates)


def _slider(q: Expr, start: float, size: float) -> DataTable:
    """Name, units, how many of the units one of the model's is, and the range in the model's."""
    angle = (q.data.units or "") in ("rad", "deg")
    factor = 180 / np.pi if angle else 1 / state_factor(q)
    reach = _TURN if angle else _REACH * size
    units = "°" if angle else label_units(q.data.units or "")
    return {
        "name": q.data.name,
        "units": units,
        "factor": factor,
        "low": start - reach,
        "high": start + reach,
    }


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
    core = derived_equations(equations)
    text = handout_text(core, pieces_of(core), "html", names=names, symbols=symbols)
    text = text.replace("</style>", f"{_STYLE}</style>", 1)
    head, remark, rest = text.partition('<p class="faint">')
    line, end, rest = rest.partition("</p>")
    return f"{head}<figure>{drawing}</figure>{remark}{line}{end}{rest}"
