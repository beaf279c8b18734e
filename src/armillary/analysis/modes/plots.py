"""Figures of modes: eigenvalues with participation, and shapes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from armillary.results.plots.figure import COLOURS, literal, open_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.modes.modes import Modes

_SHOWN = 0.02  # of a mode: coordinates with less are drawn together


def modes_plot(modes: Modes, index: int | None, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """The eigenvalues, with the participation of coordinates in each mode; or the shape of one mode."""
    return _all(modes, path, show) if index is None else _one(modes, index, path, show)


def _all(modes: Modes, path: str | os.PathLike[str] | None, show: bool) -> Figure:
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


def _one(modes: Modes, index: int, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Arrows with the amplitude and phase of each coordinate."""
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
