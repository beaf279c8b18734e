"""A branch of operating points along a parameter: a table, the places where stability changes, a figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra import arguments
from armillary.analysis.operating.json_files import write_json
from armillary.columns import aligned, counted, html_table, html_text
from armillary.errors import ArmillaryError, require
from armillary.results.plots.chart import axis_label
from armillary.results.plots.figure import COLOURS, drawn, literal
from armillary.results.record import label_units
from armillary.results.run import PickledValue
from armillary.untyped import DataTable

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from armillary.analysis.operating.point import OperatingPoint

_SHOWN = 4  # columns of a table beside the varied quantity


@dataclass(frozen=True)
class Mark:
    """Where stability or the direction of a branch changes: its kind, its place among the points, the value
    of the varied quantity, and the frequency of a Hopf point in rad/s.
    """

    kind: str  # "fold", "Hopf point", "branch point", "zero eigenvalue" or "limit of contact '…'"
    index: int
    value: float
    frequency: float = 0.0

    def __str__(self) -> str:
        more = f", {self.frequency:.6g} rad/s" if self.frequency else ""
        return f"{self.kind}{more}"


@dataclass(frozen=True, eq=False, repr=False)
class Branch(PickledValue):
    """Operating points along a parameter, or along a fixed state, a prescribed output or a rate.

    branch["speed"], branch["bead.q1"]      values along the branch, in stated units
    branch.marks                            folds, Hopf points, branch points
    branch.stable                           of each point
    branch.point(12)                        an OperatingPoint, e.g. for initial=
    """

    _of_process = ("_point",)

    system: str
    name: str  # what is varied
    names: tuple[str, ...]  # of the columns: what is varied, states, inputs, outputs
    values: np.ndarray  # (points, names)
    units: Mapping[str, str]
    eigenvalues: np.ndarray  # (points, independent states); NaN where a point is not steady
    growing: np.ndarray  # eigenvalues that grow; -1 where a point is not steady
    marks: tuple[Mark, ...]
    found: tuple[str, ...]  # unknowns along the branch
    _point: Callable[[int], OperatingPoint] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of a column along the branch."""
        return self.values[:, arguments.place(name, self.names, f"the branch of '{self.system}' has no")]

    @property
    def stable(self) -> np.ndarray:
        """Whether no eigenvalue grows, point by point."""
        found: np.ndarray = self.growing == 0
        return found

    def point(self, index: int) -> OperatingPoint:
        """One of the points, with its table and stability; also an initial state for runs."""
        index = arguments.index(index, len(self), "point")
        if self._point is None:
            raise ArmillaryError("a branch from another process has no points; call model.trace here")
        return self._point(index)

    # ------------------------------------------------------------ tables

    @property
    def table(self) -> str:
        """Ends and marks of the branch with what was found there, and the stability between them."""
        return "\n".join(
            [self._title, *(f"  {line}" for line in aligned([self._head, *self._rows], self._sides))]
        )

    @property
    def _title(self) -> str:
        first, last = (self._text(self.name, i) for i in (0, len(self) - 1))
        units = label_units(self.units[self.name])
        return (
            f"Branch of '{self.system}' over {self.name} from {first} to {last} {units}: "
            f"{counted(len(self), 'point')}"
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.name, *self.found[:_SHOWN])

    @property
    def _sides(self) -> str:
        return ">" * len(self._columns)

    @property
    def _head(self) -> list[str]:
        labels = [
            f"{n} ({label_units(self.units[n])})" if label_units(self.units[n]) else n for n in self._columns
        ]
        return [*labels, ""]

    @property
    def _rows(self) -> list[list[str]]:
        words = {0: "start", len(self) - 1: "end"} | {mark.index: str(mark) for mark in self.marks}
        places = sorted(words)
        rows = []
        for i in places:
            cells = [self._text(name, i) for name in self._columns]
            rows.append([*cells, words[i]])
            later = [j for j in places if j > i]
            if later:
                rows.append([*[""] * len(cells), self._between(i, later[0])])
        return rows

    def _text(self, name: str, i: int) -> str:
        """A value in a table; what is left of a zero by rounding is a zero."""
        column = self[name]
        value, size = float(column[i]), float(np.max(np.abs(column)))
        return f"{value if abs(value) > 1e-7 * size else 0.0:.8g}"

    def _between(self, i: int, j: int) -> str:
        """Stability between two marks."""
        inner = self.growing[i + 1 : j] if j > i + 1 else self.growing[[i, j]]
        kinds = set(inner.tolist())
        if -1 in kinds:
            return "  not steady"
        return "  stable" if kinds == {0} else f"  unstable, {counted(max(kinds), 'growing eigenvalue')}"

    def __repr__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<p>{html_text(self._title)}</p>" + html_table(self._head, self._rows, self._sides)

    # ------------------------------------------------------------ handed on

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a row per point; ``growing`` is the number of growing eigenvalues."""
        pd = require("pandas", extra="data", purpose="Tables")
        frame = pd.DataFrame(self.values, columns=list(self.names))
        return frame.assign(growing=self.growing)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The branch as JSON: columns, units, eigenvalues (real and imaginary parts) and marks."""
        content: DataTable = {
            "armillary_branch": 1,
            "system": self.system,
            "varied": self.name,
            "columns": {name: self[name].tolist() for name in self.names},
            "units": {n: u for n, u in self.units.items() if u},
            "eigenvalues": {
                "real": self.eigenvalues.real.tolist(),
                "imaginary": self.eigenvalues.imag.tolist(),
            },
            "growing": self.growing.tolist(),
            "marks": [asdict(mark) for mark in self.marks],
        }
        write_json(path, "a branch", content)

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure:
        """A figure of columns over what is varied: full lines where stable, dashed where not, with marks.

        Without names it has those unknowns that vary, and the real parts of the eigenvalues.
        """
        shown = list(names) or [name for name in self.found if self._varies(name)][:3]
        columns = [self[name] for name in shown]
        lam = self[self.name]
        panels = len(shown) + (not names)
        with drawn((8.0, 1.4 + 2.4 * panels), path, show=show) as figure:
            axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
            if not names:
                axes[-1].plot(lam, self.eigenvalues.real, ".", markersize=3, color=COLOURS[-1])
                axes[-1].set_ylabel("real parts of eigenvalues (1/s)")
                for mark in self.marks:
                    axes[-1].axvline(mark.value, color=COLOURS[2], linewidth=0.8)
            for ax, name, y in zip(axes, shown, columns, strict=False):
                ax.plot(lam, np.where(self._drawn(True), y, np.nan), color=COLOURS[0], label="stable")
                ax.plot(
                    lam, np.where(self._drawn(False), y, np.nan), "--", color=COLOURS[1], label="unstable"
                )
                for k, kind in enumerate(dict.fromkeys(mark.kind for mark in self.marks)):
                    at = [mark.index for mark in self.marks if mark.kind == kind]
                    ax.plot(lam[at], y[at], "os^D"[k % 4], color=COLOURS[2 + k], label=kind, zorder=3)
                ax.set_ylabel(literal(axis_label(name, self.units[name])))
            if shown:
                axes[0].legend(loc="best")
            axes[0].set_title(literal(title or self.system))
            axes[-1].set_xlabel(literal(axis_label(self.name, self.units[self.name])))
        return figure

    def _varies(self, name: str) -> bool:
        column = self[name]
        return bool(np.ptp(column) > 1e-7 * (1.0 + np.max(np.abs(column))))

    def _drawn(self, stable: bool) -> np.ndarray:
        """Points of one kind, with their neighbours so that lines meet."""
        own = self.stable == stable
        marked = np.zeros(len(self), dtype=bool)
        marked[[mark.index for mark in self.marks]] = True
        beside = np.zeros(len(self), dtype=bool)
        beside[1:] |= own[:-1]
        beside[:-1] |= own[1:]
        found: np.ndarray = own | (marked & beside)
        return found
