"""The results of many runs: metrics, histories, and how each run ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import NamedTable, file_path, index_of_name, unsigned_zeros
from armillary.ensembles.engines.engine import Outcome
from armillary.ensembles.metrics import Histogram, Metric, read_metric
from armillary.ensembles.plan import EVENT, FINISHED, NOT_RUN, STATUS, Plan
from armillary.errors import ArmillaryError, MissingExtraError, nearest, require
from armillary.limited_files import replacing
from armillary.results.files import BATCH, netcdf_label, open_netcdf, require_netcdf, require_readable
from armillary.results.record import as_json, distinct_labels
from armillary.results.run import PickledValue
from armillary.text_tables import aligned, counted, html_table, html_text
from armillary.untyped import DataMapping, DataTable, Given
from armillary.version import VERSION

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from armillary.results.plots.motion import Drawable, MotionPicture, MotionView


# A batch as a NetCDF file: its xarray dataset, and further data of the batch.

_VERSION = 1
_OWN = ("run", "time", "status", "t_stop")  # columns of every dataset and table of runs


def labels_of(**groups: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return, for each group, the label of each of its names: what it is called in a dataset or table.

    A name that is also a column of every batch, or in an earlier group, gets the group's name as a prefix:
    "varied load.q1".
    """
    wished: list[str] = []
    for word, names in groups.items():
        before = {*_OWN, *wished}
        wished += [f"{word} {name}" if name in before else name for name in names]
    labels = iter(distinct_labels(wished, taken=_OWN))
    return {word: {name: next(labels) for name in names} for word, names in groups.items()}


def write_batch(batch: Batch, path: Path) -> None:
    """Write a NetCDF file for `load_batch`; labels replace names that NetCDF does not allow."""
    require_netcdf()
    data = batch.to_xarray()
    parts = {
        "ended_by": (("run",), batch.ended_by.astype(str) if np.any(batch.ended_by != "") else np.empty(0)),
        "final_state": (("run", "state"), batch.final_state),
        "final_memory": (("run", "memory place"), batch.final_memory),
    }
    data = data.assign({f"batch {name}": part for name, part in parts.items() if part[1].size})
    if batch.time.size:
        data = data.assign_coords(time=("time", batch.time, {"units": "s"}))
    names = [str(name) for name in data.variables]
    labels = dict(zip(names, distinct_labels(map(netcdf_label, names), taken=()), strict=True))
    data = data.rename({name: label for name, label in labels.items() if name != label})
    about = {
        "version": _VERSION,
        "system": batch.system,
        "runs": batch.runs,
        **{group: list(getattr(batch, group)) for group in ("histories", "parameters", "initial", "memory")},
        "metrics": {name: str(metric) for name, metric in batch.definitions.items()},
        "units": dict(batch.units),
        "messages": {str(number): text for number, text in batch.messages.items()},
        "info": {name: x for name, x in batch.info.items() if isinstance(x, str | int | float)},
        "labels": labels,
    }
    spaced = [name for name in data.coords if " " in str(name) and name not in data.dims]
    data = data.reset_coords(spaced)  # NetCDF stores names of coordinates as one text, separated by spaces
    data.attrs[BATCH] = as_json(about)
    data.to_netcdf(path, engine="h5netcdf")


def read_batch(path: str | os.PathLike[str]) -> DataTable:
    """Return the fields of the batch in a file that `write_batch` made."""
    target = file_path(path, "the file of a batch")
    if target.suffix.lower() != ".nc":
        raise ArmillaryError(
            f"a batch is read from the .nc file that Batch.save wrote, not from '{path}'; pandas reads tables"
        )
    require_readable(target)
    require_netcdf()
    try:
        with open_netcdf(target) as data:
            if BATCH not in data.attrs:
                raise ValueError("it has no table of a batch; load_run reads runs")
            about = json.loads(data.attrs[BATCH])
            if about["version"] != _VERSION:
                raise ValueError(f"it has format {about['version']}, and this Armillary reads {_VERSION}")
            stored = {name: data[label].to_numpy() for name, label in about["labels"].items()}
        return _stored_fields(about, stored)
    except MissingExtraError:
        raise
    except Exception as error:  # several libraries raise their own errors for damaged files
        raise ArmillaryError(f"'{path}' is not a batch saved by Armillary, or is damaged: {error}") from error


