"""The numbers of all runs in one table, once every block is there: ``metrics.parquet``, and in the store."""

from __future__ import annotations

import json

import numpy as np

from armillary.atomic import replacing
from armillary.ensembles.plan import NOT_RUN
from armillary.ensembles.plan import STATUS as ENDS
from armillary.errors import ArmillaryError, require
from armillary.studies.definition.definition import Definition
from armillary.studies.store.checksums import checksum, is_unchanged, read_states, write_states
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import RUN, STATUS, StoreLayout
from armillary.studies.store.records import read_numbers
from armillary.studies.store.zarr_store import GROUP, column_chunks, forget_columns
from armillary.untyped import LibraryObject


def consolidate(folder: Folder, definition: Definition) -> None:
    """The table and the columns of the store, group by group of runs: memory for one group is enough; and
    last the states of their files.
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
    """The statuses of runs, in words; NaN where they have not been made."""
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
    """Whether table and columns are there, of all runs, and as they were left; ``compare``: by content."""
    states = read_states(folder, definition.digest, definition.runs)
    return states is not None and all(is_unchanged(path, states[path], compare=compare) for path in states)


def whole_table(folder: Folder, definition: Definition) -> bytes | None:
    """The content of the table of all runs; None where there is none, or it is damaged."""
    states = read_states(folder, definition.digest, definition.runs) or {}
    try:
        content = folder.table.read_bytes()
    except OSError:
        return None
    return content if folder.table in states and states[folder.table].crc == checksum(content) else None
