"""Plots of runs: their charts as data, as figures and as HTML pages.

A chart states which curves of which runs are in which panel, for figures and pages alike. There is one panel
per unit, or per output of several runs. Figures have one style and need no display.

A page is one self-contained HTML file: curves to zoom into, values under the cursor, no network. It contains
its numbers (64-bit floats in base 64), its style and its script; the folder `page` has the parts. A curve of
more than `LONG` samples is thinned to the first, last, lowest and highest of each of `BUCKETS` equal
stretches (the "M4" of Jugel et al., 2014), which draws the same picture on any narrower screen.

Notebooks show a run as a table of outputs with a small curve, the extremes and the last value.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from armillary.algebra import arguments
from armillary.algebra.arguments import file_path, flag, text
from armillary.errors import ArmillaryError, UnitsError, require, shown
from armillary.limited_files import replacing, write_file
from armillary.results.record import TIME, UNKNOWN, conversion, label_units
from armillary.text_tables import Html, counted, html_table, html_text
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from armillary.results.run import Run

_NAMED = 2  # most parameters that a label names


class Curve(NamedTuple):
    """Samples `y` over `x`; `number`, from 0, chooses its colour and dashes."""

    label: str
    x: np.ndarray
    y: np.ndarray
    number: int


class Panel(NamedTuple):
    """Curves of one unit, on one vertical axis."""

    title: str
    units: str
    curves: tuple[Curve, ...]
    noise: float  # values up to this are rounding, and drawn as zero


class Chart(NamedTuple):
    """Panels over a common horizontal axis."""

    title: str
    x_name: str
    x_units: str
    panels: tuple[Panel, ...]


def chart_of(
    runs: Sequence[Run],
    names: Sequence[str],
    *,
    x: str | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
) -> Chart:
    """Return the chart of outputs, by name or pattern, over time or over output `x`.

    Without a name, the outputs that the model or a selection requested are drawn, or all if there are none.
    Of one run, outputs of equal units share a panel. Of several runs each output has a panel, and each run a
    colour; outputs that a run lacks are left out there. Units come from the first run that has the output.
    """
    if not runs:
        raise ArmillaryError("there is no run to plot")
    if labels is not None and len(labels) != len(runs):
        raise ArmillaryError(f"{len(runs)} runs need as many labels, not {len(labels)}")
    wanted = _select_names(runs, names)
    if not wanted:
        raise ArmillaryError(f"run of '{runs[0].system}' has no outputs to plot")
    x_units = "s" if x is None else _units(runs, x)
    titles_of_runs = list(labels) if labels is not None else run_labels(runs)
    if len(runs) == 1:
        panels = _by_units(runs[0], wanted, x)
    else:
        noise = cache(partial(_noise, runs))  # cached, since it reads all outputs of the given units
        panels = tuple(_by_output(runs, titles_of_runs, name, x, x_units, noise) for name in wanted)
    titles = dict.fromkeys(str(run.info.get("title") or run.system) for run in runs)
    return Chart(title if title is not None else ", ".join(titles), x or TIME, x_units, panels)


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Return short texts that distinguish runs: their systems, the parameters that differ, or numbers."""
    systems = [run.system for run in runs]
    if len(set(systems)) == len(runs):
        return systems
    values = [
        {name: run.parameters.get(name) for name in {**runs[0].parameters, **run.parameters}} for run in runs
    ]
    differing = [name for name in values[0] if len({v.get(name) for v in values}) > 1]
    texts = [", ".join(_parameter_text(run, name) for name in differing[:_NAMED]) for run in runs]
    return texts if len(set(texts)) == len(runs) else [f"run {i}" for i in range(1, len(runs) + 1)]


def _parameter_text(run: Run, name: str) -> str:
    if name not in run.parameters:
        return f"no {name}"
    return f"{name} = {run.parameters[name]:.6g} {label_units(run.parameter_units[name])}".rstrip()


def _select_names(runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """Return names in the order requested; a pattern must match in one run at least."""
    found: dict[str, None] = {}
    if not patterns:
        own = list(dict.fromkeys(name for run in runs for name in run.outputs))
        return own or list(dict.fromkeys(name for run in runs for name in run.names))
    for pattern in patterns:
        text(pattern, "the name of an output")
        matched = [
            name for run in runs for name in run.names if name == pattern or fnmatchcase(name, pattern)
        ]
        if not matched:
            runs[0].select(pattern)  # an error with the names that exist
        found |= dict.fromkeys([pattern] if pattern in matched else matched)
    return list(found)


def _by_units(run: Run, names: Sequence[str], x: str | None) -> tuple[Panel, ...]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(label_units(run.units[name]), []).append(name)
    over = run.time if x is None else run[x]
    return tuple(
        Panel(
            axis_label(group[0], units) if len(group) == 1 else units or _unitless(run, group[0]),
            units,
            tuple(Curve(name, over, run[name], number) for number, name in enumerate(group)),
            _noise([run], units),
        )
        for units, group in groups.items()
    )


def _by_output(
    runs: Sequence[Run],
    labels: Sequence[str],
    name: str,
    x: str | None,
    x_units: str,
    noise: Callable[[str], float],
) -> Panel:
    curves = []
    units = _units(runs, name)
    for number, (run, label) in enumerate(zip(runs, labels, strict=True)):
        if name not in run:
            continue
        over = run.time
        if x is not None:
            over = run[x] * conversion(x, run.units[x], x_units)
        curves.append(Curve(label, over, run[name] * conversion(name, run.units[name], units), number))
    return Panel(axis_label(name, units), units, tuple(curves), noise(units))


def _noise(runs: Sequence[Run], units: str) -> float:
    """Return the size up to which values in some units are rounding errors, compared with all values in these
    units. A car that drives straight on for 100 m is 1e-14 m beside its path, which is not to be drawn.
    """
    named = [run[n] for run in runs for n in run.names if units and label_units(run.units[n]) == units]
    largest = max((float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) for y in named), default=0.0)
    return max(_ROUNDING * largest, _NOTHING)


