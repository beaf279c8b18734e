"""The results of a study as datasets and tables, whether it is finished or not."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armillary.ensembles.plan import NOT_RUN
from armillary.ensembles.study.consolidate import is_consolidated, whole_table, words
from armillary.ensembles.study.definition import Definition
from armillary.ensembles.study.files import Folder
from armillary.ensembles.study.layout import METRIC, RUN, STATUS, VARIED, Array, Layout
from armillary.ensembles.study.records import read_numbers
from armillary.errors import ArmillaryError, nearest, require

_IN_MEMORY = 4 * 2**30  # bytes of histories

if TYPE_CHECKING:
    import pandas
    import xarray


def numbers(folder: Folder, definition: Definition) -> np.ndarray:
    """The numbers (columns, runs) of all runs from the records of blocks; NaN where a run is not made."""
    layout = definition.layout
    found = np.full((len(layout.columns), layout.runs), np.nan)
    found[[column.kind == STATUS for column in layout.columns]] = NOT_RUN
    for first, end, values in read_numbers(folder, layout, definition.digest, range(layout.blocks)):
        found[:, first:end] = values
    return found


def dataset(folder: Folder, definition: Definition, **options: Any) -> xarray.Dataset:
    """An xarray dataset over the Zarr store, read as it is asked for; ``options`` are xarray.open_zarr's."""
    xr = require("xarray", extra="data", purpose="Labelled datasets")
    require("zarr", extra="study", purpose="Studies")
    _require_results(folder)
    # Undecoded: an output in "hours" is a number, not a timedelta.
    plain: dict[str, Any] = {"chunks": None, "decode_cf": False, "consolidated": False}
    with _readable(folder):
        return _labelled(xr.open_zarr(folder.store, **(plain | options)), folder, definition)


def _labelled(found: xarray.Dataset, folder: Folder, definition: Definition) -> xarray.Dataset:
    """A store as it is shown: numbers from records where the store has none yet, words for status."""
    layout = definition.layout
    found = found.isel({RUN: slice(layout.runs)})
    if not is_consolidated(folder, definition):
        for column, row in zip(layout.columns, numbers(folder, definition), strict=True):
            found[column.label] = (RUN, row, found[column.label].attrs)
    for column in layout.columns:
        if column.kind == STATUS:
            found[column.label] = (RUN, words(found[column.label].to_numpy()), found[column.label].attrs)
    coordinates: dict[str, Any] = {RUN: np.arange(layout.runs)}
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


def table(folder: Folder, definition: Definition) -> pandas.DataFrame:
    """A pandas table with a row per run: varied values, metrics, how it ended; units in its ``attrs``."""
    pd = require("pandas", extra="data", purpose="Tables")
    layout = definition.layout
    if (content := whole_table(folder, definition)) is not None:
        found = pd.read_parquet(io.BytesIO(content)).set_index(RUN)
    else:
        _require_results(folder)
        rows = zip(layout.table_names, layout.columns, numbers(folder, definition), strict=True)
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


def _instead(name: str, layout: Layout, known: Iterable[str]) -> str:
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
                return _stored(folder, array)[:], array
    return None


def history(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, Any, str]:
    """Times, histories (runs, samples) and units of an output; the store's own array where it is large."""
    for array in definition.layout.arrays:
        if array.name == name and not array.edges:
            with _readable(folder):
                found = _stored(folder, array)
                values = found[:] if found.nbytes <= _IN_MEMORY else found
            return definition.layout.times, values, array.units
    known = definition.content["outputs"]
    there = f"it has {', '.join(known)}" if known else "it keeps none; name them with outputs="
    raise ArmillaryError(f"study '{folder.root}' has no histories of '{name}'{nearest(name, known)}; {there}")


def _stored(folder: Folder, array: Array) -> Any:
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
