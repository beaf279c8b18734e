"""The page of a batch: all its runs at once as a cloud, coloured by a metric or by what differs."""

from __future__ import annotations

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.ensembles.result import Batch
from armillary.errors import ArmillaryError, nearest
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.results.plots.picture_options import PictureOptions
from armillary.results.units import label_units
from armillary.untyped import DataTable
from armillary.viewer.figures import bodies_of, channels, paths_of, times_of
from armillary.viewer.pages.encoding import packed
from armillary.viewer.pages.page import look_of, page_text
from armillary.viewer.poses import PoseFunction

MOST = 500  # runs that are shown
_NUMBERS = 6_000_000  # numbers of the motion in a page: rows are thinned to this
_OUTPUTS = 6  # whose histories are plotted
# Five points of Matplotlib's colour map viridis (CC0), from low to high.
_SCALE = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]) / 255


def cloud_page(
    batch: Batch,
    equations: DerivedEquations,
    colour: str | None = None,
    title: str = "",
    options: PictureOptions | None = None,
) -> str:
    """The text of the page of a batch; ``colour`` is a metric, or what differs between the runs."""
    chosen = options or PictureOptions()
    if not batch.histories:
        raise ArmillaryError(
            f"the batch of '{batch.system}' has no histories, so its motion is not known; simulate it with "
            "outputs= that name all coordinates and with sample="
        )
    runs = _evenly(batch.runs, MOST)
    values, label = _values(batch, colour)
    function = PoseFunction(equations)
    bodies = len(function.bodies)
    rows = _evenly(len(batch.time), max(2, _NUMBERS // max(1, len(runs) * bodies * 7)))
    motion = _channels(batch, function, runs, rows)
    kept = [name for name in batch.histories if name in equations.system.outputs][:_OUTPUTS]
    kept = kept or list(batch.histories)[:_OUTPUTS]
    columns = np.stack([batch.histories[name][np.ix_(runs, rows)] for name in kept], axis=2)  # run, row, name
    parameters = {name: float(v[runs[0]]) for name, v in batch.parameters.items()}
    figure = bodies_of(equations, parameters)
    shown = f"{len(runs)} of {batch.runs}" if len(runs) < batch.runs else str(batch.runs)
    figure |= {
        "paths": paths_of(equations, parameters, chosen.paths),
        "time": times_of(batch.time[rows]),
        "outputs": [{"name": n, "units": label_units(batch.units.get(n, "")), "about": ""} for n in kept],
        "cloud": {
            "runs": len(runs),
            "poses": packed(motion),
            "columns": packed(columns.transpose(1, 0, 2).reshape(len(rows), -1), gaps=True),
            "colours": _colours(values[runs]),
            "labels": [_words(batch, int(i)) for i in runs],
        },
    }
    content = {
        "system": batch.system,
        "about": f"{shown} runs{f', coloured by {label}' if label else ''}",
        "up": figure["up"],
        "size": figure["size"],
        "figures": [figure],
        "layout": "cloud",
        "shown": kept[:3],
        "events": [],
        "look": look_of(chosen, figure),
    }
    return page_text(content, title or batch.system)


def _channels(batch: Batch, function: PoseFunction, runs: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Seven numbers per body of all runs in each row, run after run."""
    equations = function.equations
    states = np.zeros((len(runs), len(rows), len(equations.program.state)))
    symbols = {q.data.name: q for q in equations.system.coordinates}
    for i, name in enumerate(equations.coordinates):
        if name not in function.needed:
            continue
        if name not in batch.histories:
            hint = nearest(name, batch.histories)
            raise ArmillaryError(
                f"the batch of '{batch.system}' has no history of the coordinate '{name}'{hint}: its bodies "
                "have no place; name all coordinates in outputs="
            )
        factor = state_factor(symbols[name]) if name in symbols else 1.0
        states[:, :, i] = batch.histories[name][np.ix_(runs, rows)] * factor
    found = []
    for k, run in enumerate(runs):
        parameters = {n: float(v[run]) for n, v in batch.parameters.items()}
        found.append(channels(function.at(batch.time[rows], states[k], parameters)))
    return np.concatenate(found, axis=1)


def _evenly(count: int, most: int) -> np.ndarray:
    return np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(int))


def _values(batch: Batch, name: str | None) -> tuple[np.ndarray, str]:
    """The quantity that colours runs: as requested, else the first metric or difference with one number."""
    flat = {n: v for n, v in {**batch.metrics, **batch.varied}.items() if np.ndim(v) == 1}
    if name is None:
        name = next(iter(flat), "")
        return np.asarray(flat.get(name, np.zeros(batch.runs)), dtype=float), name
    missing = f"the batch of '{batch.system}' has no"
    [name] = checked_names([name], flat, missing, after=" to colour its runs by", listed=True)
    return np.asarray(flat[name], dtype=float), name


def _colours(values: np.ndarray) -> list[str]:
    """Colours from low to high; grey where there is no number."""
    finite = np.isfinite(values)
    low, high = (np.min(values[finite]), np.max(values[finite])) if finite.any() else (0.0, 0.0)
    s = np.where(finite, (values - low) / (high - low) if high > low else 0.5, 0.0)
    mixed = np.stack([np.interp(s, np.linspace(0, 1, len(_SCALE)), _SCALE[:, k]) for k in range(3)], axis=1)
    mixed = np.where(finite[:, None], mixed, 0.6)
    return ["#" + "".join(f"{round(255 * x):02x}" for x in row) for row in mixed]


def _words(batch: Batch, run: int) -> str:
    """A run by its number and what differs in it."""
    varied: DataTable = dict(list(batch.varied.items())[:3])
    values = [f"{n} = {v[run]:.4g} {batch.units.get(n, '')}".rstrip() for n, v in varied.items()]
    return f"run {run}" + (f": {', '.join(values)}" if values else "")
