"""Figures, pages, films and texts of modes, root loci and Campbell diagrams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armillary.analysis.modes.shapes import by_share
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
from armillary.results.plots.run_plot import COLOURS, literal, open_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.modes.modes import Modes
    from armillary.analysis.modes.root_locus import Campbell, RootLocus
    from armillary.results.plots.motion import Drawable


_SHOWN = 0.02  # least participation, or relative amplitude, of a coordinate that is drawn


def plot(
    modes: Modes,
    mode: int | str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    show: bool = False,
) -> Figure:
    """Draw eigenvalues in the complex plane and the participation of coordinates, or one mode's shape."""
    if mode is None:
        return _plot_all_modes(modes, path, show)
    return _plot_one_shape(modes, modes._index(mode), path, show)


def _plot_all_modes(modes: Modes, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    with open_figure((9.5, max(3.2, 1.2 + 0.3 * len(modes))), path, show=show) as figure:
        plane, bars = figure.subplots(1, 2, width_ratios=[2, 3])
        values = modes.eigenvalues
        for sign in (1, -1):
            plane.plot(values.real, sign * values.imag, "x", color=COLOURS[0], markersize=7)
        plane.axvline(0.0, color="#5b6570", linewidth=0.8)
        plane.set_xlabel("Re λ (1/s)")
        plane.set_ylabel("Im λ (rad/s)")
        plane.set_title(literal(modes.system))
        left = np.zeros(len(modes))
        rows = np.arange(len(modes))
        order = [k for k in range(len(modes.coordinates)) if np.max(modes.participation[:, k]) > _SHOWN]
        for i, k in enumerate(order):
            share = 100 * modes.participation[:, k]
            colour = COLOURS[i % len(COLOURS)]
            bars.barh(rows, share, left=left, color=colour, label=literal(modes.coordinates[k]), height=0.7)
            left = left + share
        bars.set_yticks(rows, [literal(_caption(modes, i)) for i in range(len(modes))])
        bars.invert_yaxis()
        bars.set_xlabel("participation (%)")
        bars.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _caption(modes: Modes, i: int) -> str:
    mode = modes[i]
    what = f"{mode.damped_frequency:.3g} Hz" if mode.damped_omega else f"{mode.eigenvalue.real:.3g} 1/s"
    return f"{mode.name or i}: {what}"


def _plot_one_shape(modes: Modes, index: int, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Draw lines with the amplitude and phase of each coordinate."""
    with open_figure((5.5, 4.5), path, show=show) as figure:
        ax = figure.add_subplot(projection="polar")
        shape = modes[index].shape
        largest = max((abs(shape[c]) for c in modes.coordinates), default=1.0)
        for i, c in enumerate(modes.coordinates):
            if abs(shape[c]) > _SHOWN * largest:
                colour = COLOURS[i % len(COLOURS)]
                units = f" ({modes.units[c]})" if modes.units.get(c) else ""
                ax.plot([0, np.angle(shape[c])], [0, abs(shape[c])], "-o", color=colour, markersize=4,
                        label=literal(f"{c}{units}"))  # fmt: skip
        ax.legend(loc="upper left", bbox_to_anchor=(1.05, 1.0))
        ax.set_title(literal(f"{modes.system}: {_caption(modes, index)}"))
    return figure


# Shapes of modes in motion, as pages and films.

_SECONDS = 2.0  # duration of the motion of a mode in a film


def view(
    modes: Modes,
    mode: int | str | None = None,
    *,
    amplitude: float | None = None,
    model: Drawable | None = None,
    view: str = "oblique",
    theme: str | None = None,
) -> MotionView:
    """Show the shapes of all modes or of one in motion, in the browser or a notebook; see ``motion``."""
    return show_page(_page(modes, mode, amplitude, model, PictureOptions(view, theme=theme)))


def animate(
    modes: Modes,
    path: str | os.PathLike[str],
    mode: int | str | None = None,
    *,
    amplitude: float | None = None,
    model: Drawable | None = None,
    view: str = "oblique",
    theme: str | None = None,
    size: tuple[int, int] = (640, 400),
    rate: float = 20.0,
) -> Path:
    """Write the shapes of modes in motion: a page (.html) of all modes or one, or a film (.gif, .webp, .mp4)
    of one, in which a period lasts two seconds. Return the path.
    """
    options, place = PictureOptions(view, theme=theme, size=size, rate=rate), motion_path(path)
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
    model: Drawable | None,
    options: PictureOptions,
) -> str:
    chosen = range(len(modes)) if mode is None else [modes._index(mode)]
    if not chosen:
        raise ArmillaryError(f"'{modes.system}' has no modes to show")
    runs = [modes.motion(i, amplitude=amplitude) for i in chosen]
    labels = [f"{i}: {modes[i].summary}; {modes[i].label}" for i in chosen]
    picture = picture_of(runs[0].picture, model, f"the modes of '{modes.system}'")
    return picture.choice(runs, labels, f"Modes of {modes.system}", options)


# Figures of eigenvalues over a parameter: root loci and Campbell diagrams.

_GREY = "#5b6570"


def plot_root_locus(
    locus: RootLocus, *, path: str | os.PathLike[str] | None = None, show: bool = False
) -> Figure:
    """Draw the eigenvalues in the complex plane, with a circle at the first value, and beside it their real
    and imaginary parts over the parameter. Crossings of the imaginary axis are marked.
    """
    with open_figure((10.0, 4.6), path, show=show) as figure:
        left, right = figure.subplots(1, 2)
        for i in range(len(locus)):
            branch, colour = locus[i], COLOURS[i % len(COLOURS)]
            for sign in (1, -1):
                left.plot(branch.real, sign * branch.imag, "-", color=colour, marker=".", markersize=3)
                left.plot(branch.real[:1], sign * branch.imag[:1], "o", color=colour, markerfacecolor="none")
            right.plot(locus.values, branch.real, "-", color=colour, label=literal(locus.labels[i]))
            if np.any(branch.imag > 0):
                turning = np.where(branch.imag > 0, branch.imag, np.nan)
                right.plot(locus.values, turning, "--", color=colour, linewidth=1.0)
        for crossing in locus.crossings:
            right.plot([crossing.value], [0.0], "o", color=_GREY, zorder=4)
            right.annotate(f" {crossing.value:.4g}", (crossing.value, 0.0), xytext=(2, 4),
                           textcoords="offset points", color=_GREY)  # fmt: skip
            for sign in (1, -1):
                left.plot([0.0], [sign * crossing.eigenvalue.imag], "o", color=_GREY, markersize=4, zorder=4)
        left.axvline(0.0, color=_GREY, linewidth=0.8)
        right.axhline(0.0, color=_GREY, linewidth=0.8)
        left.set_xlabel("Re λ (1/s)")
        left.set_ylabel("Im λ (rad/s)")
        left.set_title(literal(locus.system))
        units = f" ({locus.units})" if locus.units else ""
        right.set_xlabel(literal(f"{locus.parameter}{units}"))
        right.set_ylabel("Re λ, dashed Im λ (1/s)")
        right.legend(loc="best", fontsize=8)
    return figure


def plot_campbell(
    diagram: Campbell, *, path: str | os.PathLike[str] | None = None, show: bool = False
) -> Figure:
    """Draw frequencies over the spin (dashed: backward whirl), lines of the orders, and critical speeds."""
    with open_figure((7.5, 4.8), path, show=show) as figure:
        ax = figure.subplots()
        for i in range(diagram.frequencies.shape[1]):
            style = "--" if np.sum(diagram.whirl[:, i]) < 0 else "-"
            ax.plot(diagram.values, diagram.frequencies[:, i], style, color=COLOURS[i % len(COLOURS)])
        top = 1.05 * float(np.max(diagram.frequencies))
        for order in diagram.orders:
            line = order * diagram.radians * np.abs(diagram.values) / (2 * np.pi)
            ax.plot(diagram.values, line, ":", color=_GREY, linewidth=1.0)
            seen = np.flatnonzero(line <= top)
            if seen.size:
                ax.annotate(f" {order:g}×", (diagram.values[seen[-1]], line[seen[-1]]), color=_GREY)
        for c in diagram.critical_speeds:
            ax.plot([c.spin], [c.omega / (2 * np.pi)], "o", color=_GREY, zorder=4)
        ax.set_ylim(0.0, top)
        units = f" ({diagram.units})" if diagram.units else ""
        ax.set_xlabel(literal(f"{diagram.spin}{units}"))
        ax.set_ylabel("frequency (Hz)")
        ax.set_title(literal(diagram.system))
    return figure


# Eigenvalues and participation as text.

_ENOUGH = 0.8  # no more coordinates are named when the named ones have this participation together
_FEW = 0.1  # least participation of a coordinate that is named after the first
_MOST = 3  # most coordinates that are named
ROUNDING = 1e-12  # real parts below this share of |λ| count as zero


def in_words(shares: np.ndarray, names: Sequence[str]) -> str:
    """Return the coordinates that make up most of a mode: 62 % lean.q1, 30 % fork.q1."""
    parts: list[str] = []
    reached = 0.0
    for k in by_share(shares)[:_MOST]:
        if parts and (reached >= _ENOUGH or shares[k] < _FEW):
            break
        parts.append(f"{100 * shares[k]:.0f} % {names[k]}")
        reached += float(shares[k])
    return ", ".join(parts)


def eigenvalue_text(value: complex, *, pair: bool = False) -> str:
    """Return an eigenvalue, or a pair, as text; a real part that is a rounding error is shown as 0."""
    growth = value.real if abs(value.real) > ROUNDING * abs(value) else 0.0
    if not value.imag:
        return f"{growth:.6g}"
    sign = "±" if pair else "+" if value.imag > 0 else "-"
    return f"{growth:.6g} {sign} {abs(value.imag):.6g}i"
