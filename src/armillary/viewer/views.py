"""Pages of several runs and of batches.

Several runs are shown in one scene: one over the other, side by side, or one at a time. The page of a batch
shows all its runs at once as a cloud, coloured by a metric or by a varied quantity.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import checked_names, core_of, instance, one_of, text
from armillary.ensembles.result import Batch
from armillary.errors import ArmillaryError, nearest
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.plots.motion import (
    FILMS,
    MotionView,
    PictureOptions,
    motion_path,
    show_page,
    write_page,
)
from armillary.results.record import label_units
from armillary.untyped import DataTable, Given
from armillary.viewer.appearance import COLOURS
from armillary.viewer.figures import PageFigure, bodies_of, channels, figure_of, paths_of, times_of
from armillary.viewer.film import write_film
from armillary.viewer.page import look_of, page_text, shown_outputs
from armillary.viewer.page_data import PoseFunction, pack_channels
from armillary.viewer.picture import scene_axes

LAYOUTS = ("ghosts", "side by side")
_GHOST = 0.3  # opacity of the runs that are drawn over the first
_GAP = 1.3  # distance of figures side by side, in widths of a figure
_MOST = 40  # most runs in one scene; a batch may have more


def view(
    *runs: Run,
    layout: str = "ghosts",
    labels: Sequence[str] = (),
    model: object = None,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
    view: str = "oblique",
    follow: str | None = None,
    paths: Sequence[str] = (),
    theme: str | None = None,
    size: tuple[int, int] = (640, 400),
    rate: float = 20.0,
    speed: float | None = None,
    time: float | None = None,
) -> MotionView | Path:
    """Show runs in one scene, in the browser or a notebook: ``arm.view(run, other, labels=["soft",
    "stiff"])``.

    ``layout`` "ghosts" draws the first run solid and the others transparent over it, "side by side" one
    beside another. Outputs with the same name share a plot. With ``path`` the page, film or picture is
    written to that file, as by ``run.animate``, which has the same further arguments. ``model``, one compiled
    model or one for each run, is needed for runs from files.
    """
    options = PictureOptions(view, follow, paths, theme, size, rate, speed, time)
    one_of(layout, LAYOUTS, "layout=")
    if not runs:
        raise ArmillaryError("there is no run to show; give one or more: arm.view(run, other)")
    if len(runs) > _MOST:
        raise ArmillaryError(f"{len(runs)} runs are too many for one scene; use simulate_batch(…).view()")
    for run in runs:
        instance(run, Run, "what is shown")
    named = _labels(runs, labels)
    figures = [
        figure_of(run, _equations_of(run, one), options)
        for run, one in zip(runs, _models(runs, model), strict=True)
    ]
    if path is not None:
        place = motion_path(path)
        if place.suffix.lower() in FILMS:
            opacities = [1.0] + [_GHOST if layout == "ghosts" else 1.0] * (len(runs) - 1)
            shifts = _shifts(figures) if layout != "ghosts" else None
            write_film(figures, place, options, opacities=opacities, shifts=shifts)
            return place
    page = page_of_figures(figures, runs, named, layout, text(title, "title"), options)
    return show_page(page) if path is None else write_page(page, place)


def page_of_figures(
    figures: Sequence[PageFigure],
    runs: Sequence[Run],
    labels: Sequence[str],
    layout: str,
    title: str,
    options: PictureOptions,
) -> str:
    """Return the page of several figures; ``layout`` "choose" shows one at a time."""
    packed = []
    shifts = _shifts(figures)
    for k, (figure, label) in enumerate(zip(figures, labels, strict=True)):
        content = figure.pack() | {"label": label}
        if layout != "choose":
            content |= {"colour": COLOURS[k % len(COLOURS)]}
        if layout == "ghosts" and k:
            content |= {"ghost": _GHOST, "tint": COLOURS[k % len(COLOURS)]}
        if layout == "side by side":
            content |= {"shift": shifts[k].tolist()}
        packed.append(content)
    systems = list(dict.fromkeys(run.system for run in runs))
    first = figures[0].content
    content = {
        "system": systems[0],
        "about": f"{len(runs)} {'motions' if layout == 'choose' else 'runs'}",
        "up": first["up"],
        "size": max(figure.content["size"] for figure in figures),
        "figures": packed,
        "layout": layout,
        "shown": shown_outputs(figures[0], runs[0]),
        "events": [[e.time, e.name] for run in runs for e in run.events[:200]] if len(runs) < 4 else [],
        "look": look_of(options, first),
    }
    return page_text(content, title or " and ".join(systems))


def _labels(runs: Sequence[Run], labels: Given) -> list[str]:
    given = [text(label, "a label") for label in labels]
    if given and len(given) != len(runs):
        raise ArmillaryError(f"{len(given)} labels were given for {len(runs)} runs; give one for each")
    return given or [f"{run.system}, run {k + 1}" for k, run in enumerate(runs)]


def _models(runs: Sequence[Run], model: object) -> list[Given]:
    many = list(model) if isinstance(model, list | tuple) else [model] * len(runs)
    if len(many) != len(runs):
        raise ArmillaryError(f"{len(many)} models were given for {len(runs)} runs; give one, or one for each")
    return many


def _equations_of(run: Run, model: object) -> DerivedEquations:
    found = core_of(model) if model is not None else run.picture
    found = getattr(found, "equations", found)
    if found is None:
        raise ArmillaryError(
            f"a run of '{run.system}' was read from a file and does not have its model; give it as model="
        )
    return instance(found, DerivedEquations, "model=")


def _shifts(figures: Sequence[PageFigure]) -> np.ndarray:
    """Return displacements to the right that separate the figures, starting with zero for the first."""
    right, _ = scene_axes(np.array(figures[0].content["up"]))
    widths = []
    for figure in figures:
        places = figure.channels.reshape(len(figure.channels), -1, 7)[..., :3] @ right
        known = places[np.isfinite(places)]
        widths.append(float(np.ptp(known)) if known.size else 0.0)
        widths[-1] += 2.0 * float(figure.content["size"])
    return np.outer(np.arange(len(figures)) * _GAP * max(widths), right)


MOST = 500  # most runs in the cloud of a batch
_NUMBERS = 6_000_000  # most numbers of the motion in a page: rows are thinned to this
_OUTPUTS = 6  # most outputs whose histories are plotted
# Five points of Matplotlib's colour map viridis (CC0), from low to high.
_SCALE = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]) / 255


def cloud_page(
    batch: Batch,
    equations: DerivedEquations,
    colour: str | None = None,
    title: str = "",
    options: PictureOptions | None = None,
) -> str:
    """Return the text of the page of a batch; ``colour`` is a metric, or a quantity that differs between
    runs.
    """
    chosen = options or PictureOptions()
    if not batch.histories:
        raise ArmillaryError(
            f"the batch of '{batch.system}' has no histories, so its motion is not known; simulate it with "
            "outputs= that name all coordinates and with sample="
        )
    runs = _evenly(batch.runs, MOST)
    values, label = _colour_values(batch, colour)
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
            "poses": pack_channels(motion),
            "columns": pack_channels(columns.transpose(1, 0, 2).reshape(len(rows), -1), gaps=True),
            "colours": _colours(values[runs]),
            "labels": [_run_label(batch, int(i)) for i in runs],
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
    """Return the poses of all bodies, seven numbers each: one row per time, with run after run."""
    equations = function.equations
    states = np.zeros((len(runs), len(rows), len(equations.program.state)))
    symbols = {q.data.name: q for q in equations.system.coordinates}
    for i, name in enumerate(equations.coordinates):
        if name not in function.needed:
            continue
        if name not in batch.histories:
            hint = nearest(name, batch.histories)
            raise ArmillaryError(
                f"the batch of '{batch.system}' has no history of the coordinate '{name}'{hint}, so its "
                "bodies cannot be placed; name all coordinates in outputs="
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


def _colour_values(batch: Batch, name: str | None) -> tuple[np.ndarray, str]:
    """Return the quantity that colours runs, and its name: as requested, else the first metric or varied
    quantity with one number per run.
    """
    flat = {n: v for n, v in {**batch.metrics, **batch.varied}.items() if np.ndim(v) == 1}
    if name is None:
        name = next(iter(flat), "")
        return np.asarray(flat.get(name, np.zeros(batch.runs)), dtype=float), name
    missing = f"the batch of '{batch.system}' has no"
    [name] = checked_names([name], flat, missing, after=" to colour its runs by", listed=True)
    return np.asarray(flat[name], dtype=float), name


def _colours(values: np.ndarray) -> list[str]:
    """Return colours from low to high; grey for values that are not finite."""
    finite = np.isfinite(values)
    low, high = (np.min(values[finite]), np.max(values[finite])) if finite.any() else (0.0, 0.0)
    s = np.where(finite, (values - low) / (high - low) if high > low else 0.5, 0.0)
    mixed = np.stack([np.interp(s, np.linspace(0, 1, len(_SCALE)), _SCALE[:, k]) for k in range(3)], axis=1)
    mixed = np.where(finite[:, None], mixed, 0.6)
    return ["#" + "".join(f"{round(255 * x):02x}" for x in row) for row in mixed]


def _run_label(batch: Batch, run: int) -> str:
    """Return the label of a run: its number, and its values of the first three varied quantities."""
    varied: DataTable = dict(list(batch.varied.items())[:3])
    values = [f"{n} = {v[run]:.4g} {batch.units.get(n, '')}".rstrip() for n, v in varied.items()]
    return f"run {run}" + (f": {', '.join(values)}" if values else "")
