"""Records of finished blocks.

A block counts as finished if its record exists, is undamaged, and matches its chunks.

A record is written last. Its file holds a line of JSON, the numbers of the block's runs column by column
(little-endian doubles), and a checksum (crc32c) of both:

    {"block": 12, "runs": [3072, 3328], "study": "…", "chunks": [["tip height", 205012, 3735928559, …]], …}
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armillary.ensembles.plan import NOT_RUN
from armillary.errors import ArmillaryError, require
from armillary.limited_files import replacing
from armillary.runtime.inputs.signal import Signal
from armillary.studies.folder import (
    RUN,
    STATUS,
    Array,
    Folder,
    Made,
    StoredColumn,
    StoreLayout,
    write_json,
)
from armillary.untyped import DataMapping, DataTable, Given, LibraryObject

# Checksums (crc32c) by which damaged and changed files are found.
#
# The files of a block end with the checksum of their content. For files that are read often, a ``FileState``
# is kept elsewhere: while their size and time of change stay the same, their content is taken to be
# unchanged.

_END = 4  # bytes of a checksum


class FileState(NamedTuple):
    """The size, checksum and time of a file when it was written."""

    name: str  # in the study's folder; of a chunk, the label of its array
    bytes: int
    crc: int  # of all bytes except a checksum at the end
    changed: int  # ns


def crc32c(content: bytes) -> int:
    """Return the crc32c checksum of bytes."""
    return int(_crc32c()(content))


@cache
def _crc32c() -> LibraryObject:
    return require("google_crc32c", extra="study", purpose="Studies").value


# ---------------------------------------------------------------- files that end with their checksum


def write_with_checksum(folder: Folder, path: Path, name: str, content: bytes) -> FileState:
    """Write a file that ends with the checksum of its content, atomically; return its state."""
    crc = crc32c(content)
    changed = folder.place(path, (content, crc.to_bytes(_END, "little")))
    return FileState(name, len(content) + _END, crc, changed)


def read_with_checksum(path: Path) -> bytes | None:
    """Return the content of a file that ends with its checksum; `None` if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    inner = content[:-_END]
    return inner if crc32c(inner) == int.from_bytes(content[-_END:], "little") else None


def has_content(path: Path, state: FileState) -> bool:
    """Return whether a file that ends with its checksum has the content that was written."""
    content = read_with_checksum(path)
    return content is not None and len(content) + _END == state.bytes and crc32c(content) == state.crc


# ---------------------------------------------------------------- states of files


def has_size_and_time(path: Path, state: FileState) -> bool | None:
    """Return whether a file has its recorded size and time; `None` if only the time differs."""
    try:
        about = path.stat()
    except OSError:
        return False
    if about.st_size != state.bytes:
        return False
    return True if about.st_mtime_ns == state.changed else None


def is_unchanged(path: Path, state: FileState, *, compare: bool = False) -> bool:
    """Return whether a file is unchanged: by size and time, or by its content if the time differs or with
    ``compare``.
    """
    seems = has_size_and_time(path, state)
    if seems is False or (seems and not compare):
        return seems
    try:
        return crc32c(path.read_bytes()) == state.crc
    except OSError:
        return False


def write_states(folder: Folder, study: str, runs: int, files: Iterable[Path]) -> None:
    """Write the states of files of a complete study."""
    write_json(folder.complete, {"study": study, "runs": runs, "files": [_state(folder, f) for f in files]})


def read_states(folder: Folder, study: str, runs: int) -> dict[Path, FileState] | None:
    """Return the states by file; `None` if the folder has none for this study with ``runs`` runs."""
    try:
        found: Given = json.loads(folder.complete.read_text(encoding="utf-8"))
        if (found["study"], found["runs"]) != (study, runs):
            return None
        states = [FileState(*entry) for entry in found["files"]]
        return {folder.root / state.name: state for state in states}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _state(folder: Folder, path: Path) -> FileState:
    content = path.read_bytes()
    name = path.relative_to(folder.root).as_posix()
    return FileState(name, len(content), crc32c(content), path.stat().st_mtime_ns)


# The Zarr store of a study: histories and histograms with one chunk per block of runs, and all numbers.
#
# zarr-python writes the description of the arrays, once. This module writes the chunks, in the format that
# the description states (bytes, blosc, crc32c; Zarr core specification, version 3): a chunk takes 1.8 ms with
# zarr-python and 0.2 ms here, and a block has one for every output. LZ4 with shuffled bytes compresses
# histories to 85 % of their size at 1 GB/s; Zstandard compresses no better and takes twice as long.

