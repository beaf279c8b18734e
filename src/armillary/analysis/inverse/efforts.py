"""The result of inverse dynamics: efforts by the names of speeds, with units."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import place
from armillary.algebra.derivatives.calculus import NumericValue
from armillary.columns import aligned, counted, html_table, html_text
from armillary.results import Run
from armillary.results.record import label_units

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from numpy.typing import DTypeLike

_SHOWN = 24  # efforts that a table lists


@dataclass(frozen=True, eq=False, repr=False)
class Efforts:
    """Efforts that a motion takes: a force along each translation, a moment about each rotation.

        efforts["A.u1"]        a number, or an array where many places were given
        efforts.values         all of them, along the last axis in the order of efforts.names
        efforts.units["A.u1"]
        dict(efforts)          numbers or arrays by name

    They act besides all loads of the model. Those of ``prescribed`` speeds keep the given motion.
    ``reactions`` holds what passes through the joints of bodies, force and moment along the last axis, and
    the forces of constraints.
    """

    system: str
    names: tuple[str, ...]
    values: np.ndarray
    units: Mapping[str, str]
    prescribed: tuple[str, ...] = ()
    time: np.ndarray | None = None  # of the rows of a run
    note: str = ""
    reactions: Mapping[str, np.ndarray] = field(default_factory=dict)
    reaction_units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.values, *self.reactions.values()):
            array.setflags(write=False)

    def keys(self) -> tuple[str, ...]:
        """The names, so that ``dict(efforts)`` is possible."""
        return self.names

    def __getitem__(self, name: str) -> NumericValue:
        found = self.values[..., place(name, self.names, f"efforts of '{self.system}' have no")]
        return float(found) if found.ndim == 0 else found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    # ------------------------------------------------------------ handed on

    def as_run(self) -> Run:
        """The efforts over time as columns ``effort(speed)`` of a run; rows without times count from 0."""
        columns = {
            f"effort({name})": (self[name], self.units[name], self._about(name)) for name in self.names
        }
        for name, values in self.reactions.items():
            columns |= self._reaction_columns(name, values)
        rows = np.column_stack([np.ravel(values) for values, _, _ in columns.values()])
        return Run(
            system=self.system,
            time=np.arange(float(len(rows))) if self.time is None else self.time.copy(),
            values=rows,
            names=tuple(columns),
            units={name: units for name, (_, units, _) in columns.items()},
            descriptions={name: about for name, (_, _, about) in columns.items()},
            info={"note": self.note} if self.note else {},
            outputs=tuple(columns),
        )

    def _reaction_columns(self, name: str, values: np.ndarray) -> dict[str, tuple[NumericValue, str, str]]:
        units = self.reaction_units[name]
        if values.shape == self.values.shape[:-1]:
            return {f"force({name})": (values, units, f"force of constraint {name}")}
        kinds = zip(("force", "moment"), units.split(", "), (0, 3), strict=True)
        return {
            f"{kind}({name}).{axis}": (
                values[..., first + i],
                own,
                f"{kind} of {name}'s joint on it, along its {axis}",
            )
            for kind, own, first in kinds
            for i, axis in enumerate("xyz")
        }

    def _about(self, name: str) -> str:
        return f"effort that {'keeps' if name in self.prescribed else 'gives'} {name}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """The efforts as a file of a run (.csv, .nc, .parquet, .erd), which ``load_run`` reads."""
        self.as_run().save(path)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a column per effort, indexed by time."""
        return self.as_run().to_pandas()

    def plot(
        self,
        *names: str,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure | None:
        """A figure of efforts over time."""
        chosen = [f"effort({name})" for name in names or self.names if self[name] is not None]
        return self.as_run().plot(*chosen, path=path, title=title, show=show)

    # ------------------------------------------------------------ shown

    def _rows(self) -> list[list[str]]:
        single = self.values.ndim == 1
        rows = [["", "effort", ""] if single else ["", "least", "largest", "rms", ""]]
        for name in self.names[:_SHOWN]:
            column = np.atleast_1d(self[name])
            if single:
                numbers = [column[0]]
            elif column.size:
                numbers = [np.min(column), np.max(column), np.sqrt(np.mean(column**2))]
            else:
                numbers = [np.nan] * 3
            kept = ", prescribed" if name in self.prescribed else ""
            rows.append([name, *(f"{x:.6g}" for x in numbers), label_units(self.units[name]) + kept])
        return rows

    def _title(self) -> str:
        places = "" if self.values.ndim == 1 else f" at {counted(int(self.values[..., 0].size), 'place')}"
        return f"Efforts of '{self.system}'{places}:"

    def _notes(self) -> list[str]:
        more = len(self.names) - _SHOWN
        notes = [f"and {counted(more, 'effort')} more"] if more > 0 else []
        return [*notes, *([self.note] if self.note else [])]

    def __repr__(self) -> str:
        rows = self._rows()
        lines = aligned(rows, "<" + ">" * (len(rows[0]) - 2) + "<")
        return "\n".join([self._title(), *(f"  {line}" for line in [*lines, *self._notes()])])

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        notes = "".join(f"<p>{html_text(note)}</p>" for note in self._notes())
        return html_table(head, rows, "<" + ">" * (len(head) - 2), caption=self._title()) + notes
