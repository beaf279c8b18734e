"""documentation/index.html: what the model is, and all its variables, for people."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from armillary.export.fmi.description.variables import FmiVariable, Interface
from armillary.export.fmi.tables import FmuSolver

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
td, th {{ border-bottom: 1px solid #ccc; padding: 0.2em 1em 0.2em 0; text-align: left; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{about}</p>
{sections}
</body>
</html>
"""


def documentation(interface: Interface, solver: FmuSolver) -> str:
    """The page of a model."""
    description = interface.source.description
    steps = f"relative tolerance {solver.rtol:g}, absolute {solver.atol:g}"
    if not solver.method.adaptive:
        steps = f"steps of at most {solver.step:g} s"
    about = (
        f"{description.freedom}, equations by {description.formalism} ({description.operations}), generated "
        f"by Armillary {description.version}. Co-simulation integrates by {solver.method.name}: "
        f"{solver.method.description}; {steps}. Inputs are constant in a communication step, unless the "
        "importer gives their derivatives or sets them between inner steps."
    )
    about = " ".join([about, *description.remarks])
    outputs = [v for v in interface.outputs if v.causality == "output"]
    others = [v for v in interface.outputs if v.causality != "output"]
    sections = [
        _bodies(interface),
        _table("Parameters", interface.parameters),
        _table("Inputs", [v for v in interface.memory if v.causality == "input"]),
        _table("Outputs", outputs),
        _table("States, which are outputs too", interface.states),
        _table("Discrete states", [v for v in interface.memory if v.causality != "input"]),
        _table("Loads and dependent quantities", others),
    ]
    title = escape(description.name)
    return _PAGE.format(title=title, about=escape(about), sections="\n".join(s for s in sections if s))


def _bodies(interface: Interface) -> str:
    rows = [
        (b.name, b.parent, b.joint, ", ".join(b.coordinates)) for b in interface.source.description.bodies
    ]
    return _rows("Bodies", ("body", "parent", "joint", "coordinates"), rows)


def _table(title: str, variables: Sequence[FmiVariable]) -> str:
    rows = [(v.name, "" if v.start is None else f"{v.start:.10g}", v.units, v.about) for v in variables]
    return _rows(title, ("name", "start", "units", "description"), rows)


def _rows(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"<h2>{title}</h2>", "<table>", "<tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])
