"""The results of a study as datasets and tables, whether it is finished or not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.ensembles.plan import NOT_RUN
from armillary.ensembles.plan import STATUS as ENDS
from armillary.errors import ArmillaryError, nearest, require
from armillary.limited_files import replacing
from armillary.studies.definition import Definition
from armillary.studies.folder import METRIC, RUN, STATUS, VARIED, Array, Folder, StoreLayout
from armillary.studies.records import (
    GROUP,
    column_chunks,
    crc32c,
    forget_columns,
    is_unchanged,
    read_numbers,
    read_states,
    write_states,
)
from armillary.untyped import DataTable, LibraryObject

if TYPE_CHECKING:
    import pandas
    import xarray


# Columns of a dataset that are read when they are used: each takes 8 GB in a study of 1e9 runs.

_DENSE = 1000  # mean gap between requested rows up to which all rows between are read, too
_REMEMBERED = 64 * 2**20  # bytes of numbers that are kept for the next column


class RecordedNumbers:
    """The numbers of runs, from the records of blocks; NaN for runs that are not made.

    A record holds all columns of a block: numbers read for one column are kept for the next, if they are
    small.
    """

    def __init__(self, folder: Folder, definition: Definition) -> None:
        self._read = partial(read_numbers, folder, definition.layout, definition.digest)
        self._last: tuple[tuple[int, int], np.ndarray] | None = None

    def __call__(self, first: int, end: int) -> np.ndarray:
        """Return the numbers (columns, runs) of the runs from ``first`` up to ``end``."""
        last = self._last  # another thread may replace it meanwhile
        if last is not None and last[0] == (first, end):
            return last[1]
        found, _ = self._read(first, end)
        if found.nbytes <= _REMEMBERED:
            self._last = (first, end), found
        return found


def lazy_column(runs: int, dtype: LibraryObject, read: Callable[[int, int], np.ndarray]) -> LibraryObject:
    """Return a column for xarray; ``read`` gives the values of the runs from one number up to another."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Column(BackendArray):
        shape = (runs,)

        def __init__(self) -> None:
            self.dtype = np.dtype(dtype)

        def __getitem__(self, key: LibraryObject) -> LibraryObject:
            support = indexing.IndexingSupport.OUTER_1VECTOR
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key: tuple[LibraryObject, ...]) -> LibraryObject:
            (rows,) = key
            if isinstance(rows, np.ndarray):
                return self._some(np.where(rows < 0, rows + runs, rows))
            if not isinstance(rows, slice):
                return read(int(rows), int(rows) + 1)[0]
            wanted = range(runs)[rows]
            if not len(wanted):
                return np.empty(0, self.dtype)
            first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            return read(first, last + 1)[np.arange(wanted.start, wanted.stop, wanted.step) - first]

        def _some(self, rows: np.ndarray) -> np.ndarray:
            """Return single runs; if they are far apart, read them one by one without the runs in between."""
            if not len(rows):
                return np.empty(0, self.dtype)
            first, last = int(rows.min()), int(rows.max())
            if last - first < _DENSE * len(rows):
                found: np.ndarray = read(first, last + 1)[rows - first]
                return found
            return np.concatenate([read(int(row), int(row) + 1) for row in rows])

    return indexing.LazilyIndexedArray(Column())


