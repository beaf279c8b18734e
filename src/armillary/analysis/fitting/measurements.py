"""The data of a fit: measurements, read from tables and checked, and the unknowns with starts and bounds."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta

import numpy as np

from armillary.algebra.arguments import checked_names, several
from armillary.algebra.units import is_quantity
from armillary.errors import ArmillaryError, ParameterError, nearest
from armillary.program.sensitivities import Direction, directions
from armillary.results import Run, load_run
from armillary.results.record import UNKNOWN, conversion
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import plain_number
from armillary.untyped import DataMapping, DataTable, Given

_TIME = ("time", "t")


@dataclass(frozen=True, eq=False)
class Experiment:
    """Measured data and the circumstances under which they were taken.

    ``data`` is a run, a table with a column "time" (a mapping, a pandas DataFrame, an xarray Dataset), or the
    path of a file that ``load_run`` reads. Times that are dates become seconds after the first row.
    ``parameters``, ``initial`` and ``memory`` hold the values that differ in this experiment, as for
    ``simulate``. The run of the experiment starts at ``t0``, with ``inputs`` over time. ``sigma`` is the
    standard deviation of the measurements: a number for all, or by column a number or an array.
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
    """One experiment as arrays: columns over time in the units of the model's outputs; NaN for values that
    were not measured.
    """

    experiment: Experiment
    name: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    sigma: Mapping[str, np.ndarray]  # standard deviations of columns; empty if not given

    @property
    def count(self) -> int:
        """The number of measured values."""
        return int(sum(np.isfinite(c).sum() for c in self.columns.values()))


def read_experiments(
    model: CompiledModel, data: object, outputs: Sequence[str] | None, sigma: object
) -> tuple[Measured, ...]:
    """Return all experiments, read and checked against the model's outputs."""
    given = list(data) if isinstance(data, list | tuple) else [data]
    if not given:
        raise ArmillaryError("there are no data to fit to")
    found = [x if isinstance(x, Experiment) else Experiment(x) for x in given]
    names = [x.name or (f"experiment {i}" if len(found) > 1 else "data") for i, x in enumerate(found, 1)]
    if len(set(names)) < len(names):
        raise ArmillaryError(f"two experiments are called '{next(n for n in names if names.count(n) > 1)}'")
    wanted = None if outputs is None else [str(name) for name in several(outputs, "outputs=")]
    return tuple(
        _read_experiment(model, x, name, wanted, sigma) for x, name in zip(found, names, strict=True)
    )


def _read_experiment(
    model: CompiledModel, experiment: Experiment, name: str, outputs: list[str] | None, sigma: object
) -> Measured:
    time, columns, units = _time_and_columns(experiment.data, name)
    time = _checked_time(time, experiment.t0, name)
    chosen = _columns_to_fit(model, columns, outputs, name)
    shown = {c.name: c.units for c in model.equations.targets.columns}
    read = {}
    for column in chosen:
        factor = conversion(column, units.get(column, UNKNOWN), shown[column])
        read[column] = _finite_numbers(columns[column], len(time), f"column '{column}' of {name}") * factor
        if np.any(np.isinf(read[column])):
            raise ArmillaryError(f"column '{column}' of {name} holds infinity; write missing values as NaN")
        if not np.any(np.isfinite(read[column])):
            raise ArmillaryError(f"column '{column}' of {name} holds no number; leave it out")
    spread = experiment.sigma if experiment.sigma is not None else sigma
    return Measured(experiment, name, time, read, _sigmas(spread, chosen, len(time), name))


# ---------------------------------------------------------------------------------------- tables


def _time_and_columns(data: Given, name: str) -> tuple[Given, DataTable, dict[str, str]]:
    """Return time, columns and their units from any kind of table."""
    if isinstance(data, str | os.PathLike):
        data = load_run(data)
    if isinstance(data, Run):
        return data.time, {n: data[n] for n in data.outputs or data.names}, dict(data.units)
    if hasattr(data, "data_vars"):  # an xarray Dataset; one made from a run has the columns' names in attrs
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


