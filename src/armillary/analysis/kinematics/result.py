"""The result of a sweep: columns with units, landmarks, tables, plots and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from armillary.algebra.arguments import index, index_of_name
from armillary.analysis.efforts import inverse
from armillary.analysis.kinematics.drives import TIME, Drive
from armillary.analysis.kinematics.mechanism import Mechanism, slopes
from armillary.analysis.kinematics.motion import Landmark, PathMotion, landmark_summary
from armillary.analysis.result_files import refuse_damage
from armillary.errors import ArmillaryError, require
from armillary.program.sensitivities import derivative_name, quotient
from armillary.results import Run
from armillary.results.files import read_record, to_pandas, to_xarray, write_record
from armillary.results.plots.run_plot import sparkline
from armillary.results.record import FileContent, label_units
from armillary.runtime.models.compiled import CompiledModel
from armillary.text_tables import aligned, counted, html_table, html_text
from armillary.untyped import DataTable

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure


_VERSION = 1
_LINES = 12  # most lines of a printed table
_COLUMNS = 7  # most columns of a printed table


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Positions of a mechanism along a path or on a grid of driven quantities.

        sweep["camber"]              the values of a column, a number per row, in sweep.units["camber"]
        sweep.found                  whether each row was reached; outputs of other rows are NaN
        sweep.landmarks              limits of reach, singular positions and turning points of outputs
        sweep.initial(10)            the coordinates of a row, for initial= of simulate
        sweep.save("sweep.csv")      and load_sweep("sweep.csv")

    ``names`` are the columns: driven quantities, outputs, their derivatives, then the other coordinates.
    ``held`` are coordinates that keep their start values because nothing drives them.
    """

    system: str
    driven: tuple[str, ...]
    outputs: tuple[str, ...]
    names: tuple[str, ...]
    values: np.ndarray
    found: np.ndarray
    units: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    landmarks: tuple[Landmark, ...] = ()
    held: Mapping[str, float] = field(default_factory=dict)
    coordinates: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    parameter_units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.values, self.found):
            array.setflags(write=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of one column."""
        return self.values[:, index_of_name(name, self.names, f"sweep of '{self.system}' has no column")]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.values)

    def grid(self, name: str) -> np.ndarray:
        """Return a column in the shape of the grid, an axis for each driven quantity."""
        return self[name].reshape(self.shape)

    def initial(self, row: int) -> dict[str, float]:
        """Return the coordinates of a row by name, to start a simulation or another sweep from."""
        row = index(row, len(self), "row")
        i = int(row)
        if not self.found[i]:
            raise ArmillaryError(f"row {row} of the sweep of '{self.system}' was not reached")
        return {name: float(self[name][i]) for name in self.coordinates}

    @property
    def singular(self) -> tuple[Landmark, ...]:
        """Positions at which the driven quantities do not determine the motion."""
        return tuple(m for m in self.landmarks if m.kind == "singular")

    @property
    def limits(self) -> tuple[Landmark, ...]:
        """Limits of reach: the last positions before rows that cannot be reached."""
        return tuple(m for m in self.landmarks if m.kind == "limit of reach")

    def turning_points(self, name: str) -> tuple[Landmark, ...]:
        """Return the positions at which an output turns back along the path: its dead centres."""
        self[name]  # raises an error for a wrong name
        return tuple(m for m in self.landmarks if m.output == name)

    # ------------------------------------------------------------ tables and pictures

    def _heading(self) -> str:
        over = ", ".join(f"{n} {_span(self[n])} {label_units(self.units[n])}".rstrip() for n in self.driven)
        shape = f" ({' × '.join(map(str, self.shape))})" if len(self.shape) > 1 else ""
        lost = len(self) - int(np.sum(self.found))
        text = f"Sweep of '{self.system}' over {over}: {counted(len(self), 'row')}{shape}"
        return text + (f", {lost} not reached" if lost else "")

    def _notes(self) -> list[str]:
        held = [f"{n} = {v:.6g} {label_units(self.units.get(n, ''))}".rstrip() for n, v in self.held.items()]
        lines = [f"held: {', '.join(held)}"] if held else []
        shown = [m for m in self.landmarks if m.kind != "turning point"]
        lines += [str(m) for m in shown[:_LINES]]
        wanted = self.outputs or self.names
        if turning := [m for m in self.landmarks if m.output in wanted]:
            lines += [str(m) for m in turning[:4]]
            lines += [f"and {landmark_summary(tuple(turning[4:]))} more"] if len(turning) > 4 else []
        return lines

    def _printed_columns(self) -> list[str]:
        """Return the columns of a printed table: without coordinates if outputs were requested."""
        others = [c for c in self.coordinates if c not in self.driven]
        hidden = tuple(text for c in others for text in (f"d({c})/", f"d²({c})/"))
        names = [n for n in self.names if n not in others and not n.startswith(hidden)]
        return list(names if len(names) > len(self.driven) else self.names)[:_COLUMNS]

    def _table(self) -> list[list[str]]:
        names = self._printed_columns()
        rows = np.unique(np.linspace(0, len(self) - 1, min(_LINES, len(self))).round().astype(int))
        head = [list(names), [label_units(self.units[n]) for n in names]]
        return head + [[self._text(n, i) for n in names] for i in rows]

    def _text(self, name: str, row: int) -> str:
        """Return a number as text for a table; 0 if it is rounding error in its column."""
        largest = np.max(np.abs(self[name]), initial=0.0, where=np.isfinite(self[name]))
        value = self[name][row]
        return "0" if abs(value) < 1e-13 * largest else f"{value:.6g}"

    def __repr__(self) -> str:
        rows = self._table()
        table = [f"  {line}" for line in aligned(rows, ">" * len(rows[0]))]
        return "\n".join([self._heading(), *table, *(f"  {line}" for line in self._notes())])

    def _repr_html_(self) -> str:
        """Return a heading and a table of columns with small curves, for notebooks."""
        index = np.arange(len(self), dtype=float)
        rows = []
        for n in self.names:
            known = self[n][np.isfinite(self[n])]
            extremes = [f"{x:.6g}" for x in (known.min(), known.max())] if known.size else ["", ""]
            rows.append([n, sparkline(index, self[n]), *extremes, label_units(self.units[n])])
        notes = "".join(f"<li>{html_text(line)}</li>" for line in self._notes())
        table = html_table(["", "", "minimum", "maximum", "units"], rows, "<<>><")
        return f"<p>{html_text(self._heading())}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")

    def as_run(self) -> Run:
        """Return the columns as a run whose time is the number of the row, for plots and comparisons."""
        return Run(
            self.system,
            np.arange(len(self), dtype=float),
            self.values,
            self.names,
            units=self.units,
            descriptions=self.descriptions,
            parameters=self.parameters,
            parameter_units=self.parameter_units,
            outputs=self.outputs,
        )

    def plot(
        self,
        *names: str,
        x: str | None = None,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        show: bool = False,
    ) -> Figure | None:
        """Return a figure of columns, by default the outputs, over the first driven quantity or column ``x``.

        With ``path`` the figure is saved as PNG, SVG, PDF or HTML.
        """
        return self.as_run().plot(*names, x=x or self.driven[0], path=path, title=title, show=show)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas table with one column per name, indexed by the driven quantities."""
        if len(self.shape) == 1:
            return to_pandas(self._record())
        pd = require("pandas", extra="data", purpose="Tables")
        index = pd.MultiIndex.from_arrays([self[n] for n in self.driven], names=list(self.driven))
        rest = [n for n in self.names if n not in self.driven]
        return pd.DataFrame({n: self[n] for n in rest}, index=index)

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray dataset over the driven quantities; a grid has one axis per quantity."""
        if len(self.shape) == 1:
            return to_xarray(self._record())
        xr = require("xarray", extra="data", purpose="Labelled datasets")

        def attributes(n: str) -> dict[str, str]:
            return {"long_name": self.descriptions.get(n, n), "units": self.units[n]}

        coordinates = {}
        for k, n in enumerate(self.driven):
            first = tuple(slice(None) if i == k else 0 for i in range(len(self.shape)))
            coordinates[n] = (n, self.grid(n)[first], attributes(n))
        rest = [n for n in self.names if n not in self.driven]
        variables = {n: (list(self.driven), self.grid(n), attributes(n)) for n in rest}
        found: xarray.Dataset = xr.Dataset(variables, coords=coordinates, attrs={"system": self.system})
        return found

    # ------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load_sweep` reads: .csv, .nc (NetCDF) or .parquet."""
        if Path(path).suffix.lower() == ".erd":
            raise ArmillaryError(f"'{path}': columns of ERD files are over time; use .csv, .nc or .parquet")
        write_record(path, self._record())

    def _record(self) -> FileContent:
        metadata: DataTable = {
            "armillary_sweep": _VERSION,
            "kind": type(self).__name__,
            "system": self.system,
            "driven": list(self.driven),
            "outputs": list(self.outputs),
            "coordinates": list(self.coordinates),
            "shape": list(self.shape),
            "lost": np.flatnonzero(~self.found).tolist(),
            "held": [[n, v] for n, v in self.held.items()],
            "landmarks": [{**asdict(m), "at": dict(m.at)} for m in self.landmarks],
            "units": {n: u for n, u in self.units.items() if u},
            "descriptions": {n: d for n, d in self.descriptions.items() if d},
            "parameters": dict(self.parameters),
            "parameter_units": {n: u for n, u in self.parameter_units.items() if u},
            "info": {},
        }
        return FileContent(self.names[1:], self.values[:, 0], self.values[:, 1:], metadata, self.names[0])


class Solutions(Sweep):
    """Positions at which outputs have given values: a row for each solution or, along a path, for each value.

    solutions["elbow.q1"]        the angles of all solutions; the first is from the given start
    solutions.initial(0)         the coordinates of the first, for initial= of simulate
    len(solutions)
    """

    @property
    def _one_target(self) -> bool:
        return all(np.ptp(self[n]) == 0.0 for n in self.driven)

    def _printed_columns(self) -> list[str]:
        rest = [n for n in self.names if n not in self.driven]
        return (rest if self._one_target and rest else list(self.names))[:_COLUMNS]

    def _heading(self) -> str:
        if self._one_target:
            values = [f"{n} = {self[n][0]:.6g} {label_units(self.units[n])}".rstrip() for n in self.driven]
            return f"{counted(len(self), 'solution')} of '{self.system}' for {', '.join(values)}"
        return super()._heading().replace("Sweep of", "Solutions of", 1)


def load_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Return the sweep in a file that `Sweep.save` wrote."""
    record = read_record(path)
    m = record.metadata
    if m.get("armillary_sweep") != _VERSION:
        raise ArmillaryError(f"'{path}' is not a sweep that this Armillary wrote; load_run reads runs")
    with refuse_damage(path, "a sweep"):
        names = (record.over, *record.names)
        found = np.ones(len(record.time), dtype=bool)
        found[m["lost"]] = False
        marks = (
            Landmark(**{**mark, "constraints": tuple(mark["constraints"]), "speeds": tuple(mark["speeds"])})
            for mark in m["landmarks"]
        )
        kind = Solutions if m.get("kind") == "Solutions" else Sweep
        sweep = kind(
            m["system"],
            tuple(m["driven"]),
            tuple(m["outputs"]),
            names,
            np.column_stack([record.time, record.values]),
            found,
            units={n: m["units"].get(n, "") for n in {*names, *m["units"]}},
            descriptions={n: m["descriptions"].get(n, "") for n in names},
            landmarks=tuple(marks),
            held=dict(m["held"]),
            coordinates=tuple(m["coordinates"]),
            shape=tuple(m["shape"]),
            parameters=m["parameters"],
            parameter_units={n: m["parameter_units"].get(n, "") for n in m["parameters"]},
        )
        str(sweep), repr(sweep)
    return sweep


def _span(values: np.ndarray) -> str:
    low, high = values[0], values[-1]
    return f"{low:.6g} to {high:.6g}"


# Reactions along a static sweep: forces and moments of joints, and forces of constraints, at its positions.
#
# The efforts that hold a position act along the speeds of driven and held quantities; reactions follow by
# inverse dynamics at rest.


def reactions_at_rest(
    model: CompiledModel,
    mechanism: Mechanism,
    q: np.ndarray,
    times: np.ndarray,
    names: Sequence[str],
    parameters: Mapping[str, object] | None,
) -> Run:
    """Return the reactions of bodies and constraints as columns, with a row for each row of ``q``."""
    acting = _driven_speeds(mechanism)
    found = inverse(model, q, parameters=parameters, t=times, actuators=acting, reactions=names)
    return found.as_run()


def _driven_speeds(mechanism: Mechanism) -> list[str]:
    """Return the speed along which the effort of each driven quantity acts."""
    k, found = mechanism.kinematics, []
    for quantity in mechanism.driven:
        along = list(slopes(k.rate([quantity.value])[0], k.u))
        if len(along) != 1:
            moved = ", ".join(k.speeds[j].data.name for j in along)
            raise ArmillaryError(
                f"reactions along a sweep depend on where the effort of '{quantity.name}' acts, which moves "
                f"with {moved}; drive a coordinate of one joint"
            )
        found.append(k.speeds[along[0]].data.name)
    return found


# The columns of a sweep, computed from the positions of its rows.

Result = TypeVar("Result", bound=Sweep)


class SweepColumns:
    """The columns of a sweep under construction."""

    def __init__(self, mechanism: Mechanism, drive: Drive, motion: PathMotion, found: np.ndarray) -> None:
        self.mechanism, self.drive, self.motion, self.found = mechanism, drive, motion, found
        k = mechanism.kinematics
        self.count = len(drive.names)
        held = motion.positions[:, mechanism.state + self.count : mechanism.state + len(mechanism.driven)]
        balance = np.zeros((len(drive), mechanism.followed - len(mechanism.driven)))
        self.targets = np.column_stack([drive.values, held, balance])
        driven = {name: drive.values[:, i] for i, name in enumerate(drive.names)} | {TIME: drive.times}
        self.columns: dict[str, np.ndarray] = {name: driven[name] for name in drive.axes}
        known = k.quantities
        self.units = {n: known[n].units for n in drive.names} | ({TIME: "s"} if drive.timed else {})
        self.abouts = {n: known[n].about for n in drive.names} | ({TIME: "time"} if drive.timed else {})

    def _add(self, name: str, values: np.ndarray, units: str, about: str) -> None:
        self.columns[name] = np.where(self.found, values, np.nan)
        self.units[name], self.abouts[name] = units, about

    def add_outputs(self, values: np.ndarray | None = None) -> None:
        values = self.motion.outputs_at_rest() if values is None else values
        for i, o in enumerate(self.mechanism.outputs):
            self._add(o.name, values[:, i], o.units, o.about)

    def add_reactions(
        self, model: CompiledModel, names: Sequence[str], parameters: Mapping[str, object] | None
    ) -> None:
        """Add columns of reactions of bodies and constraints; NaN for rows that were not reached."""
        m = self.mechanism
        q = self.motion.positions[self.found, : len(m.kinematics.equations.targets.coordinates)]
        run = reactions_at_rest(model, m, q, self.drive.times[self.found], names, parameters)
        for name in run.names:
            if name.startswith("effort("):  # efforts are columns already
                continue
            values = np.full(len(self.found), np.nan)
            values[self.found] = run[name]
            self._add(name, values, run.units[name], run.descriptions[name])

    def add_rates(self, speeds: np.ndarray, accelerations: np.ndarray) -> None:
        """Add columns of the outputs and their rates, for given rates of the driven quantities."""
        m, more = self.mechanism, np.zeros((len(self.drive), self.mechanism.followed - self.count))
        u = self.motion.speeds(np.column_stack([speeds, more]), 1.0)
        a = self.motion.accelerations(u, np.column_stack([accelerations, more]), 1.0)
        values, rates = self.motion.moving(u, a, 1.0)
        self.add_outputs(values)
        for i, o in enumerate(m.outputs):
            self._add(f"d({o.name})/dt", rates[:, i], quotient(o.units, "s"), f"rate of {o.name}")
            if i in m.twice:
                second = rates[:, len(m.outputs) + m.twice.index(i)]
                self._add(f"d²({o.name})/dt²", second, quotient(o.units, "s^2"), f"second rate of {o.name}")

    def derivatives(self, motion: PathMotion) -> np.ndarray:
        """Return the derivatives of all outputs by each driven quantity at all rows; NaN for outputs that
        depend on speeds.
        """
        m = self.mechanism
        found = np.full((len(motion.positions), len(m.outputs), self.count), np.nan)
        for d in range(self.count):
            rates = np.zeros((len(motion.positions), m.followed))
            rates[:, d] = 1.0
            u = motion.speeds(rates, 0.0)
            _, shown = motion.moving(u, np.zeros_like(u), 0.0)
            found[:, list(m.twice), d] = shown[:, list(m.twice)]
        return found

    def add_derivatives(self, slopes: np.ndarray) -> None:
        """Add derivatives by the driven quantities; second derivatives too if one quantity is driven."""
        m, k = self.mechanism, self.mechanism.kinematics
        for d, by in enumerate(self.drive.names):
            for i in m.twice:
                o = m.outputs[i]
                units = quotient(o.units, k.quantities[by].units)
                self._add(
                    derivative_name(o.name, by), slopes[:, i, d], units, f"derivative of {o.name} by {by}"
                )
        if self.count != 1:
            return
        rates = np.zeros((len(self.drive), m.followed))
        rates[:, 0] = 1.0
        u = self.motion.speeds(rates, 0.0)
        a = self.motion.accelerations(u, np.zeros_like(rates), 0.0)
        _, shown = self.motion.moving(u, a, 0.0)
        by = self.drive.names[0]
        for at, i in enumerate(m.twice):
            o = m.outputs[i]
            units = quotient(o.units, _square_units(k.quantities[by].units))
            values = shown[:, len(m.outputs) + at]
            self._add(second_name(o.name, by), values, units, f"second derivative of {o.name} by {by}")

    def result(
        self,
        model: CompiledModel,
        parameters: Mapping[str, object] | None,
        marks: tuple[Landmark, ...],
        kind: type[Result],
    ) -> Result:
        """Return the finished sweep."""
        k, drive = self.mechanism.kinematics, self.drive
        coordinates = tuple(n for n in k.coordinates if n in self.columns)
        asked = [o.name for o in self.mechanism.outputs if o.name not in coordinates]
        still = self.mechanism.driven[self.count :] if len(drive) else ()
        held = {d.name: float(self.targets[0, i]) for i, d in enumerate(still, self.count)}
        last = [n for n in coordinates if n not in drive.axes]
        names = [n for n in self.columns if n not in last] + last
        values = model.parameter_table.values(parameters)
        return kind(
            k.system.name,
            drive.axes,
            tuple(asked),
            tuple(names),
            np.column_stack([self.columns[n] for n in names]),
            self.found,
            units=self.units,
            descriptions=self.abouts,
            landmarks=marks,
            held=held,
            coordinates=coordinates,
            shape=drive.shape,
            parameters=values,
            parameter_units=dict(zip(model.parameter_table.names, model.parameter_table.units, strict=True)),
        )


def second_name(of: str, by: str) -> str:
    """Return the name of the second derivative of an output."""
    return f"d²({of})/d({by})²"


def _square_units(units: str) -> str:
    """Return the units of the square of a quantity."""
    if units.strip() in ("", "1", "-"):
        return ""
    return f"{units}^2" if units.isalpha() else f"({units})^2"
