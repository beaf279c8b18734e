"""The results of a study as datasets and tables, whether it is finished or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.ensembles.plan import NOT_RUN
from armillary.ensembles.study.consolidate import is_consolidated, words
from armillary.ensembles.study.definition import Definition
from armillary.ensembles.study.files import Folder
from armillary.ensembles.study.layout import METRIC, RUN, STATUS, VARIED
from armillary.ensembles.study.records import read_numbers
from armillary.errors import ArmillaryError, nearest, require

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
    layout = definition.layout
    # Undecoded: an output in "hours" is a number, not a timedelta.
    plain: dict[str, Any] = {"chunks": None, "decode_cf": False, "consolidated": False}
    found = xr.open_zarr(folder.store, **(plain | options))
    if not is_consolidated(folder, definition):
        for column, row in zip(layout.columns, numbers(folder, definition), strict=True):
            found[column.label] = (RUN, row, found[column.label].attrs)
    for column in layout.columns:
        if column.kind == STATUS:
            found[column.label] = (RUN, words(found[column.label].to_numpy()), found[column.label].attrs)
    coordinates: dict[str, Any] = {RUN: np.arange(layout.runs)}
    for array in layout.arrays:
        if array.edges:
            edges = np.array(array.edges)
            coordinates[array.along] = (array.along, (edges[1:] + edges[:-1]) / 2)
    varied = [column.label for column in layout.columns if column.kind == VARIED]
    shown = [each.label for each in layout.arrays] + [column.label for column in layout.columns]
    return found[shown].assign_coords(coordinates).set_coords(varied)


def table(folder: Folder, definition: Definition) -> pandas.DataFrame:
    """A pandas table with a row per run: varied values, metrics, how it ended."""
    pd = require("pandas", extra="data", purpose="Tables")
    layout = definition.layout
    if is_consolidated(folder, definition):
        return pd.read_parquet(folder.table).set_index(RUN)
    _require_results(folder)
    rows = zip(layout.table_names, layout.columns, numbers(folder, definition), strict=True)
    columns = {name: words(row) if column.kind == STATUS else row for name, column, row in rows}
    return pd.DataFrame(columns, index=pd.RangeIndex(layout.runs, name=RUN))


def column_of(folder: Folder, definition: Definition, name: str) -> tuple[np.ndarray, str]:
    """The values of a varied quantity or a metric in all runs, and its units."""
    layout = definition.layout
    for place, column in zip(layout.table_names, layout.columns, strict=True):
        if column.name == name and column.kind in (VARIED, METRIC):
            return table(folder, definition)[place].to_numpy(), column.units
    known = [*layout.names(VARIED), *layout.names(METRIC)]
    raise ArmillaryError(
        f"study '{folder.root}' has no '{name}'{nearest(name, known)}; it has {', '.join(known)}"
    )


def _require_results(folder: Folder) -> None:
    if not folder.store.is_dir():
        raise ArmillaryError(f"study '{folder.root}' has no results yet: run it")
