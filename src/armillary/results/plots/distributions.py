"""Figures of many runs: fan charts, histograms, metrics over parameters.

All take plain arrays with their names and units, and return a Matplotlib figure; with `path` it is saved as
PNG, SVG or PDF.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armillary.errors import ArmillaryError
from armillary.results.plots.run_plot import COLOURS, axis_label, literal, matplotlib, open_figure
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Path = str | os.PathLike[str]

BLUE, ORANGE = COLOURS[:2]
BOX: DataTable = {"frameon": True, "framealpha": 0.85, "edgecolor": "none"}
INK, GREY = "#1c2126", "#5b6570"
_AT_ONCE = 8_000_000  # most numbers of a fan chart in memory at once: 64 MB
_DENSITY = ("#c9dff0", "#6aaed6", "#0072b2", "#08306b")  # from few points to many; all are visible on white
_CLOUD = 3000  # points above which a panel of `scatter` shows their density instead
_MOST_BINS = 80


def fan(
    time: object,
    values: Given,
    *,
    name: str,
    units: str = "",
    bands: Sequence[float] = (0.5, 0.9),
    singles: int = 5,
    title: str | None = None,
    path: Path | None = None,
) -> Figure:
    """Draw the median of an output over time, with bands that hold given shares of the runs, and some
    single runs.

    `values` is (runs, samples): an array, or anything that is sliced like one, such as a Zarr array; it is
    read a few samples at a time. Runs without a finite value at a time do not count at this time.
    """
    time = np.asarray(time, dtype=float)
    runs, samples = _runs_and_samples(values, time, name)
    for band in bands:
        if not 0 < band < 1:
            raise ArmillaryError(f"a band is a share of the runs between 0 and 1, such as 0.9, not {band}")
    bands = sorted(bands, reverse=True)
    levels = np.array([0.5, *(0.5 + side * band / 2 for band in bands for side in (-1, 1))])
    shown = np.unique(np.linspace(0, runs - 1, min(max(singles, 0), runs)).astype(int))
    curves = np.empty((levels.size, samples))
    lines = np.empty((len(shown), samples))
    counts = np.empty(samples, dtype=int)
    step = max(1, _AT_ONCE // runs)
    for j in range(0, samples, step):
        part = np.asarray(values[:, j : j + step], dtype=float)
        curves[:, j : j + step], counts[j : j + step] = _quantiles(part, levels)
        lines[:, j : j + step] = part[shown]
    with open_figure((8.0, 4.4), path) as figure:
        axes = figure.subplots()
        for i, band in enumerate(bands):
            tint = _tint(0.2 + 0.3 * i / max(1, len(bands) - 1))
            low, high = curves[1 + 2 * i], curves[2 + 2 * i]
            axes.fill_between(time, low, high, color=tint, lw=0, label=f"{100 * band:g} % of runs")
        for i, line in enumerate(lines):
            label = "single runs" if i == 0 else None
            axes.plot(time, line, color=GREY, lw=0.7, alpha=0.8, label=label)
        axes.plot(time, curves[0], color=BLUE, lw=2, label="median")
        axes.set_xlabel("time (s)")
        axes.set_ylabel(literal(axis_label(name, units)))
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="best", **BOX)
        ended = int(counts[0]) - int(counts[-1])  # by events, or because they diverged
        early = f", {ended:,} of them end before {time[-1]:g} s" if ended > 0 else ""
        head(axes, title if title is not None else name, count_text(runs, runs - int(counts[0])) + early)
    return figure


def histogram(
    values: object,
    *,
    name: str,
    units: str = "",
    bins: int | None = None,
    title: str | None = None,
    path: Path | None = None,
) -> Figure:
    """Draw the histogram of a metric, with its median and the range of 90 % of the runs."""
    given = np.ravel(np.asarray(values, dtype=float))
    found = given[np.isfinite(given)]
    if not found.size:
        raise ArmillaryError(f"'{name}' has no finite value in {given.size} runs: there is nothing to show")
    low, median, high = np.quantile(found, (0.05, 0.5, 0.95))
    with open_figure((8.0, 4.0), path) as figure:
        axes = figure.subplots()
        axes.hist(found, [*_edges(found, bins)], color=_tint(0.75), edgecolor="white", linewidth=0.4)
        axes.axvspan(low, high, color=_tint(0.1), lw=0, zorder=0)
        axes.axvline(median, color=ORANGE, lw=1.8, label=f"median {median:.4g}")
        for place, label in ((low, f"90 % from {low:.4g} to {high:.4g}"), (high, None)):
            axes.axvline(place, color=GREY, lw=1, ls="--", label=label)
        axes.set_xlabel(literal(axis_label(name, units)))
        axes.set_ylabel("runs")
        axes.margins(x=0.02)
        axes.legend(loc="best", **BOX)
        head(axes, title if title is not None else name, count_text(given.size, given.size - found.size))
    return figure


def mean_histogram(
    counts: object,
    edges: Sequence[float],
    *,
    name: str,
    output: str,
    units: str = "",
    title: str | None = None,
    path: Path | None = None,
) -> Figure:
    """Draw the mean over all runs of the histogram of an output in a run, and the range of 90 % of the runs
    in each bin; ``counts`` is (runs, bins).
    """
    all_counts = np.asarray(counts, dtype=float)
    finite_counts = all_counts[np.isfinite(all_counts).all(axis=1)]
    if not len(finite_counts):
        raise ArmillaryError(
            f"'{name}' has no finite counts in {len(all_counts)} runs: there is nothing to show"
        )
    low, high = np.quantile(finite_counts, (0.05, 0.95), axis=0)
    places = np.asarray(edges, dtype=float)
    middle = (places[1:] + places[:-1]) / 2
    with open_figure((8.0, 4.0), path) as figure:
        axes = figure.subplots()
        axes.bar(
            middle, finite_counts.mean(axis=0), np.diff(places), color=_tint(0.75), edgecolor="white",
            linewidth=0.4, label="mean over all runs",
        )  # fmt: skip
        axes.vlines(middle, low, high, color=INK, lw=1, label="90 % of runs")
        axes.set_xlabel(literal(axis_label(output, units)))
        axes.set_ylabel("samples of a run")
        axes.margins(x=0.02)
        axes.legend(loc="best", **BOX)
        head(
            axes,
            title if title is not None else name,
            count_text(len(all_counts), len(all_counts) - len(finite_counts)),
        )
    return figure


def scatter(
    parameters: Mapping[str, object],
    metrics: Mapping[str, object],
    *,
    units: Mapping[str, str] | None = None,
    title: str | None = None,
    path: Path | None = None,
) -> Figure:
    """Draw every metric over every varied quantity: points, or their density where they are many, and the
    median of the metric along the quantity.
    """
    if not parameters or not metrics:
        raise ArmillaryError(f"there are no {'metrics' if parameters else 'varied quantities'} to show")
    columns = {str(name): np.ravel(np.asarray(x, dtype=float)) for name, x in parameters.items()}
    rows = {str(name): np.ravel(np.asarray(y, dtype=float)) for name, y in metrics.items()}
    lengths = {name: data.size for name, data in (columns | rows).items()}
    (first, runs), *others = lengths.items()
    for name, other in others:
        if other != runs:
            raise ArmillaryError(f"'{first}' has {runs} runs and '{name}' {other}: they must be of one study")
    units = units or {}
    lost = runs - int(np.all([np.isfinite(y) for y in rows.values()], axis=0).sum())
    size = (1.2 + 2.3 * len(columns), 0.9 + 2.0 * len(rows))
    with open_figure((max(size[0], 4.5), max(size[1], 3.4)), path) as figure:
        grid = figure.subplots(len(rows), len(columns), sharex="col", sharey="row", squeeze=False)
        for i, (metric, y) in enumerate(rows.items()):
            for j, (name, x) in enumerate(columns.items()):
                _cloud(grid[i, j], x, y)
                if j == 0:
                    grid[i, j].set_ylabel(literal(axis_label(metric, units.get(metric, ""))))
                if i == len(rows) - 1:
                    grid[i, j].set_xlabel(literal(axis_label(name, units.get(name, ""))))
        figure.align_labels()
        head(grid[0, 0], title or "", "")
        head(grid[0, -1], "" if len(columns) > 1 else title or "", count_text(runs, lost))
    return figure


def _runs_and_samples(values: Given, time: np.ndarray, name: str) -> tuple[int, int]:
    shape = tuple(getattr(values, "shape", np.shape(values)))
    if len(shape) != 2 or shape[1] != time.size or time.ndim != 1:
        raise ArmillaryError(f"'{name}' has shape {shape}; a fan chart needs (runs, {time.size} times)")
    if not shape[0] or not shape[1]:
        raise ArmillaryError(f"'{name}' has {shape[0]} runs of {shape[1]} samples: there is nothing to show")
    return shape


def _quantiles(part: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quantiles of the finite values of each column, and the numbers of these values."""
    finite = np.isfinite(part)
    known = finite.sum(axis=0)
    if known.min() == part.shape[0]:
        return np.quantile(part, levels, axis=0), known
    curves = np.full((levels.size, part.shape[1]), np.nan)
    for j in np.flatnonzero(known):
        column = part[finite[:, j], j]
        curves[:, j] = np.quantile(column, levels)
    return curves, known