def lazy_array(array: LibraryObject, guard: Callable[[], AbstractContextManager[None]]) -> LibraryObject:
    """Return an array of the store for xarray; each part is read within ``guard()``."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class StoredArray(BackendArray):
        shape = array.shape

        def __init__(self) -> None:
            self.dtype = np.dtype(array.dtype)

        def __getitem__(self, key: LibraryObject) -> LibraryObject:
            support = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key: tuple[LibraryObject, ...]) -> LibraryObject:
            with guard():
                return array.oindex[key]

    return indexing.LazilyIndexedArray(StoredArray())


# The numbers of all runs in one table, when all blocks are made: ``metrics.parquet``, and the store's
# columns.


def consolidate(folder: Folder, definition: Definition) -> None:
    """Write the table and the columns of the store, one group of runs after the other to save memory; finally
    record size, checksum and time of these files.
    """
    pa = require("pyarrow", extra="data", purpose="Parquet files")
    parquet = require("pyarrow.parquet", extra="data", purpose="Parquet files")
    zarr = require("zarr", extra="study", purpose="Studies")
    layout, store = definition.layout, zarr.open_group(folder.store, mode="r+")
    forget_columns(folder, layout)
    about = {"study": definition.digest, "system": definition.system, "columns": layout.as_data()["columns"]}
    with replacing(folder.table) as temporary:
        schema = _schema(layout, json.dumps(about, ensure_ascii=False))
        # A dictionary of distinct values helps for words, not for numbers.
        words_only = [n for n, c in zip(layout.table_names, layout.columns, strict=True) if c.kind == STATUS]
        with parquet.ParquetWriter(
            temporary, schema, compression="zstd", use_dictionary=words_only
        ) as writer:
            for first in range(0, layout.runs, GROUP):
                end = min(first + GROUP, layout.runs)
                numbers, made = read_numbers(folder, layout, definition.digest, first, end)
                if made < end - first:
                    raise ArmillaryError(
                        f"study '{folder.root}': records of blocks have gone since they were checked; run it "
                        "again"
                    )
                rows = zip(layout.columns, numbers, strict=True)
                cells = [pa.array(words(row) if column.kind == STATUS else row) for column, row in rows]
                numbered = pa.array(np.arange(first, end))
                writer.write_table(pa.Table.from_arrays([numbered, *cells], schema=schema))
                for column, row in zip(layout.columns, numbers, strict=True):
                    store[column.label][first:end] = row
    files = [folder.table, *column_chunks(folder, layout)]
    write_states(folder, definition.digest, layout.runs, files)


def words(codes: np.ndarray) -> np.ndarray:
    """Return the statuses of runs in words; NaN is a run that has not been made."""
    found: np.ndarray = np.array(ENDS)[np.where(np.isfinite(codes), codes, NOT_RUN).astype(int)]
    return found


def _schema(layout: StoreLayout, about: str) -> LibraryObject:
    pa = require("pyarrow", extra="data", purpose="Parquet files")
    fields = [pa.field(RUN, pa.int64())]
    fields += [
        pa.field(
            name,
            pa.string() if column.kind == STATUS else pa.float64(),
            metadata={"units": column.units, "about": column.about, "kind": column.kind},
        )
        for name, column in zip(layout.table_names, layout.columns, strict=True)
    ]
    return pa.schema(fields, metadata={"armillary_study": about})


def is_consolidated(folder: Folder, definition: Definition, *, compare: bool = False) -> bool:
    """Return whether the table and the columns of all runs exist and are unchanged since they were written;
    with ``compare``, their contents are compared.
    """
    states = read_states(folder, definition.digest, definition.runs)
    return states is not None and all(is_unchanged(path, states[path], compare=compare) for path in states)


def whole_table(folder: Folder, definition: Definition) -> bytes | None:
    """Return the content of the table of all runs; `None` if it is missing or damaged."""
    states = read_states(folder, definition.digest, definition.runs) or {}
    try:
        content = folder.table.read_bytes()
    except OSError:
        return None
    return content if folder.table in states and states[folder.table].crc == crc32c(content) else None


_IN_MEMORY = 4 * 2**30  # bytes of histories


def dataset(folder: Folder, definition: Definition, **options: object) -> xarray.Dataset:
    """Return an xarray dataset over the Zarr store, read on demand; ``options`` are xarray.open_zarr's."""
    xr = require("xarray", extra="data", purpose="Labelled datasets")
    require("zarr", extra="study", purpose="Studies")
    _require_results(folder)
    # Undecoded: an output in "hours" is a number, not a timedelta.
    plain: DataTable = {"chunks": None, "decode_cf": False, "consolidated": False}
    with _readable(folder):
        opened = xr.open_zarr(folder.store, **(plain | options))
        if (plain | options)["chunks"] is None:
            opened = _with_read_errors(opened, folder)
        return _label_store(opened, folder, definition)


def _with_read_errors(opened: xarray.Dataset, folder: Folder) -> xarray.Dataset:
    """Replace the arrays of a dataset: if a chunk cannot be read later, they raise a short error."""
    zarr = require("zarr", extra="study", purpose="Studies")
    group = zarr.open_group(folder.store, mode="r")
    for name in opened.data_vars:
        own = opened[name].variable
        values = lazy_array(group[name], partial(_readable, folder))
        opened[name] = (own.dims, values, own.attrs, own.encoding)
    return opened


def _label_store(found: xarray.Dataset, folder: Folder, definition: Definition) -> xarray.Dataset:
    """Label a store: add numbers from records if the store has none yet, and words for status."""
    pd = require("pandas", extra="data", purpose="Labelled datasets")
    layout = definition.layout
    found = found.isel({RUN: slice(layout.runs)})
    recorded = None if is_consolidated(folder, definition) else RecordedNumbers(folder, definition)
    for i, column in enumerate(layout.columns):
        stored = found[column.label]
        read = (
            partial(_stored_numbers, stored) if recorded is None else partial(_recorded_numbers, recorded, i)
        )
        if column.kind == STATUS:
            values = lazy_column(layout.runs, words(np.zeros(1)).dtype, partial(_in_words, read))
        elif recorded is not None:
            values = lazy_column(layout.runs, float, read)
        else:
            continue
        found[column.label] = (RUN, values, stored.attrs)
    coordinates: DataTable = {RUN: pd.RangeIndex(layout.runs)}  # a range takes no memory
    if len(layout.times):
        coordinates["time"] = ("time", layout.times, {"units": "s", "long_name": "time"})
    for array in layout.arrays:
        if array.edges:
            edges = np.array(array.edges)
            middle = (edges[1:] + edges[:-1]) / 2
            coordinates[array.along] = (array.along, middle, {"units": array.edge_units})
    varied = [column.label for column in layout.columns if column.kind == VARIED]
    shown = [each.label for each in layout.arrays] + [column.label for column in layout.columns]
    return found[shown].assign_coords(coordinates).set_coords(varied)


