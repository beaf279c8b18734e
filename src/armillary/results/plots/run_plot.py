"""Plots of runs: one panel per unit, or per output of several runs; as figures, or as HTML pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from armillary.algebra import arguments
from armillary.errors import ArmillaryError, UnitsError, shown
from armillary.results.plots.chart import Chart, Panel, axis_label, chart_of
from armillary.results.plots.figure import COLOURS, FIGURES, check_suffix, literal, open_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from armillary.results.run import Run

_PAGES = (".html", ".htm")

# A panel whose values differ by less than this part of the largest is drawn as constant, with room of _ROOM
# of the largest on either side (what matplotlib gives to equal values): an energy kept to 1e-11 is a
# straight line, not the noise of its last digits.
_CONSTANT = 1e-6
_ROOM = 0.05

_DASHES = ("-", "--", ":", "-.")


def plot(
    runs: Run | Sequence[Run],
    *names: str,
    x: str | None = None,
    path: str | os.PathLike[str] | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool = False,
) -> Figure | None:
    """A figure of outputs of one run, or of several laid over each other; over time, or over output `x`.

        arm.plot([slow, fast], "r", "Ay", path="steer.html")
        arm.plot(run, "NRB.q2", x="NRB.q1", path="path.png")

    Names may be patterns (`A.*`); without any, the model's own outputs are plotted (`Run.outputs`), or all
    where it has none. Of one run, outputs of equal units share a panel; of several each
    output has its own, and each run a colour and a label (by default its system, or the parameters in which
    the runs differ). With `path` it is saved as PNG, SVG, PDF, or as one HTML page to zoom in, of which no
    figure is returned. With `ax` everything goes there. Without a path, or with `show`, the window system is
    used.
    """
    suffix = None if path is None else check_suffix(path, (*FIGURES, *_PAGES))
    # By hasattr, since the module of runs imports this one.
    listed = [runs] if hasattr(runs, "names") else arguments.several(runs, "runs")
    if other := [run for run in listed if not hasattr(run, "names")]:  # likewise
        raise ArmillaryError(f"plot: {shown(other[0])} is not a run")
    if title is not None:
        arguments.text(title, "title")
    arguments.flag(show, "show=")
    several = cast("list[Run]", listed)
    chart = chart_of(several, names, x=x, labels=labels, title=title)
    if path is not None and suffix in _PAGES:
        if ax is not None:
            raise ArmillaryError("a page has axes of its own: leave ax out, or save as PNG, SVG or PDF")
        from armillary.results.plots.webpage import write_page  # what pages need costs time at start-up

        write_page(Path(path), chart)
        return None
    return _figure(chart, several, path, ax, show)


def _figure(
    chart: Chart, runs: Sequence[Run], path: str | os.PathLike[str] | None, ax: Axes | None, show: bool
) -> Figure:
    count = len(chart.panels)
    with open_figure((8.0, 1.4 + 2.2 * count), path, show=show, ax=ax) as figure:
        if ax is None:
            axes = list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
        else:
            axes = _one_panel(ax, chart.panels)
        for panel, each in zip(chart.panels, axes, strict=True):
            # Runs have their colours in every panel: one legend is enough.
            first_of_several = len(runs) > 1 and each is axes[0]
            _draw_panel(panel, each, legend=first_of_several or (len(runs) == 1 and len(panel.curves) > 1))
        axes[-1].set_xlabel(literal(axis_label(chart.x_name, chart.x_units)))
        axes[0].set_title(literal(chart.title))
        if ax is None:
            figure.align_ylabels(axes)
    return figure


def _draw_panel(panel: Panel, axes: Axes, *, legend: bool) -> None:
    for curve in panel.curves:
        shield = " " if curve.label.startswith("_") else ""  # an underscore would hide it from the legend
        turn, colour = divmod(curve.place, len(COLOURS))
        dashes, label = _DASHES[turn % len(_DASHES)], shield + literal(curve.label)
        axes.plot(curve.x, curve.y, label=label, color=COLOURS[colour], linestyle=dashes)
    axes.set_ylabel(literal(panel.title))
    if legend:
        axes.legend(loc="best")
    axes.grid(True)
    axes.set_axisbelow(True)
    _show_constants_as_such(axes)


def _show_constants_as_such(axes: Axes) -> None:
    low, high = axes.dataLim.intervaly
    largest = max(abs(low), abs(high))
    if axes.get_autoscaley_on() and 0 < high - low < _CONSTANT * largest < np.inf:
        middle = (low + high) / 2
        axes.set_ylim(middle - _ROOM * largest, middle + _ROOM * largest, auto=None)


def _one_panel(ax: Axes, panels: Sequence[Panel]) -> list[Axes]:
    if len({panel.units for panel in panels}) > 1:
        found = "; ".join(f"{_panel_names(panel)} in {panel.units or 'no units'}" for panel in panels)
        raise UnitsError(f"one axis cannot carry several units: {found}; plot them apart, or leave ax out")
    if len(panels) > 1:
        raise ArmillaryError(
            "one axis cannot carry several outputs of several runs: plot them apart, or leave ax out"
        )
    return [ax]


def _panel_names(panel: Panel) -> str:
    return ", ".join(f"'{curve.label}'" for curve in panel.curves)