def _finite_numbers(values: object, length: int | None, what: str) -> np.ndarray:
    try:
        if np.asarray(values).dtype.kind in "cmM":  # float() would change complex numbers and dates silently
            raise TypeError
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ArmillaryError(f"{what} contains an entry that is not a number") from None
    if found.ndim != 1 or (length is not None and len(found) != length):
        expected = "one-dimensional" if length is None else f"{length} numbers, one for each time"
        raise ArmillaryError(f"{what} must be {expected}, not an array of shape {found.shape}")
    return found


def _seconds(values: object, t0: float) -> Given:
    """Return dates as seconds from the first one, durations in seconds; leave other values unchanged."""
    try:
        found = np.asarray(values)
        if found.ndim != 1 or not found.size:
            return values
        first = found[0]
        if getattr(first, "tzinfo", None) is not None:  # differences in one zone ignore clock changes
            found = np.array([x.astimezone(UTC).replace(tzinfo=None) for x in found], dtype=object)
        if found.dtype.kind == "O" and isinstance(first, date | timedelta):
            found = found.astype("M8[ns]" if isinstance(first, date) else "m8[ns]")
    except (TypeError, ValueError, AttributeError):
        return values
    if found.dtype.kind == "M":
        return (found - found[0]) / np.timedelta64(1, "s") + t0
    return found / np.timedelta64(1, "s") if found.dtype.kind == "m" else values


def _checked_time(values: object, t0: float, name: str) -> np.ndarray:
    time = _finite_numbers(_seconds(values, t0), None, f"the time of {name}")
    if not len(time):
        raise ArmillaryError(f"{name} has no rows")
    if not np.all(np.isfinite(time)):
        raise ArmillaryError(f"the time of {name} is not finite in row {int(np.argmin(np.isfinite(time)))}")
    if len(time) > 1 and np.min(np.diff(time)) <= 0:
        row = int(np.argmax(np.diff(time) <= 0)) + 1
        raise ArmillaryError(f"the time of {name} does not increase in row {row} ({time[row]:.9g} s)")
    if time[0] < t0:
        raise ArmillaryError(
            f"{name} begins at {time[0]:.9g} s, but its run starts at {t0:.9g} s; give Experiment(…, t0=…)"
        )
    return time


def _columns_to_fit(
    model: CompiledModel, columns: Mapping[str, object], outputs: list[str] | None, name: str
) -> list[str]:
    """Return the columns to be fitted: those in ``outputs``, or all; each must be an output of the model."""
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
    """Return the standard deviations by column, one for each row."""
    if given is None:
        return {}
    by_column = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
    found = {}
    for column, value in checked_names(by_column, columns, f"sigma: {name} has no column").items():
        what = f"sigma of '{column}' of {name}"
        spread = _finite_numbers(np.broadcast_to(value, rows) if np.ndim(value) == 0 else value, rows, what)
        if not np.all((spread > 0) & np.isfinite(spread)):
            raise ArmillaryError(f"{what} must be positive and finite")
        found[column] = spread
    if missing := [c for c in columns if c not in found]:
        raise ArmillaryError(
            f"sigma of '{missing[0]}' of {name} is not given; give it for all columns or none"
        )
    return found


# The unknowns of a fit: parameters and initial values, with starts and bounds.

Wanted = Sequence[str] | DataMapping | None


@dataclass(frozen=True)
class Unknown:
    """A number to be fitted, in stated units; an initial value may belong to a single experiment."""

    label: str
    name: str
    parameter: bool
    experiment: int | None  # index; None: shared by all experiments
    units: str
    start: float
    low: float
    high: float


