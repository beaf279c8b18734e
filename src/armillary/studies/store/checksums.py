"""Checksums (crc32c) by which damaged and changed files are found.

The files of a block end with the checksum of their content. Of files that are read often a ``FileState`` is
kept elsewhere: as long as size and time of change are the same, they are taken to be as they were left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from armillary.errors import require
from armillary.studies.store.folder import Folder, write_json
from armillary.untyped import Given, LibraryObject

_END = 4  # bytes of a checksum


class FileState(NamedTuple):
    """A file as it was left."""

    name: str  # in the study's folder; of a chunk, the label of its array
    bytes: int
    crc: int  # of all bytes, but for a checksum at the end
    changed: int  # ns


def checksum(content: bytes) -> int:
    """crc32c of bytes."""
    return int(_crc32c()(content))


@cache
def _crc32c() -> LibraryObject:
    return require("google_crc32c", extra="study", purpose="Studies").value


# ---------------------------------------------------------------- files that end with their checksum


def write_with_checksum(folder: Folder, path: Path, name: str, content: bytes) -> FileState:
    """A file that ends with the checksum of its content, there whole or not at all."""
    crc = checksum(content)
    changed = folder.place(path, (content, crc.to_bytes(_END, "little")))
    return FileState(name, len(content) + _END, crc, changed)


def read_with_checksum(path: Path) -> bytes | None:
    """The content of such a file; None where there is none, or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    inner = content[:-_END]
    return inner if checksum(inner) == int.from_bytes(content[-_END:], "little") else None


def has_content(path: Path, state: FileState) -> bool:
    """Whether such a file has the content that was written."""
    content = read_with_checksum(path)
    return content is not None and len(content) + _END == state.bytes and checksum(content) == state.crc


# ---------------------------------------------------------------- files as they were left


def seems_unchanged(path: Path, state: FileState) -> bool | None:
    """Whether a file has its size and time of change; None where only the time differs."""
    try:
        about = path.stat()
    except OSError:
        return False
    if about.st_size != state.bytes:
        return False
    return True if about.st_mtime_ns == state.changed else None


def is_unchanged(path: Path, state: FileState, *, compare: bool = False) -> bool:
    """Whether a file is as it was left: by size and time, or by its content where the time differs or with
    ``compare``.
    """
    seems = seems_unchanged(path, state)
    if seems is False or (seems and not compare):
        return seems
    try:
        return checksum(path.read_bytes()) == state.crc
    except OSError:
        return False


def write_states(folder: Folder, study: str, runs: int, files: Iterable[Path]) -> None:
    """The states of files of a complete study."""
    write_json(folder.complete, {"study": study, "runs": runs, "files": [_state(folder, f) for f in files]})


def read_states(folder: Folder, study: str, runs: int) -> dict[Path, FileState] | None:
    """The states by file; None where there are none of this study with so many runs."""
    try:
        found: Given = json.loads(folder.complete.read_text(encoding="utf-8"))
        if (found["study"], found["runs"]) != (study, runs):
            return None
        states = [FileState(*entry) for entry in found["files"]]
        return {folder.root / state.name: state for state in states}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _state(folder: Folder, path: Path) -> FileState:
    content = path.read_bytes()
    name = path.relative_to(folder.root).as_posix()
    return FileState(name, len(content), checksum(content), path.stat().st_mtime_ns)
