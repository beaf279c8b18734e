"""Measurements that a model is fitted to: tables of any make as columns over time, checked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta

import numpy as np

from armillary.algebra.arguments import checked_names, several
from armillary.errors import ArmillaryError, nearest
from armillary.results import Run, load_run
from armillary.results.record import UNKNOWN, conversion
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping, DataTable, Given

_TIME = ("time", "t")


@dataclass(frozen=True, eq=False)
class Experiment:
    """Measured data and the circumstances under which they were taken.

    ``data`` is a run, a table by name with a "time" (a mapping, a pandas DataFrame, an xarray Dataset), or
    the path of a file that ``load_run`` reads; a time of dates counts from its first row on.
    ``parameters``, ``initial`` and ``memory`` hold what was different in this experiment, as for
    ``simulate``, which starts at ``t0``, and ``inputs`` what drove it over time. ``sigma`` is the standard
    deviation of the measurements: a number for all, or by column a number or an array.
    """

    data: Given
    parameters: DataMapping = field(default_factory=dict)
    initial: DataMapping = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    sigma: Given = None
    t0: float = 0.0
    name: str = ""
    inputs: Given = None


@dataclass(frozen=True, eq=False)
class Measured:
    """One experiment, read: columns over time in the units of the model's outputs; NaN where nothing was
    measured.
    """

    experiment: Experiment
    name: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    sigma: Mapping[str, np.ndarray]  # of columns where it is known

    @property
    def count(self) -> int:
        """The number of measured values."""
        return int(sum(np.isfinite(c).sum() for c in self.columns.values()))


def measured(
    model: CompiledModel, data: object, outputs: Sequence[str] | None, sigma: object
) -> tuple[Measured, ...]:
    """All experiments, read and checked against the model's outputs."""
    given = list(data) if isinstance(data, list | tuple) else [data]
    if not given:
        raise ArmillaryError("there are no data to fit to")
    found = [x if isinstance(x, Experiment) else Experiment(x) for x in given]
    names = [x.name or (f"experiment {i}" if len(found) > 1 else "data") for i, x in enumerate(found, 1)]
    if len(set(names)) < len(names):
        raise ArmillaryError(f"two experiments are called '{next(n for n in names if names.count(n) > 1)}'")
    wanted = None if outputs is None else [str(name) for name in several(outputs, "outputs=")]
    return tuple(_read(model, x, name, wanted, sigma) for x, name in zip(found, names, strict=True))


def _read(
    model: CompiledModel, experiment: Experiment, name: str, outputs: list[str] | None, sigma: object
) -> Measured:
    time, columns, units = _table(experiment.data, name)
    time = _checked_time(time, experiment.t0, name)
    chosen = _chosen(model, columns, outputs, name)
    shown = {c.name: c.units for c in model.equations.targets.columns}
    read = {}
    for column in chosen:
        factor = conversion(column, units.get(column, UNKNOWN), shown[column])
        read[column] = _numbers(columns[column], len(time), f"column '{column}' of {name}") * factor
        if np.any(np.isinf(read[column])):
            raise ArmillaryError(f"column '{column}' of {name} holds infinity; what is missing is NaN")
        if not np.any(np.isfinite(read[column])):
            raise ArmillaryError(f"column '{column}' of {name} holds no number; leave it out")
    spread = experiment.sigma if experiment.sigma is not None else sigma
    return Measured(experiment, name, time, read, _sigmas(spread, chosen, len(time), name))


# ---------------------------------------------------------------------------------------- tables


def _table(data: Given, name: str) -> tuple[Given, DataTable, dict[str, str]]:
    """Time, columns and their units, from whatever holds them."""
    if isinstance(data, str | os.PathLike):
        data = load_run(data)
    if isinstance(data, Run):
        return data.time, {n: data[n] for n in data.outputs or data.names}, dict(data.units)
    if hasattr(data, "data_vars"):  # an xarray Dataset; if it is ours, with names that its labels stand for
        names = json.loads(data.attrs["names"]) if "armillary_run" in data.attrs else {}
        variables = {names.get(k, k): v for k, v in data.data_vars.items()}
        units = {k: v.attrs["units"] for k, v in variables.items() if v.attrs.get("units")}
        if "time" not in data.coords:
            raise ArmillaryError(f"{name}: the dataset has no coordinate 'time'")
        return data["time"].to_numpy(), {k: v.to_numpy() for k, v in variables.items()}, units
    if hasattr(data, "columns") and hasattr(data, "index"):  # a pandas DataFrame
        columns = {str(c): data[c].to_numpy() for c in data.columns}
        if not any(t in columns for t in _TIME):
            columns["time"] = data.index.to_numpy()
    elif isinstance(data, Mapping):
        columns = {str(key): value for key, value in data.items()}
    else:
        raise ArmillaryError(
            f"{name}: {type(data).__name__} is not data; give a run, a mapping, a DataFrame, a Dataset or a "
            "path"
        )
    found = [t for t in _TIME if t in columns]
    if not found:
        raise ArmillaryError(f"{name} has no column 'time'; there are {', '.join(columns) or 'none'}")
    return columns.pop(found[0]), columns, {}


