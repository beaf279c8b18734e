"""What all figures share: the look, names without mathematics, figures that need no display, safe saving."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from armillary.atomic import replacing
from armillary.errors import ArmillaryError, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = (".png", ".svg", ".pdf")

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
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise ArmillaryError(f"a plot cannot be saved as '{Path(path).name}': use {', '.join(known)}")
    return suffix


def new_figure(size: tuple[float, float], *, interactive: bool) -> Any:
    """An empty figure; pyplot would hold on to one that is only saved."""
    shape: dict[str, Any] = {"figsize": size, "layout": "constrained"}
    if interactive:
        return matplotlib("pyplot").figure(**shape)
    figure = matplotlib("figure").Figure(**shape)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """The figure in a file, of the kind that its suffix says."""
    suffix = check_suffix(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=suffix[1:])


@contextmanager
def drawn(
    size: tuple[float, float], path: str | os.PathLike[str] | None, *, show: bool = False
) -> Iterator[Any]:
    """A figure in our look; in the end saved, if a path is given, and shown, if asked for."""
    if path is not None:
        check_suffix(path)
    with matplotlib().rc_context(STYLE):
        figure = new_figure(size, interactive=path is None or show)
        yield figure
        for axes in figure.axes:
            axes.set_axisbelow(True)
        if path is not None:
            save(figure, path)
    if show:
        matplotlib("pyplot").show()


def literal(text: str) -> str:
    """Text without mathematics: a dollar sign in a name is a dollar sign."""
    return text.replace("$", r"\$")
