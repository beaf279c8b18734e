"""Charts as data: which curves of which runs stand in which panel, for any way of drawing them.

Figures: their look, names without mathematics, figures that need no display, safe saving.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armillary.algebra import arguments
from armillary.algebra.arguments import file_path, flag, text
from armillary.errors import ArmillaryError, require
from armillary.limited_files import replacing
from armillary.results.record import TIME, UNKNOWN, conversion, label_units
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from armillary.results.run import Run


_NAMED = 2  # parameters that a label names, where runs differ in more


class Curve(NamedTuple):
    """Samples `y` over `x`; `place` is its number among its like, from which colour and dashes follow."""

    label: str
    x: np.ndarray
    y: np.ndarray
    place: int


class Panel(NamedTuple):
    """Curves of one unit, on one vertical axis."""

    title: str
    units: str
    curves: tuple[Curve, ...]


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
        panels = tuple(_by_output(runs, titles_of_runs, name, x, x_units) for name in wanted)
    titles = dict.fromkeys(str(run.info.get("title") or run.system) for run in runs)
    return Chart(title if title is not None else ", ".join(titles), x or TIME, x_units, panels)


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Short texts that distinguish runs: their systems, else the parameters they differ in, else numbers."""
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
    """Names in the order requested; a pattern must match in one run at least."""
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
            tuple(Curve(name, over, run[name], place) for place, name in enumerate(group)),
        )
        for units, group in groups.items()
    )


def _by_output(runs: Sequence[Run], labels: Sequence[str], name: str, x: str | None, x_units: str) -> Panel:
    curves = []
    units = _units(runs, name)
    for place, (run, label) in enumerate(zip(runs, labels, strict=True)):
        if name not in run:
            continue
        over = run.time
        if x is not None:
            over = run[x] * conversion(x, run.units[x], x_units)
        curves.append(Curve(label, over, run[name] * conversion(name, run.units[name], units), place))
    return Panel(axis_label(name, units), units, tuple(curves))


def _units(runs: Sequence[Run], name: str) -> str:
    """Return the units of the first run that has the output and its units."""
    known = (run.units[name] for run in runs if name in run and run.units[name] != UNKNOWN)
    return label_units(next(known, ""))


def _unitless(run: Run, name: str) -> str:
    return "units not known" if run.units[name] == UNKNOWN else "dimensionless"


def axis_label(name: str, units: str) -> str:
    return f"{name} ({label_units(units)})" if label_units(units) else name


FIGURES = (".png", ".svg", ".pdf")
LAYOUT = "constrained"  # places axes so that labels do not overlap, by drawing the figure once before

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
    """Matplotlib, or a module of it."""
    return require(f"matplotlib.{module}" if module else "matplotlib", extra="plot", purpose="Plots")


def check_suffix(path: str | os.PathLike[str], known: tuple[str, ...] = FIGURES) -> str:
    """Return the suffix of a path that a figure can be saved at."""
    suffix = file_path(path, "path").suffix.lower()
    if suffix not in known:
        raise ArmillaryError(f"a plot cannot be saved as '{Path(path).name}': use {', '.join(known)}")
    return suffix


@contextmanager
def use_style(style: DataTable, *, interactive: bool) -> Iterator[None]:
    """Figures made meanwhile have this look."""
    if interactive:  # before the look: what a notebook's backend sets as it is imported has to stay
        matplotlib("pyplot")
    with matplotlib().rc_context(style):
        yield


def new_figure(size: tuple[float, float], *, interactive: bool, shown: bool = False) -> Figure:
    """Return an empty figure. Pyplot would hold on to one that is only saved, and a notebook would show a
    figure of pyplot at the end of the cell, beside the one that a call returns; a figure that is ``shown`` at
    once needs pyplot.
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
    """Return the class of figures that a notebook shows where they are the value of a cell."""

    # mypy: matplotlib is imported at its first use.
    class NotebookFigure(matplotlib("figure").Figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            content = BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return NotebookFigure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """The figure in a file of the kind of its suffix."""
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
    """A figure in our look, or the one of given axes in its own; at the end it is saved at the path, if there
    is one, and shown with ``show``.
    """
    flag(show, "show=")
    if ax is not None:
        arguments.instance(ax, matplotlib("axes").Axes, "ax: one axes of Matplotlib, as plt.gca() gives it,")
    if path is not None:
        check_suffix(path)
    interactive = ax is None and (path is None or show)
    with use_style(STYLE if ax is None else {}, interactive=interactive):
        # Axes may also lie in a SubFigure, which has what is used of a Figure.
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
    """Text without mathematics: a dollar sign in a name is a dollar sign."""
    return arguments.text(text, "a title").replace("$", r"\$")
