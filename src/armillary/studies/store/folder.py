"""The folder of a study, and files that appear in it whole."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from armillary.algebra.arguments import file_path
from armillary.atomic import replacing

Bytes = bytes | memoryview

UNFINISHED = ".unfinished"  # the folder of files that are being written


class _FolderEntry:
    """A file or folder below the root, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: Folder, owner: type[Folder]) -> Path:
        return folder.root / self.name


@dataclass(frozen=True)
class Folder:
    """The places in a study's folder.

    study.json       what the study is: model, runs, design, metrics
    design.json      the values of all runs, by their rule
    model.toml       the model, where it has a text form
    inputs.npz       the data of inputs over time, where there are any
    results.zarr     histories and histograms, one chunk per block; at the end all numbers too
    blocks/          a record of every finished block: its numbers, and checksums of its chunks
    metrics.parquet  the numbers of all runs, once all are there
    complete.json    checksums of that, and of the columns in the store
    log.txt          what happened when
    lock             while a process runs it
    """

    root: Path

    study = _FolderEntry("study.json")
    design = _FolderEntry("design.json")
    model = _FolderEntry("model.toml")
    inputs = _FolderEntry("inputs.npz")
    store = _FolderEntry("results.zarr")
    blocks = _FolderEntry("blocks")
    table = _FolderEntry("metrics.parquet")
    complete = _FolderEntry("complete.json")
    log = _FolderEntry("log.txt")

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Folder:
        """The folder at a path that a user gave."""
        return cls(file_path(path, "the folder of a study"))

    @property
    def unfinished(self) -> Path:
        """Where files are while they are written; what a killed process leaves there means nothing."""
        return self.root / UNFINISHED

    def record(self, number: int) -> Path:
        """The record of a block."""
        return self.blocks / f"{number:08d}"

    def make_ready(self) -> None:
        """The folders that blocks are written to, without what a killed process left."""
        shutil.rmtree(self.unfinished, ignore_errors=True)
        for left in self.root.glob(".armillary-*.tmp"):
            with suppress(OSError):
                left.unlink()
        self.unfinished.mkdir(exist_ok=True)
        self.blocks.mkdir(exist_ok=True)

    def place(self, target: Path, pieces: Iterable[Bytes]) -> int:
        """A file of a block, there whole or not at all; when it was last changed, in ns.

        It is not forced onto the disk, which takes 0.4 ms on the fastest: after a power failure the
        checksums show what did not get there.
        """
        temporary = self.unfinished / os.urandom(8).hex()
        try:
            with temporary.open("wb", buffering=0) as file:
                for piece in pieces:
                    _write_all(file, piece)
            changed = temporary.stat().st_mtime_ns
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return changed

    def note(self, line: str) -> None:
        """A line in the log, where it can be written."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        with suppress(OSError), self.log.open("a", encoding="utf-8") as file:
            file.write(f"{stamp}  {line}\n")


def _write_all(file: FileIO, piece: Bytes) -> None:
    """A raw file may take less than it is given."""
    rest = memoryview(piece).cast("B")
    while rest:
        rest = rest[file.write(rest) :]


def write_json(path: Path, data: object) -> None:
    """A JSON file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
