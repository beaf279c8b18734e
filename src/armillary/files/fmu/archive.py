"""FMU files as archives from outside: nothing in them is believed before it is checked."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from armillary.errors import ModelError
from armillary.limited_files import UnreadableFileError, limited

LONGEST_DESCRIPTION = (
    64 << 20
)  # bytes of modelDescription.xml: that of a model with 100,000 variables is 20 MiB
LARGEST = 2 << 30  # bytes of all that is unpacked
_CHUNK = 1 << 20

# What reading a damaged archive may raise.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, OSError),
    *(ValueError, IndexError, OverflowError),
)


@contextmanager
def opened(path: str | os.PathLike[str], what: str = "an FMU") -> Iterator[zipfile.ZipFile]:
    """The archive of an FMU or a package; damage found anywhere in the block is one error that names it."""
    if not Path(path).is_file():
        raise ModelError(f"there is no {what.partition(' ')[2]} '{path}'")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ModelError:
        raise
    except _DAMAGE as error:
        raise ModelError(
            f"'{path}' is not {what} that can be read: {error or type(error).__name__}"
        ) from error


def content(archive: zipfile.ZipFile, name: str, most: int, what: str = "an FMU") -> bytes:
    """A file of an archive; what is longer than it may be, or than its entry states, is refused."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise ModelError(f"'{archive.filename}' is not {what}: it holds no {name}") from None
    try:
        with archive.open(entry) as file:
            return limited(file, most)
    except UnreadableFileError as error:
        raise ModelError(f"'{archive.filename}': {name}: {error}") from None


def unpack(path: str | os.PathLike[str], folders: tuple[str, ...], target: Path) -> None:
    """Files below some folders of an FMU, written below a folder of this machine."""
    left = LARGEST
    with opened(path) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or not entry.filename.startswith(tuple(f"{folder}/" for folder in folders)):
                continue
            place = target / _inside(path, entry.filename)
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, place.open("wb") as written:
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise ModelError(f"'{path}' unpacks to more than {LARGEST >> 30} GiB")
                    written.write(chunk)


def _inside(path: str | os.PathLike[str], name: str) -> PurePosixPath:
    """A name that stays below the folder it is unpacked to."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name or ":" in name or "\0" in name:
        raise ModelError(f"'{path}' holds a file that would be unpacked elsewhere: '{name}'")
    return place
