"""The results of a study as datasets and tables, whether it is finished or not."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.errors import ArmillaryError, nearest, require
from armillary.studies.definition.definition import Definition
from armillary.studies.store.consolidate import is_consolidated, whole_table, words
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import METRIC, RUN, STATUS, VARIED, Array, StoreLayout
from armillary.studies.store.lazy_columns import RecordedNumbers, lazy_array, lazy_column
from armillary.untyped import DataTable, LibraryObject

_IN_MEMORY = 4 * 2**30  # bytes of histories

if TYPE_CHECKING:
    import pandas
    import xarray


def dataset(folder: Folder, definition: Definition, **options: object) -> xarray.Dataset:
    """An xarray dataset over the Zarr store, read as it is requested; ``options`` are xarray.open_zarr's."""
    xr = require("xarray", extra="data", purpose="Labelled datasets")
    require("zarr", extra="study", purpose="Studies")
    _require_results(folder)
    # Undecoded: an output in "hours" is a number, not a timedelta.
    plain: DataTable = {"chunks": None, "decode_cf": False, "consolidated": False}
    with _readable(folder):
        opened = xr.open_zarr(folder.store, **(plain | options))
        if (plain | options)["chunks"] is None:
            opened = _guarded(opened, folder)
        return _labelled(opened, folder, definition)


def _guarded(opened: xarray.Dataset, folder: Folder) -> xarray.Dataset:
    """The same, in which a chunk that cannot be read when it is used gives a sentence, too."""
    zarr = require("zarr", extra="study", purpose="Studies")
    group = zarr.open_group(folder.store, mode="r")
    for name in opened.data_vars:
        own = opened[name].variable
        values = lazy_array(group[name], partial(_readable, folder))
        opened[name] = (own.dims, values, own.attrs, own.encoding)
    return opened


def _labelled(found: xarray.Dataset, folder: Folder, definition: Definition) -> xarray.Dataset:
    """A store as it is shown: numbers from records where the store has none yet, words for status."""
    pd = require("pandas", extra="data", purpose="Labelled datasets")
    layout = definition.layout
    found = found.isel({RUN: slice(layout.runs)})
    recorded = None if is_consolidated(folder, definition) else RecordedNumbers(folder, definition)
    for i, column in enumerate(layout.columns):
        stored = found[column.label]
        read = partial(_stored, stored) if recorded is None else partial(_recorded, recorded, i)
        if column.kind == STATUS:
            values = lazy_column(layout.runs, words(np.zeros(1)).dtype, partial(_in_words, read))
        elif recorded is not None:
            values = lazy_column(layout.runs, float, read)
        else:
            continue
        found[column.label] = (RUN, values, stored.attrs)
    coordinates: DataTable = {RUN: pd.RangeIndex(layout.runs)}  # which takes no memory
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


def _stored(column: LibraryObject, first: int, end: int) -> np.ndarray:
    found: np.ndarray = column[first:end].to_numpy()
    return found


def _recorded(numbers: RecordedNumbers, column: int, first: int, end: int) -> np.ndarray:
    found: np.ndarray = numbers(first, end)[column]
    return found


def _in_words(codes: Callable[[int, int], np.ndarray], first: int, end: int) -> np.ndarray:
    return words(codes(first, end))


def table(folder: Folder, definition: Definition) -> pandas.DataFrame:
    """A pandas table with a row per run: varied values, metrics, how it ended; units in its ``attrs``."""
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
    """A column: a number per run, and its units."""

    values: np.ndarray
    units: str


def columns_of(folder: Folder, definition: Definition, *names: str) -> dict[str, Numbers]:
    """Varied quantities and metrics by name."""
    layout, everything = definition.layout, table(folder, definition)
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
    """The end of a sentence about a name that is not a number of each run."""
    for array in layout.arrays:
        if array.name == name:
            drawn = "a histogram of each run, which histogram" if array.edges else "histories, which fan"
            return f": it has {drawn}('{name}') draws and dataset()['{array.label}'] holds"
    return f"{nearest(name, known)}; it has {', '.join(known)}"


def counts_of(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, Array] | None:
    """The histograms (runs, bins) that a metric has of each run, and its bins; None where it has none."""
    for array in definition.layout.arrays:
        if array.name == name and array.edges:
            with _readable(folder):
                return _store_array(folder, array)[:], array
    return None


def history(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, LibraryObject, str]:
    """Times, histories (runs, samples) and units of an output; the store's own array where it is large."""
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
    """An array of the store."""
    zarr = require("zarr", extra="study", purpose="Studies")
    _require_results(folder)
    return zarr.open_group(folder.store, mode="r")[array.label]


@contextmanager
def _readable(folder: Folder) -> Iterator[None]:
    """A sentence in place of whatever zarr and xarray say of a store that is damaged."""
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
