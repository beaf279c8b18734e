"""Pages of a system: its motion, its poses with sliders, and a sheet to print; also expressions as
JavaScript.

The page of a motion is one HTML file with figures, plots and the program that draws them; it needs no
network.

The page of poses has a slider for each coordinate, and closes loops while a slider is moved. It computes
poses of bodies in their parents, gaps Φ of all loops and of Euler parameters (|q|² − 1), and their
derivatives, by functions printed from the same expressions as the compiled code. A moved coordinate keeps the
value of its slider; the others follow by Newton steps of least length, δq = −Jᵀ (J Jᵀ)⁻¹ Φ.

The sheet is one printable page: the drawing of a system, its bodies, coordinates, parameters and equations.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first, symbols
from armillary.errors import ArmillaryError, nearest, shown
from armillary.export.text.printer import CHOICE, Operand, Printer
from armillary.model.description import Description
from armillary.model.units import state_factor
from armillary.program.documents import handout_text
from armillary.program.equations import DerivedEquations, derived_equations
from armillary.program.pieces import moving_bodies, pose_expressions
from armillary.results import Run
from armillary.results.plots.motion import MotionView, PictureOptions, show_page, write_html
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.figures import PageFigure, bodies_of, figure_of
from armillary.viewer.page_data import compress

_SAME = (
    "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "abs", "sign", "min",
    "max", "floor", "ceil", "pow",
)  # fmt: skip


class JavaScriptPrinter(Printer):
    """Printer of expressions in JavaScript, as in the C family except for the names of functions."""

    functions = {  # noqa: RUF012
        **{name: f"Math.{name}" for name in _SAME},
        "mod": "((a, b) => a - b * Math.floor(a / b))",
    }
    specials = ("NaN", "Infinity", "-Infinity")


def javascript_function(name: str, results: Sequence[Expr], values: Mapping[Expr, str]) -> str:
    """Return a function of ``q``, an array, that returns all results; ``values`` holds the text of each
    symbol.
    """
    printer = JavaScriptPrinter()
    texts: dict[Expr, Operand] = {}
    lines: list[str] = []
    for node in operands_first(results):
        if node.kind == "symbol":
            if node not in values:
                raise ArmillaryError(f"a page cannot compute '{node.data.name}', which has no value")
            texts[node] = Operand(values[node])
        elif node.kind == "number":
            texts[node] = printer.number(float(node.data))
        else:
            made = printer.node(node, [texts[a] for a in node.args], {})
            lines.append(f"const z{len(lines)} = {made.text};")
            texts[node] = Operand(f"z{len(lines) - 1}", truth=made.truth)
    if printer.tables:
        raise ArmillaryError("a geometry that depends on a table cannot be computed by a page")
    shown = ", ".join(printer.at(texts[e], CHOICE) for e in results)
    return "\n".join([f"function {name}(q) {{", *lines, f"return [{shown}];", "}"])


_WEB = Path(__file__).parent / "web"
_SHOWN = 3  # plots that are open at first
_EVENTS = 2000  # most marks on the time line
# The scripts of a page, in order. A page with another source of motion ends with its own script.
SCENE = (
    "data.js", "drawing/paint.js", "drawing/plain.js", "motion.js", "drawing/solids.js", "drawing/meshes.js",
    "drawing/surroundings.js", "drawing/figure.js", "drawing/scene.js", "drawing/labels.js",
    "controls/recorder.js", "controls/tools.js",
)  # fmt: skip
RECORDED = (
    *SCENE, "drawing/arrows.js", "controls/pointer.js", "drawing/cloud.js", "controls/axes.js",
    "controls/plots.js", "controls/player.js", "controls/legend.js", "main.js",
)  # fmt: skip


def page_of(
    run: Run, equations: DerivedEquations, title: str = "", options: PictureOptions | None = None
) -> str:
    """Return the text of the page of a run."""
    chosen = options or PictureOptions()
    figure = figure_of(run, equations, chosen)
    span = f"{run.time[0]:g} to {run.time[-1]:g} s"
    bodies = len(figure.content["bodies"])
    content = {
        "system": run.system,
        "about": f"{bodies} {'body' if bodies == 1 else 'bodies'}, {equations.freedom}, {span}",
        "up": figure.content["up"],
        "size": figure.content["size"],
        "figures": [figure.pack()],
        "shown": shown_outputs(figure, run),
        "events": [[e.time, e.name] for e in run.events[:_EVENTS]],
        "look": look_of(chosen, figure.content),
    }
    return page_text(content, title or run.system)


def shown_outputs(figure: PageFigure, run: Run) -> list[str]:
    """Return the names of the outputs that are plotted at first."""
    return [o["name"] for o in figure.outputs[: min(_SHOWN, len(run.outputs) or _SHOWN)]]


def look_of(options: PictureOptions, figure: DataTable) -> DataTable:
    """Return the view that the page shows at first."""
    names = [body["name"] for body in figure["bodies"]]
    if options.follow is not None and options.follow not in names:
        raise ArmillaryError(
            f"'{figure['name']}' has no body '{options.follow}' to follow{nearest(options.follow, names)}"
        )
    return {
        "view": options.view,
        "theme": options.theme,
        "follow": -1 if options.follow is None else names.index(options.follow),
        "paths": bool(options.paths),
        "speed": options.speed,
        "arrows": list(options.arrows) + (["reactions"] if options.reactions else []),
    }


def page_text(content: DataTable, title: str, scripts: Sequence[str] = RECORDED, code: str = "") -> str:
    """Return a page with some content, drawn by scripts of ``web/scripts`` that follow its own ``code``."""
    meshes: DataTable = {}
    for store in (figure.pop("meshes", None) for figure in content.get("figures", [])):
        meshes |= {} if store is None else store.pack(meshes)
    content = content | {"meshes": meshes}
    pieces = {
        "title": html.escape(title),
        "style": _page_part("page.css"),
        "script": "\n".join([code, *(_strip_script(f"scripts/{name}") for name in scripts)]),
        "three": _three(),
        "data": _json(content),
    }
    # In one pass, so that no mark inside a piece is replaced.
    return re.sub("@(title|style|script|three|data)@", lambda mark: pieces[mark[1]], _page_part("page.html"))


def _json(content: DataTable) -> str:
    """Return JSON that cannot end the HTML element that contains it."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _page_part(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")


