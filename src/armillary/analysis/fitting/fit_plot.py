"""Data and model side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armillary.algebra.arguments import checked_names
from armillary.results.plots.chart import axis_label
from armillary.results.plots.figure import COLOURS, literal, open_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.fitting.outcome import Fit

_PALE = "#9aa4ad"


def fit_plot(fit: Fit, columns: Sequence[str], path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Pale points for measurements, a line over them for the model; a colour for each experiment."""
    known = list(dict.fromkeys(c for m in fit.experiments for c in m.columns))
    shown = list(checked_names(columns, known, "no data of", after=" were fitted")) or known
    several = len(fit.experiments) > 1
    with open_figure((8.0, 1.4 + 2.2 * len(shown)), path, show=show) as figure:
        axes = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for ax, c in zip(axes, shown, strict=True):
            for i, (m, run) in enumerate(zip(fit.experiments, fit.runs, strict=True)):
                if c in m.columns:
                    colour = COLOURS[i % len(COLOURS)]
                    points = {"color": colour, "alpha": 0.35} if several else {"color": _PALE}
                    ax.plot(m.time, m.columns[c], ".", markersize=4, zorder=2, **points)
                    ax.plot(
                        run.time,
                        run[c],
                        color=colour,
                        zorder=3,
                        label=literal(m.name) if several else "model",
                    )
            ax.set_ylabel(literal(axis_label(c, fit.runs[0].units[c])))
            ax.plot([], [], ".", color=_PALE, markersize=4, label="data")
        axes[0].legend(loc="best")
        axes[0].set_title(literal(fit.system))
        axes[-1].set_xlabel("time (s)")
        figure.align_ylabels(axes)
    return figure