def _edges(values: np.ndarray, bins: int | None) -> np.ndarray:
    """Return the edges of bins of equal width; by Freedman and Diaconis' rule if no number is given."""
    if np.ptp(values) == 0:
        room = 0.05 * abs(values[0]) or 0.5
        return np.linspace(values[0] - room, values[0] + room, 12)
    if bins is None:
        width = 2 * np.subtract(*np.quantile(values, (0.75, 0.25))) / values.size ** (1 / 3)
        bins = int(min(_MOST_BINS, max(8, np.ptp(values) / width))) if width > 0 else 30
    return np.linspace(values.min(), values.max(), bins + 1)


def _cloud(axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if x.size > _CLOUD:
        colours = matplotlib("colors").LinearSegmentedColormap.from_list("density", _DENSITY)
        axes.hexbin(x, y, gridsize=36, cmap=colours, mincnt=1, bins="log", linewidths=0.1)
    else:
        size = float(np.clip(3000 / max(x.size, 1), 4, 20))
        axes.scatter(x, y, s=size, color=BLUE, alpha=0.45, linewidths=0)
    if x.size >= 50 and np.unique(x).size > 1:
        parts = np.array_split(np.argsort(x, kind="stable"), min(20, x.size // 25))
        places = [np.median(x[part]) for part in parts]
        axes.plot(places, [np.median(y[part]) for part in parts], color=ORANGE, lw=1.6)
    axes.margins(0.03)
    axes.locator_params(nbins=5)
    axes.ticklabel_format(scilimits=(-3, 4), useMathText=True)


def _tint(strength: float) -> tuple[float, float, float]:
    """Return our blue mixed with white; opaque, so that it looks the same in the legend and over curves."""
    red, green, blue = (1 - strength * (1 - part) for part in matplotlib("colors").to_rgb(BLUE))
    return red, green, blue


def head(axes: Axes, title: str, count: str) -> None:
    """Write the title of a figure, and on its right how many runs it shows."""
    axes.set_title(literal(title))
    axes.set_title(count, loc="right", fontsize=9, fontweight="normal", color=GREY)


def count_text(runs: int, lost: int) -> str:
    """Return the number of runs in a figure, in words."""
    return f"{runs:,} runs" + (f", {lost:,} of them without a value" if lost else "")
