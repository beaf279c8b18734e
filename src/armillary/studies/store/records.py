"""Records of finished blocks: a block counts when its record is there, and is whole, and fits its chunks.

A record is written last. Its file holds a line of JSON, the numbers of the block's runs column by column
(little-endian doubles), and the checksum (crc32c) of all that:

    {"block": 12, "runs": [3072, 3328], "study": "…", "chunks": [["tip height", 205012, 3735928559, …]], …}
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from armillary.ensembles.plan import NOT_RUN
from armillary.studies.store.checksums import (
    FileState,
    has_content,
    read_with_checksum,
    seems_unchanged,
    write_with_checksum,
)
from armillary.studies.store.folder import Folder
from armillary.studies.store.layout import STATUS, Made, StoreLayout
from armillary.studies.store.zarr_store import chunk_path, write_chunk

PATIENCE = 4.0  # seconds for reading chunks whose size and time are as they were left
_EXPLAINED = 3  # failed runs of a block whose reasons are kept
_READERS = 8  # files read at a time, for disks that are far away


@dataclass(frozen=True)
class BlockRecord:
    """A finished block: its runs, its chunks, and those of its runs that did not end well."""

    number: int
    first: int
    end: int
    chunks: tuple[FileState, ...]
    failed: int
    failures: tuple[tuple[int, str], ...]  # the first of the failed ones, and why
    seconds: float


def finish_block(
    folder: Folder, layout: StoreLayout, study: str, number: int, made: Made, seconds: float
) -> BlockRecord:
    """The chunks of a block, and then its record."""
    pairs = zip(layout.arrays, made.arrays, strict=True)
    chunks = tuple(write_chunk(folder, a, number, layout.block, values) for a, values in pairs)
    first, end = layout.span(number)
    record = BlockRecord(number, first, end, chunks, len(made.failed), made.failed[:_EXPLAINED], seconds)
    head = {
        "block": number,
        "runs": [first, end],
        "study": study,
        "chunks": chunks,
        "failed": record.failed,
        "told": record.failures,
        "seconds": round(seconds, 6),
        "by": f"{socket.gethostname()} {os.getpid()}",
    }
    numbers = np.ascontiguousarray(made.columns, dtype="<f8").tobytes()
    content = json.dumps(head).encode() + b"\n" + numbers
    write_with_checksum(folder, folder.record(number), "", content)
    return record


def read_record(
    folder: Folder, layout: StoreLayout, study: str, number: int
) -> tuple[BlockRecord, np.ndarray] | None:
    """The record of a block with its numbers (columns, runs); None where there is none that counts."""
    if (content := read_with_checksum(folder.record(number))) is None:
        return None
    line, _, numbers = content.partition(b"\n")
    try:
        head = json.loads(line)
        first, end = head["runs"]
        if head["study"] != study or head["block"] != number or (first, end) != layout.span(number):
            return None
        columns = np.frombuffer(numbers, dtype="<f8").reshape(len(layout.columns), end - first)
        chunks = tuple(FileState(*entry) for entry in head["chunks"])
        failures = tuple((int(run), str(why)) for run, why in head["told"])
        record = BlockRecord(number, first, end, chunks, head["failed"], failures, head["seconds"])
    except (ValueError, KeyError, TypeError):
        return None
    return (record, columns) if [c.name for c in chunks] == [a.label for a in layout.arrays] else None


@dataclass(frozen=True)
class Finished:
    """The blocks that count, and those that have a record and must be made again."""

    records: dict[int, BlockRecord]
    damaged: tuple[int, ...]
    compared: int  # blocks whose chunks were read and compared with their checksums


def finished_blocks(folder: Folder, layout: StoreLayout, study: str, patience: float = PATIENCE) -> Finished:
    """The blocks of a study that are finished.

    Every record is read and compared with its checksum. So is every chunk whose size or time of change is not
    as in its record, and as many of the others as ``patience`` allows, the newest first: those a crash may
    have hurt.
    """
    there = sorted((n for n in _numbers(folder) if n < layout.blocks), reverse=True)
    until = time.monotonic() + patience

    def examined(number: int) -> tuple[BlockRecord | None, bool]:
        found = read_record(folder, layout, study, number)
        if found is None:
            return None, True
        chunks = [(chunk_path(folder, chunk.name, number), chunk) for chunk in found[0].chunks]
        unchanged = [seems_unchanged(path, chunk) for path, chunk in chunks]
        if False in unchanged:
            return None, True
        if None not in unchanged and time.monotonic() > until:
            return found[0], False
        return (found[0] if all(has_content(path, chunk) for path, chunk in chunks) else None), True

    with ThreadPoolExecutor(_READERS) as readers:
        results = list(readers.map(examined, there, chunksize=1))
    kept = {n: record for n, (record, _) in zip(there, results, strict=True) if record is not None}
    damaged = tuple(sorted(n for n in there if n not in kept))
    return Finished(kept, damaged, sum(read for _, read in results))


def _numbers(folder: Folder) -> Iterator[int]:
    """The blocks that have a record."""
    try:
        entries = os.listdir(folder.blocks)
    except OSError:
        return
    yield from (int(name) for name in entries if name.isdigit())


def read_numbers(
    folder: Folder, layout: StoreLayout, study: str, first: int, end: int
) -> tuple[np.ndarray, int]:
    """The numbers (columns, runs) of the runs from one up to another, and how many of them are made; those
    of the others are NaN, and their status NOT_RUN.
    """
    found = np.full((len(layout.columns), end - first), np.nan)
    found[[column.kind == STATUS for column in layout.columns]] = NOT_RUN
    made = 0
    for number in range(first // layout.block, -(-end // layout.block)):
        if (finished := read_record(folder, layout, study, number)) is not None:
            record, values = finished
            a, b = max(record.first, first), min(record.end, end)
            found[:, a - first : b - first] = values[:, a - record.first : b - record.first]
            made += b - a
    return found, made
