"""Seals: what tells that files which are read again and again are as they were left.

A seal is a file's size, the checksum (crc32c) of its content, and when it was changed: as long as that is the
same, nobody reads a file to find out, unless he asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from armillary.studies.files import Folder, write_json
from armillary.studies.store import checksum


class Seal(NamedTuple):
    """A file in a study's folder."""

    file: str
    bytes: int
    crc: int
    changed: int  # ns


def write_seals(folder: Folder, study: str, runs: int, files: Iterable[Path]) -> None:
    """The seals of files of a study."""
    write_json(folder.seals, {"study": study, "runs": runs, "files": [_sealed(folder, f) for f in files]})


def read_seals(folder: Folder, study: str, runs: int) -> dict[Path, Seal] | None:
    """The seals by file; None where there are none of this study and of so many runs."""
    try:
        found: Any = json.loads(folder.seals.read_text(encoding="utf-8"))
        if (found["study"], found["runs"]) != (study, runs):
            return None
        seals = [Seal(*entry) for entry in found["files"]]
        return {folder.root / seal.file: seal for seal in seals}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_as_left(path: Path, seal: Seal, *, compare: bool = False) -> bool:
    """Whether a file is as it was left: by size and time, or by its content where that tells nothing or
    ``compare`` asks for it.
    """
    try:
        about = path.stat()
        if about.st_size != seal.bytes:
            return False
        if about.st_mtime_ns == seal.changed and not compare:
            return True
        return checksum(path.read_bytes()) == seal.crc
    except OSError:
        return False


def _sealed(folder: Folder, path: Path) -> Seal:
    content = path.read_bytes()
    file = path.relative_to(folder.root).as_posix()
    return Seal(file, len(content), checksum(content), path.stat().st_mtime_ns)