def _units(runs: Sequence[Run], name: str) -> str:
    """Return the units of the first run that has the output and its units."""
    known = (run.units[name] for run in runs if name in run and run.units[name] != UNKNOWN)
    return label_units(next(known, ""))


def _unitless(run: Run, name: str) -> str:
    return "units not known" if run.units[name] == UNKNOWN else "dimensionless"


def axis_label(name: str, units: str) -> str:
    return f"{name} ({label_units(units)})" if label_units(units) else name


FIGURES = (".png", ".svg", ".pdf")
LAYOUT = "constrained"  # places axes so that labels do not overlap, by drawing the figure once beforehand

# Okabe and Ito's colours, which stay apart for all common kinds of colour blindness, the pale ones darkened
# for lines on white; the same as in page.css.
COLOURS = ("#0072b2", "#d55e00", "#008a63", "#b8548b", "#b37400", "#2f8fc4", "#1c2126")
STYLE = {
    "axes.edgecolor": "#aab3bb",
    "axes.grid": True,
    "axes.labelcolor": "#1c2126",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.xmargin": 0.01,
    "font.size": 9.5,
    "grid.color": "#e6e9ec",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 160,
    "xtick.color": "#5b6570",
    "ytick.color": "#5b6570",
}


def matplotlib(module: str = "") -> ModuleType:
    """Return Matplotlib, or a module of it."""
    return require(f"matplotlib.{module}" if module else "matplotlib", extra="plot", purpose="Plots")


def check_suffix(path: str | os.PathLike[str], known: tuple[str, ...] = FIGURES) -> str:
    """Return the suffix of a path that a figure can be saved at."""
    suffix = file_path(path, "path").suffix.lower()
    if suffix not in known:
        raise ArmillaryError(f"a plot cannot be saved as '{Path(path).name}': use {', '.join(known)}")
    return suffix


@contextmanager
def use_style(style: DataTable, *, interactive: bool) -> Iterator[None]:
    """Give ``style`` to the figures that are made within this context."""
    if interactive:  # imported first: settings of a notebook's backend must outlast the context
        matplotlib("pyplot")
    with matplotlib().rc_context(style):
        yield


def new_figure(size: tuple[float, float], *, interactive: bool, shown: bool = False) -> Figure:
    """Return an empty figure, made by pyplot only if needed: if it is ``shown`` at once, or outside
    notebooks. Pyplot would keep a figure that is only saved, and a notebook would show a figure of pyplot a
    second time, at the end of the cell.
    """
    shape: DataTable = {"figsize": size, "layout": LAYOUT}
    notebook = interactive and not shown and "inline" in str(matplotlib("pyplot").get_backend())
    if interactive and not notebook:
        figure: Figure = matplotlib("pyplot").figure(**shape)
        return figure
    figure = (_notebook_figure() if notebook else matplotlib("figure").Figure)(**shape)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


