"""Workspaces: the outputs that a mechanism reaches over ranges of what is driven, and where they end.

With as many outputs y as driven quantities c, det(∂y/∂c) changes its sign where the mechanism cannot move its
outputs in every direction. These positions are found between neighbours of a grid over the ranges; their
outputs bound the workspace, or divide it, together with the edges of the ranges and the limits of reach.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import count, several, table
from armillary.analysis.kinematics.drives import Drive
from armillary.analysis.kinematics.mechanism.motion import PathMotion
from armillary.analysis.kinematics.result import Sweep
from armillary.analysis.kinematics.sweep import Swept, swept
from armillary.analysis.kinematics.table import SweepColumns
from armillary.columns import aligned, counted, html_table, html_text
from armillary.errors import ArmillaryError, shown
from armillary.results.plots.chart import axis_label
from armillary.results.plots.figure import FIGURES, check_suffix, drawn, literal
from armillary.results.record import label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Workspace:
    """Outputs that a mechanism reaches over ranges of what is driven.

    ``sweep`` has the positions on the grid, ``singular`` those between them at which the outputs cannot move
    in every direction. ``edges`` marks rows at the ends of ranges, and next to what is out of reach.
    """

    sweep: Sweep
    singular: Sweep
    edges: np.ndarray
    outputs: tuple[str, ...]

    @property
    def extent(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each output."""
        found = {}
        for name in self.outputs:
            values = np.concatenate([self.sweep[name], self.singular[name]])
            values = values[np.isfinite(values)]
            found[name] = (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)
        return found

    def _heading(self) -> str:
        reached = int(np.sum(self.sweep.found))
        over = ", ".join(f"{n} {_range(self.sweep[n])}" for n in self.sweep.driven)
        return (
            f"Workspace of '{self.sweep.system}' over {over}: {counted(reached, 'position')} of "
            f"{len(self.sweep)} reached, {counted(len(self.singular), 'singular position')}"
        )

    def _rows(self) -> list[list[str]]:
        units = self.sweep.units
        return [
            [n, f"{low:.6g}", f"{high:.6g}", label_units(units[n])] for n, (low, high) in self.extent.items()
        ]

    def __repr__(self) -> str:
        lines = aligned([["", "least", "largest", ""], *self._rows()], "<>><")
        return "\n".join([self._heading(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        """A heading and the extent of each output, for notebooks."""
        table_of = html_table(["", "least", "largest", "units"], self._rows(), "<>><")
        return f"<p>{html_text(self._heading())}</p>{table_of}"

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure:
        """A figure of two outputs against each other: positions, edges of the ranges, singular positions."""
        wanted = names or self.outputs[:2]
        if len(wanted) != 2:
            raise ArmillaryError(f"the plot of a workspace has two outputs, not {len(wanted)}; name two")
        x, y = wanted
        if path is not None:
            check_suffix(path, FIGURES)
        groups: tuple[tuple[Sweep, np.ndarray, DataTable], ...] = (
            (self.sweep, self.sweep.found, {"color": "0.8", "s": 4, "label": "reached"}),
            (self.sweep, self.edges, {"color": "C0", "s": 6, "label": "end of a range"}),
            (self.singular, self.singular.found, {"color": "C3", "s": 6, "label": "singular"}),
        )
        with drawn((6.4, 6.0), path, show=show) as figure:
            axes = figure.subplots()
            for source, rows, look in groups:
                axes.scatter(source[x][rows], source[y][rows], **look)
            axes.set_xlabel(literal(axis_label(x, self.sweep.units[x])))
            axes.set_ylabel(literal(axis_label(y, self.sweep.units[y])))
            axes.set_title(literal(title or f"{self.sweep.system}: workspace"))
            if self.sweep.units[x] == self.sweep.units[y]:
                axes.set_aspect("equal")
            axes.legend(loc="best")
        return figure


def workspace(
    model: CompiledModel,
    ranges: Mapping[str, object],
    outputs: Sequence[str],
    *,
    points: int = 41,
    start: Mapping[str, float] | Sequence[float] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float | str = 0.0,
) -> Workspace:
    """See ``Model.workspace``."""
    named = several(outputs, "outputs=")
    given = {name: _ends(name, pair) for name, pair in table(ranges, "workspace").items()}
    if len(named) != len(given):
        raise ArmillaryError(
            f"workspace: give as many outputs as ranges, not {len(named)} and {len(given)}; the positions at "
            "which the outputs end are those where their derivatives by what is driven are singular"
        )
    n = count(points, "points=")
    values = {name: np.linspace(*pair, n) for name, pair in given.items()}
    found = swept(model, values, named, grid=True, start=start, parameters=parameters, time=time)
    found.columns.add_outputs()
    mechanism, reached = found.numbers.mechanism, found.followed.found
    places = [o.name for o in mechanism.outputs]
    if driven := [name for name in named if name not in places]:
        raise ArmillaryError(f"workspace: output '{driven[0]}' is driven itself; give other outputs")
    slope = _Slope(found.columns, tuple(places.index(name) for name in named))
    first, last = _neighbours(found.drive, reached)
    here = np.sign(slope(found.motion))
    turned = here[first] * here[last] < 0
    if np.any(turned):
        motion = found.path.zeros(first[turned], last[turned], slope)[0]
    else:
        motion = PathMotion(found.numbers, np.empty(0), np.empty((0, mechanism.conditions.width)))
    return Workspace(found.result(()), _singular(found, motion), _edges(found.drive, reached), tuple(named))


@dataclass(frozen=True, eq=False)
class _Slope:
    """det(∂y/∂c) at positions, for the outputs at these places."""

    columns: SweepColumns
    outputs: tuple[int, ...]

    def __call__(self, motion: PathMotion) -> np.ndarray:
        return np.asarray(np.linalg.det(self.columns.derivatives(motion)[:, list(self.outputs)]))


def _singular(found: Swept, motion: PathMotion) -> Sweep:
    """Singular positions as a sweep."""
    m, drive = found.numbers.mechanism, found.drive
    values = motion.positions[:, m.state : m.state + len(drive.names)]
    rows = Drive(drive.names, values, motion.times, drive.timed, (len(values),), drive.axes)
    columns = SweepColumns(m, rows, motion, np.ones(len(values), dtype=bool))
    columns.add_outputs()
    return columns.result(found.model, found.parameters, (), Sweep)


def _neighbours(drive: Drive, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows that are neighbours on the grid, both of which were reached."""
    index = np.arange(len(drive)).reshape(drive.shape)
    pairs = [
        (np.moveaxis(index, axis, 0)[:-1].reshape(-1), np.moveaxis(index, axis, 0)[1:].reshape(-1))
        for axis in range(len(drive.shape))
    ]
    first, last = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = found[first] & found[last]
    return first[both], last[both]


def _edges(drive: Drive, found: np.ndarray) -> np.ndarray:
    """Rows at the ends of ranges, and next to rows that were not reached."""
    grid = found.reshape(drive.shape)
    inside = np.ones(drive.shape, dtype=bool)
    for axis in range(len(drive.shape)):
        moved, held = np.moveaxis(inside, axis, 0), np.moveaxis(grid, axis, 0)
        moved[0], moved[-1] = False, False
        moved[1:] &= held[:-1]
        moved[:-1] &= held[1:]
    return found & ~inside.reshape(-1)


def _ends(name: str, pair: Given) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in pair)
    except (TypeError, ValueError, OverflowError):
        raise ArmillaryError(f"workspace: '{name}' needs (low, high), not {shown(pair)}") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ArmillaryError(f"workspace: '{name}': {low:.6g} is not below {high:.6g}")
    return low, high


def _range(values: np.ndarray) -> str:
    return f"{values.min():.6g} to {values.max():.6g}"
