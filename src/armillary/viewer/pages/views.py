"""Several runs in one scene: one over the other, side by side, or one at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import instance, one_of, text
from armillary.errors import ArmillaryError
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.plots.motion import FILMS, MotionView, motion_path, show_page, write_page
from armillary.results.plots.picture_options import PictureOptions
from armillary.untyped import Given
from armillary.viewer.figures import PageFigure, figure_of
from armillary.viewer.film.camera import scene_axes
from armillary.viewer.film.film import write_film
from armillary.viewer.pages.page import look_of, page_text, shown_outputs
from armillary.viewer.parts.appearance import COLOURS

LAYOUTS = ("ghosts", "side by side")
_GHOST = 0.3  # opacity of runs over which another is drawn
_GAP = 1.3  # of the width of a figure, between two side by side
_MOST = 40  # runs in one scene; a batch shows more


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
    """Runs in one scene, in the browser or a notebook: ``arm.view(run, other, labels=["soft", "stiff"])``.

    ``layout`` "ghosts" draws the first run solid and the others transparent over it, "side by side" one
    beside another. Outputs of equal names share a plot. With ``path`` the page, film or picture is written
    to that file, as by ``run.animate``, whose further arguments these are. ``model``, one compiled model or
    one for each run, is needed for runs from files.
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
        figure_of(run, _equations(run, one), options)
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
    """The page of several figures; ``layout`` "choose" shows one at a time."""
    packed = []
    shifts = _shifts(figures)
    for k, (figure, label) in enumerate(zip(figures, labels, strict=True)):
        content = figure.packed() | {"label": label}
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


def _equations(run: Run, model: object) -> DerivedEquations:
    found = getattr(model, "equations", model) if model is not None else run.picture
    if found is None:
        raise ArmillaryError(
            f"a run of '{run.system}' was read from a file and does not have its model; give it as model="
        )
    return instance(found, DerivedEquations, "model=")


def _shifts(figures: Sequence[PageFigure]) -> np.ndarray:
    """Displacements to the right that keep figures apart, around the first one's place."""
    right, _ = scene_axes(np.array(figures[0].content["up"]))
    widths = []
    for figure in figures:
        places = figure.channels.reshape(len(figure.channels), -1, 7)[..., :3] @ right
        known = places[np.isfinite(places)]
        widths.append(float(np.ptp(known)) if known.size else 0.0)
        widths[-1] += 2.0 * float(figure.content["size"])
    return np.outer(np.arange(len(figures)) * _GAP * max(widths), right)
