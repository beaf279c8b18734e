"""Files from outside, read up to a size: a file without an end cannot fill the memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from armillary.errors import ArmillaryError, nearest_file


class UnreadableFileError(ArmillaryError):
    """Why a file cannot be read; it does not repeat the name of the file."""


def read_limited(path: Path, most: int, remedy: str = "") -> bytes:
    """Return the bytes of a file up to a limit; ``remedy`` tells how to treat a larger one."""
    with open_file(path) as file:
        return read_up_to(file, most, remedy)


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading; if that fails, the error states why."""
    try:
        if path.exists() and not path.is_file():  # a pipe or device may have no end
            kind = "a folder" if path.is_dir() else "no ordinary file"
            raise UnreadableFileError(f"this is {kind}; give a file")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise UnreadableFileError(f"there is no such file{_similar(path)}") from None
    except OSError as error:
        raise UnreadableFileError(f"it cannot be read: {error.strerror or error}") from None


def read_up_to(file: IO[bytes], most: int, remedy: str = "") -> bytes:
    """Return the bytes of an open file up to a limit."""
    found = file.read(most + 1)
    if len(found) > most:
        raise UnreadableFileError(f"it has more than {most // 10**6} MB{remedy and f'; {remedy}'}")
    return found


def _similar(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        names = []
    alike = [name for name in names if name.endswith(path.suffix)]
    return nearest_file(path.name, alike) or nearest_file(path.name, names) or "; check its name and folder"
