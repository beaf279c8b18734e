"""Runs as NetCDF, CSV and Parquet files, and as xarray and pandas objects.

All formats hold the same `FileContent`: samples and metadata. If a format does not allow a name, the file has
a label in its place, and the name in its metadata. The code for ERD files comes last.

ERD files are the tables of time histories that AUTOSIM's programs wrote, readable by ERD plotters.
Source: Sayers (1990), Appendix B, subroutine OPNOUT; the format is defined in Sayers (1987), *ERD
data-processing software reference manual, version 2.00*, UMTRI-87-2.

    ERDFILEV2.00
         3,     2,    -1,     1,     5, 0.05, -1,    channels, samples, records, bytes, kind of numbers, step
    TITLE   Car
    SHORTNAMTime    Ay      r                           8 characters each, and so UNITSNAM
    LONGNAMETime …                                      32 characters each, and so GENNAME and RIGIBODY
    XLABEL  Time
    XUNITS  sec
    HISTORY Data generated with …
    ARMILRUN units "r": "deg/s"                         Armillary's metadata, as in a CSV file
    END
    0.0 0.0 0.0
    0.05 0.0123 0.456

Files are written as text, one sample per line, time as the first channel, every number with all its digits.
Names, units and descriptions are cut to the format's widths and to ASCII for other readers; `ARMILRUN` lines
keep them whole, so that a loaded run equals the saved one. Texts of other programs are read too (in free
format, or in the columns of a FORMAT line), and so are 32-bit binary numbers in a .bin file beside the
header, as AUTOSIM wrote them.
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
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.algebra.tables import read_columns
from armillary.algebra.units import TIME as TIMES
from armillary.algebra.units import parse_unit
from armillary.errors import ArmillaryError, MissingExtraError, UnitsError, alternatives, require
from armillary.limited_files import UnreadableFileError, open_file, replacing
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

# Samples per chunk of a NetCDF variable: chunks of 1 MiB, so that a column is read in a few operations.
_CHUNK = 2**17

BATCH = "armillary_batch"  # the attribute of a NetCDF file that holds a batch

_NAMES_OF_TIME = (TIME, "t")  # in other programs


def write_record(path: str | os.PathLike[str], record: FileContent) -> None:
    """Write a file in the format that its suffix names; it replaces an older file once it is complete."""
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
    """Write a NetCDF file. It is made in memory first, since on a full disk HDF5 prints long messages and
    crashes at exit.
    """
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
    """Open the dataset in a NetCDF file, undecoded: an output in "hours" is a number, not a timedelta."""
    xr, h5py = (require(name, extra="data", purpose="NetCDF files") for name in ("xarray", "h5py"))
    # h5netcdf reads this attribute first; if that fails, its half-made object prints a traceback when it is
    # collected. So the attribute is read here before h5netcdf opens the file.
    with h5py.File(path, "r") as file:
        file.attrs.get("_nc3_strict")
    with xr.open_dataset(path, engine="h5netcdf", decode_cf=False) as dataset:
        yield dataset


def require_netcdf() -> None:
    for module in ("xarray", "h5netcdf", "h5py"):  # h5netcdf leaves the choice of its HDF5 library open
        require(module, extra="data", purpose="NetCDF files")


def netcdf_label(name: str) -> str:
    """Return a legal NetCDF name, as close to `name` as possible.

    By the NetCDF user's guide, "Permitted characters in names", a name is normalised text without '/',
    control characters and a space at the end. It begins with a letter, a digit, '_' or a character beyond
    ASCII.
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
# A table without comment lines comes from another program, such as one that Armillary exports: its units are
# in the headings or unknown, and time is its first column.


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
        raise ValueError(f"it has no Armillary metadata, and its first column is {column} instead of time")
    own = {"armillary_run": 1, "system": path.stem}
    own["units"] = {name: there or UNKNOWN for name, there in zip(names, units, strict=True)}
    return FileContent(
        tuple(names), found.values[:, 0] * unit.scale, found.values[:, 1:], empty_metadata() | own
    )


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\s]|^$', text) else text


# ------------------------------------------------------------------------------------------------------- ERD


_MAGIC = "ERDFILEV"
_OWN = "ARMILRUN"
_TEXT, _FLOAT32 = 5, 1  # kinds of numbers
_MOST = 100_000  # channels; a header that states more is damaged
_WIDTHS = {"SHORTNAM": 8, "LONGNAME": 32, "UNITSNAM": 8, "GENNAME": 32, "RIGIBODY": 32}

# Samples are evenly spaced if no interval differs from the mean by more than this part of the mean: more than
# the rounding errors of added steps, less than the extra sample of an event.
_EVEN = 1e-6

