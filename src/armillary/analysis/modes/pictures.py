"""Shapes of modes in motion, as pages and films."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.errors import ArmillaryError
from armillary.results.plots.motion import (
    FILMS,
    MotionView,
    PictureOptions,
    motion_path,
    picture_of,
    show_page,
    write_page,
)

if TYPE_CHECKING:
    from armillary.analysis.modes.modes import Modes
    from armillary.results.plots.motion import MotionPicture

_SECONDS = 2.0  # of a period in a film


def show_modes(
    modes: Modes,
    mode: int | str | None,
    amplitude: float | None,
    model: MotionPicture | None,
    options: PictureOptions,
) -> MotionView:
    """A page of one mode or all, in the browser or a notebook."""
    return show_page(_page(modes, mode, amplitude, model, options))


def write_modes(
    modes: Modes,
    path: str | os.PathLike[str],
    mode: int | str | None,
    amplitude: float | None,
    model: MotionPicture | None,
    options: PictureOptions,
) -> Path:
    """A page of one mode or all, or a film of one."""
    place = motion_path(path)
    if place.suffix.lower() not in FILMS:
        return write_page(_page(modes, mode, amplitude, model, options), place)
    if mode is None:
        raise ArmillaryError(
            f"a film shows one of the {len(modes)} modes of '{modes.system}'; give it by its number or name, "
            "modes.animate('mode.gif', 0), or write an .html page of all"
        )
    run = modes.motion(mode, amplitude=amplitude)
    speed = float(run.time[-1] - run.time[0]) / _SECONDS
    picture_of(run.picture, model, f"the modes of '{modes.system}'").film(
        run, place, replace(options, speed=speed)
    )
    return place


def _page(
    modes: Modes,
    mode: int | str | None,
    amplitude: float | None,
    model: MotionPicture | None,
    options: PictureOptions,
) -> str:
    chosen = range(len(modes)) if mode is None else [modes._index(mode)]
    if not chosen:
        raise ArmillaryError(f"'{modes.system}' has no modes to show")
    runs = [modes.motion(i, amplitude=amplitude) for i in chosen]
    labels = [f"{i}: {modes[i].summary}; {modes[i].label}" for i in chosen]
    picture = picture_of(runs[0].picture, model, f"the modes of '{modes.system}'")
    return picture.choice(runs, labels, f"Modes of {modes.system}", options)
