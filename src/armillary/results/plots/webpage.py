"""Charts as one self-contained HTML page: curves to zoom into, values under the cursor, no network.

The page carries its numbers (64-bit floats in base 64), its style and its script, all in the folder `page`.
A curve of more than `LONG` samples is thinned to the first, last, lowest and highest of each of `BUCKETS`
equal stretches (the "M4" of Jugel et al., 2014), which draws the same picture on any narrower screen.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path

import numpy as np

from armillary.atomic import replacing
from armillary.results.plots.chart import Chart, Curve, axis_label
from armillary.untyped import DataTable

LONG = 20_000
BUCKETS = 4_000
COLOURS = 7  # in page.css
_FOLDER = Path(__file__).parent / "page"
_HEIGHTS = {1: 420, 2: 280, 3: 220}  # pixels of a panel, by their number


def write_page(path: str | Path, chart: Chart) -> None:
    """The page of a chart, written whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(page_of(chart), encoding="utf-8")


def page_of(chart: Chart) -> str:
    """The text of the page."""
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
            place = {"colour": curve.place % COLOURS, "dash": curve.place // COLOURS}
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