# Generic names, which a plotter writes along an axis of several channels, follow from the units.
_GENERIC = {
    "m": "Translation", "m/s": "Translational Speed", "m/s2": "Translational Acceleration", "rad": "Rotation",
    "rad/s": "Angular Speed", "rad/s2": "Angular Acceleration", "N": "Force", "N*m": "Moment", "J": "Energy",
    "W": "Power", "s": "Time", "kg": "Mass", "N*m*s": "Angular Momentum", "N*s": "Momentum",
}  # fmt: skip


def write_erd(path: Path, record: FileContent) -> None:
    """Write a text file with header and samples."""
    metadata = record.metadata
    units, about = metadata.get("units", {}), metadata.get("descriptions", {})
    columns = {
        "SHORTNAM": distinct_labels(
            ["Time", *(_ascii(name) or "_" for name in record.names)], taken=(), width=8
        ),
        "LONGNAME": ["Time", *(about.get(name, name) for name in record.names)],
        "UNITSNAM": ["sec", *(units.get(name, "") for name in record.names)],
        "GENNAME": ["Time", *(_generic(units.get(name, "")) for name in record.names)],
        "RIGIBODY": ["", *(name.partition(".")[0] if "." in name else "" for name in record.names)],
    }
    samples = record.time.size
    with path.open("w", encoding="ascii", newline="\n") as file:
        shape = f"{len(record.names) + 1:6d},{samples:6d},{-1:6d},{1:6d},{_TEXT:6d}"
        file.write(f"{_MAGIC}2.00\n{shape}, {_sample_interval(record.time)!r}, -1,\n")
        file.write(f"TITLE   {_ascii(metadata.get('system', ''))}\n")
        for keyword, entries in columns.items():
            width = _WIDTHS[keyword]
            file.write(f"{keyword:<8}" + "".join(f"{_ascii(e)[:width]:<{width}}" for e in entries) + "\n")
        file.write("XLABEL  Time\nXUNITS  sec\n")
        info = metadata.get("info", {})
        maker, date = f"Armillary {info.get('armillary', '')}".strip(), info.get("created", "")
        file.write(f"HISTORY {_ascii(f'Data generated with {maker} {date}')}\n")
        kept = metadata | {"names": list(record.names)}
        file.writelines(f"{_OWN} {line}\n" for line in metadata_lines(kept, ascii_only=True))
        file.write("END\n")
        for time, row in zip(record.time.tolist(), record.values, strict=True):
            file.write(" ".join(map(repr, [time, *row.tolist()])) + "\n")


def read_erd(path: Path) -> FileContent:
    """Return the record in an ERD file of Armillary or of another program."""
    with path.open(encoding="latin-1") as file:
        header = _read_header(file)
        if header.kind == _TEXT:
            values = _read_text(file, header)
        elif header.kind == _FLOAT32:
            values = _read_binary(path, header)
        else:
            raise ValueError(
                f"numbers of kind {header.kind} are not read, only text (5) and 32-bit floats (1)"
            )
    if header.samples >= 0 and len(values) != header.samples:
        raise ValueError(f"it has {len(values)} samples, and its header states {header.samples}")
    if "names" in header.own:
        own = dict(header.own)
        return FileContent(tuple(own.pop("names")), values[:, 0], values[:, 1:], own)
    return _foreign(header, values)


# ------------------------------------------------------------------------------------------------- the header


class _Header(NamedTuple):
    channels: int
    samples: int
    kind: int
    step: float
    texts: dict[str, str]  # by keyword; HISTORY lines joined
    lists: dict[str, str]  # by keyword of _WIDTHS: the text after the keyword
    own: DataTable


def _read_header(file: TextIO) -> _Header:
    if not file.readline(200).startswith(_MAGIC):
        raise ValueError(f"its first line is not {_MAGIC}2.00")
    numbers = re.split(r"[,\s]+", file.readline().strip(" ,\n"))
    if len(numbers) < 6:
        raise ValueError("its second line lacks channels, samples, records, bytes, kind of numbers and step")
    channels, samples, _, _, kind = (int(number) for number in numbers[:5])
    if not 1 <= channels <= _MOST:
        raise ValueError(f"it has {channels} channels")
    texts: dict[str, str] = {}
    lists: dict[str, str] = {}
    own = empty_metadata()
    last = ""
    for line in iter(file.readline, ""):
        keyword = line[:8].strip().upper()
        if keyword == "END":
            return _Header(channels, samples, kind, float(numbers[5]), texts, lists, own)
        if keyword in _WIDTHS:
            lists[last := keyword] = line[8:].rstrip("\n")
        elif keyword.startswith("&") and last:  # the continuation of a long list
            filled = lists[last]
            lists[last] = filled + " " * (-len(filled) % _WIDTHS[last]) + line[8:].rstrip("\n")
        elif keyword == _OWN:
            read_metadata(own, line[9:])
        else:
            word, _, rest = line.strip().partition(" ")
            keyword = word.upper()
            before = f"{texts[keyword]}; " if keyword in texts else ""
            texts[keyword] = before + rest.strip()
    raise ValueError("its header has no END")