def _stored_fields(about: DataTable, stored: dict[str, np.ndarray]) -> DataTable:
    runs = about["runs"]
    varying = [*about["parameters"], *about["initial"], *about["memory"]]
    labels = labels_of(history=about["histories"], metric=about["metrics"], varied=varying)

    def varied_columns(group: str) -> dict[str, np.ndarray]:
        return {name: stored[labels["varied"][name]] for name in about[group]}

    return dict(
        system=about["system"],
        runs=runs,
        time=stored.get("time", np.empty(0)),
        metrics={name: stored[name] for name in about["metrics"]},
        histories={name: stored[label] for name, label in labels["history"].items()},
        status=stored["status"].astype(str),
        ended_by=stored.get("batch ended_by", np.full(runs, "")).astype(str),
        t_stop=stored["t_stop"],
        final_state=stored.get("batch final_state", np.empty((runs, 0))),
        final_memory=stored.get("batch final_memory", np.empty((runs, 0))),
        parameters=varied_columns("parameters"),
        initial=varied_columns("initial"),
        memory=varied_columns("memory"),
        units=about["units"],
        definitions={name: read_metric(text) for name, text in about["metrics"].items()},
        messages={int(number): text for number, text in about["messages"].items()},
        info=about["info"],
    )


_SHOWN = 6
_TABLES = {
    "metrics": "metric",
    "histories": "history of an output",
    "parameters": "varied parameter",
    "initial": "varied initial value",
    "memory": "varied memory",
}
_HEAD, _SIDES = ["", "lowest", "median", "highest", "", ""], "<>>><<"


