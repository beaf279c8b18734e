"""Runs as notebooks show them: a table of outputs with a small curve, the extremes and the last value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armillary.columns import Html, counted, html_table, html_text
from armillary.results.record import label_units

if TYPE_CHECKING:
    from armillary.results.run import Run

_SHOWN = 20  # outputs with a row
_WIDTH, _HEIGHT = 120, 24  # pixels of a curve
_CONSTANT = 1e-6  # spread, as a part of the largest value, below which a curve is a straight line


def run_html(run: Run) -> str:
    """A heading and a table; the model's own outputs come first, and of the rest as many as there is room."""
    span = f"t = {run.time[0]:g} to {run.time[-1]:g} s" if len(run) else "empty"
    facts = [counted(len(run), "sample"), counted(len(run.names), "output"), span]
    facts += [str(run.info[key]) for key in ("method", "status") if key in run.info]
    facts += [counted(len(run.events), "event")] if run.events else []
    names = [*run.outputs, *(name for name in run.names if name not in set(run.outputs))]
    rows = [_row(run, name) for name in names[:_SHOWN]] if len(run) else []
    hidden = len(names) - _SHOWN
    more = f"<p>and {counted(hidden, 'more output')}</p>" if hidden > 0 else ""
    head = f"<p><b>{html_text(run.system)}</b>: {html_text(', '.join(facts))}</p>"
    return head + html_table(["output", "", "minimum", "maximum", "last", "units"], rows, "<<>>><") + more


def _row(run: Run, name: str) -> list[str]:
    y = run[name]
    known = y[np.isfinite(y)]
    extremes = (known.min(), known.max()) if known.size else (np.nan, np.nan)
    numbers = [f"{value:.6g}" for value in (*extremes, y[-1])]
    return [name, sparkline(run.time, y), *numbers, label_units(run.units[name])]


def sparkline(x: np.ndarray, y: np.ndarray) -> Html:
    """A curve as a small SVG picture in the colour of the text, without axes; values that are not finite
    leave gaps.
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