def _read_entries(header: _Header, keyword: str) -> list[str]:
    text, width = header.lists.get(keyword, ""), _WIDTHS[keyword]
    return [text[i * width : (i + 1) * width].strip() for i in range(header.channels)]


def _foreign(header: _Header, values: np.ndarray) -> FileContent:
    """Return the record of a file that another program wrote.

    Time is the sample's number times the step; without a step it is the first channel.
    """
    long = _read_entries(header, "LONGNAME")
    short = _read_entries(header, "SHORTNAM")
    names = distinct_labels(short[i] or long[i] or f"channel {i + 1}" for i in range(header.channels))
    units = _read_entries(header, "UNITSNAM")
    info = {
        key.lower(): text for key, text in header.texts.items() if key not in ("TITLE", "FORMAT") and text
    }
    record = {"armillary_run": 1, "system": header.texts.get("TITLE", ""), "info": info}
    metadata = empty_metadata() | record
    metadata["units"] = {name: unit for name, unit in zip(names, units, strict=True) if unit}
    metadata["descriptions"] = {name: about for name, about in zip(names, long, strict=True) if about}
    time = header.step * np.arange(len(values)) + float(header.texts.get("XSTART") or 0.0)
    return FileContent(tuple(names), time if header.step else values[:, 0].copy(), values, metadata)


# ---------------------------------------------------------------------------------------------------- numbers


def _read_text(file: TextIO, header: _Header) -> np.ndarray:
    width = re.match(r"\(?\s*\d*[EFGD](\d+)", header.texts.get("FORMAT", "").upper())
    words = (
        _in_columns(file, int(width[1])) if width else (w for line in file for w in re.split(r"[,\s]+", line))
    )
    plain = (word.replace("D", "E").replace("d", "e") for word in words if word)
    values = np.fromiter(map(float, plain), dtype=float)
    if values.size % header.channels:
        raise ValueError(f"its {values.size} numbers do not form rows of {header.channels}")
    return values.reshape(-1, header.channels)


def _in_columns(file: TextIO, width: int) -> Iterator[str]:
    """Yield numbers of a fixed width, which may touch each other."""
    for line in file:
        yield from (line[i : i + width].strip() for i in range(0, len(line.rstrip()), width))


def _read_binary(path: Path, header: _Header) -> np.ndarray:
    """Return 32-bit floats from the file beside the header, with or without the marks of Fortran's records.

    Marks before and after a record hold its length and show the order of bytes; without marks the file is
    little-endian.
    """
    beside = [path.with_name(path.name + end) for end in (".BIN", ".bin")]
    beside += [path.with_suffix(end) for end in (".BIN", ".bin")]
    source = next((candidate for candidate in beside if candidate.is_file()), None)
    if source is None:
        raise ValueError(f"its numbers are in '{beside[3].name}', which does not exist")
    raw = source.read_bytes()
    row = 4 * header.channels
    for order in "<>":
        mark = np.dtype(f"{order}i4")
        marked = row + 8
        if raw and len(raw) % marked == 0 and np.frombuffer(raw, mark, 1)[0] == row:
            table = np.frombuffer(raw, f"{order}f4").reshape(-1, header.channels + 2)
            return table[:, 1:-1].astype(float)
    if len(raw) % row:
        raise ValueError(f"'{source.name}' has {len(raw)} bytes, and a sample has {row}: a part is missing")
    return np.frombuffer(raw, "<f4").reshape(-1, header.channels).astype(float)


# ------------------------------------------------------------------------------------------------------ texts


def _sample_interval(time: np.ndarray) -> float:
    """Return the interval of evenly spaced samples, else 0."""
    if time.size < 2 or not np.all(np.isfinite(time)):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (time[-1] - time[0]) / (time.size - 1)
        even = bool(np.all(np.abs(np.diff(time) - mean) <= _EVEN * abs(mean)))
    return float(mean) if even and np.isfinite(mean) else 0.0


def _generic(units: str) -> str:
    try:
        unit = parse_unit(units)
    except UnitsError:
        return ""
    # An angle has no dimension, and a moment has the dimension of an energy: the letters distinguish them.
    angular, energy = re.search(r"deg|rad|rev", units) is not None, "J" in units
    for text, name in _GENERIC.items():
        same_letters = ("rad" in text) == angular and ("J" in text) == energy
        if same_letters and parse_unit(text).dimension == unit.dimension:
            return name
    return "Dimensionless" if units else ""


def _ascii(text: str) -> str:
    """Return text that ERD readers accept: accents dropped, other letters replaced, no control characters."""
    parts = (c for c in unicodedata.normalize("NFKD", str(text)) if not unicodedata.combining(c))
    plain = "".join(parts).encode("ascii", "replace").decode("ascii")
    return re.sub(r"[\x00-\x1f\x7f]", " ", plain).strip()


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
