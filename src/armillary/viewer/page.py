"""The page of a motion, and expressions as JavaScript for pages that compute a geometry.

Expressions as functions of JavaScript, for pages that compute a geometry themselves.

The page of a motion: one HTML file with figures, plots and the program that draws them; no network.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from armillary.algebra.expression import Expr
from armillary.algebra.walk import operands_first
from armillary.errors import ArmillaryError, nearest
from armillary.export.text.printer import CHOICE, Operand, Printer
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.plots.motion import PictureOptions
from armillary.untyped import DataTable
from armillary.viewer.figures import PageFigure, figure_of
from armillary.viewer.poses import compressed

_SAME = (
    "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "abs", "sign", "min",
    "max", "floor", "ceil", "pow",
)  # fmt: skip


class JavaScriptPrinter(Printer):
    """JavaScript's way of writing expressions, that of the C family except for the names of functions."""

    functions = {  # noqa: RUF012
        **{name: f"Math.{name}" for name in _SAME},
        "mod": "((a, b) => a - b * Math.floor(a / b))",
    }
    specials = ("NaN", "Infinity", "-Infinity")


def javascript_function(name: str, results: Sequence[Expr], values: Mapping[Expr, str]) -> str:
    """A function of ``q``, an array, that returns all results; ``values`` holds the text of each symbol."""
    printer = JavaScriptPrinter()
    texts: dict[Expr, Operand] = {}
    lines: list[str] = []
    for node in operands_first(results):
        if node.kind == "symbol":
            if node not in values:
                raise ArmillaryError(f"'{node.data.name}' has no value that a page could compute")
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
_EVENTS = 2000  # marks on the time line
# The program of a page, in order. A page with another driver of the motion ends with a file of its own.
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
    """The text of the page of a run."""
    chosen = options or PictureOptions()
    figure = figure_of(run, equations, chosen)
    span = f"{run.time[0]:g} to {run.time[-1]:g} s"
    bodies = len(figure.content["bodies"])
    content = {
        "system": run.system,
        "about": f"{bodies} {'body' if bodies == 1 else 'bodies'}, {equations.freedom}, {span}",
        "up": figure.content["up"],
        "size": figure.content["size"],
        "figures": [figure.packed()],
        "shown": shown_outputs(figure, run),
        "events": [[e.time, e.name] for e in run.events[:_EVENTS]],
        "look": look_of(chosen, figure.content),
    }
    return page_text(content, title or run.system)


def shown_outputs(figure: PageFigure, run: Run) -> list[str]:
    """Names of the outputs that are plotted at first."""
    return [o["name"] for o in figure.outputs[: min(_SHOWN, len(run.outputs) or _SHOWN)]]


def look_of(options: PictureOptions, figure: DataTable) -> DataTable:
    """From where the page shows the motion at first."""
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
    """A page with some content, drawn by files of ``web/scripts`` after ``code`` of its own."""
    meshes: DataTable = {}
    for store in (figure.pop("meshes", None) for figure in content.get("figures", [])):
        meshes |= {} if store is None else store.packed(meshes)
    content = content | {"meshes": meshes}
    pieces = {
        "title": html.escape(title),
        "style": _part("page.css"),
        "script": "\n".join([code, *(_bare(f"scripts/{name}") for name in scripts)]),
        "three": _three(),
        "data": _json(content),
    }
    # In one pass, so that nothing in a piece is taken for a mark.
    return re.sub("@(title|style|script|three|data)@", lambda mark: pieces[mark[1]], _part("page.html"))


def _json(content: DataTable) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _part(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")


@cache
def _bare(name: str) -> str:
    """A script without comments of whole lines and without what indents it: an eighth of its size."""
    lines = (line.strip() for line in _part(name).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _three() -> str:
    return compressed((_WEB / "three.min.js").read_bytes())
