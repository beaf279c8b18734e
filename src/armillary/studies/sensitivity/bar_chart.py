"""Bars of sensitivities."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from armillary.results.plots.chart import axis_label
from armillary.results.plots.distributions import BLUE, BOX, GREY, INK, ORANGE, Path, count_text, head
from armillary.results.plots.figure import literal, open_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.studies.sensitivity.screening import Sensitivity

_LINE = 110  # letters of a note below bars


def bars(sensitivity: Sensitivity, *, title: str | None = None, path: Path | None = None) -> Figure:
    """The sensitivity of a metric to each varied quantity, the most important on top."""
    shown = {name: column for name, column in sensitivity.values.items() if name != "mu"}
    order = sensitivity.order[::-1]
    names = [sensitivity.names[i] for i in order]
    places = np.arange(len(names))
    width = 0.8 / len(shown)
    with open_figure((7.5, 1.3 + 0.5 * max(len(names), 2)), path) as figure:
        axes = figure.subplots()
        for k, (column, numbers) in enumerate(shown.items()):
            at = places + 0.4 - width * (k + 0.5)
            half = sensitivity.confidence.get(column)
            axes.barh(at, numbers[order], width, color=(BLUE, ORANGE)[k], label=_LABELS[column])
            if half is not None:
                axes.errorbar(
                    numbers[order], at, xerr=half[order], fmt="none", ecolor=INK, elinewidth=1, capsize=2.5
                )
        axes.axvline(0, color=GREY, lw=0.8)
        axes.set_yticks(places, [literal(name) for name in names], color=INK)
        axes.grid(False, axis="y")
        units = sensitivity.units if "mu_star" in shown else ""
        axes.set_xlabel(literal(axis_label(_AXES[next(iter(shown))], units)))
        axes.legend(loc="lower right", **BOX)
        if sensitivity.overlap:
            # Below the axis's own label, however high the figure is.
            axes.annotate(
                literal("\n".join(wrap(sensitivity.overlap, _LINE))), (0, 0), (0, -38), va="top",
                xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color=GREY,
            )  # fmt: skip
        heading = title if title is not None else f"{sensitivity.metric}: {sensitivity.method}"
        head(axes, heading, count_text(sensitivity.runs + sensitivity.left_out, sensitivity.left_out))
    return figure


_LABELS = {
    "first": "first order: alone",
    "total": "total: with interactions",
    "mu_star": "μ*: mean size of the effect",
    "sigma": "σ: spread of the effect",
    "explained": "variance explained",
    "rank": "correlation of ranks",
}
_AXES = {
    "first": "part of the variance",
    "mu_star": "effect over the whole range",
    "explained": "part of the variance, correlation",
}