def _stored_numbers(column: LibraryObject, first: int, end: int) -> np.ndarray:
    found: np.ndarray = column[first:end].to_numpy()
    return found


def _recorded_numbers(numbers: RecordedNumbers, column: int, first: int, end: int) -> np.ndarray:
    found: np.ndarray = numbers(first, end)[column]
    return found


def _in_words(codes: Callable[[int, int], np.ndarray], first: int, end: int) -> np.ndarray:
    return words(codes(first, end))


def run_table(folder: Folder, definition: Definition) -> pandas.DataFrame:
    """Return a pandas table with a row per run: varied values, metrics, status; units in its ``attrs``."""
    pd = require("pandas", extra="data", purpose="Tables")
    layout = definition.layout
    if (content := whole_table(folder, definition)) is not None:
        found = pd.read_parquet(io.BytesIO(content)).set_index(RUN)
    else:
        _require_results(folder)
        numbers = RecordedNumbers(folder, definition)(0, layout.runs)
        rows = zip(layout.table_names, layout.columns, numbers, strict=True)
        columns = {name: words(row) if column.kind == STATUS else row for name, column, row in rows}
        found = pd.DataFrame(columns, index=pd.RangeIndex(layout.runs, name=RUN))
    pairs = zip(layout.table_names, layout.columns, strict=True)
    found.attrs["units"] = {name: column.units for name, column in pairs if column.kind != STATUS}
    return found


class Numbers(NamedTuple):
    """A column: one number per run, and their units."""

    values: np.ndarray
    units: str


def columns_of(folder: Folder, definition: Definition, *names: str) -> dict[str, Numbers]:
    """Return varied quantities and metrics by name."""
    layout, everything = definition.layout, run_table(folder, definition)
    known = {
        column.name: (place, column.units)
        for place, column in zip(layout.table_names, layout.columns, strict=True)
        if column.kind in (VARIED, METRIC)
    }
    for name in names:
        if name not in known:
            raise ArmillaryError(
                f"study '{folder.root}' has no numbers '{name}'{_instead(name, layout, known)}"
            )
    return {name: Numbers(everything[known[name][0]].to_numpy(), known[name][1]) for name in names}


def _instead(name: str, layout: StoreLayout, known: Iterable[str]) -> str:
    """Return the end of an error's text about a name that does not have one number per run."""
    for array in layout.arrays:
        if array.name == name:
            drawn = "a histogram of each run, which histogram" if array.edges else "histories, which fan"
            return f": it has {drawn}('{name}') draws and dataset()['{array.label}'] holds"
    return f"{nearest(name, known)}; it has {', '.join(known)}"


def counts_of(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, Array] | None:
    """Return a metric's histograms (runs, bins) and bins; `None` if it has no histograms."""
    for array in definition.layout.arrays:
        if array.name == name and array.edges:
            with _readable(folder):
                return _store_array(folder, array)[:], array
    return None


def history(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, LibraryObject, str]:
    """Return times, histories (runs, samples) and units of an output; the store's array if it is large."""
    for array in definition.layout.arrays:
        if array.name == name and not array.edges:
            with _readable(folder):
                found = _store_array(folder, array)
                values = found[:] if found.nbytes <= _IN_MEMORY else found
            return definition.layout.times, values, array.units
    known = definition.content["outputs"]
    there = f"it has {', '.join(known)}" if known else "it keeps none; name them with outputs="
    raise ArmillaryError(f"study '{folder.root}' has no histories of '{name}'{nearest(name, known)}; {there}")


def _store_array(folder: Folder, array: Array) -> LibraryObject:
    """Return an array of the store."""
    zarr = require("zarr", extra="study", purpose="Studies")
    _require_results(folder)
    return zarr.open_group(folder.store, mode="r")[array.label]


@contextmanager
def _readable(folder: Folder) -> Iterator[None]:
    """Replace errors of zarr and xarray about a damaged store by one sentence."""
    try:
        yield
    except ArmillaryError:
        raise
    except Exception as error:
        raise ArmillaryError(
            f"the store '{folder.store}' cannot be read ({type(error).__name__}: {error}): run the study "
            "again, which mends it"
        ) from error


def _require_results(folder: Folder) -> None:
    if not folder.blocks.is_dir():
        raise ArmillaryError(f"study '{folder.root}' has no results yet: run it")
