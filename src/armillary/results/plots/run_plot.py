"""Plots of runs: one panel per unit, or per output of several runs; as figures, or as HTML pages.

Charts as one self-contained HTML page: curves to zoom into, values under the cursor, no network.

The page carries its numbers (64-bit floats in base 64), its style and its script, all in the folder `page`.
A curve of more than `LONG` samples is thinned to the first, last, lowest and highest of each of `BUCKETS`
equal stretches (the "M4" of Jugel et al., 2014), which draws the same picture on any narrower screen.

Runs as notebooks show them: a table of outputs with a small curve, the extremes and the last value.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from armillary.algebra import arguments
from armillary.columns import Html, counted, html_table, html_text
from armillary.errors import ArmillaryError, UnitsError, shown
from armillary.limited_files import replacing
from armillary.results.plots.chart import (
    COLOURS,
    FIGURES,
    Chart,
    Curve,
    Panel,
    axis_label,
    chart_of,
    check_suffix,
    literal,
    open_figure,
)
from armillary.results.record import label_units
from armillary.untyped import DataTable

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
    """Return a figure of outputs of one run, or of several laid over each other; over time, or over output
    `x`.

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


LONG = 20_000
BUCKETS = 4_000
_STYLE_COLOURS = 7  # in page.css
_FOLDER = Path(__file__).parent / "page"
_HEIGHTS = {1: 420, 2: 280, 3: 220}  # pixels of a panel, by their number


def write_page(path: str | Path, chart: Chart) -> None:
    """The page of a chart, written whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(page_of(chart), encoding="utf-8")


def page_of(chart: Chart) -> str:
    """Return the text of the page."""
    pieces = {
        "title": html.escape(chart.title or "Armillary"),
        "style": _page_part("page.css"),
        "script": _page_part("page.js"),
        "data": _json_of_chart(chart),
    }
    # In one pass, so that nothing in a piece is taken for a mark.
    return re.sub("@(title|style|script|data)@", lambda mark: pieces[mark[1]], _page_part("page.html"))


def _json_of_chart(chart: Chart) -> str:
    """Curves as JSON that cannot end the element it stands in."""
    store = _Arrays()
    thinned = 0
    panels = []
    for panel in chart.panels:
        curves = []
        for curve in panel.curves:
            rows = _thin_rows(curve)
            thinned += rows is not None
            x, y = (curve.x, curve.y) if rows is None else (curve.x[rows], curve.y[rows])
            place = {"colour": curve.place % _STYLE_COLOURS, "dash": curve.place // _STYLE_COLOURS}
            curves.append({"label": curve.label, "x": store.add(x), "y": store.add(y), **place})
        panels.append({"title": panel.title, "units": panel.units, "curves": curves})
    note = f"Curves of more than {LONG:,} samples are drawn from their extremes." if thinned else ""
    data: DataTable = {
        "x": axis_label(chart.x_name, chart.x_units),
        "x_name": chart.x_name,
        "x_units": chart.x_units,
        "height": _HEIGHTS.get(len(panels), 190),
        "note": note,
        "panels": panels,
        "arrays": store.texts,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


class _Arrays:
    """Arrays as texts, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[str, int] = {}

    def add(self, values: np.ndarray) -> int:
        text = base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode("ascii")
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


def _thin_rows(curve: Curve) -> np.ndarray | None:
    """Indices of the samples that are kept; None for all."""
    samples = curve.y.size
    if samples <= LONG:
        return None
    size = -(-samples // BUCKETS)
    starts = np.arange(0, samples, size)
    ends = np.minimum(starts + size, samples) - 1
    kept = [starts, ends]
    axes = [curve.y] if np.all(np.diff(curve.x) >= 0) else [curve.y, curve.x]
    for values in axes:
        padded = np.full(starts.size * size, np.nan)
        padded[:samples] = values
        table = padded.reshape(-1, size)
        kept += [starts + np.argmin(np.where(np.isnan(table), np.inf, table), axis=1)]
        kept += [starts + np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)]
    return np.unique(np.minimum(np.concatenate(kept), samples - 1))


def _page_part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip()


_SHOWN = 20  # outputs with a row
_WIDTH, _HEIGHT = 120, 24  # pixels of a curve


def run_html(run: Run) -> str:
    """Return a heading and a table; the model's own outputs come first, and of the rest as many as there is
    room.
    """
    span = f"t = {run.time[0]:g} to {run.time[-1]:g} s" if len(run) else "empty"
    facts = [counted(len(run), "sample"), counted(len(run.names), "output"), span]
    facts += [str(run.info[key]) for key in ("method", "status") if key in run.info]
    facts += [counted(len(run.events), "event")] if run.events else []
    names = [*run.outputs, *(name for name in run.names if name not in set(run.outputs))]
    rows = [_html_row(run, name) for name in names[:_SHOWN]] if len(run) else []
    hidden = len(names) - _SHOWN
    more = f"<p>and {counted(hidden, 'more output')}</p>" if hidden > 0 else ""
    head = f"<p><b>{html_text(run.system)}</b>: {html_text(', '.join(facts))}</p>"
    return head + html_table(["output", "", "minimum", "maximum", "last", "units"], rows, "<<>>><") + more


def _html_row(run: Run, name: str) -> list[str]:
    y = run[name]
    known = y[np.isfinite(y)]
    extremes = (known.min(), known.max()) if known.size else (np.nan, np.nan)
    numbers = [f"{value:.6g}" for value in (*extremes, y[-1])]
    return [name, sparkline(run.time, y), *numbers, label_units(run.units[name])]


def sparkline(x: np.ndarray, y: np.ndarray) -> Html:
    """Return a curve as a small SVG picture in the colour of the text, without axes; values that are not
    finite leave gaps.
    """
    rows = _extreme_rows(y)
    x, y = x[rows], y[rows]
    known = np.isfinite(y)
    if not known.any():
        return Html("")
    low, high = y[known].min(), y[known].max()
    if high - low <= _CONSTANT * max(abs(low), abs(high)):
        low, high, y = -1.0, 1.0, np.where(known, 0.0, y)
    start, length = x[0], (x[-1] - x[0]) or 1.0
    across = 1 + (x - start) / length * (_WIDTH - 2)
    down = 1 + (high - y) / (high - low) * (_HEIGHT - 2)
    pieces = np.split(np.arange(len(y)), np.flatnonzero(np.diff(known)) + 1)
    lines = [" ".join(f"{across[i]:.1f},{down[i]:.1f}" for i in piece) for piece in pieces if known[piece[0]]]
    drawn = "".join(f'<polyline points="{points}"/>' for points in lines)
    return Html(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" fill="none" '
        f'stroke="currentColor" stroke-linejoin="round">{drawn}</svg>'
    )


def _extreme_rows(y: np.ndarray) -> np.ndarray:
    """Indices of all samples or, of many, of the lowest and highest of each stretch as wide as a pixel."""
    if len(y) <= 2 * _WIDTH:
        return np.arange(len(y))
    stretches = np.array_split(np.arange(len(y)), _WIDTH)
    low, high = np.where(np.isnan(y), np.inf, y), np.where(np.isnan(y), -np.inf, y)
    found = [i for rows in stretches for i in (rows[np.argmin(low[rows])], rows[np.argmax(high[rows])])]
    return np.unique([0, *found, len(y) - 1])