LARGEST = 2**31 - 2**16  # bytes of a chunk: the limit of blosc
GROUP = 2**20  # runs in a chunk of a column; columns are written when all runs are made, in few large chunks

_COMPRESSION = {"cname": "lz4", "clevel": 5}


def describe_store(folder: Folder, layout: StoreLayout, attributes: Mapping[str, object]) -> None:
    """Write the descriptions of a store's arrays and the times; replace only files that differ. Values that
    are not computed yet read as NaN.
    """
    zarr = require("zarr", extra="study", purpose="Studies")
    making = folder.unfinished / os.urandom(6).hex()
    try:
        group = zarr.open_group(making, mode="w-", zarr_format=3, attributes=dict(attributes))
        if len(layout.times):
            about = {"units": "s", "long_name": "time"}
            group.create_array("time", data=layout.times, dimension_names=("time",), attributes=about)
        for array in layout.arrays:
            _create(group, array, (layout.runs, array.size), (layout.block, array.size), (RUN, array.along))
        for column in layout.columns:
            _create(group, column, (layout.runs,), (min(GROUP, layout.runs),), (RUN,))
        _describe_together(making)
        made = [file for file in making.rglob("*") if file.is_file()]
        for file in made:
            target = folder.store / file.relative_to(making)
            if not target.is_file() or target.read_bytes() != file.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(file, target)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _describe_together(path: Path) -> None:
    """Collect all descriptions in one file, which xarray reads first, without zarr's warning that other
    programs may not read it.
    """
    zarr = require("zarr", extra="study", purpose="Studies")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(path)


def forget_columns(folder: Folder, layout: StoreLayout) -> None:
    """Delete the numbers of a store's columns; they are made again from records."""
    for column in layout.columns:
        for chunk in (folder.store / column.label).glob("c.*"):
            chunk.unlink()


def column_chunks(folder: Folder, layout: StoreLayout) -> list[Path]:
    """Return the files that hold the columns; a chunk of NaN has no file."""
    return sorted(path for c in layout.columns for path in (folder.store / c.label).glob("c.*"))


def _create(
    group: LibraryObject,
    of: Array | StoredColumn,
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    along: tuple[str, ...],
) -> None:
    codecs = require("zarr.codecs", extra="study", purpose="Studies")
    about: DataTable = {"long_name": of.about or of.name, "units": of.units, "name": of.name}
    if isinstance(of, Array) and of.edges:
        about |= {"edges": list(of.edges), "edge_units": of.edge_units}
    if isinstance(of, StoredColumn):
        about["kind"] = of.kind
    group.create_array(
        of.label,
        shape=shape,
        chunks=chunk,
        dtype="float64",
        fill_value=np.nan,
        compressors=[codecs.BloscCodec(**_COMPRESSION, shuffle="shuffle", typesize=8), codecs.Crc32cCodec()],
        # One folder per array: with the usual "/" every chunk would have its own folder.
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=along,
        attributes=about,
    )


def write_chunk(folder: Folder, array: Array, number: int, block: int, values: np.ndarray) -> FileState:
    """Write the chunk of a block and return its state. If the last block has fewer runs than others, the rest
    of its chunk is NaN.
    """
    whole = np.ascontiguousarray(values, dtype="<f8")
    if len(whole) < block:
        whole = np.full((block, array.size), np.nan)
        whole[: len(values)] = values
    packed = _compression().encode(whole)
    return write_with_checksum(folder, chunk_path(folder, array.label, number), array.label, packed)


def chunk_path(folder: Folder, label: str, number: int) -> Path:
    """Return the path of a block's chunk, which spans the whole second dimension."""
    return folder.store / label / f"c.{number}.0"


@cache
def _compression() -> LibraryObject:
    """Return the compression of chunks; the package comes with zarr."""
    return require("numcodecs", extra="study", purpose="Studies").Blosc(**_COMPRESSION, shuffle=1)


PATIENCE = 4.0  # seconds for reading chunks whose size and time are unchanged
_EXPLAINED = 3  # failed runs of a block whose reasons are kept
_READERS = 8  # files read at a time, for remote disks


@dataclass(frozen=True)
class BlockRecord:
    """A finished block: its runs, its chunks, and its failed runs."""

    number: int
    first: int
    end: int
    chunks: tuple[FileState, ...]
    failed: int
    failures: tuple[tuple[int, str], ...]  # the first failed runs, with reasons
    seconds: float


def finish_block(
    folder: Folder, layout: StoreLayout, study: str, number: int, made: Made, seconds: float
) -> BlockRecord:
    """Write the chunks of a block, then its record; return the record."""
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
    """Return the record of a block with its numbers (columns, runs); `None` if there is no valid record."""
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
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (record, columns) if [c.name for c in chunks] == [a.label for a in layout.arrays] else None


