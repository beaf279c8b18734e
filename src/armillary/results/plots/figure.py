"""Figures: their look, names without mathematics, figures that need no display, safe saving."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from armillary.algebra import arguments
from armillary.algebra.arguments import file_path, flag
from armillary.atomic import replacing
from armillary.errors import ArmillaryError, require
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    """The suffix of a path that a figure can be saved at."""
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
    """An empty figure. Pyplot would hold on to one that is only saved, and a notebook would show a figure of
    pyplot at the end of the cell, beside the one that a call returns; a figure that is ``shown`` at once
    needs pyplot.
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
    """The class of figures that a notebook shows where they are the value of a cell."""

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
    """Whether there is a display; without one matplotlib falls back to drawing into files."""
    return str(matplotlib("pyplot").get_backend()).lower() != "agg"


def literal(text: str) -> str:
    """Text without mathematics: a dollar sign in a name is a dollar sign."""
    return arguments.text(text, "a title").replace("$", r"\$")