def _numbers(values: object, length: int | None, what: str) -> np.ndarray:
    try:
        if np.asarray(values).dtype.kind in "cmM":  # of complex numbers and times floats are something else
            raise TypeError
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ArmillaryError(f"{what} contains an entry that is not a number") from None
    if found.ndim != 1 or (length is not None and len(found) != length):
        expected = "one-dimensional" if length is None else f"{length} numbers, one for each time"
        raise ArmillaryError(f"{what} must be {expected}, not an array of shape {found.shape}")
    return found


def _seconds(values: object, t0: float) -> Given:
    """Dates as seconds from the first on, which is t0, durations in seconds, and all else as it is."""
    try:
        found = np.asarray(values)
        if found.ndim != 1 or not found.size:
            return values
        first = found[0]
        if getattr(first, "tzinfo", None) is not None:  # within a zone, clocks are compared, which are set
            found = np.array([x.astimezone(UTC).replace(tzinfo=None) for x in found], dtype=object)
        if found.dtype.kind == "O" and isinstance(first, date | timedelta):
            found = found.astype("M8[ns]" if isinstance(first, date) else "m8[ns]")
    except (TypeError, ValueError, AttributeError):
        return values
    if found.dtype.kind == "M":
        return (found - found[0]) / np.timedelta64(1, "s") + t0
    return found / np.timedelta64(1, "s") if found.dtype.kind == "m" else values


def _checked_time(values: object, t0: float, name: str) -> np.ndarray:
    time = _numbers(_seconds(values, t0), None, f"the time of {name}")
    if not len(time):
        raise ArmillaryError(f"{name} has no rows")
    if not np.all(np.isfinite(time)):
        raise ArmillaryError(f"the time of {name} is not finite in row {int(np.argmin(np.isfinite(time)))}")
    if len(time) > 1 and np.min(np.diff(time)) <= 0:
        row = int(np.argmax(np.diff(time) <= 0)) + 1
        raise ArmillaryError(f"the time of {name} does not increase in row {row} ({time[row]:.9g} s)")
    if time[0] < t0:
        raise ArmillaryError(
            f"{name} begins at {time[0]:.9g} s, before its run does at {t0:.9g} s; give Experiment(…, t0=…)"
        )
    return time


def _chosen(
    model: CompiledModel, columns: Mapping[str, object], outputs: list[str] | None, name: str
) -> list[str]:
    """Columns to be fitted: those named, or all; each must be an output of the model."""
    known = model.output_names
    named = checked_names(outputs or (), known, "outputs=: there is no output")
    chosen = list(columns) if outputs is None else [output for output in named if output in columns]
    for column in chosen:
        if column not in known:
            raise ArmillaryError(
                f"column '{column}' of {name} is not an output of '{model.equations.system.name}'"
                f"{nearest(column, known)}; rename it, or select the columns with outputs="
            )
    if not chosen:
        there = ", ".join(columns) or "none"
        raise ArmillaryError(f"{name} has none of the columns to be fitted; there are {there}")
    return chosen


def _sigmas(given: object, columns: Sequence[str], rows: int, name: str) -> dict[str, np.ndarray]:
    """Standard deviations by column, one for each row."""
    if given is None:
        return {}
    by_column = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
    found = {}
    for column, value in checked_names(by_column, columns, f"sigma: {name} has no column").items():
        what = f"sigma of '{column}' of {name}"
        spread = _numbers(np.broadcast_to(value, rows) if np.ndim(value) == 0 else value, rows, what)
        if not np.all((spread > 0) & np.isfinite(spread)):
            raise ArmillaryError(f"{what} must be positive and finite")
        found[column] = spread
    if missing := [c for c in columns if c not in found]:
        raise ArmillaryError(
            f"sigma of '{missing[0]}' of {name} is not given; give it for all columns or none"
        )
    return found
