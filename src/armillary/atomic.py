"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from armillary.errors import ArmillaryError

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
    """A temporary path beside `path`, which takes its place when the block ends well.

    When the block fails, or is interrupted, the temporary file is removed and whatever stood at `path` is
    untouched. What the system refuses (no space, no permission) is an error of one sentence. A link is
    followed, so that the file it points to is the one replaced.
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
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):  # that is a caller's slip
            raise ArmillaryError(f"cannot save '{path}': {reason(error)}") from error
        raise


def reason(error: OSError) -> str:
    """The operating system's error, and the remedy; libraries put its words into longer ones of theirs."""
    number = error.errno or next((n for n in _REMEDIES if os.strerror(n) in str(error)), 0)
    refused = os.strerror(number).lower() if number else str(error).strip().partition("\n")[0]
    return f"{refused}; {_REMEDIES.get(number, 'save it elsewhere')}"