@dataclass(frozen=True)
class Finished:
    """Finished blocks, and blocks that have a record but must be made again."""

    records: dict[int, BlockRecord]
    damaged: tuple[int, ...]
    compared: int  # blocks whose chunks were read and compared with their checksums


def finished_blocks(folder: Folder, layout: StoreLayout, study: str, patience: float = PATIENCE) -> Finished:
    """Return the blocks of a study that are finished.

    Every record is read and compared with its checksum. A block is damaged if one of its chunks is missing or
    has another size than its record states. If the time of change of a chunk differs, the chunks of its block
    are read and compared with their checksums. So are those of as many other blocks as ``patience`` (s)
    allows, the newest first, since a crash is most likely to have damaged these.
    """
    there = sorted((n for n in _recorded_blocks(folder) if n < layout.blocks), reverse=True)
    until = time.monotonic() + patience

    def examine_block(number: int) -> tuple[BlockRecord | None, bool]:
        found = read_record(folder, layout, study, number)
        if found is None:
            return None, True
        chunks = [(chunk_path(folder, chunk.name, number), chunk) for chunk in found[0].chunks]
        unchanged = [has_size_and_time(path, chunk) for path, chunk in chunks]
        if False in unchanged:
            return None, True
        if None not in unchanged and time.monotonic() > until:
            return found[0], False
        return (found[0] if all(has_content(path, chunk) for path, chunk in chunks) else None), True

    with ThreadPoolExecutor(_READERS) as readers:
        results = list(readers.map(examine_block, there, chunksize=1))
    kept = {n: record for n, (record, _) in zip(there, results, strict=True) if record is not None}
    damaged = tuple(sorted(n for n in there if n not in kept))
    return Finished(kept, damaged, sum(read for _, read in results))


def _recorded_blocks(folder: Folder) -> Iterator[int]:
    """Yield the numbers of blocks that have a record."""
    try:
        entries = os.listdir(folder.blocks)
    except OSError:
        return
    yield from (int(name) for name in entries if name.isdigit())


def read_numbers(
    folder: Folder, layout: StoreLayout, study: str, first: int, end: int
) -> tuple[np.ndarray, int]:
    """Return the numbers (columns, runs) of the runs from ``first`` up to ``end``, and the number of these
    runs that are made; the others have NaN and the status NOT_RUN.
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


# Inputs over time of a study: their data in its folder, ``inputs.npz``, and their identity.
#
# All runs of a study have the same inputs. Data are kept bit for bit, as points with units and interpolation,
# so that any worker makes the same runs as a single call of ``simulate``.


def input_identity(signals: Mapping[str, Signal]) -> dict[str, DataTable]:
    """Return the identity of the inputs of a study."""
    return {
        name: {
            "instants": len(signal),
            "units": signal.units,
            "interpolation": signal.interpolation,
            "checksum": _signal_checksum(signal),
        }
        for name, signal in signals.items()
    }


def _signal_checksum(signal: Signal) -> str:
    made = hashlib.blake2b(digest_size=16)
    for numbers in (signal.time, signal.values):
        made.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return made.hexdigest()


def keep_signals(folder: Folder, signals: Mapping[str, Signal]) -> None:
    """Write the data of inputs into the study's folder if they are missing or damaged there."""
    with suppress(ArmillaryError):
        read_signals(folder, input_identity(signals))
        return
    arrays: DataTable = {}
    for i, signal in enumerate(signals.values()):
        arrays |= {f"time{i}": signal.time, f"values{i}": signal.values}
    with replacing(folder.inputs) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_signals(folder: Folder, about: Mapping[str, DataMapping]) -> dict[str, Signal]:
    """Return the inputs that ``input_identity`` describes, from the study's folder."""
    if not about:
        return {}
    found = {}
    try:
        with np.load(folder.inputs, allow_pickle=False) as data:
            for i, (name, what) in enumerate(about.items()):
                time, values = data[f"time{i}"], data[f"values{i}"]
                how = {"interpolation": what["interpolation"], "units": what["units"]}
                found[name] = Signal(time, values, name=name, **how)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ArmillaryError(f"cannot read the data of inputs, '{folder.inputs}': {error}") from error
    for name, signal in found.items():
        if _signal_checksum(signal) != about[name]["checksum"]:
            raise ArmillaryError(
                f"'{folder.inputs}' is damaged: the data of input '{name}' differ from the study's; give "
                "the study its inputs= again, or restore the file from a copy"
            )
    return found