@cache
def _notebook_figure() -> type[Figure]:
    """Return the class of figures that a notebook shows if they are the value of a cell."""

    # mypy: matplotlib is imported at its first use.
    class NotebookFigure(matplotlib("figure").Figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            content = BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return NotebookFigure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure in the format of the file's suffix."""
    suffix = check_suffix(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=suffix[1:])


@contextmanager
def open_figure(
    size: tuple[float, float],
    path: str | os.PathLike[str] | None,
    *,
    show: bool = False,
    ax: Axes | None = None,
) -> Iterator[Figure]:
    """Open a figure in our style, or the figure of given axes in its own style. At the end, save it at the
    path, if there is one, and show it if ``show`` is true.
    """
    flag(show, "show=")
    if ax is not None:
        arguments.instance(ax, matplotlib("axes").Axes, "ax: one axes of Matplotlib, as plt.gca() gives it,")
    if path is not None:
        check_suffix(path)
    interactive = ax is None and (path is None or show)
    with use_style(STYLE if ax is None else {}, interactive=interactive):
        # Axes may also lie in a SubFigure, which has the methods of a Figure that are used here.
        figure: Any = new_figure(size, interactive=interactive, shown=show) if ax is None else ax.figure
        yield figure
        if ax is None:
            for axes in figure.axes:
                axes.set_axisbelow(True)
        if path is not None:
            save(figure, path)
    if show:
        matplotlib("pyplot").show()


def can_show() -> bool:
    """Return whether there is a display; without one matplotlib falls back to drawing into files."""
    return str(matplotlib("pyplot").get_backend()).lower() != "agg"


def literal(text: str) -> str:
    """Return text in which Matplotlib does not take a dollar sign for the start of a formula."""
    return arguments.text(text, "a title").replace("$", r"\$")


_PAGES = (".html", ".htm")

# A panel whose values differ by less than this part of the largest value is drawn as constant, with a margin
# of _ROOM times the largest value on either side (as matplotlib does for equal values): an energy that is
# constant to 1e-11 is a straight line, not the noise of its last digits.
_CONSTANT = 1e-6
_ROOM = 0.05
# As in plots of moving pages (viewer/web/scripts/controls/axes.js):
_ROUNDING = 1e-12  # values up to this part of the largest value in the same units are drawn as zero
_NOTHING = 1e-14  # values up to this, in their own units, are drawn as zero

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

    Names may be patterns (`A.*`); without names, the model's own outputs are plotted (`Run.outputs`), or all
    if it has none. For one run, outputs of equal units share a panel. For several runs each output has a
    panel, and each run a colour and a label (by default its system, or the parameters in which the runs
    differ). With `path` the figure is saved as PNG, SVG or PDF, or as one HTML page to zoom in, for which no
    figure is returned. With `ax` everything is drawn on these axes. Without a path, or with `show`, a window
    opens.
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
        shield = " " if curve.label.startswith("_") else ""  # matplotlib leaves "_…" out of the legend
        turn, colour = divmod(curve.number, len(COLOURS))
        dashes, label = _DASHES[turn % len(_DASHES)], shield + literal(curve.label)
        axes.plot(curve.x, curve.y, label=label, color=COLOURS[colour], linestyle=dashes)
    axes.set_ylabel(literal(panel.title))
    if legend:
        axes.legend(loc="best")
    axes.grid(True)
    axes.set_axisbelow(True)
    _show_constants_as_such(axes, panel.noise)


def _show_constants_as_such(axes: Axes, noise: float) -> None:
    low, high = axes.dataLim.intervaly
    largest = max(abs(low), abs(high))
    if axes.get_autoscaley_on() and largest <= noise:
        axes.set_ylim(-1.0, 1.0, auto=None)
    elif axes.get_autoscaley_on() and 0 < high - low < _CONSTANT * largest < np.inf:
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
_HEIGHTS = {1: 420, 2: 280, 3: 220}  # pixels of a panel's height, by the number of panels


def write_page(path: str | Path, chart: Chart) -> None:
    """Write the page of a chart, whole or not at all."""
    write_file(path, page_of(chart))


def page_of(chart: Chart) -> str:
    """Return the text of the page."""
    pieces = {
        "title": html.escape(chart.title or "Armillary"),
        "style": _page_part("page.css"),
        "script": _page_part("page.js"),
        "data": _json_of_chart(chart),
    }
    # In one pass, so that no text in a piece is taken for a mark.
    return re.sub("@(title|style|script|data)@", lambda mark: pieces[mark[1]], _page_part("page.html"))


def _json_of_chart(chart: Chart) -> str:
    """Return the curves as JSON that cannot end the HTML element around it."""
    store = _Arrays()
    thinned = 0
    panels = []
    for panel in chart.panels:
        curves = []
        for curve in panel.curves:
            rows = _thin_rows(curve)
            thinned += rows is not None
            x, y = (curve.x, curve.y) if rows is None else (curve.x[rows], curve.y[rows])
            look = {"colour": curve.number % _STYLE_COLOURS, "dash": curve.number // _STYLE_COLOURS}
            curves.append({"label": curve.label, "x": store.add(x), "y": store.add(y), **look})
        found = {"title": panel.title, "units": panel.units, "curves": curves, "noise": panel.noise}
        panels.append(found)
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
    """Arrays as texts; equal arrays are stored once."""

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
    """Return the indices of the samples that are kept; `None` for all."""
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
    """Return a heading and a table of outputs, the model's own first, with at most ``_SHOWN`` rows."""
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
    """Return the indices of all samples; of many, the lowest and highest for each pixel of width."""
    if len(y) <= 2 * _WIDTH:
        return np.arange(len(y))
    stretches = np.array_split(np.arange(len(y)), _WIDTH)
    low, high = np.where(np.isnan(y), np.inf, y), np.where(np.isnan(y), -np.inf, y)
    found = [i for rows in stretches for i in (rows[np.argmin(low[rows])], rows[np.argmax(high[rows])])]
    return np.unique([0, *found, len(y) - 1])
