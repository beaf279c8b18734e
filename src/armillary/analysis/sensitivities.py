"""Derivatives of a run by parameters and initial values, over time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import index_of_name, pair, several
from armillary.errors import require
from armillary.program.sensitivities import derivative_name, quotient
from armillary.results import Run
from armillary.results.record import label_units
from armillary.runtime.models.compilation import CompiledSensitiveModel
from armillary.text_tables import aligned, counted

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure


_SHOWN = 8  # outputs that a summary lists


def split_derivatives(model: CompiledSensitiveModel, whole: Run) -> Sensitivities:
    """Separate the run of a model with derivatives into the run itself and the derivatives."""
    of, to = model.equations.of, model.directions
    names = tuple(name for name in whole.names if name in model.base.output_names)
    run = _select_columns(whole, names)
    shape = (len(whole), len(of), len(to))
    values = np.empty(shape)
    for i, output in enumerate(of):
        for j, name in enumerate(to):
            values[:, i, j] = whole[derivative_name(output, name)]
    values.setflags(write=False)
    at = {}
    for d in model.equations.directions:
        known = whole.parameters if d.role == "parameter" else run.initial
        at[d.name] = float(known[d.name])
    per = {d.name: d.units for d in model.equations.directions}
    return Sensitivities(run, of, to, values, per, at)


def _select_columns(run: Run, names: Sequence[str]) -> Run:
    """Return a run with some of its columns."""
    chosen = [run.names.index(name) for name in names]
    return replace(run, names=tuple(names), values=np.ascontiguousarray(run.values[:, chosen]))


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """The derivatives of outputs by parameters and initial values, over the time of a run.

        s["tip height", "k1"]     d(tip height)/d(k1) at s.time
        s["tip height"]           derivatives by all of s.to, one in each column
        s.run                     the run itself

    Derivatives are in units of the output per unit of the parameter; ``s.scaled`` has them per relative
    change of the parameter.
    """

    run: Run
    of: tuple[str, ...]
    to: tuple[str, ...]
    values: np.ndarray  # (time, of, to)
    per: Mapping[str, str]  # units of a change of ``to``; empty if it is relative
    at: Mapping[str, float]  # values of ``to`` at which the derivatives are taken
    relative: bool = False  # whether they are per relative change

    @property
    def time(self) -> np.ndarray:
        """The times of the samples, in seconds."""
        return self.run.time

    def __getitem__(self, key: str | tuple[str, str]) -> np.ndarray:
        """Return samples of one derivative or, for an output alone, of all its derivatives in columns."""
        output, *name = (key,) if isinstance(key, str) else pair(key, "sensitivities")
        missing = f"sensitivities of '{self.run.system}' hold no derivative"
        found = self.values[:, index_of_name(output, self.of, f"{missing} of output"), :]
        return found[:, index_of_name(name[0], self.to, f"{missing} by")] if name else found

    @property
    def units(self) -> dict[tuple[str, str], str]:
        """Units of each derivative."""
        return {(o, name): quotient(self.run.units[o], self.per[name]) for o in self.of for name in self.to}

    @property
    def final(self) -> dict[tuple[str, str], float]:
        """The last value of each derivative."""
        last = self.values[-1]
        return {(o, n): float(last[i, j]) for i, o in enumerate(self.of) for j, n in enumerate(self.to)}

    @property
    def scaled(self) -> Sensitivities:
        """The derivatives times the values of ``to``: changes of outputs per relative change of a parameter.

        They are in the units of the output, so that parameters can be compared. A parameter that is zero has
        no relative change: derivatives by it remain per unit.
        """
        if self.relative:
            return self
        sizes = np.array([abs(self.at[name]) or 1.0 for name in self.to])
        per = {name: "" if self.at[name] else units for name, units in self.per.items()}
        return replace(self, values=self.values * sizes, per=per, relative=True)

    # ------------------------------------------------------------ other forms and figures

    def as_run(self) -> Run:
        """Return the derivatives as the columns of a run, d(output)/d(parameter)."""
        pairs = [(o, name) for o in self.of for name in self.to]
        labels = tuple(derivative_name(o, name) for o, name in pairs)
        units = self.units
        return replace(
            self.run,
            names=labels,
            values=np.ascontiguousarray(self.values.reshape(len(self.time), -1)),
            units={label: units[pair] for label, pair in zip(labels, pairs, strict=True)},
            descriptions={
                label: f"derivative of {o} by {n}" for label, (o, n) in zip(labels, pairs, strict=True)
            },
            outputs=labels,
        )

    def to_xarray(self) -> xarray.Dataset:
        """Return a dataset with a variable per output over (time, to); ``per`` has the units of ``to``."""
        xr = require("xarray", extra="data", purpose="Labelled datasets")
        variables = {}
        for i, o in enumerate(self.of):
            attributes = {"long_name": f"derivative of {o}", "units": self.run.units[o]}
            variables[o] = (("time", "to"), self.values[:, i, :], attributes)
        coordinates = {
            "time": ("time", self.time, {"long_name": "time", "units": "s"}),
            "to": ("to", list(self.to)),
            "per": (
                "to",
                [self.per[name] for name in self.to],
                {"long_name": "units of the varied quantity"},
            ),
            "at": ("to", [self.at[name] for name in self.to], {"long_name": "value of the varied quantity"}),
        }
        found: xarray.Dataset = xr.Dataset(variables, coords=coordinates, attrs={"system": self.run.system})
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a column per (output, parameter), indexed by time."""
        pd = require("pandas", extra="data", purpose="Tables")
        columns = pd.MultiIndex.from_product([self.of, self.to], names=["of", "to"])
        index = pd.Index(self.time, name="time")
        return pd.DataFrame(self.values.reshape(len(self.time), -1), index=index, columns=columns)

    def plot(
        self,
        *of: str,
        to: Sequence[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure | None:
        """Plot derivatives over time, with one panel for each unit.

        ``scaled.plot`` plots them all in the units of the outputs.
        """
        names = [
            derivative_name(o, n)
            for o in of or self.of
            for n in (self.to if to is None else several(to, "to="))
            if self[o, n] is not None  # raises an error for a wrong name
        ]
        return self.as_run().plot(*names, path=path, title=title, show=show)

    def __repr__(self) -> str:
        """The largest change of each output per relative change of each parameter."""
        shown, scaled = self.of[-_SHOWN:], self.scaled
        by_unit = {name: f"{name} (per {scaled.per[name] or 1})" for name in self.to if not self.at[name]}
        rows = [["", *(by_unit.get(name, name) for name in self.to), ""]]
        for o in shown:
            largest = np.max(np.abs(scaled[o]), axis=0, initial=0.0)
            rows.append([o, *(f"{x:.4g}" for x in largest), label_units(self.run.units[o])])
        more = len(self.of) - len(shown)
        lines = [f"Sensitivities of '{self.run.system}', largest change per relative change:"]
        lines += [f"  {line}" for line in aligned(rows, "<" + ">" * len(self.to))]
        return "\n".join([*lines, *([f"  and {counted(more, 'output')} more"] if more else [])])
