"""The numbers of all runs in one table, once every block is there: ``metrics.parquet``, and in the store."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from armillary.atomic import replacing
from armillary.ensembles.plan import NOT_RUN
from armillary.ensembles.plan import STATUS as ENDS
from armillary.errors import ArmillaryError, require
from armillary.studies.checksums import is_as_left, read_seals, write_seals
from armillary.studies.definition import Definition
from armillary.studies.files import Folder
from armillary.studies.layout import RUN, STATUS, Layout
from armillary.studies.records import read_numbers
from armillary.studies.store import GROUP, checksum, column_chunks, forget_columns


def consolidate(folder: Folder, definition: Definition) -> None:
    """The table and the columns of the store, group by group of runs: memory for one group is enough; and
    last their seals.
    """
    pa = require("pyarrow", extra="data", purpose="Parquet files")
    parquet = require("pyarrow.parquet", extra="data", purpose="Parquet files")
    zarr = require("zarr", extra="study", purpose="Studies")
    layout, store = definition.layout, zarr.open_group(folder.store, mode="r+")
    forget_columns(folder, layout)
    about = {"study": definition.digest, "system": definition.system, "columns": layout.as_data()["columns"]}
    with replacing(folder.table) as temporary:
        schema = _schema(layout, json.dumps(about, ensure_ascii=False))
        # A dictionary of distinct values is of use for words, not for numbers.
        words_only = [n for n, c in zip(layout.table_names, layout.columns, strict=True) if c.kind == STATUS]
        with parquet.ParquetWriter(
            temporary, schema, compression="zstd", use_dictionary=words_only
        ) as writer:
            for first in range(0, layout.runs, GROUP):
                end = min(first + GROUP, layout.runs)
                numbers = _numbers(folder, definition, first, end)
                rows = zip(layout.columns, numbers, strict=True)
                cells = [pa.array(words(row) if column.kind == STATUS else row) for column, row in rows]
                numbered = pa.array(np.arange(first, end))
                writer.write_table(pa.Table.from_arrays([numbered, *cells], schema=schema))
                for column, row in zip(layout.columns, numbers, strict=True):
                    store[column.label][first:end] = row
    files = [folder.table, *column_chunks(folder, layout)]
    write_seals(folder, definition.digest, layout.runs, files)


def words(codes: np.ndarray) -> np.ndarray:
    """How runs ended, in words; NaN where they have not been made."""
    return np.array(ENDS)[np.where(np.isfinite(codes), codes, NOT_RUN).astype(int)]


def _schema(layout: Layout, about: str) -> Any:
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


def _numbers(folder: Folder, definition: Definition, first: int, end: int) -> np.ndarray:
    """The numbers (columns, runs) of runs from one up to another, all of which must be there."""
    layout = definition.layout
    found = np.empty((len(layout.columns), end - first))
    made = 0
    blocks = range(first // layout.block, -(-end // layout.block))
    for start, stop, numbers in read_numbers(folder, layout, definition.digest, blocks):
        a, b = max(start, first), min(stop, end)
        found[:, a - first : b - first] = numbers[:, a - start : b - start]
        made += b - a
    if made < end - first:
        raise ArmillaryError(
            f"study '{folder.root}': records of blocks have gone since they were checked; run it again"
        )
    return found


def is_consolidated(folder: Folder, definition: Definition, *, compare: bool = False) -> bool:
    """Whether table and columns are there, of all runs, and as they were left; ``compare``: by content."""
    seals = read_seals(folder, definition.digest, definition.runs)
    return seals is not None and all(is_as_left(path, seals[path], compare=compare) for path in seals)


def whole_table(folder: Folder, definition: Definition) -> bytes | None:
    """The content of the table of all runs; None where there is none, or it is damaged."""
    seals = read_seals(folder, definition.digest, definition.runs) or {}
    try:
        content = folder.table.read_bytes()
    except OSError:
        return None
    return content if folder.table in seals and seals[folder.table].crc == checksum(content) else None
