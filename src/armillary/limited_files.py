"""Files that are read up to a limit, so that none fills the memory; files written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from armillary.errors import ArmillaryError, nearest_file, shown


class UnreadableFileError(ArmillaryError):
    """The reason why a file cannot be read, without the name of the file."""


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


_REMEDIES = {
    errno.ENOSPC: "make room, or save it on another disk",
    errno.EDQUOT: "make room, or save it on another disk",
    errno.EACCES: "save it where you may write",
    errno.EPERM: "save it where you may write",
    errno.EROFS: "save it where you may write",
    errno.EFBIG: "make room, or save it on another disk",
    errno.EISDIR: "give the name of a file",
    errno.ENAMETOOLONG: "give a shorter name",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file written there replaces that at `path` after the block.

    If the block fails or is interrupted, the temporary file is removed, and a file at `path` stays as it was.
    A refusal by the operating system (no space, no permission) becomes an error of one sentence. If `path` is
    a link, the file to which it points is replaced.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        folder = Path(path).parent
        raise ArmillaryError(f"cannot save '{path}': there is no folder '{folder}'; make it, or name another")
    temporary = target.with_name(f".armillary-{os.urandom(6).hex()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # else a power failure could leave the new name on an empty file
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):  # the block made no file
            raise ArmillaryError(f"cannot save '{path}': {reason(error)}") from error
        raise


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a text or bytes to a file, completely or not at all: after an error its old content stays."""
    if not isinstance(content, str | bytes):
        raise ArmillaryError(f"the content of '{path}' must be a text or bytes, not {shown(content)}")
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def reason(error: OSError) -> str:
    """Return the words of an error of the operating system, and a remedy."""
    # Libraries may put these words into a longer message of their own, without the number of the error.
    number = error.errno or next((n for n in _REMEDIES if os.strerror(n) in str(error)), 0)
    refused = os.strerror(number).lower() if number else str(error).strip().partition("\n")[0]
    return f"{refused}; {_REMEDIES.get(number, 'save it elsewhere')}"