def unknowns(
    model: CompiledModel, parameters: Wanted, initial: Wanted, experiments: Sequence[Measured]
) -> tuple[Unknown, ...]:
    """Return the unknowns: parameters once, initial values once per experiment."""
    found: list[Unknown] = []
    speeds = (u.data.name for u in model.equations.system.speeds)
    states = [*model.coordinate_names, *speeds, *model.state_names]
    for name, given in _starts_and_bounds(parameters, model.parameters, "parameter", states).items():
        if fixed := [m.name for m in experiments if name in map(str, m.experiment.parameters)]:
            raise ParameterError(f"'{name}' is to be fitted, but {fixed[0]} gives it a value")
        (d,) = directions(model.equations, [name])
        found.append(_unknown(model, d, name, None, given, model.parameters[name]))
    described = {s.data.name: value for s, value in model.equations.system.initial.items()}
    for name, given in _starts_and_bounds(
        initial, states, "coordinate, speed or state", model.parameters
    ).items():
        (d,) = directions(model.equations, [name])
        for i, m in enumerate(experiments):
            label = name if len(experiments) == 1 else f"{name} of {m.name}"
            own = {str(key): value for key, value in m.experiment.initial.items()}
            start = own.get(name, described[name] / d.factor)
            found.append(_unknown(model, d, label, i, given, start))
    if not found:
        raise ArmillaryError("nothing is to be fitted: name parameters=[…] or initial=[…]")
    return tuple(found)


def _starts_and_bounds(
    wanted: Wanted, known: Collection[str], what: str, others: Collection[str]
) -> DataTable:
    """Return what the user gives for each unknown, by name: a start, or a start and bounds, or None."""
    if isinstance(wanted, Mapping):
        named = {str(name): given for name, given in wanted.items()}
    else:
        listed = [wanted] if isinstance(wanted, str) else () if wanted is None else wanted
        if not isinstance(listed, Iterable):
            raise ParameterError(f"unknowns are given by name, ['k', 'c'] or {{'k': start}}, not {wanted!r}")
        names = [str(name) for name in listed]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ParameterError(f"{what} '{twice[0]}' is to be fitted twice")
        named = dict.fromkeys(names)
    for name in named:
        if name in known:
            continue
        hint = nearest(name, known)
        if name in others:
            hint = "; it is a parameter: name it in parameters=[…]"
            if what == "parameter":
                hint = "; it is a coordinate, speed or state: name it in initial=[…]"
        raise ParameterError(f"there is no {what} '{name}' to be fitted{hint}")
    return named


def _unknown(
    model: CompiledModel, d: Direction, label: str, experiment: int | None, given: object, start: object
) -> Unknown:
    where = f"'{d.name}' to be fitted"
    low, high = -math.inf, math.inf
    if isinstance(given, tuple | list):
        if len(given) != 3:
            raise ParameterError(f"{where}: give a start or (start, lowest, highest), not {given!r}")
        given, *bounds = given
        low, high = (
            limit if bound is None else _number_or_quantity(model, d, bound, f"a bound of {where}")
            for bound, limit in zip(bounds, (low, high), strict=True)
        )
    start = given if given is not None else start
    if start is None:
        raise ParameterError(f"{where} has no default to start from: give {{'{d.name}': start}}")
    value = _number_or_quantity(model, d, start, f"the start of {where}")
    if not low < high:
        raise ParameterError(f"{where}: its lowest value {low:g} is not below its highest {high:g}")
    if not low <= value <= high:
        raise ParameterError(f"{where}: its start {value:g} lies outside of its bounds, {low:g} to {high:g}")
    return Unknown(label, d.name, d.role == "parameter", experiment, d.units, value, low, high)


def _number_or_quantity(model: CompiledModel, d: Direction, value: object, where: str) -> float:
    """Return a number in stated units, converted if a quantity with units is given; infinities stay."""
    if isinstance(value, float) and math.isinf(value):
        return value
    number = plain_number(value, where, model.equations.system.units, None)
    return number / d.factor if is_quantity(value) else number


def assignments(
    found: Sequence[Unknown], x: np.ndarray, experiment: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the parameters and initial values of one experiment from the values of all unknowns."""
    own = [(u, float(v)) for u, v in zip(found, x, strict=True) if u.experiment in (None, experiment)]
    return {u.name: v for u, v in own if u.parameter}, {u.name: v for u, v in own if not u.parameter}
