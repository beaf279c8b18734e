"""The page that poses a system: a slider for each coordinate, loops closed while they are moved.

The page computes poses of bodies in their parents, gaps Φ of all loops and of Euler parameters (|q|² − 1),
and their derivatives, by functions printed from the same expressions as the compiled code. A moved coordinate
stays where the slider is; the others follow by Newton steps of least length, δq = −Jᵀ (J Jᵀ)⁻¹ Φ.
"""

from __future__ import annotations

import numpy as np

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.model.units.unit_system import state_factor
from armillary.program.functions import moving_bodies, pose_expressions
from armillary.results.plots.picture_options import PictureOptions
from armillary.results.units import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.figures import bodies_of
from armillary.viewer.pages.javascript import javascript_function
from armillary.viewer.pages.page import SCENE, look_of, page_text

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
