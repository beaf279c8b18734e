"""The page of a run: one HTML file with the motion, its plots and the program that draws it; no network."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from armillary.errors import ArmillaryError
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.units import label_units
from armillary.viewer.appearance import COLOURS, Appearance
from armillary.viewer.encoding import compressed, packed
from armillary.viewer.poses import PoseFunction, Poses

_WEB = Path(__file__).parent / "web"
_SHOWN = 3  # plots that are open at first
_KEPT = 60  # outputs that a page offers, the model's own first
_EVEN = 1e-9  # by which times may deviate from equal steps, as a part of a step
ROWS = 20_000  # of a motion in a page: more are thinned


def page_of(run: Run, equations: DerivedEquations, title: str = "") -> str:
    """The text of the page."""
    if run.system != equations.system.name:
        raise ArmillaryError(
            f"the run is one of '{run.system}', the model is '{equations.system.name}'; give the model "
            "that made the run"
        )
    if not len(run):
        raise ArmillaryError(f"the run of '{run.system}' has no rows, so there is nothing to show")
    pieces = {
        "title": html.escape(title or run.system),
        "style": _part("page.css"),
        "script": _part("page.js"),
        "three": _three(),
        "data": _json(_content(run, equations)),
    }
    # In one pass, so that nothing in a piece is taken for a mark.
    return re.sub("@(title|style|script|three|data)@", lambda mark: pieces[mark[1]], _part("page.html"))


def _content(run: Run, equations: DerivedEquations) -> dict[str, Any]:
    rows = _rows(run)
    function = PoseFunction(equations)
    poses = function.of_run(run)
    look = Appearance(equations, run.parameters)
    names = [*run.outputs, *(n for n in run.names if n not in set(run.outputs))][:_KEPT]
    bodies = [
        {
            "name": body.name,
            "colour": COLOURS[i % len(COLOURS)],
            "parts": look.parts(body),
            "com": look.numbers(body.com_coordinates).tolist(),
        }
        for i, body in enumerate(look.bodies)
    ]
    ground = equations.system.ground
    span = f"{run.time[0]:g} to {run.time[-1]:g} s"
    return {
        "system": run.system,
        "about": f"{len(bodies)} bodies, {equations.freedom}, {span}",
        "up": look.up(),
        "size": look.size,
        "bodies": bodies,
        "ground": {"name": "ground", "colour": "#8a949d", "parts": look.parts(ground), "com": [0, 0, 0]},
        "springs": look.springs(),
        "bending": look.bending(),
        "amplitudes": packed(function.amplitudes(run)[rows]),
        "time": _times(run.time[rows]),
        "poses": packed(channels(poses)[rows]),
        "columns": packed(np.stack([run[n][rows] for n in names], axis=1) if names else np.zeros((1, 0))),
        "outputs": [
            {"name": n, "units": label_units(run.units[n]), "about": run.descriptions[n]} for n in names
        ],
        "shown": list(range(min(_SHOWN, len(run.outputs) or len(names)))),
        "events": [[e.time, e.name] for e in run.events[:2000]],
    }


def channels(poses: Poses) -> np.ndarray:
    """x, y, z and the quaternion x, y, z, w of each body side by side, without jumps of its sign."""
    n, bodies = poses.positions.shape[:2]
    turned = Rotation.from_matrix(poses.rotations.reshape(-1, 3, 3)).as_quat().reshape(n, bodies, 4)
    same = np.sum(turned[1:] * turned[:-1], axis=2)
    signs = np.cumprod(np.vstack([np.ones((1, bodies)), np.where(same < 0, -1.0, 1.0)]), axis=0)
    return np.concatenate([poses.positions, turned * signs[..., None]], axis=2).reshape(n, 7 * bodies)


def _rows(run: Run) -> np.ndarray:
    """All rows with a finite time, or as many as a page holds, evenly, first and last included."""
    if len(run) <= ROWS:
        return np.arange(len(run))
    return np.unique(np.rint(np.linspace(0, len(run) - 1, ROWS)).astype(int))


def _times(times: np.ndarray) -> dict[str, Any]:
    """Equal steps by their number, others one by one."""
    n = len(times)
    step = (times[-1] - times[0]) / (n - 1) if n > 1 else 1.0
    even = np.max(np.abs(times - (times[0] + step * np.arange(n)))) <= _EVEN * abs(step)
    if even:
        return {"rows": n, "start": float(times[0]), "step": float(step)}
    return {"rows": n, "values": times.tolist()}


def _json(content: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _part(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")


@cache
def _three() -> str:
    return compressed((_WEB / "three.min.js").read_bytes())
