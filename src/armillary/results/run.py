"""Runs: samples of every output of one simulation, with the values from which the run was made.

A pickle has the data of a run, without the objects of the process that made it. Damaged files are refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from armillary.algebra import arguments
from armillary.errors import ArmillaryError
from armillary.results.compare import (
    ComparedColumns,
    Comparison,
    Tolerance,
    Tolerances,
    largest_differences,
    pair_columns,
)
from armillary.results.files import read_record, to_pandas, to_xarray, write_record
from armillary.results.plots.run_plot import plot
from armillary.results.record import UNKNOWN, FileContent, conversion, label_units
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armillary.results.plots.motion import Drawable, MotionPicture, MotionView
    from armillary.results.spectra import PowerSpectrum


class PickledValue:
    """A frozen dataclass that is pickled, and copied between processes, as plain data.

    Read-only mappings and arrays are read-only in the copy too. Fields named in ``_of_process`` (code,
    equations) are None in the copy, as after loading a saved file.
    """

    _of_process: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[object, ...]:
        # mypy: all subclasses are dataclasses.
        held = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self._of_process}  # type: ignore[arg-type]
        read_only = tuple(n for n, x in held.items() if _is_read_only(x))
        plain = {n: x.copy() if isinstance(x, MappingProxyType) else x for n, x in held.items()}
        return _made_again, (type(self), plain | dict.fromkeys(self._of_process), read_only)

    def __copy__(self) -> Self:
        return self


def _is_read_only(value: object) -> bool:
    return isinstance(value, MappingProxyType) or (
        isinstance(value, np.ndarray) and not value.flags.writeable
    )


def _made_again(kind: type, held: DataTable, read_only: tuple[str, ...] = ()) -> object:
    made: object = object.__new__(kind)
    for name, value in held.items():
        if name in read_only and isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif name in read_only:
            value = MappingProxyType(value)
        object.__setattr__(made, name, value)
    return made


Info: TypeAlias = str | int | float

FILE_VERSION = 1
_SHOWN = 8  # outputs listed in a summary: the last ones, since requested outputs follow the states
_NAMED = 3  # other outputs that a summary names


class Event(NamedTuple):
    """Something that happened between two samples."""

    time: float
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The immutable record of one simulation.

    `values[i, j]` is output `names[j]` at `time[i]`, in `units[names[j]]`; time is in seconds. The run keeps
    the given arrays without a copy, and shows them read-only. `outputs` are the names that were requested, in
    the model or by selection; the other names are states. `info` states how the run was made: versions,
    method, step, status, date.

        run["tip height"]       samples of an output
        run.final["A.q1"]       its last value
        run.save("run.nc")      and load_run("run.nc")
    """

    system: str
    time: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    parameter_units: Mapping[str, str] = field(default_factory=dict)
    info: Mapping[str, Info] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    outputs: tuple[str, ...] = ()
    picture: MotionPicture | None = None  # draws the motion; not compared, and not saved in files
    _column: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(self.names)
        parameters = {name: float(value) for name, value in self.parameters.items()}
        made: DataTable = {
            "time": _read_only(arguments.unsigned_zeros(self.time)),
            "values": _read_only(arguments.unsigned_zeros(self.values)),
            "names": names,
            "units": _named_table("output", {name: self.units.get(name, "") for name in names}),
            "descriptions": _named_table("output", {name: self.descriptions.get(name, "") for name in names}),
            "parameters": _named_table("parameter", parameters),
            "parameter_units": _named_table(
                "parameter", {n: self.parameter_units.get(n, "") for n in parameters}
            ),
            "info": _freeze_mapping({key: _plain_value(key, value) for key, value in self.info.items()}),
            "events": tuple(Event(float(time), name) for time, name in self.events),
            "_column": _freeze_mapping({name: column for column, name in enumerate(names)}),
        }
        made["outputs"] = tuple(name for name in self.outputs if name in made["_column"])
        for attribute, value in made.items():
            object.__setattr__(self, attribute, value)
        if len(self._column) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArmillaryError(f"run of '{self.system}': two outputs are called '{twice}'")
        if self.time.ndim != 1 or self.values.shape != (self.time.size, len(names)):
            raise ArmillaryError(
                f"run of '{self.system}': values of shape {self.values.shape} do not fit "
                f"times of shape {self.time.shape} and {len(names)} names"
            )

    def filled(
        self, time: np.ndarray, values: np.ndarray, info: dict[str, Info], events: Sequence[tuple[float, str]]
    ) -> Run:
        """Return a run with these rows and the other data of this run; a model makes its runs from a run
        without rows.

        The new run keeps ``info``, which must have plain values, and the arrays without copies. ``values``
        must fit the names. The caller removes negative zeros from ``values``, and from ``time`` if the array
        is read-only because other runs share it.
        """
        made: Run = object.__new__(type(self))
        made.__dict__.update(
            self.__dict__,
            time=_given_away(time),
            values=_lock_array(values),
            info=_freeze_mapping(info),
            events=tuple([Event(*event) for event in events]) if events else (),
        )
        return made

    def __getitem__(self, name: str) -> np.ndarray:
        """The samples of one output: a view that cannot be written to."""
        if not isinstance(name, str) or name not in self._column:
            arguments.index_of_name(name, self.names, f"run of '{self.system}' has no output")
        return self.values[:, self._column[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._column

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        """The number of samples."""
        return self.time.size

    def __eq__(self, other: object) -> bool:
        """Equal samples (NaN equals NaN) and equal metadata."""
        if not isinstance(other, Run):
            return NotImplemented
        return (
            self.names == other.names
            and self._fingerprint() == other._fingerprint()
            and np.array_equal(self.time, other.time, equal_nan=True)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle plain data, because a read-only mapping cannot be pickled."""
        return run_from_record, (self._record(),)

    def __repr__(self) -> str:
        return _summarize_run(self)

    def _repr_html_(self) -> str:
        """Return a table of outputs with small curves, minima and maxima, for notebooks."""
        from armillary.results.plots.run_plot import run_html

        return run_html(self)

    @property
    def initial(self) -> dict[str, float]:
        """The first value of every output."""
        return self._sample(0)

    @property
    def final(self) -> dict[str, float]:
        """The last value of every output."""
        return self._sample(-1)

    def select(self, *patterns: str) -> tuple[str, ...]:
        """Return the names of outputs by name or pattern (`A.*`), in the order requested; without a pattern
        all.
        """
        chosen: dict[str, None] = {}
        for pattern in patterns:
            arguments.text(pattern, "the name of an output")
            found = [pattern] if pattern in self else [n for n in self.names if fnmatchcase(n, pattern)]
            if not found:
                self[pattern]  # an error with the names that exist
            chosen |= dict.fromkeys(found)
        return tuple(chosen) if patterns else self.names

    def interpolate(self, times: ArrayLike, name: str) -> np.ndarray:
        """Return an output at other times, on straight lines between the samples.

        The error is of second order in the sampling step; sample more finely if that is not enough.
        """
        column, at = self[name], arguments.reals(times, "times")
        self._require_samples()
        forward = slice(None) if self.time[-1] >= self.time[0] else slice(None, None, -1)
        time = self.time[forward]
        slack = 1e-12 * (time[-1] - time[0])  # the end of np.arange() is off by rounding
        outside = at[~((at >= time[0] - slack) & (at <= time[-1] + slack))]
        if outside.size:
            raise ArmillaryError(
                f"run of '{self.system}' covers {time[0]:.9g} to {time[-1]:.9g} s: "
                f"'{name}' at {outside.flat[0]:.9g} s is not known"
            )
        rising = column[forward]
        return np.asarray(np.interp(at, time, rising))

    def compare(
        self,
        other: Run,
        *names: str,
        rtol: float = 1e-9,
        atol: float = 1e-12,
        tolerances: Mapping[str, Tolerance] | None = None,
        interpolate: bool = True,
    ) -> Comparison:
        """Return the largest differences of the outputs that both runs have, or of the named ones (`A.*`
        names several).

        An output agrees if it differs by no more than atol + rtol times its largest magnitude. `tolerances`
        has other tolerances by name or pattern: a relative one, or (relative, absolute). Units of equal
        dimension are converted to this run's. Runs with different sample times are compared at common times;
        if neither run has all times of the other, one of them is interpolated, with a note.
        """
        arguments.instance(other, Run, "a run to compare with")
        allowed = arguments.flag(interpolate, "interpolate=")
        common = [name for name in self.select(*names) if name in other]
        if not common:
            wanted = f"of {', '.join(names)} " if names else ""
            raise ArmillaryError(
                f"the runs of '{self.system}' and '{other.system}' have no output {wanted}in common"
            )
        notes, factors = [], {}
        for name in common:
            ours, theirs = self.units[name], other.units[name]
            factors[name] = conversion(name, theirs, ours)
            if UNKNOWN not in (ours, theirs) and label_units(theirs) != label_units(ours):
                notes.append(f"'{name}' is converted from {theirs} to {ours}")
        if any((self.units[name] == UNKNOWN) != (other.units[name] == UNKNOWN) for name in common):
            notes.append("one run has no units: the units of the other run are taken for both")
        pair = pair_columns(self._ascending(common), other._ascending(common, factors), interpolate=allowed)
        if pair is None:
            raise ArmillaryError(
                f"the runs of '{self.system}' and '{other.system}' have no instant in common"
            )
        return Comparison(
            largest_differences(pair, self.units, Tolerances(rtol, atol, tolerances or {})),
            pair.time.size,
            tuple(name for name in self.select(*names) if name not in other),
            () if names else tuple(name for name in other.names if name not in self),
            _freeze_mapping({
                name: (self.parameters.get(name), other.parameters.get(name))
                for name in {**self.parameters, **other.parameters}
                if self.parameters.get(name) != other.parameters.get(name)
            }),
            (*notes, *pair.notes),
        )  # fmt: skip

    def _ascending(self, names: Sequence[str], factors: Mapping[str, float] | None = None) -> ComparedColumns:
        order = slice(None, None, -1) if len(self) > 1 and self.time[-1] < self.time[0] else slice(None)
        scaled = factors or {}
        return ComparedColumns(self.time[order], {n: self[n][order] * scaled.get(n, 1.0) for n in names})

    def psd(self, *names: str, segment: float | None = None) -> PowerSpectrum:
        """Return one-sided power spectral densities of outputs over frequencies in Hz, by Welch's method with
        Hann windows that overlap by half.

        Without a name, the outputs of the model are used, or all columns if it has none. ``segment`` is the
        length of a window in s, the whole run if left out; rows must have equal steps of time (``sample=``).
        """
        from armillary.results.spectra import run_spectrum

        return run_spectrum(self, names, segment)

    def plot(
        self,
        *names: str,
        x: str | None = None,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        ax: Axes | None = None,
        show: bool = False,
    ) -> Figure | None:
        """Return a figure of outputs, by name or pattern (`A.*`); over time, or over output `x`.

        Without a name, outputs of the model are drawn, or all if it has none. Outputs of equal units share a
        panel; values that differ by rounding only are drawn as constant. With `path` it is saved as PNG, SVG,
        PDF, or as one HTML page to zoom in, for which no figure is returned.
        """
        return plot(self, *names, x=x, path=path, title=title, ax=ax, show=show)

    def animate(
        self,
        path: str | os.PathLike[str],
        *,
        model: Drawable | None = None,
        title: str = "",
        view: str = "oblique",
        follow: str | None = None,
        paths: Sequence[str] = (),
        theme: str | None = None,
        size: tuple[int, int] = (640, 400),
        rate: float = 20.0,
        speed: float | None = None,
        time: float | None = None,
        arrows: Sequence[str] = (),
        reactions: Sequence[str] = (),
    ) -> Path:
        """Write the motion to a file and return its path: one HTML page without network (bodies, plots,
        time), a film (.gif, .webp, .mp4), or a picture (.png) of one ``time``; films and pictures need no
        browser. A scene (.glb, binary glTF 2.0) holds the bodies and their animation for other programs.

        ``view`` is "oblique", "front", "side", "top", or along "x", "y", "z"; ``follow`` keeps a body in the
        picture; ``paths`` are bodies, or points ("rod.tip"), whose paths are drawn. ``size`` is in pixels,
        ``rate`` in pictures per second, ``speed`` in seconds of the motion per second. ``arrows`` are the
        kinds that a page shows at first, of "forces", "moments", "velocities" and "weights"; ``reactions``
        are bodies, with the forces and moments of their joints. A run from a file has no model: give the
        compiled ``model``.
        """
        from armillary.results.plots.motion import PictureOptions, write_motion

        options = PictureOptions(view, follow, paths, theme, size, rate, speed, time, arrows, reactions)
        return write_motion(self, path, model, title, options)

    def view(
        self,
        *,
        model: Drawable | None = None,
        title: str = "",
        view: str = "oblique",
        follow: str | None = None,
        paths: Sequence[str] = (),
        theme: str | None = None,
        speed: float | None = None,
        arrows: Sequence[str] = (),
        reactions: Sequence[str] = (),
    ) -> MotionView:
        """Show the motion in the browser, or in a notebook; arguments are as in ``animate``."""
        from armillary.results.plots.motion import PictureOptions, show_motion

        options = PictureOptions(view, follow, paths, theme, speed=speed, arrows=arrows, reactions=reactions)
        return show_motion(self, model, title, options)

    def to_xarray(self) -> xarray.Dataset:
        """Return a dataset over time, with units, descriptions, parameters and circumstances
        as attributes.
        """
        return to_xarray(self._record())

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one column per output, indexed by time."""
        return to_pandas(self._record())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load_run` reads back to an equal run: .nc (NetCDF), .parquet, .csv or .erd.

        It is written whole or not at all; a failure leaves an older file as it was.
        """
        write_record(path, self._record())

    def _sample(self, index: int) -> dict[str, float]:
        self._require_samples()
        found = dict(zip(self.names, self.values[index].tolist(), strict=True))
        return arguments.NamedTable("output", found)

    def _require_samples(self) -> None:
        if not len(self):
            raise ArmillaryError(f"run of '{self.system}' has no samples")

    def _metadata(self) -> DataTable:
        """Return all but names and samples, as values that JSON keeps."""
        return {
            "armillary_run": FILE_VERSION,
            "system": self.system,
            "info": dict(self.info),
            "parameters": dict(self.parameters),
            "parameter_units": _nonempty(self.parameter_units),
            "units": _nonempty(self.units),
            "descriptions": _nonempty(self.descriptions),
            "events": [[event.time, event.name] for event in self.events],
            **({"outputs": list(self.outputs)} if self.outputs else {}),
        }

    def _fingerprint(self) -> str:
        """Return the metadata as a text, in which NaN equals NaN and the order of keys does not matter."""
        return json.dumps(self._metadata(), sort_keys=True)

    def _record(self) -> FileContent:
        return FileContent(self.names, self.time, self.values, self._metadata())


def run_from_record(record: FileContent) -> Run:
    rest = {key: value for key, value in record.metadata.items() if key != "armillary_run"}
    return Run(time=record.time, values=record.values, names=record.names, **rest)


def _summarize_run(run: Run) -> str:
    span = f"t = {run.time[0]:g} to {run.time[-1]:g} s" if len(run) else "empty"
    facts = [f"{len(run)} samples of {len(run.names)} outputs", span]
    facts += [str(run.info[key]) for key in ("method", "status") if key in run.info]
    facts += [f"{len(run.events)} events"] if run.events else []
    shown, hidden = run.names[-_SHOWN:], run.names[:-_SHOWN]
    width = max(map(len, shown), default=0)
    lines = [f"Run of '{run.system}': " + ", ".join(facts)]
    for name in shown:
        span = f"{run[name][0]:.6g} to {run[name][-1]:.6g}" if len(run) else ""
        lines.append(f"  {name:<{width}}  {span} {label_units(run.units[name])}".rstrip())
    if hidden:
        named = ", ".join(hidden[:_NAMED]) + (", …" if len(hidden) > _NAMED else "")
        lines.append(f"  and {len(hidden)} more: {named}")
    return "\n".join(lines)


def _read_only(array: ArrayLike) -> np.ndarray:
    view = np.asarray(array, dtype=float).view()
    view.flags.writeable = False
    return view


def _given_away(array: np.ndarray) -> np.ndarray:
    """Make an array read-only; if it was writable, remove the signs of zeros first."""
    if array.flags.writeable:
        array += 0.0
    return _lock_array(array)


def _lock_array(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _freeze_mapping(mapping: DataTable) -> DataMapping:
    return MappingProxyType(mapping)


def _named_table(kind: str, things: DataTable) -> DataMapping:
    return MappingProxyType(arguments.NamedTable(kind, things))


def _nonempty(texts: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if text}


def _plain_value(key: str, value: object) -> Info:
    """Return a value that every file format keeps."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        raise ArmillaryError(f"info '{key}' must be a text or a number, not {type(value).__name__}")
    return plain


def load_run(path: str | os.PathLike[str]) -> Run:
    """Return the run in a .nc, .parquet, .csv or .erd file, equal to the one that was saved.

    A .csv or .erd file may be another program's; a CSV table must have a header, with time first.
    """
    record = read_record(path)
    version = record.metadata.get("armillary_run")
    if version != FILE_VERSION:
        raise ArmillaryError(
            f"'{path}' has run format {version} and this Armillary reads {FILE_VERSION}: "
            "use the version that wrote it"
        )
    try:
        loaded = run_from_record(record)
        _require_texts(loaded)
    except (ValueError, TypeError, AttributeError) as error:
        raise ArmillaryError(f"'{path}' is damaged: {error}") from error
    return loaded


def _require_texts(run: Run) -> None:
    """Raise an error if an entry that must be a text is not, as in a damaged file."""
    tables = (run.units, run.descriptions, run.parameters, run.parameter_units, run.info)
    texts = [
        run.system,
        *run.names,
        *(event.name for event in run.events),
        *(key for t in tables for key in t),
        *run.outputs,
    ]
    texts += [text for table in (run.units, run.descriptions, run.parameter_units) for text in table.values()]
    for text in texts:
        if not isinstance(text, str):
            raise ArmillaryError(f"{text!r} is not a text")