@dataclass(frozen=True, eq=False, repr=False)
class Batch(PickledValue):
    """The results of the runs of a batch.

        batch["peak"]              a metric, one number per run
        batch["tip height"]        histories, a row per run, at ``batch.time``
        batch.status, batch.failed how runs ended, and the indices of failed runs
        batch.ended_by             the event that ended a run
        batch.to_xarray(), batch.to_pandas(), batch.save("batch.nc")    (load_batch("batch.nc") reads it)
        batch.histogram("peak"), batch.scatter(), batch.fan("tip height")

    Metrics and later samples of failed runs are NaN. After an event that ended a run, samples are NaN;
    metrics cover the motion up to the event.
    """

    _of_process = ("picture",)

    system: str
    runs: int
    time: np.ndarray
    metrics: Mapping[str, np.ndarray]
    histories: Mapping[str, np.ndarray]
    status: np.ndarray  # of texts
    ended_by: np.ndarray  # the event that ended each run; "" for none
    t_stop: np.ndarray
    final_state: np.ndarray  # (runs, states), in the model's own units
    final_memory: np.ndarray
    parameters: Mapping[str, np.ndarray]  # values that differ between runs, in stated units
    initial: Mapping[str, np.ndarray]
    memory: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    definitions: Mapping[str, Metric]
    messages: Mapping[int, str]
    info: DataMapping
    picture: MotionPicture | None = None  # for views of motions; not saved

    def __post_init__(self) -> None:
        for held, kind in _TABLES.items():
            object.__setattr__(self, held, NamedTable(kind, getattr(self, held)))

    def __getitem__(self, name: str) -> np.ndarray:
        held = {**self.varied, **self.histories, **self.metrics}
        index_of_name(name, list(held), f"the batch of '{self.system}' has no")
        return held[name]

    def __contains__(self, name: object) -> bool:
        return any(name in g for g in (self.metrics, self.histories, self.varied))

    def __iter__(self) -> Iterator[str]:
        return iter([*self.metrics, *self.histories])

    def __len__(self) -> int:
        return self.runs

    @property
    def varied(self) -> dict[str, np.ndarray]:
        """The values that differ between the runs: parameters, initial values and memory."""
        return {**self.parameters, **self.initial, **self.memory}

    @property
    def failed(self) -> np.ndarray:
        """The indices of the runs that did not reach an end: they diverged, needed too small or too many
        steps, or were not made.
        """
        return np.flatnonzero((self.status != STATUS[FINISHED]) & (self.status != STATUS[EVENT]))

    def check(self) -> Batch:
        """Return this batch; raise an error if runs failed."""
        failed = self.failed
        if failed.size:
            shown = "; ".join(self._story(int(i)) for i in failed[:3])
            raise ArmillaryError(f"{failed.size} of {self.runs} runs of '{self.system}' failed: {shown}")
        return self

    def _story(self, i: int) -> str:
        return f"run {i}: {self.messages.get(i) or f'{self.status[i]} at t = {self.t_stop[i]:.6g} s'}"

    # ------------------------------------------------------------ other forms

    def to_xarray(self) -> xarray.Dataset:
        """Return all data as an xarray dataset over ``run`` and ``time``."""
        xr = require("xarray", extra="data", purpose="Labelled datasets")
        variables: DataTable = {}
        labels = labels_of(history=self.histories, metric=self.metrics, varied=self.varied)
        for name, values in self.histories.items():
            variables[labels["history"][name]] = (
                ("run", "time"),
                values,
                {"units": self.units.get(name, "")},
            )
        coordinates: DataTable = {"run": np.arange(self.runs)}
        if self.histories:
            coordinates["time"] = ("time", self.time, {"units": "s"})
        for name, values in self.metrics.items():
            metric = self.definitions[name]
            notes = {"units": self.units.get(name, ""), "metric": str(metric)}
            if isinstance(metric, Histogram):
                variables[name] = (("run", f"{name} bin"), values, notes)
                middle = (metric.edges[1:] + metric.edges[:-1]) / 2
                coordinates[f"{name} bin"] = (
                    f"{name} bin",
                    middle,
                    {"units": self.units.get(metric.output, "")},
                )
            else:
                variables[name] = (("run",), values, notes)
        for name, values in self.varied.items():
            coordinates[labels["varied"][name]] = ("run", values, {"units": self.units.get(name, "")})
        variables["status"] = (("run",), self.status.astype(str))
        variables["t_stop"] = (("run",), self.t_stop, {"units": "s"})
        plain = {key: value for key, value in self.info.items() if isinstance(value, str | int | float)}
        found: xarray.Dataset = xr.Dataset(
            variables, coordinates, {"system": self.system, "armillary": VERSION, **plain}
        )
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row per run: varied values, metrics and status, without histograms and
        histories.
        """
        pd = require("pandas", extra="data", purpose="Tables")
        flat = {name: values for name, values in self.metrics.items() if values.ndim == 1}
        labels = labels_of(metric=flat, varied=self.varied)["varied"]
        varied = {labels[name]: values for name, values in self.varied.items()}
        columns = {**varied, **flat, "status": self.status, "t_stop": self.t_stop}
        table = pd.DataFrame(columns, index=pd.RangeIndex(self.runs, name="run"))
        named = {**{name: name for name in flat}, **{label: name for name, label in labels.items()}}
        units = {label: self.units.get(named[label], "") for label in columns if label in named}
        table.attrs["units"] = units | {"t_stop": "s"}
        return table

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file of the batch: NetCDF (.nc), which `load_batch` reads, or a table (.csv, .parquet)."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in (".nc", ".csv", ".parquet"):
            raise ArmillaryError(f"'{target.name}': a batch is saved as .nc, .csv or .parquet")
        with replacing(target) as temporary:
            if kind == ".nc":
                write_batch(self, temporary)
            elif kind == ".csv":
                self.to_pandas().to_csv(temporary)
            else:
                require("pyarrow", extra="data", purpose="Parquet files")
                self.to_pandas().to_parquet(temporary)
        return target

    # ------------------------------------------------------------ pictures

    def fan(self, output: str, **options: Given) -> Figure:
        """Draw the distribution of an output over time: median, bands of runs, some single runs.

        ``options``: ``bands=(0.5, 0.9)``, ``singles=5``, ``title``, ``path`` of a file to save it.
        """
        from armillary.results.plots import distributions

        if not isinstance(output, str) or output not in self.histories:
            hint = nearest(output, self.histories) or "; pass it in outputs="
            raise ArmillaryError(f"the batch of '{self.system}' has no history of '{output}'{hint}")
        return distributions.fan(
            self.time, self.histories[output], name=output, units=self.units.get(output, ""), **options
        )

    def view(
        self,
        *,
        colour: str | None = None,
        title: str = "",
        model: Drawable | None = None,
        view: str = "oblique",
        theme: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> MotionView | Path:
        """Show all runs at once in the browser or a notebook, or write an .html file (``path``).

        ``colour``, a metric or a value that differs between runs, gives each run its colour. The histories of
        all coordinates must be kept (``outputs=``). A batch from a file needs ``model``.
        """
        from armillary.results.plots.motion import PictureOptions, picture_of, show_page, write_html

        shown = picture_of(self.picture, model, f"this batch of '{self.system}'")
        page = shown.cloud(self, colour, title, PictureOptions(view, theme=theme))
        return show_page(page) if path is None else write_html(page, path)

    def histogram(self, name: str, **options: Given) -> Figure:
        """Draw the histogram of a metric; ``options``: ``bins``, ``title``, ``path``."""
        from armillary.results.plots import distributions

        return distributions.histogram(
            self._single(name), name=name, units=self.units.get(name, ""), **options
        )

    def scatter(self, *names: str, **options: Given) -> Figure:
        """Draw metrics over varied values: the named ones, or all; ``options``: ``title``, ``path``."""
        from armillary.results.plots import distributions

        shown = {name: self._single(name) for name in names}
        flat = {name: values for name, values in self.metrics.items() if values.ndim == 1}
        groups = [
            {name: values for name, values in group.items() if name in shown} or group
            for group in (self.varied, flat)
        ]
        return distributions.scatter(*groups, units=self.units, **options)

    def _single(self, name: str) -> np.ndarray:
        """Return a quantity; raise an error unless it has one number per run."""
        values = self[name]
        if values.ndim > 1:
            raise ArmillaryError(f"'{name}' has more than one number per run")
        return values

    def __repr__(self) -> str:
        head, *facts = self._facts()
        table = aligned([_HEAD, *self._rows()], _SIDES) if self.metrics else []
        return "\n".join([head, *(f"  {line.rstrip()}" for line in [*facts, *table])])

    def _repr_html_(self) -> str:
        facts = "".join(f"<p>{html_text(fact)}</p>" for fact in self._facts())
        return facts + html_table(_HEAD, self._rows(), _SIDES)

    def _facts(self) -> list[str]:
        """Return a description of the batch, as short texts."""
        facts = [f"Batch of {counted(self.runs, 'run')} of '{self.system}'"]
        made = self.runs - np.count_nonzero(self.status == STATUS[NOT_RUN])
        if made < self.runs:
            facts.append(f"interrupted: {counted(int(made), 'run')} made")
        failed = self.failed[self.status[self.failed] != STATUS[NOT_RUN]]
        if failed.size:
            facts.append(f"{failed.size} failed: {'; '.join(self._story(int(i)) for i in failed[:3])}")
        if self.histories:
            names = ", ".join(list(self.histories)[:_SHOWN])
            more = f" and {len(self.histories) - _SHOWN} others" if len(self.histories) > _SHOWN else ""
            facts.append(f"{counted(len(self.time), 'sample')} of {names}{more}")
        return facts

    def _rows(self) -> list[list[str]]:
        """Return a row per metric: name, three of its values, units, description."""
        return [
            [
                name,
                *_range_texts(values),
                self.units.get(name, ""),
                f"{self.definitions[name]}{_missing_note(values)}",
            ]
            for name, values in list(self.metrics.items())[:_SHOWN]
        ]


def load_batch(path: str | os.PathLike[str]) -> Batch:
    """Return the batch in a .nc file that `Batch.save` wrote; its tables (.csv, .parquet) are not read."""
    return Batch(**read_batch(path))


def _range_texts(values: np.ndarray) -> list[str]:
    """Return the lowest, median and highest of the finite numbers, as texts."""
    if values.ndim > 1:
        return ["", f"{values.shape[1]} bins", ""]
    known = values[np.isfinite(values)]
    if not known.size:
        return ["", "none", ""]
    return [f"{x:.4g}" for x in (np.min(known), np.median(known), np.max(known))]


def _missing_note(values: np.ndarray) -> str:
    without = np.count_nonzero(~np.isfinite(values)) if values.ndim == 1 else 0
    return f"; not finite in {counted(int(without), 'run')}" if without else ""


def _words(words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
    """Return a word for each number; if all are equal, the word is stored once."""
    if numbers.size and np.all(numbers == numbers[0]):
        return np.broadcast_to(np.array(words[numbers[0]]), numbers.shape)
    found: np.ndarray = np.array(words)[numbers]
    return found


def batch_of(plan: Plan, outcome: Outcome, info: Mapping[str, object]) -> Batch:
    """Return the results for users: metrics, units, names of statuses and events."""
    model, columns = plan.model, {c.name: c for c in plan.model.equations.targets.columns}
    good = (outcome.status == FINISHED) | (outcome.status == EVENT)
    all_good = bool(good.all())
    metrics: dict[str, np.ndarray] = {}
    units = {name: columns[name].units for name in plan.columns}
    for entry, at in zip(plan.metrics, plan.slot_places(), strict=True):
        slots = outcome.slots[at : at + len(entry.metric.start)]
        values = np.array(entry.metric.value(slots, plan.first_measured), dtype=float)
        if not all_good:
            values[~good] = np.nan
        metrics[entry.name] = unsigned_zeros(values)
        units[entry.name] = entry.metric.units(units[entry.metric.output])
    given = plan.starts.differing_values()
    units |= {name: model.equations.parameter_units.get(name, "") for name in given["parameters"]}
    units |= {name: columns[name].units for name in given["initial"] if name in columns}
    memories = model.equations.system.memories
    units |= {name: memories[name].symbol.data.units or "" for name in given["memory"]}
    return Batch(
        system=model.equations.system.name,
        runs=plan.runs,
        time=plan.samples,
        metrics=metrics,
        histories={
            plan.columns[column]: unsigned_zeros(outcome.rows[:, place]).T
            for place, column in enumerate(plan.history)
        },
        status=_words(STATUS, outcome.status),
        ended_by=_words([*(e.name for e in model.equations.targets.watched), ""], outcome.event),
        t_stop=outcome.t_stop,
        final_state=outcome.state.T,
        final_memory=outcome.memory.T,
        parameters=given["parameters"],
        initial=given["initial"],
        memory=given["memory"],
        units=units,
        definitions={entry.name: entry.metric for entry in plan.metrics},
        messages=outcome.messages,
        picture=model.picture,
        info={"method": plan.method.name, **({"step": step} if (step := plan.settings.step) else {}), **info},
    )
