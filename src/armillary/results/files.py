"""Runs as NetCDF, CSV and Parquet files, and as xarray and pandas objects.

All formats carry the same `FileContent`, samples and metadata. A name that a format does not allow is
replaced there by a label; the name itself is kept in the metadata. ERD files have a module of their own,
`erd.py`.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.algebra.tables import read_columns
from armillary.algebra.units import TIME as TIMES
from armillary.algebra.units import parse_unit
from armillary.errors import ArmillaryError, MissingExtraError, alternatives, require
from armillary.limited_files import UnreadableFileError, open_file, replacing
from armillary.results.erd import read_erd, write_erd
from armillary.results.record import (
    TIME,
    UNKNOWN,
    FileContent,
    as_json,
    distinct_labels,
    empty_metadata,
    metadata_lines,
    read_metadata,
    stack,
)
from armillary.untyped import DataTable

if TYPE_CHECKING:
    import pandas
    import xarray

# Samples per chunk of a NetCDF variable: 1 MiB, few and large, so that a column is read in a few strokes.
_CHUNK = 2**17

BATCH = "armillary_batch"  # the attribute of a NetCDF file that holds a batch

_NAMES_OF_TIME = (TIME, "t")  # in other programs


def write_record(path: str | os.PathLike[str], record: FileContent) -> None:
    """Write a file of the format that its suffix names; it replaces an older one once it is complete."""
    writer = _format(path).write
    with replacing(path) as temporary:
        writer(temporary, record)


def read_record(path: str | os.PathLike[str]) -> FileContent:
    """Return the record in a file that `write_record` made."""
    reader = _format(path).read
    require_readable(path)
    try:
        return reader(Path(path))
    except MissingExtraError:
        raise
    except Exception as error:  # many libraries, each with its own errors for damaged bytes
        raise ArmillaryError(f"'{path}' is not a run saved by Armillary, or is damaged: {error}") from error


def require_readable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file is missing or may not be read."""
    try:
        with open_file(Path(path)):
            pass  # a missing or forbidden file gives the same error in every format
    except UnreadableFileError as error:
        raise ArmillaryError(f"cannot load '{path}': {error}") from None


def to_xarray(record: FileContent) -> xarray.Dataset:
    """Return a dataset with one variable per output over `time`, its units and description as attributes.

    Variables have the outputs' names, as far as NetCDF allows: '/' and control characters become '_'.
    """
    xr = require("xarray", extra="data", purpose="Labelled datasets")
    index = netcdf_label(record.over)
    labels = distinct_labels(map(netcdf_label, record.names), taken=(index,))
    units, descriptions = record.metadata["units"], record.metadata["descriptions"]
    variables = {}
    for column, (label, name) in enumerate(zip(labels, record.names, strict=True)):
        attributes = {"long_name": descriptions.get(name, name), "units": units.get(name, "")}
        # HDF5 texts end at a zero byte; the exact text is in the metadata.
        attributes = {key: text.replace("\0", "") for key, text in attributes.items()}
        variables[label] = (index, record.values[:, column], attributes)
    own = {"long_name": record.over, "units": "s" if record.over == TIME else units.get(record.over, "")}
    # Attributes are JSON: NetCDF attributes cannot nest, nor distinguish an integer from an array of one.
    outer = {key: as_json(value) for key, value in record.metadata.items()}
    outer["names"] = as_json(dict(zip(labels, record.names, strict=True)))
    if record.over != TIME:
        outer["index"] = as_json({index: record.over})
    found: xarray.Dataset = xr.Dataset(variables, coords={index: (index, record.time, own)}, attrs=outer)
    return found


def to_pandas(record: FileContent) -> pandas.DataFrame:
    """Return a table with one column per output, indexed by time."""
    pd = require("pandas", extra="data", purpose="Tables")
    index = pd.Index(record.time, name=record.over)
    return pd.DataFrame(record.values, index=index, columns=list(record.names))


# ---------------------------------------------------------------------------------------------------- NetCDF


def _write_netcdf(path: Path, record: FileContent) -> None:
    """Write a NetCDF file, made in memory first: on a full disk HDF5 prints pages, and crashes at exit."""
    require_netcdf()
    h5netcdf = require("h5netcdf", extra="data", purpose="NetCDF files")
    dataset = to_xarray(record)
    samples = record.time.size
    packed: DataTable = {}
    if samples:
        packed = {
            "compression": "gzip",
            "compression_opts": 4,
            "shuffle": True,
            "chunks": (min(samples, _CHUNK),),
        }
    image = io.BytesIO()
    with h5netcdf.File(image, "w") as file:
        file.dimensions = dict.fromkeys(dataset.dims, samples)
        for label, variable in dataset.variables.items():
            made = file.create_variable(label, variable.dims, float, **packed)
            made[...] = variable.to_numpy()
            made.attrs.update(variable.attrs)
        file.attrs.update(dataset.attrs)
    # No getbuffer(): if writing fails, the traceback keeps a view of the buffer, which crashes Python 3.12.1.
    path.write_bytes(image.getvalue())


def _read_netcdf(path: Path) -> FileContent:
    require_netcdf()
    with open_netcdf(path) as dataset:
        if BATCH in dataset.attrs:
            raise ValueError("it holds a batch, which load_batch reads")
        metadata = {key: json.loads(value) for key, value in dataset.attrs.items()}
        names = metadata.pop("names")
        ((label, index),) = metadata.pop("index", {TIME: TIME}).items()
        time = dataset[label].to_numpy()
        columns = [dataset[label].to_numpy() for label in names]
    return FileContent(tuple(names.values()), time, stack(columns, time), metadata, index)


