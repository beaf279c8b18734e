"""A batch as a NetCDF file: its xarray dataset, and beside that what a dataset has no place for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError, MissingExtraError, require
from armillary.results.files import BATCH, netcdf_label, require_netcdf, require_readable
from armillary.results.record import as_json, distinct_labels
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.ensembles.result import Batch

_VERSION = 1
_OWN = ("run", "time", "status", "t_stop")  # columns of every dataset and table of runs


def labels_of(**groups: Iterable[str]) -> dict[str, dict[str, str]]:
    """Names in a dataset or table, by group and by name in the batch: a name that is taken, by a column of
    every batch or in an earlier group, stands after the group's word, as in "varied load.q1".
    """
    wished: list[str] = []
    for word, names in groups.items():
        before = {*_OWN, *wished}
        wished += [f"{word} {name}" if name in before else name for name in names]
    labels = iter(distinct_labels(wished, taken=_OWN))
    return {word: {name: next(labels) for name in names} for word, names in groups.items()}


def write_batch(batch: Batch, path: Path) -> None:
    """A NetCDF file that `load_batch` reads. Names that NetCDF does not allow are replaced by labels."""
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
    data = data.reset_coords(spaced)  # NetCDF lists coordinates with spaces between them
    data.attrs[BATCH] = as_json(about)
    data.to_netcdf(path, engine="h5netcdf")


def read_batch(path: str | os.PathLike[str]) -> DataTable:
    """The fields of the batch in a file that `write_batch` made."""
    target = file_path(path, "the file of a batch")
    if target.suffix.lower() != ".nc":
        raise ArmillaryError(
            f"a batch is read from the .nc file that Batch.save wrote, not from '{path}'; pandas reads tables"
        )
    require_readable(target)
    require_netcdf()
    xr = require("xarray", extra="data", purpose="NetCDF files")
    try:
        with xr.open_dataset(target, engine="h5netcdf", decode_cf=False) as data:
            if BATCH not in data.attrs:
                raise ValueError("it has no such table; load_run reads runs")
            about = json.loads(data.attrs[BATCH])
            if about["version"] != _VERSION:
                raise ValueError(f"it has format {about['version']}, and this Armillary reads {_VERSION}")
            stored = {name: data[label].to_numpy() for name, label in about["labels"].items()}
        return _fields(about, stored)
    except MissingExtraError:
        raise
    except Exception as error:  # many libraries, each with its own errors for damaged bytes
        raise ArmillaryError(f"'{path}' is not a batch saved by Armillary, or is damaged: {error}") from error


def _fields(about: DataTable, stored: dict[str, np.ndarray]) -> DataTable:
    runs = about["runs"]
    varying = [*about["parameters"], *about["initial"], *about["memory"]]
    labels = labels_of(history=about["histories"], metric=about["metrics"], varied=varying)

    def varied(group: str) -> dict[str, np.ndarray]:
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
        parameters=varied("parameters"),
        initial=varied("initial"),
        memory=varied("memory"),
        units=about["units"],
        definitions={name: read_metric(text) for name, text in about["metrics"].items()},
        messages={int(number): text for number, text in about["messages"].items()},
        info=about["info"],
    )