@cache
def _strip_script(name: str) -> str:
    """Return a script without whole-line comments and indentation, which make up an eighth of its size."""
    lines = (line.strip() for line in _page_part(name).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _three() -> str:
    return compress((_WEB / "three.min.js").read_bytes())


_TURN, _REACH = np.pi, 2.0  # half of a slider's range: of angles in rad, of lengths over the system's size


def posing_page(
    model: CompiledModel,
    initial: Given = None,
    parameters: DataMapping | None = None,
    title: str = "",
    options: PictureOptions | None = None,
) -> str:
    """Return the text of the page, with the coordinates at which runs start."""
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
    """Return the data of a slider: name, units, factor from the model's unit to these, and range."""
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
    """Return one page to print of a system: drawing, bodies, coordinates, parameters, equations of motion.

    The page opens in the browser or is shown in a notebook; ``path``, an .html file, writes it to that file.
    ``view`` is as for ``s.draw``, ``names`` and ``symbols`` as for ``eom.latex``.
    """
    page = sheet_text(system, view=view, names=names, symbols=symbols)
    return show_page(page) if path is None else write_html(page, path)


def sheet_text(
    system: object, *, view: str = "auto", names: str = "short", symbols: Mapping[str, str] | None = None
) -> str:
    """Return the text of the page."""
    if not isinstance(system, Description) or not hasattr(system, "derive"):  # System is in a later package
        raise ArmillaryError(f"a sheet is made of a system, not of {shown(system)}")
    equations = system.derive()
    model = equations.compile()
    unknown = {name: 1.0 for name, value in model.parameters.items() if value is None}  # for the drawing
    drawing = model.draw(view=view, parameters=unknown)
    core = derived_equations(equations)
    text = handout_text(core, "html", names=names, symbols=symbols)
    text = text.replace("</style>", f"{_STYLE}</style>", 1)
    head, remark, rest = text.partition('<p class="faint">')
    line, end, rest = rest.partition("</p>")
    return f"{head}<figure>{drawing}</figure>{remark}{line}{end}{rest}"
