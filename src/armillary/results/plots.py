"""Quick plots: one panel per unit, axes labelled, no display needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armillary.errors import ArmillaryError, UnitsError, require
from armillary.results.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS = (".png", ".svg", ".pdf")

# A panel whose values differ by less than this part of the largest is drawn as constant, with room of _ROOM
# of the largest on either side (what matplotlib gives to equal values): an energy kept to 1e-11 is a
# straight line, not the noise of its last digits.
_CONSTANT = 1e-6
_ROOM = 0.05


class Signal(NamedTuple):
    """Samples of one quantity, with its name and units."""

    name: str
    units: str
    values: np.ndarray


def draw(
    x: Signal,
    curves: Sequence[Signal],
    *,
    title: str,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
    show: bool = False,
) -> Figure:
    """The figure of `curves` over `x`: curves of equal units share a panel, panels share the horizontal axis.

    With `ax` everything goes there. With `path` the figure is saved as PNG, SVG or PDF, and then no window
    system is touched unless `show` asks for one.
    """
    if path is not None and Path(path).suffix.lower() not in _FORMATS:
        raise ArmillaryError(f"a plot cannot be saved as '{Path(path).name}': use {', '.join(_FORMATS)}")
    panels: dict[str, list[Signal]] = {}
    for curve in curves:
        panels.setdefault(label_units(curve.units), []).append(curve)

    axes = _new_axes(len(panels), interactive=path is None or show) if ax is None else _one_panel(ax, panels)
    for panel, (units, group) in zip(axes, panels.items(), strict=True):
        for curve in group:
            shield = " " if curve.name.startswith("_") else ""  # an underscore would hide it from the legend
            panel.plot(x.values, curve.values, label=shield + _literal(curve.name))
        alone = len(group) == 1
        panel.set_ylabel(_label(group[0].name, units) if alone else _literal(units) or "dimensionless")
        if not alone:
            panel.legend(loc="best", frameon=False)
        panel.grid(alpha=0.3)
        _show_constants_as_such(panel)
    axes[-1].set_xlabel(_label(x.name, x.units))
    axes[0].set_title(_literal(title))

    figure: Any = axes[0].figure
    if path is not None:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=Path(path).suffix[1:].lower())
    if show:
        _matplotlib("pyplot").show()
    return figure


def label_units(units: str) -> str:
    """Units as a label shows them: none where they say that there are none."""
    return "" if units.strip() in ("1", "-") else units


def _show_constants_as_such(panel: Any) -> None:
    low, high = panel.dataLim.intervaly
    largest = max(abs(low), abs(high))
    if panel.get_autoscaley_on() and 0 < high - low < _CONSTANT * largest < np.inf:
        middle = (low + high) / 2
        panel.set_ylim(middle - _ROOM * largest, middle + _ROOM * largest, auto=None)


def _new_axes(count: int, *, interactive: bool) -> list[Any]:
    """Stacked panels of a new figure; pyplot would hold on to one that is only saved."""
    shape: dict[str, Any] = {"figsize": (8.0, 1.4 + 2.2 * count), "layout": "constrained"}
    if interactive:
        figure = _matplotlib("pyplot").figure(**shape)
    else:
        figure = _matplotlib("figure").Figure(**shape)
        _matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])


def _one_panel(ax: Axes, panels: dict[str, list[Signal]]) -> list[Any]:
    if len(panels) > 1:
        found = "; ".join(f"{_names(group)} in {units or 'no units'}" for units, group in panels.items())
        raise UnitsError(f"one axis cannot carry several units: {found}; plot them apart, or leave ax out")
    return [ax]


def _names(group: Sequence[Signal]) -> str:
    return ", ".join(f"'{curve.name}'" for curve in group)


def _label(name: str, units: str) -> str:
    return _literal(f"{name} ({label_units(units)})" if label_units(units) else name)


def _matplotlib(module: str) -> ModuleType:
    return require(f"matplotlib.{module}", extra="plot", purpose="Plots")


def _literal(text: str) -> str:
    """Text without mathematics: a dollar sign in a name is a dollar sign."""
    return text.replace("$", r"\$")
