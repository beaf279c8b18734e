"""Figures of eigenvalues over a parameter: root loci and Campbell diagrams."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from armillary.results.plots.figure import COLOURS, literal, open_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.modes.sweeps.campbell import Campbell
    from armillary.analysis.modes.sweeps.root_locus import RootLocus

_GREY = "#5b6570"


def root_locus_plot(locus: RootLocus, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Left the complex plane, with a circle at the first value; right real and imaginary parts over the
    values, with crossings of the imaginary axis marked.
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


def campbell_plot(diagram: Campbell, path: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Frequencies over the spin, dashed where the whirl is backward, lines of the orders, critical speeds."""
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