@contextmanager
def open_netcdf(path: Path) -> Iterator[xarray.Dataset]:
    """A dataset in a NetCDF file, undecoded: an output in "hours" is a number, not a timedelta."""
    xr, h5py = (require(name, extra="data", purpose="NetCDF files") for name in ("xarray", "h5py"))
    # h5netcdf reads this attribute first; if that fails, what it leaves behind prints a traceback when it is
    # collected.
    with h5py.File(path, "r") as file:
        file.attrs.get("_nc3_strict")
    with xr.open_dataset(path, engine="h5netcdf", decode_cf=False) as dataset:
        yield dataset


def require_netcdf() -> None:
    for module in ("xarray", "h5netcdf", "h5py"):  # h5netcdf leaves the choice of its HDF5 library open
        require(module, extra="data", purpose="NetCDF files")


def netcdf_label(name: str) -> str:
    """Return a legal NetCDF name, as close to `name` as possible.

    Rules of the NetCDF user's guide, "Permitted characters in names": normalised, no '/', no control
    characters, first a letter, a digit, '_' or beyond ASCII, no space at the end.
    """
    label = unicodedata.normalize("NFC", name)
    label = re.sub(r"[\x00-\x1f\x7f/]|^[\x20-\x7f](?<![0-9A-Za-z_])| \Z", "_", label)
    return label or "_"


# --------------------------------------------------------------------------------------------------- Parquet


def _write_parquet(path: Path, record: FileContent) -> None:
    pa = require("pyarrow", extra="data", purpose="Parquet files")
    parquet = require("pyarrow.parquet", extra="data", purpose="Parquet files")
    columns = [pa.array(column) for column in (record.time, *record.values.T)]
    metadata = {"armillary": as_json(record.metadata | {"names": record.names})}
    labels = [record.over, *distinct_labels(record.names, taken=(record.over,))]
    table = pa.Table.from_arrays(columns, names=labels, metadata=metadata)
    # A dictionary of distinct values is of no use for samples of a motion.
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)


def _read_parquet(path: Path) -> FileContent:
    parquet = require("pyarrow.parquet", extra="data", purpose="Parquet files")
    with path.open("rb") as file:
        table = parquet.read_table(file)
    metadata = json.loads((table.schema.metadata or {})[b"armillary"])
    time, *columns = (column.to_numpy() for column in table.columns)
    names = tuple(metadata.pop("names"))
    return FileContent(names, time, stack(columns, time), metadata, table.column_names[0])


# ------------------------------------------------------------------------------------------------------- CSV
# Comment lines, the names, the samples:
#
#     # system: "pendulum"
#     # units "A.q1": "rad"
#     # events "impact": 0.25
#     # samples: 2
#     time,A.q1
#     0.0,1.5
#     0.5,0.1
#
# A table without comment lines is another program's, such as those that Armillary exports: units are in its
# headings or unknown, and time is its first column.


def _write_csv(path: Path, record: FileContent) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in metadata_lines(record.metadata))
        file.write(f"# samples: {record.time.size}\n")
        file.write(",".join(map(_csv_cell, [record.over, *record.names])) + "\n")
        for time, row in zip(record.time.tolist(), record.values, strict=True):
            file.write(",".join(map(repr, [time, *row.tolist()])) + "\n")


def _read_csv(path: Path) -> FileContent:
    metadata = empty_metadata()
    with path.open(encoding="utf-8-sig", newline="") as file:
        while (line := file.readline()).startswith("# ") and read_metadata(metadata, line[2:]):
            pass
        first, *names = next(csv.reader(itertools.chain([line], file)))
        if metadata == empty_metadata():
            return _foreign_table(path)
        shape = metadata.pop("samples"), len(names) + 1
        table = np.loadtxt(file, delimiter=",", comments=None, ndmin=2) if shape[0] else np.empty(shape)
    if table.shape != shape:
        raise ValueError(f"rows and columns of samples are {table.shape}, expected {shape}")
    return FileContent(tuple(names), table[:, 0], table[:, 1:], metadata, first)


def _foreign_table(path: Path) -> FileContent:
    found = read_columns(path, finite=False)
    (first, *names), (clock, *units) = found.headings, found.units
    unit = parse_unit(clock or "s")
    if first.casefold() not in _NAMES_OF_TIME or unit.dimension != TIMES:
        column = f"'{first}' in {clock}" if clock else f"'{first}'"
        raise ValueError(f"it has no comment lines of ours, and its first column is {column} instead of time")
    own = {"armillary_run": 1, "system": path.stem}
    own["units"] = {name: there or UNKNOWN for name, there in zip(names, units, strict=True)}
    return FileContent(
        tuple(names), found.values[:, 0] * unit.scale, found.values[:, 1:], empty_metadata() | own
    )


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\s]|^$', text) else text


# ---------------------------------------------------------------------------------------------------- common


class _Format(NamedTuple):
    write: Callable[[Path, FileContent], None]
    read: Callable[[Path], FileContent]


FORMATS = {
    ".nc": _Format(_write_netcdf, _read_netcdf),
    ".csv": _Format(_write_csv, _read_csv),
    ".parquet": _Format(_write_parquet, _read_parquet),
    ".erd": _Format(write_erd, read_erd),
}


def _format(path: str | os.PathLike[str]) -> _Format:
    suffix = file_path(path, "the file of a run").suffix.lower()
    if suffix not in FORMATS:
        raise ArmillaryError(f"'{path}' has no known format: use a name that ends in {alternatives(FORMATS)}")
    return FORMATS[suffix]
